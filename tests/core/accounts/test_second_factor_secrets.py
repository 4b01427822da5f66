"""The seeds of second factors are encrypted in the database, and survive a new secret key."""

import base64
from datetime import timedelta

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from django.test import Client

from evalsite.core.accounts.encryption import encrypt_again
from evalsite.lib.clock import now
from tests.support.accounts import code_of, is_signed_in, sign_in, turn_on

pytestmark = pytest.mark.django_db

OLD_KEY, NEW_KEY = "only-for-tests-" + "t" * 50, "n" * 30 + "abcde" * 6


@pytest.fixture
def clock():
    with time_machine.travel(now(), tick=False) as clock:
        yield clock


@pytest.fixture
def codes(jane, clock) -> list[str]:
    """Jane's recovery codes; her second factor is on."""
    client = Client()
    sign_in(client)
    codes = turn_on(client)
    clock.shift(timedelta(minutes=5))
    return codes


def read_secrets() -> list[str]:
    rows = Authenticator.objects.order_by("type").values_list("data", flat=True)
    return [data.get("seed") or data["secret"] for data in rows]


def enter(code: str) -> bool:
    client = Client()
    client.post(sign_in(client).url, {"code": code})
    return is_signed_in(client)


def test_seeds_are_stored_as_fernet_tokens(codes):
    tokens = [base64.urlsafe_b64decode(secret) for secret in read_secrets()]

    # https://github.com/fernet/spec: version 128, time, IV, whole blocks of ciphertext, HMAC
    assert {token[0] for token in tokens} == {0x80}
    assert {(len(token) - 1 - 8 - 16 - 32) % 16 for token in tokens} == {0}


def test_codes_work_with_a_new_key_while_the_old_one_is_a_fallback(jane, codes, settings):
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW_KEY, [OLD_KEY]

    assert enter(code_of(jane))
    assert enter(codes[0])


@pytest.mark.both_databases
def test_worker_encrypts_again_so_that_the_old_key_may_go(jane, codes, settings):
    before = read_secrets()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW_KEY, [OLD_KEY]
    first, second = encrypt_again(), encrypt_again()
    settings.SECRET_KEY_FALLBACKS = []

    assert (first, second) == ("2 encrypted again", "")
    assert not set(before) & set(read_secrets())
    assert enter(code_of(jane))
    assert enter(codes[0])


def test_without_the_key_every_code_is_wrong(jane, codes, settings):
    code = code_of(jane)
    settings.SECRET_KEY = NEW_KEY
    client = Client()

    response = client.post(sign_in(client).url, {"code": code})

    assert response.status_code == 422
    assert not is_signed_in(client)
    assert encrypt_again() == ""
