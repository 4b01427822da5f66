"""An order of the outputs, and the best and the worst: what pages take, and what is stored."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.scales import Scale, read_scale
from evalsite.instruments.schema import Criterion

NAMES = ["Text A", "Text B", "Text C"]
ABOUT = AnswerRow(1, None, "order")
BEST_WORST = {"kind": "best_worst", "best": "Best", "worst": "Worst"}


def make(names: list[str] = NAMES, **parameters: Any) -> Scale:
    return read_scale({"kind": "ranking", **parameters}).for_outputs(names)


def make_ends(names: list[str] = NAMES) -> Scale:
    return read_scale(BEST_WORST).for_outputs(names)


def clean(scale: Scale, entry: str) -> Any:
    criterion = Criterion.model_construct(key="order", label="Order", per="item", scale=scale)
    return scale.make_field(criterion, "Text").clean(entry)


def refuse(scale: Scale, entry: str) -> tuple[str, str]:
    """Return code and sentence of what is wrong with an entry."""
    with pytest.raises(ValidationError) as caught:
        clean(scale, entry)
    return str(caught.value.code), caught.value.messages[0]


# --- an order ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "entry", "code", "message"),
    [
        ({}, "", "required", "Give each output a place for “Order”"),
        ({}, "- - -", "required", "Give each output a place for “Order”"),
        ({}, "1 2 -", "incomplete", "Give each output a place for “Order”: 1 is still missing"),
        ({}, "1 2", "incomplete", "Give each output a place for “Order”: 1 is still missing"),
        ({}, "1", "incomplete", "Give each output a place for “Order”: 2 are still missing"),
        ({}, "1 3 -", "gap", "No output has place 2 for “Order”. Number the places without gaps"),
        ({}, "2 3 -", "gap", "No output has place 1 for “Order”. Number the places without gaps"),
        ({}, "2 2 1", "shared",
         "Text A and Text B have the same place for “Order”. Give each a place of its own"),
        ({}, "1 2 4", "invalid",
         "Give each output a place for “Order”: that was not one of the answers"),
        ({}, "1 2 3 3", "invalid",
         "Give each output a place for “Order”: that was not one of the answers"),
        ({}, "1 2 ３", "invalid",
         "Give each output a place for “Order”: that was not one of the answers"),
        ({"ties": True}, "1 1 -", "incomplete",
         "Give each output a place for “Order”: 1 is still missing"),
        ({"ties": True}, "2 2 2", "gap",
         "No output has place 1 for “Order”. Number the places without gaps"),
        ({"top": 2}, "1 - -", "incomplete",
         "Give 2 outputs a place for “Order”: 1 is still missing"),
        ({"top": 2}, "1 2 3", "invalid",
         "Give 2 outputs a place for “Order”: that was not one of the answers"),
        ({"top": 1}, "- - -", "required", "Give 1 output a place for “Order”"),
    ],
)  # fmt: skip
def test_order_that_is_none_is_refused_with_a_sentence(parameters, entry, code, message):
    assert refuse(make(**parameters), entry) == (code, message)


@pytest.mark.parametrize(
    ("parameters", "entry", "places"),
    [
        ({}, "2 3 1", (2, 3, 1)),
        ({"ties": True}, "1 1 1", (1, 1, 1)),
        ({"ties": True}, "1 1 2", (1, 1, 2)),
        # numbered as in sports: the same order
        ({"ties": True}, "1 1 3", (1, 1, 2)),
        ({"top": 2}, "2 - 1", (2, None, 1)),
        ({"top": 5}, "2 3 1", (2, 3, 1)),
        ({"top": 1, "ties": True}, "1 1 -", (1, 1, None)),
    ],
)
def test_order_is_taken_and_numbered_without_gaps(parameters, entry, places):
    assert clean(make(**parameters), entry) == places


def test_ten_outputs_can_be_put_in_order():
    scale = make([f"Text {number}" for number in range(10)])

    assert clean(scale, "10 9 8 7 6 5 4 3 2 1") == tuple(range(10, 0, -1))


def test_places_are_stored_by_output_and_read_back_in_the_order_of_the_file():
    scale = make(top=2)

    # the page shows the outputs 13, 11, 12; its second got no place
    rows = scale.make_rows((2, None, 1), ABOUT, [13, 11, 12])

    assert [(row.output, row.value) for row in rows] == [(13, 2), (12, 1)]
    value = scale.read_rows(rows, [11, 12, 13])
    assert value == (None, 1, 2)
    assert scale.write_entry(value, (2, 0, 1)) == "2 - 1"


def test_list_follows_the_places_and_says_them_in_words():
    scale = make(ties=True)

    assert [row.number for row in scale.view_entry("2 - 1")] == [3, 1, 2]
    assert scale.name_entry("2 1 1") == "Text B and Text C, then Text A"
    assert scale.name_entry("") == ""


@pytest.mark.parametrize(
    ("gold", "value", "is_met"),
    [
        ("1, 2, 3", (1, 2, 3), True),
        ("1, 2, 3", (1, 3, 2), False),
        # nothing is asked about the second
        ("1, , 2", (1, 2, 3), True),
        ("1, , 2", (2, 1, 3), True),
        ("1, , 2", (3, 1, 2), False),
        # what has no place comes after all that have one
        ("1, , 2", (1, 2, None), True),
    ],
)
def test_right_order_compares_what_it_names(gold, value, is_met):
    scale = make()
    right = scale.parse_gold(gold, ["a", "b", "c"])

    ((found, sentence),) = scale.judge(right, [value], None, NAMES)

    assert found is is_met
    assert "Text A" in sentence


@pytest.mark.parametrize("gold", ["1, 2", "1, 1, 2", "1, , ", "1, 2, 4", "a > b > c"])
def test_right_order_that_orders_nothing_is_refused(gold):
    with pytest.raises(ValidationError):
        make().parse_gold(gold, ["a", "b", "c"])


@pytest.mark.parametrize("parameters", [{}, {"ties": True}, {"top": 1}, {"top": 2}])
def test_simulated_people_and_right_values_are_orders(parameters):
    scale = make(**parameters)

    felt = scale.answer_as_bot([0.1, 2.0, 0.12], 0)
    assert clean(scale, felt)[1] == 1
    (right,) = scale.right_values(scale.parse_gold("2, , 1", NAMES), 3, None)
    assert clean(scale, scale.write_entry(right, (0, 1, 2))) == right


# --- the best and the worst -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        ("", "required", "Choose “Best” and “Worst” for “Order”"),
        ("1 -", "incomplete",
         "Choose “Best” and “Worst” for “Order”: “Worst” is still missing"),
        ("- 2", "incomplete", "Choose “Best” and “Worst” for “Order”: “Best” is still missing"),
        ("2 2", "same", "Text B can’t be both “Best” and “Worst”. Choose two different ones"),
        ("1 4", "invalid",
         "Choose “Best” and “Worst” for “Order”: that was not one of the answers"),
        ("1 2 3", "invalid",
         "Choose “Best” and “Worst” for “Order”: that was not one of the answers"),
        ("0 1", "invalid",
         "Choose “Best” and “Worst” for “Order”: that was not one of the answers"),
    ],
)  # fmt: skip
def test_best_and_worst_that_are_none_are_refused_with_a_sentence(entry, code, message):
    assert refuse(make_ends(), entry) == (code, message)


def test_best_and_worst_are_two_rows_and_read_back_by_the_order_of_the_file():
    scale = make_ends()

    rows = scale.make_rows(clean(scale, "3 1"), ABOUT, [13, 11, 12])

    assert [(row.output, row.value) for row in rows] == [(12, 1), (13, -1)]
    value = scale.read_rows(rows, [11, 12, 13])
    assert value == (2, 3)
    assert scale.write_entry(value, (2, 0, 1)) == "3 1"
    assert scale.name_entry("3 1") == "Best: Text C, Worst: Text A"
    assert [scale.describe_answer([row]) for row in rows] == ["Best", "Worst"]


@pytest.mark.parametrize(
    ("gold", "asked", "met"),
    [
        ("best: alpha", 1, 1),
        ("worst: alpha", 1, 0),
        ("best: alpha; worst: gamma", 2, 2),
        ("Best: 1; Worst: 2", 2, 1),
    ],
)
def test_right_ends_are_named_by_system_or_number(gold, asked, met):
    scale = make_ends()
    right = scale.parse_gold(gold, ["alpha", "beta", "gamma"])

    judged = scale.judge(right, [(1, 3)], None, NAMES)

    assert (len(judged), sum(is_met for is_met, _ in judged)) == (asked, met)
    (value,) = scale.right_values(right, 3, None)
    assert all(is_met for is_met, _ in scale.judge(right, [value], None, NAMES))


@pytest.mark.parametrize("gold", ["alpha", "best: delta", "best: alpha; worst: alpha", "best:"])
def test_right_ends_that_name_nothing_are_refused(gold):
    with pytest.raises(ValidationError):
        make_ends().parse_gold(gold, ["alpha", "beta", "gamma"])


def test_gold_in_data_is_that_of_the_column():
    scale = make_ends()

    assert scale.gold_from_data({"best": 1, "worst": 3}) == "best: 1; worst: 3"
    assert scale.gold_to_data("worst: 3") == {"worst": 3}
    assert make().gold_to_data(make().gold_from_data([1, None, 2])) == [1, None, 2]
