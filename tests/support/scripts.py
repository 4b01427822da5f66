"""What tests of the bundle's scripts share: ratings, the report of them, and both scripts run."""

import atexit
import csv
import json
import math
import os
import random
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from evalsite.analysis.plan import Plan
from evalsite.analysis.report import Settings, make_reports
from evalsite.data.bundle.rerun import SCRIPTS, Comparison, Script, compare_tables
from evalsite.data.files.columns import RATINGS
from evalsite.data.files.scripts import read_scripts

FORKS = Path(__file__).with_name("forks.R")
R, PYTHON = SCRIPTS

Row = dict[str, str]
Rows = list[dict[str, Any]]


# --- running them ---------------------------------------------------------------------------


def need_r() -> None:
    """Skip, with the reason, where R or a package is missing; under CI that is a failure."""
    if connection.vendor == "postgresql":
        pytest.skip("The scripts read a file: they run in the half of the suite on SQLite.")
    if reason := find_what_r_lacks():
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@cache
def find_what_r_lacks() -> str:
    if shutil.which("Rscript") is None:
        return "There is no Rscript: install Debian's r-base-core to run the R script."
    output = start_r().stdout
    answer = output.readline().strip() if output else ""
    return "" if answer == "R lacks:" else answer


@cache
def start_r() -> subprocess.Popen[str]:
    """The R that runs the scripts of this process's tests: to load its packages takes longest."""
    process = subprocess.Popen(
        ["Rscript", str(FORKS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    # at the end of its input it ends, too
    atexit.register(process.communicate)
    return process


def run(
    script: Script, folder: Path, ratings: bytes, *, plan: Any = None, most_ordinal: int = 0
) -> dict[str, list[Row]]:
    """The tables that the script makes of this file; without the ordinal check, which is slow.

    `plan`: what stands beside the script as analysis-plan.json.
    """
    (folder / "ratings.csv").write_bytes(ratings)
    (folder / script.name).write_text(read_scripts()[script.name], encoding="utf-8")
    if plan is not None:
        text = json.dumps(plan, indent=2, sort_keys=True, ensure_ascii=False)
        (folder / "analysis-plan.json").write_text(text, encoding="utf-8")
    if script is R:
        (folder / "most-ordinal").write_text(f"{most_ordinal}\n", encoding="utf-8")
        process = start_r()
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{folder}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "\n"
    else:
        with chdir(folder):
            runpy.run_path(script.name)["main"]("ratings.csv", script.folder)
    tables = (folder / script.folder).glob("*.csv")
    return {path.stem: read(path) for path in tables}


def run_alone(script: Script, folder: Path) -> "subprocess.CompletedProcess[str]":
    """The script as a program, in a folder that has all that it reads."""
    (folder / script.name).write_text(read_scripts()[script.name], encoding="utf-8")
    return subprocess.run(
        ["Rscript" if script is R else sys.executable, script.name, "ratings.csv"],
        cwd=folder,
        env=os.environ | {"MOST_ORDINAL": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


# --- ratings and their report ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Rated:
    """The ratings of a study, its criteria as the analysis describes them, and its plan."""

    rows: Rows
    instrument: list[dict[str, Any]]
    plan: dict[str, Any] = field(default_factory=dict)
    items: str = ""  # items.csv
    columns: Sequence[str] = ()

    def write_ratings(self, folder: Path) -> bytes:
        return write(self.rows, folder, columns=self.columns)

    def make_plan(self) -> dict[str, Any]:
        """The plan as a bundle has it."""
        frozen = ("hypotheses", "has_own_errors")
        criteria = [
            {
                "key": criterion["key"],
                "family": criterion["family"],
                **{key: criterion[key] for key in ("better", "per") if key in criterion},
                **(
                    {"options": [option["key"] for option in criterion["options"]]}
                    if "options" in criterion
                    else {}
                ),
            }
            for criterion in self.instrument
        ]
        top = {name: part for name, part in self.plan.items() if name not in frozen}
        rest = {name: self.plan[name] for name in frozen if name in self.plan}
        return {**top, "criteria": criteria, **({"frozen": rest} if rest else {})}

    def report(self, folder: Path) -> dict[str, Any]:
        self.write_ratings(folder)
        paths = {"ratings": folder / "made.csv"}
        if self.items:
            paths["items"] = folder / "items.csv"
            paths["items"].write_text(self.items, encoding="utf-8")
        found: dict[str, Any] = make_reports(
            paths, Settings(instrument=self.instrument, seed=1, plan=Plan.read(self.plan))
        )
        return found

    def compare(self, script: Script, folder: Path) -> Comparison:
        """How the tables of a script agree with the report."""
        report = self.report(folder)["kept"]
        run(script, folder, self.write_ratings(folder), plan=self.make_plan())
        return compare_tables(report, folder / script.folder, script)


def write(rows: Iterable[dict[str, Any]], folder: Path, *, columns: Iterable[str] = ()) -> bytes:
    """Rows of ratings.csv, with what a counted Likert rating of this site has in every one.

    `columns`: those that only some studies have.
    """
    path = folder / "made.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*(column.name for column in RATINGS), *columns], restval="")
        writer.writeheader()
        for number, row in enumerate(rows):
            writer.writerow(
                {
                    "kind": "main", "status": "counted", "excluded": "no", "origin": "own",
                    "person": "yes", "criterion": "quality", "scale": "likert", "scale_min": 1,
                    "scale_max": 5, "item": row["group"], "annotation": number,
                    "output_id": f"{row['group']}#{row.get('system')}", **row,
                }
            )  # fmt: skip
    return path.read_bytes()


def describe(key: str, kind: str = "likert", family: str = "points", **more: Any) -> dict[str, Any]:
    """A criterion as the analysis reads it."""
    low, high = more.pop("ends", (0, 1) if kind == "decision" else (1, 5))
    points = range(low, high + 1) if kind in ("likert", "decision") else ()
    return {
        "key": key, "label": key, "kind": kind, "family": family, "reserved": [],
        "answers": [{"value": point, "label": str(point)} for point in points],
        "minimum": low, "maximum": high, **more,
    }  # fmt: skip


def draw_latent(seed: int, *, raters: int, items: int, worth: dict[str, float]) -> Any:
    """Yield rater, item, system and a score: strict raters, hard items, and their interactions."""
    chance = random.Random(seed)
    strict = [chance.gauss(0, 0.6) for _ in range(raters)]
    hard = [chance.gauss(0, 0.6) for _ in range(items)]
    tastes = {(r, name): chance.gauss(0, 0.3) for r in range(raters) for name in worth}
    fits = {(i, name): chance.gauss(0, 0.4) for i in range(items) for name in worth}
    for rater in range(raters):
        for item in range(items):
            for name, good in worth.items():
                score = good + strict[rater] + hard[item] + tastes[rater, name] + fits[item, name]
                yield f"p{rater}", f"g{item}", name, score + chance.gauss(0, 0.8)


def rate(criterion: str, seed: int, *, raters: int = 4, items: int = 8, **worth: float) -> Rows:
    """Points from 1 to 5."""
    return [
        {"participant": rater, "group": item, "system": system, "criterion": criterion,
         "value": min(5, max(1, round(3 + score)))}
        for rater, item, system, score in draw_latent(
            seed, raters=raters, items=items, worth=worth
        )
    ]  # fmt: skip


def decide(criterion: str, seed: int, *, raters: int = 5, items: int = 10, **worth: float) -> Rows:
    """Yes or no."""
    return [
        {"participant": rater, "group": item, "system": system, "criterion": criterion,
         "scale": "decision", "scale_min": 0, "scale_max": 1, "value": int(score > 0)}
        for rater, item, system, score in draw_latent(
            seed, raters=raters, items=items, worth=worth
        )
    ]  # fmt: skip


def measure(criterion: str, seed: int, *, raters: int = 4, items: int = 8, **worth: float) -> Rows:
    """Magnitudes in proportion to a standard of 100."""
    values = [
        (rater, item, system, max(1, round(100 * math.exp(0.4 * score))))
        for rater, item, system, score in draw_latent(seed, raters=raters, items=items, worth=worth)
    ]
    return [
        {"participant": rater, "group": item, "system": system, "criterion": criterion,
         "scale": "magnitude", "scale_min": 1, "scale_max": 999_999, "value": value,
         "standard": 100, "log_ratio": math.log(value / 100)}
        for rater, item, system, value in values
    ]  # fmt: skip


def prefer(criterion: str, seed: int, *, raters: int = 5, items: int = 8, **worth: float) -> Rows:
    """Preferences between every two systems, some of them ties."""
    scores = {
        (rater, item, system): score
        for rater, item, system, score in draw_latent(seed, raters=raters, items=items, worth=worth)
    }
    names = sorted(worth)
    rows = []
    for rater, item in dict.fromkeys((rater, item) for rater, item, _ in scores):
        for place, first in enumerate(names):
            for second in names[place + 1 :]:
                apart = scores[rater, item, first] - scores[rater, item, second]
                outcome = "tie" if abs(apart) < 0.4 else "1" if apart > 0 else "2"
                preferred = {"1": first, "2": second}.get(outcome, "")
                rows.append(
                    {"participant": rater, "group": item, "item": f"{item}-{first}-{second}",
                     "criterion": criterion, "scale": "preference", "scale_min": 0, "scale_max": 1,
                     "system_1": first, "system_2": second, "outcome": outcome, "output_id": "",
                     "preferred": preferred, "value": int(outcome != "tie"), "shown_first": first}
                )  # fmt: skip
    return rows
