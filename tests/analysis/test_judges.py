"""A judge beside people: every vector, and what can't be had says why."""

import json

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.judges import (
    alt_test,
    audit_again,
    compare_with_people,
    correct_differences,
    describe_bias,
    plan_width,
)
from evalsite.analysis.ratings import Ratings
from tests.analysis.vectors import FOLDER, compare, find_vectors, read_data, read_vector


def read_judge(vector: str) -> pd.DataFrame:
    name = vector.partition("__")[2].removesuffix("_people")
    name = name if name.startswith(("judge_", "ppi")) else f"judge_{name}"
    return read_data(f"v3_{name}_judge.csv" if vector.startswith("v3_") else f"{name}_judge.csv")


@pytest.mark.parametrize("vector", find_vectors("v3_crossed_ppi"))
def test_corrected_differences_are_those_of_r(vector):
    people, expected, tolerance = read_vector(vector)
    compare(correct_differences(people=people, judge=read_judge(vector)), expected, tolerance)


def test_the_correction_of_two_systems_is_that_of_version_2():
    people, expected, tolerance = read_vector("ppi__ppi_people")
    judge = read_data("ppi_judge.csv")
    judge = judge.groupby(["item", "system"], as_index=False)["value"].mean()
    got = correct_differences(people=people, judge=judge)
    compare(got, {key: expected[key] for key in ("n", "N", "lambda")}, tolerance)
    [pair] = got["pairs"].values()
    keys = ("estimate", "se", "df", "p", "low", "high")
    compare(pair, {key: expected[key] for key in keys}, tolerance)
    compare(pair["people"], expected["people_only"], tolerance)
    assert pair["judge"] == pytest.approx(expected["judge_only"], abs=tolerance)


@pytest.mark.parametrize("vector", find_vectors("v3_judge_agreement"))
def test_agreement_beside_people_is_that_of_the_definition(vector):
    people, expected, tolerance = read_vector(vector)
    level = "nominal" if "yesno" in vector else "interval"
    got = compare_with_people(people=people, judge=read_judge(vector), level=level)
    compare(got, expected, tolerance)


@pytest.mark.parametrize("vector", find_vectors("v3_judge_bias"))
def test_bias_by_system_is_that_of_r(vector):
    people, expected, tolerance = read_vector(vector)
    compare(describe_bias(people=people, judge=read_judge(vector)), expected, tolerance)


@pytest.mark.parametrize(
    ("family", "function", "outcome"),
    [
        (
            "v3_judge_plan",
            lambda *, others, **design: plan_width(other_labels=others, **design),
            ("half_width", "df"),
        ),
        ("v3_reaudit", audit_again, ("z", "lapses")),
    ],
)
def test_grids_of_planner_and_audit(family, function, outcome):
    [name] = find_vectors(family)
    vector = json.loads((FOLDER / "expected" / f"{name}.json").read_text(encoding="utf-8"))
    for row in vector["expected"]:
        got = function(**{key: value for key, value in row.items() if key not in outcome})
        compare(got, {key: row[key] for key in outcome}, vector["tolerance_abs"])


@pytest.mark.parametrize(
    ("vector", "judge", "options"),
    [
        ("alt_test__judge_people5", "judge_judge5", {"score": "neg_rmse", "epsilon": 0.15}),
        (
            "alt_test__judge_people_labels",
            "judge_judge_labels",
            {"score": "accuracy", "epsilon": 0.1},
        ),
    ],
)
def test_the_alternative_annotator_test_is_that_of_its_authors(vector, judge, options):
    people, expected, tolerance = read_vector(vector)
    labels = read_data(f"{judge}.csv")
    if options["score"] == "accuracy":
        number = {name: code for code, name in enumerate({*people["value"], *labels["value"]})}
        people, labels = (rows.assign(value=rows["value"].map(number)) for rows in (people, labels))
    ratings = Ratings(unit=people["unit"], rater=people["rater"], value=people["value"])

    got = alt_test(ratings, labels.set_index("unit")["value"].to_dict(), **options)

    compare(got, expected, tolerance)


# --- what cannot be had ---------------------------------------------------------------------


def make_study(people: int, inputs: int, further: int, seed: int = 3) -> tuple[pd.DataFrame, ...]:
    """Points of people and labels of a judge on two systems; the judge labels further inputs."""
    rng = np.random.default_rng(seed)
    true = rng.normal(0, 1, (inputs + further, 2))
    rows = [
        (f"p{person}", f"i{item}", system, round(3 + true[item, place] + rng.normal()))
        for person in range(people)
        for item in range(inputs)
        for place, system in enumerate("AB")
    ]
    labels = [
        (f"i{item}", system, 3 + true[item, place] + rng.normal())
        for item in range(inputs + further)
        for place, system in enumerate("AB")
    ]
    return (
        pd.DataFrame(rows, columns=["rater", "item", "system", "value"]),
        pd.DataFrame(labels, columns=["item", "system", "value"]),
    )


@pytest.mark.parametrize(
    ("people", "inputs", "further", "reason"),
    [(2, 30, 50, "few_people"), (3, 19, 50, "few_inputs"), (3, 20, 0, "no_further")],
)
def test_a_correction_that_cannot_be_valid_is_not_made(people, inputs, further, reason):
    rated, labels = make_study(people, inputs, further)
    got = correct_differences(people=rated, judge=labels)
    assert got["reason"] == reason
    assert not got["pairs"]


def test_a_judge_with_one_value_changes_nothing():
    rated, labels = make_study(4, 25, 40)
    got = correct_differences(people=rated, judge=labels.assign(value=3.0))
    [pair] = got["pairs"].values()
    assert got["lambda"] == 0
    assert got["worth"] is None
    assert pair["estimate"] == pytest.approx(pair["people"]["difference"])
    assert pair["se"] == pytest.approx(pair["people"]["se"])


def test_rows_in_another_order_give_the_same_digits():
    rated, labels = make_study(4, 25, 40)
    turned = correct_differences(people=rated[::-1], judge=labels.sample(frac=1, random_state=1))
    assert turned == correct_differences(people=rated, judge=labels)


def test_systems_that_the_study_does_not_have_are_left_out():
    rated, labels = make_study(4, 25, 40)
    more = pd.concat([labels, labels.assign(system="C")])
    assert correct_differences(people=rated, judge=more) == correct_differences(
        people=rated, judge=labels
    )


def test_verdicts_in_either_order_of_systems_mean_the_same():
    people = read_data("v3_ppi_prefs_people.csv")
    judge = read_data("v3_ppi_prefs_judge.csv")
    turned = people.rename(columns={"first": "second", "second": "first"})
    turned["value"] *= -1
    assert correct_differences(people=turned, judge=judge) == correct_differences(
        people=people, judge=judge
    )


def test_people_who_share_no_output_with_the_judge_have_no_agreement_with_it():
    rated, labels = make_study(3, 20, 20)
    apart = labels[~labels["item"].isin(rated["item"])]
    got = compare_with_people(people=rated, judge=apart, level="interval")
    assert got["judge_with_person"]["value"] is None
