"""The table of analysis plans goes from one app to another: forth and back, no plan is lost."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from evalsite.audit.models import AuditEntry
from evalsite.quality.exclusion_rules import list_conditions
from evalsite.quality.models import AnalysisPlan
from evalsite.quality.plan_state import plan_of
from evalsite.results.analysis_plan.stored import change_plan, mark_plan
from evalsite.studies.models import Study
from tests.support.factories import make_study, make_user

BEFORE = [("quality", "0001_initial"), ("results", "0002_analysis_plan")]
MOMENT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def migrate(targets: list[tuple[str, str]]) -> Any:
    """The models as they are once the database stands at these migrations."""
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


def list_newest() -> list[tuple[str, str]]:
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    return [leaf for leaf in leaves if leaf[0] in {"quality", "results"}]


@pytest.fixture
def newest(transactional_db: None) -> Iterator[list[tuple[str, str]]]:
    """The newest migrations, at which the database stands again in the end."""
    targets = list_newest()
    yield targets
    if "results_analysisplan" in connection.introspection.table_names():
        migrate(targets)


def tell_change(study: Study, at: datetime, **said: Any) -> None:
    """What the log said of a change before plans kept their own moments."""
    AuditEntry.objects.record(
        "analysis plan changed", by="ada", study_id=study.pk, fields=[*said], at=at.isoformat(),
        **said,
    )  # fmt: skip


@pytest.mark.torture
def test_plans_go_back_and_come_along_with_their_moments_and_permissions(newest):
    study, other, earlier, taken_back = (make_study(items=1, title=title) for title in "abcd")
    author = make_user("author")
    AnalysisPlan.objects.create(study=taken_back, baseline="neural", rule_changed_at=MOMENT)

    # back
    old = migrate(BEFORE).get_model("results", "AnalysisPlan").objects
    plan = old.get()
    assert plan.study_id == taken_back.pk
    assert (plan.baseline, plan.rule_changed_at) == ("neural", MOMENT)

    # forth, with plans, a log and a permission of then
    old.create(
        study_id=study.pk, baseline="neural", thresholds={"gold": 0.7}, exclusion_rule="Too fast.",
        repeats_id=earlier.pk, rule_changed_at=MOMENT, changed_at=MOMENT, changed_by_id=author.pk,
    )  # fmt: skip
    old.create(study_id=other.pk, repeats_id=earlier.pk)
    later = MOMENT + timedelta(days=2)
    tell_change(study, MOMENT, baseline="template", thresholds={}, exclusion_rule="Too fast.")
    tell_change(study, later, baseline="neural")
    tell_change(earlier, later, thresholds={"gold": 0.6})
    permit_of_old(author)
    migrate(newest)

    plan, bare = AnalysisPlan.objects.get(study=study), AnalysisPlan.objects.get(study=other)
    assert (plan.baseline, plan.exclusion_rule) == ("neural", "Too fast.")
    assert plan.thresholds == {"gold": 0.7}
    assert (plan.repeats, plan.changed_at, plan.changed_by) == (earlier, MOMENT, author)
    assert plan.moments == {"baseline": later, "thresholds": MOMENT, "exclusion_rule": MOMENT}
    assert bare.repeats == earlier
    assert bare.moments == {}
    assert "results_analysisplan" not in connection.introspection.table_names()
    assert type(author).objects.get(pk=author.pk).has_perm("quality.view_analysisplan")
    assert not ContentType.objects.filter(app_label="results", model="analysisplan").exists()

    # plans of studies with and without one can be written
    for one in (other, earlier):
        values = {"baseline": "template", "thresholds": {}, "exclusion_rule": ""}
        change_plan(
            study=one, values=values, seen=mark_plan(plan_of(one), list_conditions(one)), by=author
        )
    assert AnalysisPlan.objects.filter(baseline="template").count() == 2


def permit_of_old(user: User) -> None:
    """This person may look at plans, as the database said before the move."""
    ContentType.objects.filter(model="analysisplan").delete()
    kind = ContentType.objects.create(app_label="results", model="analysisplan")
    given = Permission.objects.create(content_type=kind, codename="view_analysisplan", name="x")
    user.user_permissions.add(given)
    ContentType.objects.clear_cache()
