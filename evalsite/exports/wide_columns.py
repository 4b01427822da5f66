"""The columns of ratings_wide.csv, in the order of the file: one for each criterion."""

from evalsite.exports.rating_columns import RATINGS
from evalsite.exports.shared_columns import TEXT, WHOLE, Column
from evalsite.protocol import Criterion, Protocol

_LONG = {column.name: column for column in RATINGS}
_OF_COMPARISONS = ("system_1", "system_2", "shown_first")


def list_wide(config: Protocol) -> tuple[Column, ...]:
    """One column for each criterion, in the place where ratings.csv has what is rated."""
    has_output = any(criterion.per_output for criterion in config.criteria)
    compares = any(criterion.scale.compares for criterion in config.criteria)
    has_standard = any(criterion.scale.has_standard for criterion in config.criteria)
    wanted = {"system": has_output, "output_id": has_output, "place": has_output}
    wanted |= dict.fromkeys(_OF_COMPARISONS, compares) | {"standard": has_standard}
    return tuple(
        column
        for place in _ORDER
        for column in (_list_criteria(config) if place == "criterion" else [_LONG[place]])
        if wanted.get(column.name, True)
    )


def _list_order() -> list[str]:
    """As in ratings.csv, without what is said of one rating."""
    left_out = {"scale", "scale_min", "scale_max", "value", "label", "value_typed", "log_ratio",
                "preferred", "outcome", "file_row"}  # fmt: skip
    return [name for name in _LONG if name not in left_out]


_ORDER = _list_order()


def _list_criteria(config: Protocol) -> list[Column]:
    return [_describe(criterion) for criterion in config.criteria]


def _describe(criterion: Criterion) -> Column:
    cell, is_number, allowed = criterion.scale.describe_wide()
    return Column(
        name=criterion.key,
        meaning=f"{criterion.label or criterion.key}: {cell}.",
        type=WHOLE if is_number else TEXT,
        allowed=allowed,
        missing="not rated: the criterion does not apply to this row, or was left out",
    )
