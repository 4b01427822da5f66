"""Who is asking: on participants' pages the token in the address is the identity."""

import logging
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.views.decorators.csrf import csrf_exempt

from evalsite.core.rate_limits import RateLimit
from evalsite.lib.prepared import Prepared
from evalsite.people.models import Origin, Participant, ParticipantLink, Tester
from evalsite.people.random_codes import hash_token
from evalsite.people.services import Withdrawn
from evalsite.studies.models import Study
from evalsite.studies.versions import shown_content

logger = logging.getLogger(__name__)

ParticipantView = Callable[..., HttpResponse]
# replaces the token in an address that is built once; no token has a full stop
_ANYBODY = "any.body"

# what people who have withdrawn may still open
_FAREWELLS = ("participant-withdrawn", "participant-work")

_saves, _drafts = RateLimit(), RateLimit()

_link_of = Prepared(
    lambda token_hash: (
        ParticipantLink.objects.filter(token_hash=token_hash)
        .select_related("participant__study")
        .defer(*(f"participant__study__{name}" for name in Study.SELDOM_READ))
        .order_by()
    )
)


def unknown_link(request: HttpRequest) -> HttpResponse:
    """Return the page of every address that opens nothing; it leads owners of a link back."""
    home = address(request, "participant-home") if hasattr(request, "token") else ""
    return private(render(request, "people/unknown.html", {"home": home}, status=404))


def private(response: HttpResponse) -> HttpResponse:
    """Keep the address of this page, which is a secret, from other sites and from caches."""
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["Cache-Control"] = "max-age=0, no-cache, no-store, must-revalidate, private"
    return response


def participant_page(view: ParticipantView) -> ParticipantView:
    """Make a page for the owner of a personal link; the view gets the participant, with the study.

    No cookie is read or set here, so no cookie can authorise a forged post.
    """

    @csrf_exempt
    @wraps(view)
    def wrapped(request: HttpRequest, token: str, **captured: Any) -> HttpResponse:
        participant = _find_owner(token)
        if participant is None:
            return unknown_link(request)
        request.token = token  # type: ignore[attr-defined]
        with language_of(participant.study):
            return answer(request, participant, captured)

    def answer(
        request: HttpRequest, participant: Participant, captured: dict[str, Any]
    ) -> HttpResponse:
        wait = _seconds_to_wait(request, participant) if request.method == "POST" else 0
        if wait:
            return private(_ask_to_wait(request, participant, wait, view, captured))
        page = request.resolver_match.url_name if request.resolver_match else None
        if participant.withdrawn_at is not None and page not in _FAREWELLS:
            return private(redirect(address(request, "participant-withdrawn")))
        try:
            return private(view(request, participant, **captured))
        except Withdrawn:
            # in another tab, after this page was asked for
            return private(redirect(address(request, "participant-withdrawn")))

    return wrapped


def first_link_only(view: ParticipantView) -> ParticipantView:
    """Refuse a page to a link of a later visit; for views below `participant_page`."""

    @wraps(view)
    def wrapped(request: HttpRequest, participant: Participant, **captured: Any) -> HttpResponse:
        if participant.later_visit_id is not None:
            return refuse_later_visit(request, participant)
        return view(request, participant, **captured)

    return wrapped


def refuse_later_visit(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Say which link opens what was saved earlier."""
    return render(request, "people/first_link.html", page_context(request, participant), status=403)


def _find_owner(token: str) -> Participant | None:
    """Return the participant of this link, with their study; None if there is none."""
    link = _link_of.one(hash_token(token))
    if link is None:
        return None
    participant = link.participant
    participant.later_visit_id = link.later_visit_id
    if participant.study.version_id is None:
        # in a draft there is no version yet: pages show the study's own texts
        participant.study = Study.objects.get(pk=participant.study_id)
    return participant


def language_of(study: Study) -> translation.override:
    """Speak the study's language inside this block, if the site has its words; else its own."""
    texts = shown_content(study)["texts"]
    try:
        language = translation.get_supported_language_variant(texts.get("language") or "en")
    except LookupError:
        language = settings.LANGUAGE_CODE
    return translation.override(language)


def keeps_page(show: ParticipantView) -> Callable[[ParticipantView], ParticipantView]:
    """Let a view show its own page, with all that was entered, to people who send too often."""

    def decorate(view: ParticipantView) -> ParticipantView:
        view.show_again = show  # type: ignore[attr-defined]
        return view

    return decorate


def _seconds_to_wait(request: HttpRequest, participant: Participant) -> int:
    """Return 0, or the seconds until this person may send again, by any of their links."""
    match = request.resolver_match
    person = f"{participant.study_id}/{participant.pk}"
    if match is not None and match.url_name in ("rating-draft", "sheet-draft"):
        return _drafts.take(person, settings.DRAFTS_A_MINUTE)
    return _saves.take(person, settings.SAVES_A_MINUTE)


def _ask_to_wait(
    request: HttpRequest, participant: Participant, wait: int, view: ParticipantView, captured: Any
) -> HttpResponse:
    """Return 429 with all that was entered: nothing is stored, and one press sends it again."""
    show = getattr(view, "show_again", None)
    if request.headers.get("Accept") == "application/json":
        response: HttpResponse = JsonResponse({"wait": wait}, status=429)
    elif show is not None:
        response = show(request, participant, wait, **captured)
    else:
        sent = [(name, value) for name, values in request.POST.lists() for value in values]
        context = page_context(request, participant) | {"wait": wait, "sent": sent}
        response = render(request, "people/too_often.html", context, status=429)
    response.headers["Retry-After"] = str(wait)
    return response


def address(request: HttpRequest, name: str, *args: object) -> str:
    """Return the address of a page of the person who is asking."""
    pattern = _address_of_anybody(name, *args)
    return pattern.replace(_ANYBODY, request.token)  # type: ignore[attr-defined]


@lru_cache(maxsize=4096)
def _address_of_anybody(name: str, *args: object) -> str:
    return reverse(name, args=[_ANYBODY, *args])


def page_context(request: HttpRequest, participant: Participant) -> dict[str, Any]:
    """Return what every page of a participant shows around its content."""
    is_later = participant.later_visit_id is not None
    # a test still to come asks some of the worked examples
    is_tested = participant.study.is_qualification_on and not participant.is_qualified
    names = ("home", "instructions", "stop", *(() if is_later else ("withdraw",)))
    urls = {name: address(request, f"participant-{name}") for name in names}
    if participant.study.config.examples and not is_tested:
        urls["examples"] = address(request, "worked-examples")
    if participant.may_share is not None and not is_later:
        urls["sharing"] = address(request, "participant-sharing")
    if participant.is_pilot:
        urls["comment"] = address(request, "pilot-comment")
        # colleagues who came by the link have no account
        if not Tester.objects.filter(participant=participant.pk).exists():
            urls["study"] = reverse("admin:study-pilot", args=[participant.study_id])
    return {
        "texts": shown_content(participant.study)["texts"],
        "urls": urls,
        "is_later_visit": is_later,
        "is_pilot": participant.is_pilot,
        "is_simulated": participant.origin == Origin.SIMULATED,
        "item_name": participant.study.config.item.name,
        "item_names": participant.study.config.item.names,
        "progress": None,
    }


def personal_link(request: HttpRequest) -> str:
    return request.build_absolute_uri(address(request, "participant-home"))


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the constant page for addresses below /p/ and /join/, and a plain one for all others.

    Neither reads the body, as Django's own would for its CSRF token: a broken one would fail there.
    """
    if request.path.startswith(("/p/", "/join/")):
        return unknown_link(request)
    return render(request, "404.html", status=404)
