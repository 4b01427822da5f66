"""The report as files: one page of HTML, and LaTeX that a paper takes over."""

import io
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from evalsite.results.document.blocks import Chart, Document, Sentence
from evalsite.results.document.html import render_page
from evalsite.results.document.latex import (
    ENGINES,
    key_of,
    list_latex_files,
    write_comment,
    write_whole_file,
)
from evalsite.results.document.pdf import draw_pdf
from evalsite.results.models import Report
from evalsite.results.report.sections import make_document
from evalsite.results.report.study_facts import make_source
from evalsite.studies.models import Study

# the sources of the methods that a report may use
_REFERENCES = Path(__file__).with_name("references.bib")
# a date that every archive can hold: equal reports make equal files
_DATE = (1980, 1, 1, 0, 0, 0)
_PREVIEW = r"""\input{report}
\clearpage
\section*{Further analyses}
\input{further}
\bibliographystyle{plainnat}
\bibliography{references}"""


def read_document(study: Study, report: Report, *, is_everyone: bool = False) -> Document:
    return make_document(make_source(study, report, is_everyone=is_everyone))


def write_page(study: Study, report: Report, *, is_further: bool = False) -> str:
    """Return the report or the further analyses as a page that needs no other file."""
    return render_page(read_document(study, report).keep("further" if is_further else "main"))


# --- LaTeX --------------------------------------------------------------------------------------


def list_files(study: Study, report: Report) -> dict[str, bytes]:
    """Return every file of the folder, by its path; none names a rater."""
    document = read_document(study, report)
    files = write_paper(document, _write_head(study, report))
    return {name: text.encode() for name, text in files.items()} | _read_charts(document, report)


def write_paper(document: Document, head: str = "") -> dict[str, str]:
    """Return the LaTeX of a report, its references, and a file that shows both alone.

    `head`: lines that LaTeX skips, above the report and above the further analyses.
    """
    files: dict[str, str] = {}
    for name, place in (("report", "main"), ("further", "further")):
        parts = list_latex_files(document.keep(place), name)  # type: ignore[arg-type]
        parts[f"{name}.tex"] = f"{head}\n\n{parts[f'{name}.tex']}".lstrip()
        files |= parts
    cited = {key for block in document.blocks if isinstance(block, Sentence) for key in block.cites}
    return files | {
        "references.bib": write_references(cited), "preview.tex": write_whole_file(_PREVIEW),
    }  # fmt: skip


def _write_head(study: Study, report: Report) -> str:
    return write_comment([
        f"Results of: {study.title}",
        f"SHA-256 of ratings.csv: {report.sha256}",
        r"Needs \usepackage{booktabs,graphicx,natbib} and \bibliography{references}.",
        f"preview.tex shows it alone. {ENGINES}",
    ])  # fmt: skip


def _read_charts(document: Document, report: Report) -> dict[str, bytes]:
    charts = (block for block in document.blocks if isinstance(block, Chart))
    names = [f"{key_of(chart.name)}.pdf" for chart in charts]
    folder = report.folder / "charts"
    return {f"figures/{name}": (folder / name).read_bytes() for name in names}


def write_charts(study: Study, report: Report) -> None:
    """Draw every chart of the report to its folder, in the job that computes it."""
    folder = report.folder / "charts"
    folder.mkdir(parents=True, exist_ok=True)
    for block in read_document(study, report).blocks:
        if isinstance(block, Chart):
            (folder / f"{key_of(block.name)}.pdf").write_bytes(draw_pdf(block))


@cache
def read_references() -> dict[str, str]:
    """Return all BibTeX entries by their key."""
    entries = _REFERENCES.read_text(encoding="utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


def write_references(keys: Iterable[str]) -> str:
    """Return the entries of these keys in alphabetical order; KeyError for an unknown one."""
    return "\n\n".join(read_references()[key] for key in sorted(set(keys))) + "\n"


def write_archive(study: Study, report: Report) -> bytes:
    """Return all files in one zip."""
    return pack_files(list_files(study, report))


def write_figures(study: Study, report: Report) -> bytes:
    """Return the figures alone in one zip."""
    return pack_files(_read_charts(read_document(study, report), report))


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """Return the files in one zip; equal files make the same bytes."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = ZipInfo(name, date_time=_DATE)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()
