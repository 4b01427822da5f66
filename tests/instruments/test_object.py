"""An instrument as the object that pages work with: nothing is stored twice, copies are whole."""

import json
from typing import Any

import pytest
from django.conf import settings

from evalsite.instruments.checks import read_instrument
from evalsite.instruments.installed import get_protocol
from evalsite.instruments.questions import read_ratings, write_gold
from evalsite.instruments.schema import Example, Instrument
from tests.support.kinds import read_kinds

FOLDER = settings.BASE_DIR / "fixtures" / "instruments"
TURNS = [
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "Is it open?"},
    {"role": "assistant", "content": "Yes."},
]


def read_gallery_file(name: str) -> Instrument:
    return read_instrument(json.loads((FOLDER / f"{name}.json").read_bytes()))


def answer_turns(**parts: Any) -> Example:
    data = {"inputs": {"rated_turns": "2;4"}, "outputs": [TURNS], "why": "-"}
    return Example.model_validate(data | parts)


@pytest.mark.parametrize("data", read_kinds(), ids=lambda data: data["key"])
def test_instrument_of_the_tests_is_written_back_as_it_is(data: dict[str, Any]):
    assert read_instrument(data).to_data() == data


def test_copy_computes_anew_what_the_original_has_cached():
    instrument = get_protocol("fluency")
    first, second = instrument.criterion_by_key.values()

    renamed = first.model_copy(update={"label": "Readability"})
    copied = instrument.model_copy(update={"criteria": [renamed, second]})

    assert first.fingerprint != renamed.fingerprint
    assert copied.criterion_by_key["fluency"].label == "Readability"
    assert instrument.criterion_by_key["fluency"] is first


def test_cells_and_texts_of_an_example_are_those_of_a_file():
    example = answer_turns(columns={"claims": [["It is open.", "It is late."]]})
    plain = answer_turns(outputs=["One text."], columns={"claims": ["It is open."]})

    assert example.cells == {"rated_turns": "2;4", "claims": "It is open.\nIt is late."}
    assert [json.loads(text) for text in example.texts] == [TURNS]
    assert (plain.cells["claims"], plain.texts) == ("It is open.", ("One text.",))


def test_turn_that_the_database_has_sorted_begins_with_its_role():
    example = answer_turns(outputs=[[{"content": "Hi.", "role": "user", "at": 1}]])

    assert example.texts == ('[{"role": "user", "content": "Hi.", "at": 1}]',)


def test_ratings_and_gold_in_data_become_values_and_the_text_of_a_gold_column():
    instrument = read_gallery_file("conversation_turns")
    ratings = {"turn_quality": [[5, None]], "goal_reached": [1], "overall": [4]}
    gold = {"turn_quality": [["4..5", "1..2"]], "goal_reached": [0], "overall": ["1..3"]}
    example = answer_turns(ratings=ratings, gold=gold)

    read = [read_ratings(criterion, example) for criterion in instrument.criteria]

    assert read == [(5, None), (), (1,), (4,)]
    assert write_gold(instrument, example) == {
        "turn_quality": "4..5, 1..2",
        "goal_reached": "no",
        "overall": "1..3",
    }


def test_answer_about_the_item_as_a_whole_is_no_list_in_data():
    data = json.loads((FOLDER / "summeval.json").read_bytes())
    data["criteria"][0] |= {"per": "item"}
    key = data["criteria"][0]["key"]
    data.pop("examples", None)
    data["practice"] = [data["practice"][0] | {"gold": {key: "2..3"}, "ratings": {key: 2}}]

    instrument = read_instrument(data)

    (example,) = instrument.practice
    assert read_ratings(instrument.criteria[0], example) == (2,)
    assert write_gold(instrument, example) == {key: "2..3"}


def test_instrument_names_every_function_that_it_calls():
    prefix = "protocols.magnitude"

    assert get_protocol("magnitude").hook_names == {
        f"{prefix}.hooks.item_context",
        f"{prefix}.hooks.standard_score",
        f"{prefix}.forms.StandardForm",
    }
    assert get_protocol("fluency").hook_names == frozenset()
