"""The language of paths: what each step leads to, and which rows a record becomes."""

from typing import Any

import pytest

from evalsite.data.tables.paths import (
    Branch,
    expand,
    find,
    find_first,
    find_matches,
    has,
    join_matches,
    parse_path,
    write_step,
)
from evalsite.data.tables.table import Refused

RECORD = {
    "a": {"b": "x", "odd.name": "y"},
    "list": ["first", "second"],
    "turns": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    "cell": '{"question": "Why?", "parts": [{"n": 1}]}',
    "empty": None,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", "x"),
        ('a["odd.name"]', "y"),
        ("list[0]", "first"),
        ("list[-1]", "second"),
        ("list[2]", None),
        ("turns[role=assistant].content", "Hello"),
        ("turns[role=system].content", None),
        ("cell.question", "Why?"),
        ("cell.parts[0].n", "1"),
        ("a.b.c", None),
        ("list[*]", "first"),
    ],
)
def test_a_path_leads_to_a_value(path: str, value: Any) -> None:
    assert find(RECORD, path) == value


def test_null_is_there_and_nothing_is_not() -> None:
    assert has(RECORD, "empty")
    assert not has(RECORD, "none")
    assert find_first({"a": "", "b": None, "c": "text"}, ["a", "b", "c"]) == "text"


@pytest.mark.parametrize("path", ["a[", "a[x]", "a..b", "{", "a{b}c", 'a["b', "[*"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="can't be read as a path"):
        parse_path(path)


@pytest.mark.parametrize("name", ["plain", "two words", "odd.name", 'quo"te', "a[0]", "#", "{n}"])
def test_every_name_can_be_written_as_a_step(name: str) -> None:
    assert find({name: "x"}, write_step(name)) == "x"


def spread(record: Any, *paths: str) -> list[dict[str, Any]]:
    branch = Branch()
    for path in paths:
        branch.add(path, parse_path(path))
    return expand(branch, record)


def test_paths_that_begin_alike_step_together_and_others_repeat() -> None:
    record = {"id": 1, "out": [{"who": "a", "text": "A"}, {"who": "b", "text": "B"}]}

    assert spread(record, "id", "out[*].who", "out[*].text", "out[*]#") == [
        {"id": 1, "out[*]#": "1", "out[*].who": "a", "out[*].text": "A"},
        {"id": 1, "out[*]#": "2", "out[*].who": "b", "out[*].text": "B"},
    ]


def test_a_key_becomes_a_field() -> None:
    record = {"r": {"fluency": [{"v": 1, "by": "u"}], "style": [{"v": 2, "by": "w"}]}}

    assert spread(record, "r.{criterion}[*].v", "r.{criterion}[*].by") == [
        {"{criterion}": "fluency", "r.{criterion}[*].v": 1, "r.{criterion}[*].by": "u"},
        {"{criterion}": "style", "r.{criterion}[*].v": 2, "r.{criterion}[*].by": "w"},
    ]


def test_a_list_that_is_missing_leaves_the_rest() -> None:
    assert spread({"id": 1}, "id", "out[*].text") == [{"id": 1}]


def test_too_many_rows_of_a_record_are_refused() -> None:
    record = {"a": [1] * 1_000, "b": [1] * 1_000}

    with pytest.raises(Refused) as refused:
        spread(record, "a[*]", "b[*]")
    assert refused.value.code == "too_large"


# --- names of columns -------------------------------------------------------------------

KNOWN = {"criterion": ["fluency", "fluency_overall"], "system": ["gpt_4", "gpt"]}


@pytest.mark.parametrize(
    ("pattern", "column", "bound"),
    [
        (
            "{criterion}_{participant}",
            "fluency_ann1",
            {"criterion": "fluency", "participant": "ann1"},
        ),
        (
            "{criterion}_{participant}",
            "Fluency_Overall_ann1",
            {"criterion": "fluency_overall", "participant": "ann1"},
        ),
        ("{system}_{criterion}", "gpt_4_fluency", {"system": "gpt_4", "criterion": "fluency"}),
        ("Answer.{criterion}_{point}", "answer.fluency_5", {"criterion": "fluency", "point": "5"}),
    ],
)
def test_the_longest_known_name_fits(pattern: str, column: str, bound: dict[str, str]) -> None:
    (match,) = find_matches(pattern, [column], KNOWN)

    assert match.bound == bound


def test_columns_without_a_known_name_are_left() -> None:
    header = ["fluency_a", "fluency_a_reason", "colour_a", "fluency_"]

    matches = find_matches("{participant}.{criterion}", ["ann.fluency", "ann.fluency.why"], KNOWN)
    assert [match.column for match in matches] == [0]
    assert [m.column for m in find_matches("{criterion}_{participant}", header, KNOWN)] == [0, 1]


def test_a_number_ties_columns() -> None:
    header = ["annotator1", "fluency1", "annotator2", "fluency2", "fluencyx"]
    patterns = [
        find_matches(pattern, header, KNOWN) for pattern in ("annotator{n}", "{criterion}{n}")
    ]

    rows = join_matches(patterns)

    assert [[match.column for match in matches] for _, matches in rows] == [[1, 0], [3, 2]]
