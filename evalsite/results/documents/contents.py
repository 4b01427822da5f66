"""The documents of a study: its appendix for a paper, and its text for an ethics application."""

from collections.abc import Iterable
from typing import Any

from evalsite.exports.bundle.readme import write_scales
from evalsite.instruments.schema import Instrument
from evalsite.results.documents.document import Document, Question, Screen, Section, Text
from evalsite.results.documents.people_flow import count_people
from evalsite.results.documents.study_context import collect_context
from evalsite.results.report.prose import list_entries, write_prose
from evalsite.studies.models import Item, Study
from evalsite.studies.versions import shown_content


def make_appendix(study: Study) -> Document:
    """Return what a paper's appendix says of how ratings were collected."""
    context = collect_context(study)
    return Document(
        title=f"Appendix: {context['texts']['title']}",
        purpose=write_prose("documents/appendix_purpose.txt", context),
        sections=[
            _fill("How the ratings were collected", "collection", context),
            Section(
                title="What participants read",
                texts=_list_texts(context, ("Instructions", "instructions")),
            ),
            Section(
                title="What participants were asked",
                texts=[
                    Text(
                        heading="Questions",
                        markdown=write_scales(shown_content(study), with_conditions=True),
                    )
                ],
            ),
            *_show_screen(study),
            *_list_questions(context),
            _fill("Recruitment and pay", "recruitment", context),
            *_show_flow(study),
            _fill("Who was left out", "left_out", context),
            _fill("Responsible NLP checklist, section D", "checklist", context),
        ],
    )


def make_ethics(study: Study) -> Document:
    """Return what an ethics committee asks, as far as the study knows."""
    context = collect_context(study)
    return Document(
        title=f"For an ethics application: {context['texts']['title']}",
        purpose=write_prose("documents/ethics_purpose.txt", context),
        sections=[
            _fill("Purpose", "purpose", context),
            _fill("Who is asked", "asked", context),
            _fill("What they do, screen by screen", "screens", context),
            _fill("Pay", "pay", context),
            _fill("Risks", "risks", context),
            _fill("Data", "data", context),
            _fill("Withdrawal and contacts", "withdrawal", context),
            *_list_questions(context),
            Section(
                title="Texts for participants",
                texts=_list_texts(
                    context,
                    ("First page", "summary"),
                    ("Consent", "consent"),
                    ("Instructions", "instructions"),
                ),
            ),
        ],
    )


def _show_flow(study: Study) -> Iterable[Section]:
    """Return how many people came, left and are analysed, once anybody came."""
    flow = count_people(study)
    if flow.arrived:
        yield _fill("Flow of participants", "flow", {"flow": flow})


def _fill(title: str, name: str, context: dict[str, Any]) -> Section:
    return Section(title=title, rows=list_entries(f"documents/{name}.txt", context))


def _list_texts(context: dict[str, Any], *names: tuple[str, str]) -> list[Text]:
    texts = context["texts"]
    return [Text(heading=heading, markdown=texts[key]) for heading, key in names if texts[key]]


def _list_questions(context: dict[str, Any]) -> Iterable[Section]:
    """Return the questions about people, if there are any."""
    before, after = context["questions"], context["background"]
    rows = [
        (f"{label} ({when})", ", ".join(choices) or "an answer in their own words")
        for when, questions in (("before the work", before), ("after the work", after))
        for label, choices in questions
    ]
    if rows:
        yield Section(title="Questions about participants", rows=rows)


def _show_screen(study: Study) -> Iterable[Section]:
    """Return a rating page, drawn from the first item or else from an example."""
    config = study.config
    item = Item.objects.main().filter(study=study).order_by("pk").first()
    if item is not None:
        texts = list(item.outputs.order_by("position").values_list("text", flat=True))
        yield Section(title="A rating page", screen=_draw(config, item.inputs, texts))
    elif examples := (*config.practice, *config.examples):
        screen = _draw(config, examples[0].cells, examples[0].texts)
        yield Section(title="A rating page", screen=screen)


def _draw(config: Instrument, inputs: Any, outputs: Any) -> Screen:
    shown = [
        (column.heading, str(inputs[column.name]))
        for column in config.columns
        if column.kind != "whole number" and str(inputs.get(column.name, "")).strip()
    ]
    names = [
        f"{config.item.output_name} {number}" if len(outputs) > 1 else config.item.output_name
        for number in range(1, len(outputs) + 1)
    ]
    return Screen(
        inputs=shown,
        outputs=list(zip(names, outputs, strict=True)),
        questions=[
            Question(text=one.question or one.label, answers=one.scale.name_choices())
            for one in config.criteria
        ],
    )
