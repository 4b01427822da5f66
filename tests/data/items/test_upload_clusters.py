"""Items of one talk or document that no column names as clusters: asked at upload, stored."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsite.data.models import Upload
from evalsite.decisions.frozen_plans import build_plan
from evalsite.decisions.models import AnalysisPlan
from evalsite.results.analysis_plan.stored import describe_plan
from evalsite.results.analysis_plan.wording import plan_in_words
from evalsite.studies.models import Batch, Study
from tests.support.checking import check_file

pytestmark = pytest.mark.django_db


def write_items(ids: list[str], doc: Callable[[int], str] | None = None) -> str:
    head = "item,mr,system,output" + (",doc" if doc else "")
    rows = [
        f"{key},name[{number}],{system},Text {number} of {system}."
        + (f",{doc(number)}" if doc else "")
        for number, key in enumerate(ids)
        for system in "abc"
    ]
    return "\n".join([head, *rows, ""])


# ten items of five documents, which their ids don't show
OF_DOCUMENTS = write_items([f"q{number}" for number in range(10)], lambda number: f"d{number // 2}")
FACTS = {"items": 10, "clusters": 5, "noun": "documents", "column": "doc"}


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    study: Study = make_study(protocol="magnitude", items=0)
    return study


def list_clusters(study: Study) -> dict[str, str]:
    return dict(study.items.filter(kind="main").values_list("key", "cluster"))


def upload(client: Client, study: Study, content: str) -> Upload:
    file = SimpleUploadedFile("items.csv", content.encode())
    address = reverse("admin:upload-new", args=[study.pk])
    client.post(address, {"file": file, "pasted": ""})
    return Upload.objects.get(study=study)


def post(client: Client, name: str, upload: Upload, **sent: str) -> Any:
    return client.post(
        reverse(f"admin:{name}", args=[upload.study_id, upload.pk]), sent, follow=True
    )


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("answer", "code", "clusters"),
    [
        ("", "clusters_used", {f"d{number}" for number in range(5)}),
        ("yes", "clusters_used", {f"d{number}" for number in range(5)}),
        ("no", "clusters_not_used", {""}),
    ],
)
def test_answer_is_stored_with_the_batch_and_named_in_plan_and_methods(
    staff_client: Client, study: Study, answer: str, code: str, clusters: set[str]
) -> None:
    waiting = upload(staff_client, study, OF_DOCUMENTS)
    (decision,) = waiting.report["decisions"]
    if answer:
        page = post(staff_client, "upload-preview", waiting, **{"decision-clusters": answer})
        assert f'<option value="{answer}" selected>' in page.content.decode()
        waiting.refresh_from_db()
        (made,) = waiting.report["decisions"]
        # the question gives way to its answer
        assert made["text"] != decision["text"]

    post(staff_client, "upload-import", waiting)

    assert decision["key"] == "clusters"
    assert [value for value, *_ in decision["choices"]] == ["yes", "no"]
    assert set(list_clusters(study).values()) == clusters
    (note,) = Batch.objects.get(study=study).import_notes
    assert (note["code"], note["facts"]) == (code, FACTS)
    plan = describe_plan(study)
    assert plan["clusters"] == [{"code": code, "facts": FACTS}]
    words = dict(plan_in_words(plan, criteria=1))["Clusters"]
    assert ("independent" in words) == (code == "clusters_not_used")
    # the frozen plan has its own
    AnalysisPlan.objects.update_or_create(study=study, defaults={"exclusion_rule": "Too fast"})
    assert build_plan(study)["clusters"] == plan["clusters"]


@pytest.mark.parametrize(
    ("content", "is_asked"),
    [
        (OF_DOCUMENTS, True),
        (OF_DOCUMENTS.replace("doc", "cluster_id", 1), False),  # mapped already
        (OF_DOCUMENTS.replace("doc", "domain", 1), False),
        (write_items([f"talk{number % 5}_s{number // 5}" for number in range(20)]), True),
        (write_items([f"item_{number:03}" for number in range(20)]), False),
    ],
)
def test_only_items_that_seem_to_come_from_clusters_are_asked_about(
    study: Study, content: str, is_asked: bool
) -> None:
    checked = check_file(io.BytesIO(content.encode()), study=study)

    assert checked.faults == []
    assert [decision.key for decision in checked.decisions] == ["clusters"] * is_asked


def test_beginnings_of_ids_become_clusters_unless_they_may_be_batches(study: Study) -> None:
    talks = write_items([f"talk{number % 5}_s{number // 5}" for number in range(20)])
    batches = write_items([f"b{number % 3}-{number // 3}" for number in range(18)])

    of_talks = check_file(io.BytesIO(talks.encode()), study=study)
    of_batches = check_file(io.BytesIO(batches.encode()), study=study)

    assert {item.cluster for item in of_talks.items} == {f"talk{number}" for number in range(5)}
    assert {item.cluster for item in of_batches.items} == {""}
    assert [note["code"] for note in of_batches.import_notes] == ["clusters_not_used"]


@pytest.mark.parametrize(("options", "number"), [((), 5), (("--clusters", "no"), 1)])
def test_command_takes_the_likely_answer_unless_it_is_given(
    study: Study, tmp_path: Path, options: tuple[str, ...], number: int
) -> None:
    path = tmp_path / "items.csv"
    path.write_text(OF_DOCUMENTS, encoding="utf-8")

    call_command("import_batch", str(study.pk), str(path), *options, stdout=io.StringIO())

    assert len(set(list_clusters(study).values())) == number
