"""Ids that would run as a formula or break a file never get in, and old ones never get out."""

import csv
import io
from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse

from evalsite.decisions.pay import approve_sets
from evalsite.decisions.pay_files import write_block_list, write_files
from evalsite.people.models import Participant, ParticipantIdentity, Recruitment, Visit
from evalsite.people.platforms import Decision, Platform, installed_platforms
from evalsite.people.platforms.arrival import Arrival, sign_arrival
from tests.decisions.test_pay import begin, files_of, ids, work
from tests.support.factories import make_user
from tests.support.rounds import Person

pytestmark = pytest.mark.django_db

FORMULA = '=HYPERLINK("http://evil.example","pay")'
HOSTILE = (
    FORMULA, "victim42,9999.00", "ab\u2028cd", "abcd\u2028", "-1+1", "@SUM(A1)", "+44", "_a",
    "a b", "a\tb", 'a"b', "a'b", "a|b", "é1", "＝1", "a" * 129, "a\\b", "a/b", "a;b",
)  # fmt: skip
GOOD = ("A", "0", "a@b.example", "p:1_2-3.4", "a" * 128)
WITH_PERSON = [one for one in installed_platforms().values() if one.person or one.key == "panel"]


def refuse(person: Person, typed: str) -> Any:
    """The page for somebody who comes with this id, after which nothing is stored."""
    parameter = person.recruitment.adapter.find_person(person.recruitment.platform_settings)
    assert parameter is not None
    page = person.look(**{parameter.name: typed})
    assert page.status_code == 400
    assert (page.context["problem"], page.context.get("may_type")) == ("malformed", False)
    assert not Participant.objects.filter(study=person.recruitment.study).exists()
    return page


@pytest.mark.one_case
@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_bad_96_an_id_that_no_file_should_hold_gets_the_page_for_links_that_are_cut_off(hostile):
    recruitment = begin("panel", checks=0)

    page = refuse(Person(recruitment), hostile)

    assert "This link isn’t complete" in page.text
    assert hostile not in page.text


@pytest.mark.one_case
@pytest.mark.parametrize("platform", WITH_PERSON, ids=lambda one: one.key)
def test_bad_96_no_platform_takes_a_formula(platform: Platform):
    recruitment = begin(platform.key, checks=0)

    for hostile in (FORMULA, "victim42,9999.00", "a\u2028b"):
        refuse(Person(recruitment), hostile)


@pytest.mark.one_case
@pytest.mark.parametrize("good", GOOD)
def test_ids_of_letters_digits_and_five_signs_are_taken(good):
    recruitment = begin("panel", checks=0)
    person = Person(recruitment)
    person.query["pid"] = good

    person.start()

    assert person.visit.person_id == good


def test_bad_96_a_visit_id_of_another_form_is_left_out_and_flagged():
    recruitment = begin("panel", checks=0)
    recruitment.settings |= {"visit_parameter": "visit", "visit_placeholder": "[V]"}
    recruitment.save()
    person = Person(recruitment)
    person.query["visit"] = FORMULA

    person.start()

    assert (person.visit.visit_id, person.visit.flags) == ("", ["bad visit id"])


def test_bad_96_a_page_opened_before_this_rule_starts_nothing_with_such_an_id():
    recruitment = begin("panel", checks=0)
    arrival = Arrival(namespace="panel:best panel", person_id=FORMULA)
    signed = sign_arrival(arrival, recruitment.study_id, recruitment.number)
    person = Person(recruitment)

    page = person.client.post(person.address, {"arrival": signed})

    assert page.status_code == 400
    assert page.context["problem"] == "malformed"
    assert not Participant.objects.filter(study=recruitment.study).exists()


def age(person: Person, old: str) -> None:
    """This person came when any text could be an id."""
    ParticipantIdentity.objects.filter(participant=person.me).update(outside_id=old.lower())
    Visit.objects.filter(participant=person.me).update(person_id=old)


def make_old_round() -> tuple[Recruitment, Person]:
    """A round whose two people are approved, each with a bonus; one has an id of today's form."""
    recruitment = begin("panel", checks=0)
    good, old = work(recruitment, 0), work(recruitment, 1)
    age(old, FORMULA)
    approve_sets(study=recruitment.study, set_ids=ids(recruitment.study), by=make_user())
    for item_set in recruitment.study.item_sets.all():
        item_set.approval.bonus = Decimal("1.50")
        item_set.approval.save()
    return recruitment, good


def test_bad_96_old_ids_of_another_form_are_left_out_of_pay_files_which_say_so(staff_client):
    recruitment, good = make_old_round()

    texts = {key: file.text for key, file in files_of(recruitment).items()}
    texts["block"] = write_block_list(recruitment).text

    assert texts.keys() == {"approve", "bonus", "block"}
    for key, text in texts.items():
        assert "HYPERLINK" not in text, key
        assert good.visit.person_id in text, key
    [file] = [one for one in write_files(recruitment) if one.key == "approve"]
    assert (file.lines, len(file.set_ids)) == (1, 1)
    address = reverse("admin:round-pay", args=[recruitment.study_id, recruitment.number])
    page = staff_client.post(address)
    assert page.context["left_out"] == 1
    assert "HYPERLINK" not in page.text


def test_the_line_is_shown_also_where_every_id_is_left_out(staff_client):
    recruitment = begin("panel", checks=0)
    age(work(recruitment), "victim42,9999.00")
    approve_sets(study=recruitment.study, set_ids=ids(recruitment.study), by=make_user())

    address = reverse("admin:round-pay", args=[recruitment.study_id, recruitment.number])
    page = staff_client.post(address)

    assert (page.context["files"], page.context["left_out"]) == ([], 1)
    assert "9999" not in page.text


@pytest.mark.parametrize("platform", installed_platforms().values(), ids=lambda one: one.key)
def test_words_of_the_team_in_pay_files_are_guarded(platform: Platform):
    text = platform.write_rejections(
        [Decision(person_id="p1", visit_id="v1", category="=c", message="=1+1, \n-2")]
    )

    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert [cell for cell in cells if cell[:1] in "=+-@" and cell] == []
