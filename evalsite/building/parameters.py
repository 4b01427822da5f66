"""Parameters of scales as fields of a form: how each is entered, and what it starts with.

A kind of answer declares the names of its parameters; those that the format describes are here, so
that a new kind with them can be built without anything else. Others are kept as they are.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evalsite.instruments.scales import Scale

Plain = dict[str, Any]
_KEY_LINE = re.compile(r"\s*([a-z][a-z0-9_]{0,39})\s*:\s*(.+?)\s*")
MOST_ROWS = 100
# the part of a group that is a table
TABLE = "options"
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_NOT_KEY = re.compile(r"[^a-z0-9]+")


def is_key_of(key: str, words: str) -> bool:
    """Tell whether this key was made of these words, with or without more after it."""
    return re.fullmatch(rf"{make_key(words)}(_answer)?(_[0-9]+)?", key) is not None


def make_key(words: str, taken: Any = ()) -> str:
    """Return a key like these words that isn't taken: "Too long" is too_long."""
    start = _NOT_KEY.sub("_", words.casefold()).strip("_")[:36].strip("_")
    start = start if start[:1].isalpha() else f"q_{start}".strip("_")
    number, key = 1, start
    while key in taken:
        number += 1
        key = f"{start}_{number}"
    return key


# --- text ---------------------------------------------------------------------------


def _write_statements(entries: Any) -> str:
    """Write statements as lines, "key: words"."""
    return "\n".join(f"{one.get('key', '')}: {one.get('text', '')}" for one in _list(entries))


def _read_statements(text: str, before: Any) -> list[Plain]:
    known = {entry.get("key"): entry for entry in _list(before)}
    found: dict[str, Plain] = {}
    for line in filter(str.strip, text.splitlines()):
        match = _KEY_LINE.fullmatch(line)
        said = match[2] if match else line.strip()
        key = match[1] if match and match[1] not in found else make_key(said, found)
        found[key] = {**known.get(key, {}), "key": key, "text": said}
    return list(found.values())


def _list(entries: Any) -> list[Mapping[str, Any]]:
    listed = entries if isinstance(entries, list) else []
    return [entry for entry in listed if isinstance(entry, Mapping)]


def read_whole(text: str, before: Any = None) -> int | str | None:
    """Return a whole number; other text as it is, for the check to name; None for nothing."""
    said = text.strip()
    if not said:
        return None
    return int(said) if _WHOLE.fullmatch(said) and said.isascii() else said


def read_text(text: str, before: Any = None) -> str | None:
    return text.strip().replace("\r\n", "\n") or None


def read_flag(text: str, before: Any = None) -> bool | None:
    return True if text else None


# --- columns of tables --------------------------------------------------------------


def write_lines(notes: Any) -> str:
    return "\n".join(map(str, notes)) if isinstance(notes, list) else ""


def read_lines(text: str) -> list[str] | None:
    return [line.strip() for line in text.splitlines() if line.strip()] or None


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table. `needs`: a parameter that a scale with this column takes.

    `is_rare`: shown once that parameter has a value.
    """

    name: str
    label: str
    control: str = "text"  # or whole, area, flag, key, select
    choices: tuple[tuple[str, str], ...] = ()
    is_needed: bool = False
    needs: str = ""
    is_rare: bool = False
    read: Callable[[str], Any] = read_text
    write: Callable[[Any], str] = lambda value: "" if value is None else str(value)


_VALUE = Column(name="value", label="Value", control="whole", is_needed=True, read=read_whole)
_KEY = Column(name="key", label="Key", control="key", is_needed=True)
_LABEL = Column(name="label", label="Label", is_needed=True)
_NOTES = Column(name="notes", label="Notes", control="area", read=read_lines, write=write_lines)


def _flag_column(name: str, label: str, needs: str = "", *, is_rare: bool = False) -> Column:
    return Column(
        name=name, label=label, control="flag", needs=needs, is_rare=is_rare, read=read_flag,
        write=lambda value: "on" if value else "",
    )  # fmt: skip


# --- parameters ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """How a parameter is entered. `control` is the template's; `choices` are those of a select.

    A list of entries is a table: its `columns`, and what one entry is called. A group has `parts`,
    parameters of its own: it is there while its table has rows.
    """

    label: str
    columns: tuple[Column, ...] = ()
    parts: Mapping[str, "Parameter"] = field(default_factory=dict)
    noun: str = ""
    control: str = "text"
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    column_kind: str = ""  # it names a column of this kind
    has_ends: bool = False  # of its labels only those at both ends are needed
    start: Any = None  # what a new question has, where the parameter is needed
    read: Callable[[str, Any], Any] = read_text
    write: Callable[[Any], str] = lambda value: "" if value is None else str(value)

    @property
    def needed_parts(self) -> frozenset[str]:
        return frozenset(self.start or ())


def _whole(label: str, start: int | None = None, help_text: str = "") -> Parameter:
    return Parameter(label=label, control="whole", start=start, read=read_whole, help=help_text)


POINTS = [
    {"value": 1, "label": "Very bad"},
    {"value": 2, "label": "Bad"},
    {"value": 3, "label": "Fair"},
    {"value": 4, "label": "Good"},
    {"value": 5, "label": "Very good"},
]
SIDES = [
    {"value": -1, "label": "The first is better"},
    {"value": 0, "label": "They are equal"},
    {"value": 1, "label": "The second is better"},
]
_VALUES_HELP = "Both ends need a label. Notes are shown below a point, one per line."
_OPTIONS_HELP = (
    "Notes are shown below an option, one per line. In files, an option is named by its key."
)

_REASONS = {
    "label": Parameter(label="Words above the reasons"),
    "about": Parameter(
        label="Reasons are about", control="select",
        choices=(("each output", "Each output"), ("preferred", "The one that is preferred"),
                 ("comparison", "The comparison")),
    ),
    "options": Parameter(
        label="Reasons", control="table", noun="reason",
        help="At least two, such as “Correct” and “Too long”. In files, a reason is named by its "
             "key. Good and bad ones are for your analysis: participants see no difference.",
        columns=(
            _LABEL, _KEY,
            Column(name="side", label="Good or bad", control="select",
                   choices=(("", "Either"), ("good", "Good"), ("bad", "Bad"))),
        ),
    ),
    "least": _whole("Tick at least", help_text="Empty: none has to be ticked."),
    "most": _whole("Tick at most", help_text="Empty: any number."),
}  # fmt: skip

PARAMETERS: dict[str, Parameter] = {
    "points": Parameter(
        label="Points, low to high", control="table", noun="point", help=_VALUES_HELP,
        has_ends=True, start=POINTS, columns=(
            _VALUE, _LABEL, _NOTES,
            _flag_column("reserved", "Reserved", needs="reserved_note", is_rare=True),
        ),
    ),
    "marks": Parameter(
        label="Labelled marks", control="table", noun="mark", columns=(_VALUE, _LABEL, _NOTES),
        help="Words at some values, low to high.",
    ),
    "minimum": _whole("Lowest value", 0),
    "maximum": _whole("Highest value", 100),
    "step": _whole("Step"),
    "low": Parameter(label="Words at the low end"),
    "high": Parameter(label="Words at the high end"),
    "unit": Parameter(label="Unit"),
    "yes": Parameter(label="Word for yes", start="Yes"),
    "no": Parameter(label="Word for no", start="No"),
    "options": Parameter(
        label="Options", control="table", noun="option", help=_OPTIONS_HELP,
        start=[{"key": "first_option", "label": "First option"},
               {"key": "second_option", "label": "Second option"}],
        columns=(
            _LABEL, _KEY, _NOTES, _flag_column("exclusive", "Only alone", needs="least"),
            _flag_column("other", "With a box for words"),
        ),
    ),
    "statements": Parameter(
        label="Statements", control="area",
        help="One a line. To choose the key in files yourself, write “key: words”.",
        start=[{"key": "it_answers_the_question", "text": "It answers the question"}],
        read=_read_statements, write=_write_statements,
    ),
    "from_column": Parameter(
        label="Statements come from", control="select", column_kind="statements",
        choices=(("", "The list above, for all items"),),
        help="For statements of each item’s own, add an input of the kind Statements, with one "
             "statement per line.",
    ),
    "shuffle": Parameter(label="Options in random order", control="flag", read=read_flag),
    "least": _whole("Minimum number of"),
    "most": _whole("Maximum number of"),
    "lines": _whole("Height of the box, in lines"),
    "shown": Parameter(label="Order on the page", control="select",
                       choices=(("", "Low to high"), ("falling", "High to low"))),
    "display": Parameter(label="Arrangement", control="select",
                         choices=(("", "In a row"), ("stacked", "One below the other"))),
    "reserved_note": Parameter(
        label="Note on reserved points",
        help="Says when reserved points are to be used. Once it is filled in, points above can be "
             "marked as reserved.",
    ),
    "both_good": Parameter(label="“Both are good”", help="Leave it empty to offer no such answer."),
    "both_bad": Parameter(label="“Both are bad”", help="Leave it empty to offer no such answer."),
    "tags": Parameter(
        label="Reasons to tick", control="group", parts=_REASONS,
        start={"label": "Why?", "about": "each output",
               "options": [{"key": "reason_1", "label": "Reason 1"}]},
    ),
    "not_applicable": Parameter(
        label="“Not applicable”", help="The words of this answer. Leave it empty to offer none."
    ),
}  # fmt: skip


_GRADES = Parameter(
    label="Answers, from the first output to the second", control="table", noun="point",
    help="Below 0 the first output is better, above 0 the second; 0 is a tie, and may be left out. "
         "Points are added and removed on both sides. Notes are shown below a point, one per line.",
    start=SIDES, columns=(_VALUE, _LABEL, _NOTES),
)  # fmt: skip


def list_names(scale: type[Scale]) -> frozenset[str]:
    """Return the names of the parameters of this kind."""
    return frozenset(scale.model_fields) - {"kind", "extras"}


def list_needed(scale: type[Scale]) -> frozenset[str]:
    """Return the names of the parameters that this kind can't be without."""
    names = list_names(scale)
    return frozenset(name for name in names if scale.model_fields[name].is_required())


def list_parameters(scale: type[Scale]) -> dict[str, Parameter]:
    """Return the parameters of this kind that can be entered, needed ones first."""
    known, needed = list_names(scale), list_needed(scale)
    order = list(PARAMETERS)
    names = sorted(known & PARAMETERS.keys(), key=order.index)
    found = {name: PARAMETERS[name] for name in sorted(names, key=lambda n: n not in needed)}
    for name in found.keys() & {"least", "most"}:
        found[name] = replace(found[name], label=f"{found[name].label} {scale.counted}")
    return found | ({"points": _GRADES} if scale.needs == "pair" and "points" in found else {})


def start_scale(scale: type[Scale], before: Mapping[str, Any] | None = None) -> Plain:
    """Return a new scale of this kind, with the parameters that the one before has too."""
    data: Plain = {"kind": scale.name_kind()}
    known = list_names(scale)
    kept = {name: value for name, value in (before or {}).items() if name in known}
    if kept.get("points") and scale.needs == "pair":
        del kept["points"]
    for name in sorted(list_needed(scale)):
        start = SIDES if name == "points" and scale.needs == "pair" else None
        parameter = PARAMETERS.get(name)
        data[name] = start or (parameter.start if parameter else None)
    if "statements" in known and "from_column" not in kept:
        data["statements"] = PARAMETERS["statements"].start
    return data | kept
