"""The table of analysis plans goes from one app to another: forth and back, no plan is lost."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from evalsite.audit.models import AuditEntry
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
    migrate(targets)


def tell_change(study: Study, at: datetime, **said: Any) -> None:
    """What the log said of a change before plans kept their own moments."""
    AuditEntry.objects.record(
        "analysis plan changed", by="ada", study_id=study.pk, fields=[*said], at=at.isoformat(),
        **said,
    )  # fmt: skip


@pytest.mark.slow
def test_plans_come_along_with_the_moments_that_the_log_has(newest):
    study, other, earlier = (make_study(items=1, title=title) for title in "abc")
    author = make_user("author")
    old = migrate(BEFORE).get_model("results", "AnalysisPlan").objects
    old.create(
        study_id=study.pk, baseline="neural", thresholds={"gold": 0.7}, exclusion_rule="Too fast.",
        repeats_id=earlier.pk, rule_changed_at=MOMENT, changed_at=MOMENT, changed_by_id=author.pk,
    )  # fmt: skip
    old.create(study_id=other.pk, repeats_id=earlier.pk)
    later = MOMENT + timedelta(days=2)
    tell_change(study, MOMENT, baseline="template", thresholds={}, exclusion_rule="Too fast.")
    tell_change(study, later, baseline="neural")
    tell_change(earlier, later, thresholds={"gold": 0.6})

    migrate(newest)

    plan, bare = AnalysisPlan.objects.get(study=study), AnalysisPlan.objects.get(study=other)
    assert (plan.baseline, plan.exclusion_rule) == ("neural", "Too fast.")
    assert plan.thresholds == {"gold": 0.7}
    assert (plan.repeats, plan.changed_at, plan.changed_by) == (earlier, MOMENT, author)
    assert plan.moments == {"baseline": later, "thresholds": MOMENT, "exclusion_rule": MOMENT}
    assert bare.repeats == earlier
    assert bare.moments == {}
    assert "results_analysisplan" not in connection.introspection.table_names()


@pytest.mark.slow
def test_a_plan_can_be_written_after_the_move(newest):
    study, other = make_study(items=1), make_study(items=1, title="b")
    migrate(BEFORE).get_model("results", "AnalysisPlan").objects.create(study_id=study.pk)
    migrate(newest)

    for one in (study, other):
        values = {"baseline": "neural", "thresholds": {}, "exclusion_rule": ""}
        change_plan(study=one, values=values, seen=mark_plan(plan_of(one)), by=make_user("author"))

    assert AnalysisPlan.objects.filter(baseline="neural").count() == 2


@pytest.mark.slow
def test_the_move_can_be_taken_back_with_the_plan(newest):
    study = make_study(items=1)
    AnalysisPlan.objects.create(study=study, baseline="neural", rule_changed_at=MOMENT)

    plan = migrate(BEFORE).get_model("results", "AnalysisPlan").objects.get()

    assert (plan.study_id, plan.baseline, plan.rule_changed_at) == (study.pk, "neural", MOMENT)


@pytest.mark.slow
def test_who_was_permitted_something_about_plans_still_is(newest):
    migrate(BEFORE)
    ContentType.objects.filter(model="analysisplan").delete()
    kind = ContentType.objects.create(app_label="results", model="analysisplan")
    given = Permission.objects.create(content_type=kind, codename="view_analysisplan", name="x")
    user = make_user("author")
    user.user_permissions.add(given)
    ContentType.objects.clear_cache()

    migrate(newest)

    assert type(user).objects.get(pk=user.pk).has_perm("quality.view_analysisplan")
    assert not ContentType.objects.filter(app_label="results", model="analysisplan").exists()
