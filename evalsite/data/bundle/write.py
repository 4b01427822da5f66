"""Write a study as a bundle: all files of one moment in one archive, the same bytes each time."""

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import file_digest
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.conf import settings
from django.core.exceptions import ValidationError

import evalsite
from evalsite.data.bundle.codec import Writer
from evalsite.data.bundle.data_package import Credits, describe_package
from evalsite.data.bundle.format import (
    ANALYSIS_PLAN,
    CHANGE_ROWS,
    CHECKSUMS,
    CODEBOOK,
    CODEBOOK_PAGE,
    DATAPACKAGE,
    DRAFT,
    DRAFT_CONTENT,
    EXCLUSION_COLUMNS,
    EXCLUSION_ROWS,
    EXCLUSIONS,
    FORMAT,
    FORMAT_VERSION,
    ITEM_ROWS,
    JUDGE_ROWS,
    LEFT_OUT_COUNTS,
    MQM_FILE,
    OWN_FILES,
    PLAN,
    PLAN_COLUMNS,
    PLAN_LINES,
    README,
    REPORT,
    REPORT_SOURCES,
    SOFTWARE_FIELDS,
    STUDY,
    WITHOUT_DATA,
    BundleReport,
    Column,
    Contents,
    dump,
    hash_columns,
    name_data,
    name_version,
    write_checksums,
)
from evalsite.data.bundle.read import Fault
from evalsite.data.bundle.readme import (
    list_all_chapters,
    write_codebook_page,
    write_instructions,
    write_readme,
    write_scales,
    write_texts,
)
from evalsite.data.bundle.serialize import (
    Plain,
    count_left_out,
    list_counts,
    read_places,
    read_plan,
    read_study,
)
from evalsite.data.bundle.tables import TABLES
from evalsite.data.bundle.verify import run_child
from evalsite.data.files.codebook import write_chapters
from evalsite.data.files.columns import MQM, list_downloads_of, list_files_of, write_time
from evalsite.data.files.rows import AnswerReader
from evalsite.data.files.scripts import read_scripts
from evalsite.data.files.selection import Selection, shared
from evalsite.data.files.services import TABBED, Choice, write_file, write_tabbed
from evalsite.data.fsck import is_in_progress
from evalsite.decisions.plan_commitment import list_lines
from evalsite.lib.csv_writer import write_csv
from evalsite.lib.limited import VALUES_IN_FILE, read_cells, read_json
from evalsite.lib.transactions import consistent_cut
from evalsite.people.models import Participant
from evalsite.studies.models import Study
from evalsite.studies.versions import build_content, shown_content

# the earliest day an archive can have, so that the bytes don't depend on the day
_DATE = (1980, 1, 1, 0, 0, 0)
_READABLE = 0o644 << 16
_UNIX = 3
_BLOCK = 256 * 1024
_MUCH_OF_MQM = 256 * 1024
# in the folder of a scratch database: how a copy differs, and the copy
WISH, COPY = "wish.json", "copy.zip"

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Packed:
    """What an archive holds."""

    sha256: str
    size: int
    files: int
    ratings: int


def write_bundle(
    study_id: UUID,
    contents: Contents,
    target: IO[bytes],
    progress: Progress = lambda done, total: None,
) -> Packed:
    """Write the archive into `target`, which must be open for reading too."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    # beside the database: /tmp is memory on many machines
    with TemporaryDirectory(dir=settings.DATA_DIR, prefix="tmp-bundle-") as path:
        folder = Folder(Path(path))
        ratings = write_files(study_id, contents, folder, progress)
        files = len(folder.files)
        if is_partial(study_id, contents) and (report := _find_report(study_id)):
            _add_report(folder, report, target)
            files += 1
        else:
            pack_folder(folder, target)
    return measure(target, files=files, ratings=ratings)


def is_partial(study_id: UUID, contents: Contents) -> bool:
    """Return whether the bundle lacks people whose answers are in the study's report."""
    study = Study.objects.get(pk=study_id)
    people = Participant.objects.filter(study=study, is_pilot=False).exclude(shared())
    return contents.has_data and select_answers(study, contents).only_shared and people.exists()


def _find_report(study_id: UUID) -> BundleReport | None:
    study = Study.objects.select_related("version").get(pk=study_id)
    reports = (source.find(study, "") for source in REPORT_SOURCES)
    return next(reports, None)


def _add_report(folder: "Folder", team: BundleReport, target: IO[bytes]) -> None:
    """Write the archive with the report of the answers in it, computed in a scratch database."""
    plain = read_json((folder.path / STUDY).read_bytes(), most_values=VALUES_IN_FILE)
    basis = team.figures["basis"] | {"not_sharing": plain[LEFT_OUT_COUNTS]["participants"]}
    wish = {"basis": basis, "team": team.computed}
    with (
        TemporaryDirectory(dir=settings.DATA_DIR, prefix="tmp-report-") as path,
        TemporaryFile(dir=settings.DATA_DIR) as source,
    ):
        pack_folder(folder, source)
        copy_in_child(source, Path(path), wish, target)


def copy_in_child(source: IO[bytes], folder: Path, wish: Plain, target: IO[bytes]) -> None:
    """Write a bundle once more, from the rows that a scratch database holds of it.

    `wish` says how the copy differs (copy.py). ValidationError if it can't be made.
    """
    size = source.seek(0, SEEK_END)
    source.seek(0)
    (folder / WISH).write_text(json.dumps(wish), encoding="utf-8")
    failure = run_child(source, folder, size=size, task="copy")
    if failure is None:
        faults = read_json((folder / "findings.json").read_bytes())["faults"]
        failure = " ".join(str(Fault(*fault)) for fault in faults)
    if failure:
        raise ValidationError(failure, code="copy_failed")
    with (folder / COPY).open("rb") as made:
        shutil.copyfileobj(made, target)


def measure(target: IO[bytes], *, files: int, ratings: int) -> Packed:
    """Return what an archive holds, with its size and its SHA-256; go to its beginning."""
    target.seek(0)
    digest = file_digest(target, "sha256").hexdigest()  # type: ignore[arg-type]
    size = target.tell()
    target.seek(0)
    return Packed(digest, size, files, ratings)


def write_files(
    study_id: UUID,
    contents: Contents,
    folder: "Folder",
    progress: Progress = lambda done, total: None,
    *,
    left_out: Plain | None = None,
    find_report: Callable[[Study, str], BundleReport | None] | None = None,
) -> int:
    """Write every file of the bundle into a folder; return how many ratings there are.

    `left_out`: how many were left out before, where the study is that of a bundle.
    `find_report`: returns the report for ratings of this SHA-256; by default, that of the study.
    """
    report: BundleReport | None = None
    with consistent_cut():
        # read here, so that it is of the same moment as all rows
        study = Study.objects.select_related("version").get(pk=study_id)
        _check_places_at_rest(study)
        counts, plain = _write_rows(study, contents, folder)
        left_out = left_out or count_left_out(study, contents)
        plan, lines = read_plan(study), list_lines(study)
        if contents.has_data and not (left_out is None and is_partial(study_id, contents)):
            _, digest = folder.files[name_data("ratings")]
            finders = [find_report] if find_report else [source.find for source in REPORT_SOURCES]
            report = next((find(study, digest) for find in finders), None)
        planned = ""
        if report is None:
            plans = (
                source.write_plan(study, has_data=contents.has_data) for source in REPORT_SOURCES
            )
            planned = "".join(plans)
    if report is not None:
        folder.write_json(REPORT, report.figures)
    progress(1, 3)
    folder.write_json(ANALYSIS_PLAN, plan)
    if lines:
        folder.write(PLAN_LINES, "".join(f"{line}\n" for line in lines))
    _describe(study, plain, counts, contents, folder, plan, planned, left_out, report)
    progress(2, 3)
    return int(counts["ratings"])


def _check_places_at_rest(study: Study) -> None:
    """Refuse while a job creates or deletes places: the plan would be half of each."""
    if is_in_progress(study):
        raise ValidationError(
            "The places of this study are being created or changed right now, or that job has "
            "stopped halfway. Make the bundle once it is done.",
            code="places_in_progress",
        )


class Folder:
    """Files to be packed, each with its size and its SHA-256."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, tuple[int, str]] = {}

    @contextmanager
    def create(self, name: str) -> Iterator[IO[bytes]]:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w+b") as file:
            yield file
            file.seek(0)
            self.files[name] = (path.stat().st_size, file_digest(file, "sha256").hexdigest())

    def write(self, name: str, text: str) -> None:
        with self.create(name) as file:
            file.write(text.encode())

    def write_json(self, name: str, data: Any) -> None:
        """Write JSON that people can read too: one value a line."""
        text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)
        self.write(name, text + "\n")

    def write_rows(self, name: str, rows: Iterable[Plain]) -> None:
        """Write one JSON object a line."""
        with self.create(name) as file:
            for row in rows:
                file.write(dump(row).encode() + b"\n")

    def write_table(
        self, name: str, columns: Iterable[Column], rows: Iterable[Iterable[Any]]
    ) -> None:
        with self.create(name) as file, _as_text(file) as text:
            write_csv(text, [[column.name for column in columns]])
            write_csv(text, rows)


# --- inside the cut -----------------------------------------------------------------------


def _write_rows(study: Study, contents: Contents, folder: Folder) -> tuple[Plain, Plain]:
    """Write all rows from the database; return counts, and the study as plain data."""
    writer = Writer(study, contents)
    plain = read_study(writer)
    for name, rows in TABLES.items():
        if contents.has_data or name in (ITEM_ROWS, CHANGE_ROWS):
            records: Iterable[Plain] = writer.write(rows)
            if name == EXCLUSION_ROWS:
                records = list(records)
                folder.write_table(EXCLUSIONS, EXCLUSION_COLUMNS, _format_exclusions(records))
            folder.write_rows(name, records)
    for name in (CHANGE_ROWS, JUDGE_ROWS):
        if name in folder.files and not folder.files[name][0]:
            del folder.files[name]
    folder.write_table(PLAN, PLAN_COLUMNS, read_places(writer))
    for name in list_files_of(study):
        if contents.has_data or name in WITHOUT_DATA:
            with folder.create(name_data(name)) as file:
                write_data(study, name, contents, file)
    if contents.has_data and study.config.marks_texts:
        with folder.create(MQM_FILE) as file:
            _write_mqm(study, contents, file)
        # it repeats the texts for each error: a long one would make the bundle look like a trap
        size, total = folder.files[MQM_FILE][0], sum(size for size, _ in folder.files.values())
        if size > max(_MUCH_OF_MQM, total - size):
            del folder.files[MQM_FILE]
    for version in study.versions.all():
        # not a character more, so that the file has the SHA-256 of the version
        folder.write(name_version(version.number), dump(version.content))
        _write_shown(version.number, version.content, folder)
    if not plain["versions"]:
        shown = build_content(study)
        folder.write(name_version(DRAFT, DRAFT_CONTENT), dump(shown))
        _write_shown(DRAFT, shown, folder)
    return list_counts(writer), plain


def _write_shown(name: int | str, content: Plain, folder: Folder) -> None:
    """Write what participants are shown as files to read."""
    folder.write(name_version(name, "instructions.md"), write_instructions(content))
    folder.write(name_version(name, "scales.md"), write_scales(content))
    folder.write(name_version(name, "start.md"), write_texts(content))


def _format_exclusions(exclusions: Iterable[Plain]) -> Iterator[list[Any]]:
    for exclusion in exclusions:
        cells = [exclusion[column.name] for column in EXCLUSION_COLUMNS]
        times = {"decided_at", "revoked_at"}
        yield [
            write_time(datetime.fromisoformat(cell))
            if column.name in times and cell is not None
            else cell
            for column, cell in zip(EXCLUSION_COLUMNS, cells, strict=True)
        ]


def select_answers(study: Study, contents: Contents) -> Selection:
    """Return which answers the bundle holds, if it holds any."""
    return Selection(
        only_shared=contents.is_public and study.asks_to_share, is_masked=contents.is_masked
    )


def write_data(study: Study, name: str, contents: Contents, file: IO[bytes]) -> None:
    """Write an exported file; free text only if it is asked for."""
    columns = list_downloads_of(study)[name]
    withheld = {column.name: column.withheld for column in columns if column.withheld is not None}
    selection = select_answers(study, contents)
    choice = Choice(file=name, only_shared=selection.only_shared, is_masked=selection.is_masked)
    if contents.has_free_text or not withheld:
        write_file(study, choice, file)
        return
    with TemporaryFile(dir=settings.DATA_DIR) as whole:
        write_file(study, choice, whole)
        whole.seek(0)
        _withhold(whole, file, withheld)


def _write_mqm(study: Study, contents: Contents, file: IO[bytes]) -> None:
    """Write the errors as WMT has them; notes only if free text is asked for."""
    chosen = select_answers(study, contents)
    choice = Choice(file=TABBED, only_shared=chosen.only_shared, is_masked=chosen.is_masked)
    reader = AnswerReader(study, choice.selection)
    for block, _count in write_tabbed(MQM, reader.read_mqm(has_words=contents.has_free_text)):
        file.write(block)


def _withhold(source: IO[bytes], target: IO[bytes], withheld: Mapping[str, str]) -> None:
    """Copy a table, with something else in place of the words that people wrote."""
    csv.field_size_limit(settings.UPLOAD_MAX_CELL)
    with _as_text(source) as lines, _as_text(target) as text:
        reader = read_cells(lines)
        header = next(reader)
        places = {at: withheld[name] for at, name in enumerate(header) if name in withheld}

        def withhold(row: list[str]) -> list[str]:
            for place, words in places.items():
                row[place] = words if row[place] else ""
            return row

        write_csv(text, [header])
        write_csv(text, map(withhold, reader))


@contextmanager
def _as_text(file: IO[bytes]) -> Iterator[io.TextIOWrapper]:
    """Wrap a file as text, and leave it open."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        yield text
    finally:
        text.detach()


# --- outside it -----------------------------------------------------------------------------


def _describe(
    study: Study, plain: Plain, counts: Plain, contents: Contents, folder: Folder, plan: Plain,
    planned: str, left_out: dict[str, int] | None, report: BundleReport | None,
) -> None:  # fmt: skip
    """Write the files that describe the others, checksums last."""
    chapters = list_all_chapters(study)
    folder.write(CODEBOOK, write_chapters(chapters))
    folder.write(CODEBOOK_PAGE, write_codebook_page(chapters, study.title))
    scripts = read_scripts() if contents.has_data else {}
    for name, text in scripts.items():
        folder.write(name, text)
    about = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "software": evalsite.__version__,
        "columns": hash_columns(study),
        **SOFTWARE_FIELDS,
        "has_data": contents.has_data,
        "has_free_text": contents.has_free_text,
        "study": plain,
        # what participants are asked now; a draft has no version that says it
        "instrument": shown_content(study)["instrument"],
        "counts": counts,
    }
    if contents.has_data and not contents.has_entry_answers:
        about["has_entry_answers"] = False
    if left_out is not None:
        about[LEFT_OUT_COUNTS] = left_out
    if contents.is_anonymous:
        about["is_anonymous"] = True
    if contents.is_masked:
        about["is_masked"] = True
    folder.write_json(STUDY, about)
    columns = {
        name_data(name): file_columns for name, file_columns in list_files_of(study).items()
    } | OWN_FILES
    tables = {name: columns[name] for name in sorted(columns) if name in folder.files}
    json_files = {"analysis_plan": ANALYSIS_PLAN, "study": STUDY}
    json_files |= {"report": REPORT} if REPORT in folder.files else {}
    folder.write_json(
        DATAPACKAGE,
        describe_package(plain, Credits.of_study(study), tables, folder.files, json_files),
    )
    names = [Path(name).name for name in tables if name.startswith("data/")]
    names += [Path(MQM_FILE).name] if MQM_FILE in folder.files else []
    folder.write(
        README,
        write_readme(
            plain,
            counts,
            contents,
            names,
            sorted(scripts),
            plan,
            planned=planned,
            free_text=_list_free_text(study),
            report=report,
            has_lines=PLAN_LINES in folder.files,
            left_out=left_out,
        ),
    )
    sums = {name: digest for name, (_, digest) in folder.files.items()}
    folder.write(CHECKSUMS, write_checksums(sums))


def _list_free_text(study: Study) -> list[str]:
    """List the columns that hold what people wrote in their own words, each once."""
    files = list_files_of(study).values()
    withheld = (column for columns in files for column in columns if column.withheld is not None)
    return list(dict.fromkeys(column.name for column in withheld))


def pack_folder(folder: Folder, target: IO[bytes]) -> None:
    """Pack all files in the order of their names, under one date."""
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name in sorted(folder.files):
            info = ZipInfo(name, _DATE)
            info.compress_type = ZIP_DEFLATED
            info.external_attr = _READABLE
            info.create_system = _UNIX
            info.file_size = folder.files[name][0]
            with (folder.path / name).open("rb") as source, archive.open(info, "w") as sink:
                shutil.copyfileobj(source, sink, _BLOCK)
