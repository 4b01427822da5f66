"""All outputs of some files by input and system, in the order in which inputs first come."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from evalsite.data.tables.faults import Refused, name_some, quote
from evalsite.data.tables.files import SourceFile
from evalsite.data.tables.formats import RowPaths
from evalsite.data.tables.paths import find, find_first, last_name
from evalsite.data.tables.roles import is_settings
from evalsite.data.tables.rows import Recognised, Row, read_rows, read_settings, replace_in_name
from evalsite.data.tables.texts import check_samples, read_input, read_output, write_value
from evalsite.lib.words import count_of

_LONGEST_ARGUMENT = 2_000
# what an input may be: a text, or a conversation
Input = str | list[dict[str, str]]


@dataclass(slots=True)
class Output:
    """One text of one system; None if there is none, with the reason in `error`."""

    said: str | None
    variant: str
    sample: int
    metadata: dict[str, str]
    error: str = ""


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

    def __init__(self, turns: str = "") -> None:
        self._turns = turns
        self.items: dict[str, Item] = {}
        self.systems: dict[str, str] = {}  # each with the file that it came from first
        self.shared: dict[
            str, dict[str, None]
        ] = {}  # by file: systems that came first from another
        self.rows: dict[str, int] = {}  # by file
        self.has_turns = self.has_references = False
        self._by_inputs = False
        self._id = ""

    @property
    def joined_by(self) -> str:
        return "equal inputs" if self._by_inputs else "id"

    def explain_join(self, files: int) -> str:
        """Say why the files are joined so."""
        number = count_of(len(self.items), "different input" if self._by_inputs else "different id")
        where = "the file" if files == 1 else f"{files} files"
        what = "without ids" if self._by_inputs else f"in “{self._id}”"
        return f"{number} {what}, in {where}"

    def add_files(self, files: Iterable[Recognised]) -> None:
        """Take all rows; Refused names the file, and the row by its number."""
        ordered = sorted(files, key=lambda known: known.shape.role != "inputs")
        settings = _read_all_settings(ordered)
        for known in ordered:
            if is_settings(known):
                continue
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
                    if fault.file:
                        raise
                    message = f"row {row.place:,}: {fault.message}"
                    raise Refused(fault.code, message, file=known.file.name) from None
            if not rows:
                raise Refused("no_rows", "The file has no rows.", file=known.file.name)
            self.rows[known.file.name] = rows

    def _add(self, row: Row, known: Recognised) -> None:
        paths, data = known.format.row, row.data
        inputs = self._read_inputs(data, paths, known.shape.role)
        place = f"{known.file.name}, row {row.place:,}"
        item = self._find_item(data, paths, inputs, place)
        if known.shape.role == "inputs":
            item.is_given = True
            item.metadata = self._read_metadata(row, paths)
            return
        if known.shape.role == "reference":
            item.reference = write_value(find_first(data, [*paths.reference, *paths.output]))
            self.has_references = True
            return
        system = write_value(find_first(data, paths.system)) or row.system
        if not system:
            raise Refused("no_system", "Nothing says which system wrote this output.")
        if self.systems.setdefault(system, known.file.name) != known.file.name:
            self.shared.setdefault(known.file.name, {})[system] = None
        found = find_first(data, paths.output)
        error = find_first(data, paths.error)
        if paths.turns and isinstance(found, list):
            texts: list[Any] = [self._join_turns(found)]
        elif isinstance(found, list) and found and all(isinstance(one, str) for one in found):
            texts = found
            check_samples(texts)
        else:
            texts = [found]
        number = find_first(data, paths.sample)
        first = int(number) if isinstance(number, int | float) and isfinite(number) else 1
        outputs = item.outputs.setdefault(system, [])
        for sample, text in enumerate(texts, start=first):
            outputs.append(
                Output(
                    read_output(text),
                    write_value(find_first(data, paths.variant)),
                    sample,
                    item.metadata | self._read_metadata(row, paths),
                    write_value(error) if error else "",
                )
            )

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
        if role == "inputs" and paths.keeps_rest and find_first(data, paths.id) not in (None, ""):
            # a table of inputs: each column may be one
            return {key: read_input(one) for key, one in data.items() if key not in paths.id}
        for path in paths.open:
            value = find(data, path)
            if isinstance(value, dict):
                inputs |= {key: read_input(one) for key, one in value.items()}
        for column, several in self._list_inputs(data, paths):
            value = find_first(data, several)
            if paths.turns and isinstance(value, list):
                value = self._join_turns(value)
            if value is not None:
                inputs[column] = read_input(value)
        return inputs

    def _list_inputs(
        self, data: dict[str, Any], paths: RowPaths
    ) -> Iterable[tuple[str, list[str]]]:
        """Return the columns of inputs with their paths; of a table, those that are several."""
        there = [path for some in paths.inputs.values() for path in some if path in data]
        if paths.keeps_rest and len(there) > 1:
            return [(path, [path]) for path in there]
        return paths.inputs.items()

    def _join_turns(self, turns: list[Any]) -> str:
        self.has_turns = self.has_turns or len(turns) > 1
        texts = [read_output(turn) or "" for turn in turns]
        return "\n\n".join(texts[:1] if self._turns == "first" else texts)

    def _read_metadata(self, row: Row, paths: RowPaths) -> dict[str, str]:
        data = row.data
        metadata = {
            last_name(path): write_value(value)
            for path in paths.metadata
            if (value := find(data, path)) not in (None, "", {}, [])
        }
        own = find_first(data, paths.arguments)
        arguments = row.arguments | (own if isinstance(own, dict) else {"arguments": own})
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
            shown = (path for some in paths.inputs.values() for path in some)
            taken = {*paths.id, *paths.output, *shown}
            metadata |= {key: write_value(value) for key, value in data.items() if key not in taken}
        return metadata

    def _find_item(
        self, data: dict[str, Any], paths: RowPaths, inputs: dict[str, Input], place: str
    ) -> Item:
        value = find_first(data, paths.id)
        if value in (None, ""):
            if not inputs:
                message = (
                    "The row has neither an id nor an input to join it by. Its columns are "
                    f"{name_some([*data], 12)}. Name the column of the id “id” in each file, or "
                    "add the input."
                )
                raise Refused("no_id", message)
            self._by_inputs = True
            key = write_value(inputs)
            item_id = f"item-{len(self.items) + 1:04}"
        else:
            key = item_id = write_value(value).strip()
            self._id = self._id or next(path for path in paths.id if find(data, path) == value)
        found = self.items.get(key)
        if found is None:
            found = self.items[key] = Item(item_id, inputs, place)
        elif inputs and not found.inputs:
            found.inputs = inputs
        elif inputs and found.inputs != inputs:
            column = next(
                (
                    name
                    for name in inputs
                    if inputs[name] != found.inputs.get(name)
                    and (name in found.inputs or not found.is_given)
                ),
                "" if found.is_given else "an input",
            )
            if not column:
                return found
            raise Refused(
                "inputs_differ",
                f"{quote(column)} of {quote(item_id)} isn't what it is in {found.place}. "
                "Outputs that are compared must have one input.",
            )
        return found


def _read_all_settings(files: Iterable[Recognised]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the settings of the runs by folder; none where runs of one folder differ in them."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for known in files:
        if is_settings(known):
            found.setdefault(known.file.folder, []).append(read_settings(known))
    return {folder: some[0] for folder, some in found.items() if some.count(some[0]) == len(some)}


def _shorten(value: Any) -> Any:
    """Return an argument, or only the length of a long one: a stub's may hold all its outputs."""
    length = len(write_value(value))
    return value if length <= _LONGEST_ARGUMENT else f"left out: {length:,} characters"
