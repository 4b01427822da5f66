"""Which control edits each field of a part of an instrument: read from the model, never listed."""

import types
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from evalsite.instruments.parts import Part
from evalsite.instruments.scales import Scale

Plain = dict[str, Any]
# fields that are kept as they are in a draft, and why the form doesn't change them
LEFT_OUT = {
    ("Instrument", "format"): "it is the same for every instrument",
    ("Instrument", "version"): "it is counted when a version is saved",
    ("Instrument", "based_on"): "it says what this instrument was copied from",
    ("Instrument", "hooks"): "functions belong to protocols that are installed with the site",
    ("Instrument", "aids"): "aids belong to protocols that are installed with the site",
    ("Instrument", "translations"): "they have a page of their own for each language",
    ("InputColumn", "display"): "it is read from older files, and every input is shown whole",
    ("Condition", "all"): "joined conditions are shown in words",
    ("Condition", "any"): "joined conditions are shown in words",
}
# fields with a form of their own, since they mean something only beside another part
SPECIAL = frozenset({
    ("Criterion", "scale"), ("Criterion", "ask_if"), ("Comment", "if"), ("Eligibility", "accept"),
    ("Example", "inputs"), ("Example", "outputs"), ("Example", "criterion"),
    ("Example", "columns"), ("Example", "ratings"), ("Example", "gold"), ("Example", "marked"),
})  # fmt: skip
_SIMPLE = {bool: "checkbox", int: "number", float: "number", str: "text"}


class Control(NamedTuple):
    """How one field is edited.

    `names`: its key in files, then older ones. `kind`: text, number, checkbox, select, ticks,
    lines, group or rows. `part`: what a group or a row is.
    """

    names: tuple[str, ...]
    kind: str
    title: str
    help: str
    is_required: bool
    default: Any
    examples: list[Any]
    hints: Mapping[str, Any]
    part: type[Part] | None = None
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def words(self) -> dict[str, str]:
        """Return what choices are called, by their values."""
        return dict(self.hints.get("words") or {value: value for value in self.choices})

    @property
    def noun(self) -> str:
        return str(self.hints.get("noun", "row"))

    @property
    def is_box(self) -> bool:
        """Tell whether its rows are written into one box, a line for each."""
        return self.kind == "rows" and any(cell.is_in_box for cell in list_controls(self.part))

    @property
    def is_in_box(self) -> bool:
        return bool(self.hints.get("is_in_box"))

    @property
    def is_in_sight(self) -> bool:
        return bool(self.hints.get("is_in_sight"))

    @property
    def may_be_absent(self) -> bool:
        """Tell whether a group can be left out of a file, and means something when empty."""
        return (
            self.kind == "group"
            and self.default is None
            and not any(cell.is_required for cell in list_controls(self.part))
        )

    def get_value(self, plain: Plain) -> Any:
        """Return what a draft has here, under this key or an older one; None for nothing."""
        return next((plain[name] for name in self.names if name in plain), None)


@cache
def list_controls(part: Any) -> tuple[Control, ...]:
    """List the controls of a part, without those of fields that have a form of their own."""
    controls = (_make_control(part, name, field) for name, field in part.model_fields.items())
    return tuple(control for control in controls if control)


def find_control(part: Any, name: str) -> Control | None:
    return next((control for control in list_controls(part) if name in control.names), None)


def _make_control(part: type[Part], field_name: str, field: FieldInfo) -> Control | None:
    names: tuple[str, ...] = (field.alias or field_name,)
    if isinstance(field.validation_alias, AliasChoices):
        names = tuple(map(str, field.validation_alias.choices))
    place = (part.__name__, names[0])
    if field_name == "extras" or (field_name == "kind" and issubclass(part, Scale)):
        return None
    if place in SPECIAL or place in LEFT_OUT:
        return None
    kind, below, choices = _find_kind(field.annotation)
    hints = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    return Control(
        names=names,
        kind=kind,
        title=field.title or "",
        help=field.description or "",
        is_required=field.is_required(),
        default=None if field.is_required() else field.get_default(call_default_factory=True),
        examples=field.examples or [],
        hints=hints,
        part=below,
        choices=choices,
    )


def _find_kind(annotation: Any) -> tuple[str, type[Part] | None, tuple[str, ...]]:
    """Return the kind of control for a type, the part it is made of, and its choices."""
    plain = strip(annotation)
    if get_origin(plain) in (Union, types.UnionType):
        options = [strip(option) for option in get_args(plain) if option is not type(None)]
        plain = options[0]
        if get_origin(plain) is Literal and len(options) > 1:
            return "ticks", None, get_args(plain)
    if get_origin(plain) is Literal:
        return "select", None, get_args(plain)
    if get_origin(plain) is list:
        inner = strip(get_args(plain)[0])
        return ("rows", inner, ()) if is_part(inner) else ("lines", None, ())
    if is_part(plain):
        return "group", plain, ()
    return _SIMPLE[plain], None, ()


def is_part(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Part)


def strip(kind: Any) -> Any:
    """Return a type without what is annotated to it."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return kind
