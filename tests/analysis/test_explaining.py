"""Reports say, by other figures, why agreement is low and why comparisons are not the means."""

import csv
import random
from pathlib import Path
from typing import Any

import pytest

from evalsite.analysis.report import Settings, make_reports
from evalsite.results.report.sections.words import NOTES

POINTS = [{"value": value, "label": ""} for value in range(1, 8)]
LIKERT = {"key": "fit", "label": "Fit", "kind": "likert", "answers": POINTS}
MAGNITUDE = {"key": "fit", "label": "Fit", "kind": "magnitude", "answers": []}
Rows = list[tuple[str, str, str, int]]


def report(path: Path, rows: Rows, criterion: dict[str, Any] = LIKERT) -> dict[str, Any]:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["participant", "item", "system", "value", "criterion"])
        writer.writerows([(*row, "fit") for row in rows])
    made = make_reports({"ratings": path}, Settings(instrument=[criterion], seed=3))["kept"]
    found: dict[str, Any] = made["criteria"][0]
    return found


def rate(value: Any) -> Rows:
    """Six raters of 20 inputs by two systems."""
    return [
        (f"p{rater}", f"i{item}", system, value(rater, item))
        for rater in range(6)
        for item in range(20)
        for system in "AB"
    ]


def test_comparison_by_the_model_is_the_ratio_of_the_means_of_the_model(tmp_path: Path) -> None:
    # one rated A alone, and everything three times as high: the means shown hold that
    chance = random.Random(5)
    rows = [
        (f"p{rater}", f"i{item}", system, score + item + chance.randint(-9, 9))
        for rater in range(5)
        for item in range(12)
        for system, score in (("A", 60), ("B", 40))
    ]
    rows += [("high", f"i{item}", "A", 180 + item) for item in range(12)]

    found = report(tmp_path / "ratings.csv", rows, MAGNITUDE)

    means = {
        one["system"]: figure["value"]
        for one in found["systems"]
        for figure in one["averages"]
        if figure["name"] == "model_mean"
    }
    assert found["estimator"] == "model"
    assert found["pairs"][0]["effect"]["value"] == pytest.approx(means["A"] / means["B"])
    assert found["weighing"] is None


def test_comparison_that_is_not_the_ratio_of_the_means_says_so_with_both(tmp_path: Path) -> None:
    # one rater, who rated some inputs of A alone: inputs are compared
    rows = [("p0", f"i{item}", "A", 60 + 5 * item) for item in range(12)]
    rows += [("p0", f"i{item}", "B", 40 + item) for item in range(6)]

    found = report(tmp_path / "ratings.csv", rows, MAGNITUDE)

    means = {one["system"]: one["headline"]["value"] for one in found["systems"]}
    (pair,) = found["pairs"]
    assert found["estimator"] == "means"
    assert f"a ratio of {means['A'] / means['B']:.2f}" in NOTES.write(found["weighing"])
    assert f"the comparison gives {pair['effect']['value']:.2f}" in NOTES.write(found["weighing"])


def test_comparison_of_whole_crossed_ratings_is_the_ratio_of_the_means(tmp_path: Path) -> None:
    rows = rate(lambda rater, item: 20 + 3 * rater + item)
    rows = [(*row[:3], row[3] * (2 if row[2] == "A" else 1)) for row in rows]
    rows[0] = (*rows[0][:3], 90)

    found = report(tmp_path / "ratings.csv", rows, MAGNITUDE)

    means = {one["system"]: one["headline"]["value"] for one in found["systems"]}
    assert found["pairs"][0]["effect"]["value"] == pytest.approx(means["A"] / means["B"])
    assert found["weighing"] is None
