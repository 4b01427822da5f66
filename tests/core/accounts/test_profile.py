"""What a researcher fills in once, and what new studies and pages take from it."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.accounts.models import Profile, find_profile
from evalsite.core.accounts.time_zones import format_local, list_time_zones
from evalsite.studies.models import Membership
from evalsite.studies.services import create_study
from evalsite.studies.versions import shown_content
from tests.support.factories import launch, make_study, make_user

pytestmark = pytest.mark.django_db

FILLED_IN = {
    "organisation": "Language Lab",
    "contact_email": "lab@example.org",
    "responsible": "Example University",
    "complaints": "privacy@example.org",
    "currency": "EUR",
    "time_zone": "Europe/Berlin",
}


def save(client: Client, **fields: str):
    named = {"name": "Jane Mori", "username": "jane", "email": ""}
    return client.post("/account/", named | FILLED_IN | fields)


def test_account_is_filled_in_once_and_every_new_study_starts_with_it(staff_client, researcher):
    saved = save(staff_client)

    assert saved.status_code == 302
    study = create_study(protocol="magnitude", title="A study", by=make_user())
    assert {name: getattr(find_profile(make_user()), name) for name in FILLED_IN} == FILLED_IN
    assert (study.organisation, study.contact_email) == ("Language Lab", "lab@example.org")
    assert study.currency == "EUR"
    page = staff_client.get("/account/").text
    assert all(f'value="{value}"' in page for value in FILLED_IN.values())


@pytest.mark.parametrize(
    "wrong",
    [{"currency": "euro"}, {"time_zone": "Mars/Base"}, {"contact_email": "lab"}],
)
def test_wrong_values_are_refused_at_their_field_and_nothing_is_stored(staff_client, wrong):
    response = save(staff_client, **wrong)

    assert response.status_code == 422
    assert list(response.context["form"].errors) == list(wrong)
    assert not Profile.objects.exists()


def test_without_an_address_for_questions_a_study_takes_the_accounts(researcher):
    researcher.email = "jane@example.org"
    researcher.save()

    study = create_study(protocol="magnitude", title="A study", by=researcher)

    assert study.contact_email == "jane@example.org"
    assert study.currency == "GBP"


def test_name_beside_the_address_is_that_of_the_account_and_frozen_at_launch(researcher):
    Membership.objects.all().delete()
    study = make_study(contact_email="lab@example.org")
    assert shown_content(study)["texts"]["contact_name"] == ""

    researcher.first_name = "Jane Mori"
    researcher.save()
    Profile.objects.create(user=researcher, contact_email="Lab@example.org")
    study = launch(type(study).objects.get(pk=study.pk))
    researcher.first_name = "Jane Ruiz"
    researcher.save()

    assert shown_content(study)["texts"]["contact_name"] == "Jane Mori"


def test_each_reader_sees_moments_in_the_zone_of_their_account(staff_client, researcher):
    study = launch(make_study(closes_at=datetime(2099, 7, 1, 16, tzinfo=UTC)))
    Profile.objects.create(user=researcher, time_zone="Asia/Tokyo")
    ben = make_user("ben")
    Membership.objects.create(study=study, user=ben, role="viewer")
    colleague = Client()
    colleague.force_login(ben)
    address = reverse("admin:study-team", args=[study.pk])

    assert "ends 2 July 2099, 01:00 Asia/Tokyo time" in staff_client.get(address).text
    assert "ends 1 July 2099, 16:00 UTC" in colleague.get(address).text


def test_zone_of_the_account_costs_no_query(staff_client, researcher, django_assert_num_queries):
    Profile.objects.create(user=researcher, time_zone="Asia/Tokyo")
    reader = staff_client.get("/account/").wsgi_request.user
    str(reader.username)

    with django_assert_num_queries(0):
        words = format_local(datetime(2026, 1, 1, 12, tzinfo=UTC), reader)

    assert words == "1 January 2026, 21:00 Asia/Tokyo time"


def test_zones_to_choose_from_are_utc_and_places():
    zones = list_time_zones()

    assert zones[0] == "UTC"
    assert {"Europe/Berlin", "America/New_York"} <= set(zones)
    assert not {"EST", "Etc/GMT+1"} & set(zones)
