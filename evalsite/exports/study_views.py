"""Staff pages of what goes out: files, codebook and bundles."""

from evalsite.exports.bundle.views import bundle_views
from evalsite.exports.views import (
    download_answers,
    download_codebook,
    download_file,
    download_identities,
    download_instrument,
    download_ready,
    download_script,
    download_workbook,
    show_codebook,
    show_export,
)
from evalsite.studies.models import Membership
from evalsite.studies.staff_pages import StudyView

_EDITOR = Membership.Role.EDITOR

study_views = [
    StudyView(
        path="files/", name="study-export", view=show_export, place="Files", tab="Files", order=90
    ),
    StudyView(path="files/codebook/", name="export-codebook", view=show_codebook, within="Files"),
    StudyView(path="files/codebook.csv", name="export-codebook-csv", view=download_codebook),
    StudyView(path="files/analysis.<slug:kind>", name="export-script", view=download_script),
    StudyView(path="files/instrument.json", name="export-instrument", view=download_instrument),
    # before the other files, whose addresses look alike
    StudyView(
        path="files/participants_ids.csv",
        name="export-identities",
        view=download_identities,
        role=_EDITOR,
        is_reading=True,
    ),
    StudyView(
        path="files/participants_answers.csv",
        name="export-answers",
        view=download_answers,
        role=_EDITOR,
        is_reading=True,
    ),
    StudyView(
        path="files/<slug:file>.csv", name="export-file", view=download_file, is_reading=True
    ),
    StudyView(
        path="files/<slug:file>.xlsx",
        name="export-workbook",
        view=download_workbook,
        is_reading=True,
    ),
    StudyView(
        path="files/large/<uuid:job_id>/",
        name="export-ready",
        view=download_ready,
        is_reading=True,
    ),
    *bundle_views,
]
