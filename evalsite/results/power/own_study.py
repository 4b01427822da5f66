"""What this study detects, in words: from the projection that its last analysis made."""

from dataclasses import dataclass
from math import ceil, exp
from typing import Any

from evalsite.analysis.families import find_family
from evalsite.analysis.families.family import Family, name_unit
from evalsite.jobs.models import Job
from evalsite.results.document.axis import Axis, make_axis
from evalsite.results.document.figures import write_number
from evalsite.results.models import Report
from evalsite.results.power.design_search import FEW_RATERS
from evalsite.results.progress import Edge
from evalsite.results.report.ahead import describe_settings
from evalsite.results.report.computation import take_fingerprint
from evalsite.results.report.first_look import KIND
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import count_of, format_money

_LABELS = {
    "planned": "Collect all {target}, as planned",
    "fewest": "Add {sets}",
    "hundred": "Add {sets}",
    "one_more": "Add one more answer to every item",
    "inputs": "Add {inputs}",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One option: what it takes, the difference it detects, and where that is on the axis."""

    key: str
    label: str
    takes: str
    difference: str
    unit: str  # "point" of a single one
    half: str
    place: str
    meets: bool
    sets: str

    @property
    def effect(self) -> str:
        """Return the difference with its unit: "0.82 points"."""
        return f"{self.difference} {self.unit}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Detected:
    """What the page says of one criterion."""

    key: str
    label: str
    now: Row | None
    rows: list[Row]  # with `now`, as far as options are known
    axis: Axis
    smallest: str  # with its unit
    smallest_place: str
    noun: str  # "difference" or "ratio"
    unit: str  # "points", "percentage points", "" of ratios
    alone: str  # with its unit
    tests: int
    used: str
    raters: int
    has_few_raters: bool
    why: str
    is_reached: bool
    is_current: bool  # with the data and settings that there are
    target: int
    size: int
    load: int
    price: str

    def find(self, key: str) -> Row | None:
        return next((one for one in self.rows if one.key == key), None)

    @property
    def planned(self) -> Row | None:
        return self.find("planned")

    @property
    def fewest(self) -> Row | None:
        return self.find("fewest")


def find_projection(
    study: Study, report: Report | None, newest: Job | None
) -> dict[str, Any] | None:
    """Return what the last analysis that is done projected, if the report is the one shown.

    `newest`: the last analysis, done or not.
    """
    if report is None or newest is None:
        return None
    done: Job | None = newest
    if newest.state != Job.State.DONE:
        done = Job.objects.filter(study_id=study.pk, kind=KIND, state=Job.State.DONE).first()
    result = {} if done is None else done.result
    found: dict[str, Any] | None = result.get("ahead")
    return found if result.get("report") == str(report.pk) else None


def list_projected(report: Report, projection: dict[str, Any]) -> list[dict[str, str]]:
    """Return the criteria of the seg, the primary one first as in the report."""
    return [
        {"key": one["key"], "label": one["label"], "role": one.get("role", "")}
        for one in report.content["kept"]["criteria"]
        if one["key"] in projection["criteria"]
    ]


def describe_detected(
    study: Study, report: Report, projection: dict[str, Any], key: str, edge: Edge
) -> Detected:
    """Return what the page says of the criterion."""
    kept = report.content["kept"]
    criterion = next(one for one in kept["criteria"] if one["key"] == key)
    found, settings = projection["criteria"][key], projection["settings"]
    family = find_family(criterion)
    smallest = found["smallest"]
    options = [{"key": "now", "sets": 0, "answers": 0, **found["now"]}] if found["now"] else []
    has_ended = study.state in (Study.State.CLOSED, Study.State.ARCHIVED)
    # nobody can answer any more
    options += [] if has_ended else found["options"]
    axis = make_axis(
        [smallest, *(one["detectable"] for one in options)], times=100 if _is_share(family) else 1
    )
    teller = _Teller(study, family, _name_unit(criterion), axis, smallest, found["used"], settings)
    rows = [teller.write(one) for one in options]
    raters = kept["data"]["participants"]
    return Detected(
        key=key,
        label=str(criterion["label"]),
        now=rows[0] if rows else None,
        rows=rows,
        axis=axis,
        smallest=teller.add_unit(teller.write_smallest()),
        smallest_place="" if smallest is None else axis.place(smallest),
        noun="ratio" if family.is_log else "difference",
        unit=_name_unit(criterion),
        alone=teller.add_unit(_write(found["now"]["alone"], family)) if found["now"] else "",
        tests=found["tests"],
        used=count_of(found["used"], "answer"),
        raters=raters,
        has_few_raters=raters < FEW_RATERS,
        why="" if has_ended else found["why"],
        is_reached=bool(rows) and rows[0].meets,
        is_current=report.fingerprint == take_fingerprint(study)
        and settings == describe_settings(study, edge.target),
        target=settings["target"],
        size=settings["size"],
        load=projection["load"],
        price=format_money(study.pay_per_set, study.currency) if study.pay_per_set else "",
    )


@dataclass(frozen=True)
class _Teller:
    study: Study
    family: Family
    unit: str
    axis: Axis
    smallest: float | None
    used: int
    settings: dict[str, Any]

    def write(self, option: dict[str, Any]) -> Row:
        size = option["detectable"]
        meets = self.smallest is not None and size is not None and size <= self.smallest
        difference = _write(size, self.family) if size is not None else "none"
        if size is not None and not meets and difference == self.write_smallest():
            # it is larger, if only by a digit that isn't shown
            difference = f"{size * 100:.1f}" if _is_share(self.family) else f"{size:.3f}"
        return Row(
            key=option["key"],
            label=self._label(option),
            takes=self._take(option),
            difference=difference,
            unit="" if size is None else self._find_unit(difference),
            half=_write_half(option["half"], self.family),
            place="" if size is None else self.axis.place(size),
            sets=count_of(option["sets"], "more set"),
            meets=meets,
        )

    def add_unit(self, number: str) -> str:
        return f"{number} {self._find_unit(number)}".strip() if number[:1].isdigit() else number

    def _find_unit(self, number: str) -> str:
        return self.unit.removesuffix("s") if number == "1" else self.unit

    def write_smallest(self) -> str:
        return "" if self.smallest is None else _write(self.smallest, self.family)

    def _label(self, option: dict[str, Any]) -> str:
        if option["key"] == "now":
            return "Stop here"
        return _LABELS[option["key"]].format(
            target=f"{self.settings['target']:,}",
            sets=count_of(option["sets"], "set"),
            inputs=count_of(option["count"], "input"),
        )

    def _take(self, option: dict[str, Any]) -> str:
        if option["key"] == "now":
            return count_of(self.used, "answer")
        answers = count_of(option["answers"], "answer")
        if option["key"] == "planned":
            sets = max(self.settings["k"], ceil(self.settings["target"] / self.settings["size"]))
            cost = self._cost(sets)
            return f"{answers} to come, {cost} in total" if cost else f"{answers} to come"
        cost = self._cost(option["sets"])
        return f"{answers}, {cost} on top" if cost else f"{answers} on top"

    def _cost(self, sets: int) -> str:
        pay = self.study.pay_per_set
        return "" if not pay else format_money(sets * pay, self.study.currency)


def _is_share(family: Family) -> bool:
    return family.compares or family.decides


def _name_unit(criterion: dict[str, Any]) -> str:
    family = find_family(criterion)
    if family.is_log:
        return ""
    return "percentage points" if _is_share(family) else name_unit(criterion)


def _write(size: float | None, family: Family) -> str:
    if size is None:
        return "–"
    return f"{size * 100:.0f}" if _is_share(family) else write_number(size, "points")


def _write_half(half: float, family: Family) -> str:
    if family.is_log:
        return f"× {exp(half):.2f}"
    return f"±{half * 100:.0f}" if _is_share(family) else f"±{write_number(half, 'points')}"
