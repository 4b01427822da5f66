"""From files to one batch: a table with a row for each output, which the site imports."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from evalsite.data.tables import lines
from evalsite.data.tables.collection import Collection
from evalsite.data.tables.decisions import Chosen, Decisions, decide
from evalsite.data.tables.faults import Refused, name_some, quote
from evalsite.data.tables.files import MOST_BYTES, SourceFile, unpack
from evalsite.data.tables.formats import FOLDER, load_formats
from evalsite.data.tables.parquet import MAGIC, open_as_lines
from evalsite.data.tables.roles import (
    LEAVE_OUT,
    OUTPUTS,
    REFERENCE,
    WORDS,
    FileUse,
    find_uses,
    set_role,
)
from evalsite.data.tables.rows import (
    Recognised,
    is_json_lines,
    is_zip_of_a_tool,
    read_columns,
    recognise,
)
from evalsite.lib.words import count_of

_TAKEN = {"item", "system", "output"}
_REFERENCE = "reference"


@dataclass
class Batch:
    """What files hold together: its rows, which are read once, and in words what it is."""

    header: list[str]
    rows: Iterable[list[str]]
    # such as: promptfoo results with 2 systems and 6 inputs
    summary: str
    # what was decided, by the key of the question, in a sentence
    made: dict[str, str] = field(default_factory=dict)
    # how the files are joined, and why so
    joined: str = ""
    files: list[FileUse] = field(default_factory=list)


def convert(
    files: Sequence[SourceFile],
    *,
    names: Mapping[str, str] | None = None,
    answers: Mapping[str, str] | None = None,
    seed: str = "",
    formats: Sequence[Path] = (FOLDER,),
    most_bytes: int = MOST_BYTES,
) -> Batch:
    """Join these files. Refused says what is wrong, or asks what has to be decided first.

    `names` calls the system of a file by another name, or says what the file holds: inputs,
    reference, or - for nothing. `answers` are those to earlier questions, by key.
    """
    known = load_formats(formats)
    names = names or {}
    found = unpack(
        files, is_whole=lambda there: is_zip_of_a_tool(there, known), most_bytes=most_bytes
    )
    found = [_open_parquet(file, most_bytes) for file in found]
    if not found:
        raise Refused("no_file", "There are no files.")
    if several := [name for name, file in Counter(file.name for file in found).items() if file > 1]:
        raise Refused("system_twice", f"Two files are called {quote(several[0])}. Rename one.")
    if len(found) == 1:
        known = [one for one in known if not one.is_last]
    recognised = {file.name: one for file in found if (one := recognise(file, known))}
    uses = find_uses(found, recognised, names)
    try:
        batch = _convert_used(found, recognised, uses, names, answers or {}, seed)
    except Refused as problem:
        problem.files = uses
        raise
    batch.files = uses
    return batch


def _convert_used(
    found: Sequence[SourceFile],
    recognised: Mapping[str, Recognised],
    uses: Sequence[FileUse],
    names: Mapping[str, str],
    answers: Mapping[str, str],
    seed: str,
) -> Batch:
    roles = {use.name: use for use in uses}
    used = [file for file in found if roles[file.name].role != LEAVE_OUT]
    if not used:
        raise Refused("no_file", "Every file is left out.")
    there = [recognised[file.name] for file in used if file.name in recognised]
    texts = [file for file in used if file.name not in recognised]
    if there and len(texts) < 2 and all(_is_reference(file, roles) for file in texts):
        there = [set_role(one, names.get(one.file.name, "")) for one in there]
        return _convert_formats(there, texts, roles, names, answers, seed)
    if len(found) > 1 and _are_lines(used, names):
        return _convert_lines(used, roles, names)
    if any(file.name in names for file in texts):
        _refuse_columns(used)
    if len(found) == 1:
        tools = ", ".join(one.title for one in load_formats() if not one.is_last)
        raise Refused(
            "unknown_format",
            "The file can't be recognised. Several tables are read (CSV, TSV, JSON, JSON lines), "
            f"text files with a line for each input, and what tools write: {tools}.",
            file=found[0].name,
        )
    raise Refused(
        "unknown_format" if all(one.format.is_last for one in there) else "files_left",
        f"{count_of(len(texts), 'file')} can't be recognised: "
        f"{name_some([file.name for file in texts])}. Leave out what "
        "holds no outputs. A file with a column for each system, or one that names the system in "
        "each row, is imported on its own.",
    )


def _is_reference(file: SourceFile, roles: Mapping[str, FileUse]) -> bool:
    return roles[file.name].role == REFERENCE and lines.is_text(file)


def _are_lines(used: Sequence[SourceFile], names: Mapping[str, str]) -> bool:
    """Return whether all files are plain text, whose lines are in one order."""
    if not all(file.name.endswith(".txt") or file.name in names for file in used):
        return False
    # outputs may be JSON, a line each, but the inputs beside them hardly are
    return all(map(lines.is_text, used)) and not all(map(is_json_lines, used))


def _refuse_columns(used: Sequence[SourceFile]) -> NoReturn:
    columns = list(dict.fromkeys(name for file in used for name in read_columns(file)))
    raise Refused(
        "columns_unclear",
        "Choose the columns of the id, the input and the output, and rename them to id, prompt "
        f"and output in each file. The columns are {name_some(columns, 12)}. CSV and JSON aren't "
        "joined by line, because results can come in another order.",
    )


def _open_parquet(file: SourceFile, most_bytes: int) -> SourceFile:
    """Return Parquet as a file of JSON lines, any other file as it is."""
    if file.read_start(len(MAGIC)) != MAGIC:
        return file
    try:
        with file.open() as opened:
            return SourceFile(file.name, open_as_lines(opened, most_bytes))
    except Refused as fault:
        raise Refused(fault.code, fault.message, file=file.name) from None


def find_tool(file: SourceFile, formats: Sequence[Path] = (FOLDER,)) -> str:
    """Return what a tool wrote into this file, in a form that is no table; "" if it is one."""
    found = recognise(file, [one for one in load_formats(formats) if not one.is_last])
    if found is None or not any({".", "["} & {*path} for path in found.format.row.output):
        return ""
    return found.format.title


# --- what tools write ---------------------------------------------------------------------


def _convert_formats(
    used: Sequence[Recognised],
    references: Sequence[SourceFile],
    roles: Mapping[str, FileUse],
    names: Mapping[str, str],
    answers: Mapping[str, str],
    seed: str,
) -> Batch:
    titles = sorted({known.format.title for known in used if known.shape.role == OUTPUTS})
    if len(titles) > 1:
        message = f"The files hold {' and '.join(titles)}. Take those of one tool."
        raise Refused("formats_mixed", message)
    _check_once(used)
    collection = Collection(answers.get("turns", ""))
    collection.add_files(used)
    _list_systems(collection, roles)
    for file, rows in collection.rows.items():
        roles[file].found = count_of(rows, "output" if roles[file].role == OUTPUTS else "row")
    for reference in references:
        texts = list(lines.read_texts(reference))
        roles[reference.name].found = count_of(len(texts), "line")
        collection.add_references(texts, reference)
    if called := {name: given for name, given in names.items() if given not in WORDS}:
        _rename(collection, called)
        _list_systems(collection, roles)
    if not collection.systems:
        raise Refused(
            "no_system",
            "No file holds the outputs of a system. A file with a column for each system, or one "
            "that names the system in each row, is imported on its own.",
        )
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
    if collection.has_references:
        header.append(_REFERENCE if _REFERENCE not in header else f"{_REFERENCE}_")
    return Batch(
        header,
        _list_rows(chosen, inputs, kept, collection),
        f"{titles[0]}: {count_of(len(collection.systems), 'system')}, "
        f"{count_of(len(chosen), 'input')}",
        decisions.made,
        f"Joined by {collection.joined_by}: {collection.explain_join(len(collection.rows))}.",
    )


def _list_systems(collection: Collection, roles: Mapping[str, FileUse]) -> None:
    for file in collection.rows:
        roles[file].systems = [one for one, first in collection.systems.items() if first == file]
        roles[file].shared = [*collection.shared.get(file, ())]


def _check_once(used: Sequence[Recognised]) -> None:
    """Refuse a file that is given twice: its outputs would look like samples."""
    digests: dict[str, str] = {}
    for known in used:
        with known.file.open() as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()  # type: ignore[arg-type]
        if digest in digests:
            message = f"It is the same file as {digests[digest]}. Leave one of them out."
            raise Refused("system_twice", message, file=known.file.name)
        digests[digest] = known.file.name


def _rename(collection: Collection, by_file: Mapping[str, str]) -> None:
    """Call the system of a named file by that name; the file must hold one system."""
    counts = Counter(collection.systems.values())
    new: dict[str, str] = {}
    for system, file in collection.systems.items():
        if file in by_file and counts[file] > 1:
            message = f"It holds {counts[file]} systems, so it can't be named {by_file[file]}."
            raise Refused("name", message, file=file)
        new[system] = by_file.get(file, system)
    if len(set(new.values())) < len(new):
        raise Refused("system_twice", "Two systems would have one name. Choose another.")
    for item in collection.items.values():
        item.outputs = {new[system]: some for system, some in item.outputs.items()}
    collection.systems = {new[system]: file for system, file in collection.systems.items()}
    collection.shared = {
        file: {new[system]: None for system in some} for file, some in collection.shared.items()
    }


def _free(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _list_rows(
    chosen: Sequence[Chosen], inputs: Sequence[str], kept: Sequence[str], collection: Collection
) -> Iterator[list[str]]:
    for item in chosen:
        shown = [str(item.inputs.get(name, "")) for name in inputs]
        last = [item.reference] if collection.has_references else []
        for system in collection.systems:
            output = item.outputs.get(system)
            if output is not None:
                after = [output.metadata.get(key, "") for key in kept]
                yield [item.id, *shown, system, output.said or "", *after, *last]


# --- text files ---------------------------------------------------------------------------


def _convert_lines(
    used: Sequence[SourceFile], roles: Mapping[str, FileUse], names: Mapping[str, str]
) -> Batch:
    words = {"inputs": lines.INPUTS, "reference": lines.REFERENCE}
    parts: dict[str, SourceFile] = {}
    for file in used:
        name = names.get(file.name, "")
        part = words.get(name, name) or lines.guess_role(file)
        if part in parts:
            message = f"It would be the same part as {parts[part].name}. Rename one of them."
            raise Refused("system_twice", message, file=file.name)
        parts[part] = file
    for file in used:
        roles[file.name].found = count_of(lines.count_lines(file), "line")
    number, systems = lines.check_lines(parts)
    reason = f"{count_of(number, 'line')} in each of {len(parts)} files"
    return Batch(
        lines.write_header(parts),
        lines.read_items(parts, systems),
        f"Text files: {count_of(len(systems), 'system')}, {count_of(number, 'input')}",
        joined=f"Joined by line number: {reason}.",
    )
