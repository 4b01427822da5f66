"""Instruments as data, installed as protocols in a folder of their own."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.plugins import COMPREHENSION

DATA = Path(__file__).resolve().parents[1] / "protocol" / "data"
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


def read_kinds() -> list[dict[str, Any]]:
    """Instruments that have every kind of question between them."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(DATA.glob("*.json"))]


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
