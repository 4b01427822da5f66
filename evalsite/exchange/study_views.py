"""Staff pages of files: a study's items, uploads and exports."""

from evalsite.exchange.batches.views import (
    cancel_upload,
    check_again,
    confirm_undo,
    download_faults,
    download_template,
    import_file,
    list_batches,
    map_upload,
    show_upload,
    undo,
    upload_file,
)
from evalsite.exchange.bundle.views import bundle_views
from evalsite.exchange.exports.views import (
    download_codebook,
    download_file,
    download_identities,
    download_ready,
    download_workbook,
    show_codebook,
    show_export,
)
from evalsite.exchange.job_views import restart
from evalsite.exchange.metrics.views import metrics_views
from evalsite.exchange.ratings.views import ratings_views
from evalsite.exchange.removing_views import removing_views
from evalsite.studies.models import Membership
from evalsite.studies.pages import StudyView

_EDITOR = Membership.Role.EDITOR
_UPLOAD = "uploads/<uuid:upload_id>/"

study_views = [
    StudyView(path="items/", name="batch-list", view=list_batches, tab="Items", order=20),
    StudyView(path="items/template.csv", name="batch-template", view=download_template),
    StudyView(path="uploads/", name="upload-new", view=upload_file, role=_EDITOR, within="Items"),
    StudyView(path=_UPLOAD, name="upload-preview", view=show_upload, role=_EDITOR, within="Items"),
    StudyView(path=f"{_UPLOAD}check/", name="upload-check", view=check_again, role=_EDITOR),
    StudyView(path=f"{_UPLOAD}mapping/", name="upload-map", view=map_upload, role=_EDITOR),
    StudyView(
        path=f"{_UPLOAD}faults.csv", name="upload-faults", view=download_faults, role=_EDITOR
    ),
    StudyView(path=f"{_UPLOAD}cancel/", name="upload-cancel", view=cancel_upload, role=_EDITOR),
    StudyView(path=f"{_UPLOAD}import/", name="upload-import", view=import_file, role=_EDITOR),
    StudyView(
        path="batches/<uuid:batch_id>/undo/confirm/",
        name="batch-undo-confirm",
        view=confirm_undo,
        role=_EDITOR,
        within="Items",
    ),
    StudyView(path="batches/<uuid:batch_id>/undo/", name="batch-undo", view=undo, role=_EDITOR),
    *ratings_views,
    *metrics_views,
    StudyView(
        path="jobs/<uuid:job_id>/again/",
        name="job-restart",
        view=restart,
        role=_EDITOR,
        is_reading=True,
    ),
    StudyView(path="export/", name="study-export", view=show_export, tab="Export", order=90),
    StudyView(path="export/codebook/", name="export-codebook", view=show_codebook, within="Export"),
    StudyView(path="export/codebook.csv", name="export-codebook-csv", view=download_codebook),
    # before the other files, whose addresses look alike
    StudyView(
        path="export/participants_ids.csv",
        name="export-identities",
        view=download_identities,
        role=_EDITOR,
        is_reading=True,
    ),
    StudyView(
        path="export/<slug:file>.csv", name="export-file", view=download_file, is_reading=True
    ),
    StudyView(
        path="export/<slug:file>.xlsx",
        name="export-workbook",
        view=download_workbook,
        is_reading=True,
    ),
    StudyView(
        path="export/large/<uuid:job_id>/",
        name="export-ready",
        view=download_ready,
        is_reading=True,
    ),
    *bundle_views,
    *removing_views,
]
