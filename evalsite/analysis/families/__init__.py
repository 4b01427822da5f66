"""The families of analysis: each kind of question is analysed as one of them.

A family is a folder with its facts (a `Family`) and its `numbers` (a `Numbers`), and one entry in
`FAMILIES`. Facts import nothing heavy, so pages can use them; numbers are imported when needed.
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
    family.name: family
    for family in (POINTS, MAGNITUDE, DECISION, PREFERENCE, CATEGORIES, SHARES, TEXT, TURNS)
}
# the families of the kinds of questions whose answers can be analysed from a file alone
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
# values of `--protocol`
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
    """Return the family of answers of which only the columns of a file are known."""
    if is_compared:
        return PREFERENCE
    return MAGNITUDE if has_standard else POINTS


def name_kind(family: Family) -> str:
    """Return the kind of question that version 0.1 analysed this way, or the family's own name."""
    return next((kind for kind, known in KNOWN_KINDS.items() if known is family), family.name)


def get_numbers(family: Family) -> "Numbers":
    """Return what computes the reports of a family."""
    numbers: Numbers = import_module(f"{__name__}.{family.name}.numbers").NUMBERS
    return numbers


def list_planners() -> dict[str, Planner]:
    """Return the planners of all families by the name of their simulation."""
    planners = [family.planner for family in FAMILIES.values() if family.planner]
    return {planner.simulation: planner for planner in planners}


def find_planned(simulation: str) -> Family:
    """Return the family that a stored plan was simulated for."""
    return next(
        family
        for family in FAMILIES.values()
        if family.planner and family.planner.simulation == simulation
    )
