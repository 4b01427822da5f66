"""Results as plain data that JSON can hold."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Any

import numpy as np

from evalsite.analysis.figure import Figure


def to_plain(result: Any) -> Any:
    """The result with figures as `Figure.to_dict` has them; a number that is none becomes None."""
    if isinstance(result, Figure):
        return {key: to_plain(one) for key, one in result.to_dict().items()}
    if is_dataclass(result) and not isinstance(result, type):
        return {one.name: to_plain(getattr(result, one.name)) for one in fields(result)}
    if isinstance(result, Mapping):
        return {str(key): to_plain(one) for key, one in result.items()}
    if isinstance(result, list | tuple):
        return [to_plain(one) for one in result]
    return _to_plain_value(result)


def _to_plain_value(value: Any) -> Any:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, np.ndarray):
        return [to_plain(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
