"""The staff page of what people wrote, beside the items and answers that it is about."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.participants.names import name_people
from evalsite.results.comments.choice import ORDERS, CommentChoice, CommentsForm
from evalsite.results.comments.reasons import read_reasons
from evalsite.results.comments.rows import describe_comments
from evalsite.results.comments.written import count_by_person
from evalsite.results.items.choice import EVERYONE
from evalsite.results.items.records import read_state
from evalsite.results.report.computation import newest_report
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import study_page

PAGE = 30


@study_page("results/comments/", name="results-comments", place="Results", tab="Comments", order=70)
@require_safe
def show_comments(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what people wrote, 30 texts at a time, and the reasons they ticked."""
    state = read_state(study)
    is_blind = state.is_blind
    names = name_people(request, study)
    is_everyone = request.GET.get("people") == EVERYONE
    writers = count_by_person(study, is_everyone=is_everyone)
    form = CommentsForm(
        request.GET,
        study=study,
        systems=[] if is_blind else list(study.systems.order_by("name")),
        writers=list(writers),
        names=names,
    )
    choice = CommentChoice(study, form, state)
    pages = Paginator(choice.find(), PAGE)
    total = sum(writers.values())
    if not choice.is_filtered:
        pages.count = total
    rows = pages.get_page(request.GET.get("page"))
    context: dict[str, Any] = {
        "choice": choice,
        "form": form,
        "rows": rows,
        "comments": describe_comments(choice, list(rows), reader=request.user),
        "total": total,
        "writers": len(writers),
        "orders": ORDERS.items(),
        "reasons": None
        if is_blind
        else read_reasons(newest_report(study), is_everyone=is_everyone),
        "has_exclusions": state.has_exclusions,
        "is_blind": is_blind,
        "people_names": names,
        "texts": {"language": study.language},
    }
    return TemplateResponse(request, "results/comments.html", context)
