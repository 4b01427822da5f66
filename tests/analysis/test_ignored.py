"""What raters ignore is counted by item and by rater, and what most ignore stays out of results."""

import csv
from pathlib import Path
from typing import Any

import pytest

from evalsite.analysis.report import Settings, make_reports
from evalsite.results.report.sections.words import NOTES

POINTS = [{"value": value, "label": ""} for value in range(1, 6)]
LIKERT = {"key": "fit", "label": "Fit", "kind": "likert", "answers": POINTS}
RATERS = ("p0", "p1", "p2")
# of three raters each: two ignore x, one ignores i0, p0 both times
IGNORED = {("x", "p0"), ("x", "p1"), ("i0", "p0")}
ITEMS = ("x", *(f"i{number}" for number in range(8)))


def score(item: str, system: str, rater: str) -> int:
    if item == "x":  # what is left of it would make B the better one
        return 1 if system == "A" else 5
    return 3 + (system == "A") + (int(item[1]) + int(rater[1])) % 2


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def analyse(folder: Path, *, excluded: str = "") -> dict[str, Any]:
    annotations, ratings = [], []
    for item in ITEMS:
        for rater in RATERS:
            outcome = "ignored" if (item, rater) in IGNORED else "rated"
            known = {"item": item, "participant": rater, "kind": "main", "status": "counted",
                     "excluded": "yes" if rater == excluded else "no"}  # fmt: skip
            annotations.append({**known, "outcome": outcome, "gold_agrees": ""})
            if outcome == "rated":
                ratings += [
                    {**known, "criterion": "fit", "system": system,
                     "value": score(item, system, rater)}
                    for system in "AB"
                ]  # fmt: skip
    paths = {
        "annotations": write(folder / "annotations.csv", annotations),
        "ratings": write(folder / "ratings.csv", ratings),
    }
    return make_reports(paths, Settings(instrument=[LIKERT], seed=3))


def mean_of(criterion: dict[str, Any], system: str) -> float:
    (found,) = (one for one in criterion["systems"] if one["system"] == system)
    mean: float = found["headline"]["value"]
    return mean


def mean_by_hand(system: str, items: tuple[str, ...]) -> float:
    given = [
        score(item, system, rater)
        for item in items
        for rater in RATERS
        if (item, rater) not in IGNORED
    ]
    return sum(given) / len(given)


def test_item_that_most_ignored_is_out_of_results_which_stand_with_it_too(tmp_path: Path) -> None:
    report = analyse(tmp_path)["kept"]

    (criterion,) = report["criteria"]
    for system in "AB":
        assert mean_of(criterion, system) == pytest.approx(mean_by_hand(system, ITEMS[1:]))
        undropped = mean_of(criterion["undropped"], system)
        assert undropped == pytest.approx(mean_by_hand(system, ITEMS))
    (warning,) = [one for one in report["warnings"] if one["code"] == "ignored_by_most"]
    assert NOTES.write(warning).startswith(
        "1 item with 2 ratings is left out of results: more than"
    )


def test_item_that_one_of_three_ignored_loses_that_rating_alone(tmp_path: Path) -> None:
    report = analyse(tmp_path)["kept"]

    # seven whole items of three raters, and i0 of two: two systems each
    assert report["data"]["ratings"] == 2 * (7 * 3 + 2)


@pytest.mark.torture
def test_shares_ignored_are_told_by_item_and_by_rater(tmp_path: Path) -> None:
    together = analyse(tmp_path)["kept"]["together"]

    items = {one["item"]: one for one in together["ignored_items"]}
    assert [(name, one["is_dropped"]) for name, one in items.items()] == [
        ("x", True),
        ("i0", False),
    ]
    # Wilson (1927): (p + zz/2n -+ z sqrt(pq/n + zz/4nn)) / (1 + zz/n), zz = 3.8415
    share = items["x"]["share"]
    assert (share["low"], share["high"]) == pytest.approx((0.2076596, 0.9385081), abs=1e-6)
    by_rater = {one["participant"]: one["share"]["n"] for one in together["ignored_raters"]}
    assert by_rater == {
        "p0": {"answers": 9, "hits": 2},
        "p1": {"answers": 9, "hits": 1},
        "p2": {"answers": 9, "hits": 0},
    }


def test_who_is_excluded_has_no_say_in_what_is_left_out(tmp_path: Path) -> None:
    both = analyse(tmp_path, excluded="p1")

    # without p1 one ignored x and one rated it: no majority
    dropped = {
        name: [one["item"] for one in both[name]["together"]["ignored_items"] if one["is_dropped"]]
        for name in both
    }
    assert dropped == {"kept": [], "all": ["x"]}
    assert both["kept"]["criteria"][0]["undropped"] is None
