"""Answers in words: values, how much better, why, and what people wrote."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models.functions import Left

from evalsite.handout.models import Rating
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.questions import name_output
from evalsite.instruments.scales import COMMENT
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.studies.models import Item, Output

# characters of an output that say which it is
BEGINNING = 160

# a name, such as a system's, and what was said of it
Line = tuple[str, str]


@dataclass(frozen=True)
class Answer:
    """One answer: a line for each output, or for each comparison, and what was written.

    `texts`: how the outputs begin, each with its name here; `values`: what was answered to each
    question, where an item has one output.
    """

    lines: list[Line] = field(default_factory=list)
    written: list[Line] = field(default_factory=list)
    texts: list[Line] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Names:
    """What the outputs of an item are called on this page, and where they were rated."""

    on_page: Mapping[int, str]
    shown: Mapping[int, str]


def describe_ratings(
    config: Instrument, pages: Mapping[int, tuple[Item, Sequence[int]]], *, is_blind: bool
) -> dict[int, Answer]:
    """Return in words what each of these annotations says, in a few queries for all of them.

    `pages`: of each annotation its item, and the positions of the outputs in the order shown. Where
    systems are hidden, outputs are called what the page called them.
    """
    rated = Rating.objects.without_highlights().filter(annotation__in=list(pages)).group_rows()
    outputs: dict[int, list[Any]] = defaultdict(list)
    items = {item.pk for item, _order in pages.values()}
    shown = Output.objects.filter(item__in=items).select_related("system")
    shown = shown.only("item", "position", "system__name").annotate(start=Left("text", BEGINNING))
    for output in shown.order_by("item", "position"):
        outputs[output.item_id].append(output)
    answers: dict[int, Answer] = defaultdict(Answer)
    for pk, (item, order) in pages.items():
        names = name_outputs(config, outputs[item.pk], order, is_blind=is_blind)
        answers[pk] = describe_answer(bind_criteria(config, item), rated.get(pk, ()), names)
        starts = {output.pk: output.start for output in outputs[item.pk]}
        answers[pk].texts.extend((name, starts[output]) for output, name in names.on_page.items())
    return answers


def name_outputs(
    config: Instrument, outputs: Iterable[Output], order: Sequence[int], *, is_blind: bool
) -> Names:
    """Name outputs by their systems; if they are hidden, as the page of this order did."""
    by_position = {output.position: output for output in outputs}
    shown = {
        by_position[position].pk: name_output(config, place, len(order))
        for place, position in enumerate(order, start=1)
        if position in by_position
    }
    another = f"Another {config.item.output_name.lower()}"
    called = {output.pk: shown.get(output.pk, another) for output in by_position.values()}
    if is_blind:
        # in the order of the page: that of the file is that of systems
        on_page = {pk: called[pk] for pk in (*shown, *called)}
    else:
        on_page = {
            output.pk: output.system.name if output.system else called[output.pk]
            for output in by_position.values()
        }
    return Names(on_page, shown)


def bind_criteria(config: Instrument, item: Item) -> dict[str, Criterion]:
    """Return the criteria with what this item brings to them, by key."""
    criteria = {}
    for criterion in config.criteria:
        scale = criterion.scale.for_item(item.inputs)
        is_changed = scale is not criterion.scale
        criteria[criterion.key] = (
            criterion.model_copy(update={"scale": scale}) if is_changed else criterion
        )
    return criteria


def describe_answer(
    criteria: Mapping[str, Criterion], rows: Iterable[AnswerRow], names: Names
) -> Answer:
    """Say in words what the ratings of one annotation answer."""
    lines: dict[str, list[str]] = defaultdict(list)
    written: list[Line] = []
    values: dict[str, str] = {}
    for (key, output_id, turn), asked in _group(criteria, rows, names).items():
        criterion = criteria.get(key)
        label = key if criterion is None else str(criterion.label)
        label = f"{label} (turn {turn})" if turn else label
        name = "" if output_id is None else names.on_page[output_id]
        answered = [row for row in asked if row.part != COMMENT]
        if answered and is_text(answered[0]):
            written.append((_join_names(label, name), answered[0].text))
        elif answered:
            words = values[key] = describe_rows(criterion, answered, names)
            if not name or (criterion is not None and criterion.scale.compares):
                lines[label].append(words)
            elif len(criteria) == 1 and not turn:
                lines[name].append(words)
            else:
                number = words.partition(" ")[0].removeprefix("-").replace(".", "", 1)
                sign = "" if number.isdecimal() else ":"
                lines[name].append(f"{label}{sign} {words}")
        comments = [row.text for row in asked if row.part == COMMENT]
        # a comment on a comparison isn't about the output preferred
        about = "" if criterion is not None and criterion.scale.compares else name
        written += [(_join_names(f"Comment on {label}", about), text) for text in comments]
    joined = [(name, ", ".join(words)) for name, words in lines.items()]
    return Answer(joined, written, values=values)


def is_text(row: AnswerRow) -> bool:
    """Tell whether a row is words that a person wrote, and no passage of a text."""
    return row.value is None and bool(row.text) and row.start is None


def _group(
    criteria: Mapping[str, Criterion], rows: Iterable[AnswerRow], names: Names
) -> dict[tuple[str, int | None, int], list[AnswerRow]]:
    """Return the rows of each question, in the order of criteria, outputs and turns."""
    places = {key: place for place, key in enumerate(criteria)}
    outputs = {pk: place for place, pk in enumerate(names.on_page)}
    groups: dict[tuple[str, int | None, int], list[AnswerRow]] = defaultdict(list)
    for row in sorted(
        rows,
        key=lambda row: (
            places.get(row.criterion, len(places)),
            outputs.get(row.output or 0, -1),
            row.asked_turn,
        ),
    ):
        groups[row.criterion, row.output, row.asked_turn].append(row)
    return groups


def describe_rows(criterion: Criterion | None, rows: Sequence[AnswerRow], names: Names) -> str:
    """Say in words what the rows of one question answer."""
    if criterion is None:
        return ", ".join(row.text or str(row.value) for row in rows)
    if criterion.scale.compares:
        return criterion.scale.describe_comparison(rows[0], names.on_page, names.shown)
    return criterion.scale.describe_answer(rows)


def _join_names(*names: str) -> str:
    return ", ".join(filter(None, names))
