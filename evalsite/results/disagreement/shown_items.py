"""What the page shows of items with wide disagreement: their texts, and each person's answer."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

from evalsite.analysis.families import get_family
from evalsite.annotation.models import Annotation, Rating
from evalsite.annotation.pages.view_models import ItemView, OutputView, view_item
from evalsite.instruments.answer import AnswerRow
from evalsite.lib.seeds import make_random
from evalsite.quality.frozen_plans import ItemNames
from evalsite.results.disagreement.widest import Wide, find_ratings
from evalsite.results.people.answer_words import (
    Line,
    Names,
    bind_criteria,
    describe_answer,
    describe_rows,
    name_outputs,
)
from evalsite.studies.models import Item, Output, Study

# characters of an answer that fit beside its chart
_LONG = 24
# one answer to an item, with all of its rows
Answered = tuple[Annotation, list[AnswerRow]]


@dataclass(frozen=True, kw_only=True)
class Given:
    """What one person answered and wrote, and where that is on the scale, from 0 to 1."""

    pseudonym: str
    seconds: int | None
    answer: str
    written: list[Line]
    note: str
    share: float

    @property
    def is_long(self) -> bool:
        """Return whether the answer needs a row of its own under the chart."""
        return len(self.answer) > _LONG

    @property
    def place(self) -> str:
        return f"{10 + 80 * min(1.0, max(0.0, self.share)):.0f}%"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One item as raters saw it, who answered what, and the other criteria."""

    wide: Wide
    item: Item
    name: str
    view: ItemView
    # the outputs with what they are called here
    outputs: list[tuple[str, OutputView]]
    answers: list[Given]
    # to the other criteria
    other_answers: list[Line]


def describe_wide(study: Study, widest: Sequence[Wide], *, is_blind: bool) -> list[Shown]:
    """Describe these items, in a few queries for all of them; systems are never named."""
    items = {
        item.pk: item for item in Item.objects.filter(pk__in=[wide.item_id for wide in widest])
    }
    outputs: dict[int, list[Output]] = defaultdict(list)
    for output in Output.objects.filter(item__in=items).order_by("item", "position"):
        outputs[output.item_id].append(output)
    # what else was said in an answer that counts belongs to it
    counted = find_ratings(study).filter(annotation__item__in=items).values("annotation")
    rows = Rating.objects.without_marks().filter(annotation__in=counted).group_rows()
    answers: dict[int, list[Answered]] = defaultdict(list)
    annotations = Annotation.objects.filter(pk__in=list(rows)).select_related("participant")
    for annotation in annotations.order_by("pk"):
        answers[annotation.item_id].append((annotation, rows[annotation.pk]))
    names = ItemNames(study, is_blind=is_blind)
    described = [
        _Described(study, wide, items[wide.item_id], outputs[wide.item_id]) for wide in widest
    ]
    return [
        Shown(
            wide=shown.wide,
            item=shown.item,
            name=names[shown.item],
            view=shown.view,
            outputs=shown.list_outputs(),
            answers=shown.list_answers(answers[shown.item.pk]),
            other_answers=shown.list_other_answers(answers[shown.item.pk]),
        )
        for shown in described
    ]


class _Described:
    """One item, with what its outputs are called on this page."""

    def __init__(self, study: Study, wide: Wide, item: Item, outputs: list[Output]) -> None:
        self.wide, self.item, self.config = wide, item, study.config
        self.criteria = bind_criteria(study.config, item)
        self.criterion = self.criteria[wide.criterion.key]
        self._all = outputs
        # the order of the file is that of systems
        mixed = list(outputs)
        make_random(study.seed, "disagreement", item.key).shuffle(mixed)
        self.names = {output.pk: f"Output {place}" for place, output in enumerate(mixed, start=1)}
        if wide.output_id is not None:
            # the only output that is shown needs no name beside what is said of it
            mixed = [output for output in mixed if output.pk == wide.output_id]
            self.names[wide.output_id] = ""
        self._page = mixed
        self.view = view_item(
            study.config,
            inputs=item.inputs,
            texts=[output.text for output in mixed],
            options=study.config.default_options | study.options,
        )

    def list_outputs(self) -> list[tuple[str, OutputView]]:
        labels = [self.names[output.pk] or "Output" for output in self._page]
        return list(zip(labels, self.view.outputs, strict=True))

    def list_answers(self, answers: Sequence[Answered]) -> list[Given]:
        """Return what each person answered to the criterion, the lowest first."""
        rows = [
            self._give(annotation, row, answered)
            for annotation, answered in answers
            for row in answered
            if self._is_about(row)
            and row.value is not None
            and (row.criterion, row.turn, row.part) == (self.criterion.key, self.wide.turn, "")
        ]
        return sorted(rows, key=lambda row: row.share)

    def _give(self, annotation: Annotation, row: AnswerRow, rows: Iterable[AnswerRow]) -> Given:
        shown = name_outputs(self.config, self._all, annotation.order_shown, is_blind=True).shown
        names = Names(self.names, shown)
        about = [other for other in rows if self._is_about(other)]
        return Given(
            pseudonym=annotation.participant.pseudonym,
            seconds=None if annotation.active_ms is None else round(annotation.active_ms / 1000),
            answer=describe_rows(self.criterion, [row], names),
            written=describe_answer(self.criteria, about, names).written,
            note=annotation.note,
            share=self._find_share(row, row.value or 0),
        )

    def _is_about(self, row: AnswerRow) -> bool:
        """Return whether it is of what is shown: of the output, or of the item as a whole."""
        return self.wide.output_id is None or row.output in (None, self.wide.output_id)

    def _find_share(self, row: AnswerRow, value: float) -> float:
        """Return where an answer is on the scale, or between two outputs, from 0 to 1."""
        scale = self.criterion.scale
        if scale.compares:
            if row.output is None:
                return 0.5
            side = 1 if list(self.names).index(row.output) else -1
            return 0.5 + side * value / scale.maximum / 2
        if get_family(scale.family).is_log:
            return log(max(value, 1)) / log(scale.maximum)
        span = scale.maximum - scale.minimum
        return (value - scale.minimum) / span if span else 0.5

    def list_other_answers(self, answers: Sequence[Answered]) -> list[Line]:
        """Return what was answered to the other criteria, without who did."""
        by_name: dict[str, list[str]] = {}
        for annotation, rows in answers:
            order = annotation.order_shown
            shown = name_outputs(self.config, self._all, order, is_blind=True).shown
            about = [
                row for row in rows if self._is_about(row) and row.criterion != self.criterion.key
            ]
            for name, words in describe_answer(
                self.criteria, about, Names(self.names, shown)
            ).lines:
                by_name.setdefault(name, []).append(words)
        return [(name, "; ".join(words)) for name, words in by_name.items()]
