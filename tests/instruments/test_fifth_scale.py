"""A new kind of question is one file, one template and one line: a thermometer is built here."""

import csv
import json
from importlib import import_module

import pytest
from django.db import connection

from tests.support.plugins import (
    COMPREHENSION,
    SOURCE,
    count_results,
    read_documented,
    run_tests,
)

pytestmark = pytest.mark.slow

APPS = """
from evalsite.instruments.scales import KINDS
from evalsite.instruments.installed import ProtocolConfig
from thermometer import Thermometer

# the line in the list of kinds
KINDS["thermometer"] = Thermometer


class ThermometersConfig(ProtocolConfig):
    name = "thermometers"
"""

INSTRUMENT = {
    "format": "evalsite.instrument/1",
    "key": "thermometers",
    "version": 1,
    "language": "en",
    "title": "Translations on a thermometer",
    "summary": "Two translations of one sentence, each given a number from 0 to 100.",
    "source": SOURCE,
    "instructions_title": "Rate translations",
    "item": {
        "inputs": [{"name": "source", "label": "Sentence", "kind": "text"}],
        "outputs": {"kind": "text", "least": 2, "most": 2},
        "output_name": "Translation",
    },
    "layout": {"outputs": "several", "questions": "beside"},
    "criteria": [
        {
            "key": "adequacy",
            "label": "Adequacy",
            "per": "output",
            "definition": "How much of the **meaning** is kept.",
            "scale": {
                "kind": "thermometer",
                "minimum": 0,
                "maximum": 100,
                "low": "nothing",
                "high": "everything",
            },
        },
        {
            "key": "style",
            "label": "Style",
            "per": "output",
            "definition": "How well it reads.",
            "scale": {"kind": "thermometer", "minimum": 0, "maximum": 100},
        },
    ],
    "design": {"k": 2, "set_size": 6},
}

PRACTICE = {
    "examples": [
        {
            "inputs": {"source": "Der Zug ist heute pünktlich."},
            "outputs": ["The train is on time today.", "The train today."],
            "ratings": {"adequacy": [100, 40], "style": [95, 30]},
            "why": "The second leaves out what is said of the train.",
        }
    ],
    "practice": [
        {
            "inputs": {"source": "Die Bibliothek öffnet im Mai auch sonntags."},
            "outputs": ["From May the library opens on Sundays too.", "Library May Sunday."],
            "gold": {"adequacy": ["80..100", "0..60"], "style": ["70..100", "0..40"]},
            "why": "The second is no sentence.",
        }
    ],
    "comprehension": COMPREHENSION,
}

# the lines that a settings file gets
SETTINGS = """
from tests.settings import *

PROTOCOLS = [*PROTOCOLS, "thermometers"]
INSTALLED_APPS = [*INSTALLED_APPS, "thermometers"]
"""


def write_scale(folder):
    """Write a scale and a protocol that uses it, beside settings that list the protocol."""
    documented = read_documented("new-kind.md")
    (folder / "thermometer.py").write_text(documented["thermometer.py"], encoding="utf-8")
    protocol = folder / "thermometers"
    templates = protocol / "templates" / "scales"
    templates.mkdir(parents=True)
    (templates / "thermometer.html").write_text(documented["thermometer.html"], encoding="utf-8")
    (folder / "fifth_settings.py").write_text(SETTINGS, encoding="utf-8")
    (protocol / "__init__.py").touch()
    (protocol / "apps.py").write_text(APPS, encoding="utf-8")
    (protocol / "protocol.json").write_text(json.dumps(INSTRUMENT), encoding="utf-8")
    (protocol / "instructions.md").write_text("Read the sentence, then rate.\n", encoding="utf-8")
    (protocol / "practice.json").write_text(json.dumps(PRACTICE), encoding="utf-8")
    with (protocol / "example_batch.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "source", "system", "output"])
        for number in range(1, 13):
            source = f"Die Fähre kam an Tag {number} mit {number * 3} Minuten Verspätung."
            rows.writerow([f"s{number:02}", source, "terse", f"Ferry late, day {number}."])
            rows.writerow([f"s{number:02}", source, "wordy", f"The ferry was {number * 3} late."])


def test_documented_kind_takes_every_number_of_a_range_as_right(tmp_path, monkeypatch):
    write_scale(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    scale = import_module("thermometer").Thermometer(kind="thermometer", minimum=0, maximum=100)

    right = scale.parse_gold("80..100", ["system"])

    judged = [scale.judge(right, [value], None, ["1"])[0][0] for value in (79, 80, 90, 100)]
    assert judged == [False, True, True, True]


# what says nothing of a scale that other tests of it don't: the suite leaves it out
LONG = (
    "no_value_in_any_place or on_every_page_of_a_study or in_the_tables_of_the_admin"
    " or bundle_draft or bundle_is_sound or export_items or bad_batches"
)
# upload, page, keys, save, review, practice and gold, simulation, export, report
CONTRACT = ("contract", "contract_answers", "instruments")
# export, codebook, import of ratings, bundle: packed, verified, brought back
FILES = ("bundle_round_trip", "bundle_draft", "ratings_import", "export_exact", "export_items")
BAD_INPUT = ("bad_answers", "bad_batches", "hostile_text")


@pytest.mark.torture
@pytest.mark.skipif(connection.vendor != "sqlite", reason="its own process runs on SQLite")
def test_a_fifth_scale_passes_the_whole_contract_without_a_change_to_the_site(tmp_path):
    write_scale(tmp_path)

    names = (*CONTRACT, *FILES, *BAD_INPUT)
    counts = count_results(run_tests(tmp_path, "fifth_settings", "thermometers", names))

    assert counts["passed"] >= 53
    assert set(counts) == {"passed", "deselected"}
