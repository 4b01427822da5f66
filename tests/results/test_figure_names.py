"""Figures are named, counted and explained in words that a reader knows."""

import pytest
from evalsite.results.report.figure_details import (
    count_figure,
    describe_computed,
    describe_n,
    entry,
    list_cells,
)
from evalsite.results.report.latex import escape
from evalsite.results.report.table import Table

from evalsite.analysis.figure import Figure
from evalsite.analysis.findings import describe_finding
from evalsite.results.replication.tables import tabulate_findings
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.wording import hold_together, let_go, name_figure
from tests.support.reports import make_figure


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Fluency: auc", "Fluency: AUC, accepted above rejected"),
        ("Fluency: quadratic kappa", "Fluency: quadratically weighted κ of both times"),
        ("auc", "AUC, accepted above rejected"),
        ("exact", "Rated the same both times"),
        ("alpha_nominal, A : auc", "Krippendorff’s α, nominal, A : auc"),
    ],
)
def test_figures_of_a_criterion_are_named_in_words(name: str, words: str) -> None:
    assert name_figure({"name": name}) == words


@pytest.mark.parametrize(
    ("n", "words"),
    [
        ({"units": 97, "ratings": 194, "units_left_out": 0}, "97 outputs, 194 ratings"),
        (
            {"items": 8, "raters": 3, "inputs and raters": 20},
            "8 inputs, 20 inputs and raters, 3 raters",
        ),
        ({"raters": 10, "rater pairs": 20}, "20 pairs of raters, 10 raters"),
        ({"units": 1, "units_left_out": 2}, "1 output, 2 outputs with one rating left out"),
        ({"rows": 113}, "113 outputs"),
        ({"hits": 5, "answers": 201}, "201 answers, 5 in this share"),
        ({"items": 24, "inputs_tied": 0, "inputs_incomplete": 0}, "24 inputs"),
        ({"items": 24, "inputs_incomplete": 3}, "24 inputs, 3 incomplete inputs"),
        ({"outputs": 9, "without_text": 0}, "9 outputs"),
        (
            {"answers": 206, "clusters": 15, "items": 37},
            "37 inputs, 15 clusters of inputs, 206 answers",
        ),
        ({}, ""),
    ],
)
def test_counts_are_of_things_and_none_left_out_is_not_told(n: dict[str, int], words: str) -> None:
    assert describe_n(make_figure("alpha", 0.5, n=n)) == words


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("item", "1 item, 4 answers, 27 items with one answer left out"),
        ("word", "1 word, 4 answers, 27 words with one answer left out"),
        ("", "1 output, 4 ratings, 27 outputs with one rating left out"),
    ],
)
def test_counts_name_the_unit_that_a_figure_says(unit: str, words: str) -> None:
    n, details = {"units_left_out": 27, "ratings": 4, "units": 1}, {"unit": unit} if unit else {}

    assert describe_n(make_figure("alpha", 0.5, n=n, details=details)) == words


def test_figures_made_in_one_way_are_told_together_with_the_range_of_what_went_in() -> None:
    details = {"interval": "bootstrap, percentile", "draws": 300}
    figures = [
        make_figure("gz", 0.5, low=0.1, high=0.9, n={"items": n}, details=details) for n in (30, 38)
    ]

    told = describe_computed([entry(figure, pair="A : B") for figure in figures])

    assert told == [
        "Hedges’ g of inputs: made up. 95% interval: bootstrap, percentile (300 draws, seed 1)."
        " From 30 to 38 inputs."
    ]


def test_what_shares_an_input_is_counted_as_inputs() -> None:
    details = {"interval": "bootstrap over inputs, systems kept, percentile"}
    figure = make_figure("pearson", 0.5, n={"systems": 4, "groups": 20}, details=details)

    assert describe_n(figure) == "20 inputs, 4 systems"


def test_ranks_are_no_counts_of_answers() -> None:
    ranks = [
        entry(count_figure("rank_best", 1)),
        entry(count_figure("rank_worst", 2)),
        entry(count_figure("wins", 3)),
    ]

    assert describe_computed(ranks) == [
        "Best rank; Worst rank: as far as the comparisons of all systems support it.",
        "Wins: counts of what was answered.",
    ]


def test_figure_without_an_interval_says_why() -> None:
    figure = make_figure("median", 4.0, details={"interval": "none: too many distinct values"})

    assert "No interval: too many distinct values" in describe_computed([entry(figure)])[0]


def test_file_of_figures_has_numbers_in_columns_and_reasons_as_codes() -> None:
    figure = make_figure(
        "ratio",
        1 / 3,
        low=0.1,
        high=0.5,
        n={"items": 9},
        details={"p": 2e-7, "df": 8, "transform": "ln"},
    )
    missing = make_figure("fleiss", None, reason="unequal_raters")

    head, *rows = list_cells(
        [entry(figure, system_1="A"), entry(missing), entry(count_figure("wins", 3))]
    )
    first, second, third = (dict(zip(head, row, strict=True)) for row in rows)

    assert (first["system_1"], first["value"], first["p"], first["n_items"]) == (
        "A",
        1 / 3,
        2e-7,
        9,
    )
    # of tests there are columns of their own
    assert (first["df"], second["df"], "t" in first) == (8, "", False)
    assert first["details"] == '{"transform": "ln"}'
    assert (second["value"], second["reason"]) == ("", "unequal_raters")
    assert (third["figure"], third["value"], third["method"]) == ("wins", 3, "count")


def test_p_value_that_rounds_to_one_is_told_as_near_to_it() -> None:
    effect = Figure(name="difference", method="t", value=0.0, low=-1.0, high=1.0,
                    details={"p_corrected": 1.0})  # fmt: skip

    assert "corrected p > .999" in write_sentence(describe_finding("A", "B", effect))


def test_p_values_of_findings_are_equal_to_a_number_or_below_one() -> None:
    first, second = (
        make_figure("ratio", 1.5, low=1.2, high=1.9, details={"p_corrected": p})
        for p in (0.0124, 0.0004)
    )
    pair = {"system_1": "A", "system_2": "B", "first": first, "second": second, "outcome": "upheld"}

    table = tabulate_findings({"key": "fit", "label": "Fit", "pairs": [pair]})

    told = [let_go(cell) for cell in table.rows[0][1:3]]
    assert told == ["1.50 (1.20 to 1.90), p = .012", "1.50 (1.20 to 1.90), p < .001"]


@pytest.mark.parametrize(
    ("told", "held"),
    [
        ("95% CI 0.10 to 0.40", "95% CI 0.10 to 0.40"),
        ("corrected p < .001).", "corrected p~<~.001)."),
        ("0.45 (n = 1,200)", "0.45 (n~=~1,200)"),
        ("r = −.12, < 1%", "r~=~−.12, <~1%"),
        ("shop = 3, p of all, 5 percent", "shop =~3, p of all, 5 percent"),
    ],
)
def test_no_line_ends_within_a_figure_and_files_have_plain_spaces(told: str, held: str) -> None:
    assert hold_together(told) == held.replace("~", "\N{NO-BREAK SPACE}")
    assert let_go(hold_together(told)) == told


def test_words_of_a_table_are_held_together_and_its_file_has_them_as_written() -> None:
    own = "5\N{NO-BREAK SPACE}kg"
    table = Table("T", ("Who", "95% CI"), [("is 3%", "p < .001"), (own, own)], words="2%.")

    cells = [*table.columns, *table.rows[0], table.words]
    assert [cell.replace("\N{NO-BREAK SPACE}", "~") for cell in cells] == [
        "Who", "95% CI", "is 3%", "p~<~.001", "2%.",
    ]  # fmt: skip
    assert table.list_cells() == [("Who", "95% CI"), ("is 3%", "p < .001"), (own, own)]


def test_what_is_held_together_is_held_in_latex_too() -> None:
    assert escape(hold_together("95% CI, p < .001")) == r"95\% CI, p~$<$~.001"
