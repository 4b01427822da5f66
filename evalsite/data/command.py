"""What the commands that import a file have in common."""

from argparse import ArgumentParser
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.data.importing import (
    LEAVE_OUT,
    LEAVE_OUT_FAULTY,
    Checked,
    Decision,
    Field,
    Importer,
    Source,
    aim_at_study,
    check_source,
    get_limits,
    hash_file,
    list_faults,
    name_on_disk,
    read_header,
)
from evalsite.data.tables.files import SourceFile, find_files
from evalsite.data.tables.reader import PREFIX, FileMapping
from evalsite.data.tables.spreadsheets import WORKBOOKS
from evalsite.data.tables.table import Fault, Refused, group_faults
from evalsite.data.tables.text_files import ENCODINGS
from evalsite.data.uploads import name_files, pack_files
from evalsite.studies.study_lookup import add_study_argument, describe_faults, find_study


class FaultyFile(CommandError):
    """A file was refused for its faults."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        groups = group_faults(faults)
        text = describe_faults([str(group) for group in groups], [group.count for group in groups])
        super().__init__(text)
        self.faults = faults


# options of every file
_OF_OPTIONS = ("encoding", "rows", "sheet", LEAVE_OUT_FAULTY)
# what is decided by arguments that no answer follows
_IN_HELP = ("take_once", LEAVE_OUT_FAULTY)


class ImportCommand(BaseCommand):
    """Import a file; its importer says what the file may contain."""

    importer: Importer
    file_help = "CSV, TSV, JSON, JSON lines or Excel, with the names of its columns in row 1"
    faulty_help = "leave out rows with faults, and import the others"

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        # or --system would be --system-prompts
        return super().create_parser(prog_name, subcommand, allow_abbrev=False, **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_study_argument(parser)
        self.add_file(parser)
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="COLUMN=FIELD",
            help="what a column contains, if its name doesn't show it, such as --map "
            '"reply=output"; COLUMN= keeps it without showing it, COLUMN=- leaves it out. Give '
            "it once for each column. A value inside JSON is a column, too: --map "
            "doc.question=prompt. A field that doesn't exist lists all fields",
        )
        parser.add_argument(
            "--no-limit",
            action="store_true",
            help="take files with more rows than an upload may have",
        )
        parser.add_argument(
            "--faults", type=Path, metavar="FILE", help="write all faults into this file, as CSV"
        )
        parser.add_argument(
            "--check", action="store_true", help="only say what the file contains; import nothing"
        )
        parser.add_argument(
            "--encoding",
            choices=[*ENCODINGS],
            metavar="NAME",
            help=f"how to read a file that isn't UTF-8: {', '.join(ENCODINGS)}",
        )
        parser.add_argument(
            "--rows", metavar="PATH", help="of a JSON document with several lists, the one to read"
        )
        parser.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook to read")
        parser.add_argument("--leave-out-faulty", action="store_true", help=self.faulty_help)
        self.add_choices(parser)

    def add_file(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help=self.file_help)

    def add_choices(self, parser: ArgumentParser) -> None:
        """Add arguments for what a page asks about a file of this kind."""

    def read_choices(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answers of these arguments, by the keys of their questions."""
        return {}

    def find_unused(self, checked: Any, arguments: Mapping[str, Any]) -> list[Fault]:
        """Return a fault for each option that says something of what the file hasn't."""
        if checked.files:
            return []
        kind = f"{checked.encoding} ({checked.delimiter})"
        unused = {}
        if not any(remark.code == "rows_in_document" for remark in checked.remarks):
            unused["rows"] = "Only a JSON document has lists to choose from"
        if checked.encoding not in WORKBOOKS:
            unused["sheet"] = "Only a workbook has sheets"
        return [
            Fault("option_unused", f"{text}, but this file is {kind}. Leave --{option} out.")
            for option, text in unused.items()
            if arguments[option]
        ]

    def describe(self, checked: Any) -> str:
        """Return what a checked file contains, in words."""
        raise NotImplementedError

    def describe_decision(self, decision: Decision) -> str:
        """Return how a decision is made here; "" if an argument's help says so."""
        if decision.key in _IN_HELP:
            return ""
        key, _, file = decision.key.partition(":")
        option = key.removeprefix(PREFIX).replace("_", "-")
        about = f" {file}:" if file else ""
        answers = [
            f"  --{option}{about}{_write_answer(value).lstrip() if file else _write_answer(value)}"
            f": {words}"
            for value, words, _ in decision.choices
        ]
        # beside a sentence of its own the title, which a page shows above it, needs an end
        title = decision.title.rstrip(".")
        is_closed = not decision.text or title.endswith(("?", "!"))
        title = decision.title if is_closed else f"{title}."
        return "\n".join([" ".join(filter(None, [title, decision.text])), *answers])

    def describe_stored(self, record: Any, checked: Any) -> str:
        return f"Stored {self.describe(checked)}."

    def describe_same(self, record: Any) -> str:
        return f"Already uploaded as {record.file_name}, 0 new."

    def handle(self, *, study: str, file: Any, **arguments: Any) -> None:
        if not file.is_dir():
            self.import_file(study, file, name_on_disk(file), **arguments)
            return
        try:
            self.import_files(study, find_files(file), **arguments)
        except Refused as error:
            raise CommandError(str(error)) from None

    def import_files(self, study: str, files: Sequence[SourceFile], **arguments: Any) -> None:
        """Import several files as one."""
        try:
            packed = pack_files([(source.name, source.open) for source in files])
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        with packed, NamedTemporaryFile(suffix=".zip") as kept:
            copyfileobj(packed, kept)
            kept.flush()
            listed = name_files(source.name for source in files)
            self.import_file(study, Path(kept.name), listed, **arguments)

    def import_file(self, study: str, file: Path, file_name: str, **arguments: Any) -> None:
        """Import the file at this path under this name, of which the folder isn't kept."""
        chosen_study = find_study(study)
        target = aim_at_study(chosen_study)
        if not file.is_file():
            raise CommandError(f"There is no file {file}.", returncode=2)
        limits = get_limits(is_lifted=arguments["no_limit"])
        named = {pair: pair.rpartition("=")[2].strip() for pair in arguments["map"]}
        fields = self.importer.list_fields(target, named)
        options = self.read_choices(arguments)
        options |= {key: arguments[key] for key in _OF_OPTIONS if arguments[key]}
        written = FileMapping.read({}, options)

        def read_columns(asked: Mapping[str, str]) -> list[str]:
            return read_header(
                self.importer,
                file,
                target=target,
                file_name=file_name,
                limits=limits,
                mapping=written.change(fields=dict(asked)),
            )

        merged = [field.name for field in fields if self.importer.get_merging(field.name, target)]
        fields_by_path = read_mapping(fields, arguments["map"], read_columns, merged)
        mapping = written.change(fields=fields_by_path)
        sha256 = hash_file(file)
        if earlier := self.importer.find_same(chosen_study, sha256):
            self.stdout.write(self.describe_same(earlier))
            return
        with file.open("rb") as opened:
            checked = check_source(
                self.importer,
                opened,
                target=target,
                mapping=mapping,
                limits=limits,
                tell=self._count if self.stderr.isatty() else None,
                file_name=file_name,
            )
        if not checked.faults:
            checked.faults += self.find_unused(checked, arguments)
        if checked.faults and (earlier := self.importer.find_same(chosen_study, sha256)):
            # it was uploaded meanwhile: what it brought are the faults
            self.stdout.write(self.describe_same(earlier))
            return
        self._report(checked, arguments["faults"])
        if arguments["check"]:
            self.stdout.write(
                f"{self.describe(checked)}, no faults. Nothing was imported: this was a check."
            )
            return
        source = Source(
            study=chosen_study,
            file_name=PurePosixPath(file_name).name,
            sha256=sha256,
            options=mapping.options,
        )
        try:
            record = self.importer.store(checked, source, by="the command line")
        except ValidationError as error:
            raise CommandError(describe_faults(error.messages)) from None
        self.stdout.write(self.describe_stored(record, checked))

    def _report(self, checked: Checked, faults: Path | None) -> None:
        """Print what is worth a look; CommandError with the faults, if there are any."""
        if faults:
            faults.write_bytes(list_faults(checked.faults).encode())
        # also beside faults, whose cause they may tell
        for remark in checked.remarks:
            self.stdout.write(f"Worth a look: {remark}")
        if checked.kept:
            self.stdout.write(checked.kept)
        for note in checked.import_notes:
            self.stdout.write(str(note["text"]))
        for decision in checked.decisions:
            if not decision.is_made and (asked := self.describe_decision(decision)):
                self.stdout.write(asked)
        if checked.faults:
            raise FaultyFile(checked.faults)

    def _count(self, rows: int) -> None:
        self.stderr.write(f"\r{rows:,} rows read", ending="")


def _write_answer(value: Any) -> str:
    """Write an answer behind its option; a yes needs none, of a list the first is one."""
    first = value[0] if isinstance(value, list) else value
    return "" if first is True else f" {first}"


def read_mapping(
    fields: list[Field],
    pairs: list[str],
    read_columns: Callable[[Mapping[str, str]], list[str]],
    merged: Collection[str] = (),
) -> dict[str, str]:
    """Return what --map says of a file's columns; CommandError lists everything wrong with it.

    `merged` are fields that several columns may contain.
    """
    if not pairs:
        return {}
    known = {field.name: field for field in fields}
    once = {name for name, field in known.items() if not field.is_for_many} - {*merged}
    parts = [pair.rpartition("=") for pair in pairs]
    header = read_columns({path.strip(): name.strip() for path, _, name in parts})
    mapping: dict[str, str] = {}
    problems: list[str] = []
    for pair in pairs:
        # the last =, since the name of a column may contain one
        column, sign, field = (part.strip() for part in pair.rpartition("="))
        if sign:
            pair_problems = [*_find_problems(column, field, mapping, header, known)]
            if field in once and field in mapping.values() and column not in mapping:
                pair_problems.append(f"another column is mapped to “{field}” already. Choose one.")
        else:
            pair_problems = [f"write {pair}=FIELD."]
        problems += [f"--map {pair}: {problem}" for problem in pair_problems]
        mapping[column] = field
    if problems:
        # one list of each is enough
        if header and any(_is_unknown(column, header) for column in mapping if column):
            problems.append(f"The file's columns are: {', '.join(header)}.")
        if not all(map(known.__contains__, mapping.values())) or "" in mapping:
            problems.append(_list_fields(fields))
        raise CommandError("\n".join(["Nothing was imported.", *problems]))
    return mapping


def _is_unknown(column: str, header: Sequence[str]) -> bool:
    return column not in header and column.partition(":")[2] not in header


def _find_problems(
    column: str, field: str, mapping: Mapping[str, str], header: list[str], known: Container[str]
) -> Iterator[str]:
    # of a file that can't be read, its own faults are listed next
    if header and _is_unknown(column, header):
        yield f"the file has no column “{column}”."
    if field not in known:
        yield f"there is no field “{field}”."
    if column in mapping:
        yield f"the column “{column}” is mapped already. Map it once."


def _list_fields(fields: Sequence[Field]) -> str:
    named = ", ".join(field.name for field in fields if field.name not in ("", LEAVE_OUT))
    unused = [
        f"COLUMN={field.name}: {field.label.lower()}."
        for field in fields
        if field.name in ("", LEAVE_OUT)
    ]
    return " ".join([f"FIELD is one of {named}.", *unused])
