"""Items of a file: what a check finds in them, and the batch that they become."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from evalsite.data.tables.faults import Fault, Remark
from evalsite.data.tables.reader import NAMES, SYSTEM_NAMES, FileMapping
from evalsite.data.tables.table import FIRST, JOIN, Row, Table
from evalsite.imports.batches.choices import SOURCE_ID, find_former_names
from evalsite.imports.batches.columns import (
    INPUT,
    OF_SYSTEM,
    check_mapping,
    describe_kept,
    guess_mapping,
    is_numbered,
    is_per_output,
    is_reference,
    list_fields,
    make_plan,
    name_inputs,
)
from evalsite.imports.batches.item_builder import ItemBuilder
from evalsite.imports.batches.items import CheckedItem, CheckedItems, CheckedOutput, Items
from evalsite.imports.batches.joins import PAIRED
from evalsite.imports.batches.open_inputs import (
    find_kind,
    guess_open,
    list_inputs,
    list_output_cells,
    summarise_open,
)
from evalsite.imports.batches.store import import_batch, undo_batch
from evalsite.imports.core import (
    Field,
    Importer,
    Source,
    Target,
    Tell,
    describe_personal,
    import_path,
    is_personal,
    make_open_instrument,
)
from evalsite.imports.models import Upload
from evalsite.imports.steps import register
from evalsite.studies.models import Batch, Study
from evalsite.studies.summary_lines import count_of

EXAMPLES = 5  # items that a page shows as people will see them


class ItemImporter(Importer):
    """Items with their outputs, as a batch."""

    purpose = Upload.Purpose.ITEMS
    check_kind, import_kind, undo_kind = "check upload", "import batch", "undo batch"
    create_kind = "create study of upload"
    record = Batch
    link = "batch"
    checked = CheckedItems

    def list_fields(self, target: Target, mapping: Mapping[str, str]) -> list[Field]:
        fields = list_fields(target.instrument, mapping)
        if target.is_open:
            fields.insert(2, Field(INPUT, "Input, by its own name", "This item", "", True))
        return fields

    def guess(self, header: Sequence[str], target: Target) -> dict[str, str]:
        if target.is_open:
            return guess_open(header, [], {})
        return guess_mapping(header, target.instrument)

    def guess_from_rows(
        self,
        header: Sequence[str],
        target: Target,
        rows: Sequence[Sequence[str]],
        chosen: Mapping[str, str],
    ) -> dict[str, str]:
        if target.is_open:
            return guess_open(header, rows, chosen)
        return guess_mapping(header, target.instrument, rows, chosen)

    def settle(self, guess: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
        fields = set(chosen.values())
        # any number of columns may be outputs of systems
        once = {
            column: field for column, field in chosen.items() if field not in (OF_SYSTEM, INPUT)
        }
        guess = super().settle(guess, once)
        if OF_SYSTEM in fields:
            fields = set(filter(is_per_output, guess.values()))
        elif any(is_per_output(field) for field in fields):
            fields = {OF_SYSTEM, *filter(is_numbered, guess.values())}
        else:
            return guess
        return {column: "" if field in fields else field for column, field in guess.items()}

    def get_merging(self, field: str, target: Target) -> str:
        if field in name_inputs(target.instrument):
            return JOIN
        return FIRST if field in ("item", "group", "cluster", "system", "output") else ""

    def map_inputs(self, columns: Collection[str], target: Target) -> dict[str, str]:
        return dict.fromkeys(columns, INPUT) if target.is_open else {}

    def complete(self, target: Target, checked: CheckedItems, rows: Sequence[Row]) -> Target:
        if not target.is_open:
            return target
        cells = [row.cells for row in rows]
        checked.inputs = list_inputs(checked, cells)
        if find_kind(list_output_cells(checked.mapping, cells)) == "conversation":
            checked.output_kind = "conversation"
        inputs = [*checked.inputs.values()]
        return replace(target, instrument=make_open_instrument(inputs, checked.output_kind))

    def map_systems(self, columns: Collection[str]) -> dict[str, str]:
        return dict.fromkeys(columns, OF_SYSTEM)

    def describe_columns(self, checked: CheckedItems, rows: Sequence[Row]) -> dict[str, str]:
        # what lacks columns lists all there are
        if not any(fault.code == "column_missing" for fault in checked.faults):
            checked.kept = describe_kept(checked.mapping, [row.cells for row in rows])
        return {
            column: note
            for number, column in enumerate(checked.header)
            if (
                note := _describe_column(
                    column,
                    checked.mapping[column],
                    [row.cells[number] for row in rows if number < len(row.cells)],
                )
            )
        }

    def check_mapping(self, checked: CheckedItems, target: Target, table: Table) -> list[Fault]:
        return check_mapping(checked, target.instrument, table)

    def make_reader(
        self, checked: CheckedItems, target: Target, options: Mapping[str, Any]
    ) -> "ItemReader":
        return ItemReader(checked, target, options)

    def check_columns(self, checked: CheckedItems) -> list[Remark]:
        kept = [column for column, field in checked.mapping.items() if not field]
        sentence = describe_personal(kept)
        return [Remark("personal_columns", sentence)] if sentence else []

    def summarise(self, checked: CheckedItems, target: Target) -> dict[str, Any]:
        in_file = {new: old for old, new in checked.renamed.items()}
        counts = checked.items.of_systems
        summary: dict[str, Any] = {
            "left_out": checked.left_out,
            "drawn_of": checked.drawn_of,
            "paired": find_note(checked.import_notes, PAIRED),
            "items": len(checked.items),
            "outputs": checked.outputs,
            "systems": len(checked.systems),
            "records": checked.items.records,
            # what the file calls each system, its name here, and how many outputs it has
            "names": [[in_file.get(name, name), name, counts[name]] for name in counts],
            "first_items": [
                *islice(_group_records(checked.items), 0 if target.is_open else EXAMPLES)
            ],
            # the first items: key, whether it is one output of several, inputs, systems and texts
            "examples": [
                {
                    "key": item.key,
                    "is_part": item.is_part,
                    "inputs": item.inputs,
                    "outputs": [[output.system, output.text] for output in item.outputs],
                }
                for item in checked.items[: 0 if target.is_open else EXAMPLES]
            ],
        }
        return summary | (summarise_open(checked) if target.is_open else {})

    def write_head(self, checked: CheckedItems) -> dict[str, Any]:
        return {
            "rows": checked.rows,
            "left_out": checked.left_out,
            "import_notes": checked.import_notes,
            "items": len(checked.items),
            "outputs": checked.outputs,
            "systems": checked.systems,
        }

    def write_rows(self, checked: CheckedItems) -> Iterator[Any]:
        for item in checked.items:
            outputs = [(output.system, output.text) for output in item.outputs]
            yield (
                item.key, item.group, item.line, item.record, outputs, item.inputs, item.kind,
                item.cluster, item.extra, item.gold,
            )  # fmt: skip

    def read_kept(
        self, head: Mapping[str, Any], read_rows: Callable[[], Iterator[Any]]
    ) -> CheckedItems:
        def read_items() -> Iterator[CheckedItem]:
            for key, group, line, record, outputs, *rest in read_rows():
                texts = tuple(CheckedOutput(*output) for output in outputs)
                yield CheckedItem(key, group, line, record, texts, *rest)

        return CheckedItems(
            rows=head["rows"],
            left_out=head["left_out"],
            import_notes=head["import_notes"],
            items=Items(
                read_items,
                count=head["items"],
                outputs=head["outputs"],
                systems=head["systems"],
            ),
        )

    def store(
        self, checked: CheckedItems, source: Source, *, by: Any, tell: Tell | None = None
    ) -> Batch:
        return import_batch(
            study=source.study,
            checked=checked,
            file_name=source.file_name,
            sha256=source.sha256,
            by=by,
            upload_key=source.upload_key,
            tell=tell,
        )

    def undo(self, record: Batch, *, by: Any) -> None:
        undo_batch(batch=record, by=by)


def _group_records(items: Iterable[CheckedItem]) -> Iterator[dict[str, Any]]:
    """Yield what the file has as one item, whatever people see of it at once."""
    key = attrgetter("record_key")
    for name, parts in groupby(items, key):
        first, *more = parts
        outputs = {output.system: output.text for item in (first, *more) for output in item.outputs}
        yield {
            "key": first.extra.get(SOURCE_ID, name),
            "line": first.line,
            "inputs": first.inputs,
            "outputs": [*map(list, outputs.items())],
        }


def find_note(notes: Sequence[Mapping[str, Any]], code: str) -> str:
    """Return the text of the note with this code; "" if there is none."""
    return next((str(note["text"]) for note in notes if note["code"] == code), "")


def _describe_column(column: str, field: str, cells: Sequence[str]) -> str:
    """Return what the first cells of a column contain, and what is asked about it."""
    filled = [cell for cell in cells if cell.strip()]
    if not field and is_reference(column):
        return "Is this a reference or a system? If a system wrote it, choose that here."
    if not filled:
        return "Empty in the first rows" if cells else ""
    if field == "" and is_personal(column):
        return "Looks personal"
    return ""


class ItemReader:
    """Puts the rows of a file together to items."""

    def __init__(self, checked: CheckedItems, target: Target, options: Mapping[str, Any]) -> None:
        self._checked = checked
        chosen = options.get(SYSTEM_NAMES) or {}
        former = {} if target.is_draft else find_former_names(target.study)
        self._former = {old: name for old, name in former.items() if old not in chosen}
        names = self._former | chosen
        plan = make_plan(checked, target.instrument)
        self._builder = ItemBuilder(target, checked.header, plan, {**options, SYSTEM_NAMES: names})
        checked.renamed = self._builder.splitter.renamed
        self._builder.empty.reasons = {
            (item, names.get(system, system)): reason
            for (item, system), reason in checked.failures.items()
        }
        self.add: Callable[[Row], None] = self._builder.add
        if plan.is_named_by_file and checked.system_name not in (options.get(NAMES) or {}).values():
            self._builder.remarks.tell(
                "system_named",
                f"These outputs will be called “{checked.system_name}”, after the file. Rename "
                f"them, or give the name with the file (alpha={checked.file_name})",
            )
        if sentence := describe_personal(plan.extra):
            self._builder.remarks.tell("personal_columns", sentence)

    def close(self) -> None:
        self._checked.faults += self._builder.faults
        self._checked.left_out = self._builder.left_out
        self._checked.remarks = self._builder.remarks.listed()

    def finish(self) -> None:
        checked, found = self._checked, len(self._builder.faults)
        checked.items = self._builder.finish()
        checked.drawn_of = self._builder.part.drawn_of
        checked.left_out = self._builder.left_out
        checked.notes |= self._describe_values()
        checked.decisions += self._builder.list_decisions()
        checked.import_notes += self._builder.list_notes()
        checked.faults += self._builder.faults[found:]
        if not checked.items and not checked.faults:
            message = (
                "Every row was left out, so there is nothing to import. Add rows of your own items."
            )
            if self._builder.has_joined:
                message = "The study has all of these outputs already. There is nothing to import."
            checked.faults.append(Fault("nothing_left", message))
        for old, new in checked.renamed.items():
            if old in self._former:
                self._builder.remarks.tell(
                    "system_renamed",
                    f"“{old}” was renamed to “{new}” in this study, so its outputs are counted as "
                    f"those of “{new}”. If another system wrote them, give that one another name",
                )
        checked.remarks = self._builder.remarks.listed()

    def _describe_values(self) -> dict[str, str]:
        """Return how many items and systems there are, beside the columns that name them."""
        columns = {field: column for column, field in self._checked.mapping.items()}
        notes = {}
        if "item" in columns:
            count = self._builder.count_items()
            notes[columns["item"]] = f"{count:,} different value{'' if count == 1 else 's'}"
        if "system" in columns:
            count = self._builder.count_systems()
            notes[columns["system"]] = (
                f"{count_of(count, 'system')}, never shown to people who rate"
            )
        return notes


ITEMS = register(ItemImporter())


def import_file(
    *,
    study: Study,
    path: Path,
    by: Any,
    mapping: FileMapping | None = None,
) -> Batch:
    """Import the file at this path as a batch. Raise ValidationError with its faults."""
    batch: Batch = import_path(ITEMS, study=study, path=path, by=by, mapping=mapping)
    return batch
