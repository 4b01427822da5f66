"""The LaTeX of a report, run through TeX where it is installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from evalsite.results.document.blocks import Chart, Document, Heading, key_of
from evalsite.results.document.charts import draw_pdf
from evalsite.results.document.latex import (
    add_other_script,
    escape,
    list_latex_files,
    render_latex,
    write_fragment,
    write_whole_file,
)
from evalsite.results.report.files import write_paper
from evalsite.results.report.sections import make_document
from evalsite.results.report.sections.findings import make_paper
from tests.results.report.test_document import SOURCES
from tests.support.reported import HOSTILE
from tests.support.reports import make_content, make_source

pytestmark = pytest.mark.slow

OPTIONS = ("-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error")
NEEDED = {
    "pdflatex": ("booktabs.sty", "natbib.sty", "graphicx.sty", "iftex.sty", "geometry.sty"),
    "lualatex": ("booktabs.sty", "natbib.sty", "fontspec.sty", "luaotfload.sty"),
}
# Latin with accents, Arabic, Hebrew, Chinese, Japanese, Korean, Cyrillic and Greek
SCRIPTS = ("Ärger نظام (2)", "מודל, 系统 かな 한국어 Москва Ελλάδα")


def find_missing(engine: str) -> str:
    """Why LaTeX can't be run here; "" if it can."""
    for program in (engine, "bibtex", "kpsewhich"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    for package in NEEDED[engine]:
        found = subprocess.run(["kpsewhich", package], capture_output=True, check=False)
        if found.returncode:
            return f"{package} is not installed"
    return ""


def write_folder(document: Document, folder: Path) -> None:
    """Write what the archive of a report holds."""
    contents = {name: text.encode() for name, text in write_paper(document).items()}
    for block in document.blocks:
        if isinstance(block, Chart):
            contents[f"figures/{key_of(block.name)}.pdf"] = draw_pdf(block)
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def run_tex(folder: Path, *command: str) -> str:
    """The log of a run that did not stop at an error."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def compile_preview(engine: str, folder: Path) -> str:
    """The log of one run, which sets every page."""
    run_tex(folder, engine, *OPTIONS, "preview")
    assert (folder / "preview.pdf").read_bytes().startswith(b"%PDF")
    return (folder / "preview.log").read_text(encoding="utf-8", errors="replace")


@pytest.mark.skipif(bool(find_missing("pdflatex")), reason=find_missing("pdflatex"))
@pytest.mark.parametrize("name", SOURCES)
def test_a_report_compiles_and_nothing_leaves_the_page(name: str, tmp_path: Path) -> None:
    write_folder(make_document(SOURCES[name]()), tmp_path)

    log = compile_preview("pdflatex", tmp_path)

    assert "multiply defined" not in log
    assert "Overfull" not in log


@pytest.mark.skipif(bool(find_missing("pdflatex")), reason=find_missing("pdflatex"))
def test_what_a_report_cites_and_refers_to_is_defined(tmp_path: Path) -> None:
    write_folder(make_document(SOURCES["points"]()), tmp_path)

    # what the last run needs is known without a drawing
    run_tex(tmp_path, "pdflatex", *OPTIONS, "-draftmode", "preview")
    run_tex(tmp_path, "bibtex", "preview")
    run_tex(tmp_path, "pdflatex", *OPTIONS, "-draftmode", "preview")

    assert "undefined" not in compile_preview("pdflatex", tmp_path)


@pytest.mark.skipif(bool(find_missing("lualatex")), reason=find_missing("lualatex"))
def test_names_in_every_script_are_printed_by_lualatex(tmp_path: Path) -> None:
    write_folder(make_document(make_source(make_content(SCRIPTS))).keep("main"), tmp_path)

    log = compile_preview("lualatex", tmp_path)

    # a letter that no font has
    assert "Missing character" not in log


@pytest.mark.skipif(bool(find_missing("lualatex")), reason=find_missing("lualatex"))
def test_letters_of_arabic_names_are_joined_by_lualatex(tmp_path: Path) -> None:
    width = r"\settowidth{\dimen0}{%s}\typeout{WIDTH \the\dimen0}"
    body = add_other_script(f"{width % escape('سسسس')}\n{width % escape('س')}")
    (tmp_path / "whole.tex").write_text(write_whole_file(body), encoding="utf-8")

    log = run_tex(tmp_path, "lualatex", *OPTIONS, "whole")

    word, letter = map(float, re.findall(r"WIDTH ([\d.]+)pt", log))
    # letters that stand alone have a final stroke, which makes them wider
    assert word < 0.9 * 4 * letter


@pytest.mark.skipif(bool(find_missing("pdflatex")), reason=find_missing("pdflatex"))
def test_the_table_that_is_copied_compiles_with_the_packages_that_it_names(tmp_path: Path) -> None:
    paper = make_paper(make_source(make_content(SCRIPTS)))
    text = write_fragment([paper])
    packages = re.search(r"^% Needs (\\usepackage\{.*\})\.$", text, re.MULTILINE)
    assert packages
    document = f"\\documentclass{{article}}\n{packages[1]}\n\\begin{{document}}\n{text}\n"
    (tmp_path / "paper.tex").write_text(f"{document}\\end{{document}}\n", encoding="utf-8")

    run_tex(tmp_path, "pdflatex", *OPTIONS, "paper")


@pytest.mark.skipif(bool(find_missing("pdflatex")), reason=find_missing("pdflatex"))
def test_a_whole_file_compiles_without_any_other(tmp_path: Path) -> None:
    document = Document(HOSTILE[0], [Heading(SCRIPTS[0], 2)])
    (tmp_path / "whole.tex").write_text(render_latex(document), encoding="utf-8")

    run_tex(tmp_path, "pdflatex", *OPTIONS, "whole")


def test_tables_are_those_of_a_paper() -> None:
    """What TeX doesn't check: rules of booktabs, a caption above, a label of its own."""
    files = list_latex_files(make_document(SOURCES["five questions"]()).keep("main"), "report")
    tables = {name: text for name, text in files.items() if name.startswith("tables/")}

    assert len(tables) > 5
    for name, text in tables.items():
        rules = [text.index(rule) for rule in (r"\toprule", r"\bottomrule")]
        assert text.index(r"\caption{") < text.index(r"\label{tab:") < min(rules)
        assert text.count(r"\label{") == 1
        assert "|" not in text.partition(r"\begin{tabular}{")[2].partition("}")[0], name
        assert r"\hline" not in text
    labels = [text.partition(r"\label{")[2].partition("}")[0] for text in tables.values()]
    assert len(set(labels)) == len(labels)
