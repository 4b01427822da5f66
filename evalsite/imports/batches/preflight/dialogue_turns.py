"""Dialogues of which people would see fewer turns than they have: lost line breaks, no speakers."""

import re

from evalsite.imports.batches.items import CheckedItem
from evalsite.imports.batches.preflight.check import Check, Context
from evalsite.lib.dialogue import parse_dialogue

NO_SPEAKER = (
    "Dialogues in which no line begins with a speaker, such as “A:”, so that people see all of "
    "it as one turn"
)
ONE_LINE = (
    "Dialogues with a speaker in the middle of a line, as where line breaks were lost, so that "
    "people see several turns as one"
)

# what may be a name behind the first word of a turn
_INSIDE = re.compile(r"(?<=\s)(?P<name>[^\W\d_]\w{0,14}(?:[ ]\d{1,2})?)[ ]?[:：](?=\s)")
_BEGIN = re.compile(r"^[^\W\d_]\w{0,14}(?:[ ]\d{1,2})?:\s", re.MULTILINE)
_USUAL = re.compile(
    r"[A-Z]\d?"
    r"|(?i:(?:person|speaker|user|participant)[ ]?\d{0,2}|system|agent|assistant|bot|human)"
)


class DialogueTurns(Check):
    """Looks at the dialogues among the inputs of items; those that follow one another are one."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._columns = [one.name for one in context.config.inputs if one.kind == "dialogue"]
        self._inputs: dict[str, str] = {}

    def add(self, item: CheckedItem) -> None:
        if not self._columns or item.inputs == self._inputs:
            return
        self._inputs = item.inputs
        for name in self._columns:
            if doubt := find_doubt(item.inputs.get(name, "")):
                code = "no_speaker" if doubt == NO_SPEAKER else "turns_on_one_line"
                self.remarks.add(code, doubt, item.line, item.record)


def find_doubt(dialogue: str) -> str:
    """Why people may see fewer turns than this dialogue has; nothing where they see all."""
    if _is_plain(dialogue):
        return ""
    turns = parse_dialogue(dialogue)
    if not any(turn.text.strip() for turn in turns):
        return ""
    if not any(turn.speaker for turn in turns):
        return NO_SPEAKER
    speakers = {turn.speaker.casefold() for turn in turns}
    return ONE_LINE if any(_holds_turn(turn.text, speakers) for turn in turns) else ""


def _is_plain(dialogue: str) -> bool:
    # of most dialogues enough, and much cheaper than to read all of their turns
    colons = dialogue.count(":") + dialogue.count("：")
    return colons > 0 and len(_BEGIN.findall(dialogue)) == colons


def _holds_turn(text: str, speakers: set[str]) -> bool:
    names = [one["name"] for one in _INSIDE.finditer(text)] if ":" in text or "：" in text else []
    return any(name.casefold() in speakers or _USUAL.fullmatch(name) for name in names)
