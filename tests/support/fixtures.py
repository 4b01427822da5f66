"""Fixtures for every test, also for those that stand in a protocol's folder."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from evalsite.core.accounts.sessions import LONG_SESSION, set_term
from evalsite.data.bundle import anonymous, public, verify, write
from evalsite.results.report import files
from evalsite.studies.models import Study
from evalsite.studies.version_cache import forget_versions
from tests.support import factories
from tests.support.bundles import examine_here, run_here
from tests.support.gate import Gate
from tests.support.invariants import check_invariants
from tests.support.races import wait_for_others
from tests.support.soak import serve_ordinary_requests

CHROMIUM_FLAGS = [
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PLAIN_PDF = b"%PDF-1.4\n"
# Milliseconds. Nothing waits so long by itself: three suites on two slow processors do.
PATIENCE = 30_000


@pytest.fixture(autouse=True)
def _forget_versions() -> None:
    """No test sees a study version that an earlier one left in memory."""
    forget_versions()


@pytest.fixture(autouse=True)
def _plain_drawings(request: pytest.FixtureRequest) -> Iterator[None]:
    """A report's drawings are empty files: the letters of a PDF take longer than the analysis."""
    with pytest.MonkeyPatch.context() as patch:
        if "drawings" not in request.fixturenames:
            draw_nothing(patch)
        yield


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    """Reports have the files of their charts, which are empty."""
    patch.setattr(files, "draw_pdf", lambda chart: PLAIN_PDF)


@pytest.fixture
def drawings() -> None:
    """Drawings of reports are written as on the site."""


@pytest.fixture
def checks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bundles are checked and made anonymous in this process: a child takes seconds to start."""
    monkeypatch.setattr(verify, "_check_in_scratch", examine_here)
    monkeypatch.setattr(anonymous, "run_child", run_here)
    monkeypatch.setattr(write, "run_child", run_here)
    monkeypatch.setattr(public, "run_child", run_here)


@pytest.fixture(scope="session")
def _gate(live_server: LiveServer) -> Gate:
    """The gate through which every request to the live server goes."""
    # a connection kept for the next request would stand against dropping the database
    gate = Gate(live_server.thread.httpd.get_app(), tidy=connections.close_all)
    live_server.thread.httpd.set_app(gate)
    return gate


@pytest.fixture(autouse=True)
def _settled(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that committed ends when its servers and processes do: its tables are emptied next.

    A request of a closed page, or a process that was killed, may still hold locks; emptying all
    tables would be a deadlock with it.
    """
    if not _commits(request):
        yield
        return
    request.getfixturevalue("transactional_db")  # so that it is torn down after this one
    gate = request.getfixturevalue("_gate") if "live_server" in request.fixturenames else None
    if gate:
        gate.open()
    yield
    if gate:
        gate.shut()
    wait_for_others()


def _commits(request: pytest.FixtureRequest) -> bool:
    """Whether other connections see the rows of the test."""
    marker = request.node.get_closest_marker("django_db")
    names = {"transactional_db", "live_server"} & set(request.fixturenames)
    return bool(names) or bool(marker and marker.kwargs.get("transaction"))


# --- rows -------------------------------------------------------------------------


@pytest.fixture
def make_study(db: None) -> Callable[..., Any]:
    return factories.make_study


@pytest.fixture
def add_batch(db: None) -> Callable[..., Any]:
    return factories.add_batch


@pytest.fixture
def make_participant(db: None) -> Callable[..., Any]:
    return factories.make_participant


@pytest.fixture
def mint_link(db: None) -> Callable[..., str]:
    """The address of a participant's own page; only the hash of its token is stored."""
    return factories.mint_link


@pytest.fixture
def researcher(db: None) -> User:
    """The member of staff who owns what the factories make."""
    return factories.make_user()


@pytest.fixture
def staff_client(researcher: User) -> Client:
    """A client signed in as the researcher, for 30 days: tests stop the clock at other hours."""
    client = Client()
    client.force_login(researcher, backend="evalsite.core.accounts.backend.AccountBackend")
    session = client.session
    set_term(session, LONG_SESSION)
    session.save()
    return client


@pytest.fixture
def database_url(transactional_db: None) -> str:
    """The value of EVALSITE_DATABASE with which another process sees this test's rows."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{values['NAME']}"
    login = quote(values["USER"], safe="")
    if values["PASSWORD"]:
        login += ":" + quote(values["PASSWORD"], safe="")
    return (
        f"postgresql://{login}@/{values['NAME']}"
        f"?host={quote(values['HOST'], safe='')}&port={values['PORT']}"
    )


@pytest.fixture
def promises(request: pytest.FixtureRequest, db: None) -> Iterator[None]:
    """After the test, every study's counts are as promised.

    What a single connection writes is the same on PostgreSQL: there only several are looked at.
    """
    yield
    if connection.vendor == "postgresql" and not _commits(request):
        return
    for study in Study.objects.all():
        check_invariants(study)


# --- a browser --------------------------------------------------------------------


def find_chromium() -> str | None:
    """The program to use: EVALSITE_CHROMIUM, else the first on the path.

    The headless shell is the same engine without the parts of a window: a page takes a quarter of
    the processor time.
    """
    names = [
        os.environ.get("EVALSITE_CHROMIUM"),
        "chromium-headless-shell",
        "chromium",
        "chromium-browser",
        "google-chrome",
    ]
    return next((path for name in names if name and (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, without a window; skipped with the reason where it is missing, except under CI."""
    path = find_chromium()
    if path is None:
        reason = "No Chromium here: install Debian's `chromium-headless-shell` for browser tests."
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    # Playwright keeps an event loop in this thread; the tests themselves are synchronous.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()
        # beside Playwright's loop Django keeps other connections than without: these are the ones
        # that would stand against dropping the database
        connections.close_all()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a new, empty profile, 1280 by 900."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


_have_served: list[int] = []


@pytest.fixture
def served_before(db) -> None:
    """This process has answered 1,000 ordinary requests."""
    if not _have_served:
        serve_ordinary_requests()
        _have_served.append(os.getpid())
