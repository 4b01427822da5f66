"""Read plain data of a bundle as the fields of a model, strictly; no database is asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from math import isfinite
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models

from evalsite.handout.value_field import ValueField
from evalsite.instruments.answer import read_value

Reader = Callable[[Any], Any]
_LONGEST = 60


class InvalidField(Exception):
    """A value that can't be in its place; the text says which."""


def read_fields(
    model: type[models.Model], names: Iterable[str], row: Mapping[str, Any]
) -> dict[str, Any]:
    """Return these fields of a row as the model takes them; InvalidField for the first wrong."""
    values = {}
    for name in names:
        if name not in row:
            raise InvalidField(f"{name} is missing")
        values[name] = read_field(model, name, row[name])
    return values


def read_field(model: type[models.Model], name: str, value: Any, shown: str = "") -> Any:
    """Return a value as this field takes it; else InvalidField, with the name `shown`."""
    try:
        return _reader(model, name)(value)
    except (InvalidField, ValidationError, TypeError, ValueError, InvalidOperation):
        text = repr(value)
        text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        raise InvalidField(f"{shown or name} can't be {text}") from None


@cache
def _reader(model: type[models.Model], name: str) -> Reader:
    """Return the function that turns a plain value into one of this field, or raises."""
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    kind = next((make for types, make in _KINDS if isinstance(field, types)), None)
    if kind is None:
        raise TypeError(f"No bundle can hold a {type(field).__name__}.")
    check = _make_check(field)
    # what a JSON field holds at first says whether it is an object or a list
    shape = field.default if field.default in (dict, list) else object

    def read(value: Any) -> Any:
        if value is None and field.null:
            return None
        made = kind(value)
        if not isinstance(made, shape):
            raise InvalidField
        check(made)
        return made

    return read


def _make_check(field: models.Field) -> Callable[[Any], None]:
    """Return a function that raises where this field doesn't allow a value of the right type."""
    choices = {value for value, _ in field.flatchoices}
    # what a JSON field holds is checked where it is used
    validators = [] if isinstance(field, models.JSONField) else field.validators

    def check(made: Any) -> None:
        if made == "" and field.blank:
            return
        if made == "" or (choices and made not in choices):
            raise InvalidField
        for validate in validators:
            validate(made)

    return check


def read_text(value: Any) -> str:
    """Return a text that both databases can store."""
    if not isinstance(value, str) or "\x00" in value:
        raise InvalidField
    value.encode()  # a lone surrogate can't be
    return value


def read_whole(value: Any) -> int:
    # what a column of 64 bits takes
    if type(value) is not int or abs(value) >= 2**63:
        raise InvalidField
    return value


def _read_number(value: Any) -> float:
    if type(value) not in (int, float) or not isfinite(value):
        raise InvalidField
    return float(value)


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidField
    return value


def _read_time(value: Any) -> datetime:
    moment = datetime.fromisoformat(read_text(value))
    if moment.tzinfo is None:
        raise InvalidField
    return moment


def _read_json(value: Any) -> Any:
    if not isinstance(value, dict | list):
        raise InvalidField
    for text in _walk(value):
        read_text(text)
    return value


def _walk(value: Any) -> Iterator[str]:
    """Return every text in it, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _walk(part)


_KINDS: tuple[tuple[type | tuple[type, ...], Reader], ...] = (
    (models.BooleanField, _read_flag),
    (models.IntegerField, read_whole),
    (ValueField, read_value),
    (models.FloatField, _read_number),
    ((models.CharField, models.TextField), read_text),
    (models.DateTimeField, _read_time),
    # those with a time are among the dates, and come first
    (models.DateField, lambda value: date.fromisoformat(read_text(value))),
    (models.DecimalField, lambda value: Decimal(read_text(value))),
    (models.UUIDField, lambda value: UUID(read_text(value))),
    (models.JSONField, _read_json),
)
