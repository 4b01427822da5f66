"""Deleting a study that was never launched: everything of it goes, and nothing else."""

import pytest
from django.apps import apps
from django.core.exceptions import PermissionDenied
from django.db.models import ForeignKey
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import start_job
from evalsite.data.models import Upload
from evalsite.data.study_deletion import delete_draft
from evalsite.data.uploads import keep_upload
from evalsite.handout.models import Annotation
from evalsite.studies.models import Membership, Study
from tests.support.annotators import read_fields
from tests.support.factories import launch, make_annotator, make_study, make_user, mint_link
from tests.support.reports import keep_report

pytestmark = pytest.mark.django_db


def url(name: str, study: Study) -> str:
    return reverse(f"admin:{name}", args=[study.pk])


def rows_of(study: Study) -> dict[str, int]:
    """How many rows of each table say that they belong to the study."""
    found = {}
    for model in apps.get_models():
        names = {field.name for field in model._meta.fields if isinstance(field, ForeignKey)}
        if "study" in names:
            found[model.__name__] = model.objects.filter(study=study.pk).count()
    found["Job"] = Job.objects.filter(study_id=study.pk).count()
    return {name: count for name, count in found.items() if count}


def practise(client, study: Study) -> None:
    """A pilot has agreed and has answered the first practice item."""
    home = mint_link(make_annotator(study, is_pilot=True, practised_at=None))
    path = f"{home}practice/1/"
    hidden = read_fields(client.get(path).content.decode())
    client.post(path, hidden | {f"informativeness-{number}": "90" for number in (1, 2, 3)})


def test_draft_is_deleted_on_its_pages_with_pilots_reports_and_files(
    staff_client, client, researcher, settings, tmp_path, django_capture_on_commit_callbacks
):
    settings.DATA_DIR = tmp_path
    other = make_study(title="Another", by=researcher)
    study = make_study(items=0, title="A mistake", by=researcher)
    practise(client, study)
    keep_report(study)
    upload = keep_upload(study=study, file_name="a.csv", chunks=[b"item\n"], by=researcher)
    untouched = rows_of(other)
    assert Annotation.objects.filter(study=study).exists()
    assert {"Annotation", "Consent", "Item", "Membership", "Report", "Upload"} <= set(
        rows_of(study)
    )

    assert url("study-delete-confirm", study) in staff_client.get(url("setup-read", study)).text
    asked = staff_client.get(url("study-delete-confirm", study))
    assert "with 1 pilot and the answers given there" in asked.text
    with django_capture_on_commit_callbacks(execute=True):
        page = staff_client.post(url("study-delete", study), follow=True)

    assert page.redirect_chain == [(reverse("admin:index"), 302)]
    assert "Deleted: A mistake." in page.text
    assert not Study.objects.filter(pk=study.pk).exists()
    assert rows_of(study) == {}
    assert not upload.path.exists()
    assert rows_of(other) == untouched


def test_log_keeps_what_was_deleted_and_by_whom(researcher):
    study = make_study(items=0, title="A mistake", by=researcher)

    delete_draft(study=study, by=researcher)

    entry = AuditEntry.objects.filter(study_id=study.pk, action="study deleted").get()
    assert entry.actor == researcher
    assert entry.detail["title"] == "A mistake"


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (lambda study: None, "The study has 1 batch of items. Undo it under Items"),
        (launch, "The study has been launched, so it can&#x27;t be deleted. Close it"),
        (
            lambda study: (
                study.batches.all().delete(),
                start_job("export", study_id=study.pk, by=None),
            ),
            "A job is running for this study. Wait until it is done",
        ),
    ],
)
def test_study_that_must_stay_says_why_and_what_to_do(staff_client, researcher, prepare, reason):
    study = make_study(by=researcher)
    prepare(study)

    asked = staff_client.get(url("study-delete-confirm", study))
    posted = staff_client.post(url("study-delete", study), follow=True)

    assert reason in asked.text
    assert "Delete the study</button>" not in asked.text
    assert reason in posted.text
    assert Study.objects.filter(pk=study.pk).exists()
    assert Upload.objects.count() == 0


def test_settings_of_a_launched_study_offer_no_deleting(staff_client, researcher):
    study = launch(make_study(by=researcher))

    assert url("study-delete", study) not in staff_client.get(url("setup-read", study)).text


def test_only_owners_delete(researcher):
    study = make_study(items=0, by=researcher)
    editor = make_user("editor")
    Membership.objects.create(study=study, user=editor, role=Membership.Role.EDITOR)

    with pytest.raises(PermissionDenied):
        delete_draft(study=study, by=editor)
