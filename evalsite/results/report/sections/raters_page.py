"""The page of raters: how far people agree, and further analyses of people, which no file has."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

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
    start_sentence,
)
from evalsite.results.document.figures import write_coefficient, write_figure, write_value
from evalsite.results.report.sections.further import list_further, list_together, read_own
from evalsite.results.report.sections.people import make_answers, make_people
from evalsite.results.report.sections.questions import count_averaged, list_agreement
from evalsite.results.report.sections.spans import find_f1
from evalsite.results.report.source import Criterion, Source

FEW_QUESTIONS = 3
MOST_IN_MATRIX = 12
_COLUMNS = {
    "alpha": "Krippendorff’s α", "ac": "Gwet’s AC", "icc_one": "ICC(1,1): one answer",
    "reliability": "Reliability of a mean", "character_f1": "The same characters marked, F1",
}  # fmt: skip
# from which κ on a field of the matrix is marked as middling or strong; below the first: apart
_APART, _MIDDLING, _STRONG = 0.1, 0.4, 0.54


def head_agreement(source: Source) -> str:
    """Return how far people agree, as the headline begins; "" if it isn't known."""
    if source.kept["data"]["participants"] == 1:
        return "One person rated: agreement can’t be measured"
    values = [
        alpha.value
        for criterion in source.criteria
        if (alpha := criterion.alpha) is not None and alpha.value is not None
    ]
    if not values:
        return ""
    if len(values) <= FEW_QUESTIONS:
        return f"People agree α {list_of([write_coefficient(value) for value in values])}"
    low, high = write_coefficient(min(values)), write_coefficient(max(values))
    return f"People agree α {low} to {high}"


def tabulate_agreements(source: Source, link: Callable[[str], str]) -> Table | None:
    """Return the coefficients of agreement of every question. `link`: of a question, by its key."""
    figures_by_key = {
        criterion.key: dict(_name_figures(criterion)) for criterion in source.criteria
    }
    shown = [
        name for name in _COLUMNS if any(name in figures for figures in figures_by_key.values())
    ]
    if not shown:
        return None
    columns = [Column("Question", is_number=False), *(Column(_COLUMNS[name]) for name in shown)]
    rows: list[list[Entry]] = [
        [
            Cell(isolate(criterion.label), link=link(criterion.key), below=criterion.role),
            *(figures_by_key[criterion.key].get(name, "") for name in shown),
        ]
        for criterion in source.criteria
    ]
    numbers = {number for criterion in source.criteria if (number := count_averaged(criterion))}
    mean = f" The reliability is that of the mean of {min(numbers):.2g} answers." if (
        len(numbers) == 1
    ) else ""  # fmt: skip
    caption = f"95% CI; people and inputs count as samples.{mean}"
    return Table("agreement", caption, columns, rows, place="page")


def _name_figures(criterion: Criterion) -> Iterator[tuple[str, Entry]]:
    for _, figure in list_agreement(criterion):
        yield figure.name, figure
    if f1 := find_f1(criterion):
        yield f1.name, f1


# --- further analyses ---------------------------------------------------------------------------


def list_further_of_people(source: Source, *, is_blind: bool) -> Iterator[Block]:
    """Yield a fold for each further analysis of people.

    `is_blind`: without what names systems, while results are hidden.
    """
    yield from _list_pairs(source)
    yield from _explain_low(source)
    yield from _list_repeats(source)
    yield from _list_everyone(source)
    people = list(make_people(source))[1:]
    if people:
        flagged = sum(bool(row["flags"]) for row in source.kept["raters"]["rows"])
        text = "Nobody stands out by further signs."
        if flagged:
            stand = "stands" if flagged == 1 else "stand"
            text = f"{count_of(flagged, 'person', 'people')} {stand} out by further signs."
        yield from _fold("Figures of each person", "signs", text)
        yield from people
    together = [
        replace(block, place="page")
        for block in list_together(source)
        if isinstance(block, Table) and block.name not in _ELSEWHERE
    ]
    if not is_blind:
        together += [block for block in make_answers(source) if isinstance(block, Table)]
    if together:
        names = [table.caption[:1].lower() + table.caption[1:] for table in together]
        yield from _fold("Questions together", "together", f"{start_sentence(list_of(names))}.")
        yield from together


# what other folds and the page of the design show
_ELSEWHERE = ("repeats", "design", "places", "flags")


def _fold(title: str, code: str, text: str) -> Iterator[Block]:
    yield Heading(title, 3, place="page")
    yield Sentence(code, text, place="page")


def _list_pairs(source: Source) -> Iterator[Block]:
    """Yield weighted κ of every two people; of many, of those with most flags."""
    known = [
        other_criterion for other_criterion in source.criteria if other_criterion.stored["kappas"]
    ]
    if not known:
        return
    flags = {row["participant"]: len(row["flags"]) for row in source.kept["raters"]["rows"]}
    result = next(
        (block.text for block in list_further(source, known[0])
         if isinstance(block, Sentence) and block.code == "kappas"), "",
    )  # fmt: skip
    yield from _fold("Pairs of people", "kappas", f"{known[0].label}: {_lower_first(result)}")
    for criterion in known:
        yield _make_matrix(criterion, flags)


def _make_matrix(criterion: Criterion, flags: Mapping[str, int]) -> Table:
    kappas = criterion.stored["kappas"]
    names = [str(name) for name in kappas["raters"]]
    order = sorted(range(len(names)), key=lambda place: -flags.get(names[place], 0))
    shown = sorted(order[:MOST_IN_MATRIX])
    columns = [
        Column("", is_number=False),
        *(Column(isolate(names[place].removeprefix("p-")[:6])) for place in shown),
    ]
    rows: list[list[Entry]] = [
        [isolate(names[row]), *(_write_kappa(kappas["values"][row][column]) for column in shown)]
        for row in shown
    ]
    people = f"{len(shown)} of {count_of(len(names), 'person', 'people')}"
    of = people if len(shown) < len(names) else count_of(len(names), "person", "people")
    caption = f"{criterion.label}: weighted κ of every two of {of}"
    return Table(f"{criterion.key}-matrix", caption, columns, rows, place="page")


def _write_kappa(value: float | None) -> Cell:
    if value is None:
        return Cell("")
    text = write_coefficient(value)
    if value < _APART:
        return Cell(text, look="apart")
    if value < _MIDDLING:
        return Cell(text, look="faint")
    return Cell(text, look="strong" if value >= _STRONG else "middling")


def _explain_low(source: Source) -> Iterator[Block]:
    """Yield what single answers vary by on the question with the lowest agreement."""
    known = [
        (alpha.value, criterion)
        for criterion in source.criteria
        if (alpha := criterion.alpha) is not None and alpha.value is not None
        and (criterion.stored["model"] or {}).get("shares")
    ]  # fmt: skip
    if not known:
        return
    value, criterion = min(known, key=lambda pair: pair[0])
    blocks = list_further(source, criterion)
    sentence = next(block for block in blocks if isinstance(block, Sentence))
    table = next(block for block in blocks if isinstance(block, Table))
    text = f"{criterion.label}, α {write_coefficient(value)}: {_lower_first(sentence.text)}"
    yield from _fold("Low agreement", "low_alpha", text)
    yield replace(table, place="page")


def _list_repeats(source: Source) -> Iterator[Block]:
    figures = source.kept["together"].get("repeats")
    if not figures:
        return
    read = [read_own(figure, {}) for figure in figures]
    exact = next((entry for entry in read if entry.name in ("exact", "same_outcome")), None)
    text = "How alike people answered the second time."
    if exact is not None:
        text = f"The same answer both times: {write_figure(exact)}."
    yield from _fold("Hidden repeats", "repeats", text)
    tables = (block for block in list_together(source) if isinstance(block, Table))
    yield from (replace(table, place="page") for table in tables if table.name == "repeats")


def _list_everyone(source: Source) -> Iterator[Block]:
    """Yield agreement with everyone included, if anybody is excluded."""
    pairs = [
        (criterion, other)
        for criterion in source.criteria
        if (other := source.other_criteria.get(criterion.key))
    ]
    rows: list[list[Entry]] = [
        [isolate(pair.label), pair.alpha, _set_apart(other)]
        for pair, other in pairs
        if pair.alpha is not None and other.alpha is not None
    ]
    if not rows:
        return
    values = [write_value(row[2]) for row in rows if not isinstance(row[2], str | Cell)]
    text = f"With the people who are excluded, α is {list_of(values)}."
    yield from _fold("Everyone included", "everyone", text)
    columns = [Column("Question", is_number=False), Column("α, exclusions applied"),
               Column("α, everyone")]  # fmt: skip
    yield Table("agreement-everyone", "Agreement with everyone", columns, rows, place="page")


def _set_apart(other: Criterion) -> Entry:
    alpha = other.alpha
    if alpha is None:
        return ""
    return replace(alpha, group=(*alpha.group, ("with", "everyone")))


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def list_rates_higher(source: Source) -> dict[str, float]:
    """Return by how much each person rates higher than the others on the first question with
    scores, by pseudonym."""
    raters: Sequence[Mapping[str, object]] = source.kept["raters"]["columns"]
    key = next((str(entry["key"]) for entry in raters if entry.get("name") == "offset"), "")
    higher: dict[str, float] = {}
    for content in (source.everything, source.kept):
        for row in content["raters"]["rows"] if content else ():
            figure = row["figures"].get(key)
            if figure and figure["value"] is not None:
                higher[str(row["participant"])] = figure["value"]
    return higher
