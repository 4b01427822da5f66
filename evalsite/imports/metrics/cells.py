"""What one cell of a file of metric scores says; ValidationError says what is wrong with it."""

import re
from math import isfinite

from django.core.exceptions import ValidationError

from evalsite.imports.ratings.items import FoundItem

LONGEST_METRIC = 100
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WITH_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")
_NOTHING = {"nan", "na", "n/a", "null", "none", "-", "–", "inf", "-inf", "+inf", "infinity"}


def read_value(text: str) -> float | None:
    """The score; None where the cell is empty: the metric gave this output none."""
    said = text.strip(" ")
    if not said:
        return None
    if not _NUMBER.fullmatch(said):
        raise ValidationError(_explain(said))
    value = float(said)
    if not isfinite(value):
        raise ValidationError(f"“{_shorten(said)}” is too large to be told from infinity.")
    # a zero has no sign
    return value + 0.0


def _explain(said: str) -> str:
    if said.casefold() in _NOTHING:
        return f"“{said}” is no number. Leave the cell empty where the metric gave no score."
    if _WITH_COMMA.fullmatch(said):
        return f"“{_shorten(said)}” has a comma. Write a point: {said.replace(',', '.')[:40]}."
    if said.endswith("%"):
        return f"“{_shorten(said)}” is a percentage. Write the number alone."
    return (
        f"“{_shorten(said)}” is no number. Use the digits 0 to 9 and a point, such as 0.31, 27 "
        "or 1e-3."
    )


def read_metric(text: str) -> str:
    """The name of a metric, as it is shown."""
    name = text.strip()
    if not name:
        raise ValidationError("The metric is empty. Name what gave this score.")
    if len(name) > LONGEST_METRIC:
        raise ValidationError(
            f"The name of a metric may have {LONGEST_METRIC} letters; this one has {len(name):,}."
        )
    if not name.isprintable():
        raise ValidationError(
            "The name of the metric has a sign that can’t be seen, or a line break. Remove it."
        )
    return name


def split_output(text: str) -> tuple[str, str]:
    """The id of the item and the number of the output: of item-7#2 “item-7” and “2”."""
    item, _, number = text.partition("#")
    return item, number


def find_output(item: FoundItem, number: str, system: str) -> int:
    """The key of the output that is meant, by its number or its system."""
    if number:
        return _find_by_number(item, number, system)
    if not system and len(item.outputs) == 1:
        return item.outputs[0][0]
    at = item.find(system)
    if at is None:
        said = f"“{_shorten(system)}” is not a system" if system else "Name the system"
        raise ValidationError(f"{said} of this item. It has {item.systems}.", code="system")
    return item.outputs[at][0]


def _find_by_number(item: FoundItem, number: str, system: str) -> int:
    is_number = number.isascii() and number.isdigit() and len(number) < 5
    if not is_number or not 1 <= int(number) <= len(item.outputs):
        raise ValidationError(
            f"The item has no output {_shorten(number)}. Number its outputs from 1 to "
            f"{len(item.outputs)}, or name the system.",
            code="item",
        )
    pk, of_output = item.outputs[int(number) - 1]
    if system and system != of_output:
        raise ValidationError(
            f"Output {number} is of {of_output}, not of “{_shorten(system)}”. Correct one.",
            code="system",
        )
    return pk


def _shorten(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
