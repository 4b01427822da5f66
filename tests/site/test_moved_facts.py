"""What stood in the log, or in another column, is on the row after the migration.

A migration that has landed never changes: see test_migrations.py.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from evalsite.audit.models import AuditEntry
from evalsite.quality.models import Exclusion
from evalsite.results.models import Report
from tests.results.test_plan_migration import list_newest, migrate
from tests.support.factories import make_participant, make_study, make_user

BEFORE = [("quality", "0002_analysis_plan"), ("results", "0003_hand_over_the_analysis_plan")]


@pytest.fixture
def newest(transactional_db: None) -> Iterator[list[tuple[str, str]]]:
    """The newest migrations, at which the database stands again in the end."""
    targets = list_newest()
    yield targets
    migrate(targets)


def moment(day: int) -> datetime:
    return datetime(2026, 3, day, tzinfo=UTC)


@pytest.mark.torture
def test_who_revoked_an_exclusion_comes_from_the_log(newest: list[tuple[str, str]]) -> None:
    study, ada = make_study(items=1), make_user("ada")
    people = [make_participant(study) for _ in range(3)]
    old = migrate(BEFORE).get_model("quality", "Exclusion").objects
    revoked, unknown, standing = (
        old.create(
            study_id=study.pk, participant_id=me.pk, reason="Too fast", revoked_at=revoked_at
        )
        for me, revoked_at in zip(people, [moment(2), moment(2), None], strict=True)
    )
    for one, by in ((revoked, ada), (unknown, "somebody without an account")):
        AuditEntry.objects.record(
            "exclusion taken back", by=by, study_id=study.pk, exclusion=one.pk
        )

    migrate(newest)

    found = {one.pk: one.revoked_by for one in Exclusion.objects.all()}
    assert found == {revoked.pk: ada, unknown.pk: None, standing.pk: None}


@pytest.mark.torture
def test_reports_keep_their_order_and_their_moments(newest: list[tuple[str, str]]) -> None:
    study = make_study(items=1)
    old = migrate(BEFORE).get_model("results", "Report").objects
    days = {uuid4(): day for day in (3, 9, 5)}
    for pk, day in days.items():
        old.create(
            pk=pk, study_id=study.pk, fingerprint=f"{day}", sha256="", content={},
            made_at=moment(day),
        )  # fmt: skip

    migrate(newest)

    assert [one.made_at.day for one in Report.objects.all()] == [9, 5, 3]
    assert all(one.requested_at == one.made_at for one in Report.objects.all())
