"""The page of one question: its figures are the report's, its folds say their results."""

from itertools import combinations, pairwise
from typing import Any

import pytest

from evalsite.results.document.blocks import Cell, Chart, Document, Heading, Sentence, Table
from evalsite.results.document.html import render_html
from evalsite.results.report.sections import make_document
from evalsite.results.report.sections.question_page import make_question_page
from evalsite.results.report.source import Source
from tests.support.reports import make_content, make_figure, make_pair, make_points, make_source

FORTY = [f"system-{number:02}" for number in range(40)]
MOST_FOLDS = 7


def show(source: Source, key: str = "fluency") -> Document:
    page = make_question_page(source, key)
    assert page is not None
    return page


def of(*criteria: dict[str, Any], **known: Any) -> Source:
    return make_source(make_content(criteria=list(criteria)), **known)


def make_preference(*, grades: dict[str, Any] | None = None, **known: Any) -> dict[str, Any]:
    """Two prompts compared: v2 preferred in 44 of 100 answers, v1 in 28."""
    pair = make_pair("v2", "v1", "not_enough")
    pair["effect"] = pair["effect"] | {"name": "net_win_share", "value": 0.16}
    pair |= {"counts": {"wins": 44, "ties": 28, "losses": 28}, "grades": grades}
    systems = [
        {"system": name, "n": 100, "headline": make_figure("strength", value),
         "others": [make_figure("win_share", 0.5 + value)], "counts": None, "rank": None,
         "cluster": 1}
        for name, value in (("v2", 0.08), ("v1", -0.08))
    ]  # fmt: skip
    return make_points(pair) | {
        "key": "fluency", "kind": "preference", "family": "preference", "answers": [],
        "systems": systems, **known,
    }  # fmt: skip


def make_everything() -> dict[str, Any]:
    """A question with all further analyses that there are."""
    pairs = [
        make_pair(
            *sides, "not_enough", checks=[make_figure("wilcoxon", 3.0, details={"p": 0.2})],
            own=make_figure("own_error", 0.4, details={"p": 0.03, "p_corrected": 0.2}),
        )
        for sides in combinations("abcdefgh", 2)
    ]  # fmt: skip
    means = tuple(4 - place / 10 for place in range(8))
    model = {
        "variances": {"rater": 0.2}, "residual": 0.8,
        "shares": {"rater": 0.2, "residual": 0.8},
    }  # fmt: skip
    tests = [make_figure("share_of_first_place", 0.6), make_figure("friedman", 2.0)]
    return make_points(*pairs, means=means, model=model, tests=tests)


SOURCES = {
    "points": lambda: of(make_points(make_pair("a", "b", "higher"))),
    "ratios": lambda: make_source(make_content(criteria=[
        make_content()["criteria"][0] | {"key": "fluency"}
    ])),
    "preferences": lambda: of(make_preference()),
    "everything": lambda: of(make_everything()),
    "exclusions": lambda: of(
        make_points(make_pair("a", "b", "higher")),
        everything=make_content(criteria=[make_points(make_pair("a", "b", "not_enough"))]),
    ),
    "one system": lambda: of(make_points(means=(3.9,))),
    "no agreement": lambda: of(
        make_points(agreement=[make_figure("alpha_ordinal", None, reason="no_overlap")])
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_every_figure_of_a_page_is_in_the_document(name: str) -> None:
    source = SOURCES[name]()
    known = {(one.name, one.group, one.value) for one in make_document(source).figures}

    figures = show(source).figures

    assert figures
    assert [one for one in figures if (one.name, one.group, one.value) not in known] == []


@pytest.mark.parametrize("name", SOURCES)
def test_each_fold_states_its_result_in_the_line_that_opens_it(name: str) -> None:
    blocks = show(SOURCES[name]()).blocks
    folds = [
        following
        for block, following in pairwise(blocks)
        if isinstance(block, Heading) and block.level == 3
    ]

    assert all(isinstance(block, Sentence) for block in folds)


def test_a_page_has_at_most_seven_folds_of_further_analyses() -> None:
    page = show(SOURCES["everything"]())
    start = next(
        place
        for place, block in enumerate(page.blocks)
        if isinstance(block, Heading) and block.anchor == "further"
    )
    headings = [one for one in page.blocks[start + 1 :] if isinstance(one, Heading)]

    assert 4 < len(headings) <= MOST_FOLDS
    # every comparison of many is a fold beside the comparisons that are shown
    assert page.find_table("fluency-all-pairs") in page.blocks[:start]


def test_a_fold_is_closed_with_heading_and_result_in_its_line() -> None:
    html = render_html(show(SOURCES["points"]()), is_folded=True)

    assert '<details class="fold"><summary><h3>Other averages</h3> <span>' in html
    assert "<details open" not in html


def test_forty_systems_have_a_row_each_and_the_next_to_compare_with() -> None:
    criterion = make_points(*[make_pair(*sides, "not_enough") for sides in combinations(FORTY, 2)])
    first = criterion["systems"][0]
    criterion["systems"] = [
        first | {"system": name, "headline": make_figure("mean", 4 - place / 20)}
        for place, name in enumerate(FORTY)
    ]
    page = show(of(criterion))

    systems, pairs = page.find_table("fluency-systems"), page.find_table("fluency-pairs")
    assert systems is not None
    assert pairs is not None
    assert (len(systems.rows), len(pairs.rows)) == (40, 39)


def test_exclusions_are_drawn_beside_the_means_as_rings() -> None:
    (chart,) = (one for one in show(SOURCES["exclusions"]()).blocks if isinstance(one, Chart))

    assert len(chart.rings) == 3
    assert 'class="ring"' in render_html(show(SOURCES["exclusions"]()))


def test_the_line_in_the_chart_is_the_average_of_the_systems() -> None:
    (chart,) = (one for one in show(SOURCES["points"]()).blocks if isinstance(one, Chart))

    # 3.9 is 0.3 above it
    assert chart.reference == pytest.approx(3.6)


def test_corrected_p_stands_above_the_uncorrected_one() -> None:
    table = show(SOURCES["points"]()).find_table("fluency-pairs")

    assert table is not None
    cell = next(one for one in table.rows[0] if isinstance(one, Cell) and len(one.figures) == 2)
    assert [figure.value for figure in cell.figures] == [0.01, 0.03]
    assert (cell.text, cell.below) == (".010", ".030")


# --- preferences --------------------------------------------------------------------------------


def list_bar(page: Document) -> list[tuple[str, float]]:
    (chart,) = (one for one in page.blocks if isinstance(one, Chart) and one.kind == "stacked")
    return [(figure.group[-1][1], figure.value or 0.0) for figure in chart.figures]


def test_graded_preferences_go_from_the_first_much_better_to_the_second() -> None:
    grades = {
        "mean": make_figure("mean_step", 0.12), "both_good": 17, "both_bad": 11,
        "steps": {"2": 14, "1": 30, "-1": 21, "-2": 7},
    }  # fmt: skip

    assert list_bar(show(of(make_preference(grades=grades)))) == [
        ("v2 much better", 0.14), ("v2 better", 0.3), ("both_good", 0.17), ("both_bad", 0.11),
        ("v1 better", 0.21), ("v1 much better", 0.07),
    ]  # fmt: skip


def test_plain_preferences_have_three_parts() -> None:
    assert list_bar(show(of(make_preference()))) == [
        ("v2 preferred", 0.44), ("tie", 0.28), ("v1 preferred", 0.28),
    ]  # fmt: skip


def test_both_bad_is_marked_and_the_side_of_the_first_system_is_the_darkest() -> None:
    grades = {"mean": make_figure("mean_step", 0.0), "both_good": 17, "both_bad": 11}

    html = render_html(show(of(make_preference(grades=grades))))

    assert 'class="bothbad"' in html
    assert html.index('rect class="p5"') < html.index('rect class="p1"')


# --- choices ------------------------------------------------------------------------------------


def test_a_choice_has_a_row_for_each_option() -> None:
    shares = {"topic__delivery": 0.61, "topic__price": 0.39}
    criteria = [
        make_points(means=(share,)) | {
            "key": key, "label": f"Topic: {key.partition('__')[2]}", "family": "decision",
            "kind": "choice",
            "answers": [{"value": value, "label": ""} for value in (0, 1)],
        }
        for key, share in shares.items()
    ]  # fmt: skip
    for criterion, share in zip(criteria, shares.values(), strict=True):
        criterion["systems"][0]["headline"] = make_figure("share", share)

    page = show(of(*criteria), "topic")

    assert page.title == "Topic: 61% chose delivery"
    table = page.find_table("topic-options")
    assert table is not None
    assert [figure.value for figure in page.figures if figure.name == "mean"] == [0.61, 0.39]
    assert len(table.rows) == 2


def test_a_question_that_the_report_lacks_has_no_figures() -> None:
    assert make_question_page(SOURCES["points"](), "tone") is None


def test_tables_have_no_drawing_without_a_figure_to_draw() -> None:
    table = Table("x", "X", [], [], marks="intervals")

    assert "<svg" not in render_html(Document("", [table]))


def test_means_without_intervals_are_not_said_to_have_them() -> None:
    points = make_points(make_pair("a", "b", "by_one_rater"))
    for system in points["systems"]:
        system["headline"] = make_figure("mean", 3.0, details={"interval": "needs_two_raters"})

    (table,) = (
        block for block in show(of(points)).blocks
        if isinstance(block, Table) and block.name == "fluency-systems"
    )  # fmt: skip

    assert "with 95% CI" not in table.caption
    assert "No intervals: two raters or more are needed." in table.caption
