"""Rows of exported files, read a page at a time: items, people, scores, and answers with what
belongs to them.

They are in a fixed order, take little memory, and are of one moment inside a snapshot.
"""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import groupby, islice, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from django.db.models import Case, Count, F, Q, QuerySet, TextField, Value, When, Window
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce, RowNumber

from evalsite.data.files.columns import REASONS, STRENGTH, VALUE, has_na, write_text, yes_no
from evalsite.data.files.mqm_rows import MqmWriter, Shown
from evalsite.data.files.selection import Selection
from evalsite.data.models import Judge, JudgeLabel, MetricScore
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Annotation, Rating, RatingQuerySet, Revision
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.scales import COMMENT, NA, Scale
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.lib.limited import read_json
from evalsite.lib.masking import mask_words
from evalsite.participation.bonus import find_earners
from evalsite.people.models import ItemSet, Origin
from evalsite.studies.gold import Gold
from evalsite.studies.items import ItemNumbers, number_segments
from evalsite.studies.models import Item, Output, Study, StudyVersion, System

# --- items, people, scores

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
    exclusions = Exclusion.objects.active().filter(study=study).order_by("id")
    for participant, annotation, reason in exclusions.values_list(
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


# --- preferences in terms of systems

TIE = "tie"


class Comparison(NamedTuple):
    """A preference in terms of systems, never of sides."""

    system_1: str = ""
    system_2: str = ""
    preferred: str = ""
    outcome: str = ""
    shown_first: str = ""


NOT_COMPARED = Comparison()


def compare_systems(
    outputs: Sequence[tuple[int, str]], order_shown: str, preferred: int
) -> Comparison:
    """Return what it means for systems that the output of this number is preferred; 0: a tie."""
    systems = dict(outputs)
    names = sorted(systems.values()) or [""]
    name = systems[preferred] if preferred else ""
    outcome = TIE if not preferred else "1" if name == names[0] else "2"
    first = next(iter(find_places(order_shown)), None)
    return Comparison(names[0], names[-1], name, outcome, systems.get(first or 0, ""))


def find_places(order_shown: str) -> dict[int, str]:
    """Return by number in the item the place on the page, in the order of the page."""
    return {
        position + 1: str(place) for place, position in enumerate(read_json(order_shown), start=1)
    }


# --- ratings_simple.csv: what one participant said of one output, or of a pair

# by criterion and part
Cells = dict[tuple[str, str], str]


class SimpleRow(NamedTuple):
    """A row of ratings_simple.csv."""

    system: str
    comparison: Comparison
    values: Mapping[tuple[str, str], str]
    source_id: str
    tags: str
    turn: int


def make_simple_rows(
    ratings: Sequence["RatingRow"],
    criteria: Mapping[str, Criterion],
    extra: Mapping[str, Any],
    *,
    of_output: bool,
) -> list[SimpleRow]:
    """Make the rows of an annotation. Of outputs, what is said of none is beside each."""
    by_row: defaultdict[tuple[int, int], list[RatingRow]] = defaultdict(list)
    for rating in ratings:
        by_row[rating.number, rating.turn].append(rating)
    of_item = _write_cells(by_row[0, 0], criteria) if of_output else {}
    return [
        SimpleRow(
            rows[0].system,
            max(score.comparison for *_, score in rows),
            _write_cells(rows, criteria) | of_item,
            find_source(rows[0].answer.item, extra),
            find_tags(rows[0].system, extra),
            turn,
        )
        for (number, turn), rows in sorted(by_row.items())
        if number or (rows and not of_output)
    ]


def find_source(item: str, extra: Mapping[str, Any]) -> str:
    """Return the id in the uploaded file, which an item made from a part of it keeps."""
    source = extra.get("item")
    return source if isinstance(source, str) and item.startswith(f"{source}/") else item


def find_tags(system: str, extra: Mapping[str, Any]) -> str:
    tags = extra.get("tags", "")
    return write_text(tags.get(system) if isinstance(tags, dict) else tags)


def _write_cells(rows: Sequence["RatingRow"], criteria: Mapping[str, Criterion]) -> Cells:
    cells: Cells = {}
    answers: dict[str, list[RatingRow]] = {}
    for row in rows:
        if row.score.part == COMMENT:
            cells[row.score.criterion, COMMENT] = row.score.text
        else:
            answers.setdefault(row.score.criterion, []).append(row)
    for key, parts in answers.items():
        # a criterion that the protocol no longer has is only in ratings.csv
        if criterion := criteria.get(key):
            cells.update(write_answer(criterion, parts))
    return cells


def write_answer(
    criterion: Criterion, rows: Sequence["RatingRow"]
) -> Iterator[tuple[tuple[str, str], str]]:
    key, row = criterion.key, rows[0]
    if criterion.scale.compares:
        comparison, detail = row.score.comparison, row.score.detail or {}
        both = detail.get("both")
        yield (key, VALUE), comparison.preferred or (f"both_{both}" if both else TIE)
        yield (key, STRENGTH), write_text(row.score.value) if comparison.preferred else ""
        yield (key, REASONS), "; ".join(_list_reasons(row, detail.get("reasons", {})))
        return
    is_na = has_na(criterion) and row.score.is_not_applicable
    yield (key, NA), yes_no(is_na)
    cell = criterion.scale.write_cell([rating.stored for rating in rows])
    yield (key, VALUE), "" if is_na else cell


def _list_reasons(row: "RatingRow", reasons: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """List each reason with the system that it is about, in the order uploaded."""
    names = {str(pk): name for pk, name in row.answer.outputs.values()}
    order = [*names, *(output for output in reasons if output not in names)]
    for output in order:
        for reason in reasons.get(output, ()):
            yield f"{names[output]}: {reason}" if output in names else reason


# --- comments.csv: every text that a person wrote, beside the answer


class CommentRow(NamedTuple):
    """A row of comments.csv."""

    system: str
    criterion: str
    answer: str
    reasons: str
    text: str
    quote: str = ""


def list_written(config: Instrument) -> list[str]:
    """List the criteria to which words are, or may be, the answer."""
    written = [each for each in config.criteria if is_written(each.scale, "")]
    # a corrected output says nothing about it
    return [criterion.key for criterion in written if not criterion.scale.rewrites]


def is_written(scale: Scale | None, part: str) -> bool:
    """Return whether the text of a rating is words of the person; no scale: it is gone."""
    return part == COMMENT or scale is None or "text" in scale.columns


def find_written(ratings: RatingQuerySet, config: Instrument) -> RatingQuerySet:
    """Return the ratings with words of people, which are in `words`: of a passage, the note."""
    has_words = Q(Q(part=COMMENT) | Q(criterion__in=list_written(config)), start=None)
    if _asks_notes(config):
        has_words |= Q(start__isnull=False, detail__has_key="note")
    note = When(start__isnull=False, then=KT("detail__note"))
    return ratings.filter(has_words).annotate(words=Case(note, default="text")).exclude(words="")


def _asks_notes(config: Instrument) -> bool:
    return any(criterion.scale.asks_notes for criterion in config.criteria)


def make_comment_rows(
    answer: "Answer",
    ratings: Sequence["RatingRow"],
    marks: Sequence["MarkRow"],
    config: Instrument,
) -> Iterator[CommentRow]:
    """Yield the texts of an annotation: of its questions, of passages, then of the item."""
    written = list_written(config)
    criteria = {criterion.key: criterion for criterion in config.criteria}
    for rating in ratings:
        score = rating.score
        is_comment = score.part == COMMENT
        if not score.text or not (is_comment or score.criterion in written):
            continue
        criterion = criteria.get(score.criterion) if is_comment else None
        value, reasons = "", ""
        if criterion:
            value, reasons = _find_answer((rating.number, rating.turn), ratings, criterion)
        yield CommentRow(rating.system, score.criterion, value, reasons, score.text)
    for mark in marks:
        if mark.note and (criterion := criteria.get(mark.criterion)):
            value, _none = _find_answer((mark.number, 0), ratings, criterion)
            yield CommentRow(mark.system, mark.criterion, value, "", mark.note, mark.quote)
    if answer.note:
        names = [name or "" for _, name in answer.outputs.values()]
        yield CommentRow(names[0] if len(names) == 1 else "", "", "", "", answer.note)


def _find_answer(
    place: tuple[int, int], ratings: Sequence["RatingRow"], criterion: Criterion
) -> tuple[str, str]:
    """Return the answer beside a comment on this output and turn, and its reasons."""
    compares = criterion.scale.compares
    rows = [
        rating
        for rating in ratings
        if rating.score.criterion == criterion.key
        and rating.score.part != COMMENT
        and (compares or (rating.number, rating.turn) == place)
    ]
    cells = dict(write_answer(criterion, rows)) if rows else {}
    return cells.get((criterion.key, VALUE), ""), cells.get((criterion.key, REASONS), "")


# --- annotations and ratings

# what only some kinds of questions have
_MORE = ("part", "detail", "turn")
_IMPORTED, _REPORTED = Origin.IMPORTED.value, Annotation.Outcome.REPORTED.value


@dataclass(slots=True, eq=False)
class Answer:
    """An annotation with what is known of its item, participant and set."""

    # as they are read, in the order of _FIELDS
    id: int
    participant_id: int
    item_id: int
    version_id: int | None
    is_wanted: str
    batch: str
    item: str
    group: str
    cluster: str
    kind: str
    repeat_of: str
    annotation: str
    participant: str
    person: str
    set: str
    place: str
    order_shown: str
    status: str
    origin: str
    outcome: str
    reason: str
    note: str
    aids: str
    device: str
    language: str
    started_at: str
    submitted_at: str
    active_ms: int | None
    time_given: str
    may_share: str
    # added afterwards
    study: str = ""
    version: str = ""
    trial: str = ""
    place_in_group: str = ""
    place_in_set: str = ""
    revisions: str = "0"
    reasons: Sequence[str] = ()
    standard: int | None = None
    # by number of the output in the item: its place on the page, in the order of the page
    places: Mapping[int, str] = field(default_factory=dict)
    # by number: id and system; read only where a file needs it
    outputs: Mapping[int, tuple[int, str | None]] = field(default_factory=dict)
    ratings: str = ""
    agrees_with_gold: bool | None = None
    item_no: str = ""
    group_no: str = ""

    @property
    def is_imported(self) -> bool:
        return self.origin == _IMPORTED

    @property
    def is_reported(self) -> bool:
        return self.outcome == _REPORTED


# Texts and numbers as the database has them: Django would take its time to make objects of them.
_FIELDS = (
    "id", "participant_id", "item_id", "version_id", "is_wanted",
    as_text_or_empty("item__batch_id"), "item__key", "item__group", "item__cluster", "item__kind",
    as_text_or_empty("item__repeat_of__key"), as_text("key"), "participant__pseudonym",
    choose(Q(participant__is_person=True), "yes", "no"), as_text_or_empty("item_set__number"),
    as_text("place"), as_text("order_shown"), "status", "origin", "outcome", "reason", "note",
    choose(Q(is_aided=True), "yes", "no"), "device", "language", as_text("started_at"),
    as_text("submitted_at"), "active_ms", "time_given", write_share("participant__"),
)  # fmt: skip


@dataclass(slots=True, eq=False)
class Score:
    """A rating without its place: the columns from criterion to shown_first depend on nothing else.

    Equal ones are the same object, as far as they are kept, so its cells are written once.
    """

    scale: Scale | None
    criterion: str
    value: float | None
    value_typed: str
    standard: int | None
    comparison: Comparison
    part: str = ""
    text: str = ""
    detail: dict[str, Any] | None = None
    turn: int = 0
    better: str = ""

    @property
    def is_not_applicable(self) -> bool:
        return bool(self.detail and self.detail.get(NA))


class RatingRow(NamedTuple):
    """A row of ratings.csv. The rows of an annotation sort as in the file, by what is before pk.

    `number`: of the output in its item, from 1; 0: of no output. `file_row`: 0 if given here.
    """

    file_row: int
    rank: int
    criterion: str
    chosen: int  # the number, also of an output that is preferred
    turn: int
    pk: int
    answer: Answer
    output_pk: int | None
    number: int
    system: str
    score: Score

    @property
    def stored(self) -> AnswerRow:
        """The row as it is stored, but for what was typed for a number."""
        score = self.score
        return AnswerRow(
            self.answer.item_id, self.output_pk, score.criterion, score.turn, score.part,
            score.value, score.text, score.detail,
        )  # fmt: skip


class MarkRow(NamedTuple):
    """A row of highlights.csv."""

    answer: Answer
    number: int
    system: str
    start: int
    end: int
    quote: str
    criterion: str = ""
    input: str = ""
    category: str = ""
    severity: str = ""
    note: str = ""
    weight: float | None = None
    turn: int = 0


class AnswerReader:
    """Reads the annotations of a study, and what belongs to them."""

    def __init__(self, study: Study, selection: Selection) -> None:
        self.study = study
        self.selection = selection
        self._study_id = str(study.pk)
        criteria = study.config.criteria
        self._scales = {criterion.key: criterion.scale for criterion in criteria}
        # criteria that the protocol no longer has come last
        self._ranks = {criterion.key: rank for rank, criterion in enumerate(criteria)}
        self._compared = {key for key, scale in self._scales.items() if scale.compares}
        self._needs_outputs = bool(self._compared) or any(
            scale.orders for scale in self._scales.values()
        )
        self._with_standard = {key for key, scale in self._scales.items() if scale.has_standard}
        systems = System.objects.filter(study=study).values_list("id", "name")
        self._systems: dict[int | None, str] = {None: "", **dict(systems)}
        versions = StudyVersion.objects.filter(study=study).values_list("id", "number")
        self._versions: dict[int | None, str] = {None: ""}
        self._versions.update((pk, str(number)) for pk, number in versions)
        self._has_more = any(criterion.columns for criterion in criteria)
        self._criteria = {criterion.key: criterion for criterion in criteria}
        self._gold = Gold(study)
        self._exclusions = find_exclusions(study)
        self._numbers = ItemNumbers(study)
        self._has_revisions = Revision.objects.filter(study=study).exists()
        groups = Item.objects.filter(study=study).order_by().values("group").annotate(n=Count("id"))
        self._has_groups = groups.filter(n__gt=1).exists()
        self._trials: defaultdict[int, int] = defaultdict(int)
        self._hyphenate = lru_cache(64)(hyphenate)
        self._find_places = lru_cache(4_096)(find_places)
        self._compare = lru_cache(4_096)(compare_systems)
        self._find_score = lru_cache(4_096)(self._make_score)

    @cached_property
    def _outputs(self) -> OutputIndex:
        return OutputIndex(self.study, self._systems)

    def read_pages(self, *, with_outputs: bool = False) -> Iterator[list[Answer]]:
        """Read the wanted annotations in the order in which they were first saved."""
        condition = choose(self.selection.make_condition(self.study), "yes", "")
        annotations = Annotation.objects.agreed().filter(study=self.study).order_by("id")
        rows = annotations.annotate(is_wanted=condition).values_list(*_FIELDS)
        places = self._number_in_groups(annotations)
        numbered = zip(rows.iterator(chunk_size=PAGE), places, strict=self._has_groups)
        for page in _paginate(numbered, PAGE):
            answers = [answer for row in page if (answer := self._make_answer(*row)).is_wanted]
            if not answers:
                continue
            if self._has_revisions:
                self._count_revisions(answers)
            if with_outputs:
                self._add_outputs(answers)
            yield answers

    def _number_in_groups(self, annotations: QuerySet[Annotation]) -> Iterator[int]:
        """Give each annotation its place among those of the same person and group.

        The database counts: a table of people and groups would grow with the annotations.
        """
        if not self._has_groups:
            return repeat(1)
        number = Window(RowNumber(), ["participant_id", "item__group"], F("id").asc())
        return annotations.values_list(number, flat=True).iterator(chunk_size=PAGE)

    def _make_answer(self, row: Sequence[Any], place_in_group: int) -> Answer:
        """Return the annotation with its numbers, which count those that aren't wanted too."""
        answer = Answer(*row)
        who = answer.participant_id
        self._trials[who] += 1
        answer.study = self._study_id
        answer.version = self._versions[answer.version_id]
        answer.trial = str(self._trials[who])
        answer.place_in_group = str(place_in_group)
        if answer.set:
            answer.place_in_set = answer.place
        if answer.note and self.selection.is_masked:
            answer.note = mask_words(answer.note)
        if len(answer.annotation) == 32:
            answer.annotation = hyphenate(answer.annotation)
            answer.batch = answer.batch and self._hyphenate(answer.batch)
        if self._exclusions:
            answer.reasons = (
                *self._exclusions.get(("participant", who), ()),
                *self._exclusions.get(("annotation", answer.id), ()),
            )
        answer.standard = self._gold.find_standard(answer.version_id, answer.item_id)
        answer.places = self._find_places(answer.order_shown)
        answer.item_no, answer.group_no = self._numbers.find(answer.item_id)
        return answer

    def _count_revisions(self, answers: Sequence[Answer]) -> None:
        counts = self._count_by_answer(Revision.objects.all(), answers)
        for answer in answers:
            answer.revisions = str(counts.get(answer.id, 0))

    def _add_outputs(self, answers: Sequence[Answer]) -> None:
        outputs: defaultdict[int, dict[int, tuple[int, str | None]]] = defaultdict(dict)
        shown = Output.objects.filter(item__in={answer.item_id for answer in answers})
        for item, position, pk, system in shown.order_by("position").values_list(
            "item_id", "position", "id", "system_id"
        ):
            outputs[item][position + 1] = (pk, self._systems[system] or None)
        for answer in answers:
            answer.outputs = outputs[answer.item_id]

    def _count_by_answer(self, rows: QuerySet[Any], answers: Sequence[Answer]) -> dict[int, int]:
        rows = self._find_related(rows, answers).order_by()
        return dict(rows.values_list("annotation").annotate(n=Count("id")))

    def _find_related(self, rows: QuerySet[Any], answers: Sequence[Answer]) -> QuerySet[Any]:
        # the range of a page: by the study the database would look through all of it each time
        return rows.filter(annotation_id__gte=answers[0].id, annotation_id__lte=answers[-1].id)

    # ratings

    def read_ratings(self) -> Iterator[Group]:
        """Rows of ratings.csv: by annotation, then criterion, then output as uploaded.

        Those that were imported are within their annotation as in their file.
        """
        for answers in self.read_pages(with_outputs=self._needs_outputs):
            yield from zip(answers, self._read_ratings(answers), strict=True)

    def _read_ratings(self, answers: Sequence[Answer]) -> Iterator[list[RatingRow]]:
        """Return the ratings of each of these annotations."""
        if not answers:
            return
        by_annotation: dict[int, tuple[Answer, list[RatingRow]]] = {
            answer.id: (answer, []) for answer in answers
        }
        stored = self._find_related(Rating.objects.without_marks(), answers).order_by()
        ratings = stored.values_list(
            "annotation_id", "file_row", "criterion", "output_id", "id", "value", "text",
            *(_MORE if self._has_more else ()),
        )  # fmt: skip
        find_output, find_score, compared = self._outputs.find, self._find_score, self._compared
        ranks, last, make_row = self._ranks, len(self._ranks), RatingRow._make
        for row in ratings.iterator(chunk_size=PAGE):
            annotation, file_row, criterion, output, pk, value, text, *more = row
            if annotation not in by_annotation:
                continue
            is_number = is_typed(self._scales.get(criterion), value, text)
            typed, words = (text, "") if is_number else ("", text)
            if words and self.selection.is_masked:
                scale, part = self._scales.get(criterion), more[0] if more else ""
                words = mask_words(words) if is_written(scale, part) else words
            answer, rows = by_annotation[annotation]
            number, name = (0, "") if output is None else find_output(output)
            chosen = number
            # words on a comparison prefer nothing, nor are they a tie
            if criterion in compared and not (more and more[0] == COMMENT):
                # which of two is preferred is said of neither output
                number, name = 0, ""
                comparison = self._compare_systems(answer, chosen)
                score = find_score(criterion, value, typed, None, comparison)
            else:
                score = find_score(criterion, value, typed, answer.standard)
            if words or any(more):
                score = replace(score, text=words, **dict(zip(_MORE, more, strict=bool(more))))
            rank = ranks.get(criterion, last)
            # by place, which takes half the time of names
            cells = (
                file_row or 0, rank, criterion, chosen, score.turn, pk, answer, output, number,
                name, score,
            )  # fmt: skip
            rows.append(make_row(cells))
        for _, rows in by_annotation.values():
            rows.sort()
            yield rows

    def _compare_systems(self, answer: Answer, preferred: int) -> Comparison:
        systems = tuple((number, name or "") for number, (_, name) in answer.outputs.items())
        return self._compare(systems, answer.order_shown, preferred)

    def _make_score(
        self, criterion: str, value: float | None, typed: str, standard: int | None,
        comparison: Comparison = NOT_COMPARED,
    ) -> Score:  # fmt: skip
        standard = standard if criterion in self._with_standard else None
        scale = self._scales.get(criterion)
        asked = self._criteria.get(criterion)
        better = asked.direction if asked else ""
        return Score(scale, criterion, value, typed, standard, comparison, better=better)

    def read_simple(self) -> Iterator[Group]:
        """Rows of ratings_simple.csv: by annotation, then output as uploaded."""
        of_output = any(criterion.is_of_outputs for criterion in self.study.config.criteria)
        for answers in self.read_pages(with_outputs=self._needs_outputs):
            items = Item.objects.filter(pk__in={answer.item_id for answer in answers})
            extra = dict(items.order_by().values_list("pk", "extra"))
            for answer, ratings in zip(answers, self._read_ratings(answers), strict=True):
                yield (
                    answer,
                    make_simple_rows(
                        ratings, self._criteria, extra[answer.item_id], of_output=of_output
                    ),
                )

    def read_comments(self) -> Iterator[Group]:
        """Rows of comments.csv: by annotation, then criterion; notes on passages come after these,
        and what is of the item is last."""
        config = self.study.config
        for answers in self.read_pages(with_outputs=True):
            marks = {}
            if _asks_notes(config):
                marks = {answer.id: rows for answer, rows in self._read_marks(answers)}
            for answer, ratings in zip(answers, self._read_ratings(answers), strict=True):
                yield (
                    answer,
                    [*make_comment_rows(answer, ratings, marks.get(answer.id, ()), config)],
                )

    def read_annotations(self) -> Iterator[Group]:
        """Rows of annotations.csv, in the order in which annotations were first saved."""
        for answers in self.read_pages(with_outputs=True):
            counts = self._count_by_answer(Rating.objects.without_marks(), answers)
            checked = [answer for answer in answers if self._gold.has(answer.item_id)]
            ratings = Rating.objects.filter(annotation__in=[answer.id for answer in checked])
            rows = ratings.group_rows() if checked else {}
            for answer in checked:
                answer.agrees_with_gold = self._gold.compare(
                    answer.item_id,
                    rows.get(answer.id, []),
                    [*answer.outputs.values()],
                    answer.standard,
                )
            for answer in answers:
                answer.ratings = str(counts.get(answer.id, 0))
                yield answer, (answer,)

    def read_highlights(self) -> Iterator[Group]:
        """Rows of highlights.csv: by annotation, then output as uploaded, then place in it."""
        for answers in self.read_pages():
            yield from self._read_marks(answers)

    def _read_marks(self, answers: Sequence[Answer]) -> Iterator[tuple[Answer, list[MarkRow]]]:
        """Yield the marks of those of these annotations that have some."""
        by_id = {answer.id: answer for answer in answers}
        marks = self._find_related(Rating.objects.marks(), answers).order_by("annotation_id")
        rows = marks.values_list(
            "annotation_id", "output__position", "output__system_id", "start", "end", "text",
            "criterion", "part", "detail", "turn",
        )  # fmt: skip
        for pk, group in groupby(rows.iterator(chunk_size=PAGE), key=itemgetter(0)):
            if answer := by_id.get(pk):
                made = [self._make_mark(answer, *row) for _, *row in group]
                yield answer, sorted(made, key=self._place_mark)

    def read_mqm(self, *, has_words: bool = True) -> Iterator[Group]:
        """Rows of mqm.tsv: by annotation, then output as uploaded, then place in it."""
        writer = MqmWriter(self.study.config, has_words=has_words)
        segments = number_segments(self.study)
        for answers in self.read_pages(with_outputs=True):
            marks = {answer.id: rows for answer, rows in self._read_marks(answers)}
            items = {answer.item_id for answer in answers}
            inputs = dict(Item.objects.filter(pk__in=items).values_list("pk", "inputs"))
            texts: defaultdict[int, dict[int, str]] = defaultdict(dict)
            for item, position, text in Output.objects.filter(item__in=items).values_list(
                "item_id", "position", "text"
            ):
                texts[item][position + 1] = text
            for answer, ratings in zip(answers, self._read_ratings(answers), strict=True):
                source = str(inputs[answer.item_id].get(writer.source, ""))
                shown = Shown(segments[answer.group], source, texts[answer.item_id])
                made = writer.make_rows(answer, ratings, marks.get(answer.id, ()), shown)
                yield answer, [*made]

    def _make_mark(self, answer: Answer, position: int, system: int | None, *mark: Any) -> MarkRow:
        start, end, quote, criterion, part, detail, turn = mark
        row = MarkRow(answer, position + 1, self._systems[system], start, end, quote)
        scale = self._scales.get(criterion)
        if scale is None or not scale.marked_columns:
            return row
        stored = AnswerRow(answer.item_id, None, criterion, part=part, detail=detail)
        known = scale.describe_mark(stored)
        if self.selection.is_masked:
            known["note"] = mask_words(known["note"])
        return row._replace(criterion=criterion, turn=turn, **known)

    def _place_mark(self, mark: MarkRow) -> tuple[Any, ...]:
        """Return what marks are sorted by; databases differ in how they order texts."""
        rank = self._ranks.get(mark.criterion, len(self._ranks))
        return mark.number, rank, mark.input, mark.turn, mark.start, mark.end, mark.category


def _paginate(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while page := list(islice(rows, size)):
        yield page
