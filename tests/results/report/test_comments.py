"""What people wrote, as the report says it."""

from typing import Any

from evalsite.results.document.blocks import Document, write_entry
from evalsite.results.report.sections.questions import make_comments, tabulate_reasons
from evalsite.results.report.source import Criterion
from tests.support.reports import make_content, make_figure, make_points, make_source


def show(comments: dict[str, Any]) -> Document:
    content = make_content(criteria=[make_points()], comments=comments)
    return Document("", list(make_comments(make_source(content))))


def test_comments_are_counted_by_question_and_system() -> None:
    document = show({"questions": {"fluency": 3}, "systems": {"a": 2, "b": 1}, "people": 2})

    assert document.codes == ["comments", "comments_by_system"]
    assert [(one.name, one.value, dict(one.group)) for one in document.figures] == [
        ("people_commenting", 2, {}), ("comments", 3, {"criterion": "fluency"}),
        ("comments", 2, {"system": "a"}), ("comments", 1, {"system": "b"}),
    ]  # fmt: skip


def test_without_comments_the_report_has_no_section_of_them() -> None:
    assert not show({"questions": {}, "systems": {}, "people": 0}).blocks


def test_notes_skips_and_problem_reports_are_counted_without_a_comment_too() -> None:
    none = {"questions": {}, "systems": {}, "people": 0}

    document = show(none | {"notes": 4, "skipped": 0, "reported": 1})

    assert document.codes == ["notes"]
    assert [(one.name, one.value) for one in document.figures] == [
        ("notes", 4), ("problem_reports", 1),
    ]  # fmt: skip


def make_share(reason: str, named: int, answers: int, **known: Any) -> dict[str, Any]:
    return make_figure(
        "reason", named / answers, n={"named": named, "answers": answers},
        group=[["reason", reason], ["system", "a"]], **known,
    )  # fmt: skip


def test_shares_of_few_answers_are_counts_and_reasons_never_named_have_no_row() -> None:
    for low, cell in ((None, "1 of 4"), (0.1, "25% (10 to 60%)")):
        high = None if low is None else 0.6
        shares = [make_share("clear", 1, 4, low=low, high=high), make_share("short", 0, 4)]
        labels = {"clear": "Clear", "short": "Short"}
        criterion = Criterion(make_points(reasons={"labels": labels, "shares": shares}))

        table = tabulate_reasons(criterion)

        assert table is not None
        assert table.name == "fluency-reasons"
        assert [[write_entry(entry) for entry in row] for row in table.rows] == [["Clear", cell]]
