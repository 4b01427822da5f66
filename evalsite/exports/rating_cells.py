"""The parts in which the ratings of one annotation differ, in long form and in wide form."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from math import log
from operator import itemgetter
from typing import Any

from evalsite.exports.cells import Form, Join, Part
from evalsite.exports.queries import Answers, Ratings
from evalsite.protocol import Protocol

# the columns of each part of a rating
OF_RATING = (
    ("system",),
    ("output_id",),
    (
        "criterion", "scale", "scale_min", "scale_max", "value", "label", "value_typed",
        "standard", "log_ratio", "system_1", "system_2", "preferred", "outcome", "shown_first",
    ),
    ("place",),
    ("file_row",),
)  # fmt: skip
_NOT_COMPARED = ("", "", "", "", "")
_KEPT = 4_096  # of what is made again and again; more would take memory for nothing

Standards = Sequence[int | None]


class RatingCells:
    """Puts the ratings of annotations into parts. What many of them share is made once."""

    def __init__(self, config: Protocol, systems: Mapping[int | None, str], form: Form) -> None:
        self._systems = systems
        self._criteria = config.criterion_by_key
        scales = {key: one.scale for key, one in self._criteria.items()}
        self._compared = {key for key, scale in scales.items() if scale.compares}
        self._with_standard = {key for key, scale in scales.items() if scale.has_standard}
        self._order = [criterion.key for criterion in config.criteria]
        join_system, self._join_outputs, self._join_values, join_place, self._join_records = (
            form.join(names) for names in OF_RATING
        )
        self._join_wide = form.join(_list_wide(config))
        self._system_parts = {key: _join_one(join_system, name) for key, name in systems.items()}
        self._no_place = _join_one(join_place, "")
        self._describe = lru_cache(_KEPT)(self._describe_value)
        self._compare = lru_cache(_KEPT)(self._compare_systems)
        self.find_places = lru_cache(_KEPT)(_find_places)
        self._find_place_parts = lru_cache(_KEPT)(
            lambda order: {
                number: _join_one(join_place, place)
                for number, place in _find_places(order).items()
            }
        )

    @property
    def needs_outputs(self) -> bool:
        return bool(self._compared)

    # long

    def rate(
        self, answers: Answers, ratings: Ratings, which: Sequence[int], standards: Standards
    ) -> tuple[Sequence[Part], ...]:
        """The parts in OF_RATING. `which`: by rating, the place of its annotation."""
        numbers, systems = ratings.number, ratings.system_id
        standard = [standards[one] for one in which]
        given = (ratings.criterion, ratings.value, ratings.typed, standard)
        if self._compared.isdisjoint(ratings.criterion):
            described = [*map(self._describe, *given)]
        else:
            compared = self._compare_all(answers, ratings, which)
            described = [*map(self._describe_value, *given, compared)]
            # which of two is preferred is said of neither output
            speaks = [one not in self._compared for one in ratings.criterion]
            numbers = [number * one for number, one in zip(numbers, speaks, strict=True)]
            systems = [system if one else None for system, one in zip(systems, speaks, strict=True)]
        items, places = answers.item, [*map(self._find_place_parts, answers.order_shown)]
        outputs = [f"{items[one]}#{number}" if number else "" for one, number in
                   zip(which, numbers, strict=True)]  # fmt: skip
        shown = [places[one].get(number, self._no_place) for one, number in
                 zip(which, numbers, strict=True)]  # fmt: skip
        records = [str(row) if row else "" for row in ratings.file_row]
        return (
            [*map(self._system_parts.__getitem__, systems)],
            self._join_outputs([outputs]),
            described,
            shown,
            self._join_records([records]),
        )

    def _describe_value(
        self,
        criterion: str,
        value: int,
        typed: str,
        standard: int | None,
        compared: Sequence[str] = _NOT_COMPARED,
    ) -> Part:
        """Criterion, scale, its ends, value, label, what was typed; and how it compares."""
        known = self._criteria.get(criterion)
        scale, ratio = ("", "", "", str(value), ""), ("", "")
        if known is not None:
            ends = str(known.scale.minimum), str(known.scale.maximum)
            scale = (known.scale.kind, *ends, str(value), known.scale.label_of(value))
        if standard is not None and criterion in self._with_standard:
            ratio = str(standard), str(log(value / standard))
        return _join_one(self._join_values, criterion, *scale, typed, *ratio, *compared)

    def _compare_all(
        self, answers: Answers, ratings: Ratings, which: Sequence[int]
    ) -> list[tuple[str, ...]]:
        return [
            self._compare(answers.outputs[one], answers.order_shown[one], number)
            if criterion in self._compared
            else _NOT_COMPARED
            for criterion, one, number in zip(ratings.criterion, which, ratings.number, strict=True)
        ]

    def _compare_systems(self, outputs: str, order_shown: str, preferred: int) -> tuple[str, ...]:
        """Say which is preferred in terms of systems, never of sides."""
        shown = {number: self._systems[system] for number, (system, _) in
                 read_outputs(outputs).items()}  # fmt: skip
        names = sorted(shown.values()) or [""]
        name = shown[preferred] if preferred else ""
        outcome = "tie" if not preferred else "1" if name == names[0] else "2"
        first = next(iter(self.find_places(order_shown)), None)
        return names[0], names[-1], name, outcome, "" if first is None else shown.get(first, "")

    # wide

    def spread(
        self, answers: Answers, ratings: Ratings, which: Sequence[int], standards: Standards
    ) -> tuple[list[int], tuple[Sequence[Part], ...]]:
        """Rows for each output that is rated, and for what compares outputs; and whose they are."""
        rows: list[tuple[str, ...]] = []
        places: list[Part] = []
        whose: list[int] = []
        given = zip(which, zip(*ratings, strict=True), strict=True)
        for one, some in groupby(given, key=itemgetter(0)):
            found: dict[int, dict[str, tuple[Any, ...]]] = {}
            for _, rating in some:
                _, _, criterion, number, *_ = rating
                key = 0 if criterion in self._compared else number
                found.setdefault(key, {})[criterion] = rating
            shown = self._find_place_parts(answers.order_shown[one])
            for number in sorted(found):
                rows.append(self._spread_one(answers, one, number, found[number], standards[one]))
                places.append(shown.get(number, self._no_place))
                whose.append(one)
        return whose, (self._join_wide([*zip(*rows, strict=True)]), places)

    def _spread_one(
        self,
        answers: Answers,
        one: int,
        number: int,
        given: dict[str, tuple[Any, ...]],
        standard: int | None,
    ) -> tuple[str, ...]:
        values: list[str] = []
        compared: tuple[str, ...] = _NOT_COMPARED
        for criterion in self._order:
            rating = given.get(criterion)
            if rating is None:
                values.append("")
            elif criterion in self._compared:
                compared = self._compare(answers.outputs[one], answers.order_shown[one], rating[3])
                values.append(compared[2] or compared[3])
            else:
                values.append(str(rating[5]))
        system, output = "", ""
        if number:
            system = self._systems[next(iter(given.values()))[7]]
            output = f"{answers.item[one]}#{number}"
        has_standard = standard is not None and not self._with_standard.isdisjoint(given)
        scores = str(standard) if has_standard else ""
        first, second, _, _, shown_first = compared
        return system, output, *values, scores, first, second, shown_first


def name_wide(config: Protocol) -> tuple[tuple[str, ...], ...]:
    """The columns of each part of `RatingCells.spread`."""
    return _list_wide(config), ("place",)


def _list_wide(config: Protocol) -> tuple[str, ...]:
    criteria = [criterion.key for criterion in config.criteria]
    return ("system", "output_id", *criteria, "standard", "system_1", "system_2", "shown_first")


def _join_one(join: Join, *cells: str) -> Part:
    (part,) = join([[cell] for cell in cells])
    return part


def read_outputs(text: str) -> dict[int, tuple[int | None, int]]:
    """By number in the item: system and key of each of its outputs."""
    found = {}
    for part in text.split():
        position, system, output = part.split(":")
        found[int(position) + 1] = (int(system) if system else None, int(output))
    return found


def _find_places(order_shown: str) -> dict[int, str]:
    """By number in the item: place on the page, in the order of the page."""
    return {one + 1: str(place) for place, one in enumerate(json.loads(order_shown), start=1)}
