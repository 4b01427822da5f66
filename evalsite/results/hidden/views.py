"""Results while systems are hidden: how good the data are, and the form that reveals them."""

from math import sqrt
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST

from evalsite.annotation.running.launch import find_held
from evalsite.jobs.live_page import keep_watching
from evalsite.lib.counts import count_together
from evalsite.quality.frozen_plans import find_version, is_hidden, reveal_results
from evalsite.quality.models import MOST_LETTERS, ExclusionRule
from evalsite.results.document.figures import write_figure
from evalsite.results.models import Report
from evalsite.results.people.flags import count_raised
from evalsite.results.power.own_study import find_projection, write_expected
from evalsite.results.progress import count_edge
from evalsite.results.report.newest import Newest, open_results
from evalsite.results.report.source import Criterion
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role


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
    report, job = newest.report, newest.job
    edge = count_edge(study)
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
        "plan_version": find_version(study),
        "edge": edge,
        "at_work": counts["at_work"],
        "rules": counts["rules"],
        "held": counts["held"],
        "hidden": None
        if report is None
        else describe_report(report, find_projection(study, report, job)),
    }
    status = 422 if form is not None else 200
    response = TemplateResponse(request, "results/hidden.html", context, status=status)
    return keep_watching(response, job)


def describe_report(report: Report, projection: dict[str, Any] | None) -> dict[str, Any]:
    """Return what a report says without its systems."""
    kept = report.content["kept"]
    criteria = [Criterion(stored) for stored in kept["criteria"]]
    return {
        "used": kept["data"]["annotations"],
        "flagged": count_raised(report),
        "criteria": [
            {
                "criterion": criterion,
                "agreement": write_figure(alpha)
                if (alpha := criterion.alpha) and alpha.value is not None
                else "",
                "precision": _find_precision(criterion),
                "later": write_expected(projection, criterion.stored) if projection else "",
            }
            for criterion in criteria
        ],
    }


def _find_precision(criterion: Criterion) -> str:
    """Return how far the widest interval of a difference reaches, in words; "" of none."""
    figures = [pair.difference for pair in criterion.pairs]
    known = [(one.low, one.high) for one in figures if one.low is not None and one.high is not None]
    if not known:
        return ""
    if criterion.difference_unit == "ratio":
        factor = max(sqrt(high / low) for low, high in known if low > 0)
        return f"× {factor:.2f}"
    half = max(high - low for low, high in known) / 2
    if criterion.difference_unit == "difference in shares":
        return f"±{100 * half:.0f} percentage points"
    return f"±{half:.2f}"


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


hidden_views = [
    StudyView(
        path="results/reveal/",
        name="study-results-reveal",
        view=reveal,
        role=Membership.Role.OWNER,
        within="Summary",
    ),
]
