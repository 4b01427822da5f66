"""A study's link, code and completion link of before become rounds that go on as they did."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from evalsite.lib.clock import now
from evalsite.participants.models import OutcomeCode, Visit
from evalsite.studies.models import Study
from tests.support.arriving import P, Q, join, prolific
from tests.support.factories import make_participant
from tests.support.tabs import make_live

BEFORE = [("participants", "0005_reserved_sets"), ("studies", "0008_may_skip_practice")]


def migrate(targets: list[tuple[str, str]]) -> Any:
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


@pytest.fixture
def newest(transactional_db: None) -> Iterator[list[tuple[str, str]]]:
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    yield leaves
    migrate(leaves)


# a migration that has landed never changes: tests/site/test_migrations.py
@pytest.mark.torture
def test_links_and_codes_of_before_go_on_as_they_did(newest):
    live, draft = make_live(), make_live()
    Study.objects.filter(pk=draft.pk).update(state="draft", launched_at=None)
    people = [make_participant(live) for _ in range(4)]
    make_participant(live, is_pilot=True)
    old = migrate(BEFORE)
    link = "https://example.org/done?cc={code}"
    old.get_model("studies", "Study").objects.filter(pk=live.pk).update(
        completion_code="SAME-4-ALL", completion_url=link
    )
    visits = old.get_model("participants", "Visit").objects
    for number, person in enumerate(people[:2]):
        visits.create(
            study_id=live.pk, participant_id=person.pk, platform="prolific",
            person_id=P[:-1] + str(number), visit_id=str(number),
        )  # fmt: skip
    old.get_model("participants", "ParticipantIdentity").objects.create(
        study_id=live.pk, participant_id=people[0].pk, platform="prolific", outside_id=P
    )
    old.get_model("participants", "ItemSet").objects.create(
        study_id=live.pk, participant_id=people[0].pk, number=1, finished_at=now(), code="AB"
    )
    old.get_model("participants", "Participant").objects.filter(pk=people[3].pk).update(
        is_eligible=False
    )

    migrate(newest)

    rounds = [*live.recruitments.values_list("number", "platform", "is_on", "has_further_sets")]
    assert rounds == [
        (0, "open_link", True, True),
        (1, "prolific", True, True),
        (2, "connect", True, True),
        (3, "sona", True, True),
        (4, "mturk", True, True),
    ]
    assert not draft.recruitments.exists()
    codes = OutcomeCode.objects.values_list("outcome", "code", "link")
    assert {*codes} == {("completed", "SAME-4-ALL", link)}
    came = {
        visit.participant_id: (visit.recruitment.number, visit.outcome)
        for visit in Visit.objects.select_related("recruitment")
    }
    assert came == {
        people[0].pk: (1, "completed"),
        people[1].pk: (1, ""),
        people[2].pk: (0, ""),
        people[3].pk: (0, "screened_out"),
    }
    # the link that stands on the platform still finds the person, and lets others in
    home = join(live, prolific())
    assert Client().get(home, follow=True).status_code == 200
    assert Visit.objects.filter(participant=people[0]).count() == 2
    join(live, prolific(person=Q))
    assert live.participants.count() == 6
