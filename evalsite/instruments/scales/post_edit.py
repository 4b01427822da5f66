"""The output as it should have been: a person corrects it, and the words that changed count."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, Literal, NamedTuple, Self

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _
from pydantic import Field, PrivateAttr

from evalsite.instruments.answer import AnswerRow, round_value
from evalsite.instruments.fields import EntryInput, NoteField, unify_breaks
from evalsite.instruments.scales.base import Judged, Per, QuestionWords
from evalsite.instruments.scales.points import Parts, ScaleOfParts, parse_parts
from evalsite.instruments.scales.points import quote as quote_words
from evalsite.lib.passages import as_shown

CHANGED, UNCHANGED = "changed", "unchanged"
# the entry that says that the output is right; a character of private use, so no text is this
NO_CHANGE = "\ue000"
# of an output and of its correction: the comparison takes the square of the words
MOST_WORDS = 10_000
LONGEST = 100_000
# a correction that is longer than the output by far is a paste that went wrong
_LEAST_ALLOWED = 5_000
_AROUND = 3  # words shown beside a change
# Chinese and Japanese are written without spaces, so each character counts as a word
_CJK = "\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")


class Counts(NamedTuple):
    """How many words were inserted, deleted and substituted; `words`: of the corrected text."""

    insertions: int
    deletions: int
    substitutions: int
    words: int

    @property
    def edits(self) -> int:
        return self.insertions + self.deletions + self.substitutions

    @property
    def rate(self) -> float:
        """Return the edits for 100 words of the corrected text."""
        return round_value(100 * self.edits / max(self.words, 1))


class Corrected(NamedTuple):
    """An answer. Without a text, of a right answer: the output, changed or not."""

    text: str | None
    counts: Counts


_ANY = {CHANGED: Counts(1, 0, 0, 1), UNCHANGED: Counts(0, 0, 0, 1)}


class Piece(NamedTuple):
    """Words that were kept, deleted, inserted or left out, and the white space before them."""

    kind: str
    space: str
    words: str


class EditView(NamedTuple):
    """What a page shows of an entry: the text in the box and what changed, or that nothing need.

    `rows`: how many lines the text takes, about.
    """

    text: str
    pieces: list[Piece]
    is_same: bool
    rows: int

    @property
    def is_answered(self) -> bool:
        return self.is_same or bool(self.pieces)


class CorrectedField(NoteField):
    """A text that differs from the output, unless it may stay as it is."""

    def __init__(self, *, scale: "PostEdit", missing: str) -> None:
        self.scale, self.missing = scale, missing
        super().__init__(max_length=scale.highest, strip=False)
        self.widget = EntryInput(scale.read_entry)

    def clean(self, value: Any) -> Corrected:
        output, may_be_same = self.scale.original, self.scale.may_be_unchanged
        is_same = value == NO_CHANGE
        text = output if is_same else str(super().clean(value))
        if not text.strip():
            raise ValidationError(self.missing, code="required")
        if max(len(split_words(output)), len(split_words(text))) > MOST_WORDS:
            raise ValidationError(
                _("A text of more than %(most)s words can’t be corrected. Shorten it")
                % {"most": MOST_WORDS},
                code="too_many_words",
            )
        counts = count_edits(output, text)
        if counts.edits or (is_same and may_be_same):
            return Corrected(text, counts)
        if may_be_same:
            words = _("Correct the text, or tick “Nothing needs changing”")
            raise ValidationError(words, code="required")
        raise ValidationError(_("Nothing has changed. Correct at least one word"), code=UNCHANGED)


class PostEdit(ScaleOfParts):
    """A box with the output, for a person to correct; the value is the edit rate.

    As entry the corrected text, or `NO_CHANGE`; as answer and value `Corrected`.
    """

    kind: Literal["post_edit"] = Field(title="Corrected text")
    family: ClassVar[str] = "edits"
    asked: ClassVar[tuple[Per, ...]] = ("output",)
    tests: ClassVar[frozenset[str]] = frozenset({"changed"})
    directed: ClassVar[bool] = False
    better: ClassVar[str] = "lower"  # fewer edits
    counted: ClassVar[str] = "characters"
    is_typed: ClassVar[bool] = True
    rewrites: ClassVar[bool] = True
    longest_entry: ClassVar[int] = 2 * LONGEST
    note_on_values: ClassVar[str] = (
        "Corrected texts: the edit rate, which is the words inserted, deleted and substituted for "
        "100 words of the corrected text"
    )
    minimum: ClassVar[int] = 0
    maximum: ClassVar[None] = None  # type: ignore[assignment]
    may_be_unchanged: bool = Field(True, title="The text may stay unchanged")
    most: int | None = Field(
        None,
        ge=1,
        le=LONGEST,
        title="Most characters",
        description=f"Empty: twice the output, but at least {_LEAST_ALLOWED}.",
    )

    _output: str = PrivateAttr("")

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, str) and bool(answer.strip())

    @property
    def has_decimals(self) -> bool:
        return True

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({"text", *Counts._fields})

    def select_rows(self) -> Q:
        return Q(value__gte=0, part="", detail__isnull=False) & ~Q(text="")

    def are_consistent(self, rows: Sequence[AnswerRow]) -> bool:
        counted = [(row.value, read_counts(row)) for row in rows]
        return all(counts.words and value == counts.rate for value, counts in counted)

    # --- one output

    def for_output(self, text: str) -> Self:
        scale = self.model_copy()
        scale._output = as_shown(text)
        return scale

    @property
    def original(self) -> str:
        return self._output

    @property
    def highest(self) -> int:
        """Return how many characters a corrected text may have."""
        return self.most or min(max(2 * len(self._output), _LEAST_ALLOWED), LONGEST)

    @property
    def start_entry(self) -> str:
        return self._output

    def find_item_fault(self) -> tuple[str, str]:
        if len(self._output) > self.highest:
            return "output", (
                f"This output has {len(self._output)} characters, and a corrected text may have "
                f"{self.highest}. Shorten it, or raise the limit of the question."
            )
        if len(split_words(self._output)) > MOST_WORDS:
            return "output", f"Outputs of more than {MOST_WORDS} words can’t be corrected."
        return "", ""

    # --- page

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        is_undone = bool(data.get(f"{name}.undo"))
        text = self._output if is_undone else unify_breaks(str(data.get(name) or ""))
        is_same = bool(data.get(f"{name}.same")) and not self.is_changed(text)
        return NO_CHANGE if is_same or text == NO_CHANGE else text

    def is_changed(self, text: str) -> bool:
        return split_words(text) != split_words(self._output)

    def view_entry(self, entry: str) -> EditView:
        text = self._output if entry == NO_CHANGE else entry
        lines = sum(max(-(-len(line) // 60), 1) for line in text.split("\n"))
        return EditView(text, draw_changes(self._output, text), entry == NO_CHANGE, lines + 1)

    def name_entry(self, entry: str) -> str:
        return _("Nothing needs changing") if entry == NO_CHANGE else entry

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> CorrectedField:
        missing = (
            _("%(name)s: write the corrected text, or undo all changes")
            if is_one_of_several
            else _("Write the corrected text, or undo all changes")
        ) % {"name": output_name}
        return CorrectedField(scale=self, missing=missing)

    # --- stored and read back

    def make_rows(
        self, answer: Any, about: AnswerRow, output_ids: Sequence[int]
    ) -> tuple[AnswerRow, ...]:
        counts = answer.counts
        return (about._replace(value=counts.rate, text=answer.text, detail=counts._asdict()),)

    def read_rows(self, rows: Sequence[AnswerRow], output_ids: Sequence[int]) -> Corrected:
        return Corrected(rows[0].text, read_counts(rows[0]))

    def write_entry(self, value: Any, order: Sequence[int]) -> str:
        if not value.counts.edits:
            return NO_CHANGE
        return f"{self._output} …" if value.text is None else str(value.text)

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        return (bool(answer.counts.edits),)

    # --- gold: whether the output needs a correction

    def is_gold(self, gold: Any, outputs: int) -> bool:
        return gold in (None, CHANGED, UNCHANGED)

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Parts:
        return parse_parts(text, len(outputs), _parse_right)

    def read_answer(self, value: Any) -> Any:
        return CHANGED if value.counts.edits else UNCHANGED

    def judge(
        self,
        right: Parts,
        values: Sequence[Any],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        judged = []
        for part, value, name in zip(right, values, names, strict=True):
            if part is None:
                continue
            is_met = self.read_answer(value) in part
            if CHANGED in part:
                words = (
                    _("You corrected the text, as we suggest.")
                    if is_met
                    else _("You left the text as it is. We suggest to correct it.")
                )
            else:
                words = (
                    _("You left the text as it is, as we suggest.")
                    if is_met
                    else _("You changed the text. We suggest to leave it as it is.")
                )
            judged.append((is_met, words if len(right) == 1 else f"{name}: {words}"))
        return judged

    def right_values(self, right: Parts, outputs: int, standard: int | None) -> list[Any | None]:
        return [None if part is None else Corrected(None, _ANY[part[0]]) for part in right]

    def write_gold(self, values: Sequence[Any | None]) -> str:
        return self.gold_from_data(
            [None if value is None else self.read_answer(value) for value in values]
        )

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        return tuple(text and Corrected(text, _ANY[CHANGED]) for text in data)

    # --- words

    def describe_choices(self) -> str:
        return "a corrected text in the column text, from which the edit rate follows"

    def describe_values(self) -> str:
        return "words inserted, deleted and substituted, for 100 words of the corrected text"

    def describe_wide(self) -> tuple[str, bool, str]:
        return "the edit rate, for 100 words of the corrected text", True, "0 and more"

    def describe_answer(self, rows: Sequence[AnswerRow]) -> str:
        (row,), counts = rows, read_counts(rows[0])
        if not counts.edits:
            return "not changed"
        edits = f"{counts.edits} {'edit' if counts.edits == 1 else 'edits'}"
        return f"edit rate {row.value} ({edits}, {counts.words} words): {row.text}"

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        return " · ".join(rating.text for rating in ratings)

    def write_markdown(self) -> str:
        may = (
            "It may stay as it is." if self.may_be_unchanged else "At least one word has to change."
        )
        return f"The text, to be corrected. {may}"

    def words(self) -> str:
        return "a correction of the text"

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        """Replace more words, the less the output is worth."""
        words = self._output.split()
        count = min(max(round(2 - 2 * felt[max(number - 1, 0)]), 0), len(words))
        if not count and not self.may_be_unchanged:
            count = 1
        for step in range(count):
            place = (step * 7 + len(words) // 2) % len(words)
            words[place] = "corrected"
        return " ".join(words) if count else NO_CHANGE


def _parse_right(part: str) -> Sequence[str]:
    if part.casefold() not in _ANY:
        raise ValidationError(
            f"{quote_words(part)} isn’t a right answer here. Write {CHANGED} if the text has to be "
            f"corrected, or {UNCHANGED} if it is right."
        )
    return (part.casefold(),)


def read_counts(row: AnswerRow) -> Counts:
    """Return the counts that a row holds; 0 in place of what is no count."""
    stored = [(row.detail or {}).get(name) for name in Counts._fields]
    return Counts(*(n if isinstance(n, int) and 0 <= n <= LONGEST else 0 for n in stored))


# --- words that differ ----------------------------------------------------------------------


def split_words(text: str) -> list[str]:
    return _WORD.findall(text)


def count_edits(output: str, corrected: str) -> Counts:
    """Count the fewest edits of words that turn an output into its corrected text.

    A block of words that moves counts word by word.
    """
    words = split_words(corrected)
    steps = list_steps(split_words(output), words)
    return Counts(
        steps.count("inserted"), steps.count("deleted"), steps.count("substituted"), len(words)
    )


def list_steps(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return a shortest way from the old words to the new: what happens to each word.

    It is kept, substituted, deleted or inserted.
    """
    shorter = min(len(old), len(new))
    first = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - first
    last = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    between = _align(old[first : len(old) - last], new[first : len(new) - last])
    return ["kept"] * first + between + ["kept"] * last


def _align(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Find a shortest way through the table of distances, a row of which is two numbers.

    Bits say where the distance rises or falls from one old word to the next (Hyyrö 2003): 10,000
    words take a quarter of a second, and a table of single distances a minute.
    """
    places: dict[str, int] = {}
    for at, word in enumerate(old):
        places[word] = places.get(word, 0) | 1 << at
    full = (1 << len(old)) - 1
    rises, falls = full, 0
    rows = []
    for word in new:
        equal = places.get(word, 0)
        diagonal = (((equal & rises) + rises) ^ rises) | equal | falls
        right = falls | ~(diagonal | rises) & full
        left = diagonal & rises
        right = (right << 1 | 1) & full
        rises = (left << 1 | ~(diagonal | right)) & full
        falls = right & diagonal
        rows.append((rises, falls))
    steps: list[str] = []
    at, row = len(old), len(new)
    while at and row:
        if rows[row - 1][0] >> (at - 1) & 1:
            steps.append("deleted")
            at -= 1
        elif row > 1 and rows[row - 2][1] >> (at - 1) & 1:
            steps.append("inserted")
            row -= 1
        else:
            at, row = at - 1, row - 1
            steps.append("kept" if old[at] == new[row] else "substituted")
    rest: list[str] = [*["deleted"] * at, *["inserted"] * row]
    return [*rest, *reversed(steps)]


def draw_changes(output: str, corrected: str) -> list[Piece]:
    """Return what changed, each change with a few words beside it; [] if nothing did."""
    old, new = list(_WORD.finditer(output)), list(_WORD.finditer(corrected))
    if max(len(old), len(new)) > MOST_WORDS:
        return []
    steps = list_steps([word[0] for word in old], [word[0] for word in new])
    pieces: list[Piece] = []
    before = after = 0
    for is_kept, group in groupby(steps, key=lambda step: step == "kept"):
        run = list(group)
        gone = before + len(run) - run.count("inserted")
        made = after + len(run) - run.count("deleted")
        if is_kept:
            pieces += _shorten(corrected, new, after, made)
        else:
            pieces += [
                Piece(kind, *_cut(text, words, start, end))
                for kind, text, words, start, end in (
                    ("deleted", output, old, before, gone),
                    ("inserted", corrected, new, after, made),
                )
                if end > start
            ]
        before, after = gone, made
    return pieces if any(step != "kept" for step in steps) else []


def _shorten(text: str, words: Sequence[re.Match[str]], start: int, end: int) -> list[Piece]:
    """Return the words that were kept between two changes, at most a few beside each."""
    first = start + _AROUND if start else start
    last = end - _AROUND if end < len(words) else end
    if last - first <= 1:
        return [Piece("kept", *_cut(text, words, start, end))]
    pieces = [Piece("left out", " " if start else "", "…")]
    if first > start:
        pieces.insert(0, Piece("kept", *_cut(text, words, start, first)))
    if last < end:
        pieces.append(Piece("kept", *_cut(text, words, last, end)))
    return pieces


def _cut(text: str, words: Sequence[re.Match[str]], start: int, end: int) -> tuple[str, str]:
    """Return the white space before these words, and the words as they are in the text."""
    before = words[start - 1].end() if start else 0
    return text[before : words[start].start()], text[words[start].start() : words[end - 1].end()]
