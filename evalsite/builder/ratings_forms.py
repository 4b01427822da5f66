"""What a person says of ratings that they have already."""

from typing import Any

from django import forms
from django.http import QueryDict

from evalsite.builder.titles import LONGEST
from evalsite.data.forms import ChangesForm
from evalsite.data.models import Upload
from evalsite.data.ratings.bare_file import (
    KIND,
    ONLY_QUESTION,
    QUESTIONS,
    TURN,
    USES,
    change_use,
)
from evalsite.data.tables.bare_ratings import DECIMAL, POINT
from evalsite.data.tables.reader import FileMapping
from evalsite.data.tables.text_files import ENCODINGS, SEPARATORS
from evalsite.lib.rating_columns import split_field
from evalsite.studies.forms import use_our_words

ENCODING, SEPARATOR, TITLE, PERSONS = "encoding", "separator", "title", "persons"
_SAY_WHO = "Say whether each person of the file is one person."


class ReadingForm(ChangesForm):
    """How a file of ratings is read: its separator and decimal mark, and what each column holds."""

    encoding = forms.ChoiceField(
        label="Characters",
        choices=[
            ("", "as found"),
            *((name, f"{label} ({where})") for name, (label, where) in ENCODINGS.items()),
        ],
        required=False,
    )
    separator = forms.ChoiceField(
        label="Columns separated by",
        choices=[("", "as found"), *((name, name) for name in SEPARATORS.values())],
        required=False,
    )
    decimal = forms.ChoiceField(
        label="Decimal mark",
        choices=[("", "as found"), (POINT, "point: “4,5” is a text")],
        required=False,
    )

    turn = forms.ChoiceField(
        label="The table has",
        choices=[
            ("", "as found"),
            ("people", "a column for each person"),
            ("items", "a column for each item"),
        ],
        required=False,
    )

    def __init__(self, data: QueryDict | None = None, *, upload: Upload) -> None:
        self.upload = upload
        self.columns: list[dict[str, Any]] = upload.report.get("columns", [])
        answers = upload.mapping.decisions
        initial = {name: answers.get(name) or "" for name in (ENCODING, SEPARATOR, DECIMAL, TURN)}
        initial |= {f"use_{n}": column["use"] for n, column in enumerate(self.columns)}
        super().__init__(data, initial=initial)
        for number, column in enumerate(self.columns):
            choices = USES if column["use"] in USES else {column["use"]: column["other"], **USES}
            name = f"{column['name']} holds"
            self.fields[f"use_{number}"] = forms.ChoiceField(
                choices=[*choices.items()],
                required=False,
                widget=forms.Select(attrs={"aria-label": name}),
            )
        use_our_words(self.fields.values())

    def list_columns(self) -> list[dict[str, Any]]:
        return [
            column | {"select": self[f"use_{number}"]} for number, column in enumerate(self.columns)
        ]

    def change_mapping(self) -> FileMapping:
        """Return the mapping with what was changed."""
        mapping = self.upload.mapping
        fields, decisions = dict(mapping.fields), dict(mapping.decisions)
        guess = {column["name"]: column["field"] for column in self.columns}
        for number, column in enumerate(self.columns):
            use = self.cleaned_data[f"use_{number}"]
            if use == column["use"]:
                continue
            field = fields[column["name"]] = change_use(column["name"], use, guess)
            if use in QUESTIONS and (target := split_field(field)):
                decisions[f"{KIND}{target.criterion or ONLY_QUESTION}"] = use
        for name in (ENCODING, SEPARATOR, DECIMAL, TURN):
            decisions[name] = self.cleaned_data[name]
        kept = {name: answer for name, answer in decisions.items() if answer not in ("", None)}
        return mapping.change(fields=fields, decisions=kept)


class RatingsForm(forms.Form):
    """What a study of ratings needs besides: a title, who rated, and perhaps the texts."""

    title = forms.CharField(
        max_length=LONGEST,
        error_messages={"required": "Enter a title."},
    )
    texts = forms.FileField(
        label="The texts, if you have them",
        required=False,
        help_text="Optional: a file of the items with their outputs, by the same ids. Then you can "
        "read them beside the ratings.",
    )
    persons = forms.ChoiceField(
        label="Is each of them one person?",
        help_text="If not, as with the columns of a published table or with judges 1 to 3 who were "
        "different people, figures about raters are left empty, and say why.",
        choices=[("yes", "Yes, a single person"), ("no", "No, or not known")],
        widget=forms.RadioSelect,
        error_messages={"required": _SAY_WHO, "invalid_choice": _SAY_WHO},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        use_our_words(self.fields.values())
