"""The report as a whole: plain data, the same for the same ratings, and never an exception."""

import csv
import itertools
import json
import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from evalsite.analysis.plan import Plan
from evalsite.analysis.report import Settings, make_reports
from evalsite.analysis.thresholds import Thresholds
from tests.support.published import published_file

POINTS = [{"value": value, "label": ""} for value in range(1, 8)]
LIKERT = {"key": "quality", "label": "Quality", "kind": "likert", "answers": POINTS}
MAGNITUDE = {"key": "informativeness", "label": "Informativeness", "kind": "magnitude",
             "answers": []}  # fmt: skip
PREFERENCE = {"key": "quality", "label": "Quality", "kind": "preference", "answers": []}

Row = dict[str, Any]
Report = Callable[..., dict[str, Any]]


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """The report, without what is excluded, of these rows of ratings.csv."""

    def make(rows: Iterable[Row], criterion: Row = LIKERT, **known: Any) -> dict[str, Any]:
        path = tmp_path / "ratings.csv"
        rows = [{"criterion": criterion["key"], **row} for row in rows]
        names = dict.fromkeys(name for row in rows for name in row)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(names), restval="")
            writer.writeheader()
            writer.writerows(rows)
        both = known.pop("both", False)
        if "baseline" in known:
            known["plan"] = Plan(baseline=known.pop("baseline"))
        made = make_reports({"ratings": path}, Settings(instrument=[criterion], seed=3, **known))
        # what JSON cannot hold would stop the page
        assert json.loads(json.dumps(made, allow_nan=False)) == made
        return made if both else made["kept"]

    return make


def rate(chance: random.Random, raters: int = 5, items: int = 8) -> list[Row]:
    """Everyone has rated two systems on every item; A is the better one."""
    return [
        {
            "participant": f"p{rater}", "item": f"i{item}", "system": system,
            "output_id": f"i{item}#{system}",
            "value": min(7, max(1, round(better + chance.gauss(4, 1)))),
        }
        for rater in range(raters)
        for item in range(items)
        for system, better in (("A", 1), ("B", 0))
    ]  # fmt: skip


def test_systems_of_whoever_liked_one_most_are_not_told_apart(report: Report) -> None:
    scores = {"A": ((90, 91, 92), (20, 21, 22)), "B": ((10, 12, 14), (80, 82, 84))}
    rows = [
        {"participant": f"p{rater}", "item": f"i{item}", "system": system, "value": value}
        for system, by_rater in scores.items()
        for rater, values in enumerate(by_rater)
        for item, value in enumerate(values)
    ]
    answers = [{"value": value, "label": ""} for value in range(1, 101)]

    (criterion,) = report(rows, LIKERT | {"answers": answers})["criteria"]

    means = [(one["system"], one["headline"]["value"], one["n"]) for one in criterion["systems"]]
    assert means == [("A", 56, 6), ("B", 47, 6)]
    (pair,) = criterion["pairs"]
    assert pair["finding"]["code"] == "not_enough"
    # its t interval would hold every difference that the scale allows, and more
    assert pair["effect"]["low"] is pair["effect"]["high"] is None
    assert pair["effect"]["details"]["interval"] == "too_few"


def test_order_of_rows_and_names_of_ids_change_nothing(report: Report) -> None:
    rows = rate(random.Random(1))
    shuffled = [
        row | {"participant": f"z{row['participant']}", "item": f"x-{row['item']}",
               "output_id": f"x-{row['output_id']}"}
        for row in rows
    ]  # fmt: skip
    random.Random(2).shuffle(shuffled)

    one, two = report(rows), report(shuffled)

    # only the table of raters, and the squares that name them, speak of ids
    for each in (one, two):
        del each["raters"]
        for criterion in each["criteria"]:
            del criterion["kappas"]
    assert one == two


@pytest.mark.each_once
@pytest.mark.parametrize(
    "rows",
    [
        [],
        [("p1", "i1", "A", 3)],
        [("p1", "i1", "A", 3), ("p1", "i2", "A", 4)],
        [("p1", "i1", "A", 3), ("p2", "i1", "A", 3)],
        [("p1", "i1", "A", 3), ("p2", "i2", "B", 5)],
        [(f"p{n}", f"i{n % 3}", "AB"[n % 2], 4) for n in range(12)],
        [(f"p{n % 2}", f"i{n}", "A" if n % 2 else "B", n % 7 + 1) for n in range(9)],
    ],
    ids=["none", "one", "one rater", "one item", "no overlap", "all equal", "nested"],
)
@pytest.mark.parametrize("kind", ["likert", "magnitude", "decision"])
def test_poor_data_give_reasons_and_no_exception(
    report: Report, rows: list[tuple[str, str, str, int]], kind: str
) -> None:
    answers = POINTS if kind == "likert" else []
    if kind == "decision":
        rows = [(*row[:3], row[3] % 2) for row in rows]
        answers = [{"value": value, "label": ""} for value in (1, 0)]
    told = [
        dict(zip(("participant", "item", "system", "value"), row, strict=True)) for row in rows
    ] or [{"participant": "p", "item": "i", "system": "A", "value": 1, "status": "surplus"}]

    found = report(told, LIKERT | {"kind": kind, "answers": answers})

    for criterion in found["criteria"]:
        for figure in criterion["agreement"]:
            assert (figure["value"] is None) == (figure["reason"] is not None)


@pytest.mark.one_case
@pytest.mark.parametrize("outcomes", [[], ["A"], ["tie"] * 6, ["A"] * 6, ["A", "B", "tie"] * 3])
def test_preferences_of_any_kind_give_a_report(report: Report, outcomes: list[str]) -> None:
    rows = [
        {
            "participant": f"p{n % 2}", "item": f"i{n // 2}", "value": int(one != "tie"),
            "preferred": "" if one == "tie" else one, "system_1": "A", "system_2": "B",
            "outcome": {"A": "1", "B": "2"}.get(one, "tie"), "shown_first": "A",
        }
        for n, one in enumerate(outcomes)
    ] or [{"participant": "p", "item": "i", "value": 1, "status": "surplus", "preferred": "A",
           "system_1": "A", "system_2": "B", "outcome": "1", "shown_first": "A"}]  # fmt: skip

    criteria = report(rows, PREFERENCE)["criteria"]

    assert len(criteria) == bool(outcomes)
    for criterion in criteria:
        counts = [pair["counts"] for pair in criterion["pairs"]]
        assert sum(sum(one.values()) for one in counts) == len(outcomes)


def test_what_is_excluded_is_reported_beside_what_is_kept(report: Report) -> None:
    rows = [row | {"excluded": "no"} for row in rate(random.Random(4))]
    for row in rows:
        if row["participant"] == "p0":
            row["excluded"] = "yes"

    both = report(rows, both=True)

    assert both["kept"]["data"]["ratings"] == 64
    assert both["all"]["data"]["ratings"] == 80


def test_one_report_is_enough_where_nothing_is_excluded(report: Report) -> None:
    assert report(rate(random.Random(4)), both=True)["all"] is None


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.parametrize("systems", ["AB", pytest.param("ABC", marks=pytest.mark.torture)])
def test_slips_of_a_digit_do_not_move_a_system_by_more_than_its_interval(
    report: Report, systems: str
) -> None:
    chance = random.Random(6)
    pages = list(itertools.product(range(10), range(60)))
    scores = {(page, one): chance.randint(70, 90) for page in pages for one in systems}
    scattered = set(chance.sample(pages, 13))

    def magnitudes(slips: set[tuple[int, int]]) -> list[Row]:
        return [
            {
                "participant": f"p{page[0]}", "item": f"i{page[1]}", "system": one,
                "value": 111111 if one == "A" and page in slips else score,
            }
            for (page, one), score in scores.items()
        ]  # fmt: skip

    plain, slipped = (
        report(magnitudes(slips), MAGNITUDE)["criteria"][0] for slips in (set(), scattered)
    )

    before, after = (
        next(system for system in each["systems"] if system["system"] == "A")
        for each in (plain, slipped)
    )
    width = math.log(after["headline"]["high"] / after["headline"]["low"])
    assert math.log(after["headline"]["value"] / before["headline"]["value"]) < width
    # 13 of 600 scores that count five times as much as a score of its rater, not 1,389 times
    winsorised = next(one for one in after["others"] if one["name"] == "geo_mean_winsorised")
    drawn_in = before["headline"]["value"] * 5 ** (13 / 600)
    assert winsorised["value"] == pytest.approx(drawn_in, rel=0.005)
    assert slipped["slips"]["value"] == 13


@pytest.mark.slow
def test_possible_slips_are_warned_of(report: Report) -> None:
    rows: list[Row] = [
        {"participant": f"p{rater}", "item": f"i{item}", "system": system, "value": 80 + rater}
        for rater in range(6) for item in range(12) for system in "AB"
    ]  # fmt: skip
    assert "possible_slips" not in [one["code"] for one in report(rows, MAGNITUDE)["warnings"]]

    rows[0]["value"] = 800

    assert "possible_slips" in [one["code"] for one in report(rows, MAGNITUDE)["warnings"]]


def test_who_stands_behind_a_rating_is_not_made_up(report: Report) -> None:
    rows = [row | {"person": "no"} for row in rate(random.Random(7))]

    found = report(rows)

    assert found["raters"]["rows"] == []
    assert "raters_unknown" in [warning["code"] for warning in found["warnings"]]
    by_name = {figure["name"]: figure for figure in found["criteria"][0]["agreement"]}
    assert by_name["pairwise_spearman"]["reason"] == "raters_unknown"
    assert by_name["alpha_ordinal"]["value"] is not None


def rate_four(chance: random.Random) -> list[Row]:
    """Everyone has rated four systems; names do not stand in the order of their ranks."""
    better = {"C": 2.0, "A": 1.0, "D": 0.5, "B": 0.0}
    return [
        {
            "participant": f"p{rater}", "item": f"i{item}", "system": system,
            "value": min(7, max(1, round(3 + gain + chance.gauss(0, 1)))),
        }
        for rater in range(6)
        for item in range(20)
        for system, gain in better.items()
    ]  # fmt: skip


def name_pairs(criterion: Any) -> list[str]:
    return [f"{pair['system_1']}{pair['system_2']}" for pair in criterion["pairs"]]


@pytest.mark.torture
def test_findings_stand_by_rank_the_best_against_the_next_first(report: Report) -> None:
    (criterion,) = report(rate_four(random.Random(5)))["criteria"]

    assert [one["system"] for one in criterion["systems"]] == ["C", "A", "D", "B"]
    assert name_pairs(criterion) == ["CA", "CD", "CB", "AD", "AB", "DB"]


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["likert", "magnitude"])
def test_a_report_with_a_baseline_holds_its_pairs_only_and_says_so(
    report: Report, kind: str
) -> None:
    rows, answers = rate_four(random.Random(5)), POINTS if kind == "likert" else []

    found = report(rows, LIKERT | {"kind": kind, "answers": answers}, baseline="A")

    (criterion,) = found["criteria"]
    assert found["plan"]["baseline"] == criterion["baseline"] == "A"
    assert name_pairs(criterion) == ["CA", "DA", "BA"]
    even = 1 if kind == "magnitude" else 0
    # each effect is seen from the baseline, whoever is better
    assert [pair["effect"]["value"] > even for pair in criterion["pairs"]] == [True, False, False]
    first, last = criterion["pairs"][0], criterion["pairs"][-1]
    assert first["effect"]["details"]["family"] == 3
    assert (first["finding"]["code"], last["finding"]["code"]) == ("higher", "lower")
    assert all(one["rank"] and one["cluster"] is None for one in criterion["systems"])


def test_preferences_with_a_baseline_are_told_as_seen_from_it(report: Report) -> None:
    rows = [
        {
            "participant": f"p{n}", "item": f"i{item}", "system_1": one, "system_2": two,
            "preferred": one if (n + item) % 4 else two, "shown_first": one,
            "outcome": "1" if (n + item) % 4 else "2",
        }
        for n in range(6)
        for item, (one, two) in enumerate([("A", "B"), ("A", "C"), ("B", "C")] * 5)
    ]  # fmt: skip

    (criterion,) = report(rows, PREFERENCE, baseline="A")["criteria"]

    assert name_pairs(criterion) == ["BA", "CA"]
    assert all(pair["effect"]["value"] < 0 for pair in criterion["pairs"])
    assert all(pair["counts"]["wins"] < pair["counts"]["losses"] for pair in criterion["pairs"])
    assert criterion["pairs"][0]["finding"]["code"] == "lower"


@pytest.mark.torture
def test_a_baseline_without_ratings_is_told_and_every_pair_compared(report: Report) -> None:
    found = report(rate_four(random.Random(5)), baseline="E")

    (criterion,) = found["criteria"]
    assert criterion["baseline"] is None
    assert len(criterion["pairs"]) == 6
    assert "no_baseline" in [warning["code"] for warning in found["warnings"]]


@pytest.mark.torture
def test_thresholds_of_a_study_draw_the_lines_of_its_flags(report: Report) -> None:
    rows = [row | {"seconds": 3.2 if row["participant"] == "p0" else 10}
            for row in rate(random.Random(8), items=10)]  # fmt: skip

    usual, own = report(rows), report(rows, limits=Thresholds(speed_ratio=0.3, sd_ratio=1))

    flags = [
        {(flag["code"], flag["is_own"])
         for row in found["raters"]["rows"] for flag in row["flags"]}
        for found in (usual, own)
    ]  # fmt: skip
    assert ("speeder", False) in flags[0]
    assert "straight_lining" not in {code for code, _ in flags[0]}
    assert "speeder" not in {code for code, _ in flags[1]}
    assert ("straight_lining", True) in flags[1]
    assert own["plan"]["thresholds"]["speed_ratio"] == 0.3


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["likert", "magnitude"])
def test_who_rates_the_same_otherwise_the_second_time_is_flagged(report: Report, kind: str) -> None:
    rows = [row | {"kind": "main", "repeat_of": ""} for row in rate(random.Random(9), raters=6)]
    again = [
        row | {"kind": "repeat", "repeat_of": row["item"], "item": f"{row['item']}-again",
               "output_id": "", "value": row["value"] if row["participant"] != "p3" else 1 + n % 7}
        for n, row in enumerate(rows) if row["item"] in ("i1", "i2", "i3")
    ]  # fmt: skip
    answers = POINTS if kind == "likert" else []

    found = report([*rows, *again], LIKERT | {"kind": kind, "answers": answers})

    flagged = {row["participant"]: [flag["code"] for flag in row["flags"]]
               for row in found["raters"]["rows"]}  # fmt: skip
    assert [who for who, codes in flagged.items() if "inconsistent" in codes] == ["p3"]
    assert found["data"]["ratings"] == len(rows)


@pytest.mark.torture
@pytest.mark.slow
def test_published_geometric_means_of_rankme_lead_its_report() -> None:
    path = published_file("rankme/ratings_long.csv")

    report = make_reports({"ratings": path}, Settings(instrument=[MAGNITUDE], seed=1))["kept"]

    (criterion,) = report["criteria"]
    found = {one["system"]: one["headline"]["value"] for one in criterion["systems"]}
    assert found == pytest.approx(
        {"baseline": 95.0851, "sheffield_v2": 61.7924, "slug2slug": 96.8636}, abs=1e-4
    )
    codes = {
        (pair["system_1"], pair["system_2"]): pair["finding"]["code"] for pair in criterion["pairs"]
    }
    assert codes["slug2slug", "sheffield_v2"] == "higher"
    assert codes["slug2slug", "baseline"] == "not_enough"


@pytest.mark.slow
def test_counts_of_marco_stand_in_its_report() -> None:
    table = published_file("marco_pairwise/ratings_long.csv")
    outputs = published_file("marco_pairwise/batch_long.csv")
    instrument = [PREFERENCE | {"key": key, "label": key} for key in ("completion", "readability")]

    report = make_reports(
        {"ratings": table, "outputs": outputs}, Settings(instrument=instrument, seed=1)
    )["kept"]

    counts = {
        (criterion["key"], frozenset((pair["system_1"], pair["system_2"]))): pair["counts"]
        for criterion in report["criteria"]
        for pair in criterion["pairs"]
    }
    assert counts["completion", frozenset(("MarCo", "HDSA"))] == {
        "wins": 467, "ties": 1520, "losses": 239,
    }  # fmt: skip
    assert counts["readability", frozenset(("MarCo", "human"))] == {
        "wins": 483, "ties": 1433, "losses": 310,
    }  # fmt: skip


def test_magnitudes_have_a_sign_test_of_the_order_on_each_page(report: Report) -> None:
    # rater 1 has another modulus: that changes no order; one page of eight goes the other way
    rows = [
        {"participant": f"p{rater}", "item": f"i{item}", "system": system,
         "value": (1 + 9 * rater) * (10 + item) * (2 if (system == "A") != (item == 7) else 1)}
        for rater in range(2)
        for item in range(8)
        for system in "AB"
    ]  # fmt: skip

    (criterion,) = report(rows, MAGNITUDE)["criteria"]

    check = next(one for one in criterion["pairs"][0]["checks"] if one["name"] == "sign_within")
    assert sorted((check["n"]["wins"], check["n"]["losses"])) == [2, 14]


def test_scores_far_from_the_others_of_their_page_are_told_as_possible_slips(
    report: Report,
) -> None:
    rows = [
        {"participant": f"p{rater}", "item": f"i{item}", "system": system,
         "value": 700 if (rater, item, system) == (0, 0, "A") else 70 + item + rater}
        for rater in range(2)
        for item in range(4)
        for system in "ABC"
    ]  # fmt: skip

    (criterion,) = report(rows, MAGNITUDE)["criteria"]

    assert (criterion["slips"]["value"], criterion["slips"]["n"]) == (1, {"ratings": 24})
