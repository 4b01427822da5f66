"""Ignoring an item on a page of its own, and taking it back."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.handout.leases import keep_lease
from evalsite.participation.forms import IgnoreForm, ShownForm
from evalsite.participation.ignored_items import ignore_item, reason_of, undo_ignoring
from evalsite.participation.rating_views import address_for_consent
from evalsite.participation.saving import WITHOUT_CONSENT, Saved, Submission
from evalsite.participation.screens import Screen
from evalsite.participation.sets import BREAK_EVERY, group_place, unanswered_places
from evalsite.participation.shown_screens import Shown, circumstances, load_place, load_shown
from evalsite.people.access import (
    address,
    first_link_only,
    page_context,
    participant_page,
    unknown_link,
)
from evalsite.people.models import ItemSet, Participant
from evalsite.people.services import has_agreed


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def ignore(request: HttpRequest, participant: Participant, number: int, place: int) -> HttpResponse:
    """Ask why this item is ignored. A POST saves that, without scores, and goes on."""
    item_set = _find_set(participant, number, place)
    if item_set is None or not participant.study.config.has_ignore:
        return unknown_link(request)
    if item_set.finished_at is not None:
        return _final(request)
    text = ShownForm(request.POST).read("state") or request.GET.get("state")
    try:
        shown, screen = (
            load_shown(text, participant) if text else load_place(participant, item_set, place)
        )
    except Http404:
        return unknown_link(request)
    if shown.item_id != item_set.item_ids[place - 1]:
        return unknown_link(request)
    config = participant.study.config
    data = request.POST if request.method == "POST" else None
    form = IgnoreForm(data, config=config, questions=screen.questions)
    if form.is_bound and form.is_valid():
        return _ignore(request, participant, item_set, shown, screen, form.cleaned_data["ignore"])
    return _ask(request, participant, item_set, shown, screen, form)


def _find_set(participant: Participant, number: int, place: int) -> ItemSet | None:
    item_set = ItemSet.objects.filter(participant=participant, number=number).first()
    if item_set is None or not 1 <= place <= len(item_set.item_ids):
        return None
    return item_set


def _final(request: HttpRequest) -> HttpResponse:
    """Say that the set is finished, so nothing was changed."""
    was = "?was=final" if request.method == "POST" else ""
    return redirect(address(request, "participant-finish") + was)


def _ignore(
    request: HttpRequest,
    participant: Participant,
    item_set: ItemSet,
    shown: Shown,
    screen: Screen,
    key: str,
) -> HttpResponse:
    details = circumstances(shown, screen) | {
        "item_set_id": item_set.pk,
        "place": shown.place,
        "language": request.headers.get("Accept-Language", "").split(",")[0][:35],
    }
    saved = ignore_item(
        participant=participant,
        item_set=item_set,
        submission=Submission(**details),
        reason=reason_of(participant.study.config, key),
    )
    if saved is Saved.FINAL:
        return _final(request)
    if saved in WITHOUT_CONSENT:
        return redirect(address_for_consent(request, saved))
    if not participant.is_pilot and (
        screen.slot is None or screen.slot.participant_id == participant.pk
    ):
        keep_lease(participant, participant.study, screen.slot)
    following = _address_after(request, participant, item_set, shown.place)
    if saved is Saved.EARLIER:
        return redirect(f"{following}?was=earlier")
    return redirect(f"{following}?was=ignored&undo={shown.place}")


def _address_after(
    request: HttpRequest, participant: Participant, item_set: ItemSet, place: int
) -> str:
    """Return the way to the next unanswered place, by a break that is due; else the review page."""
    later = [number for number in unanswered_places(item_set) if number > place]
    if not later:
        return address(request, "set-review", item_set.number)
    is_break_due = any(number % BREAK_EVERY == 0 for number in range(place, later[0]))
    name = "set-break" if is_break_due else "rating-page"
    return address(request, name, item_set.number, later[0])


def _ask(
    request: HttpRequest,
    participant: Participant,
    item_set: ItemSet,
    shown: Shown,
    screen: Screen,
    form: IgnoreForm,
) -> HttpResponse:
    config = participant.study.config
    error = form.errors["ignore"][0] if form.errors else ""
    group = group_place(participant, item_set, shown.item_id)
    context = page_context(request, participant) | {
        "frame": "participation/ignore.html",
        "layout": config.layout,
        "item": screen.view({}, is_disabled=True, group=group),
        "reasons": [
            (reason, reason.describe_cover(group.size)) for reason in config.ignore_reasons
        ],
        "chosen": form["ignore"].value() or "",
        "error": error,
        "errors": [(f"ignore-{config.ignore_reasons[0].key}", error)] if error else [],
        "place": shown.place,
        "total": shown.total,
        "help_label": config.help_label,
        "state": shown.sign(),
        "back_url": address(request, "rating-page", item_set.number, shown.place),
    }
    return render(request, config.item_template, context, status=422 if form.errors else 200)


@participant_page
@first_link_only
@require_POST
def undo(request: HttpRequest, participant: Participant, number: int, place: int) -> HttpResponse:
    """Restore all that was ignored with this item, and show its page."""
    item_set = _find_set(participant, number, place)
    if item_set is None:
        return unknown_link(request)
    if not has_agreed(participant):
        return redirect(address(request, "participant-home"))
    if item_set.finished_at is not None:
        return _final(request)
    item_id = item_set.item_ids[place - 1]
    undone = undo_ignoring(participant=participant, item_set=item_set, item_id=item_id)
    was = "?was=undone" if undone else ""
    return redirect(f"{address(request, 'rating-page', number, place)}{was}")
