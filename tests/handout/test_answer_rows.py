"""Which rows of ratings the database takes, and which only a constraint refuses."""

import random
from collections.abc import Iterator
from math import inf, nan
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from evalsite.handout.models import Annotation, Rating
from tests.support.breaking import drop
from tests.support.factories import answer_item, make_annotator, make_study

pytestmark = pytest.mark.django_db

ONE_OF_AN_OUTPUT = "one_rating_of_an_output_per_criterion_turn_and_part"
ONE_OF_AN_ITEM = "one_rating_of_an_item_per_criterion_turn_and_part"
ANSWERED = "ratings_have_a_value_a_text_or_a_passage_or_are_not_applicable"
ONE_MARK = "one_mark_of_a_passage_per_criterion_turn_and_part"
BOUNDED = "values_are_bounded_and_have_at_most_three_decimals"
IN_ORDER = "marks_have_an_output_and_ends_in_order"


@pytest.fixture
def answer() -> Iterator[Annotation]:
    """An annotation of an item with three outputs, without any rating."""
    me = make_annotator(make_study(items=1))
    answer_item(me, me.study.items.main().get(), rows=())
    yield Annotation.objects.get()
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA ignore_check_constraints = OFF")


def rate(answer: Annotation, **fields: Any) -> Rating:
    given = {"criterion": "charm", "output": answer.item.outputs.first(), "value": 1, **fields}
    return Rating.objects.create(study_id=answer.study_id, annotation=answer, **given)


def mark(answer: Annotation, start: int | None, end: int | None, **fields: Any) -> Rating:
    output = answer.item.outputs.first()
    return rate(
        answer,
        **{
            "criterion": "highlights",
            "value": None,
            "start": start,
            "end": end,
            "text": output.text[start:end],
            **fields,
        },
    )


def assert_only_refused_by(name: str, add: Any) -> None:
    """The row that `add` writes is refused, and taken as soon as this constraint is gone."""
    with pytest.raises(IntegrityError), transaction.atomic():
        add()
    if name in (ANSWERED, BOUNDED, IN_ORDER):
        drop(Rating, name)
    else:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f'DROP INDEX "{name}"')
    add()


# --- what a rating holds --------------------------------------------------------------------

TAKEN = [
    {"value": 7},
    {"value": 0},
    {"value": 2, "detail": {"option": "blue"}},
    {"value": 2, "detail": {"na": False}},
    {"value": 3, "text": "Another colour."},
    {"value": None, "text": "A little dull."},
    {"value": None, "text": "A little dull.", "part": "comment"},
    {"value": None, "detail": {"na": True}},
    {"value": None, "detail": {"na": True}, "text": "There is no tone in a table."},
]
REFUSED = [
    {"value": None},
    {"value": None, "detail": {}},
    {"value": None, "detail": {"option": "blue"}},
    {"value": None, "detail": {"na": False}},
    {"value": None, "detail": {"na": None}},
    {"value": None, "detail": {"na": 1}},
    {"value": None, "detail": ["na"]},
    {"value": 0, "detail": {"na": True}},
    {"value": 0, "detail": {"na": True}, "text": "There is no tone in a table."},
]


@pytest.mark.both_databases
@pytest.mark.one_case
@pytest.mark.parametrize("fields", TAKEN, ids=str)
def test_rating_has_a_value_or_a_text_or_is_not_applicable(answer, fields):
    pk = rate(answer, **fields).pk

    stored = Rating.objects.get(pk=pk)
    assert {name: getattr(stored, name) for name in fields} == fields


@pytest.mark.both_databases
@pytest.mark.one_case
@pytest.mark.parametrize("fields", REFUSED, ids=str)
def test_rating_without_an_answer_or_with_a_value_that_is_not_applicable_is_refused(answer, fields):
    assert_only_refused_by(ANSWERED, lambda: rate(answer, **fields))


# --- numbers --------------------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.parametrize("value", [nan, inf, -inf, 1e308, -1e308, 1e9 + 1, 0.1234, 4.00049])
def test_value_that_no_scale_has_is_refused(answer, value):
    with pytest.raises(IntegrityError), transaction.atomic():
        rate(answer, value=value)
    if value == value or connection.vendor == "postgresql":  # SQLite keeps NULL for NaN
        drop(Rating, BOUNDED)
        rate(answer, value=value)


@pytest.mark.both_databases
def test_0_has_no_sign(answer):
    row = rate(answer, value=0)

    def negate() -> None:
        with connection.cursor() as cursor:
            # as a text: the driver would write the number without its sign
            cursor.execute(
                "UPDATE annotation_rating SET value = CAST('-0' AS double precision) WHERE id = %s",
                [row.pk],
            )

    if connection.vendor == "postgresql":
        assert_only_refused_by(BOUNDED, negate)
        return
    negate()  # SQLite has no such number
    row.refresh_from_db()
    assert str(row.value) == "0"


@pytest.mark.both_databases
def test_value_has_up_to_three_decimals_and_a_whole_one_is_read_without_a_point(answer):
    draw = random.Random("values")
    numbers = [0, 4, -7, 0.5, 0.001, -0.25, 1e9, -1e9, 999_999_999.999, 0.1 + 0.2 - 2**-54]
    numbers += [draw.randrange(-(10**12), 10**12) / 1000 for _ in range(300)]
    for turn, value in enumerate(numbers):
        rate(answer, turn=turn, value=value)

    stored = [row.value for row in Rating.objects.group_rows()[answer.pk]]
    assert sorted(stored) == sorted(numbers)
    assert {str(value) for value in stored if value == 4 or value == 1e9} == {"4", "1000000000"}
    assert Rating.objects.get(turn=3).value == 0.5


@pytest.mark.both_databases
def test_4_and_4_0_are_one_value(answer):
    rate(answer, value=4)

    assert Rating.objects.filter(value=4.0).exists()
    assert_only_refused_by(ONE_OF_AN_OUTPUT, lambda: rate(answer, value=4.0))


@pytest.mark.both_databases
def test_part_has_room_for_a_category_and_a_column_and_for_no_more(answer):
    rate(answer, part="c" * 40 + "@" + "i" * 40)

    with pytest.raises(DatabaseError), transaction.atomic():
        rate(answer, part="c" * 82)
    if connection.vendor == "sqlite":  # PostgreSQL's column is that long
        drop(Rating, "parts_have_at_most_81_characters")
        rate(answer, part="c" * 82)


# --- one rating of each thing ---------------------------------------------------------------


@pytest.mark.both_databases
def test_second_rating_of_the_same_turn_and_part_of_an_output_is_refused(answer):
    for turn, part in ((0, ""), (1, ""), (2, ""), (0, "comment"), (1, "comment")):
        rate(answer, turn=turn, part=part)

    assert_only_refused_by(ONE_OF_AN_OUTPUT, lambda: rate(answer, turn=1, part="comment"))


@pytest.mark.both_databases
def test_second_rating_of_the_same_turn_and_part_of_an_item_is_refused(answer):
    for turn, part in ((0, ""), (1, ""), (0, "comment")):
        rate(answer, output=None, turn=turn, part=part)

    assert_only_refused_by(ONE_OF_AN_ITEM, lambda: rate(answer, output=None, part="comment"))


def test_each_output_and_each_criterion_has_ratings_of_its_own(answer):
    for output in [*answer.item.outputs.all(), None]:
        rate(answer, output=output)
        rate(answer, output=output, criterion="wit")

    assert answer.ratings.count() == 8


def test_comment_on_a_preference_stands_beside_its_one_rating(answer):
    rate(answer)
    rate(answer, output=None, part="comment", value=None, text="Hard to tell.")

    assert answer.ratings.count() == 2


# --- marks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [{"start": 1}, {"end": 4}, {"part": "name"}, {"criterion": "slips"}, {"start": 3, "end": 8}],
    ids=str,
)
def test_marks_may_overlap_and_share_a_passage(answer, fields):
    mark(answer, 0, 5, part="number")
    rate(answer, criterion="highlights")

    mark(answer, **{"start": 0, "end": 5, "part": "number"} | fields)

    assert answer.ratings.marks().count() == 2


@pytest.mark.both_databases
@pytest.mark.parametrize("part", ["", "number"])
def test_passage_is_marked_once_for_a_criterion_and_part(answer, part):
    mark(answer, 0, 5, part=part, detail={"severity": "minor"})

    assert_only_refused_by(
        ONE_MARK, lambda: mark(answer, 0, 5, part=part, detail={"severity": "major"})
    )


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("start", "end", "fields"),
    [
        (5, None, {}),
        (None, 5, {"part": "omission"}),
        (5, 4, {"part": "omission"}),
        (0, 5, {"output": None}),
    ],
    ids=str,
)
def test_mark_without_an_output_or_with_ends_out_of_order_is_refused(answer, start, end, fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        mark(answer, start, end, **fields)
    drop(Rating, IN_ORDER, ANSWERED)
    mark(answer, start, end, **fields)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("end", "fields"),
    [
        (4, {}),
        (4, {"detail": {"severity": "major"}}),
        (5, {"value": 1}),
        (5, {"detail": {"na": True}}),
    ],
    ids=str,
)
def test_mark_of_nothing_or_with_a_value_is_refused(answer, end, fields):
    assert_only_refused_by(ANSWERED, lambda: mark(answer, 4, end, **fields))


def test_mark_of_something_that_is_missing_has_a_part_and_no_length(answer):
    assert mark(answer, 4, 4, part="omission").text == ""


# --- defaults and the migration -------------------------------------------------------------

EMPTY = {"turn": 0, "part": "", "text": "", "detail": None, "start": None, "end": None}


@pytest.mark.both_databases
def test_statement_in_sql_need_not_name_the_columns_that_are_empty(answer):
    row = rate(answer)
    columns = ", ".join(
        connection.ops.quote_name(field.column)
        for field in Rating._meta.concrete_fields
        if not field.primary_key and field.name not in EMPTY
    )
    table = Rating._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE kept AS SELECT {columns} FROM {table}")  # noqa: S608
        row.delete()
        cursor.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM kept")  # noqa: S608
        cursor.execute("DROP TABLE kept")

    stored = Rating.objects.get()
    assert {name: getattr(stored, name) for name in EMPTY} == EMPTY


def list_constraints() -> set[str]:
    with connection.cursor() as cursor:
        return {*connection.introspection.get_constraints(cursor, Rating._meta.db_table)}


@pytest.mark.both_databases
def test_table_has_the_constraints_and_indexes_that_the_model_declares():
    names = {one.name for one in (*Rating._meta.constraints, *Rating._meta.indexes)}

    assert names <= list_constraints()
