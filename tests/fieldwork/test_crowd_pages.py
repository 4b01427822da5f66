"""What the team sees and does when people take places without answering."""

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.handout.models import Slot
from evalsite.people.models import Participant
from evalsite.results.overview.attention import CROWDED_SETS
from evalsite.studies.models import Membership, Study
from tests.support.experts import invite
from tests.support.factories import answer_item, make_user
from tests.support.networks import HONEST, Visitor, make_crowded

pytestmark = pytest.mark.django_db

POSTS = ("study-joining", "study-open-link", "study-unanswered-take-back")


@pytest.fixture(autouse=True)
def _limits(settings) -> None:
    settings.JOINS_PER_ADDRESS = 60


@pytest.fixture
def study() -> Study:
    return make_crowded()


def url(name: str, study: Study) -> str:
    return reverse(f"admin:{name}", args=[study.pk])


def tasks_of(staff_client, study: Study) -> dict:
    page = staff_client.get(url("study-overview", study))
    return {task.key: task for task in page.context["tasks"]}


def bring(study: Study, people: int, *, answers: int = 0, origin: str = "") -> list[Visitor]:
    """So many people hold a set each, from one network or each from another."""
    visitors = []
    for number in range(people):
        visitor = Visitor(study, origin or f"192.0.2.{number}")
        visitor.take_place()
        visitor.read_instructions()
        visitor.answer(range(1, answers + 1))
        visitors.append(visitor)
    return visitors


# --- the warnings -------------------------------------------------------------------------


def test_the_overview_warns_when_people_without_an_answer_hold_a_fifth_of_the_free_places(
    staff_client, study
):
    bring(study, 6)
    assert "unanswered" not in tasks_of(staff_client, study)
    bring(study, 1)

    task = tasks_of(staff_client, study)["unanswered"]

    assert (task.count, task.items) == (70, 300)
    page = staff_client.get(url("study-overview", study)).text
    assert url("study-joining", study) in page
    assert url("study-places-unanswered", study) in page


@pytest.mark.torture
def test_the_overview_warns_when_one_network_holds_a_tenth_of_the_places(staff_client, study):
    bring(study, 5, answers=3, origin="192.0.2.1")
    assert "network" not in tasks_of(staff_client, study)
    bring(study, 3, answers=1, origin="192.0.2.1")

    task = tasks_of(staff_client, study)["network"]

    assert (task.count, task.items) == (62, 282)
    Study.objects.filter(pk=study.pk).update(is_from_one_place=True)
    assert "network" not in tasks_of(staff_client, study)


@pytest.mark.torture
def test_a_few_people_who_have_just_begun_are_no_reason_to_warn(staff_client):
    study = make_crowded(items=20)

    bring(study, CROWDED_SETS)

    assert "unanswered" not in tasks_of(staff_client, study)


def test_the_overview_says_that_many_people_come_from_one_place(staff_client, study):
    form = {"do": "save", "open-is_from_one_place": "on"}
    staff_client.post(url("study-open-link", study), form)

    page = staff_client.get(url("study-overview", study)).text

    assert "Many people come from one place" in page
    form = staff_client.get(url("study-invite", study)).context["open_form"]
    assert form["is_from_one_place"].value() is True


# --- pausing joins ------------------------------------------------------------------------


def test_pausing_stops_new_people_only_and_resuming_lets_them_in(staff_client, researcher, study):
    (visitor,) = bring(study, 1)

    staff_client.post(url("study-joining", study), {"do": "pause"})
    staff_client.post(url("study-joining", study), {"do": "pause"})

    refused = Visitor(study, HONEST).press_start()
    assert refused.status_code == 200
    assert "Nobody new can start right now" in refused.text
    assert Participant.objects.filter(study=study).count() == 1
    visitor.answer(range(1, 11))
    visitor.post(f"{visitor.home}sets/1/review/")
    visitor.post(f"{visitor.home}start/")
    assert visitor.item_set.number == 2
    assert "joins-paused" in tasks_of(staff_client, study)
    staff_client.post(url("study-joining", study), {"do": "resume"})
    assert Visitor(study, HONEST).take_place().status_code == 302
    log = AuditEntry.objects.filter(action__startswith="joining").order_by("id")
    assert [*log.values_list("action", "actor")] == [
        ("joining paused", researcher.pk),
        ("joining resumed", researcher.pk),
    ]


def test_people_who_were_invited_personally_join_while_joining_is_paused(staff_client, study):
    [expert] = invite(study, "Ana Costa")
    staff_client.post(url("study-joining", study), {"do": "pause"})
    visitor = Visitor(study, HONEST)
    visitor.home = f"/p/{expert.link.token}/"

    visitor.post(visitor.home)
    visitor.agree()
    visitor.post(f"{visitor.home}instructions/")
    visitor.post(f"{visitor.home}start/")

    assert visitor.item_set.total == 10


# --- taking places back -------------------------------------------------------------------


def test_places_without_an_answer_are_taken_back_after_a_look_at_them(
    staff_client, researcher, study
):
    idle = bring(study, 2)
    (busy,) = bring(study, 1, answers=1)

    page = staff_client.get(url("study-places-unanswered", study))
    assert {one.pseudonym for one in page.context["squatters"]} == {
        one.me.pseudonym for one in idle
    }
    assert page.context["places"] == 20
    assert Slot.objects.leased().count() == 29
    for _ in range(2):
        staff_client.post(url("study-unanswered-take-back", study))

    assert Slot.objects.leased().count() == 9
    assert busy.me.slots.leased().count() == 9
    entry = AuditEntry.objects.get(action="places without an answer taken back")
    assert (entry.actor, entry.detail["places"]) == (researcher, 20)
    # they come back with what is free
    idle[0].post(f"{idle[0].home}start/")
    assert idle[0].me.slots.leased().count() == 10


def test_what_was_answered_outside_the_set_is_no_answer_in_it(staff_client, study):
    (visitor,) = bring(study, 1)
    item = study.items.main().exclude(pk__in=visitor.item_set.item_ids)[0]
    # as an answer to a practice item
    answer_item(visitor.me, item)

    page = staff_client.get(url("study-places-unanswered", study))

    assert page.context["places"] == 10


def test_a_report_counts_as_an_answer_when_places_are_taken_back(staff_client, study):
    (visitor,) = bring(study, 1)
    visitor.report([1])

    staff_client.post(url("study-unanswered-take-back", study))

    assert visitor.me.slots.leased().count() == 9


def test_the_list_of_places_without_an_answer_takes_as_many_queries_for_more_people(
    staff_client, study, django_assert_num_queries, django_assert_max_num_queries
):
    bring(study, 1)
    staff_client.get(url("study-places-unanswered", study))
    with django_assert_max_num_queries(30) as few:
        staff_client.get(url("study-places-unanswered", study))
    queries = len(few)
    bring(study, 6)

    with django_assert_num_queries(queries):
        staff_client.get(url("study-places-unanswered", study))


@pytest.mark.one_case
@pytest.mark.parametrize("name", POSTS)
@pytest.mark.parametrize(("role", "status"), [("editor", 302), ("viewer", 403)])
def test_editors_act_and_viewers_do_not(client, study, name, role, status):
    user = make_user("another")
    Membership.objects.create(study=study, user=user, role=role)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")

    assert client.post(url(name, study)).status_code == status
    assert client.get(url(name, study)).status_code == (405 if role == "editor" else 403)


def test_people_without_an_account_do_none_of_it(study):
    for name in POSTS:
        assert Client().post(url(name, study)).status_code == 302
    study.refresh_from_db()
    assert (study.joins_paused_at, study.is_from_one_place) == (None, False)
