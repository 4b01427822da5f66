"""Staff pages: a round's files for its platform, which name people by their ids."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST

from evalsite.core.audit.models import AuditEntry
from evalsite.core.csv_download import send_csv
from evalsite.decisions.pay import mark_paid
from evalsite.decisions.pay_files import PayFile, count_left_out, write_block_list, write_files
from evalsite.decisions.platform_exports import (
    Joined,
    apply_statuses,
    fill_export,
    join_table,
    read_table,
)
from evalsite.people.models import ItemSet, Recruitment, Visit
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import may_see_identities, study_page
from evalsite.studies.summary_lines import count_of, format_money, name_start

_EDITOR = Membership.Role.EDITOR


class MarkForm(forms.Form):
    """What a text to paste named: sets, bonuses of sets, and bonuses of visits."""

    set = forms.ModelMultipleChoiceField(ItemSet.objects.none(), required=False)
    bonus = forms.ModelMultipleChoiceField(ItemSet.objects.none(), required=False)
    visit = forms.ModelMultipleChoiceField(Visit.objects.none(), required=False)

    def __init__(self, data: Any, *, recruitment: Recruitment) -> None:
        super().__init__(data)
        sets = ItemSet.objects.filter(study=recruitment.study_id)
        self.fields["set"].queryset = sets  # type: ignore[attr-defined]
        self.fields["bonus"].queryset = sets  # type: ignore[attr-defined]
        self.fields["visit"].queryset = recruitment.visits.all()  # type: ignore[attr-defined]


class ExportForm(forms.Form):
    """A platform's own list of submissions, and the round that it is of."""

    round = forms.IntegerField(
        min_value=1,
        max_value=9_999,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value", "max_value"), "Choose a round."
        ),
    )
    file = forms.FileField(
        allow_empty_file=True, error_messages={"required": "Choose the platform’s file first."}
    )


def _find(request: HttpRequest, study: Study, number: int) -> Recruitment:
    if not may_see_identities(request, study):
        raise PermissionDenied
    recruitment = get_object_or_404(study.recruitments.exclude(number=0), number=number)
    recruitment.study = study
    return recruitment


def _list_files(recruitment: Recruitment) -> list[PayFile]:
    block_list = write_block_list(recruitment)
    return [*write_files(recruitment), *([block_list] if block_list.lines else [])]


def _record(request: HttpRequest, recruitment: Recruitment, files: list[PayFile]) -> None:
    if files:
        AuditEntry.objects.record(
            "identity view",
            by=request.user,
            study_id=recruitment.study_id,
            round=recruitment.number,
            files=[file.key for file in files],
        )


@study_page(
    "invite/<int:number>/pay/", name="round-pay", role=_EDITOR, within="Pay", is_reading=True
)
@require_POST
def show_files(request: HttpRequest, study: Study, number: int) -> HttpResponseBase:
    """Show everything to paste on the round's platform; the log keeps who saw it."""
    recruitment = _find(request, study, number)
    files = _list_files(recruitment)
    _record(request, recruitment, files)
    context = {
        "recruitment": recruitment,
        "platform": recruitment.adapter,
        "files": [(file, format_money(file.total, study.currency)) for file in files],
        "left_out": count_left_out(recruitment),
    }
    return TemplateResponse(request, "decisions/pay_files.html", context)


@study_page(
    "invite/<int:number>/pay/<slug:kind>/", name="round-pay-file", role=_EDITOR, is_reading=True
)
@require_POST
def download_file(request: HttpRequest, study: Study, number: int, kind: str) -> HttpResponseBase:
    """Send one of the files as it is pasted: UTF-8, without a mark at its start."""
    recruitment = _find(request, study, number)
    file = next((file for file in _list_files(recruitment) if file.key == kind), None)
    if file is None:
        raise Http404("This file is empty.")
    _record(request, recruitment, [file])
    name = f"{name_start(study)}_round{number}_{kind}.csv"
    return send_csv(file.text, name, is_personal=True)


@study_page("invite/<int:number>/pay-mark/", name="round-pay-mark", role=_EDITOR)
@require_POST
def mark(request: HttpRequest, study: Study, number: int) -> HttpResponseBase:
    """Mark what one file named as paid: what was decided since stays as it is."""
    recruitment = _find(request, study, number)
    form = MarkForm(request.POST, recruitment=recruitment)
    if not form.is_valid():
        messages.error(request, "Nothing was marked. Show what to paste again, then mark it.")
    elif marked := mark_paid(
        study=study,
        by=request.user,
        **{f"{name}_ids": [row.pk for row in rows] for name, rows in form.cleaned_data.items()},
    ):
        messages.success(request, f"{count_of(marked, 'payment')} marked as paid.")
    # what else is to be pasted is one click from there
    return redirect(f"{redirect('admin:study-pay', study.pk).url}#files")


@study_page("pay/export/", name="pay-export", role=_EDITOR)
@require_POST
def read_export(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Read a platform's list of submissions: mark who is gone, or give it back filled in."""
    form = ExportForm(request.POST, request.FILES)
    if not form.is_valid():
        faults = [str(fault) for faults in form.errors.values() for fault in faults]
        messages.error(request, f"Nothing was changed. {' '.join(faults)}")
        return redirect("admin:study-pay", study.pk)
    recruitment = _find(request, study, form.cleaned_data["round"])
    try:
        if recruitment.adapter.export is None:
            raise ValidationError("This platform has no such file.", code="no_file")
        table = read_table(form.cleaned_data["file"].read())
        joined = join_table(recruitment, table)
    except ValidationError as error:
        messages.error(request, f"Nothing was changed. {' '.join(error.messages)}")
        return redirect("admin:study-pay", study.pk)
    if recruitment.adapter.fills_export:
        return _give_back(request, recruitment, fill_export(recruitment, table, joined))
    messages.success(
        request,
        _describe(apply_statuses(recruitment=recruitment, joined=joined, by=request.user)),
    )
    return redirect("admin:study-pay", study.pk)


def _describe(joined: Joined) -> str:
    known = joined.rows - joined.unknown
    words = [f"{known:,} of {count_of(joined.rows, 'row')} belong to this round."]
    words.append(f"{joined.returned:,} returned, {joined.timed_out:,} timed out.")
    if joined.freed:
        verb = "is" if joined.freed == 1 else "are"
        words.append(f"{count_of(joined.freed, 'place')} {verb} free again.")
    if joined.unfinished:
        words.append(f"{joined.unfinished:,} submitted there without finishing here.")
    return " ".join(words)


def _give_back(request: HttpRequest, recruitment: Recruitment, text: str) -> HttpResponse:
    AuditEntry.objects.record(
        "identity view",
        by=request.user,
        study_id=recruitment.study_id,
        round=recruitment.number,
        files=["export"],
    )
    name = f"{name_start(recruitment.study)}_round{recruitment.number}_decided.csv"
    return send_csv(text, name, is_personal=True)
