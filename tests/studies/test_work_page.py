"""Set up, Work: what the settings come to, and what gives people time to read."""

import pytest
from django.urls import reverse

from evalsite.fieldwork.work_page import find_mend
from evalsite.studies.items import count_words
from evalsite.studies.models import Output, Study
from tests.studies.test_staff_settings import address, entries, save
from tests.support.experts import invite
from tests.support.factories import launch, make_study
from tests.support.rounds import make_round

pytestmark = pytest.mark.django_db


def make_long(**fields) -> Study:
    """A study with 978 words on a page, as on the mock page: 37 minutes for a set of 9."""
    study = make_study(protocol="fluency", items=12, k=3, set_size=9, **fields)
    study.items.main().update(inputs={})
    Output.objects.filter(item__kind="main").update(text="word " * 326)
    study.refresh_from_db()
    count_words(study)
    return study


def test_reading_time_is_that_of_the_words_of_a_set(staff_client):
    study = make_long(minutes_per_set=15, pay_per_set="2.25")

    mend = find_mend(study)

    # 9 pages of 978 words at 238 words a minute are 36.98 minutes; in 15 minutes 3 can be read
    assert (mend.minutes, mend.announced, mend.pay, mend.hourly) == (37, 15, "£5.55", "£3.65")
    assert mend.set_size == 3


@pytest.mark.parametrize(
    ("button", "changes"),
    [
        ("long", {"minutes_per_set": "37", "pay_per_set": "5.55"}),
        ("few", {"set_size": "3"}),
    ],
)
def test_a_button_fills_in_what_gives_time_to_read_and_saves_nothing(staff_client, button, changes):
    study = make_long(minutes_per_set=15, pay_per_set="2.25")
    sent = entries(staff_client, study, "work", max_sets="7", do=button)

    page = staff_client.post(address(study), sent)

    form = page.context["form"]
    assert page.status_code == 200
    assert {name: form[name].value() for name in changes} == changes
    assert form["max_sets"].value() == "7"
    assert page.context["mend"] is None
    study.refresh_from_db()
    assert (study.minutes_per_set, study.set_size, study.max_sets) == (15, 9, None)
    sent = {name: value for name, value in form.data.items() if name != "do"}
    staff_client.post(address(study), sent | {"do": "save"})
    study.refresh_from_db()
    assert all(str(getattr(study, name)) == value for name, value in changes.items())


def test_what_a_change_would_cost(staff_client):
    study = make_study(items=120, k=3, set_size=9, minutes_per_set=15, pay_per_set="2.25")

    page = staff_client.get(address(study))

    # 120 x 2 / 9 and 120 x 5 / 9, rounded up, at £2.25
    assert page.context["costs"] == [
        ("2 answers per item", 27, "£60.75"),
        ("5 answers per item", 67, "£150.75"),
    ]
    assert "360 answers from 40 people, for £90.00" in page.text


def test_unpaid_work_says_so_and_has_no_costs(staff_client):
    page = staff_client.get(address(make_study(items=4, k=3)))

    assert '<span id="live-headline">12 answers, unpaid</span>' in page.text
    assert page.context["costs"] == []


def test_too_few_people_invited_is_the_headline(staff_client, researcher):
    study = launch(make_study(items=4, k=3))
    study.recruitments.update(is_on=False)
    invite(study, "Ana Costa", "Ben Otte", by=researcher)

    page = staff_client.get(address(study)).text
    make_round(study, "panel", places=1)

    assert "The study can’t be finished: 3 answers need 3 people, 2 are invited" in page
    assert "12 answers, unpaid" in staff_client.get(address(study)).text


@pytest.mark.parametrize(
    ("protocol", "systems", "unit"),
    [("fluency", 2, "output"), ("pairwise", 2, "item"), ("pairwise", 3, "pair")],
)
def test_what_is_counted_follows_the_instrument(staff_client, protocol, systems, unit):
    study = make_study(items=0, protocol=protocol)
    for number in range(systems):
        study.systems.create(name=f"system {number}")

    page = staff_client.get(address(study)).context["form"]

    assert page["k"].label == f"Answers per {unit}"
    assert page["set_size"].label == f"{unit.capitalize()}s in a set"


def test_all_outputs_on_one_page_are_an_item():
    assert make_study(items=0, protocol="magnitude").config.unit_name == "item"


def test_work_is_frozen_since_launch_but_for_pay_time_and_dates(staff_client):
    study = launch(make_study(items=4))

    form = staff_client.get(address(study)).context["form"]

    free = {name for name in form.names if not form.fields[name].disabled}
    assert free == {
        "minutes_per_set", "pay_per_set", "currency", "pay_target", "closes_at", "closes_when_full",
    }  # fmt: skip


def test_amount_of_the_bonus_is_all_that_it_takes(staff_client):
    study = make_study(items=4)

    save(staff_client, study, bonus="2.00", max_sets="3")

    assert (study.has_bonus, study.max_sets) == (True, 3)
    page = staff_client.get(reverse("admin:setup-work", args=[study.pk])).text
    assert "Sets per person: 3" in page
    assert "bonus: £2.00" in page
