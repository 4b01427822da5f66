"""Staff pages: making a study, its questions about people, and its team."""

from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.studies.forms import NewStudyForm
from evalsite.studies.instructions_check_views import instructions_check_views
from evalsite.studies.question_views import question_views
from evalsite.studies.services import create_study
from evalsite.studies.team_views import team_views

INVALID = 422


@require_http_methods(["GET", "HEAD", "POST"])
def new_study(request: HttpRequest) -> HttpResponseBase:
    """Create a draft study of the chosen protocol, owned by the person who makes it."""
    is_post = request.method == "POST"
    form = NewStudyForm(request.POST if is_post else None)
    if is_post and form.is_valid():
        study = create_study(**form.cleaned_data, by=request.user)
        messages.success(request, "The study is made. Upload its items next.")
        return redirect("admin:study-overview", study.pk)
    return TemplateResponse(
        request, "studies/new.html", {"form": form}, status=INVALID if is_post else 200
    )


study_views = [
    *instructions_check_views,
    *question_views,
    *team_views,
]
