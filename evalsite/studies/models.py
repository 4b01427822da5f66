"""What is evaluated: studies, their versions and members, batches, items and outputs."""

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils.crypto import get_random_string, salted_hmac

from evalsite.instruments import schema
from evalsite.instruments.installed import get_protocol
from evalsite.lib.clock import now
from evalsite.studies import settings as declared
from evalsite.studies.questions import CHECK, ENTRY, EXAMPLES
from evalsite.studies.settings import SETTINGS
from evalsite.studies.version_cache import read_built, read_instrument

# --- settings, which are attributes of a study and kept in two columns -------------------------

# Django's `Model.__init__`, forms and `full_clean` know them as fields without a column. Queries
# don't: what SQL filters by is a column.

FIELDS = {name: setting.make_field() for name, setting in SETTINGS.items() if setting.kind}
# where each is, to save it
COLUMNS = {name: SETTINGS[name].column for name in FIELDS}
_IN_COLUMN = {
    column: [name for name in FIELDS if COLUMNS[name] == column] for column in ("texts", "settings")
}
# JSON has neither amounts nor days
_FROM_TEXT = {
    name: field.to_python
    for name, field in FIELDS.items()
    if isinstance(field, models.DecimalField | models.DateField)
}
_CENT = Decimal("0.01")


class Values(dict[str, Any]):
    """Settings by name, and which of them were set since they were read."""

    changed: frozenset[str] = frozenset()


class SettingsColumn(models.JSONField):
    """Settings by name. Whatever stores them, only what is declared can be stored."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"default": Values, "encoder": DjangoJSONEncoder} | options)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        values = super().from_db_value(value, expression, connection)
        if not isinstance(values, dict):
            return values
        for name in _FROM_TEXT.keys() & values.keys():
            values[name] = _FROM_TEXT[name](values[name])
        return Values(values)

    def pre_save(self, study: models.Model, add: bool) -> Any:
        values = super().pre_save(study, add)
        if isinstance(values, dict):
            values = Values(self.check_values(values))
            setattr(study, self.attname, values)
        return values

    def get_prep_value(self, value: Any) -> Any:
        return (
            self.check_values(value) if isinstance(value, dict) else super().get_prep_value(value)
        )

    def check_values(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings of this column; ValidationError names those that can't be."""
        checked, faults = {}, {}
        for name in _IN_COLUMN[self.name]:
            try:
                checked[name] = FIELDS[name].clean(values.get(name, FIELDS[name].default), None)
            except ValidationError as error:
                faults[name] = error.error_list
            if isinstance(checked.get(name), Decimal):
                checked[name] = checked[name].quantize(_CENT)
        if unknown := values.keys() - checked.keys() - faults.keys():
            faults |= {name: [ValidationError("There is no such setting.")] for name in unknown}
        if faults:
            raise ValidationError(faults)
        return checked


class StoredSetting:
    """An attribute of `Study` that is kept in one of its columns of settings."""

    def __init__(self, name: str) -> None:
        self.name, self.column, self.field = name, COLUMNS[name], FIELDS[name]
        self.default = self.field.default

    def __get__(self, study: models.Model | None, model: Any = None) -> Any:
        if study is None:
            return self
        return getattr(study, self.column).get(self.name, self.default)

    def __set__(self, study: models.Model, value: Any) -> None:
        before = getattr(study, self.column)
        # a copy, since a study that is copied in memory shares the values
        values = Values({**before, self.name: self.field.to_python(value)})
        values.changed = before.changed | {self.name}
        setattr(study, self.column, values)


# --- instruments built on the web, or from a file ---

LONGEST_TITLE = 200
# of why something was changed after the launch
LONGEST_REASON = 200


class InstrumentQuerySet(models.QuerySet["Instrument"]):
    def visible_to(self, user: Any) -> "InstrumentQuerySet":
        """Return those that this person may use and copy; a superuser sees all."""
        if not user.is_authenticated or not user.is_staff:
            return self.none()
        if user.is_superuser:
            return self
        mine = InstrumentMember.objects.filter(user=user).values("instrument")
        return self.filter(Q(is_visible=True) | Q(pk__in=mine))

    def editable_by(self, user: Any) -> "InstrumentQuerySet":
        """Return those that this person may change."""
        if user.is_superuser:
            return self
        mine = InstrumentMember.objects.filter(user=user).exclude(role=InstrumentMember.Role.VIEWER)
        return self.visible_to(user).filter(pk__in=mine.values("instrument"))


class Instrument(models.Model):
    """Questions that a study can ask, in versions; `draft` is what becomes the next one.

    A draft is plain data that may still have faults; empty: there is nothing but the versions.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    key = models.CharField(max_length=40, validators=[RegexValidator(r"\A[a-z][a-z0-9_]*\Z")])
    title = models.CharField(max_length=LONGEST_TITLE)
    draft = models.JSONField(default=dict, blank=True)
    # of the draft: each change counts, so that two people who edit overwrite nothing
    revision = models.PositiveIntegerField(default=0)
    # roles by user names that were entered and that nobody has: they look like members, so that
    # sharing doesn't tell who has an account
    unknown_members = models.JSONField(default=dict, blank=True)
    # others on this site may then use and copy it, but not change it
    is_visible = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects = InstrumentQuerySet.as_manager()

    class Meta:
        ordering = ["title", "created_at"]

    def __str__(self) -> str:
        return self.title

    @property
    def newest(self) -> "InstrumentVersion | None":
        return self.versions.order_by("-number").first()


class InstrumentMember(models.Model):
    """What a member of staff may do with an instrument."""

    class Role(models.TextChoices):
        OWNER = "owner", "Owner"
        EDITOR = "editor", "Editor"
        VIEWER = "viewer", "Viewer"

    instrument = models.ForeignKey(Instrument, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "instrument"], name="one_role_per_person_and_instrument"
            ),
            models.CheckConstraint(
                condition=Q(role__in=["owner", "editor", "viewer"]),
                name="instrument_member_has_a_known_role",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


class ChangedVersion(Exception):
    """An attempt to change a version, of which studies rely on every word."""


class InstrumentVersionQuerySet(models.QuerySet["InstrumentVersion"]):
    def update(self, **values: Any) -> int:
        raise ChangedVersion("A version of an instrument never changes: save another one.")


class InstrumentVersion(models.Model):
    """What an instrument was at one time, without fault; it never changes."""

    # random, so that what is remembered of one never stands for another
    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    instrument = models.ForeignKey(Instrument, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=LONGEST_TITLE)
    content = models.JSONField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects = InstrumentVersionQuerySet.as_manager()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["instrument", "number"], name="version_number_once_per_instrument"
            ),
            models.UniqueConstraint(
                fields=["instrument", "sha256"], name="same_content_once_per_instrument"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title}, version {self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store a new version; ChangedVersion for one that is stored already."""
        if not self._state.adding:
            raise ChangedVersion("A version of an instrument never changes: save another one.")
        super().save(*args, **kwargs)


# --- who may do what in a study ---


class TeamRole(models.TextChoices):
    """The roles as people choose them, the least first. Each may do what those before it may."""

    VIEWER = "viewer", "Viewer"
    EDITOR = "editor", "Editor"
    EDITOR_WITH_IDENTITIES = "editor-with-identities", "Editor with identities"
    OWNER = "owner", "Owner"

    @property
    def rank(self) -> int:
        return list(TeamRole).index(self)

    @property
    def columns(self) -> dict[str, Any]:
        """Return the two columns in which a membership or an invitation stores this role."""
        has_identities = self == TeamRole.EDITOR_WITH_IDENTITIES
        return {
            "role": Membership.Role.EDITOR if has_identities else Membership.Role(self.value),
            "has_identities": has_identities,
        }


class Membership(models.Model):
    """What a member of staff may do in a study."""

    class Role(models.TextChoices):
        OWNER = "owner"
        EDITOR = "editor"
        VIEWER = "viewer"

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.CharField(max_length=10, choices=Role.choices)
    # identities, entry answers and receipts: editors see them only if an owner allows it
    has_identities = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "study"], name="one_role_per_person_and_study"),
            models.CheckConstraint(
                condition=Q(has_identities=False) | Q(role="editor"),
                name="only_editors_are_given_identities",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"

    @property
    def team_role(self) -> TeamRole:
        return TeamRole.EDITOR_WITH_IDENTITIES if self.has_identities else TeamRole(self.role)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def unanswered(self) -> "InvitationQuerySet":
        """Return those neither accepted nor withdrawn; they may have expired."""
        return self.filter(accepted_at__isnull=True, revoked_at__isnull=True)

    def by_token(self, token: str) -> "InvitationQuerySet":
        return self.filter(token_hash=Invitation.hash_token(token))


class Invitation(models.Model):
    """A one-time link by which a colleague joins a study, or the site.

    The token is derived from the row and its generation, so an owner can copy the link again, and
    a new generation ends the old link. Only the token's hash is stored.
    """

    class State(models.TextChoices):
        OPEN = "open"
        ACCEPTED = "accepted"
        EXPIRED = "expired"
        REVOKED = "revoked"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    # none: an invitation to the site itself, which has no role
    study = models.ForeignKey(
        "studies.Study", null=True, on_delete=models.CASCADE, related_name="invitations"
    )
    role = models.CharField(max_length=10, choices=Membership.Role.choices, blank=True)
    has_identities = models.BooleanField(default=False)
    # whom it is for: a name or an address, for the team's own use
    label = models.CharField(max_length=120, blank=True)
    generation = models.PositiveIntegerField(default=1)
    token_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=now)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    revoked_at = models.DateTimeField(null=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["token_hash"], name="token_opens_one_invitation"),
            models.CheckConstraint(
                condition=Q(study__isnull=False, role__in=["owner", "editor", "viewer"])
                | Q(study__isnull=True, role=""),
                name="invitation_to_a_study_is_to_a_known_role",
            ),
            models.CheckConstraint(
                condition=Q(has_identities=False) | Q(role="editor"),
                name="only_editors_are_invited_to_identities",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(revoked_at__isnull=True),
                name="accepted_invitation_is_not_revoked",
            ),
            models.CheckConstraint(
                condition=Q(accepted_by__isnull=True) | Q(accepted_at__isnull=False),
                name="accepted_invitation_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        # never the label: this text reaches logs and histories
        return f"invitation as {self.role or 'researcher'}"

    @staticmethod
    def hash_token(token: str) -> str:
        return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()

    def derive_token(self) -> str:
        """Return the token of this generation, 192 bits, as the site's secret key gives it."""
        named = f"{self.pk}:{self.generation}"
        signed = salted_hmac("evalsite.studies.Invitation", named, algorithm="sha256").digest()
        return urlsafe_b64encode(signed[:24]).decode()

    @property
    def token(self) -> str:
        """Return the token; empty if the secret key has changed since it was made."""
        token = self.derive_token()
        return token if self.hash_token(token) == self.token_hash else ""

    @property
    def team_role(self) -> TeamRole:
        return TeamRole.EDITOR_WITH_IDENTITIES if self.has_identities else TeamRole(self.role)

    @property
    def state(self) -> State:
        if self.accepted_at is not None:
            return self.State.ACCEPTED
        if self.revoked_at is not None:
            return self.State.REVOKED
        return self.State.EXPIRED if now() >= self.expires_at else self.State.OPEN


# --- studies ---


def make_seed() -> str:
    """Return a new seed. All that is random in a study is drawn from it, so it can be replayed."""
    return get_random_string(12, "0123456789abcdef")


class StudyQuerySet(models.QuerySet["Study"]):
    def visible_to(self, user: Any) -> "StudyQuerySet":
        """Return the studies this person is a member of; a superuser sees all."""
        if not user.is_authenticated or not user.is_staff:
            return self.none()
        if user.is_superuser:
            return self
        return self.filter(pk__in=Membership.objects.filter(user=user).values("study"))

    def for_pages(self) -> "StudyQuerySet":
        """Leave out columns that an item's page doesn't need: its texts are in the version."""
        return self.defer(*Study.SELDOM_READ)

    def update(self, **values: Any) -> int:
        """Update rows; settings that share a column are changed in each of its rows."""
        if not values.keys() & COLUMNS.keys():
            return super().update(**values)
        with transaction.atomic():
            studies = list(self.select_for_update(no_key=True, of=("self",)))
            for study in studies:
                for name, value in values.items():
                    setattr(study, name, value)
                study.save(update_fields=values)
        return len(studies)


class Study(models.Model):
    """One evaluation."""

    class State(models.TextChoices):
        DRAFT = "draft"
        LIVE = "live"
        PAUSED = "paused"
        CLOSED = "closed"
        ARCHIVED = "archived"

    ItemOrder = declared.ItemOrder
    Groups = declared.Groups

    # what a page with an item doesn't need
    SELDOM_READ = (
        "title", "texts", "questions", "is_demo", "created_at", "revision", "pilot_generation",
        "is_pilot_link_on", "unused_numbers",
    )  # fmt: skip

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    # Which protocols exist is a setting, so the names are not choices of the column. A study of an
    # instrument that was built here has that one's key.
    protocol = models.CharField(max_length=40)
    instrument = models.ForeignKey(
        InstrumentVersion, null=True, on_delete=models.PROTECT, related_name="studies"
    )
    options = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    is_demo = models.BooleanField(default=False)
    seed = models.CharField(max_length=32, default=make_seed)

    # What is set up; `studies.settings` declares it. Below, what the database guards or filters by.
    texts = SettingsColumn()
    settings = SettingsColumn()
    title = models.CharField(max_length=120)
    # the study's own in place of its protocol's, as plain data by kind (`studies.questions`)
    questions = models.JSONField(default=dict, blank=True)
    k = models.PositiveSmallIntegerField(
        default=3, validators=[MinValueValidator(1), MaxValueValidator(1000)]
    )
    # nobody is let in before the one; the other, or the last answer, closes the study
    opens_at = models.DateTimeField(null=True, blank=True)
    closes_at = models.DateTimeField(null=True, blank=True)
    # nobody reads results by system before the end, unless an owner shows them early
    hides_results = models.BooleanField(default=False)

    # nobody new may join since then; people at work go on
    joins_paused_at = models.DateTimeField(null=True)
    # a class, for example: the limits for each network don't hold
    is_from_one_place = models.BooleanField(default=False)

    created_at = models.DateTimeField(auto_now_add=True)
    launched_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    revision = models.PositiveIntegerField(default=0)
    # the link for colleagues: each new one ends those before it; 0: there was none
    pilot_generation = models.PositiveIntegerField(default=0)
    is_pilot_link_on = models.BooleanField(default=False)
    # words that people read on a page of an item, in the mean of the first; 0: not known. Kept
    # until the launch: time and pay that people were promised don't change with later items
    words_per_page = models.PositiveIntegerField(default=0)
    # numbers of items that were taken out while later ones stayed, as pairs of first and last
    unused_numbers = models.JSONField(default=list, blank=True)
    version = models.ForeignKey(
        "StudyVersion", null=True, on_delete=models.PROTECT, related_name="+"
    )

    # in the two columns of settings
    organisation: str
    # for the team and the datasheet; participants don't see it
    description: str
    contact_email: str
    summary: str
    # the researcher's own words, before the sentences that follow the settings
    consent: str
    instructions: str
    # what the texts may contain: with it people may skip items, which are covered until asked for
    content_warning: str
    language: str
    # how long a code made from platform ids tells later studies who took part; 0: none is kept
    recognise_days: int
    # people confirm it when they agree to take part; empty: they aren't asked
    minimum_age: int | None
    # what people are told about their data; each empty: the sentence goes, or says it of another
    answers_kept_for: str
    ethics_approval: str
    responsible: str
    complaints: str
    # that day included; empty: until the study closes
    withdrawable_until: date | None
    # after the study has closed
    identity_days: int
    set_size: int
    max_sets: int | None
    max_items: int | None
    groups: str
    item_order: str
    lease_minutes: int
    # controls: gold and attention items of one person; hidden repeats, in percent
    checks_per_person: int
    repeat_percent: int
    is_practice_on: bool
    # practice items are then asked as a test, without feedback, before any work
    is_qualification_on: bool
    pass_mark: int
    # questions about the instructions, asked of everyone before practice or the qualification
    is_check_on: bool
    # people are asked with the consent whether their answers may be published
    asks_to_share: bool
    # agreed to by Start on the first page, instead of a page of its own: for people one knows
    has_notice: bool
    is_eligibility_on: bool
    is_aided: bool
    minutes_per_set: int | None
    pay_per_set: Decimal | None
    # who completes all sets that `max_sets` allows earns this; empty: there is no bonus
    bonus: Decimal | None
    currency: str
    # what the team means to pay for an hour; participants don't see it
    pay_target: Decimal | None
    closes_when_full: bool
    # of the data that leave the site: authors one per line, and where their public page is
    authors: str
    licence: str
    homepage: str

    objects = StudyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "studies"
        constraints = [
            models.CheckConstraint(condition=Q(k__gte=1), name="k_is_at_least_1"),
            models.CheckConstraint(
                condition=Q(state="draft")
                | Q(state="archived", launched_at__isnull=True)
                | Q(version__isnull=False),
                name="launched_study_has_a_version",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        """Save it; of its settings those set since it was read, so that others' are kept."""
        if update_fields is not None:
            update_fields = {COLUMNS.get(name, name) for name in update_fields}
        with transaction.atomic():
            if not self._state.adding:
                self._keep_settings_of_others(update_fields)
            super().save(*args, update_fields=update_fields, **kwargs)

    def _keep_settings_of_others(self, update_fields: Iterable[str] | None) -> None:
        saved = {"texts", "settings"} - self.get_deferred_fields()
        saved = saved if update_fields is None else saved.intersection(update_fields)
        if not saved:
            return
        current = Study.objects.select_for_update(no_key=True).only(*saved).get(pk=self.pk)
        for column in saved:
            values = getattr(self, column)
            changed = {name: values[name] for name in getattr(values, "changed", values)}
            setattr(self, column, Values({**getattr(current, column), **changed}))

    @property
    def config(self) -> schema.Instrument:
        """What is asked: frozen since the launch; until then the instrument as it is now."""
        if self.version_id is not None:
            return read_instrument(self.pk, self.version_id, self.protocol)
        base, questions, changes = self.base_instrument, self.questions, dict[str, Any]()
        if ENTRY in questions:
            entry = questions[ENTRY]
            changes["eligibility"] = schema.Eligibility.model_validate(entry) if entry else None
            # what the protocol's function compares are the protocol's questions
            changes["hooks"] = base.hooks.model_copy(update={"check_entry": None})
        if CHECK in questions:
            changes["comprehension"] = [*map(schema.CheckQuestion.model_validate, questions[CHECK])]
        if EXAMPLES in questions:
            changes["examples"] = [*map(schema.Example.model_validate, questions[EXAMPLES])]
        return base.model_copy(update=changes) if changes else base

    @property
    def base_instrument(self) -> schema.Instrument:
        """The version that it was built from, or the protocol as it is installed."""
        if self.instrument_id is None:
            return get_protocol(self.protocol)
        return read_built(self.instrument_id, self.language)

    @cached_property
    def contact_name(self) -> str:
        """Return who reads the e-mail for questions; "" if it is nobody's of the team alone."""
        email = self.contact_email
        theirs = Q(user__email__iexact=email) | Q(user__profile__contact_email__iexact=email)
        members = self.memberships.filter(theirs).select_related("user") if email else []
        return next((member.user.get_full_name() for member in members), "")

    @property
    def has_bonus(self) -> bool:
        return self.bonus is not None

    @property
    def is_launched(self) -> bool:
        return self.launched_at is not None

    @property
    def is_collected_elsewhere(self) -> bool:
        """Whether it was made of ratings: closed the moment it had them, nobody was ever let in."""
        return self.launched_at is not None and self.launched_at == self.closed_at

    @property
    def is_past_its_end(self) -> bool:
        return self.closes_at is not None and now() >= self.closes_at

    @property
    def is_before_opening(self) -> bool:
        return self.opens_at is not None and now() < self.opens_at

    @property
    def has_ended(self) -> bool:
        """Whether it was closed for good, and perhaps put away since."""
        return self.state in (self.State.CLOSED, self.State.ARCHIVED)

    @property
    def is_open(self) -> bool:
        """Whether new work may be handed out now."""
        is_in_time = not (self.is_before_opening or self.is_past_its_end)
        return self.state == self.State.LIVE and is_in_time


# as attributes, and as fields for forms and checks
for name, field in FIELDS.items():
    field.contribute_to_class(Study, name, private_only=True)
    field.column, field.concrete = None, False
    setattr(Study, name, StoredSetting(name))


class StudyVersion(models.Model):
    """What participants were shown: immutable, named by annotations and consents."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    content = models.JSONField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["number", "study"], name="version_number_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return f"version {self.number}"


# Items are stored in many transactions, and shown by one update of their batch. Until then, and
# from the moment in which the batch is undone, `objects` leaves them out; `all_objects` doesn't.


class SystemManager(models.Manager["System"]):
    def get_queryset(self) -> models.QuerySet["System"]:
        return super().get_queryset().filter(is_stored=True)


class System(models.Model):
    """What produced outputs. Its name never reaches a participant in any form."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="systems")
    name = models.CharField(max_length=200)
    # whether a batch that is stored has outputs of it
    is_stored = models.BooleanField(default=True)

    objects = SystemManager()
    all_objects = models.Manager["System"]()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="system_name_once_per_study")
        ]

    def __str__(self) -> str:
        return self.name


class BatchManager(models.Manager["Batch"]):
    def get_queryset(self) -> models.QuerySet["Batch"]:
        return super().get_queryset().filter(stored_at__isnull=False)


class Batch(models.Model):
    """One uploaded file of items.

    While an import writes its items, `written_at` says when it last did, and `stored_at` is empty.
    If both are, its items are being deleted: it was undone, or its import broke off.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="batches")
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    rows = models.PositiveIntegerField()
    uploaded_at = models.DateTimeField(auto_now_add=True)
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    opened_at = models.DateTimeField(null=True)
    stored_at = models.DateTimeField(null=True, default=now)
    written_at = models.DateTimeField(null=True)
    # what the researcher confirmed at import, such as rows left out: plain data, one dict a step
    import_notes = models.JSONField(default=list, blank=True)

    objects = BatchManager()
    all_objects = models.Manager["Batch"]()

    class Meta:
        ordering = ["uploaded_at"]
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(
                fields=["study", "sha256"],
                condition=Q(stored_at__isnull=False) | Q(written_at__isnull=False),
                name="same_file_once_per_study",
            ),
            models.CheckConstraint(
                condition=Q(stored_at__isnull=True) | Q(written_at__isnull=True),
                name="stored_batches_are_written_no_more",
            ),
            models.CheckConstraint(
                condition=Q(stored_at__isnull=False) | Q(opened_at__isnull=True),
                name="open_batches_are_stored",
            ),
        ]
        indexes = [
            # what every query of items leaves out: usually nothing
            models.Index(fields=["id"], condition=Q(stored_at__isnull=True), name="batch_hidden"),
        ]

    def __str__(self) -> str:
        return self.file_name


class _RecordId(models.Func):
    """The id in the file of which an item is a part; NULL of others. KT() parses JSON twice."""

    function = "JSON_EXTRACT"
    template = "%(function)s(%(expressions)s, '$.item')"
    output_field = models.TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="(%(expressions)s ->> 'item')", **context)


def name_record(otherwise: str = "key") -> Coalesce:
    """Return the name of the record in the file that an item comes from."""
    return Coalesce(_RecordId("extra"), otherwise, output_field=models.TextField())


class ItemQuerySet(models.QuerySet["Item"]):
    def stored(self) -> "ItemQuerySet":
        """Leave out items of batches that are still being stored, or deleted."""
        # no join: the subquery is run once, and usually finds nothing
        return self.exclude(batch__in=Batch.all_objects.filter(stored_at__isnull=True))

    def main(self) -> "ItemQuerySet":
        return self.filter(kind=Item.Kind.MAIN)

    def records(self) -> models.QuerySet[Any, Any]:
        """Return for each the name of its record in the file, which several may share."""
        return self.annotate(name=name_record()).order_by().values("name")

    def planned(self) -> "ItemQuerySet":
        """Return the main items and those withdrawn since: places are planned of both."""
        return self.filter(kind__in=(Item.Kind.MAIN, Item.Kind.WITHDRAWN))

    def open(self) -> "ItemQuerySet":
        """Return what participants are dealt; before the launch, what they will be."""
        is_draft = Q(study__launched_at__isnull=True)
        return self.filter(is_draft | Q(batch__opened_at__isnull=False))

    def practice(self) -> "ItemQuerySet":
        return self.filter(kind=Item.Kind.PRACTICE).order_by("id")


class ItemManager(models.Manager.from_queryset(ItemQuerySet)):  # type: ignore[misc]
    def get_queryset(self) -> ItemQuerySet:
        return super().get_queryset().stored()


class Item(models.Model):
    """What a participant sees at once: inputs and one or more outputs."""

    class Kind(models.TextChoices):
        MAIN = "main"
        PRACTICE = "practice"
        GOLD = "gold"
        ATTENTION = "attention"
        REPEAT = "repeat"
        # a main item that nobody is shown any more, and that no result counts
        WITHDRAWN = "withdrawn"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="items", db_index=False)
    # no batch: an item that came with the protocol, such as its practice items
    batch = models.ForeignKey(Batch, null=True, on_delete=models.CASCADE, related_name="items")
    key = models.CharField(max_length=128)
    group = models.CharField(max_length=128)
    cluster = models.CharField(max_length=128, blank=True)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.MAIN)
    # few items repeat another: the index below holds only those
    repeat_of = models.ForeignKey("self", null=True, on_delete=models.CASCADE, db_index=False)
    inputs = models.JSONField(default=dict)
    extra = models.JSONField(default=dict)
    gold = models.JSONField(default=dict)
    # seeded numbers that put items, or whole groups, into the order in which slots are dealt
    shuffle_key = models.BigIntegerField()
    group_shuffle_key = models.BigIntegerField()
    held_at = models.DateTimeField(null=True)
    # reports up to this moment have been looked at: they hold the item no more
    released_at = models.DateTimeField(null=True)
    # when one of its outputs was corrected last: what people were shown before never counts
    corrected_at = models.DateTimeField(null=True)

    objects = ItemManager()
    all_objects = ItemQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="item_key_once_per_study"),
            models.CheckConstraint(
                condition=Q(kind="repeat", repeat_of__isnull=False)
                | (~Q(kind="repeat") & Q(repeat_of__isnull=True)),
                name="repeats_name_their_original",
            ),
            models.CheckConstraint(
                condition=~Q(kind="withdrawn") | Q(held_at__isnull=True),
                name="withdrawn_items_are_not_held",
            ),
        ]
        indexes = [
            models.Index(fields=["study", "kind", "id"], name="item_by_kind"),
            models.Index(
                fields=["repeat_of"], condition=Q(repeat_of__isnull=False), name="item_by_original"
            ),
            models.Index(fields=["study"], condition=Q(held_at__isnull=False), name="item_held"),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def is_main(self) -> bool:
        """Whether it is one of those that are evaluated, or was until it was withdrawn."""
        return self.kind in (self.Kind.MAIN, self.Kind.WITHDRAWN)


class OutputQuerySet(models.QuerySet["Output"]):
    def stored(self) -> "OutputQuerySet":
        """Leave out outputs of items that `Item.objects` leaves out: for outputs of a study."""
        return self.exclude(item__batch__in=Batch.all_objects.filter(stored_at__isnull=True))


class Output(models.Model):
    """One text of one system in one item."""

    # the unique constraints below are the indexes of item; nothing looks outputs up by study
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="outputs", db_index=False)
    # no system: an output of a practice item that came with the protocol
    system = models.ForeignKey(System, null=True, on_delete=models.PROTECT, related_name="outputs")
    position = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)

    objects = OutputQuerySet.as_manager()

    class Meta:
        ordering = ["item_id", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["item", "position", "study"], name="output_position_once_per_item"
            ),
            models.UniqueConstraint(
                fields=["item", "system", "study"], name="one_output_of_a_system_per_item"
            ),
        ]

    def __str__(self) -> str:
        return f"output {self.position + 1} of {self.item_id}"


class Change(models.Model):
    """What was changed after the launch in what is evaluated: a name, an output, or an item."""

    class Kind(models.TextChoices):
        RENAMED = "renamed"
        CORRECTED = "corrected"
        WITHDRAWN = "withdrawn"
        PUT_BACK = "put_back"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="changes")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    # of a new name
    system = models.ForeignKey(
        System, null=True, on_delete=models.CASCADE, related_name="changes", db_index=False
    )
    # of everything else; of a corrected text the item that shows it
    item = models.ForeignKey(Item, null=True, on_delete=models.CASCADE, related_name="changes")
    # of a corrected text: whose output, and the item that showed the earlier one, if that was
    # withdrawn
    position = models.PositiveSmallIntegerField(null=True)
    instead_of = models.ForeignKey(Item, null=True, on_delete=models.CASCADE, related_name="+")
    # the name or the text
    before = models.TextField(blank=True)
    after = models.TextField(blank=True)
    reason = models.CharField(max_length=LONGEST_REASON, blank=True)
    # answers that it left out of results
    answers = models.PositiveIntegerField(default=0)
    at = models.DateTimeField(default=now)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="renamed", system__isnull=False, item__isnull=True)
                | (~Q(kind="renamed") & Q(system__isnull=True, item__isnull=False)),
                name="a_change_is_of_a_system_or_of_an_item",
            ),
            models.CheckConstraint(
                condition=Q(kind="renamed") | ~Q(reason=""),
                name="a_change_of_an_item_has_a_reason",
            ),
            models.CheckConstraint(
                condition=(
                    Q(kind="renamed", position__isnull=True)
                    & ~Q(before="")
                    & ~Q(after="")
                    & ~Q(before=models.F("after"))
                )
                | (
                    Q(kind="corrected", position__isnull=False)
                    & ~Q(after="")
                    & ~Q(before=models.F("after"))
                )
                | Q(kind__in=["withdrawn", "put_back"], position__isnull=True, before="", after=""),
                name="a_change_of_words_has_both_of_them",
            ),
            models.CheckConstraint(
                condition=Q(instead_of__isnull=True) | Q(kind="corrected"),
                name="only_corrections_are_instead_of_an_item",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.study_id}"
