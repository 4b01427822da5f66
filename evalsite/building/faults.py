"""Faults of a draft in the words of the builder: which question, what is wrong, and where."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evalsite.instruments.faults import Fault

_SECTIONS = {
    "item": "page", "layout": "page", "practice": "practice", "examples": "examples",
    "comprehension": "check", "eligibility": "entry", "design": "design", "source": "source",
    "instructions": "instructions", "instructions_title": "instructions",
    "translations": "languages", "language": "languages", "minutes_per_item": "design",
}  # fmt: skip
_NAMES = {
    "item": "Page", "layout": "Page", "inputs": "input", "outputs": "outputs", "points": "point",
    "options": "option", "statements": "statement", "marks": "mark", "per": "asked",
    "label": "name", "key": "column", "name": "column", "scale": "answer", "practice": "Practice",
    "examples": "Worked example", "comprehension": "Check of the instructions",
    "eligibility": "Entry questions", "gold": "right answer", "ratings": "rating",
    "source": "Source", "title": "Title", "summary": "Summary", "instructions": "Instructions",
    "language": "Language", "translations": "Translations", "ask_if": "condition", "why": "reason",
    "tags": "reasons",
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A fault: the part of the page where it is mended, and a sentence."""

    anchor: str
    where: str
    message: str


def describe_faults(faults: Iterable[Fault], draft: Mapping[str, Any]) -> list[Found]:
    criteria = draft.get("criteria")
    questions = criteria if isinstance(criteria, list) else []
    keys = [one.get("key") if isinstance(one, Mapping) else None for one in questions]
    found = [_describe(fault, questions, keys) for fault in faults]
    return list(dict.fromkeys(found))


def _describe(fault: Fault, questions: list[Any], keys: list[Any]) -> Found:
    first, *rest = fault.place.split(".") if fault.place else [""]
    message = fault.message[:1].lower() + fault.message[1:]
    if first == "criteria" and rest:
        number = keys.index(rest[0]) if rest[0] in keys else _read_number(rest[0])
        if fault.code == "duplicate" and len(rest) == 1 and number is not None:
            number = len(keys) - 1 - keys[::-1].index(rest[0])
            message = "has the same column in exports as another question"
        if number is not None and number < len(questions):
            label = questions[number].get("label") if isinstance(questions[number], dict) else ""
            where = f"Question {number + 1}" + (f" ({label})" if label else "")
            return Found(f"q-{number}", _join(where, rest[1:]), message)
        return Found("questions", "Questions", message)
    anchor = _SECTIONS.get(first, "about")
    if first in ("practice", "examples", "comprehension") and rest and rest[0].isdigit():
        where = f"{_NAMES[first]} {int(rest[0]) + 1}"
        return Found(anchor, _join(where, rest[1:]), message)
    where = _NAMES.get(first, first.replace("_", " ").capitalize() or "The instrument")
    return Found(anchor, _join(where, rest), message)


def _read_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _join(where: str, rest: list[str]) -> str:
    """Return the place in words: "Question 2 (Tone), point 3 name"."""
    words: list[str] = []
    for at, part in enumerate(rest):
        if part == "scale":
            continue
        if words and words[-1] == "reasons" and part == "options":
            words[-1] = "reason"
            continue
        if part in ("label", "key") and "scale" in rest[:at]:
            words.append(part)
            continue
        number = _read_number(part)
        words.append(str(number + 1) if number is not None else _NAMES.get(part, part))
    said = " ".join(words).replace("_", " ")
    return f"{where}, {said}" if said else where
