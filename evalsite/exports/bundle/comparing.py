"""The tables of a bundle against its records: the files that are analysed say what is on record.

Both are read once, side by side, since both are in the order in which answers were first saved.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from evalsite.exports.bundle.examining import Examination
from evalsite.exports.bundle.layout import (
    ANNOTATION_ROWS,
    CODEBOOK,
    EXCLUSION_ROWS,
    EXCLUSIONS,
    FREE_TEXT,
    METRIC_ROWS,
    name_data,
)
from evalsite.exports.bundle.opening import BadBundle, Bundle
from evalsite.exports.column import name_output, write_score
from evalsite.protocol import installed_scales

Cells = dict[str, str]
# what a rating is of, and its value
Value = tuple[str, str, str]


class Comparison:
    """Reads every table under data/, with the examination of the records at hand."""

    def __init__(self, bundle: Bundle, examined: Examination) -> None:
        self.bundle = bundle
        self.examined = examined
        self.study = examined.study
        self.faults: list[str] = []
        self.rows: Counter[str] = Counter()
        self._columns = _read_columns(bundle)
        self._comparing = {kind for kind, scale in installed_scales().items() if scale.compares}

    def compare(self) -> None:
        compare: dict[str, Callable[[Iterator[Cells]], None]] = {
            "ratings": self._compare_ratings,
            "annotations": self._compare_annotations,
            "participants": self._compare_people,
            "items": self._compare_items,
            "exclusions": self._compare_exclusions,
            "metrics": self._compare_metrics,
        }
        for path in self.bundle.names:
            if path.startswith("data/") and path.endswith(".csv"):
                name = path.removeprefix("data/").removesuffix(".csv")
                rows = self._read(path, name)
                if name in compare:
                    compare[name](rows)
                for _ in rows:  # to the end: each row is looked at while it is read
                    pass

    def _read(self, path: str, name: str) -> Iterator[Cells]:
        """The rows, each looked at for what it names."""
        table = self.bundle.read_table(path)
        header = next(table)
        if header != self._columns.get(f"{name}.csv"):
            raise BadBundle(f"{path} has other columns than {CODEBOOK} says.")
        for row in table:
            cells = dict(zip(header, row, strict=True))
            self.rows[name] += 1
            if wrong := next(self._find_unknown(cells), None):
                self._add(f"{path}, record {self.rows[name]}: {wrong}.")
            yield cells

    def _find_unknown(self, cells: Cells) -> Iterator[str]:
        """What a row names that is not in the records."""
        examined = self.examined
        if cells.get("study", self.study["id"]) != self.study["id"]:
            yield "it is of another study"
        if cells.get("item", "") and cells["item"] not in examined.items:
            yield f"there is no item {cells['item']}"
        if cells.get("participant", "") and cells["participant"] not in examined.sets:
            yield f"there is no participant {cells['participant']}"
        if cells.get("annotation", "") and cells["annotation"] not in examined.annotations:
            yield f"there is no annotation {cells['annotation']}"
        yield from self._find_output(cells)
        if not examined.has_free_text and any(cells.get(name) for name in FREE_TEXT):
            yield "it holds free text, which this bundle is said not to have"

    def _find_output(self, cells: Cells) -> Iterator[str]:
        """Where an output is named: it is the item's, its system's, and as long as it is told."""
        name = cells.get("output_id", "")
        item = self.examined.items.get(cells.get("item", ""))
        if not name or item is None:
            return
        number = name.rpartition("#")[2]
        place = int(number) - 1 if number.isdecimal() else -1
        is_there = 0 <= place < len(item["texts"])
        if not is_there or name != name_output(cells["item"], place):
            yield f"the item has no output {name}"
        elif cells["system"] != (item["systems"][place] or ""):
            yield f"{name} is of another system"
        elif cells.get("output", item["texts"][place]) != item["texts"][place]:
            yield f"{name} has another text"

    # tables that have a counterpart

    def _compare_ratings(self, rows: Iterator[Cells]) -> None:
        """Row for row what the records say was rated."""
        grouped = groupby(rows, key=lambda cells: cells["annotation"])
        for record in self.bundle.read_rows(ANNOTATION_ROWS):
            if not record["ratings"]:
                continue
            key, found = next(grouped, ("", iter(())))
            told = [(self._tell(cells), cells) for cells in found]
            values = Counter(value for value, _ in told)
            is_same = key == record["key"] and values == Counter(self._expect(record))
            if not is_same or not all(_agrees(cells, record) for _, cells in told):
                self._add(f"{name_data('ratings')}: annotation {record['key']} is not as recorded.")

    def _tell(self, cells: Cells) -> Value:
        about = cells["preferred"] if cells["scale"] in self._comparing else cells["output_id"]
        return cells["criterion"], about, cells["value"]

    def _expect(self, record: Mapping[str, Any]) -> Iterator[Value]:
        scales = self.examined.scales[record["version"]]
        systems = self.examined.items[record["item"]]["systems"]
        for criterion, position, value, *_ in record["ratings"]:
            if position is None:
                about = ""
            elif scales[criterion].compares:
                about = systems[position] or ""
            else:
                about = name_output(record["item"], position)
            yield criterion, about, str(value)

    def _compare_annotations(self, rows: Iterator[Cells]) -> None:
        for record in self.bundle.read_rows(ANNOTATION_ROWS):
            cells = next(rows, None)
            if cells is None or not _is_of(cells, record):
                self._add(
                    f"{name_data('annotations')}: annotation {record['key']} is not as recorded."
                )

    def _compare_people(self, rows: Iterator[Cells]) -> None:
        if [cells["participant"] for cells in rows] != self.examined.people:
            self._add(f"{name_data('participants')} names others than the records.")

    def _compare_items(self, rows: Iterator[Cells]) -> None:
        outputs = Counter(cells["item"] for cells in rows)
        for key, item in self.examined.items.items():
            if outputs[key] != len(item["systems"]):
                self._add(f"{name_data('items')}: item {key} has not all of its outputs.")

    def _compare_exclusions(self, rows: Iterator[Cells]) -> None:
        recorded = [
            (one["participant"] or "", one["annotation"] or "", one["reason"], one["rule"])
            for one in self.bundle.read_rows(EXCLUSION_ROWS)
        ]
        told = [
            (cells["participant"], cells["annotation"], cells["reason"], cells["rule"])
            for cells in rows
        ]
        if told != recorded:
            self._add(f"{EXCLUSIONS} tells of other decisions than the records.")

    def _compare_metrics(self, rows: Iterator[Cells]) -> None:
        recorded = {
            (name_output(one["item"], one["output"]), one["metric"], write_score(one["value"]))
            for one in self.bundle.read_rows(METRIC_ROWS)
        }
        if {(cells["output_id"], cells["metric"], cells["value"]) for cells in rows} != recorded:
            self._add(f"{name_data('metrics')} tells of other scores than the records.")

    def check_rows(self, counts: Mapping[str, Any]) -> None:
        """Each table has as many rows as there are things that it is about."""
        expected = {
            "ratings": counts["ratings"],
            "annotations": sum(counts["annotations"].values()),
            "highlights": counts["highlights"],
            "participants": counts["participants"],
            "exclusions": counts["exclusions"],
            "metrics": counts["metrics"],
        }
        for name, count in expected.items():
            if name_data(name) in self.bundle.names and self.rows[name] != count:
                self._add(f"{name_data(name)} has {self.rows[name]:,} rows, but {count:,} belong.")

    def _add(self, fault: str) -> None:
        self.faults.append(fault)


def _agrees(cells: Cells, record: Mapping[str, Any]) -> bool:
    """Whether what all rows of an annotation share is as recorded."""
    names = ("item", "participant", "status", "origin")
    version = "" if record["version"] is None else str(record["version"])
    return cells["version"] == version and all(cells[name] == record[name] for name in names)


def _is_of(cells: Cells, record: Mapping[str, Any]) -> bool:
    """Whether a row of annotations.csv tells of this annotation, and as recorded."""
    told = [cells[name] for name in ("annotation", "outcome", "ratings", "note")]
    expected = [record["key"], record["outcome"], str(len(record["ratings"])), record["note"]]
    return told == expected and _agrees(cells, record)


def _read_columns(bundle: Bundle) -> dict[str, list[str]]:
    """The columns of each table, as the bundle's own codebook has them."""
    rows = bundle.read_table(CODEBOOK)
    next(rows)
    found: dict[str, list[str]] = {}
    for file, column, *_ in rows:
        found.setdefault(file, []).append(column)
    return found
