"""Error spans: errors by system, by category, and whether people mark the same places."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.lib.words import count_of, list_of
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Column,
    Entry,
    Heading,
    Place,
    Sentence,
    Table,
    isolate,
    start_sentence,
)
from evalsite.results.document.figures import (
    explain_reason,
    read_figure,
    write_interval,
    write_value,
)
from evalsite.results.report.sections.words import MOST_NAMED, write_ci
from evalsite.results.report.source import Criterion, Source, Stored

# of more categories the report shows those with most errors
_MOST_CATEGORIES = 12
_FEW_SYSTEMS = 3


def describe_spans(criterion: Criterion) -> Iterator[Block]:
    """Yield what the marks of a question show beside the comparison of penalties."""
    spans = criterion.stored.get("spans")
    if not spans:
        return
    yield _describe_penalties(criterion)
    yield from tabulate_spans(criterion.key, criterion.label, spans, criterion.names)
    yield describe_places(criterion.key, spans)


def list_all_categories(_: Source, criterion: Criterion) -> Iterator[Block]:
    """Yield the table of all categories, if the report shows the first ones only."""
    spans = criterion.stored.get("spans") or {}
    if len(_list_rows(spans.get("categories", ()), "category")) > _MOST_CATEGORIES:
        yield tabulate_categories(criterion.key, criterion.label, spans, criterion.names,
                             place="further")  # fmt: skip


def list_places(_: Source, criterion: Criterion) -> Iterator[Block]:
    """Yield every figure of agreement on places."""
    if agreement := (criterion.stored.get("spans") or {}).get("agreement"):
        yield _tabulate_places(criterion.key, criterion.label, criterion.stored["spans"], agreement)


def say_spans(_: Source, criterion: Criterion) -> Iterator[Sentence]:
    """Say how many categories were used, and how many errors there are."""
    spans = criterion.stored.get("spans") or {"categories": ()}
    rows = _list_rows(spans["categories"], "category")
    figures = [_read(stored, criterion.key) for row in rows.values() for stored in row.values()]
    number = sum(figure.value or 0.0 for figure in figures)
    named = len(rows.keys() - {""})
    used = f" in {count_of(named, 'category', 'categories')}" if named else ""
    text = f"{count_of(int(number), 'error')}{used}."
    yield Sentence("errors_in_full", text, place="further", figures=tuple(figures))


def list_unscored(source: Source) -> Iterator[Block]:
    """Yield the sections of questions whose marks add up to no penalty."""
    for stored in source.kept.get("marks") or ():
        yield Heading(stored["label"], 2, str(stored["key"]))
        yield from show_unscored(stored)


def find_unscored(source: Source, key: str) -> Stored | None:
    marks = source.kept.get("marks") or ()
    return next((stored for stored in marks if stored["key"] == key), None)


def show_unscored(stored: Stored) -> Iterator[Block]:
    systems = [dict(figure["group"])["system"] for figure in stored["systems"]]
    names = list(dict.fromkeys(systems))
    yield from tabulate_spans(str(stored["key"]), stored["label"], stored, names)
    yield describe_places(str(stored["key"]), stored)


# --- sentences ----------------------------------------------------------------------------------


def _describe_penalties(criterion: Criterion) -> Sentence:
    """Say the penalty of each system and how many of its outputs have no error; of many systems,
    of the first and the last."""
    clean = {
        dict(stored["group"])["system"]: _read(stored, criterion.key)
        for stored in criterion.stored["spans"]["systems"]
        if stored["name"] == "without_errors"
    }
    systems = criterion.systems
    if len(systems) > _FEW_SYSTEMS:
        systems = [systems[0], systems[-1]]
    parts, figures = [], []
    for system in systems:
        name, mean = str(system["system"]), criterion.mean(system)
        share = clean.get(name)
        text = f"{isolate(name)} has {write_value(mean)} penalty points per output"
        text += f" ({write_ci(mean)})" if write_interval(mean) else ""
        if share is not None and share.value is not None:
            text += f"; {write_value(share)} of its outputs have no error"
            figures.append(share)
        figures.append(mean)
        parts.append(f"{text}.")
    return Sentence("penalties", " ".join(parts), figures=tuple(figures))


def find_f1(criterion: Criterion) -> Figure | None:
    """Return F1 of the characters that two people marked, where marks answer the question."""
    agreement = (criterion.stored.get("spans") or {}).get("agreement", ())
    whole = (stored for stored in agreement if not stored.get("group"))
    stored = next((known for known in whole if known["name"] == "character_f1"), None)
    return _read(stored, criterion.key) if stored else None


def describe_places(key: str, spans: Stored) -> Sentence:
    """Say how far people mark the same characters and the same passages."""
    by_group: dict[str, dict[str, Figure]] = {}
    for stored in spans["agreement"]:
        severity = dict(stored.get("group") or {}).get("severity", "")
        by_group.setdefault(severity, {})[stored["name"]] = _read(stored, key)
    every = by_group.pop("", {})
    f1 = every.get("character_f1")
    if f1 is None:
        return Sentence("places", "Agreement on places can’t be computed: raters are unknown.")
    if f1.value is None:
        why = explain_reason(f1.why)
        if f1.why == "no_variation":
            why = "no two people marked characters of the same output"
        return Sentence("places", f"Agreement on places can’t be computed: {why}.", figures=(f1,))
    pairs = count_of(f1.n["rater_pairs"], "pair")
    pairs = f"{count_of(f1.n['rater_pairs'], 'pair')} of answers of which at least one has an error"
    interval = f"{write_ci(f1)}; " if write_interval(f1) else ""
    parts = [f"People mark the same characters with F1 {write_value(f1)} ({interval}{pairs})."]
    figures = [f1]
    if (whole := every.get("character_f1_with_empty")) and whole.value is not None:
        parts.append(f"Counting pairs without errors as agreement, F1 is {write_value(whole)}.")
        figures.append(whole)
    if (alike := every.get("span_f1")) and alike.value is not None:
        parts.append(f"Exactly the same passages: {write_value(alike)}.")
        figures.append(alike)
    labels = spans["labels"]["severities"]
    for severity, of_one in by_group.items():
        figure = of_one["character_f1"]
        if figure.value is not None:
            name = isolate(labels.get(severity, severity))
            parts.append(f"{name} errors alone: {write_value(figure)}.")
            figures.append(figure)
    return Sentence("places", " ".join(parts), figures=tuple(figures))


# --- tables -------------------------------------------------------------------------------------


def tabulate_spans(
    key: str, label: str, spans: Stored, names: Sequence[str], place: Place = "main"
) -> Iterator[Table]:
    """Yield errors by system and severity, and by category and system."""
    columns = [Column("System", is_number=False), Column("Errors per output (95% CI)"),
               Column("Without errors (95% CI)")]  # fmt: skip
    severities = _list_rows(spans["severities"], "severity")
    labels = spans["labels"]["severities"]
    columns += [Column(isolate(labels.get(name, name))) for name in severities]
    known = {
        (stored["name"], dict(stored["group"])["system"]): _read(stored, key)
        for stored in spans["systems"]
    }
    rows: list[list[Entry]] = [
        [
            isolate(name), known.get(("errors_per_output", name), ""),
            known.get(("without_errors", name), ""),
            *(_write_count(severities[severity].get(name), key) for severity in severities),
        ]
        for name in names
    ]  # fmt: skip
    counted = " By severity, their number and, in brackets, how many per output."
    caption = (
        "per output and person, with 95% CI" if place == "page" else "errors, per output and person"
    )
    caption = f"{_head(label, place)}{caption}.{counted if severities else ''}"
    yield Table(f"{key}-errors", start_sentence(caption), columns, rows, place=place)
    # a question without categories has none to list
    if any(_list_rows(spans["categories"], "category")):
        yield tabulate_categories(key, label, spans, names, place=place)


def tabulate_categories(
    key: str, label: str, spans: Stored, names: Sequence[str], *, place: Place
) -> Table:
    """Return how many errors of each category the outputs of each system have, most first.

    The report has the first few; further analyses have all.
    """
    known = _list_rows(spans["categories"], "category")
    labels = spans["labels"]["options"]
    totals = {name: sum(stored["value"] for stored in row.values()) for name, row in known.items()}
    ordered = sorted(known, key=lambda name: -totals[name])
    shown = ordered if place == "further" else ordered[:_MOST_CATEGORIES]
    systems = names if place == "further" else names[:MOST_NAMED]
    columns = [Column("Category", is_number=False), *(Column(isolate(name)) for name in systems)]
    rows: list[list[Entry]] = [
        [
            isolate(labels.get(name, name) or "without a category"),
            *(_write_count(known[name].get(system), key) for system in systems),
        ]
        for name in shown
    ]
    left = len(ordered) - len(shown)
    more = (
        f" The {count_of(left, 'rarest category', 'rarest categories')} left out." if left else ""
    )
    table = "all-categories" if place == "further" else "categories"
    caption = f"{_head(label, place)}errors by category, and in brackets how many per output.{more}"
    return Table(f"{key}-{table}", start_sentence(caption), columns, rows, place=place)


def _head(label: str, place: Place) -> str:
    """Return the beginning of a caption: on its own page, a question isn’t named again."""
    return "" if place == "page" else f"{label}: "


def _tabulate_places(key: str, label: str, spans: Stored, agreement: Sequence[Stored]) -> Table:
    names = {
        "character_f1": "The same characters, F1",
        "character_f1_with_empty": "The same, pairs without errors as 1",
        "character_f1_pooled": "The same, all pairs pooled",
        "span_f1": "Exactly the same passages, F1",
    }
    labels = spans["labels"]["severities"]
    rows: list[list[Entry]] = []
    for stored in agreement:
        severity = dict(stored.get("group") or {}).get("severity", "")
        of = f", {isolate(labels.get(severity, severity)).lower()} alone" if severity else ""
        figure = _read(stored, key)
        count = f"{figure.n.get('rater_pairs', 0):,}"
        rows.append([f"{names[figure.name]}{of}", figure, count])
    columns = [Column("Figure", is_number=False), Column("Value (95% CI)"), Column("Pairs")]
    return Table(f"{key}-places", f"{label}: agreement on places", columns, rows, place="further")


def _write_count(stored: Stored | None, key: str) -> Entry:
    """Write a number of errors, and how many that is per output."""
    if stored is None:
        return ""
    figure = _read(stored, key)
    number, outputs = figure.value or 0.0, figure.n["outputs_and_raters"]
    each = f" ({number / outputs:.2f})" if outputs else ""
    return Cell(f"{number:,.0f}{each}", (figure,))


def _list_rows(figures: Sequence[Stored], column: str) -> dict[str, dict[str, Stored]]:
    """Return the figures by category or severity, then by system."""
    rows: dict[str, dict[str, Stored]] = {}
    for stored in figures:
        group = dict(stored["group"])
        rows.setdefault(group[column], {})[group["system"]] = stored
    return rows


def _read(stored: Mapping[str, Any], key: str) -> Figure:
    group = {"criterion": key, **dict(stored.get("group") or {})}
    return read_figure(stored, str(stored["name"]), group)


# --- methods ------------------------------------------------------------------------------------


def describe_scoring(source: Source) -> Iterator[Sentence]:
    """Yield how marks become penalties, and how agreement on places is measured."""
    scored = [criterion for criterion in source.criteria if criterion.stored.get("spans")]
    if scored:
        named = list_of([isolate(criterion.label) for criterion in scored[:MOST_NAMED]])
        yield Sentence(
            "penalty_method",
            f"On {named}, a person’s penalty for an output adds up the weights of its errors "
            f"({_list_weights(scored[0])}).",
            cites=("freitag2021",),
        )
    if scored or source.kept.get("marks"):
        yield Sentence(
            "places_method",
            "Agreement on places is F1 of the characters that two people marked; its interval is a "
            "bootstrap over people and inputs.",
            cites=("owen2007",),
        )


def _list_weights(criterion: Criterion) -> str:
    weights = criterion.stored["spans"]["weights"]
    return ", ".join(f"{isolate(label)} {weight:g}" for label, weight in weights)
