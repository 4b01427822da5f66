"""A criterion says which values are better; that orders systems and changes no difference."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from evalsite.analysis import mixed
from evalsite.analysis.__main__ import main
from evalsite.analysis.plan import Hypothesis, Margin, Plan
from evalsite.analysis.report import Settings, make_reports

SHIFTS = {"careless": 3, "fair": 1, "careful": 0}


def draw(shifts: dict[str, int] = SHIFTS) -> list[dict[str, Any]]:
    """Errors that 5 raters count in the outputs of 14 inputs: the careful system has fewest."""
    chance = random.Random(7)
    return [
        {"participant": f"r{rater}", "item": f"i{item}", "system": system, "criterion": "errors",
         "value": 2 + shift + chance.choice([-1, 0, 0, 1])}
        for rater in range(5) for item in range(14) for system, shift in shifts.items()
    ]  # fmt: skip


def write(folder: Path, rows: list[dict[str, Any]], **columns: str) -> Path:
    path = folder / "ratings.csv"
    rows = [row | columns for row in rows]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def report(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> dict[str, Any]:
    assert main(["report", str(path), *options, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    return found


def list_places(criterion: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [
        (system["system"], system["rank"] and system["rank"]["low"], system["cluster"])
        for system in criterion["systems"]
    ]


def list_differences(criterion: dict[str, Any]) -> dict[str, tuple[float, ...]]:
    """Estimate, ends and p values of each pair, as the first by name minus the second."""
    found = {}
    for pair in criterion["pairs"]:
        effect, names = pair["effect"], [pair["system_1"], pair["system_2"]]
        ends = [effect["value"], effect["low"], effect["high"]]
        if names != sorted(names):
            ends = [-effect["value"], -effect["high"], -effect["low"]]
        p = [effect["details"][name] for name in ("p", "p_corrected", "se", "df")]
        found[" ".join(sorted(names))] = (*ends, *p)
    return found


@pytest.mark.torture
def test_where_lower_is_better_the_system_with_fewest_errors_is_first(tmp_path, capsys):
    path = write(tmp_path, draw())
    (plain,) = report(capsys, path)["criteria"]

    (criterion,) = report(capsys, path, "--better", "lower")["criteria"]

    assert criterion["better"] == "lower"
    assert list_places(criterion) == [("careful", 1, 1), ("fair", 2, 2), ("careless", 3, 3)]
    assert list_places(plain) == [("careless", 1, 1), ("fair", 2, 2), ("careful", 3, 3)]
    first = criterion["pairs"][0]
    assert (first["system_1"], first["system_2"]) == ("careful", "fair")
    assert first["effect"]["value"] < 0


@pytest.mark.one_case
@pytest.mark.parametrize("better", ["lower", "none"])
def test_a_direction_changes_no_estimate_interval_or_p(tmp_path, capsys, better):
    path = write(tmp_path, draw())
    (plain,) = report(capsys, path)["criteria"]

    (criterion,) = report(capsys, path, "--better", better)["criteria"]

    found = list_differences(criterion)
    assert found.keys() == list_differences(plain).keys()
    for pair, figures in list_differences(plain).items():
        assert found[pair] == pytest.approx(figures, rel=1e-12)
    means = {each["system"]: each["headline"]["value"] for each in plain["systems"]}
    assert {each["system"]: each["headline"]["value"] for each in criterion["systems"]} == means
    assert criterion["agreement"] == plain["agreement"]


def test_without_a_direction_systems_are_in_the_order_of_the_file_and_have_no_ranks(
    tmp_path, capsys
):
    path = write(tmp_path, draw({"fair": 1, "careless": 3, "careful": 0}))

    found = report(capsys, path, "--better", "none")

    (criterion,) = found["criteria"]
    assert list_places(criterion) == [
        ("fair", None, None), ("careless", None, None), ("careful", None, None)
    ]  # fmt: skip
    # somebody chose it, so nothing is missing
    assert "no_direction" not in [warning["code"] for warning in found["warnings"]]


def test_superiority_is_the_chance_that_the_first_is_better(tmp_path, capsys):
    path = write(tmp_path, draw())

    (criterion,) = report(capsys, path, "--better", "lower")["criteria"]

    sizes = [size for size in criterion["pairs"][0]["sizes"] if size["name"] == "superiority"]
    assert sizes[0]["value"] > 0.5
    assert sizes[0]["method"] == "first_lower"


# --- where it is said -----------------------------------------------------------------


def test_a_column_of_directions_is_the_direction(tmp_path, capsys):
    (criterion,) = report(capsys, write(tmp_path, draw(), better="Lower"))["criteria"]

    assert (criterion["better"], criterion["systems"][0]["system"]) == ("lower", "careful")


@pytest.mark.torture
def test_an_option_wins_over_the_column_and_names_criteria(tmp_path, capsys):
    rows = [*draw(), *(row | {"criterion": "flow"} for row in draw())]
    path = write(tmp_path, rows, better="lower")

    found = report(capsys, path, "--better", "flow=higher")["criteria"]

    assert {each["key"]: each["better"] for each in found} == {"errors": "lower", "flow": "higher"}


def test_a_column_called_better_with_names_is_the_preference(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    lines = [
        f"r{rater},i{item},{'A' if item % 3 else 'B'}" for rater in range(4) for item in range(9)
    ]
    path.write_text("\n".join(["participant,item,better", *lines]), encoding="utf-8")

    (criterion,) = report(capsys, path)["criteria"]

    assert (criterion["family"], criterion["better"]) == ("preference", "higher")


def test_a_direction_of_an_unknown_criterion_is_refused(tmp_path, capsys):
    assert main(["report", str(write(tmp_path, draw())), "--better", "style=lower"]) == 2
    assert "No criterion is called style. There are: errors." in capsys.readouterr().err


def test_two_directions_of_one_criterion_are_refused(tmp_path, capsys):
    rows = [row | {"better": "lower" if row["item"] == "i1" else "higher"} for row in draw()]

    assert main(["report", str(write(tmp_path, rows))]) == 2
    assert "errors has two directions" in capsys.readouterr().err


# --- plans and gates ------------------------------------------------------------------


def plan(tmp_path: Path, better: str, **planned: Any) -> dict[str, Any]:
    described = {"key": "errors", "label": "Errors", "kind": "number", "family": "points",
                 "answers": [], "reserved": [], "minimum": 0, "maximum": 20,
                 "better": better}  # fmt: skip
    paths = {"ratings": write(tmp_path, draw())}
    made = make_reports(paths, Settings(instrument=[described], seed=1, plan=Plan(**planned)))
    (criterion,) = made["kept"]["criteria"]
    found: dict[str, Any] = criterion
    return found


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("better", "outcomes"),
    [
        ("higher", ["worse", "better"]),
        ("lower", ["better", "worse"]),
        ("none", ["different", "different"]),
    ],
)
def test_a_hypothesis_is_as_expected_where_the_better_system_was_named(tmp_path, better, outcomes):
    hypotheses = [
        Hypothesis(criterion="errors", system=system, relation="better", other=other)
        for system, other in (("careful", "careless"), ("careless", "careful"))
    ]

    found = plan(tmp_path, better, hypotheses=hypotheses)["hypotheses"]

    assert [each["outcome"] for each in found] == outcomes


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("better", "outcome"), [("higher", "fail"), ("lower", "pass"), ("none", None)]
)
def test_the_system_with_fewest_errors_is_not_worse(tmp_path, better, outcome):
    margin = Margin(
        criterion="errors", system="careful", relation="not_worse", other="careless", margin=0.5
    )

    (found,) = plan(tmp_path, better, margins=[margin])["margins"]

    assert found["outcome"] == outcome
    assert found.get("reason") == (None if outcome else "no_direction")


def test_a_system_within_a_margin_needs_no_direction(tmp_path):
    margin = Margin(
        criterion="errors", system="careful", relation="equivalent", other="careless", margin=9
    )

    (found,) = plan(tmp_path, "none", margins=[margin])["margins"]

    assert found["outcome"] == "pass"


@pytest.mark.one_case
@pytest.mark.parametrize(("better", "status"), [("higher", 1), ("lower", 0), ("none", 3)])
def test_the_gate_takes_the_direction_of_the_file(tmp_path, capsys, better, status):
    path = write(tmp_path, draw(), better=better)

    asked = ["--gate", "careful", "--against", "careless", "--margin", "0.5"]

    assert main(["report", str(path), *asked]) == status


@pytest.mark.one_case
@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_plan_says_in_which_part_of_the_inputs_a_system_is_worse(tmp_path, better):
    worse = 1 if better == "lower" else -1
    chance = random.Random(3)
    rows = [
        {"participant": f"r{rater}", "item": f"i{item}", "system": system, "criterion": "errors",
         "value": 5 + worse * 2 * (system == "new" and item < 20) + chance.choice([-1, 0, 1])}
        for rater in range(5) for item in range(80) for system in ("new", "old")
    ]  # fmt: skip
    items = tmp_path / "items.csv"
    cells = [f'i{item},"{{""language"": ""{"de" if item < 20 else "en"}""}}"' for item in range(80)]
    items.write_text("\n".join(["item,extra", *cells]), encoding="utf-8")
    described = {"key": "errors", "label": "Errors", "kind": "number", "family": "points",
                 "answers": [], "reserved": [], "minimum": 0, "maximum": 20,
                 "better": better}  # fmt: skip
    margin = Margin(criterion="errors", system="new", relation="not_worse", other="old",
                    margin=0.9, slices="language")  # fmt: skip

    made = make_reports(
        {"ratings": write(tmp_path, rows), "items": items},
        Settings(instrument=[described], seed=1, plan=Plan(margins=(margin,))),
    )

    (test,) = made["kept"]["criteria"][0]["margins"]
    assert (test["outcome"], test["outcome_on_all"]) == ("fail", "pass")
    assert test["fails_in"] == ["de"]
    assert (test["worst"]["slice"], test["worst"]["inputs"], test["unsliced"]) == ("de", 20, 0)
    # facts are as the system is better
    assert test["worst"]["difference"] == pytest.approx(-2, abs=0.3)


@pytest.mark.one_case
@pytest.mark.parametrize(("inputs_behind", "outcome"), [(20, "fail"), (0, None)])
def test_slices_decide_in_report_and_gate_alike_where_all_inputs_have_no_test(
    tmp_path, capsys, monkeypatch, inputs_behind, outcome
):
    chance = random.Random(3)
    rows = [
        {"participant": f"r{rater}", "item": f"i{item}", "system": system, "criterion": "clear",
         "language": "de" if item < 20 else "en",
         "value": 5 - 2 * (system == "new" and item < inputs_behind) + chance.choice([-1, 0, 1])}
        for rater in range(5) for item in range(40) for system in ("new", "old")
    ]  # fmt: skip
    items = tmp_path / "items.csv"
    cells = [f'i{item},"{{""language"": ""{"de" if item < 20 else "en"}""}}"' for item in range(40)]
    items.write_text("\n".join(["item,extra", *cells]), encoding="utf-8")
    described = {"key": "clear", "label": "Clear", "kind": "likert", "family": "points",
                 "reserved": [], "better": "higher",
                 "answers": [{"value": value, "label": ""} for value in range(1, 8)]}  # fmt: skip
    margin = Margin(criterion="clear", system="new", relation="not_worse", other="old",
                    margin=0.9, slices="language")  # fmt: skip
    fit = mixed.fit_reml

    def fit_parts(value, *arguments, **known):
        if len(value) > 200:
            raise mixed.TooManyEffects
        return fit(value, *arguments, **known)

    monkeypatch.setattr(mixed, "fit_reml", fit_parts)
    path = write(tmp_path, rows)
    made = make_reports(
        {"ratings": path, "items": items},
        Settings(instrument=[described], seed=1, plan=Plan(margins=(margin,))),
    )
    asked = ["--gate", "new", "--against", "old", "--margin", "0.9", "--slices", "language"]
    status = main(["report", str(path), *asked, "--scale", "1-7", "--json"])
    gate = json.loads(capsys.readouterr().out)["gate"]

    (test,) = made["kept"]["criteria"][0]["margins"]
    assert gate["test"]["outcome"] is test["outcome_on_all"] is None
    assert test["outcome"] == outcome
    assert test["fails_in"] == gate["fails_in"] == (["de"] if outcome else [])
    assert [each["is_tested"] for each in test["slices"]] == [True, True]
    assert (status, gate["outcome"]) == ((1, "fail") if outcome else (2, "undecided"))


# --- several criteria -----------------------------------------------------------------


def test_criteria_of_different_directions_are_never_averaged(tmp_path, capsys):
    rows = [*draw(), *(row | {"criterion": "flow"} for row in draw())]
    path = write(tmp_path, rows)

    alike = report(capsys, path)["together"]["cronbach"]
    mixed = report(capsys, path, "--better", "errors=lower")["together"]["cronbach"]

    assert alike["value"] is not None
    assert (mixed["value"], mixed["reason"]) == (None, "mixed_directions")
