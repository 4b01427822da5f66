"""Rows sent to PostgreSQL as a stream arrive as they were."""

import pytest
from django.db import IntegrityError, connection, transaction

from evalsite.imports.bulk import copy_rows

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="only PostgreSQL has COPY"),
    pytest.mark.both_databases,
]
HOSTILE = [
    "", "N", '"', "\\N", "\\.", "a\\tb", "a\tb", "1\n2\r\n3\r", "\\", "\\\\n", "“é”\u2028 😀",
]  # fmt: skip


@pytest.fixture
def cursor():
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE sent (no integer PRIMARY KEY, one text, other text)")
        yield cursor
        cursor.execute("DROP TABLE sent")


def read(cursor):
    cursor.execute("SELECT no, one, other FROM sent ORDER BY no")
    return cursor.fetchall()


def test_any_text_arrives_as_it_was(cursor):
    rows = [(number, text, "x" * 5000) for number, text in enumerate(HOSTILE * 20)]

    copy_rows(cursor, "sent", rows)

    assert read(cursor) == rows


@pytest.mark.parametrize("sign", ["\x1e", "\x1f", "\x1e\\\x1f\n"])
def test_signs_that_part_rows_and_cells_arrive_as_they_were(cursor, sign):
    rows = [(1, f"a{sign}b", sign), (2, sign, "\\"), (3, "plain", "\n")]

    copy_rows(cursor, "sent", rows)

    assert read(cursor) == rows


def test_no_rows_are_no_error(cursor):
    copy_rows(cursor, "sent", [])

    assert read(cursor) == []


def test_row_that_breaks_a_promise_of_the_table_is_told_as_everywhere(cursor):
    with pytest.raises(IntegrityError), transaction.atomic():
        copy_rows(cursor, "sent", [(1, "a", "b"), (1, "c", "d")])
