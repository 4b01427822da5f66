"""Run the scripts of a bundle, and compare every cell of their tables with the report's figures.

The scripts that run are those of this Evalsite: a bundle may bring any program. They run on the
bundle's ratings and plan, in a folder of their own.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalsite.data.bundle.format import ANALYSIS_PLAN, REPORT, name_data
from evalsite.data.bundle.read import Bundle, Fault
from evalsite.data.files.scripts import read_scripts
from evalsite.lib.limited import read_cells

Row = dict[str, Any]
_SECONDS = 3600
# of the scale's range, of degrees of freedom, and of p: a share of p, or as much as this
_OF_RANGE, _OF_DF, _OF_P, _LEAST_P = 1e-4, 0.01, 0.02, 0.002
_ALPHA = 0.05
_EXACT = {"n", "df1", "family", "verdict", "outcome", "fails_in", "effect"}
_ON_SCALE = {
    "mean", "sd", "estimate", "low", "high", "se", "from_average", "from_average_low",
    "from_average_high", "low90", "high90",
}  # fmt: skip
_CORRECTED = {"family", "p_corrected", "verdict"}
# what the scripts compute of agreement
_COEFFICIENTS = {
    "alpha_nominal", "alpha_ordinal", "alpha_interval", "alpha_log", "ac1", "ac2",
    "percent_agreement", "within_1",
}  # fmt: skip
_KEYS = {
    "systems": ("criterion", "system"),
    "pairs": ("criterion", "system_1", "system_2"),
    "joint_tests": ("criterion",),
    "variances": ("criterion", "term"),
    "margins": ("criterion", "system", "other", "relation", "margin"),
    "agreement": ("criterion", "coefficient"),
}


@dataclass(frozen=True)
class Script:
    name: str
    language: str
    folder: str
    # what it doesn't compute
    without: frozenset[tuple[str, str]] = frozenset()


SCRIPTS = (
    Script("analysis.R", "R", "tables-r", frozenset({("agreement", "low"), ("agreement", "high")})),
    Script("analysis.py", "Python", "tables-python"),
)


@dataclass
class Rerun:
    """What the scripts gave: sentences on what agrees, remarks on what was left out, and faults."""

    checks: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def rerun_scripts(bundle: Bundle, computed: Mapping[str, Any] | None) -> Rerun:
    """Run both scripts on the ratings of a bundle that was verified, and compare.

    `computed`: the report of the loaded rows, if the bundle's was computed again.
    """
    rerun = Rerun()
    if computed is None:
        why = (
            f"its {REPORT} wasn't computed again"
            if REPORT in bundle.names
            else f"the bundle has no {REPORT}. Open the study's results before you make the bundle"
        )
        rerun.remarks.append(f"The scripts weren't run: {why}.")
        return rerun
    with TemporaryDirectory(prefix="evalsite-rerun-") as path:
        folder = Path(path)
        files = [name_data(name) for name in ("ratings", "annotations", "items")]
        for name in (*files, ANALYSIS_PLAN):
            (folder / name).parent.mkdir(exist_ok=True)
            with bundle.open(name) as source, (folder / name).open("wb") as target:
                shutil.copyfileobj(source, target)
        for name, text in read_scripts().items():
            (folder / name).write_text(text, encoding="utf-8")
        for script in SCRIPTS:
            if _run(script, folder, rerun):
                comparison = compare_tables(computed, folder / script.folder, script)
                rerun.checks.append(str(comparison))
                rerun.remarks += comparison.remarks
                rerun.faults += comparison.faults
    return rerun


def _run(script: Script, folder: Path, rerun: Rerun) -> bool:
    """Run a script; say why it can't run here, or how it failed."""
    program = sys.executable if script.language == "Python" else shutil.which("Rscript")
    if program is None:
        rerun.remarks.append(f"Rscript isn't installed here, so {script.name} wasn't run.")
        return False
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVALSITE_")}
    try:
        done = subprocess.run(  # noqa: S603 (our own script)
            [program, script.name],
            cwd=folder,
            # no report has the ordinal check, which takes longest
            env=kept | {"MOST_ORDINAL": "0"},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        rerun.remarks.append(f"{script.name} took over an hour and was stopped.")
        return False
    if done.returncode == 0:
        return True
    last = done.stderr.strip().rpartition("\n")[2]
    if "Install these packages first" in done.stderr or "run analysis.R first" in last:
        rerun.remarks.append(f"{script.name} can't run here: {last}")
    else:
        rerun.faults.append(Fault("script_failed", f"It stopped: {last}", script.name))
    return False


# --- the tables and the report --------------------------------------------------------------


@dataclass
class Comparison:
    """How the tables of a script agree with a report."""

    script: Script
    verdicts: int = 0
    alike: int = 0
    left_out: int = 0
    largest_p: float = 0.0
    remarks: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def __str__(self) -> str:
        largest = f"{self.largest_p:.4f}".removeprefix("0")
        text = f"{self.script.language}: {self.alike} of {self.verdicts} verdicts as in the report"
        text += f"; largest difference of p {largest}"
        if self.left_out:
            pairs = "1 pair was" if self.left_out == 1 else f"{self.left_out} pairs were"
            text += f"; {pairs} left out, and notes.txt says why"
        return f"{text}."


def compare_tables(report: Mapping[str, Any], folder: Path, script: Script) -> Comparison:
    """Compare every cell that both have; `report` is what was computed for it."""
    comparison = Comparison(script)
    pairs = {_identify(row, _KEYS["pairs"]) for row in _read(folder / "pairs.csv")}
    incomplete = {
        expected["criterion"]
        for expected, _ in _list_expected(report, "pairs")
        if _identify(expected, _KEYS["pairs"]) not in pairs
    }
    for table, keys in _KEYS.items():
        rows = {_identify(row, keys): row for row in _read(folder / f"{table}.csv")}
        for expected, about in _list_expected(report, table):
            row = rows.pop(_identify(expected, keys), None)
            if row is None:
                if table == "pairs":
                    comparison.left_out += 1
                elif expected["criterion"] not in incomplete:
                    _blame(comparison, table, expected, "has no row")
                continue
            if table == "pairs" and row["system_1"] != expected["system_1"]:
                expected = _turn(expected, about)
            is_incomplete = bool(incomplete) and (
                report["family"]["across"] or expected["criterion"] in incomplete
            )
            skipped = set(keys) | (_CORRECTED if is_incomplete else set())
            asked = {name: cell for name, cell in expected.items() if name not in skipped}
            _compare_row(comparison, table, row, asked, about)
        for row in rows.values():
            _blame(comparison, table, row, "is a row that the report doesn't have")
    return comparison


def _read(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = read_cells(file)
        names = next(rows)
        yield from (dict(zip(names, cells, strict=True)) for cells in rows)


def _identify(row: Row, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """Return what names a row: of a pair, its two systems in either order."""
    if "system_1" in keys:
        return row["criterion"], frozenset((row["system_1"], row["system_2"]))
    return tuple(float(row[key]) if key == "margin" else row[key] for key in keys)


def _turn(row: Row, about: Mapping[str, Any]) -> Row:
    """Return a pair as seen from its other system."""

    def turn(value: float | None) -> float | None:
        if value is None:
            return None
        return 1 / value if about["is_ratio"] else -value

    turned = {**row, "system_1": row["system_2"], "system_2": row["system_1"]}
    turned |= {"estimate": turn(row["estimate"]), "low": turn(row["high"])}
    turned |= {"high": turn(row["low"])}
    turned |= {name: row[name] and -row[name] for name in ("t", "d")}
    turned |= {"d_low": row["d_high"] and -row["d_high"], "d_high": row["d_low"] and -row["d_low"]}
    turned["verdict"] = {"higher": "lower", "lower": "higher"}.get(row["verdict"], row["verdict"])
    return turned


def _compare_row(
    comparison: Comparison, table: str, row: Row, expected: Row, about: Mapping[str, Any]
) -> None:
    if table == "pairs" and "verdict" in expected:
        comparison.verdicts += 1
        comparison.alike += row["verdict"] == expected["verdict"]
    for name in expected:
        if (table, name) in comparison.script.without:
            continue
        cell = row[name] if row[name] not in ("", "NA") else None
        if name.startswith("p") and cell is not None and expected[name] is not None:
            apart = abs(float(cell) - expected[name])
            comparison.largest_p = max(comparison.largest_p, apart)
        if _is_near(table, name, cell, expected[name], about):
            continue
        message = f"{name} is {cell}, but {expected[name]} in {REPORT}"
        if name in ("verdict", "outcome") and _is_borderline(row, expected):
            where = " ".join(str(row[key]) for key in _KEYS[table])
            comparison.remarks.append(
                f"{comparison.script.name}: {where}: {message}. Both p are within .002 of .05."
            )
        else:
            _blame(comparison, table, row, message)


def _blame(comparison: Comparison, table: str, row: Row, message: str) -> None:
    where = " ".join(str(row[key]) for key in _KEYS[table])
    file = f"{comparison.script.folder}/{table}.csv"
    comparison.faults.append(Fault("script_differs", f"{where}: {message}.", file))


def _is_borderline(row: Row, expected: Row) -> bool:
    """Return whether both p are so near .05 that rounding may decide."""
    p = [row.get("p_corrected") or row["p"], expected.get("p_corrected") or expected["p"]]
    return all(cell and abs(float(cell) - _ALPHA) <= _LEAST_P for cell in p)


def _is_near(table: str, name: str, cell: str | None, value: Any, about: Mapping[str, Any]) -> bool:
    if cell is None or value is None:
        return cell is None and value is None
    if name in _EXACT:
        return float(cell) == value if isinstance(value, int | float) else cell == value
    if name in ("df", "df2"):
        most = _OF_DF * value
    elif name in ("p", "p_corrected", "f", "t"):
        most = max(_LEAST_P, _OF_P * abs(value))
    elif table == "agreement":
        most = _OF_RANGE
    elif name in _ON_SCALE and about["is_ratio"]:
        most = _OF_RANGE * max(1.0, abs(value))
    elif name in _ON_SCALE:
        most = _OF_RANGE * about["width"]
    elif name == "variance":
        most = _OF_RANGE * about["width"] ** 2
    else:
        # shares and standardised effects
        most = 10 * _OF_RANGE
    return bool(abs(float(cell) - value) <= most)


# --- what the report says -------------------------------------------------------------------


def _list_expected(
    report: Mapping[str, Any], table: str
) -> Iterator[tuple[Row, Mapping[str, Any]]]:
    """Yield the rows of a table as the report has them, each with what its scale is."""
    list_rows = {
        "systems": _list_systems, "pairs": _list_pairs, "joint_tests": _list_joint_tests,
        "variances": _list_variances, "margins": _list_margins, "agreement": _list_agreement,
    }[table]  # fmt: skip
    for criterion in report["criteria"]:
        about = _describe_scale(criterion)
        for row in list_rows(criterion):
            yield {"criterion": criterion["key"], **row}, about


def _describe_scale(criterion: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how wide the scale is: of numbers without bounds, as wide as their spread."""
    values = [answer["value"] for answer in criterion["answers"]] or criterion.get("range") or []
    spreads = [_value(system.get("sd")) or 0.0 for system in criterion["systems"]]
    width = max(values) - min(values) if values else max(spreads, default=0.0) or 1.0
    effects = {pair["effect"]["name"] for pair in criterion["pairs"]}
    if effects & {"ratio", "net_win_share"}:
        width = 1.0
    return {"is_ratio": "ratio" in effects, "width": width}


def _value(figure: Mapping[str, Any] | None, name: str = "value") -> Any:
    return figure and figure.get(name)


def _list_systems(criterion: Mapping[str, Any]) -> Iterator[Row]:
    for system in criterion["systems"]:
        figures = [system["headline"], *system["others"]]
        mean = next((figure for figure in figures if figure["name"] != "strength"), None)
        averages = system.get("averages") or ()
        by_model = next(
            (figure for figure in averages if figure["name"].startswith("model_")), None
        )
        away = system.get("from_average")
        yield {
            "system": system["system"], "n": system["n"], "mean": _value(mean),
            "sd": _value(system.get("sd")), "estimate": _value(by_model),
            "low": _value(by_model, "low"), "high": _value(by_model, "high"),
            "from_average": _value(away), "from_average_low": _value(away, "low"),
            "from_average_high": _value(away, "high"),
        }  # fmt: skip


def _list_pairs(criterion: Mapping[str, Any]) -> Iterator[Row]:
    for pair in criterion["pairs"]:
        effect = pair["effect"]
        details = effect["details"]
        names = ("df", "t", "p", "p_corrected", "family")
        test = {name: details.get(name) for name in names}
        if effect["value"] is None:
            test["family"] = None
        yield {
            "system_1": pair["system_1"], "system_2": pair["system_2"], "effect": effect["name"],
            "estimate": effect["value"], "low": effect["low"], "high": effect["high"],
            "se": details.get("se"), **test,
            **{name: details.get(name) for name in ("d", "d_low", "d_high")},
            "verdict": pair["finding"]["code"],
        }  # fmt: skip


def _list_joint_tests(criterion: Mapping[str, Any]) -> Iterator[Row]:
    joint = criterion.get("joint")
    if joint and joint["value"] is not None:
        yield {
            "f": joint["value"],
            **{name: joint["details"][name] for name in ("df1", "df2", "p")},
        }


def _list_variances(criterion: Mapping[str, Any]) -> Iterator[Row]:
    model = criterion.get("model") or {}
    for term, share in (model.get("shares") or {}).items():
        variance = model["residual"] if term == "residual" else model["variances"][term]
        yield {"term": term, "variance": variance, "share": share}


def _list_margins(criterion: Mapping[str, Any]) -> Iterator[Row]:
    for decided in criterion["margins"]:
        # the scripts know people's answers only
        test = decided.get("alone", decided)
        names = ("system", "other", "relation", "margin")
        figures = ("low90", "high90", "p", "p_corrected")
        yield {
            **{name: test[name] for name in names},
            **{name: test.get(name) for name in figures},
            "outcome": test["outcome"],
            "fails_in": "; ".join(test["fails_in"]) or "-" if "fails_in" in test else None,
        }


def _list_agreement(criterion: Mapping[str, Any]) -> Iterator[Row]:
    for figure in criterion["agreement"]:
        if figure["name"] in _COEFFICIENTS and not figure.get("group"):
            yield {
                "coefficient": figure["name"], "value": figure["value"],
                "low": figure["low"], "high": figure["high"],
            }  # fmt: skip
