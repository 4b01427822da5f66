"""What a column of a batch can hold, by field, and what the fields of a file tell of its form.

In the long form a row holds one output (`system`, `output`); in the wide form it holds all outputs
of an item, in numbered fields (`system1`, `output1`, `system2`, ...) or in columns that are named
after their systems.
"""

import re
from collections.abc import Iterable, Mapping

from evalsite.imports.columns import LEAVE_OUT, Field
from evalsite.protocol import Protocol

EMPTY_FLAG = "output_is_empty"
PAIR = "pair"
OF_SYSTEM = "output_of_this_system"  # several columns may be: each is named after its system
SEVERAL = (OF_SYSTEM, LEAVE_OUT)  # what any number of columns may be mapped to
PER_OUTPUT = ("output", "system", EMPTY_FLAG, PAIR)
_NUMBERED_FIELD = re.compile(rf"({'|'.join(PER_OUTPUT)})([1-9][0-9]?)")
_MOST_OFFERED = 3


def name_fields(config: Protocol, mapping: Mapping[str, str]) -> list[str]:
    """Every field that a column may be mapped to, in the order in which a page offers them."""
    most = max(_MOST_OFFERED, config.outputs[1], *find_numbers(mapping.values()))
    per_output = ["system", "output", EMPTY_FLAG, *([PAIR] if makes_pairs(config) else [])]
    return [
        "item", "group", "cluster", "kind",
        *name_inputs(config),
        *per_output,
        OF_SYSTEM,
        *(f"{field}{n}" for n in range(1, most + 1) for field in per_output),
        *(f"gold_{criterion.key}" for criterion in config.criteria), "gold_why",
    ]  # fmt: skip


def list_fields(config: Protocol, mapping: Mapping[str, str]) -> list[Field]:
    """The same fields with the words and the groups that a page shows them in."""
    fields = [
        Field("", "Keep, don't show", is_for_many=True),
        Field(LEAVE_OUT, "Leave out", is_for_many=True),
    ]
    for name in name_fields(config, mapping):
        fields.append(_describe_field(name, config))
    return fields


_LABELS = {
    "item": "Item",
    "group": "Group of items",
    "cluster": "Cluster",
    "kind": "Kind of item",
    "system": "System",
    "output": "Output",
    EMPTY_FLAG: "Output is empty (yes or no)",
    PAIR: "Pair",
    OF_SYSTEM: "Output of this system",
    "gold_why": "Why it is right",
}


def _describe_field(name: str, config: Protocol) -> Field:
    if found := _NUMBERED_FIELD.fullmatch(name):
        label = f"{_LABELS[found[1]]} {int(found[2])}"
        return Field(name, label, f"Output {int(found[2])}")
    if name in PER_OUTPUT:
        return Field(name, _LABELS[name], "One output a row")
    if name == OF_SYSTEM:
        return Field(name, _LABELS[name], "One column a system", is_for_many=True)
    if name.startswith("gold_"):
        criteria = {f"gold_{one.key}": str(one.label) for one in config.criteria}
        label = _LABELS.get(name) or f"Right answer: {criteria[name]}"
        return Field(name, label, "Right answers")
    inputs = {one.name: str(one.label) for one in config.inputs}
    return Field(name, inputs.get(name) or _LABELS[name], "This item")


def name_inputs(config: Protocol) -> list[str]:
    return [column.name for column in config.inputs]


def makes_pairs(config: Protocol) -> bool:
    """Whether items of more than two outputs stand for all pairs of them."""
    return config.outputs == (2, 2)


def names_items(config: Protocol, fields: Iterable[str]) -> bool:
    """Whether a group stands for an item of all its outputs, since nothing else names items."""
    there = set(fields)
    return makes_pairs(config) and "group" in there and not rows_are_items(config, there)


def rows_are_items(config: Protocol, fields: Iterable[str]) -> bool:
    """Whether each row stands for an item of its own, so that items need no name."""
    return config.outputs[1] == 1 or any(
        is_numbered(field) or field == OF_SYSTEM for field in fields
    )


def is_numbered(field: str) -> bool:
    return _NUMBERED_FIELD.fullmatch(field) is not None


def is_per_output(field: str) -> bool:
    return field in PER_OUTPUT or is_numbered(field)


def find_numbers(fields: Iterable[str]) -> list[int]:
    """The numbers of the outputs that a wide file has columns for."""
    found = (_NUMBERED_FIELD.fullmatch(field) for field in fields)
    return sorted({int(match[2]) for match in found if match})
