"""The staff page of a study's analysis plan."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.quality.exclusion_rules import COMPARISONS, MEASURES
from evalsite.quality.frozen_plans import find_first
from evalsite.quality.models import LEVELS
from evalsite.quality.plan_commitment import write_line
from evalsite.results.analysis_plan.dry_run import list_targets, try_rules
from evalsite.results.analysis_plan.forms import EVERY_PAIR, PlanForm
from evalsite.results.analysis_plan.plan_rows import RELATIONS, PlanRows
from evalsite.results.analysis_plan.stored import (
    Stored,
    change_plan,
    describe_plan,
    limits_of,
    list_analysed,
    read_plan,
)
from evalsite.results.analysis_plan.wording import (
    STOPPING,
    describe_deviation,
    describe_hypothesis,
    describe_margin,
    describe_moment,
    describe_smallest,
    write_limit,
)
from evalsite.results.progress import count_edge
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role

RUN = "run"


@require_http_methods(["GET", "HEAD", "POST"])
def show_analysis_plan(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the plan: how results are compared, raters judged, answers left out.

    It is a form for editors until the launch, and for owners from then on. With `do` rows come or
    go and rules are tried, and nothing is saved; with `reset` the thresholds are the starting
    values again, whatever the fields hold.
    """
    role = Membership.Role.OWNER if study.is_launched else Membership.Role.EDITOR
    may_change = study.state != Study.State.ARCHIVED and has_role(request, study, role)
    if request.method == "POST" and not may_change:
        raise PermissionDenied
    if not may_change:
        stored = read_plan(study)
        context = {**_describe(study, stored), **_describe_size(study, stored)}
        return TemplateResponse(request, "results/plan_read.html", context)
    stored, sent = read_plan(study), request.POST if request.method == "POST" else None
    systems = list(study.systems.order_by("name").values_list("name", flat=True))
    rows = PlanRows.of_plan(study, stored.plan, stored.rules)
    if sent is not None:
        rows = PlanRows.of_post(sent)
    do = request.POST.get("do", "")
    if do:
        form = PlanForm(None, study=study, stored=stored, systems=systems, unsaved=sent)
        rows.act(do, primary=request.POST.get("primary", ""))
    else:
        form = PlanForm(sent, study=study, stored=stored, systems=systems)
    if sent is not None and not do and _save(request, study, form, rows):
        return redirect("admin:study-analysis-plan", study.pk)
    has_errors = not do and bool(form.errors or rows.errors)
    context = {
        "form": form,
        "rows": rows,
        "has_errors": has_errors,
        "relations": RELATIONS,
        "measures": [(key, one.label) for key, one in MEASURES.items()],
        "comparisons": COMPARISONS,
        "criteria": [(one.key, one.label) for one in list_analysed(study)],
        "systems": systems,
        **_describe_size(study, stored),
        **_run(request, study, rows, do),
        **_describe(study, stored),
    }
    status = 422 if has_errors else 200
    return TemplateResponse(request, "results/plan.html", context, status=status)


def _run(request: HttpRequest, study: Study, rows: PlanRows, do: str) -> dict[str, Any]:
    """Return what rules can be tried on, and what they would leave out if that was asked."""
    targets = dict(list_targets(study, request.user))
    context: dict[str, Any] = {"targets": targets, "on": request.POST.get("on", "")}
    if do == RUN:
        rules = rows.clean_rules()
        if not rows.errors:
            context["dry"] = try_rules(study, rules, on=context["on"], targets=targets)
    return context


def _save(request: HttpRequest, study: Study, form: PlanForm, rows: PlanRows) -> bool:
    if "reset" in request.POST:
        form.drop_thresholds()
    is_valid = form.is_valid()
    level = form.cleaned_data.get("level") or LEVELS[0]
    meant = rows.clean(
        study,
        request.POST.get("baseline", ""),
        level=float(level),
        slices=form.cleaned_data.get("slices", ""),
    )
    if not is_valid or rows.errors:
        return False
    try:
        changed = change_plan(
            study=study,
            values=form.values | meant,
            seen=form.cleaned_data["seen"],
            by=request.user,
            reason=form.cleaned_data["reason"],
        )
    except ValidationError as error:
        form.add_error(None, error)
        return False
    messages.success(request, "Saved." if changed else "Nothing was changed.")
    return True


def _describe_size(study: Study, stored: Stored) -> dict[str, Any]:
    """Return the planned numbers, as frozen or as they are now, and when collection stops."""
    first = find_first(stored.versions)
    items = count_edge(study).items
    now = {"items": items, "answers": items * study.k}
    return {
        "planned": (first.content.get("planned") if first else None) or now,
        "stopping": STOPPING[stored.plan.stopping],
    }


def _describe(study: Study, stored: Stored) -> dict[str, Any]:
    """Return what the page shows beside the form, and instead of it to readers."""
    plan = describe_plan(study, stored)
    own = plan["thresholds"]
    return {
        "plan": plan,
        "smallest": describe_smallest(plan) if plan.get("smallest") else "",
        "versions": stored.versions,
        "lines": [(one.number, line) for one in stored.versions if (line := write_line(one))],
        "deviations": list(map(describe_deviation, plan.get("deviations", ()))),
        "hypotheses": [
            *(describe_hypothesis(plan, one) for one in plan.get("hypotheses", ())),
            *(describe_margin(plan, one) for one in plan["margins"]),
        ],
        "compared": f"Each system with {plan['baseline']}" if plan["baseline"] else EVERY_PAIR,
        "primary": next(
            (one.label for one in study.config.criteria if one.key == plan["primary"]), ""
        ),
        "moments": {name: describe_moment(plan, name) for name in plan["moments"]},
        "limits": [
            {
                "limit": limit,
                "value": write_limit(limit, own.get(limit.key, limit.start)),
                "start": write_limit(limit, limit.start),
                "is_own": limit.key in own,
            }
            for limit in limits_of(study)
        ],
    }


plan_views = [
    StudyView(
        path="set-up/plan/",
        name="study-analysis-plan",
        view=show_analysis_plan,
        place="Set up",
        tab="Plan",
        order=42,
    ),
]
