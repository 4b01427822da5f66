"""The report as one document: each section makes its blocks, with its sentences, from a source."""

from collections.abc import Callable, Iterator

from evalsite.results.document.blocks import Block, Document
from evalsite.results.report.sections.findings import make_findings, make_headline
from evalsite.results.report.sections.further import make_further
from evalsite.results.report.sections.judges import make_further_metrics, make_judges, make_metrics
from evalsite.results.report.sections.limits import make_limits
from evalsite.results.report.sections.methods import (
    make_methods,
    make_plan,
    make_repeat,
    make_study,
)
from evalsite.results.report.sections.questions import make_comments, make_questions
from evalsite.results.report.source import Source

Section = Callable[[Source], Iterator[Block]]
# in the order of the report
SECTIONS: list[Section] = [
    make_headline, make_findings, make_study, make_questions, make_comments, make_judges,
    make_metrics, make_limits, make_methods, make_plan, make_repeat, make_further,
    make_further_metrics,
]  # fmt: skip


def make_document(source: Source) -> Document:
    """Return the report with all its blocks: main, further and of pages only."""
    blocks = [block for make in SECTIONS for block in make(source)]
    return Document(source.facts.title, blocks)
