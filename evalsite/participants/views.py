"""Pages before and beside the work: landing, consent, entry questions, stopping."""

from math import ceil
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.lib.rate_limits import client_address
from evalsite.participants.access import (
    address,
    page_context,
    participant_page,
    personal_link,
    private,
    unknown_link,
)
from evalsite.participants.arrival import (
    LABELS,
    Arrival,
    BadArrival,
    open_arrival,
    read_arrival,
    sign_arrival,
)
from evalsite.participants.forms import LONGEST_ANSWER, EntryForm
from evalsite.participants.joins import TooManyJoins, find_person, join_study
from evalsite.participants.models import Participant
from evalsite.participants.services import (
    has_agreed,
    record_entry,
    shown_codes,
)
from evalsite.studies.bonus import cap_in_words
from evalsite.studies.models import Study
from evalsite.studies.qualification import TRIES, plan_qualification
from evalsite.studies.set_size import items_per_set
from evalsite.studies.summary_lines import count_of, format_money, hourly_pay, minutes_per_set
from evalsite.studies.versions import shown_content


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, study_id: UUID) -> HttpResponse:
    """The open link of a study. Only pressing Start makes a participant."""
    study = Study.objects.select_related("version").filter(pk=study_id).first()
    if study is None:
        return unknown_link(request)
    try:
        arrival = _find_arrival(request, study)
    except BadArrival as error:
        return private(_refuse_arrival(request, study, error))
    if not study.is_open and not _is_coming_back(request, study, arrival):
        context = _shut_context(study) | _offer_way_back(study, arrival)
        return private(render(request, "participants/closed.html", context))
    if request.method == "POST" and not (arrival and arrival.is_preview):
        return private(_start(request, study, arrival))
    return private(render(request, "participants/landing.html", _landing_context(study, arrival)))


def _is_coming_back(request: HttpRequest, study: Study, arrival: Arrival | None) -> bool:
    """Whether somebody who took part asks for their own page, such as the one with their code.

    Only a POST is answered by who it is: a link alone never tells whether an id took part.
    """
    if request.method != "POST" or arrival is None or arrival.is_preview:
        return False
    return find_person(study, arrival) is not None


def _offer_way_back(study: Study, arrival: Arrival | None) -> dict[str, Any]:
    """Return what the page of a study that isn't open needs to lead anybody with an id back."""
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
    return {
        "texts": shown_content(study)["texts"],
        "facts": study_facts(study),
        "cap": cap_in_words(study),
        "eligibility_rule": eligibility.rule if eligibility else "",
        "plan": plan_qualification(study) if study.is_qualification_on else None,
        "tries": TRIES,
        "study_id": study.pk,
        "is_open": True,
        "join_url": reverse("study-join", args=[study.pk]),
        "arrival": sign_arrival(arrival, study.pk) if arrival else "",
        "is_preview": bool(arrival and arrival.is_preview),
        "platform": LABELS[arrival.platform] if arrival else "",
    }


def _shut_context(study: Study) -> dict[str, Any]:
    return {"texts": shown_content(study)["texts"], **shut_sentence(study)}


def shut_sentence(study: Study) -> dict[str, Any]:
    """Why no work is handed out now, in words for a participant."""
    if study.state in (Study.State.DRAFT, Study.State.PILOT):
        return {"heading": "This study has not started yet", "sentence": "Please come back later."}
    if study.state == Study.State.PAUSED:
        return {
            "heading": "This study is paused",
            "sentence": "Please come back later with the same link. What you saved is kept.",
        }
    ended = study.closed_at or study.closes_at
    on = f" It ended on {timezone.localtime(ended):%-d %B %Y}." if ended else ""
    return {"heading": "This study is closed", "sentence": f"Thank you for your interest.{on}"}


def study_facts(study: Study) -> list[tuple[str, str, str]]:
    """Time, pay and size of one set: term, value, and a note in small print."""
    facts = [("Time", f"about {count_of(minutes_per_set(study), 'minute')}", "")]
    pay, hourly = study.pay_per_set, hourly_pay(study)
    if pay is not None and hourly is not None:
        phrases = format_money(pay, study.currency)
        facts.append(("Pay", phrases, f"{format_money(hourly, study.currency)} an hour"))
    return [
        *facts,
        (study.config.item_names, f"up to {items_per_set(study)}", "in one set"),
        ("Works on a phone", "yes", ""),
    ]


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def entry(request: HttpRequest, me: Participant) -> HttpResponse:
    """The entry questions, asked openly; decided on the server, once."""
    eligibility = me.study.config.eligibility
    if eligibility is None or me.is_eligible is not None:
        return redirect(address(request, "participant-home"))
    if not has_agreed(me):
        return redirect(address(request, "participant-home"))
    form = EntryForm(
        request.POST if request.method == "POST" else None,
        config=me.study.config,
        eligibility=eligibility,
    )
    if form.is_bound and form.is_valid():
        record_entry(participant=me, answers=form.cleaned_data)
        return redirect(address(request, "participant-home"))
    errors = {name: messages[0] for name, messages in form.errors.items()}
    context = page_context(request, me) | {
        "questions": [
            {
                "key": question.key,
                "label": question.label,
                "help": question.help,
                "choices": question.choices,
                "value": form[question.key].value() or "",
                "error": errors.get(question.key, ""),
            }
            for question in eligibility.questions
        ],
        "error_list": list(errors.items()),
        "longest": LONGEST_ANSWER,
    }
    return render(request, "participants/entry.html", context, status=422 if errors else 200)


@participant_page
@require_safe
def stop(request: HttpRequest, me: Participant) -> HttpResponse:
    """How to come back."""
    context = page_context(request, me) | {
        "personal_link": personal_link(request),
        "until": me.study.closes_at,
        "study_id": me.study_id,
        **shown_codes(me),
    }
    return render(request, "participants/stop.html", context)
