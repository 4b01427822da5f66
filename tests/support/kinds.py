"""Instruments as data, installed as protocols in a folder of their own."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsite.builder.questions import start_scale
from evalsite.builder.starts import start_draft, start_question
from evalsite.instruments.scales import KINDS, installed_scales
from tests.support.plugins import COMPREHENSION

DATA = Path(__file__).resolve().parents[1] / "instruments" / "data"
_SETTINGS = """
from tests.settings import *

PROTOCOLS = [*PROTOCOLS, *{names}]
INSTALLED_APPS = [*INSTALLED_APPS, *{names}]
"""
_APPS = """
from evalsite.instruments.installed import ProtocolConfig


class Config(ProtocolConfig):
    name = "{key}"
"""
ITEMS = 12
# what an input of a kind may hold
_CELLS = {"statements": "It is day {n}.\nIt is {n} o’clock.\nIt rains.", "whole number": "{n}"}


# by what a kind needs: the layout, and how many outputs an item has
_LAYOUTS = {"": ("one", 1), "pair": ("pair", 2), "several": ("several", 3)}


def read_kinds() -> list[dict[str, Any]]:
    """Instruments that have every kind of question between them.

    A kind that no file of `tests/instruments/data` asks has an instrument of its own.
    """
    written = [json.loads(file.read_bytes()) for file in sorted(DATA.glob("*.json"))]
    asked = {question["scale"]["kind"] for one in written for question in one["criteria"]}
    missing = [kind for kind in installed_scales() if kind not in asked]
    return [*written, *map(make_instrument, missing)]


def make_instrument(kind: str) -> dict[str, Any]:
    """Return an instrument that asks this kind of question as the builder starts it.

    If the kind can have words for “not applicable”, a second question has them.
    """
    scale = KINDS[kind]
    outputs, count = _LAYOUTS[scale.needs]
    draft = start_draft(f"kinds_of_{kind}")
    draft["criteria"] = [start_question("Quality", (), start_scale(scale))]
    if "not_applicable" in scale.model_fields:
        with_na = start_scale(scale) | {"not_applicable": "Can’t be judged"}
        draft["criteria"].append(start_question("Style", ("quality",), with_na))
    for question in draft["criteria"]:
        question["question"] = f"{question['label']}?"
    draft["item"]["outputs"] |= {"least": count, "most": count}
    draft["instructions_title"] = "Rate texts"
    draft["layout"] = {"outputs": outputs, "questions": "below"}
    draft["design"] = {"k": 2, "set_size": 6}
    practice = {"inputs": {"source": "A."}, "outputs": ["B."] * count, "why": "Nothing to say."}
    return draft | {"practice": [practice], "comprehension": COMPREHENSION}


def install(folder: Path, settings: str, instruments: Sequence[Mapping[str, Any]]) -> None:
    """Write a settings module, and an app with an example batch for each instrument."""
    names = [one["key"] for one in instruments]
    (folder / f"{settings}.py").write_text(_SETTINGS.format(names=names), encoding="utf-8")
    for one in instruments:
        app = folder / one["key"]
        app.mkdir()
        (app / "__init__.py").touch()
        (app / "apps.py").write_text(_APPS.format(key=one["key"]), encoding="utf-8")
        whole = {"comprehension": COMPREHENSION} | one
        (app / "protocol.json").write_text(json.dumps(whole), encoding="utf-8")
        with (app / "example_batch.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(make_batch(one))


def make_batch(instrument: Mapping[str, Any]) -> list[list[str]]:
    """Return a batch in the long form, with as many systems as an item has outputs."""
    inputs = instrument["item"]["inputs"]
    systems = max(2, instrument["item"]["outputs"]["least"])
    rows = [["item", *(one["name"] for one in inputs), "system", "output"]]
    for n in range(1, ITEMS + 1):
        cells = [
            _CELLS.get(one["kind"], f"{one['label']} of day {n}.").format(n=n) for one in inputs
        ]
        for place in range(systems):
            said = f"System {place} says {n * 7 + place} on day {n}."
            rows.append([f"i{n:02}", *cells, f"sys-{'abcdefgh'[place]}", said])
    return rows
