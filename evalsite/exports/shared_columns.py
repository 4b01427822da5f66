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
PERSON = Column(
    name="person",
    meaning="Whether one person stands behind the participant.",
    type=YES_NO,
    allowed="yes, no",
    derived="no only where whoever imported ratings declared so",
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
VERSION = Column(
    name="version",
    meaning="Number of the study's version that the participant was shown.",
    type=WHOLE,
    allowed="1 and more",
    missing="answered before the first launch, or imported",
)
ITEM = (
    Column(
        name="batch",
        meaning="The uploaded file that the item came in.",
        type=ID,
        allowed="a UUID",
        missing="the item came with the protocol, as practice items do, or is a repeat",
    ),
    Column(
        name="item",
        meaning="The item, by its id in the uploaded file.",
        type=ID,
        allowed="1 to 128 of A-Z a-z 0-9 . _ : / -",
        derived="row-0001 and on where the file had no ids; id/1, id/2 and on where one id had "
        "several outputs that are shown one by one; a repeat has the id of its item and in "
        "brackets the order of the outputs, as in “id (repeat 2-1)”",
    ),
    Column(
        name="group",
        meaning="Items that share one input have the same group.",
        type=ID,
        allowed="as item",
        derived="where the file names none: inputs- and the start of a SHA-256 of the inputs",
    ),
    Column(
        name="cluster",
        meaning="Groups that hang together, such as the turns of one conversation.",
        type=ID,
        allowed="as item",
        missing="the file named none",
    ),
    Column(
        name="kind",
        meaning="What the item is for. Only main items belong in results.",
        type=ONE_OF,
        allowed="main, practice, gold, attention, repeat",
    ),
)
ANNOTATION = Column(
    name="annotation",
    meaning="All that one participant submitted for one item; the key that joins the files.",
    type=ID,
    allowed="a UUID",
)
SET = Column(
    name="set",
    meaning="Which of the participant's sets the item was dealt in.",
    type=WHOLE,
    allowed="1 and more",
    missing="answered outside a set, as practice is",
)
REPEAT_OF = Column(
    name="repeat_of",
    meaning="The item that this one shows again.",
    type=ID,
    allowed="as item",
    missing="not a repeat",
)
PLACES = (
    Column(
        name="place_in_group",
        meaning="The how-many-eth item of its group this was for this participant.",
        type=WHOLE,
        allowed="1 and more",
        derived="counted over all of the participant's annotations, in the order of `annotation`",
    ),
    Column(
        name="place_in_set",
        meaning="Where the item stood in the set.",
        type=WHOLE,
        allowed="1 and more",
        missing="answered outside a set",
    ),
    Column(
        name="trial",
        meaning="The how-many-eth annotation of this participant this was.",
        type=WHOLE,
        allowed="1 and more",
        derived="counted over all of the participant's annotations, practice included, in the "
        "order of `annotation`",
    ),
    REPEAT_OF,
)
STATUS = (
    Column(
        name="status",
        meaning="Whether the annotation is one of the k that the item needs.",
        type=ONE_OF,
        allowed="counted; surplus (beyond the k); control (practice, gold, attention, repeat); "
        "pilot; withdrawn",
    ),
    Column(
        name="origin",
        meaning="Where the annotation comes from. Simulated ones are no data about anything.",
        type=ONE_OF,
        allowed="own, imported, simulated",
    ),
)
CIRCUMSTANCES = (
    Column(
        name="aids",
        meaning="Whether the page had aids beyond the exact instrument.",
        type=YES_NO,
        allowed="yes, no",
    ),
    Column(
        name="device",
        meaning="Width class and orientation of the window, as the browser told.",
        type=TEXT,
        allowed="such as wide-landscape or narrow-portrait",
        missing="not told, as without scripts",
    ),
    Column(
        name="language",
        meaning="The browser's first language.",
        type=TEXT,
        allowed="a language tag such as en-GB",
        missing="not told",
    ),
)
_IMPORTED = "the annotation was imported"
TIMES = (
    Column(
        name="revisions",
        meaning="How often the participant changed the answer; the file holds the last state.",
        type=WHOLE,
        allowed="0 and more",
    ),
    Column(
        name="started_at",
        meaning="When the item was first shown to the participant.",
        type=TIME,
        allowed=ISO,
        missing=_IMPORTED,
    ),
    Column(
        name="submitted_at",
        meaning="When the answer was saved.",
        type=TIME,
        allowed=ISO,
        missing=_IMPORTED,
    ),
    Column(
        name="seconds",
        meaning="Seconds from shown to saved.",
        type=NUMBER,
        missing=_IMPORTED,
        derived="submitted_at - started_at, both by the server's clock",
    ),
    Column(
        name="active_seconds",
        meaning="Seconds in which the page was visible and in use.",
        type=NUMBER,
        missing="not told, as without scripts",
        derived="as the browser told; informative only",
    ),
    Column(
        name="time_given",
        meaning="The time that an imported file gives for the answer, to the letter.",
        derived="of several times in the rows of one answer, the first",
        type=TEXT,
        missing="the file gives none, or the rating was given here",
    ),
)
