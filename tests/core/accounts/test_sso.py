"""Signing in with an organisation: its accounts by address, new ones by invitation only."""

from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
import requests
from django.contrib.auth.models import User
from django.test import Client

from evalsite.core.audit.models import AccountEvent
from evalsite.studies.models import Invitation
from evalsite.studies.site_invitations import invite_researcher
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db

START = "/account/sso/sso/login/"


class Organisation:
    """An OpenID Connect server on the other side of the network."""

    def __init__(self) -> None:
        self.person = {"sub": "1", "email": "priya@example.org", "email_verified": True}
        self.is_down = False

    def answer(self, method: str, url: str) -> requests.Response:
        if self.is_down:
            raise requests.ConnectionError
        base = "https://id.example.org"
        data = {
            f"{base}/.well-known/openid-configuration": {
                "issuer": base,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
                "userinfo_endpoint": f"{base}/me",
                "jwks_uri": f"{base}/keys",
            },
            f"{base}/token": {"access_token": "t", "token_type": "Bearer"},
            f"{base}/me": self.person,
        }[url]
        response = requests.Response()
        response.status_code = 200
        response.json = lambda **_: data  # type: ignore[method-assign]
        response.headers["content-type"] = "application/json"
        return response


@pytest.fixture
def organisation(monkeypatch) -> Organisation:
    there = Organisation()
    monkeypatch.setattr(
        requests.Session, "request", lambda _, method, url, **given: there.answer(method, url)
    )
    return there


def come_back(client: Client, **said):
    """Start signing in here, and come back from the organisation."""
    there = client.post(START, said)
    state = parse_qs(urlsplit(there.url).query)["state"][0]
    return client.get(f"{START}callback/", {"code": "c", "state": state})


def is_signed_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def list_lines() -> list[tuple[str, str, int | None]]:
    return list(AccountEvent.objects.order_by("id").values_list("event", "detail", "account_id"))


def invite(address: str) -> Invitation:
    admin = make_user("root", is_superuser=True)
    return invite_researcher(key=uuid4(), label=address, by=admin)[0]


def test_sign_in_page_offers_the_organisation_and_may_post_to_it():
    page = Client().get("/account/login/")

    assert "Sign in with Example University" in page.text
    assert "form-action 'self' https://id.example.org" in page.headers["Content-Security-Policy"]


def test_account_with_the_same_address_is_opened(organisation):
    jane = make_user("jane")
    User.objects.filter(pk=jane.pk).update(email="Priya@example.org")
    client = Client()

    response = come_back(client, next="/account/")

    assert response.url == "/account/"
    assert is_signed_in(client)
    assert User.objects.count() == 1
    assert list_lines() == [("signed in", "sso", jane.pk)]


def test_invited_address_gets_a_researchers_account_and_uses_the_invitation(organisation):
    invitation = invite("PRIYA@example.org")
    client = Client()

    come_back(client)

    user = User.objects.get(email="priya@example.org")
    invitation.refresh_from_db()
    assert is_signed_in(client)
    assert (user.is_staff, user.is_superuser) == (True, False)
    assert invitation.accepted_by == user
    assert list_lines() == [("made", "sso", user.pk)]


@pytest.mark.parametrize(
    "person",
    [
        {"email": "stranger@example.org"},
        {"email_verified": False},
        {"email": None},
    ],
)
def test_nobody_else_gets_in(organisation, person):
    invite("priya@example.org")
    organisation.person |= person
    client = Client()

    response = come_back(client)

    assert response.status_code == 403
    assert not is_signed_in(client)
    assert User.objects.count() == 1
    assert list_lines() == [("failed", "sso", None)]


@pytest.mark.parametrize("state", [{"is_staff": False}, {"is_active": False}])
def test_account_that_is_closed_or_no_staff_stays_out(organisation, state):
    jane = make_user("jane")
    User.objects.filter(pk=jane.pk).update(email="priya@example.org", **state)
    client = Client()

    response = come_back(client)

    assert response.status_code == 403
    assert not is_signed_in(client)
    assert list_lines() == [("failed", "sso", jane.pk)]


def test_server_that_is_down_is_told_in_a_sentence(organisation):
    client = Client()
    there = client.post(START)
    state = parse_qs(urlsplit(there.url).query)["state"][0]
    organisation.is_down = True

    responses = [
        client.get(f"{START}callback/", {"code": "c", "state": state}),
        client.get(f"{START}callback/", {"error": "access_denied", "state": "unknown"}),
        client.post(START),
    ]

    assert ["didn’t sign you in" in response.text for response in responses] == [True] * 3
    assert not is_signed_in(client)
