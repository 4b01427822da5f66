"""Staff page of Set up: a worked example that people read, one of the instrument's or another."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.builder.answers import describe_answers, read_answer, write_answer
from evalsite.builder.controls import Plain
from evalsite.builder.examples import read_structure, write_text
from evalsite.instruments.checks import check_example
from evalsite.instruments.schema import Instrument
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Membership, Study
from evalsite.studies.questions import EXAMPLES, MOST_EXAMPLES
from evalsite.studies.setting_changes import ChangedMeanwhile, change_settings
from evalsite.studies.staff_pages import study_page

INVALID, CONFLICT = 422, 409
_MOST_OUTPUTS = 10
_ALWAYS = ("inputs", "outputs", "why")


class RevisionForm(forms.Form):
    """What the study was when the page was opened."""

    revision = forms.IntegerField(widget=forms.HiddenInput)


class RemovalForm(RevisionForm):
    """What a button takes away: this example, or all that was changed for the study."""

    do = forms.ChoiceField(choices=[("remove", "remove"), ("reset", "reset")])


class ExampleForm(RevisionForm):
    """The texts of an example, the answers to it and the reason, as the instrument has them."""

    def __init__(
        self, data: Any, *, config: Instrument, example: Plain, initial: dict[str, Any]
    ) -> None:
        super().__init__(data, initial=initial)
        self.config, self.example = config, example
        item, self.kinds = config.item, {column.name: column.kind for column in config.columns}
        for column in item.inputs:
            text = write_text(example.get("inputs", {}).get(column.name))
            self._add(f"inputs-{column.name}", column.heading, text, required=column.required)
        for of_output in item.output_columns:
            cell = (example.get("columns", {}).get(of_output.name) or [""])[0]
            text = "\n".join(map(str, cell)) if isinstance(cell, list) else str(cell)
            name = f"columns-{of_output.name}"
            self._add(name, of_output.heading, text, required=of_output.required)
        texts = [write_text(text) for text in example.get("outputs", ())]
        self.outputs = min(max(item.outputs.least, len(texts), 1), _MOST_OUTPUTS)
        if item.outputs.most <= 2:
            self.outputs = item.outputs.most
        for number in range(self.outputs):
            label = f"{item.output_name} {number + 1}" if self.outputs > 1 else item.output_name
            self._add(f"outputs-{number}", label, texts[number] if number < len(texts) else "")
        for criterion in config.criteria:
            question = criterion.to_data()
            self.fields[f"ratings-{criterion.key}"] = forms.CharField(
                label=f"Answer: {criterion.label}",
                required=False,
                initial=write_answer(example.get("ratings", {}).get(criterion.key), question),
                help_text=describe_answers(question, is_gold=False),
            )
        self.fields["why"] = forms.CharField(
            label="Why",
            required=False,
            initial=example.get("why", ""),
            help_text="The reason for these answers. Markdown.",
            widget=forms.Textarea(attrs={"rows": 3}),
        )
        use_our_words(self.fields.values())

    def _add(self, name: str, label: str, text: str, *, required: bool = True) -> None:
        rows = min(max(2, text.count("\n") + 1), 12)
        self.fields[name] = forms.CharField(
            label=label,
            initial=text,
            required=required,
            widget=forms.Textarea(attrs={"rows": rows, "dir": "auto"}),
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        made = self._make(cleaned)
        for fault in check_example(self.config, made):
            name = "-".join(fault.place.split(".")[:2])
            field = name if name in self.fields else None
            self.add_error(field, f"This {fault.message}.")
        cleaned["example"] = made
        return cleaned

    def _make(self, cleaned: Mapping[str, Any]) -> Plain:
        """Return the example as data; what the page doesn't show stays."""
        parts: dict[str, dict[str, str]] = {}
        for name, text in cleaned.items():
            part, _, key = name.partition("-")
            if key and text:
                parts.setdefault(part, {})[key] = text
        texts = [
            read_structure(text, self.config.item.outputs.kind)
            for text in parts.get("outputs", {}).values()
        ]
        made: Plain = {
            **self.example,
            "inputs": {
                name: read_structure(text, self.kinds[name])
                for name, text in parts.get("inputs", {}).items()
            },
            "outputs": texts,
            "why": cleaned["why"],
            "columns": {
                name: [text.splitlines() if self.kinds[name] == "statements" else text]
                for name, text in parts.get("columns", {}).items()
            },
            "ratings": {
                key: read_answer(
                    text, self.config.criterion_by_key[key].to_data(), len(texts), is_gold=False
                )
                for key, text in parts.get("ratings", {}).items()
            },
        }
        return {name: value for name, value in made.items() if value or name in _ALWAYS}


@study_page(
    "set-up/read/examples/<int:number>/",
    name="study-example",
    role=Membership.Role.EDITOR,
    within="What people read",
)
@require_http_methods(["GET", "HEAD", "POST"])
def show_example(request: HttpRequest, study: Study, number: int) -> HttpResponseBase:
    """One example: a new one, or one to change or remove."""
    examples = _list(study.config)
    is_new = number == len(examples) + 1 and number <= MOST_EXAMPLES
    if not is_new and not 1 <= number <= len(examples):
        return redirect("admin:setup-read", study.pk)
    data = request.POST if request.method == "POST" else None
    removal = RemovalForm(data)
    example = {} if is_new else examples[number - 1]
    form = ExampleForm(
        data, config=study.config, example=example, initial={"revision": study.revision}
    )
    status = 200
    if data is not None:
        changed: list[Plain] | None = None
        if removal.is_valid():
            is_reset = removal.cleaned_data["do"] == "reset"
            rest = [*examples[: number - 1], *examples[number:]]
            changed = _list(study.base_instrument) if is_reset else rest
        elif form.is_valid():
            changed = [*examples[: number - 1], form.cleaned_data["example"], *examples[number:]]
        status = INVALID if changed is None else _store(request, study, form, changed)
        if status == 200:
            messages.success(request, "Saved.")
            return redirect("admin:setup-read", study.pk)
    context = {
        "form": form,
        "number": number,
        "is_new": is_new,
        "is_locked": study.version_id is not None,
        "is_own": EXAMPLES in study.questions,
        "is_as_published": study.instrument_id is None,
    }
    return TemplateResponse(request, "builder/study_example.html", context, status=status)


def _list(config: Instrument) -> list[Plain]:
    return [example.to_data() for example in config.examples]


def _store(request: HttpRequest, study: Study, form: ExampleForm, examples: list[Plain]) -> int:
    """Store these as the study's examples; return the status to answer with."""
    stored = {kind: kept for kind, kept in study.questions.items() if kind != EXAMPLES}
    if examples != _list(study.base_instrument):
        stored[EXAMPLES] = examples
    if stored == study.questions:
        # the same form, sent twice
        return 200
    revision = RevisionForm(request.POST)
    try:
        change_settings(
            study=study,
            values={"questions": stored},
            revision=revision.cleaned_data["revision"] if revision.is_valid() else -1,
            by=request.user,
        )
    except ValidationError as error:
        form.add_error(None, error)
        return CONFLICT if isinstance(error, ChangedMeanwhile) else INVALID
    return 200
