"""Rows that are made once for all tests of a module; each test's own changes are undone."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import transaction

from tests.support.fixtures import draw_nothing


@contextmanager
def lasting_rows(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep what is written before the `yield` of a module's fixture for all tests of the module.

    The transaction of each test is inside this one: none of them may commit.
    """
    request.getfixturevalue("django_db_setup")
    blocker = request.getfixturevalue("django_db_blocker")
    with blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        outer = transaction.atomic()
        # as Django marks those of its own test cases: a durable block may be inside
        outer._from_testcase = True  # type: ignore[attr-defined]
        with outer:
            yield
            transaction.set_rollback(True)
