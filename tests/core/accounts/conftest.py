"""An account, and a site that sends e-mail."""

import pytest
from django.contrib.auth.models import User

from tests.support.accounts import make_account


@pytest.fixture
def jane() -> User:
    return make_account()


@pytest.fixture
def mail_on(settings) -> None:
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "eval@example.org"
