"""Passages marked in conversations: each is in one turn, and counts in the text of that."""

import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.checks import InvalidInstrument, read_instrument
from evalsite.instruments.scales.spans import Spans
from evalsite.lib.conversations import split_turns
from evalsite.lib.passages import is_split
from evalsite.lib.rich_text import show_turns
from tests.instruments.test_spans import MINOR, QUESTION, WORDS
from tests.support.turns import (
    ANSWERED,
    ASKED,
    BEFORE,
    HEBREW,
    OUTPUT,
    SIGNS,
    SOURCE,
    make_content,
    mark,
)

ABOUT = AnswerRow(1, 7, "errors")
SCALE: Spans = read_instrument(make_content()).criteria[0].scale  # type: ignore[assignment]
PARTS = f"{SIGNS}\nGood bye."
ACCENT = PARTS.index("\u0301")


def bind(output: str = OUTPUT, scale: Spans = SCALE, **cells: str) -> Spans:
    inputs = {"source": SOURCE, **cells}
    return scale.for_item(inputs, {"output", "source"}).for_output(output)


def clean(*entries: Any, scale: Spans | None = None) -> Any:
    field = (scale or bind()).make_field(QUESTION, "Conversation")
    return field.clean(json.dumps(entries))


def refuse(*entries: Any, scale: Spans | None = None) -> str:
    with pytest.raises(ValidationError) as refused:
        clean(*entries, scale=scale)
    return str(refused.value.code)


def test_a_mark_is_a_row_of_its_turn_and_the_score_is_of_all_turns():
    entries = [
        mark(7, "🙂", "spelling", text=PARTS),
        mark(5, "Thursday evening", "mistranslation", severity="major"),
        mark(6, "המעלית", "grammar"),
        mark(2, "until Friday", "omission", **{"in": "source"}),
    ]

    answer = clean(*entries)
    rows = bind().make_rows(answer, ABOUT, [7])

    assert [(row.turn, row.part, row.text) for row in rows] == [
        (5, "mistranslation", "Thursday evening"), (6, "grammar", "המעלית"), (7, "spelling", "🙂"),
        (2, "omission@source", "until Friday"), (0, "", ""),
    ]  # fmt: skip
    said = {5: ANSWERED, 6: HEBREW, 7: PARTS, 2: BEFORE[1]["content"]}
    assert all(said[row.turn][row.start : row.end] == row.text for row in rows[:-1])
    assert rows[-1].value == 8
    assert {row.asked_turn for row in rows} == {0}
    assert bind().read_rows(rows, [7]) == answer
    assert clean(*json.loads(bind().write_entry(answer, [0]))) == answer


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        # no such turn, not as a number, none at all; what tools are asked and say; no text
        (mark(5, "Thursday") | {"turn": 8}, "unknown_turn"),
        (mark(5, "Thursday") | {"turn": 0}, "unknown_turn"),
        (mark(5, "Thursday") | {"turn": -1}, "unknown_turn"),
        (mark(5, "Thursday") | {"turn": "5"}, "unknown_turn"),
        (mark(5, "Thursday") | {"turn": True}, "unknown_turn"),
        (mark(4, "Friday"), "unknown_turn"),
        ({"turn": 3, "start": 0, "end": 4, "quote": "lift"}, "unknown_turn"),
        ({"turn": 5, "quote": "Lift: out of order"}, "not_in_text"),
        # the place of another turn
        (mark(2, "lift was") | {"turn": 5}, "misfit"),
        (mark(1, "Be") | {"in": "source"}, "outside"),
        (mark(7, "Good bye.", text=PARTS) | {"in": "source"}, "unknown_turn"),
        ({"turn": 6, "start": 0, "end": len(ASKED), "quote": ASKED}, "outside"),
        ({"turn": 6, "start": len(HEBREW), "end": len(HEBREW) + 1, "quote": "?"}, "outside"),
        ({"turn": 6, "start": 3, "end": 3, "quote": ""}, "empty"),
        # an accent, and one of three people
        ({"turn": 7, "start": 0, "end": ACCENT, "quote": PARTS[:ACCENT]}, "split"),
        ({"turn": 7, "start": 0, "end": 7, "quote": PARTS[:7]}, "split"),
    ],
)
def test_a_mark_outside_of_the_text_of_its_turn_is_refused(entry, code):
    assert refuse({"category": "awkward", **MINOR, **entry}) == code


def test_a_text_has_no_turns():
    plain = SCALE.for_item({"source": "Is it?"}).for_output("It is.")

    entry = {"start": 0, "end": 2, "quote": "It", "category": "grammar", **MINOR}

    assert clean(entry, scale=plain).marks[0].turn == 0
    assert refuse({**entry, "turn": 1}, scale=plain) == "unknown_turn"


@pytest.mark.parametrize("text", ["No conversation.", "[]", '[{"content": "a"}]'])
def test_what_is_shown_as_it_is_written_is_marked_so(text):
    assert (split_turns(text), show_turns(text)) == ({0: text}, [])
    words = text[1:6]

    (marked,) = clean(
        {"start": 1, "end": 1 + len(words), "quote": words, "category": "grammar", **MINOR},
        scale=bind(text),
    ).marks

    assert (marked.turn, marked.quote) == (0, words)


def test_a_conversation_too_long_to_be_drawn_is_marked_as_it_is_written():
    text = json.dumps([{"role": "user", "content": "a"}] * 2_001)

    assert split_turns(text) == {0: text}
    assert show_turns(text) == []


def test_a_page_draws_the_texts_that_are_marked_under_the_numbers_of_their_turns():
    odd = [
        {"role": "user", "content": "a\x00b\ud800c"},
        {"role": "tool", "content": "r"},
        {"role": "assistant", "content": " \n"},
        {"role": "assistant", "content": {"a": 1}},
    ]

    for text in (OUTPUT, json.dumps(odd)):
        shown = {number: turn.text for number, turn in enumerate(show_turns(text), start=1)}
        assert split_turns(text) == {n: words for n, words in shown.items() if words.strip()}
    assert split_turns(json.dumps(odd)) == {1: "a\ufffdb\ufffdc", 4: '{"a": 1}'}


@given(
    texts=st.lists(st.text(WORDS, min_size=1, max_size=20), min_size=1, max_size=4),
    data=st.data(),
)
def test_places_count_code_points_of_the_turn(texts, data):
    said = [{"role": "user", "content": text} for text in texts]
    scale = bind(json.dumps(said))
    turns = split_turns(json.dumps(said))
    if not turns:
        return
    turn = data.draw(st.sampled_from(sorted(turns)))
    text = texts[turn - 1]
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    start = data.draw(st.integers(0, len(shown) - 1))
    end = data.draw(st.integers(start + 1, len(shown)))
    entry = {"turn": turn, "start": start, "end": end, "quote": shown[start:end],
             "category": "grammar", **MINOR}  # fmt: skip
    if is_split(shown, start) or is_split(shown, end):
        assert refuse(entry, scale=scale) == "split"
        return

    answer = clean(entry, scale=scale)

    (row, _score) = scale.make_rows(answer, ABOUT, [7])
    assert (row.turn, text[row.start : row.end]) == (turn, row.text)
    assert clean(*json.loads(scale.write_entry(answer, [0])), scale=scale) == answer


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"quote": "Thursday evening"}, (5, ANSWERED.index("Thursday evening"))),
        # counted through all turns, of which what a tool returned is none
        ({"quote": "Friday", "nth": "1"}, (2, ASKED.index("Friday"))),
        ({"quote": "Friday", "nth": "3"}, (5, ANSWERED.rindex("Friday"))),
        # or in the turn that is named
        ({"turn": 2, "quote": "Friday"}, (2, ASKED.index("Friday"))),
        ({"turn": 5, "quote": "Friday", "nth": "1"}, (5, ANSWERED.index("Friday"))),
        ({"quote": "Good   bye."}, (7, PARTS.index("Good"))),
    ],
)
def test_without_scripts_a_passage_is_found_in_its_turn(entry, place):
    (marked,) = clean({**entry, "category": "grammar", **MINOR}).marks

    assert (marked.turn, marked.start) == place


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"quote": "Friday"}, "which"), ({"quote": "Friday", "nth": "4"}, "which"),
        ({"quote": "Lift: out of order"}, "not_in_text"), ({"quote": ""}, "empty"),
        ({"quote": "Friday. Thanks"}, "not_in_text"),
        ({"quote": "Friday", "turn": 6}, "not_in_text"),
        ({"quote": "Friday", "turn": 9}, "unknown_turn"),
    ],
)  # fmt: skip
def test_a_passage_that_no_turn_has_is_refused(entry, code):
    assert refuse({**entry, "category": "grammar", **MINOR}) == code


def test_something_missing_is_at_the_end_of_the_last_turn_unless_it_says_where():
    scale = bind(scale=SCALE.model_copy(update={"omission": read_omission()}))
    end = {"missing": True, "category": "grammar", **MINOR}
    after = {**end, "quote": "lift was"}

    marks = clean(end, after, scale=scale).marks

    assert [(each.turn, each.start, each.end) for each in marks] == [
        (2, ASKED.index("lift was") + 8, ASKED.index("lift was") + 8), (7, len(PARTS), len(PARTS)),
    ]  # fmt: skip


def read_omission() -> Any:
    content = make_content(omission={"label": "Something is missing"})
    return read_instrument(content).criteria[0].scale.omission  # type: ignore[attr-defined]


def test_a_category_of_the_whole_text_covers_its_turn_and_stands_alone_there():
    whole = mark(5, "Thursday", "non_translation", severity="major")

    answer = clean(whole, mark(6, "האם", "grammar"))

    assert [(each.turn, each.quote) for each in answer.marks] == [(5, ANSWERED), (6, "האם")]
    assert refuse(whole, mark(5, "lift", "grammar")) == "whole_beside_marks"
    # without scripts its turn is that of the passage
    quoted = {"quote": "Thursday evening", "category": "non_translation", "severity": "major"}
    assert clean(quoted).marks[0].quote == ANSWERED
    assert refuse(quoted | {"quote": ""}) == "empty"


def test_the_same_words_in_two_turns_are_two_marks():
    said = json.dumps([{"role": "user", "content": "Yes."}] * 2)
    entries = [
        {"turn": turn, "start": 0, "end": 4, "quote": "Yes.", "category": "grammar", **MINOR}
        for turn in (2, 1)
    ]

    answer = clean(*entries, scale=bind(said))

    assert [each.turn for each in answer.marks] == [1, 2]
    assert refuse(entries[0], entries[0], scale=bind(said)) == "twice"


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ([{"quote": "Thursday", "turn": 5}], ""),
        ([mark(5, "Thursday", "grammar")], ""),
        ([{"quote": "Thursday", "turn": 2}], "suggested_spans"),
        ([{"quote": "Thursday", "turn": 4}], "suggested_spans"),
        ([{"start": 0, "end": 1}], "suggested_spans"),
    ],
)
def test_a_column_marks_turns_beforehand(cell, fault):
    scale = bind(suggested_spans=json.dumps(cell))

    assert scale.find_item_fault()[0] == fault
    if not fault:
        (marked,) = scale.view_entry(scale.start_entry).marks
        assert (marked.mark.turn, marked.quote) == (5, "Thursday")


@pytest.mark.parametrize(
    ("gold", "met"),
    [
        ([{"quote": "Thursday"}], [True]),
        ([{"quote": "Thursday", "turn": 5}], [True]),
        ([{"quote": "Friday", "turn": 2}], [False]),
        # the same place of another turn
        ([{"quote": ASKED[:200], "turn": 2}], [False]),
        ([{"quote": "Thursday", "turn": 2}], [False]),
    ],
)
def test_gold_is_met_in_its_turn(gold, met):
    answer = clean(mark(5, "until\nThursday".replace("\n", " "), "grammar"))

    judged = bind().judge(bind().parse_gold(json.dumps(gold), ["alpha"]), [answer], None, ["C"])

    assert [is_met for is_met, _words in judged] == met


def test_a_researchers_marks_become_gold_that_they_meet():
    answer = clean(mark(5, "Friday", "grammar"), mark(2, "lift", "grammar"))

    gold = bind().write_gold([answer])

    assert [(part["turn"], part["quote"], part["nth"]) for part in json.loads(gold)[0]] == [
        (2, "lift", 1), (5, "Friday", 1),
    ]  # fmt: skip
    right = bind().parse_gold(gold, ["alpha"])
    assert all(is_met for is_met, _words in bind().judge(right, [answer], None, ["C"]))
    with pytest.raises(ValidationError):
        bind().parse_gold('[{"quote": "lift", "turn": "2"}]', ["alpha"])


def test_words_name_the_turn():
    rows = bind().make_rows(clean(mark(5, "Thursday", "grammar")), ABOUT, [7])

    assert bind().describe_answer(rows) == "“Thursday” in turn 5: Grammar, Minor (penalty 1)"


def test_simulated_people_mark_turns_that_have_words():
    entries = [bind().answer_as_bot([worth / 10], 1) for worth in range(-40, 40)]

    marks = [each for entry in entries for each in clean(*json.loads(entry)).marks]

    assert len({each.turn for each in marks}) > 2
    assert {each.column for each in marks} == {"output"}


def test_an_example_quotes_what_turns_say():
    content = make_content()
    said = [{"role": "user", "content": "Say “a”.\nThen b."}, {"role": "assistant", "content": "a"}]
    example = {"inputs": {"source": BEFORE}, "outputs": [said], "why": "So."}
    gold = [[{"quote": "“a”.\nThen", "turn": 1, "category": "grammar", "severity": "minor"}]]

    read_instrument({**content, "examples": [{**example, "ratings": {"errors": gold}}]})
    gold[0][0]["quote"] = "role"
    with pytest.raises(InvalidInstrument) as refused:
        read_instrument({**content, "examples": [{**example, "ratings": {"errors": gold}}]})

    assert [fault.code for fault in refused.value.faults] == ["quote_not_found"]
