"""The pages of Results: which blocks each part shows."""

from evalsite.results.document.blocks import Block, Document, Heading, start_sentence
from evalsite.results.report.sections.findings import find_headline, make_findings, say_leader
from evalsite.results.report.sections.further import (
    list_computed,
    list_further,
    list_together,
)
from evalsite.results.report.sections.limits import make_limits
from evalsite.results.report.sections.methods import make_methods
from evalsite.results.report.sections.metrics import list_metrics
from evalsite.results.report.sections.people import make_answers, make_people
from evalsite.results.report.sections.plan import make_plan
from evalsite.results.report.sections.questions import make_question
from evalsite.results.report.source import Criterion, Source

SUMMARY, TOGETHER, RATERS = "summary", "together", "raters"
DETAILS = (TOGETHER, RATERS)


def list_parts(source: Source) -> list[tuple[str, str]]:
    """List key and label of every part beside the summary."""
    parts = [(criterion.key, criterion.label) for criterion in source.criteria]
    if any(source.kept["together"].values()) or source.kept["design"]:
        parts.append((TOGETHER, "All questions"))
    if source.kept["raters"]["rows"]:
        parts.append((RATERS, "Raters"))
    return parts


def show_part(source: Source, key: str) -> Document:
    """Return the part of this key, with its headline as title; the summary for "" and others."""
    if criterion := source.find_criterion(key):
        return Document(head_question(criterion), _show_question(source, criterion))
    if key == TOGETHER:
        blocks = [*list_together(source), *make_answers(source)]
        return Document("All questions", blocks)
    if key == RATERS:
        return Document("Raters", _drop_first(list(make_people(source))))
    blocks = [*make_findings(source), *make_limits(source), *make_methods(source)]
    return Document(find_headline(source)[1], [*blocks, *make_plan(source)])


def head_question(criterion: Criterion) -> str:
    return f"{start_sentence(criterion.label)}: {say_leader(criterion)}"


def _show_question(source: Source, criterion: Criterion) -> list[Block]:
    blocks = _drop_first(list(make_question(source, criterion)))
    further = [*list_further(source, criterion), *list_metrics(criterion)]
    if further:
        blocks += [Heading("Further analyses", 2, "further"), *further]
        blocks += list_computed(source, [criterion])
    return blocks


def _drop_first(blocks: list[Block]) -> list[Block]:
    """Return the blocks of a section without its heading, which the page has as its title."""
    return blocks[1:] if blocks and isinstance(blocks[0], Heading) else blocks
