"""Staff page: how many people with each answer may take part, and how many do."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.handout.quotas import count_holders
from evalsite.people.quotas import change_quotas, list_quota_questions
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import study_page

INVALID = 422
_MOST = 1_000_000


class QuotaForm(forms.Form):
    """A number of people for each answer of each question that may have quotas."""

    def __init__(self, data: Any = None, *, study: Study) -> None:
        super().__init__(data)
        self.asked = list_quota_questions(study)
        self.answers: dict[str, tuple[str, str]] = {}
        stored = {(quota.question, quota.value): quota.people for quota in study.quotas.all()}
        for question in self.asked:
            for number, choice in enumerate(question.choices, start=1):
                name = f"{question.key}-{number}"
                self.answers[name] = (question.key, choice.value)
                self.fields[name] = forms.IntegerField(
                    label=f"{question.label} {choice.label}",
                    required=False,
                    min_value=0,
                    max_value=_MOST,
                    initial=stored.get((question.key, choice.value)),
                )
        use_our_words(self.fields.values())

    def people(self) -> dict[tuple[str, str], int | None]:
        return {key: self.cleaned_data[name] for name, key in self.answers.items()}

    def tables(self, counts: dict[tuple[str, str], int]) -> list[dict[str, Any]]:
        """Return each question with its answers, who has a place, and the field of the quota."""
        rows: dict[str, list[Any]] = {question.key: [] for question in self.asked}
        labels = {
            (question.key, choice.value): choice.label
            for question in self.asked
            for choice in question.choices
        }
        for name, key in self.answers.items():
            people, quota = counts.get(key, 0), self.fields[name].initial
            is_full = quota is not None and people >= quota
            rows[key[0]].append((labels[key], people, is_full, self[name]))
        return [{"label": question.label, "rows": rows[question.key]} for question in self.asked]


@study_page("quotas/", name="study-quotas", role=Membership.Role.EDITOR, within="setup-quality")
@require_http_methods(["GET", "HEAD", "POST"])
def show_quotas(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show and change the quotas of each question, also while the study runs."""
    form = QuotaForm(request.POST if request.method == "POST" else None, study=study)
    if form.is_bound and form.is_valid():
        try:
            change_quotas(study=study, people=form.people(), by=request.user)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, "Saved.")
            return redirect("admin:study-quotas", study.pk)
    context = {"form": form, "tables": form.tables(count_holders(study))}
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "fieldwork/quotas.html", context, status=status)
