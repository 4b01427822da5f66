"""Figures of edit rates: the words that people changed, for 100 words of the corrected text."""

from evalsite.analysis.families import EDITS
from evalsite.analysis.families.penalties import PenaltiesNumbers


class EditsNumbers(PenaltiesNumbers):
    """Edit rates are numbers from 0 upwards, as penalties are."""

    family = EDITS


NUMBERS = EditsNumbers()
