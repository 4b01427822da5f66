"""Files of scores and of labels: read row by row, stored once and as a whole, or taken back."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.data.importing import HAS_CHANGED, HAS_FAULTS, Checked, Importer, Source, Tell
from evalsite.data.models import JudgeFile, MetricFile
from evalsite.data.ratings.items import ItemFinder
from evalsite.data.tables.files import clean_file_name
from evalsite.data.tables.table import Fault, Remark, Table
from evalsite.lib.deadlocks import in_transaction
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import count_of


class WholeFileImporter(Importer):
    """Files whose rows are about outputs that people rated, or could."""

    takes_alike = True
    # what the log says of a file, and what each of its rows is
    uploaded: str
    taken_back: str
    noun: str

    @abstractmethod
    def store_rows(self, file: Any, checked: Any) -> dict[str, Any]:
        """Store the rows of a new file; return what the log says of them."""

    @abstractmethod
    def list_rows(self, file: Any) -> QuerySet[Any]:
        """Return the stored rows of a file, to which nothing refers."""

    def find_missing(
        self, checked: Checked, needed: Mapping[str, str], table: Table
    ) -> Iterator[Fault]:
        """Yield a fault for each field that no column has; `needed`: what each means."""
        for name, meaning in needed.items():
            if name not in checked.mapping.values():
                message = f"Column “{name}” ({meaning}) is missing. Map a column to it, or add one."
                yield Fault("column_missing", message, name, table.header_line)

    def store(self, checked: Any, source: Source, *, by: Any, tell: Tell | None = None) -> Any:
        """Store a checked file in one transaction; sent again, return the file that exists."""
        if earlier := self.find_same(source.study, source.sha256):
            return earlier
        if not checked.is_importable:
            raise ValidationError(HAS_FAULTS)
        try:
            return in_transaction(partial(self._store, checked, source, by))
        except IntegrityError:
            # the second of two clicks was later, or what the rows refer to has changed meanwhile
            if earlier := self.find_same(source.study, source.sha256):
                return earlier
            raise ValidationError(HAS_CHANGED) from None

    def _store(self, checked: Any, source: Source, by: Any) -> Any:
        _insist_on_life(source.study)
        if earlier := self.find_same(source.study, source.sha256):
            return earlier
        file: Any = self.record._default_manager.create(
            study=source.study,
            file_name=clean_file_name(source.file_name),
            sha256=source.sha256,
            import_notes=checked.import_notes,
            uploaded_by=by if getattr(by, "is_authenticated", False) else None,
        )
        _record(self.uploaded, file, by=by, **self.store_rows(file, checked))
        return file

    def undo(self, record: Any, *, by: Any) -> None:
        """The file was never uploaded, but for the log."""
        in_transaction(partial(self.delete, record, by=by))

    def delete(self, file: Any, *, by: Any) -> None:
        """Delete a file and its rows, within a transaction."""
        _insist_on_life(file.study)
        rows = self.list_rows(file)
        _record(self.taken_back, file, by=by, **{f"{self.noun}s": rows.count()})
        rows._raw_delete(rows.db)
        file.delete()


def _record(action: str, file: MetricFile | JudgeFile, *, by: Any, **detail: Any) -> None:
    AuditEntry.objects.record(
        action,
        by=by,
        study_id=file.study_id,
        file=str(file.pk),
        file_name=file.file_name,
        sha256=file.sha256,
        **detail,
    )


def _insist_on_life(study: Study) -> None:
    """Lock the study; ValidationError of an archived one."""
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if current.state == Study.State.ARCHIVED:
        raise ValidationError("This study is archived, so nothing is added to it or taken from it.")


# --- reading ----------------------------------------------------------------------------


class WholeFileReader:
    """Finds the items of many rows at once. Rows with faults may be left out."""

    noun: str  # what a row gives

    def __init__(self, checked: Any, study: Study, *, leaves_out: bool) -> None:
        self._checked, self._study, self._leaves_out = checked, study, leaves_out
        mapping = checked.mapping
        self._at = {use: at for at, name in enumerate(checked.header) if (use := mapping[name])}
        self._row_faults: list[Fault] = []
        self._waiting: list[Any] = []
        self._finder = ItemFinder(study)
        # kinds of items that results don't use
        self._left_out: Counter[str] = Counter()

    def close(self) -> None:
        self._flush()
        if not self._leaves_out:
            self._checked.faults += self._row_faults

    def _flush(self) -> None:
        """Take the rows that wait, whose items are found in a few queries."""
        waiting, self._waiting = self._waiting, []
        self._finder.load(cells.item for cells in waiting)
        for cells in waiting:
            self._take(cells)

    def _take(self, cells: Any) -> None:
        raise NotImplementedError

    def _blame(self, code: str, place: Any, message: str, use: str) -> None:
        """Note what is wrong with a row, in the column of this use."""
        column = self._checked.header[self._at[use]] if use in self._at else use
        fault = Fault(code, message, column, place.line, place.record)
        # a row with several values has its item once
        if self._row_faults[-1:] != [fault]:
            self._row_faults.append(fault)

    def _describe_known(
        self, places: Mapping[tuple[str, str], Sequence[tuple[int, int, str]]]
    ) -> Iterator[Fault]:
        """Yield one fault for what gave values, and the file, that the study has already."""
        for (name, file_name), known in sorted(places.items()):
            line, record, column = min(known, key=lambda place: place[1])
            message = (
                f"{file_name} already gave {count_of(len(known), self.noun)} of {name} that this "
                "file has too. Undo that file first, or leave these rows out."
            )
            yield Fault(f"{self.noun}_known", message, column, line, record)

    def _describe_left_out(self) -> Iterator[Remark]:
        for kind, number in self._left_out.items():
            message = (
                f"Left out, because results don't use these items: {count_of(number, self.noun)}"
            )
            yield Remark("rows_left_out", f"{message} of {kind} items")
