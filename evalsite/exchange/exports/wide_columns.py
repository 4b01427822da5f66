"""The columns of ratings_wide.csv, in the order of the file: one for each criterion."""

from evalsite.exchange.exports.rating_columns import RATINGS
from evalsite.exchange.exports.shared_columns import TEXT, WHOLE, Column
from evalsite.protocol import Criterion, Protocol
from evalsite.scales.preference import Preference

_LONG = {column.name: column for column in RATINGS}
_OF_PREFERENCES = ("system_1", "system_2", "shown_first")


def list_wide(config: Protocol) -> tuple[Column, ...]:
    """One column for each criterion, in the place where ratings.csv has what is rated."""
    has_preference = any(not criterion.per_output for criterion in config.criteria)
    has_output = any(criterion.per_output for criterion in config.criteria)
    has_standard = any(criterion.scale.kind == "magnitude" for criterion in config.criteria)
    wanted = {"system": has_output, "output_id": has_output, "place": has_output}
    wanted |= dict.fromkeys(_OF_PREFERENCES, has_preference) | {"standard": has_standard}
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
    missing = "not rated: the criterion does not apply to this row, or was left out"
    if isinstance(criterion.scale, Preference):
        return Column(
            name=criterion.key,
            meaning=f"{criterion.label or criterion.key}: the system preferred.",
            type=TEXT,
            allowed="a system's name, or tie",
            missing=missing,
        )
    return Column(
        name=criterion.key,
        meaning=f"{criterion.label or criterion.key}: the rating.",
        type=WHOLE,
        allowed=f"{criterion.scale.minimum} to {criterion.scale.maximum}",
        missing=missing,
    )
