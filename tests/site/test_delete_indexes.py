"""To take rows back, the database looks for what refers to each: by an index, at any size."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import ForeignKey, Model

from evalsite.handout.models import Annotation, Draft
from evalsite.studies.models import Batch, Item, Output

# taken back by the thousand: with a batch, a file of ratings, or a pilot
TAKEN_BACK = (Batch, Item, Output, Annotation)
# what may be looked through: a row for each item that somebody has before them
FEW = {(Draft, "item")}


def list_references() -> Iterator[tuple[type[Model], str]]:
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            is_reference = isinstance(field, ForeignKey) and field.related_model in TAKEN_BACK
            if is_reference and (model, field.name) not in FEW:
                yield model, str(field.column)


REFERENCES = sorted(list_references(), key=lambda one: (one[0]._meta.label, one[1]))
NAMES = [f"{model._meta.label}.{column}" for model, column in REFERENCES]


def test_there_are_such_references() -> None:
    assert "annotation.Rating.output_id" in NAMES
    assert "studies.Item.repeat_of_id" in NAMES


@pytest.mark.both_databases
@pytest.mark.one_case
@pytest.mark.django_db
@pytest.mark.parametrize(("model", "column"), REFERENCES, ids=NAMES)
def test_an_index_leads_to_what_refers_to_a_row(model: type[Model], column: str) -> None:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, model._meta.db_table)

    first = {one["columns"][0] for one in found.values() if one["columns"] and one["index"]}
    unique = {one["columns"][0] for one in found.values() if one["columns"] and one["unique"]}
    assert column in first | unique


@pytest.mark.django_db
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL's plans hang on its rows")
@pytest.mark.parametrize(("model", "column"), REFERENCES, ids=NAMES)
def test_sqlite_takes_that_index(model: type[Model], column: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f'EXPLAIN QUERY PLAN SELECT 1 FROM "{model._meta.db_table}" '  # noqa: S608
            f'WHERE "{column}" = 1'
        )
        steps = [row[3] for row in cursor.fetchall()]

    assert [step for step in steps if step.startswith("SCAN")] == []
