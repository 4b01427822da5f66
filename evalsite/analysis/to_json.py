"""Results as plain data that JSON can hold."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Any

import numpy as np

from evalsite.analysis.figure import Figure


def to_plain(result: Any) -> Any:
    """Return the result as plain data, figures as by `Figure.to_dict`; a number that isn't finite
    becomes None."""
    if isinstance(result, Figure):
        return {key: to_plain(value) for key, value in result.to_dict().items()}
    if is_dataclass(result) and not isinstance(result, type):
        return {field.name: to_plain(getattr(result, field.name)) for field in fields(result)}
    if isinstance(result, Mapping):
        return {str(key): to_plain(value) for key, value in result.items()}
    if isinstance(result, list | tuple):
        return [to_plain(value) for value in result]
    return _to_plain_value(result)


def _to_plain_value(value: Any) -> Any:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, np.ndarray):
        return [to_plain(entry) for entry in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
