"""Labels of judges: read from a file, matched to questions and outputs, stored and taken back."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from evalsite.data.importing import (
    LEAVE_OUT_FAULTY,
    Checked,
    Field,
    Target,
    check_cells,
    decide_faulty_rows,
    insert_rows,
)
from evalsite.data.metrics.importer import read_score
from evalsite.data.models import Judge, JudgeFile, JudgeLabel, Upload
from evalsite.data.ratings.columns import shorten
from evalsite.data.ratings.items import CHUNK, PLATFORM
from evalsite.data.tables.table import Fault, Remark, Row, Table
from evalsite.data.uploads import register
from evalsite.data.whole_files import WholeFileImporter, WholeFileReader
from evalsite.instruments.schema import Criterion
from evalsite.lib.rating_columns import FIELDS, fold
from evalsite.people.models import Participant, ParticipantIdentity
from evalsite.studies.models import Item, Study
from evalsite.studies.summary_lines import count_of

_NAMES = {
    "item": ("item", *FIELDS["item"]),
    "system": ("system", *FIELDS["system"]),
    "system_1": ("system_1", "first_system", "system_a", "model_a"),
    "system_2": ("system_2", "second_system", "system_b", "model_b"),
    "criterion": ("criterion", *FIELDS["criterion"]),
    "judge": ("judge", "judge_name", "judge_model", "evaluator"),
    "value": ("value", "label", *FIELDS["value"]),
    "preferred": ("preferred", *FIELDS["preferred"]),
    "order": ("order",),
    "run": ("run", "repeat", "sample"),
    "prompt_version": ("prompt_version",),
    "reason": ("reason", "explanation", "rationale", "justification"),
}
_TIE = "tie"
_BOTH = ("both_good", "both_bad")
LONGEST_NAME = 100
LONGEST_KEY = 200
LONGEST_REASON = 10_000


class Label(NamedTuple):
    """What a judge said, as it is stored."""

    judge: str
    prompt_version: str
    criterion: str
    item_key: str
    system: str
    other_system: str
    order: int
    run: str
    value: float | None
    option: str
    reason: str

    @property
    def key(self) -> tuple[Any, ...]:
        return self[:8]


@dataclass
class CheckedLabels(Checked):
    """What a file contains for a study: its labels, if it may be imported."""

    labels: list[Label] = field(default_factory=list)
    # inputs that nobody rated, or that the study doesn't have
    further: int = 0

    @property
    def is_importable(self) -> bool:
        return not self.faults and bool(self.labels)

    @property
    def judges(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((label.judge, label.prompt_version) for label in self.labels))


class JudgeImporter(WholeFileImporter):
    """Labels of a study's outputs, and of further inputs, as judges gave them."""

    purpose = Upload.Purpose.JUDGES
    check_kind, import_kind, undo_kind = "check judges", "import judges", "undo judges"
    record = JudgeFile
    checked = CheckedLabels
    takes_outputs = False
    uploaded, taken_back = "judge labels uploaded", "judge labels taken back"
    noun = "label"

    def list_fields(self, target: Target, mapping: Mapping[str, str]) -> list[Field]:
        pair, optional = "Preferences", "Optional"
        return [
            Field("", "Leave out", is_for_many=True),
            Field("item", "Item"),
            Field("judge", "Judge"),
            Field("criterion", "Question"),
            Field("system", "System"),
            Field("value", "Label: a point, a number, an option"),
            Field("preferred", "The system preferred, or tie", pair),
            Field("system_1", "One of the two systems", pair),
            Field("system_2", "The other of the two systems", pair),
            Field("order", "Which was shown first, 1 or 2", pair),
            Field("run", "Run", optional),
            Field("prompt_version", "Version of the prompt", optional),
            Field("reason", "The judge’s reason", optional),
        ]

    def guess(self, header: Sequence[str], target: Target) -> dict[str, str]:
        places = {fold(name): name for name in reversed(header)}
        mapping = dict.fromkeys(header, "")
        for use, names in _NAMES.items():
            known = [places[name] for name in names if name in places and not mapping[places[name]]]
            if known:
                mapping[known[0]] = use
        return mapping

    def check_mapping(self, checked: CheckedLabels, target: Target, table: Table) -> list[Fault]:
        mapped = set(checked.mapping.values())
        faults = super().check_mapping(checked, target, table)
        needed = {"item": "the item’s id, as in its batch", "judge": "which judge gave the label"}
        if not mapped & {"value", "preferred"}:
            needed["value"] = "what the judge said; of preferences “preferred”"
        if len(_list_judged(target)) > 1:
            needed["criterion"] = "which question the label answers"
        return [*faults, *self.find_missing(checked, needed, table)]

    def make_reader(
        self, checked: CheckedLabels, target: Target, options: Mapping[str, Any]
    ) -> "LabelReader":
        return LabelReader(
            checked,
            target,
            leaves_out=bool(options.get(LEAVE_OUT_FAULTY)),
        )

    def summarise(self, checked: CheckedLabels, target: Target) -> dict[str, Any]:
        counts = Counter((label.judge, label.prompt_version) for label in checked.labels)
        return {
            "labels": len(checked.labels),
            "further": checked.further,
            "judges": [[name, version, number] for (name, version), number in counts.items()],
        }

    def store_rows(self, file: JudgeFile, checked: CheckedLabels) -> dict[str, Any]:
        judges = {
            (name, version): Judge.objects.get_or_create(
                study=file.study, name=name, prompt_version=version
            )[0].pk
            for name, version in checked.judges
        }
        rows = (
            (file.pk.hex, judges[label.judge, label.prompt_version], *label[2:])
            for label in checked.labels
        )
        insert_rows(JudgeLabel, ("file", "judge", *Label._fields[2:]), rows)
        names = sorted({name for name, _ in checked.judges})
        return {"judges": names, "labels": len(checked.labels)}

    def list_rows(self, file: JudgeFile) -> QuerySet[JudgeLabel]:
        return JudgeLabel.objects.filter(file=file).order_by()

    def delete(self, file: Any, *, by: Any) -> None:
        super().delete(file, by=by)
        Judge.objects.filter(study=file.study, labels__isnull=True).delete()


def _list_judged(target: Target) -> list[Criterion]:
    """Return the questions whose answer is one number, one option or one preference."""
    return [
        criterion
        for criterion in target.instrument.criteria
        if not criterion.scale.has_parts
        and not criterion.scale.rewrites
        and criterion.scale.family != "text"
    ]


# --- reading ------------------------------------------------------------------------


@dataclass(slots=True)
class _Cells:
    """One label as its row gives it; `item` and `system` are what finds its item."""

    line: int
    record: int
    item: str
    system: str
    label: Label


class LabelReader(WholeFileReader):
    """Matches each label to its question and output, and says what doesn't fit."""

    noun = "label"

    def __init__(self, checked: CheckedLabels, target: Target, *, leaves_out: bool) -> None:
        super().__init__(checked, target.study, leaves_out=leaves_out)
        self._judged = {criterion.key: criterion for criterion in _list_judged(target)}
        self._asked = {criterion.key for criterion in target.instrument.criteria}
        by_label = {criterion.label.casefold(): criterion for criterion in self._judged.values()}
        self._by_name = by_label | self._judged
        self._systems = sorted(target.study.systems.values_list("name", flat=True))
        self._answers: dict[str, dict[str, float | str]] = {}
        self._people = _PeopleNames(target.study)
        self._places: dict[tuple[Any, ...], tuple[int, int]] = {}
        self._labels: dict[tuple[Any, ...], Label] = {}
        self._unknown_systems: Counter[str] = Counter()
        self._further: set[str] = set()
        self._empty = 0

    def add(self, row: Row) -> None:
        if faults := check_cells(row, self._checked.header):
            self._row_faults += faults
            return
        cells = {use: row.cells[at].strip() for use, at in self._at.items()}
        if not cells.get("value") and not cells.get("preferred"):
            self._empty += 1
            return
        try:
            label = self._read(cells)
        except ValidationError as error:
            code = error.code or "value_invalid"
            self._blame(code, row, " ".join(error.messages), _COLUMNS.get(code, ""))
            return
        # of a pair the item alone tells which one is meant
        system = "" if label.other_system else label.system
        self._waiting.append(_Cells(row.line, row.record, label.item_key, system, label))
        if len(self._waiting) >= CHUNK:
            self._flush()

    def finish(self) -> None:
        checked = self._checked
        checked.labels = list(self._labels.values())
        if self._leaves_out:
            faulty = {fault.record for fault in self._row_faults}
            checked.labels = [
                label for key, label in self._labels.items() if self._places[key][1] not in faulty
            ]
        checked.faults += self._find_known()
        if not checked.labels and not checked.faults:
            message = "No label is left to import: every cell is empty, or no results use its item."
            checked.faults.append(Fault("nothing_left", message))
        checked.further = len(self._further)
        checked.remarks = list(self._list_remarks())
        if checked.faults:
            checked.labels = []
        consequence = "A row is left out with its label."
        decide_faulty_rows(checked, self._row_faults, consequence, is_made=self._leaves_out)

    def _read(self, cells: Mapping[str, str]) -> Label:
        """Return the label of a row. ValidationError: with the code of the fault."""
        item, judge = cells["item"], cells["judge"]
        for code, name, text, most in (
            ("cell_empty", "item", item, LONGEST_KEY),
            ("cell_empty", "judge", judge, LONGEST_NAME),
        ):
            if not text:
                raise ValidationError(f"The {name} is empty. Give it in every row.", code=code)
            if len(text) > most or not text.isprintable():
                raise ValidationError(
                    f"The {name} may have {most} printable characters: {shorten(text, 40)}",
                    code=f"{name}_invalid",
                )
        for use in ("run", "prompt_version"):
            if len(cells.get(use, "")) > LONGEST_NAME:
                raise ValidationError(
                    f"“{use}” may have {LONGEST_NAME} characters.", code=f"{use}_invalid"
                )
        self._people.check(judge)
        criterion = self._find_criterion(cells.get("criterion", ""))
        reason = cells.get("reason", "")
        if len(reason) > LONGEST_REASON:
            raise ValidationError(
                f"A reason may have {LONGEST_REASON:,} characters; this one has {len(reason):,}.",
                code="reason_invalid",
            )
        order, systems = 0, (cells.get("system", ""), "")
        value: float | None
        option = ""
        if criterion.scale.compares:
            systems, is_turned = self._read_pair(cells)
            order = _read_order(cells.get("order", ""), is_turned=is_turned)
            value, option = self._read_preferred(criterion, cells, systems)
        else:
            if not systems[0] and len(self._systems) == 1:
                systems = (self._systems[0], "")
            if not systems[0]:
                raise ValidationError("The system is empty. Name it.", code="cell_empty")
            value, option = self._read_answer(criterion, cells.get("value", ""))
        return Label(
            judge, cells.get("prompt_version", ""), criterion.key, item, *systems, order,
            cells.get("run", ""), value, option, reason,
        )  # fmt: skip

    def _find_criterion(self, text: str) -> Criterion:
        if not text and len(self._judged) == 1:
            return next(iter(self._judged.values()))
        known = self._by_name.get(text) or self._by_name.get(text.casefold())
        if known is not None:
            return known
        if text in self._asked:
            raise ValidationError(
                f"A judge’s answers to “{shorten(text)}” can’t be compared: only points, numbers, "
                "decisions, options and preferences can.",
                code="criterion_unknown",
            )
        listed = ", ".join(self._judged)
        raise ValidationError(
            f"There is no question “{shorten(text)}”. This study has {listed}."
            if text
            else f"The question is empty. Write {listed}.",
            code="criterion_unknown",
        )

    def _read_pair(self, cells: Mapping[str, str]) -> tuple[tuple[str, str], bool]:
        """Return the two systems in alphabetical order, and whether the file has them so."""
        first, second = cells.get("system_1", ""), cells.get("system_2", "")
        if not first and not second and len(self._systems) == 2:
            first, second = self._systems
        if not first or not second or first == second:
            raise ValidationError(
                "Name the two systems in the columns system_1 and system_2.", code="cell_empty"
            )
        low, high = sorted((first, second))
        return (low, high), (low, high) != (first, second)

    def _read_preferred(
        self, criterion: Criterion, cells: Mapping[str, str], systems: tuple[str, str]
    ) -> tuple[float, str]:
        text = cells.get("preferred", "") or cells.get("value", "")
        folded = text.casefold()
        if folded in _BOTH or folded == _TIE:
            return 0.0, "" if folded == _TIE else folded
        if text not in systems:
            raise ValidationError(
                f"“{shorten(text)}” is neither of the two systems. Write {systems[0]}, "
                f"{systems[1]} or tie.",
                code="preference_invalid",
            )
        strength = 1.0
        if cells.get("preferred") and cells.get("value"):
            strength = read_score(cells["value"]) or 0.0
            if not 0 < strength <= criterion.scale.maximum:
                raise ValidationError(
                    f"A preference is 1 to {criterion.scale.maximum} strong; "
                    f"“{shorten(cells['value'])}” isn’t.",
                    code="value_invalid",
                )
        return (strength if text == systems[1] else -strength), ""

    def _read_answer(self, criterion: Criterion, text: str) -> tuple[float | None, str]:
        """Return the number or the option that a cell names; numbers between points are fine."""
        scale = criterion.scale
        if criterion.key not in self._answers:
            known: dict[str, float | str] = {
                str(label).casefold(): value for value, label in scale.list_answers() if label
            }
            known |= {word: value for word, value in scale.file_words().items()}
            for key, label in scale.list_options():
                known |= {label.casefold(): key, key.casefold(): key}
            self._answers[criterion.key] = known
        answer = self._answers[criterion.key].get(text.casefold())
        if isinstance(answer, str):
            return None, answer
        if answer is not None:
            return float(answer), ""
        if not scale.list_options() and not text[:1].isalpha():
            value = read_score(text)
            # between points that have words of their own there is no answer
            is_point = not scale.is_told_in_words or value in dict(scale.list_answers())
            if value is not None and is_point and _is_within(scale, value):
                return value, ""
        raise ValidationError(
            f"“{shorten(text)}” is no answer to {criterion.key}. Use {scale.describe_choices()}.",
            code="value_invalid",
        )

    def _take(self, cells: _Cells) -> None:
        item, label = self._finder.find(cells), cells.label
        is_known = self._finder.is_known(cells.item)
        if item is None and is_known and cells.system in ("", *self._systems):
            self._blame("item_unknown", cells, self._finder.explain(cells), "item")
            return
        if item is None:
            self._further.update([] if is_known else [cells.item])
        elif item.kind != Item.Kind.MAIN:
            self._left_out[item.kind] += 1
            return
        else:
            label = label._replace(item_key=item.key)
        for system in filter(None, (label.system, label.other_system)):
            if system not in self._systems:
                self._unknown_systems[system] += 1
        if first := self._places.get(label.key):
            message = (
                f"Record {first[1]} is a label of this output by this judge already. Remove "
                "one of the two, or tell them apart by a run or an order."
            )
            self._blame("label_twice", cells, message, "")
            return
        self._places[label.key] = cells.line, cells.record
        self._labels[label.key] = label

    def _find_known(self) -> Iterator[Fault]:
        """Labels that the study has already, reported once for each judge and file."""
        names = {label.judge for label in self._labels.values()}
        stored = JudgeLabel.objects.filter(file__study=self._study, judge__name__in=names)
        fields = (
            "judge__name", "judge__prompt_version", "criterion", "item_key", "system",
            "other_system", "order", "run", "file__file_name",
        )  # fmt: skip
        twice: dict[tuple[str, str], list[tuple[int, int, str]]] = defaultdict(list)
        for *key, file_name in stored.order_by().values_list(*fields).iterator():
            if place := self._places.get(tuple(key)):
                twice[key[0], file_name].append((*place, "judge"))
        return self._describe_known(twice)

    def _list_remarks(self) -> Iterator[Remark]:
        labels = list(self._labels.values())
        if self._further:
            yield Remark(
                "further_inputs",
                f"{count_of(len(self._further), 'input')} that this study doesn’t have: their "
                "labels are kept, and can narrow what people’s answers show",
            )
        for system, number in sorted(self._unknown_systems.items()):
            yield Remark(
                "system_unknown",
                f"This study has no system “{shorten(system, 60)}”: no figure uses its "
                f"{count_of(number, 'label')}",
            )
        versions: dict[str, set[str]] = defaultdict(set)
        values: dict[tuple[str, str], set[Any]] = defaultdict(set)
        for label in labels:
            versions[label.judge].add(label.prompt_version)
            values[label.judge, label.criterion].add((label.value, label.option))
        for judge, known in sorted(versions.items()):
            if len(known) > 1:
                listed = ", ".join(sorted(version or "none" for version in known))
                yield Remark(
                    "judge_versions",
                    f"{judge} has labels with {len(known)} versions of its prompt ({listed}): "
                    "each counts as a judge",
                )
        for (judge, criterion), answers in sorted(values.items()):
            if len(answers) == 1 and len(labels) > 1:
                yield Remark(
                    "judge_constant",
                    f"{judge} gives one and the same answer everywhere on {criterion}",
                )
        if self._empty:
            yield Remark("cell_empty", f"Rows without a label: {self._empty:,}")
        yield from self._describe_left_out()


_COLUMNS = {
    "item_unknown": "item", "item_invalid": "item", "judge_invalid": "judge",
    "judge_is_person": "judge", "criterion_unknown": "criterion", "value_invalid": "value",
    "preference_invalid": "preferred", "order_invalid": "order", "run_invalid": "run",
    "reason_invalid": "reason", "prompt_version_invalid": "prompt_version",
}  # fmt: skip


def _is_within(scale: Any, value: float) -> bool:
    """Tell whether a number lies on the scale; one may be open at an end."""
    low, high = scale.minimum, scale.maximum
    return (low is None or value >= low) and (high is None or value <= high)


def _read_order(text: str, *, is_turned: bool) -> int:
    """Return which of the two systems, in alphabetical order, was shown first; 0: not known."""
    if not text:
        return 0
    if not re.fullmatch("[12]", text):
        raise ValidationError(
            f"“{shorten(text)}” is no order. Write 1 if the first system was shown first, or 2; "
            "labels of both orders have a row each.",
            code="order_invalid",
        )
    return 3 - int(text) if is_turned else int(text)


class _PeopleNames:
    """The names of a study's people, none of which a judge may have."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._checked: dict[str, bool] = {}

    def check(self, judge: str) -> None:
        if judge not in self._checked:
            people = Participant.objects.filter(study=self._study, pseudonym=judge)
            named = ParticipantIdentity.objects.filter(
                study=self._study, platform=PLATFORM, outside_id=judge
            )
            self._checked[judge] = people.exists() or named.exists()
        if self._checked[judge]:
            raise ValidationError(
                f"“{shorten(judge)}” is a person of this study. A judge is never counted as a "
                "person: give it another name.",
                code="judge_is_person",
            )


JUDGES = register(JudgeImporter())
