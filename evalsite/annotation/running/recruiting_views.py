"""Staff pages: the rounds of a study, what to paste where, and who has come by each of them."""

import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, Q, Sum
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.annotation.allocation.rounds import keep_taken, list_taken
from evalsite.annotation.running.invited_people import count_out_of_reach
from evalsite.annotation.running.round_warnings import list_warnings
from evalsite.lib.csv_download import send_csv
from evalsite.lib.csv_writer import write_guarded
from evalsite.participants.models import Expert, OutcomeCode, PersonalLink, Recruitment, Visit
from evalsite.participants.recruiting import (
    MOST_LINKS,
    change_recruitment,
    create_code,
    create_personal_links,
    create_recruitment,
    find_obstacles,
    promised_hourly_pay,
    promised_minutes,
    record_look_at_links,
    remove_code,
    renew_personal_link,
    store_open_link,
    turn_off,
    turn_on,
)
from evalsite.participants.recruitment_forms import LABELS, RecruitmentForm
from evalsite.platforms import Exit, Outcome, installed_platforms
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, may_see_identities
from evalsite.studies.summary_lines import count_of, format_money

INVALID = 422
# as many arrivals as a round's page lists
_LATEST = 20


@dataclass(frozen=True)
class Round:
    """A round as the list of rounds shows it."""

    recruitment: Recruitment
    link: str
    taken: int


@dataclass(frozen=True)
class OutcomeRow:
    """An outcome of a round: what people hand back, and how many came to it."""

    outcome: Outcome
    label: str
    leaves: Exit
    stored: OutcomeCode | None
    arrivals: int


class Arrivals(NamedTuple):
    """How many visits came to one outcome, and what bonuses of theirs are still to be paid."""

    arrivals: int = 0
    bonuses: int = 0
    total: Decimal | None = None


NO_ARRIVALS = Arrivals()


def link_of(request: HttpRequest, recruitment: Recruitment) -> str:
    """Return what to paste on the platform; "" if people have links of their own."""
    if recruitment.adapter.has_personal_links:
        return ""
    if not recruitment.number:
        return request.build_absolute_uri(reverse("study-join", args=[recruitment.study_id]))
    path = reverse("recruitment-join", args=[recruitment.study_id, recruitment.number])
    query = recruitment.adapter.link_query(recruitment.platform_settings)
    # not encoded: the platform looks for its placeholders as they are
    return request.build_absolute_uri(path) + (f"?{query}" if query else "")


@require_safe
def show_recruitments(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The study's own link, its rounds, and the platforms to begin another round on."""
    found = [Recruitment.objects.open_link(study), *study.recruitments.exclude(number=0)]
    for recruitment in found:
        recruitment.study = study
    visits = keep_taken(Visit.objects.filter(recruitment__study=study), study)
    taken = dict(visits.order_by().values_list("recruitment").annotate(n=Count("pk")))
    return TemplateResponse(
        request,
        "studies/recruitments.html",
        {
            "rounds": [Round(one, link_of(request, one), taken.get(one.pk, 0)) for one in found],
            "platforms": [one for one in installed_platforms().values() if not one.is_open_link],
            "next_number": max(one.number for one in found) + 1,
        },
    )


@require_POST
def create(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Begin a round; the same form sent twice begins one."""
    platform = installed_platforms().get(request.POST.get("platform", ""))
    if platform is None or platform.is_open_link:
        messages.error(request, "Choose a platform.")
        return redirect("admin:study-recruitments", study.pk)
    recruitment = create_recruitment(
        study=study, platform=platform, number=request.POST.get("number", ""), by=request.user
    )
    return redirect("admin:study-recruitment", study.pk, recruitment.number)


def _find(study: Study, number: int) -> Recruitment:
    if number == 0:
        recruitment = Recruitment.objects.open_link(study)
    else:
        recruitment = get_object_or_404(study.recruitments, number=number)
    recruitment.study = study
    return recruitment


@require_http_methods(["GET", "HEAD", "POST"])
def show_recruitment(request: HttpRequest, study: Study, number: int) -> HttpResponseBase:
    """One round: what to paste where, its outcomes, places and pay, and who has arrived."""
    recruitment = _find(study, number)
    stored = [] if recruitment._state.adding else list(recruitment.codes.all())
    # a copy: validation writes into it, and the page shows the round as it is
    form = RecruitmentForm(
        request.POST if request.method == "POST" else None,
        instance=copy(recruitment),
        stored=stored,
    )
    if form.is_bound and form.is_valid() and _save(request, study, number, form):
        return redirect("admin:study-recruitment", study.pk, number)
    context = _describe(request, recruitment, stored) | {"form": form}
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "studies/recruitment.html", context, status=status)


def _save(request: HttpRequest, study: Study, number: int, form: RecruitmentForm) -> bool:
    recruitment = _find(study, number) if number else store_open_link(study)
    recruitment.study = study
    try:
        change_recruitment(
            recruitment=recruitment,
            values=form.values(),
            links=form.links(),
            own_code=form.cleaned_data.get("own_code"),
            by=request.user,
        )
    except ValidationError as error:
        form.add_error(None, error)
        return False
    messages.success(request, "Saved.")
    return True


def _describe(
    request: HttpRequest, recruitment: Recruitment, stored: list[OutcomeCode]
) -> dict[str, Any]:
    platform, study = recruitment.adapter, recruitment.study
    counts = _count_outcomes(recruitment)
    codes = {one.outcome: one for one in stored}
    hourly, currency = promised_hourly_pay(recruitment), study.currency
    advised = platform.advised_pay.get(currency)
    obstacles = [one.message for one in find_obstacles(recruitment, stored)]
    bonuses = sum(row.bonuses for row in counts.values())
    bonus_total = sum((row.total or Decimal(0) for row in counts.values()), Decimal(0))
    return {
        "recruitment": recruitment,
        "platform": platform,
        "link": link_of(request, recruitment),
        "taken": 0 if recruitment.pk is None else list_taken(recruitment, study).count(),
        "arrived": sum(row.arrivals for row in counts.values()),
        "at_work": counts.get("", NO_ARRIVALS).arrivals,
        "outcomes": [
            OutcomeRow(
                outcome,
                LABELS[outcome],
                leaves,
                codes.get(outcome),
                counts.get(outcome, NO_ARRIVALS).arrivals,
            )
            for outcome, leaves in platform.exits.items()
        ],
        "obstacles": obstacles,
        "warnings": list_warnings(recruitment) if platform.hands_back else [],
        "out_of_reach": count_out_of_reach(study) if platform.has_personal_links else 0,
        "sets_limit": _describe_limit(recruitment),
        "hourly": format_money(hourly, currency) if hourly is not None else "",
        "advised": format_money(Decimal(advised), currency) if advised else "",
        "minutes": promised_minutes(recruitment),
        "latest": Visit.objects.filter(recruitment=recruitment.pk)
        .select_related("participant")
        .order_by("-id")[:_LATEST],
        "sees_identities": may_see_identities(request, study),
        "bonuses": bonuses,
        "bonus_total": format_money(bonus_total, currency),
        "experts": platform.has_personal_links
        and Expert.objects.filter(link__recruitment=recruitment.pk).exists(),
        "personal_links": [(link, "") for link in _list_links(recruitment)],
        "most_links": MOST_LINKS,
        "setup": f"platforms/{platform.key}/setup.html",
        "rules": f"platforms/{platform.key}/rules.html",
    }


def _describe_limit(recruitment: Recruitment) -> str:
    """Return how many sets each person of a round with personal links may do."""
    most = recruitment.study.max_sets if recruitment.has_further_sets else 1
    return "" if most is None else count_of(most, "set")


def _list_links(recruitment: Recruitment) -> list[PersonalLink]:
    if not recruitment.adapter.has_personal_links:
        return []
    return list(recruitment.personal_links.select_related("participant"))


def address_of(request: HttpRequest, link: PersonalLink) -> str:
    """Return the address to send; "" if it can't be derived again."""
    token = link.token
    path = reverse("participant-home", args=[token]) if token else ""
    return request.build_absolute_uri(path) if path else ""


def insist_on_links(request: HttpRequest, study: Study) -> None:
    """Raise PermissionDenied unless this person may see links, by which anybody acts as another."""
    if not may_see_identities(request, study):
        raise PermissionDenied


@require_POST
def show_links(request: HttpRequest, study: Study, number: int) -> HttpResponseBase:
    """The round's page with its personal links. By POST, since the log keeps who saw them."""
    insist_on_links(request, study)
    recruitment = _find(study, number)
    stored = [] if recruitment._state.adding else list(recruitment.codes.all())
    links = _list_links(recruitment)
    record_look_at_links(study=study, links=len(links), by=request.user, round=number)
    context = _describe(request, recruitment, stored) | {
        "form": RecruitmentForm(instance=copy(recruitment), stored=stored),
        "personal_links": [(link, address_of(request, link)) for link in links],
        "shows_links": True,
    }
    response = TemplateResponse(request, "studies/recruitment.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
def download_links(request: HttpRequest, study: Study, number: int) -> HttpResponseBase:
    """The personal links as a file: number, link, and the person who uses it."""
    insist_on_links(request, study)
    links = _list_links(_find(study, number))
    record_look_at_links(
        study=study, links=len(links), by=request.user, round=number, file="personal_links.csv"
    )
    rows = [
        (
            str(link.number),
            address_of(request, link),
            link.participant.pseudonym if link.participant else "",
        )
        for link in links
    ]
    text = write_guarded([("number", "link", "participant"), *rows], line_end="\n")
    return send_csv(text, "personal_links.csv", is_personal=True)


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
    return {outcome: Arrivals(*found) for outcome, *found in counted}


def _steer(
    act: Callable[[Recruitment, HttpRequest], None],
) -> Callable[..., HttpResponseBase]:
    """A view that does one thing with a round and shows its page again."""

    @require_POST
    def view(request: HttpRequest, study: Study, number: int) -> HttpResponseBase:
        recruitment = _find(study, number) if number else store_open_link(study)
        recruitment.study = study
        try:
            act(recruitment, request)
        except ValidationError as error:
            for problem in error.messages:
                messages.error(request, problem)
        return redirect("admin:study-recruitment", study.pk, number)

    return view


def _switch(recruitment: Recruitment, request: HttpRequest) -> None:
    if request.POST.get("do") == "on":
        had_notice, checks = recruitment.study.has_notice, recruitment.study.checks_per_person
        turn_on(recruitment=recruitment, by=request.user)
        if had_notice and not recruitment.study.has_notice:
            messages.info(
                request,
                "People who come by this link agree on a consent page, so the study has one now "
                "instead of the short notice. What people read asks how long you keep the answers.",
            )
        if recruitment.study.checks_per_person != checks:
            each = count_of(recruitment.study.checks_per_person, "check")
            messages.info(request, f"Each person now gets {each}. Change the number under Quality.")
    else:
        turn_off(recruitment=recruitment, by=request.user)


def _change_code(recruitment: Recruitment, request: HttpRequest) -> None:
    name = request.POST.get("outcome", "")
    takes_code = {one.value for one, way in recruitment.adapter.exits.items() if way.takes_code}
    if name not in takes_code:
        raise ValidationError("Choose an outcome that takes a code.", code="outcome")
    outcome = Outcome(name)
    if request.POST.get("do") == "remove":
        remove_code(recruitment=recruitment, outcome=outcome)
    else:
        create_code(recruitment=recruitment, outcome=outcome)


def _create_links(recruitment: Recruitment, request: HttpRequest) -> None:
    total = request.POST.get("total", "")
    is_whole = total.isascii() and total.isdigit() and len(total) < 5
    if not is_whole or not 1 <= int(total) <= MOST_LINKS:
        raise ValidationError(f"Enter a whole number from 1 to {MOST_LINKS}.", code="total")
    if not recruitment.adapter.has_personal_links:
        raise ValidationError("This round has one link for everyone.", code="shared_link")
    created = create_personal_links(recruitment=recruitment, total=int(total), by=request.user)
    messages.success(request, f"{count_of(created, 'new link')} created.")


def _renew_link(recruitment: Recruitment, request: HttpRequest) -> None:
    # the person who ends a link has to hand over the new one
    insist_on_links(request, recruitment.study)
    named = re.fullmatch("([0-9]{1,4})-([0-9]{1,9})", request.POST.get("link", ""), re.ASCII)
    link = recruitment.personal_links.filter(number=int(named[1])).first() if named else None
    if named is None or link is None:
        raise ValidationError("Reload the page, then try again.", code="link")
    renew_personal_link(link=link, generation=int(named[2]), by=request.user)
    messages.success(request, "There is a new link. The old one no longer works.")


_EDITOR = Membership.Role.EDITOR

recruiting_views = [
    StudyView(
        path="invite/",
        name="study-recruitments",
        view=show_recruitments,
        role=_EDITOR,
        place="People",
        tab="Invite",
        order=66,
    ),
    StudyView(path="invite/new/", name="recruitment-new", view=create, role=_EDITOR),
    StudyView(
        path="invite/<int:number>/",
        name="study-recruitment",
        view=show_recruitment,
        role=_EDITOR,
        within="Invite",
    ),
    StudyView(
        path="invite/<int:number>/switch/",
        name="recruitment-switch",
        view=_steer(_switch),
        role=_EDITOR,
    ),
    StudyView(
        path="invite/<int:number>/code/",
        name="recruitment-code",
        view=_steer(_change_code),
        role=_EDITOR,
    ),
    StudyView(
        path="invite/<int:number>/links/create/",
        name="personal-links-create",
        view=_steer(_create_links),
        role=_EDITOR,
    ),
    StudyView(
        path="invite/<int:number>/links/renew/",
        name="personal-link-renew",
        view=_steer(_renew_link),
        role=_EDITOR,
    ),
    StudyView(
        path="invite/<int:number>/links/",
        name="personal-links-show",
        view=show_links,
        role=_EDITOR,
        within="Invite",
        is_reading=True,
    ),
    StudyView(
        path="invite/<int:number>/links.csv",
        name="personal-links",
        view=download_links,
        role=_EDITOR,
        is_reading=True,
    ),
]
