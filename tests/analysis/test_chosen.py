"""Choices among options and graded preferences, against R (lme4, pbkrtest)."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evalsite.analysis.agreement import alpha
from evalsite.analysis.difference_tests import correct
from evalsite.analysis.families.preference import _describe_grades
from evalsite.analysis.mixed import fit_mixed
from evalsite.analysis.pairs import Preferences, fit_pairs
from evalsite.analysis.plan import Plan
from evalsite.analysis.ratings import Ratings, read_scores
from evalsite.analysis.report import Settings, make_reports
from tests.analysis.vectors import compare, read_vector


def describe(fit, weights):
    estimate, se, df = fit.contrast(np.array(weights, dtype=float))
    half = stats.t.ppf(0.975, df) * se
    return {"se": se, "df": df, "low": estimate - half, "high": estimate + half}, estimate


def test_share_of_each_option_is_compared_by_the_mixed_model():
    data, expected, tolerance = read_vector("choice__choice")
    differences, shares = {}, {}

    for option in expected["difference"]:
        is_taken = (data.value == option).astype(float)
        scores = read_scores(
            Ratings(rater=data.rater, group=data["item"], system=data.system, value=is_taken)
        )
        figures, difference = describe(fit_mixed(scores).fit, [-1, 1])
        differences[option] = figures | {"difference": difference}
        for system, share in is_taken.groupby(data.system).mean().items():
            shares.setdefault(system, {})[option] = share
    agreement = alpha(
        Ratings(
            unit=data["item"] + data.system, rater=data.rater, value=pd.factorize(data.value)[0]
        ),
        "nominal",
    )

    found = {"difference": differences, "shares": shares, "alpha_nominal": agreement.value}
    compare(found, expected, tolerance)


def test_grades_of_a_preference_have_the_mean_of_the_model_of_pairs():
    data, expected, tolerance = read_vector("graded__graded")
    # a grade is from -3, the first is much better, to 3
    one = np.zeros(len(data), dtype=int)
    rater, item = (np.unique(data[name], return_inverse=True) for name in ("rater", "item"))
    preferences = Preferences(
        systems=["A", "B"], raters=list(rater[0]), rater=rater[1], item=item[1], unit=item[1],
        left=one, right=one + 1, outcome=data.value.to_numpy(float), is_position_known=False,
    )  # fmt: skip

    figures, mean = describe(fit_pairs(preferences, [(0, 1)]).fit, [1])
    sign = np.sign(data.value)

    counts = {name: int((sign == side).sum()) for name, side in
              (("first", -1), ("tie", 0), ("second", 1))}  # fmt: skip
    ordinal = alpha(Ratings(unit=data["item"], rater=data.rater, value=data.value), "ordinal")
    found = figures | counts | {"mean": mean, "net_share": sign.mean()}
    compare(found | {"alpha_ordinal": ordinal.value}, expected, tolerance)


def test_steps_are_counted_towards_the_first_system_whichever_was_named_first():
    # whoever is preferred: -1 the first, 1 the second; by how much; what a tie says
    answers = [("a", "b", -1, 2, ""), ("a", "b", 1, 1, ""), ("b", "a", 1, 1, ""),
               ("b", "a", -1, 2, ""), ("a", "b", 0, 0, "bad"), ("a", "c", -1, 2, "")]  # fmt: skip
    columns = ["system_1", "system_2", "outcome", "value", "both"]

    grades = _describe_grades(pd.DataFrame(answers, columns=columns), "a", "b")

    assert grades is not None
    assert grades["steps"] == {"2": 1, "1": 1, "-1": 1, "-2": 1}
    assert (grades["both_good"], grades["both_bad"]) == (0, 1)


@pytest.mark.one_case
@pytest.mark.parametrize(("primary", "role"), [("tone", "primary"), ("length", "secondary")])
def test_options_of_a_choice_are_one_family_of_tests(tmp_path, primary, role):
    data, _, _ = read_vector("choice__choice")
    options = sorted(set(data.value))
    tones = data.assign(criterion="tone", value=[options.index(one) + 1 for one in data.value])
    lengths = data.assign(criterion="length", value=[len(one) % 5 + 1 for one in data.value])
    rows = pd.concat([tones, lengths]).rename(columns={"rater": "participant", "item": "group"})
    path = tmp_path / "ratings.csv"
    rows.assign(item=rows.group + rows.system).to_csv(path, index=False)
    choice = {"key": "tone", "label": "Tone", "kind": "choice", "family": "categories",
              "answers": [], "reserved": [],
              "options": [{"key": one, "label": one} for one in options]}  # fmt: skip
    points = {"key": "length", "label": "Length", "kind": "likert", "family": "points",
              "answers": [{"value": n, "label": ""} for n in range(1, 6)],
              "reserved": []}  # fmt: skip

    found = make_reports(
        {"ratings": path}, Settings(instrument=[points, choice], seed=1, plan=Plan(primary=primary))
    )["kept"]

    assert found["plan"]["primary"] == primary
    assert found["criteria"][0]["key"].startswith(primary)
    tones = [one for one in found["criteria"] if one["key"].startswith("tone__")]
    assert {one["role"] for one in tones} == {role}
    details = [pair["effect"]["details"] for one in tones for pair in one["pairs"]]
    corrected = correct([one["p"] for one in details])
    assert [one["p_corrected"] for one in details] == pytest.approx(list(corrected))
