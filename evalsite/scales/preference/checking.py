"""Checks of the parameters of a preference."""

from collections.abc import Mapping
from typing import Any

from evalsite.protocol.faults import (
    Faults,
    check_choice,
    check_keys,
    check_list,
    check_text,
    check_whole,
)
from evalsite.scales.options import check_options

BOTH = ("both_good", "both_bad")
# in data: the first output better below 0
PLAIN_VALUES = [-1, 0, 1]
_ABOUT = {"preferred", "each output", "comparison"}


def is_plain(data: Mapping[str, Any]) -> bool:
    """Tell whether this is first, tie and second, and nothing else."""
    values = [one.get("value") for one in data["points"]]
    has_notes = any("notes" in one for one in data["points"])
    return values == PLAIN_VALUES and not has_notes and not {*BOTH, "tags", "display"} & data.keys()


def check_graded(data: Mapping[str, Any], place: str, faults: Faults) -> None:
    """Add a fault for everything that is wrong with the parameters of a preference."""
    check_keys(data, place, faults, needed={"kind", "points"}, optional={*BOTH, "tags", "display"})
    for name in BOTH:
        check_text(data.get(name, "-"), f"{place}.{name}", faults)
    check_choice(data.get("display", "row"), {"row", "stacked"}, f"{place}.display", faults)
    if "tags" in data:
        _check_tags(data["tags"], f"{place}.tags", faults)
    if "points" not in data:
        return
    at = f"{place}.points"
    points = check_list(data["points"], at, faults, least=2, most=7)
    checked = [_check_point(one, f"{at}.{number}", faults) for number, one in enumerate(points)]
    values = [value for value in checked if value is not None]
    if len(values) < len(points):
        return
    if values != sorted(set(values)) or [-value for value in reversed(values)] != values:
        faults.add("not_symmetric", at, "must have values that rise and mirror around 0")


def _check_point(point: Any, place: str, faults: Faults) -> int | None:
    """Return the value of a point; None if it has none that can be used."""
    if not check_keys(point, place, faults, needed={"value", "label"}, optional={"notes"}):
        return None
    for number, note in enumerate(check_list(point.get("notes", []), f"{place}.notes", faults)):
        check_text(note, f"{place}.notes.{number}", faults)
    check_text(point.get("label", "-"), f"{place}.label", faults)
    is_value = check_whole(point.get("value", 0), f"{place}.value", faults, least=-3, most=3)
    return point.get("value") if is_value else None


def _check_tags(tags: Any, place: str, faults: Faults) -> None:
    if not check_keys(
        tags, place, faults, needed={"label", "about", "options"}, optional={"least", "most"}
    ):
        return
    check_text(tags.get("label", "-"), f"{place}.label", faults)
    check_choice(tags.get("about", "comparison"), _ABOUT, f"{place}.about", faults)
    options = tags.get("options", [])
    check_options(options, f"{place}.options", faults, least=2, more=frozenset({"side"}))
    for number, option in enumerate(options if isinstance(options, list) else ()):
        if isinstance(option, Mapping):
            side, at = option.get("side", "either"), f"{place}.options.{number}.side"
            check_choice(side, {"good", "bad", "either"}, at, faults)
    count = len(options) if isinstance(options, list) else 1
    if check_whole(tags.get("least", 0), f"{place}.least", faults, least=0, most=count):
        least = max(tags.get("least", 0), 1)
        check_whole(tags.get("most", count), f"{place}.most", faults, least=least, most=count)
