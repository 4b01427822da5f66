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


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
