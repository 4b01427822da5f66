"""Reports of rankings, and of the best and the worst: strengths, places, agreement, comparisons."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalsite.analysis.plan import Hypothesis, Margin, Plan
from evalsite.analysis.report import Settings, make_reports
from tests.analysis.vectors import compare, read_vector

RANKING = {
    "key": "order", "label": "Order", "kind": "ranking", "family": "ranks", "better": "higher",
    "answers": [], "reserved": [], "minimum": 1, "maximum": 10,
}  # fmt: skip
ENDS = RANKING | {"kind": "best_worst", "minimum": -1, "maximum": 1}


def report(rows: pd.DataFrame, folder: Path, criterion: Any = RANKING, **plan: Any) -> Any:
    """Return what a report says of the only criterion of these rows."""
    path = folder / "ratings.csv"
    known = {"criterion": "order", "kind": "main", "status": "counted"}
    rows = rows.assign(
        **known, annotation=rows.participant.astype(str) + "/" + rows["item"].astype(str),
        output=rows["item"].astype(str) + "#" + rows.system,
    )  # fmt: skip
    rows.to_csv(path, index=False)
    settings = Settings(instrument=[criterion], seed=1, plan=Plan(**plan))
    (result,) = make_reports({"ratings": path}, settings)["kept"]["criteria"]
    return result


def read_strengths(result: Any) -> dict[str, float]:
    return {system["system"]: system["headline"]["value"] for system in result["systems"]}


def find_figure(figures: Any, name: str) -> Any:
    return next(figure for figure in figures if figure["name"] == name)


@pytest.fixture(scope="module")
def ranked() -> pd.DataFrame:
    """The order of magnitudes on each page, those with ties left out."""
    data, _, _ = read_vector("plackett_luce__magnitude_rankme")
    values = data.groupby(["rater", "item"]).value
    strict = data[values.transform("nunique") == values.transform("size")]
    places = strict.groupby(["rater", "item"]).value.rank(ascending=False)
    return pd.DataFrame({
        "participant": strict.rater, "item": strict["item"], "group": strict["item"],
        "system": strict.system, "value": places.astype(int),
    })  # fmt: skip


@pytest.fixture(scope="module")
def chosen() -> pd.DataFrame:
    """Two rows for each answer of the vector, each an item of the input that it is about."""
    data, _, _ = read_vector("best_worst__best_worst")
    return pd.DataFrame(
        [
            {"participant": row.rater, "item": f"{row.item}-{row.Index}", "group": row.item,
             "system": system, "value": value,
             "systems_shown": json.dumps(row.shown.split())}
            for row in data.itertuples()
            for system, value in ((row.best, 1), (row.worst, -1))
        ]
    )  # fmt: skip


def test_strengths_of_rankings_are_those_of_the_vector(ranked, tmp_path):
    _, expected, tolerance = read_vector("plackett_luce__magnitude_rankme")

    result = report(ranked, tmp_path)

    strengths = read_strengths(result)
    assert sum(strengths.values()) == pytest.approx(0, abs=1e-9)
    got = {system: value - strengths["A"] for system, value in strengths.items()}
    compare(got, {name: expected[name] for name in ("B", "C")}, tolerance)
    assert [system["system"] for system in result["systems"]] == ["C", "B", "A"]
    assert [system["n"] for system in result["systems"]] == [expected["sets_used"]] * 3


def test_mean_places_and_first_places_are_those_of_the_rows(ranked, tmp_path):
    result = report(ranked, tmp_path)

    for system in result["systems"]:
        places = ranked[ranked.system == system["system"]].value
        mean, first = system["others"]
        assert mean["value"] == pytest.approx(places.mean())
        assert first["value"] == pytest.approx((places == 1).mean())
        assert mean["low"] < mean["value"] < mean["high"]


def test_best_and_worst_have_the_strengths_and_scores_of_the_vector(chosen, tmp_path):
    _, expected, tolerance = read_vector("best_worst__best_worst")

    result = report(chosen, tmp_path, ENDS)

    compare(read_strengths(result), expected["strength"], tolerance)
    scores = {
        system["system"]: find_figure(system["others"], "best_worst_score")["value"]
        for system in result["systems"]
    }
    compare(scores, expected["score"], tolerance)
    assert {one["system"]: one["n"] for one in result["systems"]} == expected["shown"]


def test_w_of_complete_orders_is_that_of_the_vector(tmp_path):
    data, expected, tolerance = read_vector("kendall_w__agree_complete5")
    rows = pd.DataFrame({
        "participant": data.rater, "item": "i1", "group": "i1", "system": data.unit.astype(str),
        "value": data.value,
    })  # fmt: skip

    result = report(rows, tmp_path)

    compare(find_figure(result["agreement"], "kendall_w")["value"], expected["W"], tolerance)


def test_comparisons_are_differences_of_strengths_with_an_interval_and_a_corrected_p(
    ranked, tmp_path
):
    result = report(ranked, tmp_path)

    strengths = read_strengths(result)
    assert len(result["pairs"]) == 3
    for pair in result["pairs"]:
        effect = pair["effect"]
        difference = strengths[pair["system_1"]] - strengths[pair["system_2"]]
        assert effect["value"] == pytest.approx(difference)
        assert effect["value"] > 0
        details = effect["details"]
        assert (details["family"], details["correction"]) == (3, "holm")
        assert details["p"] <= details["p_corrected"] <= 3 * details["p"]
        # the interval of the pair and its p come from the same draws
        assert (effect["low"] > 0) == (details["p"] < 0.05)
        assert pair["finding"]["code"] == (
            "higher" if details["p_corrected"] < 0.05 else "not_enough"
        )


def test_with_a_baseline_only_it_is_compared_and_hypotheses_have_an_outcome(ranked, tmp_path):
    hypotheses = [
        Hypothesis(criterion="order", system="C", relation="better", other="A"),
        Hypothesis(criterion="order", system="A", relation="better", other="C"),
    ]

    result = report(ranked, tmp_path, baseline="A", hypotheses=hypotheses)

    assert [pair["system_2"] for pair in result["pairs"]] == ["A", "A"]
    assert [one["outcome"] for one in result["hypotheses"]] == ["better", "worse"]


def test_margin_of_strengths_is_not_tested(ranked, tmp_path):
    margin = Margin(criterion="order", system="C", relation="not_worse", other="A", margin=0.2)

    result = report(ranked, tmp_path, margins=[margin])

    assert [test["outcome"] for test in result["margins"]] == [None]


def test_one_persons_orders_are_described_and_not_tested(ranked, tmp_path):
    one = ranked[ranked.participant == ranked.participant.iloc[0]]
    more = pd.concat([one.assign(item=one["item"] + f"-{n}", group=one.group + f"-{n}")
                      for n in range(3)])  # fmt: skip

    result = report(more, tmp_path)

    assert all("p" not in pair["effect"]["details"] for pair in result["pairs"])
    assert all(system["rank"] is None for system in result["systems"])


def test_outputs_that_nobody_placed_are_counted_and_come_last(chosen, tmp_path):
    # of two items, three systems were shown and the third was in nobody's place
    rows = pd.DataFrame([
        {"participant": f"r{rater}", "item": f"i{item}", "group": f"i{item}", "system": system,
         "value": 1, "systems_shown": '["a", "b", "c"]'}
        for rater in range(4) for item in range(4)
        for system in ("a" if (rater + item) % 3 else "b")
    ])  # fmt: skip

    result = report(rows, tmp_path)

    assert {system["system"] for system in result["systems"]} == {"a", "b", "c"}
    places = {one["system"]: one["others"][0]["value"] for one in result["systems"]}
    # nobody placed c: it shares the last two places with whichever wasn't first
    assert places["c"] == pytest.approx(2.5)
    assert {one["headline"]["reason"] for one in result["systems"]} == {"separated"}


def test_ten_outputs_that_all_share_a_place_are_no_order_and_leave_the_others_their_strengths(
    tmp_path,
):
    names = [f"s{number}" for number in range(10)]
    rows = pd.DataFrame([
        {"participant": f"r{rater}", "item": f"i{item}", "group": f"i{item}", "system": name,
         # now and then the order is turned round, or all are equal
         "value": 1 if (rater + item) % 5 == 4 else
         (10 - place if (rater * item) % 3 == 1 else place + 1)}
        for rater in range(4) for item in range(6) for place, name in enumerate(names)
    ])  # fmt: skip

    result = report(rows, tmp_path)

    assert {one["headline"]["reason"] for one in result["systems"]} == {None}
    assert result["systems"][0]["system"] == "s0"
    assert result["systems"][0]["headline"]["n"]["pages"] == 24
