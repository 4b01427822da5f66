"""The columns of items.csv, in the order of the file: inputs and gold are the protocol's.

They bear the names that a batch file has, so that the file can be imported again.
"""

from evalsite.exports.shared_columns import (
    ID,
    ITEM,
    REPEAT_OF,
    STUDY,
    TEXT,
    YES_NO,
    Column,
)
from evalsite.protocol import Protocol

_BATCH, *_NAMES = ITEM
_BEFORE = (
    STUDY,
    _BATCH,
    *_NAMES,
    REPEAT_OF,
    Column(
        name="held",
        meaning="Whether the item is held: after problem reports nobody gets it.",
        type=YES_NO,
        allowed="yes, no",
    ),
)
_OUTPUT = (
    Column(
        name="output_id",
        meaning="The output, as the other files name it.",
        type=ID,
        allowed="an item's id, # and the output's number in the item, such as item-7#2",
    ),
    Column(
        name="system",
        meaning="The system that produced the output.",
        type=TEXT,
        missing="the output came with the protocol, as those of practice items do",
    ),
    Column(
        name="output",
        meaning="The output, exactly as it was uploaded.",
        type=TEXT,
        missing="the system gave nothing: output_is_empty says yes",
    ),
    Column(
        name="output_is_empty",
        meaning="Whether the system gave nothing.",
        type=YES_NO,
        allowed="yes, no",
    ),
)
_AFTER = (
    Column(
        name="gold_why",
        meaning="Why the right answers are right.",
        type=TEXT,
        missing="no reason is given",
    ),
    Column(
        name="extra",
        meaning="The metadata of the item: what other columns of the uploaded file held.",
        type=TEXT,
        allowed="a JSON object: by column the text, or by system where the rows of the item differ",
        missing="there were no such columns, or they were empty",
    ),
)


def list_item_columns(config: Protocol) -> tuple[Column, ...]:
    """The columns of items.csv in a study of this protocol."""
    inputs = [
        Column(
            name=one.name,
            meaning=f"Input: {one.label}, exactly as it was uploaded.",
            type=TEXT,
            missing="the item has none",
        )
        for one in config.inputs
    ]
    gold = [
        Column(
            name=f"gold_{one.key}",
            meaning=f"The right answer for {one.label or one.key}, in the notation of batches.",
            type=TEXT,
            missing="none is known",
        )
        for one in config.criteria
    ]
    return (*_BEFORE, *inputs, *_OUTPUT, *gold, *_AFTER)
