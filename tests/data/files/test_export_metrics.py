"""metrics.csv: every score as it was uploaded, and a file that can be uploaded again."""

import io
from hashlib import sha256
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.data.importing import Source
from evalsite.data.judges.importer import JUDGES
from evalsite.data.metrics.importer import METRICS
from evalsite.data.models import MetricFile, MetricScore
from evalsite.lib.csv_writer import guard_cell
from evalsite.studies.models import Item, Study, System
from tests.support.bundles import bundle_of, change, examine
from tests.support.checking import check_labels, check_scores
from tests.support.exports import export, read
from tests.support.factories import make_study
from tests.support.hostile import SYSTEMS, TEXTS

pytestmark = pytest.mark.django_db

WIDE = "item,system,chrF,BLEU\nitem-002,neural,27,0.1\nitem-001,template,1e-17,-3.5\n"


def store(study: Study, text: str) -> MetricFile:
    checked = check_scores(io.BytesIO(text.encode()), study=study)
    digest = sha256(text.encode()).hexdigest()
    source = Source(study=study, file_name="a.csv", sha256=digest)
    return METRICS.store(checked=checked, source=source, by=None)


@pytest.mark.both_databases
def test_every_score_has_a_row_in_the_order_of_the_items() -> None:
    study = make_study(items=2)
    store(study, WIDE)

    assert export(study, "metrics").decode().splitlines() == [
        "output_id,item,system,metric,value,better",
        "item-001#3,item-001,template,BLEU,-3.5,higher",
        "item-001#3,item-001,template,chrF,1e-17,higher",
        "item-002#2,item-002,neural,BLEU,0.1,higher",
        "item-002#2,item-002,neural,chrF,27,higher",
    ]


@pytest.mark.both_databases
def test_hostile_names_and_the_shortest_numbers_come_back_exactly() -> None:
    study = make_study(items=1)
    metrics = {name: 1e-9 * number for number, name in enumerate(sorted(TEXTS.values()), start=1)}
    file = MetricFile.objects.create(study=study, file_name="a.csv", sha256="0" * 64)
    output = study.items.main().get().outputs.order_by("position")[0]
    Item.objects.filter(pk=output.item_id).update(key=TEXTS["formula"])
    System.objects.filter(pk=output.system_id).update(name=SYSTEMS[1])
    MetricScore.objects.bulk_create(
        MetricScore(file=file, output=output, metric=name, value=value)
        for name, value in metrics.items()
    )

    rows = read(export(study, "metrics"))
    guarded = read(export(study, "metrics", for_spreadsheets=True).removeprefix(b"\xef\xbb\xbf"))

    assert {row["metric"]: float(row["value"]) for row in rows} == metrics
    assert {(row["item"], row["system"]) for row in rows} == {(TEXTS["formula"], SYSTEMS[1])}
    assert [row["metric"] for row in guarded] == [guard_cell(row["metric"]) for row in rows]
    assert {row["system"] for row in guarded} == {f"'{SYSTEMS[1]}"}


def test_the_exported_file_can_be_uploaded_again() -> None:
    study = make_study(items=2)
    file = store(study, WIDE)
    before = export(study, "metrics")
    METRICS.undo(file, by=None)

    store(study, before.decode())

    assert export(study, "metrics") == before


def test_the_page_of_exports_offers_the_scores(staff_client: Client) -> None:
    study = make_study(items=2)
    store(study, WIDE)

    page = staff_client.get(reverse("admin:files-all", args=[study.pk])).content.decode()
    codebook = staff_client.get(reverse("admin:export-codebook-csv", args=[study.pk]))

    assert "One row for each score of an automatic metric" in page
    assert "metrics.csv,output_id," in codebook.content.decode()


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"value": 1e999}, "json_invalid"),
        ({"value": "1"}, "row_invalid"),
        ({"metric": ""}, "row_invalid"),
        ({"output": 99}, "row_invalid"),
        ({"item": "nobody"}, "row_invalid"),
        ({"file": "nobody"}, "row_invalid"),
    ],
)
def test_a_score_that_was_tampered_with_makes_a_bundle_unsound(
    said: dict[str, Any], code: str
) -> None:
    def tamper(rows: list[dict[str, Any]]) -> None:
        rows[0] |= said

    report = examine(change(bundle_of("fluency"), "records/metrics.jsonl", tamper))

    assert code in report.codes, report.faults


def test_labels_of_judges_come_out_as_they_can_be_uploaded_again(db):
    study = make_study(items=2, protocol="rrgen")
    key = study.config.criteria[0].key
    text = (
        "item,criterion,judge,prompt_version,system,value,system_1,system_2,preferred,order,run,"
        f"reason\nitem-001,{key},judge-a,v1,neural,3.5,,,,,1,ok\nfresh-1,{key},judge-a,v1,neural,"
        "2,,,,,2,\n"
    )
    checked = check_labels(io.BytesIO(text.encode()), study=study)
    JUDGES.store(
        checked=checked, source=Source(study=study, file_name="a.csv", sha256="0" * 64), by=None
    )

    exported = export(study, "judge_labels")
    again = check_labels(io.BytesIO(exported), study=make_study(items=2, protocol="rrgen"))
    assert again.faults == []
    assert again.labels == checked.labels
