"""Read bundles from anywhere: nothing is unpacked, and what could do harm is refused."""

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import IO, Any, TypeVar

from django.conf import settings

from evalsite.data.bundle.fields import InvalidField, read_fields, read_text, read_whole
from evalsite.data.bundle.format import (
    ANALYSIS_PLAN,
    ANNOTATION_ROWS,
    BUILT,
    CHECKSUMS,
    CODEBOOK,
    DATAPACKAGE,
    EXCLUSION_ROWS,
    FIRST_VERSION,
    FORMAT,
    FORMAT_VERSION,
    ITEM_ROWS,
    LEFT_OUT_COUNTS,
    METRIC_ROWS,
    PEOPLE_ROWS,
    PLAN,
    STUDY,
    STUDY_FIELDS,
    STUDY_FIELDS_IF_ANY,
    name_data,
    write_checksums,
)
from evalsite.data.bundle.tables import LISTS, LISTS_IF_ANY
from evalsite.instruments.bundle_format_2 import read_criteria, read_stored
from evalsite.instruments.checks import check_instrument
from evalsite.instruments.installed import find_folder
from evalsite.instruments.scales import get_scale
from evalsite.instruments.schema import FORMAT as INSTRUMENT_FORMAT
from evalsite.lib.limited import (
    BROKEN_ZIP,
    VALUES_IN_FILE,
    ZIP_DEFLATED,
    ZIP_STORED,
    TooMuch,
    ZipFile,
    ZipInfo,
    make_decoder,
    open_zip,
    read_cells,
    read_json,
)
from evalsite.studies.instruments import find_faults
from evalsite.studies.items import are_unused_numbers
from evalsite.studies.models import Study
from evalsite.studies.questions import check_own_examples, check_own_questions

Plain = dict[str, Any]
_T = TypeVar("_T")

MOST_FILES = 1_000
MOST_BYTES = 1024**3
# bundles of real studies unpack to about ten times their size
MOST_RATIO = 20
# a small bundle may be as repetitive as it likes
_SMALL = 1024**2
# texts that are held whole, and one line of records
MOST_TEXT = 64 * 1024**2
_BLOCK = 256 * 1024
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_ENCRYPTED = 0x1
# what data of another shape raise when they are read
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError)
_MOST_FAULTS = 3
_LONGEST = 60
_ALWAYS = {CHECKSUMS, STUDY, CODEBOOK, DATAPACKAGE, ANALYSIS_PLAN, PLAN, ITEM_ROWS}
_WITH_DATA = {PEOPLE_ROWS, ANNOTATION_ROWS, EXCLUSION_ROWS, METRIC_ROWS} | {
    name_data(name) for name in ("ratings", "annotations", "participants", "exclusions")
}
# what the standard library raises while it reads an archive that was tampered with
_BROKEN = BROKEN_ZIP


@dataclass(frozen=True)
class Fault:
    """What is wrong with a bundle, with the file and its line where they are known."""

    code: str
    message: str
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line:,}"
        return f"{place}: {self.message}" if place else self.message


class BadBundle(Exception):
    """The bundle can't be read or stored."""

    def __init__(self, code: str, message: str, file: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.fault = Fault(code, message, file, line)

    def __str__(self) -> str:
        return str(self.fault)


@dataclass(frozen=True)
class Row:
    """One line of JSON, with its place."""

    file: str
    line: int
    values: Plain


class Bundle:
    """An archive whose directory was checked and found harmless."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self.names = [info.filename for info in archive.infolist()]
        self.size = sum(info.file_size for info in archive.infolist())

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file as a stream, which gives no more than the directory says."""
        if name not in self.names:
            raise BadBundle("file_missing", f"{name} is missing.")
        try:
            with self._archive.open(name) as file:
                yield file
        except _BROKEN as error:
            raise BadBundle("archive_damaged", f"The file can't be read: {error}", name) from None

    def read_text(self, name: str) -> str:
        with self.open(name) as file:
            data = file.read(MOST_TEXT + 1)
        if len(data) > MOST_TEXT:
            raise BadBundle("too_large", f"It is larger than {MOST_TEXT // 1024**2} MB.", name)
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise BadBundle("not_utf8", "It isn't UTF-8.", name) from None

    def read_json(self, name: str) -> Any:
        return parse_json(self.read_text(name), name)

    def read_rows(self, name: str) -> Iterator[Row]:
        """Read a file with one JSON object a line; nothing if it isn't there."""
        if name not in self.names:
            return
        with self.open(name) as file:
            number = 0
            while line := file.readline(MOST_TEXT):
                number += 1
                if not line.endswith(b"\n"):
                    raise BadBundle("line_cut_off", "The line has no end.", name, number)
                row = parse_json(line, name, number)
                if not isinstance(row, dict):
                    raise BadBundle("json_shape", "This isn't a JSON object.", name, number)
                yield Row(name, number, row)

    def read_table(self, name: str) -> Iterator[list[str]]:
        """Read the rows of a CSV file, header first, each as long as the header."""
        # process-wide in Python, so it is set to the same number each time
        csv.field_size_limit(settings.UPLOAD_MAX_CELL)
        with self.open(name) as file:
            reader = read_cells(io.TextIOWrapper(file, "utf-8", newline=""))
            try:
                header: list[str] = next(reader, [])
                yield header
                for row in reader:
                    if len(row) != len(header):
                        raise BadBundle(
                            "row_width",
                            f"{len(row)} cells, but the header has {len(header)}.",
                            name,
                            reader.line_num,
                        )
                    yield row
            except (csv.Error, TooMuch) as error:
                raise BadBundle("csv_invalid", f"{error}.", name, reader.line_num) from None


def in_pages(rows: Iterable[_T], size: int = 500) -> Iterator[list[_T]]:
    """Split rows into lists of this size."""
    iterator = iter(rows)
    while page := list(islice(iterator, size)):
        yield page


def parse_json(text: str | bytes, file: str, line: int | None = None) -> Any:
    try:
        return read_json(text, most_values=VALUES_IN_FILE, decoder=_DECODER)
    except ValueError:
        raise BadBundle("json_invalid", "This isn't JSON that can be read.", file, line) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


_DECODER = make_decoder(parse_constant=_refuse_constant)


@contextmanager
def open_bundle(file: IO[bytes]) -> Iterator[Bundle]:
    """Open an archive whose directory promises nothing harmful; else BadBundle."""
    try:
        archive = open_zip(file)
    except _BROKEN:
        raise BadBundle(
            "archive_damaged", "This isn't a .zip archive, or part of it is missing."
        ) from None
    with archive:
        _check_directory(archive.infolist(), packed=file.seek(0, os.SEEK_END))
        yield Bundle(archive)


def _check_directory(infos: list[ZipInfo], *, packed: int) -> None:
    """Refuse what the directory of an archive of so many bytes mustn't say."""
    if len(infos) > MOST_FILES:
        raise BadBundle(
            "too_many_files",
            f"The archive has {len(infos):,} files. A bundle has at most {MOST_FILES:,}.",
        )
    names = Counter(info.filename.lower() for info in infos)
    if twice := next((name for name, count in names.items() if count > 1), ""):
        raise BadBundle("file_twice", f"The archive has {twice!r} twice.")
    for info in infos:
        _check_entry(info)
    total = sum(info.file_size for info in infos)
    if total > MOST_BYTES:
        raise BadBundle(
            "too_large", f"Unpacked, the archive has {total:,} bytes, more than {MOST_BYTES:,}."
        )
    if total > max(_SMALL, MOST_RATIO * packed):
        raise BadBundle(
            "archive_bomb",
            f"Unpacked, the archive has {total:,} bytes, more than {MOST_RATIO} times its size.",
        )


def _check_entry(info: ZipInfo) -> None:
    name = info.filename
    # a NUL in a name ends it for some programs, and not for others
    if info.orig_filename != name or not _NAME.fullmatch(name):
        raise BadBundle(
            "file_name", f"The archive has a file named {name!r}. Bundles don't use such names."
        )
    if info.flag_bits & _ENCRYPTED:
        raise BadBundle("encrypted", f"{name} is encrypted. Bundles never are.")
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise BadBundle("compression", f"{name} is compressed in a way that bundles don't use.")


# --- checksums ----------------------------------------------------------------------------


def read_checksums(bundle: Bundle) -> dict[str, str]:
    """Return the SHA-256 of each file as the bundle lists it, by name."""
    sums = {}
    for line in bundle.read_text(CHECKSUMS).removesuffix("\n").split("\n"):
        digest, _, name = line.partition("  ")
        sums[name] = digest
    return sums


def check_checksums(bundle: Bundle) -> Iterator[Fault]:
    """Find files that differ from their checksum, are missing, or aren't listed."""
    listed = read_checksums(bundle)
    sums = {}
    for name in sorted(set(bundle.names) - {CHECKSUMS}):
        if name not in listed:
            yield Fault("file_not_listed", f"{name} isn't listed in {CHECKSUMS}.")
            continue
        try:
            sums[name] = _hash(bundle, name)
        except BadBundle as error:
            yield error.fault
            continue
        if sums[name] != listed[name]:
            yield Fault("checksum", f"It was changed: {CHECKSUMS} has another SHA-256.", name)
    for name in sorted(listed.keys() - set(bundle.names)):
        yield Fault("file_missing", f"{name} is listed in {CHECKSUMS}, but missing.")
    # every character of it counts, not only what was read of it above
    if sums == listed and write_checksums(sums) != bundle.read_text(CHECKSUMS):
        yield Fault("checksum", f"{CHECKSUMS} isn't written as Evalsite writes it.")


def _hash(bundle: Bundle, name: str) -> str:
    digest = sha256()
    with bundle.open(name) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


# --- study.json ---------------------------------------------------------------------------


def read_about(bundle: Bundle) -> Plain:
    """Return study.json, checked; BadBundle if it can't be that of a bundle."""
    about = bundle.read_json(STUDY)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise BadBundle("not_a_bundle", "It doesn't say that this is a bundle of Evalsite.", STUDY)
    number = about.get("format_version")
    if type(number) is not int or not FIRST_VERSION <= number <= FORMAT_VERSION:
        raise BadBundle(
            "format_unknown",
            f"This bundle has format {str(number)[:_LONGEST]}, made by Evalsite "
            f"{str(about.get('software'))[:_LONGEST]}. "
            f"This Evalsite reads formats {FIRST_VERSION} to {FORMAT_VERSION}.",
        )
    try:
        needed = _ALWAYS | _WITH_DATA if about["has_data"] else _ALWAYS
        _complete(about)
        _check_about(about)
    except InvalidField as error:
        raise BadBundle("study_invalid", f"{error}.", STUDY) from None
    except UNREADABLE:
        raise BadBundle(
            "study_invalid", "Something is missing or has the wrong type.", STUDY
        ) from None
    if missing := sorted(needed - set(bundle.names)):
        raise BadBundle("file_missing", f"{missing[0]} is missing.")
    return about


def _complete(about: Plain) -> None:
    """Add what study.json of today's format has and older ones, or most bundles, leave out."""
    study = about["study"]
    study.setdefault(BUILT, None)
    if "checks_per_person" not in study:
        # older ones say after how many items of a set a check comes
        every = study["check_every"]
        study["checks_per_person"] = study["set_size"] // every if every else 0
    empty = Study()
    for name in STUDY_FIELDS_IF_ANY:
        study.setdefault(name, getattr(empty, name))


def _check_about(about: Plain) -> None:
    # a bundle that says nothing about entry answers has them, and names
    flags = {"has_entry_answers": True, "is_anonymous": False, "is_masked": False} | about
    for name in ("has_data", "has_free_text", "has_entry_answers", "is_anonymous", "is_masked"):
        if not isinstance(flags[name], bool):
            raise InvalidField(f"{name} can't be {flags[name]!r}")
    _check_left_out(about.get(LEFT_OUT_COUNTS))
    study = about["study"]
    _check_study(study)
    for name, rows in LISTS.items():
        for row in study.get(name, []) if name in LISTS_IF_ANY else study[name]:
            rows.read(row)
    numbers = [version["number"] for version in study["versions"]]
    is_draft = study["launched_at"] is None
    is_known = study["version"] in numbers or (is_draft and study["version"] is None)
    if not is_known or numbers != sorted(set(numbers)):
        raise InvalidField("versions aren't numbered one after another")
    read_text(about["software"])
    if not all(isinstance(data, dict) for data in (about["counts"], about["instrument"])):
        raise InvalidField("counts or instrument have the wrong type")


def _check_study(study: Plain) -> None:
    read_fields(Study, ("id", *STUDY_FIELDS), study)
    if not are_unused_numbers(study["unused_numbers"]):
        raise InvalidField("unused_numbers aren't pairs of whole numbers in order")
    if faults := check_own_questions(study["questions"]):
        raise InvalidField(str(faults[0]))


def _check_left_out(counts: Plain | None) -> None:
    names = ("participants", "annotations")
    if counts is not None and any(read_whole(counts[name]) < 0 for name in names):
        raise InvalidField("left_out can't be negative")


# --- instruments --------------------------------------------------------------------------


def check_criteria(instrument: Mapping[str, Any]) -> None:
    """Refuse criteria that can't be read here; their protocol needn't be installed."""
    try:
        for criterion in instrument["criteria"]:
            _check_kind(criterion["scale"]["kind"])
        _check_format(instrument, "hooks_not_allowed")
        read_criteria(instrument)
    except UNREADABLE:
        raise _unreadable() from None


def check_built(plain: Mapping[str, Any]) -> None:
    """Refuse an instrument that can't have been built on the web."""
    if faults := find_faults(plain[BUILT]):
        listed = "; ".join(str(fault) for fault in faults[:_MOST_FAULTS])
        message = f"The instrument of this study isn't valid: {listed}."
        raise BadBundle("instrument_invalid", message, STUDY)


def check_instrument_of(data: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
    """Refuse an instrument that this study can't have.

    It may call what the installed protocol calls, and nothing else; one that was built may call
    nothing.
    """
    protocol = plain["protocol"]
    try:
        _check_format(data)
        instrument = read_stored(data, protocol)
    except UNREADABLE:
        raise _unreadable() from None
    if instrument.key != protocol:
        raise BadBundle(
            "instrument_foreign",
            f"The instrument is that of “{instrument.key[:_LONGEST]}”, not of “{protocol}”.",
        )
    if faults := check_own_examples(instrument, plain["questions"]):
        raise BadBundle("instrument_invalid", f"An example of the study isn't valid: {faults[0]}.")
    is_built = plain[BUILT] is not None
    allowed = frozenset[str]() if is_built else find_folder(protocol).instrument.hook_names
    if unknown := instrument.hook_names - allowed:
        raise BadBundle(
            "hooks_not_allowed",
            f"The instrument calls functions that “{protocol}” here doesn't: {min(unknown)}.",
        )


def _check_kind(kind: Any) -> None:
    try:
        get_scale(kind)
    except LookupError:
        raise BadBundle(
            "scale_unknown",
            f"This bundle uses the question type “{str(kind)[:_LONGEST]}”, which isn't installed "
            "on this site. Install it, then try again.",
        ) from None


def _check_format(instrument: Mapping[str, Any], *allowed: str) -> None:
    """Refuse an instrument with faults of other codes than these; format 2 has none."""
    if instrument.get("format") != INSTRUMENT_FORMAT:
        return
    faults = [fault for fault in check_instrument(instrument) if fault.code not in allowed]
    if faults:
        listed = "; ".join(str(fault) for fault in faults[:_MOST_FAULTS])
        code = (
            "hooks_not_allowed" if faults[0].code == "hooks_not_allowed" else "instrument_invalid"
        )
        raise BadBundle(code, f"An instrument in this bundle isn't valid: {listed}.")


def _unreadable() -> BadBundle:
    return BadBundle(
        "instrument_invalid",
        "An instrument in this bundle can't be read: something is missing or has the wrong type.",
    )
