"""Items that people would rather not read: covered until they ask, and skipped at no cost."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsite.handout.leases import keep_lease
from evalsite.handout.models import Annotation
from evalsite.participation.rating_views import address_for_consent, is_mine, next_address
from evalsite.participation.saving import WITHOUT_CONSENT, Saved, Submission, submit_annotation
from evalsite.participation.shown_screens import circumstances, load_place
from evalsite.people.access import address, page_context, participant_page, unknown_link
from evalsite.people.models import ItemSet, Participant
from evalsite.people.services import is_paid
from evalsite.studies.versions import get_content_warning


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def skip(request: HttpRequest, participant: Participant, number: int, place: int) -> HttpResponse:
    """Ask whether to skip an item, without showing it. A POST gives it to someone else."""
    item_set = ItemSet.objects.filter(
        participant=participant, number=number, finished_at__isnull=True
    ).first()
    if item_set is None or not 1 <= place <= len(item_set.item_ids):
        return unknown_link(request)
    if not get_content_warning(participant.study):
        return unknown_link(request)
    if request.method == "POST":
        return _skip(request, participant, item_set, place)
    context = page_context(request, participant) | {
        "place": place,
        "total": len(item_set.item_ids),
        "is_paid": is_paid(participant),
        "back_url": f"{address(request, 'rating-page', number, place)}?shown",
    }
    return render(request, "participation/skip.html", context)


def _skip(
    request: HttpRequest, participant: Participant, item_set: ItemSet, place: int
) -> HttpResponse:
    try:
        shown, screen = load_place(participant, item_set, place)
    except Http404:
        return unknown_link(request)
    details = circumstances(shown, screen)
    skipped = Submission(outcome=Annotation.Outcome.SKIPPED, **details)
    saved = submit_annotation(participant=participant, submission=skipped)
    if saved in WITHOUT_CONSENT:
        return redirect(address_for_consent(request, saved))
    if not participant.is_pilot and is_mine(participant, screen):
        keep_lease(participant, participant.study, None)
    outcome = saved if saved in (Saved.FINAL, Saved.ENDED, Saved.EARLIER) else Saved.SKIPPED
    return redirect(
        f"{next_address(request, participant, shown)}?was={outcome.name.lower()}&after={place}"
    )
