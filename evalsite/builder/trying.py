"""An instrument as participants will see it: in a frame, or to be tried. Nothing is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from django.http import QueryDict
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from evalsite.instruments.invented import invent_inputs, invent_outputs
from evalsite.instruments.questions import list_questions, number_texts, write_gold
from evalsite.instruments.schema import Instrument
from evalsite.lib.markdown import render_markdown
from evalsite.participation.feedback import explain_answers
from evalsite.participation.forms import RatingForm
from evalsite.participation.view_models import (
    ItemView,
    Progress,
    add_feedback,
    add_marks,
    view_item,
)
from evalsite.studies.gold import Feedback
from evalsite.studies.models import Item, Output


@dataclass(frozen=True)
class Sample:
    """An item to try: one of practice, a worked example, or an invented one."""

    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    gold: Mapping[str, str]
    why: str = ""


def list_samples(config: Instrument) -> list[Sample]:
    """Return items to try this instrument with, at least one."""
    samples = [
        Sample(example.cells, example.texts, write_gold(config, example), example.why)
        for example in (*config.practice, *config.examples)
    ]
    return samples or [Sample(invent_inputs(config), invent_outputs(config), {})]


# --- in a frame -------------------------------------------------------------------


def render_preview(config: Instrument, number: int = 1) -> str:
    """Return a whole page of an item, made by the very templates that participants get."""
    samples = list_samples(config)
    sample = samples[(number - 1) % len(samples)]
    context = {
        "frame": "participation/preview.html",
        "item": _view(config, sample),
        "layout": config.layout,
    }
    return render_to_string(list(config.item_template), context)


def render_pick(config: Instrument, sample: Sample) -> str:
    """Return a page of this item, small enough to be compared with others."""
    context = {
        "frame": "participation/preview.html",
        "item": _view(config, sample),
        "layout": config.layout,
        "texts": {"language": config.language},
        "is_pick": True,
    }
    return render_to_string(list(config.item_template), context)


def render_instructions(config: Instrument) -> SafeString:
    return render_markdown(config.instructions_for(config.design))


# --- to be tried ------------------------------------------------------------------


def try_item(config: Instrument, number: int, data: QueryDict | None) -> dict[str, Any]:
    """Return what a page shows of an item: asked, or what was answered and what is suggested."""
    samples = list_samples(config)
    sample = samples[min(number, len(samples)) - 1]
    context: dict[str, Any] = {
        "layout": config.layout,
        "frame": "builder/try.html",
        "item_name": config.item.name,
        "item_names": config.item.names,
        "place": number,
        "total": len(samples),
        "progress": Progress(number - 1, len(samples)),
        "texts": {"title": config.title, "language": config.language},
        "has_highlight": config.has_highlight,
        "highlight_hint": config.highlight,
        "aids_script": "",
        "errors": [],
        "is_practice": True,
        "has_note": config.has_note,
        "note_label": config.note,
        "is_checked": False,
    }
    if data is None:
        return context | {"item": _view(config, sample, with_marks=True)}
    outputs = number_texts(sample.outputs)
    questions = list_questions(config, sample.inputs, outputs)
    form = RatingForm(data, config=config, questions=questions, outputs=outputs)
    if not form.is_valid():
        return context | {
            "item": _view(config, sample, form.entered, form.first_errors, with_marks=True),
            "errors": list(form.first_errors.items()),
            "status": "Fix what is marked, then check again",
        }
    feedback = _explain(config, sample, form)
    view = _view(config, sample, form.entered, is_disabled=True, with_marks=True)
    met = sum(line.is_met for line in feedback)
    return context | {
        "item": add_feedback(view, feedback) if feedback else view,
        "is_checked": True,
        "has_highlight": False,
        "why": "" if len(feedback) == 1 else sample.why,
        "status": f"Agreed on {met} of {len(feedback)}" if feedback else "This would be saved.",
        "progress": Progress(number, len(samples)),
    }


def _view(
    config: Instrument,
    sample: Sample,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    *,
    is_disabled: bool = False,
    with_marks: bool = False,
) -> ItemView:
    view = view_item(
        config, inputs=sample.inputs, texts=sample.outputs, options=config.default_options,
        values=values, errors=errors, is_disabled=is_disabled,
    )  # fmt: skip
    if with_marks:
        view = add_marks(
            view, config, texts=sample.outputs, values=values or {}, errors=errors or {}
        )
    return view


def _explain(config: Instrument, sample: Sample, form: RatingForm) -> list[Feedback]:
    """Return what the gold of this item says of the answers."""
    outputs = [
        Output(pk=output.pk, position=output.position, text=output.text) for output in form.outputs
    ]
    # what the rows of a study would say, without any
    screen: Any = SimpleNamespace(
        study=SimpleNamespace(config=config),
        item=Item(inputs=sample.inputs, gold=sample.gold),
        outputs=outputs,
        questions=form.questions,
        content={"options": config.default_options},
    )
    feedback = explain_answers(screen, form.list_rows(0))
    return [replace(feedback[0], why=sample.why)] if len(feedback) == 1 else feedback
