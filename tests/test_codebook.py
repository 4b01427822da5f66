"""The codebook: every column of every file is there, with a meaning, from one declaration."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.exchange.codebook import list_chapters, write_codebook
from evalsite.exchange.columns import FILES, ONE_OF, YES_NO, Column, list_files
from evalsite.exchange.exporting import Choice, stream_file
from evalsite.protocol import ProtocolConfig, installed_protocols

TYPES = {"id", "text", "whole number", "number", "one of", "yes or no", "time"}


def read_codebook(config: ProtocolConfig) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(write_codebook(config), newline="")))


@pytest.fixture
def config() -> ProtocolConfig:
    return next(iter(installed_protocols().values()))


@pytest.mark.parametrize("file", FILES)
def test_every_exported_column_is_documented(make_study: Callable[..., Any], file: str) -> None:
    protocols = installed_protocols().values()
    protocol = next(config.label for config in protocols if file in list_files(config))
    study = make_study(items=0, protocol=protocol)

    written = b"".join(stream_file(study, Choice(file=file), by=None)).decode().strip().split(",")

    documented = [
        row["column"] for row in read_codebook(study.config) if row["file"] == f"{file}.csv"
    ]
    assert documented == written


@pytest.mark.parametrize(
    "column", [column for columns in FILES.values() for column in columns], ids=lambda one: one.name
)
def test_every_column_has_a_meaning_a_type_and_values_where_they_are_listed(
    column: Column,
) -> None:
    assert column.meaning.endswith(".")
    assert column.type in TYPES
    if column.type in (ONE_OF, YES_NO) and column.name != "criterion":
        assert column.allowed


@pytest.mark.parametrize("file", FILES)
def test_no_column_stands_twice(file: str) -> None:
    names = [column.name for column in FILES[file]]

    assert len(names) == len(set(names))


def test_codebook_names_the_criteria_and_values_of_the_protocol(config: ProtocolConfig) -> None:
    ratings = list_chapters(config)[0]
    allowed = {column.name: column.allowed for column in ratings.columns}

    for criterion in config.criteria:
        assert criterion.key in allowed["criterion"]
        assert f"{criterion.key}: " in allowed["value"]
        assert criterion.scale.kind in allowed["scale"]


def test_codebook_stands_on_a_page_and_as_a_file(
    staff_client: Client, make_study: Callable[..., Any]
) -> None:
    study = make_study(items=0)

    page = staff_client.get(reverse("admin:export-codebook", args=[study.pk])).content.decode()
    file = staff_client.get(reverse("admin:export-codebook-csv", args=[study.pk]))

    files = list_files(study.config).values()
    assert "pandas.read_csv(path, dtype=str, keep_default_na=False)" in page
    assert all(f">{column.name}</th>" in page for columns in files for column in columns)
    assert file.content.decode() == write_codebook(study.config)
