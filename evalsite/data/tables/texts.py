"""Texts out of what tools write: outputs, inputs, conversations, metadata."""

import json
import re
from typing import Any

from evalsite.data.tables.faults import Refused

_REASONING = re.compile(r"\s*<think(?:ing)?>(.*?)</think(?:ing)?>\s*", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"-?(inf|[0-9.]+(e-?[0-9]+)?)")
_NO_TEXT = (
    "An output is no text but a number or a list, as of tasks that compare likelihoods. Only "
    "generated texts can be rated."
)
_MOST_DEEP = 50
_TEXT_PARTS = {"text", "input_text", "output_text"}


def read_output(value: Any) -> str | None:
    """Return the text of an output; None if there is none."""
    if value is None:
        return None
    if isinstance(value, str):
        return check_text(value)
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        return _join_parts(value)
    if isinstance(value, dict):
        return write_value(value)
    raise Refused("no_text", _NO_TEXT)


def check_samples(texts: list[str]) -> None:
    """Refuse the likelihood of a choice with whether it is the best, as lm_eval writes them."""
    if len(texts) == 2 and texts[1] in ("True", "False") and _NUMBER.fullmatch(texts[0]):
        raise Refused("no_text", _NO_TEXT)


def read_input(value: Any) -> Any:
    """Return a text, or a conversation as a list of turns with `role` and `content`."""
    if isinstance(value, list) and value and all(_is_turn(turn) for turn in value):
        return [{"role": str(turn["role"]), "content": _read_content(turn)} for turn in value]
    return write_value(value)


def _is_turn(turn: Any) -> bool:
    return isinstance(turn, dict) and "role" in turn and ("content" in turn or "tool_calls" in turn)


def _read_content(turn: dict[str, Any]) -> str:
    content = turn.get("content")
    if isinstance(content, list):
        return _join_parts(content)
    return write_value(content)


def _join_parts(parts: list[Any]) -> str:
    """Join the texts of a message in parts; refuse pictures and sounds, which nobody would see."""
    for part in parts:
        kind = str(part.get("type", "text")) if isinstance(part, dict) else ""
        if kind in {"reasoning", "refusal"}:
            continue
        if kind not in _TEXT_PARTS:
            raise Refused(
                "media",
                "It holds pictures, sounds or other parts that aren't text, which can't be rated "
                "here. Nothing was taken.",
            )
    return "\n".join(write_value(part.get("text")) for part in parts if "text" in part)


def write_value(value: Any) -> str:
    """Write a value into a cell: a text as it is, anything else as compact JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return check_text(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if _is_deep(value, _MOST_DEEP):
        raise Refused("json_depth", f"A value is nested more than {_MOST_DEEP} deep.")
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return check_text(text)


def _is_deep(value: Any, left: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return False
    return left == 0 or any(_is_deep(part, left - 1) for part in value)


def check_text(text: str) -> str:
    if _SURROGATE.search(text):
        raise Refused(
            "surrogate", r"A text holds an invalid character (a lone surrogate such as \ud800)."
        )
    return text


def has_reasoning(text: str) -> bool:
    return _REASONING.match(text) is not None


def split_reasoning(text: str) -> tuple[str, str]:
    """Return the reasoning with which a text begins, and what follows it."""
    found = _REASONING.match(text)
    return (found[1].strip(), text[found.end() :]) if found else ("", text)
