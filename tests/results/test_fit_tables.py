"""The table that sets what the model of preferences expects beside what was observed."""

from evalsite.results.report.strength_tables import tabulate_fit

from tests.support.reports import make_figure


def criterion(*, p: float | None, through_others=()):
    value, reason = (None, "too_few") if p is None else (451.07, None)
    counts = {"wins": 149.0, "ties": 2022.0, "losses": 55.0}
    return {
        "key": "readability", "label": "Readability", "pairs": [],
        "fit": {
            "pairs": [
                {"system_1": "HDSA", "system_2": "MarCo", "observed": counts,
                 "expected": {"wins": 292.07, "ties": 1735.85, "losses": 198.07}},
            ],
            "through_others": [list(pair) for pair in through_others],
        },
        "tests": [make_figure("davidson_fit", value, reason=reason, details={"p": p, "df": 1})],
    }  # fmt: skip


def test_expected_counts_stand_beside_observed_ones():
    table = tabulate_fit(criterion(p=0.0005, through_others=[("HDSA", "human")]))

    assert table.rows == [("HDSA : MarCo", "149 (292)", "2,022 (1,736)", "55 (198)")]
    assert "The model does not fit" in table.words
    assert "Never compared directly, only through others: HDSA and human." in table.words
    head, *cells = table.list_cells()
    figures = {row[head.index("figure")]: row[head.index("value")] for row in cells}
    assert figures["observed_ties"] == 2022
    assert figures["expected_ties"] == 1735.85


def test_pairs_stand_as_in_the_other_tables():
    turned = criterion(p=0.4) | {"pairs": [{"system_1": "MarCo", "system_2": "HDSA"}]}

    table = tabulate_fit(turned)

    assert table.rows == [("MarCo : HDSA", "55 (198)", "2,022 (1,736)", "149 (292)")]


def test_a_model_that_cannot_be_checked_is_not_told_as_one_that_fits():
    words = tabulate_fit(criterion(p=None)).words

    assert "a good fit doesn’t support it" in words


def test_a_model_that_fits_is_told_without_a_verdict():
    table = tabulate_fit(criterion(p=0.4))

    assert table.words == "Answers, in brackets those that Davidson’s model expects."


def test_reports_without_a_model_have_no_such_table():
    assert tabulate_fit({"fit": None}) is tabulate_fit({}) is None
