"""Staff page: a question of the check of the instructions."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Membership, Study
from evalsite.studies.question_forms import ButtonForm
from evalsite.studies.questions import CHECK, MOST_IN_CHECK
from evalsite.studies.setting_changes import ChangedMeanwhile, change_settings
from evalsite.studies.staff_pages import study_page

_LEAST, _MOST = 2, 6
INVALID, CONFLICT = 422, 409


class CheckQuestionForm(forms.Form):
    """A question about the instructions, and the sentence that answers it."""

    question = forms.CharField(label="Question", max_length=300)
    choices = forms.CharField(
        label="Answers, one per line",
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Two to six. People see them in this order.",
    )
    right = forms.CharField(
        label="Right answer", max_length=300, help_text="Exactly as in its line above."
    )
    why = forms.CharField(
        label="Why",
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="The sentence of the instructions that answers it. People read it after a miss.",
    )
    revision = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        use_our_words(self.fields.values())

    def clean_choices(self) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data["choices"].splitlines()]
        choices = [line for line in lines if line]
        if not _LEAST <= len(choices) <= _MOST:
            raise ValidationError("Enter two to six answers, one per line.")
        if len(set(choices)) < len(choices):
            raise ValidationError("Two of these answers are the same. Remove one.")
        return choices

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "choices" in cleaned and cleaned.get("right", "").strip() not in cleaned["choices"]:
            self.add_error("right", "Enter one of the answers above.")
        return cleaned


@study_page(
    "questions/check/<int:number>/",
    name="check-question",
    role=Membership.Role.EDITOR,
    within="What people read",
)
@require_http_methods(["GET", "HEAD", "POST"])
def show_check_question(request: HttpRequest, study: Study, number: int) -> HttpResponseBase:
    """One question of the check: a new one, or one to change or remove."""
    questions = list_check(study)
    is_new = number == len(questions) + 1 and number <= MOST_IN_CHECK
    if not is_new and not 1 <= number <= len(questions):
        return redirect("admin:study-questions", study.pk)
    known = {} if is_new else questions[number - 1]
    form = CheckQuestionForm(
        request.POST if request.method == "POST" else None,
        initial={
            **known,
            "choices": "\n".join(known.get("choices", ())),
            "revision": study.revision,
        },
    )
    rest = [*questions[: number - 1], *questions[number:]]
    status = 200
    button = ButtonForm(request.POST).read()
    if button["do"] == "remove":
        _remove(request, study, rest, button["revision"])
        return redirect("admin:study-questions", study.pk)
    if form.is_bound:
        status = _save(request, study, questions, number, form)
        if status == 200:
            return redirect("admin:study-questions", study.pk)
    context = {
        "form": form,
        "is_new": is_new,
        "is_of_check": True,
        "is_locked": study.version_id is not None,
    }
    return TemplateResponse(request, "studies/question.html", context, status=status)


def list_check(study: Study) -> list[dict[str, Any]]:
    """Return the questions of the check as data: the study's own, or its protocol's."""
    return [question.to_data() for question in study.config.comprehension]


def _remove(request: HttpRequest, study: Study, rest: list[dict[str, Any]], revision: str) -> None:
    try:
        store_check(study, rest, revision, by=request.user)
    except ValidationError as error:
        for problem in error.messages:
            messages.error(request, problem)
    else:
        messages.success(request, "Saved.")


def _save(
    request: HttpRequest,
    study: Study,
    questions: list[dict[str, Any]],
    number: int,
    form: CheckQuestionForm,
) -> int:
    """Return the status to answer with: 200 once the question is saved."""
    if not form.is_valid():
        return INVALID
    cleaned = dict(form.cleaned_data)
    revision = cleaned.pop("revision")
    changed = [*questions[: number - 1], cleaned, *questions[number:]]
    try:
        store_check(study, changed, str(revision), by=request.user)
    except ValidationError as error:
        form.add_error(None, error)
        return CONFLICT if isinstance(error, ChangedMeanwhile) else INVALID
    messages.success(request, "Saved.")
    return 200


def store_check(
    study: Study, questions: list[dict[str, Any]] | None, revision: str, *, by: Any
) -> None:
    """Store the study's own questions of the check; None: the protocol's."""
    stored = {name: kept for name, kept in study.questions.items() if name != CHECK}
    if questions is not None:
        stored[CHECK] = questions
    if stored == study.questions:
        # the same form, sent twice
        return
    is_whole = revision.isascii() and revision.isdigit() and len(revision) < 10
    change_settings(
        study=study,
        values={"questions": stored},
        revision=int(revision) if is_whole else -1,
        by=by,
    )
