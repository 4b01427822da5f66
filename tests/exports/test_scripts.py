"""The scripts that go with the data run as they are, and agree with figures from elsewhere."""

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
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from evalsite.annotation.models import Annotation, Rating, Slot
from evalsite.exports.columns import RATINGS
from evalsite.exports.scripts import read_scripts
from evalsite.quality.models import AnalysisPlan
from evalsite.results.report.computation import analyse_study
from evalsite.scales.preference import Preference
from evalsite.studies.models import Study
from tests.support.batches import import_rows, make_rows
from tests.support.exports import START, export, main_items
from tests.support.protocols import each_protocol

pytestmark = pytest.mark.slow

FORKS = Path(__file__).parents[1] / "support" / "forks.R"
VECTORS = Path(__file__).parents[2] / "fixtures" / "reference"
PEOPLE = 4

Row = dict[str, str]
Tables = dict[str, list[Row]]


@pytest.fixture(params=["analysis.py", "analysis.R"])
def script(request: pytest.FixtureRequest) -> str:
    if request.param == "analysis.R":
        need_r()
    return str(request.param)


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
    told = output.readline().strip() if output else ""
    return "" if told == "R lacks:" else told


def run(
    script: str,
    folder: Path,
    ratings: bytes,
    *,
    most_ordinal: int = 0,
    plan: Any = None,
    is_alone: bool = False,
) -> Tables:
    """The tables that the script makes of this file; without the ordinal check, which is slow.

    `plan`: what stands beside the script as analysis-plan.json. `is_alone`: a program starts.
    """
    if plan is not None:
        text = json.dumps(plan, indent=2, sort_keys=True, ensure_ascii=False)
        (folder / "analysis-plan.json").write_text(text, encoding="utf-8")
    (folder / "ratings.csv").write_bytes(ratings)
    (folder / script).write_text(read_scripts()[script], encoding="utf-8")
    if is_alone:
        program = sys.executable if script.endswith(".py") else "Rscript"
        done = subprocess.run(
            [program, script, "ratings.csv", "out"],
            cwd=folder,
            env=os.environ | {"MOST_ORDINAL": str(most_ordinal)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    elif script == "analysis.R":
        (folder / "most-ordinal").write_text(f"{most_ordinal}\n", encoding="utf-8")
        run_in_a_fork(folder)
    else:
        with chdir(folder):
            runpy.run_path(script)["main"]("ratings.csv", "out")
    return {name: read(folder / "out" / f"{name}.csv") for name in ("systems", "pairs")}


@cache
def start_r() -> subprocess.Popen[str]:
    """The R that runs the scripts of this process's tests: to load its packages takes longest."""
    process = subprocess.Popen(
        ["Rscript", str(FORKS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    # at the end of its input it ends, too
    atexit.register(process.communicate)
    return process


def run_in_a_fork(folder: Path) -> None:
    process = start_r()
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{folder}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "\n"


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def write(rows: Iterable[dict[str, Any]], folder: Path, *, more: Iterable[str] = ()) -> bytes:
    """Rows of ratings.csv, with what a counted Likert rating of this site has in every one.

    `more`: columns that only some studies have.
    """
    path = folder / "made.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*(column.name for column in RATINGS), *more], restval="")
        writer.writeheader()
        for number, row in enumerate(rows):
            writer.writerow(
                {
                    "kind": "main", "status": "counted", "excluded": "no", "origin": "own",
                    "person": "yes", "criterion": "quality", "scale": "likert", "scale_min": 1,
                    "scale_max": 7, "item": row["group"], "annotation": number,
                    "output_id": f"{row['group']}#{row.get('system')}", **row,
                }
            )  # fmt: skip
    return path.read_bytes()


def test_r_script_gives_the_figures_of_the_recommended_model(tmp_path: Path) -> None:
    need_r()
    with (VECTORS / "data" / "compare_small7.csv").open() as file:
        ratings = [
            {"participant": row["rater"], "group": row["item"], **row}
            for row in csv.DictReader(file)
        ]
    rows = [{k: row[k] for k in ("participant", "group", "system", "value")} for row in ratings]
    path = VECTORS / "expected" / "joint__compare_small7.json"
    expected = json.loads(path.read_text())["expected"]["pairs"]

    tables = run("analysis.R", tmp_path, write(rows, tmp_path))

    for row in tables["pairs"][:2]:
        assert row["system_1"] == "A"
        wanted = expected[f"{row['system_2']}-A"]
        assert float(row["estimate"]) == pytest.approx(-wanted["difference"], abs=1e-5)
        assert float(row["df"]) == pytest.approx(wanted["df"], abs=0.01)
        assert float(row["p"]) == pytest.approx(wanted["p"], abs=1e-5)


def test_ratings_of_whoever_liked_a_system_most_do_not_decide(script: str, tmp_path: Path) -> None:
    scores = {"A": ((90, 91, 92), (20, 21, 22)), "B": ((10, 12, 14), (80, 82, 84))}
    rows = [
        {
            "participant": f"p{rater}", "group": f"g{item}", "system": system, "value": value,
            "scale_max": 100,
        }
        for system, by_rater in scores.items()
        for rater, values in enumerate(by_rater)
        for item, value in enumerate(values)
    ]  # fmt: skip

    tables = run(script, tmp_path, write(rows, tmp_path))

    assert [(row["n"], float(row["mean"])) for row in tables["systems"]] == [("6", 56), ("6", 47)]
    (pair,) = tables["pairs"]
    assert float(pair["estimate"]) == pytest.approx(9, abs=1e-3)
    assert float(pair["low"]) < 0 < float(pair["high"])


def test_what_never_counts_is_left_out(script: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"participant": rater, "group": group, "system": system, "value": value}
        for rater, group, system, value in [
            ("p1", "g1", "A", 1), ("p1", "g2", "B", 3), ("p2", "g1", "B", 3), ("p2", "g2", "A", 2),
        ]
    ]  # fmt: skip
    noise: list[dict[str, str]] = [
        {"kind": "practice"}, {"status": "surplus"}, {"status": "pilot"}, {"excluded": "yes"},
    ]  # fmt: skip
    rows += [{**rows[0], "value": 7, **one} for one in noise]

    systems = run(script, tmp_path, write(rows, tmp_path), is_alone=True)["systems"]

    assert [(row["system"], float(row["mean"])) for row in systems] == [("A", 1.5), ("B", 3)]


def test_ordinal_check_stands_beside_the_test_of_means(tmp_path: Path) -> None:
    need_r()
    chance = random.Random(2)
    rows = [
        {"participant": f"p{rater}", "group": f"g{item}", "system": system,
         "value": chance.choice(values)}
        for rater in range(5)
        for item in range(6)
        for system, values in (("A", (1, 2, 3, 4, 5)), ("B", (3, 4, 5, 6, 7)))
    ]  # fmt: skip

    tables = run("analysis.R", tmp_path, write(rows, tmp_path), most_ordinal=5000)

    (pair,) = tables["pairs"]
    assert float(pair["p_holm"]) < 0.05
    assert float(pair["p_ordinal_holm"]) < 0.05


def test_ordinal_check_that_fails_is_told_and_stops_nothing(tmp_path: Path) -> None:
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

    tables = run("analysis.R", tmp_path, write(rows, tmp_path), most_ordinal=5000)

    (pair,) = tables["pairs"]
    assert (float(pair["p_holm"]) < 0.05, pair["p_ordinal_holm"]) == (True, "")
    assert "the ordinal check failed" in (tmp_path / "out" / "notes.txt").read_text()


# ratios and preferences
@pytest.mark.parametrize("protocol", each_protocol("magnitude", "pairwise"))
def test_both_scripts_read_the_export_of_a_study_alike(
    make_study: Callable[..., Any], protocol: str, tmp_path: Path
) -> None:
    need_r()
    study = make_study(protocol=protocol, items=0)
    import_rows(study, make_rows(study.config, items=3, outputs=max(2, study.config.outputs[0])))
    rate_all(study)
    ratings = export(study)

    one, two = (run(name, tmp_path, ratings) for name in ("analysis.py", "analysis.R"))

    assert {row["criterion"] for row in one["systems"]} == set(study.config.criterion_by_key)
    for table in ("systems", "pairs"):
        assert [tell(row) for row in one[table]] == [tell(row) for row in two[table]]


def tell(row: Row) -> list[str]:
    """What is counted, not estimated: the same in any program."""
    keys = ("criterion", "system", "n", "points", "system_1", "system_2", "effect", "wins", "ties")
    return [row.get(key, "").removesuffix(".0") for key in keys]


def rate_all(study: Study) -> None:
    """Some people have rated every item, at random from a fixed seed."""
    chance = random.Random(5)
    people = [study.participants.create() for _ in range(PEOPLE)]  # type: ignore[attr-defined]
    for item in main_items(study):
        for no, person in enumerate(people):
            slot = Slot.objects.create(
                study=study, item=item, no=no, pos=no, arrangement=0, state=2, participant=person
            )
            outputs = list(item.outputs.all())  # type: ignore[attr-defined]
            annotation = Annotation.objects.create(
                study=study, item=item, participant=person, slot=slot, status="counted",
                key=uuid4(), started_at=START, submitted_at=START, order_shown=[0, 1, 2],
            )  # fmt: skip
            Rating.objects.bulk_create(
                Rating(study=study, annotation=annotation, **cells)
                for cells in choose_values(study, outputs, chance)
            )


def choose_values(
    study: Study, outputs: list[Any], chance: random.Random
) -> Iterator[dict[str, Any]]:
    for criterion in study.config.criteria:
        scale = criterion.scale
        if isinstance(scale, Preference):
            preferred = chance.choice([*outputs, None])
            value = int(preferred is not None)
            yield {"criterion": criterion.key, "output": preferred, "value": value}
            continue
        for output in outputs:
            value = chance.randint(scale.minimum, min(scale.maximum, 200))
            yield {"criterion": criterion.key, "output": output, "value": value}


# --- with a baseline ------------------------------------------------------------------------

BASELINE = 'B "1" \\ ü'
NAMES = ("A", BASELINE, "C")
# as a bundle has it, with words that only look like the key
PLAN = {
    "answers_before": {"baseline": 3}, "baseline": BASELINE, "baseline_changed_at": "2026-11-22",
    "exclusion_rule": 'never "baseline": "C"', "thresholds": {},
}  # fmt: skip


def rate_outputs(scale: str) -> list[dict[str, Any]]:
    """Likert ratings, or preferences, of three systems by a few people."""
    chance = random.Random(3)
    shared = [(f"p{rater}", f"g{item}") for rater in range(5) for item in range(8)]
    if scale == "likert":
        return [
            {"participant": rater, "group": item, "system": name, "scale": scale,
             "value": chance.choice(values)}
            for rater, item in shared
            for name, values in zip(NAMES, ((1, 2, 3), (2, 3, 4), (3, 4, 5)), strict=True)
        ]  # fmt: skip
    rows = []
    for rater, group in shared:
        for place, (one, two) in enumerate((("A", BASELINE), ("A", "C"), (BASELINE, "C"))):
            outcome = chance.choice(["1", "2", "2", "tie"])
            preferred = {"1": one, "2": two, "tie": ""}[outcome]
            rows.append(
                {"participant": rater, "group": f"{group}-{place}", "system_1": one,
                 "system_2": two, "outcome": outcome, "preferred": preferred, "scale": scale,
                 "value": int(outcome != "tie"), "shown_first": one}
            )  # fmt: skip
    return rows


@pytest.mark.each_once
@pytest.mark.parametrize("scale", ["likert", "preference"])
def test_with_a_baseline_in_the_plan_only_pairs_with_it_are_compared(
    script: str, scale: str, tmp_path: Path
) -> None:
    ratings = write(rate_outputs(scale), tmp_path)
    every = run(script, tmp_path, ratings, plan={"baseline": ""})
    found = run(script, tmp_path, ratings, plan=PLAN)

    assert [tell(row) for row in found["systems"]] == [tell(row) for row in every["systems"]]
    pairs = {row["system_1"]: row for row in found["pairs"]}
    was = {(row["system_1"], row["system_2"]): row for row in every["pairs"]}
    assert len(was) == 3
    assert [row["system_2"] for row in found["pairs"]] == [BASELINE] * 2
    same, turned = was["A", BASELINE], was[BASELINE, "C"]
    assert float(pairs["A"]["estimate"]) == pytest.approx(float(same["estimate"]))
    assert float(pairs["C"]["estimate"]) == pytest.approx(-float(turned["estimate"]))
    assert float(pairs["C"]["low"]) == pytest.approx(-float(turned["high"]), abs=0.05)
    if scale == "preference":
        assert pairs["C"]["wins"] == turned["losses"]
    if script == "analysis.R":
        least, most = sorted(pairs.values(), key=lambda row: float(row["p"]))
        holm = min(1, 2 * float(least["p"]))
        assert float(least["p_holm"]) == pytest.approx(holm)
        assert float(most["p_holm"]) == pytest.approx(max(holm, float(most["p"])))


@pytest.mark.each_once
@pytest.mark.parametrize("plan", [{"baseline": None}, {"baseline": "nobody rated it"}])
def test_without_a_baseline_that_was_rated_every_two_systems_are_compared(
    script: str, plan: dict[str, Any], tmp_path: Path
) -> None:
    tables = run(script, tmp_path, write(rate_outputs("likert"), tmp_path), plan=plan)

    assert len(tables["pairs"]) == 3


def test_scripts_compare_what_the_results_page_compares(
    make_study: Callable[..., Any], script: str, tmp_path: Path, settings: Any
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    study = make_study(protocol="magnitude", items=0)
    import_rows(study, make_rows(study.config, items=3, outputs=3))
    rate_all(study)
    baseline = study.systems.order_by("name")[1].name
    AnalysisPlan.objects.create(study=study, baseline=baseline)

    tables = run(script, tmp_path, export(study), plan={"baseline": baseline})

    shown = analyse_study(study)[0]["kept"]["criteria"]
    assert {(row["criterion"], row["system_1"], row["system_2"]) for row in tables["pairs"]} == {
        (one["key"], pair["system_1"], pair["system_2"]) for one in shown for pair in one["pairs"]
    }


def test_numbers_of_an_unknown_kind_are_analysed_as_points(script: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "participant": f"p{rater}", "group": f"g{item}", "system": system,
            "value": 40 + 10 * better + 3 * rater + item % 4, "scale": "slider", "scale_min": 0,
            "scale_max": 100,
        }
        for rater in range(4)
        for item in range(6)
        for system, better in (("A", 1 + 0.1 * (item % 2)), ("B", 0))
    ]  # fmt: skip
    # whoever found that it doesn't apply gave no number
    rows.append(rows[0] | {"participant": "p9", "value": ""})

    tables = run(script, tmp_path, write(rows, tmp_path))

    assert [(row["n"], row["points"]) for row in tables["systems"]] == [("24", ""), ("24", "")]
    (pair,) = tables["pairs"]
    assert pair["effect"] == "difference"
    assert float(pair["estimate"]) == pytest.approx(10.5, abs=0.01)


def test_turns_of_a_conversation_count_once_by_their_mean(script: str, tmp_path: Path) -> None:
    rows = [
        row | {"scale": "slider", "annotation": number}
        for number, row in enumerate(rate_whole_conversations())
    ]
    by_turn = [
        row | {"turn": turn, "value": row["value"] + more}
        for row in rows
        for turn, more in ((1, -1), (2, 0), (4, 1))
    ]
    options = [row | {"turn": 1, "scale": "choice", "criterion": "which"} for row in rows]
    whole = run(script, tmp_path, write(rows, tmp_path))

    tables = run(script, tmp_path, write(by_turn + options, tmp_path, more=["turn"]))

    assert tables == whole


def test_a_file_of_nothing_but_options_of_turns_is_refused_in_words(tmp_path: Path) -> None:
    program = "analysis.py"
    rows = [row | {"turn": "2", "scale": "choice"} for row in rate_whole_conversations()]
    (tmp_path / program).write_text(read_scripts()[program], encoding="utf-8")
    (tmp_path / "ratings.csv").write_bytes(write(rows, tmp_path, more=["turn"]))

    done = subprocess.run(
        [sys.executable, program, "ratings.csv", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert f"{len(rows)} ratings of turns of conversations are left out" in done.stdout
    assert done.stderr == "No other ratings are in the file.\n"


def rate_whole_conversations() -> list[dict[str, Any]]:
    return [
        {
            "participant": f"p{rater}", "group": f"g{item}", "system": system,
            "value": 3 + better + (rater + item) % 2,
        }
        for rater in range(4)
        for item in range(6)
        for system, better in (("A", 1 + item % 2), ("B", 0))
    ]  # fmt: skip


def rate_by_a_standard(scale: str) -> list[dict[str, Any]]:
    """Magnitudes of two systems, with what the export adds of their standard."""
    chance = random.Random(5)
    values = [
        (f"p{rater}", f"g{item}", system, round(100 * worth * chance.uniform(0.5, 2)))
        for rater in range(4)
        for item in range(6)
        for system, worth in (("A", 1.2), ("B", 0.8))
    ]
    return [
        {"participant": rater, "group": item, "system": system, "value": value, "scale": scale,
         "scale_max": 999_999, "standard": 100, "log_ratio": math.log(value / 100)}
        for rater, item, system, value in values
    ]  # fmt: skip


@pytest.mark.each_once
@pytest.mark.parametrize(
    ("rate", "kind"), [(rate_by_a_standard, "magnitude"), (rate_outputs, "preference")]
)
def test_an_unknown_kind_is_analysed_as_its_rows_say(
    script: str, rate: Callable[[str], Any], kind: str, tmp_path: Path
) -> None:
    rows = rate(kind)
    known = run(script, tmp_path, write(rows, tmp_path))
    renamed = [row | {"scale": "of another name"} for row in rows]

    tables = run(script, tmp_path, write(renamed, tmp_path))

    kept = ("effect", "estimate", "low", "high")
    for table in ("systems", "pairs"):
        assert [[row.get(name) for name in kept] for row in tables[table]] == [
            [row.get(name) for name in kept] for row in known[table]
        ]
    assert {row["effect"] for row in tables["pairs"]} <= {"ratio", "net win share", "strength"}
