"""Staff pages that send the documents of a study."""

from collections.abc import Callable

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from evalsite.results.document.blocks import Document
from evalsite.results.document.html import render_page
from evalsite.results.document.latex import render_latex
from evalsite.results.documents.appendix import make_appendix
from evalsite.results.documents.ethics import make_ethics
from evalsite.results.report.downloads import send_file
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import name_of_file

_DOCUMENTS: dict[str, Callable[[Study], Document]] = {
    "appendix": make_appendix,
    "ethics": make_ethics,
}
_WRITERS = {"html": render_page, "tex": render_latex}


@study_page("files/documents/<slug:name>.<slug:kind>", name="study-document")
@require_safe
def send_document(request: HttpRequest, study: Study, name: str, kind: str) -> HttpResponseBase:
    """Send a document as a page to read, or as LaTeX."""
    if name not in _DOCUMENTS or kind not in _WRITERS:
        raise Http404("No such document.")
    document = _DOCUMENTS[name](study)
    return send_file(_WRITERS[kind](document), name_of_file(study, f"{name}.{kind}"))
