"""Texts that a new study starts with, and the marks in them that a researcher must replace."""

import re

_MARK = re.compile(r"\[REPLACE:[^\]]*\]?")

SUMMARY = (
    "You read short texts and say how good they are. [REPLACE: what people do, in 2 sentences]"
)

# as the text below says
RECOGNISE_DAYS = 365

CONSENT = """\
**What this is for.** [REPLACE: the purpose of the study, in one or two sentences]

**What you do.** You read texts and rate them. There are no right or wrong opinions.

**What we keep.** Your answers, when you gave them, and how long you took. Nothing that names \
you is kept with your answers. We keep them until [REPLACE: how long the data is kept, and where].

**Later studies.** If you come from a platform, we keep a code made from your ID there for 365 \
days, to recognise you in our later studies. Your ID can't be read from it.

**Your rights.** Taking part is up to you. You may stop at any time, without giving a reason, \
and you may ask us to delete your answers.

**Pay.** [REPLACE: how much is paid and how, or that nothing is paid]

**Questions.** Write to [REPLACE: name and email address of the person to ask].

**Ethics.** [REPLACE: who approved the study, and the reference number]"""


def find_placeholders(text: str) -> list[str]:
    """Return the placeholders that the researcher has not replaced yet."""
    return _MARK.findall(text)
