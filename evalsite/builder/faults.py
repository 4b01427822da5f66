"""Faults of a draft in the words of the builder: where each is, and what is wrong there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from evalsite.builder.boxes import list_rows
from evalsite.builder.controls import Plain, is_part, strip
from evalsite.builder.forms import is_row_number
from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Part
from evalsite.instruments.scales import KINDS
from evalsite.instruments.schema import Instrument


@dataclass(frozen=True)
class DraftFault:
    """A fault: its code, its place with rows by number, where that is in words, and a sentence."""

    code: str
    place: str
    where: str
    message: str


def describe_faults(faults: Iterable[Fault], draft: Mapping[str, Any]) -> list[DraftFault]:
    criteria = list_rows(draft.get("criteria"))
    described = []
    for fault in faults:
        place, message = _number_question(fault, criteria), fault.message
        if fault.code == "duplicate" and place.count(".") == 1 and place.startswith("criteria."):
            message = "has the same column in files as another question"
        where = describe_place(place, dict(draft))
        described.append(DraftFault(fault.code, place, where, message[:1].lower() + message[1:]))
    return list(dict.fromkeys(described))


def _number_question(fault: Fault, criteria: list[Plain]) -> str:
    """Return the place with the number of the question in place of its key."""
    first, *rest = fault.place.split(".") if fault.place else [""]
    if first != "criteria" or not rest:
        return fault.place
    keys = [str(question.get("key")) for question in criteria]
    if rest[0] in keys:
        number = keys.index(rest[0])
        if fault.code == "duplicate" and len(rest) == 1:
            number = len(keys) - 1 - keys[::-1].index(rest[0])
        rest[0] = str(number)
    return ".".join([first, *rest])


def describe_place(place: str, draft: Plain) -> str:
    """Return a place in words, as the form has them: "Question 2 (Tone), point 3, label"."""
    words: list[str] = []
    part: type[Part] | None = Instrument
    value: Any = draft
    noun = ""
    for step in place.split(".") if place else ():
        value = _step_into(value, step)
        if is_row_number(step) and noun:
            words[-1] = _name_row(noun, int(step) + 1, value)
        elif step == "scale" and isinstance(value, dict):
            part, noun = KINDS.get(str(value.get("kind"))), ""
        elif part is not None and (field := _find_field(part, step)):
            title, noun, part = field
            words.append(title)
        else:
            number = str(int(step) + 1) if is_row_number(step) else ""
            words.append(number or step.replace("_", " "))
    if not words:
        return "The instrument"
    first, *rest = words
    return ", ".join([first, *(word[:1].lower() + word[1:] for word in rest)])


def _step_into(value: Any, step: str) -> Any:
    if isinstance(value, list):
        return value[int(step)] if is_row_number(step) and int(step) < len(value) else None
    return value.get(step) if isinstance(value, dict) else None


def _name_row(noun: str, number: int, row: Any) -> str:
    label = row.get("label") if noun == "question" and isinstance(row, dict) else ""
    return f"{noun.capitalize()} {number}" + (f" ({label})" if label else "")


def _find_field(part: type[Part], step: str) -> tuple[str, str, type[Part] | None] | None:
    """Return the title of a field, what its rows are called, and the part they are."""
    for name, field in part.model_fields.items():
        if step not in (name, field.alias):
            continue
        title = (field.title or step).split(",")[0]
        hints = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        kinds = [strip(kind) for kind in (get_args(strip(field.annotation)) or ())]
        kinds = [strip(field.annotation), *kinds, *(k for kind in kinds for k in get_args(kind))]
        below = next((strip(k) for k in kinds if is_part(strip(k))), None)
        is_list = any(get_origin(kind) is list for kind in kinds)
        return title, str(hints.get("noun", "") if is_list else ""), below
    return None
