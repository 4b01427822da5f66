"""Large exports: written by a job, of one moment, kept for some days, told of with a checksum."""

import os
from collections.abc import Callable
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.files.jobs import (
    KEPT_DAYS,
    KIND,
    delete_old_exports,
    find_file,
    read_choice,
    start_export,
)
from evalsite.data.files.services import Choice
from evalsite.participation.consent import withdraw
from evalsite.studies.models import Membership, Study
from tests.support.exports import annotate, export, main_items, read, study
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs

__all__ = ["study"]  # fixture


@pytest.fixture(autouse=True)
def _small_limit(settings: Any) -> None:
    settings.EXPORT_STREAM_ROWS = 2


@pytest.fixture
def answered(study: Study, make_participant: Callable[..., Any]) -> Study:
    annotate(study, make_participant(study), main_items(study)[0])
    return study


def ask(client: Client, study: Study, **data: str) -> Any:
    return client.post(reverse("admin:export-file", args=[study.pk, "ratings"]), data)


def page_of(client: Client, study: Study) -> str:
    return client.get(reverse("admin:files-all", args=[study.pk])).content.decode()


def take(client: Client, study: Study, job: Job) -> Any:
    return client.post(reverse("admin:export-ready", args=[study.pk, job.pk]))


@pytest.mark.both_databases
def test_bad_70_large_file_is_written_by_a_job_and_then_offered_with_its_checksum(
    staff_client: Client, answered: Study
) -> None:
    response = ask(staff_client, answered, status="counted")
    job = Job.objects.get(kind=KIND)
    waiting = page_of(staff_client, answered)
    run_waiting_jobs()
    ready = page_of(staff_client, answered)
    sent = take(staff_client, answered, job)
    data = sent.getvalue()

    assert response["Location"].endswith("?status=counted#large")
    assert "Writing ratings.csv, status counted:</b> starts in a moment" in waiting
    assert data == export(answered, status="counted")
    assert sha256(data).hexdigest() in ready
    assert '<h3 class="mono">ratings.csv, status counted</h3>' in ready
    assert "<p>3 rows<br>" in ready
    assert sent["Content-Disposition"] == (
        'attachment; filename="restaurant-descriptions_ratings_counted.csv"'
    )
    entry = AuditEntry.objects.filter(action="data exported", actor_name="jane").get()
    assert entry.detail["sha256"] == sha256(data).hexdigest()
    assert (entry.detail["rows"], entry.detail["status"]) == (3, "counted")


def test_small_file_is_sent_at_once(staff_client: Client, answered: Study, settings: Any) -> None:
    settings.EXPORT_STREAM_ROWS = 3

    response = ask(staff_client, answered)

    assert len(read(response.getvalue())) == 3
    assert not Job.objects.filter(kind=KIND).exists()


def test_large_workbook_is_written_by_a_job_too(staff_client: Client, answered: Study) -> None:
    staff_client.post(reverse("admin:export-workbook", args=[answered.pk, "ratings"]))
    run_waiting_jobs()

    data = take(staff_client, answered, Job.objects.get(kind=KIND)).getvalue()

    assert data == export(answered, is_workbook=True)


def test_same_choice_asked_for_twice_is_one_job_and_another_choice_another(
    answered: Study,
) -> None:
    me = make_user()
    choice = Choice(file="ratings", since=date(2026, 1, 2), excluded="out")

    first, again = (start_export(answered, choice, by=me) for _ in range(2))
    other = start_export(answered, Choice(file="ratings"), by=me)

    assert first == again
    assert other != first
    assert read_choice(first) == choice


def test_file_that_stands_is_not_changed_by_later_answers(
    answered: Study, make_participant: Callable[..., Any]
) -> None:
    before = export(answered)
    job = run_job(start_export(answered, Choice(file="ratings"), by=None))

    annotate(answered, make_participant(answered), main_items(answered)[1])

    path = find_file(job)
    assert path is not None
    assert path.read_bytes() == before
    later = run_job(start_export(answered, Choice(file="ratings"), by=None))
    assert later.result["rows"] == 6


def test_job_that_stopped_is_told_and_started_again(
    staff_client: Client, answered: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = start_export(answered, Choice(file="ratings"), by=None)
    folder = django_settings.DATA_DIR / "exports"
    with monkeypatch.context() as broken:
        broken.setattr("evalsite.data.files.jobs.write_file", _fill_the_disk)
        with pytest.raises(OSError, match="full"):
            run_job(job)

    page = page_of(staff_client, answered)
    restart = reverse("admin:job-restart", args=[answered.pk, job.pk])
    staff_client.post(restart, {"next": "/"})
    run_waiting_jobs()

    assert "Writing ratings.csv stopped." in page
    assert restart in page
    done = Job.objects.get(kind=KIND, state=Job.State.DONE)
    assert find_file(done) is not None
    assert not list(folder.glob("*.part"))
    assert "stopped" not in page_of(staff_client, answered)


def _fill_the_disk(*arguments: Any, **named: Any) -> None:
    raise OSError("The disk is full.")


def make_old(path: Path) -> None:
    then = (timezone.now() - timedelta(days=KEPT_DAYS, minutes=1)).timestamp()
    os.utime(path, (then, then))


def test_old_files_and_parts_are_deleted_by_age(staff_client: Client, answered: Study) -> None:
    old = run_job(start_export(answered, Choice(file="ratings"), by=None))
    path = find_file(old)
    assert path is not None
    part = path.with_name("left.part")
    part.write_bytes(b"")
    for one in (path, part):
        make_old(one)

    new = run_job(start_export(answered, Choice(file="annotations"), by=None))
    done = delete_old_exports()

    assert done == "2 deleted"
    assert not part.exists()
    assert find_file(old) is None
    assert find_file(new) is not None
    assert take(staff_client, answered, old).status_code == 404


@pytest.mark.both_databases
def test_file_with_answers_that_were_taken_back_is_sent_to_nobody(
    staff_client: Client, answered: Study
) -> None:
    job, items = (run_job(start_export(answered, Choice(file=name), by=None))
                  for name in ("ratings", "items"))  # fmt: skip
    path = find_file(job)
    me = answered.participants.get()

    withdraw(participant=me, is_kept=False)

    assert path is not None
    assert path.exists()
    assert take(staff_client, answered, job).status_code == 404
    assert find_file(items) is None  # what it holds isn't looked at
    assert delete_old_exports() == "2 deleted"
    assert not path.exists()
    again = run_job(start_export(answered, Choice(file="ratings"), by=None))
    assert take(staff_client, answered, again).status_code == 200


def test_file_of_people_who_withdrew_but_keep_their_answers_in_stays(answered: Study) -> None:
    job = run_job(start_export(answered, Choice(file="ratings"), by=None))

    withdraw(participant=answered.participants.get(), is_kept=True)

    assert find_file(job) is not None


def test_file_of_another_study_is_not_found(
    staff_client: Client, answered: Study, make_study: Callable[..., Any]
) -> None:
    job = run_job(start_export(answered, Choice(file="ratings"), by=None))
    other = make_study(items=1, by=make_user())

    assert take(staff_client, other, job).status_code == 404


def test_viewer_may_take_a_large_file_and_a_stranger_may_not(
    client: Client, answered: Study
) -> None:
    job = run_job(start_export(answered, Choice(file="ratings"), by=None))
    viewer, stranger = make_user("vera"), make_user("sam")
    Membership.objects.create(study=answered, user=viewer, role=Membership.Role.VIEWER)

    for user, status in ((viewer, 200), (stranger, 404)):
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        assert take(client, answered, job).status_code == status
