"""Labels of judges in a bundle: they come back as they were, and their figures are recomputed."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.exports.bundle.format import JUDGE_ROWS, REPORT
from evalsite.exports.bundle.restore import restore_bundle
from evalsite.imports.models import Judge, JudgeLabel
from evalsite.results.report.computation import compute_report
from tests.command_line.test_judge import write_files
from tests.support.bundles import bundle_of, change, close, examine, pack, read_files
from tests.support.factories import launch, make_study, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def packed(tmp_path: Path) -> bytes:
    study = launch(make_study(items=24, k=4))
    keys = [f"item-{number:03}" for number in range(1, 25)]
    ratings, _ = write_files(tmp_path, keys, seed=1, noise=12)
    further = [f"fresh-{number}" for number in range(20)]
    _, labels = write_files(tmp_path, [*keys, *further], seed=2, noise=12)
    call_command("import_ratings", str(study.pk), str(ratings), "--persons", "yes")
    call_command("import_judges", str(study.pk), str(labels))
    Judge.objects.update(version="2026-10", prompt="Score it.", settings="temperature 0")
    close(study)
    compute_report(study)
    return pack(study)


def test_a_bundle_with_judges_is_sound_and_comes_back_whole(packed: bytes) -> None:
    report = examine(packed)
    assert [str(fault) for fault in report.faults] == []
    files = read_files(packed)
    figures = json.loads(files[REPORT])["figures"]
    assert {"judge_agreement", "judged_difference", "label_worth"} <= {
        figure["name"] for figure in figures
    }
    assert files["data/judge_labels.csv"].count(b"\n") == 1 + 44 * 3

    before = sorted(JudgeLabel.objects.values_list("item_key", "system", "value"))
    study = restore_bundle(
        file=io.BytesIO(packed), owner=make_user("new-owner"), by="a test", is_copy=True
    ).study
    loaded = JudgeLabel.objects.filter(file__study=study)
    assert sorted(loaded.values_list("item_key", "system", "value")) == before
    assert study.judges.get().version == "2026-10"


def test_a_label_that_was_changed_is_found(packed: bytes) -> None:
    def tamper(rows: list[dict[str, Any]]) -> None:
        rows[0]["value"] += 50

    report = examine(change(packed, JUDGE_ROWS, tamper))
    assert not report.is_sound


def test_bundles_without_judges_say_nothing_of_them() -> None:
    files = read_files(bundle_of("fluency"))
    assert JUDGE_ROWS not in files
    assert "data/judge_labels.csv" not in files
    assert b"judge" not in files["study.json"]
