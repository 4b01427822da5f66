"""The instrument as one frozen object, the same whether it was shipped, stored or imported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from django.apps import apps
from django.utils.module_loading import import_string

from evalsite.instruments.checks import InvalidInstrument as InvalidInstrument
from evalsite.instruments.schema import Eligibility, ItemParts
from evalsite.protocol import screens
from evalsite.protocol.checking import check_instrument
from evalsite.protocol.data import read_instrument, write_instrument
from evalsite.protocol.parts import (
    Aid,
    CheckQuestion,
    Column,
    Criterion,
    Design,
    Example,
    Ignore,
    IgnoreReason,
    Layout,
    Source,
)

if TYPE_CHECKING:
    from django.forms import Form


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """What participants are asked: criteria, scales, texts and layout.

    It is written to and read from plain data (`evalsite.instrument/1`). `hooks` are dotted names
    of functions in a protocol's folder, for what data can't express:

    - `clean(values)` raises ValidationError when answers don't go together;
    - `check_entry(answers)` raises ValidationError, by question, for contradictory entry answers;
    - `item_context(options, inputs)` returns what the item template needs besides;
    - `standard_score(options, inputs)` returns the score that an item's magnitudes relate to;
    - `instructions(text, design)` returns the instructions for a study with this design;
    - `options_form` is a form class: the study's own settings, with the document's as initial.
    """

    key: str
    title: str
    summary: str
    source: Source
    criteria: tuple[Criterion, ...]
    item: ItemParts
    layout: Layout
    instructions_title: str = ""  # above the instructions, which themselves start with text
    instructions: str = ""  # Markdown
    design: Design = field(default_factory=Design)
    eligibility: Eligibility | None = None
    ignore: Ignore | None = None
    highlight: str | None = None  # passages of an output may be marked; which ones
    page_note: str = ""  # above the questions of every item; Markdown
    help_label: str = ""  # what the link to the instructions is called; "": the site's own word
    note: str | None = None  # the label of a box for a note; "": the site's own words
    aids: Sequence[Aid] = ()
    examples: tuple[Example, ...] = ()
    practice: tuple[Example, ...] = ()
    comprehension: Sequence[CheckQuestion] = ()
    minutes_per_item: float = 1.0
    hooks: Mapping[str, str] = field(default_factory=dict)
    language: str = "en"
    version: int = 1
    based_on: Mapping[str, Any] | None = None  # key, version and SHA-256 of what it was copied from
    # by language: texts by address
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    extras: Mapping[str, Any] = field(default_factory=dict)  # keys x_..., kept as they came

    # --- plain data

    def to_data(self) -> dict[str, Any]:
        """Return the instrument as plain data (`evalsite.instrument/1`), defaults left out."""
        return write_instrument(self)

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """Read an instrument; InvalidInstrument if anything in the data is wrong."""
        if faults := check_instrument(data):
            raise InvalidInstrument(faults)
        return cls.from_stored(data)

    @classmethod
    def from_stored(cls, data: Mapping[str, Any]) -> Self:
        """Read an instrument that was checked before it was stored."""
        return cls(**read_instrument(data))

    # --- hooks

    @property
    def hook_names(self) -> frozenset[str]:
        """Return the dotted names of all functions and forms that this instrument calls."""
        accept = self.eligibility.accept if self.eligibility else {}
        return frozenset({*self.hooks.values(), *([accept] if isinstance(accept, str) else [])})

    def _call(self, hook: str, default: Any, *args: Any) -> Any:
        return import_string(self.hooks[hook])(*args) if hook in self.hooks else default

    def clean(self, values: Mapping[str, Any]) -> None:
        """Raise ValidationError when answers that are right one by one don't go together."""
        self._call("clean", None, values)

    def check_entry(self, answers: Mapping[str, str]) -> None:
        """Raise ValidationError, by question, when entry answers contradict one another."""
        self._call("check_entry", None, answers)

    def is_eligible(self, answers: Mapping[str, str]) -> bool:
        """Tell whether these answers to the entry questions allow taking part."""
        return self.eligibility is None or self.eligibility.is_met(answers)

    def item_context(self, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the item template needs beside inputs and outputs."""
        found: dict[str, Any] = self._call("item_context", {}, self._complete(options), inputs)
        return found

    def standard_score(self, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> int | None:
        """Return the score that magnitudes of this item relate to, where there is one."""
        found: int | None = self._call("standard_score", None, self._complete(options), inputs)
        return found

    def instructions_for(self, design: Design) -> str:
        """Return the instructions of a study that hands work out so."""
        return str(self._call("instructions", self.instructions, self.instructions, design))

    @cached_property
    def options_form(self) -> "type[Form] | None":
        """Return the form of the settings that a study of this instrument has of its own."""
        form: type[Form] | None = None
        if "options_form" in self.hooks:
            form = import_string(self.hooks["options_form"])
        return screens.add_choice(form, self.layout.screens)

    @cached_property
    def default_options(self) -> dict[str, Any]:
        """Return what the options form starts with: the options of a study with the defaults."""
        if self.options_form is None:
            return {}
        fields = self.options_form.base_fields
        return {name: form_field.initial for name, form_field in fields.items()}

    def is_sheet(self, options: Mapping[str, Any]) -> bool:
        """Tell whether a study with these options has all items of a set on one page."""
        return screens.is_sheet(self.layout.screens, options)

    def _complete(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return self.default_options | dict(options)

    # --- views of the above

    @cached_property
    def criterion_by_key(self) -> dict[str, Criterion]:
        return {criterion.key: criterion for criterion in self.criteria}

    @cached_property
    def columns(self) -> list[Column]:
        """List the columns of a batch that an item needs: inputs, then those of its output."""
        return [*self.item.inputs, *self.item.output_columns]

    def bind(self, inputs: Mapping[str, Any], outputs: Sequence[str]) -> tuple[Criterion, ...]:
        """Return the criteria with what an item of these texts brings to them."""
        return tuple(criterion.for_item(inputs, outputs) for criterion in self.criteria)

    @cached_property
    def asks_turns(self) -> bool:
        """Tell whether turns of conversations are rated."""
        return any(criterion.per_turn for criterion in self.criteria)

    @cached_property
    def standard_inputs(self) -> tuple[str, ...] | None:
        """Name the inputs by which an item may have a standard of its own; None: any of them."""
        found: dict[str, None] = {}
        for criterion in self.criteria:
            names = criterion.scale.name_standard_inputs()
            if names is None:
                return None
            found |= dict.fromkeys(names)
        return tuple(found)

    @property
    def worked_examples(self) -> tuple[Example, ...]:
        """Return the examples that people can look up while they work."""
        return self.examples

    def has_example(self, inputs: Mapping[str, Any], outputs: Sequence[str]) -> bool:
        """Whether an item of these texts is one of the worked examples."""
        texts = tuple(outputs)
        return any(one.inputs == inputs and one.outputs == texts for one in self.examples)

    @property
    def instruction_examples(self) -> tuple[Example, ...]:
        """Return the examples shown with the instructions: those that explain all criteria."""
        return tuple(example for example in self.examples if not example.criterion)

    @property
    def has_ignore(self) -> bool:
        return self.ignore is not None

    @property
    def ignore_reasons(self) -> Sequence[IgnoreReason]:
        return self.ignore.reasons if self.ignore else ()

    @property
    def ignore_note(self) -> str:
        return self.ignore.note if self.ignore else ""

    @property
    def has_highlight(self) -> bool:
        return self.highlight is not None

    @property
    def has_note(self) -> bool:
        return self.note is not None

    @property
    def item_template(self) -> tuple[str, ...]:
        """Name the templates of an item, best first: the protocol's own, then the standard one."""
        return (f"{self.key}/item.html", "annotation/item.html")

    @cached_property
    def aids_script(self) -> str:
        """Name the script of the aids in the protocol's folder; "" where it has none."""
        name = f"{self.key}/aids.js"
        folders = (Path(config.path) / "static" for config in apps.get_app_configs())
        return name if any((folder / name).is_file() for folder in folders) else ""
