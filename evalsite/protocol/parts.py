"""The parts of an instrument: what is asked, about what, and of whom."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from django.utils.translation import gettext as _

from evalsite.fields import LONGEST_TEXT
from evalsite.instruments.scales import COMMENT, Row, Scale, Stored
from evalsite.lib.conversations import MOST_PARTS, count_parts, read_numbers, read_turns
from evalsite.protocol.conditions import Condition

if TYPE_CHECKING:
    from django.forms import Field

# an item on a page of its own; all items of a set on one page
ScreenKind = Literal["one", "sheet"]
InputKind = Literal[
    "text", "markdown", "code", "table", "conversation", "meaning representation", "dialogue",
    "review", "whole number", "statements", "turns",
]  # fmt: skip
OutputKind = Literal["text", "markdown", "code", "table", "conversation", "dialogue"]
# what a question shows, and not the item
NOT_SHOWN = frozenset({"statements", "turns"})
# how the text of an input is shown: whole, or long ones in a box; always in a box; folded away
# turns of one conversation that a page asks about
MOST_TURNS = 100


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
class Comment:
    """A box for words about an answer; `if_met` says when it has to be filled."""

    is_required: bool = False
    label: str = ""
    most: int = LONGEST_TEXT
    if_met: Condition | None = None


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Which turns of a conversation are rated: those of these roles.

    `marked_by` names the column with the numbers of turns that are; empty cells mean all of them.
    """

    roles: tuple[str, ...]
    marked_by: str = ""

    def list_turns(self, inputs: Mapping[str, Any], text: str) -> tuple[int, ...]:
        """List the numbers of the turns of this conversation that are rated."""
        marked = read_numbers(inputs.get(self.marked_by, "")) if self.marked_by else ()
        return tuple(n for n in self._list_of_roles(text) if not marked or n in marked)

    def _list_of_roles(self, text: str) -> tuple[int, ...]:
        roles = {role.casefold() for role in self.roles}
        said = enumerate(read_turns(text) or (), start=1)
        return tuple(number for number, turn in said if str(turn["role"]).casefold() in roles)

    def find_fault(self, inputs: Mapping[str, Any], text: str) -> tuple[str, str]:
        """Return the column at fault and what is wrong; both "" if there are turns to rate.

        The column is "" where the conversation itself is at fault.
        """
        roles = " or ".join(f"“{role}”" for role in self.roles)
        turns = read_turns(text)
        if turns is None:
            return "", (
                "The output is no conversation. Write a JSON list of turns, each with role and "
                "content."
            )
        if count_parts(turns) > MOST_PARTS:
            return "", f"The conversation has more than {MOST_PARTS:,} turns and calls of tools"
        rated = self._list_of_roles(text)
        if not rated:
            return "", f"The conversation has no turn of the role {roles}, so there is none to rate"
        cell = inputs.get(self.marked_by, "") if self.marked_by else ""
        marked = read_numbers(cell)
        if marked is None:
            return self.marked_by, (
                f"“{str(cell)[:60]}” names no turns. Write their numbers, such as 2;4, or nothing "
                "for all of them."
            )
        if wrong := [number for number in marked if number not in rated]:
            return self.marked_by, (
                f"Turn {wrong[0]} of the conversation isn’t one of the role {roles}. Those are: "
                f"{', '.join(map(str, rated[:20]))}{' …' if len(rated) > 20 else ''}."
            )
        if len(marked or rated) > MOST_TURNS:
            return "", f"The conversation has more than {MOST_TURNS} turns to rate"
        return "", ""


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One quality that is judged. `definition` is Markdown and always in full view.

    `range_note` says in one line what may be entered. `per`: each output, each of some turns of a
    conversation, or the item as a whole; "": as the scale does. `ask_if` says when it is asked;
    without it always. `asked_turns` are those of an item (`for_item`). `better`: whether higher or
    lower values are better, or none; "": as the scale says.
    """

    key: str
    label: str
    scale: Scale
    definition: str = ""
    summary: str = ""
    question: str = ""
    range_note: str = ""
    per: Literal["", "output", "item", "turn"] = ""
    turns: Turns | None = None
    asked_turns: tuple[int, ...] = ()
    is_required: bool = True
    comment: Comment | None = None
    ask_if: Condition | None = None
    better: Literal["", "higher", "lower", "none"] = ""

    @property
    def direction(self) -> str:
        """Say which values are better; "" where nothing says it."""
        return self.better or self.scale.better

    @property
    def asked_per(self) -> Literal["output", "item", "turn"]:
        return self.per or self.scale.asked[0]

    @property
    def per_output(self) -> bool:
        """Tell whether its ratings are of outputs, or of their turns."""
        return self.asked_per != "item"

    @property
    def per_turn(self) -> bool:
        return self.per == "turn"

    @property
    def family(self) -> str:
        """Name the family of its analysis: numbers of turns are averaged, whatever their scale."""
        return "turns" if self.per_turn and self.scale.family != "text" else self.scale.family

    @property
    def is_always_answered(self) -> bool:
        """Tell whether every answer to an item holds one to this criterion."""
        return self.is_required and self.ask_if is None

    @property
    def columns(self) -> frozenset[str]:
        """Name the columns of files that its answers need beside the number."""
        found = self.scale.columns | ({"part", "text"} if self.comment else frozenset())
        return found | {"turn"} if self.per_turn else found

    def for_item(self, inputs: Mapping[str, Any], outputs: Sequence[str] = ()) -> "Criterion":
        """Return the criterion with what the inputs and the outputs of an item bring to it."""
        scale = self.scale.for_item(inputs)
        if self.turns is not None:
            text = outputs[0] if len(outputs) == 1 else ""
            return replace(self, scale=scale, asked_turns=self.turns.list_turns(inputs, text))
        return self if scale is self.scale else replace(self, scale=scale)

    def for_person(self, seed: str) -> "Criterion":
        """Return the criterion as the person of this seed sees it."""
        if not self.scale.is_of_person:
            return self
        return replace(self, scale=self.scale.for_person(f"{seed}/{self.key}"))

    def make_field(self, output_name: str, *, is_one_of_several: bool = False) -> "Field":
        """Make the form field that asks for one rating of an output of this name."""
        return self.scale.make_field(self, output_name, is_one_of_several=is_one_of_several)

    # --- what a scale of outputs stores of an item as a whole is of no output; what it stores of
    # turns is of the only output, and its question has the number of the turn

    @property
    def _is_lifted(self) -> bool:
        return self.per == "item" and self.scale.asked[0] == "output"

    def make_rows(self, answer: Any, output_ids: Sequence[int], number: int) -> tuple[Row, ...]:
        """Return what to store of an answer. `output_ids` are in the order of the page."""
        if self._is_lifted:
            return self.scale.make_rows(answer, [None], 1)
        if self.per_turn:
            place = self.asked_turns.index(number) + 1
            rows = self.scale.make_rows(answer, self.asked_turns, place)
            return tuple(row._replace(output_id=output_ids[0], turn=number) for row in rows)
        return self.scale.make_rows(answer, output_ids, number)

    def read_values(self, rows: Iterable[Stored], output_ids: Sequence[int]) -> list[Any | None]:
        """Return the values that these rows hold, comments aside, for outputs in this order.

        Of a criterion that is asked per turn: for its turns.
        """
        own = [row for row in rows if row.part != COMMENT]
        if self.per_turn:
            by_turn = [Row(row.turn, row.value, row.part, row.text, row.detail) for row in own]
            return self.scale.read_values(by_turn, self.asked_turns)
        return self.scale.read_values(own, [None] if self._is_lifted else output_ids)

    def write_entries(self, values: Sequence[Any | None], order: Sequence[int]) -> dict[int, str]:
        """Return the entry of each question that has a value, by its number on the page."""
        if self._is_lifted:
            found = self.scale.write_entries(values, [0])
            return {0: found[1]} if found else {}
        if self.per_turn:
            found = self.scale.write_entries(values, range(len(values)))
            known = {place: turn for place, turn in enumerate(self.asked_turns, start=1)}
            return {known[place]: entry for place, entry in found.items() if place in known}
        return self.scale.write_entries(values, order)

    def list_judged(self, outputs: Sequence[str]) -> Sequence[str]:
        """Return which of these outputs its gold speaks of: all, the item as a whole, or turns."""
        if self.per_turn:
            return [_("Turn %(number)s") % {"number": number} for number in self.asked_turns]
        return outputs[:1] if self._is_lifted else outputs

    # --- worked examples and gold in data: one answer of an item, or a list

    def rating_to_data(self, ratings: Sequence[Any]) -> Any:
        if self.per_turn:
            return [[None if one is None else self.scale.rating_to_data([one])[0]
                     for one in ratings]]  # fmt: skip
        data = self.scale.rating_to_data(ratings)
        return data[0] if self._is_lifted else data

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        if self.per_turn:
            return tuple(
                None if one is None else self.scale.rating_from_data([one])[0] for one in data[0]
            )
        return self.scale.rating_from_data([data] if self._is_lifted else data)

    def gold_to_data(self, text: str) -> Any:
        data = self.scale.gold_to_data(text)
        return data[0] if self._is_lifted else [data] if self.per_turn else data

    def gold_from_data(self, data: Any) -> str:
        found = [data] if self._is_lifted else data[0] if self.per_turn else data
        return self.scale.gold_from_data(found)


@dataclass(frozen=True, kw_only=True)
class InputColumn:
    """A column of a batch that belongs to the item: its name, kind, and other names it goes by.

    Columns with the same word in `together` are filled in all of them or in none. `is_of_output`:
    it belongs to the only output of the item, so items with the same other inputs share them.
    """

    name: str
    label: str
    kind: InputKind = "text"
    language: str = ""  # of code
    aliases: tuple[str, ...] = ()
    is_required: bool = True
    together: str = ""
    is_shown: bool = True
    is_of_output: bool = False


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How an item is laid out on its page.

    `inputs` are above the outputs or beside them, where the page is wide, or not shown at all.
    `order` of outputs, and of the items of a group that stays together: random, or as in the file.
    `letters` stand for 1, 2, ... in the names of outputs; one that is longer than a letter is the
    whole name. `menu`: headings of the instructions that rating pages link to, followed by the
    places of the set.
    `screens`: the layouts of a set from which a study chooses; the first is its default.
    """

    outputs: Literal["one", "several", "pair"] = "one"
    inputs: Literal["above", "beside", "none"] = "above"
    questions: Literal["beside", "below", "under each output"] = "beside"
    order: Literal["random", "given"] = "random"
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

    @property
    def is_given(self) -> bool:
        """Tell whether outputs, and items of a group, are in the order of the file."""
        return self.order == "given"


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
    ratings: Mapping[str, Sequence[Any]] = field(default_factory=dict)
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

    `key` is what an ignored annotation keeps as its reason; `note` says what is covered, with
    {count} for the items of the group.
    """

    key: str
    label: str
    note: str = ""
    covers: Literal["item", "group"] = "item"

    def describe_cover(self, count: int) -> str:
        """Return the note for a group of so many items; 0: that isn’t known."""
        return self.note.replace("{count} ", f"{count} " if count > 1 else "")


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
