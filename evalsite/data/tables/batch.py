"""From files to one batch: a table with a row for each output, which the site imports."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from evalsite.data.tables import lines
from evalsite.data.tables.collection import BY_ID, BY_INPUT, BY_LINE, Collection
from evalsite.data.tables.decisions import Chosen, Decisions, decide
from evalsite.data.tables.files import MOST_BYTES, SourceFile, find_other_kind, name_apart, unpack
from evalsite.data.tables.parquet import MAGIC, open_as_lines
from evalsite.data.tables.roles import (
    INPUTS,
    LEAVE_OUT,
    OUTPUTS,
    REFERENCE,
    WORDS,
    find_uses,
    set_role,
)
from evalsite.data.tables.table import (
    FileUse,
    Limits,
    Question,
    Refused,
    name_plainly,
    name_some,
    quote,
)
from evalsite.data.tables.table_roles import TABLE, add_shared_ids, choose_paths, describe_table
from evalsite.data.tables.texts import write_turns
from evalsite.data.tables.tools import (
    FOLDER,
    Format,
    Recognised,
    get_chosen,
    is_json_lines,
    is_zip_of_a_tool,
    load_formats,
    read_first,
    recognise,
)
from evalsite.lib.words import count_of

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
    answered: dict[str, Question] = field(default_factory=dict)
    # how the files are joined, and why so
    joined: str = ""
    files: list[FileUse] = field(default_factory=list)
    # columns of the files, some of which have another name here, with their first values
    sources: dict[str, str] = field(default_factory=dict)
    # columns that may be what the systems got; what was found out, in sentences
    candidates: list[str] = field(default_factory=list)
    # columns that a tool is known to have as inputs
    inputs: list[str] = field(default_factory=list)
    # what was chosen for its columns, also where that was said of one file
    fields: dict[str, str] = field(default_factory=dict)
    # why outputs without a text have none, by item and system
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def convert(
    files: Sequence[SourceFile],
    *,
    names: Mapping[str, str] | None = None,
    answers: Mapping[str, str] | None = None,
    seed: str = "",
    formats: Sequence[Path] = (FOLDER,),
    most_bytes: int = MOST_BYTES,
    limits: Limits | None = None,
    chosen: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Batch:
    """Join these files. Refused says what is wrong, or asks what has to be decided first.

    `chosen` are fields by path that beat whatever is known of columns and tools.

    `names` calls the system of a file by another name, or says what the file holds: inputs,
    reference, or - for nothing. `answers` are those to earlier questions, by key.
    """
    known = load_formats(formats)
    names = names or {}
    files_in = unpack(
        files, is_whole=lambda entries: is_zip_of_a_tool(entries, known), most_bytes=most_bytes
    )
    files_in = [_open_parquet(file, most_bytes) for file in files_in]
    if not files_in:
        raise Refused("no_file", "There are no files.")
    if several := [
        name for name, file in Counter(file.name for file in files_in).items() if file > 1
    ]:
        raise Refused("system_twice", f"Two files are called {quote(several[0])}. Rename one.")
    chosen, limits = chosen or {}, limits or Limits().lift()
    recognised = {
        file.name: replace(tool, format=_choose(tool, chosen))
        for file in files_in
        if (tool := recognise(file, known, chosen))
    }
    sources: dict[str, str] = {}
    tables = [file for file in files_in if file.name not in recognised and len(files_in) > 1]
    for file in tables:
        if (names.get(file.name) or lines.is_called_text(file)) and lines.is_text(file):
            continue
        table = describe_table(file, limits, options or {}, chosen)
        sources |= {name: text for name, text in table.samples.items() if name not in sources}
        if table.format is not None and (table.format.shapes[0].role or file.name in names):
            shape = table.format.shapes[0]
            known_table = Recognised(file, table.format, shape, limits, options or {})
            if not _lacks_its_column(known_table, names.get(file.name, "")):
                recognised[file.name] = known_table
    recognised |= add_shared_ids([*recognised.values()])
    uses = find_uses(files_in, recognised, names)
    try:
        batch = _convert_used(files_in, recognised, uses, (names, answers or {}, seed, chosen))
    except Refused as problem:
        problem.files, problem.columns = uses, sources
        raise
    batch.files, batch.sources = uses, sources
    return batch


def _choose(known: Recognised, chosen: Mapping[str, str]) -> Format:
    """Return what a tool's file is, but for the paths that a person chose."""
    paths = get_chosen(known.file, chosen)
    if not paths:
        return known.format
    row = choose_paths(known.format.row, read_first(known), paths)
    return known.format if row is known.format.row else replace(known.format, row=row)


def _lacks_its_column(known: Recognised, name: str) -> bool:
    """Return whether a table has no column for what it was said to hold."""
    if not name or name == LEAVE_OUT:
        return False
    row = known.format.row
    if name == INPUTS:
        return not row.id and not row.inputs
    return not (row.output or row.reference) if name == REFERENCE else not row.output


# names of files, answers to questions, the seed of samples, chosen paths
Wishes = tuple[Mapping[str, str], Mapping[str, str], str, Mapping[str, str]]


def _convert_used(
    files_in: Sequence[SourceFile],
    recognised: Mapping[str, Recognised],
    uses: Sequence[FileUse],
    wishes: Wishes,
) -> Batch:
    names = wishes[0]
    roles = {use.name: use for use in uses}
    used = [file for file in files_in if roles[file.name].role != LEAVE_OUT]
    if not used:
        raise Refused("no_file", "Every file is left out.")
    known = _call_apart([recognised[file.name] for file in used if file.name in recognised])
    texts = [file for file in used if file.name not in recognised]
    is_by_line = _is_by_line(used, wishes[1].get("join", ""))
    if (
        known
        and not is_by_line
        and len(texts) < 2
        and all(roles[file.name].role == REFERENCE and lines.is_text(file) for file in texts)
    ):
        known = [set_role(file_known, names.get(file_known.file.name, "")) for file_known in known]
        return _convert_formats(known, texts, roles, wishes)
    if len(files_in) > 1 and (is_by_line or _are_lines(used, names)):
        return _convert_lines(used, roles, names, wishes[1])
    if any(file.name in names for file in texts):
        _refuse_columns(sorted(used, key=lambda file: names.get(file.name) != INPUTS))
    if len(files_in) == 1:
        tools = ", ".join(file_known.title for file_known in load_formats())
        raise Refused(
            "unknown_format",
            "The file can't be recognised. Several tables are read (CSV, TSV, JSON, JSON lines), "
            f"text files with a line for each input, and what tools write: {tools}.",
            file=files_in[0].name,
        )
    _refuse_joining(used, known)
    raise Refused(
        "unknown_format"
        if all(file_known.format.key == TABLE for file_known in known)
        else "files_left",
        f"{count_of(len(texts), 'file')} can't be recognised: "
        f"{name_some([file.name for file in texts])}. Leave out what "
        "holds no outputs. A file with a column for each system, or one that names the system in "
        "each row, is imported on its own.",
    )


def _is_by_line(used: Sequence[SourceFile], join: str) -> bool:
    """Return whether a person wants lines joined by number, which only texts are."""
    if join not in ("", BY_ID, BY_INPUT, BY_LINE):
        message = f"{quote(join)} is no way to join files. Choose id, input, line or append."
        raise Refused("no_answer", message)
    if join == BY_LINE and (tables := [file.name for file in used if not lines.is_text(file)]):
        raise Refused(
            "columns_unclear",
            f"{name_some(tables)} can't be joined by line: rows of CSV and JSON can come in any "
            "order. Join them by id or by input (--join id or input).",
        )
    return join == BY_LINE


def _call_apart(used: Sequence[Recognised]) -> list[Recognised]:
    """Return the files with names of their systems that differ where theirs don't."""
    named = [known.file.name for known in used if known.shape.system_from == "file"]
    labels = name_apart(named)
    return [
        replace(known, called=label) if (label := labels.get(known.file.name)) else known
        for known in used
    ]


def _are_lines(used: Sequence[SourceFile], names: Mapping[str, str]) -> bool:
    """Return whether all files are plain text, whose lines are in one order."""
    if not all(lines.is_called_text(file) or file.name in names for file in used):
        return False
    # outputs may be JSON, a line each, but the inputs beside them hardly are
    return all(map(lines.is_text, used)) and not all(map(is_json_lines, used))


def _refuse_columns(used: Sequence[SourceFile]) -> NoReturn:
    columns = list(
        dict.fromkeys(
            name for file in used for name in describe_table(file, Limits(), {}, {}).samples
        )
    )
    raise Refused(
        "columns_unclear",
        f"Choose the id, the input and the output: {name_plainly(columns, 12)} are the columns. "
        "CSV and JSON aren't joined by line, because results can come in another order. "
        "(--map COLUMN=item, --map COLUMN=output, and the same with the input.)",
    )


def _refuse_joining(used: Sequence[SourceFile], known: Sequence[Recognised]) -> None:
    """Refuse tables of which nothing says how they belong together; other files are no tables."""
    if any(file_known.format.key != TABLE for file_known in known):
        return
    for file in used:
        if not lines.is_text(file):
            continue
        if other := find_other_kind(file.read_start(8), file.name):
            raise Refused(*other)
    tables = [file for file in used if not lines.is_text(file)]
    headers = [describe_table(file, Limits(), {}, {}).samples for file in tables]
    # two of one name are a damaged archive
    if len({file.name.casefold() for file in tables}) < max(2, len(tables)) or not all(headers):
        return
    common = [name for name in headers[0] if all(name in header for header in headers)]
    named = f" (Have in common: {name_plainly(common, 12)}.)" if common else ""
    joining = " whose values join them" if common else ""
    raise Refused(
        "archive_several_tables",
        f"These tables have no column in common{joining}. Choose the column that holds the id in "
        f"each, or add one.{named} (--map FILE:COLUMN=item.)",
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


# --- what tools write ---------------------------------------------------------------------


def _convert_formats(
    used: Sequence[Recognised],
    references: Sequence[SourceFile],
    roles: Mapping[str, FileUse],
    wishes: Wishes,
) -> Batch:
    names, answers, seed, paths = wishes
    titles = sorted({known.format.title for known in used if known.shape.role == OUTPUTS})
    if len(titles) > 1:
        message = f"The files hold {' and '.join(titles)}. Take those of one tool."
        raise Refused("formats_mixed", message)
    _check_once(used)
    labels, has_inputs = _label_columns(used, paths)
    collection = Collection(
        answers.get("turns", ""), has_chosen_inputs=has_inputs, join=answers.get("join", "")
    )
    collection.add_files(used)
    called = {name: alias for name, alias in names.items() if alias not in WORDS}
    for file, service in [place for place in collection.agents if place[0] in called]:
        agents = collection.agents.pop((file, service))
        collection.join_systems(dict.fromkeys(agents, called[file]))
    collection.split_runs(called)
    loose = collection.settle_loose()
    _list_systems(collection, roles)
    for file, rows in collection.rows.items():
        roles[file].size = count_of(rows, "output" if roles[file].role == OUTPUTS else "row")
    for reference in references:
        texts = list(lines.read_texts(reference))
        roles[reference.name].size = count_of(len(texts), "line")
        collection.add_references(texts, reference)
    if called:
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
            key for item in chosen for output in item.outputs.values() for key in output.metadata
        )
    )
    # an input has the name that it would have anyway, whatever the tool keeps beside it
    taken = {*labels.values()}
    metadata = {key: f"{key}_" if key in taken or key in inputs else key for key in kept}
    free = [f"{name}_" if name in taken else name for name in inputs]
    header = [labels["item"], *free, labels["system"], labels["output"], *metadata.values()]
    if collection.has_references:
        header.append(_REFERENCE if _REFERENCE not in header else f"{_REFERENCE}_")
    return Batch(
        header,
        _list_rows(chosen, inputs, kept, collection),
        f"{titles[0]}: {count_of(len(collection.systems), 'system')}, "
        f"{count_of(len(chosen), 'input')}",
        decisions.made,
        decisions.answered,
        f"Joined by {collection.joined_by}: {collection.explain_join(len(collection.rows))}.",
        fields={
            path: use
            for known in used
            for path, use in get_chosen(known.file, paths).items()
            if path in header
        },
        failures={
            (item.id, system): output.error
            for item in chosen
            for system, output in item.outputs.items()
            if output.error and not (output.text or "").strip()
        },
        candidates=_list_candidates(used, inputs) if not has_inputs else [],
        inputs=[] if any(known.format.row.open for known in used) else free,
        remarks=[
            *([_describe_loose(loose)] if loose else []),
            *_describe_traces(used, collection.rows),
        ],
    )


def _list_candidates(used: Sequence[Recognised], inputs: Sequence[str]) -> list[str]:
    """Return the columns of inputs, if none of them has its name from the tool."""
    named = {name for known in used for name in known.format.row.inputs}
    is_open = any(known.format.row.open for known in used)
    return [*inputs] if is_open and named.isdisjoint(inputs) else []


def _describe_traces(used: Sequence[Recognised], rows: Mapping[str, int]) -> list[str]:
    number = sum(rows.get(known.file.name, 0) for known in used if known.format.trace is not None)
    return [f"{count_of(number, 'trace')} became an output each"] if number else []


def _describe_loose(columns: str) -> str:
    return (
        f"“{columns}” differs between the systems for one input, as with chat templates or several "
        "prompts, so the other columns are shown"
    )


def _label_columns(
    used: Sequence[Recognised], chosen: Mapping[str, str]
) -> tuple[dict[str, str], bool]:
    """Return what the columns of a batch are called, and whether its inputs were chosen."""
    labels = {name: name for name in ("item", "system", "output")}
    has_inputs = False
    for known in reversed(used):
        row, paths = known.format.row, get_chosen(known.file, chosen)
        for name, several in (("item", row.id), ("system", row.system), ("output", row.output)):
            for path, use in paths.items():
                if use == name and path in several:
                    labels[name] = path
        has_inputs = has_inputs or any(path in paths and paths[path] for path in row.inputs)
    return labels, has_inputs


def _list_systems(collection: Collection, roles: Mapping[str, FileUse]) -> None:
    for file in collection.rows:
        roles[file].systems = [
            system for system, first in collection.systems.items() if first == file
        ]
        roles[file].shared = [*collection.shared.get(file, ())]


def _check_once(used: Sequence[Recognised]) -> None:
    """Refuse a file that is given twice: its outputs would look like samples."""
    digests: dict[str, str] = {}
    for known in used:
        with known.file.open() as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()  # type: ignore[arg-type]
        if digest in digests:
            message = f"It is the same file as {digests[digest]}. Leave one of them out."
            code = "archive_several_tables" if known.format.key == TABLE else "system_twice"
            raise Refused(code, message, file=known.file.name)
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
        item.outputs = {new[system]: outputs for system, outputs in item.outputs.items()}
    collection.systems = {new[system]: file for system, file in collection.systems.items()}
    collection.shared = {
        file: {new[system]: None for system in outputs}
        for file, outputs in collection.shared.items()
    }


def _list_rows(
    chosen: Sequence[Chosen], inputs: Sequence[str], kept: Sequence[str], collection: Collection
) -> Iterator[list[str]]:
    for item in chosen:
        shown = [write_turns(item.inputs.get(name, "")) for name in inputs]
        last = [item.reference] if collection.has_references else []
        for system in collection.systems:
            output = item.outputs.get(system)
            if output is not None:
                after = [output.metadata.get(key, "") for key in kept]
                yield [item.id, *shown, system, output.text or "", *after, *last]


# --- text files ---------------------------------------------------------------------------


def _convert_lines(
    used: Sequence[SourceFile],
    roles: Mapping[str, FileUse],
    names: Mapping[str, str],
    answers: Mapping[str, str],
) -> Batch:
    words = {"inputs": lines.INPUTS, "reference": lines.REFERENCE}
    guesses = lines.guess_roles(file for file in used if not names.get(file.name))
    parts: dict[str, SourceFile] = {}
    for file in used:
        name = names.get(file.name, "")
        part = words.get(name, name) or guesses[file.name]
        if part in parts:
            message = f"It would be the same part as {parts[part].name}. Rename one of them."
            raise Refused("system_twice", message, file=file.name)
        parts[part] = file
    for file in used:
        roles[file.name].size = str(lines.count_lines(file))
    joined = lines.join_lines(parts, answers)
    number = joined.number - len(joined.left_out)
    reason = f"{count_of(joined.number, 'line')} in each of {len(parts)} files"
    return Batch(
        lines.write_header(parts, joined),
        lines.read_items(parts, joined),
        f"Text files: {count_of(len(joined.systems), 'system')}, {count_of(number, 'input')}",
        joined.made,
        joined=f"Joined by line number: {reason}.",
        remarks=joined.remarks,
    )
