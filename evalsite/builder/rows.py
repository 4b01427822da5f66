"""Buttons of the builder that add, move, copy and remove a row of a list, and undo that."""

from typing import Any

from evalsite.builder.boxes import list_rows
from evalsite.builder.controls import Control, Plain, find_control, list_controls
from evalsite.builder.examples import put_texts, take_texts
from evalsite.builder.forms import is_row_number
from evalsite.builder.questions import get_scale_data
from evalsite.builder.starts import add_question, change_row, start_row
from evalsite.instruments.scales import KINDS
from evalsite.instruments.schema import Instrument

_ACTIONS = ("up", "down", "copy", "remove")
# lists whose rows are named in examples
_NAMED = ("criteria", "item.inputs", "item.output_columns")


class RowList:
    """A list of a draft, found by the name that buttons have for it; LookupError if there is none.

    A group that isn't there yet is made when a row is added.
    """

    def __init__(self, draft: Plain, name: str) -> None:
        self.steps = name.split("-")
        self.control: Control | None = None
        self.path: list[tuple[Plain, Control]] = []
        self.groups: list[Plain] = []
        part: Any = Instrument
        value: Any = draft
        for step in self.steps:
            if is_row_number(step):
                value = list_in_place(value)[int(step)]
            elif step == "scale":
                value = get_scale_data(value)
                part = KINDS.get(str(value.get("kind")))
            else:
                self.control = find_control(part, step) if part else None
                if self.control is None or not isinstance(value, dict):
                    raise LookupError(name)
                self.path.append((value, self.control))
                value = value.get(step, _start_group(self.control))
                if self.control.kind == "group":
                    self.groups.append(value)
                part = self.control.part
        if self.control is None or self.control.kind != "rows" or self.control.is_box:
            raise LookupError(name)
        self.rows: list[Any] = list(value) if isinstance(value, list) else []

    @property
    def place(self) -> str:
        return ".".join(self.steps)

    def store(self) -> None:
        """Put the rows into the draft. A group that needs rows goes with the last of them."""
        for depth, (holder, control) in enumerate(reversed(self.path)):
            if depth and control.kind != "group":
                return  # a row of another list, which is there already
            if not self.rows and not control.is_required:
                holder.pop(control.name, None)
                return
            holder[control.name] = self.rows if not depth else self.groups[-depth]


def _start_group(control: Control) -> Any:
    if control.kind != "group":
        return []
    group: Plain = {
        cell.name: "" for cell in list_controls(control.part)
        if cell.is_required and cell.kind == "text"
    }  # fmt: skip
    return group | ({"accept": {}} if control.name == "eligibility" else {})


def list_in_place(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def change_rows(draft: Plain, action: str, name: str) -> tuple[str, Plain]:
    """Do what a button says; return the row that the page goes on at, and what was removed."""
    if action == "add":
        rows = RowList(draft, name)
        if rows.control and rows.place == "criteria":
            add_question(rows.rows)
        elif rows.control:
            rows.rows.append(start_row(rows.control, rows.place, list_rows(rows.rows)))
        rows.store()
        return f"{name}-{len(rows.rows) - 1}", {}
    name, _, text = name.rpartition("-")
    number = int(text) if is_row_number(text) else -1
    rows = RowList(draft, name)
    if action not in _ACTIONS or not 0 <= number < len(rows.rows):
        raise LookupError(name)
    removed: Plain = {}
    if action == "remove":
        row = rows.rows[number]
        key = str(row.get("key", row.get("name", ""))) if isinstance(row, dict) else ""
        removed = {"at": name, "number": number, "row": row, "key": key}
        if rows.place in _NAMED:
            removed["texts"] = take_texts(draft, rows.place, key)
    at = change_row(rows.rows, action, number)
    rows.store()
    return (f"{name}-{at}" if at >= 0 else name), removed


def put_back(draft: Plain, removed: Plain) -> str:
    """Put the row back that was removed last; return where it is."""
    rows = RowList(draft, removed["at"])
    rows.rows.insert(removed["number"], removed["row"])
    rows.store()
    if "texts" in removed:
        put_texts(draft, rows.place, removed["key"], removed["texts"])
    return f"{removed['at']}-{removed['number']}"
