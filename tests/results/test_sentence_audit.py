"""Every sentence that a report can print: a study that has it and, beside it, one that must not.

A code without an entry in CASES fails. Studies are small, and each is analysed once.
"""

import csv
import json
import random
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from evalsite.analysis.__main__ import main
from evalsite.analysis.plan import Hypothesis, Plan
from evalsite.analysis.report import make_reports
from evalsite.results.analysis_plan.wording import warn_of_plan
from evalsite.results.report.limitations import Collection, list_limitations
from evalsite.results.report.sentences import SENTENCES, write_sentence

Row = dict[str, Any]
POINTS = [{"value": value, "label": ""} for value in range(1, 8)]
YES_NO = [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}]


# --- rows -----------------------------------------------------------------------------


def rate(
    value: Callable[[int, int, int], float],
    *,
    raters: int = 6,
    inputs: int = 12,
    systems: str = "AB",
    criterion: str = "fit",
) -> list[Row]:
    """Ratings of every system by every rater on every input: of rater, input and system."""
    return [
        {
            "participant": f"p{rater}", "item": f"i{item}", "system": system,
            "criterion": criterion, "value": value(rater, item, place),
        }
        for rater in range(raters)
        for item in range(inputs)
        for place, system in enumerate(systems)
    ]  # fmt: skip


def spread(shift: float = 0.0, *, seed: int = 1, noise: float = 1.0) -> Callable[..., int]:
    """Points from 1 to 7, noisy, the later systems higher by `shift` each."""
    chance = random.Random(seed)
    return lambda rater, item, place: min(
        7, max(1, round(4 + shift * place + (item % 3) - 1 + chance.gauss(0, noise)))
    )


def prefer(pairs: Iterable[tuple[str, str, float]], *, raters: int = 6, seed: int = 1) -> list[Row]:
    """Preferences on pairs: first, second, and how often the first is preferred."""
    chance = random.Random(seed)
    return [
        {
            "participant": f"p{rater}", "item": f"i{item}-{place}", "group": f"i{item}",
            "criterion": "fit", "preferred": first if wins else second,
            "outcome": "1" if wins else "2", "system_1": first, "system_2": second,
            "shown_first": (first, second)[item % 2],
        }
        for item in range(12)
        for place, (first, second, better) in enumerate(pairs)
        for rater in range(raters)
        if (wins := chance.random() < better) is not None
    ]  # fmt: skip


# --- analyses -------------------------------------------------------------------------


def write_csv(path: Path, rows: list[Row]) -> Path:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def find_notes(found: Any) -> Iterator[dict[str, Any]]:
    if isinstance(found, dict):
        if {"code", "facts"} <= found.keys():
            yield found
        for part in found.values():
            yield from find_notes(part)
    elif isinstance(found, list):
        for part in found:
            yield from find_notes(part)


def analyse(
    rows: list[Row],
    *,
    kind: str = "likert",
    plan: Plan | None = None,
    more: dict[str, list[Row]] | None = None,
    labels: dict[str, dict[str, Any]] | None = None,
    **known: Any,
) -> dict[str, Any]:
    """The report of these rows, as a site makes it; `more`: other files that it exports."""
    answers = {"likert": POINTS, "decision": YES_NO}.get(kind, [])
    instrument = [
        {"key": key, "label": key.title(), "kind": kind, "answers": answers}
        | (labels or {}).get(key, {})
        for key in dict.fromkeys(row["criterion"] for row in rows)
    ]
    with TemporaryDirectory() as folder:
        paths = {"ratings": write_csv(Path(folder) / "ratings.csv", rows)}
        for name, part in (more or {}).items():
            paths[name] = write_csv(Path(folder) / f"{name}.csv", part)
        made = make_reports(paths, instrument=instrument, seed=1, plan=plan or Plan(), **known)
    kept: dict[str, Any] = made["kept"]
    return kept


def run(rows: list[Row], *options: str, beside: list[Row] | None = None) -> dict[str, Any]:
    """What the command makes of a file, or of two."""
    with TemporaryDirectory() as folder:
        first = write_csv(Path(folder) / "ratings.csv", rows)
        out = Path(folder) / "out.json"
        words = ["report", str(first)]
        if beside is not None:
            words = ["compare", str(first), str(write_csv(Path(folder) / "repeat.csv", beside))]
        main([*words, "--json", "-o", str(out), *options])
        made: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if gate := made.get("gate"):
        made["gate"] = {"code": "gate", "facts": gate}
    return made
