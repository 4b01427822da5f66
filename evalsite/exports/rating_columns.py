"""The columns of ratings.csv, in the order of the file."""

from dataclasses import replace

from evalsite.exports.shared_columns import (
    ANNOTATION,
    CIRCUMSTANCES,
    EXCLUDED,
    ID,
    ITEM,
    NUMBER,
    ONE_OF,
    PARTICIPANT,
    PERSON,
    PLACES,
    SET,
    STATUS,
    STUDY,
    TEXT,
    TIMES,
    VERSION,
    WHOLE,
    Column,
)
from evalsite.protocol import installed_scales

RATINGS = (
    STUDY,
    VERSION,
    *ITEM,
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
        allowed="an item's id, # and the output's number in the item, such as item-7#2",
        missing="the rating is a preference",
    ),
    Column(name="criterion", meaning="The quality that is judged.", type=ONE_OF),
    Column(
        name="scale",
        meaning="The kind of scale.",
        type=ONE_OF,
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
        allowed="scale_min to scale_max",
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
        missing="the rating is no preference, or the order is not known",
    ),
    ANNOTATION,
    PARTICIPANT,
    PERSON,
    SET,
    Column(
        name="place",
        meaning="Where the output stood on the page, from 1.",
        type=WHOLE,
        allowed="1 and more",
        missing="the rating is a preference, or the order is not known",
    ),
    *PLACES,
    *STATUS,
    *CIRCUMSTANCES,
    *EXCLUDED,
    *TIMES,
    Column(
        name="file_row",
        meaning="The record of the imported file that held the rating.",
        type=WHOLE,
        allowed="1 and more",
        missing="the rating was given here",
    ),
)


def list_rating_columns() -> tuple[Column, ...]:
    """List the columns, with the kinds of installed scales and what the numbers of each mean."""
    kinds = installed_scales()
    notes = [scale.note_on_values for scale in kinds.values() if scale.note_on_values]
    allowed = {"scale": ", ".join(kinds), "value": ". ".join(["scale_min to scale_max", *notes])}
    return tuple(
        replace(column, allowed=allowed.get(column.name, column.allowed)) for column in RATINGS
    )
