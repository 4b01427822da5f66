"""Values inside JSON are columns that may be mapped, by one grammar on the page and in --map."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from evalsite.data.models import Upload
from evalsite.studies.models import Item, Study
from tests.data.tables.test_formats import FOLDER
from tests.support.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def make_empty(**fields: object) -> Study:
    study: Study = make_study(protocol="fluency", items=0, **fields)
    return study


def write_rows(path: Path) -> Path:
    rows = [
        {
            "id": number,
            "model": system,
            "doc": {"question": f"Q{number}", "my.note": "n"},
            "response": {"body": {"choices": [{"message": {"content": f"{system} {number}"}}]}},
            **({"late": {"x": 1.50}} if number == 70 else {}),
        }
        for number in range(1, 71)
        for system in ("alpha", "beta")
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


MAPPING = [
    "--map=id=group", "--map=doc.question=dialogue",
    "--map=response.body.choices[0].message.content=output",
]  # fmt: skip


def test_paths_are_mapped_by_the_command(tmp_path):
    study = make_empty()
    path = write_rows(tmp_path / "rows.jsonl")

    call_command("import_batch", str(study.pk), str(path), *MAPPING, stdout=StringIO())

    items = Item.objects.main().filter(study=study)
    assert items.count() == 140
    first = items.earliest("id")
    assert first.inputs == {"dialogue": "Q1"}
    assert [output.text for output in first.outputs.all()] == ["alpha 1"]
    # the cell itself is kept, and no path of it a second time
    assert first.extra.keys() == {"doc", "response"}


def test_a_path_of_a_later_row_and_an_odd_key_may_be_mapped(tmp_path):
    study = make_empty()
    path = write_rows(tmp_path / "rows.jsonl")

    call_command(
        "import_batch", str(study.pk), str(path), *MAPPING,
        '--map=doc["my.note"]=', "--map=late.x=", stdout=StringIO(),
    )  # fmt: skip

    last = Item.objects.main().filter(study=study).latest("id")
    assert last.extra['doc["my.note"]'] == "n"
    assert last.extra["late.x"] == "1.5"


def test_a_path_that_leads_nowhere_is_named(tmp_path):
    path = write_rows(tmp_path / "rows.jsonl")

    with pytest.raises(CommandError, match=r"no column “nothing\.here”"):
        call_command("import_batch", str(make_empty().pk), str(path), "--map=nothing.here=output")


def test_the_page_offers_each_path_with_its_first_value():
    user = make_user()
    study = make_empty(by=user)
    client = Client()
    client.force_login(user)
    content = (FOLDER / "json_in_cells.csv").read_bytes()

    client.post(
        reverse("admin:upload-new", args=[study.pk]),
        {"file": SimpleUploadedFile("json_in_cells.csv", content)},
    )
    upload = Upload.objects.get()
    report = upload.report
    page = client.get(reverse("admin:upload-preview", args=[study.pk, upload.pk]))

    rows = {column["name"]: column["sample"] for column in page.context["columns"]}
    assert rows["inputs.question"] == "When does the library open on Mondays?"
    assert report["mapping"]["outputs.answer"] == "output"
    # a value that isn't used is left out: its cell is kept
    assert report["mapping"]["inputs.passage"] == "-"


def write_answers_in_lists(path: Path) -> Path:
    records = [
        {
            "id": f"c{number}",
            "dialogue": f"user: Where is tour {number}?",
            "answers": [
                {"model": {"name": name}, "message": {"role": "assistant", "content": f"{name}."}}
                for name in ("alpha", "beta")
            ],
        }
        for number in (1, 2)
    ]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def test_the_page_offers_the_parts_of_every_entry_of_a_list(tmp_path):
    """A person can't know how to write a path, so they choose it."""
    user = make_user()
    study = make_empty(by=user)
    client = Client()
    client.force_login(user)
    source = write_answers_in_lists(tmp_path / "rows.jsonl").read_bytes()
    client.post(
        reverse("admin:upload-new", args=[study.pk]),
        {"file": SimpleUploadedFile("rows.jsonl", source)},
    )
    upload = Upload.objects.get()

    page = client.get(reverse("admin:upload-preview", args=[study.pk, upload.pk]))

    columns = {column["name"]: column for column in page.context["columns"]}
    assert columns["answers[*].model.name"]["sample"] == "alpha"
    assert columns["answers[*].message.content"]["sample"] == "alpha."
    assert not columns["answers[*].model.name"]["is_used"]
    assert page.context["are_lists_offered"]
    assert all("answers[*]." in words for _, words, _ in page.context["faults"])
