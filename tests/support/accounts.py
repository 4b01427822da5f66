"""Accounts that sign in through the pages."""

import re
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import hotp_value, yield_hotp_counters_from_time
from allauth.mfa.utils import decrypt
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.support.factories import make_user

PASSWORD, NEW = "four unrelated words work", "another long passphrase"
SIGN_IN = "/account/login/"


def make_account(name: str = "jane") -> User:
    """Return a researcher with PASSWORD and an address."""
    user = make_user(name)
    user.set_password(PASSWORD)
    user.email = f"{name}@example.org"
    user.save()
    return user


def sign_in(client: Client, password: str = PASSWORD, login: str = "jane", **fields: Any) -> Any:
    return client.post(SIGN_IN, {"login": login, "password": password, **fields})


def sign_in_from(network: str, password: str = PASSWORD, login: str = "jane") -> int:
    """Sign in with a new browser from this address; return the status."""
    return sign_in(Client(REMOTE_ADDR=network), password, login).status_code


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("admin:index")).status_code == 200


def make_code(secret: str) -> str:
    """Return the code that an app shows first among those that are accepted now."""
    return f"{hotp_value(secret, next(iter(yield_hotp_counters_from_time()))):06d}"


def code_of(user: User) -> str:
    totp = Authenticator.objects.get(user=user, type="totp")
    return make_code(decrypt(totp.data["secret"]))


def turn_on(client: Client) -> list[str]:
    """Turn two-factor sign-in on through its pages; return the recovery codes."""
    client.post("/account/confirm/", {"password": PASSWORD})
    page = client.get("/account/two-factor/").text
    secret = re.search(r'<p class="mono">(\w+)</p>', page)[1]
    client.post("/account/two-factor/", {"code": make_code(secret)})
    page = client.get("/account/two-factor/codes/").text
    return re.search(r"<pre.*?>(.*?)</pre>", page, re.DOTALL)[1].split()
