"""What only a researcher can decide about a file of items: rows that repeat, faulty, or empty.

Each is found while rows are read, offered as a `Decision`, and noted once it was made.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalsite.data.tables.faults import PLACES, Fault, name_place, name_plainly, quote
from evalsite.imports.batches.item_maker import RowValues
from evalsite.imports.batches.items import CheckedItem, DraftItem, is_made_group
from evalsite.imports.batches.names import check_id
from evalsite.imports.columns import join_names
from evalsite.imports.core import LEAVE_OUT_FAULTY, Decision
from evalsite.lib.cluster_guess import ClusterGuess, guess_clusters, is_cluster_name
from evalsite.studies.summary_lines import count_of

# with more of them the file is corrected rather than cut
_MOST_LEFT_OUT = 1_000
_LISTED = 100

TAKE_ONCE, EMPTY_OUTPUTS, CLUSTERS = "take_once", "empty_outputs", "clusters"
# answers about outputs without a text, beside “show”
LEAVE_OUT, NONE = "leave-out", "none"


class Repeats:
    """Rows that say the same of an item once more, as where each rater has a row."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.is_chosen = bool(options.get(TAKE_ONCE))
        self.rows = 0
        self.columns: dict[str, None] = {}  # in which they differ
        self._of_items: Counter[str] = Counter()
        self._first: tuple[int, int] | None = None

    def add(self, key: str, place: tuple[int, int], differing: Iterable[str]) -> None:
        self.rows += 1
        self._of_items[key] += 1
        self._first = self._first or place
        self.columns |= dict.fromkeys(differing)

    def find_fault(self) -> Fault | None:
        if not self.rows or self.is_chosen or self._first is None:
            return None
        message = f"{self._describe()} Take each once (--take-once), or remove all but one."
        return Fault("item_repeated", message, line=self._first[0], record=self._first[1])

    def list_decisions(self) -> list[Decision]:
        if not self.rows:
            return []
        return [
            Decision(
                TAKE_ONCE,
                f"{count_of(self.rows, 'row')} of {count_of(len(self._of_items), 'item')} "
                f"{'repeats' if self.rows == 1 else 'repeat'} an earlier row",
                f"{self._describe()} These columns are then not stored.",
                choices=[[True, "Take each once", ""]],
                is_made=self.is_chosen,
            )
        ]

    def list_notes(self) -> list[dict[str, Any]]:
        if not self.rows or not self.is_chosen:
            return []
        left = f"{count_of(self.rows, 'row')} that repeat an item were left out."
        return [{"code": "rows_taken_once", "text": f"{self._describe()} {left}", "rows": []}]

    def _describe(self) -> str:
        numbers = sorted({number + 1 for number in self._of_items.values()})
        rows = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        items = len(self._of_items)
        what = f"{count_of(items, 'item')} {'has' if items == 1 else 'have'} {rows} rows"
        if not self.columns:
            return f"{what} that are alike."
        named = [*self.columns]
        more = f" and {len(named) - 8} more" if len(named) > 8 else ""
        word = "column" if len(named) == 1 else "columns"
        return f"{what} that differ only in {word} {join_names(named[:8])}{more}."


class EmptyOutputs:
    """Outputs without a text of which the file doesn't say that they are meant to be empty."""

    def __init__(
        self, options: Mapping[str, Any], digest: Callable[[Mapping[str, str]], bytes]
    ) -> None:
        self.answer = str(options.get(EMPTY_OUTPUTS, ""))
        # why they have none, by item and system, as far as the file says it
        self.reasons: Mapping[tuple[str, str], str] = {}
        self._failed: list[str] = []
        self._digest = digest
        self._rows: list[tuple[int, int]] = []
        self._systems: Counter[str] = Counter()
        self._ids: dict[str, None] = {}
        # of inputs that are left out for every system: ids, and what is equal for equal texts
        self._keys: set[str] = set()
        self._digests: set[bytes] = set()

    def add(self, system: str, place: tuple[int, int], item: str | None) -> str:
        """Count an output without a text; return why it has none, in words, if that is known."""
        self._rows.append(place)
        self._systems[system] += 1
        if item:
            self._ids[item] = None
        reason = self.reasons.get((item or "", system), "")
        # a bare number would read as how many failed
        name = quote(item) if item and item.isdecimal() else item
        failed = f"{name} of {system} failed: {quote(reason, 100)}." if reason else ""
        if failed and len(self._failed) < PLACES:
            self._failed.append(failed)
        return failed

    def leaves_out(self, values: RowValues, item: DraftItem) -> bool:
        """Return whether an output without a text is left out, alone or with its input."""
        if self.answer == LEAVE_OUT:
            self._keys.add(item.key)
            if digest := self._digest(values.shared):
                self._digests.add(digest)
        return self.answer in (LEAVE_OUT, NONE)

    def is_left_out(self, item: DraftItem) -> bool:
        """Return whether the input of an item has no output of some system."""
        if not self._keys:
            return False
        return item.key in self._keys or self._digest(item.shared) in self._digests

    def list_decisions(self) -> list[Decision]:
        if not self._rows:
            return []
        return [
            Decision(
                EMPTY_OUTPUTS,
                f"{count_of(len(self._rows), 'output')} {'has' if len(self._rows) == 1 else 'have'}"
                " no text",
                " ".join([*self._count_by_system(), *self._failed]),
                choices=[
                    ["show", "Show “(no output)” instead", "Stored as empty texts."],
                    [LEAVE_OUT, "Leave out the inputs", "For every system."],
                    [NONE, "Keep the inputs without them", ""],
                ],
                rows=_list_rows((line, record, "") for line, record in self._rows),
                is_made=bool(self.answer),
            )
        ]

    def _count_by_system(self) -> Iterator[str]:
        """Yield how many each system has, and of which inputs, if their failures don't say so."""
        if len(self._failed) < len(self._rows):
            systems = [f"{count:,} by {name}" for name, count in self._systems.most_common(5)]
            yield f"{', '.join(systems)}."
            if self._ids:
                yield f"Of {name_plainly([*self._ids])}."

    def list_notes(self) -> list[dict[str, Any]]:
        if not self._rows or not self.answer:
            return []
        outputs = count_of(len(self._rows), "empty output")
        are = "is" if len(self._rows) == 1 else "are"
        text = {
            "show": f"{outputs} {are} shown as “(no output)”.",
            LEAVE_OUT: f"{outputs}: the inputs were left out for every system.",
            NONE: f"{outputs}: the inputs were kept without them.",
        }[self.answer]
        rows = [[line, record, "output_empty"] for line, record in self._rows]
        code = "empty_outputs_shown" if self.answer == "show" else "empty_outputs_left_out"
        return [{"code": code, "text": text, "rows": rows}]


class FaultyRows:
    """Rows with faults; left out, they take all other rows of their items with them."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.is_chosen = bool(options.get(LEAVE_OUT_FAULTY))
        self.keys: set[str] = set()
        self._faults: list[Fault] = []
        self._with_them: list[tuple[int, int, str]] = []
        self._records: set[int] = set()

    def add(self, fault: Fault, key: str | None) -> None:
        if key:
            self.keys.add(key)
        self._faults.append(fault)
        if fault.record is not None:
            self._records.add(fault.record)

    def add_item(self, item: DraftItem) -> None:
        """The other rows of an item, which go with a faulty one."""
        found = {output.record: output.line for output in item.outputs}
        for record, line in found.items():
            if record not in self._records:
                self._records.add(record)
                self._with_them.append((line, record, item.key))

    @property
    def rows(self) -> int:
        return len(self._records)

    def list_decisions(self) -> list[Decision]:
        if not self._faults or self.rows > _MOST_LEFT_OUT:
            return []
        faulty = self.rows - len(self._with_them)
        others = len(self._with_them)
        text = "An item is left out whole: leaving out one system’s row only would favour it."
        if others:
            text = (
                f"With them {'goes' if others == 1 else 'go'} {count_of(others, 'other row')} of "
                f"the same {'item' if len(self.keys) == 1 else 'items'}. {text}"
            )
        rows = [
            *((one.line or 0, one.record or 0, one.message) for one in self._faults),
            *((line, no, f"same item, “{key}”") for line, no, key in self._with_them),
        ]
        return [
            Decision(
                LEAVE_OUT_FAULTY,
                f"{count_of(faulty, 'row')} {'has' if faulty == 1 else 'have'} faults",
                text,
                choices=[[True, f"Leave out {count_of(self.rows, 'row')}", ""]],
                rows=_list_rows(rows),
                is_made=self.is_chosen,
            )
        ]

    def list_notes(self) -> list[dict[str, Any]]:
        if not self._faults or not self.is_chosen:
            return []
        faulty, others = self.rows - len(self._with_them), len(self._with_them)
        text = f"{count_of(faulty, 'faulty row')} {'was' if faulty == 1 else 'were'} left out"
        if others:
            text += f", and with {'it' if faulty == 1 else 'them'} {count_of(others, 'row')} of "
            text += "the same item" if len(self.keys) == 1 else "the same items"
        rows = [[one.line, one.record, one.code] for one in self._faults]
        rows += [[line, record, "same_item"] for line, record, _ in self._with_them]
        return [{"code": "rows_left_out", "text": f"{text}.", "rows": rows}]


class Clusters:
    """Talks or documents that items seem to come from, where no column is mapped to clusters.

    Without an answer the likely one counts.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._answer = options.get(CLUSTERS)
        self._guess: ClusterGuess | None = None

    def find(self, items: Iterable[CheckedItem], columns: Iterable[str]) -> None:
        """Look at all items of a file; `columns` are those that it keeps as metadata."""
        names: dict[str, str] = {}  # of each group the name of its input
        cells: dict[str, list[tuple[str, str]]] = {
            column: [] for column in columns if is_cluster_name(column)
        }
        for item in items:
            if item.kind != "main":
                continue
            name = names.setdefault(item.group, _name_input(item))
            for column, pairs in cells.items():
                value = item.extra.get(column, "")
                pairs.append((name, value if isinstance(value, str) else ""))
        usable = {
            column: pairs
            for column, pairs in cells.items()
            if not any(check_id(value) for _, value in pairs)
        }
        self._guess = guess_clusters([*names.values()], usable)

    @property
    def are_used(self) -> bool:
        if self._guess is None:
            return False
        return self._answer == "yes" or (self._answer != "no" and self._guess.is_likely)

    def name_cluster(self, item: CheckedItem) -> str:
        """Return the cluster of an item; "" if it is in none that is used."""
        if self._guess is None or not self.are_used:
            return ""
        if self._guess.column:
            return str(item.extra.get(self._guess.column, ""))
        return self._guess.clusters.get(_name_input(item), "")

    def list_decisions(self) -> list[Decision]:
        guess = self._guess
        if guess is None:
            return []
        # items that share an input count once
        inputs, noun = len(guess.clusters), guess.noun
        title = f"These {inputs:,} inputs come from {guess.number:,} {noun} (column {guess.column})"
        if not guess.column:
            title = f"The ids of these {inputs:,} inputs share {guess.number:,} beginnings"
        likely = "yes" if guess.is_likely else "no"
        text = (
            "Items of one talk or document resemble each other. Without clusters, tests find "
            "differences that don’t exist in 9% of studies instead of 5%. Use "
            f"{noun if guess.column else 'the beginnings'} as clusters? Without an answer: "
            f"{likely}."
        )
        if self._answer == "yes":
            text = (
                f"{noun.capitalize() if guess.column else 'The beginnings'} are used as clusters."
            )
        elif self._answer == "no":
            text = "Items are treated as independent."
        return [
            Decision(
                CLUSTERS,
                title,
                text,
                choices=[
                    ["yes", f"Yes, use {noun if guess.column else 'them'} as clusters", ""],
                    ["no", "No, items are independent", ""],
                ],
                is_made=self._answer in ("yes", "no"),
            )
        ]

    def list_notes(self) -> list[dict[str, Any]]:
        guess = self._guess
        if guess is None:
            return []
        facts = {
            "items": len(guess.clusters),
            "clusters": guess.number,
            "noun": guess.noun,
            "column": guess.column,
        }
        by = f"column {guess.column}" if guess.column else "beginnings of ids"
        clusters = f"{guess.number:,} {guess.noun} ({by})"
        text = f"Items are treated as independent, though they seem to come from {clusters}."
        if self.are_used:
            text = f"{clusters} are used as clusters of items."
        code = "clusters_used" if self.are_used else "clusters_not_used"
        return [{"code": code, "text": text, "rows": [], "facts": facts}]


def _name_input(item: CheckedItem) -> str:
    """Return the group that the file names, or else the item's id in the file."""
    return str(item.extra.get("item", item.key)) if is_made_group(item.group) else item.group


def _list_rows(rows: Iterable[tuple[int, int, str]]) -> list[str]:
    listed: Sequence[tuple[int, int, str]] = [*rows]
    told = [
        f"{name_place(line, record)}{f': {text}' if text else ''}"
        for line, record, text in listed[:_LISTED]
    ]
    if len(listed) > _LISTED:
        told.append(f"and {len(listed) - _LISTED:,} more")
    return told
