"""Which rows of ratings and highlights the database takes, and which only a constraint refuses."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from evalsite.annotation.models import Annotation, Highlight, Rating
from tests.support.breaking import drop
from tests.support.factories import answer_item, make_annotator, make_study

pytestmark = pytest.mark.django_db

ONE_OF_AN_OUTPUT = "one_rating_of_an_output_per_criterion_turn_and_part"
ONE_OF_AN_ITEM = "one_rating_of_an_item_per_criterion_turn_and_part"
ANSWERED = "ratings_have_a_value_or_a_text_or_are_not_applicable"
APART = "highlights_without_a_criterion_start_apart"
ONE_SPAN = "one_highlight_per_criterion_span_and_category"
LENGTH = "highlights_have_a_length_or_a_category"


@pytest.fixture
def answer() -> Iterator[Annotation]:
    """An annotation of an item with three outputs, without any rating."""
    me = make_annotator(make_study(items=1))
    answer_item(me, me.study.items.main().get(), values=())
    yield Annotation.objects.get()
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA ignore_check_constraints = OFF")


def rate(answer: Annotation, **fields: Any) -> Rating:
    given = {"criterion": "charm", "output": answer.item.outputs.first(), "value": 1, **fields}
    return Rating.objects.create(study_id=answer.study_id, annotation=answer, **given)


def mark(answer: Annotation, start: int, end: int, **fields: str) -> Highlight:
    output = answer.item.outputs.first()
    return Highlight.objects.create(
        study_id=answer.study_id,
        annotation=answer,
        output=output,
        start=start,
        end=end,
        quote=output.text[start:end],
        **fields,
    )


def assert_only_refused_by(name: str, add: Any) -> None:
    """The row that `add` writes is refused, and taken as soon as this constraint is gone."""
    with pytest.raises(IntegrityError), transaction.atomic():
        add()
    model = Rating if name in {one.name for one in Rating._meta.constraints} else Highlight
    if name in (ANSWERED, LENGTH):
        drop(model, name)
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


# --- highlights -----------------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.parametrize("fields", [{}, {"category": "omission"}, {"severity": "major"}], ids=str)
def test_two_highlights_without_a_criterion_never_start_at_one_place(answer, fields):
    mark(answer, 0, 5)
    mark(answer, 3, 8)

    assert_only_refused_by(APART, lambda: mark(answer, 0, 7, **fields))


@pytest.mark.parametrize(
    ("start", "end", "fields"),
    [
        (1, 5, {"criterion": "errors", "category": "number"}),
        (0, 4, {"criterion": "errors", "category": "number"}),
        (0, 5, {"criterion": "errors", "category": "name"}),
        (0, 5, {"criterion": "slips", "category": "number"}),
        (0, 5, {}),
    ],
)
def test_highlights_of_a_criterion_may_overlap(answer, start, end, fields):
    mark(answer, 0, 5, criterion="errors", category="number")

    mark(answer, start, end, **fields)

    assert answer.highlights.count() == 2


@pytest.mark.both_databases
def test_one_span_has_a_category_of_a_criterion_once(answer):
    span = {"criterion": "errors", "category": "number"}
    mark(answer, 0, 5, **span, severity="minor")

    assert_only_refused_by(ONE_SPAN, lambda: mark(answer, 0, 5, **span, severity="major"))


@pytest.mark.parametrize(("start", "end", "category"), [(4, 4, ""), (5, 4, ""), (5, 4, "omission")])
def test_highlight_without_a_length_or_a_category_is_refused(answer, start, end, category):
    assert_only_refused_by(
        LENGTH, lambda: mark(answer, start, end, criterion="errors", category=category)
    )


def test_highlight_of_something_that_is_missing_has_a_category_and_no_length(answer):
    assert mark(answer, 4, 4, criterion="errors", category="omission").quote == ""


# --- defaults and the migration -------------------------------------------------------------

EMPTY = {
    Rating: {"turn": 0, "part": "", "text": "", "detail": None},
    Highlight: {"criterion": "", "category": "", "severity": ""},
}


@pytest.mark.both_databases
@pytest.mark.parametrize("model", EMPTY)
def test_statement_in_sql_need_not_name_the_columns_that_are_empty(answer, model):
    row = rate(answer) if model is Rating else mark(answer, 0, 5)
    columns = ", ".join(
        connection.ops.quote_name(field.column)
        for field in model._meta.concrete_fields
        if not field.primary_key and field.name not in EMPTY[model]
    )
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE kept AS SELECT {columns} FROM {table}")  # noqa: S608
        row.delete()
        cursor.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM kept")  # noqa: S608
        cursor.execute("DROP TABLE kept")

    stored = model.objects.get()
    assert {name: getattr(stored, name) for name in EMPTY[model]} == EMPTY[model]


def list_columns(model: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        found = connection.introspection.get_table_description(cursor, model._meta.db_table)
    return sorted((one.name, one.null_ok, one.default) for one in found)


def list_constraints(model: Any) -> dict[str, tuple[Any, ...]]:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, model._meta.db_table)
    return {
        name: (one["columns"], one["unique"], one["check"], one["index"])
        for name, one in found.items()
    }


@pytest.mark.both_databases
@pytest.mark.parametrize("model", EMPTY)
def test_table_has_the_constraints_and_indexes_that_the_model_declares(model):
    names = {one.name for one in (*model._meta.constraints, *model._meta.indexes)}

    assert names <= set(list_constraints(model))
