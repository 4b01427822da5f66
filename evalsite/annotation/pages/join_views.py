"""The first page of a study: what it asks, whether a place is free, and Start."""

from math import ceil
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from evalsite.annotation.allocation.claims import has_free_place, may_come_free
from evalsite.annotation.pages.entry_views import describe_waiting
from evalsite.lib.rate_limits import client_address
from evalsite.participants.access import language_of, private, unknown_link
from evalsite.participants.arrival import (
    LABELS,
    Arrival,
    BadArrival,
    open_arrival,
    read_arrival,
    sign_arrival,
)
from evalsite.participants.joins import TooManyJoins, find_person, join_study
from evalsite.participants.views import shut_sentence, study_facts
from evalsite.studies.bonus import cap_in_words
from evalsite.studies.models import Study
from evalsite.studies.qualification import TRIES, plan_qualification
from evalsite.studies.versions import shown_content


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, study_id: UUID) -> HttpResponse:
    """The open link of a study. Only pressing Start makes a participant."""
    study = Study.objects.select_related("version").filter(pk=study_id).first()
    if study is None:
        return unknown_link(request)
    with language_of(study):
        return _answer(request, study)


def _answer(request: HttpRequest, study: Study) -> HttpResponse:
    try:
        arrival = _find_arrival(request, study)
    except BadArrival as error:
        return private(_refuse_arrival(request, study, error))
    if not study.is_open and not _is_coming_back(request, study, arrival):
        context = _shut_context(study) | _offer_way_back(study, arrival)
        return private(render(request, "participants/closed.html", context))
    is_start = request.method == "POST" and not (arrival and arrival.is_preview)
    if is_start and (has_free_place(study) or _is_coming_back(request, study, arrival)):
        return private(_start(request, study, arrival))
    # nobody agrees to anything for a place that they don't get
    return private(render(request, "participants/landing.html", _landing_context(study, arrival)))


def _is_coming_back(request: HttpRequest, study: Study, arrival: Arrival | None) -> bool:
    """Return whether a person who took part asks for their own page, such as the one with a code.

    Only a POST is looked up: a link alone never reveals whether an id took part.
    """
    if request.method != "POST" or arrival is None or arrival.is_preview:
        return False
    return find_person(study, arrival) is not None


def _offer_way_back(study: Study, arrival: Arrival | None) -> dict[str, Any]:
    """Return what the page of a study that isn't open needs to lead people with an id back."""
    if arrival is None or arrival.is_preview:
        return {}
    return {
        "arrival": sign_arrival(arrival, study.pk),
        "join_url": reverse("study-join", args=[study.pk]),
    }


def _find_arrival(request: HttpRequest, study: Study) -> Arrival | None:
    """Return the arrival of the hidden field, or of the link if there is none."""
    if "arrival" in request.POST:
        return open_arrival(request.POST["arrival"], study.pk)
    return read_arrival(request.GET)


def _refuse_arrival(request: HttpRequest, study: Study, error: BadArrival) -> HttpResponse:
    if not study.is_open:
        return render(request, "participants/closed.html", _shut_context(study))
    context = {
        "texts": shown_content(study)["texts"],
        "problem": error.problem.value,
        "platform": error.platform_label,
    }
    return render(request, "participants/bad_arrival.html", context, status=400)


def _start(request: HttpRequest, study: Study, arrival: Arrival | None) -> HttpResponse:
    try:
        token = join_study(study=study, arrival=arrival, address=client_address(request))
    except TooManyJoins as error:
        context = _landing_context(study, arrival) | {
            "wait_minutes": ceil(error.retry_seconds / 60)
        }
        response = render(request, "participants/landing.html", context, status=429)
        response.headers["Retry-After"] = str(error.retry_seconds)
        return response
    return redirect("participant-home", token)


def _landing_context(study: Study, arrival: Arrival | None) -> dict[str, Any]:
    eligibility = study.config.eligibility if study.is_eligibility_on else None
    join_url = reverse("study-join", args=[study.pk])
    is_free = has_free_place(study)
    return describe_waiting(LABELS[arrival.platform] if arrival else "", join_url) | {
        "is_free": is_free,
        "is_complete": not is_free and not may_come_free(study),
        "texts": shown_content(study)["texts"],
        "facts": study_facts(study),
        "cap": cap_in_words(study),
        # elsewhere it would be known before it is asked about
        "eligibility_rule": eligibility.rule if eligibility and arrival else "",
        "has_entry": bool(eligibility),
        "plan": plan_qualification(study) if study.is_qualification_on else None,
        "tries": TRIES,
        "study_id": study.pk,
        "join_url": join_url,
        "arrival": sign_arrival(arrival, study.pk) if arrival else "",
        "is_preview": bool(arrival and arrival.is_preview),
    }


def _shut_context(study: Study) -> dict[str, Any]:
    return {"texts": shown_content(study)["texts"], **shut_sentence(study)}
