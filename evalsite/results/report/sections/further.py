"""Further analyses: what the report leaves out, in a file of its own and in folds of pages.

Most tables have a row for a system or a pair and a column for each stored figure, under its own
code; none names a person.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import exp, sqrt
from statistics import median
from typing import Any

from evalsite.analysis.figure import Figure, Unit
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
from evalsite.results.document.blocks import list_figures as list_figures_of_block
from evalsite.results.document.figures import (
    CODES,
    explain_none,
    make_figure,
    read_figure,
    write_interval,
    write_interval_method,
    write_method,
    write_number,
    write_p,
    write_value,
)
from evalsite.results.report.sections.questions import (
    has_many_questions,
    list_shown_pairs,
    name_finding,
    tabulate_pairs,
    tabulate_systems,
)
from evalsite.results.report.sections.spans import list_all_categories, list_places, say_spans
from evalsite.results.report.sections.words import MOST_NAMED
from evalsite.results.report.source import Criterion, Pair, Source, Stored

# of a table beside its first column: a wider one is not read at a glance
_MOST_BESIDE = 5
_MOST_POINTS = 11
_MODEL_MEANS = ("model_mean", "model_share")
_OF_ORDER = ("share_of_first_place", "position_effect")
_AVERAGES = (
    "median", "trimmed_mean", "mean", "mean_centred", "mean_z", "mean_log_z", "geometric_mean",
    "geo_mean_centred", "geo_mean_winsorised", "share",
)  # fmt: skip
_LEAST_SHARE = 0.005
_FEW = 3  # pairs that a line names
_ALPHA, _TOLERANCE = 0.05, 1e-9
_TERMS = {
    "rater": "People", "group": "Inputs", "cluster": "Clusters of inputs",
    "group:system": "Inputs by system", "rater:system": "People by system",
    "input:system": "Inputs by system", "rater:group": "People by input",
    "cluster:system": "Clusters by system", "residual": "The rest",
}  # fmt: skip
Rows = Sequence[tuple[str, Mapping[str, str], Sequence[Stored]]]


def make_further(source: Source) -> Iterator[Block]:
    for criterion in source.criteria:
        blocks = [
            *_list_systems(source, criterion),
            *list_all_pairs(criterion),
            *list_further(source, criterion),
        ]
        if blocks:
            yield Heading(criterion.label, 2, f"further-{criterion.key}", place="further")
            yield from blocks
    together = list(list_together(source))
    if together:
        yield Heading("All questions", 2, "further-together", place="further")
    yield from together
    yield from _describe_computed(source)


def list_further(source: Source, criterion: Criterion) -> list[Block]:
    """List the further analyses of one question: of each its heading, its result, its tables."""
    listed: list[Block] = []
    for title, say, makers in _OF_QUESTION:
        tables = [block for make in makers for block in make(source, criterion)]
        if tables:
            listed += [Heading(title, 3, place="further"), *say(source, criterion), *tables]
    return listed


# --- tables of stored figures -------------------------------------------------------------------


def name_code(code: str) -> str:
    return CODES[code][1]


def read_own(stored: Stored, group: Mapping[str, str], unit: Unit | None = None) -> Figure:
    """Return a stored figure under its own code."""
    name = str(stored["name"])
    extra = {str(key): str(value) for key, value in (stored.get("group") or {}).items()}
    return read_figure(stored, name, {**group, **extra}, unit=unit or CODES[name][0] or "points")


def tabulate(name: str, caption: str, first: str, rows: Rows, **known: Any) -> Iterator[Table]:
    """Yield tables with a column for each figure, no table too wide to be read.

    `rows`: the name of each row, the group of its figures, and the stored figures. `unit`: of
    figures whose code has none; `write`: what a cell says, if not value and interval.
    """
    unit, write = known.get("unit"), known.get("write")
    codes = list(dict.fromkeys(entry["name"] for _, _, figures in rows for entry in figures))
    for number, start in enumerate(range(0, len(codes), _MOST_BESIDE), start=1):
        shown = codes[start : start + _MOST_BESIDE]
        columns = [Column(first, is_number=False)]
        columns += [Column(name_code(code) + known.get("ending", "")) for code in shown]
        lines: list[list[Entry]] = []
        for label, group, figures in rows:
            cells = {entry["name"]: entry for entry in figures}
            line: list[Entry] = [label]
            for code in shown:
                figure = read_own(cells[code], group, unit) if code in cells else None
                line.append("" if figure is None else write(figure) if write else figure)
            lines.append(line)
        ending = f"-{number}" if number > 1 else ""
        more = f" ({number})" if number > 1 else ""
        yield Table(f"{name}{ending}", f"{caption}{more}", columns, lines, place="further")


def list_figures(
    name: str,
    caption: str,
    figures: Sequence[Stored],
    labels: Mapping[str, str] | None = None,
    **group: str,
) -> Table:
    """Return a table with a row for each figure: value, interval and p.

    `labels`: of the questions by key, where figures are of some of them.
    """
    read = [read_own(entry, group) for entry in figures]
    has_p = any(figure.p is not None for figure in read)
    columns = [Column("Figure", is_number=False), Column("Value (95% CI)")]
    columns += [Column("p")] if has_p else []
    rows: list[list[Entry]] = []
    for figure in read:
        added = [value for key, value in figure.group if key not in group]
        # of what is correlated, or of the question
        added += [str(key) for key in figure.details.get("criteria") or ()]
        added = [(labels or {}).get(value, value) for value in added]
        label = name_code(figure.name) + (f", {', '.join(map(isolate, added))}" if added else "")
        if figure.details.get("over") == "inputs":
            label += ", for these people"
        rows.append([label, figure, *([write_p(figure.p)] if has_p else [])])
    return Table(name, caption, columns, rows, place="further")


def _name_sides(pair: Pair) -> str:
    sign = ":" if pair.difference.unit == "ratio" else "−"
    return f"{isolate(pair.first)} {sign} {isolate(pair.second)}"


# --- of one question: systems -------------------------------------------------------------------


def _list_systems(source: Source, criterion: Criterion) -> Iterator[Block]:
    """Yield the table of systems, if the report has too many questions for it."""
    if criterion.systems and has_many_questions(source):
        yield tabulate_systems(criterion, "further")


def list_all_pairs(criterion: Criterion) -> list[Block]:
    """List every comparison, if they are too many for the report."""
    pairs = criterion.pairs
    if len(list_shown_pairs(criterion)) == len(pairs):
        return []
    clear = len(criterion.clear_pairs)
    return [
        Heading(f"All {len(pairs):,} comparisons", 3, place="further"),
        _say("all_pairs", f"{count_of(clear, 'pair differs', 'pairs differ')} clearly."),
        tabulate_pairs(criterion, pairs, name="all-pairs", place="further"),
    ]


def _list_averages(_: Source, criterion: Criterion) -> Iterator[Block]:
    """Yield the averages of systems that the report doesn't print."""
    if criterion.family.orders:
        return
    rows = []
    for system in criterion.systems:
        shown = _MODEL_MEANS if criterion.is_by_model else ()
        figures = [*system["others"], *system.get("averages", ())]
        figures = [figure for figure in figures if figure["name"] not in shown]
        if criterion.find_estimate(system) is not system["headline"]:
            figures = [system["headline"], *figures]
        rows.append((isolate(str(system["system"])), criterion.group(system), figures))
    caption = f"{criterion.label}: other averages"
    yield from tabulate(f"{criterion.key}-averages", caption, "System", rows)


def _count_answers(_: Source, criterion: Criterion) -> Iterator[Block]:
    """Yield how often each answer was given to each system."""
    if criterion.family.compares:
        yield from _count_outcomes(criterion)
        return
    answers, histogram = criterion.stored["answers"], criterion.stored.get("histogram")
    if answers and len(answers) <= _MOST_POINTS:
        heads = [
            " ".join(dict.fromkeys((str(entry["value"]), str(entry["label"])))).strip()
            for entry in answers
        ]
        counts = {
            str(system["system"]): [
                int((system["counts"] or {}).get(str(point["value"]), 0)) for point in answers
            ]
            for system in criterion.systems
        }
    elif histogram:
        heads = [f"{low:g} to {high:g}".replace("-", "−")
                 for low, high in pairwise(histogram["edges"])]  # fmt: skip
        counts = histogram["counts"]
    else:
        return
    columns = [Column("System", is_number=False), *map(Column, heads)]
    group = {"criterion": criterion.key}
    rows: list[list[Entry]] = [
        [
            isolate(name),
            *(
                make_figure("n", number, group | {"system": name, "answer": head})
                for head, number in zip(heads, counts[name], strict=True)
            ),
        ]
        for name in criterion.names
        if name in counts
    ]
    caption = f"{criterion.label}: all answers"
    yield Table(f"{criterion.key}-counts", caption, columns, rows, place="further")


def _count_outcomes(criterion: Criterion) -> Iterator[Table]:
    """Yield wins, ties and losses of each pair, beside what the model of strengths expects."""
    pairs = [pair for pair in criterion.pairs if pair.stored["counts"]]
    if not pairs:
        return
    heads = {"wins": "First is preferred", "ties": "Tie", "losses": "Second is preferred"}
    grades = [key for key in ("both_good", "both_bad")
              if any((pair.stored.get("grades") or {}).get(key) for pair in pairs)]  # fmt: skip
    columns = [Column("Pair", is_number=False), *map(Column, heads.values())]
    columns += [Column(f"Of ties: {key.replace('_', ' ')}") for key in grades]
    rows: list[list[Entry]] = []
    for pair in pairs:
        expected = _find_expected(criterion, pair)
        row: list[Entry] = [f"{isolate(pair.first)} : {isolate(pair.second)}"]
        for key in heads:
            count = pair.stored["counts"][key]
            figure = make_figure("n", count, pair.group | {"answer": key})
            more = f" ({expected[key]:,.0f})" if expected else ""
            row.append(Cell(f"{count:,}{more}", (figure,)))
        row += [make_figure("n", pair.stored["grades"][key], pair.group | {"answer": key})
                for key in grades]  # fmt: skip
        rows.append(row)
    fit = " In brackets: expected by Davidson’s model." if criterion.stored.get("fit") else ""
    yield Table(
        f"{criterion.key}-outcomes", f"{criterion.label}: answers of each pair.{fit}", columns,
        rows, place="further",
    )  # fmt: skip


def _find_expected(criterion: Criterion, pair: Pair) -> dict[str, float] | None:
    """Return what the model of strengths expects of a pair, as seen from its first system."""
    for entry in (criterion.stored.get("fit") or {"pairs": ()})["pairs"]:
        if (entry["system_1"], entry["system_2"]) == (pair.first, pair.second):
            return dict(entry["expected"])
        if (entry["system_2"], entry["system_1"]) == (pair.first, pair.second):
            expected = entry["expected"]
            return expected | {"wins": expected["losses"], "losses": expected["wins"]}
    return None


def _list_order(_: Source, criterion: Criterion) -> Iterator[Block]:
    """Yield strengths by the order on a page, of magnitudes; ranks of systems."""
    if order := criterion.stored.get("order"):
        rows = [
            (isolate(str(entry["system"])), criterion.group(entry), [entry["strength"]])
            for entry in order
        ]
        caption = f"{criterion.label}: order on a page"
        yield from tabulate(f"{criterion.key}-order", caption, "System", rows)
    ranked = [entry for entry in criterion.systems if entry["rank"]]
    if not ranked:
        return
    lines: list[list[Entry]] = []
    for system in ranked:
        low, high = system["rank"]["low"], system["rank"]["high"]
        group = criterion.group(system)
        figures = (make_figure("rank_best", low, group), make_figure("rank_worst", high, group))
        name = isolate(str(system["system"]))
        lines.append([name, Cell(f"{low:g}" if low == high else f"{low:g}–{high:g}", figures)])
    yield Table(
        f"{criterion.key}-ranks", f"{criterion.label}: ranks that the comparisons support",
        [Column("System", is_number=False), Column("Rank")], lines, place="further",
    )  # fmt: skip


# --- of one question: comparisons ---------------------------------------------------------------


def _list_own_errors(_: Source, criterion: Criterion) -> Iterator[Block]:
    """Yield each difference with the error of its pair alone."""
    pairs = [pair for pair in criterion.pairs if pair.stored.get("own")]
    if not pairs:
        return
    heads = ("Difference (95% CI)", "t (df)", "p", "Corrected p", "Of the model")
    columns = [Column("Comparison", is_number=False), *map(Column, heads)]
    rows: list[list[Entry]] = []
    for pair in pairs:
        figure = find_own(pair)
        t = ""
        if figure.t is not None and figure.df is not None:
            t = f"{write_number(figure.t, 'statistic')} ({figure.df:.1f})"
        p_model = pair.difference.p_corrected
        rows.append([_name_sides(pair), figure, t, write_p(figure.p), write_p(figure.p_corrected),
                     write_p(p_model)])  # fmt: skip
    caption = f"{criterion.label}: a separate error for each pair"
    yield Table(f"{criterion.key}-own-errors", caption, columns, rows, place="further")


def find_own(pair: Pair) -> Figure:
    """Return the difference with its own error, in the unit of the comparison."""
    stored = dict(pair.stored["own"])
    unit = pair.criterion.difference_unit
    if unit == "ratio":
        ends = ("value", "low", "high")
        stored |= {end: None if stored[end] is None else exp(stored[end]) for end in ends}
    return read_figure(stored, "own_error", pair.group, unit=unit)


def _list_checks(_: Source, criterion: Criterion) -> Iterator[Block]:
    rows = [(_name_sides(pair), pair.group, pair.stored["checks"]) for pair in criterion.pairs]
    caption = f"{criterion.label}: other tests of the pairs, p without correction"
    yield from tabulate(
        f"{criterion.key}-checks", caption, "Comparison", rows, ending=", p", write=_write_check
    )


def _write_check(figure: Figure) -> Entry:
    return Cell(write_p(figure.p) if figure.value is not None else write_value(figure), (figure,))


def _list_sizes(_: Source, criterion: Criterion) -> Iterator[Block]:
    rows = [(_name_sides(pair), pair.group, pair.stored["sizes"]) for pair in criterion.pairs]
    caption = f"{criterion.label}: other sizes of the differences"
    yield from tabulate(f"{criterion.key}-sizes", caption, "Comparison", rows)


def _list_variances(_: Source, criterion: Criterion) -> Iterator[Block]:
    model = criterion.stored["model"] or {}
    if not model.get("shares"):
        return
    columns = [Column("What varies", is_number=False), Column("Variance"), Column("SD"),
               Column("Share")]  # fmt: skip
    rows: list[list[Entry]] = []
    for term, variance in [*model["variances"].items(), ("residual", model["residual"])]:
        group = {"criterion": criterion.key, "part": term}
        share = make_figure("variance_share", model["shares"][term], group)
        sd = make_figure("sd", sqrt(variance), group, unit="statistic")
        rows.append([_TERMS.get(term, term), f"{variance:.3g}" if variance else "0", sd, share])
    caption = f"{criterion.label}: what single answers vary by"
    yield Table(f"{criterion.key}-variances", caption, columns, rows, place="further")


def _list_order_tests(_: Source, criterion: Criterion) -> Iterator[Block]:
    if tests := [test for test in criterion.stored["tests"] if test["name"] in _OF_ORDER]:
        caption = f"{criterion.label}: the first output and the second"
        yield list_figures(f"{criterion.key}-places", caption, tests, criterion=criterion.key)


def _list_tests(_: Source, criterion: Criterion) -> Iterator[Block]:
    if tests := [test for test in criterion.stored["tests"] if test["name"] not in _OF_ORDER]:
        caption = f"{criterion.label}: tests of all systems"
        yield list_figures(f"{criterion.key}-tests", caption, tests, criterion=criterion.key)


# --- of one question: agreement -----------------------------------------------------------------


def _list_agreement(_: Source, criterion: Criterion) -> Iterator[Block]:
    if figures := criterion.stored["agreement"]:
        caption = f"{criterion.label}: agreement in full"
        yield list_figures(f"{criterion.key}-agreement", caption, figures, criterion=criterion.key)
    yield from _sum_up_kappas(criterion)
    if figures := criterion.stored.get("other_papers"):
        caption = f"{criterion.label}: as other papers print it"
        name = f"{criterion.key}-other-papers"
        yield list_figures(name, caption, figures, criterion=criterion.key)


def _sum_up_kappas(criterion: Criterion) -> Iterator[Table]:
    """Yield the kappas of all pairs of people as a range: who they are stays on the site."""
    values = _list_kappas(criterion)
    if not values:
        return
    rows: list[list[Entry]] = [
        [name, make_figure("mean_kappa", value, {"criterion": criterion.key, "part": name})]
        for name, value in _sum_up(values)
    ]
    yield Table(
        f"{criterion.key}-kappas",
        f"{criterion.label}: weighted κ of {count_of(len(values), 'pair')} of people",
        [Column("Of all pairs", is_number=False), Column("κ")], rows, place="further",
    )  # fmt: skip


def _list_kappas(criterion: Criterion) -> list[float]:
    kappas = criterion.stored["kappas"]
    return [
        value
        for place, row in enumerate(kappas["values"] if kappas else ())
        for value in row[place + 1 :]
        if value is not None
    ]


def _sum_up(values: Sequence[float]) -> list[tuple[str, float]]:
    return [("Lowest", min(values)), ("Median", median(values)), ("Highest", max(values))]


# --- of one question: what is left out ----------------------------------------------------------


def _list_both(source: Source, criterion: Criterion) -> Iterator[Block]:
    """Yield comparisons and agreement with everyone, and with items that most ignored."""
    if other := source.other_criteria.get(criterion.key):
        who = "with exclusions applied" if source.is_everyone else "with everyone included"
        yield from _compare_both(criterion, other, who, "everyone")
    if stored := criterion.stored.get("undropped"):
        other = Criterion({**criterion.stored, **stored})
        yield from _compare_both(criterion, other, "with the items that most ignored", "ignored")


def _compare_both(
    criterion: Criterion, other: Criterion, who: str, name: str
) -> Iterator[Table]:  # fmt: skip
    whole = {frozenset((pair.first, pair.second)): pair for pair in other.pairs}
    rows: list[list[Entry]] = []
    for pair in criterion.pairs:
        beside = whole.get(frozenset((pair.first, pair.second)))
        if beside is None:
            continue
        p = (pair.difference.p_corrected, beside.difference.p_corrected)
        rows.append([
            _name_sides(pair), pair.difference, write_p(p[0]),
            _group_apart(turn_pair(beside, pair.first), name), write_p(p[1]), name_finding(beside),
        ])  # fmt: skip
    if rows:
        columns = [Column("Comparison", is_number=False), Column("Here"), Column("Corrected p"),
                   Column(who.capitalize()), Column("Corrected p"),
                   Column("Finding", is_number=False)]  # fmt: skip
        caption = f"{criterion.label}: comparisons {who}"
        yield Table(f"{criterion.key}-{name}-pairs", caption, columns, rows, place="further")
    means = {figure.group[-1][1]: figure for figure in list_beside(criterion, other, name)}
    rows = [
        [isolate(str(system["system"])), criterion.mean(system), means[str(system["system"])]]
        for system in criterion.systems
        if str(system["system"]) in means
    ]
    if rows:
        columns = [Column("System", is_number=False), Column("Here"), Column(who.capitalize())]
        caption = f"{criterion.label}: means {who}"
        yield Table(f"{criterion.key}-{name}-systems", caption, columns, rows, place="further")
    alphas = [entry.alpha for entry in (criterion, other)]
    if all(alphas):
        figures: list[Entry] = [alphas[0] or "", _group_apart(alphas[1], name)]
        columns = [Column("", is_number=False), Column("Here"), Column(who.capitalize())]
        caption = f"{criterion.label}: agreement {who}"
        rows = [["Krippendorff’s α", *figures]]
        yield Table(f"{criterion.key}-{name}-agreement", caption, columns, rows, place="further")


def list_beside(criterion: Criterion, other: Criterion, name: str = "everyone") -> list[Figure]:
    """List the means of the other report, under a group of their own."""
    names = set(criterion.names)
    means = [other.mean(system) for system in other.systems if str(system["system"]) in names]
    known = [mean for mean in means if mean.value is not None]
    return [replace(mean, group=(("with", name), *mean.group)) for mean in known]


def _group_apart(figure: Figure | None, name: str) -> Entry:
    if figure is None:
        return ""
    known = figure.to_dict()
    return read_figure(known, figure.name, dict(figure.group) | {"with": name}, unit=figure.unit)


def turn_pair(pair: Pair, first: str) -> Figure:
    """Return the difference as seen from `first`, whichever system was named first."""
    figure = pair.difference
    if pair.first == first:
        return figure
    turn: Callable[[float], float] = (lambda x: 1 / x) if figure.unit == "ratio" else (lambda x: -x)
    ends = {"value": figure.value, "low": figure.high, "high": figure.low}
    turned = {end: None if value is None else turn(value) for end, value in ends.items()}
    return read_figure(figure.to_dict() | turned, figure.name, pair.group, unit=figure.unit)


# --- what each further analysis shows, in a sentence --------------------------------------------


def _say(code: str, text: str, *figures: Figure) -> Sentence:
    return Sentence(code, start_sentence(text), figures=figures, place="further")


def _say_variances(_: Source, criterion: Criterion) -> Iterator[Sentence]:
    """Say how much of the variance each part has, the largest first."""
    shares = (criterion.stored["model"] or {}).get("shares", {})
    figures = [
        make_figure("variance_share", share, {"criterion": criterion.key, "part": term})
        for term, share in sorted(shares.items(), key=lambda part: -part[1])
        if share >= _LEAST_SHARE
    ]
    parts = [f"{_name_term(figure)} {write_value(figure)}" for figure in figures]
    yield _say("variance_parts", f"{', '.join(parts)}.", *figures)


def _name_term(figure: Figure) -> str:
    term = figure.group[-1][1]
    name = _TERMS.get(term, term)
    return name[:1].lower() + name[1:]


def _say_averages(_: Source, criterion: Criterion) -> Iterator[Sentence]:
    """Say which averages put systems in another order than the report does."""
    if criterion.family.orders:
        yield _say("averages", "Ranks that the comparisons support.")
        return
    if criterion.family.compares:
        strengths = [_read_strength(criterion, system) for system in criterion.systems[:MOST_NAMED]]
        known = [figure for figure in strengths if figure is not None]
        if known:
            parts = [f"{isolate(figure.group[-1][1])} {write_value(figure)}" for figure in known]
            yield _say("strengths", f"Strengths by Davidson’s model: {', '.join(parts)}.", *known)
            return
    by_code: dict[str, list[float]] = {}
    known_systems = [
        entry for entry in criterion.systems if criterion.mean(entry).value is not None
    ]
    for system in known_systems:
        for stored in (*system["others"], *system.get("averages", ()), system["headline"]):
            if stored["name"] in _AVERAGES and stored["value"] is not None:
                by_code.setdefault(stored["name"], []).append(stored["value"])
    means = [criterion.mean(system).value or 0.0 for system in known_systems]
    whole = {code: values for code, values in by_code.items() if len(values) == len(means) > 1}
    other = [name_code(code) for code, values in whole.items() if _is_turned(means, values)]
    if other:
        text = f"Systems are in another order by {'; '.join(other[:MOST_NAMED])}."
    elif whole:
        text = "No other average puts the systems in another order."
    else:
        text = "Counts of answers, and other averages."
    yield _say("other_averages", text)


def _is_turned(means: Sequence[float], values: Sequence[float]) -> bool:
    """Return whether two systems are in one order by their means, and in the other by these."""
    both = combinations(zip(means, values, strict=True), 2)
    return any((a[0] - b[0]) * (a[1] - b[1]) < -_TOLERANCE for a, b in both)


def _read_strength(criterion: Criterion, system: Stored) -> Figure | None:
    stored = system["headline"]
    if stored["name"] != "strength" or stored["value"] is None:
        return None
    return read_own(stored, criterion.group(system))


def _say_order(_: Source, criterion: Criterion) -> Iterator[Sentence]:
    for stored in criterion.stored["tests"]:
        if stored["name"] == "share_of_first_place" and stored["value"] is not None:
            figure = read_own(stored, {"criterion": criterion.key})
            interval = write_interval(figure)
            ci = f" (95% CI {interval})" if interval else ""
            yield _say(
                "first_place",
                f"The first output was preferred in {write_value(figure)} of decided answers{ci}.",
                figure,
            )


def _say_tests(_: Source, criterion: Criterion) -> Iterator[Sentence]:
    """Say whether a test without the model, or with errors of its own, comes out otherwise."""
    differing, tested = [], 0
    for pair in criterion.pairs:
        p, checks = (
            pair.difference.p,
            [read_own(entry, pair.group) for entry in pair.stored["checks"]],
        )
        known = [figure for figure in checks if figure.p is not None]
        tested += bool(known) and p is not None
        if p is not None and any((figure.p < _ALPHA) != (p < _ALPHA) for figure in known):  # type: ignore[operator]
            differing.append(_name_sides(pair))
    if differing:
        named = list_of(differing)
        if len(differing) > _FEW:
            named = f"{len(differing):,} of {count_of(tested, 'pair')}"
        yield _say("tests_differ", f"Another test is on the other side of .05 for {named}.")
    elif tested:
        pairs = count_of(tested, "pair")
        yield _say(
            "tests_agree", f"Other tests agree with the main test at the 5% level for {pairs}."
        )
    with_own = [pair for pair in criterion.pairs if pair.stored.get("own")]
    other = [pair for pair in with_own if _is_own_clear(pair) != pair.is_clear]
    if other:
        named = list_of([_name_sides(pair) for pair in other[:MOST_NAMED]])
        figures = [find_own(pair) for pair in other[:MOST_NAMED]]
        yield _say("own_errors_differ", f"With an error of its own, {named} differs.", *figures)
    elif with_own:
        yield _say("own_errors_agree", "A separate error for each pair changes no finding.")
    if not (tested or with_own):
        yield _say("other_sizes", "Other tests, and other sizes of the differences.")


def _is_own_clear(pair: Pair) -> bool:
    p = find_own(pair).p_corrected
    return p is not None and p < _ALPHA


def _say_agreement(_: Source, criterion: Criterion) -> Iterator[Sentence]:
    values = _list_kappas(criterion)
    if values:
        group = {"criterion": criterion.key}
        low, middle, high = (
            make_figure("mean_kappa", value, group | {"part": name})
            for name, value in _sum_up(values)
        )
        text = f"Weighted κ of {count_of(len(values), 'pair')} of people: "
        if len(values) == 1:
            text += f"{write_value(middle)}."
        else:
            text += f"median {write_value(middle)}, from {write_value(low)} to {write_value(high)}."
        yield _say("kappas", text, low, middle, high)
        return
    number = len(criterion.stored["agreement"]) + len(criterion.stored.get("other_papers") or ())
    yield _say("agreement_in_full", f"{count_of(number, 'coefficient')}, with their intervals.")


def _say_both(source: Source, criterion: Criterion) -> Iterator[Sentence]:
    """Say whether exclusions, or items that most ignored, change a finding."""
    other = source.other_criteria.get(criterion.key)
    changed = [] if other is None else find_changed(criterion, other)
    if other is None:
        yield _say("ignored", "With the items that most people ignored.")
    elif not changed:
        yield _say("exclusions_agree", "Exclusions change no finding.")
    else:
        named = list_of([_name_sides(pair) for pair in changed[:MOST_NAMED]])
        who = "With exclusions applied" if source.is_everyone else "With everyone included"
        yield _say("exclusions_differ", f"{who}, the finding is another for {named}.")


def find_changed(criterion: Criterion, other: Criterion) -> list[Pair]:
    """Return the pairs on which the two reports differ: clear or not, and who is ahead."""
    whole = {frozenset((pair.first, pair.second)): pair for pair in other.pairs}
    changed = []
    for pair in criterion.pairs:
        beside = whole.get(frozenset((pair.first, pair.second)))
        if beside is not None and name_finding(pair) != name_finding(beside):
            changed.append(pair)
    return changed


Maker = Callable[[Source, Criterion], Iterator[Block]]
Teller = Callable[[Source, Criterion], Iterator[Sentence]]
# of each: its title, what says its result, and what makes its tables
_OF_QUESTION: list[tuple[str, Teller, list[Maker]]] = [
    ("Where the variance lies", _say_variances, [_list_variances]),
    ("Other averages", _say_averages, [_list_averages, _count_answers, _list_order]),
    ("Order of the outputs", _say_order, [_list_order_tests]),
    ("Other tests", _say_tests, [_list_own_errors, _list_checks, _list_sizes, _list_tests]),
    ("What is left out", _say_both, [_list_both]),
    ("Agreement in full", _say_agreement, [_list_agreement]),
    ("Errors in full", say_spans, [list_all_categories, list_places]),
]  # fmt: skip


# --- of all questions ---------------------------------------------------------------------------


def list_together(source: Source) -> Iterator[Block]:
    together = source.kept["together"]
    labels = {criterion.key: criterion.label for criterion in source.criteria}
    captions = {
        "correlations": "Questions correlated (Spearman)",
        "decision": "Decisions and scores",
        "ignore": "Ignored items",
        "highlights": "Marked passages",
        "repeats": "The same items shown twice",
    }
    for key, caption in captions.items():
        if figures := together.get(key):
            yield list_figures(key, caption, figures, labels)
    if cronbach := together.get("cronbach"):
        yield list_figures("cronbach", "All questions as one scale", [cronbach])
    if source.kept["design"]:
        yield list_figures("design", "The design, as collected", source.kept["design"])
    yield from _count_places(source)
    yield from _count_flags(source)


def _count_places(source: Source) -> Iterator[Table]:
    """Yield how often each system stood in each place of the page."""
    places = source.kept["data"].get("places") or {}
    known = sorted({place for counts in places.values() for place in counts})
    known.sort(key=lambda place: (int(place), "") if place.isdecimal() else (0, place))
    if len(known) < 2:
        return
    columns = [Column("System", is_number=False), *(Column(f"Place {place}") for place in known)]
    rows: list[list[Entry]] = [
        [
            isolate(system),
            *(
                make_figure("n", counts.get(place, 0), {"system": system, "place": place})
                for place in known
            ),
        ]
        for system, counts in sorted(places.items())
    ]
    yield Table("places", "Places on the page", columns, rows, place="further")


def _count_flags(source: Source) -> Iterator[Table]:
    """Yield how many people have a flag of each kind, without names."""
    people: dict[str, int] = {}
    for row in source.kept["raters"]["rows"]:
        for code in {flag["code"] for flag in row["flags"]}:
            people[code] = people.get(code, 0) + 1
    if people:
        rows: list[list[Entry]] = [
            [FLAGS.get(code, code.replace("_", " ")), make_figure("people", number, {"flag": code})]
            for code, number in sorted(people.items())
        ]
        columns = [Column("Flag", is_number=False), Column("People")]
        yield Table("flags", "People with flags", columns, rows, place="further")


FLAGS = {
    "straight_lining": "Gives one value nearly always, or varies far less than the others",
    "speeder": "Is much faster than the others",
    "disagreement": "Orders outputs unlike the others",
    "offset": "Rates higher or lower than the others",
    "reserved_points": "Often uses points meant for difficult cases",
    "drift_trial": "Ratings rise or fall over the study",
    "drift_place": "Ratings rise or fall over a set",
    "identical_criteria": "Gives all questions about an output one value",
    "gold": "Answers too few gold and attention items right",
    "degraded": "Does not rate spoilt copies lower",
    "never_ties": "Never says that two outputs are equal",
    "always_ties": "Always says that two outputs are equal",
    "one_place": "Prefers one side, whatever its text",
    "circles": "Goes in circles more than the others",
    "inconsistent": "Rates the same output otherwise the second time",
}


# --- how it was computed ------------------------------------------------------------------------


def _describe_computed(source: Source) -> Iterator[Block]:
    if tables := list_computed(source, source.criteria):
        yield Heading("How these were computed", 2, "further-methods", place="further")
        yield from tables


def list_computed(source: Source, criteria: Sequence[Criterion]) -> list[Table]:
    """Return how the further analyses were computed, from what their figures say of themselves."""
    ways: dict[tuple[str, str, str], None] = {}
    for criterion in criteria:
        blocks = list_further(source, criterion)
        for figure in (figure for block in blocks for figure in list_figures_of_block(block)):
            if figure.method not in ("", "count"):
                how = str(figure.details.get("interval", ""))
                ways.setdefault((figure.name, figure.method, how))
    if not ways:
        return []
    rows: list[list[Entry]] = [
        [name_code(name), write_method(method), write_interval_method(how) or explain_none(how)]
        for name, method, how in ways
    ]
    heads = ("Figure", "Method", "Interval")
    columns = [Column(head, is_number=False) for head in heads]
    caption = (
        f"Methods of the further analyses, methods version {source.facts.methods}, seed "
        f"{source.facts.seed}"
    )
    return [Table("methods", caption, columns, rows, place="further")]
