"""Checks and repeats as researchers meet them: settings, checklist, upload, files, people."""

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.annotation.checklist import check_launch
from evalsite.studies.models import Study
from evalsite.studies.summaries import describe_work
from tests.checks import add_checks, make_checked, make_repeated
from tests.factories import make_annotator, make_study, mint_link

pytestmark = pytest.mark.django_db


def told_of(study: Study, word: str) -> tuple[str, str]:
    """The problem and the remark of the launch's point whose label holds this word."""
    (found,) = [check for check in check_launch(study) if word in check.label]
    return found.problem, found.remark


# --- before the launch --------------------------------------------------------------------


def test_checks_that_no_batch_holds_keep_the_study_from_launching():
    problem, _ = told_of(make_study(items=10, check_every=5), "attention")

    assert problem.startswith("A check should come after every 5 items, but no batch has")


def test_checks_that_nobody_would_get_are_remarked_on():
    study = make_study(items=10)
    add_checks(study, 2)

    problem, remark = told_of(study, "attention")

    assert not problem
    assert remark.startswith("The batches hold 2 gold or attention items, but nobody gets one")


def test_fewer_checks_than_one_person_meets_are_remarked_on():
    study = make_study(items=40, set_size=10, max_sets=4, check_every=5)
    add_checks(study, 7)

    assert told_of(study, "attention")[1].startswith("One person meets up to 8 checks")

    add_checks(study, 1, kind="attention")
    assert told_of(study, "attention") == ("", "")


@pytest.mark.parametrize(
    ("fields", "is_off"),
    [
        ({"set_size": 10, "max_sets": 2}, True),
        ({"set_size": 10, "max_sets": 3}, False),
        ({"set_size": 10, "max_sets": 3, "max_items": 20}, True),
        ({"set_size": 10}, False),
    ],
)
def test_repeats_that_nobody_can_be_dealt_are_remarked_on(fields, is_off):
    study = make_study(items=30, repeat_percent=10, **fields)

    problem, remark = told_of(study, "repeats")

    assert not problem
    assert remark.startswith("Nobody can get more than 20 items") is is_off


def test_repeats_in_a_study_of_few_items_are_remarked_on():
    study = make_study(items=20, repeat_percent=10)

    assert "Nobody can get more than 20 items" in told_of(study, "repeats")[1]


# --- how many a set shows -----------------------------------------------------------------


def test_the_sum_says_what_a_set_shows_with_its_checks_and_repeats():
    study = make_study(items=0, set_size=10, k=3, check_every=5, repeat_percent=10)

    told = describe_work(study, items=100)

    assert told.endswith(". A set shows up to 13 items: 10, 2 checks and 1 repeat")
    assert "= 30 sets" in told
    study.check_every, study.repeat_percent = None, 0
    assert "A set shows" not in describe_work(study, items=100)


def test_a_set_that_shows_more_takes_longer():
    study = make_study(items=0, set_size=10, k=1)
    without = describe_work(study, items=10)
    study.check_every = 2

    assert without.partition("≈")[2] != describe_work(study, items=10).partition("≈")[2]


def test_participants_are_told_how_many_items_a_set_shows():
    study = make_checked(items=20, set_size=10, check_every=5)

    landing = Client().get(reverse("study-join", args=[study.pk])).text
    start = Client().get(f"{mint_link(make_annotator(study))}start/").text

    assert "up to 12" in landing
    assert "You get up to 12" in start


def test_checks_and_repeats_are_set_with_the_work_and_fixed_at_launch(staff_client):
    address = lambda study: reverse("admin:study-settings", args=[study.pk])  # noqa: E731
    draft = staff_client.get(address(make_study(items=3)))
    live = staff_client.get(address(make_repeated(items=3)))

    for page, is_locked in ((draft, False), (live, True)):
        form = page.context["form"]
        for name in ("check_every", "repeat_percent", "repeat_distance", "max_items"):
            assert form.fields[name].disabled is is_locked
