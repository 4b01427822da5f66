"""Every interval of a report lies within what is possible for its figure, whatever the ratings."""

import csv
import json
import math
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from evalsite.analysis.plan import NO_PLAN, Plan
from evalsite.analysis.report import Settings, make_reports
from evalsite.results.document.figures import CODES
from tests.analysis.test_degenerate_reports import find_figures

Ends = tuple[float, float]
# a report takes too long to look for the smallest design that fails
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


def list_points(*values: float) -> list[dict[str, Any]]:
    return [{"value": value, "label": ""} for value in values]


# of each kind: its question, its values, and the most that one may be above another
KINDS: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "points": ({"kind": "likert", "answers": list_points(1, 2, 3, 4, 5)}, (1, 2, 3, 4, 5)),
    "halves": (
        {"kind": "likert", "answers": list_points(1, 1.5, 2, 2.5, 3)}, (1, 1.5, 2, 2.5, 3),
    ),
    "decision": ({"kind": "decision", "answers": list_points(0, 1)}, (0, 1)),
    "magnitude": ({"kind": "magnitude", "answers": []}, (10, 40, 50, 60, 100, 200)),
    "slider": (
        {"kind": "slider", "family": "points", "answers": [], "minimum": 0, "maximum": 100},
        (0, 10, 33, 50, 51, 52, 100),
    ),
    "number": (
        {"kind": "number", "family": "points", "answers": [], "minimum": None, "maximum": None},
        (-3.5, 0, 2.25, 50, 51.5, 400),
    ),
    "preference": ({"kind": "preference", "answers": []}, (-1, 0, 1)),
    "graded": ({"kind": "preference", "answers": []}, (-2, -1, 0, 1, 2)),
}  # fmt: skip
# a formula that leads below -1 where there are two raters of two inputs: then without an interval
BELOW = {"ac2", "ICC(1,1)", "ICC(A,1)", "ICC(C,1)"}
BOUNDED = {"points", "halves", "decision", "slider"}
UNBOUNDED = {"magnitude", "number"}

SHARE, SIGNED, COUNT, ANY = (0.0, 1.0), (-1.0, 1.0), (0.0, math.inf), (-math.inf, math.inf)
POSSIBLE: dict[str, Ends] = {
    **dict.fromkeys(
        [
            "percent_agreement", "within_1", "share", "share_wilson", "superiority", "top_share",
            "bottom_box", "top_box", "mode_share", "model_share", "dawid_skene_share", "kendall_w",
            "share_best", "share_of_5s", "share_of_10s", "share_of_cells_filled", "tie_share",
            "share_of_raters", "share_of_rest", "share_of_units", "win_share", "share_under_floor",
            "share_of_first_place", "circular_share", "share_of_standard",
            "transitivity", "beats_average", "sign_test", "sign_test_of_majorities",
            "circular_triads", "share_at_low", "share_at_high", "p_higher",
        ],
        SHARE,
    ),
    **dict.fromkeys(
        [
            "ac1", "ac2", "alpha_of_log1p", "alpha_of_raw_scores", "alpha_interval",
            "alpha_log", "alpha_nominal",
            "alpha_ordinal", "alpha_ranks", "alpha_ratio", "cliffs_delta", "fleiss", "linear_kappa",
            "loo_spearman", "pairwise_pearson", "pairwise_spearman", "pairwise_tau_b",
            "rank_biserial", "risk_difference", "net_share", "ICC(1,1)", "ICC(A,1)", "ICC(C,1)",
            "weighted_kappa", "pairwise_kappa", "mean_kappa", "net_win_share", "kendall_zeta",
            "alpha_of_first_ratings",
        ],
        SIGNED,
    ),
    **dict.fromkeys(["ICC(1,k)", "ICC(A,k)", "ICC(C,k)", "reliability_of_mean"], (-math.inf, 1.0)),
    **dict.fromkeys(
        [
            "ratio", "geo_mean", "geo_mean_centred", "geo_mean_winsorised", "geometric_mean",
            "median_seconds", "seconds_per_annotation", "outputs_per_rater", "ratings_per_output",
            "speed_ratio", "mean_rank", "sd_log", "slips", "cochran_q", "friedman", "components",
            "detectable_difference", "davidson_fit", "mcnemar", "tie_parameter", "joint_f", "sd",
        ],
        COUNT,
    ),
    **dict.fromkeys(
        [
            "dz", "gz", "mean_z", "mean_log_z", "order_strength", "strength", "penalised_strength",
            "sign_flip", "sign_within", "wilcoxon", "mean_of_log", "mean_of_log1p",
            "position_effect",
        ],
        ANY,
    ),
}  # fmt: skip
# in units of the scale: a value on it, and how far apart two can be
ON_SCALE = {
    "mean", "median", "trimmed_mean", "model_mean", "mean_of_raw_scores", "first_quartile",
    "third_quartile",
}  # fmt: skip
APART = {"difference", "from_average", "own_error", "loo_bias"}


def find_possible(name: str, kind: str) -> Ends | None:
    """What a figure of this name can be; None: nobody has said."""
    if name == "mean_step":
        return -2.0, 2.0
    low, high = (min(KINDS[kind][1]), max(KINDS[kind][1])) if kind in BOUNDED else ANY
    if kind in ("preference", "graded") and name in APART:
        return SIGNED
    if kind == "magnitude" and name in APART | ON_SCALE:
        return ANY
    if name in ON_SCALE:
        return low, high
    if name in APART:
        return low - high, high - low
    if name in ("drift_trial", "drift_place"):
        return 2 * (low - high), 2 * (high - low)
    if name == "mean_centred":  # on the scale, less how strict its raters are
        return 2 * low - high, 2 * high - low
    return POSSIBLE.get(name)


@dataclass(frozen=True)
class Design:
    """Ratings that somebody may bring."""

    kind: str
    raters: int
    items: int
    systems: int
    shape: str
    kept: float  # the share of ratings that are there
    seed: int
    has_baseline: bool

    def list_rows(self) -> Iterator[dict[str, Any]]:
        chance = random.Random(self.seed)
        values = KINDS[self.kind][1]
        of_output: dict[tuple[int, int], float] = {}
        for rater in range(self.raters):
            for item in range(self.items):
                for system in range(self.systems):
                    value = self._draw(chance, values, rater, item, system)
                    if self.shape == "raters agree":
                        value = of_output.setdefault((item, system), value)
                    if self.shape == "a system is missing" and system == self.systems - 1:
                        continue
                    if chance.random() < self.kept:
                        yield self._describe(rater, item, system, value)

    def _draw(self, chance, values, rater: int, item: int, system: int) -> float:
        middle = values[len(values) // 2]
        match self.shape:
            case "no variance":
                return middle
            case "constant differences":
                return values[(system + 1) % len(values)]
            case "raters apart":
                return values[rater % len(values)]
            case "one slip":
                slip = 999_999 if self.kind in UNBOUNDED else values[-1]
                return slip if (rater, item, system) == (0, 0, 0) else middle
            case "one end":
                return values[-1] if chance.random() < 0.95 else values[0]
        return chance.choice(values)

    def _describe(self, rater: int, item: int, system: int, value: float) -> dict[str, Any]:
        known = {
            "criterion": "q", "participant": f"p{rater}", "trial": item, "seconds": 5 + item,
            "group": f"i{item}",
        }  # fmt: skip
        if self.kind not in ("preference", "graded"):
            return known | {
                "item": f"i{item}", "system": f"S{system}", "output_id": f"i{item}#S{system}",
                "value": value,
            }  # fmt: skip
        first, second = f"S{system}", f"S{(system + 1) % max(2, self.systems)}"
        first, second = sorted((first, second))
        return known | {
            "item": f"i{item}-{first}-{second}", "system_1": first, "system_2": second,
            "shown_first": (first, second)[item % 2],
            "preferred": {-1: first, 0: "tie", 1: second}[(value > 0) - (value < 0)],
            "outcome": {-1: "1", 0: "tie", 1: "2"}[(value > 0) - (value < 0)],
            "value": abs(value) if self.kind == "graded" and value else "",
            "both": "good" if self.kind == "graded" and not value else "",
        }  # fmt: skip


SHAPES = [
    "random", "no variance", "constant differences", "raters apart", "raters agree", "one slip",
    "one end", "a system is missing",
]  # fmt: skip


def draw_designs(kind: str) -> st.SearchStrategy[Design]:
    return st.builds(
        Design,
        kind=st.just(kind),
        raters=st.integers(1, 5),
        items=st.integers(1, 7),
        systems=st.integers(1, 4),
        shape=st.sampled_from(SHAPES),
        kept=st.sampled_from([1.0, 0.7, 0.4]),
        seed=st.integers(0, 10**6),
        has_baseline=st.booleans(),
    )


def make(design: Design) -> dict[str, Any] | None:
    """The report as a page reads it; None of no ratings."""
    rows = list(design.list_rows())
    # of two raters' answers to one pair the first counts
    if not rows:
        return None
    plan = Plan(baseline=f"S{design.systems - 1}") if design.has_baseline else NO_PLAN
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ratings.csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        described = {"key": "q", "label": "Quality"} | KINDS[design.kind][0]
        report = make_reports(
            {"ratings": path}, Settings(instrument=[described], seed=3, plan=plan)
        )["kept"]
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    return report


def find_faults(report: dict[str, Any], kind: str) -> Iterator[str]:
    """Every figure that can't be, with what is wrong."""
    for figure in find_figures(report):
        name, value = figure["name"], figure["value"]
        low, high = figure["low"], figure["high"]
        where = f"{name} {value} ({low} to {high})"
        if name not in CODES:
            yield f"{where} has no name and no unit"
        if value is None:
            if not figure["reason"]:
                yield f"{where} has no reason"
            continue
        possible = find_possible(name, kind)
        if possible is None:
            yield f"say what {name} can be"
            continue
        least, most = possible
        if name in BELOW and value < -1 and low is None:
            continue
        ends = [value, *(end for end in (low, high) if end is not None)]
        slack = 1e-9 * max(1.0, *map(abs, ends))
        if not all(least - slack <= end <= most + slack for end in ends):
            yield f"{where} isn't within {least} to {most}"
        if (low is not None and low > value + slack) or (high is not None and high < value - slack):
            yield f"{where} isn't in its interval"
    yield from _find_turned(report)


def _find_turned(content: Any) -> Iterator[str]:
    """Ends in the wrong order, of whatever has two."""
    if isinstance(content, dict):
        low, high = content.get("low"), content.get("high")
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            yield f"{content} is turned"
    if isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from _find_turned(part)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [*SHAPES, "one item", "one rater", "one system"])
def test_data_that_leave_little_to_say_have_possible_intervals(kind: str, shape: str) -> None:
    check(
        Design(
            kind=kind,
            raters=1 if shape == "one rater" else 3,
            items=1 if shape == "one item" else 5,
            systems=1 if shape == "one system" else 3,
            shape=shape,
            kept=1.0,
            seed=1,
            has_baseline=True,
        )
    )


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=2, phases=PHASES)
@given(data=st.data())
def test_every_interval_lies_within_what_is_possible(kind: str, data: st.DataObject) -> None:
    check(data.draw(draw_designs(kind)))


@pytest.mark.torture
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, phases=PHASES)
@given(data=st.data())
def test_every_interval_of_many_designs_lies_within_what_is_possible(
    kind: str, data: st.DataObject
) -> None:
    check(data.draw(draw_designs(kind)))


def check(design: Design) -> None:
    report = make(design)

    assert report is None or not list(find_faults(report, design.kind))
