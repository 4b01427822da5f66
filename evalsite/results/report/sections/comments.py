"""What people wrote: counts of comments, and the reasons that they ticked."""

from collections.abc import Iterator

from evalsite.analysis.figure import Figure
from evalsite.lib.words import count_of, list_of
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Column,
    Entry,
    Heading,
    Sentence,
    Table,
    isolate,
)
from evalsite.results.document.figures import make_figure, read_figure, write_figure
from evalsite.results.report.sections.words import MOST_NAMED
from evalsite.results.report.source import Criterion, Source, Stored

# figures of whole items by their codes: where they are stored, and what is counted
_ON_ITEMS = {"notes": "notes", "skips": "skipped", "problem_reports": "reported"}
_NOUNS = {"notes": "note", "skips": "skip", "problem_reports": "problem report"}


def make_comments(source: Source) -> Iterator[Block]:
    """Yield how many comments there are on each question and on each system's outputs."""
    counts = source.kept.get("comments")
    sentences = [*_count_comments(source, counts), *_count_notes(counts)] if counts else []
    if sentences:
        yield Heading("What people wrote", 2, "comments")
        yield from sentences


def _count_comments(source: Source, counts: Stored) -> Iterator[Sentence]:
    people, questions = counts["people"], counts["questions"]
    if not questions:
        return
    figures = [make_figure("people_commenting", people)]
    noun = ("person", "people") if source.kept["data"]["raters_known"] else ("rater", "raters")
    parts = []
    for key, number in questions.items():
        criterion = source.find_criterion(key)
        figures.append(make_figure("comments", number, {"criterion": key}))
        parts.append(f"{number:,} on {isolate(criterion.label if criterion else key)}")
    total = sum(questions.values())
    text = f"{count_of(total, 'comment')} on questions by {count_of(people, *noun)}"
    yield Sentence("comments", f"{text}: {_list_parts(parts)}.", figures=tuple(figures))
    if systems := counts["systems"]:
        parts = [f"{number:,} are on {isolate(name)}" for name, number in systems.items()]
        yield Sentence(
            "comments_by_system",
            f"Of the comments on one output, {_list_parts(parts)}.",
            figures=tuple(
                make_figure("comments", number, {"system": name})
                for name, number in systems.items()
            ),
        )


def _count_notes(counts: Stored) -> Iterator[Sentence]:
    """Yield how many notes on items, skips and reports of problems there are."""
    numbers = {code: counts.get(name, 0) for code, name in _ON_ITEMS.items()}
    numbers = {code: number for code, number in numbers.items() if number}
    if numbers:
        parts = [count_of(number, _NOUNS[code]) for code, number in numbers.items()]
        figures = tuple(make_figure(code, number) for code, number in numbers.items())
        yield Sentence("notes", f"Items have {list_of(parts)}.", figures=figures)


def _list_parts(parts: list[str]) -> str:
    shown, more = parts[:MOST_NAMED], len(parts) - MOST_NAMED
    return list_of([*shown, f"{more:,} more"] if more > 0 else shown)


def tabulate_reasons(criterion: Criterion) -> Table | None:
    """Return how often each reason is named where a system is preferred."""
    stored = criterion.stored.get("reasons")
    if not stored or not stored["shares"]:
        return None
    labels: dict[str, str] = stored["labels"]
    cells: dict[tuple[str, str], Cell] = {}
    answers: dict[str, int] = {}
    for share in stored["shares"]:
        of = dict(share["group"])
        figure = read_figure(share, "reason", {"criterion": criterion.key, **of})
        answers[of["system"]] = figure.n["answers"]
        cells[of["reason"], of["system"]] = Cell(_write_share(figure), (figure,))
    columns = [Column("Reason", is_number=False)]
    columns += [
        Column(f"{isolate(system)} preferred ({count_of(number, 'answer')})")
        for system, number in answers.items()
    ]
    rows: list[list[Entry]] = [
        [isolate(label), *(cells[key, system] for system in answers)]
        for key, label in labels.items()
        if any(cells[key, system].figures[0].value for system in answers)
    ]
    if not rows:
        return None
    caption = (
        f"{criterion.label}: of the answers that prefer a system, those that name a reason for it "
        "or for both outputs (95% CI)"
    )
    return Table(f"{criterion.key}-reasons", caption, columns, rows)


def name_reasons(criterion: Criterion) -> Iterator[tuple[str, str, Figure]]:
    """Yield, for each system that was preferred, the reason that was named most."""
    stored = criterion.stored.get("reasons") or {"shares": (), "labels": {}}
    best: dict[str, tuple[str, Figure]] = {}
    for share in stored["shares"]:
        of = dict(share["group"])
        figure = read_figure(share, "reason", {"criterion": criterion.key, **of})
        known = best.get(of["system"])
        if figure.value and (known is None or figure.value > (known[1].value or 0.0)):
            best[of["system"]] = stored["labels"].get(of["reason"], of["reason"]), figure
    for system, (label, figure) in best.items():
        yield system, label, figure


def _write_share(figure: Figure) -> str:
    """Write a share; of few answers, which have no interval, the count."""
    if figure.low is None:
        return f"{figure.n['named']:,} of {figure.n['answers']:,}"
    return write_figure(figure)
