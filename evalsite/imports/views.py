"""Staff pages of one kind of file: uploading one, looking at it, importing it, undoing it."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.files import File
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.imports.core import Importer, Report, list_faults
from evalsite.imports.forms import MappingForm, RolesForm, UploadForm
from evalsite.imports.models import Upload
from evalsite.imports.packs import name_files, pack_files
from evalsite.imports.steps import (
    begin_check,
    begin_import,
    begin_undo,
    find_report,
    is_imported,
    read_upload,
)
from evalsite.imports.target import aim_at_study
from evalsite.imports.uploads import (
    drop_upload,
    is_large,
    keep_upload,
    prune_uploads,
)
from evalsite.imports.waiting import find_job, name_job
from evalsite.jobs.live_page import keep_watching
from evalsite.lib.csv_download import send_csv
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView

_EDITOR = Membership.Role.EDITOR
_INVALID = 422


class ImportPages:
    """The pages of one importer; subclasses add what is specific to it."""

    importer: Importer
    # the page that lists what was imported, and the tab it belongs to
    list_name: str
    within: str
    # names and addresses of the pages of an upload: upload-preview, uploads/<id>/
    prefix: str
    path: str
    # and of an undo: batch-undo-confirm, batches/<id>/undo/
    undo_prefix: str
    undo_path: str
    # what comes in, in words: "0 new items"
    noun: str
    # whether several files may be one
    takes_several = False
    # parts of imports/upload.html, and the page that asks before an undo
    summary_template: str
    preview_template: str = ""
    undo_template: str
    # what else is asked next to the columns, and next to the import button
    mapping_options: type[forms.Form] | None = None
    import_options: type[forms.Form] | None = None
    # options that a new mapping makes void
    options_of_rows: tuple[str, ...] = (
        "mapped_as", "leave_out_faulty", "take_once", "clusters", "meets",
    )  # fmt: skip

    # what inheriting pages say

    def show_list(
        self, request: HttpRequest, study: Study, form: UploadForm, status: int = 200
    ) -> HttpResponseBase:
        """Show the page of all files, with the form that brings another."""
        raise NotImplementedError

    def is_open(self, study: Study) -> bool:
        """Return whether the study takes files now."""
        return True

    def describe(self, study: Study, upload: Upload, report: Report) -> dict[str, Any]:
        """Return what the parts of the page show beyond the report."""
        return {}

    def describe_undo(self, study: Study, record: Any) -> dict[str, Any]:
        return {}

    def name_button(self, report: Report) -> str:
        """Return the words of the button that imports."""
        raise NotImplementedError

    def describe_import(self, study: Study, record: Any) -> str:
        raise NotImplementedError

    def describe_undone(self, record: Any) -> str:
        return f"{record.file_name} is gone."

    def make_form(self, *data: Any) -> UploadForm:
        return UploadForm(*data, several=self.takes_several)

    # uploading

    def upload(self, request: HttpRequest, study: Study) -> HttpResponseBase:
        """Keep the file for a preview; nothing in the study changes."""
        form = self.make_form(request.POST, request.FILES)
        if not form.is_valid():
            status = 413 if form.has_error("file", "too_large") else _INVALID
            return self.show_list(request, study, form, status)
        files = form.cleaned_data["files"]
        try:
            with ExitStack() as stack:
                name, whole = files[0]
                if len(files) > 1 or "/" in name:
                    packed = pack_files([(path, one.open) for path, one in files])
                    whole = File(stack.enter_context(packed))
                upload = keep_upload(
                    study=study,
                    file_name=name_files(path for path, _ in files),
                    chunks=whole.chunks(),
                    by=request.user,
                    purpose=self.importer.purpose,
                )
        except ValidationError as error:
            form.add_error(None, error)
            return self.show_list(request, study, form, _INVALID)
        begin_check(upload, by=request.user)
        return self._to_preview(study, upload)

    # one upload

    def preview(self, request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
        """Show what would be imported, and every fault; looking changes nothing."""
        upload = self._get_upload(study, upload_id)
        if is_imported(upload):
            return self._to_list(study)
        if not upload.path.exists():
            messages.warning(request, "That file was not imported in time. Upload it again.")
            return self._to_list(study)
        return self._show(request, study, upload)

    def _show(
        self,
        request: HttpRequest,
        study: Study,
        upload: Upload,
        import_form: forms.Form | None = None,
    ) -> HttpResponseBase:
        job = find_job(upload)
        report = None if job is not None else find_report(upload)
        if job is not None and job.has_stopped:
            report = find_report(upload) if upload.checked_at else None
        same = self.importer.find_same(study, upload.sha256)
        context: dict[str, Any] = {
            "pages": self,
            "upload": upload,
            "job": job,
            "job_title": name_job(job, upload) if job else "",
            "can_restart": job is not None and job.has_stopped,
            "again": self._address("preview", study, upload),
            "same": same,
            "report": report,
            "urls": {
                name: self._address(name, study, upload)
                for name in ("check", "map", "decide", "faults", "cancel", "import")
                + (("assign",) if self.takes_several else ())
            },
            "new_page": f"admin:{self.prefix}-new",
        }
        if report is not None:
            context |= self._describe(study, upload, report)
            # a large file is looked at by a job, once all of its columns are said
            context["applies_at_once"] = same is None and not is_large(upload)
            context["open_decisions"] = _count_open(report)
            context["can_import"] = report.is_importable and same is None and self.is_open(study)
            if self.import_options is not None:
                context["import_form"] = import_form or self.import_options()
            # a place for the corrected file
            is_faulty = report.fault_count and not context["open_decisions"]
            context["form"] = self.make_form(None) if is_faulty and not same else None
        status = _INVALID if import_form is not None else 200
        response = TemplateResponse(request, "imports/upload.html", context, status=status)
        return keep_watching(response, job)

    def _describe(self, study: Study, upload: Upload, report: Report) -> dict[str, Any]:
        form = self._make_mapping_form(None, study, report)
        options = self.mapping_options
        return {
            "columns": [
                (
                    field,
                    report.samples.get(str(field.label), ""),
                    report.notes.get(str(field.label), ""),
                )
                for field in form.columns
            ],
            "roles": RolesForm(None, files=report.files) if len(report.files) > 1 else None,
            "mapping_options": options(initial=upload.options) if options else None,
            "button": self.name_button(report),
            **self.describe(study, upload, report),
        }

    def check(self, request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
        """Check the file again, against the study as it is now."""
        upload = self._get_upload(study, upload_id)
        if _may_change(upload):
            begin_check(upload, by=request.user)
        return self._to_preview(study, upload)

    def map(self, request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
        """Save what the columns contain, and check the file again."""
        upload = self._get_upload(study, upload_id)
        report = find_report(upload) if _may_change(upload) else None
        if report is not None:
            form = self._make_mapping_form(request.POST, study, report)
            options = self.mapping_options(request.POST) if self.mapping_options else None
            if form.is_valid() and (options is None or options.is_valid()):
                upload.mapping = form.mapping
                kept = {
                    name: value
                    for name, value in upload.options.items()
                    if name not in self.options_of_rows
                }
                upload.options = kept | (options.cleaned_data if options else {})
                upload.save(update_fields=["mapping", "options"])
                begin_check(upload, by=request.user)
            else:
                messages.error(request, "Choose one of the listed fields for each column.")
        return self._to_preview(study, upload, "columns")

    def decide(self, request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
        """Save what only a researcher can decide about the file, and check it again."""
        upload = self._get_upload(study, upload_id)
        report = find_report(upload) if _may_change(upload) else None
        key = request.POST.get("key", "")
        for decision in report.decisions if report else ():
            if decision["key"] == key:
                upload.options = {name: v for name, v in upload.options.items() if name != key}
                for value, *_ in decision["choices"]:
                    if str(value) == request.POST.get("value"):
                        upload.options = {**upload.options, key: value}
                upload.save(update_fields=["options"])
                begin_check(upload, by=request.user)
        return self._to_preview(study, upload, "decisions")

    def assign(self, request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
        """Save what each of several files is for, and check them again."""
        upload = self._get_upload(study, upload_id)
        report = find_report(upload) if _may_change(upload) else None
        if report is not None and report.files:
            form = RolesForm(request.POST, files=report.files)
            if form.is_valid():
                others = (*self.options_of_rows, "outputs_names")
                kept = {name: v for name, v in upload.options.items() if name not in others}
                upload.options = {**kept, "outputs_names": form.names}
                # the columns may be others
                upload.mapping = {}
                upload.save(update_fields=["mapping", "options"])
                begin_check(upload, by=request.user)
            else:
                messages.error(request, " ".join(form.list_errors()))
        return self._to_preview(study, upload, "files")

    def faults(self, request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
        """Show all faults, to work through them in a spreadsheet."""
        upload = self._get_upload(study, upload_id)
        if upload.faults_path.exists():
            return send_csv(upload.faults_path.read_bytes(), "faults.csv")
        if not upload.path.exists() or is_large(upload):
            raise Http404("The file is gone, or was not checked yet.")
        return send_csv(list_faults(read_upload(upload).faults), "faults.csv")

    def cancel(self, request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
        upload = self._get_upload(study, upload_id)
        if not is_imported(upload):
            drop_upload(upload)
            messages.success(request, "Nothing was imported.")
        prune_uploads()
        return self._to_list(study)

    def import_(self, request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
        """Import the file once, however often the button is pressed."""
        upload = self._get_upload(study, upload_id)
        same = self.importer.find_same(study, upload.sha256)
        if same is not None or not upload.path.exists():
            messages.info(request, f"This file was already uploaded: 0 new {self.noun}.")
            return self._to_list(study)
        if self.import_options is not None:
            form = self.import_options(request.POST)
            if not form.is_valid():
                return self._show(request, study, upload, form)
            upload.options = {**upload.options, **form.cleaned_data}
            upload.save(update_fields=["options"])
        try:
            record = begin_import(upload, by=request.user) if _may_change(upload) else None
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return self._to_preview(study, upload)
        prune_uploads()
        if record is None:
            return self._to_preview(study, upload)
        messages.success(request, self.describe_import(study, record))
        return self._to_list(study)

    # undo

    def confirm_undo(self, request: HttpRequest, study: Study, **part: UUID) -> HttpResponseBase:
        (pk,) = part.values()
        record = get_object_or_404(self.importer.record, study=study, pk=pk)
        context = {"record": record, **self.describe_undo(study, record)}
        return TemplateResponse(request, self.undo_template, context)

    def undo(self, request: HttpRequest, study: Study, **part: UUID) -> HttpResponseBase:
        (pk,) = part.values()
        record = self.importer.record._default_manager.filter(study=study, pk=pk).first()
        if record is None:
            messages.info(request, "That file is gone already.")
            return self._to_list(study)
        try:
            is_gone = begin_undo(self.importer, record, by=request.user)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
        else:
            if is_gone:
                messages.success(request, self.describe_undone(record))
        prune_uploads()
        return self._to_list(study)

    # addresses

    def list_views(self) -> list[StudyView]:
        """The pages of an upload and of an undo; the list of files is the inheriting class's."""
        one = f"{self.path}<uuid:upload_id>/"

        def page(
            path: str, name: str, view: Callable[..., HttpResponseBase], *, is_shown: bool = False
        ) -> StudyView:
            within = self.within if is_shown else ""
            return StudyView(path=path, name=name, view=view, role=_EDITOR, within=within)

        prefix, undo = self.prefix, self.undo_prefix
        return [
            page(self.path, f"{prefix}-new", require_POST(self.upload), is_shown=True),
            page(one, f"{prefix}-preview", require_safe(self.preview), is_shown=True),
            page(f"{one}check/", f"{prefix}-check", require_POST(self.check)),
            page(f"{one}mapping/", f"{prefix}-map", require_POST(self.map)),
            page(f"{one}decision/", f"{prefix}-decide", require_POST(self.decide)),
            *(
                [page(f"{one}files/", f"{prefix}-assign", require_POST(self.assign))]
                if self.takes_several
                else []
            ),
            page(f"{one}faults.csv", f"{prefix}-faults", require_safe(self.faults)),
            page(f"{one}cancel/", f"{prefix}-cancel", require_POST(self.cancel)),
            page(f"{one}import/", f"{prefix}-import", require_POST(self.import_), is_shown=True),
            page(
                f"{self.undo_path}confirm/",
                f"{undo}-undo-confirm",
                require_safe(self.confirm_undo),
                is_shown=True,
            ),
            page(self.undo_path, f"{undo}-undo", require_POST(self.undo)),
        ]

    # helpers

    def _get_upload(self, study: Study, upload_id: UUID) -> Upload:
        return get_object_or_404(Upload, study=study, pk=upload_id, purpose=self.importer.purpose)

    def _make_mapping_form(self, data: Any, study: Study, report: Report) -> MappingForm:
        return MappingForm(
            data,
            header=report.header,
            mapping=report.mapping,
            fields=self.importer.list_fields(aim_at_study(study), report.mapping),
        )

    def _address(self, name: str, study: Study, upload: Upload) -> str:
        return reverse(f"admin:{self.prefix}-{name}", args=[study.pk, upload.pk])

    def _to_preview(self, study: Study, upload: Upload, part: str = "") -> HttpResponseBase:
        anchor = f"#{part}" if part else ""
        return redirect(f"{self._address('preview', study, upload)}{anchor}")

    def _to_list(self, study: Study) -> HttpResponseBase:
        return redirect(f"admin:{self.list_name}", study.pk)


def _count_open(report: Report) -> int:
    """Return how many decisions keep files from being read, if nothing else does."""
    if [code for *_, code in report.faults] != ["decision_needed"]:
        return 0
    return sum(not decision["is_made"] for decision in report.decisions)


def _may_change(upload: Upload) -> bool:
    """Return whether it waits for a decision: not imported, not discarded, no open job."""
    job = find_job(upload)
    return not is_imported(upload) and upload.path.exists() and not (job and job.is_open)
