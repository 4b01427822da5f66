"""Files of ratings that are refused, each with a sentence that says what to do, and where."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalsite.imports.ratings.checking import CheckedRatings
from evalsite.studies.models import Batch, Study
from tests.batches import import_rows, make_rows
from tests.factories import add_batch, launch
from tests.imported import Row, check, load, rows_for

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2)


@pytest.fixture
def pairs(make_study: Callable[..., Any]) -> Study:
    study = make_study(items=0, protocol="pairwise")
    import_rows(study, make_rows(study.config, items=2))
    return study


@pytest.fixture
def replies(make_study: Callable[..., Any]) -> Study:
    study = make_study(items=0, protocol="rrgen")
    import_rows(study, make_rows(study.config, items=2))
    return study


def told(checked: CheckedRatings) -> list[str]:
    assert not checked.is_importable
    assert checked.answers == []
    return [str(fault) for fault in checked.faults]


@pytest.mark.parametrize(
    ("field", "cell", "words"),
    [
        ("item", "item-2", "line 2 (record 1), item: There is no item “item-2” in this study. Did "
                           "you mean “item-002”?"),
        ("item", "", "line 2 (record 1), item: The item is empty. Give its id."),
        ("item", "practice-1", "line 2 (record 1), item: “practice-1” is an item of kind practice."
                               " Only answers to main items can be imported. Take these rows out."),
        ("system", "gpt", "line 2 (record 1), system: “gpt” is not a system of this item. It has "
                          "baseline, neural, template."),
        ("system", "", "line 2 (record 1), system: Name the system of this item. It has baseline, "
                       "neural, template."),
        ("criterion", "warmth", "line 2 (record 1), criterion: “warmth” is not a criterion of this "
                                "study. The criteria are: informativeness."),
        ("criterion", "", "line 2 (record 1), criterion: It is empty. The criteria are: "
                          "informativeness."),
        ("value", "0", "line 2 (record 1), value: Score for this output must be 1 or more"),
        ("value", "1000000", "line 2 (record 1), value: Score for this output must be 999999 or "
                             "less"),
        ("value", "7.5", "line 2 (record 1), value: Score for this output must be a whole number, "
                         "like 70 (no decimals, commas or letters)"),
        ("value", "", "line 2 (record 1), value: Enter a score for this output"),
        ("participant", "", "line 2 (record 1), participant: The participant is empty. Say in every"
                            " row who rated; any name will do."),
        ("participant", " w1", "line 2 (record 1), participant: The participant has a space around "
                               "it or a sign that can't be seen. Remove it."),
        ("participant", "w" * 201, "line 2 (record 1), participant: The name of a participant may "
                                   "have 200 letters; this one has 201. Shorten it."),
        ("place", "4", "line 2 (record 1), place: The place is 4, but the item has 3 outputs."),
        ("place", "2", "line 3 (record 2), place: Place 2 does not go with an earlier row of this "
                       "participant and item: an output stands in one place, and a place holds one "
                       "output."),
        ("place", "first", "line 2 (record 1), place: “first” is no place. Write where the output "
                           "stood: 1 for the first."),
        ("submitted_at", "t" * 65, "line 2 (record 1), submitted_at: The time may have 64 letters; "
                                   "this one has 65. Shorten it."),
        ("note", "n" * 5001, "line 2 (record 1), note: The note may have 5,000 letters; this one "
                             "has 5,001. Shorten it."),
        ("value_typed", "99", "line 2 (record 1), value: The value 70 is not what was typed: “99”."
                              " Correct one."),
        ("order_shown", "1 2", "line 2 (record 1), order_shown: “1 2” is no order of the outputs. "
                               "Name each once, by its system or its number in the batch, such as "
                               "1, 2, 3."),
        ("order_shown", "3 2 1", "line 2 (record 1): The places are not those of the order that "
                                 "the file gives as well."),
    ],
)  # fmt: skip
def test_a_wrong_cell_is_named_with_its_place(
    study: Study, field: str, cell: str, words: str
) -> None:
    rows = [{"submitted_at": "", "note": "", "value_typed": "", "order_shown": "", **row}
            for row in rows_for(study, ["w1"])]  # fmt: skip
    rows[0] = {**rows[0], "value": "70", "value_typed": "", **{field: cell}}

    assert words in told(check(study, rows))


@pytest.mark.parametrize(("field", "cell"), [("system", "gpt"), ("item", "item-999")])
def test_a_faulty_value_is_told_of_beside_an_unknown_system_or_item(
    study: Study, field: str, cell: str
) -> None:
    rows = rows_for(study)
    rows[0] |= {field: cell, "value": "1.5"}

    faults = told(check(study, rows))

    mine = [fault for fault in faults if fault.startswith("line 2 ")]
    assert len(mine) == 2
    assert "must be a whole number" in "".join(mine)


def test_the_same_rating_twice_is_refused(study: Study) -> None:
    rows = rows_for(study)

    assert told(check(study, [*rows, rows[1]])) == [
        "line 8 (record 7): “w1” rated informativeness of neural in item item-001 in record 2 "
        "already. Take one of the two out."
    ]


def test_an_answer_that_stands_is_not_given_twice(study: Study) -> None:
    rows = rows_for(study)
    load(study, rows)

    faults = told(check(study, [row | {"note": "again"} for row in rows]))

    assert faults[0] == (
        "line 2 (record 1), participant: “w1” has answered this item already, in ratings.csv. A "
        "participant answers an item once: undo that file, or take these rows out."
    )
    assert len(faults) == 2


def test_what_an_answer_lacks_is_named(replies: Study) -> None:
    rows = rows_for(replies)

    faults = told(check(replies, [rows[0], *rows[5:]]))

    assert faults == [
        "line 2 (record 1): “w1” did not rate all of item item-1. Missing: fluency of alpha; "
        "sentiment of alpha; domain of alpha and 1 more. Add it, or say that incomplete answers "
        "are fine."
    ]


def test_a_faulty_row_is_told_of_once(replies: Study) -> None:
    rows = rows_for(replies)
    rows[0]["value"] = "9"
    rows[6]["place"] = "x"

    assert told(check(replies, rows)) == [
        "line 2 (record 1), value: “9” is no answer on relevance. Use 1, 2, 3, 4, 5, 6 or 7.",
        "line 8 (record 7), place: “x” is no place. Write where the output stood: 1 for the first.",
    ]


@pytest.mark.parametrize(
    ("cell", "value"), [("ACCEPT", 1), ("reject", 0), ("1", 1), ("0", 0), (" 1 ", 1)]
)
def test_a_decision_may_be_said_in_its_words(replies: Study, cell: str, value: int) -> None:
    rows = rows_for(replies)
    rows[4]["value"] = cell

    (answer, _) = check(replies, rows).answers

    assert answer.ratings["decision", 0].value == value


@pytest.mark.parametrize("cell", ["yes", "2", "", "true"])
def test_a_decision_takes_no_other_words(replies: Study, cell: str) -> None:
    rows = rows_for(replies)
    rows[4]["value"] = cell

    (fault,) = told(check(replies, rows))

    assert fault.endswith("no answer on decision. Use ACCEPT, REJECT, 1 or 0.")


def test_the_label_of_another_point_says_that_a_scale_was_turned_round(replies: Study) -> None:
    rows = [row | {"label": ""} for row in rows_for(replies)]
    rows[0] |= {"value": "2", "label": "Completely"}
    rows[1] |= {"label": "our own words"}

    assert told(check(replies, rows)) == [
        "line 2 (record 1), value: The value is 2, but “Completely” is the label of 7. See whether "
        "the scale is the same."
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"preferred": "gamma"}, "“gamma” is not a system of this item. Write alpha, beta or tie."),
        ({"preferred": ""}, "The cell is empty. Write alpha, beta or tie."),
        ({"shown_first": "gamma"}, "“gamma” is not a system of this item. It has alpha, beta."),
    ],
)
def test_a_preference_names_a_system_of_the_item(pairs: Study, changes: Row, words: str) -> None:
    rows = [row | {"shown_first": ""} for row in rows_for(pairs)]
    rows[0] |= changes

    (fault,) = told(check(pairs, rows))

    assert words in fault


@pytest.mark.parametrize("cell", ["tie", "Tie", "TIE"])
def test_a_tie_is_a_tie_however_it_is_written(pairs: Study, cell: str) -> None:
    rows = rows_for(pairs)
    rows[0]["preferred"] = cell

    answer = check(pairs, rows).answers[0]

    assert answer.ratings["completion", None].output_id is None


def test_items_of_a_batch_that_is_not_open_are_refused_once_launched(study: Study) -> None:
    launch(study)
    add_batch(study, items=1, first=3)
    later = study.items.get(key="item-003")

    (fault, *_) = told(check(study, rows_for(study, ["w1"], [later])))

    assert "The batch of “item-003” is not open to participants yet." in fault


def test_names_that_look_alike_are_told_of_and_stay_two(study: Study) -> None:
    checked = check(study, rows_for(study, ["W1", "w1"]))

    assert checked.participants == ["W1", "w1"]
    assert "“W1” and “w1”" in str(checked.remarks[0])


# --- columns --------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [["{first}", "{second}"], ["alpha_{first}", "beta {second}"]])
def test_wide_form_is_told_to_be_reshaped(replies: Study, columns: list[str]) -> None:
    first, second = [criterion.key for criterion in replies.config.criteria][:2]
    names = [one.format(first=first, second=second) for one in columns]

    checked = check(replies, f"participant,item,{names[0]},{names[1]}\nw1,item-1,3,4\n")

    (fault,) = checked.faults
    assert f"several ratings, in columns such as “{names[0]}” and “{names[1]}”" in str(fault)
    assert "in the long form: a row for each rating" in str(fault)


def test_missing_columns_are_named_with_what_they_hold(replies: Study) -> None:
    faults = told(check(replies, "raters,item,system,value\nw1,item-1,alpha,3\n"))

    assert faults == [
        "line 1, participant: Column “participant” (who rated) is missing. Found: raters, item, "
        "system, value. Did you mean “raters”? Map it, or rename it.",
        "line 1, criterion: Column “criterion” (what was rated) is missing. Found: raters, item, "
        "system, value. Map a column to it, or add it.",
    ]


def test_columns_of_other_names_are_recognised(study: Study) -> None:
    text = (
        "_worker_id,MR ID,team,score,_created_at\n"
        "w1,item-001,neural,80,x\nw1,item-001,baseline,70,x\nw1,item-001,template,90,x\n"
    )

    checked = check(study, text)

    assert checked.mapping == {
        "_worker_id": "participant",
        "MR ID": "item",
        "team": "system",
        "score": "value",
        "_created_at": "submitted_at",
    }
    assert checked.answers[0].time == "x"


def test_the_mapping_of_the_researcher_wins(study: Study) -> None:
    text = "a,item,system,value\nw1,item-001,neural,80\n"

    checked = check(study, text, mapping={"a": "participant"}, keeps_incomplete=True)

    assert checked.participants == ["w1"]
    assert "both mapped" in told(check(study, text, mapping={"a": "item"}))[0]
    assert "no field “colour”" in told(check(study, text, mapping={"a": "colour"}))[0]


def test_a_file_of_practice_alone_has_nothing_to_import(study: Study) -> None:
    rows = [row | {"kind": "practice"} for row in rows_for(study)]

    assert told(check(study, rows)) == [
        "No row is left to import: 6 rows stayed out, by their kind or status."
    ]


@pytest.mark.parametrize("text", ["", "participant,item\n", "a\x00b,c\n1,2\n", "item,item\n1,2\n"])
def test_files_that_hold_nothing_to_read_are_refused(study: Study, text: str) -> None:
    assert told(check(study, text))


_CELLS = st.sampled_from(
    ["w1", "w2", "item-001", "item-002", "neural", "informativeness", "70", "", "tie", "\x00", "1",
     "=1+1", "ü", "1e9", "-5", "９", "item-001\n"]
)  # fmt: skip


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    header=st.lists(
        st.sampled_from(["participant", "item", "system", "criterion", "value", "place", "x"]),
        min_size=1, max_size=7,
    ),
    rows=st.lists(st.lists(_CELLS, max_size=7), max_size=8),
)  # fmt: skip
def test_whatever_the_cells_hold_a_file_is_taken_whole_or_told_of(
    study: Study, header: list[str], rows: list[list[str]]
) -> None:
    lines = [",".join(f'"{cell}"' for cell in row) for row in [header, *rows]]

    checked = check(study, "\n".join(lines))

    assert bool(checked.faults) != checked.is_importable
    assert Batch.objects.filter(opened_at__isnull=False).count() == 0
