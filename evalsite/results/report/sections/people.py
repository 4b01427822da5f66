"""What single people did, and how far people agree: for pages of staff alone, in no file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from django.urls import reverse

from evalsite.analysis.figure import Figure, write_coefficient
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
from evalsite.results.document.figures import make_figure, read_figure, write_figure, write_value
from evalsite.results.report.sections.further import (
    list_further,
    list_together,
    name_code,
    read_own,
)
from evalsite.results.report.sections.questions import count_averaged, list_agreement
from evalsite.results.report.sections.spans import find_f1
from evalsite.results.report.sections.words import FLAGS
from evalsite.results.report.source import Criterion, Source, Stored

# rows of a list that a page shows, and columns beside the names
_MOST_ROWS, _MOST_COLUMNS, _MOST_ITEMS, _MOST_PEOPLE = 100, 6, 20, 50
_WHY = {
    "rejected": "rejected, though every score is good",
    "accepted": "accepted, though a score is bad",
}
Link = Callable[[str], str]
# figures of a person, as columns are headed
_COLUMNS = {
    "median_seconds": "Median seconds",
    "speed_ratio": "Pace compared with others",
    "share_under_floor": "Too fast to read",
    "gold_share": "Gold and attention items right",
    "spearman": "Order compared with others",
    "offset": "Above others by",
    "top_share": "Most used value",
    "geo_mean": "Geometric mean",
    "sd_log": "sd of logarithms",
    "share_of_5s": "Multiples of 5",
    "share_of_10s": "Multiples of 10",
    "share_of_standard": "Equal to the standard",
    "ratio": "Largest over smallest",
    "tie_share": "Ties",
    "first_share": "First place preferred",
    "circular_share": "Triples in a circle",
    "exact": "Same again",
    "mean_abs_change": "Mean change",
    "sd_log_change": "sd of log changes",
    "reported": "Items reported",
}
# tables of a person's figures
_PARTS = {
    "scale": "Use of the scale",
    "reserved": "Points meant to be rare",
    "magnitude": "Magnitudes",
    "preference": "Preferences",
    "repeats": "The same items shown twice",
    "problems": "Problems reported",
}
# parts whose caption names the question, if there are several
_OF_ONE_QUESTION = ("magnitude",)


def make_people(source: Source) -> Iterator[Block]:
    """Yield what is known of each person, flags first."""
    link = _find_link(source)
    raters = _take_most_flagged(source.kept["raters"])
    if raters["rows"]:
        yield Heading("Raters", 2, "raters", place="page")
        yield _tabulate_people(raters, link)
        yield from _tabulate_flags(raters, link)
        yield from _tabulate_parts(raters, link)


def _take_most_flagged(raters: Stored) -> Stored:
    """Return the figures of people; of many, those with most flags."""
    rows = sorted(raters["rows"], key=lambda row: -len(row["flags"]))[:_MOST_PEOPLE]
    return {**raters, "rows": rows}


def _find_link(source: Source) -> Link:
    return lambda name: reverse("admin:study-person", args=[source.study_id, name]) if name else ""


def make_answers(source: Source) -> Iterator[Block]:
    """Yield answers to look at again: items that were ignored, decisions against their scores."""
    link = _find_link(source)
    together = source.kept["together"]
    if listed := together.get("ignored_items"):
        yield _tabulate_ignored("items", "Ignored, by item", listed[:_MOST_ITEMS], lambda _: "")
    if listed := together.get("ignored_raters"):
        yield _tabulate_ignored("raters", "Ignored, by person", listed, link)
    if listed := together.get("contradictions"):
        yield _tabulate_contradictions(source, listed[:_MOST_ROWS], link)


def _name(name: str, link: Link) -> Cell:
    return Cell(isolate(name), link=link(name))


def _tabulate_people(raters: Stored, link: Link) -> Table:
    shown = [column for column in raters["columns"] if not column.get("part")]
    columns = [Column("Person", is_number=False), Column("Ratings"),
               Column("Flags", is_number=False)]  # fmt: skip
    columns += [Column(name_column(column)) for column in shown]
    rows: list[list[Entry]] = []
    for row in raters["rows"]:
        group = {"participant": str(row["participant"])}
        cells = [_write_figure(row, column, group) for column in shown]
        name = _name(str(row["participant"]), link)
        rows.append([name, make_figure("n", row["n"], group), list_flags(row["flags"]), *cells])
    return Table("raters", "Figures of each person", columns, rows, place="page")


def _tabulate_parts(raters: Stored, link: Link) -> Iterator[Table]:
    parts: dict[str, list[Stored]] = {}
    for column in raters["columns"]:
        if column["part"]:
            parts.setdefault(_name_part(column), []).append(column)
    for part, mine in parts.items():
        for number, start in enumerate(range(0, len(mine), _MOST_COLUMNS), start=1):
            shown = mine[start : start + _MOST_COLUMNS]
            keys = {column["key"] for column in shown}
            people = [row for row in raters["rows"] if keys & set(row["figures"])]
            columns = [Column("Person", is_number=False)]
            columns += [Column(name_column(column)) for column in shown]
            rows: list[list[Entry]] = []
            for row in people:
                group = {"participant": str(row["participant"])}
                cells = [_write_figure(row, column, group) for column in shown]
                rows.append([_name(str(row["participant"]), link), *cells])
            ending = f"-{number}" if number > 1 else ""
            name = f"raters-{part.lower().replace(' ', '-')}{ending}"
            yield Table(name, part, columns, rows, place="page")


def name_column(column: Stored) -> str:
    """Return how a column is headed, with the question that it is of if there are several."""
    criterion = str(column["criterion"])
    if column["part"] == "reserved":
        return criterion
    label = _COLUMNS[column["name"]]
    if not criterion or column["part"] in _OF_ONE_QUESTION:
        return label
    return f"{criterion}: {label.lower()}"


def _name_part(column: Stored) -> str:
    is_of_one = column["part"] in _OF_ONE_QUESTION and column["criterion"]
    return _PARTS[column["part"]] + (f": {column['criterion']}" if is_of_one else "")


def _write_figure(row: Stored, column: Stored, group: Mapping[str, str]) -> Entry:
    stored = row["figures"].get(column["key"])
    if stored is None:
        return ""
    figure = read_own(stored, {**group, "column": str(column["key"])})
    counts = list(figure.n.values())
    number = f" of {counts[0]:,}" if counts and column.get("has_n") else ""
    return Cell(f"{write_value(figure)}{number}", (figure,))


def list_flags(flags: Sequence[Stored]) -> str:
    """Return each flag once, with the questions that it was raised on."""
    raised: dict[str, list[str]] = {}
    for flag in flags:
        raised.setdefault(name_flag(flag), []).append(str(flag.get("criterion") or ""))
    phrases = [
        f"{text} ({', '.join(map(isolate, labels))})" if any(labels) else text
        for text, labels in raised.items()
    ]
    return f"{'. '.join(phrases)}." if phrases else "none"


def name_flag(flag: Stored) -> str:
    """Return the sentence of a flag without its full stop, to go on or to be counted."""
    return FLAGS.write(flag).removesuffix(".")


def _tabulate_flags(raters: Stored, link: Link) -> Iterator[Table]:
    rows: list[list[Entry]] = []
    for row in raters["rows"]:
        for flag in row["flags"]:
            group = {"participant": str(row["participant"]), "flag": str(flag["code"])}
            figure = read_own(flag["figure"], group)
            limit = write_value(read_figure(
                {**flag["figure"], "value": flag["threshold"], "reason": None, "low": None,
                 "high": None}, figure.name, unit=figure.unit,
            ))  # fmt: skip
            label = f" ({isolate(str(flag['criterion']))})" if flag.get("criterion") else ""
            rows.append([
                _name(str(row["participant"]), link), f"{name_flag(flag)}{label}",
                name_code(figure.name), Cell(write_value(figure), (figure,)), limit,
                "this study" if flag.get("is_own") else "the software",
            ])  # fmt: skip
    if rows:
        heads = ("Person", "Flag", "Figure", "Value", "Threshold", "Set by")
        columns = [Column(head, is_number=head in ("Value", "Threshold")) for head in heads]
        yield Table("flags-of-people", "Flags", columns, rows, place="page")


def _tabulate_ignored(key: str, caption: str, listed: Sequence[Stored], link: Link) -> Table:
    first = "Item" if key == "items" else "Person"
    rows: list[list[Entry]] = []
    for entry in listed:
        name = str(entry["item"] if key == "items" else entry["participant"])
        figure = read_own(entry["share"], {first.lower(): name})
        left_out = ", left out" if entry.get("is_dropped") else ""
        rows.append([_name(name, link), figure, _count_ignored(figure, left_out)])
    columns = [Column(first, is_number=False), Column("Ignored (95% CI)"), Column("Times")]
    return Table(f"ignored-{key}", caption, columns, rows, place="page")


def _count_ignored(figure: Figure, ending: str) -> str:
    return f"{figure.n.get('hits', 0):,} of {figure.n.get('answers', 0):,}{ending}"


def _tabulate_contradictions(source: Source, listed: Sequence[Stored], link: Link) -> Table:
    scored = [
        other_criterion
        for other_criterion in source.criteria
        if other_criterion.key in listed[0]["scores"]
    ]
    heads = ("Person", "Item", "System", "Why")
    columns = [Column(head, is_number=False) for head in heads]
    columns += [Column(criterion.label) for criterion in scored]
    rows: list[list[Entry]] = [
        [
            _name(str(entry.get("participant", "")), link), isolate(str(entry["item"])),
            isolate(str(entry["system"])), _WHY.get(str(entry["why"]), str(entry["why"])),
            *(f"{entry['scores'][criterion.key]:g}" for criterion in scored),
        ]
        for entry in listed
    ]  # fmt: skip
    caption = "Decisions against their scores, to look at again"
    return Table("contradictions", caption, columns, rows, place="page")


# --- the page of raters: agreement, and further analyses of people

FEW_QUESTIONS = 3
MOST_IN_MATRIX = 12
_AGREEMENT_COLUMNS = {
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
        name
        for name in _AGREEMENT_COLUMNS
        if any(name in figures for figures in figures_by_key.values())
    ]
    if not shown:
        return None
    columns = [
        Column("Question", is_number=False),
        *(Column(_AGREEMENT_COLUMNS[name]) for name in shown),
    ]
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
    """Yield agreement with everyone included, if anyone is excluded."""
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
