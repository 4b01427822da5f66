"""The answers of a set as a table: what was said of each item, in the words of its page."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.handout.models import ROW, Annotation, Rating
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.schema import KINDS_OF_OUTPUTS, Column, Instrument
from evalsite.lib.conversations import read_turns
from evalsite.lib.dialogue import parse_dialogue, strip_markup
from evalsite.lib.prepared import Prepared
from evalsite.participation.forms import ReportForm
from evalsite.participation.ignored_items import reason_of
from evalsite.participation.screens import Screen, entered_ratings, in_order
from evalsite.participation.sets import open_places
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Output

_LONGEST_TEXT = 80


@dataclass(frozen=True)
class AnswerCell:
    """What was answered to one criterion; `name` is that of the criterion."""

    name: str
    value: str


@dataclass(frozen=True)
class PlaceRow:
    """One place of a set: the first words of its text, and the answers, or why there are none."""

    place: int
    text: str
    cells: tuple[AnswerCell, ...] = ()
    state: str = ""  # in words, where there are no answers
    is_reported: bool = False
    is_missing: bool = False
    # it was saved on another visit than that of the link in use
    is_earlier: bool = False


@dataclass(frozen=True)
class AnswerTable:
    """The rows of a set, and how many of them are rated or not."""

    text_label: str
    criteria: tuple[str, ...]
    rows: tuple[PlaceRow, ...]
    outcomes: dict[str, int]

    @property
    def lede(self) -> str:
        """Say how the items of the set were dealt with."""
        counts = {**self.outcomes, "total": len(self.rows)}
        if any(row.is_earlier for row in self.rows):
            words = ngettext(
                "Your answer is saved.", "All %(total)s answers are saved.", counts["total"]
            )
        elif counts["skipped"]:
            words = _(
                "%(rated)s rated, %(ignored)s ignored, %(reported)s reported and %(skipped)s "
                "skipped, out of %(total)s."
            )
        elif counts["ignored"] and counts["reported"]:
            words = _(
                "%(rated)s rated, %(ignored)s ignored and %(reported)s reported, out of %(total)s."
            )
        elif counts["ignored"]:
            words = _("%(rated)s rated and %(ignored)s ignored, out of %(total)s.")
        elif counts["reported"]:
            words = _("%(rated)s rated and %(reported)s reported, out of %(total)s.")
        else:
            words = ngettext(
                "Your answer is below.", "All %(total)s answers are below.", counts["total"]
            )
        return words % counts


_items_of = Prepared(
    lambda *items: Item.objects.filter(pk__in=items).only("kind", "gold", "inputs").order_by()
)
_outputs_of = Prepared(
    lambda *items: (
        Output.objects.filter(item__pk__in=items)
        .only("item", "position", "text")
        .order_by("item_id", "position")
    )
)
_answers_of = Prepared(
    lambda participant, *items: (
        Annotation.objects.filter(participant=participant, item__pk__in=items)
        .only("item", "outcome", "reason", "order_shown", "visit")
        .order_by()
    )
)


# plain rows: a model's row each would cost more than all else here
_ratings_of = Prepared(
    lambda *annotations: (
        Rating.objects.filter(annotation__pk__in=annotations).values_list(*ROW).order_by("id")
    )
)


def tabulate_answers(participant: Participant, item_set: ItemSet) -> AnswerTable:
    """Return the answers to the places of a set that are this participant's: 4 queries."""
    config = participant.study.config
    items = {item.pk: item for item in _items_of.all(*item_set.item_ids)}
    outputs: dict[int, list[Output]] = defaultdict(list)
    for output in _outputs_of.all(*items):
        outputs[output.item_id].append(output)
    answers = {answer.item_id: answer for answer in _answers_of.all(participant.pk, *items)}
    ratings: dict[int, list[AnswerRow]] = defaultdict(list)
    for cells in _ratings_of.all(*(answer.pk for answer in answers.values())):
        ratings[cells[0]].append(AnswerRow(*cells))
    rows = []
    outcomes = dict.fromkeys(Annotation.Outcome.values, 0)
    shown = {place: items[item_set.item_ids[place - 1]] for place in open_places(item_set)}
    column = _find_text_column(config)
    texts = [_first_words(column, item, outputs[item.pk]) for item in shown.values()]
    if column is not None and len({*texts}) < len(texts):
        # where items share an input, their outputs tell them apart
        column = None
        texts = [_first_words(column, item, outputs[item.pk]) for item in shown.values()]
    for (place, item), text in zip(shown.items(), texts, strict=True):
        annotation = answers.get(item.pk)
        if annotation is None:
            rows.append(PlaceRow(place, text, state=_("Not answered"), is_missing=True))
            continue
        if not participant.may_reopen(annotation.visit_id):
            rows.append(PlaceRow(place, text, state=_("Saved earlier"), is_earlier=True))
            continue
        outcomes[annotation.outcome] += 1
        if annotation.outcome == Annotation.Outcome.RATED:
            screen = in_order(participant.study, item, outputs[item.pk], annotation.order_shown)
            rows.append(PlaceRow(place, text, _list_cells(screen, ratings[item.pk])))
        else:
            rows.append(_describe_unrated(config, place, text, annotation))
    return AnswerTable(
        text_label=column.heading if column else config.item.output_name,
        criteria=tuple(criterion.label for criterion in config.criteria),
        rows=tuple(rows),
        outcomes=outcomes,
    )


def _describe_unrated(
    config: Instrument, place: int, text: str, annotation: Annotation
) -> PlaceRow:
    if annotation.outcome == Annotation.Outcome.IGNORED:
        reason = reason_of(config, annotation.reason).label
        return PlaceRow(place, text, state=_("Ignored: %(reason)s") % {"reason": reason})
    if annotation.outcome == Annotation.Outcome.SKIPPED:
        return PlaceRow(place, text, state=_("Skipped"))
    reasons: dict[str, Any] = dict(ReportForm.REASONS)
    reason = str(reasons.get(annotation.reason, annotation.reason))
    state = _("Reported: %(reason)s") % {"reason": reason}
    return PlaceRow(place, text, state=state, is_reported=True)


def _list_cells(screen: Screen, ratings: Sequence[AnswerRow]) -> tuple[AnswerCell, ...]:
    entries = entered_ratings(screen, ratings)
    answers: dict[str, list[str]] = defaultdict(list)
    for question in screen.questions:
        if question.name in entries:
            answers[question.criterion.key].append(
                question.scale.name_entry(entries[question.name])
            )
    return tuple(
        AnswerCell(criterion.label, " · ".join(answers[criterion.key]))
        for criterion in screen.study.config.criteria
    )


def _find_text_column(config: Instrument) -> Column | None:
    """Return the last input that every item has: it identifies an item with several outputs.

    None: an item is known by its output, the only one or the first.
    """
    if config.layout.outputs == "one":
        return None
    shown = [
        column for column in config.columns if column.shown and column.kind not in KINDS_OF_OUTPUTS
    ]
    required = [column for column in shown if column.required]
    return next(reversed(required or shown), None)


def _first_words(column: Column | None, item: Item, outputs: Sequence[Output]) -> str:
    """Return the beginning of the text that identifies this item: this input, or its output."""
    if column is None:
        # of a rated conversation: what it begins with
        return shorten(_read_turn(outputs[0].text, 0) or strip_markup(outputs[0].text))
    text = str(item.inputs.get(column.name, ""))
    if column.kind == "dialogue":
        turns = parse_dialogue(text)
        text = turns[-1].text if turns else text
    if column.kind == "conversation":
        text = _read_turn(text, -1) or text
    return shorten(text)


def _read_turn(text: str, place: int) -> str:
    """Return what a turn of a conversation says; "" if this is none, or the turn isn't a text."""
    turns = read_turns(text) if text.lstrip().startswith("[") else None
    content = turns[place].get("content") if turns else ""
    return content if isinstance(content, str) else ""


def shorten(text: str) -> str:
    """Return the beginning of a text, cut at a whole word where there is one."""
    if len(text) <= _LONGEST_TEXT:
        return text
    words = text[: _LONGEST_TEXT + 1].rsplit(maxsplit=1)[0]
    return f"{words[:_LONGEST_TEXT].rstrip()}…"
