"""Paths into nested values: `response.body.choices[0].message.content`, `vars["my.key"]`."""

import re
from functools import cache
from typing import Any

_STEP = re.compile(r"\[(\d+)\]|\[\"((?:[^\"\\]|\\.)*)\"\]|(?:^|\.)([^.\[\]]+)")


@cache
def read_path(path: str) -> tuple[str | int, ...]:
    """Return the keys and numbers of a path; ValueError if it is none. "" is the value itself."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise ValueError(f"{path!r} is no path: it ends to be one at character {at + 1}.")
        number, quoted, name = found.groups()
        if number is not None:
            steps.append(int(number))
        else:
            steps.append(name if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = found.end()
    return tuple(steps)


def find(value: Any, path: str) -> Any:
    """Return what is at this path; None if there is nothing."""
    for step in read_path(path):
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return None
        elif not isinstance(value, dict) or step not in value:
            return None
        value = value[step]
    return value


def find_first(value: Any, paths: list[str]) -> Any:
    """Return what is at the first of these paths that leads to something; an empty text doesn't.

    Where every path that is there leads to an empty text, that is what is returned.
    """
    values = [part for path in paths if (part := find(value, path)) is not None]
    return next((part for part in values if part != ""), values[0] if values else None)


def has(value: Any, path: str) -> bool:
    """Return whether there is a key at this path, also one whose value is null."""
    *above, last = read_path(path) or ("",)
    for step in above:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return False
        elif not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    if isinstance(last, int):
        return isinstance(value, list) and last < len(value)
    return isinstance(value, dict) and last in value


def last_name(path: str) -> str:
    """Return the last key of a path, which names a column."""
    return next((step for step in reversed(read_path(path)) if isinstance(step, str)), path)
