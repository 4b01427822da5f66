"""The page of a study's people: who took part, how they work, flagged people first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.analysis.figure import write_coefficient
from evalsite.analysis.thresholds import BY_KEY, Thresholds
from evalsite.decisions.pay import is_paid
from evalsite.decisions.person_measures import Measures
from evalsite.decisions.scale_use import reserved_points
from evalsite.lib.clock import now
from evalsite.people.names import name_people
from evalsite.people.visits import read_rounds
from evalsite.results.analysis_plan.wording import write_limit
from evalsite.results.comments.written import count_by_person
from evalsite.results.overview.invited import list_invited
from evalsite.results.people.act_views import MOST_AT_ONCE
from evalsite.results.people.lookup import (
    SHOWN,
    SORTS,
    Person,
    clean_search,
    count_people,
    describe_people,
    find_people,
    list_people,
    sort_people,
    with_answers,
)
from evalsite.results.people.work import describe_pay, describe_work, find_range, read_work
from evalsite.studies.bonus import promises_bonus
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import may_edit, may_see_identities, study_page

PAGE = 200
# with more people, those who aren't flagged are shown as the area that holds them
MOST_POINTS = 300
_STEPS = (5, 10, 20, 50, 100, 200, 500, 1000)


@study_page("people/", name="study-people", place="People", tab="Quality", order=65)
@require_safe
def show_people(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show who took part and how they work, flagged people first."""
    search, sort = clean_search(request.GET.get("q", "")), request.GET.get("sort", "")
    sees_receipts, names = may_see_identities(request, study), name_people(request, study)
    work = read_work(study)
    shown = request.GET.get("show", "")
    shown = shown if shown in SHOWN and not search else ""
    listed = list_people(work, shown)
    if search:
        named = find_people(study, search, names=names, by_receipt=sees_receipts)
        matching = set(named.values_list("pk", flat=True))
        listed = [pk for pk in listed if pk in matching]
    rows = Paginator(sort_people(work, listed, sort), PAGE).get_page(request.GET.get("page"))
    ids = list(rows)
    by_id = with_answers(study.participants.filter(pk__in=ids)).in_bulk()
    known = [by_id[pk] for pk in ids if pk in by_id]
    people = describe_people(study, known, limits=work.limits, with_codes=bool(search))
    figures = describe_work(work, ids)
    pays = sees_receipts and is_paid(study)
    pay = describe_pay(study, ids) if pays and not work.is_invited else {}
    context = {
        "people_names": names,
        "search": search,
        "shown": shown,
        "shown_label": SHOWN[shown],
        "sorts": _describe_sorts(sort),
        "sorted": sort.removeprefix("-") in SORTS,
        "most_at_once": MOST_AT_ONCE,
        "counts": count_people(work),
        "started": work.started,
        "rows": rows,
        "people": people,
        "table": [
            (person, figures.get(person.participant.pk), pay.get(person.participant.pk, ""))
            for person in people
        ],
        "has_attention": any(row["attention"] for row in figures.values()),
        "has_gold": any(row["gold"] for row in figures.values()),
        "has_agreement": any(row["agreement"] for row in figures.values()),
        "pays": pays,
        "measured_at": work.figures.measured_at if work.figures else None,
        "range": find_range(work),
        "first": work.people[work.to_review[0]].pseudonym if work.to_review else "",
        "flagged": len(work.to_review),
        "shared_codes": sorted(
            code
            for code in (read_rounds(study).shared_codes if search else ())
            if search.casefold() in code.casefold()
        ),
        "bonus": promises_bonus(study),
        "often": _describe_often(study, work.limits),
        "scatter": draw_scatter(
            work.people.values(),
            flagged=work.name(work.to_review),
            excluded=work.name(work.excluded),
        ),
        "sees_receipts": sees_receipts,
        "can_edit": may_edit(request, study),
    }
    if work.is_invited:
        context |= _describe_invited(study, people, figures)
    return TemplateResponse(request, "results/people.html", context)


def _describe_sorts(sort: str) -> dict[str, dict[str, str]]:
    """Return for each column by which the list can be sorted what its heading says and leads to."""
    sorts = {}
    for key in SORTS:
        aria = {key: "ascending", f"-{key}": "descending"}.get(sort, "")
        sorts[key] = {"aria": aria, "leads_to": key if aria == "descending" else f"-{key}"}
    return sorts


def _describe_invited(
    study: Study, people: Sequence[Person], figures: Mapping[int, dict[str, Any]]
) -> dict[str, Any]:
    """Return how far people are who were invited by name, and how many comments they wrote."""
    ids = [person.participant.pk for person in people]
    comments = count_by_person(study, is_everyone=True)
    progress = {
        row.pseudonym: row
        for row in list_invited(study, now(), sees_identities=False, is_owner=False, people=ids)
    }
    rows = []
    for person in people:
        pseudonym = person.participant.pseudonym
        work = figures.get(person.participant.pk)
        rows.append((person, work, progress.get(pseudonym), comments.get(pseudonym, 0)))
    return {"invited": rows, "comments": sum(comments.values())}


def _describe_often(study: Study, limits: Thresholds) -> dict[str, str] | None:
    """Return which share of reserved points is often in this study; None where it has none."""
    if not reserved_points(study.config):
        return None
    return {
        "most": write_limit(BY_KEY["reserved"], limits.reserved),
        "fewest": write_limit(BY_KEY["reserved_ratings"], limits.reserved_ratings),
    }


# --- pace and agreement of everyone, as one chart -----------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Point:
    """One person: where they are in the chart, in percent, and whether to look at them."""

    pseudonym: str
    seconds: str
    agreement: str
    x: str
    y: str
    kind: str  # flagged, excluded, or ""
    is_right: bool  # its name stands before it


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """The points, the lines of the axes with their labels, and the area of the others."""

    points: list[Point]
    across: list[tuple[str, str]]
    up: list[tuple[str, str]]
    area: tuple[str, str, str, str] | None
    unmarked: int


def draw_scatter(
    people: Collection[Measures], *, flagged: Collection[str], excluded: Collection[str]
) -> Scatter | None:
    """Draw everyone whose pace and agreement are known; None of fewer than two."""
    places = {
        person.pseudonym: (person.seconds, person.agreement)
        for person in people
        if person.seconds is not None and person.agreement is not None
    }
    if len(places) < 2:
        return None
    slowest = max(x for x, _ in places.values())
    step = next((step for step in _STEPS if slowest <= 6 * step), 2000)
    most = step * ceil(slowest / step)
    least = -1.0 if min(y for _, y in places.values()) < -0.2 else -0.2

    def place(x: float, y: float) -> tuple[str, str]:
        # room for the labels at the left and below
        return f"{5 + 93 * x / most:.1f}", f"{4 + 84 * (1 - (y - least) / (1 - least)):.1f}"

    unmarked = {
        name: at for name, at in places.items() if name not in flagged and name not in excluded
    }
    marked = {name: at for name, at in places.items() if name not in unmarked}
    shown = places if len(places) <= MOST_POINTS else marked
    points = [
        Point(
            pseudonym=name,
            seconds=f"{x:.0f}",
            agreement=write_coefficient(y),
            x=place(x, y)[0],
            y=place(x, y)[1],
            kind="excluded" if name in excluded else "flagged" if name in flagged else "",
            is_right=x > most * 0.75,
        )
        for name, (x, y) in shown.items()
    ]
    ticks = [-1.0, -0.5, 0.0, 0.5, 1.0] if least == -1 else [0.0, 0.25, 0.5, 0.75, 1.0]
    return Scatter(
        # the flagged last, so that nothing hides them
        points=sorted(points, key=lambda point: (point.kind == "flagged", point.pseudonym)),
        across=[(place(x, 0)[0], f"{x} s") for x in range(0, most + 1, step)],
        up=[(place(0, y)[1], write_coefficient(y)) for y in ticks],
        area=_find_area(list(unmarked.values()), place) if len(unmarked) > 1 else None,
        unmarked=len(unmarked),
    )


def _find_area(points: list[tuple[float, float]], place: Any) -> tuple[str, str, str, str]:
    """Return the left, the top, the width and the height of what holds the others."""
    left, top = place(min(x for x, _ in points), max(y for _, y in points))
    right, bottom = place(max(x for x, _ in points), min(y for _, y in points))
    return left, top, f"{float(right) - float(left):.1f}", f"{float(bottom) - float(top):.1f}"
