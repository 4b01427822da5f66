"""Staff pages: leaving people and answers out of results, and what that changes."""

from collections import Counter
from collections.abc import Collection, Sequence
from statistics import median_low
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.decisions.exclusion_rules import describe_rule, join_outcomes, list_rules, run_rules
from evalsite.decisions.exclusions import excludable_answers, exclude, foresee_exclusion, take_back
from evalsite.decisions.frozen_plans import (
    PLANNED,
    find_first,
    find_version,
    is_hidden,
    list_deviations,
    list_hidden,
    list_undecided,
    list_versions,
    plan_of,
)
from evalsite.decisions.models import (
    MOST_LETTERS,
    AnalysisPlan,
    Exclusion,
    ExclusionRule,
    PlanEvent,
)
from evalsite.decisions.people_figures import find_figures, read_people
from evalsite.decisions.person_measures import measure_people
from evalsite.decisions.top_up import excluded_answers
from evalsite.handout.models import Annotation
from evalsite.lib.counts import count_together
from evalsite.people.models import Participant
from evalsite.results.overview.item_strip import MOST_ITEMS
from evalsite.results.people.act_views import (
    MOST_AT_ONCE,
    PeopleForm,
    choose_people,
    describe_rows,
    refuse_nobody,
    sum_rows,
)
from evalsite.results.people.answers import describe_answers, with_items
from evalsite.results.people.flags import give_reason
from evalsite.results.progress import count_edge
from evalsite.results.report.computation import newest_report
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.staff_pages import has_role, may_edit, study_page
from evalsite.studies.summary_lines import count_of

PAGE = 50
# people who are named beside a rule
MOST_NAMED = 20
INVALID = 422
# the rule that an address names for one of two people with copied answers
COPIED = "copied"
_EDITOR = Membership.Role.EDITOR


# --- what is left out -----------------------------------------------------------------------------


@study_page("exclusions/", name="study-exclusions", place="People", tab="Exclusions", order=69)
@require_safe
def show_exclusions(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show who meets the planned rules, what is left out, and every decision about it."""
    decisions: QuerySet[Any] = Exclusion.objects.filter(study=study).select_related(
        "planned_rule",
        "participant",
        "decided_by",
        "revoked_by",
        "annotation__item",
        "annotation__participant",
    )
    exclusions = list(study.exclusions.all())
    active = [exclusion for exclusion in exclusions if exclusion.revoked_at is None]
    excluded = {exclusion.participant_id for exclusion in active if exclusion.participant_id}
    counts = count_together(
        hidden=list_hidden().filter(pk=study.pk),
        undecided=list_undecided().filter(pk=study.pk),
        started=study.participants.filter(is_pilot=False),
        left_out=excluded_answers(study),
    )
    decisions = decisions.annotate(answers=_count_answers_of_people())
    pages = Paginator(decisions.order_by("-id"), PAGE)
    pages.count = len(exclusions)
    rows = pages.get_page(request.GET.get("page"))
    rules = _describe_rules(study, excluded)
    context = {
        **counts,
        "active": len(active),
        "people": len(excluded),
        "counted": count_edge(study).done,
        "coverage": _draw_coverage(study, counts["left_out"], rules["open"]),
        "levels": _name_levels(study.k),
        "are_systems_hidden": counts["hidden"] > 0,
        "must_decide": counts["undecided"] > 0,
        "can_edit": may_edit(request, study),
        "rules": rules,
        **_describe_plan(request, study, exclusions),
        "rows": rows,
        "decisions": [_describe_decision(decision) for decision in rows],
    }
    return TemplateResponse(request, "results/exclusions.html", context)


def _count_answers_of_people() -> Any:
    counted = Annotation.objects.counted().filter(participant=OuterRef("participant")).order_by()
    return Coalesce(Subquery(counted.values("participant").annotate(n=Count("pk")).values("n")), 0)


def _describe_decision(exclusion: Any) -> dict[str, Any]:
    """Return a decision with how many answers that count it is about."""
    answer, rule = exclusion.annotation, exclusion.planned_rule
    is_counted = answer is not None and answer.status == Annotation.Status.COUNTED
    return {
        "exclusion": exclusion,
        "who": exclusion.participant or (answer and answer.participant),
        "answers": exclusion.answers if answer is None else int(is_counted),
        "planned": describe_rule(rule.conditions) if rule else "",
    }


def _describe_rules(study: Study, excluded: Collection[int]) -> dict[str, Any]:
    """Return the plan's rules with who met them when people were measured last."""
    rules, figures = list_rules(study), find_figures(study)
    outcomes = run_rules(rules, read_people(figures))
    together = join_outcomes(outcomes)
    return {
        "outcomes": [
            (
                outcome.sentence,
                [
                    (person.pseudonym, pk in excluded)
                    for pk, person in list(outcome.people.items())[:MOST_NAMED]
                ],
                max(0, len(outcome.people) - MOST_NAMED),
            )
            for outcome in outcomes
        ],
        "measured_at": None if figures is None else figures.measured_at,
        "together": len(together.people),
        "open": [pk for pk in together.people if pk not in excluded],
    }


def _describe_plan(
    request: HttpRequest, study: Study, exclusions: Sequence[Exclusion]
) -> dict[str, Any]:
    """Return what the plan says about exclusions, and what was decided about its rules."""
    versions, events = list_versions(study), list(study.plan_events.select_related("by"))
    decided = [
        event for event in events if event.kind in (PlanEvent.Kind.APPLIED, PlanEvent.Kind.DECLINED)
    ]
    return {
        "plan_version": find_first(versions),
        "versions": len(versions),
        "last_decision": decided[-1] if decided else None,
        "deviations": len(list_deviations(study, versions, events, exclusions)),
        "is_owner": has_role(request, study, Membership.Role.OWNER),
        "may_apply": study.is_launched and study.state != Study.State.ARCHIVED,
    }


# --- coverage -------------------------------------------------------------------------------------


def _draw_coverage(study: Study, left_out: int, matching: Sequence[int]) -> list[dict[str, Any]]:
    """Return how many items have how many answers, in one query for all rows of the figure.

    Of everyone, without those who are left out, and without those who meet a rule, too.
    """
    if not 0 < count_edge(study).items <= MOST_ITEMS:
        return []
    gone = Q(Exists(excluded_answers(study).filter(pk=OuterRef("pk"))))
    kept = {"everyone": Q()}
    if left_out:
        kept["now"] = ~gone
    if matching:
        kept["applied"] = ~gone & ~Q(participant__in=matching)
    items = Item.objects.main().open().filter(study=study).order_by()
    counts = items.annotate(**{name: _count_per_item(rows) for name, rows in kept.items()})
    groups = list(counts.values_list(*kept).annotate(n=Count("pk")))
    drawn = []
    for column, name in enumerate(kept):
        sizes: Counter[int] = Counter()
        for group in groups:
            sizes[group[column]] += group[-1]
        drawn.append(_draw_row(sizes, study.k) | {"key": name, "people": len(matching)})
    return drawn


def _count_per_item(rows: Q) -> Any:
    answers = Annotation.objects.counted().filter(rows, item=OuterRef("pk")).order_by()
    return Coalesce(Subquery(answers.values("item").annotate(n=Count("pk")).values("n")), 0)


def _draw_row(sizes: Counter[int], k: int) -> dict[str, Any]:
    """Return the bars of items with so many of their `k` answers, with the numbers beside them."""
    levels: Counter[int] = Counter()
    for answers, items in sizes.items():
        levels[_find_level(answers, k)] += items
    bars, start = [], 0.0
    for level in sorted(levels):
        width = 100 * levels[level] / max(1, sizes.total())
        bars.append((f"r{level}", f"{start:.2f}%", f"{width:.2f}%"))
        start += width
    return {
        "answers": sum(answers * items for answers, items in sizes.items()),
        "bars": bars,
        "levels": [levels[level] for level in range(4)],
        "least": min(sizes, default=0),
        "median": median_low(sorted(sizes.elements())) if sizes else 0,
    }


def _find_level(answers: int, k: int) -> int:
    """Return the shade of an item with so many of its `k` answers: 0 for none, 3 for all."""
    if answers >= k or not answers:
        return 3 if answers else 0
    return 2 if 2 * answers > k else 1


def _name_levels(k: int) -> list[tuple[str, str]]:
    """Return each shade with the numbers of answers that it stands for."""
    names = [("r0", "no answer")]
    for level in (1, 2):
        numbers = [answers for answers in range(1, k) if _find_level(answers, k) == level]
        if numbers:
            first, last = numbers[0], numbers[-1]
            names.append((f"r{level}", f"{first}" if first == last else f"{first} to {last}"))
    return [*names, ("r3", f"all {k}" if k > 1 else "1")]


# --- deciding -------------------------------------------------------------------------------------


class ExclusionForm(PeopleForm):
    """Who is excluded and why; with a frozen plan also by which of its rules, if by any."""

    annotation = forms.ModelMultipleChoiceField(
        Annotation.objects.none(),
        to_field_name="key",
        required=False,
        widget=forms.MultipleHiddenInput,
        error_messages={"invalid_choice": "This answer can’t be excluded."},
    )
    basis = forms.CharField(required=False)
    reason = forms.CharField(
        label="Reason",
        max_length=MOST_LETTERS,
        help_text="A few words without names. They appear in exports, reports and the datasheet.",
        error_messages={
            "required": "Enter a reason.",
            "null_characters_not_allowed": "Enter a reason in plain characters.",
        },
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, data: Any, *, study: Study, plan: AnalysisPlan, offered: "Offered") -> None:
        super().__init__(data, study=study, people=offered.people)
        self.study, self.plan = study, plan
        self.initial.update(annotation=offered.answers, reason=offered.reason)
        self.fields["p"].required = False
        answers = with_items(excludable_answers(study))
        self.fields["annotation"].queryset = answers  # type: ignore[attr-defined]
        self.bases = [] if self.is_bound else list_bases(study, offered.people, plan)

    def read_answers(self) -> list[Any]:
        """Return the answers that the form was sent with, or those that the page is to show."""
        if not self.is_bound:
            return list(self.initial["annotation"])
        return list(self.cleaned_data.get("annotation", []))

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        people = list(values.get("p") or [])
        self.bases = list_bases(self.study, people, self.plan)
        if not people and not values.get("annotation") and not self.errors:
            self.add_error(None, "Tick whom to exclude.")
        if self.bases and values.get("basis") not in dict(self.bases):
            self.add_error("basis", "Choose a planned rule that they meet, or another reason.")
        return values


def list_bases(
    study: Study, people: Sequence[Participant], plan: AnalysisPlan
) -> list[tuple[str, str]]:
    """Return what an exclusion can rest on under a frozen plan; [] without one."""
    if find_version(study) is None:
        return []
    outcomes = run_rules(list_rules(study), measure_people(study)) if people else []
    bases = [
        (
            str(outcome.rule.pk),
            f"A planned rule: {outcome.sentence[:1].lower()}{outcome.sentence[1:]}",
        )
        for outcome in outcomes
        if outcome.rule is not None and all(person.pk in outcome.people for person in people)
    ]
    if plan.exclusion_rule:
        bases.append((PLANNED, "The plan’s rule in words"))
    return [*bases, ("other", "Another reason")]


class Offered:
    """Whom the address names: people, or single answers.

    `reason`: of copied answers, to begin with; `flag`: COPIED where it was given, or "".
    """

    def __init__(self, request: HttpRequest, study: Study, plan: AnalysisPlan) -> None:
        self.people = choose_people(request, study, plan)
        self.reason = ""
        if request.GET.get("rule") == COPIED:
            report = newest_report(study)
            reasons = [give_reason(report, person.pseudonym) for person in self.people]
            self.reason = next(iter(reasons), "")
        self.flag = COPIED if self.reason else ""
        try:
            keys = {UUID(key) for key in request.GET.getlist("annotation")[:MOST_AT_ONCE]}
        except ValueError:
            keys = set()
        alone = Exclusion.objects.active().filter(annotation=OuterRef("pk"))
        answers = excludable_answers(study).filter(~Exists(alone), key__in=keys)
        self.answers: list[Any] = list(with_items(answers)) if keys else []


@study_page("exclusions/new/", name="study-exclude", role=_EDITOR, within="Exclusions")
@require_http_methods(["GET", "HEAD", "POST"])
def exclude_people(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what an exclusion would leave out, and the box for its reason; a post makes it."""
    plan = plan_of(study)
    offered = Offered(request, study, plan)
    data = request.POST if request.method == "POST" else None
    form = ExclusionForm(data, study=study, plan=plan, offered=offered)
    if form.is_valid():
        return _exclude(request, study, form.cleaned_data, offered.flag)
    chosen, shown = form.read_people(), offered.answers or form.read_answers()
    people = offered.people or chosen
    if not people and not shown:
        return refuse_nobody(request, study)
    rows = describe_rows(people)
    ticked = {person.pk for person in chosen}
    for row in rows:
        row |= {"changes": not row["person"].is_excluded, "is_ticked": row["person"].pk in ticked}
    open_people = [row["person"] for row in rows if row["changes"]]
    is_blind = is_hidden(study)
    context = {
        "form": form,
        "rule": plan.exclusion_rule,
        **sum_rows(rows),
        "listed": rows,
        "answers": describe_answers(study, shown, is_blind=is_blind) if shown else [],
        "selected": len(rows) + len(shown),
        "effect": foresee_exclusion(study, participants=open_people, annotations=shown),
        "counted": count_edge(study).done,
        "are_systems_hidden": is_blind,
    }
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "results/exclude.html", context, status=status)


def _exclude(
    request: HttpRequest, study: Study, values: dict[str, Any], flag: str
) -> HttpResponseBase:
    basis = values["basis"]
    planned = ExclusionRule.objects.get(study=study, pk=basis) if basis.isdecimal() else None
    before = excluded_answers(study).count()
    try:
        made = exclude(
            study=study,
            participants=values["p"],
            annotations=values["annotation"],
            reason=values["reason"],
            by=request.user,
            rule=PLANNED if planned or basis == PLANNED else flag,
            planned_rule=planned,
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("admin:study-exclusions", study.pk)
    if made:
        more = count_of(excluded_answers(study).count() - before, "more answer")
        messages.success(request, f"Excluded. This leaves {more} out of results.")
    else:
        messages.success(request, "That is excluded already. Nothing was changed.")
    return redirect("admin:study-exclusions", study.pk)


class TakeBackForm(forms.Form):
    """The exclusions that are taken back: those that are ticked, or all that are active."""

    exclusion = forms.ModelMultipleChoiceField(Exclusion.objects.none(), required=False)
    every = forms.BooleanField(required=False)

    def __init__(self, data: Any, *, study: Study) -> None:
        super().__init__(data)
        self.fields["exclusion"].queryset = study.exclusions.all()  # type: ignore[attr-defined]


@study_page("exclusions/take-back/", name="exclusions-take-back", role=_EDITOR)
@require_POST
def take_exclusions_back(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Take exclusions back; a request sent twice counts once."""
    form = TakeBackForm(request.POST, study=study)
    values = form.cleaned_data if form.is_valid() else {}
    ids = [exclusion.pk for exclusion in values.get("exclusion", ())]
    is_every = values.get("every", False)
    if not ids and not is_every:
        messages.error(request, "Tick one or more exclusions first.")
    elif done := take_back(study=study, by=request.user, ids=None if is_every else ids):
        words = f"{count_of(done, 'exclusion')} taken back. Those answers are in results again."
        messages.success(request, words)
    else:
        messages.success(request, "Nothing was changed: they were taken back already.")
    return redirect("admin:study-exclusions", study.pk)
