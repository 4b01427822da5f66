"""The staff page that plans a study: how many inputs, participants and ratings it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, exp
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.analysis.families import find_planned, list_planners
from evalsite.analysis.families.family import Planner
from evalsite.exports.csv_writer import write_rows
from evalsite.jobs.live_page import keep_watching
from evalsite.jobs.models import Job
from evalsite.protocol import Protocol
from evalsite.results.power.design_search import (
    FEW_RATERS,
    KIND,
    TARGET,
    count_times_wider,
    find_source,
    start_plan,
)
from evalsite.results.power.forms import PlannerForm, list_criteria, show_choice
from evalsite.results.report.wording import hold_together
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role
from evalsite.studies.summary_lines import count_of, format_money, name_start

# --- a finished plan ------------------------------------------------------------------
_PARTS = {
    "rater": "participants",
    "item": "inputs",
    "item_system": "inputs by system",
    "rater_system": "participants by system",
    "residual": "what is left",
}
_RAISE = "Plan with more participants, or raise the limit."
_WIDTHS: dict[str, Callable[[float], str]] = {
    "factor": lambda half: f"×/÷ {exp(half):.2f}",
    "share": lambda half: f"± {_percent(half)}",
    "units": lambda half: f"± {half:.2f}",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One design: what it finds, and what it takes."""

    items: str
    raters: str
    per_output: str
    power: str
    width: str
    sign_error: str
    exaggeration: str
    answers: str
    sets: str
    cost: str
    is_chosen: bool  # the smallest that finds the difference often enough


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a design takes of people and money."""

    answers: int
    sets: int
    cost: Decimal | None


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A finished plan in words."""

    asked: str
    sentence: str
    rows: list[Row]
    cautions: list[str]
    notes: list[str]
    has_cost: bool


def show_plan(study: Study, job: Job) -> Planned:
    """Return the plan of a job that is done."""
    choice, found = job.params, job.result
    planner = list_planners()[choice["scale"]]
    works = [estimate_design(study, choice, row) for row in found["rows"]]
    chosen = find_smallest(found["rows"], works)
    return Planned(
        asked=hold_together(_describe_difference(study, choice)),
        sentence=hold_together(_describe_finding(study, choice, found, works, chosen)),
        rows=[
            _show_row(study, planner, row, work, number == chosen)
            for number, (row, work) in enumerate(zip(found["rows"], works, strict=True))
        ],
        cautions=_list_cautions(study, choice, found),
        notes=list(map(hold_together, _list_notes(choice, found))),
        has_cost=choice["price"] is not None,
    )


def list_plan(study: Study, job: Job) -> list[list[Any]]:
    """Return a head and a row for each design of a plan that is done, with every digit."""
    choice, found = job.params, job.result
    known = {
        "criterion": choice["criterion"], "asked": choice["asked"], "source": choice["source"],
        "draws": found["draws"], "alpha": found["alpha"], "seed": found["seed"],
    }  # fmt: skip
    rows = []
    for row in found["rows"]:
        work = estimate_design(study, choice, row)
        power, low, high = row["power"]
        rows.append(
            {key: row[key] for key in ("items", "raters", "per_output")}
            | {"power": power, "power_low": low, "power_high": high, "interval_width": row["width"]}
            | {key: row[key] for key in ("sign_error", "exaggeration", "difference")}
            | {"answers": work.answers, "sets": work.sets, "cost": work.cost}
            | known
        )
    head = list(rows[0]) if rows else ["items"]
    return [head, *([_fill(row[key]) for key in head] for row in rows)]


def _fill(value: Any) -> Any:
    return "" if value is None else value


def estimate_design(study: Study, choice: dict[str, Any], row: dict[str, Any]) -> Work:
    """Return the answers, sets and cost of a design, for all systems of the study."""
    answers = row["items"] * _items_per_input(study.config, choice) * row["per_output"]
    # everybody takes a set at least
    sets = max(row["raters"], ceil(answers / study.set_size))
    price = choice["price"]
    return Work(answers=answers, sets=sets, cost=None if price is None else sets * Decimal(price))


def _items_per_input(config: Protocol, choice: dict[str, Any]) -> int:
    """Return how many items show the outputs of all systems for one input."""
    systems = int(choice["systems"])
    if find_planned(choice["scale"]).compares:
        return systems * (systems - 1) // 2
    return ceil(systems / config.outputs[1])


def find_smallest(rows: list[dict[str, Any]], works: list[Work]) -> int | None:
    """The place of the design that takes the least of those that find the difference enough."""
    enough = [
        (work.cost or 0, work.answers, work.sets, number)
        for number, (row, work) in enumerate(zip(rows, works, strict=True))
        if row["power"][0] >= TARGET
    ]
    return min(enough)[-1] if enough else None


# --- sentences ----------------------------------------------------------------------


def _describe_difference(study: Study, choice: dict[str, Any]) -> str:
    asked = choice["asked"]
    label = study.config.criterion_by_key[choice["criterion"]].label
    words = list_planners()[choice["scale"]].difference
    return words.format(asked=asked, label=label)


def _describe_finding(
    study: Study,
    choice: dict[str, Any],
    found: dict[str, Any],
    works: list[Work],
    chosen: int | None,
) -> str:
    asked = _describe_difference(study, choice)
    if not found["rows"]:
        return (
            f"With so few participants no number of inputs finds {asked} 8 times in 10: "
            f"{max(one['tried'] for one in found['missing']):,} were tried. Plan with more people, "
            "or for a larger difference."
        )
    if chosen is None:
        best = max(found["rows"], key=lambda row: row["power"][0])
        return (
            f"None of these designs finds {asked} 8 times in 10. The best of them finds it in "
            f"{_percent(best['power'][0])} of studies. Plan with more inputs and participants, "
            "or for a larger difference."
        )
    row, work = found["rows"][chosen], works[chosen]
    each = "" if row["per_output"] < row["raters"] else " (everybody rates everything)"
    cost = "" if work.cost is None else f", {format_money(work.cost, study.currency)}"
    takes = f"{count_of(work.answers, 'answer')} in {count_of(work.sets, 'set')}{cost}"
    return (
        f"To find {asked} 8 times in 10, plan for {count_of(row['items'], 'input')}, "
        f"{row['raters']:,} participants and {count_of(row['per_output'], 'rating')} of each "
        f"output{each}: {takes}."
    )


def _list_cautions(study: Study, choice: dict[str, Any], found: dict[str, Any]) -> list[str]:
    cautions = []
    if choice["raters"][0] < FEW_RATERS:
        cautions.append(
            "With fewer than 5 participants, no test says much about other people: raters who "
            "differ in taste are then too few to average over."
        )
    if found["rows"]:
        cautions += [
            f"With {one['raters']} participants and {count_of(one['per_output'], 'rating')} of "
            f"each output even {one['tried']:,} inputs were not enough. Only more people help."
            for one in found["missing"]
        ]
    if simulated := (choice["model"] or {}).get("simulated"):
        cautions.append(
            f"The results hold {count_of(simulated, 'simulated rating')}: how much those vary is "
            "made up and says nothing about people. Plan with typical values, or with real ratings."
        )
    people = (choice["model"] or {}).get("raters")
    if people is not None and people < FEW_RATERS:
        cautions.append(
            f"This rests on results by {count_of(people, 'participant')}. From fewer than "
            f"{FEW_RATERS} it isn't known how much people differ, so the plan may be far off. "
            "Compare it with typical values."
        )
    if (choice["model"] or {}).get("is_merged"):
        cautions.append(
            "In the results, each output has one rating, so inputs and noise can't be "
            "separated: more ratings of each output help less than shown here."
        )
    if study.config.outputs[1] == 1 and study.groups != Study.Groups.TOGETHER:
        cautions.append(
            "This holds where everybody who rates an input rates the outputs of all systems. In "
            "this study an item shows one output: keep its groups together (Settings), or less "
            "is found than shown here."
        )
    return [*cautions, *_warn_of_limit(study, choice, found["rows"])]


def _warn_of_limit(study: Study, choice: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """Return which designs ask for more sets of a person than the study allows, if any do."""
    if not study.max_sets:
        return []
    most = study.max_sets * study.set_size
    above = [
        row for row in rows if estimate_design(study, choice, row).answers > row["raters"] * most
    ]
    if not above:
        return []
    named = "; ".join(
        f"{count_of(row['items'], 'input')} with {row['raters']:,} participants and "
        f"{count_of(row['per_output'], 'rating')} of each output"
        for row in above
    )
    limit = f"more than the {count_of(study.max_sets, 'set')} that one person may take here"
    if len(above) == len(rows) > 1:
        return [f"All of these designs need {limit}. {_RAISE}"]
    return [f"Some designs need {limit}: {named}. {_RAISE}"]


def _list_notes(choice: dict[str, Any], found: dict[str, Any]) -> list[str]:
    planner = list_planners()[choice["scale"]]
    spread = ", ".join(
        f"{words} {found['parts'][key]:.2f}"
        for key, words in _PARTS.items()
        if key in planner.parts
    )
    return [
        f"Each design was simulated {found['draws']:,} times (seed {found['seed']}): two systems, "
        f"tested at the {_percent(found['alpha'])} level as results are, raters and inputs both "
        "as samples. One comparison: a correction for several makes each of them harder to find.",
        f"Standard deviations in {planner.unit}: {spread}. From: {_describe_source(choice)}.",
        "Found in: the share of studies with a significant difference (power), in brackets the "
        "95 % interval that so many simulations leave. Interval: how far the 95 % interval of a "
        "study reaches on either side, on average. Wrong sign: of the significant studies, those "
        "that favour the wrong system. Overstated: how many times the true difference the "
        "significant ones show on average (Gelman and Carlin 2014).",
        "Everybody who rates an input rates the outputs of both systems. Answers are for all "
        "systems of the study. Sets are full, and everybody takes one or more. The cost is without "
        "bonus and without the fee of a platform.",
        *_describe_scale(choice, found),
    ]


def _describe_source(choice: dict[str, Any]) -> str:
    """Return where the standard deviations are from."""
    source = find_source(choice["scale"], choice["source"])
    if source is None:
        return "the newest results of this study"
    wider = count_times_wider(choice, source)
    times = "" if wider == 1 else f"; multiplied by {wider:.1f}, as this scale is wider"
    return f"{source.origin}{times}"


def _describe_scale(choice: dict[str, Any], found: dict[str, Any]) -> list[str]:
    planner = list_planners()[choice["scale"]]
    notes = []
    if planner.note:
        notes.append(planner.note.format(ties=_percent(choice["tie_share"])))
    if planner.note_on_design and found["rows"]:
        shown = found["rows"][0]["difference"]
        notes.append(planner.note_on_design.format(points=choice["points"], difference=shown))
    return notes


# --- cells --------------------------------------------------------------------------


def _show_row(
    study: Study, planner: Planner, row: dict[str, Any], work: Work, is_chosen: bool
) -> Row:
    power, low, high = row["power"]
    much = row["exaggeration"]
    return Row(
        items=count_of(row["items"], "input"),
        raters=f"{row['raters']:,}",
        per_output=f"{row['per_output']:,}",
        power=f"{_percent(power)} ({low * 100:.0f} to {high * 100:.0f})",
        width=_WIDTHS[planner.width](row["width"] / 2),
        sign_error="none found" if row["sign_error"] is None else _percent(row["sign_error"]),
        exaggeration="none found" if much is None else f"× {much:.2f}",
        answers=f"{work.answers:,}",
        sets=f"{work.sets:,}",
        cost="" if work.cost is None else format_money(work.cost, study.currency),
        is_chosen=is_chosen,
    )


def _percent(share: float) -> str:
    return hold_together(f"{share * 100:.0f} %" if share == 0 or share >= 0.01 else "< 1 %")


# --- the page -------------------------------------------------------------------------
@require_http_methods(["GET", "HEAD", "POST"])
def show_planner(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what was planned last, or the plan that the address names, and the form for another."""
    may_plan = has_role(request, study, Membership.Role.EDITOR)
    if request.method == "POST" and not may_plan:
        raise PermissionDenied
    job = _find_plan(request, study)
    initial = None if job is None else show_choice(job.params)
    posted = request.POST if request.method == "POST" else None
    form = PlannerForm(posted, study=study, initial=initial) if list_criteria(study) else None
    if posted is not None and form is not None and form.is_valid():
        started = start_plan(study=study, choice=form.choice, by=request.user)
        return redirect(f"{reverse('admin:study-planner', args=[study.pk])}?plan={started.pk}#plan")
    return _answer(request, study, form if may_plan else None, job)


def _answer(
    request: HttpRequest, study: Study, form: PlannerForm | None, job: Job | None
) -> HttpResponseBase:
    has_errors = form is not None and bool(form.errors)
    is_planning = job is not None and job.is_open and not job.is_stale and not has_errors
    context: dict[str, Any] = {
        "form": form,
        "has_errors": has_errors,
        "can_be_planned": bool(list_criteria(study)),
        "job": job,
        "is_planning": is_planning,
        "plan": show_plan(study, job) if job is not None and job.state == Job.State.DONE else None,
    }
    response = TemplateResponse(
        request, "results/planner.html", context, status=422 if has_errors else 200
    )
    # no words are lost: the form is hidden meanwhile
    return keep_watching(response, job)


def _find_plan(request: HttpRequest, study: Study) -> Job | None:
    """Return the plan that the address names, if it is this study's; the newest otherwise."""
    plans = Job.objects.filter(study_id=study.pk, kind=KIND)
    try:
        named = plans.filter(pk=UUID(request.GET.get("plan", ""))).first()
    except ValueError:
        named = None
    return named or plans.first()


@require_safe
def send_plan(request: HttpRequest, study: Study, job_id: UUID) -> HttpResponseBase:
    """Send the designs of a plan with every digit, as CSV."""
    job = get_object_or_404(
        Job, pk=job_id, study_id=study.pk, kind=KIND, state=Job.State.DONE
    )  # fmt: skip
    content = write_rows(list_plan(study, job))
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name_start(study)}-plan.csv"'
    return response


planner_views = [
    StudyView(
        path="results/power/",
        name="study-planner",
        view=show_planner,
        place="Results",
        tab="Precision and power",
        order=74,
        is_reading=True,
    ),
    StudyView(path="results/power/<uuid:job_id>/plan.csv", name="study-plan-data", view=send_plan),
]
