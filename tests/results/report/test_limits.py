"""What a reader must know before citing: each case by its code, at most five of them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from evalsite.results.document.blocks import Sentence
from evalsite.results.report.sections.limits import list_warnings, make_limits
from evalsite.results.report.source import Source
from tests.support.reports import make_content, make_figure, make_pair, make_points, make_source

PLAN = {"moments": {"primary": {"at": "2026-11-01T10:00:00+00:00", "answers": 0}}}


def find(source: Source, code: str) -> Sentence | None:
    return next((one for one in list_warnings(source) if one.code == code), None)


def codes(source: Source) -> list[str]:
    return [one.code for one in list_warnings(source)]


def test_nothing_but_the_scope_is_said_where_nothing_is_wrong() -> None:
    content = make_content(criteria=[make_points(make_pair("a", "b", "higher"))], warnings=[])
    content["data"] |= {"participants": 12}

    assert codes(make_source(content, plan=PLAN)) == ["scope"]


def test_simulated_ratings_come_first() -> None:
    content = make_content()
    content["data"]["origins"] = {"own": 4, "imported": 0, "simulated": 8}
    warning = list_warnings(make_source(content))[0]

    assert warning.code == "simulated"
    assert warning.text.startswith("8 of 12 ratings are simulated.")
    content["data"]["origins"] = {"own": 0, "imported": 0, "simulated": 12}
    assert list_warnings(make_source(content))[0].text.startswith("All 12 ratings are simulated.")


@pytest.mark.parametrize(
    ("is_closed", "start"),
    [(True, "Collection ended early: 7 of 9"), (False, "Collection isn’t finished: 7 of 9")],
)
def test_collection_that_is_not_complete_is_told(is_closed: bool, start: str) -> None:
    source = make_source(is_closed=is_closed, collection={"done": 7, "target": 9})
    warning = find(source, "unfinished")

    assert warning is not None
    assert warning.text.startswith(start)
    assert ("Results may change" in warning.text) != is_closed


def test_a_look_is_told_with_its_answers_and_what_was_asked_for_later() -> None:
    look = {"at": datetime(2026, 5, 12, 10, 42, tzinfo=UTC).isoformat(), "answers": 210,
            "asked_later": 60, "is_revealed": False}  # fmt: skip
    warning = find(make_source(collection={"done": 399, "target": 399, "look": look}), "looked")

    assert warning is not None
    assert warning.text == (
        "Results were viewed on 12 May 2026, with 210 of 399 answers in. 60 answers were asked for "
        "after that."
    )


@pytest.mark.parametrize(("people", "is_told"), [(1, True), (5, True), (6, False)])
def test_few_people_are_told_up_to_five(people: int, is_told: bool) -> None:
    content = make_content()
    content["data"]["participants"] = people

    assert (find(make_source(content), "few_people") is not None) == is_told


def test_a_verdict_that_exclusions_change_is_told_whichever_system_comes_first() -> None:
    kept = make_points(make_pair("a", "b", "higher"), make_pair("a", "c", "not_enough"))
    turned = make_points(make_pair("b", "a", "lower"), make_pair("c", "a", "not_enough"))
    other = make_points(make_pair("a", "b", "not_enough"), make_pair("a", "c", "not_enough"))

    for everything, is_told in ((turned, False), (other, True)):
        source = make_source(
            make_content(criteria=[kept]), everything=make_content(criteria=[everything])
        )
        assert (find(source, "verdict_changes") is not None) == is_told


def test_an_own_error_that_changes_a_verdict_is_told() -> None:
    pair = {"system_1": "a", "system_2": "b", "system": "a", "p": 0.09}
    note = {"code": "own_error_differs", "criterion": "fluency", "facts": {"pairs": [pair]}}
    warning = find(make_source(make_content(warnings=[note])), "own_error")

    assert warning is not None
    assert "the difference between a and b isn’t clear (p = .090)" in warning.text


@pytest.mark.parametrize(("low", "is_told"), [(0.52, True), (0.48, False)])
def test_order_is_told_where_its_interval_excludes_chance(low: float, is_told: bool) -> None:
    tests = [make_figure("share_of_first_place", 0.6, low=low, high=0.7)]
    source = make_source(make_content(criteria=[make_points(tests=tests)]))

    assert (find(source, "order") is not None) == is_told


@pytest.mark.parametrize(("ac2", "is_told"), [(0.98, True), (0.3, False)])
def test_a_ceiling_is_told_where_alpha_is_far_below_ac2(ac2: float, is_told: bool) -> None:
    agreement = [make_figure("alpha_ordinal", 0.06), make_figure("ac2", ac2)]
    criterion = make_points(agreement=agreement)
    for system in criterion["systems"]:
        system["counts"] = {"1": 0, "2": 0, "3": 1, "4": 1, "5": 8}
    warning = find(make_source(make_content(criteria=[criterion])), "ceiling")

    assert (warning is not None) == is_told
    assert warning is None or "80% of ratings are 5" in warning.text


@pytest.mark.parametrize(("high", "is_told"), [(0.5, True), (0.6, False)])
def test_the_lowest_agreement_is_told_if_its_interval_ends_below_the_others(
    high: float, is_told: bool
) -> None:
    low = make_points(
        key="n", label="N", agreement=[make_figure("alpha_ordinal", 0.3, low=0.2, high=high)]
    )
    source = make_source(make_content(criteria=[make_points(), low]))

    assert (find(source, "low_alpha") is not None) == is_told


@pytest.mark.parametrize(("answers", "is_told"), [(0, False), (12, True)])
def test_a_plan_that_came_after_answers_is_no_plan(answers: int, is_told: bool) -> None:
    plan = {"moments": {"primary": {"at": "2026-11-01T10:00:00+00:00", "answers": answers}}}

    assert (find(make_source(plan=plan), "no_plan") is not None) == is_told


def test_what_is_not_clear_is_not_equal_and_says_what_a_study_like_this_finds() -> None:
    detectable = make_figure("detectable_difference", 0.31, details={"tests": 3})
    criterion = make_points(make_pair("a", "b", "not_enough"), detectable=detectable)
    warning = find(make_source(make_content(criteria=[criterion])), "not_equal")

    assert warning is not None
    assert "would find a difference of 0.31 points on fluency in 8 of 10 cases" in warning.text
    assert [figure.name for figure in warning.figures] == ["detectable"]


def test_the_report_has_five_warnings_and_the_further_analyses_the_rest() -> None:
    content = make_content(criteria=[make_points(make_pair("a", "b", "not_enough"))])
    content["data"]["origins"] = {"own": 4, "imported": 0, "simulated": 8}
    source = make_source(
        content, is_closed=False, collection={"done": 7, "target": 9}, everything=make_content()
    )
    look = {"at": "2026-05-12T10:42:00+00:00", "answers": 2, "asked_later": 0}
    source.content["collection"]["look"] = look  # type: ignore[index]

    blocks = [block for block in make_limits(source) if isinstance(block, Sentence)]

    main = [block for block in blocks if block.place == "main" and block.kind == "warning"]
    assert len(main) == 5
    assert {block.code for block in blocks} >= set(codes(source))


def test_other_warnings_of_the_analysis_are_further_analyses_with_their_question() -> None:
    note: dict[str, Any] = {"code": "few_items", "criterion": "fluency", "facts": {}}
    source = make_source(make_content(criteria=[make_points()], warnings=[note]))

    (block,) = [one for one in make_limits(source) if getattr(one, "code", "") == "few_items"]

    assert block.place == "further"
    assert block.text.startswith("Fluency: ")  # type: ignore[attr-defined]


@pytest.mark.parametrize("counts", [[], [{"system": "a", "shown": 4, "missing": 0, "share": 0}]])
def test_missing_answers_are_fine_only_where_they_are_counted(counts: list[Any]) -> None:
    content = make_content(criteria=[make_points(missing_by_system=counts)])

    fine = next(
        block.text for block in make_limits(make_source(content, plan=PLAN))
        if isinstance(block, Sentence) and block.kind == "note"
    )  # fmt: skip

    assert ("answers missing" in fine) == bool(counts)
