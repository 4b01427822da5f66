"""Two checks for each person, once a draft has checks and a panel is on, unless somebody chose."""

import pytest
from django.urls import reverse

from evalsite.people.recruiting import turn_off, turn_on
from evalsite.studies.models import Output, Study
from evalsite.studies.setting_changes import change_settings
from tests.support.batches import import_rows, make_rows
from tests.support.checks import add_checks
from tests.support.factories import launch, make_study, make_user
from tests.support.rounds import make_round

pytestmark = pytest.mark.django_db

GOLD = "gold_fluency"


def make_draft() -> Study:
    """A draft that shows one output a page."""
    study = make_study(items=12, protocol="fluency")
    Output.objects.filter(item__kind="main", position__gt=0).delete()
    return study


def read_checks(study: Study) -> int:
    study.refresh_from_db()
    return study.checks_per_person


def make_check(client, study: Study) -> None:
    """Make a check on its page, as it is proposed there."""
    address = reverse("admin:check-new", args=[study.pk])
    form = client.get(address).context["form"]
    values = {field.html_name: field.value() for field in form}
    assert client.post(address, values).status_code == 302


@pytest.mark.parametrize("is_panel_first", [True, False])
def test_two_checks_come_with_a_check_and_a_panel(staff_client, is_panel_first):
    study = make_draft()
    recruitment = make_round(study, "prolific", is_on=False)

    if is_panel_first:
        turn_on(recruitment=recruitment, by=make_user())
    else:
        make_check(staff_client, study)
    before = read_checks(study)
    if is_panel_first:
        make_check(staff_client, study)
    else:
        turn_on(recruitment=recruitment, by=make_user())

    assert (before, read_checks(study)) == (0, 2)


@pytest.mark.parametrize("key", ["personal", "open_link"])
def test_none_come_with_people_one_knows_or_the_open_link(staff_client, key):
    study = make_draft()
    make_round(study, key)

    make_check(staff_client, study)

    assert read_checks(study) == 0


def test_two_checks_come_with_a_file_that_has_some():
    study = make_study(items=0, protocol="fluency")
    turn_on(recruitment=make_round(study, "prolific", is_on=False), by=make_user())
    rows = make_rows(study.config, items=12)
    import_rows(study, rows)
    before = read_checks(study)

    check = [row | {"item": "check", "kind": "attention", GOLD: "2"} for row in rows[:1]]
    import_rows(study, check, sha256="2")

    assert (before, read_checks(study)) == (0, 2)


def test_number_that_somebody_chose_stays(staff_client):
    study = make_draft()
    make_check(staff_client, study)
    for number in (3, 0):
        change_settings(study=study, values={"checks_per_person": number}, by=make_user())

    turn_on(recruitment=make_round(study, "prolific", is_on=False), by=make_user())

    assert read_checks(study) == 0


def test_number_that_somebody_took_back_stays(staff_client):
    study = make_draft()
    make_check(staff_client, study)
    recruitment = make_round(study, "prolific", is_on=False)
    turn_on(recruitment=recruitment, by=make_user())
    change_settings(study=study, values={"checks_per_person": 0}, by=make_user())

    turn_off(recruitment=recruitment, by=make_user())
    turn_on(recruitment=recruitment, by=make_user())

    assert read_checks(study) == 0


def test_launched_study_keeps_its_number():
    study = make_draft()
    add_checks(study, 1, kind="attention", outputs=1)
    recruitment = make_round(study, "prolific", is_on=False)
    launch(study)
    recruitment.refresh_from_db()

    turn_on(recruitment=recruitment, by=make_user())

    assert read_checks(study) == 0
