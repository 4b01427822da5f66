"""The database is away, full or read-only in mid-submit: said so, nothing half done, no harm."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    connection,
)
from django.test import Client
from django.urls import reverse

from evalsite.core.outage import is_outage
from evalsite.handout.models import Annotation, Draft
from tests.support.invariants import check_invariants
from tests.support.tabs import BOXES, SCORES, Tab, open_tab, snapshot, what_became

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@contextmanager
def away() -> Iterator[None]:
    """No connection can be made to the database."""
    place = "HOST" if connection.vendor == "postgresql" else "NAME"
    known = connection.settings_dict[place]
    connection.close()
    connection.settings_dict[place] = "/nowhere/at/all"
    yield
    connection.close()
    connection.settings_dict[place] = known


@contextmanager
def dropped() -> Iterator[None]:
    """The connection that the site keeps open is dead."""
    connection.ensure_connection()
    connection.connection.close()
    yield
    connection.close()


@contextmanager
def read_only() -> Iterator[None]:
    """The database takes no writes, as on a disk that was mounted read-only, or a standby."""
    is_postgresql = connection.vendor == "postgresql"
    name = "default_transaction_read_only" if is_postgresql else "query_only"
    with connection.cursor() as cursor:
        cursor.execute(f"SET {name} = on" if is_postgresql else f"PRAGMA {name} = on")
    yield
    connection.close()


@contextmanager
def full() -> Iterator[None]:
    """The disk has no room for one more page, which here is a limit of SQLite's own."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA page_count")
        cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0]}")
    yield
    connection.close()


only_sqlite = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="PostgreSQL's disk cannot be filled by a test."
)
TROUBLES = [away, read_only] if connection.vendor == "sqlite" else [away, dropped, read_only]


@pytest.fixture
def quiet() -> Client:
    """A client to which the site answers as to a browser, errors too."""
    return Client(raise_request_exception=False)


def send(tab: Tab, place: int = 1):
    return tab.post(dict(zip(BOXES, SCORES, strict=True)), to=tab.address_of(place))


def check_not_saved_yet(response) -> None:
    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) > 0
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Cache-Control"] == "no-store"
    assert "<h1>Not saved yet</h1>" in response.text
    assert not response.cookies


@pytest.mark.parametrize("trouble", TROUBLES)
def test_bad_72_answer_that_cannot_be_stored_is_not_saved_yet_and_can_be_sent_again(trouble, quiet):
    tab = open_tab(set_size=3)
    tab.client = quiet
    before = snapshot()

    with trouble():
        response = send(tab)

    check_not_saved_yet(response)
    assert snapshot() == before
    assert what_became(send(tab)) == "saved"
    check_invariants(tab.me.study)


@pytest.mark.slow
@only_sqlite
def test_bad_72_disk_that_is_full_in_mid_submit_leaves_no_half_answer(quiet):
    tab = open_tab(items=40, set_size=40)
    tab.client = quiet

    with full():
        # the last pages of the file have room for a few answers
        for place in range(1, 41):
            before = snapshot()
            response = send(tab.open(place), place)
            if response.status_code != 302:
                break
        after = snapshot()

    check_not_saved_yet(response)
    assert after == before
    assert what_became(send(tab, place)) == "saved"
    assert Annotation.objects.count() == place
    check_invariants(tab.me.study)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_bad_72_draft_that_cannot_be_stored_is_answered_so_that_the_page_tries_again(
    trouble, quiet
):
    tab = open_tab(set_size=3)
    tab.client = quiet

    with trouble():
        response = quiet.post(f"{tab.home}draft/", tab.fields | {BOXES[0]: "70"})

    check_not_saved_yet(response)
    assert not Draft.objects.exists()


def test_bad_72_pages_that_only_read_ask_to_come_back(quiet, staff_client):
    tab = open_tab(set_size=3)
    tab.client = quiet
    staff_client.raise_request_exception = False
    page = reverse("admin:study-overview", args=[tab.me.study_id])

    with away():
        responses = [quiet.get(tab.address_of(1)), quiet.get(tab.home), staff_client.get(page)]

    for response in responses:
        assert response.status_code == 503
        assert "Please come back in a minute" in response.text
    assert tab.open(1).page.status_code == staff_client.get(page).status_code == 200


@pytest.mark.parametrize(
    ("error", "is_ours"),
    [
        (OperationalError("disk I/O error"), False),
        (InterfaceError("connection already closed"), False),
        (IntegrityError("no such participant"), True),
        (InternalError("current transaction is aborted"), True),
        (KeyError("slot"), True),
        (None, True),
    ],
)
def test_fault_of_ours_is_not_called_an_outage(error, is_ours):
    assert is_outage(error) != is_ours


def test_table_that_is_missing_is_a_fault_of_ours():
    with pytest.raises(DatabaseError) as caught, connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM nowhere")

    assert not is_outage(caught.value)
