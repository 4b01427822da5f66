"""Exported files: what was entered, exactly, in a fixed order, with a checksum in the log."""

import math
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pandas
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.job import name_bundle
from evalsite.data.files import rows
from evalsite.data.files.columns import Column, list_downloads
from evalsite.data.files.services import Choice, name_file, stream_file, write_lines
from evalsite.handout.models import Rating
from evalsite.lib.csv_writer import guard_cell, write_rows
from evalsite.studies.models import Output, Study, System
from tests.support.exports import annotate, export, main_items, read, study
from tests.support.factories import launch

__all__ = ["study"]  # fixture

HOSTILE = [
    "=HYPERLINK(1)", "-2+3", "@SUM", "+1", "＝1+1", "\t=1", "NA", "null", "01", "1e5", "", '"',
    "a,b", "a\rb", "a\nb", "a\r\nb", "\ufeffx", "<script>", "é e\u0301", "😀", "שלום \u202e", " x ",
]  # fmt: skip


# --- bytes ----------------------------------------------------------------------------------


def fill_with_hostile_texts(study: Study, make_participant: Callable[..., Any]) -> None:
    for number, text in enumerate(HOSTILE):
        item = main_items(study)[number % 2]
        note = {"note": text, "device": text[:20], "reason": text[:40], "outcome": "ignored"}
        annotate(study, make_participant(study), item, number, **note)
    for system, text in zip(System.objects.filter(study=study), HOSTILE[:3], strict=True):
        System.objects.filter(pk=system.pk).update(name=text)


@pytest.mark.both_databases
def test_export_read_with_the_documented_pandas_call_equals_the_database(
    study: Study, make_participant: Callable[..., Any], tmp_path: Any
) -> None:
    fill_with_hostile_texts(study, make_participant)
    path = tmp_path / "file.csv"

    path.write_bytes(export(study))
    ratings = pandas.read_csv(path, dtype=str, keep_default_na=False)
    path.write_bytes(export(study, "annotations"))
    annotations = pandas.read_csv(path, dtype=str, keep_default_na=False)

    assert list(annotations["note"]) == HOSTILE
    assert list(annotations["device"]) == [text[:20] for text in HOSTILE]
    stored = Rating.objects.order_by("annotation_id", "output__position").values_list(
        "annotation__key", "output__system__name", "value", "text"
    )
    found = ratings[["annotation", "system", "value", "value_typed"]].itertuples(index=False)
    assert [tuple(row) for row in found] == [tuple(str(cell) for cell in row) for row in stored]


@pytest.mark.parametrize("text", HOSTILE)
def test_rows_are_quoted_as_python_quotes_them(text: str) -> None:
    columns = [
        Column("shared", "text", "", cell=lambda row: text),
        Column("more", "text", "", cell=lambda row: "1"),
        Column("own", "text", "", of="row", cell=lambda row: text),
    ]

    found = "".join(next(write_lines(columns, [(None, [None, None])])))

    assert found == write_rows([[text, "1", text]] * 2)


@pytest.mark.both_databases
def test_same_data_gives_the_same_bytes(
    study: Study, make_participant: Callable[..., Any], monkeypatch: Any
) -> None:
    fill_with_hostile_texts(study, make_participant)
    whole = export(study)

    monkeypatch.setattr(rows, "PAGE", 3)

    assert export(study) == whole


def test_file_for_spreadsheets_has_a_mark_and_guards_texts_but_no_numbers(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    fill_with_hostile_texts(study, make_participant)

    data = export(study, "annotations", for_spreadsheets=True)

    rows = read(data.removeprefix(b"\xef\xbb\xbf"))
    assert data.startswith(b"\xef\xbb\xbf")
    assert not export(study).startswith(b"\xef\xbb\xbf")
    assert [row["note"] for row in rows] == [guard_cell(text) for text in HOSTILE]
    assert [row["note"][0] for row in rows[:6]] == ["'"] * 6
    assert {row["seconds"] for row in rows} == {"12.5"}


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\ta", "\ra", "＝1", "＋", "－", "＠"])
def test_bad_23_formulas_are_guarded(text: str) -> None:
    assert guard_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["a=1", "", "1", "'=1", " =1", "‐1"])
def test_other_texts_are_not_touched(text: str) -> None:
    assert guard_cell(text) == text


def test_negative_logarithms_stay_numbers_in_spreadsheets(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    annotate(study, make_participant(study), main_items(study)[0])

    rows = read(export(study, for_spreadsheets=True).removeprefix(b"\xef\xbb\xbf"))

    assert rows[0]["log_ratio"] == repr(math.log(0.5))


def test_queries_do_not_grow_with_the_rows_of_a_page(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            export(study)
        return len(queries)

    annotate(study, make_participant(study), main_items(study)[0])
    few = count()
    for number in range(20):
        annotate(study, make_participant(study), main_items(study)[number % 2])

    assert count() == few


# --- the page and the log ---------------------------------------------------------------------


def download(client: Client, study: Study, file: str = "ratings", **data: str) -> Any:
    return client.post(reverse("admin:export-file", args=[study.pk, file]), data)


def test_download_is_logged_with_rows_and_checksum_and_listed(
    staff_client: Client, study: Study, make_participant: Callable[..., Any]
) -> None:
    annotate(study, make_participant(study), main_items(study)[0])

    response = download(staff_client, study)
    data = response.getvalue()

    entry = AuditEntry.objects.get(action="data exported")
    assert entry.actor_name == "jane"
    assert entry.detail == {
        "file": "ratings.csv", "rows": 3, "sha256": sha256(data).hexdigest(),
        "for_spreadsheets": False, "with_pilot": False,
    }  # fmt: skip
    page = staff_client.get(reverse("admin:files-all", args=[study.pk])).content.decode()
    assert sha256(data).hexdigest() in page
    assert 'ratings.csv</td><td class="n">3</td>' in page


def test_page_of_an_empty_study_says_what_brings_answers(
    staff_client: Client, make_study: Callable[..., Any]
) -> None:
    def show(study: Study) -> str:
        address = reverse("admin:study-export", args=[study.pk])
        return staff_client.get(address).content.decode()

    empty, waiting, live = (make_study(items=items, title=str(items)) for items in (0, 1, 2))
    launch(live)

    assert "upload a batch under Items" in show(empty)
    assert "Share the link" not in show(empty)
    assert "Take the pilot, or launch the study" in show(waiting)
    assert "No answers yet. Share the link." in show(live)


def test_download_that_breaks_off_is_logged_as_such(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    annotate(study, make_participant(study), main_items(study)[0])
    stream = stream_file(study, Choice(file="ratings"), by="a test")

    next(stream)
    stream.close()  # type: ignore[attr-defined]

    assert AuditEntry.objects.filter(study_id=study.pk).first().action == "export broken off"  # type: ignore[union-attr]


def test_download_is_an_attachment_with_the_chosen_options(
    staff_client: Client, study: Study, make_participant: Callable[..., Any]
) -> None:
    annotate(study, make_participant(study), main_items(study)[0], status="pilot")

    response = download(staff_client, study, "annotations", purpose="spreadsheets", with_pilot="on")
    data = response.getvalue()

    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"] == (
        'attachment; filename="restaurant-descriptions_annotations_for-spreadsheets.csv"'
    )
    assert data.startswith(b"\xef\xbb\xbf")
    assert len(read(data)) == 1


@pytest.mark.django_db
def test_simulated_pilot_is_named_only_where_its_rows_are_in_the_file(
    staff_client: Client, study: Study, make_participant: Callable[..., Any]
) -> None:
    people: dict[str, Any] = {"is_pilot": True, "origin": "simulated"}
    pilot = make_participant(study, **people)
    annotate(study, make_participant(study), main_items(study)[0])
    annotate(study, pilot, main_items(study)[0], origin="simulated", status="pilot")

    def name(file: str, **choice: Any) -> str:
        return name_file(study, Choice(file=file, **choice)).removeprefix(
            "restaurant-descriptions_"
        )

    files = ("ratings", "ratings_simple", "annotations", "participants", "items")
    assert [name(file) for file in files] == [f"{file}.csv" for file in files]
    assert name("ratings", with_pilot=True) == "simulated_ratings.csv"
    assert name("participants", with_pilot=True) == "simulated_participants.csv"
    assert name("ratings_simple", with_pilot=True) == "ratings_simple.csv"
    assert name("items", with_pilot=True) == "items.csv"
    assert name("ratings", with_pilot=True, origin="own") == "ratings_own.csv"
    address = reverse("admin:files-all", args=[study.pk])
    assert not staff_client.get(address).context["is_simulated"]
    assert staff_client.get(f"{address}?with_pilot=on").context["is_simulated"]
    assert not staff_client.get(reverse("admin:export-bundle", args=[study.pk])).context[
        "is_simulated"
    ]
    assert name_bundle(study, Contents()) == "restaurant-descriptions_bundle.zip"


@pytest.mark.django_db
def test_names_begin_with_at_most_40_characters_of_the_title_between_hyphens(study: Study) -> None:
    study.title = "Which Café is Better? Évaluation of Rooms, again"

    assert name_file(study, Choice(file="items")) == (
        "which-cafe-is-better-evaluation-of-rooms_items.csv"
    )


@pytest.mark.django_db
def test_simulated_rows_are_named_in_rows_file_name_and_page(
    staff_client: Client, study: Study, make_participant: Callable[..., Any]
) -> None:
    annotate(study, make_participant(study), main_items(study)[0], origin="simulated")

    page = staff_client.get(reverse("admin:study-export", args=[study.pk])).content.decode()

    assert {row["origin"] for row in read(export(study))} == {"simulated"}
    assert name_file(study, Choice(file="ratings")) == (
        "restaurant-descriptions_simulated_ratings.csv"
    )
    assert "Some of these answers are simulated" in page


def test_unknown_file_is_not_found(staff_client: Client, study: Study) -> None:
    assert download(staff_client, study, "identities").status_code == 404


def test_no_file_holds_what_identifies_a_person_or_a_link(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    participant = make_participant(study)
    annotate(study, participant, main_items(study)[0])

    for file in list_downloads(study.config):
        text = export(study, file).decode()
        assert participant.receipt not in text


def test_outputs_of_an_item_with_one_more_system_keep_their_order(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    item = main_items(study)[0]
    later = System.objects.create(study=study, name="aardvark")
    Output.objects.create(study=study, item=item, system=later, position=3, text="Later.")
    annotate(study, make_participant(study), item, order_shown=[3, 2, 1, 0])

    rows = read(export(study))

    assert [row["system"] for row in rows] == ["baseline", "neural", "template", "aardvark"]
    assert [row["place"] for row in rows] == ["4", "3", "2", "1"]
