"""Columns beside the outputs: which hold no outputs, and that each that is kept is named."""

import json
from typing import Any

import pytest
from django.test import Client

from evalsite.data.items.columns import (
    INPUT,
    OF_SYSTEM,
    describe_kept,
    guess_mapping,
    name_values,
)
from evalsite.data.items.open_inputs import guess_open
from evalsite.instruments.installed import installed_protocols
from tests.data.items.test_getting_in import FOLDER
from tests.data.items.test_upload_pages import address
from tests.support.instruments import make_built_study

HEADER = ["id", "prompt", "alpha", "beta"]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["0.83", "1", "-2"], "numbers"),
        (["0,83", "1.024,5", ""], "numbers"),
        (["41%", "7 %"], "numbers"),
        (["1e-5", ".5", "−3", "NaN"], "numbers"),
        (["True", "false"], "truth values"),
        (["2026-11-28", "2026-11-28T09:00:00Z"], "dates"),
        (["28.11.2026", "1/2/26"], "dates"),
        (["alpha", "beta", "tie"], "names of systems"),
        (["42", "forty-two"], ""),
        (["yes", "no"], ""),
        (["v1.2", "3 apples"], ""),
        (["nan", ""], ""),
        ([], ""),
    ],
)
def test_cells_that_are_no_texts_are_known(cells: list[str], words: str) -> None:
    assert name_values(cells, HEADER) == words


@pytest.mark.parametrize(
    "cells",
    [["0.8", "0.9"], ["0,83", "41%"], ["true", "false"], ["2026-01-01", "2026-01-02"]],
)
@pytest.mark.parametrize("name", ["comet", "votes", "score_chosen"])
def test_a_column_of_values_is_proposed_as_no_system(name: str, cells: list[str]) -> None:
    config = installed_protocols()["dialogue"]
    rows = [[str(n), f"Why {n}?", f"A{n}", f"B{n}", cell] for n, cell in enumerate(cells)]

    mapping = guess_mapping([*HEADER, name], config, rows)

    assert [mapping[column] for column in ("alpha", "beta", name)] == [OF_SYSTEM, OF_SYSTEM, ""]


def test_a_column_of_values_beside_one_of_texts_makes_no_two_systems() -> None:
    config = installed_protocols()["dialogue"]

    mapping = guess_mapping(["prompt", "alpha", "votes"], config, [["Why?", "So it is.", "3"]])

    assert OF_SYSTEM not in mapping.values()


@pytest.mark.parametrize("name", ["Sprache", "Zielsprache", "language"])
def test_outputs_without_spaces_are_texts_beside_a_column_of_languages(name: str) -> None:
    config = installed_protocols()["dialogue"]
    rows = [["1", "Why?", "图书馆下午六点关门。", "图书馆18点关闭。", "zh"]]

    mapping = guess_mapping([*HEADER, name], config, rows)

    assert [mapping[column] for column in ("alpha", "beta", name)] == [OF_SYSTEM, OF_SYSTEM, ""]


def test_the_only_input_is_the_only_one_that_is_needed() -> None:
    config = installed_protocols()["dialogue"]
    header = ["lfd. Nr.", "Quelltext (gekürzt)", "alpha", "beta"]
    rows = [["1", "Warum ist das so?", "Das ist so.", "Es war immer so."]]

    mapping = guess_mapping(header, config, rows)

    assert [*mapping.values()] == ["", "dialogue", OF_SYSTEM, OF_SYSTEM]


def test_names_with_additions_are_known() -> None:
    header = [
        "Nr.",
        "Source article\n(shortened)",
        "GPT-x (temp 0.7)",
        "BART-large",
        "Remarks (LK)",
    ]
    rows = [
        ["1", "The pool on Mill Lane closes.", "A pool closes.", "Mill Lane loses it.", ""],
        ["2", "The ferry was cancelled.", "No ferry today.", "The ferry is off.", "check again"],
    ]

    mapping = guess_open(header, rows, {})

    assert [*mapping.values()] == ["", INPUT, OF_SYSTEM, OF_SYSTEM, ""]


def test_every_column_that_is_kept_is_named_once() -> None:
    mapping = {"id": "item", "comet": "", "winner": "", "chrf": "", "topic": "", "ip": "-"}
    rows = [["1", "0.8", "comet", "51", "fruit", "::1"]]

    assert describe_kept(mapping, rows) == (
        "Kept but not shown: comet, chrf (numbers); winner (names of systems); topic."
    )
    assert describe_kept({"id": "item"}, [["1"]]) == ""


@pytest.mark.django_db
def test_the_page_names_what_is_kept(staff_client: Client) -> None:
    content: dict[str, Any] = json.loads((FOLDER / "study_one.json").read_bytes())
    study = make_built_study(content)

    page = staff_client.post(
        address("upload-new", study),
        {"pasted": (FOLDER / "a3_scores_beside_outputs" / "outputs.csv").read_text()},
        follow=True,
    )

    assert "Kept but not shown: comet, chrf (numbers)." in page.text
