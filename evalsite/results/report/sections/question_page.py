"""The page of one question: the section of the report as figures, further analyses as folds.

What a page lays out otherwise than the report has the same figures, and stands on pages only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from evalsite.analysis.figure import Figure
from evalsite.lib.words import count_of, list_of
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Document,
    Entry,
    Heading,
    Sentence,
    Table,
    isolate,
    start_sentence,
)
from evalsite.results.document.charts import name_part
from evalsite.results.document.figures import write_number, write_p, write_value
from evalsite.results.report.sections.findings import (
    describe_finding,
    head_decision,
    head_decisions,
    say_judge,
    say_leader,
    write_decision,
    write_half,
    write_letter,
)
from evalsite.results.report.sections.further import list_all_pairs, list_beside, list_further
from evalsite.results.report.sections.judges import list_metrics
from evalsite.results.report.sections.questions import (
    count_averaged,
    draw_question,
    explain_correction,
    head_places,
    limit_intervals,
    list_agreement,
    list_shown_pairs,
    name_finding,
    tabulate_reasons,
    tabulate_systems,
    write_distribution,
    write_findings,
    write_joint,
)
from evalsite.results.report.sections.spans import (
    describe_places,
    find_unscored,
    show_unscored,
    tabulate_spans,
)
from evalsite.results.report.sections.words import MOST_NAMED
from evalsite.results.report.source import Criterion, Decision, Pair, Source, Stored, list_decisions

_MOST_POINTS = 11
_COEFFICIENTS = {
    "α": "Krippendorff’s α",
    "W": "Kendall’s W",
    "AC1": "Gwet’s AC1",
    "AC2": "Gwet’s AC2",
    "ICC(1,1)": "ICC(1,1)",
    "the same answer": "Same answer",
    "reliability": "Reliability",
}
_KINDS = {
    "AC2": "quadratic weights",
    "ICC(1,1)": "one person’s answer",
    "the same answer": "share of pairs of answers",
}


def make_question_page(source: Source, key: str) -> Document | None:
    """Return the page of a question; None if the report has nothing on it.

    A choice is a criterion for each of its options.
    """
    if criterion := source.find_criterion(key):
        return Document(head_question(criterion), list(_show_question(source, criterion)))
    if stored := find_unscored(source, key):
        return Document(start_sentence(str(stored["label"])), list(show_unscored(stored)))
    if options := source.list_options(key):
        return Document(_head_choice(source, options), list(_show_choice(source, options)))
    return None


# --- one question -------------------------------------------------------------------------------


def head_question(criterion: Criterion) -> str:
    if len(criterion.systems) == 1:
        mean = criterion.mean(criterion.systems[0])
        return f"{start_sentence(criterion.label)}: {write_value(mean)} on average"
    judged = [decision for decision in list_decisions(criterion) if decision.is_judged]
    if judged:
        return _head_judged(criterion, judged)
    return f"{start_sentence(criterion.label)}: {say_leader(criterion)}"


def _head_judged(criterion: Criterion, judged: Sequence[Decision]) -> str:
    """Return what the plan decides by a judge's labels."""
    head = head_decision(judged[0]) if len(judged) == 1 else head_decisions(judged)[1]
    if len(judged) == 1 and judged[0].margin is None:
        return head
    answer, colon, rest = head.partition(": ")
    text = f"{answer.lower()}, {rest}" if colon else head[:1].lower() + head[1:]
    return f"{start_sentence(criterion.label)}: {text}"


def _show_question(source: Source, criterion: Criterion) -> Iterator[Block]:
    findings = list(write_findings(criterion)) if len(criterion.systems) > 1 else []
    yield from _say_findings(criterion, findings)
    if criterion.family.compares:
        yield from _show_chosen(criterion)
    else:
        yield Heading("Systems", 2, "systems")
        yield from _draw_systems(source, criterion)
        yield lay_out_systems(criterion)
    if pairs := list_shown_pairs(criterion):
        yield Heading("Comparisons" if len(pairs) > 1 else "Comparison", 2, "comparisons")
        yield lay_out_pairs(criterion, pairs)
        if joint := write_joint(criterion):
            yield joint
        yield from (finding for finding in findings if finding.code == "uncorrected_only")
        yield from list_all_pairs(criterion)
    if spans := criterion.stored.get("spans"):
        yield Heading("Errors", 2, "errors")
        yield from tabulate_spans(criterion.key, criterion.label, spans, criterion.names, "page")
    if reasons := tabulate_reasons(criterion):
        yield Heading("Reasons", 2, "reasons")
        yield replace(reasons, marks="both", place="page")
    if agreement := lay_out_agreement(criterion):
        yield Heading("Agreement", 2, "agreement")
        yield agreement
    if spans:
        yield describe_places(criterion.key, spans)
    further = list_further(source, criterion)
    if metrics := list(list_metrics(criterion)):
        number = len(criterion.stored["metrics"])
        text = f"{count_of(number, 'metric')} beside people’s answers."
        further += [Heading("Metrics", 3, place="further"),
                    Sentence("metrics", text, place="further"), *metrics]  # fmt: skip
    if further:
        yield Heading("Further analyses", 2, "further", place="page")
        yield from further


def _say_findings(criterion: Criterion, findings: Sequence[Sentence]) -> Iterator[Sentence]:
    """Yield what the plan decides by a judge's labels, then people's own result, then why the judge
    that the plan names decides nothing."""
    named = [decision for decision in list_decisions(criterion) if decision.judge]
    judged = [decision for decision in named if decision.is_judged]
    for decision in judged:
        yield replace(write_decision(decision, has_people=False), kind="plain", place="page")
    # of several systems without a clear difference, the headline says all
    is_said = len(criterion.systems) > 2 and not judged
    left_out = {"uncorrected_only", *(["finding_none"] if is_said else [])}
    yield from (finding for finding in findings if finding.code not in left_out)
    for decision in named:
        if decision not in judged and (sentence := say_judge(decision)):
            yield sentence


def _draw_systems(source: Source, criterion: Criterion) -> Iterator[Chart]:
    """Yield the chart of means, with the average of the systems and, as rings, everyone's."""
    other = source.other_criteria.get(criterion.key)
    rings = [] if other is None else list_beside(criterion, other)
    label = "exclusions applied" if source.is_everyone else "everyone, without exclusions"
    for chart in draw_question(criterion):
        reference = _find_average(criterion)
        yield replace(chart, place="page", reference=reference, rings=rings, ring_label=label)


def _find_average(criterion: Criterion) -> float | None:
    """Return the average of the systems, from which each has a distance."""
    for system in criterion.systems:
        mean, distance = criterion.mean(system).value, criterion.distance(system)
        if mean is not None and distance is not None and distance.value is not None:
            is_ratio = distance.unit == "ratio"
            return mean / distance.value if is_ratio else mean - distance.value
    return None


def lay_out_systems(criterion: Criterion) -> Table:
    """Return n, mean, SD, distance from the average, answers and tier of each system."""
    systems = criterion.systems
    distances = {str(entry["system"]): criterion.distance(entry) for entry in systems}
    has_sd = any(criterion.sd(system) for system in systems)
    has_distance = any(distances.values()) and len(systems) > 1
    has_parts = 2 < len(criterion.stored["answers"]) <= _MOST_POINTS
    has_tiers = any(criterion.tier(system) for system in systems)
    mean = {"share": "Share", "statistic": "Strength"}.get(criterion.mean_unit, "Mean")
    columns = [Column("System", is_number=False), Column(mean), *head_places(criterion)]
    columns += [Column("SD")] if has_sd else []
    columns += [Column("From average")] if has_distance else []
    columns += [Column("Answers, %", is_number=False)] if has_parts else []
    columns += [Column("Tier")] if has_tiers else []
    rows: list[list[Entry]] = []
    for system in systems:
        count = criterion.count(system)
        name = str(system["system"])
        row: list[Entry] = [
            Cell(isolate(name), (count,), below=f"n = {write_value(count)}"),
            criterion.mean(system),
            *criterion.placed(system),
        ]
        row += [criterion.sd(system) or ""] if has_sd else []
        row += [_write_distance(distances[name])] if has_distance else []
        row += [write_distribution(criterion.chosen(system))] if has_parts else []
        row += [_write_tier(criterion, system)] if has_tiers else []
        rows.append(row)
    return Table(
        f"{criterion.key}-systems", _caption_systems(criterion, has_distance, has_tiers), columns,
        rows, place="page",
    )  # fmt: skip


def _caption_systems(criterion: Criterion, has_distance: bool, has_tiers: bool) -> str:
    means, _, without = (
        tabulate_systems(criterion).caption.partition(": systems. ")[2].partition(". ")
    )
    parts = [means.removesuffix(".")]
    if any(criterion.mean(system).low is not None for system in criterion.systems):
        parts[0] += ", with 95% CI" if "," in parts[0] else " with 95% CI"
    parts[0] += "."
    parts += [without] if without else []
    if has_distance:
        parts.append(
            "The line in the chart is the average of the systems; around each dot, the 95% "
            "interval of its distance."
        )
    if has_tiers:
        parts.append("Tier A is clearly ahead of tier B.")
    return " ".join(parts)


def _write_distance(figure: Figure | None) -> Entry:
    if figure is None or figure.value is None or figure.unit == "ratio":
        return figure or ""
    text = write_number(figure.value, figure.unit)
    text = text if text.startswith("−") or not text.strip("0.") else f"+{text}"
    half = write_half(figure)
    return Cell(text, (figure,), below=f"± {half}" if half else "")


def _write_tier(criterion: Criterion, system: Stored) -> Entry:
    figure = criterion.tier(system)
    if figure is None:
        return ""
    return Cell(write_letter(figure), (figure,), look="tier")


# --- preferences --------------------------------------------------------------------------------


def _show_chosen(criterion: Criterion) -> Iterator[Block]:
    """Yield what people chose: a bar for each pair, and the shares in figures."""
    pairs = list_shown_pairs(criterion)
    for chart in draw_question(criterion):
        yield Heading("What people chose", 2, "chosen")
        yield replace(chart, place="page")
        if len(pairs) == 1:
            yield _tabulate_chosen(criterion, chart.figures)
    if len(criterion.systems) > 2:
        yield Heading("Systems", 2, "systems")
        yield replace(lay_out_systems(criterion), marks="intervals")


def _tabulate_chosen(criterion: Criterion, figures: Sequence[Figure]) -> Table:
    """Return the share and number of each answer to the only pair."""
    total = figures[0].n["answers"]
    columns = [Column(""), *(Column(name_part(figure.group[-1][1])) for figure in figures)]
    row: list[Entry] = ["Share"]
    for figure in figures:
        count = f"{round((figure.value or 0) * total):,}"
        row.append(Cell(write_value(figure), (figure,), below=count))
    caption = f"Share of {total:,} answers, and their number"
    return Table(f"{criterion.key}-shares", caption, columns, [row], place="page")


# --- comparisons --------------------------------------------------------------------------------


def lay_out_pairs(criterion: Criterion, pairs: Sequence[Pair]) -> Table:
    """Return difference, t, p (corrected above, uncorrected below), effect and finding."""
    has_t = any(pair.difference.t is not None for pair in pairs)
    has_effect = any(pair.effect for pair in pairs)
    has_p = any(pair.details.get("p") is not None for pair in pairs)
    is_ratio = criterion.difference_unit == "ratio"
    words = criterion.unit_words
    columns = [Column("Pair", is_number=False), Column("Ratio" if is_ratio else "Difference")]
    columns += [Column("t")] if has_t else []
    columns += [Column("p")] if has_p else []
    columns += [Column("Effect")] if has_effect else []
    columns += [Column("Finding", is_number=False)]
    rows: list[list[Entry]] = []
    for pair in pairs:
        sign = ":" if is_ratio else "−"
        row: list[Entry] = [f"{isolate(pair.first)} {sign} {isolate(pair.second)}", pair.difference]
        row += [_write_t(pair)] if has_t else []
        row += [_write_p(pair)] if has_p else []
        row += [pair.effect or ""] if has_effect else []
        row += [_write_finding(pair)]
        rows.append(row)
    parts = [f"{'Ratio' if is_ratio else 'Difference'} with 95% CI{words and f', in {words}'}."]
    if has_p:
        parts.append(f"p: corrected above, uncorrected below. {explain_correction(criterion)}")
    if has_effect:
        parts.append("Effect: the difference over the standard deviation of an answer.")
    return Table(
        f"{criterion.key}-pairs", " ".join(parts), columns, rows, marks="intervals", place="page"
    )  # fmt: skip


def _write_t(pair: Pair) -> Entry:
    figure = pair.difference
    if figure.t is None or figure.df is None:
        return ""
    text = write_number(figure.t, "statistic")
    return Cell(text, (pair.find_test("t"),), below=f"df {figure.df:.1f}")


def _write_p(pair: Pair) -> Entry:
    corrected, p = (pair.details.get(name) for name in ("p_corrected", "p"))
    if p is None:
        return ""
    if corrected is None:
        return Cell(write_p(p), (pair.find_test("p"),), below="not corrected")
    figures = (pair.find_test("p_corrected"), pair.find_test("p"))
    return Cell(write_p(corrected), figures, below=write_p(p))


def _write_finding(pair: Pair) -> Cell:
    text = name_finding(pair).removesuffix(", exploratory")
    planned = any(other.is_exploratory for other in pair.criterion.pairs)
    below = "exploratory" if pair.is_exploratory else "planned" if planned else ""
    return Cell(start_sentence(text), (), below=below)


# --- agreement ----------------------------------------------------------------------------------


def lay_out_agreement(criterion: Criterion) -> Table | None:
    """Return the coefficients of agreement with their intervals; an undefined one says why."""
    listed = list_agreement(criterion)
    if not listed:
        return None
    number = count_averaged(criterion)
    level = criterion.alpha.details.get("level", "") if criterion.alpha else ""
    rows: list[list[Entry]] = []
    for name, figure in listed:
        below = _KINDS.get(name, "")
        if name == "α":
            below = str(level)
        if name == "reliability":
            below = f"mean of {number:.2g} answers" if number else "mean of an output’s answers"
        rows.append([Cell(_COEFFICIENTS[name], below=below), figure])
    figures = [figure for _, figure in listed]
    caption = f"With 95% CI; people and inputs count as samples.{limit_intervals(figures)}"
    columns = [Column("Coefficient", is_number=False), Column("Value")]
    return Table(
        f"{criterion.key}-coefficients", caption, columns, rows, marks="intervals", place="page"
    )  # fmt: skip


# --- a choice -----------------------------------------------------------------------------------


def _head_choice(source: Source, options: Sequence[Criterion]) -> str:
    label = options[0].label.partition(": ")[0]
    if len(options[0].systems) == 1:
        best = max(options, key=lambda entry: entry.mean(entry.systems[0]).value or 0)
        share = write_value(best.mean(best.systems[0]))
        return f"{start_sentence(label)}: {share} chose {_name_option(best)}"
    clear = sum(bool(option.clear_pairs) for option in options)
    if not clear:
        return f"{start_sentence(label)}: no clear difference on any option"
    return f"{start_sentence(label)}: systems differ on {clear} of {len(options)} options"


def _name_option(criterion: Criterion) -> str:
    return isolate(criterion.label.partition(": ")[2] or criterion.label)


def _show_choice(source: Source, options: Sequence[Criterion]) -> Iterator[Block]:
    """Yield the share of each option by system, and the comparisons of each in a fold."""
    for option in options[:MOST_NAMED]:
        if option.clear_pairs:
            code, text = describe_finding(option)
            yield Sentence(code, f"{_name_option(option)}: {text}", place="page")
    names = list(dict.fromkeys(name for option in options for name in option.names))
    columns = [Column("Option", is_number=False), *(Column(isolate(name)) for name in names)]
    rows: list[list[Entry]] = []
    for option in options:
        known = {str(system["system"]): option.mean(system) for system in option.systems}
        rows.append([_name_option(option), *(known.get(name, "") for name in names)])
    yield Heading("Answers", 2, "systems")
    # of more systems, no row has room for all
    drawn: dict[int, Literal["none", "both", "intervals"]] = {1: "intervals", 2: "both"}
    marks = drawn.get(len(names), "none")
    caption = "Share of answers that chose each option, with 95% CI"
    key = options[0].key.partition("__")[0]
    yield Table(f"{key}-options", caption, columns, rows, marks=marks, place="page")
    coefficients: list[list[Entry]] = [
        [_name_option(option), option.alpha] for option in options if option.alpha is not None
    ]
    if coefficients:
        yield Heading("Agreement", 2, "agreement")
        columns = [Column("Option", is_number=False), Column("α")]
        caption = "Krippendorff’s α of each option, with 95% CI"
        yield Table(
            f"{key}-coefficients", caption, columns, coefficients, marks="intervals", place="page"
        )
    tables = [lay_out_pairs(option, list_shown_pairs(option)) for option in options if option.pairs]
    if tables:
        clear = [_name_option(option) for option in options if option.clear_pairs]
        text = f"Systems differ on {list_of(clear[:MOST_NAMED])}." if clear else (
            "No clear difference on any option."
        )  # fmt: skip
        yield Heading("Further analyses", 2, "further", place="page")
        yield Heading("Comparisons", 3, place="further")
        yield Sentence("comparisons_of_options", text, place="further")
        for option, table in zip((entry for entry in options if entry.pairs), tables, strict=True):
            caption = f"{_name_option(option)}. {table.caption}"
            yield replace(table, caption=caption, place="further")
