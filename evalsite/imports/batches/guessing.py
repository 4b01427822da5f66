"""Which column of a batch holds what: guessed from its name, as real files give it."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from evalsite.imports.batches.fields import (
    EMPTY_FLAG,
    OF_SYSTEM,
    PAIR,
    PER_OUTPUT,
    is_numbered,
    is_per_output,
    makes_pairs,
    name_inputs,
)
from evalsite.imports.batches.persons import is_personal
from evalsite.imports.columns import fold
from evalsite.protocol import Protocol

# Other names that real files use. The protocol's own names come first.
_ALIASES: dict[str, tuple[str, ...]] = {
    "item": ("item_id", "itemid", "id", "item_key"),
    "group": ("group_id", "groupid"),
    "cluster": ("cluster_id", "clusterid"),
    "kind": ("item_kind",),
    "system": (
        "system_id", "system_name", "team", "model", "model_name", "algorithm", "method",
    ),
    "output": (
        "output_text", "utterance", "ref", "response", "text", "hypothesis", "candidate",
        "completion", "machine_completion", "generation", "generated_text", "next_utterance",
    ),
    EMPTY_FLAG: ("is_empty",),
    "gold_why": ("why",),
}  # fmt: skip
# an output only where a number or a letter follows
_NUMBERED_OUTPUTS = ("choice", "option")
# hardly the name of a system: with one of these among them no columns are taken for systems
_UNLIKE_SYSTEMS = re.compile(
    r".*_(id|url|name|date|time|type)|"
    "(id|index|no|nr|num|number|row|line|date|time|timestamp|year|split|set|fold|source|src|origin|"
    "domain|topic|category|type|label|lang|language|locale|url|link|doc|document|title|author|user|"
    "worker|annotator|participant|score|rating|value|bleu|rouge|length|len|seed|status|tag|tags|"
    "note|notes|comment|comments|meta|metadata|extra|condition|group|text|output|input|prompt)"
)
_SHORT = 5
_NUMBERED = re.compile(r"(.*?)_?([1-9][0-9]?)")
# choice_A, outputB, response-c: a letter in place of a number, alone or before another word
_LETTERED = re.compile(r"(.+?)(?:[\s_.-]+([A-Ha-h])|(?<=[a-z])([A-H]))((?:[\s_.-].+)?)")
_SYSTEM_OF = re.compile(r"(.*?)_?([1-9][0-9]?)_(?:id|system|model|team|algorithm|method|name)")


def guess_mapping(header: Sequence[str], config: Protocol) -> dict[str, str]:
    """A field for each column that has a known name; each field is given once."""
    wanted = _rank_names(config)
    best: dict[str, tuple[int, int]] = {}
    for number, column in enumerate(header):
        for field, rank in _find_fields(column, wanted, config):
            best[field] = min(best.get(field, (rank, number)), (rank, number))
    if {"system", "output"} <= best.keys():
        best = {field: place for field, place in best.items() if not is_numbered(field)}
    elif any(map(is_numbered, best)):
        best.pop(PAIR, None)  # of a whole row it says nothing about its outputs
    chosen: dict[int, str] = {}
    for field, (_, number) in sorted(best.items(), key=lambda pair: pair[1]):
        # a column that fits two fields goes to the one whose name it fits best
        if number not in chosen:
            chosen[number] = field
    names = [column.strip() for column in header]
    mapping = {name: chosen.get(number, "") for number, name in enumerate(names)}
    return mapping | dict.fromkeys(_guess_systems(mapping, config), OF_SYSTEM)


def _guess_systems(mapping: Mapping[str, str], config: Protocol) -> list[str]:
    """The columns that can't be but outputs, named after their systems; none if it is doubtful."""
    there, least = set(mapping.values()), config.outputs[0]
    if any(map(is_per_output, there)):
        return []
    if any(column.name not in there for column in config.inputs if column.is_required):
        return []
    left = [column for column, field in mapping.items() if not field]
    if any(is_personal(name) or _UNLIKE_SYSTEMS.fullmatch(fold(name)) for name in left):
        return []
    fits = len(left) == least if least > 2 else len(left) > 1
    return left if fits else []


def find_near(field: str, mapping: Mapping[str, str], config: Protocol) -> list[str]:
    """The columns without a field whose names come near to one that this field may have."""
    names = [name for name, fields in _rank_names(config).items() if field in dict(fields)]
    folded = {fold(column): column for column, mapped in mapping.items() if not mapped}
    near = [
        folded[match]
        for name in [field, *names]
        for match in get_close_matches(name, folded, n=2, cutoff=_nearness(name))
    ]
    return list(dict.fromkeys(near))


def _nearness(name: str) -> float:
    # many short words share half of their letters, such as team and temp
    return 0.65 if len(name) > _SHORT else 0.8


# --- names ----------------------------------------------------------------------


def _rank_names(config: Protocol) -> dict[str, list[tuple[str, int]]]:
    """For each folded name the fields it may mean; rank 0 is the field's own name."""
    wanted: dict[str, list[tuple[str, int]]] = {}

    def add(field: str, names: Sequence[str]) -> None:
        for rank, name in enumerate(names):
            wanted.setdefault(fold(name), []).append((field, rank))

    for column in config.inputs:
        add(column.name, (column.name, *column.aliases))
    for field, aliases in _ALIASES.items():
        own = config.output_aliases if field == "output" else ()
        add(field, (field, *own, *aliases))
    if makes_pairs(config):
        add(PAIR, (PAIR,))
    for criterion in config.criteria:
        add(f"gold_{criterion.key}", (f"gold_{criterion.key}",))
    return wanted


def _find_fields(
    column: str, wanted: Mapping[str, list[tuple[str, int]]], config: Protocol
) -> list[tuple[str, int]]:
    """The fields that a column's name may mean, each with how far it is from the field's own."""
    # a crowd platform puts this before the columns of a batch
    column = column.strip().removeprefix("Input.")
    folded = fold(column)
    if folded in wanted:
        return wanted[folded]
    if found := _find_numbered(fold(_number_letter(column)), wanted):
        return found
    if folded.endswith("_id"):
        # mr_id, review_id: what numbers the inputs numbers the items
        inputs = set(name_inputs(config))
        named = {field for field, _ in wanted.get(folded.removesuffix("_id"), [])}
        return [("item", 50)] if named & inputs else []
    return []


def _find_numbered(
    folded: str, wanted: Mapping[str, list[tuple[str, int]]]
) -> list[tuple[str, int]]:
    """As `_find_fields`, where the name has the number of an output in it."""
    if found := _SYSTEM_OF.fullmatch(folded):
        is_output = "output" in dict(_mean_per_output(found[1], wanted))
        return [(f"system{int(found[2])}", 50)] if is_output else []
    if found := _NUMBERED.fullmatch(folded):
        meant = _mean_per_output(found[1], wanted)
        return [(f"{field}{int(found[2])}", rank) for field, rank in meant]
    return []


def _mean_per_output(
    base: str, wanted: Mapping[str, list[tuple[str, int]]]
) -> list[tuple[str, int]]:
    if base in _NUMBERED_OUTPUTS:
        return [("output", 50)]
    return [(field, rank) for field, rank in wanted.get(base, []) if field in PER_OUTPUT]


def _number_letter(column: str) -> str:
    """choice_A as choice_1: outputs that are told apart by letters are those of numbers."""
    found = _LETTERED.fullmatch(column)
    if found is None:
        return column
    letter = (found[2] or found[3]).lower()
    return f"{found[1]}_{ord(letter) - ord('a') + 1}{found[4]}"
