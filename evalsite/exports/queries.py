"""What tables are made of: annotations, their ratings and what was marked, as plain columns."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

from django.db import connection

from evalsite.annotation.models import Annotation, Highlight, Rating
from evalsite.exports.reading import Kind, Query, quote, read_pages
from evalsite.participants.models import ItemSet
from evalsite.studies.models import Item, Output, Study


class Answers(NamedTuple):
    """Annotations, column by column, with what is asked of their items."""

    id: Sequence[int]
    participant_id: Sequence[int]
    item_id: Sequence[int]
    version_id: Sequence[int | None]
    batch: Sequence[str | None]  # with or without hyphens
    is_aided: Sequence[bool]
    order_shown: Sequence[str]
    active_ms: Sequence[int | None]
    item_set: Sequence[int | None]  # its number
    place: Sequence[int]
    item: Sequence[str]
    group: Sequence[str]
    cluster: Sequence[str]
    kind: Sequence[str]
    key: Sequence[str]  # with or without hyphens
    status: Sequence[str]
    origin: Sequence[str]
    device: Sequence[str]
    language: Sequence[str]
    started_at: Sequence[str]  # in UTC, as in the file; SQLite leaves out a fraction of 0
    submitted_at: Sequence[str]
    time_given: Sequence[str]
    outcome: Sequence[str]
    reason: Sequence[str]
    note: Sequence[str]
    # read only where asked for, as it takes a search each; else there are none
    outputs: Sequence[str] = ()

    def keep(self, kept: Sequence[bool]) -> "Answers":
        """Those that are kept."""
        columns: tuple[Sequence[Any], ...] = self
        return Answers._make(list(compress(column, kept)) for column in columns)


class Ratings(NamedTuple):
    """Ratings, column by column, in the order in which they stand in files."""

    annotation_id: Sequence[int]
    file_row: Sequence[int]  # 0: not imported
    criterion: Sequence[str]
    number: Sequence[int]  # of the output in its item, from 1; 0: none
    output_id: Sequence[int]  # 0: none
    value: Sequence[int]
    typed: Sequence[str]
    system_id: Sequence[int | None]


class Highlights(NamedTuple):
    """Marked passages, column by column, in the order in which they stand in files."""

    annotation_id: Sequence[int]
    position: Sequence[int]
    start: Sequence[int]
    end: Sequence[int]
    quote: Sequence[str]
    system_id: Sequence[int | None]


def read_rated(study: Study, *, with_outputs: bool = False) -> Iterator[tuple[Answers, Ratings]]:
    """The annotations of the study as they were first saved, and the ratings of each page."""
    queries = [_ask_for_answers(with_outputs=with_outputs), _ask_for_ratings(study)]
    for answers, ratings in read_pages(study, queries):
        yield Answers(*answers), Ratings(*ratings)


def read_marked(study: Study) -> Iterator[tuple[Answers, Highlights]]:
    """The annotations of the study as they were first saved, and what was marked in each."""
    for answers, marks in read_pages(study, [_ask_for_answers(), _ask_for_highlights()]):
        yield Answers(*answers), Highlights(*marks)


def _ask_for_answers(*, with_outputs: bool = False) -> Query:
    """Ask for the answers that are `agreed()`."""
    cells = {name: f"one.{name}" for name in Answers._fields}
    cells |= _OF_ANSWER | _EXPRESSIONS[connection.vendor]
    if with_outputs:
        cells["outputs"] = _list_outputs(cells["outputs"])
    else:
        del cells["outputs"]
    return Query(
        columns={name: (cell, _KINDS.get(name, Kind.WORD)) for name, cell in cells.items()},
        source=f"{quote(Annotation)} AS one "
        f"JOIN {quote(Item)} AS what ON what.id = one.item_id AND NOT one.awaits_consent "
        f"LEFT JOIN {quote(ItemSet)} AS page ON page.id = one.item_set_id",
        key="one.id",
        study="one.study_id",
    )


_OF_ANSWER = {
    "item": "what.key",
    "group": 'what."group"',
    "cluster": "what.cluster",
    "kind": "what.kind",
    "item_set": "page.number",
}
_PLAIN = (
    "id", "participant_id", "item_id", "version_id", "is_aided", "active_ms", "item_set", "place",
)  # fmt: skip
_TEXTS = (
    "item", "group", "cluster", "device", "language", "time_given", "reason", "note",
)  # fmt: skip
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(_PLAIN, Kind.PLAIN),
    **dict.fromkeys(_TEXTS, Kind.TEXT),
}


def _ask_for_ratings(study: Study) -> Query:
    keys = [criterion.key for criterion in study.config.criteria]
    ranks = " ".join(f"WHEN %s THEN {rank}" for rank in range(len(keys)))
    rank = f"CASE part.criterion {ranks} ELSE {len(keys)} END"
    return Query(
        columns={
            "annotation_id": ("part.annotation_id", Kind.PLAIN),
            "file_row": ("coalesce(part.file_row, 0)", Kind.PLAIN),
            "criterion": ("part.criterion", Kind.TEXT),
            "number": ("coalesce(output.position + 1, 0)", Kind.PLAIN),
            "output_id": ("coalesce(part.output_id, 0)", Kind.PLAIN),
            "value": ("part.value", Kind.PLAIN),
            "typed": ("part.value_typed", Kind.TEXT),
            "system_id": ("output.system_id", Kind.PLAIN),
        },
        source=f"{quote(Rating)} AS part LEFT {_JOIN_OUTPUT.format(quote(Output))}",
        key="part.annotation_id",
        study="part.study_id",
        order=[
            "coalesce(part.file_row, 0)",
            *([rank] if keys else []),
            _CODE_POINTS[connection.vendor].format("part.criterion"),
            "coalesce(output.position, -1)",
        ],
        values=keys,
    )


def _ask_for_highlights() -> Query:
    return Query(
        columns={
            "annotation_id": ("part.annotation_id", Kind.PLAIN),
            "position": ("output.position", Kind.PLAIN),
            "start": ("part.start", Kind.PLAIN),
            "end": ('part."end"', Kind.PLAIN),
            "quote": ("part.quote", Kind.TEXT),
            "system_id": ("output.system_id", Kind.PLAIN),
        },
        source=f"{quote(Highlight)} AS part {_JOIN_OUTPUT.format(quote(Output))}",
        key="part.annotation_id",
        study="part.study_id",
        order=["output.position", "part.start", 'part."end"'],
    )


_JOIN_OUTPUT = "JOIN {} AS output ON output.id = part.output_id"


def _list_outputs(joined: str) -> str:
    """Place, system and key of each output of the item, such as “0:7:31 1:8:32”."""
    table = quote(Output)
    return f"(SELECT {joined} FROM {table} AS output WHERE output.item_id = one.item_id)"  # noqa: S608


# what the databases write differently
_CODE_POINTS = {"sqlite": "{}", "postgresql": '{} COLLATE "C"'}  # by them, in any locale
_MOMENT = """to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
_EXPRESSIONS = {
    "sqlite": {
        "batch": "what.batch_id",
        "started_at": "replace(one.started_at, ' ', 'T') || 'Z'",
        "submitted_at": "replace(one.submitted_at, ' ', 'T') || 'Z'",
        "outputs": "group_concat(output.position || ':' || coalesce(output.system_id, '') "
        "|| ':' || output.id, ' ')",
    },
    "postgresql": {
        "batch": "what.batch_id",
        "started_at": _MOMENT.format("one.started_at"),
        "submitted_at": _MOMENT.format("one.submitted_at"),
        "outputs": "string_agg(output.position || ':' || coalesce(output.system_id::text, '') "
        "|| ':' || output.id, ' ')",
    },
}
