"""What is asked about what: names, targets, and answers from entry to row and back."""

import json
from typing import Any

import pytest

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.checks import read_instrument
from evalsite.instruments.installed import get_protocol
from evalsite.instruments.questions import (
    NumberedText,
    Question,
    group_questions,
    list_questions,
    match_rows,
    number_texts,
    read_values,
)
from evalsite.instruments.schema import Instrument
from tests.instruments.test_object import TURNS, read_gallery_file
from tests.support.kinds import read_kinds

# shown in another order than they were uploaded in
SHOWN = [NumberedText(31, 2, "c"), NumberedText(11, 0, "a"), NumberedText(21, 1, "b")]


def make_instrument(number: int = 0, **changes: Any) -> Instrument:
    data = json.loads(json.dumps(read_kinds()[number]))
    return read_instrument(data | changes)


def list_targets(questions: list[Question]) -> list[tuple[str, int | None, int, str]]:
    return [(asked.name, asked.output, asked.turn, asked.label) for asked in questions]


def test_questions_about_several_outputs_are_named_after_their_places_on_the_page():
    asked = list_questions(get_protocol("magnitude"), {}, SHOWN)

    assert list_targets(asked)[:3] == [
        ("informativeness-1", 31, 0, "Utterance 1"),
        ("informativeness-2", 11, 0, "Utterance 2"),
        ("informativeness-3", 21, 0, "Utterance 3"),
    ]
    assert [question.output for question in group_questions(asked)["informativeness"]] == [
        11, 21, 31,
    ]  # fmt: skip


def test_question_about_the_only_output_or_the_item_is_named_after_its_criterion():
    outputs = number_texts(["First.", "Second."])

    (of_output, *_) = list_questions(get_protocol("rrgen"), {}, number_texts(["Text."]))
    (of_pair, *_) = list_questions(get_protocol("pairwise"), {}, outputs)

    assert (of_output.name, of_output.output, of_output.subject) == (of_output.criterion.key, 1, 0)
    assert (of_pair.name, of_pair.output, of_pair.place) == (of_pair.criterion.key, None, 0)


@pytest.mark.parametrize(("cell", "turns"), [("", [2, 4]), ("4", [4]), ("2;4", [2, 4]), ("2", [2])])
def test_turns_that_the_item_names_are_asked_about(cell: str, turns: list[int]):
    instrument = read_gallery_file("conversation_turns")

    asked = list_questions(instrument, {"rated_turns": cell}, number_texts([json.dumps(TURNS)]))

    (by_turn, *_) = group_questions(asked).values()
    assert list_targets(by_turn) == [
        (f"turn_quality-{turn}", 1, turn, f"Turn {turn}") for turn in turns
    ]


def test_rows_belong_to_the_question_about_their_output_and_turn():
    asked = list_questions(get_protocol("magnitude"), {}, SHOWN)
    key = asked[0].criterion.key
    rows = [
        AnswerRow(1, 11, key, value=40),
        AnswerRow(1, 31, key, value=90),
        AnswerRow(1, 11, key, part="comment", text="Short."),
        AnswerRow(1, 11, key, turn=2, value=7),
        AnswerRow(1, 11, "another", value=8),
    ]

    matched = {question.output: answered for question, answered in match_rows(asked[:3], rows)}

    assert matched == {31: [rows[1]], 11: [rows[0], rows[2]], 21: []}
    assert read_values(group_questions(asked)[key], rows) == [40, None, 90]


def test_preference_goes_to_the_output_whatever_its_place_on_the_page():
    instrument = get_protocol("pairwise")
    for shown in (SHOWN[1:], SHOWN[:0:-1]):
        (question, *_) = list_questions(instrument, {}, shown)
        field = question.make_field(is_one_of_several=True)

        (row,) = question.make_rows(field.clean("first"), AnswerRow(1, None, "c"))

        assert row.output == shown[0].pk
        value = question.read_rows([row])
        assert value.better == [11, 21].index(shown[0].pk) + 1
        assert question.write_entry(value) == "first"
