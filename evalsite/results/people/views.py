"""Staff pages: who took part, and what one of them answered."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.analysis.figure import write_coefficient
from evalsite.analysis.thresholds import BY_KEY, Thresholds
from evalsite.lib.clock import now
from evalsite.participants.models import Origin, Participant
from evalsite.participants.names import name_people
from evalsite.participants.visits import read_rounds
from evalsite.quality.frozen_plans import is_hidden
from evalsite.quality.notes import read_notes_of
from evalsite.quality.pay import describe_sets, is_paid, list_payable, with_answer_counts
from evalsite.quality.pay_views import LABELS, OFFERED
from evalsite.quality.scale_use import reserved_points
from evalsite.results.analysis_plan.wording import write_limit
from evalsite.results.overview.invited import list_invited
from evalsite.results.people.act_views import MOST_AT_ONCE
from evalsite.results.people.answers import (
    answers_of,
    count_comments,
    describe_answers,
    with_words,
)
from evalsite.results.people.flags import list_flags
from evalsite.results.people.indicators import draw_pace, find_others, list_indicators
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
from evalsite.results.people.scatter import draw_scatter
from evalsite.results.people.work import Work, describe_pay, describe_work, find_range, read_work
from evalsite.results.people.work_flags import (
    find_usual_agreement,
    find_usual_seconds,
    list_unjudged,
    write_seconds,
)
from evalsite.results.report.computation import newest_report
from evalsite.studies.bonus import promises_bonus
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, may_edit, may_see_identities, study_page
from evalsite.studies.summary_lines import count_of, format_money

PAGE = 200
ANSWERS = 50
# of one person's answers, so many in which something is written
MOST_WORDY = 200
PAST_OTHERS = 200


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


# --- one person -----------------------------------------------------------------------------------


# after the pages whose addresses look alike
@study_page(
    "people/<str:pseudonym>/", name="study-person", within="study-people", order=PAST_OTHERS
)
@require_safe
def show_person(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponseBase:
    """Show how one person did beside the others, all that they answered, and what they wrote."""
    # no database holds a NUL in a text, and some refuse to look for one
    people = with_answers(Participant.objects.filter(study=study))
    participant = get_object_or_404(people, pseudonym=pseudonym.replace("\0", " "))
    work, is_blind = read_work(study), is_hidden(study)
    [person] = describe_people(study, [participant], limits=work.limits)
    submitted = answers_of(participant)
    rows = Paginator(submitted, ANSWERS).get_page(request.GET.get("page"))
    shown, wordy = list(rows), list(with_words(study, submitted)[:MOST_WORDY])
    described = {
        given.annotation.pk: given
        for given in describe_answers(
            study, list({answer.pk: answer for answer in (*shown, *wordy)}.values()),
            is_blind=is_blind,
        )
    }  # fmt: skip
    others = find_others(study, shown, is_blind=is_blind)
    sees_identities = may_see_identities(request, study)
    report = newest_report(study)
    measures = work.people.get(participant.pk)
    sets = _list_pay(study, participant) if sees_identities else []
    context = {
        "person": person,
        "sets": sets,
        "pay_acts": [
            do for do in ("approve", "reject") if any(row["state"] in OFFERED[do] for row in sets)
        ],
        "came_from": _describe_origin(participant),
        "indicators": list_indicators(work, participant.pk),
        "flags": work.flags.get(participant.pk, []),
        "usual": {
            "seconds": _write(find_usual_seconds(work.people), write_seconds),
            "agreement": _write(find_usual_agreement(work.people), write_coefficient),
        },
        "figures": describe_work(work, [participant.pk]).get(participant.pk),
        "unjudged": []
        if measures is None
        else list_unjudged(
            measures,
            work.limits,
            has_order=any(not criterion.scale.compares for criterion in study.config.criteria),
        ),
        "pace": draw_pace(participant.pk, find_usual_seconds(work.people)),
        "notes": read_notes_of(study, name="participant", ids=[participant.pk])[participant.pk],
        "neighbours": _find_neighbours(work, participant.pk),
        "sees_receipts": sees_identities,
        "rows": rows,
        "answers": [described[answer.pk] for answer in shown],
        "table": [(described[answer.pk], *others.get(answer.pk, ("", False))) for answer in shown],
        "wrote": [described[answer.pk] for answer in wordy],
        "has_active": any(answer.active_ms is not None for answer in shown),
        "counted": participant.annotations.counted().count(),
        "report": report,
        "signs": list_flags(report, participant.pseudonym),
        "can_edit": may_edit(request, study),
        "is_owner": has_role(request, study, Membership.Role.OWNER),
    }
    return TemplateResponse(request, "results/person.html", context)


def _write(value: float | None, write: Callable[[float], str]) -> str:
    return "" if value is None else write(value)


def _find_neighbours(work: Work, participant: int) -> dict[str, Any]:
    """Return who comes before and after this person in the list, and their place among flagged."""
    listed, flagged = list_people(work), work.to_review
    place = listed.index(participant) if participant in listed else 0
    before, after = listed[:place][-1:], listed[place + 1 :][:1]
    return {
        "previous": [work.states[pk].pseudonym for pk in before],
        "next": [work.states[pk].pseudonym for pk in after],
        "number": flagged.index(participant) + 1 if participant in flagged else 0,
        "flagged": len(flagged),
    }


def _list_pay(study: Study, participant: Participant) -> list[dict[str, Any]]:
    """Return what is due for each set of this person, and what may be decided about it."""
    if not is_paid(study):
        return []
    sets = list_payable(study).filter(participant=participant).order_by("number")
    return [
        {
            "number": row.item_set.number,
            "approval": row.approval,
            "state": row.state,
            "label": LABELS[row.state],
            "amount": format_money(row.amount, study.currency),
            "attention": row.attention,
        }
        for row in describe_sets(study, with_answer_counts(sets))
    ]


def _describe_origin(participant: Participant) -> str:
    """Say how this person came: "A panel, round 1: 2 visits"."""
    if participant.origin != Origin.OWN or participant.is_expert:
        return "Invited by name" if participant.is_expert else participant.get_origin_display()
    visits = participant.visits.select_related("recruitment")
    rounds = Counter(visit.recruitment for visit in visits)
    return "; ".join(
        f"{round_.adapter.label}{f', round {round_.number}' if round_.number else ''}: "
        f"{count_of(number, 'visit')}"
        for round_, number in rounds.items()
    )
