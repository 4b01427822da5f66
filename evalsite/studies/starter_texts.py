"""Texts that a new study starts with, and the marks in them that a researcher must replace."""

import re

_MARK = re.compile(r"\[REPLACE:[^\]]*\]?")

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def write_summary(questions: int, *, is_one: bool) -> str:
    """Return what people do, in a sentence; `is_one`: an item has one output."""
    number = _NUMBERS[questions - 1] if questions <= len(_NUMBERS) else f"{questions:,}"
    asked = f"{number} question{'' if questions == 1 else 's'}"
    if is_one:
        return f"You read texts and answer {asked} about each."
    return f"You read texts side by side and answer {asked} about them."


RECOGNISE_DAYS = 365

CONSENT = """\
**What this is for.** [REPLACE: the purpose of the study, in one or two sentences]

**What you do.** You read texts and rate them. There are no right or wrong opinions.

**What we keep.**

[SETTINGS: what we keep]

We keep your answers [REPLACE: for how long, and where].

**Who sees your ID, and for how long.** [SETTINGS: who sees your ID]

**If you change your mind.** [SETTINGS: changing your mind]

**Pay.** [SETTINGS: pay]

**Questions.** [SETTINGS: whom to ask]

**Responsible for your data.** [SETTINGS: who is responsible]

**Ethics.** [REPLACE: who approved the study, and the reference number]"""


def find_placeholders(text: str) -> list[str]:
    """Return the placeholders that the researcher has not replaced yet."""
    return _MARK.findall(text)
