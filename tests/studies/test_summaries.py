"""Time and pay: researchers and participants are told the same."""

from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.instruments.schema import Design
from evalsite.people.models import Recruitment
from evalsite.people.views import study_facts
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import minutes_per_set
from tests.support.factories import launch, make_study


def landing_page(study: Study) -> str:
    return Client().get(reverse("study-join", args=[study.pk])).text


@pytest.mark.parametrize(
    ("currency", "pay", "hourly"),
    [("GBP", "£5.00", "£42.86 an hour"), ("CHF", "5.00 CHF", "42.86 CHF an hour")],
)
def test_participants_and_researchers_are_told_the_same_pay(staff_client, currency, pay, hourly):
    fields = {"currency": currency, "pay_per_set": "5.00", "minutes_per_set": 7}
    study = launch(make_study(items=3, set_size=3, k=1, **fields))

    settings = staff_client.get(reverse("admin:setup-work", args=[study.pk])).text
    landing = landing_page(study)

    assert f"{pay} each is {hourly}" in settings
    assert pay in landing
    assert hourly in landing


def test_participants_and_researchers_are_told_the_same_time(db):
    study = launch(make_study(items=3, set_size=3))

    assert f"about {minutes_per_set(study)} minutes" in landing_page(study)


@pytest.mark.parametrize(
    ("each", "size", "minutes"), [(0.5, 3, 2), (0.1, 1, 1), (1.1, 10, 11), (0.7, 10, 7), (1, 1, 1)]
)
def test_a_part_of_a_minute_counts_as_a_minute(each, size, minutes):
    config = SimpleNamespace(minutes_per_item=each, design=Design())
    # a row of the model looks its protocol up by name
    study = SimpleNamespace(
        minutes_per_set=None, set_size=size, config=config, words_per_page=0,
        checks_per_person=0, repeat_percent=0, max_sets=None, max_items=None,
    )  # fmt: skip

    assert minutes_per_set(study) == minutes


@pytest.mark.parametrize(("items", "shown"), [(3, "3"), (8, "8"), (12, "8"), (0, "8")])
def test_first_page_counts_no_more_items_than_the_study_has(db, items, shown):
    study = make_study(items=items, set_size=8)
    if items:
        launch(study)

    facts = study_facts(study, Recruitment.objects.open_link(study))

    assert dict(fact[:2] for fact in facts)[study.config.item.names] == shown


def test_first_page_counts_the_check_of_a_small_set(db):
    study = make_study(items=4, set_size=8, checks_per_person=1)

    facts = study_facts(study, Recruitment.objects.open_link(study))

    assert dict(fact[:2] for fact in facts)[study.config.item.names] == "5"
