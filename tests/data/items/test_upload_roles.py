"""Who may open the pages of files: editors upload, viewers look, strangers find nothing."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from evalsite.admin import collect_study_views
from evalsite.data.models import Upload
from evalsite.data.uploads import keep_upload
from evalsite.studies.models import Batch, Membership, Study
from tests.data.items.test_upload_pages import address
from tests.support.factories import make_user
from tests.support.uploads import GOOD

study_views = [
    page
    for page in collect_study_views()
    if page.view.__module__.startswith(("evalsite.data.", "evalsite.data.files."))
]
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def every_address(study: Study, upload: Upload, batch: Batch) -> dict[str, str]:
    """Each page with what its path asks for; what there is none of gets another's id."""
    parts: dict[str, Any] = {"batch_id": batch.pk, "file": "ratings", "judge_id": 1}
    return {
        page.name: address(
            page.name, study, *(parts.get(name, upload.pk) for name in PARAMETER.findall(page.path))
        )
        for page in study_views
    }


@pytest.fixture
def addresses(make_study: Callable[..., Any]) -> dict[str, str]:
    study = make_study(items=1)
    upload = keep_upload(study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None)
    for role in (Membership.Role.VIEWER, Membership.Role.EDITOR):
        Membership.objects.create(study=study, user=make_user(role), role=role)
    return every_address(study, upload, Batch.objects.get(study=study))


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("method", ["get", "post"])
def test_viewer_sees_items_and_exports_and_uploads_nothing(
    addresses: dict[str, str], method: str
) -> None:
    client = sign_in(User.objects.get(username="viewer"))
    open_to_all = {page.name for page in study_views if page.role == Membership.Role.VIEWER}

    for name, path in addresses.items():
        status = getattr(client, method)(path).status_code
        assert (status != 403) == (name in open_to_all), (name, status)
    assert open_to_all == {
        "batch-list", "batch-template", "export-codebook", "export-codebook-csv",
        "export-script", "export-instrument",
        "export-file", "export-workbook", "export-ready", "export-bundle",
        "export-anonymous", "export-public",
        "export-dataset", "export-scores", "export-scores-script",
        "export-bundle-file", "ratings-list", "metrics-template", "metrics-missing",
    }  # fmt: skip
    assert Upload.objects.count() == Batch.objects.count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["get", "post"])
def test_stranger_finds_no_page_at_all(addresses: dict[str, str], method: str) -> None:
    client = sign_in(make_user("stranger"))

    for name, path in addresses.items():
        assert getattr(client, method)(path).status_code == 404, name


def test_nobody_gets_in_without_signing_in(addresses: dict[str, str]) -> None:
    for name, path in addresses.items():
        response = Client().get(path)
        assert response.status_code == 302, name
        assert "/login/" in response["Location"]


def test_editor_may_upload(addresses: dict[str, str]) -> None:
    client = sign_in(User.objects.get(username="editor"))

    response = client.post(addresses["upload-new"], {"pasted": GOOD})

    assert response.status_code == 302
    assert Upload.objects.count() == 2


@pytest.mark.parametrize("name", ["upload-preview", "upload-faults", "batch-undo-confirm"])
def test_parts_of_another_study_are_not_found(
    staff_client: Client, addresses: dict[str, str], make_study: Callable[..., Any], name: str
) -> None:
    other = make_study(items=0, title="Another")
    first = Study.objects.exclude(pk=other.pk).get()

    path = addresses[name].replace(str(first.pk), str(other.pk))

    assert staff_client.get(addresses[name]).status_code == 200
    assert staff_client.get(path).status_code == 404


def test_changes_need_a_post(staff_client: Client, addresses: dict[str, str]) -> None:
    for name in ("upload-correct", "upload-cancel", "upload-import",
                 "batch-undo", "job-restart", "export-file"):  # fmt: skip
        assert staff_client.get(addresses[name]).status_code == 405, name
