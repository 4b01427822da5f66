"""Reporting a problem with an item."""

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsite.handout.models import Annotation
from evalsite.instruments.fields import drop_unstorable
from evalsite.participation.forms import ReportForm, ShownForm
from evalsite.participation.rating_views import (
    address_for_consent,
    next_address,
    wants_json,
)
from evalsite.participation.saving import (
    WITHOUT_CONSENT,
    Saved,
    Submission,
    submit_annotation,
)
from evalsite.participation.sets import group_place
from evalsite.participation.shown_screens import circumstances, load_place, load_shown
from evalsite.people.access import address, page_context, participant_page, unknown_link
from evalsite.people.models import ItemSet, Participant


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def report(request: HttpRequest, participant: Participant, number: int, place: int) -> HttpResponse:
    """Report a problem with an item, which goes to someone else; this person goes on.

    A script that shows the item meanwhile gets the way on as JSON.
    """
    item_set = ItemSet.objects.filter(
        participant=participant, number=number, finished_at__isnull=True
    ).first()
    if item_set is None or not 1 <= place <= len(item_set.item_ids):
        return unknown_link(request)
    text = ShownForm(request.POST).read("state") or request.GET.get("state")
    try:
        shown, screen = (
            load_shown(text, participant) if text else load_place(participant, item_set, place)
        )
    except Http404:
        return unknown_link(request)
    form = ReportForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        details = {name: form.cleaned_data[name] for name in ("reason", "note")}
        reported = Submission(
            outcome=Annotation.Outcome.REPORTED, **circumstances(shown, screen), **details
        )
        saved = submit_annotation(participant=participant, submission=reported)
        is_kept = saved not in WITHOUT_CONSENT
        following = next_address(request, participant, shown)
        following = following if is_kept else address_for_consent(request, saved)
        if wants_json(request):
            is_reported = is_kept and saved is not Saved.EARLIER
            return JsonResponse({"next": following, "is_reported": is_reported})
        return redirect(following)
    config = participant.study.config
    first_reason = f"reason-{ReportForm.REASONS[0][0]}"
    context = page_context(request, participant) | {
        "frame": "participation/report.html",
        "layout": config.layout,
        "item": screen.view(
            {}, is_disabled=True, group=group_place(participant, item_set, shown.item_id)
        ),
        "reasons": ReportForm.REASONS,
        "reason": form["reason"].value() or "",
        "note": drop_unstorable(drop_unstorable(form["note"].value() or "")),
        "errors": [
            (f"report-{'note' if name == 'note' else first_reason}", messages[0])
            for name, messages in form.errors.items()
        ],
        **{f"{name}_error": messages[0] for name, messages in form.errors.items()},
        "place": place,
        "total": shown.total,
        "help_label": config.help_label,
        "state": shown.sign(),
        "back_url": address(request, "rating-page", number, place),
    }
    return render(request, config.item_template, context, status=422 if form.errors else 200)
