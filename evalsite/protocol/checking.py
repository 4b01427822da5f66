"""Checks of plain data that should be an instrument: every fault, with its code and its place."""

from typing import Any

from evalsite.instruments.checks import InvalidInstrument, find_not_yet, read_instrument
from evalsite.instruments.faults import Faults
from evalsite.instruments.scales import installed_scales


def check_instrument(data: Any, *, is_foreign: bool = False) -> Faults:
    """Return all faults of this data, and of what is valid what this version can't ask yet.

    `is_foreign`: it came by web or file, so without hooks.
    """
    try:
        instrument = read_instrument(data, is_foreign=is_foreign)
    except InvalidInstrument as refused:
        return refused.faults
    return find_not_yet(instrument, frozenset(installed_scales()))
