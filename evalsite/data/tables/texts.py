"""Texts out of what tools write: outputs, inputs, conversations, metadata."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalsite.data.tables.paths import open_json
from evalsite.data.tables.table import Refused

_REASONING = re.compile(r"\s*<(think|thinking|reasoning)>", re.IGNORECASE)
# roles of turns that may be outputs
_ANSWERING = ("assistant", "ai", "model", "bot", "gpt")
# a paragraph of a transcript, as in “\n\nHuman: Why?\n\nAssistant: So.”
_ROLES = {"human": "user", "user": "user", "assistant": "assistant", "ai": "assistant"}
# whom ShareGPT's turns are from
_SPEAKERS = {
    **dict.fromkeys(("gpt", "chatgpt", "model", "bot"), "assistant"),
    **dict.fromkeys(("function_response", "observation"), "tool"),
    **_ROLES,
}
_SPOKEN = re.compile(rf"(?:\A\s*|\n\n)({'|'.join(_ROLES)}):(?:\s|\Z)", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"-?(inf|[0-9.]+(e-?[0-9]+)?)")
_NO_TEXT = (
    "An output is no text but a number or a list, as of tasks that compare likelihoods. Only "
    "generated texts can be rated."
)
_MOST_DEEP = 50
_TEXT_PARTS = {"text", "input_text", "output_text"}
# parts that nobody sees as the answer
_SILENT_PARTS = {"reasoning", "thinking", "redacted_thinking", "refusal"}


def read_transcript(value: Any) -> Any:
    """Return turns: also ShareGPT's, those of a text that says who speaks, or of one in JSON."""
    value = open_json(value)
    if isinstance(value, list) and all(_is_shared_turn(turn) for turn in value):
        return [
            {"role": _SPEAKERS.get(turn["from"], turn["from"]), "content": turn["value"]}
            for turn in value
        ]
    if not isinstance(value, str) or not _SPOKEN.match(value):
        return value
    parts = _SPOKEN.split(value)[1:]
    return [
        {"role": _ROLES[speaker.casefold()], "content": words.strip()}
        for speaker, words in zip(parts[::2], parts[1::2], strict=True)
    ]


def _is_shared_turn(turn: Any) -> bool:
    return isinstance(turn, dict) and isinstance(turn.get("from"), str) and "value" in turn


def read_output(value: Any) -> str | None:
    """Return the text of an output; None if there is none."""
    if value is None:
        return None
    if isinstance(value, str):
        return check_text(value)
    if isinstance(value, list) and value and all(_is_turn(turn) for turn in value):
        return write_value(value)
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        return _join_parts(value)
    if isinstance(value, dict):
        return write_value(value)
    raise Refused("no_text", _NO_TEXT)


def check_samples(texts: list[str]) -> None:
    """Refuse the likelihood of a choice with whether it is the best, as lm_eval writes them."""
    if len(texts) == 2 and texts[1] in ("True", "False") and _NUMBER.fullmatch(texts[0]):
        raise Refused("no_text", _NO_TEXT)


def is_messages(value: Any) -> bool:
    """Return whether a text is a list of messages in JSON."""
    return isinstance(value, str) and value[:2] in ("[{", "[ ", "[\n") and '"role"' in value


def read_input(value: Any) -> Any:
    """Return a text, or a conversation as a list of turns with `role` and `content`."""
    if isinstance(value, list) and value and all(_is_turn(turn) for turn in value):
        return read_messages(value)
    if isinstance(value, list) and value and all(_is_text_part(part) for part in value):
        return _join_parts(value)
    return write_value(value)


def read_messages(turns: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the role and the text of each turn; of a turn without words, none."""
    return [{"role": str(turn["role"]), "content": _read_content(turn)} for turn in turns]


def _is_text_part(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)


def _is_turn(turn: Any) -> bool:
    return isinstance(turn, dict) and "role" in turn and ("content" in turn or "tool_calls" in turn)


def _read_content(turn: Mapping[str, Any]) -> str:
    content = turn.get("content")
    if isinstance(content, list):
        return _join_parts(content)
    return write_value(content)


def _join_parts(parts: list[Any]) -> str:
    """Join the texts of a message in parts; refuse pictures and sounds, which nobody would see."""
    for part in parts:
        kind = str(part.get("type", "text")) if isinstance(part, dict) else ""
        if kind in _SILENT_PARTS:
            continue
        if kind not in _TEXT_PARTS:
            raise Refused(
                "media",
                "It holds pictures, sounds or other parts that aren't text, which can't be rated "
                "here. Nothing was taken.",
            )
    return "\n".join(
        write_value(part.get("text"))
        for part in parts
        if "text" in part and not part.get("thought") and part.get("type") not in _SILENT_PARTS
    )


def read_reasoning(value: Any) -> str:
    """Return the reasoning in the parts of a message, as far as it can be read."""
    if not isinstance(value, list):
        return ""
    texts = (_read_thought(part) for part in value if isinstance(part, dict))
    return "\n\n".join(text for text in texts if text.strip())


def _read_thought(part: Mapping[str, Any]) -> str:
    """Return the reasoning in a part of Gemini, Anthropic, Inspect or OpenAI; "" if it has none."""
    if part.get("thought") is True:
        return write_value(part.get("text"))
    if part.get("type") == "thinking":
        return write_value(part.get("thinking"))
    if part.get("type") != "reasoning":
        return ""
    # encrypted, unless there is a summary
    hidden = "summary" if part.get("redacted") else "reasoning"
    values = (part.get(name) for name in (hidden, "content", "summary"))
    texts = (
        value
        if isinstance(value, str)
        else "\n\n".join(
            write_value(entry.get("text")) for entry in value or () if isinstance(entry, dict)
        )
        for value in values
        if isinstance(value, str | list)
    )
    return next((check_text(text) for text in texts if text.strip()), "")


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


class Reasoning(NamedTuple):
    """The reasoning with which an output begins, and what follows it."""

    text: str
    rest: str
    is_closed: bool


def find_reasoning(text: str) -> Reasoning | None:
    """Return the reasoning of an output; None if it begins with none. Without an end it is all."""
    opened = _REASONING.match(text)
    if opened is None:
        return None
    closed = re.compile(rf"</{opened[1]}>\s*", re.IGNORECASE).search(text, opened.end())
    if closed is None:
        return Reasoning(text[opened.end() :].strip(), "", False)
    return Reasoning(text[opened.end() : closed.start()].strip(), text[closed.end() :], True)


def write_messages(turns: Sequence[Mapping[str, str]]) -> str:
    """Write messages as one text: of a single one its words, else each behind its role."""
    if len(turns) == 1:
        return turns[0]["content"]
    return "\n\n".join(f"{turn['role'].capitalize()}: {turn['content']}" for turn in turns)


def write_last_answer(turns: Sequence[Mapping[str, str]]) -> str:
    """Return the last text of the assistant, which is the output of messages."""
    answers = [turn["content"] for turn in turns if turn["role"] in _ANSWERING and turn["content"]]
    return answers[-1] if answers else ""


def write_turns(value: str | list[dict[str, str]]) -> str:
    """Write a conversation as JSON; of a single turn its text is all there is to show."""
    if isinstance(value, str):
        return value
    return value[0]["content"] if len(value) == 1 else write_value(value)
