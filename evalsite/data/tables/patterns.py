"""Patterns of column names: `{criterion}_{participant}` reads what the names themselves say.

Criteria, items, systems and points must be known ones, in any case; the longest known name fits.
Everything else, such as `{participant}` and the number `{n}` that ties columns, is any text.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

Known = Mapping[str, Collection[str]]

_FIELD = re.compile(r"\{(\w+)\}")
NUMBER, POINT = "n", "point"


@dataclass(frozen=True, slots=True)
class Match:
    """A column whose name fits a pattern, and what the name says by field."""

    pattern: str
    column: int
    bound: Mapping[str, str]


def is_pattern(path: str) -> bool:
    return _FIELD.search(path) is not None


def find_matches(pattern: str, header: Sequence[str], known: Known) -> list[Match]:
    """Return the columns whose names fit this pattern."""
    # at even places the texts between the fields, at odd ones the fields
    parts = _FIELD.split(pattern)
    names = {
        field: {name.casefold(): name for name in names}
        for field, names in known.items()
        if field in parts[1::2]
    }
    matches = []
    for number, column in enumerate(header):
        if (bound := next(_fit(parts, column, names), None)) is not None:
            matches.append(Match(pattern, number, bound))
    return matches


def _fit(
    parts: Sequence[str], name: str, known: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, str]]:
    """Yield each way to read a name, the longest known names first."""
    text, *rest = parts
    if not name.casefold().startswith(text.casefold()):
        return
    name = name[len(text) :]
    if not rest:
        if not name:
            yield {}
        return
    field, *below = rest
    for length in range(len(name), 0, -1):
        value = name[:length]
        if field in known:
            if value.casefold() not in known[field]:
                continue
            value = known[field][value.casefold()]
        elif field == NUMBER and not value.isdecimal():
            continue
        for bound in _fit(below, name[length:], known):
            if bound.get(field, value) == value:
                yield {field: value} | bound


def join_matches(patterns: Sequence[Sequence[Match]]) -> list[tuple[dict[str, str], list[Match]]]:
    """Return the rows that a record becomes: what names say, and the columns that go together."""
    rows: list[tuple[dict[str, str], list[Match]]] = [({}, [])]
    for matches in sorted(patterns, key=lambda group: -max(len(fit.bound) for fit in group)):
        joined = []
        for bound, columns in rows:
            fits = [match for match in matches if _agree(bound, match.bound)]
            joined += [({**bound, **match.bound}, [*columns, match]) for match in fits]
            if not fits:
                joined.append((bound, columns))
        rows = joined
    return rows


def _agree(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    return all(first.get(field, value) == value for field, value in second.items())


def is_chosen(cell: str) -> bool:
    """Return whether the cell of one point says that it was chosen."""
    return cell.strip().casefold() not in ("", "false", "0", "0.0", "no", "off", "null", "none")
