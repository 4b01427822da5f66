"""The report as a whole: short, and the same sentences on pages, in files and in LaTeX."""

import re
from html import unescape
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from evalsite.results.document.blocks import Document, Sentence, Table
from evalsite.results.document.html import render_html, render_page
from evalsite.results.document.latex import list_latex_files
from evalsite.results.document.text import render_text
from evalsite.results.report.files import read_document
from evalsite.results.report.sections import make_document
from evalsite.results.report.source import Source
from tests.support.protocols import each_protocol
from tests.support.reported import HOSTILE, keep_report, make_reported_study
from tests.support.reports import make_content, make_facts, make_pair, make_points, make_source


def make_five_questions() -> Source:
    """Five questions, three systems, each pair compared."""
    pairs = [
        make_pair(*sides, "higher" if place < 2 else "not_enough")
        for place, sides in enumerate(combinations("abc", 2))
    ]
    criteria = [
        make_points(*pairs) | {"key": key, "label": key.title()}
        for key in ("fluency", "accuracy", "coherence", "relevance", "tone")
    ]
    return make_source(make_content(criteria=criteria))


def simulate(content: dict[str, Any]) -> dict[str, Any]:
    data = content["data"]
    return content | {"data": data | {"origins": {"own": 0, "imported": 0, "simulated": 12}}}


SOURCES = {
    "ratios of two systems": lambda: make_source(),
    "hostile names": lambda: make_source(make_content((HOSTILE[0], "_b_"))),
    "points": lambda: make_source(
        make_content(criteria=[make_points(make_pair("a", "b", "higher"))])
    ),
    "five questions": make_five_questions,
    "simulated": lambda: make_source(simulate(make_content())),
    "nothing to compare": lambda: make_source(make_content(criteria=[make_points(means=(3.9,))])),
    "exclusions": lambda: make_source(facts=make_facts(exclusions=(("Too fast, 50%_", 2),))),
    "imports": lambda: make_source(facts=make_facts(import_notes=("a.csv: 3 rows left out.",))),
}  # fmt: skip


def list_words(text: str) -> str:
    words = " ".join(re.findall(r"[^\W_]+", text))
    return f" {words} "


def read_html(document: Document) -> str:
    return list_words(unescape(re.sub(r"<[^>]+>", "", render_page(document))))


def read_latex(document: Document) -> str:
    text = list_latex_files(document, "report")["report.tex"]
    text = text.replace(r"\alpha", "α").replace(r"\chi", "χ")
    return list_words(re.sub(r"\\(?:text)?[a-z]+(?![a-z])", "", text))


@pytest.mark.parametrize("name", SOURCES)
def test_page_text_and_latex_say_the_same_sentences(name: str) -> None:
    document = make_document(SOURCES[name]()).keep("main")
    sentences = [block.text for block in document.blocks if isinstance(block, Sentence)]

    assert len(sentences) > 4
    for form in (read_html, read_latex, lambda made: list_words(render_text(made))):
        words = form(document)
        assert [one for one in sentences if list_words(one) not in words] == []


def count_words(document: Document) -> int:
    return len(unescape(re.sub(r"<[^>]+>", " ", render_html(document.keep("main")))).split())


@pytest.mark.parametrize("name", SOURCES)
def test_a_report_is_short(name: str) -> None:
    document = make_document(SOURCES[name]())

    assert count_words(document) <= (1500 if name == "five questions" else 1000)
    assert sum(isinstance(block, Table) for block in document.keep("main").blocks) <= 25


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("protocol", each_protocol("rrgen"))
def test_the_report_of_a_demo_study_is_short(protocol: str, settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    study = make_reported_study(protocol)

    document = read_document(study, keep_report(study))

    assert count_words(document) <= 1500
