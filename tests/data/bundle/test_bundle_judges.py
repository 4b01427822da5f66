"""Labels of judges in a bundle: they come back as they were, and their figures are recomputed."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.command_line.main import run_command
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.format import ANALYSIS_PLAN, JUDGE_ROWS, REPORT
from evalsite.data.bundle.restore import restore_bundle
from evalsite.data.models import Judge, JudgeLabel
from evalsite.decisions.models import AnalysisPlan
from evalsite.decisions.plan_commitment import list_lines
from evalsite.fieldwork.launch import launch_study
from evalsite.results.report.computation import compute_report
from evalsite.results.report.files import make_source
from evalsite.results.report.source import list_decisions
from evalsite.studies.models import Study
from tests.command_line.test_judge import write_files
from tests.support.bundles import bundle_of, change, close, examine, pack, read_files
from tests.support.factories import launch, make_study, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


MARGIN = {
    "criterion": "informativeness", "system": "neural", "relation": "not_worse",
    "other": "baseline", "margin": 1.2, "judge": "judge-a",
}  # fmt: skip


def make_judged(tmp_path: Path, **plan: Any) -> Study:
    """A closed study with labels of a judge, and a plan if there is one."""
    study = make_study(items=24, k=4)
    if plan:
        AnalysisPlan.objects.create(study=study, **plan)
        run_job(launch_study(study=study, by=make_user()))
        study.refresh_from_db()
    else:
        study = launch(study)
    keys = [f"item-{number:03}" for number in range(1, 25)]
    ratings, _ = write_files(tmp_path, keys, seed=1, noise=12)
    further = [f"fresh-{number}" for number in range(20)]
    _, labels = write_files(tmp_path, [*keys, *further], seed=2, noise=12)
    call_command("import_ratings", str(study.pk), str(ratings), "--persons", "yes")
    call_command("import_judges", str(study.pk), str(labels))
    Judge.objects.update(version="2026-10", prompt="Score it.", settings="temperature 0")
    close(study)
    compute_report(study)
    return study


@pytest.fixture
def packed(tmp_path: Path) -> bytes:
    return pack(make_judged(tmp_path))


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


# --- a judge that the plan names ----------------------------------------------------------------


def test_a_planned_judge_goes_with_the_bundle_and_decides_its_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_judged(tmp_path, margins=[MARGIN])
    [decision] = list_decisions(make_source(study, compute_report(study)).criteria[0])
    assert decision.is_judged
    bundle = pack(study)
    report = examine(bundle)
    assert [str(fault) for fault in report.faults] == []
    figures = json.loads(read_files(bundle)[REPORT])["figures"]
    [planned] = [figure for figure in figures if figure["name"] == "planned_difference"]
    assert planned["value"] == decision.planned_difference.value

    path = tmp_path / "bundle.zip"
    path.write_bytes(bundle)
    digest = list_lines(study)[0].split()[3]
    words = ["gate", str(path), "--system", "neural", "--against", "baseline", "--margin", "1.2"]
    code = run_command([*words, "--plan-hash", digest, "--json"])
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"yes": 0, "no": 1, "open": 2}[decision.outcome] == code
    test, stored = told["gate"]["test"], decision.stored
    assert test["difference"] == pytest.approx(stored["difference"])
    assert test["se"] == pytest.approx(stored["se"])
    assert test["alone"]["se"] == pytest.approx(stored["alone"]["se"])
    assert "judge-a" in told["sentence"]

    loaded = restore_bundle(
        file=io.BytesIO(bundle), owner=make_user("new-owner"), by="a test", has_data=False
    ).study
    assert AnalysisPlan.objects.get(study=loaded).margins == [MARGIN]


@pytest.mark.parametrize("more", [{"prompt_version": "v1", "judge": ""}, {"judge": 5}, {"j": ""}])
def test_a_plan_with_a_judge_that_cannot_be_is_refused(tmp_path: Path, more: Any) -> None:
    study = make_study(items=1)
    hypothesis = {name: MARGIN[name] for name in ("criterion", "system", "other", "judge")}
    AnalysisPlan.objects.create(
        study=study, margins=[MARGIN], hypotheses=[hypothesis | {"relation": "differs"}]
    )
    bundle = pack(study)
    assert examine(bundle).is_sound

    def spoil_margin(plan: dict[str, Any]) -> None:
        plan["margins"][0] |= more

    def spoil_hypothesis(plan: dict[str, Any]) -> None:
        plan["frozen"]["hypotheses"][0] |= more

    for spoil in (spoil_margin, spoil_hypothesis):
        assert "plan_invalid" in examine(change(bundle, ANALYSIS_PLAN, spoil)).codes
