"""Highlights as they are posted: what is read, refused and merged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.lib.passages import Span
from evalsite.participation.highlights import (
    MISFIT,
    MOST,
    TOO_MANY,
    MarksField,
    merge_spans,
    read_marks,
    write_marks,
    write_passages,
)
from tests.support.marking import TEXT

FIELD = MarksField("highlights", "passages", 1)
MOST_QUERIES = 14


def read_list(text: str, *entries: object) -> tuple[list[str], str]:
    """The quotes of what a script posted as JSON, and what is said of the rest."""
    return quotes(text, {"highlights": json.dumps(entries)})


def read_lines(text: str, *lines: str, standing: str = "") -> tuple[list[str], str]:
    return quotes(text, {"highlights": standing, "passages": "\r\n".join(lines)})


def quotes(text: str, data: dict[str, str]) -> tuple[list[str], str]:
    reading = read_marks(data, FIELD, text)
    return [text[span.start : span.end] for span in reading.spans], reading.error


# --- what fits ------------------------------------------------------------------------------


def test_none_is_no_fault():
    assert read_list(TEXT) == ([], "")
    assert quotes(TEXT, {}) == ([], "")
    assert read_lines(TEXT, "", "  ") == ([], "")


def test_start_end_and_quote_are_read_when_they_agree():
    assert read_list(TEXT, [0, 4, "Dear"], [31, 41, "kind words"]) == (["Dear", "kind words"], "")


# each character as it is read, of one code point or of several
CHARACTERS = {
    "accents": ["e\u0301", " ", "é", "a\u0323\u0302", "b"],
    "Hangul": ["\u1112\u1161\u11ab", " ", "한", "\u1100", "a"],
    "marks of Hindi": ["ह", "\u0928", "\u0939\u093f", "\u0928\u094d", "\u0926\u0940"],
    "points of Hebrew": ["\u05e9\u05b8\u05c1", "\u05dc", "\u05d5\u05b9", "\u05dd"],
    "people": ["\U0001f468\u200d\U0001f33e", "👩‍👩‍👧", "👍\U0001f3fd", "🙂", "x"],
    "flags": ["🇩🇪", "🇫🇷", "🇩", "a", "\U0001f3f4\U000e0067\U000e0062\U000e007f"],
    "variants": ["❤\ufe0f", "1\ufe0f\u20e3", "❤", "!"],
}


@pytest.mark.parametrize("characters", CHARACTERS.values(), ids=CHARACTERS)
def test_bad_25_offsets_count_code_points_and_never_split_a_character(characters):
    text, bounds = "".join(characters), {0}
    for character in characters:
        bounds.add(max(bounds) + len(character))

    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            quote = text[start:end]
            expected = ([quote], "") if {start, end} <= bounds else ([], MISFIT)
            assert read_list(text, [start, end, quote]) == expected


def test_bad_25_offsets_in_halves_of_code_points_beyond_16_bits_are_refused():
    # as a script would count without care: the face has two units of UTF-16
    assert read_list("🙂 fine", [3, 7, "fine"]) == ([], MISFIT)
    assert read_list("🙂 fine", [1, 2, "\ude42"]) == ([], MISFIT)
    assert read_list("🙂 fine", [2, 6, "fine"]) == (["fine"], "")


def test_line_is_found_in_whole_characters():
    assert read_lines("cafe\u0301 or cafe", "cafe") == (["cafe"], "")


@pytest.mark.parametrize(
    ("text", "line"),
    [("at the cafe\u0301", "cafe"), ("a 👩\u200d👩 there", "👩"), ("a 🇩🇪 flag", "🇩")],
)
def test_line_that_stands_only_inside_of_characters_is_refused(text, line):
    marked, error = read_lines(text, line)

    assert marked == []
    assert f"“{line}” isn’t in the text" in error


def test_bad_25_26_a_quote_in_another_normal_form_does_not_fit():
    assert read_list("cafe\u0301", [0, 4, "café"]) == ([], MISFIT)
    assert read_list("café", [0, 4, "cafe\u0301"]) == ([], MISFIT)


@pytest.mark.parametrize(
    "entry",
    [
        [-1, 3, "Dea"],
        [-4, -1, TEXT[-4:-1]],
        [-90, 4, "Dear"],
        [0, 1_000, TEXT],
        [84, 90, "t."],
        [4, 0, "Dear"],
        [2, 2, ""],
        [0.0, 4.0, "Dear"],
        [0, 4.5, "Dear"],
        ["0", "4", "Dear"],
        [False, 4, "Dear"],
        [0, True, "D"],
        [0, 4, "dear"],
        [0, 4, "Dear "],
        [0, 4],
        [0, None, "Dear"],
        [None, 4, "Dear"],
        [0, 4, "Dear", 1],
        [0, 4, None],
        [None, None, None],
        {"start": 0, "end": 4, "quote": "Dear"},
        [[0, 4, "Dear"]],
        [10**400, 10**400 + 1, "D"],
        [0, 4, "De\x00r"],
        [0, 4, "\ud800"],
        "Dear",
        0,
        None,
    ],
    ids=repr,
)
def test_bad_48_what_does_not_fit_is_refused_and_the_others_are_kept(entry):
    assert read_list(TEXT, [5, 10, "guest"], entry) == (["guest"], MISFIT)


@pytest.mark.parametrize(
    "posted",
    ["{", "nonsense", "{}", "1", "null", "NaN", "[NaN]", '"Dear"', "\x00", "[" * 100_000,
     '{"a":' * 50_000, "[[0, " + "9" * 5_000 + ', "Dear"]]', "[[0,4,\"De\x00r\"]]", "\ufeff[]"],
    ids=lambda posted: posted[:12],
)  # fmt: skip
def test_bad_48_what_is_no_list_of_highlights_is_refused(posted):
    assert quotes(TEXT, {"highlights": posted}) == ([], MISFIT)


def test_bad_48_more_than_the_most_are_refused():
    text = "a " * 5_000
    entries = [[at, at + 1, "a"] for at in range(0, 10_000, 2)]

    assert read_list(text, *entries[:MOST]) == (["a"] * MOST, "")
    assert read_list(text, *entries[: MOST + 1]) == (["a"] * MOST, TOO_MANY % {"most": MOST})
    assert read_list(text, *entries, *entries) == (["a"] * MOST, TOO_MANY % {"most": MOST})
    assert read_lines(text, *["a"] * 10_000) == (["a"] * MOST, TOO_MANY % {"most": MOST})


@pytest.mark.parametrize(
    ("spans", "merged"),
    [
        ([(0, 4), (2, 6)], [(0, 6)]),
        ([(0, 4), (4, 6)], [(0, 6)]),
        ([(0, 9), (2, 6)], [(0, 9)]),
        ([(5, 6), (0, 4)], [(0, 4), (5, 6)]),
        ([(0, 4), (0, 4)], [(0, 4)]),
        ([(0, 4), (6, 9), (3, 7)], [(0, 9)]),
    ],
)
def test_bad_48_overlapping_or_touching_highlights_become_one(spans, merged):
    found = merge_spans(Span(*span) for span in spans)

    assert [(span.start, span.end) for span in found] == merged


TEXTS = st.text(st.sampled_from("ab \n\r\t🙂\u0301\u200dא"), min_size=1, max_size=40)
PAIRS = st.lists(st.tuples(st.integers(-3, 43), st.integers(-3, 43)), max_size=8)


@given(st.text("ab \n\r\t🙂א𠀀", min_size=1, max_size=40), PAIRS)
def test_marks_are_in_order_apart_and_cover_what_was_marked(text, pairs):
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    posted = [[start, end, shown[max(start, 0) : max(end, 0)]] for start, end in pairs]
    fitting = [pair for pair in pairs if 0 <= pair[0] < pair[1] <= len(shown)]

    reading = read_marks({"highlights": json.dumps(posted)}, FIELD, text)

    assert bool(reading.error) == (len(fitting) < len(pairs))
    for one, other in zip(reading.spans, reading.spans[1:], strict=False):
        assert one.end < other.start
    assert "".join(text[span.start : span.end] for span in reading.spans).replace(
        "\r\n", "\n"
    ).replace("\r", "\n") == "".join(
        sign
        for at, sign in enumerate(shown)
        if any(start <= at < end for start, end in fitting)
    )  # fmt: skip


@given(TEXTS, PAIRS)
def test_what_a_page_is_given_reads_back_as_the_same(text, pairs):
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    posted = [[start, end, shown[start:end]] for start, end in pairs if 0 <= start < end]
    first = read_marks({"highlights": json.dumps(posted)}, FIELD, text).spans

    again = read_marks({"highlights": write_marks(first, text)}, FIELD, text)

    assert (again.spans, again.error) == (first, "")


# --- line breaks, and passages without scripts ------------------------------------------------


def test_places_are_those_of_the_stored_text_whatever_its_line_breaks():
    text = "One\r\ntwo\rthree\nfour"

    found = read_marks({"highlights": json.dumps([[4, 13, "two\nthree"]])}, FIELD, text)

    assert found.spans == (Span(5, 14),)
    assert text[5:14] == "two\rthree"
    assert write_marks(found.spans, text) == '[[4,13,"two\\nthree"]]'
    assert read_list(text, [5, 14, "two\rthree"]) == ([], MISFIT)


def test_each_line_is_found_at_its_first_free_occurrence():
    assert read_lines("yes, yes, yes", "yes", "yes") == (["yes", "yes"], "")
    reading = read_marks({"passages": "yes\nyes"}, FIELD, "yes, yes, yes")
    assert reading.spans == (Span(0, 3), Span(5, 8))
    # once more than it stands there says nothing new
    assert read_lines("yes", "yes", "yes") == (["yes"], "")


def test_an_occurrence_that_begins_inside_a_taken_one_hides_none_behind_it():
    reading = read_marks({"passages": "xa\naa"}, FIELD, "xaaa")

    # "aa" stands from 1 to 3 too, where it would meet the first line
    assert reading.spans == (Span(0, 4),)


def test_lines_as_long_as_a_page_can_post_are_answered_like_any_other():
    text = "many words of a text, and many more words. " * 50
    posted = "\n".join(["many words " * 20_000, *(f"w{n} " * 3_000 for n in range(199))])

    marked, error = read_lines(text, posted, "more words")

    assert marked == []
    assert error == TOO_MANY % {"most": MOST}
    assert "isn’t in the text" in read_lines(text, *posted.split("\n"))[1]


def test_white_space_of_a_copied_line_need_not_agree():
    assert read_lines("kind\u00a0words\nabout us", " kind words  about ") == (
        ["kind\u00a0words\nabout"],
        "",
    )


def test_a_line_that_is_not_in_the_text_is_named():
    marked, error = read_lines(TEXT, "kind words", "Kind words", "staff")

    assert marked == ["kind words", "staff"]
    assert (
        error == "“Kind words” isn’t in the text. Copy each passage exactly as it is, one per line."
    )
    assert "…" in read_lines(TEXT, "x" * 500)[1]
    assert "\x00" not in read_lines(TEXT, "a\x00b")[1]
    assert "(.*)" in read_lines(TEXT, "(.*)")[1]


def test_a_line_keeps_the_place_that_was_marked_before():
    text = "yes, no, yes"
    standing = write_marks([Span(9, 12)], text)

    kept = read_marks({"highlights": standing, "passages": "yes"}, FIELD, text)
    gone = read_marks({"highlights": standing, "passages": ""}, FIELD, text)

    assert kept.spans == (Span(9, 12),)
    assert gone.spans == ()
    assert write_passages(kept.spans, text) == "yes"
