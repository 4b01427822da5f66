"""The families of analysis: each kind of question is analysed as one of them.

A family is a folder with its words (a `Family`) and its `numbers` (a `Numbers`), and one line of
`FAMILIES`. Words are plain, so that pages can import them; numbers are imported when needed.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from evalsite.analysis.families.categories import CATEGORIES
from evalsite.analysis.families.decision import DECISION
from evalsite.analysis.families.family import Family, Planner
from evalsite.analysis.families.magnitude import MAGNITUDE
from evalsite.analysis.families.points import POINTS
from evalsite.analysis.families.preference import PREFERENCE
from evalsite.analysis.families.shares import SHARES
from evalsite.analysis.families.text import TEXT
from evalsite.analysis.families.turns import TURNS

if TYPE_CHECKING:
    from evalsite.analysis.families.numbers import Numbers

FAMILIES: Mapping[str, Family] = {
    one.name: one
    for one in (POINTS, MAGNITUDE, DECISION, PREFERENCE, CATEGORIES, SHARES, TEXT, TURNS)
}
# of the kinds of questions whose answers a file alone tells enough about
KNOWN_KINDS: Mapping[str, Family] = {
    "likert": POINTS,
    "slider": POINTS,
    "number": POINTS,
    "magnitude": MAGNITUDE,
    "decision": DECISION,
    "checklist": SHARES,
    "choice": CATEGORIES,
    "choices": CATEGORIES,
    "preference": PREFERENCE,
}
# what `--protocol` may say
NAMES: Mapping[str, Family] = {**KNOWN_KINDS, "pairwise": PREFERENCE}


def get_family(name: str) -> Family:
    """Return the family of this name; LookupError if there is none."""
    try:
        return FAMILIES[name]
    except KeyError:
        known = ", ".join(FAMILIES)
        raise LookupError(
            f"No family of analysis is called {name!r}. There are: {known}."
        ) from None


def find_family(criterion: Mapping[str, Any]) -> Family:
    """Return the family of a criterion of an instrument or a report.

    Reports of version 0.1 name the kind of question only. LookupError if that isn't enough.
    """
    if name := criterion.get("family"):
        return get_family(str(name))
    kind = str(criterion["kind"])
    if kind not in KNOWN_KINDS:
        raise LookupError(f"Name the family of analysis of {kind!r}: {', '.join(FAMILIES)}.")
    return KNOWN_KINDS[kind]


def guess_family(*, is_compared: bool, has_standard: bool) -> Family:
    """Return the family of answers that a file describes by its columns only."""
    if is_compared:
        return PREFERENCE
    return MAGNITUDE if has_standard else POINTS


def name_kind(family: Family) -> str:
    """Return the kind of question that version 0.1 analysed so; the family if it had none."""
    return next((kind for kind, one in KNOWN_KINDS.items() if one is family), family.name)


def get_numbers(family: Family) -> "Numbers":
    """Return what computes the reports of a family."""
    found: Numbers = import_module(f"{__name__}.{family.name}.numbers").NUMBERS
    return found


def list_planners() -> dict[str, Planner]:
    """Return the planners of all families by the name of their simulation."""
    return {one.planner.simulation: one.planner for one in FAMILIES.values() if one.planner}


def find_planned(simulation: str) -> Family:
    """Return the family that a stored plan was simulated for."""
    return next(
        one for one in FAMILIES.values() if one.planner and one.planner.simulation == simulation
    )
