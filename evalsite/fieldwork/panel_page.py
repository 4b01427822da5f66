"""Staff page of a panel: numbered steps in the order in which the panel's own form asks."""

from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q, Sum
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from evalsite.fieldwork.invite_forms import LABELS, RoundForm, SwitchForm
from evalsite.fieldwork.invite_page import EDITOR, INVALID, panel_url, switch_round
from evalsite.fieldwork.pilot_results import (
    find_answers,
    list_pilots,
    measure_times,
    suggest_time_and_pay,
)
from evalsite.handout.rounds import list_taken
from evalsite.people.models import OutcomeCode, Recruitment, Visit
from evalsite.people.platforms import Outcome, installed_platforms
from evalsite.people.recruiting import (
    change_recruitment,
    create_recruitment,
    find_obstacles,
    list_possible,
    name_round,
)
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import may_see_identities, study_page, study_url
from evalsite.studies.summary_lines import (
    count_groups,
    count_of,
    count_sets,
    format_money,
    hourly_pay,
    minutes_per_set,
    most_in_a_set,
    name_unit,
)

# as many arrivals as the page lists
_LATEST = 20
BEGIN, ON, OFF = "begin", "on", "off"


@dataclass(frozen=True, kw_only=True)
class Point:
    """A line of what was checked here: fine, worth a look, or in the way."""

    title: str
    words: str
    state: str = "ok"  # or "look", "bad"
    url: str = ""
    button: str = ""


class Arrivals(NamedTuple):
    """How many visits came to one outcome, and what bonuses of theirs are still to be paid."""

    arrivals: int = 0
    bonuses: int = 0
    total: Decimal | None = None


@study_page("invite/<slug:platform>/", name="study-panel", role=EDITOR, within="Invite", order=101)
@require_http_methods(["GET", "HEAD", "POST"])
def show_panel(
    request: HttpRequest, study: Study, platform: str, time: int = 1
) -> HttpResponseBase:
    """Show what to paste where, how many people are wanted, and who has arrived."""
    panel = installed_platforms().get(platform)
    if panel is None or panel.is_open_link or panel.has_personal_links or not time:
        raise Http404("No such panel.")
    rounds = list(study.recruitments.filter(platform=platform).exclude(number=0))
    if time > len(rounds) + 1:
        raise Http404("No such panel.")
    recruitment = rounds[time - 1] if time <= len(rounds) else None
    back = redirect(panel_url(study, platform, time))
    begin = SwitchForm(request.POST if request.method == "POST" else None)
    if recruitment is None:
        if begin.is_bound and begin.is_valid():
            create_recruitment(study=study, platform=panel, time=time, by=request.user)
            return back
        context = {"panel": panel, "name": name_round(panel, time), "recruitment": None}
        return TemplateResponse(request, "fieldwork/panel.html", context)
    recruitment.study = study
    stored, possible = list(recruitment.codes.all()), list_possible(recruitment)
    items = study.items.main().count()
    if begin.is_bound and begin.is_valid() and begin.cleaned_data["do"] == BEGIN:
        return back
    # a copy: validation writes into it, and the page shows the panel as it is
    form = RoundForm(
        request.POST if request.method == "POST" else None,
        instance=copy(recruitment),
        stored=stored,
        possible=possible,
    )
    sets = count_sets(study, items, count_groups(study, study.items.main()))
    if form.instance.places is None:
        form.initial["places"] = sets or None
    if form.is_bound and form.is_valid() and _save(request, recruitment, form):
        return back
    context = _describe(request, recruitment, stored, form.possible, items) | {
        "form": form,
        "has_errors": form.is_bound and bool(form.errors),
        "name": name_round(panel, time, recruitment),
        "again": panel_url(study, platform, len(rounds) + 1),
        "time": time,
    }
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "fieldwork/panel.html", context, status=status)


@study_page(
    "invite/<slug:platform>/<int:time>/",
    name="study-panel-again",
    role=EDITOR,
    within="Invite",
    order=101,
)
@require_http_methods(["GET", "HEAD", "POST"])
def show_panel_again(
    request: HttpRequest, study: Study, platform: str, time: int
) -> HttpResponseBase:
    """Show the same panel, used a second time or more."""
    return show_panel(request, study, platform, time)


def _save(request: HttpRequest, recruitment: Recruitment, form: RoundForm) -> bool:
    action = form.cleaned_data["do"]
    try:
        with transaction.atomic():
            if action == OFF:
                switch_round(request, recruitment, is_on=False)
                return True
            change_recruitment(
                recruitment=recruitment,
                values=form.values(),
                links=form.links(),
                codes=form.find_codes(),
                by=request.user,
            )
            if action == ON:
                switch_round(request, recruitment, is_on=True)
    except ValidationError as error:
        form.add_error(None, error)
        recruitment.refresh_from_db()
        recruitment.study = Study.objects.get(pk=recruitment.study_id)
        return False
    if action != ON:
        messages.success(request, "Saved.")
    return True


def _describe(
    request: HttpRequest,
    recruitment: Recruitment,
    stored: list[OutcomeCode],
    possible: set[Outcome],
    items: int,
) -> dict[str, Any]:
    panel, study = recruitment.adapter, recruitment.study
    codes = {code.outcome: code for code in stored}
    counts = _count_outcomes(recruitment)
    bonuses = sum(row.bonuses for row in counts.values())
    bonus_total = sum((row.total or Decimal(0) for row in counts.values()), Decimal(0))
    pay = study.pay_per_set
    places = recruitment.places or count_sets(study, items, count_groups(study, study.items.main()))
    return {
        "panel": panel,
        "label": recruitment.name_for_people or panel.label,
        "offered": [
            other for other in installed_platforms().values() if other.offered_by == panel.key
        ],
        "steps": f"platforms/{panel.key}/steps.html",
        "rules": f"platforms/{panel.key}/rules.html",
        "recruitment": recruitment,
        "link": link_of(request, recruitment),
        # what the study can't come to has no row
        "codes": [
            {
                "outcome": outcome,
                "label": LABELS[outcome],
                "code": codes[outcome].code,
                "advice": leaves.advice,
            }
            for outcome, leaves in panel.exits.items()
            if outcome in codes and codes[outcome].code and outcome in possible
        ],
        "labels": LABELS,
        "places": places,
        "taken": list_taken(recruitment, study).count(),
        "arrived": sum(row.arrivals for row in counts.values()),
        "counts": [
            (LABELS[Outcome(outcome)] if outcome else "No outcome so far", row.arrivals)
            for outcome, row in counts.items()
        ],
        "minutes": minutes_per_set(study),
        "pay": "" if pay is None else format_money(pay, study.currency),
        "cost": "" if pay is None else format_money(pay * places, study.currency),
        "points": list_points(recruitment, stored, places, items),
        "more": _describe_more(recruitment, stored),
        "latest": Visit.objects.filter(recruitment=recruitment.pk)
        .select_related("participant")
        .order_by("-id")[:_LATEST],
        "sees_identities": may_see_identities(request, study),
        "bonuses": bonuses,
        "bonus_total": format_money(bonus_total, study.currency),
    }


def link_of(request: HttpRequest, recruitment: Recruitment) -> str:
    """Return what to paste on the panel."""
    path = reverse("recruitment-join", args=[recruitment.study_id, recruitment.number])
    query = recruitment.adapter.link_query(recruitment.platform_settings)
    # not encoded: the panel looks for its placeholders as they are
    return request.build_absolute_uri(path) + (f"?{query}" if query else "")


def _describe_more(recruitment: Recruitment, stored: list[OutcomeCode]) -> str:
    """Return the values of what is under More, in one line."""
    panel = recruitment.adapter
    in_sight = (Outcome.COMPLETED, Outcome.SCREENED_OUT)
    codes = [code for code in stored if code.code and code.outcome not in in_sight]
    words = []
    if any(leaves.takes_code for leaves in panel.exits.values()):
        words.append(f"Other codes: {len(codes) or 'none'}")
    words.append("no phones" if recruitment.refuses_phones else "phones allowed")
    if panel.person is not None and panel.needs_person:
        words.append(f"typed IDs: {'on' if recruitment.takes_typed_ids else 'off'}")
    each = (
        "further sets as a bonus"
        if recruitment.has_further_sets
        else (f"{count_of(recruitment.sets_per_person, 'set')} per person")
    )
    return " · ".join([*words, each])


# --- checked here ----------------------------------------------------------------------------


def list_points(
    recruitment: Recruitment, stored: list[OutcomeCode], places: int, items: int
) -> list[Point]:
    """Return what was checked of this panel, in the order of the page."""
    study = recruitment.study
    problems = {error.code: error.messages[0] for error in find_obstacles(recruitment, stored)}
    is_asked = study.is_eligibility_on and study.config.eligibility is not None
    points = [_check_pay(recruitment, problems), _check_places(study, places, items)]
    if (is_asked and recruitment.adapter.needs_screen_out_code) or "no_screen_out_code" in problems:
        words = problems.get("no_screen_out_code", "")
        points.append(
            Point(
                title="Screening",
                words=words or "A screen-out code exists.",
                state="bad" if words else "ok",
            )
        )
    points += [
        Point(title="Missing", words=problems[code], state="bad")
        for code in ("settings", "no_way_back")
        if code in problems
    ]
    if study.has_notice and not recruitment.is_on:
        points.append(
            Point(
                title="A consent page comes with it",
                words="People from a panel agree on a page. Turning this on replaces the short "
                "notice under What people read.",
                state="look",
            )
        )
    points.append(_check_minutes(study))
    return [point for point in points if point.words]


def _check_pay(recruitment: Recruitment, problems: dict[Any, str]) -> Point:
    study, panel = recruitment.study, recruitment.adapter
    hourly, url = hourly_pay(study), study_url("setup-work", study)
    for code in ("no_reward", "low_pay"):
        if code in problems:
            words = problems[code]
            return Point(title="Pay", words=words, state="bad", url=url, button="Work")
    if hourly is None:
        return Point(title="Pay", words="Nobody is paid by this study.")
    words = f"{format_money(hourly, study.currency)} an hour."
    advised = panel.advised_pay.get(study.currency)
    least = panel.least_pay.get(study.currency)
    rules = [
        *([f"advises {_shorten(advised, study)}"] if advised else []),
        *([f"requires {_shorten(least, study)}"] if least else []),
    ]
    if rules:
        words += f" {panel.label} {', and '.join(rules)}."
    is_low = bool(advised) and hourly < Decimal(str(advised))
    return Point(
        title="Pay", words=words, state="look" if is_low else "ok", url=url if is_low else "",
        button="Work" if is_low else "",
    )  # fmt: skip


def _shorten(amount: float, study: Study) -> str:
    return format_money(Decimal(str(amount)), study.currency).removesuffix(".00")


def _check_places(study: Study, places: int, items: int) -> Point:
    if not items:
        return Point(title="People", words="")
    groups = count_groups(study, study.items.main())
    answers, size = items * study.k, most_in_a_set(study, items, groups)
    sets = count_sets(study, items, groups)
    unit = name_unit(study)
    words = f"{places:,} × {count_of(size, unit)} are {places * size:,} answers"
    if places < sets:
        words += f"; you need {answers:,}. That takes {count_of(sets, 'person', 'people')}."
    elif places > sets:
        words += f", but the study has work for {sets:,}. People who come later find no place."
    else:
        words = f"{places:,} × {count_of(size, unit)} are the {answers:,} answers you need."
    return Point(title="People", words=words, state="ok" if places == sets else "look")


def _check_minutes(study: Study) -> Point:
    """Compare the minutes that people are told with what colleagues took."""
    announced, url = minutes_per_set(study), study_url("study-pilot", study)
    pilots = list_pilots(study)
    tried = None
    if pilots:
        tried = suggest_time_and_pay(study, measure_times(pilots, find_answers(pilots)))
    if tried is None:
        verb = "is" if announced == 1 else "are"
        words = f"Then {count_of(announced, 'minute')} {verb} only an estimate."
        has_button = study.version_id is None
        return Point(
            title="Nobody has tried the work yet", words=words, state="look",
            url=url if has_button else "", button="Try it" if has_button else "",
        )  # fmt: skip
    words = f"You announce {count_of(announced, 'minute')}. Your trial took {tried.minutes}."
    return Point(title="Minutes", words=words, state="look" if tried.minutes > announced else "ok")


def _count_outcomes(recruitment: Recruitment) -> dict[str, Arrivals]:
    """Return who has arrived, by the outcome of their visit; "": it has none so far."""
    is_due = Q(bonus__isnull=False, bonus_marked_at__isnull=True)
    counted = (
        Visit.objects.filter(recruitment=recruitment.pk)
        .order_by()
        .values_list("outcome")
        .annotate(
            arrivals=Count("pk"),
            bonuses=Count("pk", filter=is_due),
            total=Sum("bonus", filter=is_due),
        )
    )
    return {outcome: Arrivals(*row) for outcome, *row in counted}
