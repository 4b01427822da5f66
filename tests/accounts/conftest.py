"""An account, and a site that sends e-mail."""

import os

import pytest
from django.contrib.auth.models import User

from tests.support.accounts import make_account
from tests.support.soak import serve_ordinary_requests

_processes: list[int] = []


@pytest.fixture
def jane() -> User:
    return make_account()


@pytest.fixture
def mail_on(settings) -> None:
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "eval@example.org"


@pytest.fixture
def served_before(db) -> None:
    """This process has answered 1,000 ordinary requests."""
    if not _processes:
        serve_ordinary_requests()
        _processes.append(os.getpid())
