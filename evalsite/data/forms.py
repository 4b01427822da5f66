"""What a researcher sends to upload a file and to say what its columns contain."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile

from evalsite.data.importing import Field, Report, aim_at_upload, check_system, fold_system
from evalsite.data.models import Upload
from evalsite.data.tables.files import clean_file_name, clean_path
from evalsite.data.tables.reader import NAMES, SYSTEM_NAMES, FileMapping
from evalsite.data.tables.roles import INPUTS, LEAVE_OUT, OUTPUTS, REFERENCE, SETTINGS, WORDS
from evalsite.data.tables.text_files import SEPARATORS
from evalsite.data.uploads import importer_of
from evalsite.lib.limited import read_json


class FilesInput(forms.ClearableFileInput):
    """Where several files may be chosen."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files that were chosen together, as a list."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> Any:
        clean_file = super().clean
        return [clean_file(file, initial) for file in data or []]


class PurposeForm(forms.Form):
    """What the rows of a file are."""

    purpose = forms.ChoiceField(choices=Upload.Purpose.choices)

    def get_purpose(self) -> str:
        """Return what was chosen; items if nothing was, or nothing that there is."""
        return self.cleaned_data["purpose"] if self.is_valid() else Upload.Purpose.ITEMS


class UploadForm(forms.Form):
    """Files, or pasted rows. Only where `several` belong together may more than one be chosen."""

    file = FilesField(label="File", required=False)
    pasted = forms.CharField(
        label="Or paste rows, with the names of the columns in the first line",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
    )
    # of files from a folder, which browsers send without it: a list in their order
    paths = forms.CharField(required=False, widget=forms.HiddenInput)
    # of several files sent earlier, the one that this file corrects
    replaces = forms.CharField(required=False)

    def __init__(self, *arguments: Any, several: bool = False, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.several = several
        self.most_files = settings.DATA_UPLOAD_MAX_NUMBER_FILES if several else 1

    def clean_file(self) -> Any:
        files = self.cleaned_data["file"]
        if len(files) > 1 and not self.several:
            raise ValidationError("Choose one file.", code="several")
        size = sum(file.size for file in files)
        if size > settings.UPLOAD_MAX_BYTES:
            has = "The file has" if len(files) == 1 else "The files have"
            raise ValidationError(
                f"{has} {size / 1024 / 1024:.1f} MB; at most "
                f"{settings.UPLOAD_MAX_BYTES / 1024 / 1024:.0f} MB are taken. Split it and upload "
                "the parts one after another.",
                code="too_large",
            )
        return files

    def clean_paths(self) -> Any:
        try:
            return read_json(self.cleaned_data["paths"] or "null")
        except ValueError:
            raise ValidationError(
                "The names of the files can’t be read. Choose them again."
            ) from None

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if not self.errors and bool(values["file"]) == bool(values["pasted"].strip()):
            raise ValidationError("Choose a file, or paste rows: one of the two.")
        if values.get("pasted", "").strip() and not values.get("file"):
            # browsers send every line break of a box as CR LF, whatever it was
            text = values["pasted"].replace("\r\n", "\n")
            values["file"] = [ContentFile(text.encode(), name="pasted rows.csv")]
        files, paths = values.get("file") or [], values.get("paths")
        names = [clean_file_name(file.name or "") for file in files]
        if isinstance(paths, list) and len(paths) == len(files):
            # of files in a folder
            names = [clean_path(str(path)) for path in paths]
        values["files"] = list(zip(names, files, strict=True))
        return values

    def list_errors(self) -> list[str]:
        return [str(error) for errors in self.errors.values() for error in errors]

    def get_status(self) -> int:
        """Return the status of a page that says why nothing was uploaded."""
        return 413 if self.has_error("file", "too_large") else 422


class ChangesForm(forms.Form):
    """What a person says of an uploaded file.

    A field that isn't posted keeps its value: a page that has fewer of them changes no others.
    """

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        for name, field in self.fields.items():
            if field.widget.value_omitted_from_data(self.data, self.files, name):
                values[name] = self.get_initial_for_field(field, name)
        return values

    def list_errors(self) -> list[str]:
        return [str(error) for errors in self.errors.values() for error in errors]


class MappingForm(ChangesForm):
    """What each column contains, one choice a column; numbered, as names of columns may be odd."""

    def __init__(
        self,
        data: Any,
        *,
        header: Sequence[str],
        mapping: dict[str, str],
        fields: Sequence[Field],
    ) -> None:
        super().__init__(data, auto_id="id_%s")
        self.header = header
        choices = _group_choices(fields)
        for number, column in enumerate(header):
            self.fields[f"column-{number}"] = forms.ChoiceField(
                label=f"{column} holds",
                choices=choices,
                required=False,
                initial=mapping.get(column, ""),
                error_messages={"invalid_choice": "Choose one of the listed fields."},
                widget=forms.Select(attrs={"aria-label": f"{column} holds"}),
            )

    @property
    def columns(self) -> list[tuple[str, Any]]:
        """Each column of the file with its field, in the order of the file."""
        return [(column, self[f"column-{number}"]) for number, column in enumerate(self.header)]

    @property
    def mapping(self) -> dict[str, str]:
        return {
            column: self.cleaned_data[f"column-{number}"]
            for number, column in enumerate(self.header)
        }


class SystemNamesForm(ChangesForm):
    """What each system is called, with its name in the file and the number of its outputs."""

    def __init__(self, data: Any, *, names: Sequence[Sequence[Any]]) -> None:
        super().__init__(data, auto_id="id_%s")
        self.names = names
        for number, (in_file, name, _) in enumerate(names):
            self.fields[f"name-{number}"] = forms.CharField(
                max_length=200,
                required=False,
                initial=name,
                label=f"Name of {in_file}",
                widget=forms.TextInput(attrs={"aria-label": f"Name of {in_file}", "dir": "auto"}),
            )

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [
            {"in_file": in_file, "field": self[f"name-{number}"], "outputs": outputs}
            for number, (in_file, _, outputs) in enumerate(self.names)
        ]

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        chosen = [str(values.get(name, "")).strip() for name in self.fields]
        for name in filter(None, chosen):
            if problem := check_system(name):
                raise ValidationError(problem)
            if sum(fold_system(other) == fold_system(name) for other in chosen) > 1:
                raise ValidationError(f"Two systems are called “{name}”. Give each its own name.")
        return values

    @property
    def renamed(self) -> dict[str, str]:
        """Return the names of those that aren't called as in the file."""
        chosen = {
            in_file: self.cleaned_data[f"name-{number}"].strip() or in_file
            for number, (in_file, *_) in enumerate(self.names)
        }
        # a system that the study knows by another name may be meant by the one in the file
        shown = {in_file: name for in_file, name, _ in self.names}
        return {
            in_file: name
            for in_file, name in chosen.items()
            if name != in_file or shown[in_file] != in_file
        }


# what a select shows of a decision whose answers the file no longer names
_AS_DECIDED, _AGAIN = "As decided", "Decide again"


class DecisionsForm(ChangesForm):
    """What the file leaves open: one choice for each decision."""

    def __init__(
        self, data: Any, *, decisions: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> None:
        super().__init__(data, auto_id="id_%s")
        self.decisions = decisions
        for decision in decisions:
            key, answer = decision["key"], options.get(decision["key"], "")
            choices = [(str(value), words) for value, words, _ in decision["choices"]]
            if not choices:
                choices = [(str(answer), _AS_DECIDED)]
            choices.append(("", _AGAIN)) if decision["is_made"] else choices.insert(
                0, ("", "Choose…")
            )
            self.fields[f"decision-{key}"] = forms.ChoiceField(
                label=decision["title"],
                choices=choices,
                required=False,
                initial=str(answer) if decision["is_made"] else "",
                error_messages={"invalid_choice": "Choose one of the listed answers."},
                widget=forms.Select(attrs={"aria-label": decision["title"]}),
            )

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [
            {**decision, "field": self[f"decision-{decision['key']}"]}
            for decision in self.decisions
        ]

    def is_made(self, key: str) -> bool:
        return any(decision["is_made"] for decision in self.decisions if decision["key"] == key)

    @property
    def answers(self) -> dict[str, Any]:
        """Return the answer to each decision; None where it is open again."""
        answers: dict[str, Any] = {}
        for decision in self.decisions:
            chosen = self.cleaned_data[f"decision-{decision['key']}"]
            values = {str(value): value for value, *_ in decision["choices"]}
            answers[decision["key"]] = values.get(chosen, chosen) if chosen else None
        return answers


class PartForm(ChangesForm):
    """How many of the items people rate; the key of the field is that of the reader's option."""

    random_part = forms.IntegerField(
        label="People rate a random",
        required=False,
        min_value=1,
        error_messages={
            "invalid": "Enter how many items people rate as a whole number, or nothing for all.",
            "min_value": "People rate 1 item or more. Enter nothing for all.",
        },
        widget=forms.TextInput(attrs={"class": "num", "inputmode": "numeric"}),
    )


class ReadingForm(ChangesForm):
    """How a text is read as a table."""

    separator = forms.ChoiceField(
        label="Columns separated by",
        choices=[(name, name) for name in SEPARATORS.values()],
        required=False,
        error_messages={"invalid_choice": "Choose one of the listed separators."},
    )


ROLES = {
    INPUTS: "Inputs",
    OUTPUTS: "Outputs of a system",
    REFERENCE: "Reference",
    SETTINGS: "Settings of the run",
    LEAVE_OUT: "Leave out",
}


class RolesForm(ChangesForm):
    """What each of several files is for, and what the system is called whose outputs it holds."""

    def __init__(self, data: Any, *, files: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(data, auto_id="id_%s")
        self.uses = files
        for number, file in enumerate(files):
            role, systems = file["role"], file["systems"]
            choices = [(key, ROLES[key]) for key in _list_roles(file)]
            if not role:
                choices.insert(0, ("", "Choose…"))
            self.fields[f"role-{number}"] = forms.ChoiceField(
                choices=choices,
                initial=role,
                required=False,
                label=f"{file['name']} holds",
                widget=forms.Select(attrs={"aria-label": f"{file['name']} holds"}),
            )
            self.fields[f"system-{number}"] = forms.CharField(
                max_length=200,
                initial=systems[0] if len(systems) == 1 else "",
                required=False,
                label=f"System in {file['name']}",
                widget=forms.TextInput(attrs={"aria-label": f"System in {file['name']}"}),
            )

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return each file with its choices; the name of its system where there is one to say."""
        return [
            {
                "file": file,
                "role": self[f"role-{number}"],
                "system": self[f"system-{number}"],
                "is_named": file["role"] == OUTPUTS and len(file["systems"]) == 1,
            }
            for number, file in enumerate(self.uses)
        ]

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        for number in range(len(self.uses)):
            name = values.get(f"system-{number}", "").strip()
            if values.get(f"role-{number}") == OUTPUTS and name.casefold() in WORDS:
                raise ValidationError(
                    f"No system can be called “{name}” here. Choose another name."
                )
        return values

    @property
    def is_changed(self) -> bool:
        """Return whether a file is to be something else than it was read as."""
        return any(
            self.cleaned_data[name] != self.get_initial_for_field(field, name)
            for name, field in self.fields.items()
        )

    @property
    def names(self) -> dict[str, str]:
        """Return what was said of each file, as `evalsite.data.tables` takes it."""
        named = {}
        for number, file in enumerate(self.uses):
            role = self.cleaned_data[f"role-{number}"]
            name = self.cleaned_data[f"system-{number}"].strip()
            if role in WORDS:
                named[file["name"]] = role
            elif role == OUTPUTS and len(file["systems"]) < 2:
                # a file that held something else until now has no name yet
                named[file["name"]] = name or PurePosixPath(file["name"]).stem
        return named


def _list_roles(file: Mapping[str, Any]) -> Sequence[str]:
    if file["is_settings"]:
        return (SETTINGS, LEAVE_OUT)
    # of a file with several systems all are taken or none
    if len(file["systems"]) > 1:
        return (OUTPUTS, LEAVE_OUT)
    return (INPUTS, OUTPUTS, REFERENCE, LEAVE_OUT)


def _group_choices(fields: Sequence[Field]) -> list[tuple[str, Any]]:
    """Choices of a select; adjacent fields of one group are listed under its name."""
    choices: list[tuple[str, Any]] = []
    for group, members in groupby(fields, key=lambda field: field.group):
        listed = [(field.name, field.label) for field in members]
        choices += [(group, listed)] if group else listed
    return choices


# --- all forms of a file, and what they change of its upload -----------------------------


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
