"""Gold: the right answers of practice and gold items, and what is said of an answer by them.

An empty gold isn't scored. How a gold is written is for its scale to say.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.questions import (
    NumberedText,
    group_questions,
    list_questions,
    read_values,
)
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.studies.models import Item, Output, Study, StudyVersion


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """What one part of a gold says of an answer: whether it is met, and sentences to show."""

    criterion: str
    is_met: bool
    sentence: str
    why: str = ""
    turn: int = 0  # 0: of no turn


def find_gold(config: Instrument, gold: Mapping[str, str]) -> tuple[Criterion, ...]:
    """Return the criteria that this item's gold is about, in the protocol's order."""
    return tuple(criterion for criterion in config.criteria if gold.get(criterion.key, "").strip())


def check_gold(
    criterion: Criterion,
    text: str,
    outputs: Sequence[str],
    turns: Sequence[int] = (),
    inputs: Mapping[str, Any] | None = None,
) -> None:
    """Raise ValidationError unless this text is a gold for an item of these systems' outputs.

    `outputs` names the system of each output, in the order uploaded; `turns` are those that are
    asked about. `inputs` may bring statements that need an answer each.
    """
    if not text.strip():
        return
    try:
        scale = criterion.scale.for_item(inputs or {})
        scale.parse_gold(text, _name_parts(criterion, outputs, turns))
    except ValidationError as fault:
        column = f"gold_{criterion.key}"
        raise ValidationError(f"{column}: {fault.message}", code="gold") from None


def feedback(
    criterion: Criterion,
    gold: str,
    values: Sequence[Any],
    standard: int | None,
    output_names: Sequence[str],
    systems: Sequence[str] = (),
    turns: Sequence[int] = (),
    *,
    is_by_document: bool = False,
) -> list[Feedback]:
    """Return what this gold says of these values, one entry for each thing it asks.

    All sequences are in the order uploaded. `values` are those of its questions (`read_values`).
    `output_names` are the labels as this participant saw them ("Utterance 2", "Response B").
    `systems` is needed only where the gold of a preference names one, `turns` where they are asked
    about. `is_by_document`: the item is one of the document's own examples.
    """
    if not gold.strip():
        return []
    names = _name_parts(criterion, output_names, turns)
    parts = _name_parts(criterion, systems or output_names, turns)
    right = criterion.scale.parse_gold(gold, parts)
    whole = [(0, right, values, names)]
    if criterion.per_turn:  # one by one, as some may not have been asked
        each = zip(turns, right, values, names, strict=True)
        whole = [(turn, [part], [value], [name]) for turn, part, value, name in each
                 if value is not None]  # fmt: skip
    return [
        Feedback(
            criterion=criterion.label,
            is_met=is_met,
            sentence=sentence[:1].upper() + sentence[1:],
            turn=turn,
        )
        for turn, part, answers, called in whole
        for is_met, sentence in criterion.scale.judge(
            part, answers, standard, called, is_by_document=is_by_document
        )
    ]


def _name_parts(
    criterion: Criterion, outputs: Sequence[str], turns: Sequence[int]
) -> Sequence[str]:
    """Name what the parts of a gold are about: the outputs, the item as a whole, or its turns."""
    if criterion.per_turn:
        return [gettext("Turn %(number)s") % {"number": number} for number in turns]
    return outputs[:1] if criterion.is_asked_once else outputs


def lacks_answer(criterion: Criterion, gold: str, values: Sequence[Any | None]) -> bool:
    """Tell whether something has no answer that this gold asks for; of turns it asks for some."""
    if not criterion.per_turn:
        return any(value is None for value in values)
    parts = criterion.scale.gold_to_data(gold)
    each = zip(values, parts, strict=False)
    return any(value is None and part is not None for value, part in each)


def right_values(
    criterion: Criterion,
    gold: str,
    outputs: Sequence[str],
    standard: int | None,
    turns: Sequence[int] = (),
) -> list[Any | None]:
    """Return values that meet this gold, in the form of `feedback`; None where it asks nothing."""
    judged = _name_parts(criterion, outputs, turns)
    right = criterion.scale.parse_gold(gold, judged)
    return criterion.scale.right_values(right, len(judged), standard)


def count_asked(criterion: Criterion, gold: str, outputs: int, standard: int | None) -> int:
    """Return how many entries `feedback` has for an answer to this gold."""
    if not gold.strip():
        return 0
    # of turns the gold has a part for each
    turns = range(len(criterion.scale.gold_to_data(gold))) if criterion.per_turn else ()
    judged = _name_parts(criterion, [""] * outputs, turns)
    return criterion.scale.count_asked(gold, len(judged), standard)


def count_met(results: Iterable[Feedback]) -> tuple[int, int]:
    """Return how many of these were met, and how many were asked."""
    met = [result.is_met for result in results]
    return sum(met), len(met)


# an output's id and the name of its system; no name: the system gave none, as in practice
Named = tuple[int, str | None]
# the inputs of an item, and the text of each of its outputs by id, where answers need them
Texts = tuple[Mapping[str, Any], Mapping[int, str]]
NO_TEXTS: Texts = ({}, {})


def agrees_with_gold(
    config: Instrument,
    gold: Mapping[str, str],
    outputs: Sequence[Named],
    rows: Iterable[AnswerRow],
    standard: int | None,
    texts: Texts = NO_TEXTS,
) -> bool | None:
    """Return whether all that this gold asks is met; None: it asks nothing, or answers are missing.

    `outputs` are in the order uploaded.
    """
    inputs, written = texts
    names = [str(number) for number in range(1, len(outputs) + 1)]
    systems = [system for _, system in outputs if system]
    shown = [
        NumberedText(pk, number, written.get(pk, "")) for number, (pk, _) in enumerate(outputs)
    ]
    questions = list_questions(config, inputs, shown, criteria=find_gold(config, gold))
    groups, rows, results = group_questions(questions), list(rows), []
    for criterion in find_gold(config, gold):
        asked = groups.get(criterion.key, [])
        values, turns = read_values(asked, rows), [question.turn for question in asked]
        if lacks_answer(criterion, gold[criterion.key], values):
            return None
        results += feedback(criterion, gold[criterion.key], values, standard, names, systems, turns)
    return all(result.is_met for result in results) if results else None


# --- the gold of a whole study ------------------------------------------------------------------

_WITH_GOLD = (Item.Kind.PRACTICE, Item.Kind.GOLD, Item.Kind.ATTENTION)
_PAGE = 2_000


def find_texts(study: Study) -> dict[int, Texts]:
    """Return the texts of each item with gold, where turns are rated or passages are marked."""
    if not (study.config.asks_turns or study.config.marking):
        return {}
    outputs = Output.objects.stored().filter(item__study=study, item__kind__in=_WITH_GOLD)
    texts: dict[int, tuple[Mapping[str, Any], dict[int, str]]] = {}
    for item_id, inputs, pk, text in outputs.order_by().values_list(
        "item_id", "item__inputs", "pk", "text"
    ):
        texts.setdefault(item_id, (inputs, {}))[1][pk] = text
    return dict(texts)


class Gold:
    """The gold and the standards of a study, read when they are first needed."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.config = study.config

    def has(self, item_id: int) -> bool:
        """Return whether answers to the item are compared with a gold."""
        return item_id in self._gold

    def compare(
        self,
        item_id: int,
        rows: Sequence[AnswerRow],
        outputs: Sequence[Named],
        standard: int | None,
    ) -> bool | None:
        """Return whether the answer meets the gold of its item; None if there is none.

        `outputs`: id and system.
        """
        gold = self._gold.get(item_id)
        if gold is None or not rows:
            return None
        texts = self._texts.get(item_id, NO_TEXTS)
        return agrees_with_gold(self.config, gold, outputs, rows, standard, texts)

    @cached_property
    def _gold(self) -> dict[int, dict[str, str]]:
        """The gold of the items that have some: few, compared with those that are rated."""
        items = Item.objects.filter(study=self.study, kind__in=_WITH_GOLD).order_by()
        return dict(items.values_list("id", "gold"))

    @cached_property
    def _texts(self) -> dict[int, Texts]:
        return find_texts(self.study)

    @cached_property
    def _has_standards(self) -> bool:
        return any(criterion.scale.has_standard for criterion in self.config.criteria)

    def find_standard(self, version_id: int | None, item_id: int) -> int | None:
        """Return the standard that values of an annotation relate to, if any."""
        if not self._has_standards:
            return None
        usual, exceptions = self._standards[version_id]
        return exceptions.get(item_id, usual) if exceptions else usual

    @cached_property
    def _standards(self) -> dict[int | None, tuple[int | None, dict[int, int | None]]]:
        """By version: the usual standard, and that of each item that has another."""
        find = self.config.standard_score
        # versions that differ in other things, such as texts, are looked through once
        distinct = {
            json.dumps(options, sort_keys=True): options for options in self._options.values()
        }
        standards: dict[str, tuple[int | None, dict[int, int | None]]] = {
            text: (find(options, {}), {}) for text, options in distinct.items()
        }
        items = Item.objects.filter(study=self.study).order_by()
        if (keys := self.config.standard_inputs) is not None:
            items = items.filter(inputs__has_any_keys=keys)
        for item_id, inputs in items.values_list("id", "inputs").iterator(chunk_size=_PAGE):
            for text, options in distinct.items():
                usual, exceptions = standards[text]
                if (standard := find(options, inputs)) != usual:
                    exceptions[item_id] = standard
        return {
            version: standards[json.dumps(options, sort_keys=True)]
            for version, options in self._options.items()
        }

    @cached_property
    def _options(self) -> dict[int | None, dict[str, Any]]:
        """The options that participants rated under, by version; None: before the launch."""
        (options,) = Study.objects.filter(pk=self.study.pk).values_list("options", flat=True)
        versions = StudyVersion.objects.filter(study=self.study)
        rated_under = versions.values_list("id", "content__options")
        return {None: self.config.default_options | options, **dict(rated_under)}
