"""Trying an instrument on a phone."""

import pytest
from django.urls import reverse

from tests.support.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)


def test_heading_of_a_trial_has_room_on_a_phone(page, live_server, client):
    client.force_login(
        make_user(is_superuser=True), backend="django.contrib.auth.backends.ModelBackend"
    )
    session = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": str(live_server)}])
    page.set_viewport_size({"width": 360, "height": 740})

    page.goto(f"{live_server}{reverse('admin:instrument-try', args=['gallery', 'ranking', 1])}")

    heading, bar = (page.locator(name).bounding_box() for name in (".where", ".top"))
    assert heading["y"] >= 0
    assert heading["height"] <= 40  # two lines
    assert heading["y"] + heading["height"] <= bar["y"] + bar["height"]
