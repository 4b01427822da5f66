"""Exported files: what was entered, exactly, in a fixed order, with a checksum in the log."""

import csv
import io
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pandas
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.annotation.models import Annotation, Rating, Revision, Slot
from evalsite.audit.models import AuditEntry
from evalsite.exchange import tables
from evalsite.exchange.columns import FILES
from evalsite.exchange.exporting import Choice, count_rows, guard_cell, name_file, stream_file
from evalsite.participants.models import ItemSet, Participant
from evalsite.protocol import Criterion, Preference
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Item, Output, Study, StudyVersion, System

START = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
HOSTILE = [
    "=HYPERLINK(1)", "-2+3", "@SUM", "+1", "＝1+1", "\t=1", "NA", "null", "01", "1e5", "", '"',
    "a,b", "a\rb", "a\nb", "a\r\nb", "\ufeffx", "<script>", "é e\u0301", "😀", "שלום \u202e", " x ",
]  # fmt: skip


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2)


def annotate(
    study: Study, participant: Participant, item: Item, minute: int = 0, **fields: Any
) -> Annotation:
    """An annotation with three ratings, counted unless told otherwise."""
    moment = START + timedelta(minutes=minute)
    slot = None
    if fields.setdefault("status", "counted") == "counted":
        no = item.slots.count()  # type: ignore[attr-defined]
        slot = Slot.objects.create(
            study=study, item=item, no=no, pos=no, arrangement=0, state=2, participant=participant
        )
    annotation = Annotation.objects.create(
        study=study,
        item=item,
        participant=participant,
        slot=slot,
        key=uuid4(),
        started_at=moment,
        submitted_at=moment + timedelta(seconds=12.5),
        **{"order_shown": [2, 0, 1], **fields},
    )
    for output in item.outputs.all():  # type: ignore[attr-defined]
        Rating.objects.create(
            study=study,
            annotation=annotation,
            criterion="informativeness",
            output=output,
            value=50 + output.position,
            value_typed=f" {50 + output.position}",
        )
    return annotation


def main_items(study: Study) -> list[Item]:
    return list(Item.objects.main().filter(study=study))


def export(study: Study, file: str = "ratings", **choice: Any) -> bytes:
    return b"".join(stream_file(study, Choice(file=file, **choice), by="a test"))


def read(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))


# --- what a row holds -------------------------------------------------------------------


def test_columns_stand_in_the_order_of_the_specification(study: Study) -> None:
    header = (
        "study,version,batch,item,group,cluster,kind,system,output_id,criterion,scale,"
        "scale_min,scale_max,value,label,value_typed,standard,log_ratio,system_1,system_2,"
        "preferred,outcome,shown_first,annotation,participant,set,place,place_in_group,"
        "place_in_set,trial,repeat_of,status,origin,aids,device,language,excluded,"
        "exclusion_reason,revisions,started_at,submitted_at,seconds,active_seconds"
    )

    assert export(study) == f"{header}\r\n".encode()


def test_rating_holds_all_that_analysis_needs(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    participant, (item, _) = make_participant(study), main_items(study)
    version = StudyVersion.objects.create(
        study=study, number=1, content={"options": {"standard_score": 200}}, sha256="x"
    )
    dealt = ItemSet.objects.create(study=study, participant=participant, number=1)
    annotation = annotate(
        study, participant, item, version=version, item_set=dealt, place=4, is_aided=True,
        device="wide-landscape", language="en-GB", active_ms=9_250,
    )  # fmt: skip
    Revision.objects.create(study=study, annotation=annotation, state={}, submitted_at=START)

    first, second, third = read(export(study))

    output = item.outputs.get(position=0)  # type: ignore[attr-defined]
    assert first == {
        "study": str(study.pk), "version": "1", "batch": str(item.batch_id), "item": "item-001",
        "group": "group-001", "cluster": "", "kind": "main", "system": "baseline",
        "output_id": str(output.pk), "criterion": "informativeness", "scale": "magnitude",
        "scale_min": "1", "scale_max": "999999", "value": "50", "label": "", "value_typed": " 50",
        "standard": "200", "log_ratio": repr(math.log(0.25)), "system_1": "", "system_2": "",
        "preferred": "", "outcome": "", "shown_first": "", "annotation": str(annotation.pk),
        "participant": participant.pseudonym, "set": "1", "place": "2", "place_in_group": "1",
        "place_in_set": "4", "trial": "1", "repeat_of": "", "status": "counted", "origin": "own",
        "aids": "yes", "device": "wide-landscape", "language": "en-GB", "excluded": "no",
        "exclusion_reason": "", "revisions": "1", "started_at": "2026-11-21T12:30:00.000000Z",
        "submitted_at": "2026-11-21T12:30:12.500000Z", "seconds": "12.5", "active_seconds": "9.25",
    }  # fmt: skip
    assert [(row["system"], row["value"], row["place"]) for row in (second, third)] == [
        ("neural", "51", "3"),
        ("template", "52", "1"),
    ]


def test_standard_is_that_of_the_version_of_the_item_or_of_the_study(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    first, second = main_items(study)
    second.inputs |= {"standard_mr": "x", "standard_utterance": "y", "standard_score": "25"}
    second.save()
    for item in (first, second):
        annotate(study, make_participant(study), item)

    rows = read(export(study))

    assert [row["standard"] for row in rows[::3]] == ["100", "25"]
    assert float(rows[3]["log_ratio"]) == math.log(2)


def test_annotations_hold_reasons_problems_and_notes(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    one, two = main_items(study)
    annotate(study, make_participant(study), one, note='=1\r\n, said "she"')
    reported = {"status": "surplus", "outcome": "reported", "reason": "offensive"}
    annotate(study, make_participant(study), two, **reported)
    annotate(study, make_participant(study), two, outcome="ignored", reason="unsuitable")

    rows = read(export(study, "annotations"))

    assert [(row["outcome"], row["reason"], row["problem"]) for row in rows] == [
        ("rated", "", ""), ("reported", "", "offensive"), ("ignored", "unsuitable", ""),
    ]  # fmt: skip
    outputs = [str(one.outputs.get(position=place).pk) for place in (2, 0, 1)]  # type: ignore[attr-defined]
    assert rows[0]["note"] == '=1\r\n, said "she"'
    assert rows[0]["order_shown"].split() == outputs
    assert rows[0]["ratings"] == "3"


def test_running_numbers_count_what_the_file_leaves_out(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    practice = Item.objects.practice().filter(study=study)[0]
    one, two = main_items(study)
    Item.objects.filter(pk__in=[one.pk, two.pk]).update(group="shared")
    participant = make_participant(study)
    annotate(study, participant, practice, status="control")
    annotate(study, participant, one, status="pilot")
    annotate(study, participant, two)
    annotate(study, make_participant(study), two)

    rows = read(export(study, "annotations"))

    assert [(row["kind"], row["trial"], row["place_in_group"]) for row in rows] == [
        ("practice", "1", "1"), ("main", "3", "2"), ("main", "1", "1"),
    ]  # fmt: skip


def test_preferences_speak_of_systems_and_never_of_sides(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    study.config = SimpleNamespace(
        criteria=(), default_options={}, standard_score=None,
        criterion_by_key={
            "readability": Criterion(
                key="readability", label="", definition="",
                scale=Preference(first="A", tie="Tie", second="B"),
            )
        },
    )  # fmt: skip
    item = main_items(study)[0]
    item.outputs.get(position=1).delete()  # type: ignore[attr-defined]
    item.outputs.filter(position=2).update(position=1)  # type: ignore[attr-defined]
    preferred = item.outputs.get(system__name="template")  # type: ignore[attr-defined]
    for output in (preferred, None):
        annotation = annotate(study, make_participant(study), item, order_shown=[1, 0])
        annotation.ratings.all().delete()  # type: ignore[attr-defined]
        Rating.objects.create(
            study=study, annotation=annotation, criterion="readability", output=output,
            value=int(output is not None),
        )  # fmt: skip

    rows = read(export(study))

    keys = ("system", "output_id", "place", "system_1", "system_2", "preferred", "outcome",
            "shown_first", "value", "label")  # fmt: skip
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("", "", "", "baseline", "template", "template", "2", "template", "1", "preferred"),
        ("", "", "", "baseline", "template", "", "tie", "template", "0", "tie"),
    ]


# --- which rows ---------------------------------------------------------------------------


def test_pilots_are_left_out_unless_asked_for_and_surplus_stays_marked(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    one, two = main_items(study)
    annotate(study, make_participant(study), one)
    annotate(study, make_participant(study), one, status="surplus")
    annotate(study, make_participant(study, is_pilot=True), two, status="pilot")

    assert [row["status"] for row in read(export(study))[::3]] == ["counted", "surplus"]
    with_pilot = read(export(study, with_pilot=True))
    assert [row["status"] for row in with_pilot[::3]] == ["counted", "surplus", "pilot"]
    assert count_rows(study) == {"ratings": 6, "annotations": 2}
    assert count_rows(study, with_pilot=True) == {"ratings": 9, "annotations": 3}


def test_excluded_rows_stay_marked_with_their_reasons(
    study: Study, make_participant: Callable[..., Any], researcher: Any
) -> None:
    one, two = make_participant(study), make_participant(study)
    for participant in (one, two):
        annotate(study, participant, main_items(study)[0])
    decided = {"study": study, "decided_by": researcher}
    Exclusion.objects.create(participant=one, reason="too fast", **decided)
    Exclusion.objects.create(annotation=one.annotations.get(), reason="=1", **decided)
    Exclusion.objects.create(participant=two, reason="gone", revoked_at=START, **decided)

    rows = read(export(study))

    assert [(row["excluded"], row["exclusion_reason"]) for row in rows[::3]] == [
        ("yes", "too fast; =1"),
        ("no", ""),
    ]


def test_rows_of_another_study_never_get_in(
    study: Study, make_study: Callable[..., Any], make_participant: Callable[..., Any]
) -> None:
    other = make_study(items=1)
    annotate(other, make_participant(other), main_items(other)[0])

    assert read(export(study)) == []


def test_what_is_saved_while_the_file_is_on_its_way_is_not_in_it(
    study: Study, make_participant: Callable[..., Any], monkeypatch: Any
) -> None:
    monkeypatch.setattr(tables, "PAGE", 1)
    one, two = main_items(study)
    participant = make_participant(study)
    annotate(study, participant, one)
    rows = tables.Tables(study).read_annotations()

    first = next(rows)
    annotate(study, participant, two)

    assert len(first) == 1
    assert list(rows) == []


# --- bytes ----------------------------------------------------------------------------------


def fill_with_hostile_texts(study: Study, make_participant: Callable[..., Any]) -> None:
    for number, text in enumerate(HOSTILE):
        item = main_items(study)[number % 2]
        note = {"note": text, "device": text[:20], "reason": text[:40], "outcome": "ignored"}
        annotate(study, make_participant(study), item, number, **note)
    for system, text in zip(System.objects.filter(study=study), HOSTILE[:3], strict=True):
        System.objects.filter(pk=system.pk).update(name=text)


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
        "annotation_id", "output__system__name", "value", "value_typed"
    )
    found = ratings[["annotation", "system", "value", "value_typed"]].itertuples(index=False)
    assert [tuple(row) for row in found] == [tuple(str(cell) for cell in row) for row in stored]


def test_same_data_gives_the_same_bytes(
    study: Study, make_participant: Callable[..., Any], monkeypatch: Any
) -> None:
    fill_with_hostile_texts(study, make_participant)
    whole = export(study)

    monkeypatch.setattr(tables, "PAGE", 3)

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
    page = staff_client.get(reverse("admin:study-export", args=[study.pk])).content.decode()
    assert sha256(data).hexdigest() in page
    assert "3 rows now" in page


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

    response = download(
        staff_client, study, "annotations", **{"for": "spreadsheets", "pilot": "yes"}
    )
    data = response.getvalue()

    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"] == (
        'attachment; filename="restaurant-descriptions-annotations.csv"'
    )
    assert data.startswith(b"\xef\xbb\xbf")
    assert len(read(data)) == 1


def test_simulated_rows_are_named_in_rows_file_name_and_page(
    staff_client: Client, study: Study, make_participant: Callable[..., Any]
) -> None:
    annotate(study, make_participant(study), main_items(study)[0], origin="simulated")

    page = staff_client.get(reverse("admin:study-export", args=[study.pk])).content.decode()

    assert {row["origin"] for row in read(export(study))} == {"simulated"}
    assert name_file(study, Choice(file="ratings")) == (
        "restaurant-descriptions-simulated-ratings.csv"
    )
    assert "Some of these answers are simulated" in page


def test_unknown_file_is_not_found(staff_client: Client, study: Study) -> None:
    assert download(staff_client, study, "identities").status_code == 404


def test_no_file_holds_what_identifies_a_person_or_a_link(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    participant = make_participant(study)
    annotation = annotate(study, participant, main_items(study)[0])

    for file in FILES:
        text = export(study, file).decode()
        assert participant.receipt not in text
        assert str(annotation.key) not in text


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
