"""Forms of the parts of a draft, read back into plain data, right or wrong.

What a form shows as it is in the draft stays as it is there, also where the form could only write
it in another way.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Mapping
from copy import deepcopy
from typing import Any

from evalsite.builder.answers import read_number
from evalsite.builder.boxes import list_rows, read_box, write_box
from evalsite.builder.controls import Control, Plain, list_controls
from evalsite.builder.forms import KEYS, get_group, get_key, list_ticked, name_at, write_value
from evalsite.builder.keys import is_key_of, make_key_at
from evalsite.builder.posts import Post, clean
from evalsite.instruments.parts import Part

_LABELS = ("label", "text")
# fields that a form has for some questions only
_SOMETIMES = frozenset({"better", "turns", "statements"})


class Reader:
    """Reads what was posted into parts of a draft.

    `kept_keys` are those of a version, which don't follow their words any more. `renamed` holds
    the old and new keys of rows, by the place of their list. `specials` read the fields that have a
    form of their own.
    """

    def __init__(
        self, post: Post, base: Plain, kept_keys: Container[str],
        specials: "Mapping[str, Special]",
    ) -> None:  # fmt: skip
        self.post = post
        self.base = base
        self.kept_keys = kept_keys
        self.specials = specials
        self.renamed: dict[str, dict[str, str]] = defaultdict(dict)
        # which row of the base each row of a list was, by the place of the list
        self.sources: dict[str, list[int | None]] = {}
        # those that have been read, in their order
        self.questions: list[Plain] = []
        self.item: Plain = {}

    def read_part(
        self, part: Any, place: str, before: Plain,
        only: Callable[[Control], bool] = lambda control: True,
    ) -> Plain:  # fmt: skip
        """Return a part as the form says it; `before` is what the form was filled from."""
        plain = dict(before)
        for control in filter(only, list_controls(part)):
            at = f"{place}.{control.name}" if place else control.name
            if control.name in _SOMETIMES and self.post.lacks(name_at(at)):
                continue
            if control.kind == "group":
                self._read_group(control, at, plain)
            elif control.kind == "rows":
                self.read_rows(control, at, plain)
            elif control.kind == "ticks":
                self._read_ticks(control, at, plain)
            else:
                self._read_field(control, at, plain)
        if special := self.specials.get(part.__name__):
            special(self, place, before, plain)
        return plain

    def _read_field(self, control: Control, at: str, plain: Plain) -> None:
        name, shown = name_at(at), write_value(control, plain)
        if control.kind == "checkbox":
            is_ticked = self.post.is_ticked(name)
            if is_ticked != bool(shown):
                set_value(control, plain, is_ticked)
            return
        text = self.post.read(name)
        if text == clean(shown):
            return
        if control.kind == "number":
            set_value(control, plain, read_number(text))
        elif control.kind == "lines":
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            set_value(control, plain, lines)
        else:
            set_value(control, plain, text)

    def _read_ticks(self, control: Control, at: str, plain: Plain) -> None:
        ticked = [value for value in control.choices if self.post.is_ticked(name_at(at, value))]
        if set(ticked) != set(list_ticked(control, plain)):
            set_value(control, plain, ticked[0] if len(ticked) == 1 else ticked)

    def _read_group(self, control: Control, at: str, plain: Plain) -> None:
        is_there = control.get_value(plain) is not None
        before = get_group(plain, control)
        group = self.read_part(control.part, at, before)
        may_be_absent = control.may_be_absent
        if may_be_absent and self.post.is_ticked(name_at(at, "there")) != is_there:
            set_value(control, plain, None if is_there else group, keep=not is_there)
        elif group != before:
            if not is_there and not may_be_absent:
                # what the form showed of a group that wasn't there is now said
                group = self._start_group(control, at) | group
            is_empty = not any(value not in ("", [], {}) for value in group.values())
            is_off = any("" in c.words and not group.get(c.name) for c in _list_needed(control))
            is_emptied = any(
                cell.kind == "rows" and before.get(cell.name) and not group.get(cell.name)
                for cell in _list_needed(control)
            )
            is_gone = not control.is_required and (is_empty or is_off or is_emptied)
            set_value(control, plain, None if is_gone else group)

    def _start_group(self, control: Control, at: str) -> Plain:
        start: Plain = {}
        for cell in _list_needed(control):
            if cell.kind == "select" and "column" not in cell.hints:
                start[cell.name] = self.post.read(name_at(f"{at}.{cell.name}"))
            elif cell.examples:
                start[cell.name] = deepcopy(cell.examples[0])
            elif cell.kind == "text":
                start[cell.name] = ""
        return start

    # --- rows

    def read_rows(self, control: Control, at: str, plain: Plain) -> None:
        listed = control.get_value(plain)
        before = list_rows(listed)
        rows = before
        if any(not cell.is_in_box for cell in list_controls(control.part)):
            rows = self._read_listed(control, at, before)
        if control.is_box:
            rows = self._read_lines(control, at, before, rows)
        if rows != before:
            set_value(control, plain, rows, keep=control.is_required)

    def _read_listed(self, control: Control, at: str, before: list[Plain]) -> list[Plain]:
        """Read the rows of a list one by one; each is known by the key that it had."""
        count = self.post.count(name_at(at, "rows"))
        was = [self.post.read(name_at(f"{at}.{number}", "was")) for number in range(count)]
        rows = [dict(row) for row in before] if control.is_box else []
        self.sources[at] = match_rows(was, before)
        for number, source in enumerate(self.sources[at]):
            old = before[source] if source is not None else {}
            place = f"{at}.{number}"
            row = self.read_part(control.part, place, old, lambda cell: not cell.is_in_box)
            if not control.is_box:
                rows.append(row)
            elif source is not None:
                rows[source] = row
        if not control.is_box:
            for source, row in zip(self.sources[at], rows, strict=True):
                old = before[source] if source is not None else {}
                self._settle_key(control, at, old, row, rows)
                self._note(at, before, old, row)
        return rows

    def find_source(self, at: str, number: int) -> Plain:
        """Return what a row of a list was in the base; {} for a new one."""
        listed: Any = self.base
        for step in at.split("."):
            listed = listed.get(step, {}) if isinstance(listed, dict) else {}
        source = self.sources[at][number]
        return list_rows(listed)[source] if source is not None else {}

    def _read_lines(
        self, control: Control, at: str, before: list[Plain], rows: list[Plain]
    ) -> list[Plain]:
        """Read the lines of a box; `rows` are those of before, with what else was changed."""
        text = self.post.read(name_at(f"{at}-box"))
        if text == clean(write_box(control, before)):
            lines: list[tuple[Plain, int | None]] = [(row, at) for at, row in enumerate(rows)]
        else:
            lines = read_box(control, text, rows)
        changed = [row for row, _ in lines]
        for row, source in lines:
            old = before[source] if source is not None else {}
            self._settle_key(control, at, old, row, changed)
            self._note(at, before, old, row)
        return changed

    def _settle_key(
        self, control: Control, at: str, old: Plain, row: Plain, rows: list[Plain]
    ) -> None:
        """Make the key of a row that has none; one made of words follows them while it is new."""
        cells = {cell.name: cell.kind for cell in list_controls(control.part)}
        name = next((name for name in KEYS if cells.get(name) == "text"), "")
        label = next((label for label in _LABELS if label in cells), "")
        if name and label:
            key, words = str(row.get(name, "")), str(row.get(label, "")).strip()
            before = str(old.get(label, ""))
            follows = (
                key == old.get(name)
                and words not in ("", before)
                and key not in self.kept_keys
                and is_key_of(key, before)
            )
            if not key or follows:
                taken = {get_key(r) for r in rows if r is not row}
                row[name] = make_key_at(at, words, taken)

    def _note(self, at: str, before: list[Plain], old: Plain, row: Plain) -> None:
        """Note a new key. What refers to a key that two rows had means the first of them."""
        key = get_key(old)
        if old and key != get_key(row) and next(r for r in before if get_key(r) == key) is old:
            self.renamed[at][key] = get_key(row)


Special = Callable[[Reader, str, Plain, Plain], None]


def match_rows(was: list[str], before: list[Plain]) -> list[int | None]:
    """Return which row of before each row of a form is: by its key, or else by its place."""
    keys = [get_key(row).strip() for row in before]
    sources: list[int | None] = []
    for number, key in enumerate(was):
        free = [at for at, known in enumerate(keys) if known == key and at not in sources]
        # of rows with one key, the one in the same place comes first
        sources.append(number if number in free else next(iter(free), None))
    for number, source in enumerate(sources):
        # of a page that was only looked at, or kept meanwhile: the draft has another key
        if source is None and number < len(before) and number not in sources:
            sources[number] = number
    return sources


def set_value(control: Control, plain: Plain, value: Any, *, keep: bool = False) -> None:
    """Set what a field says, under the key it has; what is empty or as usual is left out.

    A text that is needed stays, though empty, for the check to name.
    """
    for name in control.names:
        plain.pop(name, None)
    is_empty = value in (None, "", []) and not isinstance(value, bool)
    if keep or (not is_empty and (control.is_required or value != control.default)):
        plain[control.name] = value
    elif control.is_required and control.kind in ("text", "lines", "rows"):
        plain[control.name] = "" if control.kind == "text" else []


def _list_needed(control: Control) -> list[Control]:
    part: type[Part] | None = control.part
    return [cell for cell in list_controls(part) if cell.is_required]
