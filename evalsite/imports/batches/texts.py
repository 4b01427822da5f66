"""What becomes of the texts of items before they are checked: messages, reasoning, characters.

Whatever only a person can decide is counted and asked once for the file; until then texts stay as
they are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsite.data.tables.faults import Fault, find_control, hold_control, name_plainly
from evalsite.data.tables.table import Row
from evalsite.data.tables.texts import (
    find_reasoning,
    read_messages,
    write_last_answer,
    write_messages,
    write_value,
)
from evalsite.imports.batches.item_maker import OutputCells, RowValues
from evalsite.imports.core import Decision
from evalsite.instruments.schema import Instrument
from evalsite.lib.conversations import read_turns
from evalsite.lib.dialogue import parse_dialogue
from evalsite.studies.summary_lines import count_of

# keys of the questions, as options of an upload have them; an option of a command is called alike
REASONING, SYSTEM_PROMPTS = "outputs_reasoning", "outputs_system-prompts"
SHOW_REASONING = "outputs_show-reasoning"
PROMPTS, CONTROLS, MISSING = "prompts", "control_characters", "missing"
LEAVE_OUT, KEEP, CONVERSATION, TEXT, SPACE, REMOVE = (
    "leave-out", "keep", "conversation", "text", "space", "remove",
)  # fmt: skip
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

    def settle(self, values: RowValues, key: str) -> None:
        """Make the texts of a row what people will read."""
        for name, kind in self._inputs:
            text = values.shared.get(name, "")
            if text[:1] == "[" and (turns := read_turns(text)):
                values.shared[name] = self._write_input(values, turns, kind, key)
            elif kind == "conversation" and ":" in text:
                values.shared[name] = self._read_speakers(text, key)
        if len(values.outputs) == 1:
            self._read_beside(values.outputs[0], values.extra)
        for cells in values.outputs:
            text = cells.text
            if text[:1] == "[" and self._is_output_written and (turns := read_turns(text)):
                cells.text = write_last_answer(read_messages(turns))
            if "<" in text[:40]:
                self._read_reasoning(cells, values, key)
            elif text in _LOST:
                self._lost[text] += 1
                if self._answers[MISSING] == text:
                    cells.text = ""

    def _write_input(
        self, values: RowValues, turns: Sequence[Mapping[str, Any]], kind: str, key: str
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
        unknown = [name for name in named if not _is_speaker(name)]
        if not unknown or text[:1] in ("[", "{"):
            return text
        self._spoken[key] = None
        self._speakers |= dict.fromkeys(unknown)
        if self._answers[PROMPTS] == TEXT:
            return write_value([{"role": "user", "content": text}])
        return text

    # --- reasoning ------------------------------------------------------------------------

    def _read_reasoning(self, cells: OutputCells, values: RowValues, key: str) -> None:
        reasoning = find_reasoning(cells.text)
        if reasoning is None:
            return
        self._reasoning[cells.system] += 1
        if not reasoning.is_closed:
            self._unclosed[key] = None
        if self._answers[REASONING] == LEAVE_OUT:
            values.extra = {**values.extra, "reasoning": reasoning.text}
            cells.text = reasoning.rest

    def _read_beside(self, cells: OutputCells, extra: Mapping[str, str]) -> None:
        """Show reasoning that has a field of its own above the output, if that was chosen."""
        texts = (extra.get(name, "").strip() for name in _REASONING_FIELDS)
        if reasoning := next(filter(None, texts), ""):
            self._beside[cells.system] += 1
            if self._answers[SHOW_REASONING] == YES:
                cells.text = f"{reasoning}\n\n{cells.text}".rstrip()

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


def _is_speaker(name: str) -> bool:
    return _NUMBER.sub("", name.strip().casefold()) in _SPEAKERS


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
