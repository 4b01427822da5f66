"""A judge in the report: what its labels are worth, and that they change nothing of people's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.report import make_reports
from evalsite.analysis.report.judges import EPSILONS
from tests.analysis.vectors import read_data, read_vector

POINTS = {
    "key": "quality", "label": "Quality", "kind": "likert", "family": "points", "better": "higher",
    "answers": [{"value": value, "label": ""} for value in range(1, 6)], "reserved": [],
    "minimum": 1, "maximum": 5,
}  # fmt: skip
PREFERENCE = {
    "key": "better", "label": "Better", "kind": "preference", "family": "preference",
    "better": "none", "answers": [], "reserved": [], "minimum": 0, "maximum": 1,
}  # fmt: skip


def write_points(folder: Path, name: str) -> tuple[dict[str, Path], Any]:
    """The files of a study whose answers and labels are those of a vector."""
    people, expected, _tolerance = read_vector(f"v3_crossed_ppi__{name}")
    ratings = people.rename(columns={"rater": "participant"}).assign(criterion="quality")
    ratings["output"] = ratings["item"] + "#" + ratings["system"]
    ratings["group"] = ratings["item"]
    labels = read_data(f"v3_{name}_judge.csv").assign(criterion="quality", judge="judge-a")
    return write(folder, ratings, labels), expected


def write(folder: Path, ratings: pd.DataFrame, labels: pd.DataFrame) -> dict[str, Path]:
    paths = {name: folder / f"{name}.csv" for name in ("ratings", "judge_labels")}
    ratings.to_csv(paths["ratings"], index=False)
    labels.to_csv(paths["judge_labels"], index=False)
    return paths


def report(paths: dict[str, Path], *instrument: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = make_reports(paths, instrument=instrument, seed=1)["kept"]
    return kept


def drop_judges(content: dict[str, Any]) -> str:
    criteria = [{k: v for k, v in c.items() if k != "judges"} for c in content["criteria"]]
    return json.dumps(content | {"criteria": criteria}, sort_keys=True, default=str)


@pytest.mark.parametrize("name", ["ppi_pages", "ppi_three"])
def test_the_report_prints_the_corrected_differences_of_the_vectors(tmp_path, name):
    paths, expected = write_points(tmp_path, name)
    [criterion] = report(paths, POINTS)["criteria"]
    [judge] = criterion["judges"]
    corrected = judge["corrected"]

    assert judge["further"] == expected["N"]
    assert corrected["labelled"] == expected["n"]
    pairs = {f"{f['group']['system_2']}-{f['group']['system_1']}": f for f in corrected["pairs"]}
    assert pairs.keys() == expected["pairs"].keys()
    for key, pair in expected["pairs"].items():
        assert pairs[key]["value"] == pytest.approx(pair["estimate"], abs=0.004)
        assert pairs[key]["low"] == pytest.approx(pair["low"], abs=0.004)
    assert corrected["worth"]["answers"] == pytest.approx(expected["worth"]["answers"], abs=0.004)


def test_labels_change_no_figure_of_people(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    with_judge = report(paths, POINTS)
    del paths["judge_labels"]
    assert drop_judges(with_judge) == drop_judges(report(paths, POINTS))


def test_two_people_get_no_corrected_figure(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    ratings = pd.read_csv(paths["ratings"])
    ratings[ratings.participant.isin(sorted(ratings.participant.unique())[:2])].to_csv(
        paths["ratings"], index=False
    )
    [judge] = report(paths, POINTS)["criteria"][0]["judges"]
    assert judge["corrected"]["reason"] == "few_people"
    assert judge["corrected"]["pairs"] == []
    assert judge["corrected"]["worth"] is None
    assert judge["bias"] == {}
    assert judge["agreement"][1]["details"]["interval"] == "jackknife_inputs"


def test_preferences_are_corrected_as_their_vector(tmp_path):
    people, expected, _tolerance = read_vector("v3_crossed_ppi__ppi_prefs")
    names = {-1: "A", 0: "tie", 1: "B"}
    ratings = pd.DataFrame({
        "participant": people.rater, "item": people["item"], "group": people["item"],
        "criterion": "better", "preferred": people.value.map(names), "system_1": "A",
        "system_2": "B",
    })  # fmt: skip
    judge = read_data("v3_ppi_prefs_judge.csv")
    labels = pd.DataFrame({
        "item": judge["item"], "criterion": "better", "judge": "judge-a", "system_1": "A",
        "system_2": "B", "preferred": judge.value.map(names), "order": judge.order,
    })  # fmt: skip
    [part] = report(write(tmp_path, ratings, labels), PREFERENCE)["criteria"][0]["judges"]

    [pair] = part["corrected"]["pairs"]
    assert pair["value"] == pytest.approx(expected["estimate"], abs=0.003)
    assert part["orders"]["same_verdict"]["value"] == pytest.approx(expected["same_verdict"])
    # the vector's judge leans to the second side in order 1, which is the one shown second
    assert part["orders"]["first_shown"]["value"] == pytest.approx(-expected["first_shown"])
    assert [dict(f["group"])["epsilon"] for f in part["stands_in"][:-1]] == [
        f"{epsilon:g}" for epsilon in EPSILONS
    ]


def test_one_order_says_that_a_side_cannot_be_seen(tmp_path):
    people, _expected, _tolerance = read_vector("v3_crossed_ppi__ppi_prefs")
    ratings = pd.DataFrame({
        "participant": people.rater, "item": people["item"], "group": people["item"],
        "criterion": "better", "preferred": people.value.map({-1: "A", 0: "tie", 1: "B"}),
        "system_1": "A", "system_2": "B",
    })  # fmt: skip
    labels = ratings.drop_duplicates("item").assign(judge="judge-a", order=1)
    part = report(write(tmp_path, ratings, labels), PREFERENCE)["criteria"][0]["judges"][0]
    assert part["orders"] == {"is_one_order": True}


def test_versions_of_a_prompt_are_judges_and_runs_are_compared(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    labels = pd.read_csv(paths["judge_labels"])
    labels = labels.assign(value=np.clip(labels["value"].round(), 1, 5))
    again = labels.assign(run="2", value=labels["value"].where(labels.index % 4 > 0, 1))
    other = labels.assign(prompt_version="v2")
    everything = pd.concat([labels.assign(run="1"), again, other])
    everything.to_csv(paths["judge_labels"], index=False)
    first, second = report(paths, POINTS)["criteria"][0]["judges"]
    assert [first["prompt_version"], second["prompt_version"]] == ["", "v2"]
    share = float((labels["value"] == again["value"]).mean())
    assert first["runs"]["same_label"]["value"] == pytest.approx(share)
    assert second["runs"] == {}


def test_the_largest_differences_come_first_with_the_reason(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    labels = pd.read_csv(paths["judge_labels"])
    labels["reason"] = "because " + labels["item"]
    labels.to_csv(paths["judge_labels"], index=False)
    rows = report(paths, POINTS)["criteria"][0]["judges"][0]["differences"]
    assert rows
    assert [row["apart"] for row in rows] == sorted((row["apart"] for row in rows), reverse=True)
    assert all(row["reason"] == f"because {row['item']}" for row in rows)


def test_labels_of_other_systems_and_questions_are_left_out_and_counted(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    labels = pd.read_csv(paths["judge_labels"])
    before = report(paths, POINTS)["criteria"][0]["judges"]
    more = pd.concat([labels, labels.assign(system="Z"), labels.assign(criterion="tone")])
    more.to_csv(paths["judge_labels"], index=False)
    [judge] = report(paths, POINTS)["criteria"][0]["judges"]
    assert judge["unused"] == len(labels)
    assert [judge | {"unused": 0}] == before
