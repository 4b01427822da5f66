"""Corrected texts: what is read of an entry, which words count as changed, what is stored."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.checks import read_instrument
from evalsite.instruments.scales.post_edit import (
    LONGEST,
    MOST_WORDS,
    NO_CHANGE,
    Counts,
    PostEdit,
    count_edits,
    draw_changes,
    list_steps,
)
from tests.support.instruments import GALLERY

TEXT = "Please log in until the 3rd of May; after that the course is full."
BETTER = "Please register by the 3rd of May; after that the course is full."
ABOUT = AnswerRow(1, 7, "corrected")
QUESTION = SimpleNamespace(label="Corrected text", question="Correct it.", required=True)
FREE = PostEdit(kind="post_edit")
STRICT = PostEdit(kind="post_edit", may_be_unchanged=False)


def clean(entry: str, scale: PostEdit = FREE, text: str = TEXT) -> Any:
    bound = scale.for_output(text)
    return bound.make_field(QUESTION, "Text").clean(entry)


def refuse(entry: str, scale: PostEdit = FREE, text: str = TEXT) -> str:
    with pytest.raises(ValidationError) as refused:
        clean(entry, scale, text)
    return str(refused.value.error_list[0].code)


# --- the edit rate ------------------------------------------------------------------------

# output, corrected text, and TER of sacrebleu 2.6.0 (case-sensitive, without shifts of blocks):
# edits, and words of the corrected text
TER = [
    (TEXT, BETTER, 3, 13),
    ("The cat sat on the mat.", "The cat sat on the mat.", 0, 6),
    ("a b c d e", "a x c d e f", 2, 6),
    ("Der Aufzug ist ist bis Freitag kaputt.", "Der Aufzug ist bis Freitag außer Betrieb.", 3, 7),
    ("Colour", "color", 1, 1),
    ("one two three four five six", "six", 5, 1),
    ("He said that that that was true", "He said that was not true at all", 5, 8),
    # with shifts, TER counts 1 here
    ("x y a b c d e f", "a b c d e f x y", 4, 8),
]  # fmt: skip


@pytest.mark.parametrize(("output", "corrected", "edits", "words"), TER)
def test_edits_and_words_are_those_of_sacrebleu(output, corrected, edits, words):
    counts = count_edits(output, corrected)

    assert (counts.edits, counts.words) == (edits, words)


@pytest.mark.parametrize(
    ("output", "corrected", "counts", "rate"),
    [
        # by hand: log -> register, in -> nothing, until -> by
        (TEXT, BETTER, Counts(0, 1, 2, 13), 23.077),
        ("a b c", "a b c d", Counts(1, 0, 0, 4), 25),
        ("a b c d", "a c d", Counts(0, 1, 0, 3), 33.333),
        ("", "all of it", Counts(3, 0, 0, 3), 100),
        # a block that moves counts word by word: two out, two in
        ("x y a b c d e f", "a b c d e f x y", Counts(2, 2, 0, 8), 50),
        # white space is no word
        ("a  b\r\nc", " a b c\n", Counts(0, 0, 0, 3), 0),
        # without spaces each character of Chinese and Japanese is a word
        ("他今天去学校。", "他昨天去学校。", Counts(0, 0, 1, 7), 14.286),
        ("彼は GPU を買う", "彼は GPU を 2 台買う", Counts(2, 0, 0, 8), 25),
    ],
)
def test_rate_is_of_words_of_the_corrected_text(output, corrected, counts, rate):
    counted = count_edits(output, corrected)

    assert counted == counts
    assert counted.rate == rate


def measure_distance(old: list[str], new: list[str]) -> int:
    """The distance by its definition."""
    row = list(range(len(new) + 1))
    for at, word in enumerate(old, start=1):
        before, row[0] = row[0], at
        for place, other in enumerate(new, start=1):
            least = min(row[place] + 1, row[place - 1] + 1, before + (word != other))
            before, row[place] = row[place], least
    return row[-1]


few_words = st.lists(st.sampled_from("abcd"), max_size=12)


@given(few_words, few_words)
def test_steps_are_a_shortest_way(old, new):
    steps = list_steps(old, new)

    walked = []
    rest = list(old)
    for step, word in zip_steps(steps, new):
        before = rest.pop(0) if step != "inserted" else None
        assert step != "kept" or before == word
        assert step != "substituted" or before != word
        walked += [word] if word is not None else []
    assert (walked, rest) == (new, [])
    assert sum(step != "kept" for step in steps) == measure_distance(old, new)


def zip_steps(steps: list[str], new: list[str]) -> list[tuple[str, str | None]]:
    words = iter(new)
    return [(step, None if step == "deleted" else next(words)) for step in steps]


def test_five_thousand_words_that_all_differ_are_counted():
    old = " ".join(f"a{number}" for number in range(5_000))
    new = " ".join(f"b{number}" for number in range(5_001))

    assert count_edits(old, new) == Counts(1, 0, 5_000, 5_001)
    assert count_edits(new, f"{old} {new}").insertions == 5_000


def test_changes_are_shown_with_three_words_beside_them():
    pieces = draw_changes(TEXT, BETTER)

    assert [(piece.kind, piece.words) for piece in pieces] == [
        ("kept", "Please"), ("deleted", "log in until"), ("inserted", "register by"),
        ("kept", "the 3rd of"), ("left out", "…"),
    ]  # fmt: skip
    assert draw_changes(TEXT, TEXT.replace(" ", "\n")) == []
    middle = draw_changes("a 1 2 3 4 5 6 7 8 9 b", "A 1 2 3 4 5 6 7 8 9 B")
    assert [piece.words for piece in middle] == [
        "a", "A", "1 2 3", "…", "7 8 9", "b", "B",
    ]  # fmt: skip


# --- what is refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "scale", "code"),
    [
        ("", FREE, "required"),
        (" \n\t", FREE, "required"),
        # untouched, and nobody said that it is right
        (TEXT, FREE, "required"),
        (TEXT, STRICT, "unchanged"),
        (TEXT.replace(" ", "  "), STRICT, "unchanged"),
        (NO_CHANGE, STRICT, "unchanged"),
        ("x" * 20_000, FREE, "max_length"),
        ("x " * 20_000, FREE, "max_length"),
        (f"{BETTER}\x00", FREE, "null_characters_not_allowed"),
        (f"{BETTER}\ud800", FREE, "half_of_a_character"),
        (BETTER, PostEdit(kind="post_edit", most=20), "max_length"),
    ],
)
def test_what_is_no_correction_is_refused(entry, scale, code):
    assert refuse(entry, scale) == code


def test_limit_rises_with_the_output_and_words_are_bounded():
    long = "word " * 5_000
    assert clean(f"{long}more", text=long).counts == Counts(1, 0, 0, 5_001)
    many = "w " * MOST_WORDS
    assert refuse(f"{many}more", text=many) == "too_many_words"
    assert FREE.for_output("x" * LONGEST).highest == LONGEST


@pytest.mark.parametrize(
    ("scale", "text", "is_fault"),
    [
        (FREE, "x" * LONGEST, False),
        (FREE, "x" * (LONGEST + 1), True),
        (FREE, "x " * MOST_WORDS, False),
        (FREE, "x " * (MOST_WORDS + 1), True),
        (PostEdit(kind="post_edit", most=20), "x" * 21, True),
        (FREE, "", False),
    ],
)
def test_outputs_that_nobody_could_correct_are_faults_of_their_file(scale, text, is_fault):
    column, message = scale.for_output(text).find_item_fault()

    assert (column, bool(message)) == (("output", True) if is_fault else ("", False))


# --- entries ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("posted", "entry"),
    [
        ({"c": BETTER}, BETTER),
        ({"c": "a\r\nb"}, "a\nb"),
        ({"c": TEXT, "c.same": "yes"}, NO_CHANGE),
        # who ticks and corrects has corrected
        ({"c": BETTER, "c.same": "yes"}, BETTER),
        ({"c": BETTER, "c.undo": "yes"}, TEXT),
        ({"c": BETTER, "c.undo": "yes", "c.same": "yes"}, NO_CHANGE),
        ({"c": ""}, ""),
        ({}, ""),
    ],
)
def test_entry_is_the_text_or_that_it_is_right(posted, entry):
    assert FREE.for_output(TEXT).read_entry(posted, "c") == entry


def test_a_page_starts_with_the_output_as_browsers_show_it():
    scale = FREE.for_output("a\r\nb")

    assert scale.start_entry == scale.original == "a\nb"
    view = scale.view_entry(scale.start_entry)
    assert (view.text, view.pieces, view.is_same, view.is_answered) == ("a\nb", [], False, False)
    assert scale.view_entry(NO_CHANGE).is_answered


# --- rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "row"),
    [
        (BETTER, ABOUT._replace(
            value=23.077, text=BETTER,
            detail={"insertions": 0, "deletions": 1, "substitutions": 2, "words": 13})),
        (NO_CHANGE, ABOUT._replace(
            value=0, text=TEXT,
            detail={"insertions": 0, "deletions": 0, "substitutions": 0, "words": 14})),
    ],
)  # fmt: skip
def test_text_rate_and_counts_are_one_row_that_reads_back(entry, row):
    scale = FREE.for_output(TEXT)
    answer = clean(entry)

    rows = scale.make_rows(answer, ABOUT, (7,))

    assert rows == (row,)
    assert scale.read_rows(rows, (7,)) == answer
    assert scale.write_entry(answer, (0,)) == entry
    assert scale.are_consistent(rows)
    assert not scale.are_consistent([row._replace(value=1)])


@pytest.mark.parametrize("count", [None, "13", -1, 0, 13.5, 10**400, [13]])
def test_counts_that_no_answer_has_contradict_the_rate(count):
    detail = {"insertions": 0, "deletions": 0, "substitutions": 0, "words": count}

    assert not FREE.are_consistent([ABOUT._replace(value=0, text=TEXT, detail=detail)])


def test_staff_read_rate_edits_and_text():
    (row,) = FREE.for_output(TEXT).make_rows(clean(BETTER), ABOUT, (7,))
    assert FREE.describe_answer([row]) == f"edit rate 23.077 (3 edits, 13 words): {BETTER}"
    (row,) = FREE.for_output(TEXT).make_rows(clean(NO_CHANGE), ABOUT, (7,))
    assert FREE.describe_answer([row]) == "not changed"


# --- right answers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "entry", "is_met"),
    [
        ("changed", BETTER, True), ("changed", NO_CHANGE, False), ("Unchanged", NO_CHANGE, True),
        ("unchanged", BETTER, False),
    ],
)  # fmt: skip
def test_gold_says_whether_a_text_needs_a_correction(gold, entry, is_met):
    right = FREE.parse_gold(gold, ["alpha"])

    ((met, sentence),) = FREE.judge(right, [clean(entry)], None, ["Text"])

    assert met == is_met
    assert sentence
    (value,) = FREE.right_values(right, 1, None)
    bound = FREE.for_output(TEXT)
    fitting = clean(bound.write_entry(value, (0,)))
    assert FREE.judge(right, [fitting], None, ["Text"])[0][0]
    assert FREE.write_gold([value]) == gold.lower()


def test_gold_is_a_part_for_each_output_and_only_these_words():
    assert FREE.parse_gold("changed,,unchanged", ["a", "b", "c"]) == [
        ("changed",), None, ("unchanged",),
    ]  # fmt: skip
    for wrong in ("yes", BETTER, "changed,unchanged"):
        with pytest.raises(ValidationError):
            FREE.parse_gold(wrong, ["a"])


def test_reasons_of_the_gallery_are_asked_where_something_changed():
    content = json.loads((GALLERY / "post_edit.json").read_bytes())
    reasons = read_instrument(content).criterion_by_key["reasons"]
    scale = FREE.for_output(TEXT)

    for entry, is_asked in ((BETTER, True), (NO_CHANGE, False)):
        tested = scale.list_tested(clean(entry))
        assert reasons.ask_if.is_met({"corrected": {0: tested}}, 0) == is_asked
    assert not reasons.ask_if.is_met({"corrected": {0: None}}, 0)
