"""The staff page of the items with the widest disagreement, with the team's notes."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.annotation.models import Annotation
from evalsite.quality.frozen_plans import is_hidden
from evalsite.quality.models import LONGEST_NOTE
from evalsite.quality.notes import add_notes, read_notes_of
from evalsite.results.disagreement.shown_items import describe_wide
from evalsite.results.disagreement.widest import list_wide
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role

PAGE = 3


@require_safe
def show_disagreement(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the items whose answers are farthest apart, three at a time."""
    found = list_wide(study)
    counts = {one.key: 0 for one in study.config.criteria}
    for wide in found:
        counts[wide.criterion.key] += 1
    chosen = request.GET.get("criterion", "")
    some = [one for one in found if chosen not in counts or one.criterion.key == chosen]
    rows = Paginator(some, PAGE).get_page(request.GET.get("page"))
    is_blind = is_hidden(study)
    shown = describe_wide(study, list(rows), is_blind=is_blind)
    notes = read_notes_of(study, name="item", ids=[one.item.pk for one in shown])
    context = {
        "total": len(found),
        "rows": rows,
        "shown": [(one, notes[one.item.pk]) for one in shown],
        # words are never far apart
        "criteria": [
            (criterion.key, criterion.label, counts[criterion.key])
            for criterion in study.config.criteria
            if criterion.scale.family != "text"
        ],
        "texts": {"language": study.language},
        "chosen": chosen if chosen in counts else "",
        "are_systems_hidden": is_blind,
        "has_answers": Annotation.objects.filter(study=study).counted().exists(),
        "can_note": has_role(request, study, Membership.Role.EDITOR)
        and study.state != Study.State.ARCHIVED,
        "longest": LONGEST_NOTE,
    }
    return TemplateResponse(request, "results/disagreement.html", context)


@require_POST
def add_note(request: HttpRequest, study: Study, item_id: int) -> HttpResponseBase:
    """Note something about an item; a note sent twice is kept once."""
    item = get_object_or_404(Item, study=study, pk=item_id)
    try:
        add_notes(study=study, text=request.POST.get("text", ""), by=request.user, items=[item])
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "Noted.")
    page = request.POST.get("page", "")
    address = reverse("admin:study-disagreement", args=[study.pk])
    query = f"?page={page}" if page.isdecimal() and page.isascii() else ""
    return redirect(f"{address}{query}#item-{item.pk}")


disagreement_views = [
    StudyView(
        path="results/disagreement/",
        name="study-disagreement",
        view=show_disagreement,
        place="Results",
        tab="Disagreement",
        order=69,
    ),
    StudyView(
        path="results/disagreement/<int:item_id>/note/",
        name="item-note",
        view=add_note,
        role=Membership.Role.EDITOR,
    ),
]
