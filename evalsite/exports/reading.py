"""Rows of annotations and of what belongs to them, read in stretches, column by column.

A million ratings must be read in seconds. Row by row they cannot: an object would be made of every
cell, one after another, while nothing else goes on. So the database puts each column of a stretch
together as one text, an array in JSON, beside the thread that writes the file; Python takes it
apart at one stroke.
"""

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from django.db import connection

from evalsite.annotation.models import Annotation
from evalsite.studies.models import Study

# Keys of annotations in a stretch. For each the two threads wait for each other a few times.
STRETCH = 2_048
# annotations put together at one go: enough that each costs little, few enough for the memory
PAGE = 256


class Kind(Enum):
    """What a column holds, and so how it may be put together."""

    PLAIN = auto()  # numbers, flags: they stand in JSON as the database writes them
    WORD = auto()  # our own words, keys and times: nothing in them that JSON would escape
    TEXT = auto()  # whatever somebody wrote


@dataclass(frozen=True)
class Query:
    """Rows that belong to annotations; `key` and `study` are expressions for whose they are."""

    columns: Mapping[str, tuple[str, Kind]]
    source: str
    key: str
    study: str
    order: Sequence[str] = ()  # within an annotation
    values: Sequence[Any] = ()  # for the holes in the order


Columns = list[list[Any]]


def read_pages(study: Study, queries: Sequence[Query]) -> Iterator[list[Columns]]:
    """What the queries find, some annotations at a time, in the order of the annotations' keys.

    The first query finds the annotations of the study; the others, rows that belong to them. The
    first column of each is the annotation's key.
    """
    open_all = _open_sqlite if connection.vendor == "sqlite" else _open_postgresql
    with ExitStack() as cursors:
        found = open_all(cursors, study, queries)
        # closed before the cursors that it reads from
        ahead = cursors.enter_context(closing(_read_ahead(found)))
        for stretch in ahead:
            yield from _part([_load(*one) for one in zip(queries, stretch, strict=True)])


def _load(query: Query, columns: Sequence[str] | None) -> Columns:
    if columns is None:
        return [[] for _ in query.columns]
    return [json.loads(column) for column in columns]


def _part(stretch: list[Columns]) -> Iterator[list[Columns]]:
    """Pages of a stretch, so that few of its rows are put together at a time."""
    (keys, *_), *_ = stretch
    ends = [0] * len(stretch)
    for end in range(PAGE, len(keys) + PAGE, PAGE):
        last = keys[min(end, len(keys)) - 1]
        starts, ends = ends, [bisect_right(columns[0], last) for columns in stretch]
        yield [
            [column[start:end] for column in columns]
            for columns, start, end in zip(stretch, starts, ends, strict=True)
        ]


# by query: a text for each column; None: it found nothing
_Stretch = list[Sequence[str] | None]


def _read_ahead(stretches: Iterator[_Stretch]) -> Generator[_Stretch]:
    """The stretches: the next is put together while this one is being written."""
    if connection.vendor == "sqlite" and sqlite3.threadsafety < _FULLY_SAFE:
        yield from stretches
        return
    with ThreadPoolExecutor(max_workers=1) as thread:
        coming: Future[_Stretch | None] = thread.submit(next, stretches, None)
        while (stretch := coming.result()) is not None:
            coming = thread.submit(next, stretches, None)
            yield stretch


_FULLY_SAFE = 3  # PEP 249: threads may share a connection


def quote(model: Any) -> str:
    """The name of the model's table."""
    return connection.ops.quote_name(model._meta.db_table)


def _adapt(study: Study) -> Any:
    return Study._meta.pk.get_db_prep_value(study.pk, connection)


def _list_columns(query: Query) -> str:
    return ", ".join(f'{cell} AS "{name}"' for name, (cell, _) in query.columns.items())


# --- SQLite: a search for each stretch ---------------------------------------------------


def _open_sqlite(cursors: ExitStack, study: Study, queries: Sequence[Query]) -> Iterator[_Stretch]:
    own = _adapt(study)
    asked = [(_ask_sqlite(query), query.values) for query in queries]
    cursor = cursors.enter_context(connection.cursor())
    cursor.execute(
        f"SELECT DISTINCT id / {STRETCH} FROM {quote(Annotation)} "  # noqa: S608 (our own names)
        "WHERE study_id = %s ORDER BY 1",
        [own],
    )
    numbers = [number for (number,) in cursor.fetchall()]

    def search() -> Iterator[_Stretch]:
        for number in numbers:
            first = number * STRETCH
            stretch: _Stretch = []
            for sql, values in asked:
                cursor.execute(sql, [first, first + STRETCH - 1, own, *values])
                stretch.append(cursor.fetchone())
            yield stretch

    return search()


def _ask_sqlite(query: Query) -> str:
    arrays = ", ".join(f'json_group_array("{name}")' for name in query.columns)
    # the study with a plus: by its index SQLite would look through the whole study each time
    return (
        f"SELECT {arrays} FROM (SELECT {_list_columns(query)} FROM {query.source} "  # noqa: S608
        f"WHERE {query.key} BETWEEN %s AND %s AND +{query.study} = %s "
        f"ORDER BY {', '.join([query.key, *query.order])})"
    )


# --- PostgreSQL: one walk through all of them --------------------------------------------


def _open_postgresql(
    cursors: ExitStack, study: Study, queries: Sequence[Query]
) -> Iterator[_Stretch]:
    annotations, *others = (_walk(cursors, study, query) for query in queries)

    def join() -> Iterator[_Stretch]:
        waiting = [next(other, None) for other in others]
        for number, *columns in annotations:
            stretch: _Stretch = [columns]
            for place, other in enumerate(others):
                # of annotations that aren't asked for there may be whole stretches
                while (row := waiting[place]) is not None and row[0] < number:
                    waiting[place] = next(other, None)
                is_here = row is not None and row[0] == number
                stretch.append(row[1:] if row and is_here else None)
            yield stretch

    return join()


def _walk(cursors: ExitStack, study: Study, query: Query) -> Iterator[tuple[Any, ...]]:
    arrays = ", ".join(_JSON[kind].format(f'"{name}"') for name, (_, kind) in query.columns.items())
    sql = (
        f"SELECT stretch, {arrays} FROM ("  # noqa: S608 (our own names)
        f"SELECT {query.key} / {STRETCH} AS stretch, {_list_columns(query)} FROM {query.source} "
        f"WHERE {query.study} = %s ORDER BY {', '.join(['stretch', query.key, *query.order])}"
        ") AS one GROUP BY stretch ORDER BY stretch"
    )
    # a cursor of the server: a plain one would fetch all at once
    cursor = cursors.enter_context(connection.chunked_cursor())
    cursor.execute(sql, [_adapt(study), *query.values])
    return iter(cursor.fetchone, None)


# PostgreSQL takes three times as long for an array in JSON as for texts put together
_JSON = {
    Kind.PLAIN: "concat('[', string_agg(coalesce({0}::text, 'null'), ','), ']')",
    Kind.WORD: """concat('["', string_agg(coalesce({0}::text, ''), '","'), '"]')""",
    Kind.TEXT: "json_agg({0})::text",
}
