"""Outputs one by one: their averages, and what the mixed model predicts of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.families.numbers import aggregate_outputs
from evalsite.analysis.mixed import fit_mixed, mean_figures, predict_outputs
from evalsite.analysis.ratings import Ratings, make_table, read_scores
from evalsite.analysis.report import Settings, make_reports

DATA = Path(__file__).parent / "data"
POINTS = [{"value": value, "label": ""} for value in range(1, 8)]
# R 4.2, lme4 1.1-31, pbkrtest 0.5.2, emmeans 1.8.4-1:
#   m <- lmer(value ~ 0 + system + (1|rater) + (1|item) + (1|item:system) + (1|rater:system)
#             + (1|rater:item), d)
# the rows of emmeans(m, "system", lmer.df = "kenward-roger"), and for each output, r <- ranef(m):
#   fixef(m)[system] + r$item[item, 1] + r$`item:system`[item:system, 1]
OF_LME4 = {
    "mixed_gaps": {
        "means": {"0": (3.913818561, 0.2444508711, 27.52847306),
                  "3": (3.677217872, 0.2427147134, 26.87329013)},
        "outputs": {(0, 0): 3.709342303, (0, 1): 4.185742544, (0, 2): 4.050007626,
                    (1, 0): 4.385397491, (21, 3): 3.919695985},
    },
    "mixed_small": {
        "means": {"0": (4.132504858, 0.3715599265, 10.06898854),
                  "1": (4.280804979, 0.3757083473, 10.51549746)},
        "outputs": {(0, 0): 4.338577385, (1, 0): 2.554652831, (15, 1): 4.235042978},
    },
}  # fmt: skip


def read(frame, **options):
    ratings = Ratings(
        group=frame["item"], system=frame.system, value=frame.value, rater=frame.rater
    )
    return read_scores(ratings, **options)


@pytest.mark.parametrize("name", OF_LME4)
def test_means_and_predictions_of_the_mixed_model_are_those_of_lme4(name):
    data = pd.read_csv(DATA / f"{name}.csv")
    scores = read(data)

    mixed = fit_mixed(scores)

    means = mean_figures(scores, mixed)
    for system, (value, se, df) in OF_LME4[name]["means"].items():
        # lme4 stops a little before the optimum
        assert means[system].value == pytest.approx(value, abs=1e-5)
        assert means[system].details["se"] == pytest.approx(se, rel=1e-4)
        assert means[system].details["df"] == pytest.approx(df, rel=1e-3)
    predicted = np.empty(len(data))
    predicted[scores.row] = predict_outputs(scores, mixed)
    for (item, system), value in OF_LME4[name]["outputs"].items():
        found = predicted[(data["item"] == item) & (data.system == system)]
        assert found == pytest.approx(value, abs=1e-4)


def test_predictions_of_magnitudes_are_on_the_scale_of_raters():
    data = pd.read_csv(DATA / "mixed_gaps.csv")
    logs, magnitudes = read(data), read(data.assign(value=np.exp(data.value)), is_log=True)

    of_logs, of_magnitudes = (predict_outputs(one, fit_mixed(one)) for one in (logs, magnitudes))

    assert np.log(of_magnitudes) == pytest.approx(of_logs)


@pytest.mark.parametrize(
    ("rater", "group", "value", "reason"),
    [
        (None, range(4), (1, 2, 3, 4), "raters_unknown"),
        ("aaaa", range(4), (1, 2, 3, 4), "too_few"),
        ("abab", (0, 0, 1, 1), (3, 3, 3, 3), "no_variation"),
        (range(2000), range(2000), [n % 7 for n in range(2000)], None),
    ],
)
def test_no_model_has_a_reason(rater, group, value, reason):
    scores = read_scores(
        Ratings(
            group=list(group),
            system=["A"] * len(value),
            value=value,
            rater=None if rater is None else list(rater),
        )
    )

    mixed = fit_mixed(scores)

    assert mixed.reason == reason
    assert mean_figures(scores, mixed)["A"].reason == reason
    assert predict_outputs(scores, mixed) is None  # one rating an output: nothing to predict


def rate(values, system="A", item="i"):
    return [
        {"participant": f"p{n}", "item": item, "system": system, "value": str(value)}
        for n, value in enumerate(values)
    ]


def test_an_output_has_its_mean_median_trimmed_mean_and_mode():
    table = make_table(pd.DataFrame(rate([1, 2, 2, 2, 3, 3, 4, 5, 7, 7])))

    (row,) = aggregate_outputs(table, reason="too_few").to_dict("records")

    assert (row["n"], row["mean"], row["median"]) == (10, 3.6, 3)
    assert row["trimmed_mean"] == pytest.approx(3.5)  # without the 1 and one 7
    assert (row["mode"], row["mode_share"]) == (2, 0.3)
    assert row["blup_reason"] == "too_few"


def test_rater_centred_means_take_out_who_rated_and_mark_who_has_too_few():
    strict = [("i1", 1), ("i2", 2), ("i3", 3), ("i4", 2), ("i5", 2)]
    rows = [("strict", *one) for one in strict] + [("mild", item, v + 3) for item, v in strict[:2]]
    table = make_table(pd.DataFrame(rows, columns=["participant", "item", "value"]).astype(str))

    found = aggregate_outputs(table).set_index("item")

    # strict: mean 2; mild: mean 4.5; grand mean 19 / 7
    assert found.rater_centred["i3"] == pytest.approx(1 + 19 / 7)
    assert found.rater_z["i3"] == pytest.approx(1 / np.sqrt(0.5))
    assert found.centred_only.to_dict() == {"i1": 1, "i2": 1, "i3": 0, "i4": 0, "i5": 0}


def test_unknown_raters_leave_cells_empty():
    table = replace(make_table(pd.DataFrame(rate([1, 2, 3]))), raters_known=False)

    (row,) = aggregate_outputs(table, reason="raters_unknown").to_dict("records")

    assert np.isnan(row["rater_z"])
    assert np.isnan(row["rater_centred"])
    assert row["mean"] == 2


def test_the_report_hands_out_the_outputs_that_count(tmp_path):
    path = tmp_path / "ratings.csv"
    rows = [
        f"p{rater},i{item},{system},quality,{1 + (item * rater + len(system)) % 7},"
        f"{'yes' if rater == 5 else 'no'}"
        for rater in range(6)
        for item in range(6)
        for system in ("A", "BB")
    ]
    path.write_text("\n".join(["participant,item,system,criterion,value,excluded", *rows]) + "\n")
    quality = {"key": "quality", "label": "Quality", "kind": "likert", "answers": POINTS}
    kept = []

    reports = make_reports(
        {"ratings": path}, Settings(instrument=[quality], seed=1), keep_outputs=kept.append
    )

    (outputs,) = kept
    assert (len(outputs), set(outputs.n)) == (12, {5})
    assert outputs.blup.notna().all()
    (criterion,) = reports["kept"]["criteria"]
    names = [figure["name"] for figure in criterion["systems"][0]["averages"]]
    assert names == ["trimmed_mean", "mode_share", "mean_centred", "mean_z", "model_mean"]
