"""Conversations as data: a JSON list of turns, each with a role. Turns are numbered from 1."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalsite.lib.limited import read_json

# turns of a conversation that is shown, with the calls of tools in them
MOST_PARTS = 2_000
# the roles of what tools returned
_TOOLS = ("tool", "function")
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


def is_result(turn: Mapping[str, Any]) -> bool:
    return str(turn["role"]) in _TOOLS


def read_content(turn: Mapping[str, Any]) -> str:
    """Return the text of a turn; if it is in parts, they are lines of it."""
    content = turn.get("content")
    if isinstance(content, list):
        parts = [part.get("text", "") if isinstance(part, dict) else part for part in content]
        return "\n".join(write_value(part) for part in parts)
    return write_value(content)


def split_turns(text: str) -> dict[int, str]:
    """Return the texts in which passages of a conversation can be marked, by turn.

    Calls of tools and what these returned aren't among them. A conversation that a page shows as
    it is written, as it is none or too long, is one text, of turn 0.
    """
    turns = read_turns(text)
    if turns is None or count_parts(turns) > MOST_PARTS:
        return {0: text}
    contents = {
        n: read_content(turn) for n, turn in enumerate(turns, start=1) if not is_result(turn)
    }
    return {number: words for number, words in contents.items() if words.strip()}


def write_value(value: Any) -> str:
    """Write a value of JSON: a text as it is, but for characters that no page can hold."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # as many characters as before: places in the text stay what they are
    text = text.replace("\x00", "\ufffd")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_numbers(cell: Any) -> tuple[int, ...] | None:
    """Return the numbers of turns in a cell such as `2;4`; None if it holds anything else."""
    parts = cell if isinstance(cell, list) else _SEPARATOR.split(str(cell).strip())
    texts = [text for part in parts if (text := str(part).strip())]
    if not all(text.isascii() and text.isdigit() and len(text) < 6 for text in texts):
        return None
    return tuple(int(text) for text in texts)
