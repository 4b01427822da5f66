"""The parts of an instrument: what is asked, about what, and of whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from evalsite.protocol.scale import Scale

if TYPE_CHECKING:
    from django.forms import Field

# an item on a page of its own; all items of a set on one page
ScreenKind = Literal["one", "sheet"]
InputKind = Literal[
    "text", "markdown", "code", "table", "conversation", "meaning representation", "dialogue",
    "review", "whole number",
]  # fmt: skip
OutputKind = Literal["text", "markdown", "code", "table", "conversation", "dialogue"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where an instrument comes from, and which of its words are whose.

    `licence` of the words taken over, with the `notice` that it asks for; "none" where nothing
    but a method was taken. `exact` and `ours` say which parts are to the letter.
    """

    cite: str
    licence: str
    exact: str
    ours: str
    url: str = ""
    notice: str = ""
    read: str = ""
    from_memory: str = ""


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One quality that is judged. `definition` is Markdown and always in full view.

    `range_note` says in one line what may be entered. The scale says whether each output is
    rated or the item as a whole.
    """

    key: str
    label: str
    scale: Scale
    definition: str = ""
    summary: str = ""
    question: str = ""
    range_note: str = ""

    @property
    def per_output(self) -> bool:
        return self.scale.per == "output"

    def make_field(self, output_name: str, *, is_one_of_several: bool = False) -> "Field":
        """Make the form field that asks for one rating of an output of this name."""
        return self.scale.make_field(self, output_name, is_one_of_several=is_one_of_several)


@dataclass(frozen=True, kw_only=True)
class InputColumn:
    """A column of a batch that belongs to the item: its name, kind, and other names it goes by.

    Columns with the same word in `together` are filled in all of them or in none.
    """

    name: str
    label: str
    kind: InputKind = "text"
    language: str = ""  # of code
    aliases: tuple[str, ...] = ()
    is_required: bool = True
    together: str = ""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How an item is laid out on its page.

    `inputs` are above the outputs or beside them, where the page is wide. `letters` stand for
    1, 2, ... in the names of outputs; one that is longer than a letter is the whole name. `menu`:
    headings of the instructions that rating pages link to, followed by the places of the set.
    `screens`: the layouts of a set from which a study chooses; the first is its default.
    """

    outputs: Literal["one", "several", "pair"] = "one"
    inputs: Literal["above", "beside"] = "above"
    questions: Literal["beside", "below", "under each output"] = "beside"
    letters: tuple[str, ...] = ()
    menu: tuple[str, ...] = ()
    screens: tuple[ScreenKind, ...] = ("one",)

    @property
    def is_beside(self) -> bool:
        """Tell whether what is read is beside the questions, where the page is wide."""
        return self.questions == "beside"

    @property
    def is_typed(self) -> bool:
        """Tell whether each output has its own questions under it."""
        return self.questions == "under each output"

    @property
    def has_columns(self) -> bool:
        """Tell whether questions are side by side, where the page is wide."""
        return self.questions == "below" and self.outputs == "one"

    @property
    def is_pair(self) -> bool:
        return self.outputs == "pair"


@dataclass(frozen=True, kw_only=True)
class Design:
    """How work is handed out unless the researcher says otherwise.

    `has_bonus`: a participant who completes all sets that the cap allows earns a bonus.
    `checks_take_places`: checks and repeats are among the `set_size` items of a set, not on top.
    """

    k: int = 3
    set_size: int = 10
    max_sets: int | None = None
    has_bonus: bool = False
    checks_take_places: bool = False
    groups: Literal["free", "together", "once"] = "free"


@dataclass(frozen=True, kw_only=True)
class Example:
    """A worked or practice item: inputs by column, output texts, given scores, and the why.

    `ratings` maps criterion to the values of its scale, in the order of the outputs. `gold` maps
    criterion to the right answers in the notation of gold columns. `marked` lists passages to
    mark, by input. `label` is what the document prints beside an example, and `criterion` the key
    of the one it explains. In worked examples `why` is Markdown.
    """

    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    why: str = ""
    ratings: Mapping[str, Sequence[int]] = field(default_factory=dict)
    gold: Mapping[str, str] = field(default_factory=dict)
    marked: Mapping[str, Sequence[str]] = field(default_factory=dict)
    label: str = ""
    criterion: str = ""


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
class Ignore:
    """That an item may be ignored: why, and in Markdown when, in full view on the page."""

    reasons: tuple[IgnoreReason, ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Aid:
    """An addition to the exact instrument, off unless the study turns the aids on."""

    key: str
    label: str
