"""Bundles that are uploaded: checked whole before anything is made of them."""

import os
from datetime import timedelta
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.uploaded import (
    CHECK,
    IMPORT,
    MOST_KEPT,
    delete_uploaded_bundles,
)
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.support.browsing import is_watched
from tests.support.bundles import change, move_data, pack, read_files, zip_files
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user
from tests.support.instruments import make_built_study, read_gallery

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("checks_here"),
]
UPLOAD = "/admin/studies/import/"


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    move_data(settings, tmp_path)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make_user("tom"))
    return client


def upload(staff: Client, bundle: bytes, name: str = "study.zip") -> Job:
    """The check of a bundle that was uploaded, done."""
    staff.post(reverse("admin:bundle-upload"), {"file": SimpleUploadedFile(name, bundle)})
    return run_job(Job.objects.filter(kind=CHECK).order_by("-created_at")[0])


def page_of(check: Job) -> str:
    return reverse("admin:bundle", args=[UUID(check.subject)])


def make_answered() -> Study:
    study = launch(make_study(items=2))
    answer_item(make_annotator(study), study.items.main()[0])
    return study


@cache
def pack_answers() -> bytes:
    """The bundle of a study with answers that stands nowhere any more."""
    with transaction.atomic():
        bundle = pack(make_answered(), has_free_text=True)
        transaction.set_rollback(True)
    return bundle


@cache
def pack_built() -> bytes:
    """The bundle of a draft of an instrument that was built here, all of which is gone."""
    with transaction.atomic():
        bundle = pack(make_built_study(read_gallery()[0]), has_data=False)
        transaction.set_rollback(True)
    return bundle


def test_bundle_is_checked_by_a_job_and_its_study_is_made_again_or_as_a_copy(staff):
    first = make_answered()
    bundle = pack(first, has_free_text=True)
    staff.post(UPLOAD, {"file": SimpleUploadedFile("ours.zip", bundle)})
    check = Job.objects.get(kind=CHECK)
    waiting = staff.get(page_of(check))
    run_job(check)
    check.refresh_from_db()

    shown = staff.get(page_of(check))
    for do in ("data", "data", "draft"):
        staff.post(page_of(check), {"do": do})
    for job in Job.objects.filter(kind=IMPORT):
        assert run_job(job).state == "done", job.message

    assert is_watched(waiting)
    assert dict(shown.context["facts"])["Items"] == 2
    assert dict(shown.context["facts"])["Answers"] == 1
    assert shown.context["is_here"]
    copies = Study.objects.exclude(pk=first.pk).order_by("state")
    assert [(one.state, one.annotations.count()) for one in copies] == [("closed", 1), ("draft", 0)]
    assert staff.get(page_of(check)).text.count("Made: ") == 2
    assert Study.objects.visible_to(first.memberships.get().user).get() == first


def test_answers_of_practice_are_not_counted_as_answers_of_the_study(staff):
    check = upload(staff, pack_answers())
    check.result["counts"]["annotations"]["control"] = 10
    check.save()

    assert dict(staff.get(page_of(check)).context["facts"])["Answers"] == 1


def test_import_that_is_done_twice_makes_one_study_with_its_own_id(staff):
    check = upload(staff, pack_answers())

    staff.post(page_of(check), {"do": "data"})
    job = Job.objects.get(kind=IMPORT)
    run_job(job)
    Job.objects.filter(pk=job.pk).update(state="waiting")
    again = run_job(job)

    assert again.state == "done", again.message
    assert str(Study.objects.get().pk) == check.result["study"]


def test_instrument_of_a_bundle_is_in_the_gallery_to_be_tried_and_used(staff):
    check = upload(staff, pack_built())
    value = f"bundle:{check.subject}"

    gallery = staff.get(reverse("admin:new-all"))
    tried = staff.get(reverse("admin:instrument-try", args=["bundle", check.subject, 1]))
    staff.post(reverse("admin:new-from"), {"title": "Spring", "instrument": value})

    assert f"?instrument=bundle%3A{check.subject}" in gallery.text
    assert f"?instrument=bundle%3A{check.subject}" in staff.get(page_of(check)).text
    assert tried.status_code == 200
    study = Study.objects.get()
    assert study.instrument.content == read_gallery()[0]
    assert study.title == "Spring"


def _flip(bundle: bytes) -> bytes:
    files = read_files(bundle)
    return zip_files(files | {"study.json": files["study.json"].replace(b'"seed"', b'"sead"')})


def _ask_of(bundle: bytes, **values: Any) -> bytes:
    return change(bundle, "study.json", lambda about: about | values)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("tamper", "words"),
    [
        (lambda bundle: b"item,system\n", "isn't a .zip archive"),
        (lambda bundle: bundle[: len(bundle) // 2], "isn't a .zip archive"),
        (_flip, "It was changed"),
        (lambda bundle: zip_files({"a.txt": bytes(3 * 1024**2)}), "times its size"),
        (lambda bundle: zip_files({"../study.json": b"{}"}), "Bundles don't use such names"),
        (lambda bundle: zip_files({f"{one}.txt": b"" for one in range(1001)}), "at most 1,000"),
        (lambda bundle: _ask_of(bundle, format="another"), "doesn't say that this is a bundle"),
        (lambda bundle: _ask_of(bundle, format_version=999), "has format 999"),
    ],
)
def test_faults_of_a_bundle_are_named_and_nothing_is_made(staff, tamper, words):
    check = upload(staff, tamper(pack_answers()))

    page = staff.get(page_of(check))
    for do in ("data", "draft", "again"):
        staff.post(page_of(check), {"do": do})
    refused = staff.post(
        reverse("admin:new-from"), {"title": "A", "instrument": f"bundle:{check.subject}"}
    )

    assert check.state == "done"
    assert words in unescape(page.text)
    assert 'name="do" value="data"' not in page.text
    assert not Job.objects.filter(kind=IMPORT).exists()
    assert refused.status_code == 422
    assert not Study.objects.exists()


def test_only_the_person_who_uploaded_a_bundle_sees_it(staff):
    check = upload(staff, pack_built())
    other = Client()
    other.force_login(make_user("una"))
    value = f"bundle:{check.subject}"

    seen = [
        other.get(page_of(check)),
        other.post(page_of(check), {"do": "draft"}),
        other.get(reverse("admin:bundle", args=[uuid4()])),
        other.get(reverse("admin:instrument-try", args=["bundle", check.subject, 1])),
    ]
    other.post(reverse("admin:new-from"), {"title": "Spring", "instrument": value})

    assert [one.status_code for one in seen] == [404, 404, 404, 404]
    assert "study.zip" not in other.get(UPLOAD).text
    assert not Study.objects.exists()


def test_files_are_few_and_go_after_a_week_or_when_asked(staff, settings):
    settings.UPLOAD_MAX_BYTES = 2000
    folder = settings.DATA_DIR / "uploaded-bundles"
    for name, content in (("empty.zip", b""), ("large.zip", bytes(2001))):
        refused = staff.post(UPLOAD, {"file": SimpleUploadedFile(name, content)})
        assert refused.status_code == 422
    assert staff.post(UPLOAD).status_code == 422
    assert not folder.exists()

    for number in range(MOST_KEPT + 1):
        for waiting in Job.objects.filter(kind=CHECK, state="waiting"):
            run_job(waiting)
        staff.post(UPLOAD, {"file": SimpleUploadedFile(f"{number}.zip", b"PK")})
    listed = [check.params["name"] for _, check in staff.get(UPLOAD).context["checks"]]
    newest = Job.objects.filter(kind=CHECK).order_by("-created_at")[0]
    staff.post(page_of(newest), {"do": "remove"})
    for path in folder.iterdir():
        os.utime(path, (then := (now() - timedelta(days=8)).timestamp(), then))
    done = delete_uploaded_bundles()
    late = run_job(newest)

    assert listed == ["5.zip", "4.zip", "3.zip", "2.zip", "1.zip"]
    assert done == "4 deleted"
    assert not list(folder.iterdir())
    assert late.state == "failed"
    assert "Upload it again" in staff.get(page_of(newest)).text


def test_person_has_one_bundle_waiting_at_a_time_and_another_person_has_theirs(staff):
    file = {"name": "study.zip", "content": b"PK"}
    first = staff.post(UPLOAD, {"file": SimpleUploadedFile(**file)})
    second = staff.post(UPLOAD, {"file": SimpleUploadedFile(**file)})
    colleague = Client()
    colleague.force_login(make_user("ada"))
    other = colleague.post(UPLOAD, {"file": SimpleUploadedFile(**file)})
    kept = len(list((settings.DATA_DIR / "uploaded-bundles").iterdir()))
    for job in Job.objects.filter(kind=CHECK):
        run_job(job)
    later = staff.post(UPLOAD, {"file": SimpleUploadedFile(**file)})

    statuses = [response.status_code for response in (first, second, other, later)]
    assert statuses == [302, 422, 302, 302]
    assert kept == 2
