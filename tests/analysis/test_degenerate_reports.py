"""Ratings that leave a figure without a value: the report says so, and is never stopped by it."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsite.analysis.report import Settings, make_reports
from evalsite.results.document.figures import explain_none, write_interval_method, write_method

Row = dict[str, Any]
Report = Callable[..., dict[str, Any]]
POINTS = [{"value": value, "label": ""} for value in range(1, 8)]
YES_NO = [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}]
KINDS: dict[str, Any] = {"likert": POINTS, "decision": YES_NO, "magnitude": []}


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """The report of these rows of ratings.csv, as a page would read it."""

    def make(rows: Iterable[Row], kind: str, **known: Any) -> dict[str, Any]:
        path = tmp_path / "ratings.csv"
        rows = [{"criterion": "quality", **row} for row in rows]
        names = dict.fromkeys(name for row in rows for name in row)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(names), restval="")
            writer.writeheader()
            writer.writerows(rows)
        described = {"key": "quality", "label": "Quality", "kind": kind,
                     "answers": KINDS.get(kind, [])} | known  # fmt: skip
        made = make_reports({"ratings": path}, Settings(instrument=[described], seed=3))["kept"]
        assert json.loads(json.dumps(made, allow_nan=False)) == made
        return made

    return make


def rate(
    value: Callable[[int, int, str], Any], raters: int = 6, items: int = 12, systems: str = "ABC"
) -> list[Row]:
    """Everyone has rated every system on every item, one item after another."""
    return [
        {
            "participant": f"p{rater}", "item": f"i{item}", "system": system, "trial": item,
            "place_in_set": item % 4, "seconds": 20, "output_id": f"i{item}#{system}",
            "value": value(rater, item, system),
        }
        for rater in range(raters)
        for item in range(items)
        for system in systems
    ]  # fmt: skip


SHAPES: dict[str, Callable[[int, int, str], int]] = {
    "all equal": lambda rater, item, system: 1,
    "raters who agree": lambda rater, item, system: (item * 3 + ord(system)) % 2,
    "a rater always one above": lambda rater, item, system: int(rater == 0),
    "systems always as far apart": lambda rater, item, system: int(system == "A"),
    "items alone": lambda rater, item, system: item % 2,
    "one rating that is not like the rest": lambda r, i, s: int((r, i, s) == (0, 0, "A")),
}


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["likert", "decision", "magnitude"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_single_figure_stops_a_report(report: Report, shape: str, kind: str) -> None:
    take = {"likert": lambda v: 3 + v, "decision": lambda v: v, "magnitude": lambda v: 50 + 50 * v}

    made = report(rate(lambda *at: take[kind](SHAPES[shape](*at))), kind)

    assert len(made["raters"]["rows"]) == 6
    assert len(made["criteria"][0]["pairs"]) == 3
    check_intervals(made)


def check_intervals(made: dict[str, Any]) -> None:
    """A point is no interval, and where there is none the figure says why; all has its words."""
    for figure in find_figures(made):
        if figure["value"] is not None:
            assert write_method(figure["method"]), figure
        if figure["low"] is not None or figure["high"] is not None:
            assert write_interval_method(figure["details"]["interval"]), figure
        assert figure["low"] is None or figure["low"] < figure["high"], figure
        if figure["value"] is not None and figure["low"] is figure["high"] is None:
            assert explain_none(figure["details"]["interval"]), figure
            assert figure["n"], figure


def test_figures_say_what_they_are_and_not_how_they_might_have_been_drawn(report: Report) -> None:
    rows = rate(lambda rater, item, system: 50 + (7 * item + ord(system)) % 30, raters=1)

    (criterion,) = report(rows, "magnitude")["criteria"]

    for system in criterion["systems"]:
        for figure in (system["headline"], *system["others"], *system["averages"]):
            assert "bootstrap" not in figure["method"]
            if figure["value"] is not None and figure["low"] is None:
                assert explain_none(figure["details"]["interval"])


@pytest.mark.slow
def test_agreement_on_logarithms_says_so(report: Report) -> None:
    rows = rate(lambda rater, item, system: 50 + (7 * item + 3 * rater + ord(system)) % 30)

    (criterion,) = report(rows, "magnitude")["criteria"]

    transforms = {one["name"]: one["details"].get("transform") for one in criterion["agreement"]}
    assert transforms["alpha_log"] == "ln"
    assert transforms["alpha_ratio"] == "none"


def test_facts_of_the_design_say_what_they_are_counted_from(report: Report) -> None:
    made = report(rate(lambda rater, item, system: 3), "likert")

    counts = {one["name"]: one["n"] for one in made["design"]}
    assert counts["ratings_per_output"] == {"outputs": 36}
    assert counts["share_of_cells_filled"] == {"raters": 6, "outputs": 36}


def find_figures(content: Any) -> Iterator[dict[str, Any]]:
    """Every figure of a report, or of a part of one."""
    if isinstance(content, dict) and {"value", "reason", "method"} <= content.keys():
        yield content
    elif isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from find_figures(part)


def test_rater_who_is_always_as_far_from_the_others_does_not_drift(report: Report) -> None:
    rows = rate(lambda rater, item, system: 4 + (rater == 0))

    made = report(rows, "likert")

    assert not [flag for row in made["raters"]["rows"] for flag in row["flags"]
                if flag["code"].startswith("drift")]  # fmt: skip


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("kind", "values", "effect"),
    [("likert", (5, 3), 2), ("magnitude", (100, 50), 2), ("decision", (1, 0), 1)],
)
def test_difference_that_is_always_as_large_is_told_as_the_largest_there_can_be(
    report: Report, kind: str, values: tuple[int, int], effect: int
) -> None:
    rows = rate(lambda rater, item, system: values[system == "B"], items=20, systems="AB")

    (criterion,) = report(rows, kind)["criteria"]

    (pair,) = criterion["pairs"]
    assert pair["effect"]["value"] == pytest.approx(effect)
    assert pair["effect"]["low"] is None
    # of 2 ** 20 sign flips of inputs two are as far from 0
    assert pair["effect"]["details"]["p_corrected"] == pytest.approx(2**-19)
    assert pair["finding"]["code"] == "higher"
    assert pair["finding"]["facts"]["spread"] == {
        "units_of": "inputs", "units": 20, "is_difference": True, "is_of_means": False,
        "has_raters": True,
    }  # fmt: skip
    assert [one["rank"] for one in criterion["systems"]] == [{"low": 1, "high": 1},
                                                             {"low": 2, "high": 2}]  # fmt: skip


def test_few_inputs_do_not_show_even_a_difference_that_is_always_there(report: Report) -> None:
    rows = rate(lambda rater, item, system: 3 + 2 * (system == "A"), items=4, systems="AB")

    (criterion,) = report(rows, "likert")["criteria"]

    (pair,) = criterion["pairs"]
    assert pair["effect"]["details"]["p_corrected"] == 1 / 8
    assert pair["finding"]["code"] == "not_enough"
    assert pair["finding"]["facts"]["value"] == 2
    assert {one["rank"]["high"] - one["rank"]["low"] for one in criterion["systems"]} == {1}


@pytest.mark.torture
def test_two_raters_who_agree_on_everything_are_said_not_to_be_tested(report: Report) -> None:
    # the model has nothing to tell raters from the rest, and two raters can't be drawn again
    rows = rate(
        lambda rater, item, system: 2 + (item * item + (item % 3) * (system == "A")) % 4,
        raters=2, items=20, systems="AB",
    )  # fmt: skip

    (criterion,) = report(rows, "likert")["criteria"]

    (pair,) = criterion["pairs"]
    facts = pair["finding"]["facts"]
    assert (facts["p_corrected"], facts["low"], facts["has_interval"]) == (None, None, False)


def test_gaps_do_not_hide_a_difference_that_is_always_as_large(report: Report) -> None:
    rows = rate(lambda rater, item, system: int(system == "A"), items=20, systems="AB")

    (criterion,) = report(rows[:-7], "decision")["criteria"]

    (pair,) = criterion["pairs"]
    assert pair["effect"]["value"] == 1
    assert pair["effect"]["low"] is None
    assert pair["finding"]["code"] == "higher"


def prefer(pick: Callable[[str, str], str], pairs: list[str], raters: int = 6) -> list[Row]:
    """Everyone has compared the systems of each item, a pair such as "AB"."""
    return [
        {"participant": f"p{rater}", "item": f"i{item}", "system_1": pair[0], "system_2": pair[1],
         "preferred": won if (won := pick(*pair)) != "tie" else "", "value": int(won != "tie"),
         "outcome": {pair[0]: "1", pair[1]: "2"}.get(won, "tie"), "shown_first": pair[0]}
        for rater in range(raters) for item, pair in enumerate(pairs)
    ]  # fmt: skip


@pytest.mark.one_case
@pytest.mark.parametrize("pairs", [["AB"] * 8, ["AB", "BC", "AC"] * 6])
def test_figure_of_preferences_has_an_interval_or_says_why_there_is_none(
    report: Report, pairs: list[str]
) -> None:
    wins = prefer(lambda one, two: one if two == "C" else "tie", pairs)
    losses = prefer(lambda one, two: two, pairs, raters=3)

    made = report([*wins, *({**row, "participant": f"q{row['participant']}"} for row in losses)],
                  "preference")  # fmt: skip

    check_intervals(made)
    assert {figure["details"].get("unit") for figure in made["criteria"][0]["agreement"]} == {
        "item"
    }


def test_system_that_wins_every_comparison_is_told_to_win(report: Report) -> None:
    rows = prefer(lambda one, two: one, ["AB"] * 8)

    (criterion,) = report(rows, "preference")["criteria"]

    (pair,) = criterion["pairs"]
    assert pair["effect"]["value"] == 1
    assert pair["effect"]["details"]["p_corrected"] == 2**-7
    spread = pair["finding"]["facts"]["spread"]
    assert (spread["has_raters"], spread["is_of_means"]) == (True, False)


def test_nothing_but_ties_is_no_proof_of_equality(report: Report) -> None:
    rows = prefer(lambda one, two: "tie", ["AB"] * 8)

    (criterion,) = report(rows, "preference")["criteria"]

    finding = criterion["pairs"][0]["finding"]
    assert finding["code"] == "not_enough"
    assert finding["facts"]["spread"]["is_difference"] is False


def prefer_in_clusters(won: dict[int, str], raters: int = 5, clusters: int = 8) -> list[Row]:
    """Everyone has answered both inputs of every cluster: `won` by the place of the input."""
    return [
        {"participant": f"p{rater}", "item": f"i{cluster}-{place}", "cluster": f"c{cluster}",
         "system_1": "A", "system_2": "B", "preferred": name, "shown_first": "A",
         "value": int(name != ""), "outcome": {"A": "1", "B": "2"}.get(name, "tie")}
        for rater in range(raters) for cluster in range(clusters) for place, name in won.items()
    ]  # fmt: skip


@pytest.mark.one_case
@pytest.mark.parametrize("raters", [5, 2])
def test_means_of_clusters_that_are_equal_are_not_told_as_equal_answers(
    report: Report, raters: int
) -> None:
    # 5 raters, 8 clusters of 2 inputs: 40 wins on the one input, 40 losses on the other
    (criterion,) = report(prefer_in_clusters({0: "A", 1: "B"}, raters), "preference")["criteria"]

    (pair,) = criterion["pairs"]
    assert pair["counts"] == {"wins": 8 * raters, "ties": 0, "losses": 8 * raters}
    spread = pair["finding"]["facts"]["spread"]
    assert (spread["is_difference"], spread["is_of_means"], spread["units_of"]) == (
        False, True, "clusters",
    )  # fmt: skip


def test_sign_flips_of_clusters_are_told_as_clusters(report: Report) -> None:
    # 40 wins and 40 ties: half of all answers, in every cluster
    (criterion,) = report(prefer_in_clusters({0: "A", 1: ""}), "preference")["criteria"]

    (pair,) = criterion["pairs"]
    assert pair["effect"]["details"]["p_corrected"] == 2**-7
    assert pair["effect"]["n"] == {"answers": 80, "items": 16, "clusters": 8, "raters": 5}
    assert pair["sizes"][0]["n"] == {
        "answers": 80, "items": 16, "clusters": 8, "raters": 5,
    }  # fmt: skip
    facts = pair["finding"]["facts"]
    assert (facts["value"], facts["p_corrected"]) == (0.5, 2**-7)
    assert (facts["spread"]["units_of"], facts["spread"]["units"]) == ("clusters", 8)


def test_wins_everywhere_are_told_of_every_input_of_clusters(report: Report) -> None:
    (criterion,) = report(prefer_in_clusters({0: "A", 1: "A"}), "preference")["criteria"]

    facts = criterion["pairs"][0]["finding"]["facts"]
    assert (facts["value"], facts["p_corrected"]) == (1, 2**-7)
    assert (facts["spread"]["is_of_means"], facts["spread"]["units"]) == (False, 8)


@pytest.mark.torture
def test_one_input_alone_is_told_by_its_raters(report: Report) -> None:
    (criterion,) = report(prefer(lambda one, two: one, ["AB"]), "preference")["criteria"]

    # six raters: 2 of 2 ** 6 sign flips
    facts = criterion["pairs"][0]["finding"]["facts"]
    assert facts["p_corrected"] == 2 / 2**6
    assert (facts["spread"]["units_of"], facts["spread"]["units"]) == ("raters", 6)


@pytest.mark.one_case
@pytest.mark.parametrize(("step", "is_of_means"), [(1, True), (0, False)])
def test_scores_that_are_equal_in_the_mean_of_clusters_are_told_so(
    report: Report, step: int, is_of_means: bool
) -> None:
    # A is a step above B on the one input of a cluster, a step below on the other
    rows = rate(lambda rater, item, system: 4 + (system == "A") * (step - 2 * step * (item % 2)),
                raters=2, systems="AB")  # fmt: skip
    rows = [row | {"cluster": f"c{int(row['item'][1:]) // 2}"} for row in rows]

    (criterion,) = report(rows, "likert")["criteria"]

    spread = criterion["pairs"][0]["finding"]["facts"]["spread"]
    assert (spread["is_difference"], spread["is_of_means"]) == (False, is_of_means)


def test_equal_means_of_several_unknown_raters_are_told_as_means(report: Report) -> None:
    # on every input one of two rates A higher by 1, the other B
    rows = rate(lambda rater, item, system: 4 + ((system == "A") == (rater == 0)), raters=2,
                systems="AB")  # fmt: skip
    rows = [row | {"person": "no"} for row in rows]

    (criterion,) = report(rows, "likert")["criteria"]

    spread = criterion["pairs"][0]["finding"]["facts"]["spread"]
    assert (spread["is_of_means"], spread["units_of"]) == (True, "inputs")


@pytest.mark.slow
def test_order_within_pages_is_told_with_rank_ranges(report: Report) -> None:
    shares = {"A": 30, "B": 28, "C": 0}
    rows = rate(lambda rater, item, system: 50 + (7 * rater + 5 * item + shares[system]) % 37)

    (criterion,) = report(rows, "magnitude")["criteria"]

    assert {one["system"] for one in criterion["order"]} == set("ABC")
    assert all(one["rank"]["low"] <= one["rank"]["high"] for one in criterion["order"])
    assert sum(one["strength"]["value"] for one in criterion["order"]) == pytest.approx(0)
