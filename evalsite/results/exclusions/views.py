"""Staff pages: leaving people and answers out of results, and what that changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.annotation.models import Annotation
from evalsite.lib.counts import count_together
from evalsite.participants.models import Participant
from evalsite.quality.exclusion_rules import describe_rule, list_rules, run_rules
from evalsite.quality.exclusions import (
    excludable_answers,
    exclude,
    foresee_exclusion,
    take_back,
    take_back_many,
)
from evalsite.quality.frozen_plans import (
    PLANNED,
    find_first,
    find_state,
    find_version,
    list_deviations,
    list_versions,
)
from evalsite.quality.models import (
    MOST_LETTERS,
    AnalysisPlan,
    Exclusion,
    ExclusionRule,
    PlanEvent,
)
from evalsite.quality.person_measures import measure_people
from evalsite.quality.plan_state import plan_of
from evalsite.quality.top_up import excluded_answers, find_shortage
from evalsite.results.document.html import write_html_table
from evalsite.results.exclusions.main_result import show_main
from evalsite.results.models import Report
from evalsite.results.people.answers import describe_answers, with_items
from evalsite.results.people.flags import Raised, give_reason, list_raised
from evalsite.results.people.lookup import describe_people, with_answers
from evalsite.results.progress import count_edge
from evalsite.results.report.computation import newest_analysis, newest_report
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role, may_edit
from evalsite.studies.summary_lines import count_of

# --- form -----------------------------------------------------------------------------


class ExclusionForm(forms.Form):
    """Why a person is excluded; with a frozen plan also by which of its rules, if by any."""

    basis = forms.ChoiceField(
        required=False,
        error_messages={"invalid_choice": "Choose a rule that they meet, or another reason."},
    )

    reason = forms.CharField(
        label="Reason",
        max_length=MOST_LETTERS,
        help_text="A few words without names. They appear in exports, reports and the datasheet.",
        error_messages={
            "required": "Enter a reason.",
            "max_length": "Give the reason in %(limit_value)d characters or fewer; "
            "these are %(show_value)d.",
            "null_characters_not_allowed": "Enter a reason in plain characters.",
        },
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, data: Any, *, bases: list[tuple[str, str]]) -> None:
        super().__init__(data)
        field = self.fields["basis"]
        assert isinstance(field, forms.ChoiceField)
        field.choices, field.required = bases, bool(bases)
        field.error_messages["required"] = "Choose a planned rule, or another reason."


def list_bases(
    study: Study, people: Sequence[Participant], plan: AnalysisPlan | None = None
) -> list[tuple[str, str]]:
    """Return what an exclusion can rest on under a frozen plan; [] without one."""
    if find_version(study) is None:
        return []
    outcomes = run_rules(list_rules(study), measure_people(study)) if people else []
    bases = [
        (str(one.rule.pk), f"A planned rule: {one.sentence[:1].lower()}{one.sentence[1:]}")
        for one in outcomes
        if one.rule is not None and all(person.pk in one.people for person in people)
    ]
    if (plan or plan_of(study)).exclusion_rule:
        bases.append((PLANNED, "The plan’s rule in words"))
    return [*bases, ("other", "Another reason")]


# --- pages ----------------------------------------------------------------------------


PAGE = 50
INVALID = 422


# --- what is left out -----------------------------------------------------------------------


@require_safe
def show_exclusions(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what is left out of results, what that changes, and every decision about it."""
    decisions: QuerySet[Any] = Exclusion.objects.filter(study=study).select_related(
        "planned_rule",
        "participant",
        "decided_by",
        "revoked_by",
        "annotation__item",
        "annotation__participant",
    )
    report, state = newest_report(study), find_state(study)
    counts = count_together(
        all=decisions,
        standing=study.exclusions.active(),
        left_out=excluded_answers(study),
        since=_find_decisions_since(study, report),
    )
    decisions = decisions.annotate(answers=_count_answers_of_people())
    pages = Paginator(decisions.order_by("-id"), PAGE)
    pages.count = counts["all"]
    rows = pages.get_page(request.GET.get("page"))
    return TemplateResponse(
        request,
        "results/exclusions.html",
        {
            **_describe_results(request, study, report, counts, is_blind=state.is_hidden),
            "left_out": counts["left_out"],
            "counted": count_edge(study).done,
            "standing": counts["standing"],
            "shortage": find_shortage(study),
            "rows": rows,
            **_describe_plan(request, study),
            "must_decide": state.needs_decision,
            "decisions": _describe(list(rows)),
        },
    )


def _find_decisions_since(study: Study, report: Report | None) -> QuerySet[Exclusion]:
    """Return the exclusions that were made or taken back since the data of this report were read.

    Only they are compared on these pages; Results says if anything else has changed.
    """
    if report is None:
        return Exclusion.objects.none()
    since = Q(decided_at__gt=report.made_at) | Q(revoked_at__gt=report.made_at)
    return Exclusion.objects.filter(since, study=study)


def _count_answers_of_people() -> Any:
    counted = Annotation.objects.counted().filter(participant=OuterRef("participant")).order_by()
    return Coalesce(Subquery(counted.values("participant").annotate(n=Count("pk")).values("n")), 0)


def _describe(exclusions: Sequence[Any]) -> list[dict[str, Any]]:
    """Return each decision with how many answers that count it is about."""
    return [
        {
            "exclusion": one,
            "who": one.participant or (one.annotation and one.annotation.participant),
            "answers": one.answers if one.annotation is None else
            int(one.annotation.status == Annotation.Status.COUNTED),
            "planned": describe_rule(one.planned_rule.conditions) if one.planned_rule else "",
        }
        for one in exclusions
    ]  # fmt: skip


def _describe_plan(request: HttpRequest, study: Study) -> dict[str, Any]:
    """Return what the plan says about exclusions, and what became of it."""
    versions, events = list_versions(study), list(study.plan_events.select_related("by"))
    decided = [
        one for one in events if one.kind in (PlanEvent.Kind.APPLIED, PlanEvent.Kind.DECLINED)
    ]
    return {
        "rules": [describe_rule(rule.conditions) for rule in list_rules(study)],
        "plan_version": find_first(versions),
        "versions": len(versions),
        "last_decision": decided[-1] if decided else None,
        "deviations": len(list_deviations(study, versions, events)),
        "is_owner": has_role(request, study, Membership.Role.OWNER),
        "may_apply": study.is_launched and study.state != Study.State.ARCHIVED,
    }


def _describe_results(
    request: HttpRequest,
    study: Study,
    report: Report | None,
    counts: dict[str, int],
    *,
    is_blind: bool,
) -> dict[str, Any]:
    """Return the main result of the newest report, and whether it may be computed again.

    Nobody sees what an exclusion does to the comparison while systems are hidden.
    """
    if is_blind:
        return {"are_systems_hidden": True, "report": report,
                "can_decide": may_edit(request, study)}  # fmt: skip
    job = newest_analysis(study)
    main = show_main(report, is_excluding=counts["standing"] > 0)
    return {
        "report": report,
        "main": main and write_html_table(main),
        "since": counts["since"],
        "is_computing": job is not None and job.is_open and not job.is_stale,
        "can_decide": may_edit(request, study),
        "can_compute": has_role(request, study, Membership.Role.EDITOR),
    }


# --- deciding -------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def confirm_exclusion(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what an exclusion would leave out, and the box for its reason; a post makes it."""
    report, plan, state = newest_report(study), plan_of(study), find_state(study)
    offered = find_offered(study, request.GET, report)
    is_post = request.method == "POST"
    people, answers = offered.people, offered.answers
    if is_post:
        people, answers = read_chosen(study, request.POST)
    bases = list_bases(study, people, plan)
    form = ExclusionForm(request.POST if is_post else None, bases=bases)
    form.initial["reason"] = offered.reason
    if is_post:
        if not people and not answers:
            form.add_error(None, "Tick whom to exclude.")
        if form.is_valid():
            said = _read_reason(study, form, offered)
            return _exclude(request, study, people, answers, said)
    counts = count_together(
        standing=study.exclusions.active(), since=_find_decisions_since(study, report)
    )
    ticked, chosen = {one.pk for one in people}, {one.pk for one in answers}
    return TemplateResponse(
        request,
        "results/exclude.html",
        {
            **_describe_results(request, study, report, counts, is_blind=state.is_hidden),
            "form": form,
            "offered": offered,
            "rule": plan.exclusion_rule,
            "people": [
                (person, person.participant.pk in ticked)
                for person in describe_people(study, offered.people, report)
            ],
            "answers": [
                (given, given.annotation.pk in chosen)
                for given in describe_answers(study, offered.answers)
            ],
            "effect": foresee_exclusion(
                study, participants=offered.people, annotations=offered.answers
            )
            if offered.people or offered.answers
            else None,
            "counted": count_edge(study).done,
        },
        status=INVALID if is_post else 200,
    )


def _read_reason(study: Study, form: ExclusionForm, offered: "Offered") -> dict[str, Any]:
    basis, flag = form.cleaned_data["basis"], offered.flag
    planned = None
    if basis.isdecimal():
        planned = ExclusionRule.objects.get(study=study, pk=int(basis))
    return {
        "reason": form.cleaned_data["reason"],
        "rule": PLANNED if planned or basis == PLANNED else flag,
        "planned_rule": planned,
    }


def _exclude(
    request: HttpRequest,
    study: Study,
    people: Sequence[Participant],
    answers: Sequence[Annotation],
    said: dict[str, Any],
) -> HttpResponseBase:
    before = excluded_answers(study).count()
    try:
        made = exclude(
            study=study,
            participants=people,
            annotations=answers,
            by=request.user,
            **said,
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("admin:study-exclusions", study.pk)
    if made:
        more = excluded_answers(study).count() - before
        words = count_of(more, "more answer")
        messages.success(request, f"Excluded. This leaves {words} out of results.")
    else:
        messages.success(request, "That is excluded already. Nothing was changed.")
    return redirect("admin:study-exclusions", study.pk)


@require_POST
def take_exclusion_back(request: HttpRequest, study: Study, exclusion_id: int) -> HttpResponseBase:
    """Take an exclusion back; a request sent twice counts once."""
    exclusion = get_object_or_404(Exclusion, study=study, pk=exclusion_id)
    if take_back(exclusion=exclusion, by=request.user):
        messages.success(request, "Taken back. Those answers are in results again.")
    else:
        messages.success(request, "That was taken back already. Nothing was changed.")
    return redirect("admin:study-exclusions", study.pk)


@require_POST
def take_exclusions_back(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Take the ticked exclusions back, or all that are active."""
    given = request.POST.getlist("exclusion")[:MOST]
    ids = [int(one) for one in given if one.isascii() and one.isdigit() and len(one) < 19]
    is_every = request.POST.get("every") == "yes"
    if not ids and not is_every:
        messages.error(request, "Tick one or more exclusions first.")
        return redirect("admin:study-exclusions", study.pk)
    done = take_back_many(study=study, by=request.user, ids=None if is_every else ids)
    said = f"{count_of(done, 'exclusion')} taken back. Those answers are in results again."
    messages.success(
        request, said if done else "Nothing was changed: they were taken back already."
    )
    return redirect("admin:study-exclusions", study.pk)


_EDITOR = Membership.Role.EDITOR

exclusion_views = [
    StudyView(
        path="exclusions/",
        name="study-exclusions",
        view=show_exclusions,
        place="People",
        tab="Exclusions",
        order=69,
    ),
    StudyView(
        path="exclusions/new/",
        name="study-exclude",
        view=confirm_exclusion,
        role=_EDITOR,
        within="Exclusions",
    ),
    StudyView(
        path="exclusions/<int:exclusion_id>/take-back/",
        name="exclusion-take-back",
        view=take_exclusion_back,
        role=_EDITOR,
    ),
    StudyView(
        path="exclusions/take-back/",
        name="exclusions-take-back",
        view=take_exclusions_back,
        role=_EDITOR,
    ),
]


# more on one page than anybody looks at, and fewer fields than a post may have
MOST = 500
# the rule that an address names for one of two people with copied answers
COPIED = "copied"


@dataclass(frozen=True, kw_only=True)
class Offered:
    """Those that the address names, less what is left out already."""

    people: list[Participant] = field(default_factory=list)
    answers: list[Annotation] = field(default_factory=list)
    rule: str = ""  # the flag that the address asks for
    raised: Raised | None = None  # that flag, if the newest report raised it
    is_cut: bool = False  # there are more than a page holds
    already: int = 0
    reason: str = ""  # of copied answers, to begin with

    @property
    def flag(self) -> str:
        """Return the flag that the exclusion rests on, or ""."""
        if self.reason:
            return COPIED
        return self.raised.code if self.raised else ""


def find_offered(study: Study, asked: QueryDict, report: Report | None) -> Offered:
    """Whom the address names: by pseudonym, by a flag of the report, or single answers."""
    people, answers = read_chosen(study, asked)
    rule = asked.get("rule", "")
    raised = next((one for one in list_raised(report) if one.code == rule), None)
    reasons = [give_reason(report, person.pseudonym) for person in people if rule == COPIED]
    if raised is not None:
        people = _find_people(study, set(raised.pseudonyms))
    standing = Exclusion.objects.active().filter(study=study)
    gone = set(standing.values_list("participant", "annotation"))
    open_people = [one for one in people if (one.pk, None) not in gone]
    gone_answers = {annotation for _, annotation in gone}
    open_answers = [one for one in answers if one.pk not in gone_answers]
    return Offered(
        people=open_people[:MOST],
        answers=open_answers[:MOST],
        rule=rule,
        raised=raised,
        is_cut=len(open_people) > MOST or len(open_answers) > MOST,
        already=len(people) - len(open_people) + len(answers) - len(open_answers),
        reason=next(iter(reasons), ""),
    )


def read_chosen(study: Study, sent: QueryDict) -> tuple[list[Participant], list[Annotation]]:
    """Return those of the study that were named; Http404 where one of them is not of it."""
    names = set(sent.getlist("participant"))
    try:
        keys = {UUID(key) for key in sent.getlist("annotation")}
    except ValueError:
        raise Http404("No such answer.") from None
    people = _find_people(study, names) if names else []
    answers = list(with_items(excludable_answers(study).filter(key__in=keys))) if keys else []
    if len(people) < len(names) or len(answers) < len(keys):
        raise Http404("No such participant or answer.")
    return people, answers


def _find_people(study: Study, names: set[str]) -> list[Participant]:
    # no database holds a NUL in a text, and some refuse to look for one
    known = [name for name in names if "\0" not in name]
    people = Participant.objects.filter(study=study, pseudonym__in=known)
    return list(with_answers(people).order_by("pk"))
