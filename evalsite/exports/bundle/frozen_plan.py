"""What an analysis plan holds beyond its first parts: in bundles only where there is any of it."""

from collections.abc import Mapping
from typing import Any

from evalsite.exports.bundle.fields import Misshapen, read_fields, read_whole
from evalsite.exports.bundle.format import to_plain
from evalsite.quality.exclusion_rules import COMPARISONS, MEASURES
from evalsite.quality.models import (
    DIFFERENCES,
    AnalysisPlan,
    AnalysisPlanVersion,
    ExclusionRule,
    PlanEvent,
)
from evalsite.quality.plan_commitment import commit_plan
from evalsite.quality.plan_state import plan_of
from evalsite.studies.models import Study

Plain = dict[str, Any]

# the key in analysis-plan.json
FROZEN = "frozen"
PLAN_FIELDS = ("hypotheses", "smallest", "stopping", "has_own_errors")
RULE_FIELDS = ("position", "conditions", "removed_at")
VERSION_FIELDS = ("number", "content", "sha256", "has_plan", "reason", "answers", "frozen_at")
EVENT_FIELDS = ("kind", "at", "answers", "number", "reason")
_MOST = 1_000
_HYPOTHESIS = {"criterion", "system", "relation", "other"}
_CONDITION = {"measure", "comparison", "threshold"}


def read_frozen(study: Study) -> Plain:
    """Return the parts as plain data, under their key; {} where there are none."""
    plan, empty = plan_of(study), AnalysisPlan(study=study)
    rows = {
        "rules": (ExclusionRule, RULE_FIELDS),
        "versions": (AnalysisPlanVersion, VERSION_FIELDS),
        "events": (PlanEvent, EVENT_FIELDS),
    }
    parts = {
        name: [
            {field: to_plain(getattr(row, field)) for field in fields}
            for row in model._default_manager.filter(study=study)
        ]
        for name, (model, fields) in rows.items()
    }
    own = {name: getattr(plan, name) for name in PLAN_FIELDS}
    is_empty = all(own[name] == getattr(empty, name) for name in PLAN_FIELDS)
    return {} if is_empty and not any(parts.values()) else {FROZEN: {**own, **parts}}


def check_frozen(plain: Mapping[str, Any]) -> None:
    """Raise Misshapen if these can't be parts of a plan."""
    frozen = plain.get(FROZEN)
    if frozen is None:
        return
    read_fields(AnalysisPlan, PLAN_FIELDS, frozen)
    for one in _list_rows(frozen, "hypotheses"):
        is_known = one.keys() == _HYPOTHESIS and one["relation"] in DIFFERENCES
        if not is_known or not all(isinstance(value, str) for value in one.values()):
            raise Misshapen("a hypothesis has a value that can't be")
    for rule in _list_rows(frozen, "rules"):
        read_fields(ExclusionRule, RULE_FIELDS, rule)
        _check_conditions(rule["conditions"])
    _check_history(frozen)


def _check_history(frozen: Mapping[str, Any]) -> None:
    """Raise Misshapen if these can't be versions of a plan, and what was done about it."""
    for version in _list_rows(frozen, "versions"):
        read_fields(AnalysisPlanVersion, VERSION_FIELDS, version)
        if read_whole(version["number"]) < 1 or read_whole(version["answers"]) < 0:
            raise Misshapen("a version of the plan has a number that can't be")
    for event in _list_rows(frozen, "events"):
        read_fields(PlanEvent, EVENT_FIELDS, event)
        if event["kind"] not in PlanEvent.Kind.values or read_whole(event["answers"]) < 0:
            raise Misshapen("an event of the plan has a value that can't be")


def _list_rows(frozen: Mapping[str, Any], name: str) -> list[Any]:
    rows = frozen[name]
    if not isinstance(rows, list) or len(rows) > _MOST:
        raise Misshapen(f"{name} isn't a list, or too long")
    if not all(isinstance(row, dict) for row in rows):
        raise Misshapen(f"{name} holds something else than rows")
    return rows


def _check_conditions(conditions: Any) -> None:
    is_list = isinstance(conditions, list) and 0 < len(conditions) <= _MOST
    if not is_list or not all(
        isinstance(one, dict)
        and one.keys() == _CONDITION
        and one["measure"] in MEASURES
        and one["comparison"] in COMPARISONS
        and type(one["threshold"]) in (int, float)
        for one in conditions
    ):
        raise Misshapen("an exclusion rule has a condition that can't be")


def store_frozen(
    study: Study, plain: Mapping[str, Any], *, has_data: bool, is_copy: bool = False
) -> None:
    """Store the parts: a study without its data is a draft, in which nothing is frozen yet.

    Nobody committed to the plan of a copy, which has an id of its own.
    """
    frozen = plain.get(FROZEN)
    if frozen is None:
        return
    values = read_fields(AnalysisPlan, PLAN_FIELDS, frozen)
    AnalysisPlan.objects.filter(study=study).update(**values)
    for row in frozen["rules"]:
        if has_data or row["removed_at"] is None:
            values = read_fields(ExclusionRule, RULE_FIELDS, row)
            ExclusionRule.objects.create(study=study, **values)
    if not has_data:
        return
    for row in frozen["versions"]:
        values = read_fields(AnalysisPlanVersion, VERSION_FIELDS, row)
        version = AnalysisPlanVersion.objects.create(study=study, **values)
        if not is_copy and study.version_id is not None:
            commit_plan(study, version)
    for row in frozen["events"]:
        PlanEvent.objects.create(study=study, **read_fields(PlanEvent, EVENT_FIELDS, row))
