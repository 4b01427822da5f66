"""Ratings collected elsewhere: what a check finds in a file of them, and how they are stored."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsite.data import importing as core
from evalsite.data.importing import (
    LEAVE_OUT_FAULTY,
    Decision,
    Field,
    Importer,
    Report,
    Source,
    Target,
    Tell,
    decide_faulty_rows,
)
from evalsite.data.models import Upload
from evalsite.data.ratings.answers import AnswerBuilder, CheckedRatings
from evalsite.data.ratings.columns import (
    KEEP,
    LEAVE_OUT,
    REJECTED,
    RowReader,
    ask,
    describe_unasked,
    list_fields,
)
from evalsite.data.ratings.marks import turn_errors
from evalsite.data.ratings.store import import_ratings, undo_ratings
from evalsite.data.tables.mqm import find_columns
from evalsite.data.tables.paths import Known
from evalsite.data.tables.rating_forms import TURNS, find_form, list_rated, name_winners, turn_table
from evalsite.data.tables.reader import FileMapping
from evalsite.data.tables.table import Fault, Remark, Row, Table, name_some
from evalsite.data.tables.tools import find_ratings
from evalsite.data.uploads import register
from evalsite.handout.imported_slots import count_free
from evalsite.handout.models import Annotation, RatingsFile
from evalsite.lib.rating_columns import Problem, check_mapping, split_field
from evalsite.lib.rating_guess import guess_mapping, is_direction
from evalsite.studies.models import Item, Study
from evalsite.studies.summary_lines import count_of

# whether people or items have a column each
TURN = "turn"
# values of a column that its note names: how many, and of how many characters
_MOST_NAMED, _LONGEST = 7, 30
# whether numbers have a decimal comma
COMMAS = "decimal_comma"
# what may be in columns of our own exports
_WORDS = {
    "status": {"", *map(str, Annotation.Status.values)},
    "kind": {"", *map(str, Item.Kind.values)},
}


class RatingImporter(Importer):
    """Ratings of a study's items, as answers of imported participants."""

    purpose = Upload.Purpose.RATINGS
    check_kind, import_kind, undo_kind = "check ratings", "import ratings", "undo ratings"
    record = RatingsFile
    link = "ratings_file"
    checked = CheckedRatings
    takes_outputs, takes_alike = False, True
    # longer files are stored and undone outside web requests
    rows_undone_at_once = rows_stored_at_once = 5_000

    def list_fields(self, target: Target, mapping: Mapping[str, str]) -> list[Field]:
        return list_fields(ask(target.study), mapping, target.instrument.item.outputs.most)

    def guess(self, header: Sequence[str], target: Target) -> dict[str, str]:
        return guess_mapping(header, ask(target.study))

    def guess_from_rows(
        self,
        header: Sequence[str],
        target: Target,
        rows: Sequence[Sequence[str]],
        chosen: Mapping[str, str],
    ) -> dict[str, str]:
        columns = zip(header, zip(*rows, strict=False), strict=False)
        cells = {name: {text.strip() for text in texts} for name, texts in columns}
        directed = [name for name, texts in cells.items() if is_direction(texts)]
        guess = guess_mapping(header, ask(target.study), directed=directed)
        # other programs have a column “Status”, too: ours holds nothing but these words
        for name, field in guess.items():
            if field in _WORDS and not cells.get(name, set()) <= _WORDS[field]:
                guess[name] = ""
        return guess

    def recognise(
        self, header: Sequence[str], rows: Sequence[Row], target: Target
    ) -> dict[str, str]:
        if fields := find_ratings(header, rows):
            return fields
        guess = guess_mapping(header, ask(target.study)).values()
        if any(map(_is_rating, guess)):
            return {}
        return find_form(header, rows, self.list_known(target), guess)

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

    def prepare(self, table: Table, target: Target, mapping: FileMapping) -> Table:
        if find_columns(table.header) and target.study.config.marking:
            return turn_errors(table, target.study)
        name_winners(table)
        use = str(mapping.options.get(TURN) or "")
        if use in TURNS:
            known = self.list_known(target)
            guess = self.guess(table.header, target)
            columns = list_rated(table, known, {**guess, **mapping.fields}, use)
            names = name_some([table.header[number] for number in columns])
            if columns:
                turn_table(table, columns, TURNS[use])
                text = f"These columns are {use}, whose ratings became rows of their own: {names}"
            else:
                text = f"No column holds the ratings of one of several {use}, so none was turned"
            table.remarks.tell("table_turned", text)
        return table

    def list_known(self, target: Target) -> Known:
        criteria = target.instrument.criteria
        points = {
            str(name)
            for criterion in criteria
            for point, label in criterion.scale.list_answers()
            for name in (point, label)
        }
        items = Item.objects.main().filter(study=target.study)
        keys = items.values_list("key", "extra__item", "extra__source_id")
        return {
            "criterion": {
                name for criterion in criteria for name in (criterion.key, str(criterion.label))
            },
            "system": set(target.study.systems.values_list("name", flat=True)),
            "point": points,
            "item": {str(name) for names in keys for name in names if name},
        }

    def describe_columns(self, checked: CheckedRatings, rows: Sequence[Row]) -> dict[str, str]:
        notes = {}
        for number, column in enumerate(checked.header):
            cells = [row.cells[number].strip() for row in rows if number < len(row.cells)]
            values = [*dict.fromkeys(filter(None, cells))]
            if 0 < len(values) <= _MOST_NAMED and all(len(text) <= _LONGEST for text in values):
                notes[column] = ", ".join(sorted(values, key=lambda text: (len(text), text)))
        return notes

    def check_mapping(self, checked: CheckedRatings, target: Target, table: Table) -> list[Fault]:
        if target.instrument.asks_turns:
            message = (
                "This study asks about turns of conversations. Ratings of turns that were "
                "collected elsewhere can’t be imported yet."
            )
            return [Fault("turns_not_supported", message)]
        return [
            Fault(problem.code, problem.message, problem.column, table.header_line)
            # what incomplete answers may lack is known to the reader of rows
            for problem in _check_columns(checked.mapping, target.study, keeps_incomplete=True)
        ]

    def make_reader(
        self, checked: CheckedRatings, target: Target, options: Mapping[str, Any]
    ) -> "RatingReader":
        return RatingReader(checked, target.study, options)

    def summarise(self, checked: CheckedRatings, target: Target) -> dict[str, Any]:
        per_item = checked.per_item
        free = count_free(target.study, per_item.keys())
        surplus = {item: n - free[item] for item, n in per_item.items() if n > free[item]}
        counts = list(per_item.values())
        return {
            "ratings": checked.ratings,
            "answers": len(checked.answers),
            "participants": len(checked.participants),
            "items": len(per_item),
            "per_item": [[n, counts.count(n)] for n in sorted(set(counts))],
            "k": target.study.k,
            "surplus": sum(surplus.values()),
            # with so many answers per item all of them would count
            "wanted_k": target.study.k + max(surplus.values(), default=0),
        }

    def is_current(self, report: Report, study: Study | None) -> bool:
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
    used = {column: "" if name == core.LEAVE_OUT else name for column, name in mapping.items()}
    return check_mapping(used, ask(study), keeps_incomplete=keeps_incomplete)


class RatingReader:
    """Puts the rows of a file together to answers."""

    def __init__(self, checked: CheckedRatings, study: Study, options: Mapping[str, Any]) -> None:
        self._checked = checked
        self._options = options
        self._study = study
        self._rows = RowReader(
            checked.header,
            checked.mapping,
            study.config,
            rejected=str(options.get(REJECTED, "")),
        )
        keeps_incomplete = bool(options.get("keeps_incomplete"))
        unrated = _check_columns(checked.mapping, study, keeps_incomplete=keeps_incomplete)
        checked.faults += [Fault(fault.code, fault.message, fault.column) for fault in unrated]
        self._builder = AnswerBuilder(
            study,
            self._rows,
            # the missing column is reported once, not with every answer
            keeps_incomplete=keeps_incomplete or bool(unrated),
            leaves_out=bool(options.get(LEAVE_OUT_FAULTY)),
            has_commas=bool(options.get(COMMAS)),
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
        columns = {field: column for column, field in checked.mapping.items()}
        people, items = len(checked.participants), len(checked.per_item)
        if checked.answers and "participant" in columns:
            word = "person" if people == 1 else "people"
            checked.notes[columns["participant"]] = f"{people:,} {word}"
        if checked.answers and "item" in columns:
            checked.notes[columns["item"]] = count_of(items, "item")
        self._decide()
        self._ask_rejected()
        self._ask_commas()
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

    def _ask_rejected(self) -> None:
        count, answer = self._rows.rejected, str(self._options.get(REJECTED, ""))
        if not count:
            return
        were = f"{count_of(count, 'row')} {'was' if count == 1 else 'were'} rejected on MTurk"
        choices = [[LEAVE_OUT, "Leave them out", ""], [KEEP, "Count them", ""]]
        decision = Decision(REJECTED, f"{were}.", choices=choices, is_made=bool(answer))
        self._checked.decisions.append(decision)
        if answer:
            done = "counted" if answer == KEEP else "left out"
            note = {"code": REJECTED, "text": f"{were}, and {done}.", "rows": []}
            self._checked.import_notes.append(note)
        else:
            message = f"{were}. Leave them out, or count them (--rejected leave-out or keep)."
            self._checked.faults.append(Fault("decision_needed", message))

    def _ask_commas(self) -> None:
        if self._builder.values.commas:
            title = "Ratings are written with commas (“4,0”)"
            text = "" if self._options.get(COMMAS) else "Read them as numbers (--decimal-comma)."
            choices: list[list[Any]] = [[True, "Read them as numbers", ""]]
            is_made = bool(self._options.get(COMMAS))
            decision = Decision(COMMAS, title, text, choices=choices, is_made=is_made)
            self._checked.decisions.append(decision)
            if is_made:
                note = {"code": COMMAS, "text": f"{title}, and read as numbers.", "rows": []}
                self._checked.import_notes.append(note)

    def _list_remarks(self) -> list[Remark]:
        rows, remarks = self._rows, []

        def remark(code: str, count: int, text: str) -> None:
            if count:
                remarks.append(Remark(code, f"{count_of(count, 'row')} {text}"))

        if unasked := describe_unasked(self._checked.mapping, ask(self._study)):
            remarks.append(Remark("criteria_left_out", unasked))
        for why, count in rows.left_out.items():
            remark("rows_left_out", count, f"of {why} will be left out")
        if missing := rows.missing:
            are = "rating is" if missing == 1 else "ratings are"
            text = f"{missing:,} {are} missing (NA, NaN, None or null) and left out"
            remarks.append(Remark("ratings_missing", text))
        if labels := self._builder.values.labels:
            are = "rating is a label" if labels == 1 else "ratings are labels"
            remarks.append(Remark("labels_read", f"{labels:,} {are} of the scale, in words"))
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
