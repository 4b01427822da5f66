"""The contract of a protocol: what it declares, and how the site finds it.

A protocol is a folder with an `AppConfig` that subclasses `ProtocolConfig`. It declares; the
site does. Nothing outside its folder names it, except one line of `PROTOCOLS` in settings.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from django.apps import AppConfig, apps
from django.conf import settings

from evalsite.protocol.scale import Scale as Scale
from evalsite.protocol.scale import ScaleConfig as ScaleConfig
from evalsite.protocol.scale import get_scale as get_scale
from evalsite.protocol.scale import installed_scales as installed_scales

if TYPE_CHECKING:
    from django.forms import Field, Form

# --- what is asked, and about what ----------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One quality that is judged. `definition` is Markdown and always in full view.

    `range_note` says in one line what may be entered. Per output, unless it compares the outputs.
    """

    key: str
    label: str
    definition: str
    scale: Scale
    summary: str = ""
    question: str = ""
    range_note: str = ""

    @property
    def per_output(self) -> bool:
        return self.scale.per == "output"

    def make_field(self, output_name: str, *, is_one_of_several: bool = False) -> "Field":
        """Make the form field that asks for one rating of an output of this name."""
        return self.scale.make_field(self, output_name, is_one_of_several=is_one_of_several)


InputKind = Literal["text", "meaning representation", "dialogue", "review", "whole number"]


@dataclass(frozen=True, kw_only=True)
class InputColumn:
    """A column of a batch that belongs to the item: its name, kind, and other names it goes by.

    Columns with the same word in `together` are filled in all of them or in none.
    """

    name: str
    label: str
    kind: InputKind = "text"
    aliases: tuple[str, ...] = ()
    is_required: bool = True
    together: str = ""


@dataclass(frozen=True, kw_only=True)
class Design:
    """How work is handed out unless the researcher says otherwise (design.md section 5).

    `has_bonus`: a participant who completes all sets that the cap allows earns a bonus.
    """

    k: int = 3
    set_size: int = 10
    max_sets: int | None = None
    has_bonus: bool = False
    groups: Literal["free", "together", "once"] = "free"


@dataclass(frozen=True, kw_only=True)
class EntryQuestion:
    """A question asked before any work, openly, so that the answer does not give the rule away.

    `follow_ups` maps a pattern of the answer to a further question. Who may take part is decided
    by `ProtocolConfig.is_eligible`.
    """

    key: str
    label: str
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Eligibility:
    """Who may take part: what is asked, and what is said to those who may not."""

    questions: tuple[EntryQuestion, ...]
    rule: str
    refusal: str


@dataclass(frozen=True, kw_only=True)
class Example:
    """A worked or practice item: inputs by column, output texts, given scores, and the why.

    `ratings` maps criterion to one value per output, in their order. `gold` maps criterion to the
    right answers in the notation of gold columns. `marked` lists passages to mark, by column.
    """

    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    ratings: Mapping[str, Sequence[int]] = field(default_factory=dict)
    gold: Mapping[str, str] = field(default_factory=dict)
    why: str = ""
    marked: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ComprehensionQuestion:
    """A question on the instructions: its choices in order, the right one among them, and why.

    A qualification asks it where no practice item has gold.
    """

    question: str
    choices: tuple[str, ...]
    right: str
    why: str


@dataclass(frozen=True, kw_only=True)
class IgnoreReason:
    """Why an item may be ignored, and whether that covers the other items of its group too.

    `key` is what an ignored annotation keeps as its reason; `note` says what is covered.
    """

    key: str
    label: str
    note: str = ""
    covers: Literal["item", "group"] = "item"


@dataclass(frozen=True, kw_only=True)
class Aid:
    """An addition to the exact instrument, off unless the study turns the aids on."""

    key: str
    label: str


# --- the protocol ---------------------------------------------------------------


class ProtocolConfig(AppConfig):
    """What a protocol declares: subclass it in `<folder>/apps.py`, list the folder in settings."""

    # Django takes a module's only config class, and this imported base would count as one.
    default = False

    title: str
    summary: str
    origin: str
    instructions_title: str  # the heading of the instructions, which themselves start with text
    criteria: tuple[Criterion, ...]
    inputs: tuple[InputColumn, ...]
    outputs: tuple[int, int]  # fewest and most outputs in an item
    item_name: str = "Item"  # what a page calls a place of a set: "Item 4 of 11"
    item_names: str = "Items"  # and several of them
    # a menu on rating pages: these headings of the instructions, then the places of the set
    jump_menu: tuple[str, ...] = ()
    output_name: str = "Response"  # what a page calls an output
    output_letters: tuple[str, ...] = ()  # stand for 1, 2, ... in the names of outputs on a page
    output_aliases: tuple[str, ...] = ()
    # "dialogue": a next line, shown without markup and with the speaker it names set apart
    output_kind: Literal["text", "dialogue"] = "text"
    layout: Literal["live", "mid", "rate"] = "rate"
    design: Design = Design()
    eligibility: Eligibility | None = None
    # the inputs by which an item may have a standard score of its own; None: any of them
    standard_inputs: tuple[str, ...] | None = None
    options_form: "type[Form] | None" = None
    aids: tuple[Aid, ...] = ()
    has_ignore: bool = False
    ignore_reasons: tuple[IgnoreReason, ...] = ()
    ignore_note: str = ""  # Markdown: when to ignore an item, in full view on the rating page
    has_highlight: bool = False
    highlight_hint: str = ""  # which passages of an output to mark
    has_note: bool = False
    note_label: str = ""  # what the box for a note asks; empty: the site's own words
    minutes_per_item: float = 1.0
    # title, headline and summary of its demo; what is left out is the protocol's own
    demo_texts: Mapping[str, str] = MappingProxyType({})
    script: str = ""  # a script of its own, under static/<name>/
    style: str = ""
    aids_script: str = ""  # loaded only where a study turns the aids on

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.default = True

    # what it may decide beyond declaring

    def clean(self, values: Mapping[str, Any]) -> None:
        """Raise ValidationError when answers that are right one by one don't go together."""

    def check_entry(self, answers: Mapping[str, str]) -> None:
        """Raise ValidationError, by question, when entry answers contradict one another."""

    def is_eligible(self, answers: Mapping[str, str]) -> bool:
        """Whether these answers to the entry questions allow taking part."""
        return True

    def item_context(self, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What the item template needs beside inputs and outputs."""
        return {}

    def standard_score(self, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> int | None:
        """The score that magnitudes of this item relate to, where there is one."""
        return None

    def instructions_for(self, design: Design) -> str:
        """The instructions of a study that hands work out so: its document's own, unless changed.

        For a protocol whose words tell how many items a set has, how many sets or of a bonus.
        """
        return self.instructions

    # what stands in its folder

    @property
    def item_template(self) -> tuple[str, ...]:
        """Names of the template of an item, best first: its own, then the standard one."""
        return (f"{self.label}/item.html", "annotation/item.html")

    @cached_property
    def instructions(self) -> str:
        return (self._folder / "instructions.md").read_text(encoding="utf-8")

    @property
    def example_batch(self) -> Path:
        return self._folder / "example_batch.csv"

    @property
    def worked_examples(self) -> tuple[Example, ...]:
        return tuple(Example(**raw) for raw in self._practice["examples"])

    @property
    def practice(self) -> tuple[Example, ...]:
        return tuple(Example(**raw) for raw in self._practice["practice"])

    @property
    def comprehension(self) -> tuple[ComprehensionQuestion, ...]:
        return tuple(
            ComprehensionQuestion(**raw | {"choices": tuple(raw["choices"])})
            for raw in self._practice.get("comprehension", [])
        )

    @cached_property
    def _practice(self) -> dict[str, list[dict[str, Any]]]:
        text = (self._folder / "practice.json").read_text(encoding="utf-8")
        return json.loads(text)

    @property
    def _folder(self) -> Path:
        return Path(self.path)

    # views of the above

    @cached_property
    def criterion_by_key(self) -> dict[str, Criterion]:
        return {criterion.key: criterion for criterion in self.criteria}

    @property
    def default_options(self) -> dict[str, Any]:
        """What the options form starts with; the options of a study that was not touched."""
        if self.options_form is None:
            return {}
        fields = self.options_form.base_fields
        return {name: form_field.initial for name, form_field in fields.items()}

    def describe(self) -> dict[str, Any]:
        """The instrument as plain data, for the study's frozen version."""
        return {
            "protocol": self.label,
            "criteria": [
                asdict(criterion) | {"scale": _fields_of(criterion.scale)}
                for criterion in self.criteria
            ],
            "inputs": [asdict(column) for column in self.inputs],
            "examples": [asdict(example) for example in self.worked_examples],
            "comprehension": [asdict(question) for question in self.comprehension],
            "ignore": {
                "note": self.ignore_note,
                "reasons": [asdict(reason) for reason in self.ignore_reasons],
            },
            "highlight_hint": self.highlight_hint,
            "note_label": self.note_label,
        }


def _fields_of(scale: Scale) -> dict[str, Any]:
    fields = {"kind": scale.kind} | asdict(scale)
    if scale.has_standard:
        fields = {"kind": scale.kind, "minimum": scale.minimum, "maximum": scale.maximum}
    return fields


def installed_protocols() -> dict[str, ProtocolConfig]:
    """The protocols that settings list, by name, in that order."""
    configs = {config.name: config for config in apps.get_app_configs()}
    found: Iterable[AppConfig | None] = (configs.get(name) for name in settings.PROTOCOLS)
    return {config.label: config for config in found if isinstance(config, ProtocolConfig)}


def get_protocol(name: str) -> ProtocolConfig:
    """The installed protocol of this name; LookupError if settings don't list it."""
    try:
        return installed_protocols()[name]
    except KeyError:
        raise LookupError(f"No protocol {name!r} is listed in PROTOCOLS.") from None
