"""Addresses of these pages, under those of the admin."""

from collections.abc import Callable
from typing import Any

from evalsite.builder.builder_views import build
from evalsite.builder.bundle_views import show_bundle, upload_bundle
from evalsite.builder.choice_views import choose_instrument
from evalsite.builder.copy_views import show_copy
from evalsite.builder.instrument_views import (
    choose_question,
    delete,
    export_file,
    import_file,
    list_instruments,
    new_instrument,
    share,
    show_versions,
    translate,
)
from evalsite.builder.new_views import list_all, new_from_instrument, show_sources
from evalsite.builder.ratings_views import (
    create_from_ratings,
    show_ratings,
    start_ratings,
    use_as_outputs,
    use_as_ratings,
)
from evalsite.builder.try_views import show_instructions, try_instrument
from evalsite.builder.upload_views import (
    add_demos,
    cancel_new_upload,
    continue_upload,
    correct_new_upload,
    show_new_faults,
    show_new_upload,
    start_study,
)

PAGES: list[tuple[str, str, Callable[..., Any]]] = [
    ("studies/new/", "study-new", start_study),
    ("studies/new/<uuid:upload_id>/", "new-upload", show_new_upload),
    ("studies/new/<uuid:upload_id>/continue/", "new-upload-continue", continue_upload),
    ("studies/new/<uuid:upload_id>/correct/", "new-upload-correct", correct_new_upload),
    ("studies/new/<uuid:upload_id>/cancel/", "new-upload-cancel", cancel_new_upload),
    ("studies/new/<uuid:upload_id>/ratings/", "new-upload-ratings", use_as_ratings),
    ("studies/new/<uuid:upload_id>/faults.csv", "new-upload-faults", show_new_faults),
    ("studies/new/ratings/", "new-ratings", start_ratings),
    ("studies/new/ratings/<uuid:upload_id>/", "new-ratings-file", show_ratings),
    ("studies/new/ratings/<uuid:upload_id>/results/", "new-ratings-create", create_from_ratings),
    ("studies/new/ratings/<uuid:upload_id>/outputs/", "new-ratings-outputs", use_as_outputs),
    ("studies/new/instruments/", "new-all", list_all),
    ("studies/new/from/", "new-from", new_from_instrument),
    ("studies/new/<uuid:upload_id>/instrument/", "new-instrument", choose_instrument),
    ("studies/demo/", "demo-studies", add_demos),
    ("studies/copy/", "study-copy", show_copy),
    ("studies/import/", "bundle-upload", upload_bundle),
    ("studies/import/<uuid:bundle_id>/", "bundle", show_bundle),
    ("instruments/", "instruments", list_instruments),
    ("instruments/new/", "instrument-new", new_instrument),
    ("instruments/import/", "instrument-import", import_file),
    ("instruments/sources/", "instrument-sources", show_sources),
    ("instruments/try/<slug:kind>/<slug:name>/<int:number>/", "instrument-try", try_instrument),
    ("instruments/try/<slug:kind>/<slug:name>/", "instrument-instructions", show_instructions),
    ("instruments/<uuid:instrument_id>/", "instrument", build),
    ("instruments/<uuid:instrument_id>/share/", "instrument-share", share),
    ("instruments/<uuid:instrument_id>/delete/", "instrument-delete", delete),
    ("instruments/<uuid:instrument_id>/questions/", "instrument-questions", choose_question),
    ("instruments/<uuid:instrument_id>/language/", "instrument-language", translate),
    ("instruments/<uuid:instrument_id>/versions/", "instrument-versions", show_versions),
    (
        "instruments/<uuid:instrument_id>/versions/<int:number>/",
        "instrument-export",
        export_file,
    ),
]
