"""The ratings of one criterion, as all statistics take them."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """Columns of one length, with a row for each rating; lists and series become arrays.

    Columns other than `value` hold ids of any kind. `unit` is what raters agree on, such as an
    output; `rater` is None where raters are unknown. `group` is the input that outputs share;
    `block` is drawn or weighted as a whole: the input, or the cluster it belongs to.
    ValueError: lengths differ.
    """

    value: NDArray[np.float64]
    unit: Column | None = None
    rater: Column | None = None
    group: Column | None = None
    block: Column | None = None
    system: Column | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            column = getattr(self, field.name)
            if column is None:
                continue
            kind = np.float64 if field.name == "value" else None
            object.__setattr__(self, field.name, np.asarray(column, dtype=kind))
            if getattr(self, field.name).shape != (len(self.value),):
                raise ValueError("The columns of ratings must be flat and of one length.")

    def __len__(self) -> int:
        return len(self.value)

    def get(self, name: str) -> Column:
        """Return a column that a statistic can't do without."""
        column = getattr(self, name)
        if column is None:
            raise ValueError(f"The ratings have no column {name}.")
        return np.asarray(column)
