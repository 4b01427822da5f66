"""Rows of the files of annotations, in a fixed order and with flat memory.

A million ratings must be read in seconds, so few objects are made for each: the cells of an
annotation are put together once, as texts, and what many annotations share is looked up.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Any, TypeVar

from evalsite.annotation.models import Annotation
from evalsite.exports.answer_cells import SHARED, AnswerCells
from evalsite.exports.cells import (
    Column,
    Form,
    Page,
    Source,
    name_output,
)
from evalsite.exports.queries import (
    Answers,
    Highlights,
    Ratings,
    read_marked,
    read_rated,
)
from evalsite.exports.rating_cells import OF_RATING, RatingCells, name_wide, read_outputs
from evalsite.exports.selection import Selection
from evalsite.exports.yardsticks import Yardsticks
from evalsite.studies.models import Study, System

# the columns of each part of a row
OF_ANSWER = (
    ("outcome", "reason", "problem", "note"),
    ("order_shown", "ratings", "gold_agrees"),
)
OF_HIGHLIGHT = (("system", "output_id"), ("place",), ("start", "end", "quote"))


_Rows = TypeVar("_Rows")


class Tables:
    """Reads the annotations of a study, once. Inside a consistent cut, all of one moment."""

    def __init__(self, study: Study, form: Form, selection: Selection | None = None) -> None:
        self.study = study
        self.config = study.config
        self.selection = selection or Selection()
        self._takes_all = self.selection.is_all
        systems = System.objects.filter(study=study).values_list("id", "name")
        # no system: an output that came with the protocol
        self._systems: dict[int | None, str] = {None: "", **dict(systems)}
        self._form = form
        self._shared = AnswerCells(study)
        self._cells = RatingCells(self.config, self._systems, form)
        self._yardsticks = Yardsticks(study, self._systems)

    def read_ratings(self) -> Source:
        """Rows of ratings.csv. They stand by annotation, then criterion, then output as uploaded.

        Those that were imported stand within their annotation as in their file.
        """
        return Source(SHARED, OF_RATING, self._read_long())

    def _read_long(self) -> Iterator[Page]:
        for answers, shared, ratings, which in self._read_rated():
            standards = self._yardsticks.find_standards(answers)
            yield Page(shared, self._cells.rate(answers, ratings, which, standards), which)

    def read_wide(self) -> Source:
        """Rows of ratings_wide.csv: by annotation, then output as uploaded."""
        return Source(SHARED, name_wide(self.config), self._read_spread())

    def _read_spread(self) -> Iterator[Page]:
        for answers, shared, ratings, which in self._read_rated():
            standards = self._yardsticks.find_standards(answers)
            whose, own = self._cells.spread(answers, ratings, which, standards)
            yield Page(shared, own, whose)

    def _read_rated(self) -> Iterator[tuple[Answers, list[Column], Ratings, list[int]]]:
        """Annotations, what their rows share, their ratings, and whose each of these is."""
        pages = read_rated(self.study, with_outputs=self._cells.needs_outputs)
        for answers, shared, rows in self._choose_of(pages):
            own, which = _find_own(rows, answers)
            if which:
                yield answers, shared, Ratings._make(own), which

    def read_annotations(self) -> Source:
        """Rows of annotations.csv, in the order in which annotations were first saved."""
        return Source(SHARED, OF_ANSWER, self._read_all())

    def _read_all(self) -> Iterator[Page]:
        joins = [self._form.join(names) for names in OF_ANSWER]
        for answers, shared, rows in self._choose_of(read_rated(self.study, with_outputs=True)):
            if not answers.id:
                continue
            given = self._count_answers(answers, Ratings._make(rows))
            is_reported = [one == Annotation.Outcome.REPORTED for one in answers.outcome]
            reasons = [*zip(answers.reason, is_reported, strict=True)]
            said = (
                answers.outcome,
                ["" if reported else reason for reason, reported in reasons],
                [reason if reported else "" for reason, reported in reasons],
                answers.note,
            )
            own = [join(cells) for join, cells in zip(joins, (said, given), strict=True)]
            yield Page(shared, own, range(len(answers.id)))

    def _count_answers(self, answers: Answers, ratings: Ratings) -> list[Column]:
        """Order shown, number of ratings, and whether they agree with gold, of each."""
        found: defaultdict[int, dict[tuple[str, int | None], int]] = defaultdict(dict)
        for whose, criterion, output, value in zip(
            ratings.annotation_id, ratings.criterion, ratings.output_id, ratings.value, strict=True
        ):
            found[whose][criterion, output or None] = value
        standards = self._yardsticks.find_standards(answers)
        counted = [
            self._count_answer(answers, one, found[whose], standards[one])
            for one, whose in enumerate(answers.id)
        ]
        return [*zip(*counted, strict=True)]

    def _count_answer(
        self,
        answers: Answers,
        one: int,
        given: dict[tuple[str, int | None], int],
        standard: int | None,
    ) -> tuple[str, str, str]:
        outputs = read_outputs(answers.outputs[one])
        places = self._cells.find_places(answers.order_shown[one])
        shown = " ".join(str(number) for number in places if number in outputs)
        return (
            shown,
            str(len(given)),
            self._yardsticks.judge(answers.item_id[one], given, outputs, standard),
        )

    def read_highlights(self) -> Source:
        """Rows of highlights.csv: by annotation, then output as uploaded, then place in it."""
        return Source(SHARED, OF_HIGHLIGHT, self._read_marked())

    def _read_marked(self) -> Iterator[Page]:
        joins = [self._form.join(names) for names in OF_HIGHLIGHT]
        for answers, shared, rows in self._choose_of(read_marked(self.study)):
            own, which = _find_own(rows, answers)
            if not which:
                continue
            marks = Highlights._make(own)
            at = [*zip(which, marks.position, strict=True)]
            cells = (
                (
                    [self._systems[one] for one in marks.system_id],
                    [name_output(answers.item[one], position) for one, position in at],
                ),
                ([self._find_place(answers.order_shown[one], position) for one, position in at],),
                ([*map(str, marks.start)], [*map(str, marks.end)], marks.quote),
            )
            parts = [join(columns) for join, columns in zip(joins, cells, strict=True)]
            yield Page(shared, parts, which)

    def _find_place(self, order_shown: str, position: int) -> str:
        return self._cells.find_places(order_shown).get(position + 1, "")

    # choosing

    def _choose_of(
        self, pages: Iterable[tuple[Answers, _Rows]]
    ) -> Iterator[tuple[Answers, list[Column], _Rows]]:
        """The annotations that belong in the file, and the cells that all of their rows share.

        Beside them what was read with them, as it was read.
        """
        for found, rows in pages:
            trials, places = self._shared.count(found)
            reasons = self._shared.find_reasons(found)
            kept = self._choose(found, reasons)
            answers = found
            if not all(kept):
                answers = found.keep(kept)
                trials, places = (list(compress(column, kept)) for column in (trials, places))
                reasons = list(compress(reasons, kept))
            yield answers, self._shared.share(answers, trials, places, reasons), rows

    def _choose(self, found: Answers, reasons: Sequence[Sequence[str]]) -> list[bool]:
        kept = [True] * len(found.id)
        if not self.selection.with_pilot:
            kept = [
                who not in self._shared.pilots and status != Annotation.Status.PILOT
                for who, status in zip(found.participant_id, found.status, strict=True)
            ]
        if self._takes_all:
            return kept
        cells = zip(
            kept, found.status, found.origin, found.kind, found.submitted_at, reasons, strict=True
        )
        return [
            is_kept
            and self.selection.takes(status=status, origin=origin, kind=kind, submitted_at=moment)
            and self.selection.takes_excluded(bool(why))
            for is_kept, status, origin, kind, moment, why in cells
        ]


def _find_own(
    rows: Sequence[Sequence[Any]], answers: Answers
) -> tuple[Sequence[Sequence[Any]], list[int]]:
    """Columns of what belongs to these annotations alone; and each one's place among them.

    The first of the columns says which annotation a row belongs to.
    """
    places = {key: place for place, key in enumerate(answers.id)}
    whose = rows[0]
    if not places.keys() >= {*whose}:
        kept = [key in places for key in whose]
        rows = [[*compress(column, kept)] for column in rows]
        whose = rows[0]
    return rows, [places[key] for key in whose]
