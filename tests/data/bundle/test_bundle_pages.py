"""The page of bundles, and the commands: made outside requests, kept, logged, for members only."""

import hashlib
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle import job as packing
from evalsite.data.bundle.format import Contents
from evalsite.lib.clock import now
from evalsite.participation.consent import withdraw
from evalsite.people.services import change_sharing
from evalsite.studies.models import Membership, Study
from tests.support.browsing import is_watched
from tests.support.bundles import bundle_of, check, move_data, pack, read_files
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("checks_here"),
]


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    move_data(settings, tmp_path)


@pytest.fixture
def study() -> Study:
    study = launch(make_study(items=2))
    answer_item(make_annotator(study), study.items.main()[0])
    return study


def url(name: str, study: Study, *more: object) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *more])


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def make(client: Client, study: Study, **said: str) -> Job:
    client.post(url("export-bundle", study), {"contents": "data"} | said)
    return run_job(Job.objects.filter(kind="bundle").order_by("-created_at")[0])


def download(client: Client, study: Study, job: Job) -> Any:
    return client.post(url("export-bundle-file", study, job.pk))


def test_export_is_made_by_a_job_and_taken_away_with_its_hash_in_the_log(staff_client, study):
    job = make(staff_client, study)
    response = download(staff_client, study, job)

    bundle = b"".join(response.streaming_content)
    assert bundle == pack(study)
    assert response["Content-Disposition"] == (
        'attachment; filename="restaurant-descriptions_bundle.zip"'
    )
    entry = AuditEntry.objects.filter(action="data exported").get()
    assert (entry.actor_name, entry.detail["rows"]) == ("jane", 3)
    assert entry.detail["sha256"] == job.result["sha256"]


def test_page_tells_of_work_and_then_of_what_is_ready(staff_client, study):
    staff_client.post(url("export-bundle", study), {"contents": "data"})
    working = staff_client.get(url("export-bundle", study))
    run_job(Job.objects.get(kind="bundle"))
    ready = staff_client.get(url("export-bundle", study))

    assert "Creating the bundle" in working.content.decode()
    assert is_watched(working)
    assert "What goes in" not in working.content.decode()
    assert Job.objects.get().result["sha256"] in ready.content.decode()
    assert not is_watched(ready)


def test_same_wish_twice_is_one_job(staff_client, study):
    for _ in range(2):
        staff_client.post(url("export-bundle", study), {"contents": "data"})

    assert Job.objects.filter(kind="bundle").count() == 1


def test_nothing_is_packed_before_a_choice_is_made(staff_client, study):
    refused = staff_client.post(url("export-bundle", study))

    assert refused.status_code == 422
    assert "Choose what goes in." in refused.text
    assert not Job.objects.filter(kind="bundle").exists()


@pytest.mark.slow
def test_design_alone_and_free_text_are_chosen_on_the_page(staff_client, study):
    design = make(staff_client, study, contents="design")
    whole = make(staff_client, study, contents="free-text")

    assert (design.subject, whole.subject) == ("design", "data and free text")
    report = check(b"".join(download(staff_client, study, design).streaming_content))
    assert (report.about["has_data"], report.about["has_free_text"]) == (False, False)
    report = check(b"".join(download(staff_client, study, whole).streaming_content))
    assert (report.about["has_data"], report.about["has_free_text"]) == (True, True)


def test_page_says_that_other_columns_of_uploaded_files_are_in_it(staff_client, study):
    page = staff_client.get(url("export-bundle", study)).content.decode()

    assert "Other columns of your uploaded files are in items.csv, in the column extra" in page


@pytest.mark.one_case
@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("editor", 200), ("viewer", 200)])
def test_members_may_make_and_take_bundles(study, role, status):
    user = make_user(f"{role}-person")
    Membership.objects.create(study=study, user=user, role=role)
    client = sign_in(user)

    job = make(client, study)

    assert client.get(url("export-bundle", study)).status_code == status
    assert download(client, study, job).status_code == status


def test_strangers_find_no_bundle_not_even_through_a_study_of_their_own(staff_client, study):
    job = make(staff_client, study)
    other = make_study(by=make_user("stranger"))
    stranger = sign_in(make_user("stranger"))

    assert stranger.get(url("export-bundle", study)).status_code == 404
    assert stranger.post(url("export-bundle", study)).status_code == 404
    assert download(stranger, study, job).status_code == 404
    assert download(stranger, other, job).status_code == 404


def test_bundle_is_deleted_some_days_after_it_was_made(staff_client, study):
    old = make(staff_client, study)
    path = packing.find_file(old)
    assert path is not None
    long_ago = (now() - timedelta(days=packing.KEPT_DAYS, hours=1)).timestamp()
    os.utime(path, (long_ago, long_ago))

    packing.delete_old_bundles()

    assert not path.exists()
    assert download(staff_client, study, old).status_code == 404


def test_bundle_to_publish_is_gone_once_somebody_does_not_share_any_more(staff_client, study):
    study.asks_to_share = True
    study.save(update_fields=["settings"])
    me = study.participants.get()
    me.may_share = True
    me.save(update_fields=["may_share"])
    shared, whole, design = (
        make(staff_client, study, contents=contents) for contents in ("public", "data", "design")
    )

    change_sharing(participant=me, may_share=False)
    before = [packing.find_file(job) is not None for job in (shared, whole, design)]
    withdraw(participant=me, is_kept=False)
    after = [packing.find_file(job) is not None for job in (shared, whole, design)]

    assert (before, after) == ([False, True, True], [False, False, True])
    assert download(staff_client, study, shared).status_code == 404
    packing.delete_old_bundles()
    assert [packing.find_written(job) is not None for job in (shared, whole, design)] == after


def test_job_that_fails_leaves_no_file_and_may_start_again(staff_client, study, monkeypatch):
    def stop(*given: object) -> None:
        raise OSError

    with monkeypatch.context() as broken:
        broken.setattr(packing, "write_bundle", stop)
        with pytest.raises(OSError):  # noqa: PT011 (a full disk says nothing more)
            make(staff_client, study)
    failed = Job.objects.get(kind="bundle")
    staff_client.post(url("job-restart", study, failed.pk))
    job = run_job(Job.objects.filter(kind="bundle", state="waiting").get())

    assert failed.state == "failed"
    assert [path.name for path in (packing.find_file(job) or Path()).parent.iterdir()] == [
        f"{job.pk}.zip"
    ]


def test_bundle_waits_while_places_are_being_changed(study):
    Job.objects.create(study_id=study.pk, kind="places", state="running")

    job = run_job(packing.start_packing(study, Contents(), by=None))

    assert job.state == "failed"
    assert "Make the bundle once it is done" in job.message


# --- commands -----------------------------------------------------------------------------


@pytest.mark.slow
def test_commands_export_a_study_and_import_it_as_a_copy(study, tmp_path, capsys):
    file = tmp_path / "study.zip"

    call_command("export_bundle", str(study.pk), "-o", str(file))
    call_command("verify_bundle", str(file))
    call_command("import_bundle", str(file), "--owner", "jane", "--as-copy")

    told = capsys.readouterr().out
    assert "3 ratings" in told
    assert "closed, with its data" in told
    assert file.read_bytes() == pack(study)
    assert Study.objects.count() == 2
    assert AuditEntry.objects.get(action="data exported").detail["file"] == "study.zip"
    assert AuditEntry.objects.get(action="study imported").detail["original"] == str(study.pk)


def test_export_command_overwrites_nothing(study, tmp_path):
    file = tmp_path / "study.zip"
    file.write_bytes(b"precious")

    with pytest.raises(CommandError, match="exists already"):
        call_command("export_bundle", str(study.pk), "-o", str(file))

    assert file.read_bytes() == b"precious"


@pytest.mark.slow
def test_export_command_leaves_out_data_and_free_text_as_told(study, tmp_path):
    design, whole = tmp_path / "design.zip", tmp_path / "whole.zip"

    call_command("export_bundle", str(study.pk), "--without-data", "-o", str(design))
    call_command("export_bundle", str(study.pk), "--with-free-text", "-o", str(whole))

    assert "data/ratings.csv" not in read_files(design.read_bytes())
    assert check(whole.read_bytes()).about["has_free_text"]


def test_import_command_says_why_it_refuses(study, tmp_path):
    file = tmp_path / "study.zip"
    file.write_bytes(b"no archive")

    with pytest.raises(CommandError, match="part of it is missing"):
        call_command("import_bundle", str(file), "--owner", "jane")
    with pytest.raises(CommandError, match="no active member of staff named nobody"):
        call_command("import_bundle", str(file), "--owner", "nobody")
    with pytest.raises(CommandError, match="--owner NAME"):
        call_command("import_bundle", str(file))
    with pytest.raises(CommandError, match="can't be read"):
        call_command("import_bundle", str(tmp_path / "none.zip"), "--owner", "jane")


@pytest.mark.slow
def test_import_command_makes_a_draft_without_data(tmp_path, capsys):
    file = tmp_path / "study.zip"
    file.write_bytes(bundle_of("fluency"))
    User.objects.create_superuser("root-person")

    call_command("import_bundle", str(file), "--without-data")

    study = Study.objects.get()
    assert (study.state, study.participants.count()) == ("draft", 0)
    assert study.memberships.get().user.username == "root-person"
    assert "a draft, without data" in capsys.readouterr().out


def test_bundle_of_equal_contents_is_the_file_that_exists(staff_client, study):
    first = make(staff_client, study)
    path = packing.find_file(first)
    long_ago = (now() - timedelta(days=packing.KEPT_DAYS - 1)).timestamp()
    os.utime(path, (long_ago, long_ago))
    second = make(staff_client, study)
    page = staff_client.get(url("export-bundle", study))
    packed = b"".join(download(staff_client, study, second).streaming_content)
    answer_item(make_annotator(study), study.items.main()[1])
    third = make(staff_client, study)

    assert second.pk != first.pk
    assert packing.find_file(second) == path
    assert [job.pk for job, _ in page.context["bundles"]] == [second.pk]
    assert hashlib.sha256(packed).hexdigest() == first.result["sha256"]
    # kept for as long as one that is made now
    assert path.stat().st_mtime > long_ago
    assert packing.find_file(third) not in (None, path)


def test_bundles_count_in_the_quota_of_their_study_and_the_oldest_make_room(
    staff_client, study, settings
):
    designs = [make(staff_client, study, contents="design")]
    settings.UPLOAD_STUDY_BYTES = designs[0].result["size"] * 5 // 2
    for number in range(3):
        Study.objects.filter(pk=study.pk).update(title=f"Descriptions {number}")
        designs.append(make(staff_client, study, contents="design"))
    of_bytes = [packing.find_file(job) is not None for job in designs]
    settings.UPLOAD_STUDY_FILES = 1
    Study.objects.filter(pk=study.pk).update(title="Descriptions")
    designs.append(make(staff_client, study, contents="design"))

    assert of_bytes == [False, False, True, True]
    assert [packing.find_file(job) is not None for job in designs] == [False] * 4 + [True]
