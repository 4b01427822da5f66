"""Checks of what an item holds and of how its page is laid out."""

from collections.abc import Collection, Mapping
from typing import Any

from evalsite.lib.seeds import MOST_ORDERED
from evalsite.protocol.faults import (
    Faults,
    check_choice,
    check_flag,
    check_key,
    check_keys,
    check_list,
    check_text,
    check_unique,
    check_whole,
)

RESERVED_COLUMNS = frozenset({"item", "system", "output", "group", "cluster", "kind"})
_RICH_KINDS = frozenset({"text", "markdown", "code", "table", "conversation", "dialogue"})
INPUT_KINDS = _RICH_KINDS | {
    "meaning representation",
    "review",
    "whole number",
    "statements",
    "turns",
}
KINDS_OF_OUTPUTS = frozenset({"statements", "turns"})
LATER_INPUT_KINDS = frozenset({"spans"})
OUTPUT_KINDS = _RICH_KINDS


def check_item(item: Any, faults: Faults) -> dict[str, Mapping[str, Any]]:
    """Return the declared inputs by name."""
    columns: dict[str, Mapping[str, Any]] = {}
    optional = {"name", "names", "output_name", "output_columns"}
    if item is None or not check_keys(
        item, "item", faults, needed={"inputs", "outputs"}, optional=optional
    ):
        return columns
    for name in ("name", "names", "output_name"):
        check_text(item.get(name, "-"), f"item.{name}", faults)
    for number, column in enumerate(check_list(item.get("inputs", []), "item.inputs", faults)):
        _check_column(column, f"item.inputs.{number}", columns, faults)
    _check_output_columns(item, columns, faults)
    outputs = item.get("outputs", {"kind": "text", "least": 1, "most": 1})
    at = "item.outputs"
    if check_keys(
        outputs, at, faults, needed={"kind", "least", "most"}, optional={"aliases", "language"}
    ):
        check_text(outputs.get("language", ""), f"{at}.language", faults, may_be_empty=True)
        _check_kind(outputs.get("kind"), OUTPUT_KINDS, frozenset(), at, faults)
        _check_names(outputs.get("aliases", []), f"{at}.aliases", faults)
        if check_whole(outputs.get("least", 1), f"{at}.least", faults, least=1, most=10):
            least = outputs.get("least", 1)
            check_whole(outputs.get("most", 10), f"{at}.most", faults, least=least, most=10)
    return columns


def _check_output_columns(
    item: Mapping[str, Any], columns: dict[str, Mapping[str, Any]], faults: Faults
) -> None:
    """Check what a file says of each output; so far only where an item has one output."""
    at = "item.output_columns"
    listed = check_list(item.get("output_columns", []), at, faults)
    outputs = item.get("outputs")
    if listed and isinstance(outputs, Mapping) and outputs.get("most") != 1:
        faults.add(
            "not_supported",
            at,
            "can only be used where an item has exactly one output. Show each output on its own "
            "(outputs: least 1, most 1), or list the column under inputs: it then holds for all "
            "outputs of an item",
        )
    for number, column in enumerate(listed):
        _check_column(column, f"{at}.{number}", columns, faults, kinds=KINDS_OF_OUTPUTS)


def _check_column(
    column: Any,
    place: str,
    columns: dict[str, Mapping[str, Any]],
    faults: Faults,
    *,
    kinds: Collection[str] = INPUT_KINDS,
) -> None:
    needed = {"name", "label", "kind"}
    optional = {"aliases", "required", "together", "display", "language", "shown"}
    if kinds != INPUT_KINDS:  # a column of an output is for a question, not to be read
        needed, optional = {"name", "kind"}, {"label", "aliases", "required"}
    if not check_keys(column, place, faults, needed=needed, optional=optional):
        return
    # of earlier versions: read, and without effect, since every input is shown whole
    displays = {"full", "scroll", "folded"}
    check_choice(column.get("display", "full"), displays, f"{place}.display", faults)
    check_flag(column.get("shown", True), f"{place}.shown", faults)
    check_text(column.get("label", "-"), f"{place}.label", faults)
    check_text(column.get("language", ""), f"{place}.language", faults, may_be_empty=True)
    check_text(column.get("together", ""), f"{place}.together", faults, may_be_empty=True)
    check_flag(column.get("required", True), f"{place}.required", faults)
    _check_names(column.get("aliases", []), f"{place}.aliases", faults)
    _check_kind(column.get("kind"), kinds, LATER_INPUT_KINDS, place, faults)
    name = column.get("name")
    if name is None or not check_key(name, f"{place}.name", faults):
        return
    if name in RESERVED_COLUMNS:
        faults.add("reserved_column", f"{place}.name", "is a column that every batch has")
    if name in columns:
        faults.add("duplicate", f"{place}.name", "is the name of another column")
    columns[name] = column


def _check_kind(
    kind: Any, kinds: Collection[str], later: Collection[str], place: str, faults: Faults
) -> None:
    if str(kind) in later:
        faults.add("not_supported", f"{place}.kind", "can't be shown by this version yet")
    elif kind is not None:
        check_choice(kind, kinds, f"{place}.kind", faults)


def _check_names(names: Any, place: str, faults: Faults) -> None:
    for number, name in enumerate(check_list(names, place, faults)):
        check_text(name, f"{place}.{number}", faults)


def find_bounds(data: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the fewest and the most outputs, also of faulty data."""
    item = data.get("item")
    outputs = item.get("outputs") if isinstance(item, Mapping) else None
    outputs = outputs if isinstance(outputs, Mapping) else {}
    return outputs.get("least"), outputs.get("most")


def check_layout(layout: Any, bounds: tuple[Any, Any], faults: Faults) -> None:
    optional = {"inputs", "order", "letters", "menu", "screen"}
    if layout is None or not check_keys(
        layout, "layout", faults, needed={"outputs", "questions"}, optional=optional
    ):
        return
    check_choice(layout.get("order", "random"), {"random", "given"}, "layout.order", faults)
    if layout.get("order") == "given" and isinstance(bounds[1], int) and bounds[1] > MOST_ORDERED:
        words = f"can only be given where an item has {MOST_ORDERED} outputs at most"
        faults.add("wrong_layout", "layout.order", words)
    for name in ("letters", "menu"):
        _check_names(layout.get(name, []), f"layout.{name}", faults)
    places = {"above", "beside", "none"}
    check_choice(layout.get("inputs", "above"), places, "layout.inputs", faults)
    places = {"below", "beside", "under each output"}
    check_choice(layout.get("questions", "below"), places, "layout.questions", faults)
    wanted = layout.get("outputs", "one")
    check_choice(wanted, {"one", "several", "pair"}, "layout.outputs", faults)
    if wanted == "one" and bounds != (1, 1):
        faults.add(
            "wrong_layout",
            "layout.outputs",
            "must be 'several' or 'pair' unless an item has exactly one output",
        )
    if wanted == "pair" and bounds != (2, 2):
        faults.add(
            "wrong_layout",
            "layout.outputs",
            "can only be 'pair' if an item has exactly two outputs",
        )
    if wanted == "several" and isinstance(bounds[1], int) and bounds[1] < 2:
        faults.add(
            "wrong_layout",
            "layout.outputs",
            "can only be 'several' if an item may have two or more outputs",
        )


def check_screens(data: Mapping[str, Any], faults: Faults) -> None:
    """Check what a study may choose from: pages of one item, a sheet, or both."""
    layout = data.get("layout")
    if not isinstance(layout, Mapping) or "screen" not in layout:
        return
    screens, place = layout["screen"], "layout.screen"
    if isinstance(screens, list):
        if not check_list(screens, place, faults, least=1):
            return
        check_unique(screens, place, faults)
    else:
        screens = [screens]
    for screen in screens:
        check_choice(screen, {"one", "sheet"}, place, faults)
    if "sheet" not in screens:
        return
    unsupported = [name for name in ("ignore", "note", "aids", "x_highlight") if name in data]
    unsupported += [] if layout.get("outputs") == "one" else ["several outputs"]
    if unsupported:
        names = ", ".join(unsupported)
        faults.add("not_supported", place, f"can't be a sheet in an instrument with {names}")
