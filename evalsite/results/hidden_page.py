"""The page while systems are hidden: precision and agreement, and the form that reveals results."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import exp
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from evalsite.analysis.figure import Figure
from evalsite.core.jobs.live_page import keep_watching
from evalsite.decisions.frozen_plans import is_hidden, reveal_results
from evalsite.decisions.models import MOST_LETTERS, ExclusionRule
from evalsite.fieldwork.launch import find_held
from evalsite.lib.counts import count_together
from evalsite.results.design.precision import find_projection
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Document,
    Heading,
    Table,
    isolate,
)
from evalsite.results.document.figures import make_figure, write_interval, write_number, write_value
from evalsite.results.document.html import render_html
from evalsite.results.models import Report
from evalsite.results.people.flags import count_raised
from evalsite.results.progress import count_edge
from evalsite.results.report.newest import Newest, open_results
from evalsite.results.report.source import Criterion
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.staff_pages import has_role, study_page

# --- blocks


def make_hidden(
    criteria: list[Criterion], projection: Mapping[str, Any] | None, target: int
) -> Iterator[Block]:
    """Yield how wide intervals are and will be, and how far people agree."""
    precise = [
        (criterion, figure) for criterion in criteria if (figure := criterion.precision) is not None
    ]
    if precise:
        yield Heading("Precision", 2, "precision")
        yield from _tabulate_precision(precise, projection, target)
    alphas = [
        replace(alpha, group=(("question", criterion.label),))
        for criterion in criteria
        if (alpha := criterion.alpha) is not None and alpha.value is not None
    ]
    if alphas:
        yield Heading("Agreement", 2, "agreement")
        yield Chart(
            "agreement", "intervals", "Krippendorff’s α with 95% CI", alphas, place="page",
        )  # fmt: skip


def _tabulate_precision(
    precise: list[tuple[Criterion, Figure]], projection: Mapping[str, Any] | None, target: int
) -> Iterator[Block]:
    rows, marks, rings = [], [], []
    for criterion, figure in precise:
        name = (("question", criterion.label),)
        expected = find_expected(criterion, projection)
        exact = 1.0 if figure.unit == "ratio" else 0.0
        marks.append(replace(figure, low=exact, high=figure.value, group=name))
        if expected is not None:
            rings.append(replace(expected, group=name))
        role = "primary" if criterion.role == "primary" else ""
        rows.append([
            Cell(isolate(criterion.label), below=role),
            Cell(write_half(figure), (figure,)),
            "–" if expected is None else Cell(write_half(expected), (expected,)),
        ])  # fmt: skip
    later = f"With all {target:,}"
    caption = "Half-width of the 95% interval of a planned comparison; of several, of the widest"
    columns = [Column("Question", is_number=False), Column("Now"), Column(later)]
    if not rings:
        rows, columns = [row[:-1] for row in rows], columns[:-1]
    yield Table("precision", caption, columns, rows, place="page")
    yield Chart(
        "precision", "intervals", caption, marks, rings=rings, place="page",
        ring_label=f"expected with all {target:,} answers",
    )  # fmt: skip


def find_expected(
    criterion: Criterion, projection: Mapping[str, Any] | None
) -> Figure | None:  # fmt: skip
    """Return how wide the widest interval will be once all answers are in."""
    options = ((projection or {}).get("criteria") or {}).get(criterion.key, {}).get("options", ())
    half = next((option["half"] for option in options if option["key"] == "planned"), None)
    if half is None or (now := criterion.precision) is None:
        return None
    value = exp(half) if now.unit == "ratio" else half
    return make_figure("precision_expected", value, dict(now.group), unit=now.unit)


def write_half(figure: Figure) -> str:
    """Write "± 0.23", "± 12 points", or the factor of a ratio."""
    if figure.unit == "ratio":
        return f"× {write_number(figure.value, 'ratio')}"
    unit = " points" if figure.unit == "difference in shares" else ""
    return f"± {write_number(figure.value, figure.unit)}{unit}"


# --- the page


class RevealForm(forms.Form):
    """Why results are revealed early, if there is a reason."""

    reason = forms.CharField(
        required=False,
        max_length=MOST_LETTERS,
        error_messages={
            "max_length": f"Give the reason in {MOST_LETTERS} characters or fewer.",
            "null_characters_not_allowed": "Enter a reason in plain characters.",
        },
    )


def show_hidden(
    request: HttpRequest, study: Study, newest: Newest, form: RevealForm | None = None
) -> HttpResponseBase:
    """Show counts, precision and agreement, and until when systems are hidden."""
    report, edge = newest.report, count_edge(study)
    counts = count_together(
        at_work=find_held(study),
        rules=ExclusionRule.objects.current().filter(study=study),
        held=Item.objects.filter(study=study, held_at__isnull=False),
    )
    context: dict[str, Any] = {
        "form": form or RevealForm(),
        "newest": newest,
        "report": report,
        "can_compute": has_role(request, study, Membership.Role.EDITOR),
        "is_owner": has_role(request, study, Membership.Role.OWNER),
        "edge": edge,
        "comments_url": reverse("admin:results-comments", args=[study.pk]),
        "items_url": reverse("admin:results-items", args=[study.pk]),
        **counts,
    }
    if report is not None:
        projection = find_projection(study, report, newest.job)
        context |= describe_report(report, projection, edge.target)
    status = 422 if form is not None else 200
    response = TemplateResponse(request, "results/hidden.html", context, status=status)
    return keep_watching(response, newest.job)


def describe_report(
    report: Report, projection: dict[str, Any] | None, target: int
) -> dict[str, Any]:  # fmt: skip
    """Return what a report says without its systems: its facts first, then each question."""
    kept, whole = report.content["kept"], report.content["all"]
    criteria = [Criterion(stored) for stored in kept["criteria"]]
    people = kept["data"]["participants"]
    first = criteria[0] if criteria else None
    expected = first and find_expected(first, projection)
    document = Document("", list(make_hidden(criteria, projection, target)))
    return {
        "used": kept["data"]["annotations"],
        "done": (report.content.get("collection") or {}).get("done"),
        "excluded": whole["data"]["participants"] - people if whole else 0,
        "people": people,
        "flagged": count_raised(report),
        "precision": first and first.precision and write_half(first.precision),
        "expected": expected and write_half(expected),
        "agreement": first and first.alpha and write_value(first.alpha),
        "agreement_interval": first and first.alpha and write_interval(first.alpha),
        "document": document,
        "body": render_html(document),
    }


@study_page(
    "results/reveal/", name="study-results-reveal", role=Membership.Role.OWNER, within="Summary"
)
@require_POST
def reveal(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show results by system from now on."""
    form = RevealForm(request.POST)
    if not form.is_valid() and is_hidden(study):
        return show_hidden(request, study, open_results(study, request.user), form)
    reason = form.cleaned_data.get("reason", "")
    if reveal_results(study=study, by=request.user, reason=reason):
        messages.success(
            request, "Results are revealed. The report says when, and by how many answers."
        )
    else:
        messages.info(request, "Results were shown already. Nothing was changed.")
    return redirect("admin:study-results", study.pk)
