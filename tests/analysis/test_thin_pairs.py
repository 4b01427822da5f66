"""Preferences of a single rater, or on a single input, are not tested as if they held further."""

import pytest

from evalsite.results.report.sections.words import NOTES
from tests.analysis.test_degenerate_reports import Report, prefer, rate, report  # noqa: F401


def answer(pair: str, rater: str, items: range, *, lost: int = -1) -> list[dict[str, str]]:
    """The first by name is preferred, save on the item `lost`."""
    won, less = prefer(min, [pair], raters=1)[0], prefer(max, [pair], raters=1)[0]
    return [
        (less if item == lost else won)
        | {"participant": rater, "item": f"{rater}-{pair}{item}", "group": f"i{item}"}
        for item in items
    ]


def test_pairs_that_one_rater_each_answered_are_named_and_not_compared(
    report: Report,  # noqa: F811
) -> None:
    rows = [
        row
        for rater, pair in (("p1", "AB"), ("p2", "BC"), ("p3", "AC"))
        for row in answer(pair, rater, range(20), lost=3)
    ]

    made = report(rows, "preference")

    (criterion,) = made["criteria"]
    for pair in criterion["pairs"]:
        assert pair["effect"]["value"] is None
        assert pair["effect"]["details"].get("p_corrected") is None
        assert not any("p" in one["details"] for one in pair["checks"])
        assert (pair["finding"]["code"], pair["finding"]["facts"]["why"]) == (
            "undefined", "by_one_rater",
        )  # fmt: skip
    assert {tuple(one["rank"].values()) for one in criterion["systems"] if one["rank"]} <= {(1, 3)}
    (warning,) = [one for one in made["warnings"] if one["code"] == "thin_pairs"]
    assert "All answers by a single rater: A and B, A and C, B and C." in NOTES.write(warning)


def test_a_pair_of_one_rater_leaves_the_others_their_test(report: Report) -> None:  # noqa: F811
    rows = answer("AC", "p0", range(20), lost=3)
    for rater in range(6):
        rows += answer("AB", f"p{rater}", range(20), lost=rater)

    (criterion,) = report(rows, "preference")["criteria"]

    told = {pair["system_1"] + pair["system_2"]: pair["effect"] for pair in criterion["pairs"]}
    assert told["AB"]["details"]["family"] == 1
    assert told["AB"]["details"]["p"] < 0.001
    assert told["AC"]["value"] is None


def test_preferences_on_one_input_hold_on_this_input_only(report: Report) -> None:  # noqa: F811
    # 17 of 20 raters prefer A; R 4.2.2, t.test(c(rep(1, 17), rep(-1, 3)))$p.value
    by_r = 0.0004112939
    rows = [
        row
        for rater in range(20)
        for row in answer("AB", f"p{rater}", range(1), lost=0 if rater < 3 else -1)
    ]
    rows = [row | {"item": "i0"} for row in rows]

    (criterion,) = report(rows, "preference")["criteria"]

    (pair,) = criterion["pairs"]
    assert pair["effect"]["details"]["p"] == pytest.approx(by_r, rel=1e-6)
    assert pair["finding"]["facts"]["is_on_one_input"]


def test_magnitudes_that_are_not_compared_have_no_test_within_pages(report: Report) -> None:  # noqa: F811
    rows = rate(lambda rater, item, system: 50 + 9 * (system == "C") + item + rater, systems="ABC")
    thin = [row for row in rows if row["system"] != "C" or row["participant"] == "p0"]

    (criterion,) = report(thin, "magnitude")["criteria"]

    for pair in criterion["pairs"]:
        is_thin = "C" in (pair["system_1"], pair["system_2"])
        names = [one["name"] for one in pair["checks"]]
        assert names == ["wilcoxon", "sign_flip", "sign_within"]
        assert (pair["effect"]["value"] is None) == is_thin
        assert not is_thin or not any("p" in one["details"] for one in pair["checks"])
    assert "friedman" not in {one["name"] for one in criterion["tests"]}
