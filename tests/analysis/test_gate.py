"""The gate of the command: what it decides, what it refuses, and what it counts."""

import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.__main__ import main
from evalsite.analysis.difference_tests import correct, find_limit
from evalsite.analysis.gate import RUNS_FILE, GateDesign, count_runs, plan_gate

COLUMNS = ["participant", "item", "group", "system", "value", "language"]


def write_ratings(path, rate, *, raters=4, inputs=12, systems="ab", language=lambda i: "en"):
    """Ratings of every system by every rater on every input, as `rate` gives them."""
    rows = [
        (f"r{r}", f"i{i}-{s}", f"i{i}", s, rate(r, i, s), language(i))
        for r in range(raters)
        for i in range(inputs)
        for s in systems
    ]
    pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
    return path


def draw(shift, *, seed=4, noise=0.6):
    """Ratings around 3, those of a system higher by its shift; the same for the same arguments."""
    rng = np.random.default_rng(seed)
    drawn = {}

    def rate(r, i, s):
        key = (r, i, s)
        if key not in drawn:
            drawn[key] = rng.normal(0, noise)
        by = shift(i, s) if callable(shift) else shift.get(s, 0.0)
        return int(np.clip(round(3 + by + drawn[key]), 1, 5))

    return rate


def run(path, capsys, *options, system="b", other="a", margin="0.2"):
    """How the gate ended, its facts, and what it printed."""
    words = ["--gate", system, "--against", other, "--margin", margin, "--scale", "1-5", "--json"]
    status = main(["report", str(path), *words, *options])
    printed = capsys.readouterr()
    return status, json.loads(printed.out)["gate"] if printed.out else None, printed.err


# --- no spread ------------------------------------------------------------------------


def shift_by_one(r, i, s):
    return (r + i) % 3 + 1 + (s == "b")


@pytest.mark.parametrize(
    ("system", "other", "margin", "status"),
    [
        ("a", "b", "0.2", 1),
        ("b", "a", "0.2", 0),
        ("a", "b", "1.0", 2),  # at the margin itself
        ("a", "b", "1.1", 0),
    ],
)
def test_a_constant_difference_is_exact(system, other, margin, status, tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", shift_by_one)

    ended, gate, _ = run(path, capsys, system=system, other=other, margin=margin)

    assert ended == status
    test = gate["test"]
    assert test["difference"] == (1.0 if system == "b" else -1.0)
    assert test["exact"] == {"code": "constant", "raters": 4, "inputs": 12}
    assert not {"p", "p_fail", "low", "low90"} & set(test)


@pytest.mark.each_once
@pytest.mark.parametrize(("raters", "inputs"), [(2, 12), (4, 9)])
@pytest.mark.parametrize("rate", [shift_by_one, lambda r, i, s: 3])
def test_few_raters_or_inputs_do_not_decide_without_an_interval(
    rate, raters, inputs, tmp_path, capsys
):
    path = write_ratings(tmp_path / "ratings.csv", rate, raters=raters, inputs=inputs)

    ended, gate, _ = run(path, capsys, system="a", other="b")

    assert ended == 2
    assert gate["test"]["reason"].endswith("_too_few")


def test_ratings_that_are_all_equal_pass(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", lambda r, i, s: 3)

    ended, gate, _ = run(path, capsys)

    assert (ended, gate["test"]["reason"], gate["test"]["difference"]) == (0, "all_equal", 0.0)


def test_a_third_system_that_varies_leaves_a_constant_difference_exact(tmp_path, capsys):
    varied = draw({})
    path = write_ratings(
        tmp_path / "ratings.csv",
        lambda r, i, s: varied(r, i, s) if s == "c" else shift_by_one(r, i, s),
        systems="abc",
    )

    ended, gate, _ = run(path, capsys, system="a", other="b")

    assert (ended, gate["test"]["reason"]) == (1, "constant")


def test_means_without_spread_decide_nothing_where_ratings_vary(tmp_path, capsys):
    # on each input one rater prefers a by a point, and another b
    path = write_ratings(tmp_path / "ratings.csv", lambda r, i, s: 3 + ((r + (s == "b")) % 2))

    ended, gate, _ = run(path, capsys)

    assert ended == 2
    assert "exact" not in gate["test"]


# --- the margin -----------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("margin", "message"),
    [
        ("9", "on a scale from 1 to 5 would pass any system. Use less than 2."),
        ("2", "on a scale from 1 to 5 is too wide. Use less than 2."),
        ("inf", "margin above 0"),
    ],
)
def test_a_margin_that_is_too_wide_is_a_fault(margin, message, tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({}))

    status, _, printed = run(path, capsys, margin=margin)

    assert status == 3
    assert message in printed


@pytest.mark.parametrize(
    ("known", "allowed", "refused"),
    [
        ({"scale": "points", "ends": (1.0, 5.0)}, 1.99, 2.0),
        ({"scale": "share"}, 0.49, 0.5),
        ({"scale": "ratio"}, 2.0, 2.01),
        ({"scale": "ratio"}, 1.01, 1.0),
        # the standard deviation of 1, 2, 3 is 1
        ({"scale": "points", "value": [1.0, 2.0, 3.0]}, 0.99, 1.0),
        ({"scale": "points", "ends": (1.0, 5.0)}, 0.1, 0.0),
        ({"scale": "points", "ends": (1.0, 5.0)}, 0.1, float("nan")),
    ],
)
def test_margins_end_below_their_limit(known, allowed, refused):
    limit = find_limit(**known)

    assert limit.allows(allowed)
    assert not limit.allows(refused)


def test_a_scale_of_unknown_width_takes_any_margin(tmp_path, capsys):
    assert find_limit(scale="points", ends=(3.0, 3.0)).allows(9.0)


# --- direction, level, status ---------------------------------------------------------


@pytest.mark.torture
def test_lower_is_better_turns_the_outcome_and_not_the_estimate(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({"b": 1.0}))

    higher = run(path, capsys)
    lower = run(path, capsys, "--better", "lower")

    assert (higher[0], lower[0]) == (0, 1)
    assert higher[1]["test"]["difference"] == -lower[1]["test"]["difference"]


def test_without_a_better_side_nothing_can_be_worse(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({}))

    status, _, printed = run(path, capsys, "--better", "none")

    assert status == 3
    assert "--better higher or --better lower" in printed


def test_p_is_that_of_the_outcome(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({"b": 1.0}))

    test = run(path, capsys, system="a", other="b")[1]["test"]

    assert test["outcome"] == "fail"
    assert test["p_fail"] == pytest.approx(1 - test["p_not_worse"])
    assert test["p_fail"] < 0.05


def test_a_stricter_level_has_a_wider_interval(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({}))

    usual, strict = (run(path, capsys, "--level", level)[1]["test"] for level in ("0.05", "0.025"))

    assert [usual["low"], usual["high"]] == pytest.approx([usual["low90"], usual["high90"]])
    assert strict["low90"] == usual["low90"]
    assert strict["low"] < usual["low"]


def test_undecided_may_count_as_another_outcome(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({}, noise=1.2), raters=3)

    assert run(path, capsys)[0] == 2
    assert run(path, capsys, "--undecided", "pass")[0] == 0
    status, gate, printed = run(path, capsys, "--undecided", "fail")

    assert (status, gate["outcome"], gate["undecided_as"]) == (1, "undecided", "fail")
    assert "--undecided fail" in printed


def test_one_rater_decides_nothing(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({"b": 1.0}), raters=1)

    ended, gate, _ = run(path, capsys)

    assert (ended, gate["test"]["reason"]) == (2, "one_rater")


def test_a_faulty_option_is_no_outcome(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({}))

    assert run(path, capsys, margin="much")[0] == 3


# --- slices ---------------------------------------------------------------------------


def find_slice(gate, name):
    return next(one for one in gate["slices"] if one["slice"] == name)


def split_in_two(i):
    return "de" if i < 24 else "en"


@pytest.mark.torture
def test_a_gate_fails_where_a_slice_is_worse(tmp_path, capsys):
    rate = draw(lambda i, s: 0 if s == "a" else (-1.2 if split_in_two(i) == "de" else 1.2))
    path = write_ratings(tmp_path / "ratings.csv", rate, inputs=60, language=split_in_two)

    assert run(path, capsys)[0] != 1
    status, gate, printed = run(path, capsys, "--slices", "language")

    assert (status, gate["outcome"]) == (1, "fail")
    assert [one["slice"] for one in gate["slices"] if one["is_worse"]] == ["de"]
    assert gate["worst"]["slice"] == "de"
    assert "Fails in slice de: " in printed
    # Holm by hand over two slices
    p = [one["p_fail"] for one in gate["slices"]]
    assert [one["p_corrected"] for one in gate["slices"]] == pytest.approx(list(correct(p)))
    assert find_slice(gate, "de")["p_corrected"] == pytest.approx(2 * min(p))


def test_slices_do_not_have_to_pass_one_by_one(tmp_path, capsys):
    path = write_ratings(
        tmp_path / "ratings.csv", draw({}), raters=8, inputs=60, language=split_in_two
    )

    status, gate, printed = run(path, capsys, "--slices", "language", margin="0.3")

    assert status == 0
    assert not any(one["is_worse"] for one in gate["slices"])
    assert f"Worst slice {gate['worst']['slice']}: " in printed


def test_a_slice_of_few_inputs_is_shown_and_not_tested(tmp_path, capsys):
    rate = draw(lambda i, s: -2 if s == "b" and i < 19 else 0)
    path = write_ratings(
        tmp_path / "ratings.csv", rate, inputs=80, language=lambda i: "de" if i < 19 else "en"
    )

    _, gate, printed = run(path, capsys, "--slices", "language", margin="1")

    few = find_slice(gate, "de")
    assert (few["inputs"], few["is_tested"], few["is_worse"]) == (19, False, False)
    assert "p_corrected" not in few
    assert gate["worst"]["slice"] == "de"
    assert "not tested, with 19 inputs" in printed


@pytest.mark.torture
def test_a_slice_without_spread_needs_no_p(tmp_path, capsys):
    varied = draw({})

    def rate(r, i, s):
        return shift_by_one(r, i, s) if i < 24 else varied(r, i, s)

    path = write_ratings(tmp_path / "ratings.csv", rate, inputs=60, language=split_in_two)

    status, gate, _ = run(path, capsys, "--slices", "language", system="a", other="b")

    exact = find_slice(gate, "de")
    assert (status, exact["is_worse"], exact["reason"]) == (1, True, "constant")
    assert "p_fail" not in exact


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("column", "message"), [("dialect", "no column dialect"), ("value", "is in two slices")]
)
def test_slices_that_do_not_divide_the_inputs_are_a_fault(column, message, tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({}))

    status, _, printed = run(path, capsys, "--slices", column)

    assert status == 3
    assert message in printed


# --- how many more --------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("raters", [6, 12])
def test_an_undecided_gate_says_how_many_more_answers_would_decide(raters, tmp_path, capsys):
    rate = draw({}, noise=1.2, seed=5)
    path = write_ratings(tmp_path / "ratings.csv", rate, raters=raters, inputs=10)
    options = ["--gate", "b", "--against", "a", "--margin", "0.3", "--scale", "1-5", "--json"]
    status = main(["report", str(path), *options])
    found = json.loads(capsys.readouterr().out)
    gate, model = found["gate"], found["criteria"][0]["model"]

    wanted = plan_gate(
        GateDesign(people=raters, inputs=10), margin=0.3,
        variances=(
            2 * model["variances"]["rater:system"], 2 * model["variances"]["group:system"],
            2 * model["residual"],
        ),
    )  # fmt: skip

    assert status == 2
    needed = wanted["inputs_needed"], wanted["people_needed"]
    assert (gate["plan"]["inputs_needed"], gate["plan"]["people_needed"]) == needed
    # each person answers two items, the outputs, of each input
    assert gate["plan"]["more_answers"] == {
        "inputs": None if needed[0] is None else (needed[0] - 10) * raters * 2,
        "people": None if needed[1] is None else (needed[1] - raters) * 10 * 2,
    }
    assert any(number is not None and number > 10 for number in needed)


def test_outputs_dealt_singly_have_no_forecast(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({}, noise=1.2), raters=6, inputs=14)
    rows = pd.read_csv(path)
    odd = rows.participant.str[1:].astype(int) % 2
    rows[(rows.system == "a") == ((rows.group.str[1:].astype(int) + odd) % 2 == 0)].to_csv(
        path, index=False
    )

    status, gate, _ = run(path, capsys)

    assert (status, gate["plan"]) == (2, None)


# --- repeated runs --------------------------------------------------------------------


def test_runs_are_counted_and_the_same_run_only_once(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({}))

    numbers = [
        run(path, capsys, margin=margin)[1]["runs"]["number"]
        for margin in ("0.2", "0.2", "0.3", "0.2")
    ]

    assert numbers == [1, 1, 2, 2]
    # with the systems exchanged it is a gate against another system
    assert run(path, capsys, system="a", other="b")[1]["runs"]["number"] == 1


def test_a_file_of_something_else_stays_as_it_is(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({}))
    (tmp_path / RUNS_FILE).write_text('{"gates": 7}')

    status, gate, printed = run(path, capsys)

    assert status in (0, 2)
    assert gate["runs"] is None
    assert printed.rstrip().endswith("One test at 5%.")
    assert (tmp_path / RUNS_FILE).read_text() == '{"gates": 7}'


def test_a_folder_that_cannot_be_written_counts_nothing(tmp_path):
    known = {"system": "b", "other": "a", "fingerprint": "1", "now": datetime.now(UTC)}

    assert count_runs(tmp_path / "missing", **known) is None


# --- preferences and decisions --------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize(("preferred", "status"), [("tie", 0), ("a", 1), ("b", 0)])
def test_preferences_that_are_all_the_same_are_exact(preferred, status, tmp_path, capsys):
    rows = [
        (f"r{r}", f"i{i}", "a", "b", preferred, "") for r in range(3) for i in range(10)
    ]  # fmt: skip
    columns = ["participant", "item", "system_1", "system_2", "preferred", "language"]
    path = tmp_path / "ratings.csv"
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)

    ended, gate, _ = run(path, capsys)

    assert ended == status
    assert gate["test"]["exact"] == {"code": "constant", "raters": 3, "inputs": 10}


def test_a_share_has_a_margin_below_a_half(tmp_path, capsys):
    varied = draw({})
    path = write_ratings(tmp_path / "ratings.csv", lambda r, i, s: int(varied(r, i, s) > 3))

    status, _, printed = run(path, capsys, "--protocol", "decision", margin="0.5")

    assert status == 3
    assert "Use less than 0.5." in printed


def test_one_input_has_no_forecast(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", draw({}), raters=4, inputs=1)

    status, gate, _ = run(path, capsys)

    assert (status, gate["plan"]) == (2, None)
