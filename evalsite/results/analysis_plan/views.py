"""Set up, Plan: what a study is to decide, what is left out, and whether results are hidden."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.formats import date_format
from django.views.decorators.http import require_http_methods

from evalsite.core.accounts.time_zones import zone_of
from evalsite.decisions.exclusion_rules import Condition, Outcome, join_outcomes, run_rules
from evalsite.decisions.frozen_plans import find_first
from evalsite.decisions.models import LEVELS
from evalsite.decisions.person_measures import measure_people
from evalsite.decisions.plan_commitment import write_line
from evalsite.fieldwork.setup import PAGE_NAMES
from evalsite.fieldwork.setup_page import (
    CONTINUE,
    PREVIEW,
    choose_status,
    describe_page,
    find_next,
)
from evalsite.results.analysis_plan.forms import LimitsForm, PlanForm
from evalsite.results.analysis_plan.plan_rows import PlanRows
from evalsite.results.analysis_plan.sizes import Size, measure_questions
from evalsite.results.analysis_plan.stored import (
    Stored,
    change_plan,
    describe_plan,
    find_level,
    limits_of,
    read_plan,
)
from evalsite.results.analysis_plan.wording import (
    LIMITS,
    STOPPING,
    describe_deviation,
    describe_hypothesis,
    describe_margin,
    describe_moment,
    describe_smallest,
    write_limit,
)
from evalsite.results.progress import count_edge
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.settings import PAGES
from evalsite.studies.staff_pages import has_role, study_page
from evalsite.studies.summary_lines import count_of

# --- the exclusion rule tried on the answers that are in

THIS, PILOT = "this", "pilot"
_MOST_STUDIES = 20


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """What rules would leave out of some answers."""

    name: str
    people: int
    answers: int
    items: int
    outcomes: list[Outcome]

    @property
    def together(self) -> Outcome:
        return join_outcomes(self.outcomes)


def list_targets(study: Study, user: Any, *, has_pilots: bool) -> list[tuple[str, str]]:
    """Return what rules can be tried on: own answers, and studies with the same questions."""
    choices = []
    if count_edge(study).done:
        choices.append((THIS, "This study’s answers"))
    if has_pilots:
        choices.append((PILOT, "Your pilot"))
    asked = [criterion.key for criterion in study.config.criteria]
    studies = Study.objects.visible_to(user).filter(protocol=study.protocol)
    studies = studies.filter(launched_at__isnull=False).exclude(pk=study.pk)
    for other in studies.select_related("version").order_by("-launched_at")[:_MOST_STUDIES]:
        if [criterion.key for criterion in other.config.criteria] == asked:
            choices.append((str(other.pk), other.title))
    return choices


def try_rules(
    study: Study, rules: Sequence[Sequence[Condition]], *, on: str, targets: dict[str, str]
) -> DryRun | None:
    """Try these rules on what was chosen; None of anything that isn't offered."""
    if on not in targets:
        return None
    chosen = study if on in (THIS, PILOT) else Study.objects.get(pk=on)
    people = measure_people(chosen, pilots=on == PILOT)
    return DryRun(
        name=targets[on],
        people=len(people),
        answers=sum(len(person.items) or person.answers for person in people.values()),
        items=Item.objects.main().filter(study=chosen).count(),
        outcomes=run_rules(list(rules), people),
    )


# --- the page

RUN = "run"
_INVALID = 422


@study_page("set-up/plan/", name="setup-plan", place="Set up", tab=PAGES["plan"], order=42)
@require_http_methods(["GET", "HEAD", "POST"])
def show_plan(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the plan: a form for editors until the launch, and for owners from then on.

    Some buttons add or remove a row, or try the rules: nothing is saved then.
    """
    stored = read_plan(study)
    if not may_change_plan(request, study):
        context = _describe_for_readers(study, stored)
        return TemplateResponse(request, "results/plan_read.html", context)
    data = request.POST if request.method == "POST" else None
    targets = dict(list_targets(study, request.user, has_pilots=stored.has_pilots))
    form = PlanForm(
        data, instance=copy(study), zone=zone_of(request.user), stored=stored, targets=targets
    )
    rows = PlanRows(study, stored, data)
    is_checked = form.is_bound and not rows.act(form.action) and form.action not in (PREVIEW, RUN)
    if is_checked and _save(request, study, form, rows):
        name = find_next("plan") if form.action == CONTINUE else PAGE_NAMES["plan"]
        return redirect(f"admin:{name}", study.pk)
    context = describe_page(study, form)
    has_faults = is_checked and not rows.is_valid()
    smallest, level = _read_aims(form, stored)
    sizes = measure_questions(study, rows.meant, smallest=smallest, level=level)
    context |= {
        "rows": rows,
        "has_errors": is_checked and (context["has_errors"] or has_faults),
        "more": _describe_more(form, rows),
        "judges": sorted({name for name, _ in rows.judges}),
        "prompts": sorted({prompt for _, prompt in rows.judges} - {""}),
        # a button of a row, or a fault, is there
        "opens_more": form.action.startswith(("add-rule", "remove-rule", "and-", "drop-"))
        or (is_checked and bool(form.errors or rows.conditions.errors)),
        "sizes": sizes,
        "headline": _write_headline(study, stored, rows.meant, sizes),
        "is_hidden": stored.is_hidden,
        "dry": _try_rules(study, form, rows, targets) if form.action == RUN else None,
        **_describe_frozen(study, stored),
    }
    status = choose_status(context)
    return TemplateResponse(request, "results/setup_plan.html", context, status=status)


def may_change_plan(request: HttpRequest, study: Study) -> bool:
    """Return whether this person may; PermissionDenied if they try and may not."""
    role = Membership.Role.OWNER if study.is_launched else Membership.Role.EDITOR
    may_change = study.state != Study.State.ARCHIVED and has_role(request, study, role)
    if request.method == "POST" and not may_change:
        raise PermissionDenied
    return may_change


def _save(request: HttpRequest, study: Study, form: PlanForm, rows: PlanRows) -> bool:
    if not (form.is_valid() & rows.is_valid()):
        return False
    try:
        with transaction.atomic():
            changed = change_plan(
                study=study,
                values=form.read_plan(rows.meant, rows.read_rules()),
                seen=form.cleaned_data["plan_seen"],
                by=request.user,
                reason=form.cleaned_data.get("reason", ""),
            )
            if not form.is_frozen:
                change_settings(
                    study=study,
                    values=form.values(),
                    seen=form.cleaned_data["seen"],
                    by=request.user,
                )
    except ValidationError as error:
        form.add_error(None, error)
        return False
    is_changed = changed or form.values()["hides_results"] != study.hides_results
    messages.success(request, "Saved." if is_changed else "Nothing was changed.")
    return True


def _try_rules(study: Study, form: PlanForm, rows: PlanRows, targets: dict[str, str]) -> Any:
    """Return what the rules would leave out of the answers that were chosen; None: a mistake."""
    if not rows.conditions.is_valid():
        return None
    chosen = str(form["on"].value()) if targets else ""
    return try_rules(study, rows.read_rules(), on=chosen, targets=targets)


def _read_aims(form: PlanForm, stored: Stored) -> tuple[float | None, float]:
    """Return the smallest difference that matters and the level of margins, as typed if valid."""
    if not form.is_bound:
        return stored.plan.smallest, find_level(stored.plan)
    form.is_valid()
    smallest, level = (form.cleaned_data.get(name) for name in ("smallest", "level"))
    return None if smallest is None else float(smallest), float(level or LEVELS[0])


def _write_headline(
    study: Study, stored: Stored, questions: Sequence[Any], sizes: Sequence[Size]
) -> str:
    if stored.versions:
        newest = stored.versions[-1]
        if not newest.has_plan:
            return "Launched without a plan: the report calls the results exploratory"
        day = date_format(newest.frozen_at, "j F")
        return f"Plan version {newest.number}, frozen on {day}"
    if sizes:
        return sizes[0].headline
    if questions:
        return f"{count_of(len(questions), 'planned question')}"
    if stored.rules or stored.plan.exclusion_rule:
        return "A plan without a question"
    return "No plan: the report will call the results exploratory"


def _describe_more(form: PlanForm, rows: PlanRows) -> str:
    """Return the line beside More: the values of what isn't in sight."""
    stopping = str(form["stopping"].value() or "answers")
    rules, words = len(rows.rules), form["exclusion_rule"].value()
    left_out = count_of(rules, "rule") + " for exclusion" if rules else "no rules for exclusion"
    parts = [
        f"Stop when {STOPPING.get(stopping, '')}",
        f"{left_out}{' and one in words' if words else ''}",
        *([f"smallest difference {form['smallest'].value()}"] if form["smallest"].value() else []),
        *([f"corrected by {form['judge'].value()}"] if _has_judge(form) else []),
        *(["several questions: corrected"] if len(rows.meant) > 1 else []),
    ]
    return " · ".join(parts)


def _has_judge(form: PlanForm) -> bool:
    return "judge" in form.fields and bool(form["judge"].value())


def _describe_for_readers(study: Study, stored: Stored) -> dict[str, Any]:
    plan = describe_plan(study, stored)
    planned = [*stored.plan.hypotheses, *stored.plan.margins]
    first, items = find_first(stored.versions), count_edge(study).items
    now = {"items": items, "answers": items * study.k}
    labels = {criterion.key: criterion.label for criterion in study.config.criteria}
    return {
        "headline": _write_headline(study, stored, planned, []),
        "smallest": describe_smallest(plan) if plan.get("smallest") else "",
        "questions": [
            *(describe_hypothesis(plan, hypothesis) for hypothesis in plan.get("hypotheses", ())),
            *(describe_margin(plan, margin) for margin in plan["margins"]),
        ],
        "primary": labels.get(plan["primary"], ""),
        "planned": (first.content.get("planned") if first else None) or now,
        "stopping": STOPPING[stored.plan.stopping],
        "is_hidden": stored.is_hidden,
        **_describe_frozen(study, stored, plan),
    }


def _describe_frozen(
    study: Study, stored: Stored, plan: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return what became of the plan: its versions, their lines, and what departs from them."""
    plan = plan or describe_plan(study, stored)
    return {
        "plan": plan,
        "versions": stored.versions,
        "lines": [
            (version.number, line) for version in stored.versions if (line := write_line(version))
        ],
        "deviations": list(map(describe_deviation, plan.get("deviations", ()))),
        "moments": {name: describe_moment(plan, name) for name in plan["moments"]},
    }


@study_page("set-up/quality/limits/", name="study-flag-limits", within="setup-quality")
@require_http_methods(["GET", "HEAD", "POST"])
def show_limits(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the limits at which flags of people are raised; a button puts them all back."""
    stored, may_change = read_plan(study), may_change_plan(request, study)
    data = request.POST if request.method == "POST" else None
    form = LimitsForm(data, study=study, stored=stored)
    if form.is_bound and form.is_valid():
        try:
            changed = change_plan(
                study=study,
                values={"thresholds": form.read_thresholds()},
                seen=form.cleaned_data["seen"],
                by=request.user,
                reason=form.cleaned_data.get("reason", ""),
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, "Saved." if changed else "Nothing was changed.")
            return redirect("admin:study-flag-limits", study.pk)
    plan = describe_plan(study, stored)
    thresholds = plan["thresholds"]
    context = {
        "form": form if may_change else None,
        "has_errors": form.is_bound,
        "own": thresholds,
        "moment": describe_moment(plan, "thresholds"),
        "version": len(stored.versions),
        "limits": [
            {
                "label": LIMITS[limit.key][0],
                "measures": LIMITS[limit.key][1],
                "value": write_limit(limit, thresholds.get(limit.key, limit.start)),
                "start": write_limit(limit, limit.start),
                "is_own": limit.key in thresholds,
            }
            for limit in limits_of(study)
        ],
    }
    status = _INVALID if form.is_bound else 200
    return TemplateResponse(request, "results/flag_limits.html", context, status=status)
