"""Staff pages: making a check out of an item, with the right answers on the item's own page."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.fieldwork.made_checks import (
    CheckContent,
    create_check,
    delete_check,
    find_answered,
    list_made,
    read_gold,
)
from evalsite.fieldwork.previews import render_item
from evalsite.instruments.questions import list_questions, number_texts
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.participation.forms import RatingForm, read_entered
from evalsite.participation.view_models import view_item
from evalsite.people.access import language_of
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.staff_pages import study_page
from evalsite.studies.versions import shown_content

INVALID = 422
_LISTED = 200


@study_page(
    "set-up/quality/checks/new/",
    name="check-new",
    role=Membership.Role.EDITOR,
    within="setup-quality",
)
@require_http_methods(["GET", "HEAD", "POST"])
def make_check(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Choose an item and its texts; then answer it as a participant would; then it is stored."""
    is_posted = request.method == "POST"
    step = StepForm(request.POST if is_posted else request.GET)
    items = Item.objects.main().filter(study=study).order_by("id")
    key = step.read("item")
    source = (items.filter(key=key) if key else items).first()
    form = CheckForm(request.POST if is_posted else None, config=study.config)
    is_short = "instruction" in step.data if is_posted else step.read("how") != "answer"
    if is_short and form.has_answers and source is not None and study.version_id is None:
        return _make_attention(request, study, source, form)
    if not is_posted or source is None:
        return _choose(request, study, source)
    texts = ContentForm(request.POST, source=source)
    content = texts.read_content()
    if step.read("do") == "choose" or not all(text.strip() for text in content.texts):
        return _choose(request, study, source, content, is_refused=step.read("do") != "choose")
    return _answer(request, study, texts, content, is_saved=step.read("do") == "save")


class StepForm(forms.Form):
    """Which item is made into a check, in which way, and which button was pressed."""

    item = forms.CharField(required=False)
    how = forms.CharField(required=False)
    do = forms.CharField(required=False)

    def read(self, name: str) -> str:
        return str(self.cleaned_data.get(name, "")) if self.is_valid() else ""


class UnifiedField(forms.CharField):
    """A text with one kind of line end, and without what can't be stored."""

    def __init__(self) -> None:
        super().__init__(required=False, strip=False)

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n").replace("\x00", "")


class ContentForm(forms.Form):
    """The item of a check: its inputs and texts as they are to be, and why an answer is right."""

    kind = UnifiedField()
    why = UnifiedField()

    def __init__(self, data: Any, *, source: Item) -> None:
        super().__init__(data)
        self.source, self.outputs = source, list(source.outputs.order_by("position"))
        names = [f"input-{name}" for name in source.inputs]
        names += [f"output-{output.position}" for output in self.outputs]
        self.fields |= {name: UnifiedField() for name in names}

    def read_content(self) -> CheckContent:
        """Return the check; what isn't posted, or is as it was, is that of the item."""
        values = self.cleaned_data if self.is_bound and self.is_valid() else {}

        def read(name: str, value: Any) -> Any:
            is_same = name not in self.data or values.get(name) == str(value)
            return value if is_same else values[name]

        return CheckContent(
            kind=read("kind", Item.Kind.GOLD),
            source=self.source,
            inputs={
                name: read(f"input-{name}", value) for name, value in self.source.inputs.items()
            },
            texts=[read(f"output-{output.position}", output.text) for output in self.outputs],
            why=read("why", "").strip(),
        )

    def list_kept(self) -> list[tuple[str, str]]:
        """Return what the page with the questions posts again."""
        return [("item", self.source.key)] + [
            (name, self.data[name]) for name in self.fields if name in self.data
        ]


class CheckForm(forms.Form):
    """An instruction for the text of an item, and the answer that follows it."""

    instruction = forms.CharField(
        label="The instruction",
        max_length=500,
        help_text=(
            "It is added to the end of the text. Panels accept a failed check as a reason only "
            "if the text says what to do."
        ),
    )
    passed_with = forms.ChoiceField(label="It is passed with")

    def __init__(self, data: Any, *, config: Instrument) -> None:
        super().__init__(data)
        use_our_words(self.fields.values())
        groups = [
            (criterion.label, answers)
            for criterion in config.criteria
            if (answers := _list_answers(criterion))
        ]
        # of several outputs the order would be part of the answer
        self.has_answers = bool(groups) and config.unit_name == "output"
        cast(Any, self.fields["passed_with"]).choices = groups
        if self.has_answers:
            label, answers = groups[0]
            value, words = answers[min(1, len(answers) - 1)]
            answer = value.partition("=")[2]
            # of a point its number is enough
            name = answer if words.startswith(f"{answer} ") else words
            self.initial = {
                "instruction": f"To show that you read this, choose {name} for {label.lower()}.",
                "passed_with": value,
            }

    @property
    def gold(self) -> dict[str, str]:
        key, _, answer = self.cleaned_data["passed_with"].partition("=")
        return {key: answer}


def _list_answers(criterion: Criterion) -> list[tuple[str, str]]:
    """Return what can be chosen: its value in a form, and how people read it."""
    scale = criterion.scale
    points = [(f"{value:g}", f"{value:g} {label}".strip()) for value, label in scale.list_answers()]
    return [(f"{criterion.key}={key}", words) for key, words in points or scale.list_options()]


def _make_attention(
    request: HttpRequest, study: Study, source: Item, form: CheckForm
) -> HttpResponseBase:
    """Make an attention check of an item whose text says what to choose."""
    texts = list(source.outputs.order_by("position").values_list("text", flat=True))
    unified = UnifiedField().to_python(form["instruction"].value() or "").strip()
    content = CheckContent(
        kind=Item.Kind.ATTENTION,
        source=source,
        inputs=dict(source.inputs),
        texts=[*texts[:-1], f"{texts[-1]} {unified}".strip()],
    )
    if form.is_bound and form.is_valid():
        try:
            made = create_check(study=study, content=content, gold=form.gold, by=request.user)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"Check added: {made.key}.")
            return redirect("admin:setup-quality", study.pk)
    with language_of(study):
        html = render_item(study, key=source.key, inputs=content.inputs, texts=content.texts)
    items = Item.objects.main().filter(study=study, pk__gt=source.pk).order_by("id")
    context = {
        "form": form,
        "source": source,
        "html": html,
        "next_key": items.values_list("key", flat=True).first() or "",
    }
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "fieldwork/check_short.html", context, status=status)


def _choose(
    request: HttpRequest,
    study: Study,
    source: Item | None,
    content: CheckContent | None = None,
    *,
    is_refused: bool = False,
) -> HttpResponseBase:
    items = Item.objects.main().filter(study=study).order_by("id")
    if source is not None and content is None:
        content = ContentForm(None, source=source).read_content()
    labels = {column.name: column.heading for column in study.config.columns}
    context = {
        "source": source,
        "content": content,
        "keys": items.values_list("key", flat=True)[:_LISTED],
        "inputs": [
            (name, labels.get(name, name), value)
            for name, value in (content.inputs if content else {}).items()
        ],
        "outputs": list(enumerate(content.texts)) if content else [],
        "is_refused": is_refused,
        "is_fixed": study.version_id is not None,
    }
    status = INVALID if is_refused else 200
    return TemplateResponse(request, "fieldwork/check_new.html", context, status=status)


def _answer(
    request: HttpRequest,
    study: Study,
    texts: ContentForm,
    content: CheckContent,
    *,
    is_saved: bool,
) -> HttpResponseBase:
    config = study.config
    questions = list_questions(config, content.inputs, number_texts(content.texts))
    errors: dict[str, str] = {}
    problems: list[str] = []
    if is_saved:
        answered = find_answered(questions, texts.data)
        form = RatingForm(texts.data, config=config, questions=answered)
        if form.is_valid():
            try:
                gold = read_gold(form)
                made = create_check(study=study, content=content, gold=gold, by=request.user)
            except ValidationError as error:
                problems = error.messages
            else:
                messages.success(request, f"Check added: {made.key}.")
                return redirect("admin:setup-quality", study.pk)
        errors = form.first_errors
    with language_of(study):
        item = view_item(
            config,
            inputs=content.inputs,
            texts=content.texts,
            options=shown_content(study)["options"],
            values=read_entered(config, questions, texts.data),
            errors=errors,
            questions=questions,
        )
        return TemplateResponse(
            request,
            config.item_template,
            {
                "frame": "fieldwork/check_answer.html",
                "item": item,
                "layout": config.layout,
                "texts": shown_content(study)["texts"],
                "content": content,
                "kept": texts.list_kept(),
                "problems": problems or list(errors.values()),
            },
            status=INVALID if problems or errors else 200,
        )


@study_page(
    "set-up/quality/checks/<int:item_id>/delete/",
    name="check-delete",
    role=Membership.Role.EDITOR,
)
@require_POST
def remove_check(request: HttpRequest, study: Study, item_id: int) -> HttpResponseBase:
    item = get_object_or_404(list_made(study), pk=item_id)
    try:
        delete_check(study=study, item=item, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"Deleted: {item.key}.")
    return redirect("admin:setup-quality", study.pk)
