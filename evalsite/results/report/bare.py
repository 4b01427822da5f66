"""The report of a file of ratings, without a site: the sections that need no study, as text."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import evalsite
from evalsite.lib.words import count_of
from evalsite.results.document.blocks import Block, Document, Heading, Sentence, isolate
from evalsite.results.document.figures import let_go
from evalsite.results.document.text import render_text
from evalsite.results.replication.tables import make_comparison
from evalsite.results.report.facts import Facts
from evalsite.results.report.sections.findings import find_headline, make_findings
from evalsite.results.report.sections.further import make_further
from evalsite.results.report.sections.judges import make_judges
from evalsite.results.report.sections.limits import make_limits
from evalsite.results.report.sections.methods import make_methods
from evalsite.results.report.sections.metrics import make_further_metrics, make_metrics
from evalsite.results.report.sections.notes import NOTES
from evalsite.results.report.sections.questions import make_questions
from evalsite.results.report.source import Source

_SECTIONS = [
    make_findings, make_questions, make_judges, make_metrics, make_limits, make_methods,
    make_further, make_further_metrics,
]  # fmt: skip
# what a file of ratings can't tell
_OF_STUDIES = ("no_plan", "fine")
_LEFT_OUT = {
    "no_value": "without a value",
    "rated_twice": "of an output that the same participant has rated before (the first counts)",
    "excluded_ratings": "excluded",
    "not_main": "of practice, checks or repeats",
    "not_counted": "that don’t count (their status says so)",
}


def write_report(report: Mapping[str, Any], *, has_other_papers: bool = False) -> str:
    """Return the report as Markdown; `has_other_papers`: with the figures that others print."""
    document = make_bare_document(report, has_other_papers=has_other_papers)
    return let_go(render_text(document))


def make_bare_document(report: Mapping[str, Any], *, has_other_papers: bool = False) -> Document:
    source = _make_source(report)
    blocks = [block for make in _SECTIONS for block in make(source)]
    blocks = [block for block in blocks if getattr(block, "code", "") not in _OF_STUDIES]
    if not has_other_papers:
        # tables that show what others print
        names = ((block, getattr(block, "name", "")) for block in blocks)
        blocks = [block for block, name in names if not name.endswith("-other-papers")]
    main = [*_head(source), *(block for block in blocks if block.place == "main")]
    further = [block for block in blocks if block.place == "further"]
    blocks = [*main, Heading("Further analyses", 1), *further]
    return Document(find_headline(source)[1], blocks)


def write_comparison(comparison: Mapping[str, Any]) -> str:
    """Return the comparison of a study with its repeat as Markdown."""
    return let_go(render_text(make_comparison(comparison)))


def _make_source(report: Mapping[str, Any]) -> Source:
    """Return what sections are made from, where there is a report and no study."""
    # a file of ratings says nothing of pages that were sent
    answers = report["data"]["annotations"] or report["data"]["ratings"]
    kept = {**report, "data": {**report["data"], "annotations": answers}}
    facts = Facts(
        software=f"Evalsite {evalsite.__version__}",
        methods=report["methods_version"],
        seed=report["seed"],
        draws=report["draws"],
        made_at=datetime.now(UTC),
        data=kept["data"],
    )
    return Source(facts=facts, content={"kept": kept, "all": None}, is_closed=True)


def _head(source: Source) -> Iterator[Block]:
    """Yield what was counted, what was left out, and how columns and values were read."""
    data = source.kept["data"]
    inputs = "" if data["groups"] == data["items"] else f" of {count_of(data['groups'], 'input')}"
    yield Sentence(
        "counted",
        f"{count_of(data['ratings'], 'rating')}, {count_of(data['participants'], 'participant')}, "
        f"{count_of(data['items'], 'item')}{inputs}.",
    )
    left_out = [f"{data['left_out'][key]:,} {words}" for key, words in _LEFT_OUT.items()
                if data["left_out"][key]]  # fmt: skip
    if left_out:
        yield Sentence("left_out", f"Rows left out: {'; '.join(left_out)}.")
    for note in data["notes"]:
        yield Sentence(note["code"], NOTES.write(note))
    for criterion in source.criteria:
        if note := criterion.stored.get("reading"):
            yield Sentence(note["code"], f"{isolate(criterion.label)}: {NOTES.write(note)}")
