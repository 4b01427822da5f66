"""The families of analysis: each kind of question is analysed as one of them.

A family is its facts here (a `Family`) and its figures (a `Numbers`) in the module of its name.
Facts import nothing heavy, so pages can use them; figures are imported when needed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from math import log
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from evalsite.analysis.families.numbers import Numbers

_PARTS = ("rater", "item", "item_system", "rater_system", "residual")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Standard deviations that a study can be planned with.

    `points`: for scales with points, how many the original scale had.
    """

    key: str
    parts: Mapping[str, float]
    points: int | None = None


@dataclass(frozen=True, kw_only=True)
class Planner:
    """How a study is planned whose main question belongs to this family.

    `simulation` names it in stored plans. `read_difference` takes what was entered and the width
    of the scale, and returns the difference as simulated; None: it is out of range.
    `shows_spread`: the results of a study show how much its ratings vary. `width`: the half-width
    of an interval is a number of units, a share, or a factor.
    """

    simulation: str
    example: str
    read_difference: Callable[[float, float], float | None]
    sources: tuple[Source, ...]
    width: Literal["units", "share", "factor"] = "units"
    parts: tuple[str, ...] = _PARTS  # the sources of variation in its simulation
    has_points: bool = False
    has_ties: bool = False
    shows_spread: bool = True
    first_items: int | None = None  # how many inputs to try first if there is no closed form


@dataclass(frozen=True, kw_only=True)
class Family:
    """A way to analyse the answers to a criterion.

    `is_scored`: answers are scores, so criteria can correlate and raters can be strict;
    `has_points`: on points at equal distances; `decides`: answers are yes or no, and can be
    compared with scores; `compares`: each is about two outputs; `orders`: each is about all outputs
    of an item. `is_log`: logarithms are analysed. `has_marks`: the score adds up marked passages,
    whose places are compared as well. `counts`: what the score counts, where fewer are better.
    """

    name: str
    is_scored: bool = False
    has_points: bool = False
    decides: bool = False
    compares: bool = False
    orders: bool = False
    is_log: bool = False
    has_marks: bool = False
    counts: str = ""
    # figures of a rater, in a separate table on raters
    rater_columns: tuple[str, ...] = ()
    # there are statistics; a criterion for each option; a mean of several statements
    is_analysed: bool = True
    splits: bool = False
    averages: bool = False
    planner: Planner | None = None


def name_unit(criterion: Mapping[str, Any]) -> str:
    """Return the unit of a difference of scores; "" for numbers, which have none."""
    if counts := find_family(criterion).counts:
        return counts
    return "" if criterion["kind"] == "number" else "points"


# --- points: scores such as 1 to 7 or 0 to 100


POINTS = Family(
    name="points",
    is_scored=True,
    has_points=True,
    planner=Planner(
        simulation="likert",
        example="0.5",
        read_difference=lambda asked, widest: asked if 0 < asked <= widest else None,
        has_points=True,
        sources=(
            Source(
                key="typical",
                points=7,
                parts={
                    "rater": 0.7,
                    "item": 0.5,
                    "item_system": 0.4,
                    "rater_system": 0.2,
                    "residual": 0.9,
                },
            ),
            Source(
                key="rankme",
                points=6,
                parts={
                    "rater": 0.40,
                    "item": 0.0,
                    "item_system": 0.61,
                    "rater_system": 0.58,
                    "residual": 0.67,
                },
            ),
        ),
    ),
)


# --- magnitude: scores in proportion to the quality, often in relation to a standard


MAGNITUDE = Family(
    name="magnitude",
    is_scored=True,
    is_log=True,
    rater_columns=(
        "geo_mean",
        "sd_log",
        "share_of_5s",
        "share_of_10s",
        "share_of_standard",
        "ratio",
    ),
    planner=Planner(
        simulation="magnitude",
        example="1.2",
        read_difference=lambda asked, widest: log(asked) if 1 < asked <= 10 else None,
        width="factor",
        sources=(
            Source(
                key="typical",
                parts={
                    "rater": 0.3,
                    "item": 0.2,
                    "item_system": 0.2,
                    "rater_system": 0.1,
                    "residual": 0.25,
                },
            ),
            Source(
                key="rankme",
                parts={
                    "rater": 0.074,
                    "item": 0.035,
                    "item_system": 0.189,
                    "rater_system": 0.109,
                    "residual": 0.220,
                },
            ),
        ),
    ),
)


# --- decision: yes or no, stored as 1 and 0


DECISION = Family(
    name="decision",
    decides=True,
    planner=Planner(
        simulation="decision",
        example="15",
        read_difference=lambda asked, widest: asked / 100 if 0 < asked < 100 else None,
        width="share",
        shows_spread=False,
        sources=(
            Source(
                key="typical",
                parts={
                    "rater": 0.6,
                    "item": 0.6,
                    "item_system": 0.5,
                    "rater_system": 0.3,
                    "residual": 0.9,
                },
            ),
        ),
    ),
)


# --- preference: which of two outputs is better, or neither


PREFERENCE = Family(
    name="preference",
    compares=True,
    planner=Planner(
        simulation="pairs",
        example="60",
        read_difference=lambda asked, widest: (
            log(asked / (100 - asked)) if 50 < asked < 100 else None
        ),
        width="share",
        parts=("item_system", "rater_system"),
        has_ties=True,
        # net wins vary on another scale than the strengths that plans are made of
        shows_spread=False,
        first_items=50,
        sources=(
            Source(
                key="typical",
                parts={"item_system": 0.8, "rater_system": 0.3, "residual": 0.0},
            ),
        ),
    ),
)


# --- ranks: an order of the outputs of an item, or the best and the worst of them

RANKS = Family(
    name="ranks",
    orders=True,
)


# --- categories: options without an order; for each, the share of answers that chose it

CATEGORIES = Family(
    name="categories",
    splits=True,
)


# --- shares: statements that are true of an output, among those that apply

SHARES = Family(
    name="shares",
    is_scored=True,
    averages=True,
)


# --- text: words are read, not counted

TEXT = Family(
    name="text",
    is_analysed=False,
)


# --- turns: questions about each turn of a conversation; the mean of its turns is one score

TURNS = Family(
    name="turns",
    is_scored=True,
    averages=True,
)


# --- penalties: marked passages, whose weights add up; lower is better

PENALTIES = Family(
    name="penalties",
    is_scored=True,
    has_marks=True,
    counts="penalty points",
)


# --- edits: words changed for 100 words of a corrected text; lower is better

EDITS = Family(
    name="edits",
    is_scored=True,
    counts="edits per 100 words",
)


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        POINTS, MAGNITUDE, DECISION, PREFERENCE, RANKS, CATEGORIES, SHARES, TEXT, TURNS, PENALTIES,
        EDITS,
    )
}  # fmt: skip
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
    "ranking": RANKS,
    "best_worst": RANKS,
    "spans": PENALTIES,
    "post_edit": EDITS,
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
    numbers: Numbers = import_module(f"{__name__}.{family.name}").NUMBERS
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
