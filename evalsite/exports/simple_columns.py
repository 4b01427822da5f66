"""Columns of ratings_simple.csv, for default readers: one or more for each criterion."""

from collections.abc import Iterator
from dataclasses import replace

from evalsite.exports.column import (
    EXCLUDED,
    FLAG,
    ID,
    ITEM,
    ITEM_NUMBERS,
    PARTICIPANT,
    PLACES,
    TEXT,
    TIMES,
    WHOLE,
    YES_NO,
    Cell,
    Column,
)
from evalsite.exports.kind_columns import TURN, comment_column, describe_criterion
from evalsite.instruments.scales import COMMENT, NA
from evalsite.instruments.schema import Criterion, Instrument

# what a row holds of a criterion, each part in a column of its own
VALUE, STRENGTH, REASONS = "", "strength", "reasons"
_FIRST = (
    *ITEM_NUMBERS,
    *(column for column in ITEM if column.name in ("item", "group")),
    Column(
        "source_id", ID, "The id in the uploaded file of what the item was made from.",
        derived="item, without the number at its end if the outputs or pairs of one id became "
        "several items", of="row",
    ),
    *(column for column in ITEM if column.name == "cluster"),
)  # fmt: skip
_SYSTEM = Column("system", TEXT, "The system whose output is rated.", of="row")
_SYSTEMS = (
    Column(
        "system_1", TEXT, "The first by name of the two systems compared.", of="row",
        cell=lambda row: row.comparison.system_1,
    ),
    Column(
        "system_2", TEXT, "The second by name of the two systems compared.", of="row",
        cell=lambda row: row.comparison.system_2,
    ),
)  # fmt: skip
_NOTE = Column(
    COMMENT, TEXT, "The participant’s comment on the item. Read it before you share the file.",
    missing="nothing was written", cell=lambda answer: answer.note,
)  # fmt: skip
_SHOWN_FIRST = Column(
    "first", TEXT, "The system whose output was first on the page.",
    missing="the order is not known", of="row", cell=lambda row: row.comparison.shown_first,
)  # fmt: skip
_POSITION = next(
    replace(column, name="position", cell=lambda answer: answer.place_in_set)
    for column in PLACES
    if column.name == "place_in_set"
)
_SECONDS = next(column for column in TIMES if column.name == "seconds")
_TAGS = Column(
    "tags", TEXT, "The tags of the item: what the column tags of the uploaded file held.",
    missing="the file had no such column, or the cell was empty", of="row",
)  # fmt: skip


def list_simple_columns(config: Instrument) -> tuple[Column, ...]:
    """List what was rated, by whom, the columns of each criterion, and how it came about."""
    of_output = any(criterion.per_output for criterion in config.criteria)
    compares = not of_output and any(criterion.scale.compares for criterion in config.criteria)
    before = [*_FIRST, *([_SYSTEM] if of_output else _SYSTEMS if compares else []), PARTICIPANT]
    after = [
        *([_NOTE] if config.has_note else []),
        _SHOWN_FIRST if compares else _POSITION,
        _SECONDS,
        *([TURN] if config.asks_turns else []),
    ]
    last = [_TAGS, EXCLUDED[0]]
    taken = {column.name for column in (*before, *after, *last)}
    of_criteria = _list_of_criteria(config, taken)
    return (
        *before,
        *(column for part, column in of_criteria if part != NA),
        *after,
        *(column for part, column in of_criteria if part == NA),
        *last,
    )


def _list_of_criteria(config: Instrument, taken: set[str]) -> list[tuple[str, Column]]:
    """List the columns of the criteria under names that are not taken."""
    columns = [pair for criterion in config.criteria for pair in _describe(criterion)]
    # the keys of criteria come first: what is added to a key gives way to them
    for is_value in (True, False):
        for place, (part, column) in enumerate(columns):
            if (part == VALUE) is is_value:
                name = column.name
                while name in taken:
                    name = f"{name}_rating"
                taken.add(name)
                columns[place] = (part, replace(column, name=name))
    return columns


def _describe(criterion: Criterion) -> Iterator[tuple[str, Column]]:
    """Describe the columns of a criterion, each with the part of the answer that it holds."""
    key, scale = criterion.key, criterion.scale
    label = criterion.label or key
    value = replace(describe_criterion(criterion), cell=_read(key, VALUE))
    if scale.compares:
        value = replace(value, allowed="a system’s name, tie, both_good or both_bad")
    yield VALUE, value
    if scale.compares and scale.maximum > 1:
        yield STRENGTH, Column(
            f"{key}_{STRENGTH}", WHOLE, f"{label}: how much better the preferred output is.",
            allowed=f"1 to {scale.maximum}", missing="neither output is preferred",
            of="row", cell=_read(key, STRENGTH),
        )  # fmt: skip
    if REASONS in scale.columns:
        yield REASONS, Column(
            f"{key}_{REASONS}", TEXT, f"{label}: the reasons that were ticked, by their keys.",
            allowed="such as v2: clear; v1: short. A reason about both outputs names no system",
            missing="none was ticked", of="row", cell=_read(key, REASONS),
        )  # fmt: skip
    if criterion.comment:
        yield COMMENT, Column(
            comment_column(key), TEXT,
            f"The comment on {label}. Read it before you share the file.",
            missing="nothing was written", of="row", cell=_read(key, COMMENT),
        )  # fmt: skip
    if has_na(criterion):
        yield NA, Column(
            f"{key}_{NA}", YES_NO,
            f"{label}: whether the participant said that the question doesn’t apply.",
            allowed=FLAG, missing="not answered", of="row", cell=_read(key, NA),
        )  # fmt: skip


def has_na(criterion: Criterion) -> bool:
    """Return whether an answer as a whole may be “not applicable”; statements say so in cells."""
    return bool({"not_applicable", "part"} & criterion.scale.columns == {"not_applicable"})


def _read(key: str, part: str) -> Cell:
    return lambda row: row.values.get((key, part), "")
