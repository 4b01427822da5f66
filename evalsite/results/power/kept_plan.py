"""The size that a study was planned for: chosen once from the planner, and printed in reports."""

from typing import Any

from evalsite.audit.models import AuditEntry
from evalsite.lib.clock import now
from evalsite.quality.plan_state import count_answers
from evalsite.results.models import SizePlan
from evalsite.studies.models import Study

ACTION = "size_plan.keep"


def keep_plan(*, study: Study, content: dict[str, Any], by: Any) -> SizePlan:
    """Keep this size as the study's; the one before it is in the log."""
    plan, _ = SizePlan.objects.update_or_create(
        study=study, defaults={"content": content, "kept_at": now(), "kept_by": by}
    )
    study.size_plan = plan
    AuditEntry.objects.record(ACTION, by=by, study_id=study.pk, **content)
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
