"""The act of rating: slots, drafts, annotations with their ratings, and earlier states."""

from collections import defaultdict
from datetime import UTC, datetime
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast, Length, Round
from django.db.models.lookups import Exact, LessThanOrEqual

from evalsite.handout.value_field import ValueField
from evalsite.instruments.answer import (
    HIGHLIGHTS,
    LARGEST_NUMBER,
    LONGEST_PART,
    MOST_DECIMALS,
    AnswerRow,
)
from evalsite.lib.clock import now
from evalsite.lib.seeds import arrange, derive_number
from evalsite.people.models import ItemSet, Origin, Participant, Visit
from evalsite.studies.models import Item, Output, Study, StudyVersion

# A top-up's number; those below are of the design, which has k of them for each item (k <= 1000).
TOP_UP_FROM = 1000
# Until when an expert's places are held: they have no lease, and come back only by a researcher.
ASSIGNED = datetime(9999, 1, 1, tzinfo=UTC)
# the log's word for it; its entries hold how many there are
TOP_UP_ACTION = "items topped up"


class SlotQuerySet(models.QuerySet["Slot"]):
    # Literals, not parameters of a join: both planners must see the partial indexes.
    def free(self) -> "SlotQuerySet":
        return self.filter(state=0)

    def leased(self) -> "SlotQuerySet":
        return self.filter(state=1)

    def assigned(self) -> "SlotQuerySet":
        return self.leased().filter(lease_until=ASSIGNED)

    def done(self) -> "SlotQuerySet":
        return self.filter(state=2)


class Slot(models.Model):
    """One of the k places of an item: free, leased to a participant, or done."""

    class State(models.IntegerChoices):
        FREE = 0
        LEASED = 1
        DONE = 2

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="slots", db_index=False)
    no = models.PositiveSmallIntegerField()
    pos = models.BigIntegerField()
    # in which order this slot shows the outputs (evalsite.lib.seeds.arrange), and where groups
    # stay together the item's place in its group too (allocation.slot_plan.place_in_group)
    arrangement = models.PositiveSmallIntegerField()
    state = models.PositiveSmallIntegerField(choices=State.choices, default=State.FREE)
    participant = models.ForeignKey(
        Participant, null=True, on_delete=models.PROTECT, related_name="slots", db_index=False
    )
    lease_until = models.DateTimeField(null=True)
    # of a place that is done: until when its holder's open set was kept with that answer
    kept_until = models.DateTimeField(null=True)

    objects = SlotQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "no", "study"], name="slot_number_once_per_item"
            ),
            # participant first: the other order made each claim read the whole table
            models.UniqueConstraint(
                fields=["participant", "item", "study"],
                condition=Q(participant__isnull=False),
                name="one_slot_of_an_item_per_participant",
            ),
            models.CheckConstraint(
                condition=Q(
                    state=0,
                    participant__isnull=True,
                    lease_until__isnull=True,
                    kept_until__isnull=True,
                )
                | Q(
                    state=1,
                    participant__isnull=False,
                    lease_until__isnull=False,
                    kept_until__isnull=True,
                )
                | Q(state=2, participant__isnull=False, lease_until__isnull=True),
                name="slot_state_agrees_with_its_holder",
            ),
        ]
        indexes = [
            models.Index(fields=["study", "pos", "id"], condition=Q(state=0), name="slot_free"),
            models.Index(fields=["lease_until"], condition=Q(state=1), name="slot_lapsing"),
            models.Index(fields=["participant", "study"], condition=Q(state=1), name="slot_held"),
            models.Index(fields=["study"], condition=Q(no__gte=TOP_UP_FROM), name="slot_topped_up"),
        ]

    def __str__(self) -> str:
        return f"slot {self.no} of {self.item_id}"


def order_of(study_seed: str, item: Item, outputs: int, arrangement: int) -> list[int]:
    """Return the outputs' positions in the order that this arrangement of the item shows."""
    return arrange(outputs, arrangement, study_seed, item.key)


def order_for(participant: Participant, item: Item, outputs: int, slot: Slot | None) -> list[int]:
    """Return the order of the slot, or, without a slot, one drawn for this person.

    Practice items and repeats show their outputs in the order in which they are stored, and so
    do all items where the instrument says so.
    """
    is_stored = item.kind in (Item.Kind.PRACTICE, Item.Kind.REPEAT)
    if is_stored or participant.study.config.layout.is_given:
        return list(range(outputs))
    seed = participant.study.seed
    drawn = derive_number(seed, "order", participant.pseudonym, item.key)
    return order_of(seed, item, outputs, slot.arrangement if slot else drawn)


class Draft(models.Model):
    """What a participant has entered for an item but not saved yet."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+", db_index=False)
    participant = models.ForeignKey(
        Participant, on_delete=models.CASCADE, related_name="drafts", db_index=False
    )
    # as of an annotation: whose entries these are
    visit = models.ForeignKey(
        Visit, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    values = models.JSONField(default=dict)
    # the outputs' positions, in the order in which the values were entered for them
    order_shown = models.JSONField(default=list)
    # when it renewed the lease of its item, which it does once
    renewed_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "item", "study"], name="one_draft_per_participant_and_item"
            )
        ]
        indexes = [models.Index(fields=["study", "updated_at"], name="draft_by_time")]

    def __str__(self) -> str:
        return f"draft of {self.item_id}"

    def fits(self, order: list[int]) -> bool:
        """Return whether the values belong onto a page that shows the outputs in this order."""
        return not self.order_shown or self.order_shown == order


class RatingsFile(models.Model):
    """One file of ratings collected elsewhere; its annotations have the origin "imported"."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="ratings_files")
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    rows = models.PositiveIntegerField()
    # as the researcher declared: whether each of its participants is one person
    has_persons = models.BooleanField()
    # what the researcher confirmed at import, such as rows left out: plain data, one dict a step
    import_notes = models.JSONField(default=list, blank=True)
    uploaded_at = models.DateTimeField(default=now)
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["uploaded_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "sha256"], name="same_ratings_file_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return self.file_name


class AnnotationQuerySet(models.QuerySet["Annotation"]):
    def counted(self) -> "AnnotationQuerySet":
        return self.filter(status=Annotation.Status.COUNTED)

    def agreed(self) -> "AnnotationQuerySet":
        """Return all but those that wait for their person's consent, which never count."""
        return self.filter(awaits_consent=False)

    def given(self) -> "AnnotationQuerySet":
        """Return answers as pages count them: without practice, checks and withdrawn ones."""
        return (
            self.agreed()
            .filter(item__kind=Item.Kind.MAIN)
            .exclude(status=Annotation.Status.WITHDRAWN)
        )

    def reports(self) -> "AnnotationQuerySet":
        """Return open problem reports on items of any kind; without those of pilots."""
        statuses = (Annotation.Status.SURPLUS, Annotation.Status.CONTROL)
        return self.agreed().filter(outcome=Annotation.Outcome.REPORTED, status__in=statuses)


class Annotation(models.Model):
    """All that one participant submitted for one item."""

    class Outcome(models.TextChoices):
        RATED = "rated"
        IGNORED = "ignored"
        REPORTED = "reported"
        SKIPPED = "skipped"

    class Status(models.TextChoices):
        COUNTED = "counted"
        SURPLUS = "surplus"
        CONTROL = "control"
        PILOT = "pilot"
        SKIPPED = "skipped"
        WITHDRAWN = "withdrawn"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="annotations")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="annotations")
    participant = models.ForeignKey(
        Participant, on_delete=models.PROTECT, related_name="annotations", db_index=False
    )
    # no slot: surplus, control, pilot, skipped, withdrawn or reported
    slot = models.ForeignKey(Slot, null=True, on_delete=models.PROTECT, db_index=False)
    item_set = models.ForeignKey(
        ItemSet, null=True, on_delete=models.PROTECT, related_name="annotations"
    )
    # the later visit on which it was saved; empty: through a link that opens everything
    visit = models.ForeignKey(
        Visit, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    place = models.PositiveSmallIntegerField(default=0)
    key = models.UUIDField()
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.RATED)
    status = models.CharField(max_length=10, choices=Status.choices)
    # the consent text had changed: nothing uses it before its person agrees; then it counts, if
    # its slot is still held
    awaits_consent = models.BooleanField(default=False)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.OWN)
    # no version: a pilot before the first launch
    version = models.ForeignKey(StudyVersion, null=True, on_delete=models.PROTECT)
    # the outputs' positions, in the order in which they were shown
    order_shown = models.JSONField(default=list)
    reason = models.CharField(max_length=40, blank=True)
    note = models.TextField(blank=True)
    is_aided = models.BooleanField(default=False)
    device = models.CharField(max_length=20, blank=True)
    language = models.CharField(max_length=35, blank=True)
    started_at = models.DateTimeField()
    submitted_at = models.DateTimeField()
    client_ms = models.PositiveIntegerField(null=True)
    active_ms = models.PositiveIntegerField(null=True)
    ratings_file = models.ForeignKey(
        RatingsFile, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    # of an imported annotation: its time as the file gave it, whatever zone that was in
    time_given = models.CharField(max_length=64, blank=True)

    objects = AnnotationQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "item", "study"],
                name="one_annotation_of_an_item_per_participant",
            ),
            models.UniqueConstraint(fields=["slot", "study"], name="one_annotation_per_slot"),
            models.UniqueConstraint(fields=["key", "study"], name="one_annotation_per_key"),
            models.CheckConstraint(
                condition=Q(status="counted", slot__isnull=False)
                | (~Q(status="counted") & Q(slot__isnull=True)),
                name="counted_annotations_hold_a_slot",
            ),
            models.CheckConstraint(
                condition=~Q(outcome="reported", status="counted"),
                name="reported_annotations_never_count",
            ),
            models.CheckConstraint(
                condition=(Q(outcome="skipped") & ~Q(status="counted"))
                | (~Q(outcome="skipped") & ~Q(status="skipped")),
                name="skipped_annotations_never_count",
            ),
            models.CheckConstraint(
                condition=Q(awaits_consent=False)
                | Q(status__in=["surplus", "control", "pilot", "withdrawn"]),
                name="counted_annotations_await_no_consent",
            ),
        ]
        indexes = [
            models.Index(
                fields=["ratings_file"],
                condition=Q(ratings_file__isnull=False),
                name="annotation_imported",
            ),
            models.Index(
                fields=["visit"], condition=Q(visit__isnull=False), name="annotation_by_visit"
            ),
            # the newest of an origin; and with the status, counts that read no row of the table
            models.Index(
                fields=["study", "origin", "submitted_at", "status"], name="annotation_by_time"
            ),
        ]

    def __str__(self) -> str:
        return f"annotation {self.pk}"

    def list_rows(self) -> list[AnswerRow]:
        """Return what it says: a row for each of its ratings."""
        return [
            AnswerRow(
                self.item_id, rating.output_id, rating.criterion, rating.turn, rating.part,
                rating.value, rating.text, rating.detail, rating.start, rating.end,
            )
            for rating in self.ratings.all()
        ]  # fmt: skip


# Always true or false: a check constraint also accepts rows for which its condition is NULL.
_IS_NOT_APPLICABLE = models.Case(
    models.When(detail__na=True, then=True), default=False, output_field=models.BooleanField()
)


# the columns of a rating that are a row of an answer
ROW = (
    "annotation__item_id", "output_id", "criterion", "turn", "part", "value", "text", "detail",
    "start", "end",
)  # fmt: skip


class RatingQuerySet(models.QuerySet["Rating"]):
    def marks(self) -> "RatingQuerySet":
        """Return the passages that were marked."""
        return self.filter(start__isnull=False)

    def without_marks(self) -> "RatingQuerySet":
        return self.filter(start__isnull=True)

    def without_highlights(self) -> "RatingQuerySet":
        """Return the rows that answer questions."""
        return self.exclude(criterion=HIGHLIGHTS)

    def group_rows(self) -> dict[int, list[AnswerRow]]:
        """Return the rows of each annotation that has some, in the order in which they were stored.

        Plain rows: a model's object for each would take several times as long.
        """
        rows: dict[int, list[AnswerRow]] = defaultdict(list)
        for annotation_id, *cells in self.order_by("id").values_list("annotation_id", *ROW):
            rows[annotation_id].append(AnswerRow(*cells))
        return rows


class Rating(models.Model):
    """One row of an annotation: for one criterion and output, a value, a text or a passage.

    Few have a `turn`, `part`, `text`, `detail` or passage. The database knows the defaults of these
    columns, so statements in SQL needn't name them.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    annotation = models.ForeignKey(Annotation, on_delete=models.CASCADE, related_name="ratings")
    criterion = models.CharField(max_length=40)
    # no output: a tie
    output = models.ForeignKey(
        Output, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    # of a conversation, from 1; 0: all of it
    turn = models.PositiveSmallIntegerField(default=0, db_default=0)
    # a statement or an option of the question, a category of a passage, or "comment"; empty: the
    # question itself
    part = models.CharField(max_length=LONGEST_PART, blank=True, default="", db_default="")
    # none: the answer is a text or a passage, or the question was not applicable
    value = ValueField(null=True)
    # of a number that was typed: as it was typed. Of a passage: its quote, so that it can be
    # checked and read without the output
    text = models.TextField(blank=True, default="", db_default="")
    # what else belongs to the answer; {"na": true}: the question was not applicable
    detail = models.JSONField(null=True)
    # of a passage that was marked: code points from `start` up to `end` of the output, of the input
    # that its part names, or of the turn of one of these
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    # of an imported rating: its record in the file, from 1; the order of the file is data
    file_row = models.PositiveIntegerField(null=True)

    objects = RatingQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["annotation", "criterion", "output", "turn", "part", "study"],
                condition=Q(output__isnull=False, start__isnull=True),
                name="one_rating_of_an_output_per_criterion_turn_and_part",
            ),
            models.UniqueConstraint(
                fields=["annotation", "criterion", "turn", "part", "study"],
                condition=Q(output__isnull=True, start__isnull=True),
                name="one_rating_of_an_item_per_criterion_turn_and_part",
            ),
            models.UniqueConstraint(
                fields=[
                    "annotation",
                    "criterion",
                    "output",
                    "turn",
                    "part",
                    "start",
                    "end",
                    "study",
                ],
                condition=Q(start__isnull=False),
                name="one_mark_of_a_passage_per_criterion_turn_and_part",
            ),
            # Infinity would be an error in PostgreSQL's round(), so it is sorted out first.
            models.CheckConstraint(
                condition=Q(
                    models.Case(
                        models.When(value__isnull=True, then=True),
                        models.When(
                            value__gte=-LARGEST_NUMBER,
                            value__lte=LARGEST_NUMBER,
                            then=models.Case(
                                models.When(
                                    ~Exact(Cast("value", models.CharField()), "-0"),
                                    value=Round("value", precision=MOST_DECIMALS),
                                    then=True,
                                ),
                                default=False,
                            ),
                        ),
                        default=False,
                        output_field=models.BooleanField(),
                    )
                ),
                name="values_are_bounded_and_have_at_most_three_decimals",
            ),
            # SQLite doesn't enforce the length of a column
            models.CheckConstraint(
                condition=LessThanOrEqual(Length("part"), LONGEST_PART),
                name="parts_have_at_most_81_characters",
            ),
            models.CheckConstraint(
                condition=Q(start__isnull=True, end__isnull=True)
                | Q(
                    start__isnull=False,
                    end__isnull=False,
                    output__isnull=False,
                    end__gte=models.F("start"),
                ),
                name="marks_have_an_output_and_ends_in_order",
            ),
            # a passage without a length is an omission, and only its part can say of what
            models.CheckConstraint(
                condition=(Q(start__isnull=True, value__isnull=False) & ~Q(_IS_NOT_APPLICABLE))
                | (
                    Q(start__isnull=True, value__isnull=True)
                    & (~Q(text="") | Q(_IS_NOT_APPLICABLE))
                )
                | (
                    Q(start__isnull=False, end__isnull=False, value__isnull=True)
                    & ~Q(_IS_NOT_APPLICABLE)
                    & (Q(end__gt=models.F("start")) | ~Q(part=""))
                ),
                name="ratings_have_a_value_a_text_or_a_passage_or_are_not_applicable",
            ),
        ]
        indexes = [
            # taking back outputs looks for ratings of each: without it, through all there are
            models.Index(
                fields=["output"], condition=Q(output__isnull=False), name="rating_by_output"
            )
        ]

    def __str__(self) -> str:
        return f"{self.criterion}: {self.text if self.value is None else self.value}"


class Revision(models.Model):
    """An earlier state of an annotation, kept when it was changed while its set was open."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    annotation = models.ForeignKey(Annotation, on_delete=models.CASCADE, related_name="revisions")
    state = models.JSONField()
    submitted_at = models.DateTimeField()
    replaced_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"revision of {self.annotation_id}"

    def list_rows(self) -> list[AnswerRow]:
        """Return what was said, as `Annotation.list_rows`."""
        return [AnswerRow(self.annotation.item_id, *cells) for cells in self.state["rows"]]
