"""The worked examples, to look up while working."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from evalsite.instruments.questions import read_ratings
from evalsite.instruments.schema import Criterion, Example, Instrument
from evalsite.lib.markdown import render_markdown
from evalsite.participation.view_models import ItemView, view_example
from evalsite.participation.views import render_example, render_explanation
from evalsite.people.access import address, page_context, participant_page, unknown_link
from evalsite.people.models import Participant
from evalsite.people.services import has_agreed
from evalsite.studies.versions import shown_content


@dataclass(frozen=True)
class WorkedExample:
    """An example that explains one criterion: its texts, and the verdict with its reason."""

    label: str
    item: ItemView
    verdict: SafeString


@dataclass(frozen=True)
class Section:
    """The examples that explain one criterion."""

    criterion: Criterion
    definition: SafeString
    examples: tuple[WorkedExample, ...]


@participant_page
@require_safe
def worked_examples(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Show every worked example of the instrument, with its ratings and the reason."""
    context = page_context(request, participant)
    if not has_agreed(participant):
        return redirect(address(request, "participant-home"))
    if "examples" not in context["urls"]:
        return unknown_link(request)
    config = participant.study.config
    # those that explain all criteria are shown in the layout of an item
    whole = [
        {
            "html": render_example(participant, example, number),
            "why": render_explanation(example),
            "label": example.label,
        }
        for number, example in enumerate(config.instruction_examples, start=1)
    ]
    context |= {
        "count": len(config.examples),
        "page_note": render_markdown(config.page_note),
        "sections": list(_list_sections(config, shown_content(participant.study)["options"])),
        "whole": whole,
    }
    return render(request, "participation/examples.html", context)


def _list_sections(config: Instrument, options: dict[str, object]) -> Iterator[Section]:
    for criterion in config.criteria:
        examples = [example for example in config.examples if example.criterion == criterion.key]
        if examples:
            yield Section(
                criterion=criterion,
                definition=render_markdown(criterion.definition),
                examples=tuple(_view(config, criterion, example, options) for example in examples),
            )


def _view(
    config: Instrument, criterion: Criterion, example: Example, options: dict[str, object]
) -> WorkedExample:
    ratings = criterion.scale.describe_ratings(read_ratings(criterion, example))
    verdict = f"**{ratings}** {example.why}" if ratings else example.why
    return WorkedExample(
        label=example.label,
        item=view_example(config, example, options),
        verdict=render_markdown(verdict),
    )
