"""Everything with a time limit on disk is deleted by age, by the schedule alone."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine

from evalsite.core.jobs.schedule import run_schedule
from evalsite.lib.clock import now
from evalsite.results.models import Report
from evalsite.studies.models import Study
from tests.support.factories import make_study

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = timedelta(days=1)
# what is kept for how many days, by its name in the data folder
KEPT = {
    "exports/large": 7,
    "exports/broken-off.part": 7,
    "bundles/made.zip": 7,
    "uploaded-bundles/came.zip": 7,
    "uploads/stray": 1,
    "tmp-verify-left/scratch.sqlite3": 1,
    "tmp-bundle-left/ratings.csv": 1,
    "tmpleft/ratings.csv": 1,
    "reports/of-no-row/drawing.svg": 1,
}


@pytest.fixture(autouse=True)
def folder(settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def clock():
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


def put_file(path: Path) -> None:
    """A file, and a folder around it, as they were written at this moment of the clock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    for changed in (path, path.parent):
        os.utime(changed, (now().timestamp(),) * 2)


@pytest.mark.one_case
@pytest.mark.parametrize("name", KEPT)
def test_file_is_deleted_once_its_time_is_over_though_nobody_makes_another(folder, clock, name):
    path = folder / name
    put_file(path)
    clock.shift(KEPT[name] * DAY - timedelta(minutes=1))
    run_schedule()
    was_kept = path.exists()
    clock.shift(DAY + timedelta(hours=1))

    run_schedule()

    assert (was_kept, path.exists()) == (True, False)


def make_report(study: Study, *, days: int) -> Report:
    """A report of so many days ago, with a drawing."""
    moment = now() - days * DAY
    report = Report.objects.create(
        study=study, fingerprint=str(days), content={}, made_at=moment, requested_at=moment
    )
    put_file(report.folder / "drawing.svg")
    return report


def test_reports_keep_their_newest_drawings_and_those_of_thirty_days(clock):
    busy, quiet = make_study(items=0), make_study(items=0)
    newest, recent, old = (make_report(busy, days=days) for days in (1, 29, 31))
    only = make_report(quiet, days=300)

    run_schedule()

    kept = {report.pk for report in (newest, recent, old, only) if report.folder.exists()}
    assert kept == {newest.pk, recent.pk, only.pk}
    assert set(Report.objects.values_list("pk", flat=True)) == kept


@pytest.mark.django_db(transaction=True)
def test_backup_that_was_killed_leaves_nothing_for_long(folder, clock, settings):
    settings.BACKUP_FOLDER = str(folder / "backups")
    left = folder / "backups" / ".evalsite-backup-left" / "dump"
    put_file(left)
    run_schedule()
    clock.shift(DAY + timedelta(hours=1))

    run_schedule()

    assert not left.exists()
    assert len(list((folder / "backups").iterdir())) == 2
