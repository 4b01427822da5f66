"""Table, sentences and scripts use one estimator, or say at once that they don't."""

import csv
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from evalsite.results.report.criterion_tables import (
    tabulate_averages,
    tabulate_pairs,
    tabulate_sizes,
    tabulate_systems,
)

from evalsite.analysis.report import make_reports
from evalsite.results.report.sentences import write_sentence

POINTS = [{"value": value, "label": ""} for value in range(1, 8)]
DECISION = [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}]
ANSWERS = {"likert": POINTS, "decision": DECISION, "magnitude": []}
# what rounding to the last printed digit may set apart
HALF = {"likert": 0.005, "magnitude": 0.05, "decision": 0.5}


@pytest.fixture(scope="module")
def find(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Return what is found in the ratings of a kind, with or without gaps: computed once."""

    @cache
    def find(kind: str, *, has_gaps: bool) -> dict[str, Any]:
        path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
        return make_report(path, rate(kind, has_gaps=has_gaps), kind)

    return find


def make_report(path: Path, rows: list[tuple[str, str, str, int]], kind: str) -> dict[str, Any]:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["participant", "item", "system", "value", "criterion"])
        writer.writerows([(*row, "fit") for row in rows])
    described = {"key": "fit", "label": "Fit", "kind": kind, "answers": ANSWERS[kind]}
    made = make_reports({"ratings": path}, instrument=[described], seed=3)["kept"]
    found: dict[str, Any] = made["criteria"][0]
    return found


def rate(kind: str, *, has_gaps: bool) -> list[tuple[str, str, str, int]]:
    """Six raters of 16 inputs by two systems; with gaps, lenient ones mostly rate one system."""
    chance = random.Random(7)
    score: dict[str, Callable[[str, int], int]] = {
        "likert": lambda system, lenience: min(
            7, max(1, (4 if system == "A" else 3) + lenience + chance.choice([-1, 0, 0, 1]))
        ),
        "magnitude": lambda system, lenience: (
            (90 if system == "A" else 60) + 40 * lenience + chance.randint(-9, 9)
        ),
        "decision": lambda system, lenience: int(
            chance.random() < (0.75 if system == "A" else 0.3) + 0.15 * lenience
        ),
    }
    return [
        (f"p{rater}", f"i{item}", system, score[kind](system, rater % 3 - 1))
        for rater in range(6)
        for item in range(16)
        for system in "AB"
        if not has_gaps or system == "B" or rater % 3 == 2 or (item + rater) % 4 == 0
    ]


def read_printed(criterion: dict[str, Any]) -> tuple[dict[str, float], float]:
    """The means of the first table and the effect of the sentence, as they are printed."""
    table = tabulate_systems(criterion)
    means = {row[0]: float(re.match(r"[\d.]+", row[3])[0]) for row in table.rows}  # type: ignore[index]
    (pair,) = criterion["pairs"]
    told = re.search(r"(?:is rated|often|is accepted) ([\d.]+)", write_sentence(pair["finding"]))
    told = told or re.search(r"(?:difference|ratio) is (\S+)", write_sentence(pair["finding"]))
    assert told is not None, write_sentence(pair["finding"])
    return means, float(told[1].replace("−", "-"))


@pytest.mark.one_case
@pytest.mark.parametrize("has_gaps", [True, False])
@pytest.mark.parametrize("kind", ["likert", "magnitude", "decision"])
def test_printed_effect_is_that_of_the_printed_means(
    find: Callable[..., dict[str, Any]], kind: str, has_gaps: bool
) -> None:
    criterion = find(kind, has_gaps=has_gaps)

    means, effect = read_printed(criterion)

    (one, two) = (criterion["pairs"][0][side] for side in ("system_1", "system_2"))
    half = HALF[kind]
    if kind == "magnitude":
        least = (means[one] - half) / (means[two] + half)
        most = (means[one] + half) / (means[two] - half)
        assert least - 0.005 <= effect <= most + 0.005
    else:
        off = 3 * half + 0.001
        assert means[one] - means[two] == pytest.approx(effect, abs=off)
    assert criterion["weighing"] is None


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["likert", "magnitude", "decision"])
def test_means_of_all_ratings_stand_beside_those_of_the_model_and_both_are_named(
    find: Callable[..., dict[str, Any]], kind: str
) -> None:
    criterion = find(kind, has_gaps=True)

    table = tabulate_systems(criterion)

    assert criterion["estimator"] == "model"
    assert "by the mixed model" in table.columns[3]
    assert table.columns[-1].endswith("of all ratings")
    assert "mixed model" in table.words
    assert "(mixed model, " in write_sentence(criterion["pairs"][0]["finding"])
    # not twice: no other table has the model's means
    others = [name for one in tabulate_averages(criterion) for name in one.columns]
    assert not [name for name in others if "mixed model" in name]
    # with every digit in its file
    names = {row[2] for row in table.list_cells()[1:]} | {row[1] for row in table.list_cells()[1:]}
    assert names & {"model_mean", "model_share"}
    assert tabulate_pairs(criterion).rows
    assert tabulate_sizes(criterion) is not None


def test_without_gaps_the_means_of_the_model_are_those_of_all_ratings(
    find: Callable[..., dict[str, Any]],
) -> None:
    criterion = find("likert", has_gaps=False)

    assert criterion["estimator"] == "model"
    for one in criterion["systems"]:
        (model,) = (figure for figure in one["averages"] if figure["name"] == "model_mean")
        assert model["value"] == pytest.approx(one["headline"]["value"])


def test_difference_that_is_not_of_the_means_shown_is_told_under_them(tmp_path: Path) -> None:
    # one rater, who rated some inputs of A twice as it were: items are compared, not ratings
    rows = [("p0", f"i{item}", "A", 2 + item % 5) for item in range(12)]
    rows += [("p0", f"i{item}", "B", 1 + item % 4) for item in range(6)]

    criterion = make_report(tmp_path / "ratings.csv", rows, "likert")

    assert criterion["weighing"]
    assert write_sentence(criterion["weighing"]) in tabulate_systems(criterion).words
