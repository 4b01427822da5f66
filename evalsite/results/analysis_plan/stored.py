"""The analysis plan of a study: its questions, its thresholds of flags, its exclusion rule, and the
size that the study was planned for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, QuerySet

from evalsite.analysis.families import get_family
from evalsite.analysis.thresholds import Limit, list_limits
from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.exclusion_rules import describe_rule, list_conditions
from evalsite.decisions.frozen_plans import (
    count_answers,
    count_answers_at,
    find_first,
    freeze_plan,
    list_cluster_answers,
    list_deviations,
    list_hidden,
    list_versions,
    plan_of,
)
from evalsite.decisions.models import (
    LEVELS,
    PLAN_MOMENTS,
    AnalysisPlan,
    AnalysisPlanVersion,
    ExclusionRule,
)
from evalsite.handout.models import Annotation
from evalsite.instruments.schema import Criterion
from evalsite.lib.clock import now
from evalsite.people.models import Origin
from evalsite.results.models import SizePlan
from evalsite.studies.models import Item, Study
from evalsite.studies.versions import hash_content

# --- the size, chosen once from the planner and printed in reports

KEEP_SIZE = "size_plan.keep"


def keep_plan(*, study: Study, content: dict[str, Any], by: Any) -> SizePlan:
    """Keep this size as the study's; the one before it is in the log."""
    plan, _ = SizePlan.objects.update_or_create(
        study=study, defaults={"content": content, "kept_at": now(), "kept_by": by}
    )
    study.size_plan = plan
    AuditEntry.objects.record(KEEP_SIZE, by=by, study_id=study.pk, **content)
    return plan


def find_plan(study: Study) -> SizePlan | None:
    """Return the kept size of the study, if there is one."""
    # which the study at hand remembers: a page asks twice
    return getattr(study, "size_plan", None)


def describe_kept(study: Study) -> dict[str, Any] | None:
    """Return the kept size as plain data, with its moment and how many answers there were."""
    plan = find_plan(study)
    if plan is None:
        return None
    answers = count_answers(study, before=plan.kept_at)
    return {**plan.content, "at": plan.kept_at.isoformat(), "answers": answers}


# --- the plan

ACTION = "analysis plan changed"
FIELDS = tuple(PLAN_MOMENTS)
# also in the plan, without a moment of their own
FURTHER_FIELDS = ("hypotheses", "smallest", "stopping", "has_own_errors")
# parts that share a moment with another
_MOMENT_OF = {"hypotheses": "margins", "rules": "exclusion_rule"}


def limits_of(study: Study) -> list[Limit]:
    """Return the thresholds that are looked at in this study."""
    return list_limits(
        [criterion.family for criterion in study.config.criteria],
        has_reserved=any(criterion.scale.reserved_values() for criterion in study.config.criteria),
        has_repeats=bool(study.repeat_percent),
    )


def list_analysed(study: Study) -> list[Criterion]:
    """Return the criteria that can be compared; words are only read."""
    return [
        criterion for criterion in study.config.criteria if get_family(criterion.family).is_analysed
    ]


def find_level(plan: AnalysisPlan) -> float:
    """Return the level of the tests against a margin."""
    return next((float(margin["level"]) for margin in plan.margins if "level" in margin), LEVELS[0])


def find_slices(plan: AnalysisPlan) -> str:
    """Return the column that divides the inputs of tests against a margin; "": none does."""
    return next((str(margin["slices"]) for margin in plan.margins if "slices" in margin), "")


def find_judge(plan: AnalysisPlan) -> tuple[str, str]:
    """Return the judge whose labels correct the planned differences, and the version of its prompt;
    "" where people alone decide."""
    for row in (*plan.hypotheses, *plan.margins):
        if row.get("judge"):
            return str(row["judge"]), str(row.get("prompt_version", ""))
    return "", ""


def takes_judge(criterion: Criterion) -> bool:
    """Tell whether a judge's labels can correct the differences of systems on this question."""
    family = get_family(criterion.family)
    return family.compares or family.decides or (family.is_scored and not family.averages)


def has_column(items: QuerySet[Item], name: str) -> bool:
    """Tell whether a column of this name came with an item."""
    return any(name in extra for extra in items.values_list("extra", flat=True).iterator())


def own_thresholds(study: Study, plan: AnalysisPlan) -> dict[str, float]:
    """Return the study's own thresholds, of those that are looked at."""
    return {
        limit.key: plan.thresholds[limit.key] for limit in limits_of(study) if _is_set(plan, limit)
    }


def _is_set(plan: AnalysisPlan, limit: Limit) -> bool:
    """Whether the plan has a value of its own, one that can be: a bundle may bring any number."""
    value = plan.thresholds.get(limit.key)
    return value is not None and limit.least <= value <= limit.most


def mark_plan(plan: AnalysisPlan, rules: Any) -> str:
    """Return a text that is equal as long as the plan and its rules are worded the same."""
    content = {name: getattr(plan, name) for name in (*FIELDS, *FURTHER_FIELDS)}
    return hash_content(content | {"rules": rules})


def find_state(study: Study, counts: Mapping[str, int]) -> list[Any]:
    """Return what is equal as long as the plan stays, cheap enough for a page.

    A plan in which nothing was written is as good as none: other pages keep things in it too.
    `counts`: of its versions and events.
    """
    plan = plan_of(study)
    moments = {name: at.isoformat() for name, at in plan.moments.items()}
    size = find_plan(study)
    return [
        mark_plan(plan, list_conditions(study)),
        moments,
        counts["versions"],
        counts["events"],
        *([size.kept_at.isoformat()] if size else []),
    ]


@transaction.atomic
def change_plan(
    *, study: Study, values: Mapping[str, Any], seen: str, by: Any, reason: str = ""
) -> list[str]:
    """Save the plan, log what changed, and return the names of the changed fields.

    `values`: by name, of FIELDS and FURTHER_FIELDS, and `rules`; thresholds are those that differ
    from the starting values. `seen`: the mark of the plan that was read before. A plan that is
    frozen gets another version, for this reason.
    """
    # one after another: of two people who save at once, the second gets an error
    current = Study.objects.select_for_update().get(pk=study.pk)
    # of a study of its own: the page of a plan that isn't saved shows what was read before
    plan, rules = plan_of(current), list_conditions(study)
    if mark_plan(plan, rules) != seen:
        raise ValidationError(
            "Someone changed this plan while you had it open. Reload the page, and enter your "
            "changes again."
        )
    # a threshold that is not looked at any more is on no form
    stands = {name: getattr(plan, name) for name in (*FIELDS, *FURTHER_FIELDS)}
    stands["thresholds"] = own_thresholds(study, plan)
    stands["rules"] = rules
    changed = [name for name in stands if name in values and stands[name] != values[name]]
    if not changed:
        return []
    is_frozen = AnalysisPlanVersion.objects.filter(study=study).exists()
    if is_frozen and not reason.strip():
        raise ValidationError("Enter why the plan is changed. The report prints it.")
    columns = [name for name in changed if name != "rules"]
    for name in columns:
        setattr(plan, name, values[name])
    plan.changed_at, plan.changed_by = now(), by
    parts = dict.fromkeys(_MOMENT_OF.get(name, name) for name in changed)
    moments = [PLAN_MOMENTS[name] for name in parts if name in PLAN_MOMENTS]
    for name in moments:
        setattr(plan, name, plan.changed_at)
    moments += ["changed_at", "changed_by"]
    # what else the row holds belongs to other pages
    plan.save(update_fields=None if plan.pk is None else [*columns, *moments])
    if "rules" in changed:
        _store_rules(study, values["rules"], is_frozen=is_frozen)
    # the rule is named only: the log is no place for texts
    phrases = {name: values[name] for name in changed if name != "exclusion_rule"}
    AuditEntry.objects.record(
        ACTION, by=by, study_id=study.pk, fields=changed, at=plan.changed_at.isoformat(), **phrases
    )
    if is_frozen:
        freeze_plan(study, by, reason.strip())
    return changed


def _store_rules(study: Study, rules: list[list[dict[str, Any]]], *, is_frozen: bool) -> None:
    """Replace the rules by these; what stays keeps its row, which exclusions name."""
    known = list(ExclusionRule.objects.current().filter(study=study))
    for position, conditions in enumerate(rules, start=1):
        row = next((rule for rule in known if rule.conditions == conditions), None)
        if row is None:
            ExclusionRule.objects.create(study=study, position=position, conditions=conditions)
            continue
        known.remove(row)
        row.position = position
        row.save(update_fields=["position"])
    gone = ExclusionRule.objects.filter(pk__in=[rule.pk for rule in known])
    if is_frozen:
        gone.update(removed_at=now())
    else:
        gone.delete()


# --- what reports say about it------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A study's plan, its rules and its frozen versions, as they were read at one moment."""

    plan: AnalysisPlan
    rules: list[list[dict[str, Any]]]
    versions: list[AnalysisPlanVersion]
    has_imported: bool
    has_pilots: bool  # answers of a pilot
    is_hidden: bool


def read_plan(study: Study) -> Stored:
    answers = Annotation.objects.filter(study=study)
    # with the plan, in one query
    row = Study.objects.select_related("analysis_plan").annotate(
        has_imported=Exists(answers.filter(origin=Origin.IMPORTED)),
        has_pilots=Exists(answers.filter(status=Annotation.Status.PILOT)),
        is_hidden=Exists(list_hidden().filter(pk=study.pk)),
    )
    known = row.get(pk=study.pk)
    plan = getattr(known, "analysis_plan", None) or AnalysisPlan()
    plan.study = study
    return Stored(
        plan=plan,
        rules=list_conditions(study),
        versions=list_versions(study),
        has_imported=known.has_imported,
        has_pilots=known.has_pilots,
        is_hidden=known.is_hidden,
    )


def describe_plan(study: Study, stored: Stored | None = None) -> dict[str, Any]:
    """The plan as plain data, with the moment of each part and how many answers there were then."""
    stored = stored or read_plan(study)
    plan = stored.plan
    return {
        "primary": plan.primary,
        "margins": plan.margins,
        "thresholds": own_thresholds(study, plan),
        "limits": [limit.key for limit in limits_of(study)],
        "exclusion_rule": plan.exclusion_rule,
        "moments": {
            name: {"at": plan.moments[name].isoformat(), "answers": answers}
            for name, answers in count_answers_at(plan).items()
        },
        "has_imported": stored.has_imported,
        **({"hides_results": True} if study.hides_results else {}),
        **name_criteria(study, plan),
        **({"size": size} if (size := describe_kept(study)) else {}),
        **({"clusters": clusters} if (clusters := list_cluster_answers(study)) else {}),
        **_describe_frozen(study, stored),
    }


def name_criteria(study: Study, plan: AnalysisPlan) -> dict[str, Any]:
    """Return label and unit of margins of the criteria, where the plan names any."""
    if not (plan.primary or plan.margins or plan.hypotheses):
        return {}
    named = {}
    for criterion in study.config.criteria:
        family = get_family(criterion.scale.family)
        is_share = family.compares or family.decides
        unit = "ratio" if family.is_log else "percentage points" if is_share else "points"
        unit = "" if criterion.scale.kind == "number" else unit
        named[criterion.key] = {"label": criterion.label, "unit": unit}
    return {"criteria": named}


def _describe_frozen(study: Study, stored: Stored) -> dict[str, Any]:
    """Return what is planned beside, and what became of it; without what is empty."""
    plan, first = stored.plan, find_first(stored.versions)
    known = {
        "hypotheses": plan.hypotheses,
        "rules": [describe_rule(rule) for rule in stored.rules],
        "has_own_errors": plan.has_own_errors,
        "smallest": plan.smallest,
        "planned": {} if first is None else first.content.get("planned", {}),
        "frozen_at": "" if first is None else first.frozen_at.isoformat(),
        "sha256": "" if first is None else first.commitment,
        "deviations": [
            deviation.to_data() for deviation in list_deviations(study, stored.versions)
        ],
    }
    return {name: value for name, value in known.items() if value}
