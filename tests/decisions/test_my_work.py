"""A person's page about their sets: the headline, the button that comes first, and each state."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.decisions.pay import approve_sets, reject_sets
from evalsite.fieldwork.launch import close_study, pause_study
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.participation.consent import withdraw
from evalsite.people.models import Visit
from evalsite.studies.models import Study
from tests.decisions.test_pay import BAD, LONG, begin, ids, work
from tests.support.browsing import find_faults_in_turn
from tests.support.factories import make_user
from tests.support.rounds import Person

pytestmark = pytest.mark.django_db


def read(person: Person) -> Any:
    return person.client.get(f"{person.home}work/")


def unpaid(key: str = "open_link") -> Any:
    recruitment = begin(key, checks=0)
    Study.objects.filter(pk=recruitment.study_id).update(pay_per_set=None)
    recruitment.study.refresh_from_db()
    return recruitment


def main_buttons(page: Any) -> int:
    return page.content.decode().count('class="btn main"')


def test_person_at_work_reads_what_is_left_and_continues():
    recruitment = begin("open_link", checks=0)
    person = Person(recruitment).enter().rate(most=3)

    page = read(person)

    shown = page.context
    assert (shown["headline"], shown["left"], shown["open_set"].number) == ("left", 1, 1)
    # 12 minutes are announced for 4 items
    assert shown["minutes"] == 3
    assert shown["kept_until"] > now()
    # 3 of 4 items at £2.10, rounded up
    [row] = shown["rows"]
    assert (row.is_at_work, row.amount) == (True, "£1.58")
    assert shown["facts"]["at_work"] == {"number": 1, "amount": "£2.10"}
    assert main_buttons(page) == 1
    assert f'href="{person.home}"' in page.content.decode()


def test_further_set_is_started_before_anyone_returns_to_the_platform():
    recruitment = begin(has_further_sets=True, checks=0)
    person = work(recruitment)

    page = read(person)

    assert (page.context["headline"], page.context["may_start"]) == ("more", True)
    assert main_buttons(page) == 1
    assert f'action="{person.home}start/"' in page.content.decode()
    person.client.post(f"{person.home}start/")
    person.finish(2)
    page = read(person)
    assert (page.context["headline"], page.context["may_start"]) == ("done", False)
    assert main_buttons(page) == 1
    assert (
        f'class="btn main" href="{page.context["way_out"].link}"'.replace("&", "&amp;")
        in page.content.decode()
    )


@pytest.mark.parametrize(("change", "headline"), [(close_study, "closed"), (pause_study, "shut")])
def test_study_that_is_shut_is_said_so(change, headline):
    recruitment = begin("open_link", checks=0)
    person = work(recruitment)

    change(study=recruitment.study, by=make_user())

    page = read(person)
    assert page.context["headline"] == headline
    assert f"{person.home}start/" not in page.content.decode()


def test_rejection_comes_first_while_it_can_be_looked_at_again():
    recruitment = begin(set_size=8, items=16)
    person = work(recruitment, scores=BAD)
    study = recruitment.study
    reject_sets(study=study, set_ids=ids(study), reason="checks", message=LONG, by=make_user())
    assert (read(person).context["headline"], read(person).context["rejected"]) == ("rejected", 1)

    person.client.post(f"{person.home}work/", {"set": "1", "text": "My phone froze."})

    assert read(person).context["headline"] == "done"
    assert read(person).context["facts"]["waiting"]["sets"] == 1


def test_unpaid_study_shows_neither_money_nor_codes_nor_decisions():
    recruitment = unpaid()
    person = work(recruitment)
    person.client.post(f"{person.home}start/")
    person.rate(2, most=1)

    page = read(person)

    html = page.content.decode()
    assert [(row.number, row.is_at_work) for row in page.context["rows"]] == [(2, True), (1, False)]
    assert html.count('<th scope="col">') == 3
    assert "£" not in html
    assert person.me.item_sets.get(number=1).code not in html
    assert "Waiting" not in html
    assert f"{person.home}work/" in person.client.get(f"{person.home}finish/").text


def test_amounts_are_summed_by_state_and_minutes_by_set():
    recruitment = begin("open_link", checks=0)
    person = work(recruitment)
    study = recruitment.study
    approve_sets(study=study, set_ids=ids(study), by=make_user())
    person.client.post(f"{person.home}start/")
    person.finish(2)
    # 4 items of 45 seconds at the screen; the other set has only the times of its pages
    started = now() - timedelta(hours=2)
    mine = Annotation.objects.filter(item_set__number=1)
    mine.update(active_ms=45_000, started_at=started, submitted_at=now())
    other = Annotation.objects.filter(item_set__number=2)
    other.update(active_ms=None, started_at=started, submitted_at=started + timedelta(seconds=16))

    shown = read(person).context

    assert [(row.number, row.minutes) for row in shown["rows"]] == [(2, 2), (1, 3)]
    facts = shown["facts"]
    assert facts["minutes"] == 5
    assert (facts["approved"]["amount"], facts["approved"]["numbers"]) == ("£2.10", "1")
    assert (facts["waiting"]["amount"], facts["waiting"]["numbers"]) == ("£2.10", "2")
    assert [row.code for row in shown["rows"]] == [
        item_set.code for item_set in person.me.item_sets.order_by("-number")
    ]


def test_returned_set_is_paid_by_the_item_and_not_at_work():
    recruitment = begin(checks=0)
    person = Person(recruitment).enter().rate(most=3)
    Visit.objects.update(reported="returned", item_set=person.me.item_sets.get())
    person.me.item_sets.update(created_at=now())

    [row] = read(person).context["rows"]

    assert (row.is_returned, row.amount) == (True, "£1.58")


def test_people_who_withdrew_are_offered_nothing():
    recruitment = begin("open_link", checks=0)
    person = Person(recruitment).enter().rate(most=3)
    withdraw(participant=person.me, is_kept=True)

    page = read(person)

    assert (page.context["headline"], main_buttons(page)) == ("", 0)
    assert [row.amount for row in page.context["rows"]] == ["£1.58"]
    assert f"{person.home}withdraw/" not in page.content.decode()


def test_page_takes_as_many_queries_for_two_sets_as_for_six():
    recruitment = begin("open_link", checks=0, items=28)
    person = work(recruitment)
    counts = []
    for number in range(2, 7):
        person.client.post(f"{person.home}start/")
        person.finish(number)
        with CaptureQueriesContext(connection) as queries:
            page = read(person)
        counts.append(len(queries))
        assert len(page.context["rows"]) == number
    assert counts[-1] <= counts[0]


@pytest.mark.torture
@pytest.mark.django_db(transaction=True)
def test_page_has_no_faults_at_work_and_unpaid(page, live_server):
    faults = []
    for recruitment in (begin("open_link", checks=0), unpaid()):
        person = work(recruitment)
        person.client.post(f"{person.home}start/")
        person.rate(2, most=2)
        page.goto(f"{live_server}{person.home}work/")
        faults.append(find_faults_in_turn(page))
    assert [one for one in faults if one] == []
