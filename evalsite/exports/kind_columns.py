"""Columns of ratings.csv that only some kinds of questions need."""

from typing import Any

from evalsite.exports.column import (
    FLAG,
    NUMBER,
    ONE_OF,
    TEXT,
    WHOLE,
    WITHHELD,
    YES_NO,
    Column,
    yes_no,
)
from evalsite.instruments.scales import COMMENT
from evalsite.instruments.schema import Criterion

TURN = Column(
    "turn", WHOLE, "The turn of the conversation that is rated, by its number.",
    allowed="1 and more", missing="the rating is of the conversation as a whole", of="row",
    cell=lambda row: str(row.turn or ""),
)  # fmt: skip
# behind all others, and only in files of instruments that use them
MORE_OF_RATINGS = (
    Column(
        "part", TEXT, "Which statement or option of the question the row is of, by its key.",
        allowed=f"a key of the instrument, or {COMMENT}",
        missing="the answer to the question itself", of="score",
    ),
    Column(
        "text", TEXT, "The words that were written. Read them before you share the file.",
        missing="nothing was to be written", of="score", withheld=WITHHELD,
    ),
    Column(
        "not_applicable", YES_NO, "Whether the participant said that the question doesn’t apply.",
        allowed=FLAG, of="score", cell=lambda score: yes_no(score.is_not_applicable),
    ),
    Column(
        "option", TEXT, "The option that was chosen, by its key.",
        missing="not a choice of one option", of="score",
        cell=lambda score: (score.detail or {}).get("option", ""),
    ),
    Column(
        "both", ONE_OF, "Whether both outputs were called good, or both bad.",
        allowed="good, bad", missing="neither was said", of="score",
        cell=lambda score: (score.detail or {}).get("both", ""),
    ),
    Column(
        "reasons", TEXT, "The reasons that were ticked, by their keys, for each output.",
        allowed="such as item-7#1: complete useful; item-7#2: incorrect",
        missing="none was ticked", of="row", cell=lambda row: _write_reasons(row),
    ),
    TURN,
)  # fmt: skip


# --- of criteria, in files with a column for each --------------------------------------------


def comment_column(criterion: str) -> str:
    """Name the column of comments on a criterion in a wide file."""
    return f"{criterion}_{COMMENT}"


def describe_criterion(criterion: Criterion) -> Column:
    cell, is_number, allowed = criterion.scale.describe_wide()
    number = NUMBER if criterion.scale.has_decimals else WHOLE
    return Column(
        criterion.key, number if is_number else TEXT,
        f"{criterion.label or criterion.key}: {cell}.",
        allowed=allowed,
        missing="not rated: the criterion does not apply to this row, or was left out", of="row",
        cell=lambda row: row.values.get(criterion.key, ""),
        withheld=WITHHELD if "text" in criterion.scale.columns else None,
    )  # fmt: skip


# --- how reasons are written ------------------------------------------------------------------


def _number_of(reason: tuple[str, Any]) -> int:
    """Return the number of an output, so that 9 comes before 10; 0 for reasons about all."""
    return int(reason[0]) if reason[0].isdecimal() else 0


def _write_reasons(row: Any) -> str:
    reasons = (row.score.detail or {}).get("reasons", {})
    numbers = {str(pk): number for number, (pk, _name) in row.answer.outputs.items()}
    return "; ".join(
        f"{row.answer.item}#{numbers[pk]}: {' '.join(keys)}" if pk in numbers else " ".join(keys)
        for pk, keys in sorted(reasons.items(), key=_number_of)
    )
