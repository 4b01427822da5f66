"""The rows of a plan as a page shows and posts them: hypotheses, and rules with conditions."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from evalsite.analysis.families import FAMILIES
from evalsite.instruments.schema import Criterion
from evalsite.quality.exclusion_rules import COMPARISONS, MEASURES, describe_rule
from evalsite.quality.models import DIFFERENCES, LEVELS, AnalysisPlan
from evalsite.results.analysis_plan.stored import list_analysed
from evalsite.studies.models import Study

RELATIONS = {
    "better": "is better than",
    "not_worse": "is not worse than",
    "equivalent": "is equivalent to",
    "differs": "differs from",
}
MOST = 20
_HYPOTHESIS = ("system", "relation", "other", "criterion", "margin")
_CONDITION = ("measure", "comparison", "threshold")
# digits that a keyboard has, and nothing else that Python takes for a number
_NUMBER = re.compile(r"[-−]?[0-9]{1,6}([.,][0-9]{1,4})?")
# rows count from 1
_ACT = re.compile(r"([a-z]+(?:-[a-z]+)*)(?:-([1-9][0-9]?))?(?:-([1-9][0-9]?))?")
Row = dict[str, str]
_NO_DIRECTION = (
    "Nothing says which values of this criterion are better. Choose “differs from” or “is "
    "equivalent to”."
)
_NOT_TESTED = (
    "Only comparisons with the baseline are tested. Choose it here, or compare every pair."
)


@dataclass
class PlanRows:
    """What stands in the rows, as text; and after `clean`, what it means or what is wrong."""

    hypotheses: list[Row] = field(default_factory=list)
    rules: list[list[Row]] = field(default_factory=list)
    # by the id of a control
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_plan(cls, study: Study, plan: AnalysisPlan, rules: list[list[Any]]) -> "PlanRows":
        """Return the rows as they were saved."""
        saved = [*plan.hypotheses, *plan.margins]
        return cls(
            hypotheses=[{**one, "margin": show_margin(study, one)} for one in saved],
            rules=[
                [{**one, "threshold": f"{one['threshold']:g}"} for one in rule] for rule in rules
            ],
        )

    @classmethod
    def of_post(cls, sent: Mapping[str, Any]) -> "PlanRows":
        """Return the rows as they were sent."""
        return cls(
            hypotheses=[
                {name: str(sent.get(f"{name}-{number}", "")).strip() for name in _HYPOTHESIS}
                for number in _numbers(sent, r"system-(\d+)")
            ],
            rules=[
                [
                    {
                        name: str(sent.get(f"{name}-{number}-{place}", "")).strip()
                        for name in _CONDITION
                    }
                    for place in _numbers(sent, rf"measure-{number}-(\d+)")
                ]
                for number in _numbers(sent, r"measure-(\d+)-1")
            ],
        )

    def act(self, do: str, *, primary: str = "") -> None:
        """Add or remove a row: "add-hypothesis", "remove-rule-2", "and-1", "drop-1-2".

        A new hypothesis is about the primary criterion.
        """
        if (match := _ACT.fullmatch(do)) is None:
            return
        name, *numbers = match.groups()
        places = [int(number) - 1 for number in numbers if number]
        if name == "add-hypothesis" and len(self.hypotheses) < MOST:
            self.hypotheses.append(dict.fromkeys(_HYPOTHESIS, "") | {"criterion": primary})
        elif name == "add-rule" and len(self.rules) < MOST:
            self.rules.append([dict.fromkeys(_CONDITION, "")])
        elif name == "remove-hypothesis":
            self.hypotheses = _without(self.hypotheses, places)
        elif name == "remove-rule":
            self.rules = _without(self.rules, places)
        elif name == "and" and places and places[0] < len(self.rules):
            self.rules[places[0]].append(dict.fromkeys(_CONDITION, ""))
        elif name == "drop" and len(places) == 2 and places[0] < len(self.rules):
            self.rules[places[0]] = _without(self.rules[places[0]], places[1:])
            self.rules = [rule for rule in self.rules if rule]

    # --- what they mean -------------------------------------------------------------------

    def clean(
        self, study: Study, baseline: str, *, level: float = LEVELS[0], slices: str = ""
    ) -> dict[str, Any]:
        """Return hypotheses, margins and rules; `errors` holds what is wrong with them.

        `baseline`: the system that all others are compared with; "": every pair. `level` and
        `slices`, a column, are those of tests against a margin.
        """
        how: dict[str, Any] = {} if level == LEVELS[0] else {"level": level}
        self.errors = {}
        systems = set(study.systems.values_list("name", flat=True))
        hypotheses: list[dict[str, Any]] = []
        margins: list[dict[str, Any]] = []
        for number, row in enumerate(self.hypotheses, start=1):
            found = self._clean_hypothesis(study, systems, number, row)
            is_tested = not baseline or baseline in (row["system"], row["other"])
            self._check(is_tested, f"other-{number}", _NOT_TESTED)
            if row["relation"] in DIFFERENCES:
                hypotheses.append(found)
                continue
            is_sliced = slices and row["relation"] == "not_worse"
            margins.append(found | how | ({"slices": slices} if is_sliced else {}))
        return {"hypotheses": hypotheses, "margins": margins, "rules": self.clean_rules()}

    def clean_rules(self) -> list[list[dict[str, Any]]]:
        """Return the rules; `errors` holds what is wrong with them."""
        return [
            [
                self._clean_condition(f"{number}-{place}", row)
                for place, row in enumerate(rule, start=1)
            ]
            for number, rule in enumerate(self.rules, start=1)
        ]

    def _clean_hypothesis(
        self, study: Study, systems: set[str], number: int, row: Row
    ) -> dict[str, Any]:
        criteria = {criterion.key: criterion for criterion in list_analysed(study)}
        self._check(row["system"] in systems, f"system-{number}", "Choose a system.")
        self._check(row["other"] in systems, f"other-{number}", "Choose a system.")
        is_other = row["system"] != row["other"] or not row["system"]
        self._check(is_other, f"other-{number}", "Choose two different systems.")
        self._check(row["relation"] in RELATIONS, f"relation-{number}", "Choose a relation.")
        criterion = criteria.get(row["criterion"])
        self._check(criterion is not None, f"criterion-{number}", "Choose a criterion.")
        if criterion is not None and row["relation"] in ("better", "not_worse"):
            self._check(_has_better(criterion), f"relation-{number}", _NO_DIRECTION)
        found: dict[str, Any] = {
            name: row[name] for name in ("criterion", "system", "relation", "other")
        }
        if row["relation"] not in DIFFERENCES and criterion is not None:
            found["margin"] = self._clean_margin(criterion, f"margin-{number}", row)
        return found

    def _clean_margin(self, criterion: Criterion, key: str, row: Row) -> float:
        family = FAMILIES[criterion.family]
        half = _find_half(criterion)
        is_share = family.compares or family.decides
        margin = _read_number(row["margin"])
        if margin is None or margin <= 0:
            self.errors[key] = "Enter the margin, a number above 0 such as 0.3."
        elif family.is_log and not 1 < margin <= 2:
            self.errors[key] = "Enter a ratio above 1 and at most 2, such as 1.2."
        elif is_share and margin >= 50:
            self.errors[key] = "Enter less than 50 percentage points."
        elif not (is_share or family.is_log) and half is not None and margin >= half:
            self.errors[key] = f"Enter less than {half:g}: half of the scale."
        else:
            return margin / 100 if is_share else margin
        return 0

    def _clean_condition(self, key: str, row: Row) -> dict[str, Any]:
        measure, threshold = MEASURES.get(row["measure"]), _read_number(row["threshold"])
        self._check(measure is not None, f"measure-{key}", "Choose what is measured.")
        is_known = row["comparison"] in COMPARISONS
        self._check(is_known, f"comparison-{key}", "Choose a comparison.")
        if measure is not None:
            whole = " whole" if measure.is_whole else ""
            fits = (
                threshold is not None
                and measure.least <= threshold <= measure.most
                and (not measure.is_whole or threshold == int(threshold))
            )
            ends = f"{measure.least:g} to {measure.most:,g}".replace("-", "−")
            self._check(fits, f"threshold-{key}", f"Enter a{whole} number from {ends}.")
        return {
            "measure": row["measure"],
            "comparison": row["comparison"],
            "threshold": threshold or 0,
        }

    def _check(self, holds: bool, key: str, words: str) -> None:
        if not holds:
            self.errors.setdefault(key, words)

    # --- what the page shows --------------------------------------------------------------

    @property
    def shown_rules(self) -> list[dict[str, Any]]:
        """Return each rule with its sentence, once it has one, and its conditions."""
        return [
            {
                "sentence": self._describe(number, rule),
                "conditions": [
                    {
                        **row,
                        "key": f"{number}-{place}",
                        "errors": self._find_errors(f"{number}-{place}", _CONDITION),
                    }
                    for place, row in enumerate(rule, start=1)
                ],
            }
            for number, rule in enumerate(self.rules, start=1)
        ]

    @property
    def shown_hypotheses(self) -> list[dict[str, Any]]:
        return [
            {**row, "errors": self._find_errors(str(number), _HYPOTHESIS)}
            for number, row in enumerate(self.hypotheses, start=1)
        ]

    def _describe(self, number: int, rule: list[Row]) -> str:
        probe = PlanRows(rules=[rule])
        conditions = probe.clean_rules()[0]
        return f"Rule {number}" if probe.errors else describe_rule(conditions)

    @property
    def named_errors(self) -> list[tuple[str, str]]:
        """Return each error by the field that it is about, with the row that holds it."""
        found = []
        for key, error in self.errors.items():
            name, number, *_ = key.split("-")
            row = "Rule" if name in _CONDITION else "Hypothesis"
            found.append((key, f"{row} {number}: {error}" if number.isdigit() else error))
        return found

    def _find_errors(self, key: str, names: tuple[str, ...]) -> list[str]:
        return [self.errors[f"{name}-{key}"] for name in names if f"{name}-{key}" in self.errors]


def _numbers(sent: Mapping[str, Any], pattern: str) -> list[int]:
    """Return the numbers of the rows that were sent, in their order."""
    found = (re.fullmatch(pattern, name, re.ASCII) for name in sent)
    return sorted(int(one[1]) for one in found if one and len(one[1]) < 4)[:MOST]


def _without(rows: list[Any], places: list[int]) -> list[Any]:
    return [row for place, row in enumerate(rows) if place not in places]


def _read_number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return float(Decimal(text.replace("−", "-").replace(",", ".")))
    except InvalidOperation:
        return None


def _family_of(study: Study, criterion: str) -> Any:
    found: Callable[[str], Any] = {one.key: one for one in study.config.criteria}.get
    return FAMILIES[found(criterion).family] if found(criterion) else FAMILIES["points"]


def _has_better(criterion: Criterion) -> bool:
    """Tell whether one of two systems can be the better one."""
    return criterion.scale.compares or criterion.direction in ("higher", "lower")


def _find_half(criterion: Criterion) -> float | None:
    """Return half of the range of the scale, which a margin has to stay below; None without."""
    if FAMILIES[criterion.family].name == "shares":
        return 0.5
    ends = criterion.scale.minimum, criterion.scale.maximum
    return None if None in ends else (ends[1] - ends[0]) / 2


def show_margin(study: Study, row: Mapping[str, Any]) -> str:
    if "margin" not in row:
        return ""
    family = _family_of(study, row["criterion"])
    times = 100 if family.compares or family.decides else 1
    return f"{row['margin'] * times:g}"
