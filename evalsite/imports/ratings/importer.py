"""Ratings collected elsewhere: what a check finds in a file of them, and how they are stored."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsite.annotation.allocation.imported_slots import count_free
from evalsite.annotation.models import RatingsFile
from evalsite.data.tables.faults import Fault, Remark
from evalsite.data.tables.patterns import Known
from evalsite.data.tables.table import Row, Table
from evalsite.imports.columns import LEAVE_OUT, Field
from evalsite.imports.core import (
    LEAVE_OUT_FAULTY,
    Importer,
    Report,
    Source,
    Tell,
    decide_faulty_rows,
)
from evalsite.imports.models import Upload
from evalsite.imports.ratings.answers import AnswerBuilder, CheckedRatings
from evalsite.imports.ratings.columns import RowReader, ask, describe_unasked, list_fields
from evalsite.imports.ratings.store import import_ratings, undo_ratings
from evalsite.imports.steps import register
from evalsite.lib.rating_columns import Problem, check_mapping, split_field
from evalsite.lib.rating_guess import guess_mapping, is_direction
from evalsite.studies.models import Item, Study
from evalsite.studies.summary_lines import count_of


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

    def guess_from_rows(
        self, header: Sequence[str], study: Study, rows: Sequence[Sequence[str]]
    ) -> dict[str, str]:
        columns = zip(header, zip(*rows, strict=False), strict=False)
        directed = [name for name, cells in columns if is_direction(cells)]
        return guess_mapping(header, ask(study), directed=directed)

    def settle(self, guess: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
        """Ratings that are chosen leave no other form of ratings to be guessed."""
        guess = super().settle(guess, chosen)
        targets = [target for field in chosen.values() if (target := split_field(field))]
        if not any(target.is_rating for target in targets):
            return guess
        dropped = {field for field in guess.values() if _is_rating(field)}
        if any(target.is_rating and target.criterion for target in targets):
            dropped.add("criterion")
        return {column: "" if field in dropped else field for column, field in guess.items()}

    def list_known(self, study: Study) -> Known:
        criteria = study.config.criteria
        points = {
            str(name)
            for criterion in criteria
            for point, label in criterion.scale.list_answers()
            for name in (point, label)
        }
        items = Item.objects.main().filter(study=study)
        keys = items.values_list("key", "extra__item", "extra__source_id")
        return {
            "criterion": {name for one in criteria for name in (one.key, str(one.label))},
            "system": set(study.systems.values_list("name", flat=True)),
            "point": points,
            "item": {str(name) for names in keys for name in names if name},
        }

    def check_mapping(self, checked: CheckedRatings, study: Study, table: Table) -> list[Fault]:
        if study.config.asks_turns:
            message = (
                "This study asks about turns of conversations. Ratings of turns that were "
                "collected elsewhere can’t be imported yet."
            )
            return [Fault("turns_not_supported", message)]
        return [
            Fault(problem.code, problem.message, problem.column, table.header_line)
            # what incomplete answers may lack is known to the reader of rows
            for problem in _check_columns(checked.mapping, study, keeps_incomplete=True)
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


def _is_rating(field: str) -> bool:
    target = split_field(field)
    return target is not None and (target.is_rating or bool(target.number))


def _check_columns(
    mapping: Mapping[str, str], study: Study, *, keeps_incomplete: bool
) -> list[Problem]:
    used = {column: "" if name == LEAVE_OUT else name for column, name in mapping.items()}
    return check_mapping(used, ask(study), keeps_incomplete=keeps_incomplete)


class RatingReader:
    """Puts the rows of a file together to answers."""

    def __init__(self, checked: CheckedRatings, study: Study, options: Mapping[str, Any]) -> None:
        self._checked = checked
        self._options = options
        self._study = study
        self._rows = RowReader(checked.header, checked.mapping, study.config)
        keeps_incomplete = bool(options.get("keeps_incomplete"))
        unrated = _check_columns(checked.mapping, study, keeps_incomplete=keeps_incomplete)
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
        decide_faulty_rows(
            self._checked,
            self._builder.row_faults,
            "An answer that then lacks a rating is reported as a fault, unless incomplete answers "
            "are accepted.",
            is_made=self._builder.leaves_out,
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
            "of the file are simulated: no person gave these answers, and nothing marks "
            "them as simulated once they are imported",
        )
        remark(
            "excluded",
            rows.excluded,
            "were excluded in the study they come from. They are imported like the others: "
            "exclude them again here",
        )
        if self._options.get("has_persons") is not False:
            remark(
                "not_persons",
                rows.not_persons,
                "of the file say that the participant isn't a single person. Say so here too, or "
                "figures about raters will be meaningless",
            )
        return remarks


RATINGS = register(RatingImporter())
