"""The tables of a criterion, made from the plain data of its report."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import exp, sqrt
from operator import itemgetter
from typing import Any

from django.utils.text import capfirst

from evalsite.analysis.direction import SIGN
from evalsite.analysis.families import find_family
from evalsite.analysis.figure import make_note
from evalsite.results.report.figure_details import Figure, count_figure, describe_n
from evalsite.results.report.prose import write_prose
from evalsite.results.report.sentences import SPREAD, Note, write_sentence
from evalsite.results.report.table import (
    INTERVAL,
    Column,
    Table,
    because,
    explain_with_interval,
    figure_column,
    figure_columns,
    fill_table,
    interval_column,
    name_column,
    value_column,
    write_with_interval,
)
from evalsite.results.report.wording import (
    is_compared,
    is_share,
    name_figure,
    write_number,
    write_p,
    write_value,
)

_BOXES = ("top_box", "bottom_box")
# of a table beside its first column: a wider one is not read at a glance
_MOST_BESIDE = 5
_MODEL_MEANS = ("model_mean", "model_share")
_FOUND = 0.05  # a p value below
_MOST_POINTS = 11  # whose shares fit into one cell


def tabulate_systems(criterion: dict[str, Any]) -> Table:
    """Systems, best first, with the figure that is compared, its interval and its spread.

    Where the mixed model compares them, its means come first, and those of all ratings last.
    """
    systems, by_model = sort_systems(criterion), is_by_model(criterion)
    has_tiers = any((one.get("cluster") or 0) > 1 for one in systems)
    is_rated = not is_compared(criterion)

    def find(system: dict[str, Any]) -> Figure:
        return find_estimate(criterion, system)

    def list_averages(system: dict[str, Any]) -> list[Figure]:
        # the file has both averages before ranks
        return [find(system), system["headline"]] if by_model else [find(system)]

    columns = [
        SYSTEM,
        Column(
            heading="Ratings" if is_rated else "Answers",
            write=lambda one: f"{one['n']:,}",
            figures=lambda one: [count_figure("ratings" if is_rated else "answers", one["n"])],
        ),
        *([_OUTPUTS] if is_rated else ()),
        value_column(
            f"{name_estimate(criterion)} ({INTERVAL})",
            find,
            write=lambda one: explain_with_interval(find(one)),
            figures=list_averages,
        ),
        *(_list_spread(criterion) if is_rated else ()),
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
        sentence=describe_variances(criterion),
        name=f"{criterion['key']}-systems",
    )


def _list_spread(criterion: dict[str, Any]) -> Iterator[Column]:
    """Yield the columns of how ratings of a system spread, and how far it is from the average."""
    systems = criterion["systems"]
    if systems:
        # the spread of logarithms, of which magnitudes are compared, is no spread of scores
        heading = "SD of logs" if systems[0]["sd"]["name"] == "sd_log" else "SD"
        yield value_column(heading, itemgetter("sd"))
    if any(one.get("from_average") for one in systems):
        yield figure_column(
            f"From average ({INTERVAL})",
            lambda one: one.get("from_average"),
            write=lambda one: _write_from_average(criterion, one),
        )
    if any(find_median(one) for one in systems):
        yield figure_column("Median", find_median, write_figure=write_value)
    if _MOST_POINTS >= len(criterion["answers"]) > 2:
        values = [str(answer["value"]) for answer in criterion["answers"]]
        yield Column(
            heading=f"% of {values[0]} to {values[-1]}",
            write=lambda one: _write_distribution(criterion, one),
        )


def find_median(system: dict[str, Any]) -> Figure | None:
    """Return the median of the ratings of a system, if there is one to show."""
    return next((one for one in system["others"] if one["name"] == "median"), None)


def _write_distribution(criterion: dict[str, Any], system: dict[str, Any]) -> str:
    """ "3 / 10 / 22 / 40 / 25": the share of each answer in percent, the lowest first."""
    counts = system["counts"] or {}
    known = [int(counts.get(str(answer["value"]), 0)) for answer in criterion["answers"]]
    whole = sum(known)
    return " / ".join(f"{100 * count / whole:.0f}" for count in known) if whole else ""


def _write_from_average(criterion: dict[str, Any], system: dict[str, Any]) -> str:
    distance = system.get("from_average")
    if not distance:
        return ""
    if distance["value"] is None:
        return "–" + because(distance)
    estimate = find_estimate(criterion, system)
    value = write_distance(criterion, estimate, distance["value"])
    ends = write_distance_ends(criterion, estimate, distance)
    return f"{value} ({ends})" if ends else value


def write_distance(criterion: dict[str, Any], estimate: Figure, value: float) -> str:
    """ "+0.32", "−12" of percentage points, or "×1.19"."""
    if find_family(criterion).is_log:
        return f"×{write_number(value)}"
    text = f"{round(value * 100)}" if is_share(estimate) else write_number(value)
    return text.replace("-", "−") if text.startswith(("-", "−")) else f"+{text}"


def write_distance_ends(criterion: dict[str, Any], estimate: Figure, distance: Figure) -> str:
    """ "+0.12 to +0.52", or "" where the distance has no interval."""
    if distance["low"] is None or distance["high"] is None:
        return ""
    low, high = (write_distance(criterion, estimate, distance[end]) for end in ("low", "high"))
    return f"{low} to {high}"


def list_variances(criterion: dict[str, Any]) -> list[Note]:
    """Return the note on what single ratings vary by; [] without a model."""
    shares = criterion["model"].get("shares")
    unit = "answers" if is_compared(criterion) else "ratings"
    return [make_note("variance_parts", shares=shares, unit=unit)] if shares else []


def describe_variances(criterion: dict[str, Any]) -> str:
    """Return what single ratings vary by, in a sentence; "" without a model."""
    return " ".join(map(write_sentence, list_variances(criterion)))


def tabulate_variances(criterion: dict[str, Any]) -> Table | None:
    """Return what ratings vary by: each variance and its share; None without a model."""
    model = criterion["model"]
    if not model.get("shares"):
        return None
    rows = [*model["variances"].items(), ("residual", model["residual"])]

    def find_share(row: tuple[str, float]) -> Figure:
        share = float(model["shares"][row[0]])
        return {
            "name": "variance_share", "value": share, "low": None, "high": None, "reason": None,
            "n": {}, 
            "details": {"variance": row[1], "interval": "none: a part of the fitted model"},
            "method": "share of the sum of all variances of the mixed model",
        }  # fmt: skip

    return fill_table(
        f"{criterion['label']}: what ratings vary by",
        [
            name_column("What varies", lambda row: capfirst(SPREAD.get(row[0], row[0]))),
            name_column("Variance", lambda row: f"{row[1]:.3g}" if row[1] else "0 (not found)"),
            name_column("Standard deviation", lambda row: write_number(sqrt(row[1]))),
            value_column("Share", find_share),
        ],
        rows,
        row_names=lambda row: {"term": row[0]},
        name=f"{criterion['key']}-variances",
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


def sort_systems(criterion: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the systems, best first by the figure that is shown; those without one are last.
    Where none is better they stay in their order."""
    sign = SIGN[criterion["better"]]
    values = [
        (system, find_estimate(criterion, system)["value"]) for system in criterion["systems"]
    ]
    known = [(system, value) for system, value in values if value is not None]
    ordered = sorted(known, key=lambda pair: -sign * float(pair[1]))
    return [system for system, _ in ordered] + [system for system, value in values if value is None]


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
    """Tabulate pairs of systems: the effect, its interval, its test, and what was found."""
    pairs, baseline = criterion["pairs"], criterion.get("baseline")
    return fill_table(
        f"{criterion['label']}: systems compared" + (f" with {baseline}" if baseline else ""),
        list(_list_pair_columns(pairs)),
        pairs,
        row_names=lambda pair: name_sides(pair) | {"finding": pair["finding"]["code"]},
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
        sentence=describe_pairs(criterion),
        name=f"{criterion['key']}-pairs",
    )


def _list_pair_columns(pairs: Sequence[dict[str, Any]]) -> Iterator[Column]:
    yield name_column("Pair", _describe_sides)
    yield value_column(
        f"{name_figure(pairs[0]['effect'])} ({INTERVAL})",
        _find_effect,
        write=lambda pair: explain_with_interval(pair["effect"]),
    )
    if any(write_statistic(pair["effect"]) for pair in pairs):
        yield Column(
            heading="t (df)", write=lambda pair: write_statistic(pair["effect"]), is_folded=True
        )
    if any("p" in pair["effect"]["details"] for pair in pairs):
        yield Column(
            heading="p", write=lambda pair: write_p(pair["effect"]["details"].get("p")),
            is_folded=True,
        )  # fmt: skip
    yield name_column("Corrected p (tests)", lambda pair: write_corrected_of(pair["effect"]))
    if any(write_effect(pair["effect"]) for pair in pairs):
        yield Column(
            heading=f"d ({INTERVAL})", write=lambda pair: write_effect(pair["effect"]),
            is_folded=True,
        )  # fmt: skip
    yield name_column("Finding", write_finding)


def describe_pairs(criterion: dict[str, Any]) -> str:
    """Return what a caption says of all pairs: whether they are secondary, and their joint test."""
    is_secondary = criterion.get("role") == "secondary"
    role = write_sentence({"code": "secondary_criterion", "facts": {}}) if is_secondary else ""
    return " ".join(filter(None, (role, describe_joint_test(criterion))))


def list_joint_test(criterion: dict[str, Any]) -> list[Note]:
    """Return the note on the test of all systems; [] where there is none."""
    joint = criterion["joint"]
    if joint is None or joint["value"] is None:
        return []
    ends = {key: joint["details"][key] for key in ("df1", "df2", "p")}
    return [make_note("joint_test", systems=len(criterion["systems"]), f=joint["value"], **ends)]


def describe_joint_test(criterion: dict[str, Any]) -> str:
    """Return what the test of all systems says; "" where there is none."""
    return " ".join(map(write_sentence, list_joint_test(criterion)))


def write_statistic(effect: Figure) -> str:
    """ "t(38.2) = 2.74", or "" where p comes from no t test."""
    t, df = effect["details"].get("t"), effect["details"].get("df")
    return "" if t is None or df is None else f"t({df:.1f}) = {write_number(t)}"


def write_effect(effect: Figure) -> str:
    """ "0.31 (0.08 to 0.54)": the standardised effect; "" where the units speak."""
    return "" if (figure := find_standardised(effect)) is None else write_with_interval(figure)


def find_standardised(effect: Figure) -> Figure | None:
    """Return the standardised effect that stands with a difference."""
    details = effect["details"]
    if details.get("d") is None:
        return None
    ends = {"value": details["d"], "low": details["d_low"], "high": details["d_high"]}
    return {"name": "d", "reason": None, "details": {}, **ends}


def write_corrected_of(effect: Figure) -> str:
    """ ".028 (6)": the corrected p, and the number of tests that it is corrected for."""
    family = effect["details"].get("family")
    is_tested = effect["details"].get("p_corrected") is not None
    return write_corrected(effect) + (f" ({family:,})" if family and is_tested else "")


def write_finding(pair: dict[str, Any]) -> str:
    """Return what was found of a pair in a word or two."""
    facts = {
        "code": pair["finding"]["code"], "first": str(pair["system_1"]),
        "second": str(pair["system_2"]), "effect": pair["effect"]["name"],
        "better": pair["finding"]["facts"].get("better", "higher"),
    }  # fmt: skip
    found = write_sentence({"code": "finding_in_brief", "facts": facts})
    return f"{found}, exploratory" if pair["effect"]["details"].get("is_exploratory") else found


def tabulate_own_errors(criterion: dict[str, Any]) -> Table | None:
    """Return each difference with the error of its pair alone; None where there is none."""
    pairs = [pair for pair in criterion["pairs"] if pair.get("own")]
    if not pairs:
        return None
    return fill_table(
        f"{criterion['label']}: a separate error for each pair",
        [
            name_column("Pair", _describe_sides),
            figure_column(
                f"{name_figure(pairs[0]['effect'])} ({INTERVAL})",
                _find_own_effect,
                write_figure=explain_with_interval,
            ),
            name_column("t (df)", lambda pair: write_statistic(pair["own"])),
            name_column("p", lambda pair: write_p(pair["own"]["details"].get("p"))),
            name_column("Corrected p", lambda pair: write_corrected(pair["own"])),
            name_column("Of the model", lambda pair: write_corrected(pair["effect"])),
        ],
        pairs,
        row_names=name_sides,
        name=f"{criterion['key']}-own-errors",
    )


def _find_own_effect(pair: dict[str, Any]) -> Figure:
    """Return the difference with its own error in the units of the pair's effect."""
    own, effect = pair["own"], pair["effect"]["name"]
    if effect != "ratio":
        return {**own, "name": {"risk_difference": "own_risk_difference"}.get(effect, own["name"])}
    ends = {key: None if own[key] is None else exp(own[key]) for key in ("value", "low", "high")}
    return {**own, "name": "own_ratio", **ends}


def tabulate_tests(criterion: dict[str, Any]) -> Table | None:
    """Return the tests of all systems, that of the model first; None where there is none."""
    joint, tests = criterion["joint"], criterion["tests"]
    figures = [*([joint] if joint else []), *tests]
    if not figures:
        return None
    has_p = any(one["details"].get("p") is not None for one in figures)
    name = f"{criterion['key']}-tests"
    return tabulate_figures("Tests of all systems", figures, has_p=has_p, name=name)


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
    longest: list[Figure] = max(
        (pair["checks"] for pair in criterion["pairs"]), key=len, default=[]
    )
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
    longest: list[Figure] = max((pair["sizes"] for pair in criterion["pairs"]), key=len, default=[])
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
_OUTPUTS = Column(
    heading="Outputs",
    write=lambda row: f"{row['outputs']:,}",
    figures=lambda row: [count_figure("outputs", row["outputs"])],
)
PAIR = name_column("Pair", describe_pair)


def _write_weighing(criterion: dict[str, Any]) -> str:
    """Return why comparisons differ from the means shown, where they do."""
    note = criterion.get("weighing")
    return write_sentence(note) if note else ""
