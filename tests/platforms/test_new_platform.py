"""A new platform is one folder and one line in settings: one is built here."""

import re

import pytest
from django.db import connection

from tests.support.plugins import ROOT, count_results, run_tests

pytestmark = pytest.mark.slow

SETTINGS = """
from tests.settings import *

PLATFORMS = [*PLATFORMS, "crowdly"]
INSTALLED_APPS = [*INSTALLED_APPS, "crowdly"]
"""
INIT = """
import re

from evalsite.platforms import Exit, Leave, Outcome, Parameter, Platform

CROWDLY = Platform(
    key="crowdly",
    label="Crowdly",
    summary="A platform that a test built.",
    person=Parameter(name="member", pattern=re.compile("[0-9a-f]{24}")),
    visit=Parameter(name="task", pattern=re.compile("[0-9a-f]{24}")),
    query="member=[[member]]&task=[[task]]",
    link_from_code="https://crowdly.example/done?code={code}",
    exits={
        Outcome.COMPLETED: Exit(takes_code=True, starts_with_code=True),
        Outcome.SCREENED_OUT: Exit(takes_link=True),
        Outcome.FAILED_CHECK: Exit(instead=Outcome.SCREENED_OUT),
        Outcome.NO_CONSENT: Exit(otherwise=Leave.CANCEL),
        Outcome.NO_PLACE: Exit(),
        Outcome.WRONG_DEVICE: Exit(),
    },
)
"""
APPS = """
from crowdly import CROWDLY
from evalsite.platforms import PlatformConfig


class CrowdlyConfig(PlatformConfig):
    name = "crowdly"
    platform = CROWDLY
"""
# what the site may not know: names of platforms, in code and in the pages' words
NAMES = re.compile(r"prolific(?!_)|cloudresearch|\bsona\b|mturk|mechanical turk", re.IGNORECASE)
# column names of files from elsewhere, and migrations, which know the past
EXEMPT = {"evalsite/imports/columns.py", "evalsite/lib/rating_columns.py"}


def write_platform(folder):
    """Write a platform beside a settings module that lists it."""
    package = folder / "crowdly"
    templates = package / "templates" / "platforms" / "crowdly"
    templates.mkdir(parents=True)
    (package / "__init__.py").write_text(INIT, encoding="utf-8")
    (package / "apps.py").write_text(APPS, encoding="utf-8")
    for name in ("setup", "rules"):
        (templates / f"{name}.html").write_text("<p>Paste it.</p>", encoding="utf-8")
    (folder / "crowdly_settings.py").write_text(SETTINGS, encoding="utf-8")


@pytest.mark.torture
@pytest.mark.skipif(connection.vendor != "sqlite", reason="its own process runs on SQLite")
def test_another_platform_passes_the_whole_contract_without_a_change_to_the_site(tmp_path):
    write_platform(tmp_path)

    counts = count_results(
        run_tests(tmp_path, "crowdly_settings", "crowdly", ["platform_contract"])
    )

    assert counts["passed"] >= 25
    assert set(counts) == {"passed", "deselected"}


def test_the_site_names_no_platform():
    files = [
        *(ROOT / "evalsite").rglob("*.py"),
        *(ROOT / "templates").rglob("*.html"),
        *(ROOT / "static").rglob("*.js"),
    ]
    named = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if "migrations" not in path.parts
        and "platforms" not in path.parts
        and "vendor" not in path.parts
        and NAMES.search(path.read_text(encoding="utf-8"))
    }

    assert named - EXEMPT == {"evalsite/settings.py"}
