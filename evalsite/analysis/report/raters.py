"""The part of a report on raters: what each of them did, and what to check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from evalsite.analysis.behaviour import compare_passes, describe_pace, find_passes
from evalsite.analysis.effects import wilson_share
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import Figure, make_note
from evalsite.analysis.flags import (
    Flag,
    RaterRow,
    Scale,
    check_gold,
    check_raters,
    check_tie_use,
    find_copied,
    find_order,
    flag_answers,
    flag_changes,
    flag_sameness,
    see_speed,
)
from evalsite.analysis.pairs import circular_triads
from evalsite.analysis.ratings import Table
from evalsite.analysis.thresholds import START, UNLIKELY, Thresholds

# --- preferences of single raters -----------------------------------------------------
LEAST_TRIPLES = 20  # of a rater; a share of fewer says little
_LEAST_RATERS = 5
Flagged = dict[str, tuple[Figure, Flag | None]]


def count_chosen_places(*, rater: ArrayLike, outcome: ArrayLike, first: ArrayLike) -> Flagged:
    """Return by rater how often they prefer the first place, of their decided answers.

    Arrays of length n; `outcome` is 0 for a tie, `first` the outcome that means the first place,
    -1 or 1. Raters without a decided answer are left out. Flagged below one chance in a thousand.
    """
    rows = pd.DataFrame(
        {"rater": np.asarray(rater).astype(str), "outcome": np.asarray(outcome, dtype=float)}
    )
    rows["is_first"] = rows.outcome == np.asarray(first, dtype=float)
    by = rows[rows.outcome != 0].groupby("rater").is_first.agg(["sum", "count"])
    places: Flagged = {}
    for name, hits, count in zip(by.index, by["sum"], by["count"], strict=True):
        figure = wilson_share(int(hits), int(count), name="share_of_first_place")
        places[str(name)] = figure, _find_side(figure, int(hits), int(count))
    return places


def _find_side(figure: Figure, hits: int, count: int) -> Flag | None:
    if stats.binomtest(hits, count).pvalue >= UNLIKELY:
        return None
    is_first = 2 * hits > count
    place = "first" if is_first else "second"
    # the threshold as a share: the most that is still likely
    most = int(stats.binom.isf(UNLIKELY / 2, count, 0.5))
    threshold = (most if is_first else count - most) / count
    return Flag(code="one_place", figure=figure, threshold=threshold, limits=(),
                facts={"place": place, "answers": count})  # fmt: skip


def count_circles(
    *, rater: ArrayLike, unit: ArrayLike, first: ArrayLike, second: ArrayLike, outcome: ArrayLike
) -> Flagged:  # fmt: skip
    """Return by rater the share of answered triples that go in a circle: A over B, B over C, C
    over A.

    Arrays of length n: `unit`, what the answers of a circle have in common; the systems; the
    outcome, -1 where the first is preferred, 0 for a tie, 1 for the second. Raters without an
    answered triple are left out. Flagged above 95% of the raters with 20 triples or more, if there
    are five of them; a study can't change that.
    """
    systems, codes = np.unique(
        np.concatenate([np.asarray(first).astype(str), np.asarray(second).astype(str)]),
        return_inverse=True,
    )
    rows = pd.DataFrame({"rater": np.asarray(rater).astype(str), "unit": np.asarray(unit)})
    rows["first"], rows["second"] = np.split(codes, 2)
    rows["outcome"] = -np.asarray(outcome, dtype=float)
    figures = {}
    for name, answers in rows.groupby("rater"):
        figure = circular_triads(
            pd.factorize(answers.unit)[0], answers["first"].to_numpy(),
            answers["second"].to_numpy(), answers.outcome.to_numpy(), len(systems),
        )  # fmt: skip
        if figure.value is not None:
            figures[str(name)] = figure
    return _flag_circles(figures)


def _flag_circles(figures: dict[str, Figure]) -> Flagged:
    enough = [figure.value for figure in figures.values() if figure.n["triples"] >= LEAST_TRIPLES]
    circles: Flagged = {name: (figure, None) for name, figure in figures.items()}
    if len(enough) < _LEAST_RATERS:
        return circles
    threshold = float(np.quantile([value or 0.0 for value in enough], START.change_quantile))
    for name, figure in figures.items():
        if figure.n["triples"] >= LEAST_TRIPLES and (figure.value or 0.0) > threshold:
            counts = {key: figure.n[key] for key in ("circular", "triples")}
            flag = Flag(code="circles", figure=figure, threshold=threshold, limits=(), facts=counts)
            circles[name] = figure, flag
    return circles


# --- columns and flags of each rater --------------------------------------------------


# parts whose columns lists of people show
_OF_LISTS = ("", "scale", "preference")


@dataclass
class RaterTable:
    """All raters by name, each with figures and flags, and the columns that show them.

    `pool`: by column, the figure of all raters together, where there is one.
    """

    raters: dict[str, dict[str, Any]]
    limits: Thresholds = START
    columns: list[dict[str, Any]] = field(default_factory=list)
    pool: dict[str, Figure] = field(default_factory=dict)

    def add_column(
        self, name: str, *, key: str = "", criterion: str = "", part: str = "", has_n: bool = False
    ) -> None:
        """Add a column of figures; `key`: where rows have them, if not under the name.

        `criterion`: the label of the one it is of, if there are several; `part`: the code of the
        table it is in; `has_n`: cells show n.
        """
        self.columns.append(
            {"key": key or name, "name": name, "criterion": criterion, "part": part,
             "has_n": has_n, "is_detail": part not in _OF_LISTS}
        )  # fmt: skip

    def add(self, rater: str, key: str, figure: Figure) -> None:
        if rater in self.raters:
            self.raters[rater]["figures"][key] = figure

    def raise_flag(self, rater: str, flag: Flag | None, criterion: str = "") -> None:
        """Add a flag; `criterion` is the label of what it is about, if there are several."""
        if flag is None or rater not in self.raters:
            return
        limits = self.limits
        self.raters[rater]["flags"].append(
            {
                "code": flag.code,
                "facts": dict(flag.facts),
                "criterion": criterion,
                "figure": flag.figure,
                "threshold": flag.threshold,
                # the study chose this threshold itself
                "is_own": any(getattr(limits, key) != getattr(START, key) for key in flag.limits),
            }
        )

    def to_report(self) -> dict[str, Any]:
        """Return columns and rows, without the columns in which no rater has a value."""
        known = {
            key
            for row in self.raters.values()
            for key, figure in row["figures"].items()
            if figure.value is not None
        }
        columns = [column for column in self.columns if column["key"] in known]
        return {"columns": columns, "rows": list(self.raters.values()), "pool": self.pool}


def add_reserved(
    table: Table,
    instrument: Sequence[Mapping[str, Any]],
    rows: Mapping[str, Sequence[RaterRow]],
    rater_table: RaterTable,
) -> None:
    """Add the share of reserved points by rater and criterion, and of all raters together.

    `rows`: by key of each criterion, what its raters did.
    """
    for criterion in instrument:
        points = [float(point) for point in criterion.get("reserved", ())]
        values = table.of(str(criterion["key"])).rows.value.dropna()
        if not points or not len(values):
            continue
        key = f"{criterion['key']}: share_reserved"
        rater_table.add_column(
            "share_reserved", key=key, criterion=str(criterion["label"]), part="reserved",
            has_n=True,
        )  # fmt: skip
        for row in rows[str(criterion["key"])]:
            rater_table.add(row.rater, key, row.figures["share_reserved"])
        share = float(values.isin(points).mean())
        rater_table.pool[key] = Figure(
            name="share_reserved", method="share_of_reserved", value=share,
            n={"ratings": len(values)}, details={"interval": "describes_behaviour"},
        )  # fmt: skip


def add_family_columns(
    instrument: Sequence[Mapping[str, Any]],
    rows: Mapping[str, Sequence[RaterRow]],
    rater_table: RaterTable,
) -> None:
    """Add the columns that only one family has, such as how raters use magnitudes, in a part for
    each criterion."""
    rated = [criterion for criterion in instrument if str(criterion["key"]) in rows]
    families = [find_family(criterion).name for criterion in rated]
    for criterion in rated:
        family = find_family(criterion)
        label = "" if families.count(family.name) == 1 else str(criterion["label"])
        for name in family.rater_columns:
            key = f"{criterion['key']}: {name}"
            rater_table.add_column(name, key=key, criterion=label, part=family.name)
            for row in rows[str(criterion["key"])]:
                if name in row.figures:
                    rater_table.add(row.rater, key, row.figures[name])


def add_preferences(table: Table, rater_table: RaterTable) -> None:
    """Add each rater's ties, preferred place and circles, over all criteria."""
    rows = table.rows[table.rows.outcome.notna()]
    if not len(rows):
        return
    for name in ("tie_share", "first_share", "circular_share"):
        rater_table.add_column(name, part="preference", has_n=True)
    placed = rows[(rows.shown_first == rows.system_1) | (rows.shown_first == rows.system_2)]
    # answers to one input by one criterion can go in a circle
    unit = rows.criterion + "\0" + rows.group
    checked = {
        "tie_share": check_tie_use(rater=rows.participant, outcome=rows.outcome),
        "first_share": count_chosen_places(
            rater=placed.participant,
            outcome=placed.outcome,
            first=np.where(placed.shown_first == placed.system_1, -1.0, 1.0),
        ),
        "circular_share": count_circles(
            rater=rows.participant, unit=unit, first=rows.system_1, second=rows.system_2,
            outcome=rows.outcome,
        ),
    }  # fmt: skip
    for key, raters in checked.items():
        for rater, (figure, flag) in raters.items():
            rater_table.add(rater, key, figure)
            rater_table.raise_flag(rater, flag)


def add_repeats(
    passes: pd.DataFrame, instrument: Sequence[Mapping[str, Any]], rater_table: RaterTable
) -> None:
    """Add how often each rater gives the same answer again, how far off they are, and a flag for
    those who change most."""
    for criterion in instrument:
        rows = passes[passes.criterion == criterion["key"]]
        if not len(rows):
            continue
        numbers = get_numbers(find_family(criterion))
        compared = compare_passes(rows, numbers.repeat_level)
        criterion_label = str(criterion["label"]) if len(instrument) > 1 else ""
        names = ["exact"]
        if numbers.change:
            names.append(numbers.change)
            flags = flag_changes(compared, name=numbers.change, limits=rater_table.limits)
            for rater, flag in flags.items():
                rater_table.raise_flag(rater, flag, criterion_label)
        for name in names:
            key = f"{criterion['key']}: {name}"
            rater_table.add_column(
                name, key=key, criterion=criterion_label, part="repeats", has_n=name == "exact",
            )  # fmt: skip
            for rater, figures in compared.items():
                rater_table.add(rater, key, figures[name])


def add_problems(annotations: pd.DataFrame | None, rater_table: RaterTable) -> None:
    """Add how many items each rater reported instead of rating them, if anybody did."""
    if annotations is None or not (annotations.outcome == "reported").any():
        return
    main = annotations[annotations.kind == "main"]
    by = (main.outcome == "reported").groupby(main.participant).agg(["sum", "count"])
    rater_table.add_column("reported", part="problems", has_n=True)
    for rater, number, count in zip(by.index, by["sum"], by["count"], strict=True):
        details = {"interval": "describes_behaviour"}
        figure = Figure(name="reported", method="count_of_items", value=float(number),
                        n={"items": int(count)}, details=details)  # fmt: skip
        rater_table.add(str(rater), "reported", figure)


# --- the part of the report -----------------------------------------------------------


_OF_SCALE = ("spearman", "offset", "top_share")
# with several criteria, the table shows only what can be compared; the rest shows in flags
_OF_EACH = ("spearman",)
_USUAL_WIDTH = 6  # of seven points
_OF_PAGES = ("median_seconds", "speed_ratio", "share_under_floor")


def report_raters(
    table: Table, files: Mapping[str, pd.DataFrame], instrument: Sequence[Mapping[str, Any]],
    limits: Thresholds = START, *, with_repeats: Table | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return a row for each rater with figures and flags; no rows where raters are unknown.

    `files`: annotations, the exported file of that name, which says how checks were answered and
    what was reported; words, how many each text of an item has. `limits`: where figures become
    flags. `with_repeats`: the table with hidden repeats, which never count in results.
    """
    if not table.raters_known or not len(table):
        return {"columns": [], "rows": [], "pool": {}}
    rater_table = RaterTable(
        raters={
            str(name): {"participant": name, "n": int(number), "figures": {}, "flags": []}
            for name, number in sorted(table.rows.groupby("participant").size().items())
        },
        limits=limits,
    )
    answers = table.rows.groupby("participant")["item"].nunique().to_dict()
    _add_pace(table, files.get("words"), answers, rater_table)
    _add_checks(files.get("annotations"), rater_table)
    rated = [criterion for criterion in instrument if find_family(criterion).is_scored]
    is_only = len(rated) == 1
    rows = {
        str(criterion["key"]): _add_criterion(table, criterion, rater_table, is_only=is_only)
        for criterion in rated
    }
    for rater, flags in flag_answers(list(rows.values()), answers, limits).items():
        for flag in flags:
            rater_table.raise_flag(rater, flag)
    on_points = [criterion for criterion in rated if find_family(criterion).has_points]
    if len(on_points) > 1:
        is_on_points = table.rows.criterion.isin([str(criterion["key"]) for criterion in on_points])
        ratings = Table(rows=table.rows[is_on_points], raters_known=table.raters_known)
        for rater, flag in flag_sameness(ratings, rater_table.limits).items():
            rater_table.raise_flag(rater, flag)
    add_reserved(table, on_points, rows, rater_table)
    add_family_columns(rated, rows, rater_table)
    add_preferences(table, rater_table)
    if with_repeats is not None and (with_repeats.rows.kind == "repeat").any():
        add_repeats(find_passes(with_repeats), instrument, rater_table)
    add_problems(files.get("annotations"), rater_table)
    return rater_table.to_report()


def _add_pace(
    table: Table, words: pd.DataFrame | None, answers: Mapping[str, int], rater_table: RaterTable
) -> None:
    """Add how long each rater takes for a page, and a flag if that is too short to read it.

    `words`: how many each text of each item has.
    """
    timed = table.rows[table.rows.seconds.notna()]
    timed = timed.drop_duplicates(["participant", "item"])
    if not len(timed):
        return
    read = None if words is None else _count_read(timed, words)
    described = describe_pace(rater=timed.participant, seconds=timed.seconds, words=read)
    for name in _OF_PAGES:
        rater_table.add_column(name)
    for rater, figures in described.items():
        for key in _OF_PAGES:
            if key in figures:
                rater_table.add(rater, key, figures[key])
        rater_table.raise_flag(rater, see_speed(figures, answers[rater], rater_table.limits))


def _count_read(pages: pd.DataFrame, words: pd.DataFrame) -> Any:
    """Return how many words on each page are new to its rater; missing where there are none, or
    where that isn't known."""
    words = words[words.groupby("item").words.transform("sum") > 0]
    shown = pages[["participant", "item"]].assign(page=range(len(pages)), order=find_order(pages))
    shown = shown.merge(words, on="item").sort_values("order", kind="stable")
    shown["words"] = shown.words.where(~shown.duplicated(["participant", "text"]), 0.0)
    return shown.groupby("page").words.sum().reindex(range(len(pages))).to_numpy()


def _add_checks(annotations: pd.DataFrame | None, rater_table: RaterTable) -> None:
    """Add how many gold and attention items each rater answered right."""
    if annotations is None:
        return
    checks = annotations[
        annotations.kind.isin(["gold", "attention"]) & (annotations.gold_agrees != "")
    ]
    checks = checks[checks.participant.isin(list(rater_table.raters))]
    if not len(checks):
        return
    is_right = checks.gold_agrees == "yes"
    rater_table.add_column("gold_share")
    judged = check_gold(rater=checks.participant, is_right=is_right, limits=rater_table.limits)
    for rater, (figure, flag) in judged.items():
        rater_table.add(rater, "gold_share", figure)
        rater_table.raise_flag(rater, flag)


def _add_criterion(
    table: Table, criterion: Mapping[str, Any], rater_table: RaterTable, *, is_only: bool
) -> list[RaterRow]:
    """Add figures and flags of a criterion, its columns named for it if there are several; return
    what each rater did."""
    points = [float(answer["value"]) for answer in criterion["answers"]] or None
    least, most = criterion.get("minimum"), criterion.get("maximum")
    if points:
        least, most = min(points), max(points)
    scale = Scale(
        points=points,
        ends=None if least is None or most is None else (float(least), float(most)),
        reserved=[float(point) for point in criterion.get("reserved", ())],
        is_log=find_family(criterion).is_log,
    )
    limits = _widen(rater_table.limits, criterion)
    rows = check_raters(table.of(str(criterion["key"])), scale, limits)
    about = "" if is_only else str(criterion["label"])
    for name in _OF_SCALE if is_only else _OF_EACH:
        key = name if is_only else f"{criterion['key']}: {name}"
        rater_table.add_column(name, key=key, criterion=about, part="scale")
        for row in rows:
            if name in row.figures:
                rater_table.add(row.rater, key, row.figures[name])
    for row in rows:
        for flag in row.flags:
            rater_table.raise_flag(row.rater, flag, about)
    return rows


def _widen(limits: Thresholds, criterion: Mapping[str, Any]) -> Thresholds:
    """Return the limits with drift, which is in points, fitted to a scale without labels."""
    ends = criterion.get("minimum"), criterion.get("maximum")
    if criterion["answers"] or None in ends or not find_family(criterion).has_points:
        return limits
    wider = (ends[1] - ends[0]) / _USUAL_WIDTH  # type: ignore[operator]
    return replace(limits, drift=limits.drift * max(wider, 1.0))


def report_copies(table: Table) -> dict[str, Any]:
    """Return the pairs of raters whose answers look copied, as `find_copied` does."""
    rows = table.rows if table.raters_known else table.rows[:0]
    copied = find_copied(
        unit=rows.output,
        rater=rows.participant,
        criterion=rows.criterion,
        value=rows.preferred.where(rows.preferred != "", rows.value.astype(str)),
    )
    names = ("raters", "pairs", "pairs_compared", "can_be_seen", "most_shared", "alike")
    return {name: copied[name] for name in names}


def warn_of_copies(copied: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a warning of copied answers, without names, since reports are shared."""
    if alike := copied["alike"]:
        equal = alike["outputs"] - alike["unequal"]
        return [make_note("both_alike", equal=equal, outputs=alike["outputs"])]
    if not copied["pairs"]:
        return []
    pair = copied["pairs"][0]
    equal, number = pair["outputs"] - pair["unequal"], len(copied["pairs"])
    return [
        make_note(
            "copied", pairs=number, equal=equal, outputs=pair["outputs"], shares=pair["others"]
        )
    ]


def report_repeats(
    with_repeats: Table, instrument: Sequence[Mapping[str, Any]]
) -> list[Figure] | None:
    """Compare both passes of all raters, by criterion; None if nothing was shown twice.

    `with_repeats`: the table with hidden repeats, which never count in results.
    """
    passes = find_passes(with_repeats)
    if not len(passes):
        return None
    figures: list[Figure] = []
    for criterion in instrument:
        rows = passes[passes.criterion == criterion["key"]]
        if not len(rows):
            continue
        compared = get_numbers(find_family(criterion)).compare_repeats(rows)
        figures += [
            replace(figure, name=name, group=(("criterion", str(criterion["key"])),))
            for name, figure in compared.items()
        ]
    return figures
