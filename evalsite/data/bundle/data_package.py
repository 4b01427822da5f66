"""Describe tables for programs: datapackage.json (Tabular Data Package), with whose they are."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from evalsite.data.bundle.format import NUMBER, ONE_OF, TIME, WHOLE, YES_NO, Column
from evalsite.data.files.columns import write_time
from evalsite.studies.models import Study

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
# the short title, the title and the text of each
LICENCES = {
    "CC-BY-4.0": (
        "CC BY 4.0",
        "Creative Commons Attribution 4.0",
        "https://creativecommons.org/licenses/by/4.0/",
    ),
    "CC-BY-SA-4.0": (
        "CC BY-SA 4.0",
        "Creative Commons Attribution-ShareAlike 4.0",
        "https://creativecommons.org/licenses/by-sa/4.0/",
    ),
    "CC0-1.0": (
        "CC0 1.0",
        "Creative Commons Zero 1.0",
        "https://creativecommons.org/publicdomain/zero/1.0/",
    ),
}
_AUTHOR = re.compile(r"(?P<name>.*?)(?:\s+(?P<orcid>\d{4}-\d{4}-\d{4}-\d{3}[\dX]))?")
_LONGEST_NAME = 200


class Author(BaseModel):
    name: str
    orcid: str = ""


def read_author(line: str) -> Author:
    """Read "Jane Mori" or "Jane Mori 0000-0002-1825-0097"; ValueError if there is no name."""
    match = _AUTHOR.fullmatch(" ".join(line.split()))
    name = match["name"] if match else ""
    if not name or len(name) > _LONGEST_NAME:
        raise ValueError(
            f"An author is a name of at most {_LONGEST_NAME} characters, and after it an ORCID, if "
            "there is one: Jane Mori 0000-0002-1825-0097."
        )
    return Author(name=name, orcid=(match and match["orcid"]) or "")


def read_authors(lines: str) -> list[Author]:
    """Read the lines of a setting, without those that aren't authors."""
    authors = []
    for line in lines.splitlines():
        with suppress(ValueError):
            authors.append(read_author(line))
    return authors


@dataclass(frozen=True, kw_only=True)
class Credits:
    """Whose the data are, and what others may do with them."""

    title: str
    authors: Sequence[Author]
    organisation: str
    licence: str
    homepage: str
    closed_at: datetime | None

    @classmethod
    def of_study(cls, study: Study) -> "Credits":
        return cls(
            title=study.title,
            authors=read_authors(study.authors),
            organisation=study.organisation,
            licence=study.licence,
            homepage=study.homepage,
            closed_at=study.closed_at,
        )

    def describe(self) -> dict[str, Any]:
        """Return what a descriptor says; without a licence nobody may use the data."""
        described: dict[str, Any] = {"title": self.title, "keywords": ["human evaluation"]}
        if self.closed_at:
            # before, there would be another with the next answer
            described |= {"version": "1", "created": write_time(self.closed_at)}
        if self.homepage:
            described["homepage"] = self.homepage
        if self.licence:
            _, title, path = LICENCES[self.licence]
            described["licenses"] = [{"name": self.licence, "path": path, "title": title}]
        if contributors := list(self._list_contributors()):
            described["contributors"] = contributors
        return described

    def _list_contributors(self) -> Iterator[dict[str, str]]:
        of = {"organization": self.organisation} if self.organisation else {}
        for author in self.authors:
            path = {"path": f"https://orcid.org/{author.orcid}"} if author.orcid else {}
            yield {"title": author.name, "role": "author", **path, **of}
        if of and not self.authors:
            yield {"title": self.organisation, "role": "author", **of}


def describe_package(
    study: Mapping[str, Any],
    credits: Credits,
    tables: Mapping[str, Sequence[Column]],
    files: Mapping[str, tuple[int, str]],
    other_files: Mapping[str, str],
) -> dict[str, Any]:
    """Return the descriptor. `files` gives the size and SHA-256 of each table's file.

    `other_files`: those that aren't tables, by their name in the descriptor.
    """
    names = {_name(path) for path in tables}
    return {
        "profile": "tabular-data-package",
        "name": f"evalsite-{study['id']}",
        "id": study["id"],
        **credits.describe(),
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
            for name, path in other_files.items()
        },
    }


# of the types of a dataset
_TYPES_IN_SET = {
    "bool": "boolean", "float64": "number", "int32": "integer", "list": "array",
    "messages": "array", "timestamp[us, tz=UTC]": "datetime",
}  # fmt: skip
# programs for data packages read the lists in a Parquet file as texts: to them it is a file
_FORMS = {
    "jsonl": {"profile": "tabular-data-resource", "mediatype": "application/jsonl"},
    "parquet": {
        "profile": "data-resource", "type": "file", "mediatype": "application/vnd.apache.parquet",
    },
}  # fmt: skip


def describe_dataset(
    study: Study, credits: Credits, tables: Mapping[str, Mapping[str, str]],
    files: Mapping[str, tuple[str, int, str]],
) -> dict[str, Any]:  # fmt: skip
    """Return the descriptor of a dataset. `files`: path, size and SHA-256 of each table's."""
    return {
        "profile": "data-package",
        "name": f"evalsite-{study.pk}",
        "id": str(study.pk),
        **credits.describe(),
        "resources": [
            {
                "name": table,
                "path": path,
                "format": (form := path.rpartition(".")[2]),
                **_FORMS[form],
                "encoding": "utf-8",
                **_describe_file((size, digest)),
                "schema": {
                    "fields": [
                        {"name": name, "type": _TYPES_IN_SET.get(kind, "string")}
                        for name, kind in fields.items()
                    ]
                },
            }
            for table, fields in tables.items()
            for path, size, digest in [files[table]]
        ],
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
    constraints: dict[str, Any] = {}
    if not column.missing:
        constraints["required"] = True
    if column.type == WHOLE and (lowest := re.match(r"(\d+) and more", column.allowed)):
        constraints["minimum"] = int(lowest[1])
    if column.type == ONE_OF and (choices := _list_choices(column.allowed)):
        constraints["enum"] = choices
    return constraints


def _list_choices(allowed: str) -> list[str]:
    """Return the words that a column may hold; none where the codebook says it in sentences."""
    parts = [part.strip() for part in re.split(r"[,;](?![^(]*\))", allowed)]
    choices = [match[1] for part in parts if (match := _CHOICE.fullmatch(part))]
    return choices if len(choices) == len(parts) else []
