"""Staff pages of quality: pay, and topping up items short of answers."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from evalsite.decisions import (  # noqa: F401 (pages that register themselves)
    change_views,
    pay_file_views,
    pay_views,
)
from evalsite.decisions.top_up import top_up
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import count_of


@study_page("top-up/", name="study-top-up", role=Membership.Role.EDITOR)
@require_POST
def add_places(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Hand out items that are short of answers to further people."""
    try:
        added = top_up(study=study, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        words = f"Topped up: {count_of(added, 'more place')}." if added else "No item is short."
        messages.success(request, words)
    return redirect("admin:study-overview", study.pk)
