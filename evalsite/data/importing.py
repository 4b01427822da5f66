"""One way into a study for every file: checked, looked at, stored whole or not at all, undone.

What a kind of file contains is declared by an `Importer`: its fields, how rows are read, and how
they are stored. A row has three shapes on its way: a row of the table, a checked value, a model.
"""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import file_digest
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol, cast
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connection, models

from evalsite.data.models import Upload
from evalsite.data.tables.paths import Known, PathColumns, is_pattern, is_spread, last_name
from evalsite.data.tables.reader import (
    AS_TABLE,
    CHOSEN,
    NAMES,
    SEED,
    TAKES_ALIKE,
    FileMapping,
    open_table,
)
from evalsite.data.tables.roles import WORDS
from evalsite.data.tables.table import (
    Fault,
    FileUse,
    Limits,
    Question,
    Refused,
    Remark,
    Row,
    Table,
    find_control,
    group_faults,
    hold_control,
    name_sheet_row,
    peek,
)
from evalsite.data.tables.text_files import ENCODINGS, read_around
from evalsite.instruments.schema import InputColumn, Instrument, ItemParts, Outputs
from evalsite.lib.csv_writer import guard_cell, write_rows
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import count_of

# --- columns: what they may contain, and what is wrong with header and rows ---------------

# A mapping gives each column the name of a field, "" to keep it unused, or "-" to leave it out.
LEAVE_OUT = "-"  # what a column is mapped to that is read past and never stored
_MAX_NAME = 200
# one of these words anywhere in the name is enough
_WORDS = {
    "worker", "workers", "workerid", "annotator", "annotators", "annotatorid", "rater", "raterid",
    "judge", "turker", "crowdworker", "participant", "participantid", "respondent", "email", "mail",
    "ip", "ipaddress", "city", "region", "country", "phone", "telephone", "mobile", "postcode",
    "zipcode", "latitude", "longitude", "username", "userid", "firstname", "lastname", "surname",
    "fullname", "nickname", "birthday", "birthdate", "nationality", "prolific", "mturk",
}  # fmt: skip
# these are common in other names (user_goal, age_of_text): with nothing, or with a word for it
_WHOLE = re.compile(
    "(user|person|subject|author|reviewer)(_(id|name|key|hash|no|nr|number))?"
    "|name|((first|last|full|family|given|middle|real|nick)_name)"
    "|age|gender|sex|(home_|street_|postal_)?address|zip(_code)?|post_code|tel|dob"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True)
class Field:
    """What a column may contain, as a page and the command line offer it."""

    name: str
    label: str
    group: str = ""  # the heading of a list under which it is found
    meaning: str = ""
    is_for_many: bool = False  # more than one column may contain it


def fold(name: str) -> str:
    """Normalise a column name: equal for names that differ only in case and separators."""
    return re.sub(r"[\s_.-]+", "_", name.strip().casefold())


def join_names(names: Sequence[str], word: str = "and") -> str:
    quoted = [f"“{name}”" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"


def known_columns(mapping: Mapping[str, str], header: Iterable[str]) -> dict[str, str]:
    """Return the part of a mapping that is about these columns."""
    columns = set(header)
    return {column: field for column, field in mapping.items() if column in columns}


def check_header(header: Sequence[str], line: int) -> list[Fault]:
    """Check that every column has a name that can be stored."""
    return [
        Fault(code, message, line=line)
        for number, column in enumerate(header, start=1)
        for code, message in _find_name_problems(number, column)
    ]


def _find_name_problems(number: int, column: str) -> Iterator[tuple[str, str]]:
    if len(column) > _MAX_NAME:
        yield (
            "column_name_long",
            f"The name of column {number} has {len(column):,} characters; at most {_MAX_NAME} are "
            "taken. Shorten it.",
        )
    elif control := find_control(column):
        message = f"The name of column {number} holds {control}. Remove it from the name."
        yield "control_character", message


def check_fields(
    mapping: Mapping[str, str], fields: Iterable[Field], line: int | None
) -> list[Fault]:
    """Check that each field is known, and that at most one column contains it."""
    known = {field.name: field for field in fields}
    by_field: dict[str, list[str]] = {}
    faults = []
    for column, name in mapping.items():
        if name in ("", LEAVE_OUT):
            continue
        if name not in known:
            faults.append(Fault("field_unknown", f"There is no field “{name}”.", column=column))
        else:
            by_field.setdefault(name, []).append(column)
    faults += [
        Fault(
            "column_mapped_twice",
            f"Columns {join_names(columns)} are both mapped to “{name}”. Choose one.",
            line=line,
        )
        for name, columns in by_field.items()
        if len(columns) > 1 and not known[name].is_for_many
    ]
    return faults


def check_cells(row: Row, header: Sequence[str]) -> list[Fault]:
    """Return what keeps a row out before anything is known of its columns."""
    if row.problems:
        return [
            Fault(
                problem.code,
                problem.message,
                column="" if problem.column is None else header[problem.column],
                line=row.line,
                record=row.record,
            )
            for problem in row.problems
        ]
    if len(row.cells) != len(header):
        count = len(row.cells)
        return [
            Fault(
                "row_width",
                f"{count} cell{'' if count == 1 else 's'} instead of {len(header)}. Look for a "
                "missing delimiter, or for one in a text without quotes.",
                line=row.line,
                record=row.record,
            )
        ]
    if not hold_control(row.cells):
        return []
    return [
        Fault(
            "control_character",
            f"The cell holds {control}. Remove it.",
            column=header[number],
            line=row.line,
            record=row.record,
        )
        for number, cell in enumerate(row.cells)
        if (control := find_control(cell))
    ]


# --- columns with personal data ----------------------------------------------------------


def is_personal(column: str) -> bool:
    """Return whether a column of this name probably holds personal data."""
    words = re.findall(r"[^\W_]+", _HUMP.sub("_", column).casefold())
    return not _WORDS.isdisjoint(words) or _WHOLE.fullmatch("_".join(words)) is not None


def describe_personal(kept: Iterable[str]) -> str:
    """A sentence that names the columns of persons among the metadata; "" if there are none."""
    names = [f"“{column}”" for column in kept if is_personal(column)]
    if not names:
        return ""
    noun = "Column" if len(names) == 1 else "Columns"
    verb = "looks" if len(names) == 1 else "look"
    return (
        f"{noun} {', '.join(names)} {verb} personal and would be kept as metadata, which is in "
        "items.csv and in bundles. If you don't need it, choose “Leave out” for it (on the "
        f'command line --map "COLUMN={LEAVE_OUT}")'
    )


# --- names of systems -------------------------------------------------------------------


MAX_SYSTEM = 200


def check_system(text: str) -> str:
    """Say what is wrong with this name of a system; "" if it may be used."""
    if not text.strip():
        return "The system is empty. Name what produced this output."
    if len(text) > MAX_SYSTEM:
        return f"The name of a system may have {MAX_SYSTEM} characters; this has {len(text):,}."
    if text != text.strip() or not text.isprintable():
        return (
            f"The name of the system, “{text[:40]}”, has a space around it or an "
            "invisible character. Remove it."
        )
    if text.casefold() == "tie":
        return "“tie” can't name a system: results use it for a tie. Choose another name."
    return ""


def fold_system(name: str) -> str:
    """Equal for names that differ only in case, spaces or Unicode form."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
    return "".join(name.casefold().split())


# --- what a file is checked against ------------------------------------------------------

# what instruments call their outputs
_OUTPUTS = [
    "translation", "mt", "summary", "decoded", "description", "caption", "story", "paraphrase",
    "simplification", "report", "tgt", "target",
]  # fmt: skip


@dataclass(frozen=True)
class Target:
    """What a check needs: an instrument, and a study or a draft of one that isn't stored.

    While no instrument is chosen, `is_open`: the instrument then shows whatever inputs a file has.
    """

    instrument: Instrument
    study: Study
    is_open: bool = False

    @property
    def is_draft(self) -> bool:
        """Return whether the study isn't stored, so that it has no items but its practice."""
        return self.study._state.adding


def aim_at_study(study: Study) -> Target:
    return Target(study.config, study)


def aim_at_instrument(instrument: Instrument, seed: str) -> Target:
    """Check for a study that would be made of this instrument, with its defaults."""
    return Target(instrument, Study(seed=seed, groups=instrument.design.groups))


def aim_at_upload(upload: Upload) -> Target:
    """Check a file for the study that it belongs to, or without one for whatever is in it."""
    if upload.study is not None:
        return aim_at_study(upload.study)
    return aim_at_nothing(upload.seed)


def aim_at_nothing(seed: str) -> Target:
    """Check for whatever is in a file, before there is an instrument."""
    return Target(make_open_instrument([]), Study(seed=seed), is_open=True)


def make_open_instrument(inputs: Sequence[InputColumn], output_kind: str = "text") -> Instrument:
    """Return an instrument without questions that shows these inputs, and outputs one by one."""
    outputs = Outputs.model_validate(
        {"kind": output_kind, "least": 1, "most": 1, "aliases": _OUTPUTS}
    )
    parts = {"item": ItemParts(inputs=[*inputs], outputs=outputs), "criteria": [], "key": "none"}
    # not validated: an instrument that can be asked has questions and a source
    return Instrument.model_construct(**cast(dict[str, Any], parts))


FAULTS_SHOWN = 100
_SAMPLE = 200  # characters of a cell, to recognise its column by
# of the file itself, as it is shown beside the first items
_ROWS_SHOWN, _COLUMNS_SHOWN = 20, 60
_TELL_EVERY = 2_000  # rows
HAS_FAULTS = "The file has faults, so nothing was imported. Correct them first."
HAS_CHANGED = "The study has changed since this file was checked. Look at the file again."

Tell = Callable[[int, int], None]


# --- what a check finds -----------------------------------------------------------------


@dataclass
class Decision:
    """Something that only the researcher can say of a file, with the answers there are.

    An answer is kept among the decisions of a mapping, under `key`; `rows` lists whatever it is
    about.
    """

    key: str
    title: str
    text: str = ""
    # value, words on its button, what it means
    choices: list[list[Any]] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    is_made: bool = False
    # lines of two files that it is about, as a question has them
    around: list[list[Any]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    # the answer that a page begins with
    proposed: str = ""


@dataclass
class Checked:
    """What a file contains for a study; each importer adds its own checked values."""

    encoding: str = ""
    delimiter: str = ""
    header: list[str] = field(default_factory=list)
    mapping: dict[str, str] = field(default_factory=dict)
    # for each column its first cell, to recognise it by, and a note on what it contains
    samples: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    faults: list[Fault] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    # what the researcher confirmed, as it is kept with what the file becomes
    import_notes: list[dict[str, Any]] = field(default_factory=list)
    # of several files what each is for, and how they are joined
    files: list[FileUse] = field(default_factory=list)
    joined: str = ""
    # columns that are paths into JSON, and the first value of each
    paths: set[str] = field(default_factory=set)
    path_samples: dict[str, str] = field(default_factory=dict)
    # in a sentence, the columns that are stored but shown to nobody
    kept: str = ""
    # what the systems of a file are called that names none: the file, or what it was called
    system_name: str = ""
    file_name: str = ""
    # columns of several files that are read under another name; those that may be the input
    renamed_columns: list[str] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)
    # why outputs without a text have none, by item and system, if the file says it
    failures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    # columns that are read with another one, which contains the same field
    merged: set[str] = field(default_factory=set)
    # the first rows as the file has them: columns, and for each row its line and cells
    first_columns: list[str] = field(default_factory=list)
    first_rows: list[list[Any]] = field(default_factory=list)
    # lines of the file around faults: number, text and whether the fault is there
    surroundings: list[list[Any]] = field(default_factory=list)

    @property
    def read_mapping(self) -> dict[str, str]:
        """Return the mapping, of columns that are read together that of the first alone."""
        return {
            column: LEAVE_OUT if column in self.merged else name
            for column, name in self.mapping.items()
        }

    @property
    def is_importable(self) -> bool:
        return not self.faults


LEAVE_OUT_FAULTY = "leave_out_faulty"
_MOST_LEFT_OUT = 10_000
_LISTED = 100


def decide_faulty_rows(
    checked: Checked, faults: Iterable[Fault], consequence: str, *, is_made: bool
) -> None:
    """Offer to leave out the rows with these faults, or note that they were left out."""
    faults = sorted(faults, key=lambda fault: fault.record or 0)
    rows = len({fault.record for fault in faults})
    if not faults or (rows > _MOST_LEFT_OUT and not is_made):
        return
    more = len(faults) - _LISTED
    checked.decisions.append(
        Decision(
            LEAVE_OUT_FAULTY,
            f"{count_of(rows, 'row')} {'has' if rows == 1 else 'have'} faults",
            consequence,
            choices=[[True, f"Leave out {count_of(rows, 'row')}", ""]],
            rows=[*map(str, faults[:_LISTED]), *([f"and {more:,} more"] if more > 0 else [])],
            is_made=is_made,
        )
    )
    if is_made:
        text = f"{count_of(rows, 'faulty row')} {'was' if rows == 1 else 'were'} left out."
        left_out = [[fault.line, fault.record, fault.code] for fault in faults]
        checked.import_notes.append({"code": "rows_left_out", "text": text, "rows": left_out})


class Reader(Protocol):
    """Takes the rows of a table one by one, then says what they contain."""

    def add(self, row: Row) -> None: ...
    def finish(self) -> None:
        """All rows are read; what was found is in the `Checked` that the reader was made with."""

    def close(self) -> None:
        """Finish reading: the file ended or broke off. Report the faults found so far."""


@dataclass
class Report:
    """What a check found, as plain data: a page shows it without reading the file again."""

    encoding: str = ""
    delimiter: str = ""
    rows: int = 0
    # the columns in their order, which a mapping loses in PostgreSQL's JSON
    header: list[str] = field(default_factory=list)
    mapping: dict[str, str] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    fault_count: int = 0
    # the first of them, equal ones together: places, message and code
    faults: list[list[str]] = field(default_factory=list)
    # those that aren't among them
    faults_left: int = 0
    remarks: list[str] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    import_notes: list[dict[str, Any]] = field(default_factory=list)
    is_importable: bool = False
    files: list[dict[str, Any]] = field(default_factory=list)
    joined: str = ""
    kept: str = ""
    renamed_columns: list[str] = field(default_factory=list)
    first_columns: list[str] = field(default_factory=list)
    first_rows: list[list[Any]] = field(default_factory=list)
    surroundings: list[list[Any]] = field(default_factory=list)
    # whatever else the importer's part of the page shows
    summary: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where checked values come from: a file, and what a researcher said of it."""

    study: Study
    file_name: str
    sha256: str
    options: Mapping[str, Any] = field(default_factory=dict)
    upload_key: UUID | None = None


# --- a kind of file ---------------------------------------------------------------------


class Importer(ABC):
    """One kind of file: its fields, how its rows are read, stored and undone."""

    purpose: Upload.Purpose
    # kinds of jobs, as the database has them
    check_kind: str
    import_kind: str
    undo_kind: str
    # and of the job that makes a study of a file
    create_kind: str = ""
    # what a file becomes (it has a study and a sha256), and the upload's link to it, if any
    record: type[models.Model]
    link: str = ""
    checked: type[Checked] = Checked
    # whether what tools write is read as outputs
    takes_outputs: bool = True
    # whether several files with the same columns are read one after another
    takes_alike: bool = False
    # larger files are undone, or stored, by a job
    rows_undone_at_once: int = 20_000
    rows_stored_at_once: int | None = None

    @abstractmethod
    def list_fields(self, target: Target, mapping: Mapping[str, str]) -> list[Field]:
        """Everything that a column may be mapped to, in the order in which a page offers it."""

    @abstractmethod
    def guess(self, header: Sequence[str], target: Target) -> dict[str, str]:
        """Return the field that each column's name suggests; "" for none."""

    def guess_from_rows(
        self,
        header: Sequence[str],
        target: Target,
        rows: Sequence[Sequence[str]],
        chosen: Mapping[str, str],
    ) -> dict[str, str]:
        """Return a field for each column, as its name and the cells of the first rows tell.

        `chosen` is what is known of columns and paths already.
        """
        return self.guess(header, target)

    def prepare(self, table: Table, target: Target, mapping: FileMapping) -> Table:
        """Return the table as its columns are to be mapped."""
        return table

    def list_known(self, target: Target) -> Known:
        """Return the names that patterns of column names may hold, by field."""
        return {}

    def settle(self, guess: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
        """Return the guess without the fields that were chosen for other columns."""
        taken = {*chosen.values()} - {"", LEAVE_OUT}
        return {column: "" if field in taken else field for column, field in guess.items()}

    def get_merging(self, field: str, target: Target) -> str:
        """Return how several columns with this field are put together; "" if they can't be."""
        return ""

    def recognise(
        self, header: Sequence[str], rows: Sequence[Row], target: Target
    ) -> dict[str, str]:
        """Return fields by path or pattern, if the form of the file is known."""
        return {}

    def map_inputs(self, columns: Collection[str], target: Target) -> dict[str, str]:
        """Return what columns contain that a tool's file is known to have as inputs."""
        return {}

    def map_systems(self, columns: Collection[str]) -> dict[str, str]:
        """Return what columns contain that the file itself says are named after systems."""
        return {}

    def complete(self, target: Target, checked: Any, rows: Sequence[Row]) -> Target:
        """Return the target with what only the file says of it, once its columns are mapped."""
        return target

    def describe_columns(self, checked: Any, rows: Sequence[Row]) -> dict[str, str]:
        """For each column a note on what it contains, as its first rows tell."""
        return {}

    def check_mapping(self, checked: Any, target: Target, table: Table) -> list[Fault]:
        """Check that each field has one column; importers add what else they need."""
        mapping = checked.read_mapping
        return check_fields(mapping, self.list_fields(target, mapping), table.header_line)

    @abstractmethod
    def make_reader(self, checked: Any, target: Target, options: Mapping[str, Any]) -> Reader:
        """Return a reader of rows under `checked.mapping`, which is known to be right."""

    def check_columns(self, checked: Any) -> list[Remark]:
        """Remarks on the columns of a file whose rows can't be read, as its mapping is wrong."""
        return []

    @abstractmethod
    def summarise(self, checked: Any, target: Target) -> dict[str, Any]:
        """Return what else a page shows of a file, as plain data."""

    def is_current(self, report: Report, study: Study | None) -> bool:
        """Whether what was found still holds; a small file is checked again if it doesn't."""
        return True

    def write_head(self, checked: Any) -> dict[str, Any] | None:
        """Return what is kept of a check beside its values; None: nothing, it is made again."""
        return None

    def write_rows(self, checked: Any) -> Iterable[Any]:
        """Return the checked values as plain data, one for a line."""
        return ()

    def read_kept(self, head: Mapping[str, Any], read_rows: Callable[[], Iterator[Any]]) -> Any:
        """Return the checked values of a check that was kept."""
        raise NotImplementedError

    @abstractmethod
    def store(self, checked: Any, source: Source, *, by: Any, tell: Tell | None = None) -> Any:
        """Store all checked values or none, and return the record of them."""

    @abstractmethod
    def undo(self, record: Any, *, by: Any) -> None:
        """Remove what the file brought, except for the log entry."""

    def count_rows(self, record: Any) -> int:
        """Return how much there is to undo."""
        return int(getattr(record, "rows", 0))

    def find_same(self, study: Study | None, sha256: str) -> Any | None:
        """Return what this very file became earlier, if it did."""
        return self.record._default_manager.filter(study=study, sha256=sha256).first()


# --- checking ---------------------------------------------------------------------------


def name_system(file_name: str, options: Mapping[str, Any]) -> str:
    """Return what the systems of a file are called that names none."""
    name = str((options.get(NAMES) or {}).get(file_name, ""))
    return name if name and name not in WORDS else PurePosixPath(file_name.removesuffix(".gz")).stem


def get_limits(*, is_lifted: bool = False) -> Limits:
    """Return those printed on the page of items; lifted, a command may read any number of rows."""
    limits = Limits(
        settings.UPLOAD_MAX_ROWS,
        settings.UPLOAD_MAX_TEXT,
        settings.UPLOAD_MAX_CELL,
        settings.UPLOAD_MAX_COLUMNS,
    )
    return limits.lift() if is_lifted else limits


def check_source(
    importer: Importer,
    source: BinaryIO,
    *,
    target: Target,
    mapping: FileMapping | None = None,
    limits: Limits | None = None,
    tell: Callable[[int], None] | None = None,
    file_name: str = "",
) -> Any:
    """Return what the file contains for this target; what isn't mapped is guessed.

    `tell` hears now and then how many rows were read. The file's name, perhaps behind that of its
    folder, is what systems are called that it doesn't name.
    """
    checked, table = importer.checked(), None
    mapping = mapping or FileMapping()
    options = {
        SEED: target.study.seed,
        CHOSEN: mapping.fields,
        AS_TABLE: not importer.takes_outputs,
        TAKES_ALIKE: importer.takes_alike,
        **mapping.options,
    }
    checked.system_name = name_system(file_name, options)
    checked.file_name = PurePosixPath(file_name).name
    try:
        table = open_table(
            source, limits=limits or get_limits(), options=options, file_name=file_name
        )
        table = importer.prepare(table, target, mapping)
        checked.encoding, checked.delimiter = table.encoding, table.delimiter
        checked.header = list(table.header)
        checked.files, checked.joined = list(table.files), table.joined
        checked.failures = table.failures
        for key, text in table.decided.items():
            asked = table.answered.get(key)
            choices = _list_choices(asked) if asked else []
            checked.decisions.append(Decision(key, text, choices=choices, is_made=True))
            note = {"code": key.partition(":")[0], "text": text, "rows": []}
            checked.import_notes.append(note)
        checked.faults += check_header(table.header, table.header_line)
        if not checked.faults:
            target = _map_columns(importer, checked, table, target, mapping.fields)
        _read_rows(importer, checked, table, target, options, tell)
    except Refused as error:
        checked.faults.append(error.fault)
        checked.decisions += _ask_encoding(error.fault)
        checked.decisions += [_ask(question) for question in error.questions]
        checked.files = error.files or checked.files
        if error.columns and not checked.header:
            _show_columns(importer, checked, error.columns, target, mapping.fields)
    if options.get("encoding") and checked.encoding in _ENCODING_NAMES:
        checked.decisions.append(
            Decision(
                "encoding", f"The file is read as {checked.encoding}", is_made=True,
                choices=[[name, f"{label} ({where})", ""] for name, (label, where) in
                         ENCODINGS.items()],
            )
        )  # fmt: skip
        code = checked.encoding.casefold().replace("-", "_").replace(" ", "_")
        text = f"The file was read as {checked.encoding}."
        checked.import_notes.append({"code": code, "text": text, "rows": []})
    if table is not None:
        checked.remarks = [*table.remarks.listed(), *checked.remarks]
    checked.faults.sort(key=lambda fault: (fault.line or 0, fault.record or 0))
    if table is not None and table.unit == "row":
        checked.faults = [replace(fault, unit="row") for fault in checked.faults]
        for remark in checked.remarks:
            remark.places = [*map(name_sheet_row, remark.places)]
        for decision in checked.decisions:
            decision.rows = [*map(name_sheet_row, decision.rows)]
    elif checked.faults and not checked.files:
        lines = [fault.line for fault in checked.faults if fault.line is not None]
        checked.surroundings = read_around(source, lines)
    return checked


def _show_columns(
    importer: Importer,
    checked: Checked,
    columns: Mapping[str, str],
    target: Target,
    mapping: Mapping[str, str],
) -> None:
    """Show the columns of several files that can't be joined until some of them are chosen."""
    checked.header, checked.samples = list(columns), dict(columns)
    checked.mapping = importer.guess(checked.header, target) | known_columns(mapping, columns)


def _map_columns(
    importer: Importer, checked: Checked, table: Table, target: Target, mapping: Mapping[str, str]
) -> Target:
    first = peek(table)
    rows = [row.cells for row in first]
    checked.first_columns = table.header[:_COLUMNS_SHOWN]
    checked.first_rows = [
        [row.line, [cell[:_SAMPLE] for cell in row.cells[:_COLUMNS_SHOWN]]]
        for row in first[:_ROWS_SHOWN]
    ]
    known = importer.recognise(table.header, first, target)
    asked = [path for path, name in mapping.items() if name not in ("", LEAVE_OUT)]
    mapping = {
        **importer.map_inputs(table.inputs, target),
        **{path: name for path, name in known.items() if not name or name not in mapping.values()},
        **table.fields,
        **mapping,
    }
    paths = PathColumns(table, first, mapping, list_known(importer, target, mapping))
    paths.watch(asked)
    chosen = known_columns(mapping, table.header)
    guess = importer.guess_from_rows(checked.header, target, rows, chosen)
    checked.header = list(table.header)
    checked.paths = {*paths.names}
    guess |= dict.fromkeys([*paths.objects, *paths.list_opened(chosen)], "")
    guess |= known_columns(mapping, guess)
    guess |= _guess_paths(importer, paths.paths, guess, target)
    guess |= {name: LEAVE_OUT for name in paths.names if name not in paths.paths}
    guess |= dict.fromkeys(paths.consumed, LEAVE_OUT)
    guess |= {name: name.strip("{}") for name in paths.bound}
    guess |= {checked.header[number]: LEAVE_OUT for number in table.unnamed}
    guess |= importer.map_systems(
        {column for number, column in enumerate(checked.header) if number in table.systems}
    )
    # of several files: what was chosen for columns that have another name here
    checked.renamed_columns = [
        name for name in table.sources if name not in guess and mapping.get(name)
    ]
    chosen = known_columns(mapping, guess)
    checked.mapping = importer.settle(guess, chosen) | chosen
    checked.candidates = [name for name in table.candidates if name not in chosen]
    used = {name for name, field in checked.mapping.items() if field not in ("", LEAVE_OUT)}
    paths.used = {name for name in paths.names if checked.mapping[name] != LEAVE_OUT}
    checked.path_samples = paths.sample(first)
    checked.faults += table.check_mapped(used)
    _merge_columns(importer, checked, table, target)
    target = importer.complete(target, checked, first)
    checked.faults += importer.check_mapping(checked, target, table)
    checked.notes = importer.describe_columns(checked, first)
    return target


def list_known(importer: Importer, target: Target, asked: Iterable[str]) -> Known:
    """Return the names that patterns may hold; most files have no pattern."""
    return importer.list_known(target) if any(map(is_pattern, asked)) else {}


def _merge_columns(importer: Importer, checked: Checked, table: Table, target: Target) -> None:
    """Put columns together that contain one field."""
    columns: dict[str, list[str]] = {}
    for column, name in checked.mapping.items():
        columns.setdefault(name, []).append(column)
    groups = {
        tuple(names): how
        for name, names in columns.items()
        if len(names) > 1 and (how := importer.get_merging(name, target))
    }
    if groups:
        numbers = {name: number for number, name in enumerate(table.header)}
        table.merge({tuple(numbers[name] for name in group): how for group, how in groups.items()})
        checked.merged = {name for names in groups for name in names[1:]}


def _guess_paths(
    importer: Importer, paths: Collection[str], guess: Mapping[str, str], target: Target
) -> dict[str, str]:
    """Return what the last name of each path suggests, where no column says so; else left out."""
    # which of them make rows of a record is for a person to say
    single = [path for path in sorted(paths, reverse=True) if not is_spread(path)]
    by_name = {last_name(path): path for path in single}
    taken = set(guess.values())
    guessed = importer.guess(list(by_name), target)
    return dict.fromkeys(sorted(paths), LEAVE_OUT) | {
        by_name[name]: field
        for name, field in guessed.items()
        if field and field != LEAVE_OUT and field not in taken and "_of_this_" not in field
    }


_ENCODING_NAMES = {label for label, _ in ENCODINGS.values()}


def _ask(question: Question) -> Decision:
    more = len(question.examples) - _LISTED
    return Decision(
        question.key, question.text, choices=_list_choices(question),
        rows=[*question.examples[:_LISTED], *([f"and {more:,} more"] if more > 0 else [])],
        around=[[*line] for line in question.around],
        columns=[*question.columns], proposed=question.proposed,
    )  # fmt: skip


def _list_choices(question: Question) -> list[list[Any]]:
    return [[*choice, ""][:3] for choice in question.choices]


def _ask_encoding(fault: Fault) -> list[Decision]:
    """Of a file that isn't UTF-8 only its reader can tell in which encoding it looks right."""
    if not fault.readings:
        return []
    choices = [[name, "{} ({})".format(*ENCODINGS[name]), words] for name, words in fault.readings]
    text = "Choose the characters with which these words look right."
    return [Decision("encoding", "The file isn't UTF-8", text, choices=choices)]


def _read_rows(
    importer: Importer,
    checked: Checked,
    table: Table,
    target: Target,
    options: Mapping[str, Any],
    tell: Callable[[int], None] | None,
) -> None:
    reader: Reader | None = None
    if checked.faults:
        # the header is wrong: the rows are only counted, and looked at to the end of the file
        checked.remarks = importer.check_columns(checked)
    else:
        reader = importer.make_reader(checked, target, options)
    try:
        for row in table.rows:
            _count(checked, row, tell)
            if reader is not None:
                reader.add(row)
    finally:
        # also of a file that breaks off: the faults before it are reported too
        if reader is not None:
            reader.close()
    if reader is None:
        return
    if not checked.rows:
        raise Refused("no_rows", "The file has no rows under its header.")
    reader.finish()


def _count(checked: Checked, row: Row, tell: Callable[[int], None] | None) -> None:
    if not checked.rows:
        cells = zip(checked.header, row.cells, strict=False)
        checked.samples = {
            name: cell for name, cell in cells if checked.mapping.get(name) != LEAVE_OUT
        } | checked.path_samples
    checked.rows += 1
    if tell is not None and checked.rows % _TELL_EVERY == 0:
        tell(checked.rows)


def describe(importer: Importer, checked: Checked, target: Target) -> Report:
    groups = group_faults(checked.faults)
    return Report(
        encoding=checked.encoding,
        delimiter=checked.delimiter,
        rows=checked.rows,
        header=[column for column in checked.header if column in checked.mapping],
        mapping=checked.mapping,
        samples={name: text[:_SAMPLE] for name, text in checked.samples.items()},
        notes=checked.notes,
        fault_count=len(checked.faults),
        faults=[[group.place, group.message, group.code] for group in groups[:FAULTS_SHOWN]],
        faults_left=sum(group.count for group in groups[FAULTS_SHOWN:]),
        remarks=[str(remark) for remark in checked.remarks],
        decisions=[asdict(decision) for decision in checked.decisions],
        import_notes=checked.import_notes,
        is_importable=checked.is_importable,
        files=[asdict(file) for file in checked.files],
        joined=checked.joined,
        kept=checked.kept,
        renamed_columns=checked.renamed_columns,
        first_columns=checked.first_columns,
        first_rows=_show_first_rows(checked),
        surroundings=checked.surroundings,
        summary=importer.summarise(checked, target),
    )


def _show_first_rows(checked: Checked) -> list[list[Any]]:
    """Return the first rows without what is left out, which may be personal."""
    used = [name for name, field in checked.mapping.items() if field != LEAVE_OUT]
    hidden = {
        number
        for number, column in enumerate(checked.first_columns)
        if checked.mapping.get(column) == LEAVE_OUT
        and not any(name.startswith((f"{column}.", f"{column}[")) for name in used)
    }
    return [
        [line, ["…" if number in hidden else cell for number, cell in enumerate(cells)]]
        for line, cells in checked.first_rows
    ]


def list_faults(faults: Sequence[Fault]) -> str:
    """Return all faults as CSV, to work through them in a spreadsheet."""
    rows = [
        (fault.line, fault.record, guard_cell(fault.column), guard_cell(fault.message))
        for fault in faults
    ]
    return write_rows([("line", "record", "column", "fault"), *rows])


# --- files on the server ----------------------------------------------------------------


def read_header(
    importer: Importer,
    path: Path,
    *,
    target: Target,
    file_name: str,
    limits: Limits | None = None,
    mapping: FileMapping | None = None,
) -> list[str]:
    """Return the names of a file's columns and its paths; nothing if it can't be read.

    Those that are mapped need not be in the first rows.
    """
    mapping = mapping or FileMapping()
    asked = mapping.fields
    options = {
        **mapping.options,
        CHOSEN: asked,
        AS_TABLE: not importer.takes_outputs,
        TAKES_ALIKE: importer.takes_alike,
    }
    try:
        with path.open("rb") as source:
            table = open_table(source, limits=limits, options=options, file_name=file_name)
            before = list(table.header)
            table = importer.prepare(table, target, mapping)
            PathColumns(table, peek(table), asked, list_known(importer, target, asked))
            names = dict.fromkeys(name.strip() for name in (*before, *table.header))
            return [*names, *table.sources]
    except Refused:
        return []


def import_path(
    importer: Importer,
    *,
    study: Study,
    path: Path,
    by: Any,
    mapping: FileMapping | None = None,
) -> Any:
    """Import the file at this path into the study. Raise ValidationError with its faults."""
    sha256, mapping = hash_file(path), mapping or FileMapping()
    if earlier := importer.find_same(study, sha256):
        return earlier
    with path.open("rb") as opened:
        checked = check_source(
            importer,
            opened,
            target=aim_at_study(study),
            mapping=mapping,
            file_name=name_on_disk(path),
        )
    if checked.faults:
        raise ValidationError([str(fault) for fault in checked.faults])
    source = Source(study=study, file_name=path.name, sha256=sha256, options=mapping.options)
    return importer.store(checked, source, by=by)


def name_on_disk(path: Path) -> str:
    """Return the name of a file behind that of its folder, as tools name systems by either."""
    return "/".join(path.resolve().parts[-2:]).lstrip("/")


def hash_file(path: Path) -> str:
    with path.open("rb") as source:
        return file_digest(source, "sha256").hexdigest()


# --- rows of the database -----------------------------------------------------------------


_INSERTED_AT_ONCE = 500  # rows of a statement


def insert_rows(
    model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> list[int]:
    """Insert values of these fields as the database takes them; return the ids in order.

    Objects of models would take several times as long.

    JSON comes as text, and a UUID as its `hex`, which both databases read.
    """
    quote = connection.ops.quote_name
    fields = {field.name: field for field in model._meta.concrete_fields}
    columns = ", ".join(quote(str(fields[name].column)) for name in names)
    head = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES "  # noqa: S608 (names)
    marks = f"({', '.join(['%s'] * len(names))})"
    ids: list[int] = []
    rest = iter(rows)
    with connection.cursor() as cursor:
        while page := list(islice(rest, _INSERTED_AT_ONCE)):
            statement = f"{head}{', '.join([marks] * len(page))} RETURNING id"
            cursor.execute(statement, [value for row in page for value in row])
            # in the order of the rows: both databases number them as they come
            ids += sorted(pk for (pk,) in cursor.fetchall())
    return ids
