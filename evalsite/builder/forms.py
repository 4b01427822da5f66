"""Forms of the parts of a draft, made from the controls of the model: fields, groups and rows.

A form is filled from plain data, right or wrong. Names of fields are places in the draft with rows
by number, and each row says under which key it was: so a key can be changed and nothing is lost.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms

from evalsite.builder.boxes import list_rows, write_box
from evalsite.builder.controls import Control, Plain, list_controls
from evalsite.instruments.parts import Part

# what tells rows of a list apart
KEYS = ("key", "name", "value")


@dataclass
class Piece:
    """What a form shows at one place: a field, a group, rows, or what has its own template."""

    kind: str
    title: str = ""
    id: str = ""
    place: str = ""
    errors: list[str] = field(default_factory=list)
    is_in_sight: bool = False
    is_wide: bool = False
    is_open: bool = False
    bound: Any = None
    form: Any = None
    rows: "list[Row]" = field(default_factory=list)
    noun: str = ""
    has_buttons: bool = False
    help: str = ""
    words: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a list: `at` is its place as buttons name it."""

    at: str
    number: int
    key: str
    title: str
    form: "PartForm"
    is_open: bool
    is_last: bool

    @property
    def is_first(self) -> bool:
        return self.number == 1


class Draft:
    """A draft that is shown: what it says, and its faults by place.

    `opened`: the row that was just added, as buttons name it. `specials` make the pieces of parts
    with fields that need a form of their own.
    """

    def __init__(
        self, plain: Plain, faults: Mapping[str, list[str]], opened: str,
        specials: "Mapping[str, Special]",
    ) -> None:  # fmt: skip
        self.plain = plain
        self.faults = faults
        self.opened = opened
        self.specials = specials

    def list_faults(self, place: str) -> list[str]:
        """Return what is wrong at this place or below it."""
        return [
            words
            for at, listed in self.faults.items()
            if at == place or at.startswith(f"{place}.")
            for words in listed
        ]

    def is_open(self, place: str) -> bool:
        """Tell whether something below this place is wrong, or was just added."""
        at = place.replace(".", "-")
        return bool(self.list_faults(place)) or f"{self.opened}-".startswith(f"{at}-")

    @property
    def item(self) -> Plain:
        item = self.plain.get("item")
        return item if isinstance(item, dict) else {}

    @property
    def criteria(self) -> list[Plain]:
        return list_rows(self.plain.get("criteria"))

    @property
    def columns(self) -> list[Plain]:
        """List the columns of an item's inputs, then those of its only output."""
        return list_rows(self.item.get("inputs")) + list_rows(self.item.get("output_columns"))


Special = Callable[["PartForm", Plain], Iterable[Piece]]


def name_at(place: str, name: str = "") -> str:
    """Return the name of a form field at a place of the draft."""
    return "-".join(filter(None, (place.replace(".", "-"), name)))


def get_key(row: Plain) -> str:
    """Return what a row of a list is known by."""
    return next((str(row[name]) for name in KEYS if name in row), "")


def is_row_number(text: str) -> bool:
    """Tell whether a step of a place, or of a button's name, is the number of a row."""
    return text.isascii() and text.isdigit() and len(text) < 5


def get_group(plain: Plain, control: Control) -> Plain:
    value = control.get_value(plain)
    return value if isinstance(value, dict) else {}


# --- values as text -----------------------------------------------------------------


def write_value(control: Control, plain: Plain) -> str:
    """Write what a draft has in a field as the form shows it; "" for what it doesn't have."""
    value = control.get_value(plain)
    if control.kind == "checkbox":
        return "on" if (control.default if value is None else value) else ""
    if control.kind == "select" and value is None:
        return _get_first_choice(control)
    if control.kind == "lines":
        return "\n".join(map(str, value)) if isinstance(value, list) else ""
    if value == "":
        return str(control.hints.get("when_empty", ""))
    return "" if value is None else str(value)


def _get_first_choice(control: Control) -> str:
    """Return what a select shows where a draft says nothing."""
    if control.default is not None:
        return str(control.default)
    if "" in control.words or "column" in control.hints or not control.is_required:
        return ""
    return str(control.examples[0] if control.examples else next(iter(control.words), ""))


def list_ticked(control: Control, plain: Plain) -> list[str]:
    value = control.get_value(plain) or control.default
    return [str(entry) for entry in (value if isinstance(value, list) else [value])]


def list_choices(control: Control, shown: str, draft: Draft | None) -> list[tuple[str, str]]:
    """List the choices of a select, with the one that is shown even if it is none."""
    choices = control.words
    if "column" in control.hints and draft:
        kind = control.hints["column"]
        names = [str(c.get("name")) for c in draft.columns if c.get("kind") == kind]
        choices |= {name: f"the column {name}" for name in names}
        if shown and shown not in choices:
            choices[shown] = f"{shown} (no longer a column of {kind})"
    elif not control.is_required and control.default is None:
        choices = {"": ""} | choices
    if shown not in choices:
        choices[shown] = shown
    return list(choices.items())


# --- forms --------------------------------------------------------------------------


class PartForm(forms.Form):
    """The form of one part; `pieces` are its fields, and the forms of parts below it, in order."""

    def __init__(
        self, part: type[Part], plain: Plain, place: str, draft: Draft,
        only: Callable[[Control], bool] = lambda control: True,
    ) -> None:  # fmt: skip
        prefix = place.replace(".", "-") or None
        super().__init__(prefix=prefix, use_required_attribute=False, label_suffix="")
        self.part, self.place, self.draft = part, place, draft
        self.pieces: list[Piece] = []
        for control in filter(only, list_controls(part)):
            self.pieces += self._make_pieces(control, plain)
        if special := draft.specials.get(part.__name__):
            added = list(special(self, plain))  # it may put others in another order
            self.pieces += added

    @property
    def in_sight(self) -> list[Piece]:
        return [piece for piece in self.pieces if piece.is_in_sight]

    @property
    def more(self) -> list[Piece]:
        return [piece for piece in self.pieces if not piece.is_in_sight]

    def add(
        self, name: str, form_field: forms.Field, at: str, *, is_in_sight: bool = False
    ) -> Piece:
        """Add a field and return its piece; `at`: the place of what may be wrong with it."""
        errors = self.draft.list_faults(at) if at else []
        self.fields[name] = form_field
        bound = self[name]
        if errors:
            ids = [f"{bound.auto_id}_error"]
            if form_field.help_text:
                ids.insert(0, f"{bound.auto_id}_helptext")
            form_field.widget.attrs |= {"aria-invalid": "true", "aria-describedby": " ".join(ids)}
        is_area = isinstance(form_field.widget, forms.Textarea)
        return Piece(
            "checkbox" if isinstance(form_field, forms.BooleanField) else "field",
            title=str(form_field.label), id=bound.auto_id, place=at, errors=errors, bound=bound,
            is_in_sight=is_in_sight, is_wide=is_area,
        )  # fmt: skip

    def _make_pieces(self, control: Control, plain: Plain) -> Iterable[Piece]:
        at = f"{self.place}.{control.name}" if self.place else control.name
        if control.kind == "group":
            yield self._make_group(control, plain, at)
        elif control.kind == "rows":
            yield from self._make_rows(control, plain, at)
        elif control.kind == "ticks":
            yield self._make_ticks(control, plain, at)
        else:
            made = make_field(control, plain, self.draft)
            yield self.add(control.name, made, at, is_in_sight=control.is_in_sight)

    def _make_group(self, control: Control, plain: Plain, at: str) -> Piece:
        form = PartForm(control.part, get_group(plain, control), at, self.draft)  # type: ignore[arg-type]
        if control.may_be_absent:
            ticked = forms.BooleanField(
                required=False, label="There is one", initial=control.get_value(plain) is not None
            )
            form.pieces.insert(0, form.add("there", ticked, ""))
        return Piece(
            "group", title=control.title, id=f"id_{name_at(at)}", place=at, form=form, is_wide=True,
            errors=self.draft.faults.get(at, []), is_open=self.draft.is_open(at),
        )  # fmt: skip

    def _make_ticks(self, control: Control, plain: Plain, at: str) -> Piece:
        """Make a checkbox for each choice, of which several may hold."""
        ticked = list_ticked(control, plain)
        group = forms.Form(prefix=name_at(at))
        for value, words in control.words.items():
            group.fields[value] = forms.BooleanField(
                required=False, label=words, initial=value in ticked
            )
        return Piece(
            "ticks", title=control.title, id=f"id_{name_at(at)}", place=at, form=group,
            help=control.help, errors=self.draft.list_faults(at),
        )  # fmt: skip

    def _make_rows(self, control: Control, plain: Plain, at: str) -> Iterable[Piece]:
        rows = list_rows(control.get_value(plain))
        if control.is_box:
            yield self._make_box(control, rows, at)
        cells = [cell for cell in list_controls(control.part) if not cell.is_in_box]
        if cells:
            yield Piece(
                "rows", title=f"Each {control.noun}" if control.is_box else control.title,
                id=f"id_{name_at(at)}", place="" if control.is_box else at, is_wide=True,
                noun=control.noun, has_buttons=not control.is_box, help=control.help,
                errors=[] if control.is_box else self.draft.faults.get(at, []),
                rows=list(make_rows(control, rows, at, self.draft)),
                words=name_at(at),
            )  # fmt: skip

    def _make_box(self, control: Control, rows: list[Plain], at: str) -> Piece:
        box = forms.CharField(
            required=False, label=control.title, help_text=control.help,
            initial=write_box(control, rows),
            widget=forms.Textarea(attrs={"rows": min(max(len(rows), 3), 12), "cols": None}),
        )  # fmt: skip
        piece = self.add(f"{control.name}-box", box, "", is_in_sight=control.is_in_sight)
        piece.place = at
        boxed = [cell.name for cell in list_controls(control.part) if cell.is_in_box]
        piece.errors = [
            words
            for place, listed in self.draft.faults.items()
            if place == at or re.fullmatch(rf"{re.escape(at)}\.\d+\.({'|'.join(boxed)})", place)
            for words in listed
        ]
        if piece.errors:
            box.widget.attrs |= {
                "aria-invalid": "true", "aria-describedby": f"{piece.id}_error",
            }  # fmt: skip
        return piece


def make_rows(control: Control, rows: list[Plain], at: str, draft: Draft) -> Iterable[Row]:
    for number, plain in enumerate(rows):
        place = f"{at}.{number}"
        form = PartForm(control.part, plain, place, draft, lambda cell: not cell.is_in_box)  # type: ignore[arg-type]
        title = next(
            (str(plain[n]) for n in ("label", "text", "name", "question") if plain.get(n)), ""
        )
        yield Row(
            at=name_at(place), number=number + 1, key=get_key(plain), title=title, form=form,
            is_open=draft.is_open(place), is_last=number == len(rows) - 1,
        )  # fmt: skip


def make_field(control: Control, plain: Plain, draft: Draft | None = None) -> forms.Field:
    """Make the field of a form for a control that isn't made of parts."""
    shown = write_value(control, plain)
    options: dict[str, Any] = {
        "required": False, "label": control.title, "help_text": control.help, "initial": shown,
    }  # fmt: skip
    if control.kind == "checkbox":
        return forms.BooleanField(**options | {"initial": bool(shown)})
    if control.kind == "select" or "column" in control.hints:
        return forms.ChoiceField(**options, choices=list_choices(control, shown, draft))
    attrs: dict[str, Any] = {}
    if control.default not in (None, "") and not isinstance(control.default, list):
        attrs["placeholder"] = str(control.default)
    rows = control.hints.get("rows", 2 if control.kind == "lines" else 0)
    if rows:
        lines = shown.count("\n") + 1
        attrs |= {"rows": min(max(rows, lines), 12), "cols": None}
        return forms.CharField(**options, widget=forms.Textarea(attrs=attrs))
    if control.kind == "number":
        attrs |= {"inputmode": "decimal", "class": "num"}
    return forms.CharField(**options, widget=forms.TextInput(attrs=attrs))
