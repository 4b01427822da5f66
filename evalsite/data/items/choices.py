"""What a file of items has to be asked about: its ids, rows and texts, and what the study has.

Whatever only a researcher can decide is found while rows are read, offered as a `Decision`, and
noted once it was made; until then texts stay as they are.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain, combinations, count, islice, zip_longest
from typing import Any

from evalsite.core.audit.models import AuditEntry
from evalsite.data.importing import LEAVE_OUT_FAULTY, Decision, Target, fold_system, join_names
from evalsite.data.items.items import CheckedItem, DraftItem, DraftOutput, Items, is_made_group
from evalsite.data.tables.table import (
    PLACES,
    Fault,
    Remark,
    Row,
    find_control,
    find_difference,
    hold_control,
    name_place,
    name_plainly,
    quote,
)
from evalsite.data.tables.texts import (
    find_reasoning,
    read_messages,
    write_last_answer,
    write_messages,
    write_value,
)
from evalsite.instruments.schema import Instrument
from evalsite.lib.cluster_guess import ClusterGuess, guess_clusters, is_cluster_name
from evalsite.lib.conversations import read_turns
from evalsite.lib.dialogue import parse_dialogue
from evalsite.lib.seeds import make_random
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.summary_lines import count_of

# So limited, an id is safe in every spreadsheet, address and file that it may end up in.
ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
ROW_KEY = re.compile(r"row-([0-9]{4,})")
MAX_KEY = 128
_RESERVED = re.compile(r"practice-[0-9]+", re.I)


def check_id(text: str) -> str:
    """Say what is wrong with this id; "" if it may be used."""
    if not text.strip():
        return "The id is empty. Give one in every row."
    if not ID_PATTERN.fullmatch(text):
        joined = "-".join(text.split())
        advice = f" For example, write “{joined}”." if ID_PATTERN.fullmatch(joined) else ""
        return (
            f"“{_shorten(text)}” can't be an id. Use up to {MAX_KEY} characters: letters A to Z, "
            f"digits and . _ : / -, no spaces, starting with a letter or digit.{advice}"
        )
    if is_reserved(text):
        return f"“{text}” is kept for practice items of the protocol. Choose another id."
    return ""


# where the id stands that the file gave, if it can't be one here
SOURCE_ID = "source_id"
_LETTERS = str.maketrans({
    "ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "æ": "ae",
    "ø": "o", "å": "a", "ł": "l", "đ": "d",
})  # fmt: skip
_HARMLESS = re.compile(r"[\w#(\[](?:[\w .,:;#()\[\]&%+*=@!?|~/-]*[\w.)\]!?%])?")
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._:/-]+")


def shorten_id(text: str) -> str:
    """Return an id that every file may hold, as near as possible to this one; "" if none is."""
    plain = unicodedata.normalize("NFKC", text).translate(_LETTERS)
    marked = unicodedata.normalize("NFD", plain)
    plain = "".join(sign for sign in marked if not unicodedata.combining(sign))
    return re.sub("--+", "-", _NOT_IN_IDS.sub("-", plain)).strip("-._:/")[:MAX_KEY]


class ShortIds:
    """Ids of a file that has others than a study may have: each gets a short one."""

    def __init__(self, keys: Container[str], known: Container[str]) -> None:
        self._keys, self._known = keys, known
        self._short: dict[str, str] = {}
        self._taken: set[str] = set()

    def get(self, text: str) -> str:
        """Return the id for what the file says; what could mislead stays, and is refused."""
        if text in self._known or (text not in self._taken and ID_PATTERN.fullmatch(text)):
            return text
        # no formula, quote or path: an id that nothing could misread
        if len(text) > MAX_KEY or not text.isprintable() or not _HARMLESS.fullmatch(text):
            return text
        if text not in self._short:
            base = shorten_id(text) or f"item-{len(self._short) + 1:04}"
            numbered = (f"{base}-{number}" for number in count(2))
            self._short[text] = next(
                key
                for key in chain([base], numbered)
                if key not in self._keys and key not in self._known and key not in self._taken
            )
            self._taken.add(self._short[text])
        return self._short[text]

    def is_short(self, key: str) -> bool:
        """Return whether this id was given to another one of the file."""
        return key in self._taken

    def list_remarks(self) -> Iterator[Remark]:
        if self._short:
            (source, short), *_ = self._short.items()
            number = len(self._short)
            yield Remark(
                "ids_changed",
                f"{count_of(number, 'id')} {'has' if number == 1 else 'have'} spaces or other "
                f"characters. Files say {short} for “{_shorten(source)}”; the original is kept",
            )


def is_reserved(text: str) -> bool:
    """Return whether this is the id of a practice item that comes with a protocol."""
    return _RESERVED.fullmatch(text) is not None


class Names:
    """Names in use, by what a reader might take them for."""

    def __init__(self, existing: Iterable[str] = ()) -> None:
        # most names are as they are when folded: of these nothing but their line is kept
        self._plain: dict[str, int] = {}
        self._spelled: dict[str, tuple[str, int]] = {}
        for name in existing:
            self._take(name, fold_system(name), 0)

    def meet(self, name: str, line: int) -> tuple[str, str]:
        """Record the name as used. If it could be confused: return why, and with which name."""
        folded = fold_system(name)
        if folded in self._plain:
            spelling, first = folded, self._plain[folded]
        elif folded in self._spelled:
            spelling, first = self._spelled[folded]
        else:
            self._take(name, folded, line)
            return "", name
        if spelling == name:
            return "", name
        where = f"of line {first}" if first else "that the study has already"
        problem = (
            f"“{_shorten(name)}” differs from “{_shorten(spelling)}” {where} only in case, "
            "spaces or Unicode form. Use one spelling, or two clearly different ones."
        )
        return problem, spelling

    def _take(self, name: str, folded: str, line: int) -> None:
        if name == folded:
            self._plain[name] = line
        else:
            self._spelled[folded] = (name, line)


def find_known(target: Target) -> tuple[set[str], list[str]]:
    """Keys of the study's items, and names of its systems."""
    if target.is_draft:
        return {f"practice-{n + 1}" for n in range(len(target.instrument.practice))}, []
    study = target.study
    keys = set(study.items.values_list("key", flat=True).iterator(chunk_size=10_000))
    return keys, list(study.systems.values_list("name", flat=True))


def find_former_names(study: Study) -> dict[str, str]:
    """Return what systems of the study are called now, by what they were called before."""
    names: dict[str, str] = {}
    log = AuditEntry.objects.filter(study_id=study.pk, action="system renamed").order_by("pk")
    for before, after in log.values_list("detail__before", "detail__after"):
        names = {old: after if new == before else new for old, new in names.items()}
        names[before] = after
    systems = {*study.systems.values_list("name", flat=True)} if names else set()
    return {old: new for old, new in names.items() if new in systems and old not in systems}


def find_last_row_number(keys: Iterable[str]) -> int:
    """The highest number of the keys that were made for rows without an id; 0 without any."""
    return max((int(match[1]) for key in keys if (match := ROW_KEY.fullmatch(key))), default=0)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


# --- rows -------------------------------------------------------------------------------


# with more of them the file is corrected rather than cut
_MOST_LEFT_OUT = 1_000
_LISTED = 100

TAKE_ONCE, EMPTY_OUTPUTS, CLUSTERS = "take_once", "empty_outputs", "clusters"
RANDOM_PART = "random_part"
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
        beginning = f"{count_of(items, 'item')} {'has' if items == 1 else 'have'} {rows} rows"
        if not self.columns:
            return f"{beginning} that are alike."
        named = [*self.columns]
        more = f" and {len(named) - 8} more" if len(named) > 8 else ""
        word = "column" if len(named) == 1 else "columns"
        return f"{beginning} that differ only in {word} {join_names(named[:8])}{more}."


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

    def add(self, system: str, place: tuple[int, int], item: str) -> str:
        """Count an output without a text; return why it has none, in words, if that is known."""
        self._rows.append(place)
        self._systems[system] += 1
        if item:
            self._ids[item] = None
        reason = self.reasons.get((item, system), "")
        # a bare number would read as how many failed
        name = quote(item) if item.isdecimal() else item
        failed = f"{name} of {system} failed: {quote(reason, 100)}." if reason else ""
        if failed and len(self._failed) < PLACES:
            self._failed.append(failed)
        return failed

    def leaves_out(self, values: DraftItem, item: DraftItem) -> bool:
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
        lines = {output.record: output.line for output in item.outputs}
        for record, line in lines.items():
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
        other_rows = len(self._with_them)
        text = "An item is left out whole: leaving out one system’s row only would favour it."
        if other_rows:
            text = (
                f"With them {'goes' if other_rows == 1 else 'go'} "
                f"{count_of(other_rows, 'other row')} of the same "
                f"{'item' if len(self.keys) == 1 else 'items'}. {text}"
            )
        rows = [
            *((fault.line or 0, fault.record or 0, fault.message) for fault in self._faults),
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
        faulty, other_rows = self.rows - len(self._with_them), len(self._with_them)
        text = f"{count_of(faulty, 'faulty row')} {'was' if faulty == 1 else 'were'} left out"
        if other_rows:
            text += (
                f", and with {'it' if faulty == 1 else 'them'} {count_of(other_rows, 'row')} of "
            )
            text += "the same item" if len(self.keys) == 1 else "the same items"
        rows = [[fault.line, fault.record, fault.code] for fault in self._faults]
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


class RandomPart:
    """A random part of the items, if a number was chosen: inputs with all of their outputs.

    Of clusters as many each as can be. What people don't rate for themselves always stays.
    """

    def __init__(self, options: Mapping[str, Any], *, seed: str) -> None:
        self._number: int = options.get(RANDOM_PART) or 0
        self._seed = seed
        self.drawn_of = 0  # 0: all are taken

    def draw(self, items: Items) -> Items:
        """Return the part of these items; all of them where no fewer were chosen."""
        clusters: dict[str, str] = {}
        if self._number:
            mains = (item for item in items if item.kind == "main")
            clusters = {_name_whole(item): item.cluster for item in mains}
        if len(clusters) <= self._number:
            return items
        self.drawn_of = len(clusters)
        drawn = self._choose(clusters)
        part = Items(
            lambda: (item for item in items if item.kind != "main" or _name_whole(item) in drawn)
        )
        records: dict[tuple[str, str], None] = {}  # each output once, in the order of the file
        for item in part:
            part.count(item)
            records |= {(item.record_key, output.system): None for output in item.outputs}
        part.records = len({key for key, _ in records})
        part.of_systems.update(system for _, system in records)
        return part

    def _choose(self, clusters: Mapping[str, str]) -> set[str]:
        by_cluster: dict[str, list[str]] = {}
        for name, cluster in clusters.items():
            by_cluster.setdefault(cluster, []).append(name)
        piles = [*by_cluster.values()]
        random = make_random(self._seed, RANDOM_PART)
        for pile in piles:
            random.shuffle(pile)
        random.shuffle(piles)
        in_turn = chain.from_iterable(zip_longest(*piles))
        return {*[name for name in in_turn if name is not None][: self._number]}

    def list_notes(self) -> list[dict[str, Any]]:
        if not self.drawn_of:
            return []
        text = (
            f"People rate a random {self._number:,} of the {count_of(self.drawn_of, 'item')} in "
            f"the file, drawn with the seed {self._seed}. The other "
            f"{self.drawn_of - self._number:,} aren't in the study."
        )
        return [{"code": RANDOM_PART, "text": text, "rows": []}]


def _name_whole(item: CheckedItem) -> str:
    """Return the name of what is drawn or not as a whole: whatever shares the item's input."""
    is_of_record = is_made_group(item.group) and len(item.outputs) > 1
    return item.record_key if is_of_record else item.group


def _name_input(item: CheckedItem) -> str:
    """Return the group that the file names, or else the item's id in the file."""
    return str(item.extra.get("item", item.key)) if is_made_group(item.group) else item.group


def _list_rows(rows: Iterable[tuple[int, int, str]]) -> list[str]:
    listed: Sequence[tuple[int, int, str]] = [*rows]
    entries = [
        f"{name_place(line, record)}{f': {text}' if text else ''}"
        for line, record, text in listed[:_LISTED]
    ]
    if len(listed) > _LISTED:
        entries.append(f"and {len(listed) - _LISTED:,} more")
    return entries


# --- texts ------------------------------------------------------------------------------


# keys of the questions, as options of an upload have them; an option of a command is called alike
REASONING, SYSTEM_PROMPTS = "outputs_reasoning", "outputs_system-prompts"
SHOW_REASONING = "outputs_show-reasoning"
PROMPTS, CONTROLS, MISSING = "prompts", "control_characters", "missing"
KEEP, CONVERSATION, TEXT, SPACE, REMOVE = "keep", "conversation", "text", "space", "remove"
YES, NO = "yes", "no"
# without an answer nothing is shown, or each cell has a fault of its own
_OPTIONAL = (CONTROLS, SHOW_REASONING)
# what programs call reasoning that they keep apart from the output
_REASONING_FIELDS = ("reasoning_content", "reasoning")
_CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]")
# kinds of texts that show messages as they are written; others draw them as turns
_WRITTEN = ("text", "markdown")
_SPEAKERS = frozenset((
    "user", "human", "person", "customer", "client", "assistant", "ai", "bot", "chatbot", "model",
    "system", "agent", "operator", "a", "b", "speaker", "nutzer", "nutzerin", "mensch", "kunde",
    "kundin", "assistent", "assistentin", "utilisateur", "utilisatrice", "usuario", "usuaria",
    "cliente", "asistente", "assistente", "utente", "humain", "humano",
))  # fmt: skip
# what programs write for a missing value; asked about if outputs are nothing else
_NOTHING = "\\N"  # as databases write it, which means nothing else
_LOST = frozenset(("nan", "NaN", "None", "null"))
_FEW = 2
_NUMBER = re.compile(r"[\s_-]*[0-9]+$")
_MOST_NAMED = 100


class Texts:
    """Makes the texts of a file what people will read, and counts what has to be decided."""

    def __init__(
        self, config: Instrument, options: Mapping[str, Any], *, ids: Sequence[int]
    ) -> None:
        self._inputs = [(column.name, column.kind) for column in config.columns]
        self._is_output_written = config.item.outputs.kind in _WRITTEN
        self._answers = {
            key: answer if answer in dict(choices) else ""
            for key, choices in _CHOICES.items()
            for answer in [str(options.get(key, ""))]
        }
        self._lost: Counter[str] = Counter()
        # columns whose control characters are never replaced: ids and names
        self._ids = {*ids}
        self._reasoning: Counter[str] = Counter()
        self._beside: Counter[str] = Counter()
        self._unclosed: dict[str, None] = {}
        self._prompted: dict[str, None] = {}
        self._spoken: dict[str, None] = {}
        self._speakers: dict[str, None] = {}
        self._controls: Counter[str] = Counter()

    # --- characters -----------------------------------------------------------------------

    def clean(self, row: Row) -> None:
        """Replace control characters in texts, if that was decided; else count them."""
        if not hold_control(row.cells):
            return
        for number, cell in enumerate(row.cells):
            if number in self._ids or not (control := find_control(cell)):
                continue
            self._controls[control.partition("(")[2].partition(",")[0]] += 1
            if answer := self._answers[CONTROLS]:
                row.cells[number] = _CONTROL.sub(" " if answer == SPACE else "", cell)

    # --- messages -------------------------------------------------------------------------

    def settle(self, values: DraftItem, key: str) -> None:
        """Make the texts of a row what people will read."""
        for name, kind in self._inputs:
            text = values.shared.get(name, "")
            if text[:1] == "[" and (turns := read_turns(text)):
                values.shared[name] = self._write_input(values, turns, kind, key)
            elif kind == "conversation" and ":" in text:
                values.shared[name] = self._read_speakers(text, key)
        if len(values.outputs) == 1:
            self._read_beside(values.outputs[0], values.extra)
        for output in values.outputs:
            text = output.text
            if text[:1] == "[" and self._is_output_written and (turns := read_turns(text)):
                output.text = write_last_answer(read_messages(turns))
            if "<" in text[:40]:
                self._read_reasoning(output, values, key)
            elif text == _NOTHING:
                output.text = ""
            elif text in _LOST:
                self._lost[text] += 1
                if self._answers[MISSING] == text:
                    output.text = ""

    def _write_input(
        self, values: DraftItem, turns: Sequence[Mapping[str, Any]], kind: str, key: str
    ) -> str:
        if len(turns) > 1 and turns[0]["role"] in ("system", "developer"):
            self._prompted[key] = None
            if self._answers[SYSTEM_PROMPTS] == LEAVE_OUT:
                prompt = read_messages(turns[:1])[0]["content"]
                values.extra = {**values.extra, "system_prompt": prompt}
                turns = turns[1:]
        if kind in _WRITTEN:
            return write_messages(read_messages(turns))
        return write_value(list(turns))

    def _read_speakers(self, text: str, key: str) -> str:
        """Write a text as one turn if its lines begin with other words than speakers."""
        named = [turn.speaker for turn in parse_dialogue(text) if turn.speaker]
        unknown = [
            name for name in named if _NUMBER.sub("", name.strip().casefold()) not in _SPEAKERS
        ]
        if not unknown or text[:1] in ("[", "{"):
            return text
        self._spoken[key] = None
        self._speakers |= dict.fromkeys(unknown)
        if self._answers[PROMPTS] == TEXT:
            return write_value([{"role": "user", "content": text}])
        return text

    # --- reasoning ------------------------------------------------------------------------

    def _read_reasoning(self, output: DraftOutput, values: DraftItem, key: str) -> None:
        reasoning = find_reasoning(output.text)
        if reasoning is None:
            return
        self._reasoning[output.system] += 1
        if not reasoning.is_closed:
            self._unclosed[key] = None
        if self._answers[REASONING] == LEAVE_OUT:
            values.extra = {**values.extra, "reasoning": reasoning.text}
            output.text = reasoning.rest

    def _read_beside(self, output: DraftOutput, extra: Mapping[str, str]) -> None:
        """Show reasoning that has a field of its own above the output, if that was chosen."""
        texts = (extra.get(name, "").strip() for name in _REASONING_FIELDS)
        if reasoning := next(filter(None, texts), ""):
            self._beside[output.system] += 1
            if self._answers[SHOW_REASONING] == YES:
                output.text = f"{reasoning}\n\n{output.text}".rstrip()

    # --- what has to be decided -----------------------------------------------------------

    def find_faults(self) -> Iterator[Fault]:
        """Yield that something has to be decided, as far as it isn't."""
        for key, text, _ in self._list_questions():
            if key not in _OPTIONAL and not self._answers[key]:
                message = f"{text} {self._write_choices(key)}"
                yield Fault("decision_needed", " ".join([message, *self._explain(key)]))

    def list_decisions(self) -> list[Decision]:
        return [
            Decision(
                key,
                text,
                # no fault says it
                self._write_choices(key) if key in _OPTIONAL else " ".join(self._explain(key)),
                choices=[[value, words, ""] for value, words in self._list_choices(key)],
                rows=ids[:_MOST_NAMED],
                is_made=bool(self._answers[key]),
            )
            for key, text, ids in self._list_questions()
        ]

    def list_notes(self) -> list[dict[str, Any]]:
        notes = []
        for key, text, _ in self._list_questions():
            if answer := self._answers[key]:
                words = dict(_CHOICES[key]).get(answer, "")
                notes.append({"code": key, "text": f"{text} {words}.", "rows": []})
        return notes

    def _list_choices(self, key: str) -> list[tuple[str, str]]:
        """Return the answers to a question; of words for missing values those that occur."""
        choices = _CHOICES[key]
        if key != MISSING:
            return choices
        return [(value, words) for value, words in choices if value in self._lost or value == "-"]

    def _write_choices(self, key: str) -> str:
        """Return what may be answered, with the option of a command for it."""
        option = key.removeprefix("outputs_").replace("_", "-")
        if key != MISSING:
            values = " or ".join(value for value, _ in _CHOICES[key])
            return f"{_ASKED[key]} (--{option} {values})."
        words = " or ".join(f"“{word}” as missing (--{option} {word})" for word in self._lost)
        return f"Read {words}, or keep it as text (--{option} -)."

    def _explain(self, key: str) -> Iterator[str]:
        """Yield what else is to be known before a question is answered."""
        if key == REASONING and self._unclosed:
            outputs = "output" if len(self._unclosed) == 1 else "outputs"
            ids = name_plainly([*self._unclosed])
            yield (
                f"In {ids} reasoning begins and has no end (no </think>): nothing is left of the "
                f"{outputs}."
            )

    def _list_questions(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the key of each question, what there is, and the ids it is about."""
        if self._prompted:
            inputs = count_of(len(self._prompted), "input")
            begin = "begins" if len(self._prompted) == 1 else "begin"
            yield SYSTEM_PROMPTS, f"{inputs} {begin} with a system prompt.", [*self._prompted]
        if number := self._reasoning.total():
            begin = "begins" if number == 1 else "begin"
            systems = name_plainly([*self._reasoning])
            text = f"{count_of(number, 'output')} of {systems} {begin} with reasoning."
            yield REASONING, text, [*self._unclosed]
        if number := self._beside.total():
            have = "has" if number == 1 else "have"
            outputs = f"{count_of(number, 'output')} of {name_plainly([*self._beside])}"
            yield SHOW_REASONING, f"{outputs} {have} reasoning in a field of its own.", []
        if self._spoken:
            names = " and ".join(f"“{name}:”" for name in [*self._speakers][:3])
            look = "doesn't look like a speaker" if len(self._speakers) == 1 else (
                "don't look like speakers"
            )  # fmt: skip
            yield PROMPTS, f"{names} {look}.", [*self._spoken]
        if (number := self._lost.total()) >= _FEW:
            words = " or ".join(f"“{word}”" for word in self._lost)
            outputs = count_of(number, "output")
            text = f"{outputs} are only {words}, which programs write for a missing value."
            yield MISSING, text, []
        if number := self._controls.total():
            holds = "holds" if number == 1 else "hold"
            names = ", ".join(self._controls)
            cells = count_of(number, "cell")
            yield CONTROLS, f"{cells} {holds} control characters ({names}).", []


# what is asked, and by each answer what it does
_ASKED = {
    SYSTEM_PROMPTS: "Leave it out, or show it",
    REASONING: "Leave it out, or keep it",
    SHOW_REASONING: "It isn't shown unless you choose it",
    PROMPTS: "Show each prompt as one text, or as turns",
    CONTROLS: "Replace them by spaces, or remove them",
}
_CHOICES: dict[str, list[tuple[str, str]]] = {
    SYSTEM_PROMPTS: [
        (LEAVE_OUT, "It isn't shown, but kept as metadata"),
        (KEEP, "It is shown as the first turn"),
    ],
    REASONING: [
        (LEAVE_OUT, "It isn't shown, but kept as metadata"),
        (KEEP, "It is shown"),
    ],
    SHOW_REASONING: [
        (YES, "It is shown above the output"),
        (NO, "It isn't shown, but kept as metadata"),
    ],
    PROMPTS: [
        (TEXT, "Each prompt is shown as one text"),
        (CONVERSATION, "Each prompt is shown as turns"),
    ],
    MISSING: [
        *((word, f"“{word}” is read as missing") for word in sorted(_LOST)),
        ("-", "It is kept as text"),
    ],
    CONTROLS: [(SPACE, "They are replaced by spaces"), (REMOVE, "They are removed")],
}

# --- inputs that the study has already ---------------------------------------------------

# They are found by the id in the file, then by group, then by equal texts: what joins an input is
# one input with it in every analysis. All inputs are read in one pass, of which few bytes are kept.


OutputRow = tuple[int, str, str]  # item, system, text
_ITEMS_AT_ONCE = 2_000


@dataclass(slots=True)
class EarlierInput:
    """An input of the study, its group, and the ids of the items that show it."""

    group: str
    cluster: str
    digest: bytes
    # whether a file named the group
    is_named: bool
    items: list[int] = field(default_factory=list)


class EarlierInputs:
    """Finds inputs of the main items of a study."""

    def __init__(self, study: Study, config: Instrument, systems: Collection[str]) -> None:
        self.systems = systems
        self.names = [column.name for column in config.columns if not column.is_of_output]
        # with the id that a file gave to the input, also where it became several items
        self.by_id: dict[str, tuple[EarlierInput, str]] = {}
        # ids of files by the short ones that were given for them
        self.originals: dict[str, str] = {}
        self._by_place: dict[tuple[str, bytes], EarlierInput] = {}
        # None: in several groups
        self._by_texts: dict[bytes, EarlierInput | None] = {}
        items = Item.objects.main().filter(study=study).order_by("id")
        columns = ("id", "key", "extra__item", "extra__source_id", "group", "cluster", "inputs")
        rows = items.values_list(*columns).iterator()
        for pk, key, source, original, group, cluster, inputs in rows:
            ids = key, str(source or key), str(original or "")
            self._add(pk, ids, (group, cluster), inputs)

    def _add(
        self, pk: int, ids: tuple[str, str, str], places: tuple[str, str], inputs: Mapping[str, str]
    ) -> None:
        (key, source, original), (group, cluster) = ids, places
        digest = self.digest(inputs)
        known = self._by_place.get((group, digest))
        if known is None:
            is_named = not is_made_group(group) and group != source
            known = EarlierInput(group, cluster, digest, is_named)
            self._by_place[group, digest] = known
            self._by_texts[digest] = None if digest in self._by_texts else known
        known.items.append(pk)
        for name in filter(None, (key, source)):
            self.by_id.setdefault(name, (known, source))
        # what a file called an input means it before another's short id does
        if original and original not in self.originals:
            self.originals[original] = source
            self.by_id[original] = known, source

    def __bool__(self) -> bool:
        return bool(self._by_place)

    def digest(self, inputs: Mapping[str, str]) -> bytes:
        """Return what is equal for inputs with equal texts; b"" for none at all."""
        texts = [normalise(inputs.get(name, "")) for name in self.names]
        if not any(map(str.strip, texts)):
            return b""
        return sha256(json.dumps(texts).encode()).digest()[:16]

    def find(self, inputs: Mapping[str, str], group: str) -> EarlierInput | None:
        """Return the input of this group, or else the one with equal texts, if there is one."""
        digest = self.digest(inputs)
        if group and (known := self._by_place.get((group, digest))):
            return known
        known = self._by_texts.get(digest) if digest else None
        # two files that name groups differ in them on purpose
        return None if known is None or (group and known.is_named) else known

    def is_ambiguous(self, inputs: Mapping[str, str]) -> bool:
        digest = self.digest(inputs)
        return digest in self._by_texts and self._by_texts[digest] is None


def normalise(text: str) -> str:
    """Return a text in the form in which equal texts are compared."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def list_outputs(items: Collection[int], systems: Collection[str]) -> Iterator[OutputRow]:
    """Yield item, system and text of the outputs of these items by these systems."""
    rest = iter(sorted(items))
    while keys := list(islice(rest, _ITEMS_AT_ONCE)):
        outputs = Output.objects.filter(item__in=keys, system__name__in=systems)
        rows = outputs.order_by("item_id", "position")
        yield from rows.values_list("item_id", "system__name", "text")


def name_sources(items: Iterable[int]) -> dict[int, tuple[Mapping[str, str], str]]:
    """Return the inputs of these items, and the name of the file that brought each."""
    rows = Item.objects.filter(pk__in=list(items)).values_list("pk", "inputs", "batch__file_name")
    return {pk: (inputs, name or "") for pk, inputs, name in rows}


# --- what a file adds -------------------------------------------------------------------


MEETS, EVERY = "meets", "every"
PAIRED = "inputs_paired"
_DRAFTS_AT_ONCE = 500
_MOST_OFFERED = 20
_MOST_SYSTEMS_NAMED = 3


@dataclass(slots=True)
class Join:
    """An item of the file that is about an input of the study."""

    input: EarlierInput
    # the id that its items are made under: that of the input, if it was found by its id
    source: str
    is_by_id: bool
    # ids that earlier items of this file were given
    taken: set[str]
    # by system, in the order in which the study has them
    texts: dict[str, list[str]] = field(default_factory=dict)
    # the systems that the study shows together
    screens: set[frozenset[str]] = field(default_factory=set)
    new: list[DraftOutput] = field(default_factory=list)
    # earlier outputs that are shown again, beside new ones
    met: list[DraftOutput] = field(default_factory=list)
    # whether it isn't decided yet which these are
    is_open: bool = False
    # whether the study has all of it, with the same texts
    is_known: bool = False
    # whether it is another item of the same input: it has an id of its own, and a system again
    is_twin: bool = False

    @property
    def systems(self) -> list[str]:
        """Return the systems of the input, the new ones last."""
        return list(dict.fromkeys([*self.texts, *(output.system for output in self.new)]))

    def take_key(self, suffix: str, keys: Collection[str]) -> str:
        """Return an id for one more item; its last number is the first that is free."""
        stem, dash, number = suffix.rpartition("-")
        made = (f"{self.source}/{stem}{dash}{free}" for free in count(int(number)))
        key = next(key for key in made if key not in keys and key not in self.taken)
        self.taken.add(key)
        return key


class Joins:
    """Finds what joins inputs of the study, and counts what it did."""

    def __init__(
        self,
        earlier: EarlierInputs,
        options: Mapping[str, Any],
        *,
        shows_several: bool,
        makes_tuples: bool = False,
    ) -> None:
        self._earlier = earlier
        self._makes_tuples = makes_tuples
        self._shows_several = shows_several
        meets = options.get(MEETS)
        self._meets: str | list[str] = meets if isinstance(meets, list) else str(meets or "")
        self._known_systems = frozenset(earlier.systems)
        self._systems = self._known_systems
        self._joined: set[tuple[str, bytes]] = set()
        self._new_inputs: set[object] = set()
        self._ambiguous: set[bytes] = set()
        self._new_systems: dict[str, None] = {}
        self._offered: dict[str, None] = {}
        self.left_out = self._outputs_left_out = self._twins = 0

    # --- finding --------------------------------------------------------------------------

    def go_through(
        self, drafts: Iterable[DraftItem], systems: Collection[str], *, has_ids: bool
    ) -> Iterator[tuple[DraftItem, Join | None]]:
        """Yield each item, and what it joins; None if its input is new. A few queries at a time."""
        self._systems = self._known_systems.intersection(systems)
        rest, taken = iter(drafts), set[str]()
        while together := list(islice(rest, _DRAFTS_AT_ONCE)):
            joins = [self._find(draft, taken, has_ids=has_ids) for draft in together]
            self._load([join for join in joins if join is not None])
            for draft, join in zip(together, joins, strict=True):
                if join is not None:
                    self._settle(draft, join, has_id=has_ids)
                yield draft, join

    def _find(self, draft: DraftItem, taken: set[str], *, has_ids: bool) -> Join | None:
        if not self._earlier or not _is_main(draft):
            return None
        if has_ids and (known := self._earlier.by_id.get(draft.key)):
            earlier, source = known
            return Join(earlier, source, is_by_id=True, taken=taken)
        by_texts = self._earlier.find(draft.shared, draft.shared.get("group", ""))
        if by_texts is None:
            return None
        return Join(by_texts, draft.key, is_by_id=False, taken=taken)

    def _load(self, joins: Collection[Join]) -> None:
        """Fill in what the study has of these inputs."""
        by_item = {pk: join.input for join in joins for pk in join.input.items}
        texts: dict[int, dict[str, list[str]]] = {}
        screens: dict[int, dict[int, set[str]]] = {}
        # where an output is shown alone, those of other systems don't matter
        systems = self._known_systems if self._shows_several else self._systems
        if not systems:
            return
        for pk, system, text in list_outputs(by_item, systems):
            place = id(by_item[pk])
            texts.setdefault(place, {}).setdefault(system, []).append(text)
            screens.setdefault(place, {}).setdefault(pk, set()).add(system)
        for join in joins:
            join.texts = texts.get(id(join.input), {})
            join.screens = {frozenset(names) for names in screens.get(id(join.input), {}).values()}

    def _settle(self, draft: DraftItem, join: Join, *, has_id: bool) -> None:
        join.new = [output for output in draft.outputs if output.system not in join.texts]
        if has_id and not join.is_by_id and len(join.new) < len(draft.outputs):
            join.is_twin = True
            return
        systems = {output.system for output in draft.outputs}
        if not join.new:
            screens = [frozenset(two) for two in combinations(systems, 2)]
            is_shown = frozenset(systems) in join.screens or join.screens.issuperset(screens)
            join.is_known = is_shown or self._makes_tuples or not self._shows_several
            return
        if not self._shows_several:
            return
        offered = {name: texts[0] for name, texts in join.texts.items() if name not in systems}
        join.is_open = bool(offered) and not self._meets
        join.met = [
            DraftOutput(name, text, draft.line, draft.record, draft.shared, {})
            for name, text in offered.items()
            if self._meets == EVERY or name in self._meets
        ]

    # --- checking -------------------------------------------------------------------------

    def check(self, draft: DraftItem, join: Join | None) -> Iterator[tuple[Fault, str]]:
        """Yield what is wrong with what this item says of an input, with the field it is in."""
        if join is None:
            if draft.key in self._earlier.by_id and not _is_main(draft):
                message = f"Item “{draft.key}” is in the study already. Give this one another id."
                yield Fault("id_taken", message, line=draft.line, record=draft.record), "item"
            self._count_new(draft)
            return
        if join.input.digest != self._earlier.digest(draft.shared):
            yield self._describe_other_input(draft, join)
            return
        self._joined.add((join.input.group, join.input.digest))
        if join.is_twin:
            self._twins += 1
            return
        for output in draft.outputs:
            texts = join.texts.get(output.system, [])
            if texts and normalise(output.text) not in map(normalise, texts):
                yield _describe_other_text(draft, output, texts[0])
        self._count(draft, join)

    def _count(self, draft: DraftItem, join: Join) -> None:
        known = [output for output in draft.outputs if output.system in join.texts]
        self._new_systems |= dict.fromkeys(output.system for output in join.new)
        if self._shows_several and join.new:
            systems = {output.system for output in draft.outputs}
            self._offered |= dict.fromkeys(name for name in join.texts if name not in systems)
        if join.is_known or not self._shows_several:
            self._outputs_left_out += len(known)
            rows = {output.record for output in known}
            self.left_out += len(rows - {output.record for output in join.new})

    def _count_new(self, draft: DraftItem) -> None:
        if not self._earlier or not _is_main(draft):
            return
        digest = self._earlier.digest(draft.shared)
        self._new_inputs.add(digest or draft.key)
        if self._earlier.is_ambiguous(draft.shared):
            self._ambiguous.add(digest)

    def _describe_other_input(self, draft: DraftItem, join: Join) -> tuple[Fault, str]:
        (inputs, file_name), *_ = name_sources(join.input.items[:1]).values()
        name = next(
            name
            for name in self._earlier.names
            if normalise(inputs.get(name, "")) != normalise(draft.shared.get(name, ""))
        )
        text, earlier = find_difference(draft.shared.get(name, ""), inputs.get(name, ""))
        short = {key: name for name, key in self._earlier.originals.items()}
        original = short.get(draft.key, "") if draft.key not in self._earlier.originals else ""
        is_short = f" is short for “{original}” in this study, and" if original else ""
        message = (
            f"“{draft.key}”{is_short} has another input here (“{text}”) than in {file_name} "
            f"(“{earlier}”). Outputs that are compared need one input. Correct it, or use "
            "another id."
        )
        return Fault("input_differs", message, line=draft.line, record=draft.record), name

    # --- what was found -------------------------------------------------------------------

    def find_fault(self) -> Fault | None:
        """Return that a decision is needed, if one is."""
        if not self._offered:
            return None
        if not self._meets:
            return Fault("decision_needed", "Decide which earlier systems the new one meets.")
        unknown = [name for name in self._meets if name not in self._offered]
        if self._meets == EVERY or not unknown:
            return None
        message = (
            f"“{unknown[0]}” isn't one of the earlier systems ({', '.join(self._offered)}). Choose "
            "one of these, or every."
        )
        return Fault("system_unknown", message)

    def list_decisions(self) -> list[Decision]:
        if not self._offered:
            return []
        names = list(self._offered)[:_MOST_OFFERED]
        choices: list[list[Any]] = [[EVERY, "Every earlier system", ", ".join(names)]]
        if len(self._offered) > 1:
            choices += [[[name], f"Only {name}", ""] for name in names]
        return [
            Decision(
                MEETS,
                f"Which earlier systems {'does' if len(self._new_systems) == 1 else 'do'} "
                f"{' and '.join(self._new_systems)} meet?",
                "People see several outputs at once. The earlier outputs are shown again beside "
                "the new ones, in new items of the same group.",
                choices=choices,
                is_made=bool(self._meets),
            )
        ]

    def list_notes(self) -> list[dict[str, Any]]:
        if not self._joined:
            return []
        notes: list[dict[str, Any]] = [
            {"code": PAIRED, "text": " ".join(self._describe()), "rows": []}
        ]
        if self._offered and self._meets:
            names = self._offered if self._meets == EVERY else self._meets
            text = f"{' and '.join(self._new_systems)} shown beside {', '.join(names)}."
            notes.append({"code": MEETS, "text": text, "rows": []})
        return notes

    def list_remarks(self) -> Iterator[Remark]:
        if self._new_inputs and not self._joined:
            new = len(self._new_inputs)
            yield Remark(
                "inputs_new",
                f"{count_of(new, 'input')} {'is' if new == 1 else 'are'} new to the study: none "
                "joins an earlier one",
            )
        if twins := self._twins:
            yield Remark(
                "inputs_again",
                f"{count_of(twins, 'item')} {'has' if twins == 1 else 'have'} an input that the "
                "study has under another id, and outputs of systems that have one for it. They "
                "are imported, in the same group",
            )
        if ambiguous := len(self._ambiguous):
            yield Remark(
                "inputs_ambiguous",
                f"{count_of(ambiguous, 'input')} {'is' if ambiguous == 1 else 'are'} in the study "
                "under several ids, so the texts alone don't tell which one is meant. To join "
                "them, give the ids",
            )

    def _describe(self) -> Iterator[str]:
        joined, new = len(self._joined), len(self._new_inputs)
        whose = _name_outputs([*self._new_systems])
        join = f"; {whose} join {'it' if joined == 1 else 'them'}" if whose else ""
        if joined == 1 and not new:
            yield f"The only input is in the study already{join}."
        else:
            many = f"{joined:,} of {joined + new:,}" if new else f"All {joined:,}"
            verb = "is" if joined == 1 else "are"
            yield f"{many} inputs {verb} in the study already{join}."
        if joined and new:
            yield f"{count_of(new, 'input')} {'is' if new == 1 else 'are'} new."
        if left_out := self._outputs_left_out:
            yield (
                f"Left out: {count_of(left_out, 'output')} that the study has already, with the "
                "same text."
            )


def _is_main(draft: DraftItem) -> bool:
    return all(output.shared.get("kind") in (None, "", Item.Kind.MAIN) for output in draft.outputs)


def _describe_other_text(draft: DraftItem, output: DraftOutput, text: str) -> tuple[Fault, str]:
    new, earlier = find_difference(output.text, text)
    message = (
        f"“{output.system}” has another output for “{draft.key}” in the study already (here "
        f"“{new}”, there “{earlier}”). Remove the row, or write the output that the study has."
    )
    return Fault("output_differs", message, line=output.line, record=output.record), "output"


def _name_outputs(systems: list[str]) -> str:
    if not systems:
        return ""
    if len(systems) > _MOST_SYSTEMS_NAMED:
        return f"the outputs of {len(systems):,} systems"
    names = [f"{name}'s" for name in systems]
    return f"{' and '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)} outputs"
