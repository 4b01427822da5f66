"""The installed protocols as parameters of tests."""

from typing import Any

import pytest

from evalsite.instruments.installed import installed_protocols

_SHIPPED = {"dialogue", "fluency", "magnitude", "pairwise", "rrgen"}


def each_protocol(*usual: str) -> list[Any]:
    """Return all protocols; of those that the site ships, `make torture` alone runs all but these.

    A protocol that a test adds always takes part.
    """
    return [
        key if key in usual or key not in _SHIPPED else pytest.param(key, marks=pytest.mark.torture)
        for key in sorted(installed_protocols())
    ]
