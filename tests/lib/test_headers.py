"""What every answer tells browsers, static files included."""

import json

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from evalsite.lib.response_headers import StaticFiles
from tests.support.factories import make_participant, make_study, mint_link
from tests.support.tabs import make_live

pytestmark = pytest.mark.one_database


@pytest.fixture
def addresses(db) -> list[str]:
    """Pages for participants, for strangers and for staff, and pages that say no."""
    home = mint_link(make_participant(make_study()))
    return [
        *("/", home, f"{home}consent/", "/p/unknown/", "/nowhere/"),
        reverse("study-join", args=[make_live().pk]),
        reverse("admin:login"),
        reverse("admin:index"),
    ]


def test_every_page_denies_what_it_does_not_use_and_other_sites(addresses, staff_client):
    for client in (Client(), staff_client):
        for address in addresses:
            headers = client.get(address).headers
            policy = headers["Permissions-Policy"].split(", ")
            assert {"camera=()", "geolocation=()", "microphone=()", "payment=()"} <= {*policy}
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin", address


def serve(path: str, folder, settings) -> HttpResponse:
    settings.STATIC_ROOT = folder
    settings.WHITENOISE_USE_FINDERS = False
    request: HttpRequest = RequestFactory().get(path)
    return StaticFiles(lambda request: HttpResponse(status=404))(request)


def test_static_files_are_for_this_site_and_the_list_of_them_is_for_nobody(db, tmp_path, settings):
    (tmp_path / "evalsite.css").write_text("body {}", encoding="utf-8")
    (tmp_path / "staticfiles.json").write_text(json.dumps({"paths": {}}), encoding="utf-8")

    style = serve("/static/evalsite.css", tmp_path, settings)
    style.close()

    assert style.status_code == 200
    assert "Access-Control-Allow-Origin" not in style.headers
    assert serve("/static/staticfiles.json", tmp_path, settings).status_code == 404
