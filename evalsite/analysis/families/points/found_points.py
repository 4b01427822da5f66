"""The points of a scale in a bare file, where nobody declares them."""

from typing import Any

import numpy as np

from evalsite.analysis.table import Table

_MOST_POINTS = 11  # where nobody says what the scale is
_MOST_POINTS_ASKED_FOR = 101  # such as 0-100


def find_points(table: Table, key: str, scale: list[float] | None) -> list[float]:
    """The points of a scale: as the file says, else as asked for, else as far as values reach."""
    rows = table.rows
    values = rows.value.dropna().to_numpy()
    if not len(values):
        return scale or []
    low, high = rows.scale_min.min(), rows.scale_max.max()
    is_known = True
    if np.isfinite(low) and np.isfinite(high):
        pass
    elif scale is not None:
        low, high = scale[0], scale[-1]
    else:
        is_known = False
        low, high = values.min(), values.max()
    _check_points(key, values, low, high, is_known=is_known)
    return [float(point) for point in np.arange(low, high + 1)]


def _check_points(key: str, values: Any, low: float, high: float, *, is_known: bool) -> None:
    """ValueError, with what to do, where values are no points from low to high."""
    most = _MOST_POINTS_ASKED_FOR if is_known else _MOST_POINTS
    if is_known and high - low >= most:
        raise ValueError(
            f"The scale of {key} has more than {most} points. Say --protocol magnitude if its "
            "values are magnitudes."
        )
    if (values != np.round(values)).any() or high - low >= most:
        other = "" if is_known else ", or give the --scale they are of, such as 1-100"
        raise ValueError(
            f"The values of {key} are no points of a scale. Say --protocol magnitude{other}."
        )
    if (values < low).any() or (values > high).any():
        raise ValueError(
            f"The values of {key} go from {values.min():g} to {values.max():g}: they are no "
            f"points of a scale from {low:g} to {high:g}. Give the --scale they are of."
        )
