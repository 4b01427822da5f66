"""All outputs of some files by input and system, in the order in which inputs first come."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import PurePosixPath
from typing import Any

from evalsite.data.tables.files import SourceFile, name_apart
from evalsite.data.tables.paths import find, find_first, last_name, open_json
from evalsite.data.tables.roles import is_settings
from evalsite.data.tables.table import Refused, find_difference, name_some, quote
from evalsite.data.tables.texts import (
    check_samples,
    is_messages,
    read_input,
    read_output,
    read_reasoning,
    read_transcript,
    write_turns,
    write_value,
)
from evalsite.data.tables.tools import (
    Recognised,
    Row,
    RowPaths,
    read_rows,
    read_settings,
    replace_in_name,
)
from evalsite.lib.limited import read_json
from evalsite.lib.words import count_of

_LONGEST_ARGUMENT = 2_000
# how files are joined, if a person chose it
BY_ID, BY_INPUT, BY_LINE = "id", "input", "line"
# what an input may be: a text, or a conversation
Input = str | list[dict[str, str]]


@dataclass(slots=True)
class Output:
    """One text of one system; None if there is none, with the reason in `error`."""

    text: str | None
    variant: str
    sample: int
    metadata: dict[str, str]
    error: str = ""
    file: str = ""


@dataclass(slots=True)
class Item:
    """An input with its outputs by system."""

    id: str
    inputs: dict[str, Input]
    place: str
    outputs: dict[str, list[Output]] = field(default_factory=dict)
    reference: str = ""
    # of the request, which all systems got
    metadata: dict[str, str] = field(default_factory=dict)
    # whether its inputs are those of a file of inputs
    is_given: bool = False


class Collection:
    """Inputs and outputs of files that one tool wrote."""

    def __init__(self, turns: str = "", *, has_chosen_inputs: bool = False, join: str = "") -> None:
        self._turns = turns
        self._join = join
        self._has_chosen_inputs = has_chosen_inputs
        # inputs that differ between outputs of an id; what ids are unique in, by file
        self._differing: dict[str, None] = {}
        self._parts: dict[str, str] = {}
        self.items: dict[str, Item] = {}
        self.systems: dict[str, str] = {}  # each with the file that it came from first
        self.shared: dict[
            str, dict[str, None]
        ] = {}  # by file: systems that came first from another
        self.rows: dict[str, int] = {}  # by file
        self.has_turns = self.has_references = False
        # whether each row names the systems that met in it: no input is to have all of them
        self.has_battles = False
        # by file: systems that its rows name, and what the others are called
        self._named: dict[str, dict[str, None]] = {}
        self._unnamed: dict[str, str] = {}
        # by file and service: agents that traces name, if nothing else says which system they are
        self.agents: dict[tuple[str, str], dict[str, None]] = {}
        # what outputs of one system differ by, in a word
        self.variant = ""
        self._by_inputs = False
        self._id = ""

    @property
    def joined_by(self) -> str:
        return "equal inputs" if self._by_inputs else "id"

    def explain_join(self, files: int) -> str:
        """Say why the files are joined so."""
        number = count_of(len(self.items), "different input" if self._by_inputs else "different id")
        where = "the file" if files == 1 else f"{files} files"
        by = "without ids" if self._by_inputs else f"in “{self._id}”"
        return f"{number} {by}, in {where}"

    def add_files(self, files: Iterable[Recognised]) -> None:
        """Take all rows; Refused names the file, and the row by its number."""
        ordered = sorted(files, key=lambda known: known.shape.role != "inputs")
        settings = _read_all_settings(ordered)
        parts = {known.file.name: _find_part(known) for known in ordered}
        if len({*parts.values()} - {""}) > 1:
            self._parts = parts
        for known in ordered:
            if is_settings(known):
                continue
            self.variant = self.variant or known.format.row.variant_name
            named, arguments = settings.get(known.file.folder, ("", {}))
            rows = 0
            for row in read_rows(known):
                rows += 1
                row.arguments = row.arguments or arguments
                if named and not known.file.folder:
                    row.system = replace_in_name(known, named)
                try:
                    self._add(row, known)
                except Refused as fault:
                    if fault.file or row.place in fault.message:
                        raise
                    message = f"{row.place}: {fault.message}"
                    raise Refused(fault.code, message, file=known.file.name) from None
            if not rows:
                raise Refused("no_rows", "The file has no rows.", file=known.file.name)
            self._name_failed(known.file.name)
            self.rows[known.file.name] = rows

    def _add(self, row: Row, known: Recognised) -> None:
        paths, data = known.format.row, row.data
        inputs = self._read_inputs(data, paths, known.shape.role)
        place = ", ".join(filter(None, [known.file.name, row.place]))
        item = self._find_item(data, known, inputs, place)
        if known.shape.role == "inputs":
            item.is_given = True
            item.metadata = self._read_metadata(row, paths)
            return
        if known.shape.role == "reference":
            item.reference = write_value(find_first(data, [*paths.reference, *paths.output]))
            self.has_references = True
            return
        named = write_value(find_first(data, paths.system))
        if paths.outputs:
            for use in paths.outputs:
                system = use.get("system") or named or row.system
                if "system_at" in use:
                    system = write_value(find(data, use["system_at"]))
                self.has_battles = self.has_battles or "system_at" in use
                value = find(data, use["output"])
                if paths.begins_alike and isinstance(turns := read_transcript(value), list):
                    value = turns[len(_list_shared(data, paths)) :]
                self._add_outputs(item, system, value, (row, known))
            return
        system = named or row.system
        if not system:
            raise Refused("no_system", "Nothing says which system wrote this output.")
        if known.format.trace is not None and data["agent"]:
            service = (known.file.name, data["service"])
            self.agents.setdefault(service, {})[named] = None
        if named:
            self._named.setdefault(known.file.name, {})[named] = None
        else:
            self._unnamed[known.file.name] = system
        self._add_outputs(item, system, find_first(data, paths.output), (row, known))

    def _add_outputs(
        self, item: Item, system: str, value: Any, source: tuple[Row, Recognised]
    ) -> None:
        """Take what a system gave for an input: a text, or several samples."""
        row, known = source
        paths, data = known.format.row, row.data
        if self.systems.setdefault(system, known.file.name) != known.file.name:
            self.shared.setdefault(known.file.name, {})[system] = None
        error = write_value(find_first(data, paths.error) or "")
        if failure := _find_failure(data, paths):
            value, error = None, error or failure
        if paths.turns and isinstance(value, list):
            texts: list[Any] = [self._join_turns(value)]
        elif isinstance(value, list) and value and all(isinstance(text, str) for text in value):
            texts = value
            check_samples(texts)
        else:
            texts = [value]
        number = find_first(data, paths.sample)
        first = int(number) if isinstance(number, int | float) and isfinite(number) else 1
        metadata = item.metadata | self._read_metadata(row, paths)
        if part := known.shape.part_name and _find_part(known):
            metadata[known.shape.part_name] = part
        if reasoning := read_reasoning(find_first(data, paths.reasoning) or value):
            metadata = {"reasoning": reasoning} | metadata
        outputs = item.outputs.setdefault(system, [])
        for sample, text in enumerate(texts, start=first):
            outputs.append(
                Output(
                    read_output(text),
                    write_value(find_first(data, paths.variant)),
                    sample,
                    metadata,
                    error,
                    known.file.name,
                )
            )

    def _name_failed(self, file: str) -> None:
        """Give failures, which name no system, to the only system of their file."""
        systems, unnamed = [*self._named.get(file, ())], self._unnamed.get(file, "")
        if not unnamed or len(systems) != 1 or unnamed in systems:
            return
        for item in self.items.values():
            outputs = item.outputs.get(unnamed, [])
            if failed := [out for out in outputs if out.file == file and out.text is None]:
                item.outputs.setdefault(systems[0], []).extend(failed)
                item.outputs[unnamed] = [out for out in outputs if out not in failed]
                if not item.outputs[unnamed]:
                    del item.outputs[unnamed]
        if not any(unnamed in item.outputs for item in self.items.values()):
            self.systems.pop(unnamed, None)
            self.shared.get(file, {}).pop(unnamed, None)

    def join_systems(self, names: Mapping[str, str]) -> None:
        """Give systems these names; those of one name become one, and their outputs its samples."""
        for item in self.items.values():
            joined: dict[str, list[Output]] = {}
            for system, outputs in item.outputs.items():
                joined.setdefault(names.get(system, system), []).extend(outputs)
            item.outputs = joined
        for system, file in [*self.systems.items()]:
            self.systems.setdefault(names.get(system, system), file)
        self.systems = {name: file for name, file in self.systems.items() if name not in names}

    def split_runs(self, names: Mapping[str, str]) -> None:
        """Make each file a system of its own if one model has outputs for an input in several."""
        files: dict[str, dict[str, None]] = {}
        for item in self.items.values():
            for system, outputs in item.outputs.items():
                sources = dict.fromkeys(output.file for output in outputs)
                if len(sources) > 1:
                    files.setdefault(system, {}).update(sources)
        labels = name_apart(file for sources in files.values() for file in sources)
        for item in self.items.values():
            for system in [name for name in item.outputs if name in files]:
                for output in item.outputs.pop(system):
                    name = names.get(output.file) or f"{system} ({labels[output.file]})"
                    item.outputs.setdefault(name, []).append(output)
                    self.systems[name] = output.file
        for system in files:
            self.systems.pop(system, None)
            for shared in self.shared.values():
                shared.pop(system, None)

    def settle_loose(self) -> str:
        """Show other inputs where one differs between outputs of an id; return which it was."""
        columns = [
            name
            for name in self._differing
            if all(item.inputs.keys() - {name} for item in self.items.values())
        ]
        for item in self.items.values():
            for name in columns:
                item.inputs.pop(name, None)
        return " and ".join(columns)

    def add_references(self, texts: Sequence[str], file: SourceFile) -> None:
        """Take a reference for each input, in the order of the inputs."""
        if len(texts) != len(self.items):
            message = (
                f"It has {count_of(len(texts), 'line')} for {count_of(len(self.items), 'input')}. "
                "Its lines are taken in the order of the inputs, so it needs as many."
            )
            raise Refused("lines_differ", message, file=file.name)
        for item, text in zip(self.items.values(), texts, strict=True):
            item.reference = text
        self.has_references = True

    def _read_inputs(self, data: dict[str, Any], paths: RowPaths, role: str) -> dict[str, Input]:
        inputs: dict[str, Input] = {}
        is_table = role == "inputs" and paths.keeps_rest and not self._has_chosen_inputs
        if is_table and find_first(data, paths.id) not in (None, ""):
            # each column may be an input
            taken = {last_name(path) for path in paths.id} | {*paths.left_out}
            return {key: read_input(cell) for key, cell in data.items() if key not in taken}
        for path in paths.open:
            value = find(data, path)
            if isinstance(value, dict):
                inputs |= {key: read_input(cell) for key, cell in value.items()}
        for column, several in paths.inputs.items():
            value = find_first(data, several)
            if paths.turns and isinstance(value, list):
                value = self._join_turns(value)
            if value is not None:
                inputs[column] = read_input(open_json(value) if is_messages(value) else value)
        if paths.begins_alike and not inputs:
            shared = _list_shared(data, paths)
            if not shared and len(paths.outputs) == 1:
                message = (
                    "The conversation has no answer: it needs a message, and one of the assistant "
                    "after it."
                )
                raise Refused("no_text", message)
            if not shared:
                names = " and ".join(quote(use["output"]) for use in paths.outputs)
                message = (
                    f"{names} begin with different messages, so they answer no common input. "
                    "Outputs that are compared need one input."
                )
                raise Refused("inputs_differ", message)
            inputs["prompt"] = read_input(shared)
        return inputs

    def _join_turns(self, turns: list[Any]) -> str:
        self.has_turns = self.has_turns or len(turns) > 1
        texts = [read_output(turn) or "" for turn in turns]
        return "\n\n".join(texts[:1] if self._turns == "first" else texts)

    def _read_metadata(self, row: Row, paths: RowPaths) -> dict[str, str]:
        data = row.data
        metadata = {
            last_name(path): _write_exactly(value) if path in paths.exact else write_value(value)
            for path in paths.metadata
            if (value := find(data, path)) not in (None, "", {}, [])
        }
        metadata |= {key: write_value(value) for key, value in row.metadata.items()}
        chosen = find_first(data, paths.arguments)
        arguments = row.arguments | (chosen if isinstance(chosen, dict) else {"arguments": chosen})
        if kept := {key: _shorten(value) for key, value in arguments.items() if value}:
            metadata["model_arguments"] = write_value(kept)
        if paths.scores:
            listed = find(data, paths.scores)
            metadata |= {
                key: write_value(data[key])
                for key in (listed if isinstance(listed, list) else ())
                if isinstance(key, str) and key in data
            }
        if paths.keeps_rest:
            shown = [path for several in paths.inputs.values() for path in several]
            taken = {last_name(path) for path in [*paths.id, *paths.output, *paths.system, *shown]}
            taken |= {*paths.left_out, *(last_name(use["output"]) for use in paths.outputs)}
            taken |= {last_name(use["system_at"]) for use in paths.outputs if "system_at" in use}
            metadata |= {key: write_value(value) for key, value in data.items() if key not in taken}
        return metadata

    def _find_item(
        self, data: dict[str, Any], known: Recognised, inputs: dict[str, Input], place: str
    ) -> Item:
        paths = known.format.row
        value = None if self._join == BY_INPUT else find_first(data, paths.id)
        if value in (None, ""):
            if not inputs or self._join == BY_ID:
                lacks = "no id" if inputs else "neither an id nor an input"
                message = (
                    f"The row has {lacks} to join it by. Its columns are "
                    f"{name_some([*data], 12)}. Name the column of the id “id” in each file, or "
                    "add the input."
                )
                raise Refused("no_id", message)
            self._by_inputs = True
            # of tables with a column each, whatever they call it
            key = write_value([*inputs.values()] if len(inputs) == 1 else inputs)
            item_id = f"item-{len(self.items) + 1:04}"
        else:
            key = item_id = write_value(value).strip()
            self._id = self._id or next(path for path in paths.id if find(data, path) == value)
            if part := self._parts.get(known.file.name, ""):
                key = item_id = f"{part}-{key}"
        earlier = self.items.get(key)
        if earlier is None:
            earlier = self.items[key] = Item(item_id, inputs, place)
        elif inputs and not earlier.inputs:
            earlier.inputs, earlier.place = inputs, place
        elif inputs and earlier.inputs != inputs and not _is_renamed(inputs, earlier.inputs):
            differing = [
                name
                for name in inputs
                if inputs[name] != earlier.inputs.get(name)
                and (name in earlier.inputs or not earlier.is_given)
            ] or ["" if earlier.is_given else "an input"]
            if {*differing} <= {*paths.loose} and inputs.keys() - {*paths.loose}:
                self._differing |= dict.fromkeys(differing)
                return earlier
            column = next(name for name in differing if name not in paths.loose)
            if not column:
                return earlier
            text, other = find_difference(
                *(write_turns(texts.get(column, "")) for texts in (inputs, earlier.inputs))
            )
            raise Refused(
                "inputs_differ",
                f"{quote(item_id)} has another input in {place} (“{text}”) than in "
                f"{earlier.place} (“{other}”). Outputs that are compared need one input.",
            )
        return earlier


def _is_renamed(inputs: dict[str, Input], earlier: dict[str, Input]) -> bool:
    """Return whether two tables only call their one input by other names."""
    return len(inputs) == len(earlier) == 1 and [*inputs.values()] == [*earlier.values()]


def _read_all_settings(files: Iterable[Recognised]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the settings of the runs by folder; none where runs of one folder differ in them."""
    settings: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for known in files:
        if is_settings(known):
            settings.setdefault(known.file.folder, []).append(read_settings(known)[:2])
    return {
        folder: runs[0] for folder, runs in settings.items() if runs.count(runs[0]) == len(runs)
    }


def _write_exactly(value: Any) -> str:
    """Write a value so that it can be told from others: the text "1" isn't the number 1."""
    text = write_value(value)
    if isinstance(value, str):
        with suppress(ValueError):
            read_json(text)
            return json.dumps(text)
    return text


def _shorten(value: Any) -> Any:
    """Return an argument, or only the length of a long one: a stub's may hold all its outputs."""
    length = len(write_value(value))
    return value if length <= _LONGEST_ARGUMENT else f"left out: {length:,} characters"


def _find_part(known: Recognised) -> str:
    """Return what the ids of a file are unique in, as its name says it."""
    pattern = known.shape.part_from
    match = re.search(pattern, PurePosixPath(known.file.name).name) if pattern else None
    return match["part"] if match else ""


def _find_failure(data: dict[str, Any], paths: RowPaths) -> str:
    """Return why an output doesn't count; "" if it does."""
    if reason := find_first(data, paths.failed):
        return write_value(reason)
    for path, values in paths.failed_values.items():
        if (value := find(data, path)) in values:
            return write_value(value)
    for path, most in paths.failed_over.items():
        value = find(data, path)
        if isinstance(value, int | float) and value > most:
            return f"{last_name(path)} {write_value(value)}"
    return ""


def _list_shared(data: dict[str, Any], paths: RowPaths) -> list[Any]:
    """Return the messages with which all outputs of a row begin."""
    lists = [read_transcript(find(data, use["output"])) for use in paths.outputs]
    if not all(isinstance(turns, list) for turns in lists):
        return []
    shared = []
    for turns in zip(*lists, strict=False):
        if any(turn != turns[0] for turn in turns) or not isinstance(turns[0], dict):
            break
        shared.append(turns[0])
    # if both are alike to their ends, the last answer is the output of both
    while shared and len(shared) == min(map(len, lists)):
        shared.pop()
    return shared
