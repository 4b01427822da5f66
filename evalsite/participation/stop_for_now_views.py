"""Stopping for now: until when the place is kept, and how to come back."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from evalsite.handout.leases import answered_items, held_until
from evalsite.handout.models import Annotation
from evalsite.participation.sets import unanswered_places
from evalsite.people.access import page_context, participant_page, personal_link
from evalsite.people.models import Expert, ItemSet, Participant
from evalsite.people.qr_code import draw_qr_code
from evalsite.people.services import is_paid, shown_codes


@participant_page
@require_safe
def stop(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Say how to come back, and what happens meanwhile."""
    link = personal_link(request)
    context = page_context(request, participant) | {
        "personal_link": link,
        "qr": draw_qr_code(link),
        "closes_at": participant.study.closes_at,
        "study_id": participant.study_id,
        "is_paid": is_paid(participant),
        **shown_codes(participant),
        **_describe_open_set(participant),
    }
    return render(request, "people/stop.html", context)


def _describe_open_set(participant: Participant) -> dict[str, Any]:
    """Return how far the set at hand is, and until when its places are kept."""
    open_set = ItemSet.objects.filter(participant=participant, finished_at__isnull=True).first()
    if open_set is None:
        return {}
    answered = answered_items(open_set)
    left = unanswered_places(open_set, answered)
    ignored = Annotation.objects.filter(
        participant=participant, item__in=answered, outcome=Annotation.Outcome.IGNORED
    )
    state: dict[str, Any] = {"answered": len(answered) - ignored.count(), "left": len(left)}
    if left:
        name = {"name": participant.study.config.item.name.lower(), "place": left[0]}
        state["next_label"] = _("Go on with %(name)s %(place)s") % name
    if participant.is_expert:
        due_on = Expert.objects.filter(link__participant=participant).values_list(
            "due_on", flat=True
        )
        return state | {"due_on": due_on.first()}
    return state | {"kept_until": held_until(participant)}
