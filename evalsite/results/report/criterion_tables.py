"""The tables of a criterion, made from the plain data of its report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsite.results.report.figure_details import (
    Entry,
    count_entry,
    describe_computed,
    describe_n,
    entry,
    list_cells,
)
from evalsite.results.report.wording import (
    describe_interval,
    explain_reason,
    hold_together,
    is_compared,
    let_go,
    name_figure,
    write_interval,
    write_p,
    write_value,
)
from evalsite.studies.summary_lines import count_of

_BOXES = ("top_box", "bottom_box")
# of a table beside its first column: a wider one is not read at a glance
_MOST_BESIDE = 5
_AVERAGES = "Each with its 95 % interval, where it has one."
_ALLOWING = " The mixed model and what is centred by rater allow for who rated what."
_MODEL_MEANS = ("model_mean", "model_share")
_BY_MODEL = (
    "Systems are compared by their means in the mixed model, which allows for who rated what. The "
    "last column counts each rating once, so its differences and ratios can differ from theirs."
)
_DETECTABLE = "Found by 4 of 5 such studies"
_FOUND = (
    "The last column is the smallest true difference that four of five such studies would find."
)
_TIERS = (
    "All systems of a tier are above all of the next one, each pair at a corrected p below .05{}. "
    "That two are in one tier does not say that they are equal."
)
_RANKS_OF_MEANS = (
    " A rank also needs intervals that hold for all differences at once, so ranges of ranks may "
    "overlap where tiers do not."
)
_BY_THE_MODEL = (
    " wherever the two were compared, and by intervals of the model’s strengths that hold for all "
    "at once"
)


@dataclass(frozen=True)
class Table:
    """A table of texts: a caption, a head, and rows that begin with their name."""

    caption: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: str = ""  # what stands under it
    name: str = ""  # of its file
    prose: int = -1  # which column holds sentences
    entries: Sequence[Entry] = field(default_factory=list)  # the figures behind the cells
    names_people: bool = False  # what leaves the site names nobody
    links: Sequence[str] = ()  # where the name of each row leads, on the site
    unshown: Sequence[tuple[str, ...]] = ()  # further rows, of the file alone

    def __post_init__(self) -> None:
        held = {
            "columns": tuple(map(hold_together, self.columns)),
            # a name, which stands first, is left as somebody wrote it
            "rows": [(*row[:1], *map(hold_together, row[1:])) for row in self.rows],
            "words": hold_together(self.words),
        }
        for name, value in held.items():
            object.__setattr__(self, name, value)

    @property
    def linked_rows(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each row with where its name leads, "" for nowhere."""
        nowhere = [""] * (len(self.rows) - len(self.links))
        return list(zip([*self.links, *nowhere], self.rows, strict=True))

    def describe_computed(self) -> list[str]:
        """How the figures of the table were made."""
        return list(map(hold_together, describe_computed(self.entries)))

    def list_cells(self) -> list[Any]:
        """What its file holds: its figures with every digit, or else what stands in it."""
        if self.entries:
            return list_cells(self.entries)
        rows = (self.columns, *self.rows, *self.unshown)
        return [tuple(map(let_go, row)) for row in rows]


def tabulate_systems(criterion: dict[str, Any]) -> Table:
    """Systems, best first, with the figure that is compared and its interval.

    Where the mixed model compares them, its means come first, and those of all ratings last.
    """
    systems, by_model = criterion["systems"], is_by_model(criterion)
    has_tiers = any((one.get("cluster") or 0) > 1 for one in systems)
    rows = [
        (
            one["system"],
            f"{one['n']:,}",
            write_value(estimate) + because(estimate),
            describe_interval(estimate),
            write_rank(one["rank"]),
            *([f"{one['cluster'] or ''}"] if has_tiers else []),
            *([write_with_interval(one["headline"])] if by_model else []),
        )
        for one in systems
        for estimate in [find_estimate(criterion, one)]
    ]
    tier = ["Tier"] if has_tiers else []
    given = "Answers" if is_compared(criterion) else "Ratings"
    return Table(
        f"{criterion['label']} by system",
        (
            *("System", given, name_estimate(criterion), "95 % interval", "Rank", *tier),
            *([name_average(criterion)] if by_model else []),
        ),
        rows,
        words=" ".join(filter(None, _describe_systems(criterion, has_tiers=has_tiers))),
        name=f"{criterion['key']}-systems",
        entries=[
            found
            for one in systems
            for found in (
                *([entry(find_estimate(criterion, one), system=one["system"])] if by_model else []),
                *enter_ranked(one["system"], one["headline"], one["rank"], one.get("cluster")),
            )
        ],
    )


def _describe_systems(criterion: dict[str, Any], *, has_tiers: bool) -> Iterator[str]:
    if is_by_model(criterion):
        yield _BY_MODEL
    if not is_compared(criterion):
        yield criterion.get("weighing", "")
    if has_tiers:
        yield _describe_tiers(criterion)


def is_by_model(criterion: dict[str, Any]) -> bool:
    """Whether systems are compared by their means in the mixed model."""
    return bool(criterion.get("estimator") == "model")


def find_estimate(criterion: dict[str, Any], system: dict[str, Any]) -> dict[str, Any]:
    """The figure of the system that comparisons are made of."""
    headline: dict[str, Any] = system["headline"]
    if not is_by_model(criterion):
        return headline
    return next((one for one in system["averages"] if one["name"] in _MODEL_MEANS), headline)


def name_estimate(criterion: dict[str, Any]) -> str:
    """The name of what comparisons are made of."""
    if not criterion["systems"]:
        return ""
    system = criterion["systems"][0]
    if is_by_model(criterion) and system["headline"]["name"] == "geometric_mean":
        return "Geometric mean by the mixed model"
    return name_figure(find_estimate(criterion, system))


def name_average(criterion: dict[str, Any]) -> str:
    """The name of the average that counts each rating once."""
    if not criterion["systems"]:
        return ""
    name = name_figure(criterion["systems"][0]["headline"])
    return f"{name} of all ratings" if is_by_model(criterion) else name


def _describe_tiers(criterion: dict[str, Any]) -> str:
    if is_compared(criterion):
        return _TIERS.format(_BY_THE_MODEL)
    return _TIERS.format("") + _RANKS_OF_MEANS


def enter_ranked(
    system: str, figure: dict[str, Any], rank: dict[str, int] | None, tier: int | None
) -> list[Entry]:
    """The figure of a system, and its rank and tier as counts."""
    ends = rank or {}
    found = {"rank_best": ends.get("low"), "rank_worst": ends.get("high"), "tier": tier}
    return [
        entry(figure, system=system),
        *(
            count_entry(key, value, system=system)
            for key, value in found.items()
            if value is not None
        ),
    ]


def tabulate_averages(criterion: dict[str, Any]) -> list[Table]:
    """The other figures of a system, each with its interval; no table is too wide to be read."""
    systems = criterion["systems"]
    beside = [_list_beside(criterion, one) for one in systems]
    if not beside or not beside[0]:
        return []
    caption, name = f"{criterion['label']}: other averages", f"{criterion['key']}-averages"
    tables = []
    for start in range(0, len(beside[0]), _MOST_BESIDE):
        some = [figures[start : start + _MOST_BESIDE] for figures in beside]
        rows: list[tuple[str, ...]] = [
            (one["system"], *map(write_with_interval, figures))
            for one, figures in zip(systems, some, strict=True)
        ]
        number = start // _MOST_BESIDE + 1
        tables.append(
            Table(
                caption if number == 1 else caption.replace("other", "further"),
                ("System", *map(name_figure, some[0])),
                rows,
                words=_describe_averages(some[0]) if start + _MOST_BESIDE >= len(beside[0]) else "",
                name=name if number == 1 else f"{name}-{number}",
                entries=[
                    entry(figure, system=one["system"])
                    for one, figures in zip(systems, some, strict=True)
                    for figure in figures
                ],
            )
        )
    return tables


def _describe_averages(figures: list[dict[str, Any]]) -> str:
    names = [one["name"] for one in figures]
    allows = any(name.startswith("model_") or name.endswith("_centred") for name in names)
    return _AVERAGES + (_ALLOWING if allows else "")


def _list_beside(criterion: dict[str, Any], system: dict[str, Any]) -> list[dict[str, Any]]:
    """The averages of the system that no other table shows."""
    shown = (*_BOXES, *(_MODEL_MEANS if is_by_model(criterion) else ()))
    figures = [*system["others"], *system.get("averages", [])]
    return [figure for figure in figures if figure["name"] not in shown]


def tabulate_counts(criterion: dict[str, Any]) -> Table:
    """How often each answer was given to each system."""
    answers, systems = criterion["answers"], criterion["systems"]
    boxes = [one for one in systems[0]["others"] if one["name"] in _BOXES] if systems else []
    labels = [f"{one['value']} {one['label']}".strip() for one in answers]
    return Table(
        f"{criterion['label']}: all ratings",
        ("System", *labels, *map(name_figure, boxes)),
        [
            (
                one["system"],
                *(f"{(one['counts'] or {}).get(str(each['value']), 0):,}" for each in answers),
                *(write_with_interval(each) for each in one["others"] if each["name"] in _BOXES),
            )
            for one in systems
        ],
        name=f"{criterion['key']}-counts",
        entries=[
            found
            for one in systems
            for found in (
                *(
                    count_entry(
                        f"answer {each['value']}",
                        (one["counts"] or {}).get(str(each["value"]), 0),
                        system=one["system"],
                    )
                    for each in answers
                ),
                *(
                    entry(each, system=one["system"])
                    for each in one["others"]
                    if each["name"] in _BOXES
                ),
            )
        ],
    )


def tabulate_outcomes(criterion: dict[str, Any]) -> Table:
    """Wins, ties and losses of each pair."""
    return Table(
        f"{criterion['label']}: wins, ties and losses",
        ("Pair", "First is preferred", "Tie", "Second is preferred"),
        [
            (
                describe_pair(pair),
                *(f"{pair['counts'][key]:,}" for key in ("wins", "ties", "losses")),
            )
            for pair in criterion["pairs"]
            if pair["counts"]
        ],
        name=f"{criterion['key']}-outcomes",
        entries=[
            count_entry(key, pair["counts"][key], **_sides(pair))
            for pair in criterion["pairs"]
            if pair["counts"]
            for key in ("wins", "ties", "losses")
        ],
    )


def tabulate_pairs(criterion: dict[str, Any]) -> Table:
    """Systems compared two by two: the effect, its interval, p, and what the design would find."""
    pairs, baseline = criterion["pairs"], criterion.get("baseline")
    has_detectable = any(pair["detectable"] for pair in pairs)
    last = [_DETECTABLE] if has_detectable else []
    return Table(
        f"{criterion['label']}: systems compared" + (f" with {baseline}" if baseline else ""),
        ("Pair", name_figure(pairs[0]["effect"]), "95 % interval", "Corrected p", *last),
        [
            (
                describe_pair(pair),
                write_value(pair["effect"]) + because(pair["effect"]),
                describe_interval(pair["effect"]),
                write_corrected(pair["effect"]),
                *([_write_detectable(pair)] if has_detectable else []),
            )
            for pair in pairs
        ],
        words=" ".join(
            filter(
                None,
                [
                    _describe_family(pairs, baseline),
                    _FOUND * has_detectable,
                    criterion.get("weighing", "") if is_compared(criterion) else "",
                ],
            )
        ),
        name=f"{criterion['key']}-pairs",
        entries=[
            entry(figure, **_sides(pair))
            for pair in pairs
            for figure in (pair["effect"], pair["detectable"])
            if figure
        ],
    )


def tabulate_checks(criterion: dict[str, Any]) -> Table | None:
    """What other tests say of each pair, not corrected; None where there is no other test."""
    pairs = criterion["pairs"]
    if not any(pair["checks"] for pair in pairs):
        return None
    return Table(
        f"{criterion['label']}: other tests of the pairs",
        ("Pair", *(f"{name_figure(figure)}, p" for figure in pairs[0]["checks"])),
        [
            (describe_pair(pair), *(_write_check(figure) for figure in pair["checks"]))
            for pair in pairs
        ],
        words="Not corrected: they show whether the finding hangs on the test.",
        name=f"{criterion['key']}-checks",
        entries=[entry(figure, **_sides(pair)) for pair in pairs for figure in pair["checks"]],
    )


def _write_check(figure: dict[str, Any]) -> str:
    return write_p(figure["details"].get("p")) or f"–{because(figure)}"


def _describe_family(pairs: list[dict[str, Any]], baseline: str | None) -> str:
    number = max((pair["effect"]["details"].get("family") or 0 for pair in pairs), default=0)
    if not number:
        return ""
    words = f"p values are corrected by Holm’s method over {count_of(number, 'comparison')}"
    if baseline is None:
        return f"{words}: every two systems."
    return f"{words}, those with the baseline {baseline}; other pairs are not tested."


def tabulate_sizes(criterion: dict[str, Any]) -> Table | None:
    """Effect sizes of each pair; None where there is none."""
    pairs = criterion["pairs"]
    if not any(pair["sizes"] for pair in pairs):
        return None
    return Table(
        f"{criterion['label']}: effect sizes",
        ("Pair", *(name_figure(figure) for figure in pairs[0]["sizes"])),
        [(describe_pair(pair), *map(write_with_interval, pair["sizes"])) for pair in pairs],
        words="Of the first over the second. " + _AVERAGES,
        name=f"{criterion['key']}-sizes",
        entries=[entry(figure, **_sides(pair)) for pair in pairs for figure in pair["sizes"]],
    )


def _write_detectable(pair: dict[str, Any]) -> str:
    if pair["detectable"] is None:
        return ""
    # read as the effect is: in points, as a ratio, or in percentage points
    return write_with_interval(pair["detectable"] | {"name": pair["effect"]["name"]})


def tabulate_figures(
    caption: str,
    figures: list[dict[str, Any]],
    *,
    name: str = "",
    words: str = "",
    has_p: bool = False,
    labels: Mapping[str, str] | None = None,
) -> Table:
    """Figures one under another, each with its interval and what went in, or why there is none.

    `labels` of criteria by key, for figures that say which criteria they are of.
    """
    return Table(
        caption,
        ("Figure", "Value", "95 % interval", *(["p"] if has_p else []), "From"),
        [
            (
                _name_with_criteria(figure, labels or {}),
                write_value(figure) + because(figure),
                describe_interval(figure),
                *([write_p(figure["details"].get("p"))] if has_p else []),
                describe_n(figure),
            )
            for figure in figures
        ],
        words=words,
        name=name,
        entries=[entry(figure, **_list_criteria(figure)) for figure in figures],
    )


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


def _sides(pair: dict[str, Any]) -> dict[str, str]:
    return {"system_1": pair["system_1"], "system_2": pair["system_2"]}


def write_corrected(effect: dict[str, Any]) -> str:
    """The corrected p of a comparison, or why it is not tested."""
    details = effect["details"]
    if why := details.get("untested"):
        return f"– ({why})"
    return write_p(details.get("p_corrected"))


def describe_pair(pair: dict[str, Any]) -> str:
    return f"{pair['system_1']} : {pair['system_2']}"


def because(figure: dict[str, Any]) -> str:
    reason = explain_reason(figure["reason"])
    return f" ({reason})" if reason else ""


def write_with_interval(figure: dict[str, Any]) -> str:
    """ "0.45 (0.21 to 0.69)", or why there is no value."""
    interval = write_interval(figure)
    return write_value(figure) + (f" ({interval})" if interval else because(figure))


def write_rank(rank: dict[str, int] | None) -> str:
    """ "2" or "2 to 3"; "" where it is unknown."""
    if rank is None:
        return ""
    low, high = rank["low"], rank["high"]
    return str(low) if low == high else f"{low} to {high}"
