"""Staff pages of what comes in: items, ratings collected elsewhere, scores of metrics."""

from evalsite.imports.batches.views import (
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
from evalsite.imports.job_views import restart
from evalsite.imports.metrics.views import metrics_views
from evalsite.imports.ratings.views import ratings_views
from evalsite.imports.removing_views import removing_views
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
    *removing_views,
]
