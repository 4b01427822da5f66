"""The figures of a bundle's report as it holds them, and how they differ when computed again."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from math import isclose
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalsite.data.bundle.format import REPORT
from evalsite.data.bundle.read import BadBundle, Bundle, Fault

Key = tuple[str, tuple[tuple[str, str], ...]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class FirstLook(_Strict):
    """When results were first seen, with how many answers, and how many were asked for later."""

    at: datetime
    answers: int = Field(ge=0)
    asked_later: int = Field(ge=0)
    is_revealed: bool = False


class PlannedSize(_Strict):
    """The size that was chosen when the study was planned, and how many answers were in by then."""

    words: str
    at: datetime
    answers: int = Field(ge=0)


class Basis(_Strict):
    """On what a report rests besides the rows of its bundle."""

    made_at: datetime
    ratings_sha256: str
    look: FirstLook | None = None
    size: PlannedSize | None = None
    # people whose answers aren't in the bundle, and the pairs of which all answers say otherwise
    not_sharing: int | None = Field(None, ge=0)
    differing: list[tuple[str, str, str]] = []

    def to_plain(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_unset=True)


class PlainFigure(_Strict):
    name: str
    unit: str
    group: dict[str, str]
    value: float | None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    why: str = ""
    n: dict[str, float] = {}
    t: float | None = None
    p: float | None = None
    p_corrected: float | None = None
    df: float | list[float] | None = None

    @property
    def key(self) -> Key:
        return self.name, tuple(sorted(self.group.items()))


class Figures(_Strict):
    """What report/figures.json holds."""

    basis: Basis
    figures: list[PlainFigure]


def read_figures(bundle: Bundle) -> Figures:
    try:
        return Figures.model_validate(bundle.read_json(REPORT))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadBundle("report_invalid", f"{place}: {first['msg']}.", REPORT) from None


def compare_figures(recorded: list[PlainFigure], again: list[PlainFigure]) -> Iterator[Fault]:
    """Name each figure that differs in its first nine digits: no report prints more than that."""
    before, after = _index(recorded), _index(again)
    for key in sorted(before | after):
        name = _name(key)
        first, second = before.get(key, []), after.get(key, [])
        if len(first) != len(second):
            message = (
                f"{name} is there {len(first)} times, but {len(second)} times when computed again."
            )
            yield Fault("figure_differs", message, REPORT)
            continue
        for one_time, other_time in zip(first, second, strict=True):
            yield from _compare(name, one_time.model_dump(), other_time.model_dump())


def _index(figures: list[PlainFigure]) -> dict[Key, list[PlainFigure]]:
    """Return the figures by name and group; a mean is printed with two intervals."""
    index: dict[Key, list[PlainFigure]] = {}
    for figure in figures:
        index.setdefault(figure.key, []).append(figure)
    return index


def _name(key: Key) -> str:
    group = ", ".join(f"{part} {value}" for part, value in key[1])
    return f"{key[0]} of {group}" if group else key[0]


def _compare(name: str, recorded: Mapping[str, Any], again: Mapping[str, Any]) -> Iterator[Fault]:
    for part, value in recorded.items():
        other = again[part]
        if _is_equal(value, other):
            continue
        message = f"{name}: {part} is {value}, but {other} when computed again."
        yield Fault("figure_differs", message, REPORT)


def _is_equal(value: Any, other: Any) -> bool:
    if isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        return all(map(_is_equal, value, other))
    if isinstance(value, float) and isinstance(other, float):
        return isclose(value, other)
    return bool(value == other)
