"""A judge in the report: what its labels are worth, and that they change nothing of people's."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.report.judges import EPSILONS
from tests.support.judges import POINTS, PREFERENCE, report, write_points, write_preferences


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
    paths, expected = write_preferences(tmp_path)
    [part] = report(paths, PREFERENCE)["criteria"][0]["judges"]

    [pair] = part["corrected"]["pairs"]
    assert pair["value"] == pytest.approx(expected["estimate"], abs=0.003)
    assert part["orders"]["same_verdict"]["value"] == pytest.approx(expected["same_verdict"])
    # the vector's judge leans to the second side in order 1, which is the one shown second
    assert part["orders"]["first_shown"]["value"] == pytest.approx(-expected["first_shown"])
    assert [dict(f["group"])["epsilon"] for f in part["stands_in"][:-1]] == [
        f"{epsilon:g}" for epsilon in EPSILONS
    ]


def test_one_order_says_that_a_side_cannot_be_seen(tmp_path):
    paths, _expected = write_preferences(tmp_path)
    labels = pd.read_csv(paths["judge_labels"])
    labels[labels["order"] == 1].to_csv(paths["judge_labels"], index=False)
    [part] = report(paths, PREFERENCE)["criteria"][0]["judges"]
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
