"""The scripts that go with the data give the figures of the report, and those of other software."""

import csv
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from evalsite.data.bundle.rerun import Script, compare_tables
from evalsite.data.files.scripts import describe_methods, read_scripts
from tests.support.scripts import (
    PYTHON,
    R,
    Rated,
    Rows,
    decide,
    describe,
    measure,
    need_r,
    prefer,
    rate,
    read,
    run,
    run_alone,
    write,
)

pytestmark = pytest.mark.slow

VECTORS = Path(__file__).parents[3] / "fixtures" / "reference"
PREFERENCE = describe("better", "preference", "preference", ends=(0, 1))
DECISION = describe("acceptable", "decision", "decision")
MAGNITUDE = describe("naturalness", "magnitude", "magnitude", ends=(1, 999_999))


@pytest.fixture(params=[PYTHON, R], ids=["Python", "R"])
def script(request: pytest.FixtureRequest) -> Script:
    if request.param is R:
        need_r()
    return request.param  # type: ignore[no-any-return]


# --- the report's verdicts ------------------------------------------------------------------

OF_ERRORS = [
    row | {"scale": "spans", "scale_min": 0, "scale_max": "", "part": "",
           "value": max(0, 4 - row["value"]) * 1.1}
    for row in rate("errors", 21, A=0, B=0.6, C=1.4)
]  # fmt: skip
# who found no error has said so in a row of its own
OF_ERRORS += [row | {"part": "none", "value": 1} for row in OF_ERRORS if not row["value"]]

# a study of each kind, small: every fit of R takes a while
STUDIES: dict[str, tuple[Rated, int]] = {
    "points of two criteria, none of them primary": (
        Rated(
            rows=rate("fluency", 1, items=6, A=0, B=0.5, C=1.2)
            + rate("adequacy", 2, items=6, A=0, B=0.1, C=0.6),
            instrument=[describe("fluency"), describe("adequacy")],
        ),
        6,
    ),
    "preferences of three systems": (
        Rated(rows=prefer("better", 3, A=0, B=0.4, C=1.1), instrument=[PREFERENCE]),
        3,
    ),
    "decisions with a baseline": (
        Rated(
            rows=decide("acceptable", 4, A=0, B=0.8, C=-0.6),
            instrument=[DECISION],
            plan={"baseline": "B"},
        ),
        2,
    ),
    "magnitudes": (
        Rated(rows=measure("naturalness", 5, A=0, B=0.4, C=1.0), instrument=[MAGNITUDE]),
        3,
    ),
    "penalties": (
        Rated(
            rows=OF_ERRORS,
            instrument=[describe("errors", "spans", "penalties", ends=(0, None), better="lower")],
            columns=["part"],
        ),
        3,
    ),
    "a plan with margins": (
        Rated(
            rows=rate("fluency", 6, raters=6, items=6, A=0, B=0.1, C=1)
            + rate("adequacy", 7, raters=6, items=6, A=0, B=0.2, C=0.6),
            instrument=[describe("fluency"), describe("adequacy")],
            plan={
                "primary": "adequacy",
                "margins": [
                    {"criterion": "adequacy", "system": "B", "relation": "not_worse",
                     "other": "A", "margin": 0.9},
                    {"criterion": "adequacy", "system": "C", "relation": "equivalent",
                     "other": "B", "margin": 0.4},
                    {"criterion": "fluency", "system": "A", "relation": "equivalent",
                     "other": "B", "margin": 1.5},
                    {"criterion": "fluency", "system": "A", "relation": "not_worse",
                     "other": "B", "margin": 9},
                ],
            },
        ),
        6,
    ),
}  # fmt: skip


@pytest.mark.each_once
@pytest.mark.parametrize("name", STUDIES)
def test_script_gives_every_cell_of_the_report(name: str, script: Script, tmp_path: Path) -> None:
    rated, pairs = STUDIES[name]

    comparison = rated.compare(script, tmp_path)

    assert [str(fault) for fault in comparison.faults] == []
    assert (comparison.verdicts, comparison.alike, comparison.left_out) == (pairs, pairs, 0)
    assert comparison.largest_p < 1e-4


OF_TURNS = [
    {
        **row,
        "turn": turn,
        "value": min(5, max(1, row["value"] + apart)),
        "annotation": f"{row['participant']}-{row['group']}",
    }
    for row in rate("tone", 8, raters=4, items=6, A=0, B=0.9)
    for turn, apart in ((1, -1), (2, 0), (4, 1))
]
OF_CHOICE = [
    {**row, "scale": "choice", "scale_min": 1, "scale_max": 3, "value": min(3, row["value"]),
     "option": "abc"[min(3, row["value"]) - 1]}
    for row in rate("kind", 9, raters=4, items=8, A=-1, B=0, C=-1.4)
]  # fmt: skip
OPTIONS = [{"key": key, "label": key.upper()} for key in "abcd"]
OF_CHECKLIST = [
    {**row, "scale": "checklist", "scale_min": 0, "scale_max": 1, "part": part,
     "value": int(row["value"] > least), "annotation": f"{row['participant']}-{row['group']}"}
    for row in rate("facts", 10, raters=4, items=6, A=0, B=0.9)
    for part, least in (("names", 2), ("dates", 3), ("places", 4))
]  # fmt: skip


def follow(key: str, *, items: int, better: str = "higher", **apart: float) -> Rows:
    """Points of A, and of systems that everyone rates so far above it on every input."""
    rated = rate(key, 22, raters=3, items=items, A=-1)
    return [
        {**row, "system": name, "value": min(3, row["value"]) + more, "better": better,
         "output_id": f"{row['group']}#{name}"}
        for row in rated
        for name, more in {"A": 0, **apart}.items()
    ]  # fmt: skip


def plan_margins(key: str, *margins: tuple[str, str, str, float]) -> list[dict[str, Any]]:
    names = ("system", "relation", "other", "margin")
    return [{"criterion": key, **dict(zip(names, margin, strict=True))} for margin in margins]


def name_language(group: str) -> str:
    return ("en", "de", "fr", "es")[int(group[1:]) % 4]


def score(row: dict[str, Any], points: int) -> dict[str, Any]:
    """A rating from 1 to 5 on a scale from 0 with so many points."""
    chance = random.Random(f"{row['participant']}{row['output_id']}")
    value = round((row["value"] - 1) / 5 * (points - 1) + chance.uniform(0, points / 5))
    return {**row, "value": min(points - 1, value), "scale_min": 0, "scale_max": points - 1}


def name_outputs(rows: Rows) -> Rows:
    return [{"output_id": f"{row['group']}#{row.get('system')}", **row} for row in rows]


OF_MANY_POINTS = [score(row, 21) for row in name_outputs(rate("fluency", 26, A=0, B=0.7))]

OTHERS: dict[str, Rated] = {
    "more points than can be cut": Rated(
        rows=OF_MANY_POINTS, instrument=[describe("fluency", ends=(0, 20))]
    ),
    "raters that are no persons, of every kind": Rated(
        rows=[
            {**row, "person": "no"}
            for row in [
                *OF_MANY_POINTS,
                *rate("tone", 27, A=0, B=0.7),
                *decide("acceptable", 4, A=0, B=0.8),
                *measure("naturalness", 5, A=0, B=0.4),
                *prefer("better", 3, A=0, B=0.4),
            ]
            # some outputs have one rating
            if (row["participant"], row["group"]) not in {("p1", "g1"), ("p2", "g1"), ("p3", "g1")}
        ],
        instrument=[
            describe("fluency", ends=(0, 20)),
            describe("tone"),
            DECISION,
            MAGNITUDE,
            PREFERENCE,
        ],
    ),
    "clusters, raters that are no persons": Rated(
        rows=[
            {**row, "person": "no", "cluster": f"talk{int(row['group'][1:]) % 4}"}
            for row in rate("fluency", 11, raters=4, items=12, A=0, B=0.5)
        ],
        instrument=[describe("fluency")],
    ),
    "margins of differences without any spread": Rated(
        rows=[
            *follow("fluency", items=12, B=1, C=0),
            # D alone varies, so there is a model
            *(
                {**row, "system": "D", "output_id": f"{row['group']}#D"}
                for row in rate("fluency", 23, raters=3, items=12, A=0.5)
            ),
            *follow("errors", items=12, better="lower", B=1),
            *follow("adequacy", items=9, B=1),
            *({**row, "value": 4} for row in rate("tone", 24, items=10, A=0, B=1)),
            *(
                {**row, "outcome": "1" if row["system_1"] == "A" else row["outcome"]}
                for row in prefer("better", 25, raters=3, items=10, A=0, B=0.5, C=0)
            ),
        ],
        instrument=[
            describe("fluency"),
            describe("errors", better="lower"),
            describe("adequacy"),
            describe("tone"),
            PREFERENCE,
        ],
        plan={
            "margins": [
                *plan_margins(
                    "fluency",
                    ("B", "not_worse", "A", 0.5),
                    ("A", "not_worse", "B", 0.5),
                    ("A", "not_worse", "B", 1),
                    ("A", "equivalent", "B", 1.5),
                    ("B", "equivalent", "A", 0.5),
                    ("C", "equivalent", "A", 0.1),
                    ("D", "not_worse", "A", 1.5),
                ),
                *plan_margins("errors", ("B", "not_worse", "A", 0.5)),
                *plan_margins("adequacy", ("B", "not_worse", "A", 0.5)),
                *plan_margins("tone", ("B", "not_worse", "A", 0.5), ("B", "not_worse", "A", 3)),
                *plan_margins(
                    "better",
                    ("A", "not_worse", "B", 0.2),
                    ("B", "not_worse", "A", 0.2),
                    ("C", "not_worse", "B", 0.4),
                ),
            ],
        },
    ),
    "two systems compared by preference": Rated(
        rows=prefer("better", 3, A=0, B=0.9), instrument=[PREFERENCE]
    ),
    "preferences with a baseline and a margin": Rated(
        rows=prefer("better", 3, A=0, B=0.4, C=1.1),
        instrument=[PREFERENCE],
        plan={
            "baseline": "B",
            "margins": [
                {
                    "criterion": "better",
                    "system": "C",
                    "relation": "not_worse",
                    "other": "B",
                    "margin": 0.3,
                }
            ],
        },
    ),
    "every kind at once": Rated(
        rows=prefer("better", 3, A=0, B=0.4, C=1.1)
        + rate("fluency", 1, A=0, B=0.5, C=1.2)
        + decide("acceptable", 4, A=0, B=0.8, C=-0.6)
        + measure("naturalness", 5, A=0, B=0.4, C=1.0),
        instrument=[PREFERENCE, describe("fluency"), DECISION, MAGNITUDE],
    ),
    "an error for each pair, and hypotheses": Rated(
        rows=rate("fluency", 6, raters=6, A=0, B=0.1, C=1, D=0.8),
        instrument=[describe("fluency")],
        plan={
            "has_own_errors": True,
            "hypotheses": [
                {"criterion": "fluency", "system": "C", "relation": "differs", "other": "A"},
                {"criterion": "fluency", "system": "D", "relation": "differs", "other": "B"},
            ],
        },
    ),
    "slices of a margin, in two of which a system is worse": Rated(
        rows=[
            # in French all differences are equal
            {
                **row,
                "value": {"de": {"B": 1}, "fr": {"A": 4, "B": 2}}.get(
                    name_language(row["group"]), {}
                ).get(row["system"], row["value"]),
            }
            for row in rate("fluency", 21, raters=5, items=80, A=0, B=2)
        ],
        items="item,item_no,group_no,system,output,language,extra\n"
        + "".join(
            f"g{item},{item},{item},A,text,{name_language(f'g{item}')},\n" for item in range(80)
        ),
        instrument=[describe("fluency")],
        plan={
            "margins": [
                {
                    "criterion": "fluency",
                    "system": "B",
                    "relation": "not_worse",
                    "other": "A",
                    "margin": 0.9,
                    "level": 0.025,
                    "slices": "language",
                },
            ],
        },
    ),
    "turns of conversations": Rated(
        rows=OF_TURNS,
        instrument=[describe("tone", "likert", "turns") | {"answers": []}],
        columns=["turn"],
    ),
    "options of a choice, one of them never taken": Rated(
        rows=OF_CHOICE,
        instrument=[describe("kind", "choice", "categories", ends=(1, 4)) | {"options": OPTIONS}],
        columns=["part", "option"],
    ),
    "statements of a checklist": Rated(
        rows=OF_CHECKLIST,
        instrument=[describe("facts", "checklist", "shares", ends=(0, 1))],
        columns=["part"],
    ),
    "clusters of inputs": Rated(
        rows=[
            {**row, "cluster": f"talk{int(row['group'][1:]) % 4}"}
            for row in rate("fluency", 11, raters=4, items=12, A=0, B=0.5, C=1.2)
        ],
        instrument=[describe("fluency")],
    ),
    "each output rated by two of six people": Rated(
        rows=random.Random(1).sample(rate("fluency", 12, raters=6, items=20, A=0, B=0.5, C=1), 140),
        instrument=[describe("fluency")],
    ),
    "a system that only one person rated": Rated(
        rows=[
            row
            for row in rate("fluency", 13, A=0, B=0.5, C=1)
            if row["system"] != "C" or row["participant"] == "p0"
        ],
        instrument=[describe("fluency")],
    ),
    "one input": Rated(
        rows=rate("fluency", 14, items=1, A=0, B=1), instrument=[describe("fluency")]
    ),
    "one rater": Rated(
        rows=rate("fluency", 15, raters=1, A=0, B=1), instrument=[describe("fluency")]
    ),
    "raters that are no persons": Rated(
        rows=[{**row, "person": "no"} for row in rate("fluency", 16, A=0, B=1)],
        instrument=[describe("fluency")],
    ),
    "ratings that are all equal": Rated(
        rows=[{**row, "value": 4} for row in rate("fluency", 17, A=0, B=1)]
        + rate("adequacy", 2, A=0, B=0.6),
        instrument=[describe("fluency"), describe("adequacy")],
    ),
}


@pytest.mark.each_once
@pytest.mark.torture
@pytest.mark.parametrize("name", OTHERS)
def test_script_gives_every_cell_of_the_report_of_other_studies(
    name: str, script: Script, tmp_path: Path
) -> None:
    comparison = OTHERS[name].compare(script, tmp_path)

    assert [str(fault) for fault in comparison.faults] == []
    assert comparison.alike == comparison.verdicts > 0
    assert comparison.left_out == 0


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("name", "fails_in", "outcomes"),
    [
        (
            "margins of differences without any spread",
            "",
            # pass, fail, at the margin, within, beyond, equal
            ["pass", "fail", "undecided", "pass", "fail", "pass"],
        ),
        ("slices of a margin, in two of which a system is worse", "de; fr", ["fail"]),
    ],
)
def test_python_gives_the_outcomes_of_margins(
    name: str, fails_in: str, outcomes: list[str], tmp_path: Path
) -> None:
    comparison = OTHERS[name].compare(PYTHON, tmp_path)

    assert [str(fault) for fault in comparison.faults] == []
    margins = read(tmp_path / PYTHON.folder / "margins.csv")
    assert margins[0]["fails_in"] == fails_in
    assert [row["outcome"] for row in margins][: len(outcomes)] == outcomes


@pytest.mark.one_case
@pytest.mark.parametrize(
    "name",
    [
        "more points than can be cut",
        "raters that are no persons, of every kind",
        "clusters, raters that are no persons",
        "one input",
    ],
)
def test_python_gives_every_interval_of_agreement(name: str, tmp_path: Path) -> None:
    comparison = OTHERS[name].compare(PYTHON, tmp_path)

    assert [str(fault) for fault in comparison.faults] == []
    agreement = read(tmp_path / PYTHON.folder / "agreement.csv")
    # on one input nothing can be said of others
    has_intervals = name != "one input"
    assert {bool(row["low"]) for row in agreement} == {has_intervals}


@pytest.mark.torture
def test_above_2000_ratings_python_reads_the_fit_of_r(tmp_path: Path) -> None:
    need_r()
    rated = Rated(
        rows=rate("fluency", 18, raters=17, items=60, A=0, B=0.4),
        instrument=[describe("fluency")],
    )

    assert len(rated.rows) > 2000
    for script in (R, PYTHON):
        comparison = rated.compare(script, tmp_path)
        assert [str(fault) for fault in comparison.faults] == []
        assert comparison.alike == 1


def test_above_2000_ratings_python_asks_for_the_tables_of_r(tmp_path: Path) -> None:
    write(rate("fluency", 18, raters=17, items=60, A=0, B=0.4), tmp_path)
    (tmp_path / "made.csv").rename(tmp_path / "ratings.csv")

    done = run_alone(PYTHON, tmp_path)

    assert done.returncode == 1
    assert "run analysis.R first" in done.stderr


# --- what a comparison finds ----------------------------------------------------------------


def change_cell(path: Path, row: int, **cells: str) -> None:
    rows = read(path)
    rows[row] |= cells
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def decided(tmp_path: Path) -> tuple[dict[str, Any], Path]:
    """The report of a study, and the folder of its tables."""
    rated, _ = STUDIES["decisions with a baseline"]
    report = rated.report(tmp_path)["kept"]
    run(PYTHON, tmp_path, rated.write_ratings(tmp_path), plan=rated.make_plan())
    return report, tmp_path / PYTHON.folder


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("table", "cells"),
    [
        ("pairs", {"estimate": "0.9"}),
        ("pairs", {"verdict": "lower"}),
        ("pairs", {"family": "3"}),
        ("pairs", {"p": ""}),
        ("pairs", {"df": "1"}),
        ("systems", {"low": "0.2"}),
        ("variances", {"share": "0.9"}),
        ("joint_tests", {"p": "0.5"}),
        ("agreement", {"value": "0.99"}),
    ],
)
def test_a_cell_that_differs_is_a_fault(
    table: str, cells: dict[str, str], decided: tuple[dict[str, Any], Path]
) -> None:
    report, folder = decided
    change_cell(folder / f"{table}.csv", 0, **cells)

    comparison = compare_tables(report, folder, PYTHON)

    assert [(fault.code, fault.file) for fault in comparison.faults] == [
        ("script_differs", f"tables-python/{table}.csv")
    ]


@pytest.mark.torture
def test_a_verdict_beside_5_percent_is_no_fault(decided: tuple[dict[str, Any], Path]) -> None:
    report, folder = decided
    pair = report["criteria"][0]["pairs"][0]
    pair["effect"]["details"]["p_corrected"] = 0.0495
    pair["finding"]["code"] = "higher"
    rows = read(folder / "pairs.csv")
    place = next(at for at, row in enumerate(rows) if row["system_1"] == pair["system_1"])
    change_cell(folder / "pairs.csv", place, p_corrected="0.0505", verdict="not_enough")

    comparison = compare_tables(report, folder, PYTHON)

    assert (comparison.faults, len(comparison.remarks)) == ([], 1)
    assert (comparison.alike, comparison.verdicts) == (1, 2)


def test_a_pair_that_the_script_left_out_is_counted(decided: tuple[dict[str, Any], Path]) -> None:
    report, folder = decided
    rows = read(folder / "pairs.csv")
    with (folder / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerow(rows[0] | {"p_corrected": rows[0]["p"], "family": "1"})

    comparison = compare_tables(report, folder, PYTHON)

    assert (comparison.faults, comparison.left_out) == ([], 1)


# --- figures from elsewhere -----------------------------------------------------------------


def read_vector(name: str) -> Any:
    return json.loads((VECTORS / "expected" / f"{name}.json").read_text())["expected"]


def rows_of(name: str) -> Rows:
    with (VECTORS / "data" / name).open() as file:
        return [
            {"participant": row["rater"], "group": row["item"], "system": row["system"],
             "cluster": row.get("cluster", ""), "value": row["value"], "scale": "slider",
             "scale_max": 7}
            for row in csv.DictReader(file)
        ]  # fmt: skip


# complete, with a variance at 0, one rating missing, pages, single outputs, clusters
@pytest.mark.one_case
@pytest.mark.parametrize(
    "name",
    ["compare_small7", "joint_alike", "joint_minus1", "joint_pages", "joint_singles",
     "joint_clusters"],
)  # fmt: skip
def test_scripts_give_the_figures_of_the_recommended_model(
    name: str, script: Script, tmp_path: Path
) -> None:
    expected = read_vector(f"joint__{name}")["pairs"]

    tables = run(script, tmp_path, write(rows_of(f"{name}.csv"), tmp_path))

    assert len(tables["pairs"]) == len(expected)
    for row in tables["pairs"]:
        key = f"{row['system_1']}-{row['system_2']}"
        pair = expected.get(key) or expected[f"{row['system_2']}-{row['system_1']}"]
        assert float(row["estimate"]) == pytest.approx(abs(pair["difference"]), abs=1e-5)
        assert float(row["se"]) == pytest.approx(pair["se"], abs=1e-5)
        assert float(row["df"]) == pytest.approx(pair["df"], abs=0.01)
        assert float(row["p"]) == pytest.approx(pair["p"], abs=1e-5)
        assert float(row["p_corrected"]) == pytest.approx(pair["p_holm"], abs=1e-5)


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["compare_small7", "joint_clusters"])
def test_scripts_give_the_joint_test_and_standardised_effects_of_other_software(
    name: str, script: Script, tmp_path: Path
) -> None:
    tables = run(script, tmp_path, write(rows_of(f"{name}.csv"), tmp_path))

    joint, effects = read_vector(f"v3_f_test__{name}"), read_vector(f"v3_effect__{name}")
    (row,) = tables["joint_tests"]
    for key in ("f", "df1", "df2", "p"):
        assert float(row[key]) == pytest.approx(joint[key], abs=4e-3)
    assert sorted(float(row["share"]) for row in tables["variances"]) == pytest.approx(
        sorted(effects["share"].values()), abs=3e-3
    )
    for row in tables["pairs"]:
        key = f"{row['system_1']}-{row['system_2']}"
        if key in effects["pairs"]:
            pair = effects["pairs"][key]
            assert float(row["d"]) == pytest.approx(pair["d"], abs=3e-3)
            assert float(row["d_low"]) == pytest.approx(pair["low"], abs=3e-3)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("name", "scale", "names"),
    [
        ("three5", "likert", ["alpha_ordinal", "ac2", "alpha_interval"]),
        ("rank_of_ten5", "likert", ["alpha_ordinal", "ac2", "alpha_interval"]),
        ("rare_yes", "decision", ["alpha_nominal", "ac1"]),
        ("slider", "slider", ["alpha_interval"]),
    ],
)
def test_python_gives_the_agreement_of_other_software(
    name: str, scale: str, names: list[str], tmp_path: Path
) -> None:
    expected = read_vector(f"v3_agreement__{name}")
    rows = rows_of(f"v3_agreement__{name}.csv")
    ends = {"likert": (1, 5), "decision": (0, 1), "slider": (0, 100)}[scale]
    rows = [{**row, "scale": scale, "scale_min": ends[0], "scale_max": ends[1]} for row in rows]

    tables = run(PYTHON, tmp_path, write(rows, tmp_path))

    agreement = {row["coefficient"]: row for row in tables["agreement"]}
    for coefficient in names:
        for end in ("value", "low", "high"):
            figure = expected[coefficient][end]
            assert float(agreement[coefficient][end]) == pytest.approx(figure, abs=0.002)


@pytest.mark.one_case
def test_scripts_give_the_preferences_of_other_software(script: Script, tmp_path: Path) -> None:
    with (VECTORS / "data" / "pairs_raters.csv").open() as file:
        rows = [
            {"participant": row["rater"], "group": row["item"], "output_id": "",
             "item": f"{row['item']}-{row['first']}-{row['second']}", "scale": "preference",
             "system_1": row["first"], "system_2": row["second"],
             "outcome": {"1": "2", "0": "tie", "-1": "1"}[row["value"]], "value": 1}
            for row in csv.DictReader(file)
        ]  # fmt: skip
    expected = read_vector("joint_pairs__pairs_raters")["pairs"]

    tables = run(script, tmp_path, write(rows, tmp_path))

    assert len(tables["pairs"]) == len(expected)
    for row in tables["pairs"]:
        key = f"{row['system_1']}-{row['system_2']}"
        sign = 1 if key in expected else -1
        pair = expected.get(key) or expected[f"{row['system_2']}-{row['system_1']}"]
        assert float(row["estimate"]) == pytest.approx(sign * pair["difference"], abs=2e-3)
        assert float(row["p"]) == pytest.approx(pair["p"], abs=2e-3)


# --- what is read ---------------------------------------------------------------------------


@pytest.mark.one_case
def test_what_never_counts_is_left_out(script: Script, tmp_path: Path) -> None:
    rows: Rows = [
        {"participant": rater, "group": group, "system": system, "value": value}
        for rater, group, system, value in [
            ("p1", "g1", "A", 1), ("p1", "g2", "B", 3), ("p2", "g1", "B", 3), ("p2", "g2", "A", 2),
        ]
    ]  # fmt: skip
    noise: list[dict[str, str]] = [
        # the last is a second rating of one output by one person
        {"kind": "practice"}, {"status": "surplus"}, {"status": "pilot"}, {"excluded": "yes"}, {},
    ]  # fmt: skip
    rows += [{**rows[0], "value": 5, **cells} for cells in noise]
    write(rows, tmp_path)
    (tmp_path / "made.csv").rename(tmp_path / "ratings.csv")

    done = run_alone(script, tmp_path)

    assert done.returncode == 0, done.stderr
    systems = read(tmp_path / script.folder / "systems.csv")
    assert [(row["system"], float(row["mean"])) for row in systems] == [("A", 1.5), ("B", 3)]


@pytest.mark.one_case
def test_items_that_most_ignored_are_left_out(script: Script, tmp_path: Path) -> None:
    rows = rate("quality", 1, items=4, A=0, B=1)
    header = ("kind", "status", "excluded", "item", "outcome")
    answers = [
        ("main", "counted", "no", item, outcome)
        for item, outcome in [("g0", "ignored"), ("g0", "ignored"), ("g0", "rated"),
                              ("g1", "ignored"), ("g1", "rated")]
    ]  # fmt: skip
    with (tmp_path / "annotations.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *answers])

    tables = run(script, tmp_path, write(rows, tmp_path))

    assert [row["n"] for row in tables["systems"]] == ["12", "12"]


BASELINE = 'B "1" \\ ü'


@pytest.mark.one_case
def test_the_plan_is_read_whatever_its_words(script: Script, tmp_path: Path) -> None:
    rows = [
        {**row, "system": BASELINE if row["system"] == "B" else row["system"]}
        for row in rate("quality", 1, items=6, A=0, B=0.5, C=1.2)
    ]
    plan = {
        "answers_before": {"baseline": 3}, "baseline": BASELINE, "baseline_changed_at": "2026",
        "exclusion_rule": 'never "baseline": "C"', "thresholds": {}, "frozen": {"rules": []},
    }  # fmt: skip

    tables = run(script, tmp_path, write(rows, tmp_path), plan=plan)

    assert [(row["system_1"], row["system_2"]) for row in tables["pairs"]] == [
        ("A", BASELINE),
        ("C", BASELINE),
    ]
    assert {row["family"] for row in tables["pairs"]} == {"2"}


@pytest.mark.one_case
@pytest.mark.parametrize("baseline", [None, "nobody rated it"])
def test_without_a_baseline_that_was_rated_every_two_systems_are_compared(
    script: Script, baseline: str | None, tmp_path: Path
) -> None:
    rows = rate("quality", 1, items=6, A=0, B=0.5, C=1.2)

    tables = run(script, tmp_path, write(rows, tmp_path), plan={"baseline": baseline})

    assert len(tables["pairs"]) == 3


@pytest.mark.one_case
def test_lower_values_may_be_better(script: Script, tmp_path: Path) -> None:
    rows = rate("errors", 1, items=8, A=0, B=2)
    criterion = {"key": "errors", "family": "points"}

    higher, lower = (
        run(script, tmp_path, write(rows, tmp_path),
            plan={"criteria": [{**criterion, "better": better}]})["pairs"][0]
        for better in ("higher", "lower")
    )  # fmt: skip

    assert (higher["system_1"], lower["system_1"]) == ("B", "A")
    assert float(lower["estimate"]) == pytest.approx(-float(higher["estimate"]))
    assert lower["p"] == higher["p"]
    assert (higher["verdict"], lower["verdict"]) == ("higher", "lower")


@pytest.mark.one_case
def test_an_unknown_kind_is_analysed_as_its_rows_say(script: Script, tmp_path: Path) -> None:
    rows = [
        {**row, "scale": "of another name"}
        for row in prefer("better", 3, A=0, B=0.9) + measure("size", 5, A=0, B=0.6)
    ]
    # whoever finds that it doesn't apply gives no number
    rows.append({**rows[-1], "participant": "p9", "value": "", "log_ratio": "1"})

    tables = run(script, tmp_path, write(rows, tmp_path))

    assert [row["effect"] for row in tables["pairs"]] == ["net_win_share", "ratio"]
    assert [row["n"] for row in tables["systems"]] == ["40", "40", "32", "32"]


def test_a_file_of_nothing_that_counts_is_refused_in_words(tmp_path: Path) -> None:
    write([{**row, "kind": "practice"} for row in rate("quality", 1, A=0, B=1)], tmp_path)
    (tmp_path / "made.csv").rename(tmp_path / "ratings.csv")

    done = run_alone(PYTHON, tmp_path)

    assert (done.returncode, done.stderr) == (
        1,
        "The file has no counted ratings of main items.\n",
    )


# --- the ordinal check ----------------------------------------------------------------------


Z_OF_B = """
d <- read.csv("{path}")
d$output <- paste(d$group, d$system)
d$taste <- paste(d$participant, d$system)
d$both <- paste(d$participant, d$group)
for (name in c("system", "participant", "group", "output", "taste", "both")) {{
  d[[name]] <- factor(d[[name]])
}}
d$point <- factor(d$value, ordered = TRUE)
m <- ordinal::clmm(point ~ system + (1 | participant) + (1 | group) + (1 | output) + (1 | taste) +
                   (1 | both), data = d)
cat(summary(m)$coefficients["systemB", "z value"])
"""


@pytest.mark.torture
def test_ordinal_check_refers_z_to_the_degrees_of_freedom_of_the_pair(tmp_path: Path) -> None:
    need_r()
    ratings = write(rate("quality", 20, raters=3, items=8, A=0, B=1.5, C=0.5), tmp_path)
    code = Z_OF_B.format(path=tmp_path / "made.csv")
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True)
    z = float(done.stdout)

    tables = run(R, tmp_path, ratings, most_ordinal=5000)

    row = next(row for row in tables["pairs"] if {row["system_1"], row["system_2"]} == {"A", "B"})
    p = float(row["p_ordinal"])
    assert p == pytest.approx(2 * stats.t.sf(abs(z), float(row["df"])), rel=0.01)
    # by z itself it would be far smaller
    assert p > 2 * 2 * stats.norm.sf(abs(z))
    assert p < float(row["p_ordinal_corrected"]) <= 3 * p * (1 + 1e-9)


@pytest.mark.torture
def test_ordinal_check_that_fails_stops_nothing(tmp_path: Path) -> None:
    need_r()
    chance = random.Random(2)
    # few ratings, nearly separated: the ordinal model finds no standard errors
    rows = [
        {"participant": f"p{rater}", "group": f"g{item}", "system": system,
         "value": chance.choice(values)}
        for rater in range(3)
        for item in range(4)
        for system, values in (("A", (1, 1, 2)), ("B", (2, 3, 3)))
    ]  # fmt: skip

    tables = run(R, tmp_path, write(rows, tmp_path), most_ordinal=5000)

    (pair,) = tables["pairs"]
    assert (float(pair["p"]) < 0.05, pair["p_ordinal"]) == (True, "")
    assert "ordinal check" in (tmp_path / R.folder / "notes.txt").read_text()


# --- words ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["analysis.R", "analysis.py"])
def test_scripts_say_what_is_computed_in_the_words_of_the_report(name: str) -> None:
    text = " ".join(read_scripts()[name].replace("\n#", "\n").split())

    assert describe_methods() in text
    assert "@@" not in text
