"""Ratings collected elsewhere: what a check finds in a file of them, and how they are stored."""

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from evalsite.annotation.models import RatingsFile
from evalsite.annotation.taking import count_free
from evalsite.imports.columns import Field
from evalsite.imports.core import Decision, Importer, Report, Source, Tell, check_source
from evalsite.imports.models import Upload
from evalsite.imports.ratings.answers import AnswerBuilder, CheckedRatings
from evalsite.imports.ratings.columns import RowReader, ask, describe_unasked, list_fields
from evalsite.imports.ratings.store import import_ratings, undo_ratings
from evalsite.imports.steps import register
from evalsite.imports.tables.faults import Fault, Remark, name_place
from evalsite.imports.tables.table import Limits, Row, Table
from evalsite.lib.rating_columns import check_mapping
from evalsite.lib.rating_guess import guess_mapping
from evalsite.studies.models import Study
from evalsite.studies.summaries import count_of

LEAVE_OUT_FAULTY = "leave_out_faulty"
_ROWS_LISTED = 100


class RatingImporter(Importer):
    """Ratings of a study's items, as answers of imported participants."""

    purpose = Upload.Purpose.RATINGS
    check_kind, import_kind, undo_kind = "check ratings", "import ratings", "undo ratings"
    record = RatingsFile
    link = "ratings_file"
    checked = CheckedRatings
    # longer files are stored and undone outside web requests
    rows_undone_at_once = rows_stored_at_once = 5_000

    def list_fields(self, study: Study, mapping: Mapping[str, str]) -> list[Field]:
        return list_fields(ask(study), mapping, study.config.outputs[1])

    def guess(self, header: Sequence[str], study: Study) -> dict[str, str]:
        return guess_mapping(header, ask(study))

    def check_mapping(
        self,
        mapping: Mapping[str, str],
        study: Study,
        table: Table,
    ) -> list[Fault]:
        return [
            Fault(problem.code, problem.message, problem.column, table.header_line)
            # what incomplete answers may lack is known to the reader of rows
            for problem in check_mapping(mapping, ask(study), keeps_incomplete=True)
        ]

    def make_reader(
        self, checked: CheckedRatings, study: Study, options: Mapping[str, Any]
    ) -> "RatingReader":
        return RatingReader(checked, study, options)

    def summarise(self, checked: CheckedRatings, study: Study) -> dict[str, Any]:
        per_item = checked.per_item
        free = count_free(study, per_item.keys())
        surplus = {item: n - free[item] for item, n in per_item.items() if n > free[item]}
        counts = list(per_item.values())
        return {
            "ratings": checked.ratings,
            "answers": len(checked.answers),
            "participants": len(checked.participants),
            "items": len(per_item),
            "per_item": [[n, counts.count(n)] for n in sorted(set(counts))],
            "k": study.k,
            "surplus": sum(surplus.values()),
            # with so many answers per item all of them would count
            "wanted_k": study.k + max(surplus.values(), default=0),
        }

    def is_current(self, report: Report, study: Study) -> bool:
        """Places fill up and files are undone meanwhile, so a small file is read each time."""
        return False

    def store(
        self, checked: CheckedRatings, source: Source, *, by: Any, tell: Tell | None = None
    ) -> RatingsFile:
        progress = tell or (lambda done, total: None)
        return import_ratings(checked=checked, source=source, by=by, progress=progress)

    def undo(self, record: RatingsFile, *, by: Any) -> None:
        undo_ratings(file=record, by=by)


class RatingReader:
    """Puts the rows of a file together to answers."""

    def __init__(self, checked: CheckedRatings, study: Study, options: Mapping[str, Any]) -> None:
        self._checked = checked
        self._options = options
        self._study = study
        self._rows = RowReader(checked.header, checked.mapping, study.config)
        keeps_incomplete = bool(options.get("keeps_incomplete"))
        unrated = check_mapping(checked.mapping, ask(study), keeps_incomplete=keeps_incomplete)
        checked.faults += [Fault(one.code, one.message, one.column) for one in unrated]
        self._builder = AnswerBuilder(
            study,
            self._rows,
            # the missing column is reported once, not with every answer
            keeps_incomplete=keeps_incomplete or bool(unrated),
            leaves_out=bool(options.get(LEAVE_OUT_FAULTY)),
        )

    def add(self, row: Row) -> None:
        self._builder.add(row)

    def close(self) -> None:
        self._builder.flush()
        self._checked.faults += self._builder.faults

    def finish(self) -> None:
        checked, builder = self._checked, self._builder
        known = len(builder.faults)
        answers = builder.finish()
        checked.faults += builder.faults[known:]
        checked.answers = [] if checked.faults else answers
        checked.remarks = [*builder.remarks.listed(), *self._list_remarks()]
        self._decide()
        if not checked.faults and not checked.answers:
            checked.faults.append(
                Fault("nothing_left", "No row is left to import: all of them were left out.")
            )

    def _decide(self) -> None:
        """Offer to leave out faulty rows, or say which ones are."""
        checked, builder = self._checked, self._builder
        rows = sorted(
            builder.left_out or {(one.line, one.record, one.code) for one in builder.row_faults},
            key=lambda row: (row[1] or 0, row[2]),
        )
        places = dict.fromkeys((line, record) for line, record, _ in rows)
        if not places:
            return
        faulty = count_of(len(places), "faulty row")
        listed = [name_place(line, record) for line, record in places]
        more = len(listed) - _ROWS_LISTED
        checked.decisions.append(
            Decision(
                key=LEAVE_OUT_FAULTY,
                title=f"{faulty} {'is' if len(places) == 1 else 'are'} left out"
                if builder.leaves_out
                else f"{faulty} could be left out",
                text="The other rows are imported, and what was left out is kept with the file. "
                "An answer that lacks a rating because of it is a fault of its own, unless "
                "incomplete answers are fine.",
                choices=[[True, f"Leave out {faulty}", ""]],
                rows=listed[:_ROWS_LISTED] + ([f"and {more:,} more"] if more > 0 else []),
                is_made=builder.leaves_out,
            )
        )
        if builder.leaves_out:
            text = f"{faulty} {'was' if len(places) == 1 else 'were'} left out."
            checked.import_notes.append(
                {"code": "rows_left_out", "text": text, "rows": [list(row) for row in rows]}
            )

    def _list_remarks(self) -> list[Remark]:
        rows, remarks = self._rows, []

        def remark(code: str, count: int, text: str) -> None:
            if count:
                remarks.append(Remark(code, f"{count_of(count, 'row')} {text}"))

        if unasked := describe_unasked(self._checked.mapping, ask(self._study)):
            remarks.append(Remark("criteria_left_out", unasked))
        for why, count in rows.left_out.items():
            remark("rows_left_out", count, f"of {why} will be left out")
        remark("rows_unrated", rows.unrated, "have no rating and will be left out")
        remark(
            "simulated",
            rows.simulated,
            "of the file are simulated: nobody gave these answers, and once imported they no "
            "longer say so",
        )
        remark(
            "excluded",
            rows.excluded,
            "were excluded where they come from. They are imported like the others: exclude them "
            "here again",
        )
        if self._options.get("has_persons") is not False:
            remark(
                "not_persons",
                rows.not_persons,
                "of the file say that the participant isn't a single person. Say so here too, or "
                "figures about raters mean nothing",
            )
        return remarks


RATINGS = register(RatingImporter())


def check_ratings(
    source: BinaryIO,
    *,
    study: Study,
    mapping: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> CheckedRatings:
    """What a file of ratings contains for this study."""
    checked: CheckedRatings = check_source(
        RATINGS, source, study=study, mapping=mapping, options=options, limits=limits
    )
    return checked
