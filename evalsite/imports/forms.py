"""What a researcher sends to upload a file and to say what its columns contain."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile

from evalsite.imports.columns import Field


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

    def __init__(self, *arguments: Any, several: bool = False, **others: Any) -> None:
        super().__init__(*arguments, **others)
        self.several = several

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
        return values


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


def _group_choices(fields: Sequence[Field]) -> list[tuple[str, Any]]:
    """Choices of a select; adjacent fields of one group are listed under its name."""
    choices: list[tuple[str, Any]] = []
    for group, some in groupby(fields, key=lambda field: field.group):
        listed = [(field.name, field.label) for field in some]
        choices += [(group, listed)] if group else listed
    return choices
