"""Staff pages: stopping somebody who hasn't finished."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.annotation.models import Annotation, Slot
from evalsite.annotation.pages.stopping import stop_person
from evalsite.audit.models import AuditEntry
from evalsite.participants.models import StopKind
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import study_page

INVALID = 422


class StopForm(forms.Form):
    """The kind of reason, the reason for the team, and what the person reads."""

    kind = forms.ChoiceField(
        label="Why are you stopping them?",
        choices=[
            (
                StopKind.OURS.value,
                "Our reason, such as a fault in the texts. They get the completed code and the "
                "full reward.",
            ),
            (
                StopKind.CONDUCT.value,
                "Their conduct, such as answers from a script. They are paid for each item they "
                "rated, and get no completed code.",
            ),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose why you are stopping them."},
    )
    reason = forms.CharField(
        label="Reason",
        max_length=200,
        help_text="For your team: it’s kept in the log. People who rate don’t see it.",
        error_messages={"required": "Enter a reason."},
    )
    message = forms.CharField(
        label="What they’ll read when they next open the study",
        max_length=2000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        use_our_words(self.fields.values())


@study_page(
    "people/<str:pseudonym>/stop/",
    name="person-stop",
    role=Membership.Role.EDITOR,
    within="study-people",
)
@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponseBase:
    """Show what stopping this person does, and do it."""
    people = study.participants.filter(is_pilot=False)
    person = get_object_or_404(people, pseudonym=pseudonym.replace("\0", " "))
    form = StopForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        kind = StopKind(form.cleaned_data["kind"])
        if stop_person(person, kind, form.cleaned_data["message"]):
            AuditEntry.objects.record(
                "person stopped", by=request.user, study_id=study.pk, who=person.pseudonym,
                kind=kind.value, reason=form.cleaned_data["reason"],
            )  # fmt: skip
            messages.success(request, f"{person.pseudonym} is stopped. Their places are free.")
        else:
            messages.warning(request, f"{person.pseudonym} has left already.")
        return redirect("admin:study-person", study.pk, person.pseudonym)
    context = {
        "person": person,
        "form": form,
        "answers": Annotation.objects.given().filter(participant=person).count(),
        "held": Slot.objects.leased().filter(participant=person).count(),
        "has_left": person.stopped_at is not None,
    }
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "studies/stop_person.html", context, status=status)
