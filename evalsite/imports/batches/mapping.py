"""What columns hold, by field: checked, and turned into the places of a row.

A mapping gives each column the name of a field, "" to keep it as metadata of the item, or "-" to
leave it out.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from evalsite.data.tables.faults import Fault, show
from evalsite.data.tables.table import Table
from evalsite.imports.batches.columns import (
    EMPTY_FLAG,
    OF_SYSTEM,
    PAIR,
    PER_OUTPUT,
    SEVERAL,
    find_near,
    find_numbers,
    is_per_output,
    list_fields,
    name_inputs,
    names_items,
    rows_are_items,
)
from evalsite.imports.batches.items import CheckedItems
from evalsite.imports.columns import LEAVE_OUT, check_fields, fold, join_names
from evalsite.instruments.schema import Instrument

# together they tell that a file holds ratings
_OF_RATERS = {"participant", "worker", "worker_id", "workerid", "annotator", "rater", "judge"}
_OF_RATINGS = {"criterion", "value", "rating", "score", "preferred", "preference"}
# what the names of columns hardly ever have: lines, the end of a sentence, or many words
_IS_TEXT = re.compile(r"\n|[.!?]\s*\Z|.{60}|(?:\S+\s+){5}\S")


@dataclass(frozen=True)
class OutputColumns:
    """The numbers of the columns of one output of a row.

    If the column is named after the system, that is its name; an empty cell then is no output.
    """

    system: int
    output: int
    is_empty: int | None = None
    pair: int | None = None
    named: str = ""


@dataclass(frozen=True)
class Plan:
    """The number of the column of each field."""

    is_wide: bool
    item: int | None
    # what belongs to the item as a whole: group, cluster, kind, inputs, gold
    shared: Mapping[str, int]
    outputs: tuple[OutputColumns, ...]
    extra: Mapping[str, int]
    # whether all outputs are of one system, called like the file
    is_named_by_file: bool = False


def check_mapping(checked: CheckedItems, config: Instrument, table: Table) -> list[Fault]:
    """Check that each field has one column, and that the columns the protocol needs exist."""
    mapping, line = checked.read_mapping, table.header_line
    faults = check_fields(mapping, list_fields(config, mapping), line)
    by_field = {field for field in mapping.values() if field and field != LEAVE_OUT}
    if problem := _find_two_forms(by_field):
        faults.append(Fault("forms_mixed", problem, line=line))
    missing = _find_missing(by_field, config)
    unclear = _find_unclear_input(checked, config)
    if unclear:
        faults.append(unclear)
    if _is_named_by_file(by_field, checked.system_name):
        missing.remove("system")
    if missing and (fault := _find_other_kind(mapping, config, line, table.sheet)):
        return [*faults, fault]
    faults += [
        _describe_missing(
            field, mapping, config, line, is_listed=field == missing[0] and not unclear
        )
        for field in missing
    ]
    return faults


def _find_two_forms(fields: Iterable[str]) -> str:
    """What is wrong with mapping to more than one form, as a sentence; "" if there is one."""
    there = set(fields)
    numbers = [f"output{number}" for number in find_numbers(there)]
    if numbers and there & set(PER_OUTPUT):
        return (
            "Some columns are mapped to one output in a row and some to numbered outputs "
            f"(such as “{numbers[0]}”). Choose one form."
        )
    if OF_SYSTEM in there and any(is_per_output(field) for field in there - {OF_SYSTEM}):
        return (
            f"Some columns are mapped to “{OF_SYSTEM}” and some to “system”, “output” or others "
            "of an output. Choose one form."
        )
    return ""


def _find_unclear_input(checked: CheckedItems, config: Instrument) -> Fault | None:
    """Ask which of several columns the systems got, if no column is called like an input."""
    names = {column.name for column in config.columns}
    several = [column for column in checked.candidates if column not in names]
    if len(several) < 2 or not any(checked.mapping.get(column) in names for column in several):
        return None
    name = next(checked.mapping[column] for column in several if checked.mapping[column] in names)
    message = (
        f"Which column did the systems get? Found: {', '.join(several)}. Choose it "
        f"(--map COLUMN={name}); of several, each is shown."
    )
    return Fault("input_unclear", message)


def _is_named_by_file(fields: Collection[str], name: str) -> bool:
    """Return whether one system wrote all outputs, which only the file's name tells."""
    return bool(name) and "output" in fields and "system" not in fields


def make_plan(checked: CheckedItems, config: Instrument) -> Plan:
    """Columns by field, once header and mapping are known to be right."""
    header, mapping = checked.header, checked.read_mapping
    fields = [mapping.get(name.strip(), "") or f"={name.strip()}" for name in header]
    columns = {field: number for number, field in enumerate(fields) if field not in SEVERAL}
    numbers = find_numbers(columns)
    suffixes = [str(number) for number in numbers] or [""] * ("output" in columns)
    is_named_by_file = _is_named_by_file(columns, checked.system_name)
    shared = ["group", "cluster", "kind", *name_inputs(config)]
    shared += [field for field in columns if field.startswith("gold_")]
    return Plan(
        is_wide=suffixes != [""],
        item=columns.get("item", columns.get("group") if names_items(config, fields) else None),
        shared={field: columns[field] for field in shared if field in columns},
        outputs=(
            *(
                OutputColumns(
                    columns[f"{'output' if is_named_by_file else 'system'}{suffix}"],
                    columns[f"output{suffix}"],
                    columns.get(f"{EMPTY_FLAG}{suffix}"),
                    columns.get(f"{PAIR}{suffix}"),
                    checked.system_name if is_named_by_file else "",
                )
                for suffix in suffixes
            ),
            *(
                OutputColumns(number, number, named=header[number].strip())
                for number, field in enumerate(fields)
                if field == OF_SYSTEM
            ),
        ),
        is_named_by_file=is_named_by_file,
        extra={name[1:]: number for name, number in columns.items() if name.startswith("=")},
    )


# --- what is missing ------------------------------------------------------------


def _find_missing(fields: Iterable[str], config: Instrument) -> list[str]:
    there = set(fields)
    needed = [column.name for column in config.columns if column.required]
    numbers = find_numbers(there)
    if OF_SYSTEM in there:
        pass
    elif numbers and not {"system", "output"} & there:
        needed += [f"{field}{number}" for number in numbers for field in ("system", "output")]
    else:
        needed += ["system", "output"]
    if not rows_are_items(config, there) and not names_items(config, there):
        needed.insert(0, "item")
    return [field for field in needed if field not in there]


def _find_other_kind(
    mapping: Mapping[str, str], config: Instrument, line: int | None, sheet: str
) -> Fault | None:
    """Name what a file without the columns of a batch seems to be instead, if that is clear."""
    header = list(mapping)
    if len(header) == 1 and sheet:
        message = (
            f"The sheet “{sheet}” was read, and its first row names only one column, "
            f"“{show(header[0])}”. Put the sheet with the items first or hide those before it, "
            "and delete what is above the names of its columns."
        )
        return Fault("one_column", message, line=line)
    if len(header) == 1:
        message = (
            f"The first line names only one column, “{show(header[0])}”. Separate columns by "
            "commas, semicolons or tabs, and name them in the first line."
        )
        return Fault("one_column", message, line=line)
    folded = {fold(column) for column in header}
    if folded & _OF_RATERS and folded & _OF_RATINGS:
        message = (
            "The rows seem to be ratings, not items. Import the batch first, then this file as "
            "ratings collected elsewhere."
        )
        return Fault("looks_like_ratings", message, line=line)
    if not any(mapping.values()) and any(_IS_TEXT.search(column) for column in header):
        needed = [column.name for column in config.columns if column.required]
        message = (
            "The first line seems to hold a row, not the names of columns. Put a line of names "
            f"above it, such as {', '.join(['item', *needed, 'system', 'output'])}."
        )
        return Fault("header_is_data", message, line=line)
    return None


def _describe_missing(
    field: str,
    mapping: Mapping[str, str],
    config: Instrument,
    line: int | None,
    *,
    is_listed: bool,
) -> Fault:
    # values inside a column would be a long list
    columns = [
        name
        for name in mapping
        if not any(name.startswith((f"{other}.", f"{other}[")) for other in mapping)
    ]
    # the page lists columns by their labels
    label = next((one.heading for one in config.columns if one.name == field), field)
    named = f"“{field}”" if label.lower() == field.lower() else f"“{field}” ({label})"
    inputs = name_inputs(config)
    needed = [column.name for column in config.columns if column.required]
    of_several = f" as {named}" if len(needed) > 1 else ""
    questions = {
        **dict.fromkeys(inputs, f"Which column did the systems get{of_several}?"),
        "output": "Which column holds the outputs?",
    }
    message = questions.get(field, f"Column {named} is missing.")
    if is_listed:
        message += f" Found: {', '.join(columns) or 'none'}."
    if field == "item":
        message += " Without it, it isn't clear which outputs belong to which item."
    near = find_near(field, mapping, config)
    if near:
        message += f" Did you mean {join_names(near, 'or')}?"
    if field in questions:
        message += f" Choose it (--map {near[0] if len(near) == 1 else 'COLUMN'}={field})."
    elif near:
        message += " Map it, or rename it."
    else:
        message += " Map a column to it, or add it."
    if field == "system":
        message += (
            " If one system wrote all outputs, choose “Output of this system” for their column "
            f"(--map COLUMN={OF_SYSTEM}): the system is then called like the column."
        )
    if field == "output" and list(mapping.values()).count("") > 1:
        message += (
            " If columns are named after systems and hold their outputs, choose “Output of this "
            f"system” for each of them (--map COLUMN={OF_SYSTEM})."
        )
    return Fault("column_missing", message, column=field, line=line)
