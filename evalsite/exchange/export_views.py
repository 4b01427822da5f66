"""Staff pages of export: what can be taken out, the files, and the codebook."""

from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from evalsite.audit.models import AuditEntry
from evalsite.exchange.codebook import PANDAS, list_chapters, write_codebook
from evalsite.exchange.columns import list_files
from evalsite.exchange.exporting import Choice, count_rows, has_simulated, name_file, stream_file
from evalsite.exchange.upload_views import send_csv
from evalsite.studies.models import Study

_EXPORTS_SHOWN = 10


@require_safe
def show_export(request: HttpRequest, study: Study) -> HttpResponseBase:
    entries = AuditEntry.objects.filter(study_id=study.pk, action="data exported")
    context = {
        "counts": count_rows(study),
        "pilot_counts": count_rows(study, with_pilot=True),
        "is_simulated": has_simulated(study),
        "exports": entries[:_EXPORTS_SHOWN],
        "pandas": PANDAS,
    }
    return TemplateResponse(request, "exchange/export.html", context)


@require_POST
def download_file(request: HttpRequest, study: Study, file: str) -> HttpResponseBase:
    """The file as a stream. By POST, since the log keeps what was taken, by whom."""
    if file not in list_files(study.config):
        raise Http404("No such file.")
    choice = Choice(
        file=file,
        for_spreadsheets=request.POST.get("for") == "spreadsheets",
        with_pilot=request.POST.get("pilot") == "yes",
    )
    response = StreamingHttpResponse(
        stream_file(study, choice, by=request.user), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{name_file(study, choice)}"'
    return response


@require_safe
def show_codebook(request: HttpRequest, study: Study) -> HttpResponseBase:
    context = {"chapters": list_chapters(study.config), "pandas": PANDAS}
    return TemplateResponse(request, "exchange/codebook.html", context)


@require_safe
def download_codebook(request: HttpRequest, study: Study) -> HttpResponseBase:
    return send_csv(write_codebook(study.config), f"{study.protocol}-codebook.csv")
