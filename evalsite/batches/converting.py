"""From files to one batch: a CSV with a row for each output, which the site imports."""

import csv
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from evalsite.batches import lines
from evalsite.batches.collecting import Collection
from evalsite.batches.deciding import Chosen, Decisions, decide
from evalsite.batches.faults import Unusable, count, name_some, show
from evalsite.batches.files import MOST_BYTES, SourceFile, unpack
from evalsite.batches.formats import FOLDER, load_formats
from evalsite.batches.reading import Recognised, is_zip_of_a_tool, recognise

_TAKEN = {"item", "system", "output"}


@dataclass
class Batch:
    """What files hold together: its rows, which are read once, and in words what it is."""

    header: list[str]
    rows: Iterable[list[str]]
    summary: str
    # what was decided, by the key of the question, in a sentence
    made: dict[str, str] = field(default_factory=dict)

    def write(self, target: TextIO) -> int:
        """Write the batch as CSV and return the number of rows."""
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(self.header)
        rows = 0
        for row in self.rows:
            writer.writerow(row)
            rows += 1
        return rows


def convert(
    files: Sequence[SourceFile],
    *,
    names: Mapping[str, str] | None = None,
    answers: Mapping[str, str] | None = None,
    seed: str = "",
    formats: Sequence[Path] = (FOLDER,),
    most_bytes: int = MOST_BYTES,
) -> Batch:
    """Join these files. Unusable says what is wrong, Undecided what has to be decided first.

    `names` calls the system of a file by another name, or says what a text file holds: inputs,
    reference, or - for nothing. `answers` are those to earlier questions, by key.
    """
    known = load_formats(formats)
    names = names or {}
    found = unpack(
        files, is_whole=lambda there: is_zip_of_a_tool(there, known), most_bytes=most_bytes
    )
    if not found:
        raise Unusable("no_file", "There are no files.")
    if several := [name for name, file in Counter(file.name for file in found).items() if file > 1]:
        raise Unusable("system_twice", f"Two files are called {show(several[0])}. Rename one.")
    if len(found) == 1:
        known = [one for one in known if not one.is_last]
    recognised = [one for file in found if (one := recognise(file, known))]
    if len(recognised) == len(found):
        return _convert_formats(recognised, names, answers or {}, seed)
    if len(found) > 1 and all(file.name.endswith(".txt") or file.name in names for file in found):
        return _convert_lines(found, names)
    there = {one.file.name for one in recognised}
    other = [file.name for file in found if file.name not in there]
    raise Unusable(
        "unknown_format" if all(one.format.is_last for one in recognised) else "files_left",
        f"{count(len(other), 'file')} can't be recognised: {name_some(other)}. Leave out what "
        "holds no outputs. A file with a column for each system, or one that names the system in "
        "each row, is imported by itself.",
    )


def is_nested(file: SourceFile, formats: Sequence[Path] = (FOLDER,)) -> bool:
    """Return whether a tool wrote this file in a form that is no table."""
    found = recognise(file, [one for one in load_formats(formats) if not one.is_last])
    return found is not None and any({".", "["} & {*path} for path in found.format.row.output)


# --- what tools write ---------------------------------------------------------------------


def _convert_formats(
    recognised: Sequence[Recognised],
    names: Mapping[str, str],
    answers: Mapping[str, str],
    seed: str,
) -> Batch:
    used = [known for known in recognised if known.shape.role != "ignored"]
    titles = sorted({known.format.title for known in used})
    if len(titles) != 1:
        what = " and ".join(titles) if titles else "no outputs"
        raise Unusable("formats_mixed", f"The files hold {what}. Take those of one tool.")
    _check_once(used)
    collection = Collection(answers.get("turns", ""))
    collection.add_files(used)
    if names:
        _rename(collection, names)
    decisions = Decisions(answers, seed)
    chosen = decide(collection, decisions)
    inputs = list(dict.fromkeys(name for item in chosen for name in item.inputs))
    kept = list(
        dict.fromkeys(
            key for item in chosen for one in item.outputs.values() for key in one.metadata
        )
    )
    # an input has the name that it would have anyway, whatever the tool keeps beside it
    metadata = {key: f"{key}_" if key in _TAKEN or key in inputs else key for key in kept}
    header = ["item", *(_free(name) for name in inputs), "system", "output", *metadata.values()]
    systems = list(collection.systems)
    return Batch(
        header,
        _list_rows(chosen, inputs, kept, systems),
        f"{titles[0]}: {count(len(systems), 'system')}, {count(len(chosen), 'input')}, joined by "
        f"{collection.joined_by}",
        decisions.made,
    )


def _check_once(used: Sequence[Recognised]) -> None:
    """Refuse a file that is given twice: its outputs would look like samples."""
    digests: dict[str, str] = {}
    for known in used:
        with known.file.open() as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()  # type: ignore[arg-type]
        if digest in digests:
            message = f"It is the same file as {digests[digest]}. Leave one of them out."
            raise Unusable("system_twice", message, file=known.file.name)
        digests[digest] = known.file.name


def _rename(collection: Collection, by_file: Mapping[str, str]) -> None:
    """Call the system of a named file by that name; the file must hold one system."""
    counts = Counter(collection.systems.values())
    new: dict[str, str] = {}
    for system, file in collection.systems.items():
        if file in by_file and counts[file] > 1:
            message = f"It holds {counts[file]} systems, so it can't be named {by_file[file]}."
            raise Unusable("name", message, file=file)
        new[system] = by_file.get(file, system)
    if len(set(new.values())) < len(new):
        raise Unusable("system_twice", "Two systems would have one name. Choose another.")
    for item in collection.items.values():
        item.outputs = {new[system]: some for system, some in item.outputs.items()}
    collection.systems = {new[system]: file for system, file in collection.systems.items()}


def _free(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _list_rows(
    chosen: Sequence[Chosen], inputs: Sequence[str], kept: Sequence[str], systems: Sequence[str]
) -> Iterator[list[str]]:
    for item in chosen:
        shown = [str(item.inputs.get(name, "")) for name in inputs]
        for system in systems:
            output = item.outputs.get(system)
            if output is not None:
                after = [output.metadata.get(key, "") for key in kept]
                yield [item.id, *shown, system, output.said or "", *after]


# --- text files ---------------------------------------------------------------------------


def _convert_lines(found: Sequence[SourceFile], names: Mapping[str, str]) -> Batch:
    words = {"inputs": lines.INPUTS, "reference": lines.REFERENCE, "-": lines.LEAVE_OUT}
    roles: dict[str, SourceFile] = {}
    for file in found:
        name = names.get(file.name, "")
        role = words.get(name, name) or lines.guess_role(file)
        if role == lines.LEAVE_OUT:
            continue
        if role in roles:
            message = f"It would be the same part as {roles[role].name}. Rename one of them."
            raise Unusable("system_twice", message, file=file.name)
        roles[role] = file
    number, systems = lines.check_lines(roles)
    summary = (
        f"text files: {count(len(systems), 'system')}, {count(number, 'input')}, joined by line "
        f"({count(number, 'line')} in each of {len(roles)} files)"
    )
    return Batch(lines.write_header(roles), lines.read_items(roles, systems), summary)
