"""Texts that a new study starts with, and the marks in them that a researcher must replace."""

import re

_MARK = re.compile(r"\[REPLACE:[^\]]*\]?")

SUMMARY = (
    "You read short texts and say how good they are. [REPLACE: what people do, in 2 sentences]"
)

RECOGNISE_DAYS = 365

CONSENT = """\
**What this is for.** [REPLACE: the purpose of the study, in one or two sentences]

**What you do.** You read texts and rate them. There are no right or wrong opinions.

**What we keep.**

[SETTINGS: what we keep]

We keep your answers until [REPLACE: how long the data is kept, and where].

**Who sees your ID, and for how long.** [SETTINGS: who sees your ID]

**If you change your mind.** [SETTINGS: changing your mind]

**Pay.** [SETTINGS: pay]

**Questions.** [SETTINGS: whom to ask]

**Responsible for your data.** [SETTINGS: who is responsible]

**Ethics.** [REPLACE: who approved the study, and the reference number]"""


def find_placeholders(text: str) -> list[str]:
    """Return the placeholders that the researcher has not replaced yet."""
    return _MARK.findall(text)
