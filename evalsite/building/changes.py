"""What a version of an instrument changed, in the words of the builder."""

from collections.abc import Mapping
from typing import Any

from evalsite.building.controls import Plain
from evalsite.building.faults import describe_faults
from evalsite.instruments.faults import Fault

_SHOWN = 8


def list_changes(before: Plain, after: Plain) -> list[str]:
    """Name the places that differ between two versions, at most a few of them."""
    was, now = _flatten(before), _flatten(after)
    places = [place for place in {**now, **was} if was.get(place) != now.get(place)]
    labels = [
        {one["key"]: one.get("label") or one["key"] for one in content["criteria"]}
        for content in (before, after)
    ]
    old, new = labels
    found = [
        *(f"Question “{new[key]}” was added" for key in new if key not in old),
        *(f"Question “{old[key]}” was removed" for key in old if key not in new),
    ]
    if [key for key in old if key in new] != [key for key in new if key in old]:
        found.append("Order of questions")
    gone = tuple(f"criteria.{key}." for key in old.keys() ^ new.keys())
    kept = [Fault("", place, "") for place in places if not f"{place}.".startswith(gone)]
    found += dict.fromkeys(one.where for one in describe_faults(kept, after))
    more = len(found) - _SHOWN
    return [*found[:_SHOWN], f"and {more} more"] if more > 0 else found


def _flatten(content: Any, place: str = "") -> dict[str, Any]:
    """Return each single value by its dotted place; questions are named by their key."""
    if isinstance(content, Mapping):
        parts = {str(name): one for name, one in content.items()}
    elif isinstance(content, list):
        is_named = place == "criteria"
        parts = {one["key"] if is_named else str(at): one for at, one in enumerate(content)}
    else:
        return {place: content}
    found: dict[str, Any] = {}
    for name, one in parts.items():
        if place or name != "version":
            found |= _flatten(one, f"{place}.{name}" if place else name)
    return found
