"""Further analyses, methods, people: what stands where, in which unit, and who is never named."""

from math import exp
from typing import Any

import pytest

from evalsite.analysis.figure import REML
from evalsite.results.document.blocks import Cell, Document, Sentence, Table
from evalsite.results.document.figures import CODES
from evalsite.results.report.sections import make_document
from evalsite.results.report.sections.further import make_further
from evalsite.results.report.sections.methods import make_methods, make_plan
from evalsite.results.report.sections.people import make_answers, make_people
from evalsite.results.report.source import Source
from tests.support.reports import (
    make_content,
    make_facts,
    make_figure,
    make_pair,
    make_points,
    make_source,
)


def find_table(source: Source, name: str) -> Table:
    table = Document("", list(make_further(source))).find_table(name)
    assert table is not None, name
    return table


def of(criterion: dict[str, Any], **known: Any) -> Source:
    return make_source(make_content(criteria=[criterion], **known))


# --- tables -------------------------------------------------------------------------------------


def test_a_table_has_at_most_five_columns_of_figures() -> None:
    criterion = make_points()
    names = ("median", "top_box", "bottom_box", "trimmed_mean", "mode_share", "mean_z")
    for system in criterion["systems"]:
        system["others"] = [make_figure(name, 0.5) for name in names]
    source = of(criterion)

    assert len(find_table(source, "fluency-averages").columns) == 6
    assert len(find_table(source, "fluency-averages-2").columns) == 2


@pytest.mark.parametrize(("effect", "value"), [("ratio", exp(0.4)), ("difference", 0.4)])
def test_an_own_error_has_the_unit_of_the_comparison(effect: str, value: float) -> None:
    is_log = effect == "ratio"
    own = make_figure("own_error", 0.4, low=0.1, high=0.7, details={"t": 2.0, "df": 9.0})
    pair = make_pair("a", "b", "higher", own=own)
    criterion = make_points(pair, family="magnitude" if is_log else "points")

    figure = find_table(of(criterion), "fluency-own-errors").rows[0][1]

    assert figure.value == pytest.approx(value)  # type: ignore[union-attr]
    assert figure.unit == ("ratio" if is_log else "points")  # type: ignore[union-attr]


def test_kappas_of_people_are_a_range_without_names() -> None:
    values = [[None, 0.2, 0.6], [0.2, None, 0.4], [0.6, 0.4, None]]
    criterion = make_points(kappas={"raters": ["p-one", "p-two", "p-six"], "values": values})

    rows = find_table(of(criterion), "fluency-kappas").rows

    assert [row[1].value for row in rows] == [0.2, pytest.approx(0.4), 0.6]  # type: ignore[union-attr]


def test_counts_of_a_pair_stand_beside_those_the_model_expects_in_its_order() -> None:
    pair = make_pair("a", "b", "higher", counts={"wins": 6, "ties": 1, "losses": 3})
    expected = {"wins": 3.2, "ties": 1.0, "losses": 5.8}
    fit = {"pairs": [{"system_1": "b", "system_2": "a", "expected": expected, "observed": {}}]}
    criterion = make_points(pair, family="preference", kind="preference", fit=fit)

    cells = find_table(of(criterion), "fluency-outcomes").rows[0]

    assert [cell.text for cell in cells[1:] if isinstance(cell, Cell)] == [
        "6 (6)",
        "1 (1)",
        "3 (3)",
    ]


def test_everyone_included_stands_beside_seen_from_the_same_system() -> None:
    whole = make_points(make_pair("b", "a", "lower"))
    source = make_source(
        make_content(criteria=[make_points(make_pair("a", "b", "higher"))]),
        everything=make_content(criteria=[whole]),
    )

    row = find_table(source, "fluency-everyone-pairs").rows[0]

    assert [row[1].value, row[3].value] == [0.4, 0.4]  # type: ignore[union-attr]


def test_all_comparisons_of_many_systems_are_further_analyses() -> None:
    pairs = [make_pair("a", name, "not_enough") for name in "bcdefgh"]
    criterion = make_points(*pairs, means=tuple(4 - place / 10 for place in range(8)))

    assert len(find_table(of(criterion), "fluency-all-pairs").rows) == 7


def test_figures_of_two_questions_have_their_labels() -> None:
    correlation = make_figure("criteria_spearman", 0.9, details={"criteria": ["fluency", "other"]})
    together = make_content()["together"] | {"correlations": [correlation]}
    table = find_table(of(make_points(), together=together), "correlations")

    assert table.rows[0][0] == "Spearman’s ρ of two criteria, Fluency, other"


def test_every_code_has_a_unit_or_the_question_decides_it() -> None:
    open_codes = {code for code, (unit, _) in CODES.items() if unit is None}

    assert open_codes == {
        "planned_difference", "margin", "difference", "mean", "distance", "sd", "detectable",
        "judge_bias", "judged_difference", "judge_favours", "judge_length", "people_difference",
        "from_average", "own_error", "detectable_difference", "precision", "precision_expected",
    }  # fmt: skip


# --- methods ------------------------------------------------------------------------------------


def list_methods(source: Source) -> dict[str, Sentence]:
    return {block.code: block for block in make_methods(source) if isinstance(block, Sentence)}


def test_methods_name_the_terms_of_the_model_that_was_fitted() -> None:
    pair = make_pair("a", "b", "higher")
    pair["effect"]["method"] = REML
    model = {"method": REML, "terms": ["rater", "group:system"]}
    methods = list_methods(of(make_points(pair, model=model)))

    assert "random effects of people and inputs by system," in methods["model"].text
    assert "equal_spacing" in methods
    assert methods["tests"].cites == ("kenward1997",)


def test_methods_of_other_comparisons_are_named_with_their_questions() -> None:
    pair = make_pair("a", "b", "higher")
    pair["effect"]["method"] = "bootstrap_of_items_and_raters"
    methods = list_methods(of(make_points(pair)))

    assert "model" not in methods
    assert methods["other_test"].text == (
        "On Fluency, systems are compared by a bootstrap over inputs and people."
    )


def test_nothing_is_said_of_tests_where_nothing_is_tested() -> None:
    assert not {"tests", "correction"} & set(list_methods(of(make_points())))


def test_correction_across_questions_within_them_or_of_the_primary_one() -> None:
    def find_codes(*criteria: dict[str, Any]) -> set[str]:
        return set(list_methods(make_source(make_content(criteria=list(criteria)))))

    pair = make_pair("a", "b", "higher")
    across = make_pair("a", "b", "higher")
    across["effect"]["details"] |= {"family": 6, "family_within": 3}
    assert "correction" in find_codes(make_points(pair))
    assert "correction_across" in find_codes(make_points(across), make_points(across, key="n"))
    assert "correction_primary" in find_codes(
        make_points(pair, role="primary"), make_points(pair, key="n", role="secondary")
    )


# --- people -------------------------------------------------------------------------------------


def test_no_file_names_a_person() -> None:
    share = make_figure("share_ignored", 0.5, n={"answers": 4, "hits": 2})
    together = make_content()["together"] | {
        "ignored_raters": [{"participant": "p-one", "share": share}],
    }
    document = make_document(of(make_points(), together=together))

    for figure in document.keep("main", "further").figures:
        assert "participant" not in dict(figure.group)


def test_people_have_links_flags_and_their_figures_on_the_page() -> None:
    document = Document("", list(make_people(of(make_points()))))

    table = document.find_table("raters")
    assert table is not None
    name = table.rows[0][0]
    assert isinstance(name, Cell)
    assert name.link.endswith("p-one/")
    assert all(block.place == "page" for block in document.blocks)
    flags = document.find_table("flags-of-people")
    assert flags is not None
    assert flags.rows[0][-1] == "the software"


def test_decisions_to_look_at_again_are_listed_up_to_a_hundred() -> None:
    against = {"annotation": "a-1", "participant": "p-one", "item": "item-7", "system": "alpha",
               "why": "rejected", "scores": {"fluency": 7.0}}  # fmt: skip
    together = make_content()["together"] | {"contradictions": [against] * 130}
    document = Document("", list(make_answers(of(make_points(), together=together))))

    table = document.find_table("contradictions")
    assert table is not None
    assert len(table.rows) == 100
    assert table.rows[0][3:] == ["rejected, though every score is good", "7"]


# --- plan ---------------------------------------------------------------------------------------


def test_plan_tells_rules_exclusions_and_changes_with_both_texts() -> None:
    change = {"kind": "corrected", "item": "item-001", "output": 2, "before": "A slip",
              "after": "Mended", "reason": "A tag was left in."}  # fmt: skip
    facts = make_facts(exclusions=(("Too fast", 2),), changes=(change,))
    plan = {"exclusion_rule": "Under 2 s.", "primary": "", "thresholds": {}, "limits": [],
            "moments": {"exclusion_rule": {"at": "2026-03-01T10:00:00+00:00", "answers": 0}},
            "has_imported": False}  # fmt: skip
    source = make_source(facts=facts, plan=plan)
    document = Document("", list(make_plan(source)))

    assert document.codes == ["exclusions"]
    planned = document.find_table("plan")
    assert planned is not None
    assert ["Exclusion rule", "“Under 2 s.”; worded before the first answer, on 1 March 2026"] in [
        list(row) for row in planned.rows
    ]
    changes = document.find_table("changes")
    assert changes is not None
    assert changes.rows == [["Output 2 of item-001", "A slip", "Mended", "A tag was left in."]]
