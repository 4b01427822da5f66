"""Staff pages of what can change after launch: an item, a text, the name of a system.

Each says what would happen above its button, so nothing asks a second time.
"""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.decisions.frozen_plans import is_hidden
from evalsite.decisions.system_names import MOST_CHARACTERS, rename_system
from evalsite.fieldwork.item_changes import (
    correct_output,
    digest_text,
    is_answered,
    put_item_back,
    withdraw_item,
)
from evalsite.handout.models import Annotation, Slot
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import LONGEST_REASON, Change, Item, Membership, Output, Study, System
from evalsite.studies.staff_pages import has_role, study_page

INVALID = 422
_EDITOR, _OWNER = Membership.Role.EDITOR, Membership.Role.OWNER


class ReasonForm(forms.Form):
    """Why something is changed after launch."""

    reason = forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        help_text="Reports and bundles print it. Participants don’t see it.",
        error_messages={"required": "Enter a reason."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        use_our_words(self.fields.values())


class CorrectionForm(ReasonForm):
    """The corrected text; `seen` is the digest of the text that it replaces."""

    text = forms.CharField(
        label="Text",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto", "class": "serif"}),
        error_messages={"required": "Enter the text."},
    )
    seen = forms.CharField(widget=forms.HiddenInput)
    field_order = ("text", "reason", "seen")


class NameForm(forms.Form):
    name = forms.CharField(
        label="Name",
        max_length=MOST_CHARACTERS,
        help_text="Results and files show it. Participants never see it.",
        error_messages={"required": "Enter a name."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        use_our_words(self.fields.values())


@study_page("overview/items/<int:item_id>/", name="study-item", within="Overview")
@require_safe
def show_item(request: HttpRequest, study: Study, item_id: int) -> HttpResponseBase:
    """Show an item with its texts, and what was changed in it."""
    item = _get_item(study, item_id)
    is_open = study.is_launched and study.state != Study.State.ARCHIVED
    context = {
        **_describe(item),
        "inputs": _list_inputs(study, item),
        "outputs": item.outputs.select_related("system").order_by("position"),
        "is_blind": is_hidden(study),
        "changes": item.changes.select_related("instead_of", "by"),
        "replacement": Change.objects.filter(instead_of=item).select_related("item").first(),
        "can_withdraw": is_open and has_role(request, study, _EDITOR),
        "can_correct": is_open and not study.has_ended and has_role(request, study, _OWNER),
    }
    return TemplateResponse(request, "decisions/item.html", context)


@study_page(
    "overview/items/<int:item_id>/withdraw/", name="item-withdraw", role=_EDITOR, within="Overview"
)
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest, study: Study, item_id: int) -> HttpResponseBase:
    """Show what withdrawing this item does, and do it."""
    item = _get_item(study, item_id)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        reason = form.cleaned_data["reason"]
        if _try(form, lambda: withdraw_item(item=item, reason=reason, by=request.user)):
            messages.success(request, f"{item.key} is withdrawn.")
            return redirect("admin:study-item", study.pk, item.pk)
        if not form.errors:
            messages.info(request, f"{item.key} was withdrawn before. Nothing was changed.")
            return redirect("admin:study-item", study.pk, item.pk)
    context = {**_describe(item), "form": form}
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "decisions/item_withdraw.html", context, status=status)


@study_page(
    "overview/items/<int:item_id>/put-back/", name="item-put-back", role=_EDITOR, within="Overview"
)
@require_http_methods(["GET", "HEAD", "POST"])
def put_back(request: HttpRequest, study: Study, item_id: int) -> HttpResponseBase:
    """Show what putting this item back does, and do it."""
    item = _get_item(study, item_id)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        reason = form.cleaned_data["reason"]
        if _try(form, lambda: put_item_back(item=item, reason=reason, by=request.user)):
            messages.success(request, f"{item.key} is back. Its places are being made.")
            return redirect("admin:study-item", study.pk, item.pk)
        if not form.errors:
            messages.info(request, f"{item.key} isn’t withdrawn. Nothing was changed.")
            return redirect("admin:study-item", study.pk, item.pk)
    context = {**_describe(item), "form": form}
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "decisions/item_put_back.html", context, status=status)


@study_page(
    "overview/items/<int:item_id>/outputs/<int:number>/",
    name="output-correct",
    role=_OWNER,
    within="Overview",
)
@require_http_methods(["GET", "HEAD", "POST"])
def correct(request: HttpRequest, study: Study, item_id: int, number: int) -> HttpResponseBase:
    """Show what correcting this text does, and do it."""
    item = _get_item(study, item_id)
    output: Output = get_object_or_404(item.outputs.select_related("system"), position=number - 1)
    form = CorrectionForm(
        request.POST if request.method == "POST" else None,
        initial={"text": output.text, "seen": digest_text(output.text)},
    )
    if form.is_bound and form.is_valid():
        values = {name: form.cleaned_data[name] for name in ("text", "reason", "seen")}
        change = _try(form, lambda: correct_output(output=output, by=request.user, **values))
        if change is not None:
            messages.success(request, "The text is corrected.")
            return redirect("admin:study-item", study.pk, change.item_id)
        if not form.errors:
            messages.info(request, "The text is as it was. Nothing was changed.")
            return redirect("admin:study-item", study.pk, item.pk)
    context = {
        **_describe(item), "form": form, "output": output, "number": number,
        "is_answered": is_answered(item),
    }  # fmt: skip
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "decisions/output_correct.html", context, status=status)


@study_page(
    "overview/systems/<int:system_id>/", name="system-rename", role=_OWNER, within="Overview"
)
@require_http_methods(["GET", "HEAD", "POST"])
def rename(request: HttpRequest, study: Study, system_id: int) -> HttpResponseBase:
    """Show what another name of this system does, and give it."""
    system = get_object_or_404(System, study=study, pk=system_id)
    form = NameForm(
        request.POST if request.method == "POST" else None, initial={"name": system.name}
    )
    if form.is_bound and form.is_valid():
        name = form.cleaned_data["name"]
        renamed = _try(form, lambda: rename_system(study, system, name, request.user))
        if renamed is not None:
            messages.success(request, f"The system is called {renamed.name}.")
            return redirect("admin:study-progress", study.pk)
    context = {"system": system, "form": form}
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "decisions/system_rename.html", context, status=status)


def _try(form: forms.Form, act: Callable[[], Any]) -> Any:
    """Return what the service returns; what it refuses becomes an error of the form."""
    try:
        return act()
    except ValidationError as error:
        form.add_error(None, error)
        return None


def _get_item(study: Study, item_id: int) -> Item:
    item: Item = get_object_or_404(Item.objects.planned(), study=study, pk=item_id)
    # what the header has read already
    item.study = study
    return item


def _describe(item: Item) -> dict[str, Any]:
    """Return what each page says of an item: its answers, and who has it now."""
    status = Annotation.Status
    answers = item.annotations.agreed().exclude(status__in=(status.PILOT, status.SKIPPED))
    return {
        "item": item,
        "is_withdrawn": item.kind == Item.Kind.WITHDRAWN,
        "answers": answers.count(),
        "people": Slot.objects.leased().filter(item=item).count(),
    }


def _list_inputs(study: Study, item: Item) -> list[tuple[str, str]]:
    """Return the label and the text of each input."""
    labels = {column.name: column.label for column in study.config.columns}
    return [(labels.get(name, name), str(text)) for name, text in item.inputs.items()]
