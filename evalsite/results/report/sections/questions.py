"""One section for each question: finding, chart, systems, comparisons, agreement, reasons."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from evalsite.analysis.figure import Figure
from evalsite.lib.words import count_of, list_of
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Entry,
    Heading,
    Place,
    Sentence,
    Table,
    isolate,
)
from evalsite.results.document.figures import (
    CODES,
    explain_none,
    explain_reason,
    make_figure,
    read_figure,
    write_figure,
    write_interval,
    write_number,
    write_p,
    write_value,
)
from evalsite.results.report.sections.findings import describe_finding, name_alone, place_mean
from evalsite.results.report.sections.spans import describe_spans, list_unscored
from evalsite.results.report.sections.words import (
    MOST_NAMED,
    find_higher,
    list_names,
    say_p,
    write_amount,
)
from evalsite.results.report.source import Criterion, Pair, Source, Stored

# --- reasons and comments

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


# --- a question

# with more questions the tables of systems go to the further analyses
_MOST_WITH_SYSTEMS = 3
_MOST_POINTS = 11  # whose shares fit into one cell
_SHORT = {"alpha": "α", "ac": "AC", "icc_one": "ICC(1,1)", "reliability": "the reliability"}
_AGREEMENT = ("ac2", "ac1")


def make_questions(source: Source) -> Iterator[Block]:
    for criterion in source.criteria:
        yield from make_question(source, criterion)
    yield from list_unscored(source)


def make_question(source: Source, criterion: Criterion) -> Iterator[Block]:
    role = f" ({criterion.role})" if criterion.role else ""
    yield Heading(f"{criterion.label}{role}", 2, criterion.key)
    yield from write_findings(criterion)
    yield from draw_question(criterion)
    if criterion.systems and not has_many_questions(source):
        yield tabulate_systems(criterion)
    if shown := list_shown_pairs(criterion):
        yield tabulate_pairs(criterion, shown)
    if joint := write_joint(criterion):
        yield joint
    yield from _write_agreement(criterion)
    yield from describe_spans(criterion)
    if reasons := tabulate_reasons(criterion):
        yield reasons


# --- what was found -----------------------------------------------------------------------------


def write_findings(criterion: Criterion) -> Iterator[Sentence]:
    code, text = describe_finding(criterion)
    if criterion.family.compares and len(criterion.systems) == 2 and criterion.pairs:
        yield _write_preference(criterion.pairs[0])
    figures = tuple(pair.difference for pair in criterion.clear_pairs)
    yield Sentence(code, name_alone(criterion, text), figures=figures)
    if not criterion.is_tested or len(criterion.systems) == 2:
        return
    unclear = [pair for pair in criterion.pairs if not pair.is_clear]
    for pair in [pair for pair in unclear if _excludes_zero(pair)][:MOST_NAMED]:
        yield _write_uncorrected(pair)


def _write_preference(pair: Pair) -> Sentence:
    counts = pair.stored["counts"] or {"wins": 0, "ties": 0, "losses": 0}
    total = sum(counts[key] for key in ("wins", "ties", "losses"))
    first, second = isolate(pair.first), isolate(pair.second)
    figures = tuple(
        make_figure(
            "chosen", counts[key] / total, pair.group | {"answer": answer}, n={"answers": total}
        )
        for key, answer in (("wins", pair.first), ("ties", "tie"), ("losses", pair.second))
        if total
    )
    apart = abs(counts["wins"] - counts["losses"]) / total * 100 if total else 0
    return Sentence(
        "preference",
        f"{first} is preferred in {counts['wins']:,} of {count_of(total, 'answer')} and {second} "
        f"in {counts['losses']:,}: a difference of {apart:.0f} percentage points.",
        figures=figures,
    )


def _excludes_zero(pair: Pair) -> bool:
    figure = pair.difference
    if figure.low is None or figure.high is None or figure.p_corrected is None:
        return False
    equal = 1.0 if figure.unit == "ratio" else 0.0
    return not figure.low <= equal <= figure.high


def _write_uncorrected(pair: Pair) -> Sentence:
    figure, criterion = pair.difference, pair.criterion
    first, second = (isolate(name) for name in find_higher(pair))
    if figure.unit == "ratio":
        amount = write_amount(figure, criterion)
        start = f"{isolate(pair.first)} is rated {amount} as high as {isolate(pair.second)}"
    elif criterion.family.orders:
        amount = write_amount(figure, criterion)
        start = f"{first} is ranked above {second}, by {amount} in log strength"
    else:
        start = f"{first} is {write_amount(figure, criterion)} above {second}"
        if criterion.better == "lower":
            start = f"{first} is {write_amount(figure, criterion)} below {second}"
    return Sentence(
        "uncorrected_only",
        f"{start}: the interval for this pair excludes {'1' if figure.unit == 'ratio' else '0'} "
        f"({write_interval(figure)}), but after correction for "
        f"{count_of(criterion.family_size, 'comparison')} the difference isn’t clear "
        f"({say_p(figure.p_corrected)}).",
        figures=(figure,),
    )


# --- charts -------------------------------------------------------------------------------------


def draw_question(criterion: Criterion) -> Iterator[Chart]:
    """Yield means with their intervals; of preferences, how often each side was chosen."""
    if criterion.family.compares:
        pairs = list_shown_pairs(criterion)
        is_only = len(pairs) == 1
        figures = [figure for pair in pairs for figure in list_answers(pair, is_only=is_only)]
        if figures:
            of = (
                f"{isolate(pairs[0].first)} and {isolate(pairs[0].second)}"
                if is_only
                else "each pair"
            )
            caption = f"{criterion.label}: answers to {of}"
            yield Chart(f"{criterion.key}-chosen", "stacked", caption, figures)
        return
    known = [figure for system in criterion.systems if (figure := place_mean(criterion, system))]
    if known:
        means = "strengths" if criterion.family.orders else "means"
        caption = f"{criterion.label}: {means}, and intervals as in the table of systems"
        yield Chart(f"{criterion.key}-systems", "intervals", caption, known)


def list_answers(pair: Pair, *, is_only: bool) -> list[Figure]:
    """List the share of each answer, from the first system much better to the second.

    `is_only`: no other pair stands beside it, so that systems are named.
    """
    counts, grades = pair.stored["counts"] or {}, pair.stored.get("grades") or {}
    total = sum(counts.get(key, 0) for key in ("wins", "ties", "losses"))
    if not total:
        return []
    first, second = (pair.first, pair.second) if is_only else ("first", "second")
    steps = {int(step): number for step, number in (grades.get("steps") or {}).items()}
    steps = steps or {1: counts.get("wins", 0), -1: counts.get("losses", 0)}
    most = max(abs(step) for step in steps)
    both = {key: grades.get(key, 0) for key in ("both_good", "both_bad")}
    ties = counts.get("ties", 0) - sum(both.values())
    parts = [(_name_step(first, step, most), steps.get(step, 0)) for step in range(most, 0, -1)]
    if any(both.values()):
        parts += both.items()
    if ties or not any(both.values()):
        parts.append(("tie", ties))
    parts += [(_name_step(second, step, most), steps.get(-step, 0)) for step in range(1, most + 1)]
    row = {
        "criterion": pair.criterion.key,
        "pair": f"{isolate(pair.first)} : {isolate(pair.second)}",
    }
    return [
        make_figure("chosen", number / total, row | {"answer": name}, n={"answers": total})
        for name, number in parts
    ]


def _name_step(name: str, step: int, most: int) -> str:
    if most == 1:
        return f"{name} preferred"
    if most == 2:
        return f"{name} {'much better' if step == most else 'better'}"
    return f"{name} better by {step} of {most}"


# --- tables -------------------------------------------------------------------------------------


def has_many_questions(source: Source) -> bool:
    """Return whether tables of systems are left to the further analyses."""
    return len(source.criteria) > _MOST_WITH_SYSTEMS


def tabulate_systems(criterion: Criterion, place: Place = "main") -> Table:
    """Return n, mean with its own interval, SD and the distribution of answers of each system."""
    systems = criterion.systems
    has_sd = any(criterion.sd(system) for system in systems) and not criterion.family.compares
    answers = [str(entry["value"]) for entry in criterion.stored["answers"]]
    counted = not criterion.family.compares and 2 < len(answers) <= _MOST_POINTS
    mean = "Strength (95% CI)" if criterion.family.orders else "Mean (95% CI)"
    columns = [Column("System", is_number=False), Column("n"), Column(mean)]
    columns += head_places(criterion)
    columns += [Column("SD")] if has_sd else []
    columns += [Column(f"% of {answers[0]} to {answers[-1]}")] if counted else []
    rows: list[list[Entry]] = []
    for system in systems:
        row: list[Entry] = [
            isolate(str(system["system"])), criterion.count(system), criterion.mean(system),
            *criterion.placed(system),
        ]  # fmt: skip
        row += [criterion.sd(system) or ""] if has_sd else []
        row += [write_distribution(criterion.chosen(system))] if counted else []
        rows.append(row)
    means = "Means of the mixed model" if criterion.is_by_model else "Means of all answers"
    if criterion.family.compares:
        means = "Share of its answers that a system won, ties as half"
    elif criterion.family.orders:
        means = "Log strengths of the Plackett–Luce model (sum 0)"
        figures = criterion.placed(criterion.systems[0]) if criterion.systems else []
        if "best_worst_score" in [figure.name for figure in figures]:
            means += "; best less worst as a share of times shown"
    elif criterion.family.decides:
        means = means.replace("Means", "Shares of yes")
    elif criterion.family.is_log:
        means = means.replace("Means", "Geometric means")
    caption = f"{criterion.label}: systems. {means}.{_explain_missing_intervals(criterion)}"
    return Table(f"{criterion.key}-systems", caption, columns, rows, place=place)


def head_places(criterion: Criterion) -> list[Column]:
    """Return the columns of what orders show of a system beside its strength."""
    systems = criterion.systems
    figures = criterion.placed(systems[0]) if systems else []
    return [Column(CODES[figure.name][1]) for figure in figures]


def _explain_missing_intervals(criterion: Criterion) -> str:
    """Return why means stand without an interval; "" if each has one."""
    names: dict[str, list[str]] = {}
    for system in criterion.systems:
        mean = criterion.mean(system)
        if mean.value is not None and mean.low is None and mean.high is None:
            why = explain_none(str(mean.details.get("interval", ""))) or "it can’t be computed"
            names.setdefault(why, []).append(str(system["system"]))
    return "".join(
        f" No interval{'s' if len(named) == len(criterion.systems) else f' of {list_names(named)}'}"
        f": {why}."
        for why, named in names.items()
    )


def write_distribution(figures: Sequence[Figure]) -> Cell:
    shares = " / ".join(f"{(figure.value or 0) * 100:.0f}" for figure in figures)
    return Cell(shares, tuple(figures), look="parts")


def list_shown_pairs(criterion: Criterion) -> list[Pair]:
    """List the pairs of the report: the planned ones, or all of up to 6 systems; of more, each
    system with the next one."""
    if len(criterion.systems) <= MOST_NAMED:
        return criterion.pairs
    named = any(pair.is_exploratory for pair in criterion.pairs) or criterion.stored.get("baseline")
    if named:
        return criterion.planned_pairs
    names = criterion.names
    beside = [{first, second} for first, second in pairwise(names)]
    return [pair for pair in criterion.pairs if {pair.first, pair.second} in beside]


def tabulate_pairs(
    criterion: Criterion, pairs: Sequence[Pair], *, name: str = "pairs", place: Place = "main"
) -> Table:
    """Return difference, t and df, p, corrected p and effect of each pair."""
    has_t = any(pair.difference.t is not None for pair in pairs)
    has_effect = any(pair.effect for pair in pairs)
    is_ratio = criterion.difference_unit == "ratio"
    words = criterion.unit_words
    head = "Ratio" if is_ratio else f"Difference{f', {words}' if words else ''}"
    columns = [Column("Comparison", is_number=False), Column(f"{head} (95% CI)")]
    columns += [Column("t (df)")] if has_t else []
    columns += [Column("p"), Column("Corrected p")]
    columns += [Column("Effect (95% CI)")] if has_effect else []
    columns += [Column("Finding", is_number=False)]
    rows: list[list[Entry]] = []
    for pair in pairs:
        sign = ":" if is_ratio else "−"
        figure = pair.difference
        row: list[Entry] = [f"{isolate(pair.first)} {sign} {isolate(pair.second)}", figure]
        row += [_write_t(pair)] if has_t else []
        row += [write_test(pair, "p"), write_test(pair, "p_corrected")]
        row += [pair.effect or ""] if has_effect else []
        row += [name_finding(pair)]
        rows.append(row)
    caption = f"{criterion.label}: {'all comparisons' if name == 'all-pairs' else 'comparisons'}"
    return Table(
        f"{criterion.key}-{name}", f"{caption}. {explain_correction(criterion)}", columns, rows,
        place=place,
    )  # fmt: skip


def _write_t(pair: Pair) -> Entry:
    figure = pair.difference
    if figure.t is None or figure.df is None:
        return ""
    return Cell(f"{write_number(figure.t, 'statistic')} ({figure.df:.1f})", (pair.find_test("t"),))


def write_test(pair: Pair, name: str) -> Entry:
    p = pair.details.get(name)
    return "–" if p is None else Cell(write_p(p), (pair.find_test(name),))


def name_finding(pair: Pair) -> str:
    if pair.is_clear:
        is_better = pair.criterion.better != "none"
        words = f"{isolate(find_higher(pair)[0])} {'ahead' if is_better else 'higher'}"
    elif pair.difference.value is None:
        words = explain_reason(pair.reason)
    elif pair.code == "by_one_rater":
        words = "not tested"
    else:
        words = "no clear difference"
    return f"{words}, exploratory" if pair.is_exploratory else words


def explain_correction(criterion: Criterion) -> str:
    number = criterion.family_size
    if not criterion.is_tested or not number:
        return "Not tested."
    across = " of all questions" if criterion.is_across else ""
    baseline = criterion.stored.get("baseline")
    beside = f", those with {isolate(str(baseline))}" if baseline else ""
    exploratory = [
        pair.details.get("family") or 0 for pair in criterion.pairs if pair.is_exploratory
    ]
    if number == 1:
        start = "One comparison is planned" if exploratory else "There is one comparison"
        text = f"{start}, so its p isn’t corrected."
    else:
        compared = f"the {number} planned comparisons" if exploratory else f"{number} comparisons"
        text = f"p is corrected for {compared}{across}{beside} (Holm)."
    if exploratory:
        text += f" p of exploratory ones is corrected for all {max(exploratory)} (Holm)."
    return text


# --- agreement ----------------------------------------------------------------------------------


def write_joint(criterion: Criterion) -> Sentence | None:
    figure = criterion.joint
    if figure is None:
        return None
    details = figure.details
    return Sentence(
        "joint",
        f"All {len(criterion.systems)} systems together: F({details['df1']:g}, "
        f"{details['df2']:.1f}) = {write_value(figure)}, {say_p(figure.p)}.",
        figures=(figure,),
    )


def list_agreement(criterion: Criterion) -> list[tuple[str, Figure]]:
    """List the figures of agreement that the report prints, each with its short name."""
    alpha = criterion.alpha
    if alpha is None:
        return []
    listed = [("α", alpha)]
    if alpha.value is None:
        return listed
    if criterion.family.orders and (stored := criterion.find_agreement("kendall_w")):
        listed.append(("W", criterion.read(stored, "kendall_w")))
    if stored := criterion.find_agreement(*_AGREEMENT):
        listed.append((stored["name"].upper(), criterion.read(stored, "ac")))
    if stored := criterion.find_agreement("ICC(1,1)"):
        listed.append(("ICC(1,1)", criterion.read(stored, "icc_one")))
    if stored := criterion.find_agreement("percent_agreement"):
        listed.append(("the same answer", criterion.read(stored, "same_answer")))
    if stored := criterion.find_agreement("reliability_of_mean"):
        listed.append(("reliability", criterion.read(stored, "reliability")))
    return listed


def count_averaged(criterion: Criterion) -> float | None:
    """Return of how many ratings the reliability of a mean is."""
    stored = criterion.find_agreement("reliability_of_mean")
    return stored["details"].get("k") if stored else None


def _write_agreement(criterion: Criterion) -> Iterator[Sentence]:
    alpha = criterion.alpha
    if alpha is None:
        return
    if alpha.value is None:
        yield Sentence(
            "agreement", f"α can’t be computed: {explain_reason(alpha.why)}.", figures=(alpha,)
        )
        return
    number = count_averaged(criterion)
    figures, parts, end = [alpha], [f"α {_write_first(alpha)}"], ""
    for name, figure in list_agreement(criterion)[1:]:
        if figure.name == "reliability" and not number:
            continue
        figures.append(figure)
        if figure.name == "reliability":
            end = f"; the mean of {number:.2g} ratings has reliability {write_figure(figure)}"
        elif figure.name == "same_answer":
            parts.append(f"{name} {write_value(figure)}")
        else:
            parts.append(f"{name} {write_figure(figure)}")
    text = f"Agreement: {', '.join(parts)}{end}"
    yield Sentence("agreement", f"{text}.{limit_intervals(figures)}", figures=tuple(figures))


def limit_intervals(figures: Sequence[Figure]) -> str:
    """Say which intervals take inputs as samples, but not people."""
    bound = [figure for figure in figures if figure.details.get("over") == "inputs"]
    if not bound:
        return ""
    if len(bound) == len([figure for figure in figures if figure.low is not None]):
        return " These intervals hold for these people only."
    names = list_of([_SHORT.get(figure.name, figure.name) for figure in bound])
    return f" The interval of {names} holds for these people only."


def _write_first(figure: Figure) -> str:
    """Return the first figure of a sentence, which says what the brackets of all of them are."""
    interval = write_interval(figure)
    return f"{write_value(figure)} ({100 * figure.level:g}% CI {interval})" if interval else (
        write_value(figure)
    )  # fmt: skip
