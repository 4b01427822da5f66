"""Checks of plain data, one value at a time."""

from collections.abc import Collection, Mapping
from typing import Any

from evalsite.instruments.faults import Fault as Fault
from evalsite.instruments.faults import Faults as Faults


def check_keys(
    value: Any, place: str, faults: Faults, *, needed: Collection[str], optional: Collection[str]
) -> bool:
    """Check that this is an object with these keys; False if it is no object at all.

    Keys that begin with x_ are anybody's own, and allowed everywhere.
    """
    if not isinstance(value, Mapping):
        faults.add("type", place, "must be an object")
        return False
    for name in sorted(needed):
        if name not in value:
            faults.add("missing_key", _join(place, name), "is required")
    for name, part in value.items():
        if str(name).startswith("x_"):
            continue
        if name not in needed and name not in optional:
            faults.add("unknown_key", _join(place, str(name)), "is not a key of this format")
        elif part is None:
            faults.add("type", _join(place, str(name)), "must not be null: leave the key out")
    return True


def check_whole(
    value: Any, place: str, faults: Faults, *, least: int | None = None, most: int | None = None
) -> bool:
    """Check that this is a whole number within these bounds."""
    if not isinstance(value, int) or isinstance(value, bool):
        faults.add("type", place, "must be a whole number")
        return False
    if (least is not None and value < least) or (most is not None and value > most):
        faults.add("out_of_range", place, _describe_range(least, most))
        return False
    return True


def _describe_range(least: int | None, most: int | None) -> str:
    if least is None or most is None:
        return f"must be {most} or less" if least is None else f"must be {least} or more"
    return f"must be from {least} to {most}"


def check_list(
    value: Any, place: str, faults: Faults, *, least: int = 0, most: int = 200
) -> list[Any]:
    """Return the list, after a fault if it has too few or too many entries; [] if it is none."""
    if not isinstance(value, list):
        faults.add("type", place, "must be a list")
        return []
    if not least <= len(value) <= most:
        faults.add("length", place, f"must have {least} to {most} entries, and has {len(value)}")
    return value


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
