"""The pages up to a place: consent, entry questions, and taking a place or waiting for one."""

from math import ceil
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.core.rate_limits import client_address
from evalsite.handout.claims import (
    claim_set,
    deal_pilot_set,
    end_without_place,
    find_shortage,
    has_work,
    settle_entry,
)
from evalsite.handout.leases import find_end
from evalsite.handout.models import ASSIGNED, Annotation
from evalsite.handout.network_places import NetworkIsFull
from evalsite.handout.rounds import has_place_left
from evalsite.lib.clock import now
from evalsite.lib.markdown import render_markdown
from evalsite.participation.bonus import due_bonus
from evalsite.participation.consent import answer_consent
from evalsite.participation.forms import ConsentForm, SharingForm
from evalsite.participation.next_step import (
    END,
    TAKE_PLACE,
    Step,
    entry_step,
    is_preparing,
    next_step,
    step_in,
)
from evalsite.participation.saving import Saved
from evalsite.participation.stopping import stop_if_emptied
from evalsite.people.access import (
    address,
    first_link_only,
    page_context,
    participant_page,
    personal_link,
    refuse_later_visit,
)
from evalsite.people.forms import EntryForm
from evalsite.people.joins import find_limited_network
from evalsite.people.models import Participant, Refusal
from evalsite.people.networks import Network
from evalsite.people.platforms import Outcome
from evalsite.people.recognition import has_rules
from evalsite.people.services import (
    change_sharing,
    consent_hash,
    consent_text,
    has_agreed,
    shown_codes,
)
from evalsite.people.visits import find_visit, find_way_out, name_platform
from evalsite.studies.bonus import cap_in_words
from evalsite.studies.models import Item
from evalsite.studies.summary_lines import format_money
from evalsite.studies.versions import has_notice

NOT_AGREED = _("Choose whether you want to take part.")

# how often a page that waits for a place asks again
SECONDS_BETWEEN_CHECKS = 60


def go_to(request: HttpRequest, step: Step) -> HttpResponse:
    return redirect(address(request, step.name, *step.args))


# --- consent --------------------------------------------------------------------------


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Ask for consent: nothing is handed out before that."""
    if has_agreed(participant) or entry_step(participant) == END:
        # to take it back is to withdraw, which says what becomes of the answers
        return redirect(address(request, "participant-home"))
    form = ConsentForm(request.POST if request.method == "POST" else None, study=participant.study)
    error = ""
    if form.is_bound:
        form.full_clean()
        choice = form.cleaned_data["go"]
        is_declined = choice == "decline"
        error = form.fault if choice == "agree" else str(NOT_AGREED)
        is_later = participant.later_visit_id is not None and bool(participant.consented_to)
        if is_declined and is_later:
            return refuse_later_visit(request, participant)
        if is_declined or not error:
            may_share = bool(participant.may_share) if is_later else form.cleaned_data["share"]
            answer_consent(participant=participant, is_given=not is_declined, may_share=may_share)
            # nothing else may be asked before a place is reserved
            if entry_step(participant) == TAKE_PLACE:
                return begin_set(request, participant)
            return redirect(address(request, "participant-home"))
    context = page_context(request, participant) | {
        **describe_consent(form),
        "is_changed": bool(participant.consented_to),
        # who tries the study comes here first
        "has_notice": has_notice(participant.study),
        "cap": cap_in_words(participant.study),
        "personal_link": personal_link(request),
        "study_id": participant.study_id,
        "status": Saved.words_of(request.GET.get("was", "")),
        "error": error,
    }
    return render(request, "people/consent.html", context, status=422 if error else 200)


def describe_consent(form: ConsentForm) -> dict[str, Any]:
    """Return the text that people agree to, and what they tick with it."""
    study = form.study
    return {
        "consent_html": render_markdown(consent_text(study)),
        "text_hash": consent_hash(study),
        "minimum_age": study.minimum_age,
        "asks_to_share": study.asks_to_share,
        "may_share": form["share"].value() == "yes",
        "is_of_age": form["age"].value() == "yes",
    }


@participant_page
@require_safe
def declined(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Say what is kept after declining, and how to change that choice."""
    kept = participant.annotations.exclude(status=Annotation.Status.WITHDRAWN)
    context = page_context(request, participant) | {
        "consent_url": address(request, "participant-consent"),
        "status": Saved.words_of(request.GET.get("was", "")),
        "has_answers": kept.exists(),
        **shown_codes(participant),
    }
    return render(request, "people/declined.html", context)


@participant_page
@first_link_only
@require_http_methods(["GET", "HEAD", "POST"])
def sharing(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Ask whether my answers may be shared; the choice can be changed while they can be deleted."""
    if participant.may_share is None:
        return redirect(address(request, "participant-home"))
    if request.method == "POST":
        change_sharing(participant=participant, may_share=SharingForm(request.POST).read("share"))
        return redirect(address(request, "participant-sharing") + "?choice=saved")
    context = page_context(request, participant) | {
        "may_share": participant.may_share,
        "is_saved": request.GET.get("choice") == "saved",
    }
    return render(request, "people/sharing.html", context)


# --- entry questions --------------------------------------------------------------------


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def entry(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Ask the entry questions openly; decide on the server, once."""
    eligibility = participant.study.config.eligibility
    if eligibility is None or participant.is_eligible is not None:
        return redirect(address(request, "participant-home"))
    if not has_agreed(participant):
        return redirect(address(request, "participant-home"))
    form = EntryForm(
        request.POST if request.method == "POST" else None,
        config=participant.study.config,
        eligibility=eligibility,
    )
    if form.is_bound and form.is_valid():
        network = _find_network(request, participant)
        try:
            settle_entry(participant=participant, answers=form.answers, network=network)
        except NetworkIsFull as error:
            return _refuse_network(request, participant, error, sent=dict(form.data.items()))
        if entry_step(participant) == TAKE_PLACE:
            return _go_waiting(request)
        return redirect(address(request, "participant-home"))
    rows = form.rows()
    errors = [(row["key"], row["error"]) for row in rows if row["error"]]
    context = page_context(request, participant) | {"questions": rows, "error_list": errors}
    return render(request, "people/entry.html", context, status=422 if errors else 200)


@participant_page
@require_safe
def refused(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Thank a person who may not take part; the rule is no secret any more."""
    eligibility = participant.study.config.eligibility
    if participant.is_eligible is not False:
        return redirect(address(request, "participant-home"))
    is_by_answers = eligibility is not None and not participant.refused_for
    context = page_context(request, participant) | {
        "message": eligibility.refusal if eligibility and is_by_answers else "",
        "is_quota_full": participant.refused_for == Refusal.QUOTA,
        "study_id": participant.study_id,
        "platform": name_platform(participant),
    }
    return render(request, "people/refused.html", context)


@participant_page
@require_safe
def end(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Say why the visit is over, and how to hand that back. It says the same on every return."""
    visit = find_visit(participant)
    if visit is None or entry_step(participant) not in (None, END) or not visit.is_final:
        return redirect(address(request, "participant-home"))
    outcome = Outcome(visit.outcome)
    context = page_context(request, participant) | {
        "outcome": outcome.value,
        "way_out": find_way_out(participant, outcome),
        "bonus": format_money(visit.bonus, participant.study.currency) if visit.bonus else "",
        "minutes": visit.bonus_minutes,
        "marked_at": visit.bonus_marked_at,
    }
    return render(request, "people/end.html", context)


# --- a place ------------------------------------------------------------------------------


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Offer a free place: pressing the button, and only that, takes it.

    People who read or practise press it, too, to keep a place whose time is up.
    """
    step = entry_step(participant)
    is_keeping = request.method == "POST" and is_preparing(participant, step)
    if step not in (None, TAKE_PLACE) and not is_keeping:
        return go_to(request, step)
    if request.method == "POST":
        return begin_set(request, participant)
    step = next_step(participant)
    if step != TAKE_PLACE:
        return go_to(request, step)
    if not _could_begin(participant):
        return redirect(address(request, "participant-no-work"))
    context = page_context(request, participant) | {"is_assigned": participant.is_expert}
    return render(request, "people/take_place.html", context)


def describe_place(request: HttpRequest, participant: Participant) -> dict[str, Any]:
    """Return what the strip says of a place that is held meanwhile, or was until a moment ago."""
    end = find_end(participant, participant.study)
    if end is None or end == ASSIGNED:
        return {}
    keep_url = address(request, "participant-start")
    return {"held_until": end, "is_place_over": end <= now(), "keep_url": keep_url}


def begin_set(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Lead on with the set that this person holds from now on; without one, to the waiting page."""
    network = _find_network(request, participant)
    try:
        if participant.is_eligible is None and has_rules(participant.study):
            # nothing was asked that would have decided it
            item_set = settle_entry(participant=participant, answers={}, network=network)
        else:
            item_set = (
                deal_pilot_set(participant)
                if participant.is_pilot
                else claim_set(participant, network=network)
            )
    except NetworkIsFull as error:
        return _refuse_network(request, participant, error)
    if item_set is None and stop_if_emptied(participant):
        return redirect(address(request, "participant-stopped"))
    if item_set is None:
        end_without_place(participant)
        return _go_waiting(request)
    return go_to(request, entry_step(participant) or step_in(participant, item_set))


def _find_network(request: HttpRequest, participant: Participant) -> Network | None:
    return find_limited_network(participant.study, client_address(request))


def _refuse_network(
    request: HttpRequest,
    participant: Participant,
    error: NetworkIsFull,
    sent: dict[str, str] | None = None,
) -> HttpResponse:
    """Say that people of this network hold too many places; what was `sent` can be sent again."""
    context = page_context(request, participant) | {
        "wait_minutes": ceil(error.retry_seconds / 60),
        "sent": (sent or {}).items(),
        "again_url": request.path if sent else address(request, "participant-start"),
    }
    response = render(request, "people/network_full.html", context, status=429)
    response.headers["Retry-After"] = str(error.retry_seconds)
    return response


def _go_waiting(request: HttpRequest) -> HttpResponse:
    """Lead to the waiting page; `taken` keeps it from looking again at once."""
    return redirect(address(request, "participant-no-work") + "?taken")


def _could_begin(participant: Participant) -> bool:
    return participant.is_pilot or has_work(participant, participant.study)


# what experts read whose items were all reassigned
NOTHING_LEFT = {
    "heading": _("There is nothing left for you to do"),
    "sentence": _("Your items were given to someone else. You can close this page."),
}


@participant_page
@require_safe
def no_work(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Say that no place is free: with the code for what was done, or where to wait.

    Nothing is held for people who wait here, and there is no queue.
    """
    if not participant.is_pilot and not participant.study.is_open:
        return redirect(address(request, "participant-shut"))
    step = entry_step(participant)
    if step not in (None, TAKE_PLACE):
        return go_to(request, step)
    # checks and repeats count as the items they look like
    finished = participant.annotations.exclude(item__kind=Item.Kind.PRACTICE).count()
    if not finished and "taken" not in request.GET and _could_begin(participant):
        return redirect(address(request, "participant-start"))
    if participant.is_expert and not finished:
        return render(
            request, "people/closed.html", page_context(request, participant) | NOTHING_LEFT
        )
    visit = find_visit(participant)
    is_full = visit is not None and not has_place_left(
        visit.recruitment, participant.study, but=visit
    )
    context = page_context(request, participant) | {
        **describe_waiting(name_platform(participant), address(request, "participant-no-work")),
        "is_full": is_full,
        "shortage": "" if participant.is_pilot else find_shortage(participant.study, participant),
        "until": participant.study.closes_at,
        "finished": finished,
        **shown_codes(participant),
        "start_url": address(request, "participant-start"),
        "bonus": due_bonus(participant),
    }
    return render(request, f"people/{'no_work' if finished else 'waiting'}.html", context)


def describe_waiting(platform: str, check_url: str) -> dict[str, Any]:
    """Return the context of a page that says that no place is free, and checks again."""
    return {
        "platform": platform,
        "check_url": check_url,
        "checked_at": now(),
        "seconds": SECONDS_BETWEEN_CHECKS,
    }
