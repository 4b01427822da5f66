"""A judge in the report: what its labels are worth, and that they change nothing of people's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evalsite.analysis.plan import Plan
from evalsite.analysis.report.judges import EPSILONS
from tests.support.judges import (
    POINTS,
    PREFERENCE,
    plan_judge,
    report,
    write_points,
    write_preferences,
)


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


# --- a plan that names a judge ------------------------------------------------------------------

B_BETTER = {"system": "B", "relation": "better", "other": "A"}
ALIKE = {"system": "C", "relation": "equivalent", "other": "B", "margin": 0.32}


def decide(tmp_path: Path, name: str, plan: Plan) -> tuple[dict[str, Any], Any]:
    paths, expected = write_points(tmp_path, name)
    [criterion] = report(paths, POINTS, plan=plan)["criteria"]
    return criterion, expected


def test_a_planned_judge_decides_what_people_alone_leave_open(tmp_path):
    criterion, expected = decide(tmp_path, "ppi_three", plan_judge(B_BETTER))
    [entry] = criterion["hypotheses"]
    pair = expected["pairs"]["B-A"]

    assert (entry["outcome"], entry["alone"]["outcome"]) == ("better", "unclear")
    effect = entry["pair"]["effect"]
    assert effect["value"] == pytest.approx(pair["estimate"], abs=0.004)
    assert (effect["low"], effect["high"]) == pytest.approx((pair["low"], pair["high"]), abs=0.004)
    # one comparison is planned, so it needs no correction
    assert entry["p_corrected"] == pytest.approx(pair["p"], abs=0.002)


def test_a_margin_is_tested_on_the_corrected_interval(tmp_path):
    criterion, expected = decide(tmp_path, "ppi_three", plan_judge(ALIKE))
    [test] = criterion["margins"]
    pair = expected["pairs"]["C-B"]
    reach = stats.t.ppf(0.95, pair["df"]) * pair["se"]

    assert (test["outcome"], test["alone"]["outcome"]) == ("pass", "undecided")
    ends = pair["estimate"] - reach, pair["estimate"] + reach
    assert (test["low"], test["high"]) == pytest.approx(ends, abs=0.004)
    p = stats.t.cdf((pair["estimate"] - 0.32) / pair["se"], pair["df"])
    assert test["p"] == pytest.approx(p, abs=0.004)
    alone = pair["people"]
    assert test["alone"]["difference"] == pytest.approx(alone["difference"], abs=0.004)
    assert test["alone"]["se"] == pytest.approx(alone["se"], abs=0.004)


def test_a_difference_is_turned_to_the_system_that_the_plan_names(tmp_path):
    turned = {**ALIKE, "system": "B", "other": "C"}
    criterion, expected = decide(tmp_path, "ppi_three", plan_judge(turned))
    [test] = criterion["margins"]
    assert test["difference"] == pytest.approx(-expected["pairs"]["C-B"]["estimate"], abs=0.004)


def test_corrected_p_values_are_corrected_for_what_the_plan_names(tmp_path):
    rows = [B_BETTER, {**B_BETTER, "system": "C"}, {**B_BETTER, "system": "C", "other": "B"}]
    criterion, expected = decide(tmp_path, "ppi_three", plan_judge(*rows))
    p = [expected["pairs"][key]["p"] for key in ("B-A", "C-A", "C-B")]
    corrected = [entry["p_corrected"] for entry in criterion["hypotheses"]]
    # Holm: the smallest times 3, the next times 2
    assert corrected == pytest.approx([2 * p[0], 3 * p[1], p[2]], abs=0.004)
    assert corrected[0] >= corrected[1] - 1e-9


def test_a_plan_without_a_judge_decides_by_people_alone(tmp_path):
    criterion, _ = decide(tmp_path, "ppi_three", plan_judge(B_BETTER, ALIKE, judge=""))
    assert [entry["outcome"] for entry in criterion["hypotheses"]] == ["unclear"]
    assert [test["outcome"] for test in criterion["margins"]] == ["undecided"]
    assert not any("alone" in test for test in [*criterion["hypotheses"], *criterion["margins"]])


def test_a_planned_judge_changes_no_result_of_people(tmp_path):
    paths, _ = write_points(tmp_path, "ppi_three")
    rows = [B_BETTER, ALIKE, {**ALIKE, "relation": "not_worse"}]
    people = report(paths, POINTS, plan=plan_judge(*rows, judge=""))["criteria"][0]
    judged = report(paths, POINTS, plan=plan_judge(*rows))["criteria"][0]
    for name in ("systems", "pairs", "joint", "model", "agreement"):
        assert judged[name] == people[name], name
    assert [test["alone"] for test in judged["margins"]] == people["margins"]
    assert [entry["alone"] for entry in judged["hypotheses"]] == people["hypotheses"]
    # the tests that decide are corrected for each other, too
    p = sorted(test["p"] for test in judged["margins"])
    corrected = sorted(test["p_corrected"] for test in judged["margins"])
    assert corrected == pytest.approx([2 * p[0], max(2 * p[0], p[1])])


def test_a_slice_of_people_fails_a_margin_that_a_judge_decides(tmp_path):
    paths, _ = write_points(tmp_path, "ppi_three")
    ratings = pd.read_csv(paths["ratings"])
    names = sorted(ratings["item"].unique())
    is_worse = ratings["item"].isin(names[:20]) & (ratings["system"] == "B")
    ratings.loc[is_worse, "value"] = 1
    ratings.to_csv(paths["ratings"], index=False)
    paths["items"] = tmp_path / "items.csv"
    pd.DataFrame({
        "item": names, "group": names, "system": "A", "output": "x",
        "extra": [f'{{"language": "{"de" if place < 20 else "en"}"}}' for place in range(36)],
    }).to_csv(paths["items"], index=False)  # fmt: skip
    row = {"system": "B", "relation": "not_worse", "other": "A", "margin": 1.9}
    [criterion] = report(paths, POINTS, plan=plan_judge(row | {"slices": "language"}))["criteria"]
    [test] = criterion["margins"]
    assert "why" not in test
    assert (test["outcome_on_all"], test["fails_in"]) == ("pass", ["de"])
    assert test["outcome"] == test["alone"]["outcome"] == "fail"


@pytest.mark.parametrize(
    ("judge", "prompt_version", "why"),
    [("judge-b", "", "no_labels"), ("judge-a", "v9", "no_labels"), ("judge-a", "", "few_people")],
)
def test_where_nothing_is_corrected_people_decide_and_the_test_says_why(
    tmp_path, judge, prompt_version, why
):
    paths, _ = write_points(tmp_path, "ppi_three")
    if why == "few_people":
        ratings = pd.read_csv(paths["ratings"])
        two = sorted(ratings.participant.unique())[:2]
        ratings[ratings.participant.isin(two)].to_csv(paths["ratings"], index=False)
    rows = [row | {"prompt_version": prompt_version} for row in (B_BETTER, ALIKE)]
    plain = report(paths, POINTS, plan=plan_judge(B_BETTER, ALIKE, judge=""))["criteria"][0]
    [criterion] = report(paths, POINTS, plan=plan_judge(*rows, judge=judge))["criteria"]
    for test, alone in (
        (criterion["margins"][0], plain["margins"][0]),
        (criterion["hypotheses"][0], plain["hypotheses"][0]),
    ):
        assert test["why"] == why
        assert test | alone == test
        assert "alone" not in test


@pytest.mark.parametrize("left", ["people", "inputs", "further"])
def test_the_reason_is_that_of_the_correction(tmp_path, left):
    paths, _ = write_points(tmp_path, "ppi_three")
    ratings, labels = pd.read_csv(paths["ratings"]), pd.read_csv(paths["judge_labels"])
    rated = sorted(ratings["item"].unique())
    if left == "people":
        ratings = ratings[ratings.participant.isin(sorted(ratings.participant.unique())[:2])]
    elif left == "inputs":
        ratings = ratings[ratings["item"].isin(rated[:19])]
        labels = labels[labels["item"].isin(rated[:19]) | ~labels["item"].isin(rated)]
    else:
        labels = labels[labels["item"].isin(rated)]
    ratings.to_csv(paths["ratings"], index=False)
    labels.to_csv(paths["judge_labels"], index=False)
    [criterion] = report(paths, POINTS, plan=plan_judge(ALIKE))["criteria"]
    whys = {"people": "few_people", "inputs": "few_inputs", "further": "no_further"}
    assert criterion["margins"][0]["why"] == whys[left]


def test_preferences_are_decided_by_the_corrected_net_share(tmp_path):
    paths, expected = write_preferences(tmp_path)
    plan = plan_judge(
        {**B_BETTER, "criterion": "better"},
        {"criterion": "better", "system": "B", "relation": "not_worse", "other": "A",
         "margin": 0.05},
    )  # fmt: skip
    [criterion] = report(paths, {**PREFERENCE, "better": "higher"}, plan=plan)["criteria"]
    [entry], [test] = criterion["hypotheses"], criterion["margins"]
    assert entry["outcome"] == "better"
    assert entry["pair"]["effect"]["value"] == pytest.approx(expected["estimate"], abs=0.003)
    assert entry["p_corrected"] == pytest.approx(expected["p"], abs=0.003)
    assert test["se"] == pytest.approx(expected["se"], abs=0.003)


def test_without_a_primary_question_corrected_p_values_are_corrected_across_all(tmp_path):
    paths, expected = write_points(tmp_path, "ppi_three")
    for name, path in paths.items():
        rows = pd.read_csv(path)
        # the other question has no labels, so that people decide it
        more = [rows.assign(criterion="fluency")] if name == "ratings" else []
        pd.concat([rows, *more]).to_csv(path, index=False)
    fluency = {**POINTS, "key": "fluency", "label": "Fluency"}
    plan = plan_judge(B_BETTER, {**B_BETTER, "criterion": "fluency"})
    first, second = report(paths, POINTS, fluency, plan=plan)["criteria"]
    [judged], [other] = first["hypotheses"], second["hypotheses"]
    pair = expected["pairs"]["B-A"]
    people = 2 * stats.t.sf(pair["people"]["difference"] / pair["people"]["se"],
                            pair["people"]["df"])  # fmt: skip
    assert judged["p_corrected"] == pytest.approx(2 * pair["p"], abs=0.004)
    assert other["p_corrected"] == pytest.approx(people, abs=0.004)
    assert other["why"] == "no_labels"
    # among people alone both are corrected for two, as without a judge
    assert other["alone"]["p_corrected"] == pytest.approx(2 * people, abs=0.004)
