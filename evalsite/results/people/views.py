"""Staff pages: who took part, and what one of them answered."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.accounts.time_zones import zone_of
from evalsite.analysis.thresholds import BY_KEY, Thresholds
from evalsite.participants.models import Participant
from evalsite.participants.visits import read_rounds
from evalsite.quality.frozen_plans import is_hidden
from evalsite.quality.notes import read_notes_of
from evalsite.quality.pay import PaySet, describe_sets, is_paid, list_payable, with_answer_counts
from evalsite.quality.pay_views import LABELS, OFFERED
from evalsite.quality.scale_use import reserved_points
from evalsite.results.analysis_plan.wording import write_limit
from evalsite.results.people.answers import answers_of, describe_answers
from evalsite.results.people.flags import describe_unseen, list_copies, list_raised
from evalsite.results.people.indicators import draw_pace, find_others, list_indicators
from evalsite.results.people.lookup import (
    MOST_AT_ONCE,
    SHOWN,
    Person,
    clean_search,
    count_people,
    describe_people,
    find_people,
    put_first,
    show_only,
    with_answers,
)
from evalsite.results.people.scatter import draw_scatter
from evalsite.results.people.work import (
    Work,
    describe_others,
    describe_pay,
    describe_work,
    read_work,
)
from evalsite.results.people.work_flags import find_usual_seconds, list_rules, list_unjudged
from evalsite.results.report.computation import newest_report
from evalsite.studies.bonus import promises_bonus
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role, may_edit, may_see_identities
from evalsite.studies.summary_lines import count_of, format_money

PAGE = 50


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
        known = set(named.values_list("pk", flat=True))
        listed = [pk for pk in listed if pk in known]
    rows = Paginator(sort_people(work, listed, sort), PAGE).get_page(request.GET.get("page"))
    ids = list(rows)
    by_id = with_answers(study.participants.filter(pk__in=ids)).in_bulk()
    people = describe_people(study, [by_id[pk] for pk in ids if pk in by_id], limits=work.limits)
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
            for code in read_rounds(study).shared_codes
            if search and search.casefold() in code.casefold()
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
    comments = count_comments(study, ids)
    progress = {
        row.pseudonym: row
        for row in list_invited(study, now(), sees_identities=False, is_owner=False, people=ids)
    }
    return {
        "invited": [
            (person, figures.get(pk), progress.get(person.participant.pseudonym), comments[pk])
            for pk, person in zip(ids, people, strict=True)
        ],
        "comments": comments.total(),
    }


def _describe_often(study: Study, limits: Thresholds) -> dict[str, str] | None:
    """Return which share of reserved points is often in this study; None where it has none."""
    if not reserved_points(study.config):
        return None
    return {
        "most": write_limit(BY_KEY["reserved"], limits.reserved),
        "fewest": write_limit(BY_KEY["reserved_ratings"], limits.reserved_ratings),
    }


@require_safe
def show_person(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponseBase:
    """One participant: how they did, and all that they answered, with its times."""
    # no database holds a NUL in a text, and some refuse to look for one
    people = with_answers(Participant.objects.filter(study=study))
    participant = get_object_or_404(people, pseudonym=pseudonym.replace("\0", " "))
    report = newest_report(study)
    [person] = describe_people(study, [participant], report)
    rows = Paginator(answers_of(participant), PAGE).get_page(request.GET.get("page"))
    page, is_blind = list(rows), is_hidden(study)
    answers = describe_answers(study, page, is_blind=is_blind)
    others = find_others(study, page, is_blind=is_blind)
    work = read_work(study)
    flagged = [work.people[pk].pseudonym for pk in work.to_review]
    sees_identities = may_see_identities(request, study)
    paid_sets = _list_pay(study, participant)
    return TemplateResponse(
        request,
        "results/person.html",
        {
            "person": person,
            "facts_of_person": _facts(
                study,
                person,
                paid_sets,
                sees_receipt=sees_identities,
                zone=zone_of(request.user),
            ),
            "indicators": list_indicators(work, participant.pk),
            "flags": work.flags.get(participant.pk, []),
            "unjudged": _list_unjudged(study, work, participant.pk),
            "pace": draw_pace(participant.pk, find_usual_seconds(work.people)),
            "notes": read_notes_of(study, name="participant", ids=[participant.pk])[participant.pk],
            "sets": [
                (one.item_set.number, LABELS[one.state], format_money(one.amount, study.currency))
                for one in paid_sets
            ]
            if sees_identities
            else [],
            "pay_acts": [
                key
                for key in ("approve", "reject")
                if any(one.state in OFFERED[key] for one in paid_sets)
            ],
            "place_among": _find_place(flagged, participant.pseudonym),
            "sees_receipts": sees_identities,
            "rows": rows,
            "answers": answers,
            "answers_and_others": [
                (one, *others.get(one.annotation.pk, ("", False))) for one in answers
            ],
            "has_active": any(given.active_seconds is not None for given in answers),
            "report": report,
            "can_exclude": may_edit(request, study),
            "is_owner": has_role(request, study, Membership.Role.OWNER),
        },
    )


def _list_unjudged(study: Study, work: Work, participant: int) -> list[str]:
    if participant not in work.people:
        return []
    has_order = any(not criterion.scale.compares for criterion in study.config.criteria)
    return list_unjudged(work.people[participant], work.limits, has_order=has_order)


def _find_place(flagged: list[str], pseudonym: str) -> dict[str, Any] | None:
    """Return where this person is among the flagged, and who comes next."""
    if pseudonym not in flagged:
        return None
    place = flagged.index(pseudonym)
    return {
        "number": place + 1,
        "of": len(flagged),
        "next": flagged[(place + 1) % len(flagged)] if len(flagged) > 1 else "",
    }


def _list_pay(study: Study, participant: Participant) -> list[PaySet]:
    """Return each set of this person that something is due for."""
    if not is_paid(study):
        return []
    sets = list_payable(study).filter(participant=participant).order_by("number")
    return describe_sets(study, with_answer_counts(sets))


def _facts(
    study: Study, person: Person, paid_sets: list[PaySet], *, sees_receipt: bool, zone: ZoneInfo
) -> list[tuple[str, Any]]:
    """Return the small facts on top; only those that mean something in this study."""
    facts: list[tuple[str, Any]] = [
        ("State", person.state),
        ("Answers", f"{person.answers:,}"),
        ("Finished sets", _name_sets(person, zone)),
    ]
    if paid_sets:
        due = format_money(sum((one.amount for one in paid_sets), Decimal(0)), study.currency)
        facts.append(("Pay", f"{due}, and the bonus" if person.has_bonus else due))
    if person.active_seconds is not None:
        facts.append(("Median active time", f"{person.active_seconds:.1f} s an item"))
    if person.checks is not None:
        facts.append(("Checks", f"{person.checks.met} of {person.checks.asked} right"))
    if person.reserved is not None:
        facts.append(("On reserved points", f"{person.reserved.percent}%"))
    facts.append(("Origin", person.participant.origin))
    # with it, anyone can ask for the person's answers to be deleted
    return [*facts, ("Receipt", person.participant.receipt)] if sees_receipt else facts


def _name_sets(person: Person, zone: ZoneInfo) -> str:
    """Return each finished set with the code that was shown for it."""
    named = [
        f"{item_set.number}: {code or 'no code'}, {at.astimezone(zone):%-d %b, %H:%M}"
        for item_set, code in person.finished
        if (at := item_set.finished_at)
    ]
    return "; ".join(named) or "none"


people_views = [
    StudyView(
        path="people/",
        name="study-people",
        view=show_people,
        place="People",
        tab="Quality",
        order=65,
    ),
    StudyView(
        path="people/<str:pseudonym>/", name="study-person", view=show_person, within="study-people"
    ),
]
