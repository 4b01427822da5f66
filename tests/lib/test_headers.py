"""What every answer tells browsers, static files included."""

import gzip
import json

import brotli
import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from evalsite.core.response_headers import StaticFiles
from tests.support.factories import make_participant, make_study, mint_link
from tests.support.tabs import make_live


@pytest.fixture
def addresses(db) -> list[str]:
    """Pages for participants, for strangers and for staff, and pages that say no."""
    home = mint_link(make_participant(make_study()))
    return [
        *("/", home, f"{home}consent/", "/p/unknown/", "/nowhere/"),
        reverse("study-join", args=[make_live().pk]),
        reverse("account_login"),
        reverse("admin:index"),
    ]


def test_every_page_denies_what_it_does_not_use_and_other_sites(addresses, staff_client):
    for client in (Client(), staff_client):
        for address in addresses:
            headers = client.get(address, follow=True).headers
            policy = headers["Permissions-Policy"].split(", ")
            assert {"camera=()", "geolocation=()", "microphone=()", "payment=()"} <= {*policy}
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin", address


def test_redirect_is_spared_what_only_documents_need(staff_client):
    redirect = staff_client.get("/")

    assert redirect.status_code == 302
    assert "Permissions-Policy" not in redirect.headers
    assert "Content-Security-Policy" in redirect.headers


def read_compressed(client: Client, address: str, accepted: str) -> tuple[str, bytes]:
    response = client.get(address, headers={"Accept-Encoding": accepted})
    assert response.headers["Content-Length"] == str(len(response.content))
    assert "Accept-Encoding" in response.headers["Vary"]
    return response.headers.get("Content-Encoding", ""), response.content


def test_page_is_compressed_as_the_browser_knows_how(db):
    address = reverse("study-join", args=[make_live().pk])
    plain = Client().get(address).content

    way, packed = read_compressed(Client(), address, "gzip, deflate, br, zstd")
    assert (way, brotli.decompress(packed)) == ("br", plain)
    way, packed = read_compressed(Client(), address, "gzip, deflate")
    assert (way, gzip.decompress(packed)) == ("gzip", plain)
    assert read_compressed(Client(), address, "identity") == ("", plain)


def test_page_that_depends_on_a_cookie_keeps_the_random_length_of_gzip(staff_client):
    way, _ = read_compressed(staff_client, reverse("admin:index"), "gzip, br")

    assert way == "gzip"


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
