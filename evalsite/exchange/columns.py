"""The columns of exported files: declared once, for the writer and for the codebook."""

from evalsite.exchange.people_columns import PARTICIPANTS
from evalsite.exchange.shared_columns import (
    EXCLUDED,
    ID,
    ISO,
    NUMBER,
    ONE_OF,
    PARTICIPANT,
    STUDY,
    TEXT,
    TIME,
    WHOLE,
    YES_NO,
    Column,
)
from evalsite.protocol import ProtocolConfig

_VERSION = Column(
    name="version",
    meaning="Number of the study's version that the participant was shown.",
    type=WHOLE,
    allowed="1 and more",
    missing="answered before the first launch",
)
_ITEM = (
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
_ANNOTATION = Column(
    name="annotation",
    meaning="All that one participant submitted for one item; the key that joins the files.",
    type=ID,
    allowed="a whole number",
    derived="in the order in which annotations were first saved",
)
_SET = Column(
    name="set",
    meaning="Which of the participant's sets the item was dealt in.",
    type=WHOLE,
    allowed="1 and more",
    missing="answered outside a set, as practice is",
)
_PLACES = (
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
    Column(
        name="repeat_of",
        meaning="The item that this one shows again.",
        type=ID,
        allowed="as item",
        missing="not a repeat",
    ),
)
_STATUS = (
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
_CIRCUMSTANCES = (
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
_TIMES = (
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
    ),
    Column(name="submitted_at", meaning="When the answer was saved.", type=TIME, allowed=ISO),
    Column(
        name="seconds",
        meaning="Seconds from shown to saved.",
        type=NUMBER,
        derived="submitted_at - started_at, both by the server's clock",
    ),
    Column(
        name="active_seconds",
        meaning="Seconds in which the page was visible and in use.",
        type=NUMBER,
        missing="not told, as without scripts",
        derived="as the browser told; informative only",
    ),
)

RATINGS = (
    STUDY,
    _VERSION,
    *_ITEM,
    Column(
        name="system",
        meaning="The system whose output is rated.",
        type=TEXT,
        missing="the rating is a preference, or the output belongs to no system, as in practice",
    ),
    Column(
        name="output_id",
        meaning="The output that is rated.",
        type=ID,
        allowed="a whole number",
        missing="the rating is a preference",
    ),
    Column(name="criterion", meaning="The quality that is judged.", type=ONE_OF),
    Column(
        name="scale",
        meaning="The kind of scale.",
        type=ONE_OF,
        allowed="likert, magnitude, decision, preference",
        missing="the protocol has no such criterion any more",
    ),
    Column(
        name="scale_min", meaning="The lowest value allowed.", type=WHOLE, missing="as for scale"
    ),
    Column(
        name="scale_max", meaning="The highest value allowed.", type=WHOLE, missing="as for scale"
    ),
    Column(
        name="value",
        meaning="The rating.",
        type=WHOLE,
        allowed="scale_min to scale_max. Decision: 1 for yes, 0 for no. Preference: 1 if one "
        "output is preferred, 0 for a tie",
    ),
    Column(
        name="label",
        meaning="The words that stand at this value of the scale.",
        type=TEXT,
        missing="the scale has none, as magnitudes",
    ),
    Column(
        name="value_typed",
        meaning="The value as it was typed, before spaces were trimmed.",
        type=TEXT,
        missing="the value was chosen, not typed",
    ),
    Column(
        name="standard",
        meaning="The score of the standard that magnitudes of this item relate to.",
        type=WHOLE,
        missing="the scale is no magnitude",
        derived="from the study's options in that version, or the item's own column",
    ),
    Column(
        name="log_ratio",
        meaning="The rating in proportion to the standard, on a log scale.",
        type=NUMBER,
        missing="as for standard",
        derived="ln(value / standard)",
    ),
    Column(
        name="system_1",
        meaning="The first by name of the two systems compared.",
        type=TEXT,
        missing="the rating is no preference",
    ),
    Column(
        name="system_2",
        meaning="The second by name of the two systems compared.",
        type=TEXT,
        missing="the rating is no preference",
    ),
    Column(
        name="preferred",
        meaning="The system whose output is preferred.",
        type=TEXT,
        missing="a tie, or no preference",
    ),
    Column(
        name="outcome",
        meaning="Which of system_1 and system_2 is preferred.",
        type=ONE_OF,
        allowed="1, tie, 2",
        missing="the rating is no preference",
    ),
    Column(
        name="shown_first",
        meaning="The system whose output stood first on the page.",
        type=TEXT,
        missing="the rating is no preference",
    ),
    _ANNOTATION,
    PARTICIPANT,
    _SET,
    Column(
        name="place",
        meaning="Where the output stood on the page, from 1.",
        type=WHOLE,
        allowed="1 and more",
        missing="the rating is a preference, or the order is not known",
    ),
    *_PLACES,
    *_STATUS,
    *_CIRCUMSTANCES,
    *EXCLUDED,
    *_TIMES,
)

ANNOTATIONS = (
    STUDY,
    _VERSION,
    *_ITEM,
    _ANNOTATION,
    PARTICIPANT,
    _SET,
    *_PLACES,
    Column(
        name="outcome",
        meaning="What the participant did with the item.",
        type=ONE_OF,
        allowed="rated, ignored, reported",
    ),
    Column(
        name="reason",
        meaning="Why the item was ignored.",
        type=TEXT,
        missing="not ignored",
    ),
    Column(
        name="problem",
        meaning="What problem with the item was reported.",
        type=TEXT,
        allowed="a short key, such as missing or offensive",
        missing="not reported",
    ),
    Column(
        name="note",
        meaning="What the participant wrote beside it. Read it before you share the file.",
        type=TEXT,
        missing="nothing was written",
    ),
    *_STATUS,
    Column(
        name="order_shown",
        meaning="The outputs of the item in the order in which they stood on the page.",
        type=TEXT,
        allowed="values of output_id, parted by spaces",
        missing="the order is not known",
    ),
    Column(
        name="ratings",
        meaning="How many rows of ratings.csv belong to this annotation.",
        type=WHOLE,
        allowed="0 and more",
    ),
    Column(
        name="gold_agrees",
        meaning="Whether all that the gold of a practice, gold or attention item asks is met.",
        type=YES_NO,
        allowed="yes, no",
        missing="an item of another kind, a gold that asks nothing, or not rated",
        derived="as practice tells it to participants",
    ),
    *_CIRCUMSTANCES,
    *EXCLUDED,
    *_TIMES,
)

HIGHLIGHTS = (
    STUDY,
    _VERSION,
    *_ITEM,
    Column(
        name="system",
        meaning="The system whose output is marked.",
        type=TEXT,
        missing="the output belongs to no system",
    ),
    Column(
        name="output_id", meaning="The output that is marked.", type=ID, allowed="a whole number"
    ),
    _ANNOTATION,
    PARTICIPANT,
    _SET,
    Column(
        name="place",
        meaning="Where the output stood on the page, from 1.",
        type=WHOLE,
        allowed="1 and more",
        missing="the order is not known",
    ),
    Column(
        name="start",
        meaning="Where the marked passage begins: the number of Unicode code points before it.",
        type=WHOLE,
        allowed="0 and more",
        derived="in the output exactly as it was uploaded",
    ),
    Column(
        name="end",
        meaning="Where the marked passage ends: the number of code points up to its last one.",
        type=WHOLE,
        allowed="more than start",
        derived="as start; marks that overlapped or touched have become one",
    ),
    Column(
        name="quote",
        meaning="The marked passage: the output from start up to end.",
        type=TEXT,
    ),
    *_PLACES,
    *_STATUS,
    *_CIRCUMSTANCES,
    *EXCLUDED,
    *_TIMES,
)

FILES: dict[str, tuple[Column, ...]] = {
    "ratings": RATINGS,
    "annotations": ANNOTATIONS,
    "participants": PARTICIPANTS,
    "highlights": HIGHLIGHTS,
}


def list_files(config: ProtocolConfig) -> dict[str, tuple[Column, ...]]:
    """The files that a study of this protocol has."""
    is_there = {"highlights": config.has_highlight}
    return {name: columns for name, columns in FILES.items() if is_there.get(name, True)}
