"""The tables of a criterion, made from the plain data of its report."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

from evalsite.results.report.figure_details import Figure, count_figure, describe_n
from evalsite.results.report.prose import write_prose
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.table import (
    Column,
    Table,
    because,
    figure_columns,
    fill_table,
    interval_column,
    name_column,
    value_column,
    write_with_interval,
)
from evalsite.results.report.wording import is_compared, name_figure, write_p

_BOXES = ("top_box", "bottom_box")
# of a table beside its first column: a wider one is not read at a glance
_MOST_BESIDE = 5
_MODEL_MEANS = ("model_mean", "model_share")
_FOUND = 0.05  # a p value below


def tabulate_systems(criterion: dict[str, Any]) -> Table:
    """Systems, best first, with the figure that is compared and its interval.

    Where the mixed model compares them, its means come first, and those of all ratings last.
    """
    systems, by_model = criterion["systems"], is_by_model(criterion)
    has_tiers = any((one.get("cluster") or 0) > 1 for one in systems)

    def find(system: dict[str, Any]) -> Figure:
        return find_estimate(criterion, system)

    def list_averages(system: dict[str, Any]) -> list[Figure]:
        # the file has both averages before ranks
        return [find(system), system["headline"]] if by_model else [find(system)]

    columns = [
        SYSTEM,
        name_column(
            "Answers" if is_compared(criterion) else "Ratings", lambda one: f"{one['n']:,}"
        ),
        value_column(name_estimate(criterion), find, figures=list_averages),
        interval_column(find),
        Column(
            heading="Rank",
            write=lambda one: write_rank(one["rank"]),
            figures=lambda one: list_ranks(one["rank"], one.get("cluster")),
        ),
    ]
    if has_tiers:
        columns.append(name_column("Tier", lambda one: f"{one['cluster'] or ''}"))
    if by_model:
        columns.append(
            Column(
                heading=name_average(criterion),
                write=lambda one: write_with_interval(one["headline"]),
                is_further=True,
            )
        )
    return fill_table(
        f"{criterion['label']} by system",
        columns,
        systems,
        row_names=name_system,
        words=write_prose(
            "tables/systems.txt",
            {
                "is_by_model": by_model,
                "is_compared": is_compared(criterion),
                "has_tiers": has_tiers,
                "weighing": "" if is_compared(criterion) else _write_weighing(criterion),
            },
        ),
        name=f"{criterion['key']}-systems",
    )


def is_by_model(criterion: dict[str, Any]) -> bool:
    """Return whether systems are compared by their means in the mixed model."""
    return bool(criterion.get("estimator") == "model")


def find_estimate(criterion: dict[str, Any], system: dict[str, Any]) -> dict[str, Any]:
    """Return the figure of the system that comparisons are made of."""
    headline: dict[str, Any] = system["headline"]
    if not is_by_model(criterion):
        return headline
    return next((one for one in system["averages"] if one["name"] in _MODEL_MEANS), headline)


def name_estimate(criterion: dict[str, Any]) -> str:
    """Return the name of what is compared."""
    if not criterion["systems"]:
        return ""
    system = criterion["systems"][0]
    if is_by_model(criterion) and system["headline"]["name"] == "geometric_mean":
        return "Geometric mean by the mixed model"
    return name_figure(find_estimate(criterion, system))


def name_average(criterion: dict[str, Any]) -> str:
    """Return the name of the average that counts each rating once."""
    if not criterion["systems"]:
        return ""
    name = name_figure(criterion["systems"][0]["headline"])
    return f"{name} of all ratings" if is_by_model(criterion) else name


def list_ranks(rank: dict[str, int] | None, tier: int | None) -> list[Figure]:
    """List the rank and the tier of a system as counts, as far as they are known."""
    ends = rank or {}
    known = {"rank_best": ends.get("low"), "rank_worst": ends.get("high"), "tier": tier}
    return [count_figure(key, value) for key, value in known.items() if value is not None]


def tabulate_averages(criterion: dict[str, Any]) -> list[Table]:
    """The other figures of a system, each with its interval; no table is too wide to be read."""
    systems = [(one, _list_beside(criterion, one)) for one in criterion["systems"]]
    if not systems or not systems[0][1]:
        return []
    caption, name = f"{criterion['label']}: other averages", f"{criterion['key']}-averages"
    figures, tables = systems[0][1], []
    for start in range(0, len(figures), _MOST_BESIDE):
        some = figures[start : start + _MOST_BESIDE]
        is_last = start + _MOST_BESIDE >= len(figures)
        number = start // _MOST_BESIDE + 1
        tables.append(
            fill_table(
                caption if number == 1 else caption.replace("other", "further"),
                [
                    name_column("System", lambda row: str(row[0]["system"])),
                    *figure_columns(map(name_figure, some), lambda row: row[1], start=start),
                ],
                systems,
                row_names=lambda row: name_system(row[0]),
                words=_describe_averages(some) if is_last else "",
                name=name if number == 1 else f"{name}-{number}",
            )
        )
    return tables


def _describe_averages(figures: list[dict[str, Any]]) -> str:
    allows = any(
        one["name"].startswith("model_") or one["name"].endswith("_centred") for one in figures
    )
    return write_prose("tables/averages.txt", {"allows_for_raters": allows})


def _list_beside(criterion: dict[str, Any], system: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the averages of the system that no other table shows."""
    shown = (*_BOXES, *(_MODEL_MEANS if is_by_model(criterion) else ()))
    figures = [*system["others"], *system.get("averages", [])]
    return [figure for figure in figures if figure["name"] not in shown]


def tabulate_counts(criterion: dict[str, Any]) -> Table:
    """Return how often each answer was given to each system."""
    systems = criterion["systems"]
    boxes = _list_boxes(systems[0]) if systems else []

    return fill_table(
        f"{criterion['label']}: all ratings",
        [
            SYSTEM,
            *(_make_answer_column(answer) for answer in criterion["answers"]),
            *figure_columns(map(name_figure, boxes), _list_boxes),
        ],
        systems,
        row_names=name_system,
        name=f"{criterion['key']}-counts",
    )


def tabulate_histogram(criterion: dict[str, Any]) -> Table:
    """Return how many values of each system lie between round numbers."""
    histogram = criterion["histogram"]
    bins = list(enumerate(pairwise(histogram["edges"])))
    return fill_table(
        f"{criterion['label']}: all ratings",
        [SYSTEM, *(_make_bin_column(histogram["counts"], *each) for each in bins)],
        criterion["systems"],
        row_names=name_system,
        name=f"{criterion['key']}-histogram",
    )


def _make_bin_column(counts: dict[str, Any], place: int, ends: tuple[float, float]) -> Column:
    words = f"{ends[0]:g} to {ends[1]:g}".replace("-", "−")

    def count(system: dict[str, Any]) -> int:
        return int(counts[system["system"]][place])

    return Column(
        heading=words,
        write=lambda system: f"{count(system):,}",
        figures=lambda system: [count_figure(words, count(system))],
    )


def _make_answer_column(answer: dict[str, Any]) -> Column:
    def count(system: dict[str, Any]) -> int:
        return int((system["counts"] or {}).get(str(answer["value"]), 0))

    return Column(
        heading=f"{answer['value']} {answer['label']}".strip(),
        write=lambda system: f"{count(system):,}",
        figures=lambda system: [count_figure(f"answer {answer['value']}", count(system))],
    )


def _list_boxes(system: dict[str, Any]) -> list[Figure]:
    return [figure for figure in system["others"] if figure["name"] in _BOXES]


def tabulate_outcomes(criterion: dict[str, Any]) -> Table:
    """Wins, ties and losses of each pair."""
    headings = {"wins": "First is preferred", "ties": "Tie", "losses": "Second is preferred"}
    pairs = [pair for pair in criterion["pairs"] if pair["counts"]]
    return fill_table(
        f"{criterion['label']}: wins, ties and losses",
        [
            PAIR,
            *(_make_outcome_column(key, heading) for key, heading in headings.items()),
            *(_list_grades(pairs) if any(pair.get("grades") for pair in pairs) else ()),
        ],
        pairs,
        row_names=name_sides,
        name=f"{criterion['key']}-outcomes",
    )


def _list_grades(pairs: Sequence[dict[str, Any]]) -> Iterator[Column]:
    """Yield the columns of what was said of both, if it was, and of the mean step to the first."""
    for key, heading in (("both_good", "Of ties: both good"), ("both_bad", "Of ties: both bad")):
        if any(pair["grades"][key] for pair in pairs):
            yield Column(
                heading=heading,
                write=lambda pair, key=key: f"{pair['grades'][key]:,}",  # type: ignore[misc]
                figures=lambda pair, key=key: [count_figure(key, pair["grades"][key])],  # type: ignore[misc]
            )
    yield value_column("Mean step to the first", lambda pair: pair["grades"]["mean"])


def _make_outcome_column(key: str, heading: str) -> Column:
    return Column(
        heading=heading,
        write=lambda pair: f"{pair['counts'][key]:,}",
        figures=lambda pair: [count_figure(key, pair["counts"][key])],
    )


def tabulate_pairs(criterion: dict[str, Any]) -> Table:
    """Systems compared two by two: the effect, its interval, p, and what the design would find."""
    pairs, baseline = criterion["pairs"], criterion.get("baseline")
    columns = [
        name_column("Pair", _describe_sides),
        value_column(name_figure(pairs[0]["effect"]), _find_effect),
        interval_column(_find_effect),
        name_column("Corrected p", lambda pair: write_corrected(pair["effect"])),
    ]
    return fill_table(
        f"{criterion['label']}: systems compared" + (f" with {baseline}" if baseline else ""),
        columns,
        pairs,
        row_names=name_sides,
        words=write_prose(
            "tables/pairs.txt",
            {
                "family": max(
                    (
                        pair["effect"]["details"].get("family") or 0
                        for pair in pairs
                        if not pair["effect"]["details"].get("is_exploratory")
                    ),
                    default=0,
                ),
                "has_named": any(pair["effect"]["details"].get("is_exploratory") for pair in pairs),
                "is_across": any(_is_corrected_across(pair) for pair in pairs),
                "baseline": baseline,
                "weighing": _write_weighing(criterion) if is_compared(criterion) else "",
            },
        ),
        name=f"{criterion['key']}-pairs",
    )


def _describe_sides(pair: dict[str, Any]) -> str:
    """Return the pair as its effect is taken: a ratio, or a difference."""
    sign = ":" if pair["effect"]["name"] == "ratio" else "−"
    return f"{pair['system_1']} {sign} {pair['system_2']}"


def _find_effect(pair: dict[str, Any]) -> Figure:
    effect: Figure = pair["effect"]
    return effect


def _is_corrected_across(pair: dict[str, Any]) -> bool:
    """Whether the correction covers comparisons of other criteria too."""
    details = pair["effect"]["details"]
    own = details.get("family_within")
    return own is not None and (details.get("family") or 0) > own


def tabulate_checks(criterion: dict[str, Any]) -> Table | None:
    """What other tests say of each pair, not corrected; None where there is no other test."""
    longest = max((pair["checks"] for pair in criterion["pairs"]), key=len)
    if not longest:
        return None
    return fill_table(
        f"{criterion['label']}: other tests of the pairs",
        [
            PAIR,
            *figure_columns(
                (f"{name_figure(figure)}, p" for figure in longest),
                itemgetter("checks"),
                write_figure=_write_check,
            ),
        ],
        criterion["pairs"],
        row_names=name_sides,
        words=write_prose("tables/checks.txt", {"clusters": _cluster_over_inputs(criterion)}),
        name=f"{criterion['key']}-checks",
    )


def _cluster_over_inputs(criterion: dict[str, Any]) -> list[list[str]]:
    """Return WMT's clusters, by Wilcoxon's test over inputs; [] if tiers are as many."""
    systems = criterion["systems"]
    p = {
        frozenset(name_sides(pair).values()): figure["details"].get("p")
        for pair in criterion["pairs"]
        for figure in pair["checks"]
        if figure["name"] == "wilcoxon"
    }
    if len(p) < len(systems) * (len(systems) - 1) / 2 or None in p.values():
        return []
    order = [one["system"] for one in systems]
    clusters: list[list[str]] = [[]]
    for place, system in enumerate(order):
        pairs = (frozenset((one, two)) for one in order[:place] for two in order[place:])
        if place and all(p[pair] < _FOUND for pair in pairs):
            clusters.append([])
        clusters[-1].append(system)
    return clusters if len(clusters) > len({one.get("cluster") for one in systems}) else []


def _write_check(figure: Figure) -> str:
    return write_p(figure["details"].get("p")) or f"–{because(figure)}"


def tabulate_sizes(criterion: dict[str, Any]) -> Table | None:
    """Effect sizes of each pair; None where there is none."""
    longest = max((pair["sizes"] for pair in criterion["pairs"]), key=len)
    if not longest:
        return None
    return fill_table(
        f"{criterion['label']}: effect sizes",
        [
            PAIR,
            *figure_columns(map(name_figure, longest), itemgetter("sizes")),
        ],
        criterion["pairs"],
        row_names=name_sides,
        words=write_prose("tables/sizes.txt", {}),
        name=f"{criterion['key']}-sizes",
    )


def tabulate_figures(
    caption: str,
    figures: list[dict[str, Any]],
    *,
    name: str = "",
    words: str = "",
    has_p: bool = False,
    labels: Mapping[str, str] | None = None,
    beside: Column | None = None,
) -> Table:
    """Figures one under another, each with its interval and what went in, or why there is none.

    `labels` of criteria by key, for figures that say which criteria they are of. `beside`: a
    further column after that of the intervals.
    """
    columns = [
        name_column("Figure", lambda figure: _name_with_criteria(figure, labels or {})),
        value_column("Value", lambda figure: figure),
        interval_column(lambda figure: figure),
    ]
    if beside is not None:
        columns.append(beside)
    if has_p:
        columns.append(name_column("p", lambda figure: write_p(figure["details"].get("p"))))
    columns.append(name_column("From", describe_n))
    return fill_table(caption, columns, figures, row_names=_list_criteria, words=words, name=name)


def _name_with_criteria(figure: dict[str, Any], labels: Mapping[str, str]) -> str:
    """ "Fluency: mean where accepted", "Fluency : Coherence", or the name alone."""
    phrases = [labels.get(key, key) for key in figure["details"].get("criteria", ())]
    if len(phrases) > 1:
        return " : ".join(phrases)
    part = str(figure["name"]).replace("_", " ")
    return name_figure({"name": f"{phrases[0]}: {part}"} if phrases else figure)


def _list_criteria(figure: dict[str, Any]) -> dict[str, str]:
    keys = figure["details"].get("criteria", ())
    return {f"criterion_{number}": key for number, key in enumerate(keys, start=1)}


# --- parts of tables ----------------------------------------------------------------


def name_system(system: dict[str, Any]) -> dict[str, str]:
    return {"system": system["system"]}


def name_sides(pair: dict[str, Any]) -> dict[str, str]:
    return {"system_1": pair["system_1"], "system_2": pair["system_2"]}


def write_corrected(effect: dict[str, Any]) -> str:
    """Return the corrected p of a comparison, or why it is not tested."""
    details = effect["details"]
    if why := details.get("untested"):
        return f"– ({why})"
    return write_p(details.get("p_corrected"))


def describe_pair(pair: dict[str, Any]) -> str:
    return f"{pair['system_1']} : {pair['system_2']}"


def write_rank(rank: dict[str, int] | None) -> str:
    """ "2" or "2 to 3"; "" where it is unknown."""
    if rank is None:
        return ""
    low, high = rank["low"], rank["high"]
    return str(low) if low == high else f"{low} to {high}"


SYSTEM = name_column("System", lambda row: str(row["system"]))
PAIR = name_column("Pair", describe_pair)


def _write_weighing(criterion: dict[str, Any]) -> str:
    """Return why comparisons differ from the means shown, where they do."""
    note = criterion.get("weighing")
    return write_sentence(note) if note else ""
