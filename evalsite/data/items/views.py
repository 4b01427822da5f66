"""Staff pages of items: what a study has, templates to fill in, and taking items back."""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.data.forms import UploadForm
from evalsite.data.importing import Report
from evalsite.data.items.choices import PAIRED
from evalsite.data.items.columns import makes_pairs
from evalsite.data.items.importer import ITEMS, find_note, takes_items
from evalsite.data.items.records import (
    MOST_COLUMNS,
    describe_systems,
    list_records,
    read_records,
)
from evalsite.data.models import MetricScore, Upload
from evalsite.data.tables.tools import load_formats
from evalsite.data.uploads import (
    find_jobs,
    find_uploads,
    is_under_way,
    list_undoings,
    list_waiting,
    split_spent,
)
from evalsite.data.views import INVALID, KINDS, UploadKind, undo_import
from evalsite.decisions.system_names import rename_system
from evalsite.fieldwork.pilot import pilot_answers
from evalsite.fieldwork.places_views import describe_places
from evalsite.fieldwork.previews import Preview, render_item
from evalsite.instruments.invented import invent_inputs, invent_outputs
from evalsite.instruments.schema import Instrument
from evalsite.lib.csv_writer import write_rows
from evalsite.lib.dialogue import parse_dialogue
from evalsite.lib.limited import VALUES_IN_FILE
from evalsite.studies.models import Batch, Membership, Study, System
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.setup_forms import make_options_form
from evalsite.studies.staff_pages import has_role, study_page
from evalsite.studies.summary_lines import count_of


# --- example files --------------------------------------------------------------------
@dataclass(frozen=True)
class Template:
    """A file to fill in: what a page calls it, and how it is sent."""

    label: str
    ending: str
    content_type: str
    write: Callable[[Instrument], bytes]


def _write_long(config: Instrument) -> list[list[str]]:
    """One row for each output of the example."""
    texts, inputs = _find_example(config)
    return [
        ["item", *inputs, "system", "output"],
        *(
            ["example-1", *inputs.values(), f"system-{number}", text]
            for number, text in enumerate(texts, start=1)
        ),
    ]


def _write_wide(config: Instrument) -> list[list[str]]:
    """One row for the example, with columns for two outputs at least: some may stay empty."""
    texts, inputs = _find_example(config)
    count = max(2, len(texts))
    outputs = [*texts, *[""] * (count - len(texts))]
    names = [f"{field}{number}" for number in range(1, count + 1) for field in ("output", "system")]
    cells = [
        cell
        for number, text in enumerate(outputs, start=1)
        for cell in (text, f"system-{number}" if text else "")
    ]
    return [["item", *inputs, *names], ["example-1", *inputs.values(), *cells]]


def _find_example(config: Instrument) -> tuple[Sequence[str], dict[str, str]]:
    """Return outputs and required cells of an example, invented if the instrument has none."""
    example = next(iter((*config.examples, *config.practice)), None)
    cells = example.cells if example else invent_inputs(config)
    inputs = {
        column.name: str(cells.get(column.name, "")) for column in config.columns if column.required
    }
    return example.texts if example else invent_outputs(config), inputs


def _write_csv(rows: list[list[str]]) -> bytes:
    return write_rows(rows).encode()


def _write_json_lines(rows: list[list[str]]) -> bytes:
    header, *body = rows
    objects = (dict(zip(header, row, strict=True)) for row in body)
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in objects).encode()


def _write_sheet(rows: list[list[str]]) -> bytes:
    """Return a sheet whose cells are texts, so that 007 stays 007 when it is typed there."""
    from xlsxwriter import Workbook  # noqa: PLC0415 (heavy, and seldom asked for)

    buffer = io.BytesIO()
    with Workbook(buffer, {"in_memory": True}) as book:
        sheet = book.add_worksheet("Items")
        text = book.add_format({"num_format": 49, "valign": "top", "text_wrap": True})
        bold = book.add_format({"num_format": 49, "valign": "top", "bold": True})
        for column, name in enumerate(rows[0]):
            is_short = name == "item" or name.startswith("system")
            sheet.set_column(column, column, 16 if is_short else 60, text)
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                sheet.write_string(number, column, cell, bold if number == 0 else text)
        sheet.freeze_panes(1, 0)
    return buffer.getvalue()


_CSV = "text/csv; charset=utf-8"
# by the word that an address names them with; the first is given where none is named
TEMPLATES: dict[str, Template] = {
    "long": Template(
        "CSV, a row for each output", ".csv", _CSV, lambda config: _write_csv(_write_long(config))
    ),
    "wide": Template(
        "CSV, a row for each item",
        "-wide.csv",
        _CSV,
        lambda config: _write_csv(_write_wide(config)),
    ),
    "excel": Template(
        "Excel, a row for each output",
        ".xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        lambda config: _write_sheet(_write_long(config)),
    ),
    "json": Template(
        "JSON lines",
        ".jsonl",
        "application/jsonl; charset=utf-8",
        lambda config: _write_json_lines(_write_long(config)),
    ),
}


# --- pages ----------------------------------------------------------------------------
PAGE, _LONGEST_SEARCH, _MOST_PAGES = 10, 100, 1_000_000


def _describe_new(study: Study) -> dict[str, Any]:
    return {
        "columns": [column.name for column in study.config.columns if column.required],
        "optional_columns": _name_optional_columns(study.config),
        "makes_pairs": makes_pairs(study.config),
        "templates": TEMPLATES,
        "limits": _describe_limits(),
        "formats": [tool.title for tool in load_formats()],
    }


def _describe(study: Study, report: Report) -> dict[str, Any]:
    summary = report.summary
    return {
        "previews": preview_items(study, summary["examples"]),
        "button": f"Import {count_of(summary['records'], 'item')}",
    }


def _describe_import(study: Study, record: Batch) -> str:
    later = " People get them once an owner has opened the batch." if study.is_launched else ""
    items = count_of(record.items.count(), "item")
    paired = find_note(record.import_notes, PAIRED)
    stored = f"Imported {count_of(record.rows, 'row')} as {items}. {paired}".rstrip()
    return f"{stored}{later}"


KINDS[Upload.Purpose.ITEMS] = UploadKind(
    list_name="batch-list",
    title="Items",
    noun="items",
    describe_new=_describe_new,
    describe=_describe,
    describe_import=_describe_import,
    details="data/_people_see.html",
    takes_several=True,
    is_open=takes_items,
)


@study_page(
    "batches/<uuid:batch_id>/undo/confirm/",
    name="batch-undo-confirm",
    role=Membership.Role.EDITOR,
    within="Items",
)
@require_safe
def confirm_undo(request: HttpRequest, study: Study, batch_id: UUID) -> HttpResponseBase:
    batch = get_object_or_404(Batch, study=study, pk=batch_id)
    context = {
        "record": batch,
        "items": batch.items.count(),
        "scores": MetricScore.objects.filter(output__item__batch=batch).count(),
        "pilots": pilot_answers(study).count(),
    }
    return TemplateResponse(request, "data/undo.html", context)


@study_page("batches/<uuid:batch_id>/undo/", name="batch-undo", role=Membership.Role.EDITOR)
@require_POST
def undo(request: HttpRequest, study: Study, batch_id: UUID) -> HttpResponseBase:
    return undo_import(request, ITEMS, study, batch_id, "The items of {} are gone.")


@study_page("set-up/items/", name="batch-list", place="Set up", tab="Items", order=20)
@require_safe
def list_batches(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _show_items(request, study)


@study_page("items/template.csv", name="batch-template")
@require_safe
def download_template(request: HttpRequest, study: Study) -> HttpResponseBase:
    template = TEMPLATES.get(request.GET.get("form", "long"))
    if template is None:
        raise Http404("There is no such template.")
    response = HttpResponse(template.write(study.config), content_type=template.content_type)
    name = f"{study.protocol}-template{template.ending}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


class SystemsForm(forms.Form):
    """The names of a draft's systems."""

    def __init__(self, data: Any, *, systems: Iterable[System]) -> None:
        super().__init__(data, auto_id="id_%s")
        self.systems = {f"system-{system.pk}": system for system in systems}
        for number, (name, system) in enumerate(self.systems.items(), start=1):
            label = f"Name of system {number}"
            self.fields[name] = forms.CharField(
                label=label,
                required=False,
                initial=system.name,
                widget=forms.TextInput(attrs={"aria-label": label}),
            )

    def get_field(self, system: System) -> Any:
        return self[f"system-{system.pk}"]

    def list_changed(self) -> list[tuple[System, str]]:
        """Return the systems whose names were changed, with their new names."""
        changed = self.changed_data if self.is_valid() else []
        # a page from before a system was added has no box for it
        sent = [name for name in changed if name in self.data]
        return [(self.systems[name], self.cleaned_data[name]) for name in sent]


@study_page("set-up/items/systems/", name="systems-rename", role=Membership.Role.EDITOR)
@require_POST
def rename_systems(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Save the names of the systems; all of them, or none if one can't be used."""
    form = SystemsForm(request.POST, systems=study.systems.order_by("pk"))
    try:
        with transaction.atomic():
            for system, name in form.list_changed():
                rename_system(study, system, name, request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "The names are saved.")
    return redirect("admin:batch-list", study.pk)


@study_page(
    "set-up/items/options/", name="options-change", role=Membership.Role.EDITOR, within="Items"
)
@require_POST
def change_options(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Save the protocol's own options; all of them, or none if one can't be used."""
    form = make_options_form(study, request.POST)
    if form is None:
        raise Http404("This instrument has no options.")
    if form.is_valid():
        options = dict(form.cleaned_data)
        seen = options.pop("seen")
        try:
            change_settings(study=study, values={"options": options}, seen=seen, by=request.user)
        except ValidationError as error:
            form.add_error(None, error)
    if not form.errors:
        messages.success(request, "The options are saved.")
        return redirect("admin:batch-list", study.pk)
    response = _show_items(request, study, options=form)
    response.status_code = INVALID
    return response


def _list_page(records: QuerySet[Any], number: str) -> Page:
    """Return a page of records; one query lists them and counts all."""
    place = int(number) - 1 if number.isdecimal() and 0 < int(number) < _MOST_PAGES else 0
    rows = list(records[place * PAGE : (place + 1) * PAGE]) or list(records[:PAGE])
    paginator = Paginator(records, PAGE)
    paginator.count = rows[0]["total"] if rows else 0
    last = paginator.num_pages
    return Page(rows, place + 1 if place < last else 1, paginator)


def _show_items(
    request: HttpRequest, study: Study, *, options: forms.Form | None = None
) -> HttpResponseBase:
    may_edit = has_role(request, study, Membership.Role.EDITOR)
    uploads = find_uploads(study) if may_edit else []
    jobs = find_jobs(study)
    known = list(Batch.all_objects.filter(study=study).select_related("uploaded_by"))
    batches = [batch for batch in known if batch.stored_at is not None]
    unstored = [batch for batch in known if batch.stored_at is None]
    hashes = {batch.sha256 for batch in batches}
    search = request.GET.get("q", "").strip()[:_LONGEST_SEARCH]
    listed = list_records(study, search, has_one_batch=len(batches) == 1)
    rows = _list_page(listed, request.GET.get("page", "")) if batches else None
    records = read_records(study, list(rows)) if rows else []
    places = describe_places(study) if study.version_id else {}
    figures = describe_systems(study, records, unstored=unstored) if batches else []
    is_draft = study.version_id is None and not study.has_ended
    systems = [figure.system for figure in figures]
    form = SystemsForm(None, systems=systems) if is_draft and may_edit else None
    columns = systems[:MOST_COLUMNS]
    # optional inputs that no item has would be empty columns
    shown = [
        place
        for place, column in enumerate(study.config.columns)
        if column.required or any(record.inputs[place] for record in records)
    ]
    context = {
        "batches": batches,
        "has_unopened": study.is_launched and any(batch.opened_at is None for batch in batches),
        "last_upload": max((batch.uploaded_at for batch in batches), default=None),
        "undoings": list_undoings(study, ITEMS, jobs),
        **split_spent(list_waiting(study, Upload.Purpose.ITEMS, uploads, jobs, hashes)),
        "ratings_under_way": may_edit
        and is_under_way(study, Upload.Purpose.RATINGS, uploads, jobs),
        "rows": rows,
        "search": search,
        "inputs": [study.config.columns[place].heading for place in shown],
        "system_columns": columns,
        "more_columns": len(systems) - len(columns),
        "records": [
            (
                record,
                [_write_turns(record.inputs[place]) for place in shown],
                [record.outputs.get(system.pk) for system in columns],
            )
            for record in records
        ],
        "outputs": sum(figure.outputs for figure in figures),
        "systems": [(figure, form and form.get_field(figure.system)) for figure in figures],
        "can_rename": form is not None,
        "options": (options or make_options_form(study)) if may_edit else None,
        "is_owner": has_role(request, study, Membership.Role.OWNER),
        "form": UploadForm(None, several=True),
        "purpose": Upload.Purpose.ITEMS,
        "to": reverse("admin:upload-new", args=[study.pk]),
        "can_restart": may_edit,
        "can_upload": takes_items(study) and may_edit,
        "can_steer": may_edit,
        "places": places.get("places"),
        "has_stopped": places.get("has_stopped", False),
        # only a study without items has the box on this page
        **({} if batches else _describe_new(study)),
    }
    return TemplateResponse(request, "data/items.html", context)


def _write_turns(text: str) -> str:
    """Return a conversation in JSON as people would write it, and any other text as it is."""
    turns = parse_dialogue(text) if text[:1] == "[" else ()
    if not turns or not all(turn.speaker for turn in turns):
        return text
    return "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)


def _describe_limits() -> list[str]:
    return [
        f"{settings.UPLOAD_MAX_BYTES // (1024 * 1024):,} MB",
        f"{settings.UPLOAD_MAX_ROWS:,} rows",
        f"{settings.UPLOAD_MAX_COLUMNS:,} columns",
        f"{VALUES_IN_FILE:,} values (rows times columns)",
        f"{settings.UPLOAD_MAX_CELL:,} characters in a cell",
        f"{settings.UPLOAD_MAX_TEXT // (1024 * 1024):,} MB once unpacked",
    ]


def _name_optional_columns(config: Instrument) -> list[str]:
    return [
        *("group", "cluster", "kind"),
        *(["pair"] if makes_pairs(config) else []),
        *(column.name for column in config.columns if not column.required),
        *(f"gold_{criterion.key}" for criterion in config.criteria),
        "gold_why",
    ]


# --- previews ---------------------------------------------------------------------------


def preview_items(study: Study, items: Sequence[Mapping[str, Any]]) -> list[Preview]:
    """Return the pages of the first items, made by the very templates that participants get."""
    return [
        Preview(
            str(number),
            f"Item {number}",
            render_item(
                study,
                key=item["key"],
                inputs=item["inputs"],
                texts=[text for _, text in item["outputs"]],
            ),
        )
        for number, item in enumerate(items, start=1)
    ]
