"""The main tables of a criterion: what each row holds, on pages, in files and in LaTeX."""

import json
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.test import Client
from django.urls import reverse
from evalsite.results.report.criterion_tables import (
    describe_joint_test,
    describe_pairs,
    describe_variances,
    tabulate_own_errors,
    tabulate_pairs,
    tabulate_systems,
    tabulate_tests,
    tabulate_variances,
    write_distance,
)
from evalsite.results.report.html_document import write_page
from evalsite.results.report.latex import write_table
from evalsite.results.report.latex_document import write_fragment

from evalsite.analysis.plan import Plan
from evalsite.analysis.report import make_reports
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.wording import let_go
from tests.analysis.vectors import FOLDER, read_data
from tests.support.factories import make_study
from tests.support.reports import keep_report, make_figure

Criterion = dict[str, Any]


def read_expected(name: str) -> Any:
    path = FOLDER / "expected" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["expected"]


def make_criteria(folder: Path, rows: pd.DataFrame, *, kind: str = "likert", **plan: Any) -> Any:
    rows = rows.rename(columns={"rater": "participant"})
    rows = rows if "criterion" in rows else rows.assign(criterion="quality")
    path = folder / "ratings.csv"
    rows.to_csv(path, index=False)
    answers = [{"value": value, "label": ""} for value in range(1, 8)]
    instrument = [
        {"key": key, "label": key.capitalize(), "kind": kind, "answers": answers}
        for key in rows.criterion.unique()
    ]
    made = make_reports({"ratings": path}, instrument=instrument, seed=3, plan=Plan(**plan))
    return made["kept"]["criteria"]


@pytest.fixture(scope="module")
def criterion(tmp_path_factory: pytest.TempPathFactory) -> Criterion:
    """Three systems on points from 1 to 7, of which R has analysed the same ratings."""
    folder = tmp_path_factory.mktemp("ratings")
    found: Criterion = make_criteria(folder, read_data("compare_small7.csv"))[0]
    return found


@pytest.mark.torture
def test_a_pair_has_two_figures_to_a_cell(criterion: Criterion) -> None:
    expected = read_expected("joint__compare_small7")["pairs"]["C-A"]
    effect = read_expected("v3_effect__compare_small7")["pairs"]["C-A"]

    table = tabulate_pairs(criterion)
    row = next(row for row in table.rows if let_go(row[0]) == "C − A")

    assert [let_go(cell) for cell in row[1:]] == [
        f"{expected['difference']:.2f} ({expected['low']:.2f} to {expected['high']:.2f})",
        f"t({expected['df']:.1f}) = {expected['t']:.2f}",
        "< .001",
        "< .001 (3)",
        f"{effect['d']:.2f} ({effect['low']:.2f} to {effect['high']:.2f})",
        "C higher",
    ]


def test_the_file_of_pairs_has_a_column_for_each_figure(criterion: Criterion) -> None:
    head, *rows = tabulate_pairs(criterion).list_cells()
    names = ["figure", "low", "high", "df", "t", "p", "p_corrected", "family", "d", "d_low",
             "d_high", "finding"]  # fmt: skip

    assert set(names) <= set(head)
    for pair, row in zip(criterion["pairs"], rows, strict=True):
        cells = dict(zip(head, row, strict=True))
        details = pair["effect"]["details"]
        assert cells["value"] == pair["effect"]["value"]
        assert cells["finding"] == pair["finding"]["code"]
        for name in ("df", "t", "p", "p_corrected", "family", "d", "d_low", "d_high"):
            assert cells[name] == details[name]


def test_systems_have_number_spread_median_and_distribution(criterion: Criterion) -> None:
    data = read_data("compare_small7.csv")

    table = tabulate_systems(criterion)
    cells = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}

    for name, own in data.groupby("system"):
        shares = own.value.value_counts(normalize=True).reindex(range(1, 8), fill_value=0)
        got = cells[str(name)]
        assert got["Ratings"] == str(len(own))
        assert got["Outputs"] == str(own["item"].nunique())
        assert got["SD"] == f"{own.value.std(ddof=1):.2f}"
        assert got["Median"] == f"{own.value.median():.2f}"
        assert got["% of 1 to 7"] == " / ".join(f"{100 * share:.0f}" for share in shares)
        expected = read_expected("joint__compare_small7")["from_average"][name]
        assert got["From average (95% CI)"].startswith(
            f"{expected['difference']:+.2f}".replace("-", "−")
        )


def test_variances_stand_with_their_shares_and_what_was_not_found(criterion: Criterion) -> None:
    shares = read_expected("v3_effect__compare_small7")["share"]

    table = tabulate_variances(criterion)
    assert table is not None
    rows = {row[0]: row[1:] for row in table.rows}

    assert rows["People’s strictness"][2] == f"{100 * shares['rater']:.0f}%"
    assert rows["The rest"][2] == f"{100 * shares['Residual']:.0f}%"
    assert rows["People who see inputs differently"] == ("0 (not found)", "0.00", "0%")
    sentence = describe_variances(criterion)
    assert f"{100 * shares['rater']:.0f}% is people’s strictness" in sentence
    assert "see inputs differently" not in sentence


@pytest.mark.torture
def test_the_joint_test_is_told_in_every_form(criterion: Criterion, db: None) -> None:
    expected = read_expected("v3_f_test__compare_small7")
    told = f"F(2, {expected['df2']:.1f}) = {expected['f']:.2f}"
    study = make_study(items=2)
    report = keep_report(study, criteria=[criterion])

    assert told in let_go(describe_joint_test(criterion))
    assert told in let_go(write_page(study, report))
    assert told in write_fragment(study, report).replace("~", " ")


def test_the_page_has_the_figures_of_the_file(criterion: Criterion, staff_client: Client) -> None:
    study = make_study(items=2)
    keep_report(study, criteria=[criterion])

    page = staff_client.get(reverse("admin:study-results", args=[study.pk]), {"part": "quality"})

    text = let_go(unescape(page.content.decode()))
    details = criterion["pairs"][0]["effect"]["details"]
    for figure in (f"{details['t']:.2f}", f"{details['df']:.1f}", f"{details['d']:.2f}"):
        assert f">{figure}<" in text
    assert describe_joint_test(criterion) in text
    assert let_go(describe_variances(criterion)) in text


def test_own_errors_and_the_joint_test_have_tables_of_their_own(criterion: Criterion) -> None:
    own, tests = tabulate_own_errors(criterion), tabulate_tests(criterion)

    assert own is not None
    assert tests is not None
    assert [len(own.rows), tests.rows[0][0], tests.rows[1][0]] == [
        3, "F of all systems", "Friedman’s χ²",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("effect", "cell"),
    [
        ("difference", "0.41 (0.10 to 0.69)"),
        ("risk_difference", "41 (10 to 69)"),
        ("ratio", "1.51 (1.11 to 1.99)"),  # e^0.41, e^0.10 and e^0.69
    ],
)
def test_own_errors_have_the_units_of_the_comparison(effect: str, cell: str) -> None:
    own = make_figure("own_error", 0.41, low=0.10, high=0.69)
    pair = {"system_1": "A", "system_2": "B", "effect": make_figure(effect, 0.4), "own": own}

    table = tabulate_own_errors({"key": "quality", "label": "Quality", "pairs": [pair]})

    assert table is not None
    assert table.rows[0][1] == cell


def test_pairs_without_an_own_error_are_not_said_to_keep_their_verdict(
    criterion: Criterion, staff_client: Client
) -> None:
    first, *others = criterion["pairs"]
    open_pair = first | {"own": make_figure("own_error", None, reason="too_few")}
    study = make_study(items=2)
    keep_report(study, criteria=[criterion | {"pairs": [open_pair, *others]}])

    page = staff_client.get(reverse("admin:study-results", args=[study.pk]), {"part": "quality"})

    fold = next(fold for fold, _ in page.context["folds"] if fold.key == "own")
    facts = fold.notes[0]["facts"]
    assert (facts["pairs"], facts["unknown"]) == (3, 1)
    assert "1 of 3 pairs can’t be checked" in page.content.decode()


@pytest.mark.parametrize(
    ("better", "order"), [("higher", "CBA"), ("lower", "ABC"), ("none", "BCA")]
)
def test_systems_are_in_the_order_of_the_figure_that_is_shown(
    better: str, order: str, criterion: Criterion
) -> None:
    # the means of all ratings say otherwise: B, C, A
    by_name = {system["system"]: system for system in criterion["systems"]}
    shown = {"A": 3.1, "B": 3.2, "C": 3.3}
    systems = [
        by_name[name] | {"averages": [make_figure("model_mean", shown[name])]} for name in "BCA"
    ]

    table = tabulate_systems(criterion | {"systems": systems, "better": better})

    assert [row[0] for row in table.rows] == list(order)


@pytest.mark.parametrize(("value", "text"), [(-0.004, "+0"), (0.004, "+0"), (-0.15, "−15")])
def test_a_distance_that_rounds_to_zero_has_no_minus(
    value: float, text: str, criterion: Criterion
) -> None:
    assert write_distance(criterion, make_figure("model_share", 0.4), value) == text


@pytest.mark.parametrize("has_median", [True, False])
def test_medians_are_headed_only_where_there_are_any(
    has_median: bool, criterion: Criterion, staff_client: Client
) -> None:
    systems = [
        system
        if has_median
        else system
        | {"others": [figure for figure in system["others"] if figure["name"] != "median"]}
        for system in criterion["systems"]
    ]
    study = make_study(items=2)
    keep_report(study, criteria=[criterion | {"systems": systems}])

    page = staff_client.get(reverse("admin:study-results", args=[study.pk]), {"part": "quality"})

    assert ("<small>median</small>" in page.content.decode()) == has_median


def test_secondary_criteria_say_so_and_the_primary_one_does_not(tmp_path: Path) -> None:
    data = read_data("compare_small7.csv")
    both = pd.concat([data.assign(criterion="fluency"), data.assign(criterion="style")])

    primary, secondary = make_criteria(tmp_path, both, primary="style")

    told = write_sentence({"code": "secondary_criterion", "facts": {}})
    assert (primary["key"], secondary["key"]) == ("style", "fluency")
    assert told in describe_pairs(secondary)
    assert told not in describe_pairs(primary)


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["two systems", "one rater", "all equal"])
def test_without_a_joint_test_nothing_is_said_of_one(kind: str, tmp_path: Path) -> None:
    data = read_data("compare_small7.csv")
    if kind == "two systems":
        data = data[data.system != "C"]
    elif kind == "one rater":
        data = data[data.rater == data.rater.iloc[0]]
    else:
        data = data.assign(value=4)

    (found,) = make_criteria(tmp_path, data)

    assert describe_joint_test(found) == ""
    assert bool(describe_variances(found)) == (kind == "two systems")
    assert tabulate_pairs(found).rows
    assert tabulate_systems(found).rows


@pytest.mark.parametrize(("p", "code"), [(0.04, "The systems differ"), (0.06, "No clear")])
def test_the_joint_test_claims_a_difference_below_five_percent_only(p: float, code: str) -> None:
    facts = {"systems": 4, "f": 1.1, "df1": 3, "df2": 21.4, "p": p}

    assert write_sentence({"code": "joint_test", "facts": facts}).startswith(code)


def test_a_table_too_wide_for_a_page_has_intervals_below_their_figures() -> None:
    columns = ["Pair", *("Difference of the two systems",) * 3]
    row = ["A", "0.42 (0.11 to 0.73)", "0.42 (0.11 to 0.73)", "t(38.2) = 2.74"]

    wide = write_table([*columns, *columns[1:]], [[*row, *row[1:]]], caption="", label="tab:a")
    narrow = write_table(columns[:2], [row[:2]], caption="", label="tab:a")

    assert "A & 0.42 & 0.42 & t(38.2) = 2.74 &" in wide
    assert " & (0.11 to 0.73) & (0.11 to 0.73) &  & (0.11" in wide
    assert "A & 0.42 (0.11 to 0.73)" in narrow
