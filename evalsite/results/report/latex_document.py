"""The report as LaTeX that a paper takes over: paragraphs, tables, figures and references."""

import io
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from evalsite.results.design.tables import tabulate_design, tabulate_places
from evalsite.results.models import Report
from evalsite.results.report.latex import key_of, write_comment, write_figure, write_table
from evalsite.results.report.limitations import list_limits
from evalsite.results.report.methods import write_findings, write_methods
from evalsite.results.report.parts import Part
from evalsite.results.report.prose import render_prose, write_prose
from evalsite.results.report.study_facts import Facts, collect_facts
from evalsite.results.report.study_tables import list_further, list_main, list_shown
from evalsite.results.report.wording import label_warnings
from evalsite.studies.models import Study

# the sources of the methods that a report may use
_REFERENCES = Path(__file__).with_name("references.bib")
_CITED = re.compile(r"\\citep\{([^}]+)\}")
# limits that the paragraphs don't name elsewhere
_TOLD = {"unfinished", "ended_early", "early_look", "raters_met", "ceiling"}
# wider tables can't be read on a page
_MOST_COLUMNS = 12
# a date that every archive can hold: equal reports make equal files
_DATE = (1980, 1, 1, 0, 0, 0)
_PREVIEW = r"""% Shows the fragment alone. Run pdflatex, bibtex, and pdflatex twice on it.
\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{booktabs,graphicx,natbib}
\begin{document}
\input{report}
\clearpage
\section*{Further analyses}
\input{further}
\bibliographystyle{plainnat}
\bibliography{references}
\end{document}
"""


def write_fragment(study: Study, report: Report) -> str:
    """report.tex: methods, findings, and of each criterion systems, pairs and agreement."""
    facts, found = collect_facts(study, report), report.content["kept"]
    warnings = label_warnings(found)
    parts = [
        write_comment(_head(facts)),
        r"\paragraph{Human evaluation.} " + write_methods(facts, found),
        *(write_findings(criterion) for criterion in found["criteria"]),
    ]
    limits = [one for one in list_limits(report) if one.code in _TOLD]
    if warnings or limits:
        sentences = [*warnings, *(one.text for one in limits)]
        parts.append(write_prose("latex/limits.tex", {"sentences": sentences}))
    parts += _write_design(report, facts)
    parts += _write_floats(list_main(report), facts)
    return "\n\n".join(parts) + "\n"


def write_further(study: Study, report: Report) -> str:
    """further.tex: every table and figure that report.tex leaves out."""
    facts = collect_facts(study, report)
    parts = [write_comment(_head(facts)), *_write_floats(list_further(report), facts)]
    return "\n\n".join(parts) + "\n"


def _head(facts: Facts) -> list[str]:
    return render_prose("latex/head.tex", {"facts": facts}).strip().splitlines()


def _write_origin(facts: Facts) -> str:
    """Return what every caption adds where ratings are simulated."""
    is_simulated = facts.data["origins"]["simulated"]
    return " Simulated ratings show nothing about real systems." if is_simulated else ""


def _write_design(report: Report, facts: Facts) -> Iterator[str]:
    more = _write_origin(facts)
    for table, label in (
        (tabulate_design(report.content["kept"]), "tab:design"),
        (tabulate_places(report.content["kept"]), "tab:places"),
    ):
        if table is not None and table.rows:
            yield write_table(
                table.columns, table.rows, caption=f"{table.caption}.{more}", label=label
            )


def _write_floats(parts: Iterable[Part], facts: Facts) -> Iterator[str]:
    more = _write_origin(facts)
    for part in parts:
        # TeX holds only so many floats back at a time
        yield "% A page of its own for each part: leave it out of a paper.\n\\clearpage"
        for number, (table, picture) in enumerate(part.blocks, start=1):
            name = key_of(table.name or f"{part.key}-{number}")
            caption = table.caption
            if not caption.startswith(part.label):
                caption = f"{part.label}: {caption[:1].lower()}{caption[1:]}"
            if picture is not None:
                path = f"figures/{picture.name}.pdf"
                yield write_figure(path, caption=f"{caption}.{more}", label=f"fig:{name}")
            if picture is not None and len(table.columns) > _MOST_COLUMNS:
                continue  # such as the square of many raters: the figure says the same
            sentence = f" {table.sentence}" if table.sentence else ""
            yield write_table(
                table.columns, table.rows, caption=f"{caption}.{sentence}{more}",
                label=f"tab:{name}",
            )  # fmt: skip


def find_cited(text: str) -> set[str]:
    """Return the keys that a fragment cites."""
    return {key for keys in _CITED.findall(text) for key in keys.split(",")}


@cache
def read_references() -> dict[str, str]:
    """Return all BibTeX entries by their key."""
    entries = _REFERENCES.read_text(encoding="utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


def write_references(keys: Iterable[str]) -> str:
    """Return the entries of these keys in alphabetical order; KeyError for an unknown one."""
    return "\n\n".join(read_references()[key] for key in sorted(set(keys))) + "\n"


def list_files(study: Study, report: Report) -> dict[str, bytes]:
    """Return every file of the folder, by its path; no drawing is in it that names raters."""
    fragment = write_fragment(study, report)
    files = {
        "report.tex": fragment.encode(),
        "further.tex": write_further(study, report).encode(),
        "references.bib": write_references(find_cited(fragment)).encode(),
        "preview.tex": _PREVIEW.encode(),
    }
    for name in sorted(_list_drawn(report)):
        files[f"figures/{name}"] = (report.folder / name).read_bytes()
    return files


def _list_drawn(report: Report) -> Iterator[str]:
    """Return the files of the drawings that the report shows."""
    for part in list_shown(report):
        for _, picture in part.blocks:
            if picture is not None:
                yield f"{picture.name}.pdf"


def write_archive(study: Study, report: Report) -> bytes:
    """Return all files in one zip; the same report makes the same bytes."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, content in list_files(study, report).items():
            entry = ZipInfo(name, date_time=_DATE)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()
