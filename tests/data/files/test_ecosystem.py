"""The files that go out, loaded by the programs they are for, which have settings of their own.

They are in an environment of their own, with the extra `ecosystem-tests`: `make torture` makes it.
Expected rows are counted from ratings.csv, not from the code that writes the tables.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any
from zipfile import ZipFile

import pytest

from evalsite.data.files.dataset import DatasetOptions
from evalsite.data.files.scripts import read_scores_script
from evalsite.data.management.commands.export_bundle import export_scores
from evalsite.results.documents.dataset_card import write_dataset_folder
from evalsite.studies.models import Output, Study
from tests.data.files.test_dataset import HOSTILE
from tests.support.bundles import close, make_full_study, pack
from tests.support.datasets import (
    GIVING_OUT,
    Row,
    import_from_tool,
    make_compared,
    make_rated,
    rate_as_in_the_example,
)
from tests.support.exports import export, read
from tests.torture import ecosystem_loads

ROOT = Path(__file__).resolve().parents[3]
PYTHON = Path(
    os.environ.get("EVALSITE_TEST_ECOSYSTEM", ROOT / "var/test-tools/ecosystem/bin/python")
)
needs_programs = pytest.mark.skipif(
    not PYTHON.exists(), reason="the extra ecosystem-tests isn't installed: make torture does it"
)
pytestmark = [pytest.mark.django_db, pytest.mark.torture]
LOGS = [GIVING_OUT / f"inspect/{name}.json" for name in ("alpha", "beta")]
_SECONDS = 600


def load(folder: Path, check: str, *arguments: Any) -> Any:
    """What another program read, in a folder of its own."""
    words = [PYTHON, "-P", ecosystem_loads.__file__, check, *arguments]
    env = os.environ | {"HF_HOME": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    result = subprocess.run(
        words, check=False, timeout=_SECONDS, capture_output=True, text=True, env=env
    )
    assert result.returncode == 0, result.stderr[-3_000:]
    return json.loads(result.stdout.splitlines()[-1])


def digest(rows: Iterable[Any]) -> str:
    return sha256(json.dumps(sorted(map(repr, rows))).encode()).hexdigest()


def read_counted(study: Study) -> list[dict[str, str]]:
    """Rows of ratings.csv that results count, of people who share them."""
    rows = read(export(study, "ratings", only_shared=study.asks_to_share))
    return [row for row in rows if (row["kind"], row["status"]) == ("main", "counted")]


def read_texts(study: Study) -> dict[str, str]:
    return {row["output_id"]: row["output"] for row in read(export(study, "items"))}


def make_number(cell: str) -> float | None:
    return float(cell) if cell else None


def check_table(loaded: Row, types: dict[str, str], ids: set[str]) -> list[Row]:
    """Counts, columns and ids are those expected, in `datasets` and in `pandas`."""
    rows: list[Row] = loaded["rows"]
    assert loaded["pandas_rows"] == len(rows)
    assert loaded["pandas_columns"] == [*types]
    named = {
        "list": "List(Value('string'))",
        "messages": "List({'role': Value('string'), 'content': Value('string')})",
    }
    assert loaded["types"] == {
        name: named.get(kind, f"Value('{kind}')") for name, kind in types.items()
    }
    if ids:
        first = next(iter(types))
        assert {row[first] for row in rows} == set(loaded["pandas_ids"]) == ids
    return rows


@needs_programs
@pytest.mark.parametrize("is_parquet", [False, True])
def test_ratings_are_loaded_as_ratings_csv_has_them(tmp_path: Path, *, is_parquet: bool) -> None:
    study = make_rated(title=HOSTILE[0], asks_to_share=True)
    study.participants.filter(pseudonym="P9MX").update(may_share=False)
    outputs = Output.objects.filter(study=study, item__kind="main").order_by("pk")
    for output, text in zip(outputs, HOSTILE, strict=False):
        Output.objects.filter(pk=output.pk).update(text=text)
    options = DatasetOptions(
        preferences="fluency", unpaired="fluency", good_from=4, bad_below=3, is_parquet=is_parquet
    )
    made = write_dataset_folder(study, options, tmp_path / "set")

    loaded = load(tmp_path, "dataset", tmp_path / "set")

    counted, texts = read_counted(study), read_texts(study)
    ids = {f"{row['annotation']}/{row['criterion']}/{row['output_id']}" for row in counted}
    rows = check_table(loaded["tables"]["ratings"], made.fields["ratings"], ids)
    assert loaded["default"] == len(rows) == len(counted) == 18
    shared = ("item", "group", "system", "criterion", "scale", "study")
    assert digest(
        (
            *(row[name] for name in shared), row["value"], row["output"], row["rater"],
            row["submitted_at"], row["seconds"], row["excluded"], row["not_applicable"],
        )
        for row in rows
    ) == digest(
        (
            *(row[name] for name in shared), make_number(row["value"]), texts[row["output_id"]],
            row["participant"], f"{row['submitted_at'].partition('.')[0]}+00:00",
            make_number(row["seconds"]), row["excluded"] == "yes", row["not_applicable"] == "yes",
        )
        for row in counted
    )  # fmt: skip
    values: defaultdict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in counted:
        if row["value"]:
            values[row["group"]][row["participant"]][row["output_id"]] = float(row["value"])
    expected = list(count_votes(values))
    for name, write in (
        ("preferences", lambda cell: cell),
        ("preferences_conversational", lambda cell: cell[0]["content"]),
    ):
        pairs = check_table(loaded["tables"][name], made.fields[name], set())
        assert digest(
            (
                write(row["chosen"]), write(row["rejected"]), row["votes_chosen"],
                row["votes_rejected"], row["votes_tie"],
            )
            for row in pairs
        ) == digest(
            (texts[first], texts[second], *votes) for first, second, *votes in expected
        )  # fmt: skip
    means: defaultdict[str, list[float]] = defaultdict(list)
    for row in counted:
        if row["value"]:
            means[row["output_id"]].append(float(row["value"]))
    labels = {key: fmean(rated) for key, rated in means.items()}
    unpaired = check_table(loaded["tables"]["unpaired"], made.fields["unpaired"], set())
    assert digest(
        (row["completion"], row["label"], row["mean_value"], row["raters"]) for row in unpaired
    ) == digest(
        (texts[key], mean >= 4, mean, len(means[key]))
        for key, mean in labels.items()
        if mean >= 4 or mean < 3
    )


def count_votes(values: dict[str, dict[str, dict[str, float]]]) -> Iterable[tuple[Any, ...]]:
    """Yield the pairs that a majority decided: chosen, rejected, and the votes."""
    for of_group in values.values():
        outputs = sorted({output for rated in of_group.values() for output in rated})
        for first, second in combinations(outputs, 2):
            both = [rated for rated in of_group.values() if {first, second} <= rated.keys()]
            votes = Counter(
                (rated[first] > rated[second]) - (rated[first] < rated[second]) for rated in both
            )
            if votes[1] > votes[-1]:
                yield first, second, votes[1], votes[-1], votes[0]
            elif votes[-1] > votes[1]:
                yield second, first, votes[-1], votes[1], votes[0]


@needs_programs
@pytest.mark.parametrize("is_parquet", [False, True])
def test_comparisons_are_loaded_as_ratings_csv_has_them(
    tmp_path: Path, *, is_parquet: bool
) -> None:
    study = make_compared()
    options = DatasetOptions(preferences="better", is_parquet=is_parquet)
    made = write_dataset_folder(study, options, tmp_path / "set")

    loaded = load(tmp_path, "dataset", tmp_path / "set")

    counted = read_counted(study)
    ids = {f"{row['annotation']}/{row['criterion']}" for row in counted}
    rows = check_table(loaded["tables"]["comparisons"], made.fields["comparisons"], ids)
    shared = ("item", "group", "system_1", "system_2", "criterion", "shown_first")
    assert digest(
        (*(row[name] for name in shared), row["outcome"], row["strength"], row["rater"])
        for row in rows
    ) == digest(
        (
            *(row[name] for name in shared),
            f"both_{row['both']}" if row["both"] else row["outcome"],
            int(row["value"]) if row["preferred"] else None, row["participant"],
        )
        for row in counted
    )  # fmt: skip
    votes = Counter((row["item"], row["preferred"]) for row in counted)
    pairs = {row["item"]: (row["system_1"], row["system_2"]) for row in counted}
    decided = {
        item: sorted(systems, key=lambda system: -votes[item, system])
        for item, systems in pairs.items()
        if votes[item, systems[0]] != votes[item, systems[1]]
    }
    preferences = check_table(loaded["tables"]["preferences"], made.fields["preferences"], set())
    assert digest(
        (
            row["item"], row["chosen_system"], row["rejected_system"], row["votes_chosen"],
            row["votes_rejected"], row["votes_tie"],
        )
        for row in preferences
    ) == digest(
        (
            item, better, worse, votes[item, better], votes[item, worse], votes[item, ""],
        )
        for item, (better, worse) in decided.items()
    )  # fmt: skip


@needs_programs
@pytest.mark.parametrize("is_parquet", [False, True])
def test_descriptors_are_valid(tmp_path: Path, *, is_parquet: bool) -> None:
    study = make_rated(licence="CC-BY-4.0", authors="Jane Mori 0000-0002-1825-0097")
    options = DatasetOptions(preferences="fluency", is_parquet=is_parquet)
    made = write_dataset_folder(study, options, tmp_path / "set")
    full = close(make_full_study("fluency", licence="CC0-1.0", authors="Li Wu"))
    (tmp_path / "bundle.zip").write_bytes(pack(full))
    with ZipFile(tmp_path / "bundle.zip") as archive:
        archive.extractall(tmp_path / "bundle")

    of_set = load(tmp_path, "package", tmp_path / "set/datapackage.json")
    of_bundle = load(tmp_path, "package", tmp_path / "bundle/datapackage.json")

    assert (of_set["valid"], of_set["errors"]) == (True, [])
    assert of_set["files"] == [*made.rows]
    assert of_set["tables"] == ({} if is_parquet else made.rows)
    assert [*of_bundle["errors"], of_bundle["valid"]] == [True]
    assert of_bundle["tables"]["ratings"] > 0


@needs_programs
def test_inspect_shows_human_scores_beside_the_model_s_and_its_metrics_are_unchanged(
    tmp_path: Path,
) -> None:
    study = import_from_tool(*LOGS)
    rate_as_in_the_example(study, {"mockllm/alpha": "alpha", "mockllm/beta": "beta"})
    logs = [Path(shutil.copy(log, tmp_path)) for log in LOGS]
    export_scores(study, "inspect_scores", tmp_path / "scores.jsonl", 0.5)
    script = tmp_path / "scores_back.py"
    script.write_text(read_scores_script(), encoding="utf-8")

    words = [PYTHON, script, "inspect", tmp_path / "scores.jsonl", *logs]
    subprocess.run(words, check=True, timeout=_SECONDS, capture_output=True, cwd=tmp_path)
    before = load(tmp_path, "inspect", *logs)
    after = load(tmp_path, "inspect", *(log.with_suffix(".human.eval") for log in logs))

    # by hand, from the ratings of the example
    means = [[4.3333, 4.3333, 3.3333], [4.6667, 4.6667, 3.6667]]
    for old, new, expected in zip(before, after, means, strict=True):
        assert new["metrics"] == old["metrics"]
        assert new["metrics"]
        for sample, scored, mean in zip(old["samples"], new["samples"], expected, strict=True):
            human = scored["scores"].pop("human_fluency")
            assert scored == sample
            assert scored["scores"]
            assert human["value"] == mean
            assert human["history"] == [["Evalsite: 3 raters", "Human evaluation, fluency"]]


@needs_programs
def test_columns_are_arguments_of_the_clients_of_langfuse_and_langsmith(tmp_path: Path) -> None:
    # a folder in which nothing is sent: only the names are compared
    scores = [GIVING_OUT / name for name in ("langfuse_scores.csv", "langsmith_feedback.csv")]

    assert load(tmp_path, "arguments", *scores) == []


@pytest.mark.skipif(not shutil.which("npx"), reason="Node isn't installed")
def test_promptfoo_imports_its_scores(tmp_path: Path) -> None:
    study = import_from_tool(GIVING_OUT / "promptfoo/results.json")
    rate_as_in_the_example(study, {"alpha": "alpha", "beta": "beta"})
    shutil.copy(GIVING_OUT / "promptfoo/results.json", tmp_path)
    export_scores(study, "promptfoo_scores", tmp_path / "scores.csv", 0.7)
    script = tmp_path / "scores_back.py"
    script.write_text(read_scores_script(), encoding="utf-8")
    words = [sys.executable, script, "promptfoo", "scores.csv", "results.json"]
    subprocess.run(words, check=True, timeout=_SECONDS, capture_output=True, cwd=tmp_path)

    run_promptfoo(tmp_path, "import", "results.human.json")
    run_promptfoo(tmp_path, "export", "eval", "latest", "-o", "kept.json")

    kept = json.loads((tmp_path / "kept.json").read_bytes())["results"]["results"]
    scores = {
        (result["testIdx"], result["promptIdx"]): result["namedScores"]["human_fluency"]
        for result in kept
    }
    # by hand: (mean - 1) / 4
    assert scores == {
        (0, 0): 0.8333, (1, 0): 0.8333, (2, 0): 0.5833,
        (0, 1): 0.9167, (1, 1): 0.9167, (2, 1): 0.6667,
    }  # fmt: skip
    passed = {place: score >= 0.7 for place, score in scores.items()}
    assert passed == {
        (result["testIdx"], result["promptIdx"]): result["gradingResult"]["pass"] for result in kept
    }


def run_promptfoo(folder: Path, *words: str) -> None:
    env = os.environ | {
        "PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo"), "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
    }  # fmt: skip
    result = subprocess.run(
        ["npx", "-y", "-p", "node@22", "-p", "promptfoo@0.121", "promptfoo", *words],
        check=False, timeout=_SECONDS, capture_output=True, text=True, cwd=folder, env=env,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
