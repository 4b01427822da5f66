"""What a column of an exported file is, how its cells are written, and what several files share."""

import json
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Literal

# Types, as the codebook names them. "text" is free: the option for spreadsheets guards it.
ID, TEXT, WHOLE, NUMBER = "id", "text", "whole number", "number"
ONE_OF, YES_NO, TIME = "one of", "yes or no", "time"
ISO = "UTC, as 2026-11-21T12:30:00.000000Z"

Cell = Callable[[Any], str]


@dataclass(frozen=True)
class Column:
    """One column of a file: what the codebook says of it, and the function that gives its cells.

    Without a function, the cell is the attribute of the row that has the column's name. `missing`
    says what an empty cell means. `of` says what cells depend on, since what rows share is put
    together once: the annotation ("answer"), the row ("row"), or its score ("score"). `withheld`:
    of words that people wrote, what stands in their place where they are left out.
    """

    name: str
    type: str
    meaning: str
    _: KW_ONLY
    allowed: str = ""
    missing: str = ""
    derived: str = ""
    of: Literal["answer", "row", "score"] = "answer"
    cell: Cell | None = None
    withheld: str | None = None

    @property
    def get_cell(self) -> Cell:
        return self.cell or attrgetter(self.name)


# in place of words that people wrote
WITHHELD = "(left out)"

# --- how cells are written --------------------------------------------------------------


def yes_no(flag: Any) -> str:
    return "yes" if flag else "no"


def write_known(flag: bool | None) -> str:
    return "" if flag is None else yes_no(flag)


def write_text(cell: object) -> str:
    return "" if cell is None else str(cell)


def write_time(moment: datetime) -> str:
    utc = moment.astimezone(UTC)
    return f"{utc.isoformat(timespec='microseconds')[:26]}Z"


def write_time_text(moment: str) -> str:
    """Write a moment that the database gives as a text in UTC; zeros at its end may be missing."""
    if len(moment) > 25 and moment[20:26].isdigit():
        return f"{moment[:10]}T{moment[11:26]}Z"
    return write_time(datetime.fromisoformat(moment).replace(tzinfo=UTC))


def write_seconds_between(first: str, last: str) -> str:
    read = datetime.fromisoformat
    return str((read(last) - read(first)).total_seconds())


def write_score(value: float) -> str:
    """Write the shortest text that gives this very number when it is read."""
    return repr(value).removesuffix(".0")


def write_json(cell: object) -> str:
    # a database keeps the keys in its own order
    return json.dumps(cell, ensure_ascii=False, sort_keys=True)


def name_output(item: str, position: int) -> str:
    """Return the id of an output: the same in every installation that holds the study."""
    return f"{item}#{position + 1}"


# --- shared by several files ------------------------------------------------------------

FLAG = "yes, no"
OUTPUT_ID = "the item's id, # and the number of the output in the item, such as item-7#2"

STUDY = Column("study", ID, "The study.", allowed="a UUID")
PARTICIPANT = Column(
    "participant", ID, "The participant, under a random pseudonym that isn't made from anything "
    "about the person.",
)  # fmt: skip
PERSON = Column(
    "person", YES_NO, "Whether the participant is a single person.",
    allowed=FLAG,
    derived="no only if the ratings were imported and declared not to be by single persons",
)  # fmt: skip
EXCLUDED = (
    Column(
        "excluded", YES_NO, "Whether a researcher has excluded this annotation, or its "
        "participant, from the analysis.",
        allowed=FLAG, cell=lambda row: yes_no(row.reasons),
    ),
    Column(
        "exclusion_reason", TEXT, "The reasons for the exclusion, separated by semicolons.",
        missing="not excluded", cell=lambda row: "; ".join(row.reasons),
    ),
)  # fmt: skip
# last in the files of studies that ask
MAY_SHARE = Column(
    "may_share", YES_NO, "Whether the participant agreed that these answers may be shared. Those "
    "of a participant who didn't are for the team of the study only.",
    allowed=FLAG, missing="not asked: imported, or the participant didn't agree to take part",
)  # fmt: skip
VERSION = Column(
    "version", WHOLE, "Number of the study's version that the participant was shown.",
    allowed="1 and more", missing="answered before the first launch, or imported",
)  # fmt: skip
ITEM = (
    Column(
        "batch", ID, "The uploaded file that the item came in.",
        allowed="a UUID",
        missing="the item came with the protocol, as practice items do, or is a repeat",
        cell=lambda row: write_text(row.batch),
    ),
    Column(
        "item", ID, "The item, by its id in the uploaded file.",
        allowed="1 to 128 of A-Z a-z 0-9 . _ : / -",
        derived="row-0001 and on if the file had no ids; id/1, id/2 and on if one id had several "
        "outputs that are shown one by one; a repeat has the id of its item and in brackets the "
        "order of the outputs, as in “id (repeat 2-1)”",
    ),
    Column(
        "group", ID, "Items that share one input have the same group.",
        allowed="as item",
        derived="if the file names none: inputs- and the start of a SHA-256 of the inputs",
    ),
    Column(
        "cluster", ID, "Groups that belong together, such as the turns of one conversation.",
        allowed="as item", missing="the file named none",
    ),
    Column(
        "kind", ONE_OF, "What the item is for. Only main items belong in results.",
        allowed="main, practice, gold, attention, repeat, withdrawn (a main item until then)",
    ),
)  # fmt: skip
# last in the files of what is rated, and first in the file for a quick look
ITEM_NUMBERS = (
    Column(
        "item_no", WHOLE, "The item as a whole number, which is the same in every file of the "
        "study and which no program misreads: join files on it.",
        allowed="1 and more",
        derived="counted over the study's items in the order in which they were added; items that "
        "are taken back leave a gap while later ones are there",
    ),
    Column(
        "group_no", WHOLE, "The group as a whole number, which is the same in every file of the "
        "study.",
        allowed="1 and more", derived="item_no of the first item of the group",
    ),
)  # fmt: skip
ANNOTATION = Column(
    "annotation", ID, "Everything one participant submitted for one item; the key that joins the "
    "files.",
    allowed="a UUID",
)  # fmt: skip
SET = Column(
    "set", WHOLE, "Which of the participant's sets the item was in.",
    allowed="1 and more", missing="answered outside a set, as practice is",
)  # fmt: skip
REPEAT_OF = Column(
    "repeat_of", ID, "The item that this one shows again.",
    allowed="as item", missing="not a repeat",
)  # fmt: skip
PLACES = (
    Column(
        "place_in_group", WHOLE, "Position of this item within its group, for this participant.",
        allowed="1 and more",
        derived="counted over all of the participant's annotations, in the order of `annotation`",
    ),
    Column(
        "place_in_set", WHOLE, "Position of the item in the set.",
        allowed="1 and more", missing="answered outside a set",
    ),
    Column(
        "trial", WHOLE, "Position of this annotation among all of the participant's annotations.",
        allowed="1 and more", derived="practice is counted too, in the order of `annotation`",
    ),
    REPEAT_OF,
)  # fmt: skip
STATUS = (
    Column(
        "status", ONE_OF, "Whether the annotation is one of the k that the item needs.",
        allowed="counted; surplus (beyond the k); control (practice, gold, attention, repeat); "
        "pilot; skipped (left to someone else); withdrawn",
    ),
    Column(
        "origin", ONE_OF, "Where the annotation comes from. Simulated ones aren't data.",
        allowed="own, imported, simulated",
    ),
)  # fmt: skip
CIRCUMSTANCES = (
    Column(
        "aids", YES_NO, "Whether the page had aids beyond the exact instrument.",
        allowed=FLAG,
    ),
    Column(
        "device", TEXT, "Width class and orientation of the window, as reported by the browser.",
        allowed="such as wide-landscape or narrow-portrait",
        missing="not reported, as without scripts",
    ),
    Column(
        "language", TEXT, "The browser's first language.",
        allowed="a language tag such as en-GB", missing="not reported",
    ),
)  # fmt: skip
_IMPORTED = "the annotation was imported"
TIMES = (
    Column(
        "revisions", WHOLE, "How often the participant changed the answer; this is the last one.",
        allowed="0 and more",
    ),
    Column(
        "started_at", TIME,
        "When the item was first shown to the participant; on a sheet with all items of a set, "
        "when the answer before this one was saved, if that is later.",
        allowed=ISO, missing=_IMPORTED,
        cell=lambda answer: "" if answer.is_imported else write_time_text(answer.started_at),
    ),
    Column(
        "submitted_at", TIME, "When the answer was saved.",
        allowed=ISO, missing=_IMPORTED,
        cell=lambda answer: "" if answer.is_imported else write_time_text(answer.submitted_at),
    ),
    Column(
        "seconds", NUMBER, "Seconds from shown to saved.",
        missing=_IMPORTED, derived="submitted_at - started_at, both by the server's clock",
        cell=lambda answer: ""
        if answer.is_imported
        else write_seconds_between(answer.started_at, answer.submitted_at),
    ),
    Column(
        "active_seconds", NUMBER,
        "Seconds in which the page was visible and in use; on a sheet, with this item in view.",
        missing="not reported, as without scripts",
        derived="as reported by the browser; informative only",
        cell=lambda answer: "" if answer.active_ms is None else str(answer.active_ms / 1000),
    ),
    Column(
        "time_given", TEXT, "The time of the answer, exactly as the imported file gives it.",
        missing="the file gives none, or the rating was given here",
        derived="the first, if the rows of one answer have several times",
    ),
)  # fmt: skip
