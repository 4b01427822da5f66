"""A new protocol is one folder and one line in settings: built here, and held to the contract."""

import csv
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.db import connection

from tests.support.plugins import COMPREHENSION, count_results, read_documented, run_tests

pytestmark = pytest.mark.slow

# A folder of its own, with every scale that the magnitude protocol does not use.
APPS = """
from evalsite.protocol import (
    Criterion, Design, InputColumn, Layout, Protocol, ProtocolConfig, Source,
)
from evalsite.scales.decision import Decision
from evalsite.scales.likert import Likert, Point
from evalsite.scales.preference import Preference


class SixthConfig(ProtocolConfig):
    name = "sixth"
    protocol = Protocol(
        key="sixth",
        title="Two summaries of a report",
        summary="Two summaries of one report, rated one by one and then compared.",
        source=Source(cite="made by a test", licence="none", exact="nothing", ours="all of it"),
        instructions_title="Rate two summaries",
        criteria=(
            Criterion(
                key="clarity",
                label="Clarity",
                definition="Clear is what is understood at the **first** reading.",
                scale=Likert(
                    points=tuple(
                        Point(value=value, label=label)
                        for value, label in enumerate(("unclear", "so-so", "clear"), start=1)
                    )
                ),
            ),
            Criterion(
                key="usable",
                label="Usable",
                definition="Usable is what could be printed as it stands.",
                scale=Decision(yes="Accept", no="Reject"),
            ),
            Criterion(
                key="overall",
                label="Overall",
                definition="Better is the summary you would rather be given.",
                scale=Preference(first="The first", tie="Neither", second="The second"),
            ),
        ),
        inputs=(InputColumn(name="report", label="Report"),),
        outputs=(2, 2),
        layout=Layout(outputs="pair"),
        output_name="Summary",
        design=Design(k=2, set_size=6),
    )
"""

TEMPLATE = """{% extends frame %}
{% block item %}
  {% for input in item.inputs %}<p class="text" dir="auto">{{ input.value }}</p>{% endfor %}
  {% for output in item.outputs %}
    <h2>{{ output.label }}</h2>
    <p class="text" dir="auto">{{ output.text }}</p>
  {% endfor %}
{% endblock %}
"""
TWICE = '{% for question in item.questions %}{% include "annotation/_question.html" %}{% endfor %}'

PRACTICE = {
    "examples": [
        {
            "inputs": {"report": "It rained for three days and the river rose."},
            "outputs": ["The river rose after rain.", "River rain days rose."],
            "ratings": {"clarity": [3, 1], "usable": [1, 0]},
            "why": "The second is no sentence.",
        }
    ],
    "practice": [
        {
            "inputs": {"report": "The library opens on Sundays from May."},
            "outputs": ["From May the library opens on Sundays.", "Library Sundays."],
            "gold": {"clarity": ["3", "1..2"], "usable": [1, 0], "overall": "-1"},
            "why": "The second leaves out when it begins.",
        }
    ],
    "comprehension": COMPREHENSION,
}

# what docs/new-protocol.md tells an author to write, by file
DOCUMENTED = read_documented("new-protocol.md")
CONTRACT = ("contract", "contract_answers")

# the lines that a settings file gets
SETTINGS = """
from tests.settings import *

PROTOCOLS = [*PROTOCOLS, "sixth"]
INSTALLED_APPS = [*INSTALLED_APPS, "sixth"]
"""


@pytest.fixture
def sixth(tmp_path):
    """The folder of the sixth protocol, beside a settings module that lists it."""
    folder = tmp_path / "sixth"
    templates = folder / "templates" / "sixth"
    templates.mkdir(parents=True)
    (tmp_path / "sixth_settings.py").write_text(SETTINGS, encoding="utf-8")
    (folder / "__init__.py").touch()
    (folder / "apps.py").write_text(APPS, encoding="utf-8")
    (templates / "item.html").write_text(TEMPLATE, encoding="utf-8")
    (folder / "instructions.md").write_text("Read the report, then rate.\n", encoding="utf-8")
    (folder / "practice.json").write_text(json.dumps(PRACTICE), encoding="utf-8")
    with (folder / "example_batch.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "report", "system", "output"])
        for number in range(1, 13):
            report = f"On day {number} the ferry was late by {number * 3} minutes."
            rows.writerow([f"r{number:02}", report, "short", f"Ferry late, day {number}."])
            rows.writerow([f"r{number:02}", report, "long", f"The ferry was {number * 3} late."])
    return folder


@pytest.fixture
def summaries(tmp_path):
    """The folder of the protocol of docs/new-protocol.md, as if it were under protocols/."""
    folder = tmp_path / "summaries"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name, content in DOCUMENTED.items():
        (folder / name).write_text(content, encoding="utf-8")
    place = f"import protocols\nprotocols.__path__.append({str(tmp_path)!r})\n"
    settings = place + SETTINGS.replace('"sixth"', '"protocols.summaries"')
    (tmp_path / "sixth_settings.py").write_text(settings, encoding="utf-8")
    return folder


def run_contract_suite(
    folder: Path,
    only: str = "",
    subjects: Sequence[str] = CONTRACT,
) -> subprocess.CompletedProcess[str]:
    """The contract suite, or one test of it, in a process of its own for this protocol alone."""
    names = f"{folder.name} and {only}" if only else folder.name
    return run_tests(folder.parent, "sixth_settings", names, subjects)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="its own process runs on SQLite")
def test_a_sixth_protocol_is_one_folder_and_one_line_of_settings(sixth):
    bad_input = ("bad_answers", "bad_batches", "hostile_text")

    counts = count_results(run_contract_suite(sixth, subjects=(*CONTRACT, *bad_input)))

    assert counts["passed"] >= 28
    assert set(counts) <= {"passed", "deselected"}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="its own process runs on SQLite")
def test_the_protocol_of_the_document_passes_as_it_is_written(summaries):
    done = run_contract_suite(summaries)

    assert set(DOCUMENTED) == {"apps.py", "instructions.md", "practice.json", "example_batch.csv"}
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "passed" in done.stdout.splitlines()[-1]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="its own process runs on SQLite")
@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("{{ output.text }}", "{{ output.label }}"),  # hides what is judged
        ("{% block item %}", "{% block content %}"),  # replaces the questions
        ("{% block item %}", "{% block item %}" + TWICE),  # asks each question twice
    ],
)
def test_a_page_that_hides_or_repeats_something_fails_the_contract(sixth, part, wrong):
    page = sixth / "templates" / "sixth" / "item.html"
    page.write_text(TEMPLATE.replace(part, wrong), encoding="utf-8")

    done = run_contract_suite(sixth, "shows_every_output", ("contract",))

    assert done.returncode == 1, done.stdout[-5000:]
    assert "1 failed" in done.stdout
