"""Staff pages of files: a study's items, uploads and exports."""

from evalsite.exchange.export_views import (
    download_codebook,
    download_file,
    show_codebook,
    show_export,
)
from evalsite.exchange.upload_views import (
    cancel_upload,
    confirm_undo,
    download_faults,
    download_template,
    import_upload,
    list_batches,
    map_upload,
    show_upload,
    undo,
    upload_file,
)
from evalsite.studies.models import Membership
from evalsite.studies.pages import StudyView

_EDITOR = Membership.Role.EDITOR
_UPLOAD = "uploads/<uuid:upload_id>/"

study_views = [
    StudyView(path="items/", name="batch-list", view=list_batches, tab="Items", order=20),
    StudyView(path="items/template.csv", name="batch-template", view=download_template),
    StudyView(path="uploads/", name="upload-new", view=upload_file, role=_EDITOR, within="Items"),
    StudyView(path=_UPLOAD, name="upload-preview", view=show_upload, role=_EDITOR, within="Items"),
    StudyView(path=f"{_UPLOAD}mapping/", name="upload-map", view=map_upload, role=_EDITOR),
    StudyView(
        path=f"{_UPLOAD}faults.csv", name="upload-faults", view=download_faults, role=_EDITOR
    ),
    StudyView(path=f"{_UPLOAD}cancel/", name="upload-cancel", view=cancel_upload, role=_EDITOR),
    StudyView(path=f"{_UPLOAD}import/", name="upload-import", view=import_upload, role=_EDITOR),
    StudyView(
        path="batches/<uuid:batch_id>/undo/confirm/",
        name="batch-undo-confirm",
        view=confirm_undo,
        role=_EDITOR,
        within="Items",
    ),
    StudyView(path="batches/<uuid:batch_id>/undo/", name="batch-undo", view=undo, role=_EDITOR),
    StudyView(path="export/", name="study-export", view=show_export, tab="Export", order=90),
    StudyView(path="export/codebook/", name="export-codebook", view=show_codebook, within="Export"),
    StudyView(path="export/codebook.csv", name="export-codebook-csv", view=download_codebook),
    StudyView(path="export/<slug:file>.csv", name="export-file", view=download_file),
]
