"""What a study can decide before anyone has answered: from its size, and how answers vary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, floor, log, log10
from statistics import mean
from typing import Any

from django.db.models import OuterRef, Subquery

from evalsite.analysis.families import Family, Source, get_family
from evalsite.analysis.sample_size import (
    Decision,
    Variances,
    find_inputs,
    find_smallest,
    spread_of_decisions,
    spread_of_preferences,
    spread_of_scores,
)
from evalsite.decisions.models import DIFFERENCES, LEVELS, AnalysisPlan
from evalsite.fieldwork.checklist import Check
from evalsite.fieldwork.invited_people import count_expected
from evalsite.fieldwork.setup import PAGE_NAMES, describe_setup
from evalsite.fieldwork.work_page import count_people
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.results.analysis_plan.stored import find_level
from evalsite.results.models import Report
from evalsite.results.power.design_search import FEW_RATERS, count_times_wider
from evalsite.results.power.forms import count_points
from evalsite.results.power.words import SOURCES
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import count_of
from evalsite.studies.version_cache import read_instrument

# of typical preferences, as the planner has it
TIES = 0.3
_MOST_STUDIES = 10
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4)
_RATIOS = (1.05, 1.1, 1.2, 1.3, 1.5)
_OF_THE_SCALE = (0.025, 0.05, 0.075, 0.125, 0.25)
Question = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How differences between two systems vary, and from what this is known."""

    variances: Variances
    studies: int  # closed ones of the same team; 0: it is typical of such questions
    origin: str = ""


@dataclass(frozen=True, kw_only=True)
class Design:
    """The size of a study, as its settings have it."""

    items: int
    answers: int
    people: int
    is_paired: bool  # each person who rates an item rates the outputs of all systems


@dataclass(frozen=True, kw_only=True)
class Size:
    """What a study can decide of one planned question, in words and figures."""

    verb: str
    noun: str
    smallest: str
    aimed: str  # the margin, or the smallest difference that matters; "" of none
    is_enough: bool
    needed: int | None  # items for what is aimed at; None: more items alone won't do
    rows: list[tuple[str, int | None]]
    design: Design
    spread: Spread
    systems: tuple[str, str]
    has_margin: bool
    tests: int = 1  # that are corrected for one another

    @property
    def has_limit(self) -> bool:
        """Return whether more items alone won't do for some of the sizes."""
        return any(items is None for _, items in self.rows)

    @property
    def headline(self) -> str:
        """ "20 items can't decide 5 points. About 2,500 could"."""
        items = count_of(self.design.items, "item")
        if not self.aimed:
            return f"{items} can {self.verb} {self.smallest}"
        if self.is_enough:
            return f"{items} can {self.verb} {self.aimed}"
        about = (
            "It takes more people"
            if self.needed is None
            else f"About {_round(self.needed):,} could"
        )
        return f"{items} can’t {self.verb} {self.aimed}. {about}"


def describe_design(study: Study, expected: int | None = None) -> Design:
    """Return how many items there are, and who is to rate them."""
    setup = describe_setup(study)
    fewest = count_people(study, setup.estimate.sets)
    expected = count_expected(study) if expected is None else expected
    people = max(study.k, expected or fewest)
    return Design(
        items=setup.counts.records,
        answers=study.k,
        people=people,
        is_paired=study.config.unit_name != "output" or study.k == people,
    )


def measure_questions(
    study: Study,
    questions: Sequence[Question],
    *,
    smallest: float | None,
    level: float,
    expected: int | None = None,
) -> list[Size]:
    """Return what the study can decide of each question, alike ones once.

    Empty without items or with a single person. `smallest`: the difference that matters; `level`:
    of tests against a margin; `expected`: how many people are invited, as known, or 0.
    """
    if not questions:
        return []
    design = describe_design(study, expected)
    if design.items < 2 or design.people < 2:
        return []
    criteria = {criterion.key: criterion for criterion in study.config.criteria}
    known: dict[str, Spread | None] = {}
    sizes: dict[tuple[Any, ...], Size] = {}
    for question in questions:
        has_margin = question["relation"] not in DIFFERENCES
        key = question["criterion"]
        aimed = question["margin"] if has_margin else smallest
        mark = (key, question["relation"] == "equivalent", has_margin, aimed)
        if mark in sizes:
            continue
        if key not in known:
            known[key] = find_spread(study, criteria[key])
        if (spread := known[key]) is None:
            continue
        alike = sum(
            (question["relation"] not in DIFFERENCES) == has_margin for question in questions
        )
        decision = Decision(
            has_margin=has_margin,
            is_equivalence=question["relation"] == "equivalent",
            # the first step of Holm's correction
            level=(level if has_margin else LEVELS[0]) / alike,
        )
        sized = _measure({**question, "aimed": aimed}, criteria[key], design, spread, decision)
        sizes[mark] = replace(sized, tests=alike)
    return list(sizes.values())


def _measure(
    question: Question, criterion: Criterion, design: Design, spread: Spread, decision: Decision
) -> Size:
    aimed = question["aimed"]
    family = get_family(criterion.family)
    scale = (design.people, design.answers, spread.variances)

    def count(size: float) -> int | None:
        return find_inputs(*scale, log(size) if family.is_log else size, decision)

    smallest = find_smallest(
        design.people, design.items, design.answers, spread.variances, decision
    )
    smallest = exp(smallest) if family.is_log else smallest
    needed = None if aimed is None else count(aimed)
    sizes = sorted({*_list_sizes(criterion, family), *([] if aimed is None else [aimed])})
    return Size(
        verb="decide" if decision.has_margin else "find",
        noun="margin" if decision.has_margin else "difference",
        smallest=write_amount(_round_up(smallest, family), family),
        aimed="" if aimed is None else write_amount(aimed, family),
        is_enough=aimed is not None and smallest <= aimed,
        needed=needed,
        # only the first has its unit
        rows=[
            (write_amount(size, family, has_unit=place == 0), count(size))
            for place, size in enumerate(sizes)
        ],
        design=design,
        spread=spread,
        systems=(question["system"], question["other"]),
        has_margin=decision.has_margin,
    )


def _list_sizes(criterion: Criterion, family: Family) -> list[float]:
    """Return some margins that this scale allows."""
    if family.is_log:
        return list(_RATIOS)
    if _is_share(family):
        return list(_SHARES)
    ends = criterion.scale.minimum, criterion.scale.maximum
    if None in ends:
        return []
    return [round(share * float(ends[1] - ends[0]), 6) for share in _OF_THE_SCALE]


def _is_share(family: Family) -> bool:
    return family.compares or family.decides


def write_amount(size: float, family: Family, *, has_unit: bool = True) -> str:
    """ "5 points", "0.3 points" or "a factor of 1.2"."""
    if family.is_log:
        return f"a factor of {size:g}" if has_unit else f"{size:g}"
    number = f"{size * 100 if _is_share(family) else size:g}"
    if not has_unit:
        return number
    return f"{number} point{'' if number == '1' else 's'}"


def _round_up(size: float, family: Family) -> float:
    """Return the size as people read it, never smaller than it is."""
    if family.is_log or _is_share(family):
        return ceil(size * 100 - 1e-9) / 100
    digits = 1 - floor(log10(size)) if size > 0 else 0
    return ceil(size * 10.0**digits - 1e-9) / 10.0**digits


def _round(number: int) -> int:
    """Return about so many: two figures."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return round(number / unit) * unit


def measure_plan(study: Study, plan: AnalysisPlan, expected: int | None) -> list[Size]:
    """Return what so many people can decide of the questions that are planned."""
    return measure_questions(
        study,
        [*plan.hypotheses, *plan.margins],
        smallest=plan.smallest,
        level=find_level(plan),
        expected=expected or 0,
    )


def check_sizes(sizes: Sequence[Size]) -> Check:
    """The items are enough for the first planned question that aims at something; else a remark."""
    short = next((size for size in sizes if size.aimed and not size.is_enough), None)
    if short is None:
        return Check(label="The plan", url_name=PAGE_NAMES["plan"])
    needed = (
        "more people are needed: more items alone won’t do"
        if short.needed is None
        else f"about {_round(short.needed):,} items are needed"
    )
    return Check(
        label="The plan",
        remark=f"{count_of(short.design.items, 'item')} can’t {short.verb} {short.aimed}. They can "
        f"{short.verb} a {short.noun} of {short.smallest}. For {short.aimed}, {needed}.",
        url_name=PAGE_NAMES["plan"],
        action="Change the plan",
    )


# --- how answers vary -------------------------------------------------------------------------


def find_spread(study: Study, criterion: Criterion) -> Spread | None:
    """Return how answers to this question vary: in closed studies of the same team with the same
    instrument, otherwise typically; None where nothing is known of such questions."""
    closed = _read_closed(study, criterion)
    if closed:
        parts = zip(*closed, strict=True)
        by_person, by_input, residual = (mean(part) for part in parts)
        return Spread(variances=(by_person, by_input, residual), studies=len(closed))
    planner = get_family(criterion.family).planner
    has_ends = None not in (criterion.scale.minimum, criterion.scale.maximum)
    if planner is None or (planner.has_points and not has_ends):
        return None
    source = planner.sources[0]
    origin = SOURCES[planner.simulation, source.key][1]
    return Spread(variances=_take_typical(criterion, source), studies=0, origin=origin)


def _take_typical(criterion: Criterion, source: Source) -> Variances:
    family = get_family(criterion.family)
    if family.compares:
        return spread_of_preferences(source.parts, TIES)
    if family.decides:
        return spread_of_decisions(source.parts)
    points = count_points(criterion) if family.has_points else 0
    return spread_of_scores(source.parts, count_times_wider({"points": points}, source))


def _read_closed(study: Study, criterion: Criterion) -> list[Variances]:
    team = study.memberships.values("user")
    newest = Report.objects.filter(study=OuterRef("pk")).order_by("-requested_at")
    closed = (
        Study.objects.filter(
            protocol=study.protocol,
            state__in=(Study.State.CLOSED, Study.State.ARCHIVED),
            memberships__user__in=team,
        )
        .exclude(pk=study.pk)
        .annotate(report=Subquery(newest.values("pk")[:1]))
        .filter(report__isnull=False)
        .order_by("-closed_at")
        .distinct()
    )
    names = ("closed_at", "pk", "version", "protocol", "report")
    reports = [
        report
        for _, pk, version, protocol, report in closed.values_list(*names)[:_MOST_STUDIES]
        if _has_scale(read_instrument(pk, version, protocol), criterion)
    ]
    kept = Report.objects.filter(pk__in=reports).values_list(
        "content__kept__criteria", "content__kept__data"
    )
    models = (_read_model(criterion, criteria, data) for criteria, data in kept)
    return [variances for variances in models if variances is not None]


def _has_scale(instrument: Instrument, criterion: Criterion) -> bool:
    """Return whether this instrument asks the question on the same scale: keys may be alike."""
    asked = next((each for each in instrument.criteria if each.key == criterion.key), None)
    return asked is not None and _list_values(asked) == _list_values(criterion)


def _list_values(criterion: Criterion) -> tuple[Any, ...]:
    scale = criterion.scale
    values = [value for value, _ in scale.list_answers()]
    return scale.kind, scale.minimum, scale.maximum, values


def _read_model(
    criterion: Criterion, criteria: Sequence[Mapping[str, Any]], data: Mapping[str, Any]
) -> Variances | None:
    """Return the variances of differences in a report, where enough people told them."""
    if data.get("participants", 0) < FEW_RATERS or data.get("origins", {}).get("simulated"):
        return None
    model = next((each.get("model") or {} for each in criteria if each["key"] == criterion.key), {})
    variances, compares = model.get("variances", {}), get_family(criterion.family).compares
    by_input = "input:system" if compares else "group:system"
    if "rater:system" not in variances or by_input not in variances:
        return None
    return (
        2 * variances["rater:system"],
        2 * variances[by_input],
        (1 if compares else 2) * model["residual"],
    )
