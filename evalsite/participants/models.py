"""Who evaluates: participants, how they came, consent, answers at entry, and sets."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from secrets import token_urlsafe
from uuid import uuid4

from django.db import models
from django.db.models import Q
from django.utils.crypto import salted_hmac

from evalsite.lib.clock import now
from evalsite.lib.prepared import Prepared
from evalsite.participants.consent_models import Consent as Consent
from evalsite.participants.expert_models import Expert as Expert
from evalsite.participants.expert_models import ExpertMail as ExpertMail
from evalsite.participants.join_models import JoinCount as JoinCount
from evalsite.participants.pilot_models import PilotComment as PilotComment
from evalsite.participants.pilot_models import Tester as Tester
from evalsite.participants.random_codes import hash_token
from evalsite.participants.random_codes import make_pseudonym as make_pseudonym
from evalsite.participants.random_codes import make_receipt as make_receipt
from evalsite.participants.screening_models import EarlierStudyRule as EarlierStudyRule
from evalsite.participants.screening_models import ParticipantMark as ParticipantMark
from evalsite.participants.screening_models import Quota as Quota
from evalsite.platforms import Outcome, Platform, find_open_link, get_platform
from evalsite.studies.models import Study

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
    # whether they ever reported an item: a save of anybody else asks nothing about reports
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
        """A new personal token for this participant, or this one; only its hash is kept."""
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
            is_on=True,
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
    # empty: as in the study's settings
    minutes = models.PositiveSmallIntegerField(null=True, blank=True)
    reward = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    # the reward is for each announced minute, not for the set
    is_paid_per_minute = models.BooleanField(default=False)
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
        """What is known of this round's platform."""
        return get_platform(self.platform)

    @property
    def has_link(self) -> bool:
        """Whether people arrive by a link that they share."""
        return self.adapter.is_installed and not self.adapter.has_personal_links

    @property
    def given(self) -> Mapping[str, str]:
        """What this round says of its platform, every setting of it included."""
        return {one.name: self.settings.get(one.name, "") for one in self.adapter.settings}

    @property
    def name_for_people(self) -> str:
        """The name of the platform that people go back to; "" if there is none."""
        return self.adapter.name_for_people(self.given) if self.adapter.hands_back else ""


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
                condition=Q(outcome__in=[str(one) for one in Outcome]),
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
        signed = salted_hmac(
            "evalsite.participants.PersonalLink", named, algorithm="sha256"
        ).digest()
        return urlsafe_b64encode(signed[:24]).decode()

    @property
    def token(self) -> str:
        """The token; empty if the secret key has changed since, as it can't be derived again."""
        token = self.derive_token()
        return token if hash_token(token) == self.token_hash else ""

    @property
    def is_used(self) -> bool:
        """Whether its person has pressed Start; an expert has a place before that."""
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
    # within what the person's id means one person; empty: none was sent
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
                condition=Q(outcome__in=["", *(str(one) for one in Outcome)]),
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
        """Whether this visit is over for good, other than by finishing what there was to do."""
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
    # until when all its items are held, also once no place is left. Once something is answered,
    # this is kept up only where sets may hold checks or repeats; an expert's set has none
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
        """How many items this set asks for: those dealt, less those that went to others."""
        return len(self.item_ids) - len(self.lost_ids)
