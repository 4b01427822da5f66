"""Staff pages: a round's files for its platform, which name people by their ids."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST

from evalsite.audit.models import AuditEntry
from evalsite.lib.csv_download import send_csv
from evalsite.participants.models import Recruitment
from evalsite.quality.pay import mark_paid
from evalsite.quality.pay_files import PayFile, count_left_out, write_block_list, write_files
from evalsite.quality.pay_views import read_ids
from evalsite.quality.platform_exports import (
    Joined,
    apply_statuses,
    fill_export,
    join_table,
    read_table,
)
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, may_see_identities
from evalsite.studies.summary_lines import count_of, format_money, name_start


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
    return TemplateResponse(request, "quality/pay_files.html", context)


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


@require_POST
def mark(request: HttpRequest, study: Study, number: int) -> HttpResponseBase:
    """Mark what one file named as paid: what was decided since stays as it is."""
    recruitment = _find(request, study, number)
    texts = request.POST.getlist("visit")
    ids = [int(text) for text in texts if text.isascii() and text.isdigit() and len(text) < 19]
    visits = recruitment.visits.filter(pk__in=ids).values_list("pk", flat=True)
    marked = mark_paid(
        study=study,
        by=request.user,
        set_ids=read_ids(request, "set"),
        bonus_ids=read_ids(request, "bonus"),
        visit_ids=list(visits),
    )
    if marked:
        messages.success(request, f"{count_of(marked, 'payment')} marked as paid.")
    # what else is to be pasted is one click from there
    return redirect(f"{redirect('admin:study-pay', study.pk).url}#files")


@require_POST
def read_export(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Read a platform's list of submissions: mark who is gone, or give it back filled in."""
    number = request.POST.get("round", "")
    if not (number.isascii() and number.isdigit() and len(number) < 5):
        messages.error(request, "Choose a round.")
        return redirect("admin:study-pay", study.pk)
    recruitment = _find(request, study, int(number))
    file = request.FILES.get("file")
    try:
        if file is None or recruitment.adapter.export is None:
            raise ValidationError("Choose the platform’s file first.", code="no_file")
        table = read_table(file.read())
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


_EDITOR = Membership.Role.EDITOR

pay_file_views = [
    StudyView(path="pay/export/", name="pay-export", view=read_export, role=_EDITOR),
    StudyView(
        path="invite/<int:number>/pay/",
        name="round-pay",
        view=show_files,
        role=_EDITOR,
        within="Pay",
        is_reading=True,
    ),
    StudyView(
        path="invite/<int:number>/pay/<slug:kind>/",
        name="round-pay-file",
        view=download_file,
        role=_EDITOR,
        is_reading=True,
    ),
    StudyView(path="invite/<int:number>/pay-mark/", name="round-pay-mark", view=mark, role=_EDITOR),
]
