"""Who evaluates: participants, how they came, consent, answers at entry, and sets."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from secrets import token_urlsafe
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.crypto import salted_hmac

from evalsite.lib.clock import now
from evalsite.lib.prepared import Prepared
from evalsite.people.platforms import Outcome, Platform, find_open_link, get_platform
from evalsite.people.random_codes import hash_token, make_pseudonym, make_receipt
from evalsite.studies.models import Item, Study, StudyVersion

# what only a platform's export can say of a visit
REPORTED = ("returned", "timed_out")


class Origin(models.TextChoices):
    OWN = "own"
    IMPORTED = "imported"
    SIMULATED = "simulated"


class Refusal(models.TextChoices):
    """Why a person may not take part whose answers allow it."""

    QUOTA = "quota", "quota full"
    EARLIER = "earlier", "kept out"


class StopKind(models.TextChoices):
    """Why somebody was stopped before they had finished: it decides what they are due."""

    OURS = "ours", "our reason"
    CONDUCT = "conduct", "their conduct"


class Participant(models.Model):
    """A person in a study, under a random pseudonym."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="participants")
    pseudonym = models.CharField(max_length=20, default=make_pseudonym)
    receipt = models.CharField(max_length=20, default=make_receipt)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.OWN)
    is_pilot = models.BooleanField(default=False)
    # False: an imported column of ratings that isn't a single person's
    is_person = models.BooleanField(default=True)
    # gets the items that were assigned, and no others
    is_expert = models.BooleanField(default=False)
    is_eligible = models.BooleanField(null=True)
    # why this person may not take part, if anything but their answers decided it
    refused_for = models.CharField(max_length=10, choices=Refusal.choices, blank=True)
    # the consent text that this person agreed to, as a hash; empty: none
    consented_to = models.CharField(max_length=64, blank=True)
    # whether their answers may be published; null: not asked
    may_share = models.BooleanField(null=True)
    # the instructions this person has read, as a hash of their text
    instructions_read = models.CharField(max_length=64, blank=True)
    practised_at = models.DateTimeField(null=True)
    # the qualification: tries that were finished, and whether one of them reached the pass mark
    tries = models.PositiveSmallIntegerField(default=0)
    is_qualified = models.BooleanField(null=True)
    # the check of the instructions: tries that were made, and whether one was all right
    check_tries = models.PositiveSmallIntegerField(default=0)
    is_checked = models.BooleanField(null=True)
    cursor = models.BigIntegerField(default=-1)
    created_at = models.DateTimeField(default=now)
    stopped_at = models.DateTimeField(null=True)
    # by the researcher, or by the study's end; empty: neither
    stopped_for = models.CharField(max_length=10, choices=StopKind.choices, blank=True)
    # what they read then, in the researcher's words
    stop_message = models.TextField(blank=True)
    withdrawn_at = models.DateTimeField(null=True)
    # whether they ever reported an item: a save of anyone else asks nothing about reports
    has_reported = models.BooleanField(default=False)
    # of the network from which they last took a place: a digest, kept for a day ("" if invited)
    network = models.CharField(max_length=64, blank=True)
    network_at = models.DateTimeField(null=True)

    # no column: the later visit that the link in use belongs to; None: it opens everything
    later_visit_id: int | None = None

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["pseudonym", "study"], name="pseudonym_once_per_study"),
            models.CheckConstraint(
                condition=Q(refused_for="") | Q(is_eligible=False),
                name="only_who_may_not_take_part_is_refused",
            ),
            models.CheckConstraint(
                condition=Q(may_share__isnull=True) | ~Q(consented_to=""),
                name="only_who_agreed_to_take_part_shares_or_not",
            ),
        ]
        indexes = [
            models.Index(fields=["study", "id"], name="participant_by_study"),
            # those of the last day: a claim looks for people of its network
            models.Index(
                fields=["study", "network"], condition=~Q(network=""), name="participant_by_network"
            ),
        ]

    def __str__(self) -> str:
        return self.pseudonym

    def may_reopen(self, visit_id: int | None) -> bool:
        """Return whether the link in use opens what was saved on this visit (None: the first)."""
        return self.later_visit_id in (None, visit_id)


class ParticipantLinkManager(models.Manager["ParticipantLink"]):
    def mint(
        self, participant: Participant, *, token: str = "", later_visit: "Visit | None" = None
    ) -> str:
        """Return a new personal token for this participant, or this one; only its hash is kept."""
        token = token or token_urlsafe(16)
        self.create(
            study_id=participant.study_id,
            participant=participant,
            token_hash=hash_token(token),
            later_visit=later_visit,
        )
        return token


class ParticipantLink(models.Model):
    """A personal link, known only by the SHA-256 of its token."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="links")
    token_hash = models.CharField(max_length=64)
    # the visit that it was made for, if its person was known by then: an id is no password, so
    # such a link opens nothing that was saved on another visit
    later_visit = models.ForeignKey("Visit", null=True, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(default=now)

    objects = ParticipantLinkManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["token_hash", "study"], name="token_opens_one_place")
        ]

    def __str__(self) -> str:
        return f"link of {self.participant_id}"


class ParticipantIdentity(models.Model):
    """What a participant is called elsewhere: on a platform, or in an imported file."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    participant = models.ForeignKey(
        Participant, on_delete=models.CASCADE, related_name="identities"
    )
    platform = models.CharField(max_length=40)
    outside_id = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "participant identities"
        constraints = [
            models.UniqueConstraint(
                fields=["study", "platform", "outside_id"],
                name="one_participant_per_outside_identity",
            )
        ]

    def __str__(self) -> str:
        # never the outside id: this text reaches logs and histories
        return f"identity of {self.participant_id}"


# every review of a set asks for it
_open_link_of = Prepared(lambda study: Recruitment.objects.filter(study=study, number=0).order_by())


class RecruitmentManager(models.Manager["Recruitment"]):
    def open_link(self, study: Study) -> "Recruitment":
        """Return the round of the study's own link, which is stored once it is used or changed."""
        return _open_link_of.one(study.pk) or Recruitment(
            study=study,
            number=0,
            platform=find_open_link().key,
            has_further_sets=True,
        )


class Recruitment(models.Model):
    """One round of people from one platform: its link, its places, and how each outcome ends."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="recruitments")
    # 0: the study's own link
    number = models.PositiveSmallIntegerField()
    # which platforms exist is a setting, so the names are not choices of the column
    platform = models.CharField(max_length=40)
    # what the platform asks of a round: plain text by name
    settings = models.JSONField(default=dict, blank=True)
    is_on = models.BooleanField(default=False)
    # empty: as many people as there is work for
    places = models.PositiveIntegerField(null=True, blank=True)
    # of one person: a visit after so many finished ones shows the old code
    sets_per_person = models.PositiveSmallIntegerField(default=1)
    # further sets in the same visit, instead of a new submission for each
    has_further_sets = models.BooleanField(default=False)
    # people on a phone are asked to use a computer instead
    refuses_phones = models.BooleanField(default=False)
    # people whose link has no id may type it
    takes_typed_ids = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=now)

    objects = RecruitmentManager()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "number"], name="recruitment_number_once_per_study"
            ),
            models.CheckConstraint(
                condition=Q(places__isnull=True) | Q(places__gte=1),
                name="recruitment_has_a_place_or_no_limit",
            ),
            models.CheckConstraint(
                condition=Q(sets_per_person__gte=1), name="recruitment_allows_a_set_per_person"
            ),
        ]

    def __str__(self) -> str:
        return f"round {self.number}" if self.number else "open link"

    @property
    def adapter(self) -> Platform:
        """Return what is known of this round's platform."""
        return get_platform(self.platform)

    @property
    def has_link(self) -> bool:
        """Return whether people arrive by a link that they share."""
        return self.adapter.is_installed and not self.adapter.has_personal_links

    @property
    def platform_settings(self) -> Mapping[str, str]:
        """Return the settings of this round's platform, "" for those that aren't set."""
        return {
            setting.name: self.settings.get(setting.name, "") for setting in self.adapter.settings
        }

    @property
    def name_for_people(self) -> str:
        """Return the name of the platform that people go back to; "" if there is none."""
        if not self.adapter.hands_back:
            return ""
        return self.adapter.name_for_people(self.platform_settings)


class OutcomeCode(models.Model):
    """What people of a round hand back for an outcome: a code, a link, or both."""

    recruitment = models.ForeignKey(Recruitment, on_delete=models.CASCADE, related_name="codes")
    outcome = models.CharField(max_length=20)
    code = models.CharField(max_length=40, blank=True)
    link = models.URLField(max_length=500, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["recruitment", "outcome"], name="one_code_of_each_outcome_per_recruitment"
            ),
            models.UniqueConstraint(
                fields=["recruitment", "code"],
                condition=~Q(code=""),
                name="outcomes_of_a_recruitment_differ_by_code",
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=[str(outcome) for outcome in Outcome]),
                name="code_is_of_a_known_outcome",
            ),
        ]

    def __str__(self) -> str:
        return f"code of {self.recruitment_id}"


class PersonalLink(models.Model):
    """The link of one person of a round, who may not have used it yet.

    The token is derived from the row and its generation, so it can be copied again, and a new
    generation ends the old link. Only the token's hash is stored.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    recruitment = models.ForeignKey(
        Recruitment, on_delete=models.CASCADE, related_name="personal_links", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    generation = models.PositiveIntegerField(default=1)
    token_hash = models.CharField(max_length=64)
    participant = models.OneToOneField(Participant, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["recruitment", "number"], name="personal_link_number_once_per_recruitment"
            ),
            models.UniqueConstraint(fields=["token_hash"], name="token_opens_one_personal_link"),
        ]

    def __str__(self) -> str:
        return f"personal link {self.number}"

    def derive_token(self) -> str:
        """Return the token of this generation, 192 bits, as the site's secret key gives it."""
        named = f"{self.recruitment_id}:{self.number}:{self.generation}"
        signed = salted_hmac("evalsite.people.PersonalLink", named, algorithm="sha256").digest()
        return urlsafe_b64encode(signed[:24]).decode()

    @property
    def token(self) -> str:
        """Return the token; "" if the secret key has changed since: it can't be derived again."""
        token = self.derive_token()
        return token if hash_token(token) == self.token_hash else ""

    @property
    def is_used(self) -> bool:
        """Return whether its person has pressed Start; an expert has a place before that."""
        return ParticipantLink.objects.filter(token_hash=self.token_hash).exists()


class Visit(models.Model):
    """An arrival: one submission of a person. Identities, kept as such."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    participant = models.ForeignKey(
        Participant, on_delete=models.CASCADE, related_name="visits", db_index=False
    )
    recruitment = models.ForeignKey(
        Recruitment, on_delete=models.CASCADE, related_name="visits", db_index=False
    )
    # the scope in which the person's id means one person; empty: none was sent
    platform = models.CharField(max_length=40, blank=True)
    # as the platform writes them; empty: it sent none, or none that is well-formed
    person_id = models.CharField(max_length=200, blank=True)
    visit_id = models.CharField(max_length=200, blank=True)
    platform_study_id = models.CharField(max_length=200, blank=True)
    flags = models.JSONField(default=list, blank=True)
    # since when its ids are empty because their time was over
    ids_deleted_at = models.DateTimeField(null=True)
    arrived_at = models.DateTimeField(default=now)
    # decided once: a visit that has ended shows the same page on every return
    outcome = models.CharField(max_length=20, blank=True)
    ended_at = models.DateTimeField(null=True)
    # for minutes after consent that no outcome pays; empty: none is due
    bonus = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    bonus_minutes = models.PositiveSmallIntegerField(null=True)
    bonus_marked_at = models.DateTimeField(null=True)
    # what the platform's export says of it: returned or timed out; empty: neither
    reported = models.CharField(max_length=10, blank=True)
    # the set that was dealt for this visit, which is what takes a place of its round
    item_set = models.OneToOneField("ItemSet", null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "recruitment", "visit_id"],
                condition=Q(ids_deleted_at__isnull=True),
                name="each_visit_once_per_participant",
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=["", *(str(outcome) for outcome in Outcome)]),
                name="visit_ends_in_a_known_outcome",
            ),
            models.CheckConstraint(
                condition=Q(reported__in=["", *REPORTED]),
                name="visit_is_reported_as_returned_or_timed_out",
            ),
            models.CheckConstraint(
                condition=Q(outcome="", ended_at__isnull=True)
                | (~Q(outcome="") & Q(ended_at__isnull=False)),
                name="visit_with_an_outcome_has_ended",
            ),
            models.CheckConstraint(
                condition=Q(bonus__isnull=True, bonus_marked_at__isnull=True) | Q(bonus__gt=0),
                name="only_a_bonus_is_marked_as_paid",
            ),
        ]
        indexes = [
            models.Index(fields=["study", "participant"], name="visit_by_study"),
            models.Index(fields=["recruitment", "outcome"], name="visit_by_recruitment"),
        ]

    def __str__(self) -> str:
        # never the ids: this text reaches logs and histories
        return f"visit of {self.participant_id}"

    @property
    def is_final(self) -> bool:
        """Return whether this visit is over for good, other than by finishing its work."""
        is_refused = bool(self.outcome) and self.outcome != Outcome.COMPLETED
        return is_refused and self.recruitment.adapter.hands_back


class Answer(models.Model):
    """An answer at entry or at the end: eligibility, feedback. Kept apart from ratings."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="answers")
    question = models.CharField(max_length=40)
    value = models.TextField(blank=True)
    answered_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "question", "study"], name="one_answer_to_each_question"
            )
        ]

    def __str__(self) -> str:
        return self.question


class ItemSet(models.Model):
    """The items dealt to a participant together, in the order in which they are shown."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="item_sets")
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="item_sets")
    number = models.PositiveSmallIntegerField()
    item_ids = models.JSONField(default=list)
    # items that went to others after the lease had lapsed; they keep their place, so that no
    # other item ever gets it
    lost_ids = models.JSONField(default=list)
    # a first set without an answer holds its places until then at the latest; empty: for a lease
    reserved_until = models.DateTimeField(null=True)
    # until when all its items are held once no place is left, unless one that is done was kept
    # for longer
    leased_until = models.DateTimeField(null=True)
    code = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "number", "study"], name="set_number_once_per_participant"
            ),
            models.UniqueConstraint(
                fields=["participant", "study"],
                condition=Q(finished_at__isnull=True),
                name="one_open_set_per_participant",
            ),
        ]

    def __str__(self) -> str:
        return f"set {self.number}"

    @property
    def total(self) -> int:
        """Return how many items this set asks for: those dealt, less those that went to others."""
        return len(self.item_ids) - len(self.lost_ids)


# --- consent ---


class Consent(models.Model):
    """What a participant answered to a consent text, and to which text."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    participant = models.ForeignKey(
        "Participant", on_delete=models.CASCADE, related_name="consents"
    )
    version = models.ForeignKey(StudyVersion, null=True, on_delete=models.PROTECT)
    text_sha256 = models.CharField(max_length=64)
    is_given = models.BooleanField()
    answered_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "text_sha256", "study"],
                name="one_answer_to_each_consent_text",
            )
        ]

    def __str__(self) -> str:
        return "agreed" if self.is_given else "declined"


# --- who may take part ---


class Quota(models.Model):
    """How many people with this answer to a question before the work may have a place."""

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="quotas", db_index=False
    )
    question = models.CharField(max_length=40)
    value = models.CharField(max_length=300)
    people = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "question", "value"], name="one_quota_for_each_answer"
            )
        ]

    def __str__(self) -> str:
        return f"quota of {self.question}"


class ParticipantMark(models.Model):
    """A keyed hash of a person's platform id, by which later studies recognise them for a time.

    The id can't be read from it. Only those who agreed to a text that says so have one.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    participant = models.ForeignKey("Participant", on_delete=models.CASCADE, related_name="marks")
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "digest", "participant"], name="one_mark_of_a_person_per_study"
            )
        ]

    def __str__(self) -> str:
        return f"mark of {self.participant_id}"


class EarlierStudyRule(models.Model):
    """That people of an earlier study are kept out of this one, or that it takes one of them."""

    class Rule(models.TextChoices):
        BAR = "bar", "Keep them out"
        REQUIRE = "require", "Require one of them"

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="earlier_rules", db_index=False
    )
    earlier = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    rule = models.CharField(max_length=10, choices=Rule.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "earlier"], name="one_rule_for_each_earlier_study"
            ),
            models.CheckConstraint(
                condition=~Q(study=models.F("earlier")), name="no_rule_for_the_study_itself"
            ),
        ]

    def __str__(self) -> str:
        return self.rule


# --- limits on joining ---


class JoinCount(models.Model):
    """One new participant of the last 24 hours, counted for the limits on joining.

    The digest represents an address on one day in one study, and can't be reversed.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    digest = models.CharField(max_length=64, blank=True)
    joined_at = models.DateTimeField(default=now, db_index=True)

    class Meta:
        indexes = [models.Index(fields=["study", "joined_at"], name="join_by_study")]

    def __str__(self) -> str:
        return f"join of {self.joined_at:%Y-%m-%d %H:%M}"


# --- people who are invited by name ---


class Expert(models.Model):
    """A person invited by name: an identity. Answers know only the participant."""

    class Rates(models.TextChoices):
        """What a person was asked to rate."""

        ALL = "all", "everything"
        SHARE = "share", "an equal share"
        COLUMN = "column", "the items of a column"
        NUMBERS = "numbers", "items by number"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="experts")
    link = models.OneToOneField("PersonalLink", on_delete=models.CASCADE, related_name="expert")
    name = models.CharField(max_length=120)
    email = models.EmailField(blank=True)
    rates = models.CharField(max_length=10, choices=Rates.choices, default=Rates.ALL)
    # the column whose cells name people, or the numbers of items; empty: neither
    selection = models.CharField(max_length=500, blank=True)
    # since when a number is in place of the name because its time was over
    name_deleted_at = models.DateTimeField(null=True)
    due_on = models.DateField(null=True, blank=True)
    is_reminded = models.BooleanField(default=False)
    # the address of this site as the researcher saw it, for links in e-mails
    site_address = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint("study", Lower("name"), name="name_invited_once_per_study"),
        ]

    def __str__(self) -> str:
        # never the name: this text reaches logs and histories
        return f"expert {self.pk}"

    def describe(self, *, with_address: bool) -> str:
        """Return the name, which is the address of people who were invited by that alone."""
        if self.name != self.email or with_address:
            return self.name
        return "Invited by e-mail"


class ExpertMail(models.Model):
    """An e-mail to an expert: the invitation (0), or one of two reminders."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    expert = models.ForeignKey(Expert, on_delete=models.CASCADE, related_name="mails")
    number = models.PositiveSmallIntegerField()
    created_at = models.DateTimeField(default=now)
    # when it is tried next, while it isn't sent
    next_try_at = models.DateTimeField(default=now)
    tries = models.PositiveSmallIntegerField(default=0)
    problem = models.CharField(max_length=200, blank=True)
    sent_at = models.DateTimeField(null=True)
    # when the server refused the address for good; it isn't tried again
    refused_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["expert", "number"], name="each_mail_once_per_expert"),
            models.CheckConstraint(
                condition=Q(number__lte=2), name="an_expert_is_reminded_twice_at_most"
            ),
            models.CheckConstraint(
                condition=Q(sent_at__isnull=True) | Q(refused_at__isnull=True),
                name="expert_mail_is_never_both_sent_and_refused",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_try_at"], condition=Q(sent_at__isnull=True), name="mail_waiting"
            ),
            models.Index(fields=["study"], name="expert_mail_by_study"),
        ]

    def __str__(self) -> str:
        return f"e-mail {self.number} to expert {self.expert_id}"


# --- colleagues who try a draft ---


class Tester(models.Model):
    """The name that a colleague gave on the pilot link."""

    participant = models.OneToOneField(
        "Participant", on_delete=models.CASCADE, related_name="tester"
    )
    name = models.CharField(max_length=60)

    def __str__(self) -> str:
        # never the name: this text reaches logs and histories
        return f"tester {self.pk}"


class PilotComment(models.Model):
    """What a colleague says of a question, a text or an item."""

    class Kind(models.TextChoices):
        QUESTION = "question"
        TEXT = "text"
        ITEM = "item"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="pilot_comments")
    participant = models.ForeignKey(
        "Participant", on_delete=models.CASCADE, related_name="pilot_comments"
    )
    kind = models.CharField(max_length=10, choices=Kind.choices)
    # the criterion, or the name of the text
    subject = models.CharField(max_length=60, blank=True)
    item = models.ForeignKey(Item, null=True, on_delete=models.CASCADE, related_name="+")
    text = models.TextField()
    created_at = models.DateTimeField(default=now)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="item", item__isnull=False)
                | (~Q(kind="item") & Q(item__isnull=True)),
                name="pilot_comment_on_an_item_names_it",
            ),
        ]

    def __str__(self) -> str:
        return f"comment {self.pk}"
