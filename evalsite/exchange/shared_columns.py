"""What columns of several exported files share."""

from dataclasses import dataclass

# Types, as the codebook names them. "text" is free: the option for spreadsheets guards it.
ID, TEXT, WHOLE, NUMBER = "id", "text", "whole number", "number"
ONE_OF, YES_NO, TIME = "one of", "yes or no", "time"


@dataclass(frozen=True, kw_only=True)
class Column:
    """What one column of a file holds. `missing` says what an empty cell means."""

    name: str
    meaning: str
    type: str
    allowed: str = ""
    missing: str = ""
    derived: str = ""


ISO = "UTC, as 2026-11-21T12:30:00.000000Z"

STUDY = Column(name="study", meaning="The study.", type=ID, allowed="a UUID")
PARTICIPANT = Column(
    name="participant",
    meaning="The person, under a random pseudonym that nothing about the person enters.",
    type=ID,
)
EXCLUDED = (
    Column(
        name="excluded",
        meaning="Whether a researcher's standing decision leaves this annotation, or its "
        "participant, out of analysis.",
        type=YES_NO,
        allowed="yes, no",
    ),
    Column(
        name="exclusion_reason",
        meaning="The reasons given for it, parted by a semicolon.",
        type=TEXT,
        missing="not excluded",
    ),
)
