"""The codebook: every column of every file is there, with a meaning, from one declaration."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.data.files.codebook import WORDS, list_chapters, write_codebook
from evalsite.data.files.columns import ONE_OF, YES_NO, list_downloads
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.scales import installed_scales
from evalsite.instruments.schema import Instrument
from tests.support.batches import import_rows, make_rows
from tests.support.exports import export, read
from tests.support.imported import load, rows_for

TYPES = {"id", "text", "whole number", "number", "one of", "yes or no", "time"}

# what the codebook says of empty cells, and in which rows it is true
CAUSES: dict[str, Callable[[dict[str, str]], bool]] = {
    "the rating is a preference": lambda row: row["scale"] == "preference",
    "no preference": lambda row: row["scale"] != "preference",
    "a tie": lambda row: row["outcome"] == "tie",
    "imported": lambda row: row["origin"] == "imported",
    "the order is not known": lambda row: row["origin"] == "imported",
    "outside a set": lambda row: row["origin"] == "imported",
    "the scale has none": lambda row: row["scale"] in ("preference", "magnitude"),
    "the value was chosen": lambda row: row["scale"] == "preference",
    "no magnitude": lambda row: row["scale"] != "magnitude",
    "as for standard": lambda row: row["standard"] == "",
    "the file named none": lambda row: True,
    "the file gives none": lambda row: row["origin"] == "imported",
    "not reported": lambda row: row["origin"] == "imported",
    "not excluded": lambda row: row["excluded"] == "no",
    "not a repeat": lambda row: row["kind"] != "repeat",
}


def read_codebook(config: Instrument) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(write_codebook(config), newline="")))


@pytest.fixture
def config() -> Instrument:
    return next(iter(installed_protocols().values()))


@pytest.mark.one_case
@pytest.mark.parametrize("protocol", sorted(installed_protocols()))
def test_codebook_lists_the_columns_of_every_file_in_order(
    make_study: Callable[..., Any], protocol: str
) -> None:
    study = make_study(items=0, protocol=protocol)
    documented: dict[str, list[str]] = {}
    for row in read_codebook(study.config)[1:]:
        documented.setdefault(row["file"].removesuffix(".csv"), []).append(row["column"])

    written = {
        file: export(study, file).decode().split("\r\n")[0].split(",")
        for file in list_downloads(study.config)
    }

    assert documented == written
    assert list(documented) == list(written)


@pytest.mark.parametrize("config", installed_protocols().values(), ids=lambda one: one.key)
def test_every_column_has_a_meaning_a_type_and_values_where_they_are_listed(
    config: Instrument,
) -> None:
    for columns in list_downloads(config).values():
        for column in columns:
            assert column.meaning.endswith("."), column
            assert column.type in TYPES, column
            if column.type in (ONE_OF, YES_NO) and column.name != "criterion":
                assert column.allowed, column


@pytest.mark.parametrize("config", installed_protocols().values(), ids=lambda one: one.key)
def test_no_column_stands_twice(config: Instrument) -> None:
    for columns in list_downloads(config).values():
        names = [column.name for column in columns]
        assert len(names) == len(set(names))


def test_columns_that_describe_an_annotation_are_declared_once_for_all_files() -> None:
    declared: dict[str, set[int]] = {}
    for config in installed_protocols().values():
        files = list_downloads(config)
        for file in ("ratings", "annotations", "highlights"):
            for column in files.get(file, ()):
                if column.of == "answer":
                    declared.setdefault(column.name, set()).add(
                        hash((column.meaning, column.type, column.cell))
                    )

    assert {name for name, columns in declared.items() if len(columns) > 1} == set()


def test_codebook_names_the_criteria_and_values_of_the_protocol(config: Instrument) -> None:
    ratings = list_chapters(config)[0]
    allowed = {column.name: column.allowed for column in ratings.columns}

    for criterion in config.criteria:
        assert criterion.key in allowed["criterion"]
        assert f"{criterion.key}: " in allowed["value"]
        assert criterion.scale.kind in allowed["scale"]


def test_codebook_says_what_the_numbers_of_each_installed_scale_stand_for(
    config: Instrument,
) -> None:
    allowed = {column.name: column.allowed for column in list_downloads(config)["ratings"]}

    assert allowed["scale"].split(", ") == list(installed_scales())
    for scale in installed_scales().values():
        assert scale.note_on_values in allowed["value"]


@pytest.mark.parametrize("protocol", ["pairwise", "magnitude"])
def test_codebook_has_a_true_cause_for_each_empty_cell_of_imported_ratings(
    make_study: Callable[..., Any], protocol: str
) -> None:
    study = make_study(items=0, protocol=protocol)
    import_rows(study, make_rows(study.config, items=3))
    # nothing in the file tells the order
    load(study, [row | {"place": ""} for row in rows_for(study)])
    chapters = {chapter.file: chapter.columns for chapter in list_chapters(study.config)}

    unexplained = {
        column.name
        for row in read(export(study))
        for column in chapters["ratings.csv"]
        if not row[column.name]
        and not any(say in column.missing and holds(row) for say, holds in CAUSES.items())
    }

    assert unexplained == set()


def test_scores_of_metrics_are_not_said_to_be_of_the_scales_of_people() -> None:
    for config in installed_protocols().values():
        metrics = next(one for one in list_chapters(config) if one.file == "metrics.csv")
        value = next(column for column in metrics.columns if column.name == "value")

        assert value.allowed.startswith("any number")


def test_codebook_stands_on_a_page_and_as_a_file(
    staff_client: Client, make_study: Callable[..., Any]
) -> None:
    study = make_study(items=0)

    page = staff_client.get(reverse("admin:export-codebook", args=[study.pk])).content.decode()
    file = staff_client.get(reverse("admin:export-codebook-csv", args=[study.pk]))

    files = list_downloads(study.config).values()
    assert "pandas.read_csv(path, dtype=str, keep_default_na=False)" in page
    assert '<a href="#ratingscsv">ratings.csv</a>' in page
    assert '<h2 id="ratingscsv">' in page
    assert all(f">{column.name}</th>" in page for columns in files for column in columns)
    assert file.content.decode() == write_codebook(study.config)
    # first of all, what pages call a criterion, a participant and a group
    first = read(file.content)[0]
    assert first == dict.fromkeys(first, "") | {"meaning": WORDS}
    assert page.index(WORDS) < page.index("UTF-8")
