"""Data out: files that hold exactly what was entered, of one moment, with a checksum in the log."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from itertools import groupby
from operator import attrgetter
from tempfile import TemporaryFile
from typing import IO, Any

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Coalesce, Concat
from django.utils.formats import date_format

from evalsite.core.audit.models import AuditEntry
from evalsite.data.files.columns import (
    NUMBER,
    TEXT,
    TIME,
    WHOLE,
    YES_NO,
    Cell,
    Column,
    list_downloads_of,
)
from evalsite.data.files.rows import (
    AnswerReader,
    Group,
    find_written,
    read_items,
    read_judge_labels,
    read_metrics,
    read_participants,
)
from evalsite.data.files.selection import OUT, Selection
from evalsite.data.files.workbook import write_workbook
from evalsite.data.models import JudgeLabel, MetricScore
from evalsite.data.tables.mqm import write_line
from evalsite.handout.models import Annotation, Rating, RatingQuerySet, RatingsFile
from evalsite.lib.counts import count_together
from evalsite.lib.csv_writer import BYTE_ORDER_MARK, LINE_END, guard_cell, write_rows
from evalsite.lib.transactions import consistent_cut
from evalsite.people.models import Origin
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.summary_lines import count_of, name_of_file

# --- blocks of CSV: exact, or guarded for spreadsheets

_SPECIAL = re.compile('[,"\r\n]').search
# types whose cells never need quotes
_UNQUOTED = frozenset({WHOLE, NUMBER, YES_NO, TIME})
_BLOCK = 256 * 1024
_MOST_KEPT = 4_096  # of what is put together again and again


def write_blocks(
    columns: Sequence[Column], groups: Iterable[Group], *, is_guarded: bool
) -> Iterator[tuple[bytes, int]]:
    """Write a file; yield its blocks, each with the number of rows up to its end."""
    block = [BYTE_ORDER_MARK] if is_guarded else []
    block.append(write_rows([[column.name for column in columns]]))
    size = count = 0
    for lines in write_lines(columns, groups, is_guarded=is_guarded):
        block += lines
        size += len(lines) * len(lines[0])
        count += len(lines)
        if size >= _BLOCK:
            yield "".join(block).encode(), count
            block, size = [], 0
    yield "".join(block).encode(), count


def write_tabbed(columns: Sequence[Column], groups: Iterable[Group]) -> Iterator[tuple[bytes, int]]:
    """Write a file without quotes, its cells separated by tabs; yield blocks as `write_blocks`."""
    cells = [(column.of == "answer", column.get_cell) for column in columns]
    count = 0
    yield write_line([column.name for column in columns]).encode(), 0
    for answer, rows in groups:
        count += len(rows)
        lines = [
            write_line([get(answer if is_shared else row) for is_shared, get in cells])
            for row in rows
        ]
        yield "".join(lines).encode(), count


def write_lines(
    columns: Sequence[Column], groups: Iterable[Group], *, is_guarded: bool = False
) -> Iterator[list[str]]:
    """Write the lines of each group of a file.

    A million rows must be written in seconds, so neighbouring cells are put together as one part:
    once for an annotation if they depend on it alone, and once for each score if on that alone.
    """
    kinds: list[str] = []
    parts: list[Callable[[Any], str]] = []
    for kind, members in groupby(columns, key=attrgetter("of")):
        part = _make_part([*members], is_guarded=is_guarded)
        kinds.append(kind)
        parts.append(_remember(part) if kind == "score" else part)
    shared = [(place, part) for place, part in enumerate(parts) if kinds[place] == "answer"]
    unshared = [(place, part) for place, part in enumerate(parts) if kinds[place] != "answer"]
    texts = [""] * len(parts)
    join = ",".join
    for answer, rows in groups:
        if not rows:
            continue
        for place, part in shared:
            texts[place] = part(answer)
        lines = []
        for row in rows:
            for place, part in unshared:
                texts[place] = part(row)
            lines.append(join(texts) + LINE_END)
        yield lines


def _make_part(columns: Sequence[Column], *, is_guarded: bool) -> Callable[[Any], str]:
    """Return a function that writes these cells of a row, separated by commas."""
    cells = [_get_cell(column, is_guarded=is_guarded) for column in columns]
    join = _join_cells(columns, cells, is_guarded=is_guarded)
    if _UNQUOTED.issuperset(column.type for column in columns):
        return join
    commas = len(cells) - 1

    def write(row: Any) -> str:
        text = join(row)
        if text.count(",") == commas and '"' not in text and "\n" not in text and "\r" not in text:
            return text
        return ",".join([_quote(cell(row)) for cell in cells])

    return write


def _join_cells(columns: Sequence[Column], cells: Sequence[Cell], *, is_guarded: bool) -> Cell:
    """Return a function that joins these cells; neighbouring attributes are read at once."""
    runs: list[Cell] = []
    for is_plain, pairs in groupby(
        zip(columns, cells, strict=True),
        key=lambda pair: pair[0].cell is None and not (is_guarded and pair[0].type == TEXT),
    ):
        run = [*pairs]
        if is_plain and len(run) > 1:
            runs.append(_join_attributes([column.name for column, _ in run]))
        else:
            runs += [cell for _, cell in run]
    if len(runs) == 1:
        return runs[0]
    if len(runs) == 2:
        first, second = runs
        return lambda row: f"{first(row)},{second(row)}"
    return lambda row: ",".join([cell(row) for cell in runs])


def _join_attributes(names: Sequence[str]) -> Cell:
    find = attrgetter(*names)
    return lambda row: ",".join(find(row))


def _get_cell(column: Column, *, is_guarded: bool) -> Cell:
    get_cell = column.get_cell
    if not is_guarded or column.type != TEXT:
        return get_cell
    return lambda row: guard_cell(get_cell(row))


def _quote(text: str) -> str:
    if not _SPECIAL(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _remember(part: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a function of a row that writes these cells of its score, once for each score."""
    known: dict[Hashable, str] = {}

    def find(row: Any) -> str:
        score = row.score
        text = known.get(score)
        if text is None:
            if len(known) >= _MOST_KEPT:
                known.clear()
            text = known[score] = part(score)
        return text

    return find


# --- files

SIMPLE, COMMENTS = "ratings_simple", "comments"
# written as WMT has it, separated by tabs; what isn't excluded, since no column could say so
TABBED = "mqm"
# origins that the page tells
_NAMED = (Origin.SIMULATED, Origin.IMPORTED)
# what the file for a quick look holds: what results count, and beside it, marked, what is excluded
_RESULTS: dict[str, Any] = {
    "status": Annotation.Status.COUNTED,
    "kind": Item.Kind.MAIN,
    "excluded": "",
}

# called with the number of rows written so far
Progress = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class Choice(Selection):
    """Which file a researcher asked for, and how: as CSV, guarded for spreadsheets, or as XLSX."""

    file: str
    for_spreadsheets: bool = False
    is_workbook: bool = False

    def __post_init__(self) -> None:
        if self.file in (SIMPLE, TABBED):
            # decided by the file itself
            for name in _RESULTS:
                object.__setattr__(self, name, "")
            object.__setattr__(self, "with_pilot", False)

    @property
    def selection(self) -> Selection:
        """Which annotations the file holds."""
        if self.file == COMMENTS and not self.kind:
            return replace(self, kind=Item.Kind.MAIN)
        if self.file not in (SIMPLE, TABBED):
            return self
        results = _RESULTS | {"excluded": OUT} if self.file == TABBED else _RESULTS
        return Selection(
            origin=self.origin,
            since=self.since,
            until=self.until,
            only_shared=self.only_shared,
            is_masked=self.is_masked,
            **results,
        )

    @property
    def file_name(self) -> str:
        return f"{self.file}.{self.ending}"

    @property
    def ending(self) -> str:
        if self.is_workbook:
            return "xlsx"
        return "tsv" if self.file == TABBED else "csv"

    @property
    def content_type(self) -> str:
        if self.is_workbook:
            return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        kind = "tab-separated-values" if self.file == TABBED else "csv"
        return f"text/{kind}; charset=utf-8"

    def describe(self) -> dict[str, Any]:
        """Return what is chosen, for the log."""
        return {
            "file": self.file_name,
            "for_spreadsheets": self.for_spreadsheets or self.is_workbook,
            **super().describe(),
        }


@dataclass(frozen=True)
class Written:
    """What a file that was written holds."""

    rows: int
    sha256: str


# --- writing --------------------------------------------------------------------------------


def stream_file(study: Study, choice: Choice, *, by: Any) -> Iterator[bytes]:
    """Return the file as it is at this call; once it is sent, the log says who downloaded what.

    It is written whole before its first byte is sent: a slow download would hold the database's
    snapshot open for as long as it takes.
    """
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    # Beside the database: /tmp is memory on many machines. It has no name on the disk, so nothing
    # is left of it.
    file = TemporaryFile(dir=settings.DATA_DIR)  # noqa: SIM115 (closed once it is sent)
    try:
        with consistent_cut():
            written = write_file(study, choice, file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return _send(study, choice, file, written, by=by)


def _send(
    study: Study, choice: Choice, file: IO[bytes], written: Written, *, by: Any
) -> Iterator[bytes]:
    is_whole = False
    try:
        with file:
            while block := file.read(_BLOCK):
                yield block
        is_whole = True
    finally:
        record_export(study, choice.describe(), written, is_whole=is_whole, by=by)


def write_file(
    study: Study, choice: Choice, file: IO[bytes], *, progress: Progress | None = None
) -> Written:
    """Write the whole file; of one moment if the caller holds a consistent cut.

    A workbook is read again for its checksum, so its file must be open for reading too.
    """
    progress = progress or (lambda rows: None)
    columns = list_downloads_of(study)[choice.file]
    groups = _read(study, choice)
    if choice.is_workbook:
        rows = write_workbook(file, choice.file, columns, groups, progress)
        file.seek(0)
        return Written(rows, file_digest(file, "sha256").hexdigest())  # type: ignore[arg-type]
    digest, rows = sha256(), 0
    if choice.file == TABBED:
        blocks = write_tabbed(columns, groups)
    else:
        blocks = write_blocks(columns, groups, is_guarded=choice.for_spreadsheets)
    for block, rows in blocks:
        digest.update(block)
        file.write(block)
        progress(rows)
    return Written(rows, digest.hexdigest())


def _read(study: Study, choice: Choice) -> Iterator[Group]:
    match choice.file:
        case "items":
            return read_items(study)
        case "participants":
            return read_participants(study, choice)
        case "metrics":
            return read_metrics(study)
        case "judge_labels":
            return read_judge_labels(study)
    reader = AnswerReader(study, choice.selection)
    return {
        SIMPLE: reader.read_simple,
        "ratings": reader.read_ratings,
        "annotations": reader.read_annotations,
        "highlights": reader.read_highlights,
        "comments": reader.read_comments,
        TABBED: reader.read_mqm,
    }[choice.file]()


def record_export(
    study: Study, chosen: dict[str, Any], written: Written, *, is_whole: bool, by: Any
) -> None:
    """Log who downloaded what, or began to."""
    AuditEntry.objects.record(
        "data exported" if is_whole else "export broken off",
        by=by,
        study_id=study.pk,
        rows=written.rows,
        sha256=written.sha256,
        **chosen,
    )


_EXCLUDED = {"out": "without excluded ones", "only": "excluded ones only"}


def describe_export(detail: Mapping[str, Any]) -> str:
    """Describe which file the log means, and which rows of it."""
    parts = [
        str(detail.get("file", "")),
        f"status {detail['status']}" if detail.get("status") else "",
        f"{detail['kind']} items" if detail.get("kind") else "",
        f"origin {detail['origin']}" if detail.get("origin") else "",
        _EXCLUDED.get(str(detail.get("excluded")), ""),
        f"from {detail['since']}" if detail.get("since") else "",
        f"until {detail['until']}" if detail.get("until") else "",
        "pilot answers included" if detail.get("with_pilot") else "",
        "for spreadsheets" if detail.get("for_spreadsheets") else "",
    ]
    return ", ".join(part for part in parts if part)


# --- names and marks --------------------------------------------------------------------------


def name_file(study: Study, choice: Choice) -> str:
    """Return a name for the download: study, “simulated” if a row is, file and choice."""
    parts = [choice.file, *choice.name_parts()]
    # an exact CSV and a guarded one differ, and must not be taken for each other
    is_guarded = choice.for_spreadsheets and choice.ending == "csv"
    parts += ["for-spreadsheets"] if is_guarded else []
    file = f"{'_'.join(parts)}.{choice.ending}"
    return name_of_file(study, file, is_simulated=_has_simulated_rows(study, choice))


def _has_simulated_rows(study: Study, choice: Choice) -> bool:
    origin = Origin.SIMULATED
    match choice.file:
        case "items" | "metrics" | "judge_labels":
            return False
        case "participants":
            return choice.find_participants(study).filter(origin=origin).exists()
        case "annotations":
            return choice.find_annotations(study).filter(origin=origin).exists()
        case "highlights":
            rows = _find_ratings(study, choice).marks()
        case "comments":
            texts, notes = _find_comments(study, choice)
            is_of_origin = texts.filter(annotation__origin=origin).exists()
            return is_of_origin or notes.filter(origin=origin).exists()
        case _:
            rows = _find_ratings(study, choice).without_marks()
    return rows.filter(annotation__origin=origin).exists()


def find_origins(study: Study, selection: Selection) -> tuple[bool, set[Origin]]:
    """Return whether the study has any answer, and which named origins the chosen ones have."""
    answers = selection.find_annotations(study).order_by()
    has_answers, *are_there = Study.objects.filter(pk=study.pk).values_list(
        Exists(Annotation.objects.filter(study=study)),
        *(Exists(answers.filter(origin=origin)) for origin in _NAMED),
    )[0]
    return has_answers, {
        origin for origin, is_there in zip(_NAMED, are_there, strict=True) if is_there
    }


def has_simulated(study: Study, selection: Selection) -> bool:
    """Return whether any of these answers is simulated."""
    return Origin.SIMULATED in find_origins(study, selection)[1]


def describe_imports(study: Study) -> list[str]:
    """Write a sentence for each file of ratings collected elsewhere."""
    answers = Annotation.objects.filter(study=study, ratings_file=OuterRef("pk")).order_by()
    counts = answers.values("ratings_file").annotate(n=Count("pk")).values("n")
    files = RatingsFile.objects.filter(study=study).annotate(answers=Coalesce(Subquery(counts), 0))
    return [
        f"{count_of(n, 'answer')} {'was' if n == 1 else 'were'} imported from {file.file_name} on "
        f"{date_format(file.uploaded_at, 'j F Y')}."
        + ("" if file.has_persons else " Its participants are not single persons.")
        for file in files
        if (n := file.answers)
    ]


# --- counting -----------------------------------------------------------------------------------


def count_rows(study: Study, selection: Selection | None = None) -> dict[str, int]:
    """Count the rows that each file would have now."""
    chosen = selection or Selection()
    fields = {name: getattr(chosen, name) for name in Selection.__dataclass_fields__}
    choices = [Choice(file=file, **fields) for file in list_downloads_of(study)]
    return count_files(study, choices)


def count_file(study: Study, choice: Choice) -> int:
    """Count the rows that the file would have now."""
    return count_files(study, [choice])[choice.file]


def count_files(study: Study, choices: Sequence[Choice]) -> dict[str, int]:
    """Count the rows that each of these files would have now, in one query."""
    parts = {
        f"{choice.file} {number}": rows
        for choice in choices
        for number, rows in enumerate(_find_rows(study, choice))
    }
    counts = Counter[str]()
    for part, number in count_together(**parts).items():
        counts[part.split()[0]] += number
    return {choice.file: counts[choice.file] for choice in choices}


def _find_rows(study: Study, choice: Choice) -> Iterator[Any]:
    """Return what the rows of a file are of; with an expression: of its different values."""
    match choice.file:
        case "items":
            yield Output.objects.filter(item__in=Item.objects.filter(study=study))
        case "participants":
            yield choice.find_participants(study)
        case "metrics":
            yield MetricScore.objects.filter(file__study=study)
        case "judge_labels":
            yield JudgeLabel.objects.filter(file__study=study)
        case "annotations":
            yield choice.find_annotations(study)
        case "highlights":
            yield _find_ratings(study, choice).marks()
        case "comments":
            yield from _find_comments(study, choice)
        case "ratings":
            yield _find_ratings(study, choice).without_marks()
        case "mqm":
            marking = [criterion.key for criterion in study.config.marking]
            rows = _find_ratings(study, choice).filter(criterion__in=marking)
            yield rows.filter(Q(start__isnull=False) | Q(part="none"))
        case _:
            yield from _find_simple(study, choice)


def _find_ratings(study: Study, choice: Choice) -> RatingQuerySet:
    annotations = choice.selection.find_annotations(study).order_by()
    return Rating.objects.filter(annotation__in=annotations.values("id")).order_by()


def _find_comments(study: Study, choice: Choice) -> tuple[QuerySet[Any], QuerySet[Any]]:
    """Return the ratings that are texts, and the annotations with a note."""
    texts = find_written(_find_ratings(study, choice), study.config)
    return texts, choice.selection.find_annotations(study).order_by().exclude(note="")


def _find_simple(study: Study, choice: Choice) -> Iterator[Any]:
    """Return a row for each output that is rated, or for each item where no output is.

    What is said of an item is in the rows of its outputs, if it has some.
    """
    ratings = _find_ratings(study, choice).without_marks()
    of_item = [criterion.key for criterion in study.config.criteria if not criterion.is_of_outputs]
    of_outputs = ratings.exclude(criterion__in=of_item)
    parts = ["annotation", Value("/"), "output"]
    parts += [Value("/"), "turn"] if study.config.asks_turns else []
    yield of_outputs, Concat(*parts, output_field=TextField())
    if of_item and len(of_item) == len(study.config.criteria):
        yield ratings.filter(criterion__in=of_item), "annotation"
