"""Ratings that are missing more often of one system: counted by page, tested, and told."""

import random

import pandas as pd
import pytest
from scipy import stats

from evalsite.analysis.design import find_missing, find_shift, list_shown
from evalsite.analysis.ratings import make_table
from tests.analysis.test_report_warnings import rate, report, warn  # noqa: F401


def leave_out(rows, chance, *, system="A", share=0.6, below=4):
    """Drop this share of the low ratings of the system, as people do who skip what is bad."""
    return [
        row
        for row in rows
        if not (row["system"] == system and row["value"] < below and chance.random() < share)
    ]


def find(rows):
    return find_missing(
        list_shown(make_table(pd.DataFrame(rows).astype(str)), rows[0]["criterion"])
    )


def test_low_ratings_of_one_system_left_out_are_seen():
    rows = leave_out(rate("fluency", raters=6, inputs=40, systems="ABC"), random.Random(1))

    found = {entry["system"]: entry for entry in find(rows)}

    gone = 6 * 40 - sum(row["system"] == "A" for row in rows)
    assert (found["A"]["shown"], found["A"]["missing"]) == (240, gone)
    # Holm's correction of three exact sign tests: all pages without A have the others
    assert found["A"]["p"] == pytest.approx(3 * stats.binomtest(gone, gone).pvalue)
    assert found["B"]["missing"] == found["C"]["missing"] == 0


def test_pages_missing_as_a_whole_never_count():
    rows = [row for row in rate("fluency", raters=6, inputs=40) if row["item"] not in ("i3", "i4")]
    rows = [row for row in rows if (row["participant"], row["item"]) != ("p1", "i7")]

    assert [entry["missing"] for entry in find(rows)] == [0, 0]


def test_a_design_that_nobody_was_to_complete_says_nothing():
    chance = random.Random(2)
    rows = [row for row in rate("fluency", raters=12, inputs=30) if chance.random() < 0.25]

    assert find(rows) == []


@pytest.mark.parametrize(("share", "is_said"), [(0.5, True), (0.9, False)])
def test_the_report_says_where_nobody_knows_what_was_shown(report, share, is_said):  # noqa: F811
    chance = random.Random(2)
    rows = [row for row in rate("fluency", raters=6, inputs=30) if chance.random() < share]

    (criterion,) = report(rows)["criteria"]

    assert ("shown_unknown" in {note["code"] for note in criterion["notes"]}) == is_said


def test_of_a_site_what_was_shown_is_what_the_page_held():
    page = {"criterion": "fluency", "kind": "main", "status": "counted"}
    rows = [
        page
        | {
            "annotation": f"{rater} {item}", "participant": rater, "item": item, "system": system,
            "value": "" if system == "A" and number % 2 else "3",
            "not_applicable": "yes" if system == "A" and number % 2 else "",
        }
        for rater in ("p1", "p2")
        for number, item in enumerate(f"i{n}" for n in range(10))
        for system in "AB"
    ]  # fmt: skip

    found = {entry["system"]: entry for entry in find(rows)}

    assert (found["A"]["shown"], found["A"]["missing"]) == (20, 10)
    assert (found["B"]["shown"], found["B"]["missing"]) == (20, 0)


def test_outputs_shown_alone_are_compared_within_each_rater():
    # counts by hand: of each rater 10 of A, 4 missing, and 10 of B, none missing
    shown = pd.DataFrame(
        [
            {"page": f"{rater} {system} {n}", "rater": rater, "system": system,
             "is_missing": system == "A" and n < 4}
            for rater in ("p1", "p2", "p3")
            for system in "AB"
            for n in range(10)
        ]
    )  # fmt: skip

    found = find_missing(shown)

    variance = 3 * 10 * 10 * 4 * 16 / (20**2 * 19)
    expected = stats.chi2.sf((3 * (4 - 2) - 0.5) ** 2 / variance, 1)
    assert found[0]["p"] == pytest.approx(min(1, 2 * expected))


@pytest.mark.parametrize(
    ("sides", "code", "ends", "better", "shift"),
    [
        # A is ahead by .2 at least: its 20% would have to be a point lower
        ("AB", "higher", (0.2, 0.6), "higher", 1.0),
        ("BA", "lower", (-0.6, -0.2), "higher", 1.0),
        # nothing clear: A would have to fall by .4 to be clearly behind
        ("AB", "not_enough", (-0.2, 0.4), "higher", 2.0),
        # of errors, A is ahead where it has fewer
        ("AB", "lower", (-0.6, -0.2), "lower", 1.0),
        # A is behind already
        ("AB", "lower", (-0.6, -0.2), "higher", None),
    ],
)
def test_what_would_change_a_finding(sides, code, ends, better, shift):
    from evalsite.analysis.figure import Figure  # noqa: PLC0415

    effect = Figure(name="difference", method="m", value=sum(ends) / 2, low=ends[0], high=ends[1])
    pair = {
        "system_1": sides[0], "system_2": sides[1], "effect": effect, "finding": {"code": code}
    }  # fmt: skip

    found = find_shift({"system": "A", "share": 0.2}, [pair], better)

    assert found == (None if shift is None else pytest.approx(shift))


def test_the_warning_names_the_system_and_what_would_change_the_finding(report):  # noqa: F811
    rows = leave_out(rate("fluency", raters=6, inputs=40), random.Random(1))

    found = report(rows)

    (note,) = [one for one in found["warnings"] if one["code"] == "missing_by_system"]
    assert note["facts"]["system"] == "A"
    assert note["facts"]["missing"] > 0
    assert [one["code"] for one in found["criteria"][0]["notes"]].count("missing_at_random") == 1


def test_nothing_is_said_where_nothing_is_missing(report):  # noqa: F811
    found = report(rate("fluency", raters=6, inputs=40))

    codes = {one["code"] for one in [*found["warnings"], *found["criteria"][0]["notes"]]}
    assert not codes & {"missing_by_system", "missing_at_random"}
