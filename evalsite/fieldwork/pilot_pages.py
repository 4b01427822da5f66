"""What colleagues open who try a draft: the link for all of them, and comments."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from evalsite.fieldwork.pilot import find_piloted, join_as_tester
from evalsite.instruments.fields import drop_unstorable
from evalsite.people.access import (
    address,
    language_of,
    page_context,
    participant_page,
    private,
    unknown_link,
)
from evalsite.people.models import Participant, PilotComment
from evalsite.studies.models import Item
from evalsite.studies.versions import shown_content

INVALID = 422
LONGEST_NAME = 60
LONGEST_COMMENT = 2000


class StorableField(forms.CharField):
    """A text without what can't be stored."""

    def to_python(self, value: Any) -> str:
        return drop_unstorable(str(super().to_python(value))).strip()


class NameForm(forms.Form):
    """The name under which a colleague tries a study."""

    name = StorableField(
        max_length=LONGEST_NAME,
        error_messages={
            "required": gettext_lazy("Enter your name."),
            "max_length": gettext_lazy("Enter a shorter name."),
        },
    )


class CommentForm(forms.Form):
    """A comment, and which of the subjects it is about."""

    about = forms.CharField(
        error_messages={"required": gettext_lazy("Choose what your comment is about.")}
    )
    text = StorableField(
        max_length=LONGEST_COMMENT,
        error_messages={
            name: gettext_lazy("Write your comment, in up to 2,000 characters.")
            for name in ("required", "max_length")
        },
    )

    def __init__(self, data: Any, *, subjects: list[dict[str, Any]]) -> None:
        super().__init__(data)
        self.subjects = {subject["value"]: subject for subject in subjects}

    def clean_about(self) -> dict[str, Any]:
        """Return the subject; ValidationError if there is none of this value."""
        subject = self.subjects.get(self.cleaned_data["about"])
        if subject is None:
            raise ValidationError(_("Choose what your comment is about."))
        return subject


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def join_pilot(request: HttpRequest, token: str) -> HttpResponse:
    """The link for colleagues: they give a name and try the study, without an account."""
    study = find_piloted(token)
    if study is None:
        return unknown_link(request)
    with language_of(study):
        form = NameForm(request.POST if request.method == "POST" else None)
        if form.is_bound and form.is_valid():
            try:
                personal = join_as_tester(study=study, name=form.cleaned_data["name"])
            except ValidationError as problem:
                form.add_error("name", problem)
            else:
                return private(redirect("participant-home", personal))
        context = {
            "texts": shown_content(study)["texts"],
            "name": form["name"].value() or "",
            "error": " ".join(map(str, form["name"].errors)),
        }
        status = INVALID if form.errors else 200
        return private(render(request, "people/pilot_join.html", context, status=status))


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def comment(request: HttpRequest, participant: Participant) -> HttpResponse:
    """A comment on a question, a text or an item, from someone who tries a draft."""
    if not participant.is_pilot:
        return redirect(address(request, "participant-home"))
    subjects = _list_subjects(participant)
    form = CommentForm(request.POST if request.method == "POST" else None, subjects=subjects)
    if form.is_bound and form.is_valid():
        # the same form, sent twice, is one comment
        PilotComment.objects.get_or_create(
            study=participant.study,
            participant=participant,
            text=form.cleaned_data["text"],
            resolved_at=None,
            **form.cleaned_data["about"]["fields"],
        )
        return redirect(f"{address(request, 'pilot-comment')}?saved")
    errors = [error for errors in form.errors.values() for error in errors]
    context = page_context(request, participant) | {
        "subjects": subjects,
        "chosen": form["about"].value() or "",
        "text": form["text"].value() or "",
        "error": errors[0] if errors else "",
        "is_saved": "saved" in request.GET,
        "comments": participant.pilot_comments.all(),
    }
    context["urls"].pop("comment")
    return render(request, "people/pilot_comment.html", context, status=INVALID if errors else 200)


def _list_subjects(participant: Participant) -> list[dict[str, Any]]:
    """Return what a comment may be about: the texts, the questions, the items of their set."""
    texts = {
        "first-page": _("First page"), "consent": _("Consent"), "instructions": _("Instructions"),
    }  # fmt: skip
    kinds = PilotComment.Kind
    subjects: list[dict[str, Any]] = [
        {"value": f"text:{key}", "label": label, "fields": {"kind": kinds.TEXT, "subject": key}}
        for key, label in texts.items()
    ]
    subjects += [
        {
            "value": f"question:{criterion.key}",
            "label": _("Question: %(name)s") % {"name": criterion.label},
            "fields": {"kind": kinds.QUESTION, "subject": criterion.key},
        }
        for criterion in participant.study.config.criteria
    ]
    item_set = participant.item_sets.order_by("-number").first()
    ids = [] if item_set is None else item_set.item_ids
    items = Item.objects.in_bulk(ids)
    return subjects + [
        {
            "value": f"item:{pk}",
            "label": f"{participant.study.config.item.name} {number}",
            "fields": {"kind": kinds.ITEM, "item": items[pk]},
        }
        for number, pk in enumerate(ids, start=1)
        if pk in items
    ]
