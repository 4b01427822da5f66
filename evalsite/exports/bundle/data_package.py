"""Describe the tables of a bundle for programs: datapackage.json (Tabular Data Package)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsite.exports.bundle.format import NUMBER, ONE_OF, TIME, WHOLE, YES_NO, Column

_TYPES = {WHOLE: "integer", NUMBER: "number", YES_NO: "boolean", TIME: "datetime"}
# a word, or a word that is explained in brackets
_CHOICE = re.compile(r"([a-z0-9_-]+)(?: \([^()]*\))?")
_KEYS = {"annotations": ["annotation"], "participants": ["participant"], "items": ["output_id"],
         "metrics": ["output_id", "metric"]}  # fmt: skip
_LINKS = {
    "ratings": {"annotation": "annotations", "participant": "participants"},
    "highlights": {"annotation": "annotations", "participant": "participants"},
    "annotations": {"participant": "participants"},
    "metrics": {"output_id": "items"},
}


def describe_package(
    study: Mapping[str, Any],
    tables: Mapping[str, Sequence[Column]],
    files: Mapping[str, tuple[int, str]],
    others: Mapping[str, str],
) -> dict[str, Any]:
    """Return the descriptor. `files` gives the size and SHA-256 of each table's file.

    `others`: files that aren't tables, by their name in the descriptor.
    """
    names = {_name(path) for path in tables}
    return {
        "profile": "tabular-data-package",
        "name": f"evalsite-{study['id']}",
        "title": study["title"],
        "id": study["id"],
        "resources": [
            {
                "profile": "tabular-data-resource",
                "name": _name(path),
                "path": path,
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "dialect": {"delimiter": ",", "lineTerminator": "\r\n", "doubleQuote": True},
                **_describe_file(files[path]),
                "schema": _describe_schema(_name(path), columns, names),
            }
            for path, columns in tables.items()
        ],
        # a tabular package has tables among its resources, nothing else
        **{
            name: {"path": path, "format": "json", **_describe_file(files[path])}
            for name, path in others.items()
        },
    }


def _describe_file(file: tuple[int, str]) -> dict[str, Any]:
    size, digest = file
    return {"bytes": size, "hash": f"sha256:{digest}"}


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".csv")


def _describe_schema(table: str, columns: Sequence[Column], tables: set[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "fields": [_describe_field(column) for column in columns],
        "missingValues": [""],
    }
    if key := _KEYS.get(table):
        schema["primaryKey"] = key
    if links := list(_describe_links(table, tables)):
        schema["foreignKeys"] = links
    return schema


def _describe_links(table: str, tables: set[str]) -> Iterator[dict[str, Any]]:
    for column, other in _LINKS.get(table, {}).items():
        if other in tables:
            yield {"fields": [column], "reference": {"resource": other, "fields": [column]}}


def _describe_field(column: Column) -> dict[str, Any]:
    field: dict[str, Any] = {
        "name": column.name,
        "type": _TYPES.get(column.type, "string"),
        "description": column.meaning,
    }
    if column.type == YES_NO:
        field |= {"trueValues": ["yes"], "falseValues": ["no"]}
    if column.type == TIME:
        field["format"] = "%Y-%m-%dT%H:%M:%S.%fZ"
    if constraints := _constrain(column):
        field["constraints"] = constraints
    return field


def _constrain(column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if not column.missing:
        found["required"] = True
    if column.type == WHOLE and (lowest := re.match(r"(\d+) and more", column.allowed)):
        found["minimum"] = int(lowest[1])
    if column.type == ONE_OF and (choices := _list_choices(column.allowed)):
        found["enum"] = choices
    return found


def _list_choices(allowed: str) -> list[str]:
    """Return the words that a column may hold; none where the codebook says it in sentences."""
    parts = [part.strip() for part in re.split(r"[,;](?![^(]*\))", allowed)]
    found = [match[1] for part in parts if (match := _CHOICE.fullmatch(part))]
    return found if len(found) == len(parts) else []
