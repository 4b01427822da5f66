"""The overview of people invited by name, of what they write, and of what is over."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from evalsite.decisions.exclusions import exclude
from evalsite.decisions.models import PeopleFigures
from evalsite.decisions.people_figures import store_figures
from evalsite.fieldwork.launch import close_study
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.people.models import Expert, Participant, ParticipantLink
from evalsite.studies.models import Item, Membership, Study
from tests.results.test_overview import answer_all, make_live, overview
from tests.site.test_staff_pages import member, url
from tests.support.experts import invite
from tests.support.factories import make_participant
from tests.support.planned import add_person, make_planned_study

pytestmark = pytest.mark.django_db


def make_invited(*names: str) -> tuple[Study, list[Expert]]:
    """A live study of 4 items for these people, invited five days ago."""
    study = make_live(items=4, k=len(names))
    people = invite(study, *names)
    study.experts.update(created_at=now() - timedelta(days=5))
    return study, people


def rate(expert: Expert, answers: int, *, ago: timedelta) -> None:
    """So many of this person's places are answered; the last one so long ago."""
    person = expert.link.participant
    ParticipantLink.objects.create(
        study=expert.study, participant=person, token_hash=expert.link.token_hash
    )
    for slot in Slot.objects.assigned().filter(participant=person)[:answers]:
        answer(slot, person, now() - ago)


def answer(slot: Slot, person: Participant, at: datetime, note: str = "") -> None:
    """This place is answered by this person at this moment."""
    slot.state, slot.participant, slot.lease_until = Slot.State.DONE, person, None
    slot.save()
    Annotation.objects.create(
        study=slot.study, item=slot.item, participant=person, slot=slot, key=uuid4(), note=note,
        status="counted", started_at=at - timedelta(seconds=40), submitted_at=at,
    )  # fmt: skip


def list_keys(client: Client, study: Study) -> list[str]:
    return [task.key for task in overview(client, study).context["tasks"]]


# --- who is invited ---------------------------------------------------------------------------


def test_headline_names_the_one_person_that_a_study_waits_for(staff_client):
    study, (ana, ben, chen) = make_invited("Ana Ruiz", "Ben Otte", "Chen Li")
    rate(ana, 2, ago=timedelta(minutes=5))
    two_wait = overview(staff_client, study).context["headline"].key
    rate(chen, 1, ago=timedelta(hours=1))

    page = overview(staff_client, study)

    assert two_wait != "awaited"
    assert (page.context["headline"].key, page.context["headline"].name) == ("awaited", "Ben Otte")
    assert "3 of 12 answers: waiting for Ben Otte" in page.text
    rate(ben, 1, ago=timedelta(minutes=1))
    assert overview(staff_client, study).context["headline"].key != "awaited"


def test_people_have_their_share_and_state_and_no_name_for_those_who_may_not_see_it(db):
    study, (ana, ben, chen) = make_invited("Ana Ruiz", "Ben Otte", "Chen Li")
    rate(ana, 2, ago=timedelta(minutes=5))
    rate(chen, 4, ago=timedelta(days=1))
    rows = overview(member(study, "owner"), study).context["people"]

    other = overview(member(study, "editor"), study)

    assert [(row.name, row.done, row.total, row.state) for row in rows] == [
        ("Ana Ruiz", 2, 4, "working"), ("Ben Otte", 0, 4, "unopened"), ("Chen Li", 4, 4, "done"),
    ]  # fmt: skip
    assert "Otte" not in other.text
    assert ben.link.participant.pseudonym in other.text


@pytest.mark.parametrize(("days", "is_late"), [(2, False), (3, True)])
def test_unopened_links_and_people_who_stopped_are_said_after_three_days(
    staff_client, days, is_late
):
    study, (ana, _) = make_invited("Ana Ruiz", "Ben Otte")
    Study.objects.update(launched_at=now() - timedelta(days=9))
    study.experts.update(created_at=now() - timedelta(days=days, hours=1))
    rate(ana, 1, ago=timedelta(days=days, hours=1))

    tasks = overview(staff_client, study).context["tasks"]

    late = {task.key: (task.count, task.items, task.person.name) for task in tasks if task.person}
    expected = {"unopened": (1, 4, "Ben Otte"), "stopped": (1, 3, "Ana Ruiz")}
    assert late == (expected if is_late else {})


def test_people_take_as_many_queries_for_two_as_for_twelve(staff_client, django_assert_num_queries):
    counts = []
    for number in (2, 12):
        study, people = make_invited(*(f"Person {letter}" for letter in "abcdefghijkl"[:number]))
        rate(people[0], 1, ago=timedelta(hours=1))
        overview(staff_client, study)
        with django_assert_num_queries(15, exact=False) as queries:
            overview(staff_client, study)
        counts.append(len(queries))

    assert counts[0] == counts[1]


# --- flags -------------------------------------------------------------------------------------


def test_flagged_people_are_counted_until_they_are_excluded(staff_client, monkeypatch):
    study = make_live(items=4)
    answer_all(study, 3, over=timedelta(hours=4))
    people = list(study.participants.filter(annotations__isnull=False).order_by("pk"))
    monkeypatch.setattr(
        "evalsite.results.people.work.flag_people",
        lambda measures, limits: {people[0].pk: ["fast"]},
    )
    store_figures(study)
    before = list_keys(staff_client, study)

    exclude(study=study, participants=[people[0]], reason="Too fast", by=None)

    assert "flagged" in before
    assert "flagged" not in list_keys(staff_client, study)


def test_flags_are_worked_out_once_for_each_measurement(staff_client, monkeypatch):
    study = make_live(items=4)
    answer_all(study, 3, over=timedelta(hours=4))
    person = study.participants.filter(annotations__isnull=False).first()
    calls = []

    def flag(measures: Any, limits: Any) -> dict[int, list[str]]:
        calls.append(len(measures))
        return {person.pk: ["fast"]}

    monkeypatch.setattr("evalsite.results.people.work.flag_people", flag)
    store_figures(study)

    for _ in range(2):
        list_keys(staff_client, study)
    PeopleFigures.objects.update(measured_at=now() + timedelta(seconds=1))
    list_keys(staff_client, study)

    assert len(calls) == 2


# --- comments ----------------------------------------------------------------------------------


def note(study: Study, number: int, text: str, at: datetime) -> None:
    item = study.items.main().order_by("pk")[number]
    slot = Slot.objects.free().filter(item=item).first()
    answer(slot, make_participant(study), at, text)


def test_three_newest_comments_are_shown_with_their_item(staff_client):
    study = make_live(items=4)
    for number, text in enumerate(("First.", "Second.", "", "Fourth <b>.")):
        note(study, number, text, now() - timedelta(minutes=40 - number))
    note(study, 0, "Fifth.", now() - timedelta(minutes=1))

    page = overview(staff_client, study)

    assert [remark.text for remark in page.context["remarks"]] == [
        "Fifth.", "Fourth <b>.", "Second.",
    ]  # fmt: skip
    assert "Fourth &lt;b&gt;." in page.text
    assert page.context["remarks"][0].item == study.items.main().order_by("pk")[0].key


def test_comments_name_no_system_while_results_are_hidden(staff_client):
    study = make_planned_study(hides_results=True)
    add_person(study, score=50)
    system = study.systems.first()
    item = study.items.main().first()
    Item.objects.filter(pk=item.pk).update(key=f"7-{system.name}")
    Annotation.objects.filter(item=item).update(note="Odd.")

    remarks = overview(member(study, "owner"), study).context["remarks"]

    assert [(remark.text, remark.item, remark.system) for remark in remarks] == [
        ("Odd.", "7-…", "")
    ]


# --- what is over ------------------------------------------------------------------------------


def test_closed_study_offers_its_results_first(staff_client, researcher):
    study = make_live(items=2)
    answer_all(study, 2, over=timedelta(hours=1))
    close_study(study=study, by=Membership.objects.filter(study=study).first().user)

    page = overview(staff_client, study)

    assert page.context["tasks"][0].key == "results"
    assert url("study-results", study) in page.text.partition('class="todo"')[2]


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_everybody_on_the_team_is_led_to_the_results_of_a_closed_study(db, role):
    study = make_live(items=2)
    answer_all(study, 2, over=timedelta(hours=1))
    close_study(study=study, by=Membership.objects.filter(study=study).first().user)

    assert list_keys(member(study, role), study)[0] == "results"
