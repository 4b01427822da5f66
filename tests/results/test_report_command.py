"""manage.py analyse: the results on the screen, or in files."""

import json
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.results.document.text import quote_markdown
from evalsite.results.models import Report
from evalsite.results.report.computation import take_fingerprint
from evalsite.studies.models import Study
from tests.support.factories import make_participant, make_study
from tests.support.reported import HOSTILE, keep_report, make_reported_study

Settings = Any


@pytest.fixture
def study(db: None, settings: Settings, tmp_path: Path) -> Study:
    """A study with an answer, and a report that holds for it as it stands."""
    settings.DATA_DIR = tmp_path
    study = make_reported_study()
    Annotation.objects.create(
        study=study,
        item=study.items.main()[0],
        participant=make_participant(study),
        key=uuid4(),
        status=Annotation.Status.COUNTED,
        slot=Slot.objects.filter(study=study).first(),
        started_at=now(),
        submitted_at=now(),
    )
    report = keep_report(study)
    Report.objects.filter(pk=report.pk).update(fingerprint=take_fingerprint(study))
    return study


def run(study: Study, *arguments: str) -> str:
    output = StringIO()
    call_command("analyse", str(study.pk), *arguments, stdout=output)
    return output.getvalue()


@pytest.mark.slow
def test_findings_and_tables_are_printed(study: Study) -> None:
    printed = run(study)
    kept = Report.objects.get().content["kept"]

    assert "are simulated. They show nothing about real systems" in printed
    for name in HOSTILE:
        assert quote_markdown(name) in printed
    assert "Krippendorff" in printed
    assert f"seed {kept['seed']}" in printed


def test_json_has_every_digit(study: Study) -> None:
    data = json.loads(run(study, "--json"))
    report = Report.objects.get()

    assert data["kept"] == report.content["kept"]
    assert data["all"] == report.content["all"]
    assert data["ratings_sha256"] == report.sha256


def test_the_page_goes_to_the_screen_or_into_a_file(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "report.html"

    printed = run(study, "--html", "-o", str(path))

    assert printed == f"Wrote {path}.\n"
    assert path.read_text(encoding="utf-8") == run(study, "--html")


def test_latex_goes_into_a_folder(study: Study, tmp_path: Path) -> None:
    run(study, "--latex", "-o", str(tmp_path / "paper"))

    found = {str(path.relative_to(tmp_path / "paper")) for path in tmp_path.rglob("paper/**/*.*")}
    assert {"report.tex", "references.bib", "preview.tex"} <= found
    assert "figures/informativeness-systems.pdf" in found


def test_latex_without_a_folder_says_what_to_do(study: Study) -> None:
    with pytest.raises(CommandError, match="Name the folder for the LaTeX files with -o"):
        run(study, "--latex")


def test_a_path_that_cannot_be_written_is_told(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(CommandError, match="can't be written"):
        run(study, "--html", "-o", str(tmp_path / "file" / "report.html"))


def test_unchanged_data_are_not_computed_again(study: Study) -> None:
    run(study)

    assert Report.objects.count() == 1


def test_a_study_without_answers_is_told(db: None) -> None:
    with pytest.raises(CommandError, match="has no answers yet"):
        run(make_study())
