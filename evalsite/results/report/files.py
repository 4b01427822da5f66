"""A stored report as a document and as files: a page of HTML, and LaTeX that a paper takes over."""

import io
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.db.models import Value

import evalsite
from evalsite.analysis.families import get_family
from evalsite.instruments.schema import BasedOn, Criterion, Instrument
from evalsite.results.document.blocks import Chart, Document, Sentence, key_of
from evalsite.results.document.charts import draw_pdf
from evalsite.results.document.html import render_page
from evalsite.results.document.latex import (
    ENGINES,
    list_latex_files,
    write_comment,
    write_whole_file,
)
from evalsite.results.models import Report
from evalsite.results.report.sections import make_document
from evalsite.results.report.source import Asked, Facts, Source
from evalsite.studies.models import Study, StudyVersion
from evalsite.studies.questions import EXAMPLES
from evalsite.studies.summary_lines import minutes_per_set
from evalsite.studies.version_cache import read_instrument
from evalsite.studies.versions import shown_content

# --- what was evaluated and how the ratings came about: facts of a stored report and its study


def make_source(
    study: Study, report: Report, *, is_everyone: bool = False, has_notes: bool = True
) -> Source:
    """Return what sections are made from. `has_notes`: with those of imports, which few print."""
    return Source(
        facts=collect_facts(study, report, has_notes=has_notes),
        content=report.content,
        is_closed=study.state in (Study.State.CLOSED, Study.State.ARCHIVED),
        is_everyone=is_everyone and report.content["all"] is not None,
        study_id=str(study.pk),
    )


def collect_facts(study: Study, report: Report, *, has_notes: bool = True) -> Facts:
    """Collect what the report holds, and what its version of the study says."""
    version, kept = _find_version(study, report), report.content["kept"]
    if version is None or version == study.version:
        content, asked = shown_content(study), study.config
    else:
        content, asked = version.content, read_instrument(study.pk, version.pk, study.protocol)
    texts = content["texts"]
    keys = {criterion["key"] for criterion in kept["criteria"]}
    return Facts(
        title=texts["title"],
        own_examples=len(study.questions[EXAMPLES]) if EXAMPLES in study.questions else None,
        departures=find_departures(asked),
        version="" if version is None else str(version),
        criteria=tuple(
            describe_asked(criterion)
            for criterion in asked.criteria
            if criterion.key in keys or _is_told_apart(criterion)
        ),
        data=kept["data"],
        settings=content["settings"],
        texts=texts,
        has_practice=bool(asked.practice) and content["settings"]["is_practice_on"],
        has_sheet=asked.is_sheet(content["options"]),
        offers_sheet="sheet" in asked.layout.screens,
        exclusions=tuple(
            (str(reason), int(number)) for reason, number in report.content["exclusions"]
        ),
        excluded=report.content.get("excluded", {}),
        hourly=_find_hourly(study, content["settings"]),
        sharing=report.content.get("sharing", {}),
        changes=tuple(report.content.get("changes", ())),
        import_notes=_list_import_notes(study, report) if has_notes else (),
        plan=report.content.get("plan", {}),
        software=f"Evalsite {report.content.get('software', evalsite.__version__)}",
        methods=kept["methods_version"],
        seed=kept["seed"],
        sha256=report.sha256,
        made_at=report.made_at,
    )  # fmt: skip


def find_departures(asked: Instrument) -> BasedOn | None:
    """Return what the pages of a study show otherwise than its instrument; None: nothing."""
    based_on = asked.based_on
    is_changed = based_on and (based_on.note or based_on.inputs or based_on.kinds)
    return based_on if is_changed else None


def _find_version(study: Study, report: Report) -> StudyVersion | None:
    """The version of the study when the report was made; the newest one for an older report."""
    number = report.content.get("version")
    if "version" not in report.content or study.version is None:
        return study.version
    return study.versions.filter(number=number).first()


def _is_told_apart(criterion: Criterion) -> bool:
    """Tell whether the report has each option of the criterion, or none of its words."""
    family = get_family(criterion.family)
    return family.splits or not family.is_analysed


def describe_asked(criterion: Criterion) -> Asked:
    return Asked(
        key=criterion.key,
        label=criterion.label,
        definition=criterion.definition,
        question=criterion.question,
        scale=_describe_scale(criterion),
        answers=criterion.scale.name_choices(),
        better=(criterion.direction or "none") if criterion.scale.directed else "",
    )


def _describe_scale(criterion: Criterion) -> str:
    """Return the kind of answer in words, and of which turns it is asked."""
    words = criterion.scale.words()
    if criterion.turns is None:
        return words
    turns = "the marked turns" if criterion.turns.marked_by else "each turn"
    roles = " or ".join(f"“{role}”" for role in criterion.turns.roles)
    return f"{words}; asked of {turns} of the role {roles}"


def _find_hourly(study: Study, settings: Mapping[str, Any]) -> Decimal | None:
    """Return the pay for an hour, by the minutes that a set was said or is estimated to take."""
    if settings.get("pay_per_set") is None:
        return None
    minutes = settings.get("minutes_per_set") or minutes_per_set(study)
    return Decimal(settings["pay_per_set"]) * 60 / minutes


def _list_import_notes(study: Study, report: Report) -> tuple[str, ...]:
    """List what researchers confirmed at the imports that the report has data of."""
    kinds = (study.batches, study.ratings_files, study.metric_files)
    first, *further = (
        files.filter(uploaded_at__lte=report.made_at)
        .order_by()
        .values_list(Value(place), "uploaded_at", "file_name", "import_notes")
        for place, files in enumerate(kinds)
    )
    return tuple(
        f"{name}: {note['text']}"
        for _, _, name, notes in sorted(first.union(*further, all=True), key=lambda row: row[:2])
        for note in notes
    )


# --- files

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
