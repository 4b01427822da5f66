"""Studies with a judge beside people, from the reference vectors, as files of a report."""

from pathlib import Path
from typing import Any

import pandas as pd

from evalsite.analysis.plan import NO_PLAN, Plan
from evalsite.analysis.report import Settings, make_reports
from tests.analysis.vectors import read_data, read_vector

POINTS = {
    "key": "quality", "label": "Quality", "kind": "likert", "family": "points", "better": "higher",
    "answers": [{"value": value, "label": ""} for value in range(1, 6)], "reserved": [],
    "minimum": 1, "maximum": 5,
}  # fmt: skip
PREFERENCE = {
    "key": "better", "label": "Better", "kind": "preference", "family": "preference",
    "better": "none", "answers": [], "reserved": [], "minimum": 0, "maximum": 1,
}  # fmt: skip
_NAMES = {-1: "A", 0: "tie", 1: "B"}


def write(folder: Path, ratings: pd.DataFrame, labels: pd.DataFrame) -> dict[str, Path]:
    paths = {name: folder / f"{name}.csv" for name in ("ratings", "judge_labels")}
    ratings.to_csv(paths["ratings"], index=False)
    labels.to_csv(paths["judge_labels"], index=False)
    return paths


def write_points(folder: Path, name: str) -> tuple[dict[str, Path], Any]:
    """Write points of people and labels of a vector; return the files and what is expected."""
    people, expected, _tolerance = read_vector(f"v3_crossed_ppi__{name}")
    ratings = people.rename(columns={"rater": "participant"}).assign(criterion="quality")
    ratings["output"] = ratings["item"] + "#" + ratings["system"]
    ratings["group"] = ratings["item"]
    labels = read_data(f"v3_{name}_judge.csv").assign(criterion="quality", judge="judge-a")
    return write(folder, ratings, labels), expected


def write_preferences(folder: Path) -> tuple[dict[str, Path], Any]:
    """Write preferences of people and verdicts in both orders; return files and expectation."""
    people, expected, _tolerance = read_vector("v3_crossed_ppi__ppi_prefs")
    ratings = pd.DataFrame({
        "participant": people.rater, "item": people["item"], "group": people["item"],
        "criterion": "better", "preferred": people.value.map(_NAMES), "system_1": "A",
        "system_2": "B",
    })  # fmt: skip
    judge = read_data("v3_ppi_prefs_judge.csv")
    labels = pd.DataFrame({
        "item": judge["item"], "criterion": "better", "judge": "judge-a", "system_1": "A",
        "system_2": "B", "preferred": judge.value.map(_NAMES), "order": judge.order,
    })  # fmt: skip
    return write(folder, ratings, labels), expected


def report(
    paths: dict[str, Path], *instrument: dict[str, Any], plan: Plan = NO_PLAN
) -> dict[str, Any]:
    settings = Settings(instrument=instrument, seed=1, plan=plan)
    kept: dict[str, Any] = make_reports(paths, settings)["kept"]
    return kept


def plan_judge(*rows: dict[str, Any], judge: str = "judge-a", **more: Any) -> Plan:
    """A plan of hypotheses and, where there is a margin, of tests against it, by a judge."""
    base = {"criterion": "quality", "judge": judge}
    named = [{**base, **row} for row in rows]
    return Plan.read(
        {
            "hypotheses": [row for row in named if "margin" not in row],
            "margins": [row for row in named if "margin" in row],
            **more,
        }
    )
