"""summary.md: the results of a packet on one page of Markdown, for a repository."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# what the page shows at most, so that it stays within 60 lines
_MOST_SYSTEMS, _MOST_CRITERIA, _MOST_PAIRS = 10, 12, 3


def write_summary(study: Any, report: Any, files: Mapping[str, str]) -> str:
    """Return the page: what was rated by how many, what was found, and what it can't show."""
    from evalsite.results.report.criterion_view import view_criteria

    views = view_criteria(report.content["kept"], None)
    lines = [
        *_describe_rated(study, report),
        *_tabulate(views),
        *_list_criteria(views, people=_count_people(study)),
        *_describe_people(study),
        "## Files",
        "",
        *(f"- `{name}` SHA-256 `{digest}`" for name, digest in files.items()),
    ]
    return "\n".join(lines) + "\n"


def _count_people(study: Any) -> int:
    from evalsite.annotation.models import Annotation

    answers = Annotation.objects.filter(study=study).counted()
    return int(answers.values("participant").distinct().count())


def _describe_rated(study: Any, report: Any) -> Iterator[str]:
    from evalsite.annotation.models import Annotation
    from evalsite.quality.plan_commitment import list_lines
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


def _tabulate(views: Sequence[Any]) -> Iterator[str]:
    """Return one table of all systems: the estimate on each criterion, with its interval."""
    shown = views[:_MOST_CRITERIA]
    rows = {
        view.key: {row.name: _write(row.value, row.interval) for row in view.systems}
        for view in shown
    }
    names = list(dict.fromkeys(row.name for view in shown for row in view.systems))
    heads = [f"{_escape(view.label)}: {view.estimate} (95% CI)" for view in shown]
    yield from ("## Results", "")
    yield f"| System | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    for name in names[:_MOST_SYSTEMS]:
        cells = [rows[view.key].get(name, "") for view in shown]
        yield f"| {' | '.join([_escape(name), *cells])} |"
    yield ""


def _list_criteria(views: Sequence[Any], *, people: int) -> Iterator[str]:
    for view in views[:_MOST_CRITERIA]:
        role = " (primary)" if view.role == "primary" else ""
        parts = [f"**{_escape(view.label)}**{role}:"]
        # names of systems are in the sentences
        parts += [_escape(sentence) for sentence, is_main in view.verdict.sentences if is_main]
        if len(view.pairs) <= _MOST_PAIRS:
            parts += [
                f"Difference {_escape(pair.first)} − {_escape(pair.second)}: "
                f"{_write(pair.value, pair.interval)}."
                for pair in view.pairs
            ]
        parts.append(_describe_agreement(view, people))
        parts += map(_escape, view.planned)
        yield f"- {' '.join(parts)}"
    if len(views) > _MOST_CRITERIA:
        yield f"- {len(views) - _MOST_CRITERIA} more criteria are in `report.html`."
    yield ""


def _describe_agreement(view: Any, people: int) -> str:
    if people < 2:
        return "With one person, agreement can't be known."
    if not view.agreement:
        return "Agreement isn't computed for this kind of answer."
    row = view.agreement[0]
    return f"Agreement ({row.name}): {_write(row.value, row.full_interval)}."


def _describe_people(study: Any) -> Iterator[str]:
    from evalsite.participants.models import Consent
    from evalsite.quality.person_measures import measure_people

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
        "- It can't show who opened a link, that different people did, or that nobody had a "
        "model answer. The plan's line proves its date only where somebody else keeps it."
    )
    yield ""


def _write(value: str, interval: str) -> str:
    return f"{value} ({interval})" if interval else value


def _escape(text: str) -> str:
    """Keep a name on one line and out of the Markdown around it."""
    joined = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>|#" else sign for sign in joined)
