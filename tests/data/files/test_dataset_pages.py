"""Making a dataset: on its page, by the command, and whose the data are."""

import io
import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.management import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.job import DATASET
from evalsite.data.bundle.restore import restore_bundle
from evalsite.data.files.dataset import DatasetOptions
from evalsite.data.management.commands.export_bundle import export_dataset
from evalsite.decisions.models import AnalysisPlan, PlanEvent
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member, sign_in
from tests.support.bundles import pack, read_files
from tests.support.datasets import make_compared, make_rated
from tests.support.factories import make_study, make_user

pytestmark = pytest.mark.django_db
ROLES = ("viewer", "editor", "owner")
CHOSEN = {
    "preferences": "fluency", "unpaired": "fluency", "good_from": "4", "bad_below": "3",
    "is_parquet": "jsonl",
}  # fmt: skip


@pytest.fixture(autouse=True)
def data(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


def url(name: str, study: Study, *more: Any) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *more])


@pytest.mark.parametrize("role", ROLES)
def test_each_role_makes_a_dataset_and_downloads_it(role: str) -> None:
    study = make_rated(asks_to_share=True)
    study.participants.filter(pseudonym="PB3T").update(may_share=False)
    client = member(study, role)

    client.post(url("export-dataset", study), CHOSEN)
    job = Job.objects.get(study_id=study.pk, subject=DATASET)
    run_job(job)
    sent = client.post(url("export-bundle-file", study, job.pk))
    page = client.get(url("study-export", study))

    assert sent["Content-Disposition"] == 'attachment; filename="a-study_dataset.zip"'
    with ZipFile(io.BytesIO(sent.getvalue())) as archive:
        assert {name.partition("/")[2] for name in archive.namelist()} == {
            "README.md", "datapackage.json", "data/ratings.jsonl", "data/preferences.jsonl",
            "data/preferences_conversational.jsonl", "data/unpaired.jsonl",
        }  # fmt: skip
    assert page.context["archives"]["dataset"]["job"] == job
    assert page.context["not_sharing"] == 1
    assert AuditEntry.objects.filter(action="data exported", study_id=study.pk).count() == 1


def test_who_is_no_member_gets_nothing() -> None:
    study = make_rated()
    client = sign_in(make_user("stranger"))

    for name in ("export-dataset", "study-about"):
        assert client.get(url(name, study)).status_code == 404
        assert client.post(url(name, study), CHOSEN).status_code == 404
    assert not Job.objects.exists()


def test_page_reads_the_plan_once() -> None:
    study = make_rated()
    client = member(study, "owner")

    with CaptureQueriesContext(connection) as queries:
        client.get(url("export-dataset", study))

    plan = f'SELECT "{AnalysisPlan._meta.db_table}"'
    assert sum(query["sql"].startswith(plan) for query in queries) == 1


def test_page_says_what_is_wrong_and_makes_nothing() -> None:
    study = make_rated()

    page = member(study, "owner").post(url("export-dataset", study), CHOSEN | {"bad_below": "5"})

    assert page.status_code == 422
    assert [*page.context["form"].errors] == ["good_from"]
    assert not Job.objects.exists()


def test_nothing_is_offered_where_nobody_agreed() -> None:
    study = make_rated(asks_to_share=True)
    study.participants.update(may_share=False)
    client = member(study, "owner")

    page = client.get(url("export-dataset", study))
    client.post(url("export-dataset", study), CHOSEN)

    assert page.context["nothing"]
    assert "<form" not in page.text.partition("<main")[2]
    assert not Job.objects.exists()


def test_no_dataset_leaves_while_results_are_hidden(tmp_path: Path) -> None:
    study = make_rated(hides_results=True)
    Study.objects.filter(pk=study.pk).update(launched_at=study.created_at, state="draft")
    study.refresh_from_db()
    job = Job.objects.create(
        kind="bundle", study_id=study.pk, subject=DATASET,
        params={"has_data": True, "has_free_text": False, "has_entry_answers": False,
                "is_public": True, "dataset": DatasetOptions().model_dump()},
    )  # fmt: skip
    client = member(study, "owner")

    page = client.get(url("export-dataset", study))
    posted = client.post(url("export-dataset", study), CHOSEN)
    sent = client.post(url("export-bundle-file", study, job.pk))
    export_dataset(study, tmp_path / "set", {"is_parquet": False})

    assert page["Location"] == posted["Location"] == sent["Location"]
    assert page["Location"].endswith("#reveal")
    assert PlanEvent.objects.get(study=study).kind == "revealed"


def test_command_writes_a_folder_and_refuses_one_that_is_there(tmp_path: Path) -> None:
    study = make_compared()

    made = export_dataset(study, tmp_path / "set", {"is_parquet": False})

    assert made.rows == {"comparisons": 15, "preferences": 4, "preferences_conversational": 4}
    assert (tmp_path / "set" / "README.md").exists()
    with pytest.raises(CommandError):
        export_dataset(study, tmp_path / "set", {})
    with pytest.raises(CommandError):
        export_dataset(study, tmp_path / "other", {"unpaired": "better"})
    study.participants.update(may_share=False)
    study.asks_to_share = True
    with pytest.raises(CommandError):
        export_dataset(study, tmp_path / "other", {"is_parquet": False})
    assert not (tmp_path / "other").exists()


# --- whose the data are ---------------------------------------------------------------------------


def test_licence_and_authors_are_in_bundles_and_survive_them() -> None:
    study = make_study()
    about = {"authors": " Jane  Mori 0000-0002-1825-0097\r\n\r\nLi Wu", "licence": "CC-BY-4.0",
             "homepage": "https://example.org/short"}  # fmt: skip

    answer = member(study, "editor").post(url("study-about", study), about)
    bundle = pack(Study.objects.get(pk=study.pk))
    loaded = restore_bundle(
        file=io.BytesIO(bundle), owner=make_user("new"), by=None, is_copy=True
    ).study

    assert answer.status_code == 302
    package = json.loads(read_files(bundle)["datapackage.json"])
    assert package["licenses"][0]["name"] == "CC-BY-4.0"
    assert [person["title"] for person in package["contributors"]] == ["Jane Mori", "Li Wu"]
    assert package["homepage"] == "https://example.org/short"
    assert loaded.authors == "Jane Mori 0000-0002-1825-0097\nLi Wu"
    assert (loaded.licence, loaded.homepage) == ("CC-BY-4.0", "https://example.org/short")


def test_viewers_may_not_say_whose_the_data_are() -> None:
    study = make_rated()

    assert member(study, "viewer").post(url("study-about", study), {}).status_code == 403


@pytest.mark.parametrize(
    "about",
    [{"authors": "x" * 201}, {"licence": "MIT"}, {"homepage": "javascript:alert(1)"}],
)
def test_what_is_no_author_licence_or_address_is_not_stored(about: dict[str, str]) -> None:
    study = make_rated()

    page = member(study, "owner").post(url("study-about", study), about)

    assert page.status_code == 422
    assert [*page.context["form"].errors] == [*about]
