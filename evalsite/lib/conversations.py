"""Conversations as data: a JSON list of turns, each with a role. Turns are numbered from 1."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalsite.lib.limited import read_json

# turns of a conversation that is shown, with the calls of tools in them
MOST_PARTS = 2_000
_SEPARATOR = re.compile(r"[;,\s]+")


def read_list(text: str) -> list[Any] | None:
    """Return the JSON list that a text is; None if it is none, or empty."""
    try:
        turns = read_json(text)
    except ValueError:
        return None
    return turns if isinstance(turns, list) and turns else None


def read_turns(text: str) -> list[Mapping[str, Any]] | None:
    """Return the turns of a conversation; None if the text is no list of turns with roles."""
    turns = read_list(text)
    if turns is None or not all(isinstance(turn, dict) and "role" in turn for turn in turns):
        return None
    return turns


def count_parts(turns: Iterable[Mapping[str, Any]]) -> int:
    """Return how many turns there are, and calls of tools in them."""
    return sum(1 + len(list_calls(turn)) for turn in turns)


def list_calls(turn: Mapping[str, Any]) -> Sequence[Any]:
    calls = turn.get("tool_calls")
    return calls if isinstance(calls, list) else ()


def read_numbers(cell: Any) -> tuple[int, ...] | None:
    """Return the numbers of turns in a cell such as `2;4`; None if it holds anything else."""
    parts = cell if isinstance(cell, list) else _SEPARATOR.split(str(cell).strip())
    texts = [text for part in parts if (text := str(part).strip())]
    if not all(text.isascii() and text.isdigit() and len(text) < 6 for text in texts):
        return None
    return tuple(int(text) for text in texts)
