"""Preferences in terms of systems, for the files of answers."""

from collections.abc import Sequence
from typing import NamedTuple

from evalsite.lib.limited import read_json

TIE = "tie"


class Comparison(NamedTuple):
    """A preference in terms of systems, never of sides."""

    system_1: str = ""
    system_2: str = ""
    preferred: str = ""
    outcome: str = ""
    shown_first: str = ""


NOT_COMPARED = Comparison()


def compare_systems(
    outputs: Sequence[tuple[int, str]], order_shown: str, preferred: int
) -> Comparison:
    """Return what it means for systems that the output of this number is preferred; 0: a tie."""
    systems = dict(outputs)
    names = sorted(systems.values()) or [""]
    name = systems[preferred] if preferred else ""
    outcome = TIE if not preferred else "1" if name == names[0] else "2"
    first = next(iter(find_places(order_shown)), None)
    return Comparison(names[0], names[-1], name, outcome, systems.get(first or 0, ""))


def find_places(order_shown: str) -> dict[int, str]:
    """Return by number in the item the place on the page, in the order of the page."""
    return {
        position + 1: str(place) for place, position in enumerate(read_json(order_shown), start=1)
    }
