"""A platform's own list of submissions: who returned or timed out, and whose work is whose.

Returned and timed-out people are marked, and their places are free at once. What they saved stays.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.models import Approval
from evalsite.decisions.pay import describe_sets
from evalsite.handout.leases import lock_participant, release_places
from evalsite.lib.csv_writer import write_guarded
from evalsite.lib.deadlocks import in_transaction
from evalsite.lib.limited import TooMuch, read_cells
from evalsite.people.models import ItemSet, Participant, Recruitment, Visit
from evalsite.people.platforms import Export, Outcome, Status
from evalsite.people.visits import find_visit

MOST_ROWS = 100_000
_MOST_COLUMNS = 500
_SEPARATORS = ",;\t|"
_CHUNK = 500
State = Approval.State


@dataclass(frozen=True)
class Table:
    """The rows of an uploaded file, as text."""

    header: list[str]
    rows: list[list[str]]
    separator: str

    def find(self, names: Sequence[str]) -> int | None:
        """Return the place of the first of these columns that the file has."""
        places = {_plain(name): place for place, name in reversed([*enumerate(self.header)])}
        return next((places[_plain(name)] for name in names if _plain(name) in places), None)

    def column(self, names: Sequence[str]) -> list[str]:
        """Return a column without surrounding spaces; empty texts if the file hasn't got it."""
        place = self.find(names)
        return ["" if place is None else row[place].strip() for row in self.rows]


def _plain(text: str) -> str:
    """Return a name or state without its case and punctuation."""
    return re.sub(r"[\W_]+", "", text.casefold())


def read_table(data: bytes) -> Table:
    """Return the table in this file; ValidationError if there is none."""
    # ids are made of ASCII, so bytes that are neither UTF-8 nor UTF-16 may be replaced
    is_utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = data.decode("utf-16" if is_utf16 else "utf-8-sig", errors="replace").replace("\0", "")
    first = text.lstrip("\r\n").split("\n", 1)[0]
    separator = max(_SEPARATORS, key=first.count)
    try:
        lines = io.StringIO(text, newline="")
        rows = list(_read_rows(read_cells(lines, delimiter=separator, strict=False)))
    except TooMuch:
        raise _refuse_size() from None
    except csv.Error:
        raise ValidationError("This file is no table of text.", code="no_table") from None
    if len(rows) < 2:
        raise ValidationError(
            "This file has no rows below the names of its columns.", code="no_rows"
        )
    header = [cell.strip() for cell in rows[0]]
    return Table(header, rows[1:], separator)


def _read_rows(records: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the rows that aren't empty, each as wide as the first; ValidationError for too many."""
    width = count = 0
    for row in records:
        if not any(cell.strip() for cell in row):
            continue
        width = width or len(row)
        count += 1
        if count > MOST_ROWS + 1 or width > _MOST_COLUMNS:
            raise _refuse_size()
        yield (row + [""] * width)[:width]


def _refuse_size() -> ValidationError:
    return ValidationError(
        f"This file has more than {MOST_ROWS:,} rows or {_MOST_COLUMNS} columns.", code="size"
    )


@dataclass(kw_only=True)
class Joined:
    """What a file says of one round: visits by what became of them, and rows that fit none."""

    rows: int
    # of this round, by the number of their row
    visits: dict[int, Visit] = field(default_factory=dict)
    sets: dict[int, ItemSet] = field(default_factory=dict)
    statuses: dict[int, Status] = field(default_factory=dict)
    returned: int = 0
    timed_out: int = 0
    # handed in on the platform without having finished here
    unfinished: int = 0
    freed: int = 0

    @property
    def unknown(self) -> int:
        return self.rows - len(self.visits.keys() | self.sets.keys())


def join_table(recruitment: Recruitment, table: Table) -> Joined:
    """Find the visits and sets of the round that the rows name; ValidationError if there is none.

    By the id of the visit, then by that of the person if they came once, then by code.
    """
    export = recruitment.adapter.export or Export()
    if all(table.find(names) is None for names in (export.visit, export.person, export.code)):
        columns = " or ".join(f"“{names[0]}”" for names in (export.visit, export.code) if names)
        raise ValidationError(f"This file has no column {columns}.", code="columns")
    joined = Joined(rows=len(table.rows))
    _join_visits(recruitment, table, export, joined)
    if export.code and table.find(export.code) is not None:
        _join_codes(recruitment, table.column(export.code), joined)
    if not joined.visits and not joined.sets:
        raise ValidationError(
            "No row of this file belongs to this round. Is it the export of another study?",
            code="other_study",
        )
    known = {_plain(name): status for name, status in export.statuses.items()}
    for row, text in enumerate(table.column(export.status)):
        if (status := known.get(_plain(text))) is not None:
            joined.statuses[row] = status
    return joined


def _join_visits(recruitment: Recruitment, table: Table, export: Export, joined: Joined) -> None:
    by_visit: dict[str, Visit] = {}
    by_person: dict[str, list[Visit]] = {}
    for visit in recruitment.visits.exclude(person_id="").order_by("pk"):
        if visit.visit_id:
            by_visit[visit.visit_id.casefold()] = visit
        by_person.setdefault(visit.person_id.casefold(), []).append(visit)
    visits, people = table.column(export.visit), table.column(export.person)
    for row, (visit_id, person_id) in enumerate(zip(visits, people, strict=True)):
        theirs = by_person.get(person_id.casefold(), [])
        if visit_id.casefold() in by_visit:
            joined.visits[row] = by_visit[visit_id.casefold()]
        # a submission of somebody who has another one here isn't that one
        elif len(theirs) == 1 and not (visit_id and theirs[0].visit_id):
            joined.visits[row] = theirs[0]


def _join_codes(recruitment: Recruitment, codes: Sequence[str], joined: Joined) -> None:
    people = Visit.objects.filter(recruitment=recruitment).values("participant")
    sets = ItemSet.objects.filter(participant__in=people).exclude(code="")
    by_code = {_plain(item_set.code): item_set for item_set in sets}
    for row, code in enumerate(codes):
        if (item_set := by_code.get(_plain(code))) is not None and code:
            joined.sets[row] = item_set


# --- what follows ---------------------------------------------------------------------------------


def apply_statuses(*, recruitment: Recruitment, joined: Joined, by: Any) -> Joined:
    """Mark who returned or timed out, and free their places. Done twice, it is done once."""
    reports: dict[int, str] = {}
    for row, visit in joined.visits.items():
        status = joined.statuses.get(row)
        if status is None:
            continue
        is_gone = status in (Status.RETURNED, Status.TIMED_OUT)
        reports[visit.pk] = status.value if is_gone else ""
        joined.returned += status == Status.RETURNED
        joined.timed_out += status == Status.TIMED_OUT
        joined.unfinished += status == Status.SUBMITTED and visit.outcome == ""
    known = {visit.pk: visit for visit in joined.visits.values()}
    changed = {pk: value for pk, value in reports.items() if known[pk].reported != value}
    for value in {*changed.values()}:
        pks = [pk for pk in changed if changed[pk] == value]
        for start in range(0, len(pks), _CHUNK):
            visits = recruitment.visits.filter(pk__in=pks[start : start + _CHUNK])
            visits.update(reported=value)
    gone = [pk for pk, value in reports.items() if value]
    for pk in gone:
        joined.freed += in_transaction(partial(_free_places, known[pk]))
    if changed or joined.freed:
        AuditEntry.objects.record(
            "platform export read",
            by=by,
            study_id=recruitment.study_id,
            round=recruitment.number,
            returned=joined.returned,
            timed_out=joined.timed_out,
            places=joined.freed,
        )
    return joined


def _free_places(visit: Visit) -> int:
    """Free what this person holds, if this visit is the one they are on."""
    leased = visit.participant.slots.leased()
    if visit.outcome == Outcome.COMPLETED or not leased.exists():
        return 0
    participant: Participant = lock_participant(visit.participant)
    current = find_visit(participant)
    if current is None or current.pk != visit.pk:
        return 0
    count = leased.count()
    release_places(participant)
    return count


def fill_export(recruitment: Recruitment, table: Table, joined: Joined) -> str:
    """Return the file with what was decided about each row of a set, as the platform takes it."""
    platform = recruitment.adapter
    by_set = {item_set.pk: row for row, item_set in joined.sets.items()}
    for row, visit in joined.visits.items():
        if visit.item_set_id is not None:
            by_set.setdefault(visit.item_set_id, row)
    sets = ItemSet.objects.filter(pk__in=by_set).select_related("approval", "participant")
    decided = {
        by_set[pay_set.item_set.pk]: pay_set
        for pay_set in describe_sets(recruitment.study, sets)
        if pay_set.state in (State.APPROVED, State.PAID, State.REJECTED)
    }
    names = list(table.header)
    rows = []
    for number, cells in enumerate(table.rows):
        filled = dict(zip(table.header, cells, strict=True))
        if (pay_set := decided.get(number)) is not None:
            filled = platform.fill_row(
                filled,
                is_approved=pay_set.state != State.REJECTED,
                message=" ".join(pay_set.approval.message.split()),
            )
            names += [name for name in filled if name not in names]
        rows.append(filled)
    lines = [[row.get(name, "") for name in names] for row in rows]
    return write_guarded([names, *lines], line_end="\n")
