"""Someone who is signed in, for the tests of the builder."""

import pytest
from django.test import Client

from tests.support.factories import make_user


@pytest.fixture
def jane():
    return make_user()


@pytest.fixture
def staff(client: Client, jane) -> Client:
    client.force_login(jane)
    return client
