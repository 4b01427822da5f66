"""A new protocol is one folder and one line in settings: built here, and held to the contract."""

import csv
import json
import re
import subprocess
from pathlib import Path

import pytest
from django.db import connection

from tests.support.plugins import COMPREHENSION, SOURCE, read_counts, read_documented, run_tests

pytestmark = pytest.mark.slow

# A folder of its own, with every scale that the magnitude protocol does not use.
APPS = """
from evalsite.instruments.installed import ProtocolConfig


class SixthConfig(ProtocolConfig):
    name = "sixth"
"""

INSTRUMENT = {
    "format": "evalsite.instrument/1",
    "key": "sixth",
    "version": 1,
    "language": "en",
    "title": "Two summaries of a report",
    "summary": "Two summaries of one report, rated one by one and then compared.",
    "source": SOURCE,
    "instructions_title": "Rate two summaries",
    "item": {
        "inputs": [{"name": "report", "label": "Report", "kind": "text"}],
        "outputs": {"kind": "text", "least": 2, "most": 2},
        "output_name": "Summary",
    },
    "layout": {"outputs": "pair", "questions": "beside"},
    "criteria": [
        {
            "key": "clarity",
            "label": "Clarity",
            "per": "output",
            "definition": "Clear is what is understood at the **first** reading.",
            "scale": {
                "kind": "likert",
                "points": [
                    {"value": 1, "label": "unclear"},
                    {"value": 2, "label": "so-so"},
                    {"value": 3, "label": "clear"},
                ],
            },
        },
        {
            "key": "usable",
            "label": "Usable",
            "per": "output",
            "definition": "Usable is what could be printed as it stands.",
            "scale": {"kind": "decision", "yes": "Accept", "no": "Reject"},
        },
        {
            "key": "overall",
            "label": "Overall",
            "per": "item",
            "definition": "Better is the summary you would rather be given.",
            "scale": {
                "kind": "preference",
                "points": [
                    {"value": -1, "label": "The first"},
                    {"value": 0, "label": "Neither"},
                    {"value": 1, "label": "The second"},
                ],
            },
        },
    ],
    "design": {"k": 2, "set_size": 6},
}

TEMPLATE = """{% extends frame %}
{% block item %}
  {% for input in item.inputs %}<p class="text" dir="auto">{{ input.value }}</p>{% endfor %}
  {% for output in item.outputs %}
    <h2>{{ output.label }}</h2>
    <p class="text" dir="auto">{{ output.text }}</p>
  {% endfor %}
{% endblock %}
"""
TWICE = (
    '{% for question in item.questions %}{% include "participation/_question.html" %}{% endfor %}'
)

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

# what an author may do wrong in item.html, by the protocol that does it
WRONG = {
    "faulty_hides": ("{{ output.text }}", "{{ output.label }}"),
    "faulty_replaces": ("{% block item %}", "{% block content %}"),
    "faulty_twice": ("{% block item %}", "{% block item %}" + TWICE),
}

# the lines that a settings file gets
SETTINGS = """
import protocols
from tests.settings import *

protocols.__path__.append({folder!r})
PROTOCOLS = [*PROTOCOLS, *{names!r}]
INSTALLED_APPS = [*INSTALLED_APPS, *{names!r}]
"""


def write_protocol(folder: Path, key: str, template: str) -> None:
    """A protocol in a folder of its own, as its author would write it."""
    templates = folder / key / "templates" / key
    templates.mkdir(parents=True)
    (folder / key / "__init__.py").touch()
    (folder / key / "apps.py").write_text(APPS.replace('"sixth"', f'"{key}"'), encoding="utf-8")
    (folder / key / "protocol.json").write_text(json.dumps(INSTRUMENT | {"key": key}))
    (templates / "item.html").write_text(template, encoding="utf-8")
    (folder / key / "instructions.md").write_text("Read the report, then rate.\n", encoding="utf-8")
    (folder / key / "practice.json").write_text(json.dumps(PRACTICE), encoding="utf-8")
    with (folder / key / "example_batch.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "report", "system", "output"])
        for number in range(1, 13):
            report = f"On day {number} the ferry was late by {number * 3} minutes."
            rows.writerow([f"r{number:02}", report, "terse", f"Ferry late, day {number}."])
            rows.writerow([f"r{number:02}", report, "wordy", f"The ferry was {number * 3} late."])


def write_protocols(folder: Path) -> None:
    """Write protocols beside a settings module that lists them."""
    write_protocol(folder, "sixth", TEMPLATE)
    for key, (part, wrong) in WRONG.items():
        write_protocol(folder, key, TEMPLATE.replace(part, wrong))
    # the protocol of the document, as if it were under protocols/
    documented = folder / "summaries"
    documented.mkdir()
    (documented / "__init__.py").touch()
    for name, content in DOCUMENTED.items():
        (documented / name).write_text(content, encoding="utf-8")
    settings = SETTINGS.format(folder=str(folder), names=["sixth", "protocols.summaries", *WRONG])
    (folder / "sixth_settings.py").write_text(settings, encoding="utf-8")


# what other tests have of the scales and layouts that it uses: the suite leaves it out
LONG = "on_every_page or in_the_tables_of_the_admin or bad_batches or report_is_computed"
# of those that an author got wrong, and of the one that the document has
OTHERS = "(faulty and shows_every_output) or (summaries and contract and not report_is_computed)"


@pytest.mark.torture
@pytest.mark.skipif(connection.vendor != "sqlite", reason="its own process runs on SQLite")
def test_a_protocol_is_one_folder_and_one_line_and_its_faults_fail_the_contract(tmp_path):
    """All tests pass for two protocols, one of them as the document has it."""
    write_protocols(tmp_path)
    subjects = (*CONTRACT, "bad_answers", "bad_batches", "hostile_text")

    done = run_tests(tmp_path, "sixth_settings", f"sixth or {OTHERS}", subjects)

    check_that_faults_fail(done, passed=45)


def check_that_faults_fail(done: subprocess.CompletedProcess[str], *, passed: int) -> None:
    """A page that hides what is judged, replaces the questions or asks them twice has failed."""
    assert set(DOCUMENTED) == {
        "apps.py",
        "protocol.json",
        "instructions.md",
        "practice.json",
        "example_batch.csv",
    }
    told = done.stdout[-5000:] + done.stderr[-2000:]
    failed = re.findall(r"^FAILED \S+::test_rating_page_shows_every_output\S+\[(\w+)\]", told, re.M)
    counts = read_counts(done)
    assert sorted(failed) == sorted(WRONG), told
    assert counts["failed"] == len(WRONG), told
    assert counts["passed"] >= passed
    assert set(counts) <= {"passed", "failed", "deselected", "warning", "warnings"}
