"""What a person says of an uploaded file: forms of it, and the upload that they change."""

from typing import Any

from django import forms

from evalsite.data.tables.reader import NAMES, SYSTEM_NAMES, FileMapping
from evalsite.data.tables.text_files import SEPARATORS
from evalsite.imports.core import Report, aim_at_upload
from evalsite.imports.forms import (
    DecisionsForm,
    MappingForm,
    ReadingForm,
    RolesForm,
    SystemNamesForm,
)
from evalsite.imports.models import Upload
from evalsite.imports.steps import importer_of

SEPARATOR, TURN = "separator", "turn"
# what a person said of rows, which another mapping makes void
_OF_ROWS = ("leave_out_faulty", "take_once", "clusters", "meets")


def make_forms(
    upload: Upload, report: Report, data: Any, options: type[forms.Form] | None
) -> dict[str, Any]:
    """Return the forms that suit this file, by what they are about.

    `options` is the form of what else can be chosen for rows of this kind.
    """
    fields = importer_of(upload).list_fields(aim_at_upload(upload), report.mapping)
    known = upload.mapping.options
    made: dict[str, Any] = {
        "mapping": MappingForm(data, header=report.header, mapping=report.mapping, fields=fields),
        "decisions": DecisionsForm(data, decisions=report.decisions, options=known),
        "names": SystemNamesForm(data, names=report.summary.get("names", [])),
    }
    if len(report.files) > 1:
        made["roles"] = RolesForm(data, files=report.files)
    if report.delimiter in SEPARATORS.values():
        made["reading"] = ReadingForm(data, initial={SEPARATOR: report.delimiter})
    if options is not None:
        made["options"] = options(data, initial=known)
    return made


def save_changes(upload: Upload, report: Report, posted: dict[str, Any]) -> bool:
    """Save what valid forms change of an upload; return whether they change anything."""
    known = upload.mapping.options
    mapping, options = upload.mapping.fields, dict(known)
    if "roles" in posted and posted["roles"].is_changed:
        # the columns may be others
        options, mapping = _drop_of_rows(options), {}
        options[NAMES] = posted["roles"].names
    elif posted["mapping"].mapping != {name: report.mapping[name] for name in report.header}:
        options, mapping = _drop_of_rows(options), posted["mapping"].mapping
    if "reading" in posted:
        separator = posted["reading"].cleaned_data[SEPARATOR]
        if separator != report.delimiter:
            options, mapping = {**_drop_of_rows(options), SEPARATOR: separator}, {}
    if posted["names"].names:
        options[SYSTEM_NAMES] = posted["names"].renamed
    if "options" in posted:
        options = _choose(options, posted["options"].cleaned_data)
    for key, answer in posted["decisions"].answers.items():
        is_made = posted["decisions"].is_made(key)
        if answer is not None and not (is_made and answer == known.get(key)):
            options[key] = answer
        elif answer is None and is_made:
            options.pop(key, None)
    changed = FileMapping.read(mapping, options)
    if mapping == upload.mapping.fields:
        changed = changed.change(copied_from=upload.mapping.copied_from)
    if changed == upload.mapping:
        return False
    upload.mapping = changed
    upload.save(update_fields=["mapping"])
    return True


def _choose(options: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    if (values.get(TURN) or "") != (options.get(TURN) or ""):
        options = _drop_of_rows(options)
    return options | {name: value for name, value in values.items() if value or name in options}


def _drop_of_rows(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in _OF_ROWS}
