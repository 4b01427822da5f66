"""What exclusions change: the first criterion of a report with and without them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evalsite.results.models import Report
from evalsite.results.report.criterion_tables import name_average
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.wording import describe_interval, hold_together, write_value

# the results page shows more pairs
_MOST_PAIRS = 6


@dataclass(frozen=True, kw_only=True)
class SystemBoth:
    """The headline figure of one system, with its interval or why there is none."""

    system: str
    without: str
    without_interval: str
    whole: str
    whole_interval: str


@dataclass(frozen=True, kw_only=True)
class PairBoth:
    """What was found of two systems; an empty text where nothing was compared."""

    without: str
    whole: str


@dataclass(frozen=True)
class Main:
    """The main result of a report: its first criterion, by system and by pair."""

    label: str
    figure: str
    has_both: bool
    systems: list[SystemBoth] = field(default_factory=list)
    pairs: list[PairBoth] = field(default_factory=list)


def show_main(report: Report | None, *, is_excluding: bool = True) -> Main | None:
    """Return the first criterion of the report; None where there is no report, or none in it.

    `is_excluding` False: nothing is excluded any more, so that all answers alone are shown.
    """
    if report is None or not report.content["kept"]["criteria"]:
        return None
    kept = report.content["kept"]["criteria"][0]
    everything = _same_of(report.content["all"], kept["key"])
    if everything is not None and not is_excluding:
        kept, everything = everything, None
    whole = kept if everything is None else everything
    return Main(
        label=kept["label"],
        figure=name_average(whole),
        has_both=everything is not None,
        systems=_compare_systems(kept, whole),
        pairs=_compare_pairs(kept, whole),
    )


def _same_of(content: dict[str, Any] | None, key: str) -> dict[str, Any] | None:
    criteria = [] if content is None else content["criteria"]
    return next((one for one in criteria if one["key"] == key), None)


def _compare_systems(kept: dict[str, Any], whole: dict[str, Any]) -> list[SystemBoth]:
    """The systems in their order without what is excluded, then those that have nothing else."""
    without = {one["system"]: one["headline"] for one in kept["systems"]}
    every = {one["system"]: one["headline"] for one in whole["systems"]}
    return [
        SystemBoth(
            system=system,
            without=_in_words(write_value, without.get(system)),
            without_interval=_in_words(describe_interval, without.get(system)),
            whole=_in_words(write_value, every.get(system)),
            whole_interval=_in_words(describe_interval, every.get(system)),
        )
        for system in dict.fromkeys([*without, *every])
    ]


def _in_words(write: Callable[[dict[str, Any]], str], figure: dict[str, Any] | None) -> str:
    return "" if figure is None else hold_together(write(figure))


def _compare_pairs(kept: dict[str, Any], whole: dict[str, Any]) -> list[PairBoth]:
    without, every = _findings(kept), _findings(whole)
    names = list(dict.fromkeys([*without, *every]))
    if len(names) > _MOST_PAIRS:
        return []
    return [PairBoth(without=without.get(one, ""), whole=every.get(one, "")) for one in names]


def _findings(criterion: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (pair["system_1"], pair["system_2"]): hold_together(write_sentence(pair["finding"]))
        for pair in criterion["pairs"]
    }
