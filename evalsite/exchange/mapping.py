"""Which column of a file holds what: guessed from its name, then checked.

A mapping gives each column the name of a field, or "" to keep it as metadata of the item. In the
long form a row holds one output (`system`, `output`); in the wide form it holds all outputs of an
item, in numbered fields (`system1`, `output1`, `system2`, ...).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from evalsite.exchange.faults import Fault
from evalsite.exchange.signs import find_control
from evalsite.protocol import ProtocolConfig

EMPTY_FLAG = "output_is_empty"
PAIR = "pair"

# Other names that real files use. The protocol's own names come first.
_ALIASES: dict[str, tuple[str, ...]] = {
    "item": ("item_id", "itemid", "id", "item_key"),
    "group": ("group_id", "groupid"),
    "cluster": ("cluster_id", "clusterid"),
    "kind": ("item_kind",),
    "system": ("system_id", "system_name", "team", "model", "algorithm", "method"),
    "output": (
        "output_text", "utterance", "ref", "response", "text", "hypothesis", "candidate",
        "completion", "machine_completion", "generation",
    ),
    EMPTY_FLAG: ("is_empty",),
    "gold_why": ("why",),
}  # fmt: skip
_PER_OUTPUT = ("output", "system", EMPTY_FLAG, PAIR)
_NUMBERED_FIELD = re.compile(rf"({'|'.join(_PER_OUTPUT)})([1-9][0-9]?)")
_MOST_OFFERED = 3
_NUMBERED = re.compile(r"(.*?)[_ .-]?([1-9][0-9]?)")


@dataclass(frozen=True)
class OutputColumns:
    """Where one output of a row stands: the numbers of its columns."""

    system: int
    output: int
    is_empty: int | None = None
    pair: int | None = None


@dataclass(frozen=True)
class Plan:
    """Where everything stands in a row: by field, the number of its column."""

    is_wide: bool
    item: int | None
    # what belongs to the item as a whole: group, cluster, kind, inputs, gold
    shared: Mapping[str, int]
    outputs: tuple[OutputColumns, ...]
    extra: Mapping[str, int]


def name_fields(config: ProtocolConfig, mapping: Mapping[str, str]) -> list[str]:
    """Every field that a column may be mapped to, in the order in which a page offers them."""
    most = max(_MOST_OFFERED, config.outputs[1], *_find_numbers(mapping.values()))
    per_output = ["system", "output", EMPTY_FLAG, *([PAIR] if makes_pairs(config) else [])]
    return [
        "item", "group", "cluster", "kind",
        *_name_inputs(config),
        *per_output,
        *(f"{field}{n}" for n in range(1, most + 1) for field in per_output),
        *(f"gold_{criterion.key}" for criterion in config.criteria), "gold_why",
    ]  # fmt: skip


def guess_mapping(header: Sequence[str], config: ProtocolConfig) -> dict[str, str]:
    """A field for each column that has a known name; each field is given once."""
    wanted = _rank_names(config)
    best: dict[str, tuple[int, int]] = {}
    for number, column in enumerate(header):
        for field, rank in _find_fields(column, wanted, config):
            best[field] = min(best.get(field, (rank, number)), (rank, number))
    if {"system", "output"} <= best.keys():
        best = {field: place for field, place in best.items() if not _is_numbered(field)}
    elif any(map(_is_numbered, best)):
        best.pop(PAIR, None)  # of a whole row it says nothing about its outputs
    chosen: dict[int, str] = {}
    for field, (_, number) in sorted(best.items(), key=lambda pair: pair[1]):
        # a column that fits two fields goes to the one whose name it fits best
        if number not in chosen:
            chosen[number] = field
    return {column.strip(): chosen.get(number, "") for number, column in enumerate(header)}


def check_header(header: Sequence[str], line: int) -> list[Fault]:
    """Every column has a name that can be stored, and none stands twice, whatever its case."""
    faults = [
        Fault(message, line=line)
        for number, column in enumerate(header, start=1)
        if (message := _find_name_problem(number, column))
    ]
    counts = Counter(column.strip().casefold() for column in header if column.strip())
    seen: set[str] = set()
    for column in header:
        folded = column.strip().casefold()
        if counts[folded] > 1 and folded not in seen:
            seen.add(folded)
            faults.append(
                Fault(
                    f"{counts[folded]} columns have this name (case and outer spaces don't "
                    "count). Rename or remove all but one.",
                    column=column.strip(),
                    line=line,
                )
            )
    return faults


def _find_name_problem(number: int, column: str) -> str:
    """What is wrong with this column's name, as a sentence; "" if it may stand."""
    if not column.strip():
        return f"Column {number} has no name. Name it in the first line, or remove it."
    if found := find_control(column):
        return f"The name of column {number} holds {found}. Remove it from the first line."
    return ""


def check_mapping(
    mapping: Mapping[str, str], config: ProtocolConfig, line: int | None
) -> list[Fault]:
    """Each field has one column, and what the protocol needs is there."""
    faults = []
    known = set(name_fields(config, mapping))
    by_field: dict[str, list[str]] = {}
    for column, field in mapping.items():
        if field and field not in known:
            faults.append(Fault(f"There is no field “{field}” to map it to.", column=column))
        elif field:
            by_field.setdefault(field, []).append(column)
    faults += [
        Fault(f"Columns {_join(columns)} are both mapped to “{field}”. Choose one.", line=line)
        for field, columns in by_field.items()
        if len(columns) > 1
    ]
    if (numbers := _find_numbers(by_field)) and by_field.keys() & set(_PER_OUTPUT):
        faults.append(
            Fault(
                "Some columns are mapped to one output in a row and some to numbered outputs "
                f"(such as “output{numbers[0]}”). Choose one form.",
                line=line,
            )
        )
    missing = _find_missing(by_field.keys(), config)
    faults += [_describe_missing(field, mapping, config, line) for field in missing]
    return faults


def make_plan(header: Sequence[str], mapping: Mapping[str, str], config: ProtocolConfig) -> Plan:
    """Columns by field, once header and mapping are known to be right."""
    columns = {
        mapping.get(name.strip(), "") or f"={name.strip()}": number
        for number, name in enumerate(header)
    }
    numbers = _find_numbers(columns)
    suffixes = [""] if "output" in columns else [str(number) for number in numbers]
    shared = ["group", "cluster", "kind", *_name_inputs(config)]
    shared += [field for field in columns if field.startswith("gold_")]
    return Plan(
        is_wide=suffixes != [""],
        item=columns.get("item", columns.get("group") if _names_items(config, columns) else None),
        shared={field: columns[field] for field in shared if field in columns},
        outputs=tuple(
            OutputColumns(
                columns[f"system{suffix}"],
                columns[f"output{suffix}"],
                columns.get(f"{EMPTY_FLAG}{suffix}"),
                columns.get(f"{PAIR}{suffix}"),
            )
            for suffix in suffixes
        ),
        extra={name[1:]: number for name, number in columns.items() if name.startswith("=")},
    )


def makes_pairs(config: ProtocolConfig) -> bool:
    """Whether items of more than two outputs stand for all pairs of them."""
    return config.outputs == (2, 2)


def _names_items(config: ProtocolConfig, fields: Iterable[str]) -> bool:
    """Whether a group stands for an item of all its outputs, since nothing else names items."""
    there = set(fields)
    return makes_pairs(config) and "group" in there and not rows_are_items(config, there)


def rows_are_items(config: ProtocolConfig, fields: Iterable[str]) -> bool:
    """Whether each row stands for an item of its own, so that items need no name."""
    return config.outputs[1] == 1 or any(_is_numbered(field) for field in fields)


# --- names ----------------------------------------------------------------------


def _name_inputs(config: ProtocolConfig) -> list[str]:
    return [column.name for column in config.inputs]


def _fold(name: str) -> str:
    return re.sub(r"[\s_.-]+", "_", name.strip().casefold())


def _rank_names(config: ProtocolConfig) -> dict[str, list[tuple[str, int]]]:
    """For each folded name the fields it may mean; rank 0 is the field's own name."""
    wanted: dict[str, list[tuple[str, int]]] = {}

    def add(field: str, names: Sequence[str]) -> None:
        for rank, name in enumerate(names):
            wanted.setdefault(_fold(name), []).append((field, rank))

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
    column: str, wanted: Mapping[str, list[tuple[str, int]]], config: ProtocolConfig
) -> list[tuple[str, int]]:
    """The fields that a column's name may mean, each with how far it is from the field's own."""
    folded = _fold(column)
    if folded in wanted:
        return wanted[folded]
    if folded.endswith("_id"):
        # mr_id, review_id: what numbers the inputs numbers the items
        inputs = set(_name_inputs(config))
        named = {field for field, _ in wanted.get(folded.removesuffix("_id"), [])}
        return [("item", 50)] if named & inputs else []
    found = _NUMBERED.fullmatch(folded)
    if not found:
        return []
    return [
        (f"{field}{int(found[2])}", rank)
        for field, rank in wanted.get(found[1], [])
        if field in _PER_OUTPUT
    ]


def _is_numbered(field: str) -> bool:
    return _NUMBERED_FIELD.fullmatch(field) is not None


def _find_numbers(fields: Iterable[str]) -> list[int]:
    """The numbers of the outputs that a wide file has columns for."""
    found = (_NUMBERED_FIELD.fullmatch(field) for field in fields)
    return sorted({int(match[2]) for match in found if match})


# --- what is missing ------------------------------------------------------------


def _find_missing(fields: Iterable[str], config: ProtocolConfig) -> list[str]:
    there = set(fields)
    needed = [column.name for column in config.inputs if column.is_required]
    numbers = _find_numbers(there)
    if numbers and not {"system", "output"} & there:
        needed += [f"{field}{number}" for number in numbers for field in ("system", "output")]
    else:
        needed += ["system", "output"]
    if not rows_are_items(config, there) and not _names_items(config, there):
        needed.insert(0, "item")
    return [field for field in needed if field not in there]


def _describe_missing(
    field: str, mapping: Mapping[str, str], config: ProtocolConfig, line: int | None
) -> Fault:
    names = [name for name, fields in _rank_names(config).items() if field in dict(fields)]
    folded = {_fold(column): column for column, mapped in mapping.items() if not mapped}
    near = [
        folded[match]
        for name in [field, *names]
        for match in get_close_matches(name, folded, n=2, cutoff=0.6)
    ]
    message = f"Column “{field}” is missing. Found: {', '.join(mapping) or 'none'}."
    if field == "item":
        message += " Without it the outputs of one item can't be told from those of another."
    if near:
        message += f" Did you mean {_join(list(dict.fromkeys(near)), 'or')}? Map it, or rename it."
    else:
        message += " Map a column to it, or add it."
    return Fault(message, column=field, line=line)


def _join(names: Sequence[str], word: str = "and") -> str:
    quoted = [f"“{name}”" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"
