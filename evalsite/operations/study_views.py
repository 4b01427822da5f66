"""Staff page: erasing a person from a study."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.handout.models import Annotation
from evalsite.operations.retention import erase_person
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import study_page


@study_page(
    "people/<str:pseudonym>/erase/",
    name="person-erase",
    role=Membership.Role.OWNER,
    within="study-people",
    # people may ask for it when the study was put away long ago
    is_reading=True,
)
@require_http_methods(["GET", "HEAD", "POST"])
def erase(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponseBase:
    """Show what erasing this person deletes, and do it."""
    people = study.participants.filter(is_pilot=False)
    person = get_object_or_404(people, pseudonym=pseudonym.replace("\0", " "))
    person.study = study
    if request.method == "POST":
        try:
            erase_person(person, by=request.user)
            messages.success(request, f"{person.pseudonym} is erased.")
        except ValidationError as refused:
            messages.error(request, refused.message)
        return redirect("admin:study-person", study.pk, person.pseudonym)
    context = {
        "person": person,
        "answers": Annotation.objects.given().filter(participant=person).count(),
    }
    return TemplateResponse(request, "operations/erase_person.html", context)
