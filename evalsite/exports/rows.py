"""Rows of the exported files, in a fixed order and with flat memory.

They come in groups: what some rows share, and these rows. A group of ratings is an annotation with
its ratings (see `answers.py`); items, participants, metrics and labels are separate groups.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db.models import Case, Count, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, Coalesce

from evalsite.annotation.models import Annotation
from evalsite.annotation.pages.bonus import find_earners
from evalsite.exports.selection import Selection
from evalsite.imports.models import Judge, JudgeLabel, MetricScore
from evalsite.instruments.scales import Scale
from evalsite.participants.models import ItemSet, Origin
from evalsite.quality.models import Exclusion
from evalsite.studies.items import ItemNumbers
from evalsite.studies.models import Item, Output, Study

Group = tuple[Any, Sequence[Any]]

# rows read at a time; annotations may have many ratings each
PAGE = 2_000
# the same of rows that may hold long texts
_LONG_ROWS = 500


def as_text(field: str) -> Cast:
    """Return the field as a text of the database, which Django takes as it is."""
    return Cast(field, TextField())


def as_text_or_empty(field: str) -> Coalesce:
    """Return a field that may be NULL as a text of the database, or ""."""
    return Coalesce(as_text(field), Value(""), output_field=TextField())


def choose(condition: Q, text: str, other: str) -> Case:
    """Return an expression for one of two texts."""
    return Case(When(condition, then=Value(text)), default=Value(other))


def write_share(prefix: str = "") -> Case:
    """Return an expression for the cell that says whether a person's answers may be shared."""
    name = f"{prefix}may_share"
    return Case(
        When(**{name: True}, then=Value("yes")),
        When(**{name: False}, then=Value("no")),
        default=Value(""),
    )


def hyphenate(key: str) -> str:
    """Write a UUID as usual: SQLite keeps it as 32 digits."""
    return f"{key[:8]}-{key[8:12]}-{key[12:16]}-{key[16:20]}-{key[20:]}"


def is_typed(scale: Scale | None, value: float | None, text: str) -> bool:
    """Return whether the text of a row is how its number was typed, and no words of a person.

    No scale: the protocol no longer has the criterion.
    """
    if value is None:
        return False
    return scale.keeps_typed if scale else text.strip().isdecimal()


def find_exclusions(study: Study) -> dict[tuple[str, int], list[str]]:
    """Return the reasons of active exclusions, by what they leave out."""
    reasons: dict[tuple[str, int], list[str]] = {}
    standing = Exclusion.objects.active().filter(study=study).order_by("id")
    for participant, annotation, reason in standing.values_list(
        "participant_id", "annotation_id", "reason"
    ):
        key = ("participant", participant) if participant else ("annotation", annotation)
        reasons.setdefault(key, []).append(reason)
    return reasons


class OutputIndex:
    """The number of each output of a study in its item, and its system, in 12 bytes an output.

    Joined to a page of ratings instead, PostgreSQL reads all outputs of the site for each page.
    """

    def __init__(self, study: Study, systems: Mapping[int | None, str]) -> None:
        self._ids, self._places = array("q"), array("i")
        # few: as many as an item has outputs, for each system
        self._known: list[tuple[int, str]] = []
        places: dict[tuple[int, int | None], int] = {}
        outputs = Output.objects.stored().filter(item__study=study).order_by("id")
        rows = outputs.values_list("id", "position", "system_id")
        for pk, position, system in rows.iterator(chunk_size=PAGE):
            place = places.setdefault((position, system), len(places))
            if place == len(self._known):
                self._known.append((position + 1, systems[system]))
            self._ids.append(pk)
            self._places.append(place)

    def find(self, pk: int) -> tuple[int, str]:
        """Return the number and the system of this output of the study."""
        # outputs of one upload follow one another
        place = pk - self._ids[0]
        if place >= len(self._ids) or self._ids[place] != pk:
            place = bisect_left(self._ids, pk)
        return self._known[self._places[place]]


class OutputRow(NamedTuple):
    """A row of items.csv: an output with its item."""

    study: Any
    batch: Any
    item: str
    group: str
    cluster: str
    kind: str
    repeat_of: str
    held_at: datetime | None
    position: int
    system: str | None
    output: str
    inputs: dict[str, Any]
    gold: dict[str, str]
    extra: dict[str, Any]
    item_no: str
    group_no: str


def read_items(study: Study) -> Iterator[Group]:
    """Rows of items.csv: the outputs of the study, as items were uploaded."""
    outputs = Output.objects.stored().filter(item__study=study)
    rows = outputs.order_by("item_id", "position").values_list(
        Value(str(study.pk)), "item__batch_id", "item__key", "item__group",
        "item__cluster", "item__kind", as_text_or_empty("item__repeat_of__key"), "item__held_at",
        "position",
        "system__name", "text", "item__inputs", "item__gold", "item__extra", "item_id",
    )  # fmt: skip
    numbers = ItemNumbers(study)
    for *row, item in rows.iterator(chunk_size=_LONG_ROWS):
        output = OutputRow._make([*row, *numbers.find(item)])
        yield output, (output,)


class PersonRow(NamedTuple):
    """A row of participants.csv."""

    study: str
    reasons: Sequence[str]
    sets_finished: int
    answers: int
    has_bonus: bool
    participant: str
    origin: str
    is_pilot: bool
    created_at: datetime
    consented_to: str
    is_eligible: bool | None
    tries: int
    is_qualified: bool | None
    withdrawn_at: datetime | None
    person: str
    may_share: str

    @property
    def is_imported(self) -> bool:
        return self.origin == Origin.IMPORTED


def read_participants(study: Study, selection: Selection) -> Iterator[Group]:
    """Rows of participants.csv: everyone who came, in that order."""
    earners, exclusions = find_earners(study), find_exclusions(study)
    sets = _count_by_person(ItemSet.objects.filter(study=study, finished_at__isnull=False))
    answers = _count_by_person(
        Annotation.objects.agreed().filter(study=study, item__kind=Item.Kind.MAIN)
    )
    people = selection.find_participants(study).order_by("id").values_list(
        "id", "pseudonym", "origin", "is_pilot", "created_at", "consented_to", "is_eligible",
        "tries", "is_qualified", "withdrawn_at", choose(Q(is_person=True), "yes", "no"),
        write_share(),
    )  # fmt: skip
    row: list[Any]
    for pk, *row in people.iterator(chunk_size=PAGE):
        reasons = exclusions.get(("participant", pk), ())
        person = PersonRow(
            str(study.pk), reasons, sets.get(pk, 0), answers.get(pk, 0), pk in earners, *row
        )
        yield person, (person,)


def _count_by_person(rows: QuerySet[Any]) -> dict[int, int]:
    return dict(rows.order_by().values_list("participant").annotate(n=Count("pk")))


class ScoreRow(NamedTuple):
    """A row of metrics.csv."""

    item_id: int
    position: int
    item: str
    system: str | None
    metric: str
    value: float
    better: str


def read_metrics(study: Study) -> Iterator[Group]:
    """Rows of metrics.csv: by output, as items were uploaded, then by metric."""
    scores = MetricScore.objects.filter(file__study=study).order_by(
        "output__item_id", "output__position"
    )
    fields = ("output__item_id", "output__position", "output__item__key", "output__system__name")
    rows = scores.values_list(*fields, "metric", "value", "better").iterator(chunk_size=PAGE)
    for _, group in groupby(rows, key=itemgetter(0, 1)):
        # sorted here: databases differ in how they order texts
        for row in sorted(group):
            score = ScoreRow(*row)
            yield score, (score,)


class LabelRow(NamedTuple):
    """A row of judge_labels.csv."""

    item: str
    criterion: str
    judge: str
    prompt_version: str
    system: str
    other_system: str
    order: int
    run: str
    value: float | None
    option: str
    reason: str


def read_judge_labels(study: Study, judge: Judge | None = None) -> Iterator[Group]:
    """Rows of judge_labels.csv, by judge and file, as they were uploaded; or those of one judge."""
    labels = JudgeLabel.objects.filter(file__study=study)
    labels = labels if judge is None else labels.filter(judge=judge)
    fields = ("item_key", "criterion", "judge__name", "judge__prompt_version", "system",
              "other_system", "order", "run", "value", "option", "reason")  # fmt: skip
    ordered = labels.order_by("judge_id", "pk")
    for row in ordered.values_list(*fields).iterator(chunk_size=PAGE):
        label = LabelRow(*row)
        yield label, (label,)
