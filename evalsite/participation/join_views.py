"""The first page of a study: what it asks, whether a place is free, and Start."""

from math import ceil
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from evalsite.core.rate_limits import client_address
from evalsite.handout.claims import (
    Shortage,
    filter_free,
    find_shortage,
    has_free_place,
)
from evalsite.handout.models import Slot
from evalsite.handout.network_places import NetworkIsFull, check_network
from evalsite.handout.rounds import has_place_left
from evalsite.instruments.fields import SentField, SentForm
from evalsite.participation.consent import answer_consent
from evalsite.participation.entry_views import (
    NOTHING_LEFT,
    describe_consent,
    describe_waiting,
)
from evalsite.participation.forms import ConsentForm
from evalsite.participation.views import home
from evalsite.people.access import language_of, private, unknown_link
from evalsite.people.joins import (
    TypedIdIsKnown,
    find_limited_network,
    find_namespace,
    find_person,
    find_personal_link,
    join_study,
    use_personal_link,
)
from evalsite.people.models import (
    Expert,
    Origin,
    Participant,
    PersonalLink,
    Recruitment,
)
from evalsite.people.networks import LimitReached
from evalsite.people.platforms import Outcome, Platform
from evalsite.people.platforms.arrival import (
    Arrival,
    BadArrival,
    Problem,
    find_named_platform,
    open_arrival,
    read_arrival,
    read_typed,
    sign_arrival,
)
from evalsite.people.random_codes import hash_token
from evalsite.people.views import (
    describe_opening,
    opens_later,
    shut_sentence,
    study_facts,
)
from evalsite.people.visits import end_visit, find_visit
from evalsite.studies.bonus import cap_in_words
from evalsite.studies.models import Item, Study
from evalsite.studies.qualification import TRIES, plan_qualification
from evalsite.studies.set_size import items_per_set
from evalsite.studies.summary_lines import format_money
from evalsite.studies.versions import get_content_warning, has_notice, shown_content


class JoinForm(SentForm):
    """How somebody arrived, signed, or the id that they typed; and that they are on a phone."""

    arrival = SentField()
    typed = SentField()
    do = SentField()


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, study_id: UUID, number: int) -> HttpResponse:
    """Answer the link of a round, or the study's own. Only pressing Start makes a participant."""
    study = Study.objects.select_related("version").filter(pk=study_id).first()
    if study is None:
        return unknown_link(request)
    with language_of(study):
        if number:
            recruitment = study.recruitments.filter(number=number).first()
            if recruitment is None or not recruitment.has_link:
                return unknown_link(request)
            recruitment.study = study
            return _answer(request, recruitment)
        is_sealed = JoinForm(request.POST).read("arrival") is not None
        named = None if is_sealed else find_named_platform(request.GET)
        if named is None:
            return _answer(request, Recruitment.objects.open_link(study))
        return _answer_named(request, study, named)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def open_personal_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show the first page until Start is pressed, then the page where the person is."""
    link = find_personal_link(token)
    if link is None or (request.method != "POST" and link.is_used):
        return home(request, token)
    with language_of(link.recruitment.study):
        return private(_answer_invited(request, link, token))


def _answer_invited(request: HttpRequest, link: PersonalLink, token: str) -> HttpResponse:
    recruitment, study = link.recruitment, link.recruitment.study
    is_used = link.participant_id is not None and link.is_used
    is_new_expert = link.participant_id is not None and not is_used
    # all their items were reassigned
    if study.is_open and is_new_expert and not _count_assigned(link):
        return render(request, "people/closed.html", _shut_context(study) | NOTHING_LEFT)
    is_known = link.participant_id is not None and (study.is_open or is_used)
    may_start = is_known or (study.is_open and _has_free_place(recruitment))
    is_starting = request.method == "POST" and may_start
    # people who have started agree, if need be, on a page of their own
    is_agreeing = has_notice(study) and not is_used
    form = ConsentForm(request.POST if request.method == "POST" else None, study=study)
    error = form.fault if is_starting and is_agreeing else ""
    if is_starting and not error:
        participant = use_personal_link(link)
        if is_agreeing:
            participant.study = study
            answer_consent(
                participant=participant, is_given=True, may_share=form.cleaned_data["share"]
            )
        return redirect("participant-home", token)
    if _is_shut(study):
        return render(request, "people/closed.html", _shut_context(study))
    own_address = reverse("participant-home", args=[token])
    context = _landing_context(recruitment, Arrival()) | {
        "join_url": own_address,
        "check_url": own_address,
        "is_personal": True,
    }
    if link.participant_id is not None:
        context |= _describe_assigned(link)
    if is_agreeing:
        context |= describe_consent(form) | {"has_notice": True, "error": error}
    status = 422 if error else 200
    return render(request, "people/landing.html", context, status=status)


def _count_assigned(link: PersonalLink) -> int:
    return Slot.objects.assigned().filter(participant=link.participant_id).count()


def _describe_assigned(link: PersonalLink) -> dict[str, Any]:
    """Return what the first page says to an expert: what they were given, and by when."""
    study, expert = link.recruitment.study, Expert.objects.get(link=link)
    facts = [(study.config.item.names, str(_count_assigned(link)), "")]
    if expert.due_on is not None:
        facts.append((_("Please finish by"), date_format(expert.due_on, "j F Y"), ""))
    pay = study.pay_per_set
    if pay is not None:
        a_set = _("for a set of %(count)s") % {"count": items_per_set(study)}
        facts.append((_("Pay"), format_money(pay, study.currency), a_set))
    return {"is_free": True, "shortage": "", "is_assigned": True, "facts": facts, "cap": ""}


def _answer_named(request: HttpRequest, study: Study, platform: Platform) -> HttpResponse:
    """Answer at the study's own link to an id of a platform that has a round of its own."""
    rounds = list(study.recruitments.filter(platform=platform.key)[:2])
    if len(rounds) == 1:
        rounds[0].study = study
        return _answer(request, rounds[0])
    return private(_refuse_arrival(request, study, Problem.MISSING, platform.label))


def _answer(request: HttpRequest, recruitment: Recruitment) -> HttpResponse:
    study = recruitment.study
    try:
        arrival = _find_arrival(request, recruitment)
    except BadArrival as error:
        return private(_refuse(request, recruitment, error.problem))
    if arrival.is_typed and _is_known_elsewhere(study, arrival):
        return private(_refuse(request, recruitment, Problem.KNOWN))
    is_shut = _is_shut(study) or study.joins_paused_at is not None
    if is_shut and not _is_coming_back(request, study, arrival):
        context = _shut_context(study)
        if arrival.person_id:
            # people with an id can ask for their own page
            context |= {
                "arrival": _sign(recruitment, arrival),
                "join_url": _address_of(recruitment),
            }
        return private(render(request, "people/closed.html", context))
    is_typed = JoinForm(request.POST).read("typed") is not None
    is_start = request.method == "POST" and not arrival.is_preview and not is_typed
    if is_start and (_has_free_place(recruitment) or _is_coming_back(request, study, arrival)):
        return private(_start(request, recruitment, arrival))
    # nobody agrees to anything for a place that they don't get
    context = _landing_context(recruitment, arrival)
    if study.is_demo and context["shortage"] == Shortage.COMPLETE and not context["platform"]:
        context |= _describe_full_demo(study)
        return private(render(request, "people/demo_full.html", context))
    return private(render(request, "people/landing.html", context))


def _describe_full_demo(study: Study) -> dict[str, Any]:
    """Return what a demonstration with all its answers says, and where to go instead."""
    answers = Slot.objects.filter(study=study, state=Slot.State.DONE)
    simulated = answers.filter(participant__origin=Origin.SIMULATED).count()
    live = Study.objects.filter(is_demo=True, state=Study.State.LIVE, joins_paused_at=None)
    demos = filter_free(live.exclude(pk=study.pk)).order_by("created_at", "pk")
    return {
        "items": Item.objects.main().filter(study=study).count(),
        "is_mostly_simulated": 2 * simulated > answers.count(),
        "demos": [
            (shown_content(demo)["texts"]["title"], reverse("study-join", args=[demo.pk]))
            for demo in demos.select_related("version")
            if demo.is_open
        ],
    }


def _has_free_place(recruitment: Recruitment) -> bool:
    """Return whether a newcomer by this link would be dealt something now."""
    study = recruitment.study
    has_room = recruitment.is_on and has_place_left(recruitment, study)
    return study.is_open and has_room and has_free_place(study)


def _is_coming_back(request: HttpRequest, study: Study, arrival: Arrival) -> bool:
    """Return whether a person who took part asks for their own page, such as the one with a code.

    Only a POST is looked up: a link alone never reveals whether an id took part.
    """
    if request.method != "POST" or not arrival.person_id or arrival.is_typed:
        return False
    return find_person(study, arrival) is not None


def _address_of(recruitment: Recruitment) -> str:
    if not recruitment.number:
        return reverse("study-join", args=[recruitment.study_id])
    return reverse("recruitment-join", args=[recruitment.study_id, recruitment.number])


def _sign(recruitment: Recruitment, arrival: Arrival) -> str:
    return sign_arrival(arrival, recruitment.study_id, recruitment.number)


def _is_known_elsewhere(study: Study, arrival: Arrival) -> bool:
    """Return whether somebody started with this typed id, by another link than its own."""
    known = find_person(study, arrival)
    token_hash = hash_token(arrival.token)
    return known is not None and not known.links.filter(token_hash=token_hash).exists()


def _find_arrival(request: HttpRequest, recruitment: Recruitment) -> Arrival:
    """Return the arrival of the hidden field, or of the link if there is none."""
    form = JoinForm(request.POST)
    sealed, typed = form.read("arrival"), form.read("typed")
    if sealed is not None:
        return open_arrival(sealed, recruitment.study_id, recruitment.number)
    if recruitment.takes_typed_ids and typed is not None:
        return read_typed(
            typed,
            recruitment.adapter,
            recruitment.platform_settings,
            find_namespace(recruitment),
        )
    return read_arrival(
        request.GET, recruitment.adapter, recruitment.platform_settings, find_namespace(recruitment)
    )


def _refuse(request: HttpRequest, recruitment: Recruitment, problem: Problem) -> HttpResponse:
    """Say what is wrong with an arrival by a round, and let people type their id if they may."""
    typed = JoinForm(request.POST).read("typed")
    may_type = recruitment.takes_typed_ids and (problem == Problem.MISSING or typed is not None)
    more = {
        "may_type": may_type and problem != Problem.KNOWN,
        "typed": (typed or "")[:200],
        "is_typo": bool(typed),
        "id_help": recruitment.adapter.id_help,
        "join_url": _address_of(recruitment),
    }
    name = recruitment.name_for_people
    return _refuse_arrival(request, recruitment.study, problem, name, more)


def _refuse_arrival(
    request: HttpRequest,
    study: Study,
    problem: Problem,
    platform: str,
    more: dict[str, Any] | None = None,
) -> HttpResponse:
    if _is_shut(study):
        return render(request, "people/closed.html", _shut_context(study))
    context = {
        "texts": shown_content(study)["texts"],
        "problem": problem.value,
        "platform": platform,
    }
    context |= more or {}
    return render(request, "people/bad_arrival.html", context, status=400)


def _start(request: HttpRequest, recruitment: Recruitment, arrival: Arrival) -> HttpResponse:
    study, origin = recruitment.study, client_address(request)
    try:
        if not _is_coming_back(request, study, arrival):
            check_network(study, find_limited_network(study, origin))
        token = join_study(recruitment=recruitment, arrival=arrival, address=origin)
    except TypedIdIsKnown:
        return _refuse(request, recruitment, Problem.KNOWN)
    except LimitReached as error:
        context = _landing_context(recruitment, arrival) | {
            "wait_minutes": ceil(error.retry_seconds / 60),
            "is_network_full": isinstance(error, NetworkIsFull),
        }
        response = render(request, "people/landing.html", context, status=429)
        response.headers["Retry-After"] = str(error.retry_seconds)
        return response
    if recruitment.refuses_phones and JoinForm(request.POST).read("do") == "phone":
        participant = Participant.objects.get(links__token_hash=hash_token(token))
        visit = find_visit(participant)
        # people who have a place keep it
        if visit is not None and visit.item_set_id is None:
            end_visit(participant, Outcome.WRONG_DEVICE)
    return redirect("participant-home", token)


def _landing_context(recruitment: Recruitment, arrival: Arrival) -> dict[str, Any]:
    study, platform = recruitment.study, recruitment.name_for_people
    eligibility = study.config.eligibility if study.is_eligibility_on else None
    join_url = _address_of(recruitment)
    is_free = _has_free_place(recruitment)
    shortage = "" if is_free else find_shortage(study)
    return describe_waiting(platform, join_url) | {
        "is_free": is_free,
        "opening": describe_opening(study) if opens_later(study) else None,
        "is_off": not recruitment.is_on,
        "is_full": not has_place_left(recruitment, study),
        "shortage": shortage,
        "texts": shown_content(study)["texts"],
        "facts": study_facts(study, recruitment),
        "content_warning": get_content_warning(study),
        "is_paid": study.pay_per_set is not None,
        "cap": cap_in_words(study),
        # elsewhere it would be known before it is asked about
        "eligibility_rule": eligibility.rule if eligibility and platform else "",
        "has_entry": bool(eligibility),
        "plan": plan_qualification(study) if study.is_qualification_on else None,
        "tries": TRIES,
        "study_id": study.pk,
        "join_url": join_url,
        "arrival": _sign(recruitment, arrival) if arrival.person_id else "",
        "is_preview": arrival.is_preview,
        "refuses_phones": recruitment.refuses_phones,
    }


def _is_shut(study: Study) -> bool:
    """Return whether nobody gets a first page: the study is over, halted or was never launched."""
    return not (study.is_open or opens_later(study))


def _shut_context(study: Study) -> dict[str, Any]:
    return {"texts": shown_content(study)["texts"], **shut_sentence(study)}
