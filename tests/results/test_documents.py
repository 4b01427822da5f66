"""Appendix and ethics application: from the draft on, complete, and safe in either format."""

import re
import shutil
import subprocess
from decimal import Decimal
from html import unescape
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.decisions.exclusions import exclude
from evalsite.participation.consent import withdraw
from evalsite.results.document.blocks import Document, Quote
from evalsite.results.document.html import render_page
from evalsite.results.document.latex import render_latex
from evalsite.results.documents.appendix import count_people, make_appendix
from evalsite.results.documents.ethics import make_ethics
from evalsite.studies.models import Study
from tests.support.checks import add_checks
from tests.support.experts import invite
from tests.support.factories import (
    answer_item,
    launch,
    make_annotator,
    make_participant,
    make_study,
    make_user,
)
from tests.support.reported import HOSTILE, TITLE, list_open

pytestmark = pytest.mark.django_db

INSTRUCTIONS = """# Read *first*

Rate **each** text & nothing else: 100 % of `a_b`.

- one \\input{/etc/passwd}
- two

| point | means |
| --- | --- |
| 1 | bad |
"""


@pytest.fixture
def study() -> Study:
    study = make_study(items=2)
    study.title, study.instructions, study.consent = TITLE, INSTRUCTIONS, "You *may* stop."
    study.save()
    for system, name in zip(study.systems.all(), HOSTILE, strict=False):
        study.systems.filter(pk=system.pk).update(name=name)
    return study


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["appendix", "ethics"])
@pytest.mark.parametrize("kind", ["html", "tex"])
def test_document_of_a_draft_is_sent_as_a_file(
    staff_client: Client, study: Study, name: str, kind: str
) -> None:
    response = staff_client.get(reverse("admin:study-document", args=[study.pk, name, kind]))

    assert response.status_code == 200
    assert response.headers["Content-Disposition"].endswith(f'_{name}.{kind}"')
    assert "may" in response.content.decode()


def test_unknown_document_is_not_found(staff_client: Client, study: Study) -> None:
    for name, kind in (("appendix", "pdf"), ("diary", "html")):
        address = reverse("admin:study-document", args=[study.pk, name, kind])
        assert staff_client.get(address).status_code == 404


def test_appendix_holds_instructions_questions_and_a_page_and_names_no_system(
    study: Study,
) -> None:
    page = unescape(render_page(make_appendix(study)))

    (criterion,) = study.config.criteria
    assert "<strong>each</strong>" in page
    assert criterion.label in page
    assert "Place 1 as told by voice 1." in page
    assert HOSTILE[0] not in page
    for letter in ("D1", "D2", "D3", "D4", "D5"):
        assert f'<dt dir="auto">{letter} ' in page


@pytest.mark.both_databases
def test_appendix_counts_each_person_once_where_they_ended() -> None:
    study = launch(make_study(items=2))
    item = study.items.main()[0]
    kept, excluded, gone = (make_annotator(study) for _ in range(3))
    for person in (kept, excluded):
        answer_item(person, item)
    exclude(study=study, participants=[excluded], reason="careless", by=make_user())
    answer_item(gone, item)
    withdraw(participant=gone, is_kept=False)
    make_annotator(study)
    for fields in ({}, {"is_eligible": False}, {"is_eligible": False, "refused_for": "quota"}):
        make_participant(study, **fields)
    make_participant(study, is_checked=False, is_eligible=True)
    make_participant(study, is_pilot=True)
    make_participant(study, origin="imported")
    before = unescape(render_page(make_appendix(study)))
    make_participant(study, origin="simulated", is_eligible=False)

    flow = count_people(study)
    page = unescape(render_page(make_appendix(study)))

    ends = ("analysed", "excluded", "withdrew", "no_answers", "not_agreed", "not_eligible",
            "quota", "failed_check")  # fmt: skip
    assert flow.ends == dict.fromkeys(ends, 1) | {"not_eligible": 2}
    assert (flow.arrived, flow.answered) == (9, 2)
    assert "9 people, 1 of them simulated" in page
    assert "simulated" not in before
    assert (
        "2 not eligible by their answers; 1 because a quota was full; "
        "1 after the check of the instructions"
    ) in page


def test_what_only_people_know_is_marked_and_counted(study: Study) -> None:
    document = make_ethics(study)

    page = render_page(document)

    number = len(list_open(document))
    assert number > 0
    assert page.count("To be filled in.") == number == document.codes.count("open")
    assert f"{number} entries are left for you to fill in" in page


def test_ethics_application_tells_of_warnings_and_of_names_of_experts() -> None:
    study = launch(make_study(items=2, content_warning="Insults."))
    bare = render_page(make_ethics(make_study(items=2)))
    invite(study)

    page = render_page(make_ethics(study))

    for words in ("first page: Insults.", "skip an item", "names and e-mail addresses of people"):
        assert words in page
        assert words not in bare


@pytest.mark.parametrize("checks", [0, 2])
def test_only_checks_that_a_study_has_are_a_reason_to_refuse_pay(checks: int) -> None:
    study = make_study(items=2, pay_per_set=Decimal("2.10"))
    if checks:
        add_checks(study, checks, kind="attention")

    page = render_page(make_ethics(study))
    unpaid = render_page(make_ethics(make_study(items=2)))

    assert "Reasons to refuse pay" in page
    assert ("failed attention checks" in page) == bool(checks)
    assert "clear low effort" in page
    assert "Reasons to refuse pay" not in unpaid


def test_nothing_of_a_study_s_texts_runs(study: Study) -> None:
    for document in (make_appendix(study), make_ethics(study)):
        assert "<script" not in render_page(document)
        assert r"\input{" not in render_latex(document)


def test_markdown_becomes_latex() -> None:
    latex = render_latex(Document("Texts", [Quote(INSTRUCTIONS, is_markdown=True)]))

    blocks = latex.partition(r"\begin{quote}")[2].strip().split("\n\n")
    assert blocks[0] == r"\textbf{Read \emph{first}}"
    assert blocks[1] == (r"Rate \textbf{each} text \& nothing else: 100 \% of \texttt{a\_b}.")
    assert blocks[2:4] == [r"\begin{itemize}", r"\item{}"]
    assert r"\noindent 1 -- bad" in blocks


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_documents_compile(study: Study, tmp_path: Path) -> None:
    for number, document in enumerate((make_appendix(study), make_ethics(study))):
        (tmp_path / f"{number}.tex").write_text(render_latex(document), encoding="utf-8")

        done = subprocess.run(
            ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error",
             f"{number}.tex"],
            cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip

        assert done.returncode == 0, re.sub(r"\s+", " ", done.stdout[-1500:])
