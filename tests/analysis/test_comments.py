"""Counts of comments, and shares of reasons, on files small enough to count by hand."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalsite.analysis.report.answers import count_comments, list_reasons, read_notes, read_remarks

QUESTION = {
    "key": "better",
    "reasons": [{"key": "clear", "label": "Clear"}, {"key": "short", "label": "Short"}],
}


def write(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def read(folder: Path, rows: Sequence[dict[str, str]]) -> Any:
    items = [
        {"output_id": f"i{number}#{place}", "system": system}
        for number in range(1, 9)
        for place, system in ((1, "a"), (2, "b"))
    ]
    return read_remarks(
        {"ratings": write(folder / "r.csv", rows), "items": write(folder / "i.csv", items)}
    )


def prefer(person: str, item: int, system: str, reasons: str = "", **more: str) -> dict[str, str]:
    return {
        "participant": person, "item": f"i{item}", "criterion": "better", "preferred": system,
        "reasons": reasons, **more,
    }  # fmt: skip


def comment(person: str, text: str, **more: str) -> dict[str, str]:
    return {
        "participant": person, "item": "i1", "criterion": "better", "part": "comment",
        "text": text, **more,
    }  # fmt: skip


def count(remarks: Any) -> dict[str, Any]:
    return count_comments(remarks, read_notes(None))


def test_comments_are_counted_by_question_and_system_and_their_people_once(tmp_path: Path) -> None:
    rows = [
        comment("p1", "good", system="a"), comment("p1", "bad", system="b"),
        comment("p2", "fine", system="a", criterion="why"), comment("p3", "  "),
        prefer("p4", 1, "a"),
    ]  # fmt: skip

    assert count(read(tmp_path, rows)) == {
        "questions": {"better": 2, "why": 1}, "systems": {"a": 2, "b": 1}, "people": 2,
        "notes": 0, "skipped": 0, "reported": 0,
    }  # fmt: skip


def test_a_corrected_output_is_no_comment_but_a_comment_on_it_is(tmp_path: Path) -> None:
    edited = {"scale": "post_edit", "criterion": "edit"}
    rows = [
        comment("p1", "the corrected output", **edited | {"part": ""}),
        comment("p1", "too long", **edited),
    ]

    assert count(read(tmp_path, rows))["questions"] == {"edit": 1}


def test_what_results_leave_out_isnt_counted_but_excluded_rows_are_marked(tmp_path: Path) -> None:
    rows = [
        comment("p1", "pilot", status="pilot"), comment("p1", "gold", kind="gold"),
        comment("p1", "surplus", status="surplus"), comment("p2", "left out", excluded="yes"),
        comment("p3", "kept"),
    ]  # fmt: skip

    remarks = read(tmp_path, rows)

    assert remarks.is_excluded.tolist() == [True, False]
    assert count(remarks[~remarks.is_excluded])["people"] == 1


def test_notes_skips_and_problem_reports_on_main_items_are_counted(tmp_path: Path) -> None:
    columns = ["kind", "status", "outcome", "note", "excluded"]
    annotations = pd.DataFrame(
        [
            ("main", "counted", "rated", "A note", "no"),
            ("main", "counted", "rated", " ", "no"),
            ("main", "skipped", "skipped", "Not mine", "no"),
            ("main", "surplus", "reported", "", "no"),
            ("main", "counted", "rated", "Left out", "yes"),
            ("main", "pilot", "skipped", "Pilot", "no"),
            ("main", "withdrawn", "rated", "Withdrawn", "no"),
            ("gold", "control", "rated", "Gold", "no"),
        ],
        columns=columns,
    )  # fmt: skip

    notes = read_notes(annotations)

    assert notes.is_excluded.sum() == 1
    counts = count_comments(read(tmp_path, [comment("p1", " ")]), notes[~notes.is_excluded])
    assert (counts["notes"], counts["skipped"], counts["reported"]) == (2, 1, 1)


def list_shares(folder: Path, rows: Sequence[dict[str, str]]) -> dict[tuple[str, str], Any]:
    figures = list_reasons(read(folder, rows), QUESTION, seed=1)
    return {tuple(dict(figure.group).values()): figure for figure in figures}  # type: ignore[misc]


def test_a_reason_counts_for_the_preferred_system_or_for_both_outputs(tmp_path: Path) -> None:
    rows = [
        prefer("p1", 1, "a", "i1#1: clear; i1#2: short"),
        prefer("p2", 2, "a", "short"),
        prefer("p3", 3, "a", "i3#2: clear"),
        prefer("p4", 4, "b", "i4#2: clear short"),
        prefer("p5", 5, "tie", "i5#1: clear"),
    ]

    shares = list_shares(tmp_path, rows)

    counts = {key: (one.n["named"], one.n["answers"]) for key, one in shares.items()}
    assert counts == {
        ("clear", "a"): (1, 3), ("short", "a"): (1, 3),
        ("clear", "b"): (1, 1), ("short", "b"): (1, 1),
    }  # fmt: skip


@pytest.mark.parametrize(("answers", "has_interval"), [(4, False), (5, True)])
def test_under_five_answers_there_is_no_interval(
    tmp_path: Path, answers: int, has_interval: bool
) -> None:
    rows = [
        prefer(f"p{number}", number, "a", "clear" if number % 2 else "")
        for number in range(1, answers + 1)
    ]

    figure = list_shares(tmp_path, rows)["clear", "a"]

    assert (figure.low is not None) is has_interval
