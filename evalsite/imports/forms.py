"""What a researcher sends to upload a file and to say what its columns contain."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile

from evalsite.data.tables.roles import INPUTS, LEAVE_OUT, OUTPUTS, REFERENCE, SETTINGS, WORDS
from evalsite.imports.columns import Field
from evalsite.imports.uploads import clean_file_name, clean_path


class FilesInput(forms.ClearableFileInput):
    """Where several files may be chosen."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files that were chosen together, as a list."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> Any:
        one = super().clean
        return [one(file, initial) for file in data or []]


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
    paths = forms.JSONField(required=False, widget=forms.HiddenInput)

    def __init__(self, *arguments: Any, several: bool = False, **others: Any) -> None:
        super().__init__(*arguments, **others)
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

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if not self.errors and bool(values["file"]) == bool(values["pasted"].strip()):
            raise ValidationError("Choose a file, or paste rows: one of the two.")
        if values.get("pasted", "").strip() and not values.get("file"):
            # browsers send every line break of a box as CR LF, whatever it was
            text = values["pasted"].replace("\r\n", "\n")
            values["file"] = [ContentFile(text.encode(), name="pasted rows.csv")]
        values["files"] = self._name_files(values.get("file") or [], values.get("paths"))
        return values

    def _name_files(self, files: Sequence[Any], paths: Any) -> list[tuple[str, Any]]:
        """Return each file with its name, or with its path in a folder."""
        names: list[str] = [clean_file_name(file.name or "") for file in files]
        if isinstance(paths, list) and len(paths) == len(files):
            names = [clean_path(str(path)) for path in paths]
        return list(zip(names, files, strict=True))


class MappingForm(forms.Form):
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
                label=column, choices=choices, required=False, initial=mapping.get(column, "")
            )

    @property
    def columns(self) -> list[Any]:
        """The fields of the columns, in the order of the file."""
        return [self[f"column-{number}"] for number in range(len(self.header))]

    @property
    def mapping(self) -> dict[str, str]:
        return {
            column: self.cleaned_data[f"column-{number}"]
            for number, column in enumerate(self.header)
        }


ROLES = {
    INPUTS: "Inputs",
    OUTPUTS: "Outputs of a system",
    REFERENCE: "Reference",
    SETTINGS: "Settings of the run",
    LEAVE_OUT: "Leave out",
}


class RolesForm(forms.Form):
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
                label=f"Role of {file['name']}",
            )
            self.fields[f"system-{number}"] = forms.CharField(
                max_length=200, initial=systems[0] if len(systems) == 1 else "", required=False,
                label=f"System in {file['name']}",
            )  # fmt: skip

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
        values = super().clean() or {}
        for number in range(len(self.uses)):
            name = values.get(f"system-{number}", "").strip()
            if values.get(f"role-{number}") == OUTPUTS and name.casefold() in WORDS:
                raise ValidationError(
                    f"No system can be called “{name}” here. Choose another name."
                )
        return values

    def list_errors(self) -> list[str]:
        return [str(error) for errors in self.errors.values() for error in errors]

    @property
    def names(self) -> dict[str, str]:
        """Return what was said of each file, as `evalsite.data.tables` takes it."""
        found = {}
        for number, file in enumerate(self.uses):
            role = self.cleaned_data[f"role-{number}"]
            name = self.cleaned_data[f"system-{number}"].strip()
            if role in WORDS:
                found[file["name"]] = role
            elif role == OUTPUTS and len(file["systems"]) < 2:
                # a file that held something else until now has no name yet
                found[file["name"]] = name or PurePosixPath(file["name"]).stem
        return found


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
    for group, some in groupby(fields, key=lambda field: field.group):
        listed = [(field.name, field.label) for field in some]
        choices += [(group, listed)] if group else listed
    return choices
