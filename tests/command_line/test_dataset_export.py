"""evalsite export: a dataset as a folder, and the scores that go back to a tool."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsite.command_line.main import run_command
from evalsite.core.audit.models import AuditEntry
from tests.support.datasets import (
    GIVING_OUT,
    import_from_tool,
    make_rated,
    rate_as_in_the_example,
    read_lines,
)

pytestmark = pytest.mark.django_db


def run_json(capsys: Any, *words: Any) -> tuple[int, dict[str, Any]]:
    code = run_command(["export", *map(str, words), "--json"])
    output = capsys.readouterr()
    lines = output.out.splitlines()
    return code, json.loads(lines[-1]) if lines else {}


def test_a_dataset_is_a_new_folder_and_logged(tmp_path: Path, capsys: Any) -> None:
    study = make_rated()
    folder = tmp_path / "set"
    options = ("--unpaired", "fluency", "--good-from", 4, "--bad-below", 3, "--json-lines")

    code, document = run_json(capsys, study.pk, "--dataset", folder, *options)
    again, _ = run_json(capsys, study.pk, "--dataset", folder)
    wrong, _ = run_json(capsys, study.pk, "--dataset", tmp_path / "other", *options[:2])

    assert (code, again, wrong) == (0, 3, 3)
    assert document["rows"] == {
        "ratings": 27, "preferences": 9, "preferences_conversational": 9, "unpaired": 7,
    }  # fmt: skip
    assert len(read_lines(folder / "data/unpaired.jsonl")) == 7
    assert not (tmp_path / "other").exists()
    assert AuditEntry.objects.filter(action="data exported", study_id=study.pk).count() == 1


def test_scores_are_a_new_file(tmp_path: Path, capsys: Any) -> None:
    study = import_from_tool(GIVING_OUT / "promptfoo/results.json")
    rate_as_in_the_example(study, {"alpha": "alpha", "beta": "beta"})
    path = tmp_path / "scores.csv"
    options = ("--scores", "promptfoo_scores", "--out", path, "--pass-from", 0.9)

    code, document = run_json(capsys, study.pk, *options)
    again, _ = run_json(capsys, study.pk, *options)
    none, _ = run_json(capsys, study.pk, "--scores", "inspect_scores", "--out", tmp_path / "none")

    assert (code, again, none) == (0, 3, 3)
    assert document["rows"] == 6
    assert path.read_text().count(",true,") == 2
