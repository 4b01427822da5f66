"""import, export and repeat: files into a study, a study into a bundle, a bundle into a draft."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from evalsite.command_line.main import run_command
from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.services import run_job
from evalsite.data.management.commands import export_bundle
from evalsite.decisions.models import AnalysisPlan
from evalsite.fieldwork.launch import launch_study
from evalsite.studies.models import Study
from tests.support.batches import make_rows, write_csv
from tests.support.factories import launch, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("checks_here")]


def run_json(capsys: Any, *words: object) -> tuple[int, dict[str, Any]]:
    code = run_command([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def write_items(study: Study, path: Path, *, items: int = 3) -> Path:
    path.write_text(write_csv(make_rows(study.config, items=items)), encoding="utf-8")
    return path


def test_import_adds_a_batch_once(tmp_path: Path, capsys):
    study = make_study(items=0)
    path = write_items(study, tmp_path / "items.csv")

    code, document = run_json(capsys, "import", study.pk, path)
    again, _ = run_json(capsys, "import", study.pk, path)

    assert (code, again, document["faults"]) == (0, 0, [])
    assert study.items.main().count() == 3
    assert study.batches.count() == 1


@pytest.mark.parametrize(
    "order", ["--check study file", "study --check file", "study file --check"]
)
def test_options_of_an_import_may_stand_anywhere(tmp_path: Path, capsys, order):
    study = make_study(items=0)
    words = {"study": study.pk, "file": write_items(study, tmp_path / "items.csv")}

    code, document = run_json(capsys, "import", *(words.get(word, word) for word in order.split()))

    assert (code, document["faults"]) == (0, [])
    assert "3 items, no faults" in document["messages"][-1]
    assert study.batches.count() == 0


def test_help_of_an_import_lists_all_options_and_none_is_abbreviated(tmp_path: Path, capsys):
    assert run_command(["import", "--help"]) == 0
    listed = capsys.readouterr().out
    study = make_study(items=0)
    short = run_command(["import", "--che", str(study.pk), str(write_items(study, tmp_path / "a"))])

    assert all(option in listed for option in ("--check", "--map", "--data DIR", "--json"))
    assert short == 3
    assert study.batches.count() == 0


def test_file_with_faults_ends_with_1_and_lists_them(tmp_path: Path, capsys):
    study = make_study(items=0)
    path = tmp_path / "items.csv"
    path.write_text("item,system,output\n1,A,\n", encoding="utf-8")

    code, document = run_json(capsys, "import", study.pk, path)

    assert code == 1
    assert {"code", "message", "line", "column"} == document["faults"][0].keys()
    assert study.batches.count() == 0


def test_folder_without_files_ends_with_3(tmp_path: Path, capsys):
    (tmp_path / "empty").mkdir()

    code, document = run_json(capsys, "import", make_study(items=0).pk, tmp_path / "empty")

    assert code == 3
    assert "no files in it" in document["error"]


def test_unknown_study_file_or_option_ends_with_3(tmp_path: Path, capsys):
    study = make_study(items=0)
    path = write_items(study, tmp_path / "items.csv")

    codes = [
        run_command(["import", *map(str, words)])
        for words in (["nothing", path], [study.pk, tmp_path / "none.csv"], [],
                      [study.pk, path, "--colour", "red"])
    ]  # fmt: skip

    assert codes == [3, 3, 3, 3]
    assert "Traceback" not in capsys.readouterr().err


def test_export_writes_a_bundle_that_repeat_makes_a_draft_of(tmp_path: Path, capsys):
    study = launch(make_study(items=3, title="Bike repair"))
    make_user("boss", is_superuser=True)
    path = tmp_path / "bundle.zip"

    code, exported = run_json(capsys, "export", study.pk, "--out", path)
    again, _ = run_json(capsys, "export", study.pk, "--out", path)
    repeated, document = run_json(capsys, "repeat", path, "--owner", "boss")

    assert (code, again, repeated) == (0, 3, 0)
    assert exported["bytes"] == path.stat().st_size
    draft = Study.objects.get(pk=document["study"])
    assert (draft.state, draft.seed, draft.k) == ("draft", study.seed, study.k)
    assert list(draft.items.main().values_list("key", flat=True)) == list(
        study.items.main().values_list("key", flat=True)
    )
    assert str(draft.pk) in document["address"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 4),
        (OSError(errno.ENOSPC, "No space left on device"), 3),
        (ValidationError("No."), 3),
    ],
)
def test_export_that_is_stopped_leaves_no_half_a_bundle(tmp_path, monkeypatch, error, code):
    def write_half(study, contents, file):
        file.write(b"PK")
        raise error

    monkeypatch.setattr(export_bundle, "write_bundle", write_half)
    path = tmp_path / "bundle.zip"

    assert run_command(["export", str(launch(make_study(items=3)).pk), "-o", str(path)]) == code

    assert not path.exists()


def test_export_that_cannot_begin_reveals_nothing(tmp_path):
    """A file that is there already stays, and no plan is said to have been seen with results."""
    study = make_study(items=3)
    AnalysisPlan.objects.create(study=study, primary="informativeness")
    run_job(launch_study(study=study, by=make_user()))
    path = tmp_path / "bundle.zip"
    path.write_bytes(b"before")
    entries = AuditEntry.objects.count()

    assert run_command(["export", str(study.pk), "-o", str(path)]) == 3

    assert path.read_bytes() == b"before"
    assert AuditEntry.objects.count() == entries
    assert not study.plan_events.exists()


def test_repeat_of_what_is_no_bundle_ends_with_1(tmp_path: Path, capsys):
    make_user("boss", is_superuser=True)
    path = tmp_path / "odd.zip"
    path.write_bytes(b"odd")

    assert run_command(["repeat", str(path), "--owner", "boss"]) == 1
    assert "can't be imported" in capsys.readouterr().err
