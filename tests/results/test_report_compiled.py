"""The LaTeX of a report, run through pdflatex where it is installed."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from evalsite.results.report.files import list_files
from tests.support.protocols import each_protocol
from tests.support.reported import keep_report, make_reported_study

pytestmark = pytest.mark.slow

Settings = Any
NEEDED = ("booktabs.sty", "natbib.sty", "graphicx.sty")


def find_tex() -> str:
    """Why LaTeX can't be run here; "" if it can."""
    for program in ("pdflatex", "bibtex", "kpsewhich"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    for package in NEEDED:
        found = subprocess.run(["kpsewhich", package], capture_output=True, check=False)
        if found.returncode:
            return f"{package} is not installed"
    return ""


MISSING = find_tex()


def run_tex(folder: Path, *command: str) -> str:
    """The log of a run that did not stop at an error."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


@pytest.mark.torture
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@pytest.mark.parametrize("protocol", each_protocol("magnitude"))
def test_the_fragment_compiles_with_hostile_names(
    protocol: str, db: None, drawings: None, settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "site"
    settings.DATA_DIR.mkdir()
    study = make_reported_study(protocol)
    report = keep_report(study)
    folder = tmp_path / "paper"
    for name, content in list_files(study, report).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    latex = ("pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error")

    # what the last run needs is known without a drawing
    run_tex(folder, *latex, "-draftmode", "preview")
    run_tex(folder, "bibtex", "preview")
    run_tex(folder, *latex, "-draftmode", "preview")
    run_tex(folder, *latex, "preview")

    log = (folder / "preview.log").read_text(encoding="utf-8", errors="replace")
    assert "undefined" not in log
    assert (folder / "preview.pdf").read_bytes().startswith(b"%PDF")
