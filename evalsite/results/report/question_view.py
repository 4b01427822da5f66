"""The page of one question, and its tables as files."""

from itertools import takewhile
from typing import Any

from django.db.models import Count, Window
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.core.jobs.live_page import keep_watching
from evalsite.instruments.schema import Criterion
from evalsite.results.comments.written import find_texts
from evalsite.results.document.blocks import (
    Block,
    Document,
    Heading,
    Sentence,
    Table,
    start_sentence,
)
from evalsite.results.document.figures import hold_together
from evalsite.results.document.html import render_html
from evalsite.results.document.latex import write_fragment
from evalsite.results.document.text import write_table_csv
from evalsite.results.report.computation import newest_report
from evalsite.results.report.downloads import name_report_file, send_file
from evalsite.results.report.files import describe_asked, make_source
from evalsite.results.report.newest import open_results
from evalsite.results.report.sections.further import list_figures
from evalsite.results.report.sections.question_page import make_question_page
from evalsite.results.report.sections.questions import tabulate_pairs, tabulate_systems
from evalsite.results.report.sections.spans import tabulate_spans
from evalsite.results.report.source import Source
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, study_page, study_url

_SHOWN = 2  # comments


@study_page(
    "results/questions/<slug:key>/",
    name="results-question",
    within="study-results",
    is_revealing=True,
)
@require_safe
def show_question(request: HttpRequest, study: Study, key: str) -> HttpResponseBase:
    """Show every figure of one question; of a free text what people wrote."""
    criterion = _find_criterion(study, key)
    newest = open_results(study, request.user)
    report = newest.report
    words = find_texts(study).filter(criterion=key)
    count, comments = _list_comments(words)
    context: dict[str, Any] = {
        "asked": describe_asked(criterion),
        "is_text": criterion.scale.family == "text",
        "newest": newest,
        "report": report,
        "can_compute": has_role(request, study, Membership.Role.EDITOR),
        "count": count,
        "comments": comments,
        "comments_url": study_url("results-comments", study),
    }
    if report is not None:
        is_everyone = request.GET.get("people") == "everyone"
        source = make_source(study, report, is_everyone=is_everyone, has_notes=False)
        context |= _describe(source, key)
    response = TemplateResponse(request, "results/question.html", context)
    return keep_watching(response, newest.job)


def _find_criterion(study: Study, key: str) -> Criterion:
    for criterion in study.config.criteria:
        if criterion.key == key:
            return criterion
    raise Http404("No such question.")


def _list_comments(words: Any) -> tuple[int, list[dict[str, Any]]]:
    """Return how many comments there are; the newest with who wrote them, about which output."""
    newest = words.annotate(number=Window(Count("pk"))).order_by("-pk")
    rows = list(
        newest.values_list(
            "number", "words", "annotation__participant__pseudonym", "annotation__item__key",
            "output__system__name",
        )[:_SHOWN]
    )  # fmt: skip
    listed = [
        {"text": text, "pseudonym": pseudonym, "item": item, "system": system}
        for _, text, pseudonym, item, system in rows
    ]
    return (rows[0][0] if rows else 0), listed


def _describe(source: Source, key: str) -> dict[str, Any]:
    """Return the page as HTML: findings below the headline, figures, and further analyses."""
    document = make_question_page(source, key)
    if document is None:
        return {}
    blocks = document.blocks
    findings = [block for block in takewhile(_is_sentence, blocks) if isinstance(block, Sentence)]
    end = next(
        (place for place, block in enumerate(blocks)
         if isinstance(block, Heading) and block.anchor == "further"), len(blocks),
    )  # fmt: skip
    whole = source.content["all"]
    return {
        "title": document.title,
        "findings": hold_together(" ".join(sentence.text for sentence in findings)),
        "figures": render_html(Document("", blocks[len(findings) : end]), is_folded=True),
        "further": render_html(Document("", blocks[end + 1 :]), is_folded=True),
        "tables": [(table.name, name_table(table)) for table in list_tables(source, key)],
        "everyone": source.is_everyone,
        "used": source.content["kept"]["data"]["annotations"],
        "whole": whole and whole["data"]["annotations"],
        "excluded": sum(number for _, number in source.facts.exclusions),
    }


def _is_sentence(block: Block) -> bool:
    return isinstance(block, Sentence)


# --- files --------------------------------------------------------------------------------------


def list_tables(source: Source, key: str) -> list[Table]:
    """List the tables of a question as files have them, with every figure in its own column."""
    question = source.find_criterion(key)
    criteria = [question] if question else source.list_options(key)
    tables: list[Table] = []
    for criterion in criteria:
        if criterion.systems:
            tables.append(tabulate_systems(criterion))
        if criterion.pairs:
            tables.append(tabulate_pairs(criterion, criterion.pairs))
        if figures := criterion.stored["agreement"]:
            name = f"{criterion.key}-agreement"
            caption = f"{criterion.label}: agreement"
            tables.append(list_figures(name, caption, figures, criterion=criterion.key))
        if spans := criterion.stored.get("spans"):
            tables += tabulate_spans(criterion.key, criterion.label, spans, criterion.names)
    return tables


def name_table(table: Table) -> str:
    return start_sentence(table.caption.partition(".")[0])


@study_page(
    "results/questions/<slug:key>/<slug:name>.<slug:kind>",
    name="results-question-table",
    within="study-results",
    is_revealing=True,
)
@require_safe
def send_question_table(
    request: HttpRequest, study: Study, key: str, name: str, kind: str
) -> HttpResponseBase:
    """Send a table of the question as CSV with every digit; or all of them as LaTeX."""
    report = newest_report(study)
    if report is None:
        raise Http404("No such table.")
    is_everyone = request.GET.get("people") == "everyone"
    tables = list_tables(make_source(study, report, is_everyone=is_everyone), key)
    if kind == "tex" and name == "tables" and tables:
        content = f"{write_fragment(tables)}\n"
        return send_file(content, name_report_file(study, report, f"{key}.tex"))
    table = next((table for table in tables if table.name == name), None)
    if table is None or kind != "csv":
        raise Http404("No such table.")
    return send_file(write_table_csv(table), name_report_file(study, report, f"{name}.csv"))
