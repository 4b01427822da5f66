"""Text is text: whatever stands in a file is shown as it stands on every page, and never runs."""

import csv
import io
import json
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, reverse

from evalsite.admin import collect_study_views
from evalsite.data.files.columns import TEXT, list_files
from evalsite.data.files.services import Choice, stream_file
from evalsite.data.uploads import keep_upload
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.schema import Instrument
from evalsite.lib.csv_writer import guard_cell
from evalsite.participation.saving import Submission, submit_annotation
from evalsite.studies.models import Item, Study
from tests.support.batches import write_csv
from tests.support.factories import make_annotator, make_study, make_user
from tests.support.hostile import (
    EVERYTHING,
    EXTRA,
    SYSTEMS,
    TEXTS,
    TITLE,
    Seen,
    Walker,
    dress,
    hostile_rows,
    make_hostile,
    name_of,
    rows_to_rate,
    squeeze,
    texts_shown,
)
from tests.support.protocols import each_protocol
from tests.support.standing import give_standing

pytestmark = pytest.mark.django_db


# their items have every kind of input, and outputs that are rated one by one or compared
@pytest.fixture(params=each_protocol("magnitude", "pairwise"))
def config(request: pytest.FixtureRequest) -> Instrument:
    return installed_protocols()[request.param]


def said_by(html: str, address: str = "") -> str:
    """The words of a page that nothing but the site has built."""
    seen = Seen(html)
    assert seen.breaches == [], address
    return seen.words


# --- participants -----------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.slow
def test_bad_22_every_text_is_shown_literally_on_every_page_of_a_participant(config):
    study = make_hostile(config)
    walker = Walker(study)

    walker.take_part(is_pilot=False)

    said: dict[str, str] = {}
    for address, html in walker.pages:
        name, words = str(name_of(address)), said_by(html, address)
        assert squeeze(TITLE) in words, address
        said[name] = said.get(name, "") + words
    for row in rows_to_rate(config):
        for text in texts_shown(row, config):
            assert squeeze(text) in said["rating-page"], text
    assert squeeze(dress(EVERYTHING, "why")) in said["participant-practice"]
    assert "participant-finish" in said
    everything = "".join(said.values())
    assert not any(squeeze(name) in everything for name in SYSTEMS)
    assert squeeze(dress(EVERYTHING, "extra")) not in everything
    assert squeeze(EXTRA) not in everything


# --- staff ------------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.slow
def test_bad_22_every_text_is_shown_literally_on_every_page_of_a_study(config, staff_client):
    study = make_hostile(config, is_short=True)
    item = Item.objects.get(study=study, key="all-0")
    report_twice(study, item)

    said = {
        page.name: said_by(html, page.name)
        for page in collect_study_views()
        if (html := fetch_page(staff_client, page.name, study))
    }

    assert set(said) >= {"study-overview", "batch-list", "study-held", "study-progress"}
    for name in ("study-held", "batch-list"):
        for text in (*item.inputs.values(), *(output.text for output in item.outputs.all())):
            # the list of items shows how long texts begin
            shown = str(text) if name == "study-held" else str(text)[:190]
            assert squeeze(shown) in said[name]
    assert squeeze(dress(EVERYTHING, "note")) in said["study-held"]
    for system in {output.system.name for output in item.outputs.all()}:
        assert all(squeeze(system) in said[name] for name in ("batch-list", "study-progress"))


def report_twice(study: Study, item: Item) -> None:
    """Two participants found the item wrong, so it waits for the researcher."""
    for _ in range(2):
        submission = Submission(
            item=item,
            outcome=Annotation.Outcome.REPORTED,
            reason="other",
            note=dress(EVERYTHING, "note"),
            version_id=study.version_id,
        )
        reporter = give_standing(make_annotator(study))
        submit_annotation(participant=reporter, submission=submission)


def fetch_page(client: Client, name: str, study: Study) -> str:
    """The page of this name, if it is one that a study's id alone opens."""
    try:
        address = reverse(f"admin:{name}", args=[study.pk])
    except NoReverseMatch:
        return ""
    response = client.get(address, {"q": TITLE} if name == "study-people" else {})
    assert response.status_code in (200, 302, 405), name
    is_page = response.status_code == 200 and response["Content-Type"].startswith("text/html")
    return response.content.decode() if is_page else ""


def test_bad_22_every_text_is_shown_literally_before_the_import(config, staff_client, researcher):
    study = make_study(protocol=config.key, items=0, title=TITLE)
    rows = hostile_rows(config, key="all", text=EVERYTHING)
    sent = write_csv(rows).encode()
    upload = keep_upload(study=study, file_name=TITLE, chunks=[sent], by=researcher)

    response = staff_client.get(reverse("admin:upload-preview", args=[study.pk, upload.pk]))

    words = said_by(response.content.decode())
    assert "rightsofar?" in words
    assert squeeze(EXTRA) in words
    for row in rows:
        assert all(squeeze(text) in words for text in texts_shown(row, config))


def test_bad_22_every_text_is_shown_literally_where_it_is_a_fault(config, staff_client, researcher):
    study = make_study(protocol=config.key, items=0)
    rows = hostile_rows(config, key="all", text="text")
    for name in ("item", "group", "cluster", "kind"):
        for row in rows:
            row[name] = dress(TITLE, name)
    sent = write_csv(rows).encode()
    upload = keep_upload(study=study, file_name="a.csv", chunks=[sent], by=researcher)

    page = staff_client.get(reverse("admin:upload-preview", args=[study.pk, upload.pk]))
    table = staff_client.get(reverse("admin:upload-faults", args=[study.pk, upload.pk]))

    words = said_by(page.content.decode())
    assert words.count(squeeze(TITLE[:20])) >= 3
    assert table.status_code == 200
    assert not Item.objects.main().filter(study=study).exists()


@pytest.mark.torture
@pytest.mark.slow
def test_bad_22_every_text_is_shown_literally_in_the_tables_of_the_admin(config):
    study = make_hostile(config, is_short=True)
    report_twice(study, Item.objects.get(study=study, key="all-0"))
    client = Client()
    root = make_user("root", is_superuser=True)
    client.force_login(root, backend="django.contrib.auth.backends.ModelBackend")

    words = "".join(
        said_by(client.get(address, follow=True).content.decode(), address)
        for address in addresses_in_the_admin(study)
    )

    item = Item.objects.get(study=study, key="all-0")
    for text in (*item.inputs.values(), *item.extra.values(), *item.extra):
        for part in text.values() if isinstance(text, dict) else [text]:
            assert squeeze(json.dumps(part, ensure_ascii=False)[1:-1]) in words
    for output in item.outputs.all():
        assert squeeze(output.text) in words
        assert squeeze(output.system.name) in words
    assert squeeze(dress(EVERYTHING, "note")) in words


def addresses_in_the_admin(study: Study) -> list[str]:
    """Every table of ours, and in each the rows of one item or else the first row."""
    found = []
    for model in admin.site._registry:
        if not model.__module__.startswith("evalsite."):
            continue
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        names = {field.name for field in model._meta.get_fields()}
        rows = model._default_manager.all()
        if model is Item:
            rows = rows.filter(study=study, key="all-0")
        elif "item" in names:
            rows = rows.filter(item__study=study, item__key="all-0")
        found.append(reverse(f"{name}_changelist"))
        found += [reverse(f"{name}_change", args=[row.pk]) for row in rows[:3]]
    return found


# --- files ------------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.both_databases
def test_bad_22_23_every_text_is_exact_in_every_export(config):
    study = make_hostile(config, is_short=True, is_practice_on=False)
    Walker(study).take_part(is_pilot=False)
    for annotation, text in zip(
        Annotation.objects.filter(study=study), TEXTS.values(), strict=False
    ):
        Annotation.objects.filter(pk=annotation.pk).update(note=text)

    for name, columns in list_files(config).items():
        exact = read_rows(study, file=name)
        guarded = read_rows(study, file=name, for_spreadsheets=True)
        assert exact or name not in ("ratings", "annotations")
        free = {column.name for column in columns if column.type == TEXT}
        assert guarded == [
            {key: guard_cell(text) if key in free else text for key, text in row.items()}
            for row in exact
        ]
    notes = {row["note"] for row in read_rows(study, file="annotations")}
    assert notes >= set(Annotation.objects.filter(study=study).values_list("note", flat=True))
    systems = {
        rating.output.system.name
        for rating in Rating.objects.filter(annotation__item__kind="main").select_related(
            "output__system"
        )
        if rating.output
    }
    ratings = read_rows(study, file="ratings")
    assert {row["system"] or row["preferred"] for row in ratings} >= systems


def read_rows(study: Study, **choice: Any) -> list[dict[str, str]]:
    data = b"".join(stream_file(study, Choice(**choice), by=None)).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(data, newline=""), strict=True))
