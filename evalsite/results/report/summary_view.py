"""The page of the summary: is the planned question answered, and what goes into the paper?"""

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.core.jobs.live_page import keep_watching
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.job import name_bundle
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.people.names import name_people
from evalsite.results.comments.written import list_furthest
from evalsite.results.document.blocks import Document, Heading, Sentence
from evalsite.results.document.charts import draw_decision, write_paper
from evalsite.results.document.html import render_html
from evalsite.results.document.latex import write_fragment
from evalsite.results.document.text import write_markdown_table, write_table_csv
from evalsite.results.hidden_page import show_hidden
from evalsite.results.navigation import find_question_url
from evalsite.results.report.computation import start_analysis
from evalsite.results.report.files import make_source
from evalsite.results.report.newest import Newest, open_results
from evalsite.results.report.sections.findings import find_headline, make_paper
from evalsite.results.report.sections.limits import make_limits
from evalsite.results.report.sections.methods import make_methods, make_plan
from evalsite.results.report.sections.summary import (
    Card,
    describe_correction,
    describe_counts,
    describe_data,
    describe_method,
    describe_reasons,
    list_cards,
    list_findings,
)
from evalsite.results.report.source import Source, list_decisions
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, study_page

# where a reader of this warning goes on: the page, and what the link says
_FURTHER = {
    "missing_by_system": ("results-design", "Design"),
    "verdict_changes": ("study-exclusions", "Exclusions"),
    "low_alpha": ("results-items", "Read the items they differ on most"),
    "ceiling": ("results-raters", "Raters"),
    "copied": ("results-raters", "Raters"),
    "order": ("results-design", "Design"),
    "no_plan": ("setup-plan", "Plan"),
    "not_equal": ("results-design", "Design"),
}
# whose second part explains the first
_TWO_PARTS = ("no_plan", "not_equal", "few_people", "unfinished", "fine")
# of the report only
_OF_THE_REPORT = ("scope",)
# said above the headline
_ABOVE = ("simulated",)


@study_page("results/", name="study-results", place="Results", tab="Summary", order=68)
@require_safe
def show_summary(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what was found, the table for a paper, and what to know before citing it."""
    newest = open_results(study, request.user)
    if is_hidden(study):
        return show_hidden(request, study, newest)
    context: dict[str, Any] = {
        "newest": newest,
        "report": newest.report,
        "can_compute": has_role(request, study, Membership.Role.EDITOR),
        "title": _head_empty(newest),
    }
    if newest.report is not None:
        is_everyone = request.GET.get("people") == "everyone"
        source = make_source(study, newest.report, is_everyone=is_everyone, has_notes=False)
        context |= describe_summary(study, source, newest)
        first = source.criteria[0].key if source.criteria else ""
        context["remarks"] = list_furthest(study, first, is_everyone=source.is_everyone)
        context["people_names"] = name_people(request, study) if context["remarks"] else {}
    response = TemplateResponse(request, "results/summary.html", context)
    return keep_watching(response, newest.job)


def _head_empty(newest: Newest) -> str:
    """Return the headline of a page without results."""
    if not newest.done:
        return "No answers yet"
    if newest.has_few_answers:
        return f"Too few answers to tell: {newest.done:,} of {newest.target:,}"
    return "No results yet" if newest.has_failed else "Computing the results"


def describe_summary(study: Study, source: Source, newest: Newest) -> dict[str, Any]:
    """Return what the summary shows; `document` has all of its figures."""
    has_gate = any(
        decision.relation == "not_worse"
        for criterion in source.criteria
        for decision in list_decisions(criterion)
    )
    cards = list_cards(source, bundle=name_bundle(study, Contents()) if has_gate else "")
    code, title = find_headline(source)
    findings = list_findings(source, lambda key: find_question_url(study, key))
    paper = make_paper(source) if source.criteria else None
    limits = [block for block in make_limits(source) if isinstance(block, Sentence)]
    limits = [block for block in limits if block.place == "main"]
    lede = describe_counts(source, newest.target, closed_at=study.closed_at)
    correction, reasons = describe_correction(source), describe_reasons(source)
    method = describe_method(source)
    computed = [*make_methods(source), *make_plan(source), *describe_data(source)]
    computed = [block for block in computed if not isinstance(block, Heading)]
    parts = [lede, *(block for card in cards for block in card.blocks), correction, *findings,
             paper, *limits, reasons, method, *computed]  # fmt: skip
    return {
        "document": Document(title, [part for part in parts if part is not None]),
        "code": code,
        "title": title,
        "lede": lede.text,
        "cards": [_draw(card) for card in cards],
        "has_open": any(card.outcome == "open" for card in cards),
        "is_collecting": study.state in (Study.State.LIVE, Study.State.PAUSED),
        "deviations": len(source.plan.get("deviations") or ()),
        "correction": correction,
        "findings": render_html(Document("", findings)),
        "paper": paper and write_paper(paper),
        "copies": [] if paper is None else [
            {"key": "tex", "name": "LaTeX", "text": write_fragment([paper])},
            {"key": "md", "name": "Markdown", "text": write_markdown_table(paper)},
            {"key": "csv", "name": "CSV", "text": write_table_csv(paper)},
        ],
        "simulated": next((limit.text for limit in limits if limit.code in _ABOVE), ""),
        "limits": list(_list_limits(study, limits)),
        "reasons": reasons,
        "computed": render_html(Document("", computed)),
        "computed_in_short": method.text,
        "has_orders": any(criterion.family.orders for criterion in source.criteria),
        **count_exclusions(source),
    }  # fmt: skip


def count_exclusions(source: Source) -> dict[str, Any]:
    """Return what the switch says between results without and with what is excluded."""
    whole = source.content["all"]
    return {
        "everyone": source.is_everyone,
        "used": source.content["kept"]["data"]["annotations"],
        "whole": whole and whole["data"]["annotations"],
    }


def _draw(card: Card) -> dict[str, Any]:
    return {
        "answer": card.answer,
        "judge": card.judge,
        "outcome": card.outcome,
        "is_open": bool(card.facts),
        "drawing": card.chart and draw_decision(card.chart),
        "facts": card.facts,
        "people": card.people,
        "answers_each": card.answers_each,
        "plan": card.plan,
        "command": card.command,
    }


def _list_limits(study: Study, limits: list[Sentence]) -> Iterator[dict[str, Any]]:
    """Yield what to know before citing: the first sentence, the rest, and a link."""
    for limit in limits:
        if limit.code in (*_OF_THE_REPORT, *_ABOVE):
            continue
        end = ": " if limit.code in _TWO_PARTS else ". "
        lead, _, rest = limit.text.partition(end)
        page, label = _FURTHER.get(limit.code, ("", ""))
        yield {
            "is_fine": limit.kind == "note",
            "lead": lead.removesuffix("."),
            "rest": rest[:1].upper() + rest[1:],
            "url": reverse(f"admin:{page}", args=[study.pk]) if page else "",
            "label": label,
        }


@study_page(
    "results/compute/",
    name="study-results-compute",
    role=Membership.Role.EDITOR,
    within="Summary",
    is_reading=True,
)
@require_POST
def compute_results(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Compute the results again: after a failure, or because somebody asks for it."""
    try:
        start_analysis(study=study, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("admin:study-results", study.pk)
