"""The page of a person whose work was stopped, for our reasons or for their conduct."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from evalsite.participation.next_step import next_step
from evalsite.people.access import address, page_context, participant_page
from evalsite.people.models import Participant, StopKind
from evalsite.people.platforms import Outcome
from evalsite.people.services import may_show_code
from evalsite.people.visits import find_visit, find_way_out


@participant_page
@require_safe
def stopped(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Say that the work ended early, what it pays, and how to hand it back."""
    if next_step(participant).name != "participant-stopped":
        return redirect(address(request, "participant-home"))
    visit = find_visit(participant)
    item_set = visit.item_set if visit else None
    is_ours = participant.stopped_for == StopKind.OURS
    set_code = item_set.code if item_set and may_show_code(participant, item_set) else ""
    way_out = find_way_out(participant, Outcome.COMPLETED, set_code=set_code)
    has_code = is_ours and visit is not None and visit.outcome == Outcome.COMPLETED
    context = page_context(request, participant) | {
        "is_ours": is_ours,
        "message": participant.stop_message if participant.later_visit_id is None else "",
        "is_paid": way_out.is_paid,
        # the code of finished work, and nothing of it, only to people who had a place
        "way_out": way_out if has_code else None,
        "work_url": address(request, "participant-work") if way_out.is_paid else "",
    }
    return render(request, "people/stopped.html", context)
