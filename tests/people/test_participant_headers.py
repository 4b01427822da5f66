"""What protects a personal link: headers, no cookies, and a fixed list of exempt routes."""

import pytest
from django.test import Client
from django.urls import get_resolver, reverse

from tests.support.tabs import make_live, open_tab

pytestmark = pytest.mark.django_db

# No cookie authorises a post to these, so no cookie can be abused for one.
EXEMPT = {
    "study-join",
    "recruitment-join",
    "pilot-join",
    "pilot-comment",
    "participant-end",
    "participant-home",
    "participant-consent",
    "participant-declined",
    "participant-entry",
    "participant-refused",
    "participant-sharing",
    "participant-instructions",
    "participant-practice",
    "participant-qualification",
    "participant-unqualified",
    "qualification-item",
    "qualification-questions",
    "qualification-suggestions",
    "participant-start",
    "rating-page",
    "rating-report",
    "rating-ignore",
    "rating-skip",
    "ignore-undo",
    "set-break",
    "set-review",
    "set-sheet",
    "sheet-draft",
    "worked-examples",
    "rating-draft",
    "participant-finish",
    "participant-no-work",
    "participant-stop",
    "participant-shut",
    "participant-withdraw",
    "participant-withdrawn",
    "participant-work",
    "participant-stopped",
    "background-questions",
    "instructions-check",
    "instructions-missed",
}

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self' https://id.example.org",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}


def list_patterns(patterns):
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from list_patterns(pattern.url_patterns)
        else:
            yield pattern


def test_just_these_routes_are_exempt_from_the_csrf_check():
    found = {
        pattern.name
        for pattern in list_patterns(get_resolver().url_patterns)
        if getattr(pattern.callback, "csrf_exempt", False)
    }

    assert found == EXEMPT


def test_no_exempt_route_is_a_staff_page():
    assert not [name for name in EXEMPT if reverse_of(name).startswith("/admin/")]


def reverse_of(name: str) -> str:
    pattern = next(one for one in list_patterns(get_resolver().url_patterns) if one.name == name)
    return f"/{pattern.pattern}"


def test_bad_59_participants_pages_set_no_cookie_and_are_kept_by_nobody():
    study = make_live()
    tab = open_tab(study)
    client = Client()
    pages = [
        tab.page,
        tab.save(("0", "", "1e3")),
        tab.save(),
        client.get(tab.home),
        client.get("/p/nobodys-link/"),
        client.get(reverse("study-join", args=[study.pk])),
        client.get("/join/11111111-2222-4333-8444-555555555555/"),
    ]

    for page in pages:
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert "no-store" in page.headers["Cache-Control"]
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        assert page.headers["X-Frame-Options"] == "DENY"
        assert set(page.headers["Content-Security-Policy"].split("; ")) == POLICY
        assert not page.cookies


def test_staff_pages_keep_their_referrer_on_this_site(client):
    page = client.get(reverse("account_login"))

    assert page.headers["Referrer-Policy"] == "same-origin"
    assert set(page.headers["Content-Security-Policy"].split("; ")) == POLICY


@pytest.mark.parametrize("token", ["x", "%00", "%ff", "..", "A" * 10_000, "%F0%9F%98%80"])
def test_bad_61_an_address_that_opens_nothing_has_one_constant_page(token):
    usual = Client().get("/p/nobodys-link/")

    page = Client().get(f"/p/{token}/")

    assert page.status_code == 404
    if token != "..":  # a client resolves it before it asks
        assert page.content == usual.content


def test_bad_61_a_token_in_capitals_is_another_token():
    tab = open_tab()

    page = tab.client.get(tab.home.upper().replace("/P/", "/p/"))

    assert page.status_code == 404


def test_bad_62_a_request_for_another_host_is_refused(settings):
    settings.ALLOWED_HOSTS = ["testserver"]
    tab = open_tab()

    page = tab.client.get(tab.home, headers={"host": "evil.example"})

    assert page.status_code == 400
    assert "evil.example" not in page.text
