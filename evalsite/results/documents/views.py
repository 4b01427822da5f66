"""Staff pages that send the documents of a study."""

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from evalsite.results.document.blocks import Document
from evalsite.results.document.html import render_page
from evalsite.results.document.latex import render_latex
from evalsite.results.documents.appendix import make_appendix
from evalsite.results.documents.ethics import make_ethics
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import StudyView
from evalsite.studies.summary_lines import name_start

_DOCUMENTS: dict[str, Callable[[Study], Document]] = {
    "appendix": make_appendix,
    "ethics-application": make_ethics,
}
_FORMATS = {"html": (render_page, "text/html"), "tex": (render_latex, "application/x-tex")}


@require_safe
def send_document(request: HttpRequest, study: Study, name: str, kind: str) -> HttpResponseBase:
    """Send a document as a file: nothing of it runs on this site."""
    if name not in _DOCUMENTS or kind not in _FORMATS:
        raise Http404("No such document.")
    write, media = _FORMATS[kind]
    response = HttpResponse(
        write(_DOCUMENTS[name](study)), content_type=f"{media}; charset=utf-8"
    )  # fmt: skip
    response["Content-Disposition"] = f'attachment; filename="{name_start(study)}-{name}.{kind}"'
    return response


document_views = [
    StudyView(path="documents/<slug:name>.<slug:kind>", name="study-document", view=send_document),
]
