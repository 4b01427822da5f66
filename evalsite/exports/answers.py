"""Rows of the files of answers: annotations with what belongs to them, read a page at a time.

They are in a fixed order, take little memory, and are of one moment inside a snapshot.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import groupby, islice, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from evalsite.annotation.models import Annotation, Rating, Revision
from evalsite.exports.comment_rows import is_written, make_comment_rows
from evalsite.exports.comparison import NOT_COMPARED, Comparison, compare_systems, find_places
from evalsite.exports.mqm_rows import MqmWriter, Shown
from evalsite.exports.rows import (
    PAGE,
    Group,
    OutputIndex,
    as_text,
    as_text_or_empty,
    choose,
    find_exclusions,
    hyphenate,
    is_typed,
    write_share,
)
from evalsite.exports.selection import Selection
from evalsite.exports.simple_rows import make_simple_rows
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.scales import COMMENT, NA, Scale
from evalsite.lib.masking import mask_words
from evalsite.participants.models import Origin
from evalsite.studies.gold import Gold
from evalsite.studies.items import ItemNumbers
from evalsite.studies.models import Item, Output, Study, StudyVersion, System

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
        wanted = choose(self.selection.make_condition(self.study), "yes", "")
        annotations = Annotation.objects.agreed().filter(study=self.study).order_by("id")
        rows = annotations.annotate(is_wanted=wanted).values_list(*_FIELDS)
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
        found = Output.objects.filter(item__in={answer.item_id for answer in answers})
        for item, position, pk, system in found.order_by("position").values_list(
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
        for answers in self.read_pages(with_outputs=bool(self._compared)):
            yield from zip(answers, self._read_ratings(answers), strict=True)

    def _read_ratings(self, answers: Sequence[Answer]) -> Iterator[list[RatingRow]]:
        """Return the ratings of each of these annotations."""
        if not answers:
            return
        found: dict[int, tuple[Answer, list[RatingRow]]] = {
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
            if annotation not in found:
                continue
            is_number = is_typed(self._scales.get(criterion), value, text)
            typed, words = (text, "") if is_number else ("", text)
            if words and self.selection.is_masked:
                scale, part = self._scales.get(criterion), more[0] if more else ""
                words = mask_words(words) if is_written(scale, part) else words
            answer, rows = found[annotation]
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
        for _, rows in found.values():
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
        of_output = any(criterion.per_output for criterion in self.study.config.criteria)
        for answers in self.read_pages(with_outputs=bool(self._compared)):
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
        """Rows of comments.csv: by annotation, then criterion; what is of the item is last."""
        for answers in self.read_pages(with_outputs=True):
            for answer, ratings in zip(answers, self._read_ratings(answers), strict=True):
                yield answer, [*make_comment_rows(answer, ratings, self.study.config)]

    def read_annotations(self) -> Iterator[Group]:
        """Rows of annotations.csv, in the order in which annotations were first saved."""
        for answers in self.read_pages(with_outputs=True):
            counts = self._count_by_answer(Rating.objects.without_marks(), answers)
            checked = [answer for answer in answers if self._gold.has(answer.item_id)]
            for answer, ratings in zip(checked, self._read_ratings(checked), strict=True):
                answer.agrees_with_gold = self._gold.compare(
                    answer.item_id,
                    [row.stored for row in ratings],
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
            "criterion", "part", "detail",
        )  # fmt: skip
        for pk, group in groupby(rows.iterator(chunk_size=PAGE), key=itemgetter(0)):
            if answer := by_id.get(pk):
                made = [self._make_mark(answer, *row) for _, *row in group]
                yield answer, sorted(made, key=self._place_mark)

    def read_mqm(self, *, has_words: bool = True) -> Iterator[Group]:
        """Rows of mqm.tsv: by annotation, then output as uploaded, then place in it."""
        writer = MqmWriter(self.study.config, has_words=has_words)
        segments = self._number_segments()
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

    def _number_segments(self) -> dict[str, str]:
        """Return the position of each group in its cluster, in the order of upload."""
        items = Item.objects.filter(study=self.study).order_by("id").values_list("cluster", "group")
        counts: defaultdict[str, int] = defaultdict(int)
        segments: dict[str, str] = {}
        for cluster, group in items.iterator(chunk_size=PAGE):
            if group not in segments:
                counts[cluster or group] += 1
                segments[group] = str(counts[cluster or group])
        return segments

    def _make_mark(self, answer: Answer, position: int, system: int | None, *mark: Any) -> MarkRow:
        start, end, quote, criterion, part, detail = mark
        row = MarkRow(answer, position + 1, self._systems[system], start, end, quote)
        scale = self._scales.get(criterion)
        if scale is None or not scale.marked_columns:
            return row
        stored = AnswerRow(answer.item_id, None, criterion, part=part, detail=detail)
        known = scale.describe_mark(stored)
        if self.selection.is_masked:
            known["note"] = mask_words(known["note"])
        return row._replace(criterion=criterion, **known)

    def _place_mark(self, mark: MarkRow) -> tuple[Any, ...]:
        """Return what marks are sorted by; databases differ in how they order texts."""
        rank = self._ranks.get(mark.criterion, len(self._ranks))
        return mark.number, rank, mark.input, mark.start, mark.end, mark.category


def _paginate(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while page := list(islice(rows, size)):
        yield page
