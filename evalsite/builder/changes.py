"""What a version of an instrument changed, in the words of the builder."""

from collections.abc import Mapping
from typing import Any

from evalsite.builder.controls import Plain
from evalsite.builder.faults import describe_faults
from evalsite.instruments.faults import Fault

_SHOWN = 8


def list_changes(before: Plain, after: Plain) -> list[str]:
    """Name the places that differ between two versions, at most a few of them."""
    was, now = _flatten(before), _flatten(after)
    places = [place for place in {**now, **was} if was.get(place) != now.get(place)]
    labels = [
        {
            question["key"]: question.get("label") or question["key"]
            for question in content["criteria"]
        }
        for content in (before, after)
    ]
    old, new = labels
    changes = [
        *(f"Question “{new[key]}” was added" for key in new if key not in old),
        *(f"Question “{old[key]}” was removed" for key in old if key not in new),
    ]
    if [key for key in old if key in new] != [key for key in new if key in old]:
        changes.append("Order of questions")
    gone = tuple(f"criteria.{key}." for key in old.keys() ^ new.keys())
    kept = [Fault("", place, "") for place in places if not f"{place}.".startswith(gone)]
    changes += dict.fromkeys(fault.where for fault in describe_faults(kept, after))
    more = len(changes) - _SHOWN
    return [*changes[:_SHOWN], f"and {more} more"] if more > 0 else changes


def _flatten(content: Any, place: str = "") -> dict[str, Any]:
    """Return each single value by its dotted place; questions are named by their key."""
    if isinstance(content, Mapping):
        parts = {str(name): part for name, part in content.items()}
    elif isinstance(content, list):
        is_named = place == "criteria"
        parts = {part["key"] if is_named else str(at): part for at, part in enumerate(content)}
    else:
        return {place: content}
    values: dict[str, Any] = {}
    for name, part in parts.items():
        if place or name != "version":
            values |= _flatten(part, f"{place}.{name}" if place else name)
    return values
