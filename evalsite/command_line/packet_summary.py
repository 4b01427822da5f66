"""summary.md: the results of a packet on one page of Markdown, for a repository."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

# what the page shows at most, so that it stays within 60 lines
_MOST_SYSTEMS, _MOST_CRITERIA = 10, 12


def write_summary(study: Any, report: Any, files: Mapping[str, str]) -> str:
    """Return the page: what was rated by how many, what was found, and what it can't show."""
    from evalsite.results.report.files import make_source

    lines = [
        *_describe_rated(study, report),
        *_describe_results(make_source(study, report)),
        *_describe_people(study),
        "## Files",
        "",
        *(f"- `{name}` SHA-256 `{digest}`" for name, digest in files.items()),
    ]
    return "\n".join(lines) + "\n"


def _count_people(study: Any) -> int:
    from evalsite.handout.models import Annotation

    answers = Annotation.objects.filter(study=study).counted()
    return int(answers.values("participant").distinct().count())


def _describe_rated(study: Any, report: Any) -> Iterator[str]:
    from evalsite.decisions.plan_commitment import list_lines
    from evalsite.handout.models import Annotation
    from evalsite.studies.models import Item, Output
    from evalsite.studies.summary_lines import count_of, list_of

    items = Item.objects.main().filter(study=study)
    outputs = Output.objects.filter(item__in=items).count()
    systems = [_escape(name) for name in study.systems.values_list("name", flat=True)]
    named = list_of(systems[:_MOST_SYSTEMS]) if len(systems) <= _MOST_SYSTEMS else ""
    answers = Annotation.objects.filter(study=study).counted().count()
    yield from (f"# {_escape(study.title)}", "")
    yield (
        f"{count_of(_count_people(study), 'person', 'people')} gave "
        f"{count_of(answers, 'answer')} about {count_of(items.count(), 'item')} with "
        f"{count_of(outputs, 'output')} of {count_of(len(systems), 'system')}"
        f"{f' ({named})' if named else ''}. They saw no names of systems. "
        f"Instrument: {_escape(study.config.title)}. Results of {report.made_at:%Y-%m-%d}."
    )
    yield from ("", *(f"`{line}`" for line in list_lines(study)[:1]), "")


def _describe_results(source: Any) -> Iterator[str]:
    """Return the table of systems by question, then what was found on each."""
    from evalsite.results.document.text import quote_markdown, render_lines, write_markdown_table
    from evalsite.results.report.sections.findings import make_paper, write_decision, write_finding
    from evalsite.results.report.source import list_decisions

    table = make_paper(source)
    shortened = replace(table, rows=table.rows[:_MOST_SYSTEMS])
    yield from (
        "## Results",
        "",
        write_markdown_table(shortened),
        "",
        quote_markdown(table.caption),
    )
    yield ""
    criteria = source.criteria[:_MOST_CRITERIA]
    for criterion in criteria:
        yield from render_lines(write_decision(decision) for decision in list_decisions(criterion))
    yield from render_lines(write_finding(criterion) for criterion in criteria)
    if more := len(source.criteria) - len(criteria):
        yield f"- {more} more questions are in `report.html`."
    yield ""


def _describe_people(study: Any) -> Iterator[str]:
    from evalsite.decisions.person_measures import measure_people
    from evalsite.people.models import Consent

    measures = list(measure_people(study).values())
    seconds = [f"{person.seconds:.0f}" for person in measures if person.seconds is not None]
    checks = sum(person.checks for person in measures)
    failed = sum(person.failed_checks for person in measures)
    consents = Consent.objects.filter(study=study, is_given=True)
    versions = sorted(set(consents.values_list("version__number", flat=True)))
    links = study.experts.count()
    yield from ("## What this shows about who answered", "")
    yield f"- Links given out, each different: {links}; used: {len(measures)}."
    yield f"- Consent text of version {', '.join(map(str, versions)) or 'none'} was agreed to."
    yield f"- Median seconds an answer, by person: {', '.join(seconds) or 'not known'}."
    yield f"- Checks: {f'{checks - failed} of {checks} passed' if checks else 'none were asked'}."
    yield (
        "- It can't show who opened a link, that they were different people, or that no one let "
        "a model answer. The plan's line proves its date only where someone else keeps it."
    )
    yield ""


def _escape(text: str) -> str:
    """Keep a name on one line and out of the Markdown around it."""
    joined = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>|#" else sign for sign in joined)
