"""The items of a study as a public page shows them: outputs, answers and comments, no names."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean

from evalsite.data.files.columns import WITHHELD
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.scales import COMMENT
from evalsite.instruments.schema import Criterion
from evalsite.participation.view_models import InputView, OutputView, view_item
from evalsite.results.items.spread import find_ratings
from evalsite.results.people.answer_words import (
    Names,
    bind_criteria,
    describe_rows,
    is_text,
)
from evalsite.studies.items import ItemNumbers
from evalsite.studies.models import Item, Output, Study

# families of answers that are numbers, whose labels the report explains
_NUMBERS = ("points", "magnitude")


@dataclass
class GatheredAnswers:
    """What people answered about an output, or about an item as a whole."""

    answers: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    comments: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        parts = [f"{label} {', '.join(words)}" for label, words in self.answers.items()]
        return " · ".join([*parts, *(f"“{text}”" for text in self.comments)])


@dataclass(frozen=True, kw_only=True)
class ReadOutput:
    system: str
    view: OutputView
    answers: GatheredAnswers


@dataclass(frozen=True, kw_only=True)
class ReadItem:
    """An input with all outputs of it."""

    number: int
    inputs: Sequence[InputView]
    outputs: list[ReadOutput]
    about: GatheredAnswers
    difference: float


def list_items(study: Study, *, primary: str, has_comments: bool) -> list[ReadItem]:
    """List every input with its outputs, the largest difference between systems first."""
    items = Item.objects.main().filter(study=study).order_by("group", "pk")
    reader = _Reader(study, primary, has_comments=has_comments)
    # outputs that people saw one at a time are read together; others as they were compared
    is_single = study.config.item.outputs.most == 1
    groups = groupby(items, key=lambda item: item.group if is_single else item.pk)
    numbers, shown = ItemNumbers(study), []
    for _, group in groups:
        together = list(group)
        # the number that the files beside the page have of it
        number = int(numbers.find(together[0].pk)[is_single])
        shown.append(reader.read(number, together))
    return sorted(shown, key=lambda item: (-item.difference, item.number))


def _read_answers(study: Study) -> dict[int, list[tuple[Annotation, list[AnswerRow]]]]:
    counted = find_ratings(study).values("annotation")
    rows = Rating.objects.without_highlights().filter(annotation__in=counted).group_rows()
    answers: dict[int, list[tuple[Annotation, list[AnswerRow]]]] = defaultdict(list)
    for annotation in Annotation.objects.filter(pk__in=list(rows)).order_by("pk"):
        answers[annotation.item_id].append((annotation, rows[annotation.pk]))
    return answers


def _score_outputs(study: Study, primary: str) -> dict[int, float]:
    """Return the mean of each output on the primary question; of comparisons, how much it won."""
    criterion = next(
        (criterion for criterion in study.config.criteria if criterion.key == primary), None
    )
    values: dict[int, list[float]] = defaultdict(list)
    ratings = find_ratings(study).filter(criterion=primary, output__isnull=False)
    for output, value in ratings.values_list("output_id", "value"):
        values[output].append(float(value or 0))
    if criterion is not None and criterion.scale.compares:
        return {output: sum(numbers) for output, numbers in values.items()}
    return {output: fmean(numbers) for output, numbers in values.items()}


class _Reader:
    def __init__(self, study: Study, primary: str, *, has_comments: bool) -> None:
        self.study = study
        self.has_comments = has_comments
        self.answers = _read_answers(study)
        self.scores = _score_outputs(study, primary)
        self.outputs: dict[int, list[Output]] = defaultdict(list)
        stored = Output.objects.filter(item__study=study).select_related("system")
        for output in stored.order_by("item", "position"):
            self.outputs[output.item_id].append(output)

    def read(self, number: int, items: list[Item]) -> ReadItem:
        """Return these items, which show the same inputs."""
        about, shown, inputs = GatheredAnswers(), list[ReadOutput](), tuple[InputView, ...]()
        for item in items:
            outputs = self.outputs[item.pk]
            view = view_item(
                self.study.config,
                inputs=item.inputs,
                texts=[output.text for output in outputs],
                options=self.study.config.default_options | self.study.options,
            )
            inputs = inputs or view.inputs
            names = {output.pk: output.system.name if output.system else "" for output in outputs}
            answers = {output.pk: GatheredAnswers() for output in outputs}
            criteria = bind_criteria(self.study.config, item)
            for annotation, rows in self.answers.get(item.pk, ()):
                _add_answer(criteria, rows, names, answers, about)
                about.comments += [annotation.note] if annotation.note else []
            shown += [
                ReadOutput(system=names[output.pk], view=output_view, answers=answers[output.pk])
                for output, output_view in zip(outputs, view.outputs, strict=True)
            ]
        for part in (about, *(output.answers for output in shown)):
            kept = [text for text in part.comments if text != WITHHELD]
            part.comments = kept if self.has_comments else []
        rated = [output for item in items for output in self.outputs[item.pk]]
        scores = [self.scores.get(output.pk, 0.0) for output in rated]
        return ReadItem(
            number=number, inputs=inputs, outputs=shown, about=about,
            difference=max(scores, default=0.0) - min(scores, default=0.0),
        )  # fmt: skip


def _add_answer(
    criteria: dict[str, Criterion], rows: list[AnswerRow], names: dict[int, str],
    answers: dict[int, GatheredAnswers], about: GatheredAnswers,
) -> None:  # fmt: skip
    """Add what one person answered to what is said of each output, and of the item."""
    for (key, turn, output), asked in _group(criteria, rows):
        criterion = criteria.get(key)
        is_of_output = output in answers and not (criterion and criterion.scale.compares)
        target = answers[output] if is_of_output and output is not None else about
        label = criterion.label if criterion else key
        label = f"{label} (turn {turn})" if turn else label
        answered = [row for row in asked if row.part != COMMENT]
        target.comments += [row.text for row in asked if row.part == COMMENT]
        if answered and is_text(answered[0]):
            target.comments.append(answered[0].text)
        elif answered:
            words = _describe(criterion, answered, names)
            is_number = words.replace(".", "", 1).isdecimal()
            target.answers[label if is_number else f"{label}:"].append(words)


def _describe(criterion: Criterion | None, rows: list[AnswerRow], names: dict[int, str]) -> str:
    """Return an answer in words; of a scale of numbers, the number alone."""
    is_number = criterion is not None and criterion.scale.family in _NUMBERS
    if is_number and len(rows) == 1 and rows[0].value is not None:
        return f"{rows[0].value:g}"
    return describe_rows(criterion, rows, Names(names, names))


def _group(
    criteria: dict[str, Criterion], rows: list[AnswerRow]
) -> Iterator[tuple[tuple[str, int, int | None], list[AnswerRow]]]:
    """Yield the rows of each question, in the order of criteria."""
    places = {key: place for place, key in enumerate(criteria)}

    def find_place(row: AnswerRow) -> tuple[int, str, int, int]:
        place = places.get(row.criterion, len(places))
        return place, row.criterion, row.asked_turn, row.output or 0

    for _, asked in groupby(sorted(rows, key=find_place), key=find_place):
        answered = list(asked)
        yield (answered[0].criterion, answered[0].asked_turn, answered[0].output), answered
