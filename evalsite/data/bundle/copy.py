"""Write a bundle once more from the rows that were loaded of it, in a scratch database.

So a copy holds nothing but what the bundle says, and its report is of these very rows.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction

from evalsite.data.bundle.compare import Findings, check_bundle, load_exactly
from evalsite.data.bundle.format import (
    LEFT_OUT_COUNTS,
    REPORT,
    REPORT_SOURCES,
    BundleReport,
    Contents,
)
from evalsite.data.bundle.read import Bundle, Fault, read_about
from evalsite.data.bundle.write import COPY, WISH, Folder, is_partial, pack_folder, write_files
from evalsite.lib.limited import VALUES_IN_FILE, read_json
from evalsite.studies.models import Study
from evalsite.studies.version_cache import forget_versions

Plain = dict[str, Any]
# the report of everyone's answers, where a copy leaves people out
TEAM = "team.json"
Finder = Callable[[Study, str], BundleReport | None]


def copy_bundle(bundle: Bundle, folder: Path) -> None:
    """Load the bundle into this database, which must be empty, and write it again.

    The wish may name other `contents`, and the `basis` of its report, with that of the `team`.
    """
    wish = read_json((folder / WISH).read_bytes(), most_values=VALUES_IN_FILE)
    about = read_about(bundle)
    contents = Contents(
        has_data=about["has_data"],
        has_free_text=about["has_free_text"],
        has_entry_answers=about.get("has_entry_answers", True),
        is_public=LEFT_OUT_COUNTS in about or about.get("is_masked", False),
        is_anonymous=about.get("is_anonymous", False),
    )
    contents = Contents(**(vars(contents) | wish.get("contents", {})))
    study = load_study(bundle, about)
    basis = wish.get("basis")
    finder = make_finder(basis, wish.get("team")) if basis else None
    if finder and LEFT_OUT_COUNTS not in about and is_partial(study.pk, contents):
        everyone = finder(study, "")
        computed = everyone and everyone.computed
        (folder / TEAM).write_text(json.dumps(computed), encoding="utf-8")
    write_copy(study, contents, folder, about.get(LEFT_OUT_COUNTS), finder)


def write_pages(bundle: Bundle, findings: Findings, folder: Path) -> None:
    """Verify the bundle in this database, which must be empty, and write the public page of it."""
    wish = read_json((folder / WISH).read_bytes())
    check_bundle(bundle, findings, folder)
    if findings.faults:
        return
    if findings.computed is None:
        message = " ".join(findings.remarks) or "Its report can't be computed again."
        findings.faults.append(Fault("figures_unchecked", message, REPORT))
        return
    study = Study.objects.select_related("version").get(pk=read_about(bundle)["study"]["id"])
    for source in REPORT_SOURCES:
        source.write_pages(study, read_about(bundle), find_basis(bundle), wish, folder / "public")


def load_study(
    bundle: Bundle,
    about: Plain,
    *,
    rename: Callable[[UUID], UUID] = lambda study_id: study_id,
    edit: Callable[[], None] = lambda: None,
) -> Study:
    """Load the study and change its rows; `rename` gives it another id."""
    with transaction.atomic():
        study = load_exactly(bundle, about, rename=rename)
        edit()
        forget_versions()
    return Study.objects.select_related("version").get(pk=study.pk)


def write_copy(
    study: Study, contents: Contents, folder: Path, left_out: Plain | None, finder: Finder | None
) -> None:
    made = Folder(folder / "files")
    write_files(study.pk, contents, made, left_out=left_out, find_report=finder)
    with (folder / COPY).open("w+b") as target:
        pack_folder(made, target)


def make_finder(basis: Plain, team: Plain | None = None) -> Finder:
    """Return what computes the report of the rows in this database."""

    def compute(study: Study, sha256: str) -> BundleReport | None:
        mine = basis | {"ratings_sha256": sha256}
        return next((source.compute(study, mine, team) for source in REPORT_SOURCES), None)

    return compute


def find_basis(bundle: Bundle) -> Plain | None:
    """Return on what the report of the bundle rests besides its rows, if it has a report."""
    return bundle.read_json(REPORT)["basis"] if REPORT in bundle.names else None
