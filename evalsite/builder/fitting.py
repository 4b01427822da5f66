"""Which instruments fit what a file holds, the best first, and what the others lack."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evalsite.builder.gallery import Entry
from evalsite.data.items.columns import find_tuple_size
from evalsite.data.items.tuples import count_times
from evalsite.instruments.schema import KINDS_OF_OUTPUTS, Column, Instrument
from evalsite.lib.dialogue import parse_dialogue
from evalsite.lib.words import count_of

# need no input, so they fit every file
PLAIN = ("gallery:quality", "gallery:which_is_better")
_MOST_PICKS, _MOST_OF_A_LAYOUT = 3, 2
_LONG_PAGE = 600  # words
# texts beside what the systems were asked, so never the prompt
_BESIDE_THE_PROMPT = frozenset({
    "reference", "ref", "evidence", "passage", "context", "document", "article",
})  # fmt: skip
_DIALOGUES = ("dialogue", "conversation")


@dataclass(frozen=True)
class FileInput:
    """An input as the first item of a file has it; `kind` is what the file holds."""

    kind: str
    text: str


@dataclass(frozen=True, kw_only=True)
class FirstItem:
    """The first item of a file or of a draft, and the size of all of it.

    Inputs are by a name that an instrument may have, outputs by system. `sizes`: the number of
    items by their number of outputs. `words` of a page that shows the inputs and two outputs.
    `columns` name what no page shows. Before there are items, every instrument fits.
    """

    inputs: Mapping[str, FileInput]
    outputs: Mapping[str, str]
    sizes: Mapping[int, int]
    output_kind: str = "text"
    words: int = 0
    columns: Sequence[str] = ()
    # whether it is known which outputs are of one input
    has_ids: bool = True

    @property
    def is_empty(self) -> bool:
        return not self.sizes

    def describe_work(self, config: Instrument) -> str:
        """Say how much there is to rate: "120 outputs", "60 pairs"."""
        if config.layout.is_pair:
            pairs = sum(items * size * (size - 1) // 2 for size, items in self.sizes.items())
            return count_of(pairs, "pair")
        if shown := find_tuple_size(config):
            tuples = sum(
                items * (count_times(size, shown) * size // shown if size > shown else 1)
                for size, items in self.sizes.items()
            )
            return count_of(tuples, "item")
        if config.item.outputs.most > 1:
            return count_of(sum(self.sizes.values()), "item")
        return count_of(sum(items * size for size, items in self.sizes.items()), "output")


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How an instrument fits: `inputs` are those of the file by the instrument's names.

    `lacks` says in sentences why no study can be made of it with this file.
    """

    entry: Entry
    points: int
    inputs: Mapping[str, str]
    lacks: Sequence[str] = field(default_factory=list)

    def list_unused(self, first: FirstItem) -> list[str]:
        """Name the inputs of the file that this instrument doesn't show."""
        return [name for name in first.inputs if name not in self.inputs.values()]


def list_added(fit: Fit, first: FirstItem) -> list[str]:
    """Name the inputs that are shown unless somebody takes them away.

    An instrument that has no input of its own shows what the systems were given.
    """
    if fit.entry.value not in PLAIN:
        return []
    return [name for name in fit.list_unused(first) if name not in ("reference", "ref")]


def propose(first: FirstItem, entries: Iterable[Entry]) -> list[Fit]:
    """Return the instruments to choose from, the best first: at most three, two of a layout."""
    fits = [fit for fit in (fit_entry(entry, first) for entry in entries) if not fit.lacks]
    # of equal points, the entry that comes first
    fits.sort(key=lambda fit: -fit.points)
    best = [fit for fit in fits if fit.entry.value not in PLAIN]
    plain = [fit for fit in fits if fit.entry.value in PLAIN]
    picks: list[Fit] = []
    for fit in [*best, *plain]:
        layouts = [pick.entry.config.layout.outputs for pick in picks]
        if layouts.count(fit.entry.config.layout.outputs) < _MOST_OF_A_LAYOUT:
            picks.append(fit)
    return picks[:_MOST_PICKS]


def fit_entry(entry: Entry, first: FirstItem) -> Fit:
    """Say how well an instrument fits, and what it lacks."""
    if first.is_empty:
        return Fit(entry=entry, points=0, inputs={})
    config = entry.config
    sources, points = _match_inputs(config, first)
    if config.item.outputs.kind == "markdown" and first.output_kind == "markdown":
        points += 2
    if config.layout.is_pair:
        points += 2 * (len(first.outputs) == 2) - 2 * (first.words > _LONG_PAGE)
    elif config.layout.outputs == "several":
        # two are a pair
        points -= 4 * (len(first.outputs) == 2)
    # correcting a text takes people longer than rating it
    points -= any(criterion.scale.rewrites for criterion in config.criteria)
    lacks = [*_find_missing(config, first, sources), *_find_wrong_outputs(entry, first)]
    return Fit(entry=entry, points=points, inputs=sources, lacks=lacks)


def _match_inputs(config: Instrument, first: FirstItem) -> tuple[dict[str, str], int]:
    """Return the file's input for each of the instrument's, and the points for them."""
    sources: dict[str, str] = {}
    points = 0
    columns = [column for column in config.item.inputs if column.kind not in KINDS_OF_OUTPUTS]
    for column in columns:
        if suits(column, first.inputs.get(column.name)):
            sources[column.name] = column.name
            points += 3 if column.required else 1
    for column in columns:
        aliases = [name for name in column.aliases if suits(column, first.inputs.get(name))]
        free = [name for name in aliases if name not in sources.values()]
        if column.name not in sources and free:
            sources[column.name] = free[0]
            points += 2 if column.required else 1
    left = _list_texts_left(first, sources)
    for column in columns:
        if column.name == "prompt" and column.name not in sources and len(left) == 1:
            sources[column.name] = left[0]
            points += 1
    return sources, points


def suits(column: Column, source: FileInput | None) -> bool:
    """Tell whether the instrument can show this input of the file as what it asks for."""
    if source is None:
        return False
    if column.kind == "dialogue":
        turns = parse_dialogue(source.text)
        return source.kind in _DIALOGUES or len({turn.speaker for turn in turns} - {""}) > 1
    if column.kind == "meaning representation":
        return source.kind == column.kind or "[" in source.text
    return (column.kind == "table") == (source.kind == "table")


def _list_texts_left(first: FirstItem, sources: Mapping[str, str]) -> list[str]:
    taken = _BESIDE_THE_PROMPT | {*sources.values()}
    return [
        name
        for name, source in first.inputs.items()
        if name not in taken and source.kind != "table"
    ]


def _find_missing(config: Instrument, first: FirstItem, sources: Mapping[str, str]) -> list[str]:
    names = {*first.inputs, *first.columns}
    missing = [
        column.name
        for column in config.columns
        if column.required and column.name not in sources
        if column.kind not in KINDS_OF_OUTPUTS or names.isdisjoint([column.name, *column.aliases])
    ]
    return [f"It needs the column “{name}”, which your items don’t have." for name in missing]


def _find_wrong_outputs(entry: Entry, first: FirstItem) -> list[str]:
    outputs = entry.config.item.outputs
    size = max(first.sizes, default=0)
    # of more outputs than a page shows, pairs or tuples are made
    makes_several = entry.config.layout.is_pair or find_tuple_size(entry.config) > 0
    is_too_many = size > outputs.most > 1 and not makes_several
    lacks = []
    if size < outputs.least or is_too_many:
        is_range = outputs.most > outputs.least
        shown = f"{outputs.least} to {outputs.most}" if is_range else f"{outputs.least}"
        has = count_of(size, "output")
        lacks.append(f"It shows {shown} outputs at a time, and your items have {has}.")
    elif few := sum(items for number, items in first.sizes.items() if number < outputs.least):
        needed = f"{outputs.least} outputs at a time"
        lacks.append(f"It shows {needed}, and {count_of(few, 'item')} of yours have fewer.")
    if outputs.most > 1 and not first.has_ids:
        lacks.append(
            "It shows several outputs of an input at once, and no column says which belong "
            "together. Go back and choose the column with the id of the input."
        )
    if entry.config.layout.is_pair and "tie" in map(str.casefold, first.outputs):
        lacks.append("A system is called “tie”, which is an answer here. Rename it first.")
    is_conversation = first.output_kind == "conversation"
    if outputs.kind == "conversation" and not is_conversation:
        lacks.append("It rates whole conversations, and your outputs are texts.")
    if is_conversation and outputs.kind != "conversation" and entry.value not in PLAIN:
        lacks.append("It rates texts, and your outputs are whole conversations.")
    return lacks
