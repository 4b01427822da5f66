"""ratings_simple.csv: what default readers of pandas and R make of it, and which rows it has."""

import csv
import io
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
from django.test import Client
from django.urls import reverse

from evalsite.exports.answers import SafeNames
from evalsite.exports.services import Choice, count_file, name_file
from evalsite.participants.models import Participant
from evalsite.protocol import Protocol, installed_protocols
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Item, Study, System
from tests.support.batches import import_rows, make_rows
from tests.support.exports import annotate, export, main_items, read, study
from tests.support.factories import make_user
from tests.support.imported import load, rows_for

__all__ = ["study"]  # fixture

# what pandas, R or a spreadsheet takes for something else
MISREAD = (
    "007", "1", "1.0", "1e5", "0x1A", "-1", "NA", "null", "NaN", "None", "n/a", "TRUE", "F", "inf",
    "1-2", "Mar-1", "SEPT2", "=1+1", "tie", "1:30", "@a",
)  # fmt: skip


def read_by_default(data: bytes) -> pandas.DataFrame:
    return pandas.read_csv(io.BytesIO(data))


def compare_in_r(data: bytes, folder: Path) -> None:
    """Let R's `read.csv` read the file, and compare every cell with what Python's reader reads."""
    if shutil.which("Rscript") is None:
        return
    path, copy = folder / "simple.csv", folder / "copy.csv"
    path.write_bytes(data)
    script = 'a <- commandArgs(TRUE); write.csv(read.csv(a[1]), a[2], row.names = FALSE, na = "")'
    subprocess.run(["Rscript", "-e", script, path, copy], check=True, timeout=60)
    with copy.open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == read(data)


@pytest.mark.django_db
@pytest.mark.parametrize("config", installed_protocols().values(), ids=lambda config: config.key)
def test_default_readers_read_what_the_file_says(
    make_study: Callable[..., Any], config: Protocol, tmp_path: Path
) -> None:
    study = make_study(items=0, protocol=config.key)
    import_rows(study, make_rows(config, items=3))
    load(study, rows_for(study, people=("w1", "w2")))
    Item.objects.main().filter(study=study).update(group="1")
    for item, key in zip(main_items(study), ("007", "NA", "1e5"), strict=True):
        Item.objects.filter(pk=item.pk).update(key=key)
    for number, system in enumerate(System.objects.filter(study=study), start=1):
        System.objects.filter(pk=system.pk).update(name=str(number))

    data = export(study, "ratings_simple")

    table, exact = read_by_default(data), read(data)
    assert len(table) == len(exact) == count_file(study, Choice(file="ratings_simple"))
    for name in table.columns:
        assert [str(cell) for cell in table[name]] == [row[name] for row in exact]
    assert set(table["item"]) == {"item 007", "item NA", "item 1e5"}
    compare_in_r(data, tmp_path)


@pytest.mark.django_db
@pytest.mark.parametrize("key", MISREAD)
def test_one_id_that_would_be_misread_gives_a_word_to_all_ids_of_its_kind(
    study: Study, make_participant: Callable[..., Any], key: str
) -> None:
    first, second = main_items(study)
    Item.objects.filter(pk=first.pk).update(key=key)
    for item in (first, second):
        annotate(study, make_participant(study), item)

    rows = read(export(study, "ratings_simple"))

    assert {row["item"] for row in rows} == {f"item {key}", f"item {second.key}"}
    assert {row["system"] for row in rows} == {"baseline", "neural", "template"}


@pytest.mark.django_db
def test_ids_that_every_reader_takes_for_texts_stay_as_they_are(study: Study) -> None:
    for key in ("item-1", "Nancy", "trueskill", "marvin", "I1", "é2", "decoder-2x", "infinite"):
        Item.objects.filter(pk=main_items(study)[0].pk).update(key=key)

        assert SafeNames(study).guard("item", key) == key


@pytest.mark.django_db
def test_rows_are_the_counted_main_ratings_that_are_not_excluded(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    item = main_items(study)[0]
    kept, out, odd = (make_participant(study) for _ in range(3))
    annotate(study, kept, item)
    annotate(study, out, item)
    excluded = annotate(study, odd, item)
    annotate(study, make_participant(study), item, status="surplus")
    annotate(study, make_participant(study, is_pilot=True), item, status="pilot")
    by = {"study": study, "decided_by": make_user(), "reason": "too fast"}
    Exclusion.objects.create(participant=out, **by)
    Exclusion.objects.create(annotation=excluded, **by)

    rows = read(export(study, "ratings_simple", with_pilot=True, excluded="only"))

    assert rows == [
        {"item": item.key, "system": system, "participant": kept.pseudonym, "informativeness": n}
        for system, n in (("baseline", "50"), ("neural", "51"), ("template", "52"))
    ]


@pytest.mark.django_db
def test_preferences_have_a_row_for_each_comparison_with_the_system_preferred_or_tie(
    make_study: Callable[..., Any],
) -> None:
    study = make_study(items=0, protocol="pairwise")
    import_rows(study, make_rows(study.config, items=3))
    load(study, rows_for(study))
    who = Participant.objects.get(study=study).pseudonym

    rows = read(export(study, "ratings_simple"))

    same = {"system_1": "alpha", "system_2": "beta", "participant": who}
    assert rows == [
        {"item": f"item-{number}", **same, **dict.fromkeys(study.config.criterion_by_key, choice)}
        for number, choice in enumerate(("alpha", "beta", "tie"), start=1)
    ]


@pytest.mark.django_db
def test_system_called_tie_is_told_from_a_tie(make_study: Callable[..., Any]) -> None:
    study = make_study(items=0, protocol="pairwise")
    import_rows(study, make_rows(study.config, items=3))
    load(study, rows_for(study))
    System.objects.filter(study=study, name="alpha").update(name="tie")

    rows = read(export(study, "ratings_simple"))

    criterion = study.config.criteria[0].key
    assert [row[criterion] for row in rows] == ["system tie", "system beta", "tie"]
    assert {row["system_1"] for row in rows} == {"system beta"}


@pytest.mark.django_db
def test_file_is_offered_first_and_named_without_choices_that_it_ignores(
    staff_client: Client, study: Study, make_participant: Callable[..., Any]
) -> None:
    annotate(study, make_participant(study), main_items(study)[0])

    page = staff_client.get(reverse("admin:study-export", args=[study.pk])).content.decode()

    files = page.partition('id="files"')[2]
    assert files.index("ratings_simple") < files.index(">ratings<")
    choice = Choice(file="ratings_simple", status="surplus", kind="gold", origin="own")
    assert name_file(study, choice) == "restaurant-descriptions-ratings_simple-own.csv"
