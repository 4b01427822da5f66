"""Files of ratings that are refused, each with a sentence that says what to do, and where."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalsite.data.ratings.answers import CheckedRatings
from evalsite.studies.models import Batch, Study
from tests.support.batches import import_rows, make_rows
from tests.support.factories import add_batch, launch
from tests.support.imported import Row, check, load, rows_for

pytestmark = pytest.mark.django_db


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


def list_faults(checked: CheckedRatings) -> list[tuple[int | None, str, str]]:
    """The line, column and code of each fault of a file that is not imported."""
    assert not checked.is_importable
    assert checked.answers == []
    return [(fault.line, fault.column, fault.code) for fault in checked.faults]


@pytest.mark.parametrize(
    ("field", "cell", "fault"),
    [
        ("item", "item-2", (2, "item", "item_unknown")),
        ("item", "", (2, "item", "cell_empty")),
        ("item", "practice-1", (2, "item", "item_kind")),
        ("system", "gpt", (2, "system", "system_unknown")),
        ("system", "", (2, "system", "system_unknown")),
        ("criterion", "warmth", (2, "criterion", "criterion_unknown")),
        ("criterion", "", (2, "criterion", "criterion_unknown")),
        ("value", "0", (2, "value", "value_invalid")),
        ("value", "1000000", (2, "value", "value_invalid")),
        ("value", "7.5", (2, "value", "value_invalid")),
        ("value", "", (2, "value", "value_invalid")),
        ("participant", "", (2, "participant", "participant_invalid")),
        ("participant", " w1", (2, "participant", "participant_invalid")),
        ("participant", "w" * 201, (2, "participant", "participant_invalid")),
        ("place", "4", (2, "place", "place_invalid")),
        ("place", "2", (3, "place", "place_invalid")),
        ("place", "first", (2, "place", "place_invalid")),
        ("submitted_at", "t" * 65, (2, "submitted_at", "text_too_long")),
        ("note", "n" * 5001, (2, "note", "text_too_long")),
        ("value_typed", "99", (2, "value", "value_invalid")),
        ("order_shown", "1 2", (2, "order_shown", "order_invalid")),
        ("order_shown", "3 2 1", (2, "", "order_invalid")),
    ],
)
def test_a_wrong_cell_is_named_with_its_place(
    study: Study, field: str, cell: str, fault: tuple[int, str, str]
) -> None:
    rows = [{"submitted_at": "", "note": "", "value_typed": "", "order_shown": "", **row}
            for row in rows_for(study, ["w1"])]  # fmt: skip
    rows[0] = {**rows[0], "value": "70", "value_typed": "", **{field: cell}}

    assert fault in list_faults(check(study, rows))


def test_a_whole_number_may_be_written_as_a_float_and_is_kept_as_a_whole_number(
    study: Study,
) -> None:
    rows = [row | {"value": f"{row['value']}.0"} for row in rows_for(study, ["w1"])]

    checked = check(study, rows)

    assert [str(fault) for fault in checked.faults] == []
    ratings = [rating for answer in checked.answers for rating in answer.ratings.values()]
    assert [rating.row.text for rating in ratings] == [
        row["value"].removesuffix(".0") for row in rows
    ]


def test_a_fault_says_what_is_wrong_and_what_to_do(study: Study) -> None:
    rows = rows_for(study)
    rows[0]["item"] = "item-2"
    rows[1]["system"] = "gpt"

    assert [str(fault) for fault in check(study, rows).faults] == [
        "line 2 (record 1), item: There is no item “item-2” in this study. Did you mean "
        "“item-002”?",
        "line 3 (record 2), system: “gpt” is not a system of this item. It has baseline, neural, "
        "template.",
    ]


@pytest.mark.parametrize(("field", "cell"), [("system", "gpt"), ("item", "item-999")])
def test_a_faulty_value_is_told_of_beside_an_unknown_system_or_item(
    study: Study, field: str, cell: str
) -> None:
    rows = rows_for(study)
    rows[0] |= {field: cell, "value": "1.5"}

    faults = list_faults(check(study, rows))

    assert [code for line, _, code in faults if line == 2] == [f"{field}_unknown", "value_invalid"]


def test_the_same_rating_twice_is_refused(study: Study) -> None:
    rows = rows_for(study)

    assert list_faults(check(study, [*rows, rows[1]])) == [(8, "", "rating_twice")]


def test_an_item_is_not_answered_twice_by_the_same_participant(study: Study) -> None:
    rows = rows_for(study)
    load(study, rows)

    faults = list_faults(check(study, [row | {"note": "again"} for row in rows]))

    assert faults == [(line, "participant", "answered_already") for line in (2, 5)]


def test_what_an_answer_lacks_is_named(replies: Study) -> None:
    rows = rows_for(replies)

    checked = check(replies, [rows[0], *rows[5:]])

    assert list_faults(checked) == [(2, "", "answer_incomplete")]
    assert "fluency of alpha; sentiment of alpha; domain of alpha and 1 more" in (
        checked.faults[0].message
    )


def test_a_faulty_row_is_reported_once(replies: Study) -> None:
    rows = rows_for(replies)
    rows[0]["value"] = "9"
    rows[6]["place"] = "x"

    assert list_faults(check(replies, rows)) == [
        (2, "value", "value_invalid"),
        (8, "place", "place_invalid"),
    ]


@pytest.mark.parametrize(
    ("cell", "value"), [("ACCEPT", 1), ("reject", 0), ("1", 1), ("0", 0), (" 1 ", 1)]
)
def test_a_decision_may_be_said_in_its_words(replies: Study, cell: str, value: int) -> None:
    rows = rows_for(replies)
    rows[4]["value"] = cell

    (answer, _) = check(replies, rows).answers

    assert answer.ratings["decision", 0, "", (0, None, None)].row.value == value


@pytest.mark.parametrize("cell", ["yes", "2", "", "true"])
def test_a_decision_takes_no_other_words(replies: Study, cell: str) -> None:
    rows = rows_for(replies)
    rows[4]["value"] = cell

    checked = check(replies, rows)

    assert list_faults(checked) == [(6, "value", "value_invalid")]
    assert checked.faults[0].message.endswith("Use ACCEPT, REJECT, 1 or 0.")


def test_the_label_of_another_point_says_that_a_scale_was_turned_round(replies: Study) -> None:
    rows = [row | {"label": ""} for row in rows_for(replies)]
    rows[0] |= {"value": "2", "label": "Completely"}
    rows[1] |= {"label": "our own words"}

    checked = check(replies, rows)

    assert list_faults(checked) == [(2, "value", "value_invalid")]
    assert "“Completely” is the label of 7" in checked.faults[0].message


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"preferred": "gamma"}, (2, "preferred", "preference_invalid")),
        ({"preferred": ""}, (2, "preferred", "preference_invalid")),
        ({"shown_first": "gamma"}, (2, "shown_first", "order_invalid")),
    ],
)
def test_a_preference_names_a_system_of_the_item(
    pairs: Study, changes: Row, fault: tuple[int, str, str]
) -> None:
    rows = [row | {"shown_first": ""} for row in rows_for(pairs)]
    rows[0] |= changes

    assert list_faults(check(pairs, rows)) == [fault]


@pytest.mark.parametrize("cell", ["tie", "Tie", "TIE"])
def test_a_tie_is_a_tie_however_it_is_written(pairs: Study, cell: str) -> None:
    rows = rows_for(pairs)
    rows[0]["preferred"] = cell

    answer = check(pairs, rows).answers[0]

    assert answer.ratings["completion", None, "", (0, None, None)].row.output is None


def test_items_of_a_batch_that_is_not_open_are_refused_once_launched(study: Study) -> None:
    launch(study)
    add_batch(study, items=1, first=3)
    later = study.items.get(key="item-003")

    (fault, *_) = list_faults(check(study, rows_for(study, ["w1"], [later])))

    assert fault == (2, "item", "item_closed")


def test_names_that_look_alike_are_told_of_and_stay_two(study: Study) -> None:
    checked = check(study, rows_for(study, ["W1", "w1"]))

    assert checked.participants == ["W1", "w1"]
    assert [remark.code for remark in checked.remarks] == ["id_confusable"]


# --- columns --------------------------------------------------------------------------------


def test_missing_columns_are_named_with_what_they_hold(replies: Study) -> None:
    checked = check(replies, "raters,item,system,value\nw1,item-1,alpha,3\n")

    assert list_faults(checked) == [
        (1, "participant", "column_missing"),
        (1, "criterion", "column_missing"),
    ]
    assert "Did you mean “raters”?" in checked.faults[0].message


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
    # the column that is called “item” is left out then
    (fault, *_) = list_faults(check(study, text, mapping={"a": "item"}))
    assert fault == (1, "participant", "column_missing")
    (fault, *_) = list_faults(check(study, text, mapping={"a": "item", "item": "item"}))
    assert fault == (1, "", "column_mapped_twice")
    (fault, *_) = list_faults(check(study, text, mapping={"a": "colour"}))
    assert fault == (1, "a", "field_unknown")


def test_a_file_of_practice_alone_has_nothing_to_import(study: Study) -> None:
    rows = [row | {"kind": "practice"} for row in rows_for(study)]

    assert list_faults(check(study, rows)) == [(None, "", "nothing_left")]


@pytest.mark.parametrize("text", ["", "participant,item\n", "a\x00b,c\n1,2\n", "item,item\n1,2\n"])
def test_files_that_hold_nothing_to_read_are_refused(study: Study, text: str) -> None:
    assert list_faults(check(study, text))


_CELLS = st.sampled_from(
    ["w1", "w2", "item-001", "item-002", "neural", "informativeness", "70", "", "tie", "\x00", "1",
     "=1+1", "ü", "1e9", "-5", "９", "item-001\n"]
)  # fmt: skip


@pytest.mark.slow
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
