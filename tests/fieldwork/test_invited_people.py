"""People invited by name: set after set, and whether what is missing can still come."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.fieldwork.invitations import reassign
from evalsite.fieldwork.invited_people import count_expected, count_out_of_reach
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.participation.stopping import stop_person
from evalsite.people.models import Participant, Recruitment, StopKind
from evalsite.studies.models import Study
from tests.support.experts import Visitor, invite
from tests.support.factories import launch, make_study, make_user
from tests.support.rounds import Person, make_round
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


def test_whoever_was_invited_by_name_goes_on_from_set_to_set():
    study = make_live(items=4, k=1, set_size=2, max_sets=1, is_practice_on=False)
    visitor = Visitor(invite(study, "Ana Costa")[0]).arrive()

    assert visitor.work(9) == 4

    assert visitor.me.item_sets.filter(finished_at__isnull=False).count() == 2


def alone(study: Study) -> Study:
    """Nobody comes by the open link."""
    study.recruitments.filter(number=0).delete()
    return study


# 6 items: people, answers to an item, what each rates; by hand: items x answers, less what the
# people give
REACH = [
    (2, 2, "all", 0),
    # raised to 2 in a draft only
    (1, 2, "all", 6),
    (2, 3, "all", 6),
    (3, 2, "share", 0),
    (1, 2, "share", 6),
    # nobody is invited: nothing to say
    (0, 2, "all", 0),
]
NAMES = ("Ana Costa", "Ben Okafor", "Chen Li")


@pytest.mark.parametrize("is_launched", [False, True])
@pytest.mark.parametrize(("people", "k", "rates", "short"), REACH)
def test_answers_out_of_reach_are_counted(people, k, rates, short, is_launched):
    study = make_study(items=6, k=k)
    study = alone(launch(study)) if is_launched else study
    if people:
        invite(study, *NAMES[:people], rates=rates)
    study.refresh_from_db()

    with CaptureQueriesContext(connection) as queries:
        assert count_out_of_reach(study) == short
    assert len(queries) <= (2 if is_launched else 5)


def test_whoever_withdrew_or_was_stopped_gives_nothing_more():
    study = alone(make_live(items=4, k=2, set_size=2, is_practice_on=False))
    ana, ben = invite(study, "Ana Costa", "Ben Okafor")
    visitor = Visitor(ana).arrive()
    visitor.work(1)
    assert count_out_of_reach(study) == 0

    stop_person(visitor.me, StopKind.CONDUCT)
    assert count_out_of_reach(study) == 3
    Participant.objects.filter(pk=ben.link.participant_id).update(withdrawn_at=now())
    assert count_out_of_reach(study) == 7


def test_what_was_given_to_anyone_can_come_from_nobody_who_is_invited():
    study = alone(make_live(items=4, k=1))
    [ana] = invite(study, "Ana Costa")

    reassign(expert=ana, to=None, by=make_user())

    assert count_out_of_reach(study) == 4


def test_while_others_may_come_there_is_nothing_to_warn_of():
    study = alone(make_live(items=2, k=3, set_size=2))
    invite(study, "Ana Costa")
    assert count_out_of_reach(study) == 4

    panel = make_round(study, "prolific", places=1)
    assert count_out_of_reach(study) == 0

    Recruitment.objects.filter(pk=panel.pk).update(is_on=False)
    assert count_out_of_reach(study) == 4
    make_round(study, "open_link", is_on=True)
    assert count_out_of_reach(study) == 0


def test_a_panel_that_is_full_brings_nobody_more():
    study = alone(
        make_live(items=2, k=3, set_size=2, is_practice_on=False, is_eligibility_on=False)
    )
    invite(study, "Ana Costa")
    panel = make_round(study, "prolific", places=1)
    person = Person(panel).enter()
    assert count_out_of_reach(study) == 2

    person.finish()

    # 2 of 6 answers are in, 2 are Ana's
    assert Slot.objects.done().count() == 2
    assert count_out_of_reach(study) == 2


def test_people_who_are_expected_are_those_invited_and_wanted():
    study = make_study(items=2)
    assert count_expected(study) is None
    invite(study)
    assert count_expected(study) == 3
    make_round(study, "prolific", places=40)
    assert count_expected(study) == 43
    make_round(study, "open_link", is_on=True)
    assert count_expected(study) is None


def test_invite_and_overview_say_that_answers_can_never_come(staff_client):
    study = alone(make_live(items=2, k=3, set_size=2))
    invite(study, "Ana Costa")
    overview = reverse("admin:study-overview", args=[study.pk])
    page = reverse("admin:study-invite", args=[study.pk])

    short = staff_client.get(overview)
    assert ("reach", 4) in [(task.key, task.count) for task in short.context["tasks"]]
    assert staff_client.get(page).context["out_of_reach"] == 4
    invite(study, "Ben Okafor", "Chen Li")

    enough = staff_client.get(overview)
    assert "reach" not in [task.key for task in enough.context["tasks"]]
    assert staff_client.get(page).context["out_of_reach"] == 0


def test_the_message_to_send_is_from_those_who_run_the_study(staff_client):
    study = alone(make_live(items=2, k=1, set_size=2))
    invite(study, "Ana Costa")

    page = staff_client.get(reverse("admin:study-invite", args=[study.pk]))

    assert "Thank you! Language Lab" in page.text


def test_the_link_of_a_draft_says_that_the_study_has_not_begun():
    study = make_study(items=2)
    [ana] = invite(study, "Ana Costa")

    for method in (Client().get, Client().post):
        page = method(f"/p/{ana.link.token}/")
        assert page.status_code == 200
        assert page.templates[0].name == "people/closed.html"
