"""Texts that were made to be slow for a pattern or a parser take no longer than others do."""

import time
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from evalsite.data.bundle import neutral_words
from evalsite.data.tables.table import Limits, Refused
from evalsite.data.tables.text_files import open_text
from evalsite.fieldwork.invitations import parse_people
from evalsite.instruments.scales.best_worst import BestWorst
from evalsite.lib.markdown import render_markdown
from evalsite.lib.rich_text import is_shown_as_source, render_rich
from evalsite.studies.consent_sentences import find_placeholders

SCALE = BestWorst(kind="best_worst", best="Best", worst="Worst")
WIDE_TABLE = "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + "x\n" * 600


def measure_cpu(action: Callable[[], Any]) -> float:
    started = time.process_time()
    with suppress(ValidationError, Refused):
        action()
    return time.process_time() - started


def open_windows_1252() -> None:
    open_text(BytesIO(b"item,output\n1,\xe9 " + b"a" * 60_000), Limits())


@pytest.mark.parametrize(
    "action",
    [
        lambda: SCALE.parse_gold(f"best: a{' ' * 1_500}b\n\nc", ["a", "b"]),
        lambda: parse_people("a@" * 600 + " x"),
        lambda: find_placeholders("[" * 20_000 + "a](\n"),
        lambda: neutral_words._EMAILS.findall("a" * 60_000),
        open_windows_1252,
        lambda: render_markdown(WIDE_TABLE),
    ],
    ids=["gold", "people", "placeholders", "e-mails", "words of an encoding", "table"],
)
def test_a_text_made_to_be_slow_takes_no_longer_than_some_arithmetic(action):
    usual = measure_cpu(lambda: sum(number * number for number in range(2_000_000)))

    assert measure_cpu(action) < 10 * usual


def test_a_table_that_would_fill_too_many_cells_is_shown_as_it_is_written():
    small = "|a|b|\n|-|-|\n|1|2|\n"

    assert "<table" in render_markdown(small)
    assert "<table" in (render_rich(small, "markdown") or "")
    assert "<table" not in render_markdown(WIDE_TABLE)
    assert is_shown_as_source(WIDE_TABLE, "markdown")
    assert render_rich(WIDE_TABLE, "markdown") is None
    # a line between paragraphs is no table
    assert not is_shown_as_source("a\n\n---\n" + "b\n" * 900, "markdown")
