"""The part of a report on raters: what each did, and which of it to check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from evalsite.analysis.behaviour import describe_pace
from evalsite.analysis.binary_tests import wilson_share
from evalsite.analysis.copied import find_copied
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import Figure, make_note
from evalsite.analysis.flag_rules import UNLIKELY
from evalsite.analysis.flags import (
    Flag,
    RaterRow,
    check_gold,
    check_raters,
    check_tie_use,
    find_order,
    flag_answers,
    flag_changes,
    flag_sameness,
    see_speed,
)
from evalsite.analysis.intra_rater import compare_passes, find_passes
from evalsite.analysis.pair_checks import circular_triads
from evalsite.analysis.table import Table
from evalsite.analysis.thresholds import START, Thresholds

# --- preferences of single raters -----------------------------------------------------
LEAST_TRIPLES = 20  # of a rater; fewer say little, as for other shares
_LEAST_RATERS = 5
Looked = dict[str, tuple[Figure, Flag | None]]


def count_chosen_places(*, rater: ArrayLike, outcome: ArrayLike, first: ArrayLike) -> Looked:
    """Of each rater by name how often they prefer the first place, of decided answers.

    Arrays of length n; `outcome` is 0 for a tie, `first` the outcome that means the first place,
    -1 or 1. Who has no decided answer is left out. Flagged below one chance in a thousand.
    """
    rows = pd.DataFrame(
        {"rater": np.asarray(rater).astype(str), "outcome": np.asarray(outcome, dtype=float)}
    )
    rows["is_first"] = rows.outcome == np.asarray(first, dtype=float)
    by = rows[rows.outcome != 0].groupby("rater").is_first.agg(["sum", "count"])
    found: Looked = {}
    for name, own, count in zip(by.index, by["sum"], by["count"], strict=True):
        figure = wilson_share(int(own), int(count), name="share_of_first_place")
        found[str(name)] = figure, _find_side(figure, int(own), int(count))
    return found


def _find_side(figure: Figure, own: int, count: int) -> Flag | None:
    if stats.binomtest(own, count).pvalue >= UNLIKELY:
        return None
    is_first = 2 * own > count
    place = "first" if is_first else "second"
    # the line as a share: the most that is still likely; flagged beyond it
    most = int(stats.binom.isf(UNLIKELY / 2, count, 0.5))
    line = (most if is_first else count - most) / count
    return Flag(code="one_place", figure=figure, threshold=line, limits=(),
                facts={"place": place, "answers": count})  # fmt: skip


def count_circles(
    *, rater: ArrayLike, unit: ArrayLike, first: ArrayLike, second: ArrayLike, outcome: ArrayLike
) -> Looked:  # fmt: skip
    """Of each rater by name the share of answered triples that go in a circle: A over B, B over C,
    C over A. Who answered none is left out.

    Arrays of length n: `unit`, what the answers of a circle have in common; the systems; the
    outcome, -1 where the first is preferred, 0 for a tie, 1 for the second. Flagged above 95% of
    raters, of those with 20 triples, if there are five; a study cannot set that.
    """
    systems, codes = np.unique(
        np.concatenate([np.asarray(first).astype(str), np.asarray(second).astype(str)]),
        return_inverse=True,
    )
    rows = pd.DataFrame({"rater": np.asarray(rater).astype(str), "unit": np.asarray(unit)})
    rows["first"], rows["second"] = np.split(codes, 2)
    rows["outcome"] = -np.asarray(outcome, dtype=float)
    figures = {}
    for name, own in rows.groupby("rater"):
        figure = circular_triads(
            pd.factorize(own.unit)[0], own["first"].to_numpy(), own["second"].to_numpy(),
            own.outcome.to_numpy(), len(systems),
        )  # fmt: skip
        if figure.value is not None:
            figures[str(name)] = figure
    return _flag_circles(figures)


def _flag_circles(figures: dict[str, Figure]) -> Looked:
    enough = [one.value for one in figures.values() if one.n["triples"] >= LEAST_TRIPLES]
    found: Looked = {name: (figure, None) for name, figure in figures.items()}
    if len(enough) < _LEAST_RATERS:
        return found
    line = float(np.quantile([value or 0.0 for value in enough], START.change_quantile))
    for name, figure in figures.items():
        if figure.n["triples"] >= LEAST_TRIPLES and (figure.value or 0.0) > line:
            counts = {key: figure.n[key] for key in ("circular", "triples")}
            flag = Flag(code="circles", figure=figure, threshold=line, limits=(), facts=counts)
            found[name] = figure, flag
    return found


# --- columns and flags of each rater --------------------------------------------------
RESERVED = "Points meant to be rare"
PREFERENCES = "Preferences"
REPEATS = "The same items shown twice"
PROBLEMS = "Problems reported"


@dataclass
class Found:
    """All raters by name, each with figures and flags, and the columns that show them.

    `pool`: what all raters together did, in columns that have it.
    """

    raters: dict[str, dict[str, Any]]
    limits: Thresholds = START
    columns: list[dict[str, Any]] = field(default_factory=list)
    pool: dict[str, Figure] = field(default_factory=dict)

    def add_column(
        self, key: str, label: str, *, part: str = "", has_n: bool = False, is_detail: bool = False
    ) -> None:
        """`has_n`: cells say of how many; `is_detail`: lists of people leave it out."""
        self.columns.append(
            {"key": key, "label": label, "part": part, "has_n": has_n, "is_detail": is_detail}
        )

    def add(self, rater: str, key: str, figure: Figure) -> None:
        if rater in self.raters:
            self.raters[rater]["figures"][key] = figure

    def raise_flag(self, rater: str, flag: Flag | None, criterion: str = "") -> None:
        """`criterion`: the label of the one that the flag is about, of several."""
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
                # the study drew this line itself
                "is_own": any(getattr(limits, key) != getattr(START, key) for key in flag.limits),
            }
        )

    def to_report(self) -> dict[str, Any]:
        """Keep only columns in which some rater has a figure with a value."""
        known = {
            key
            for row in self.raters.values()
            for key, figure in row["figures"].items()
            if figure.value is not None
        }
        columns = [column for column in self.columns if column["key"] in known]
        return {"columns": columns, "rows": list(self.raters.values()), "pool": self.pool}


def add_reserved(
    table: Table, instrument: Sequence[Mapping[str, Any]], rows: Mapping[str, Any], found: Found
) -> None:
    """The share of reserved points by rater and criterion, and that of all raters together.

    `rows`: of each criterion by key what its raters did.
    """
    for one in instrument:
        points = [float(point) for point in one.get("reserved", ())]
        values = table.of(str(one["key"])).rows.value.dropna()
        if not points or not len(values):
            continue
        key = f"{one['key']}: share_reserved"
        found.add_column(key, str(one["label"]), part=RESERVED, has_n=True, is_detail=True)
        for row in rows[str(one["key"])]:
            found.add(row.rater, key, row.figures["share_reserved"])
        share = float(values.isin(points).mean())
        phrases = " and ".join(f"{point:g}" for point in points)
        found.pool[key] = Figure(
            name="share_reserved", method=f"share of {phrases}", value=share,
            n={"ratings": len(values)}, details={"interval": "none: it describes what was done"},
        )  # fmt: skip


def add_family_columns(
    instrument: Sequence[Mapping[str, Any]], rows: Mapping[str, Any], found: Found
) -> None:
    """What is shown of raters in one family only, such as how they use magnitudes: a part for each
    criterion."""
    rated = [(one, find_family(one)) for one in instrument if str(one["key"]) in rows]
    families = [family.name for _, family in rated]
    for one, family in rated:
        is_only = families.count(family.name) == 1
        part = family.rater_part if is_only else f"{family.rater_part}: {one['label']}"
        for name, label in family.rater_columns.items():
            key = f"{one['key']}: {name}"
            found.add_column(key, label, part=part, is_detail=True)
            for row in rows[str(one["key"])]:
                if name in row.figures:
                    found.add(row.rater, key, row.figures[name])


def add_preferences(table: Table, found: Found) -> None:
    """Ties, the place preferred and circles of each rater, over all criteria."""
    rows = table.rows[table.rows.outcome.notna()]
    if not len(rows):
        return
    found.add_column("tie_share", "Ties", part=PREFERENCES, has_n=True)
    found.add_column("first_share", "First place preferred", part=PREFERENCES, has_n=True)
    found.add_column("circular_share", "Triples in a circle", part=PREFERENCES, has_n=True)
    placed = rows[(rows.shown_first == rows.system_1) | (rows.shown_first == rows.system_2)]
    # answers to one input by one criterion can go in a circle
    unit = rows.criterion + "\0" + rows.group
    looked = {
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
    for key, raters in looked.items():
        for rater, (figure, flag) in raters.items():
            found.add(rater, key, figure)
            found.raise_flag(rater, flag)


def add_repeats(
    passes: pd.DataFrame, instrument: Sequence[Mapping[str, Any]], found: Found
) -> None:
    """How often each rater says the same again, how far off they are, and who changes most."""
    for one in instrument:
        mine = passes[passes.criterion == one["key"]]
        if not len(mine):
            continue
        numbers = get_numbers(find_family(one))
        compared = compare_passes(
            rater=mine.participant, first=mine["first"], second=mine["second"], draws=0,
            level=numbers.repeat_level,
        )  # fmt: skip
        several = str(one["label"]) if len(instrument) > 1 else ""
        names = {"exact": "Same again"}
        if numbers.change is not None:
            change, column = numbers.change
            names[change] = column
            for rater, flag in flag_changes(compared, name=change, limits=found.limits).items():
                found.raise_flag(rater, flag, several)
        for name, words in names.items():
            key = f"{one['key']}: {name}"
            label = f"{several}: {words.lower()}" if several else words
            found.add_column(key, label, part=REPEATS, has_n=name == "exact", is_detail=True)
            for rater, figures in compared.items():
                found.add(rater, key, figures[name])


def add_problems(annotations: pd.DataFrame | None, found: Found) -> None:
    """How many items each rater reported instead of rating them, where anybody did."""
    if annotations is None or not (annotations.outcome == "reported").any():
        return
    main = annotations[annotations.kind == "main"]
    by = (main.outcome == "reported").groupby(main.participant).agg(["sum", "count"])
    found.add_column("reported", "Items reported", part=PROBLEMS, has_n=True, is_detail=True)
    for rater, number, count in zip(by.index, by["sum"], by["count"], strict=True):
        details = {"interval": "none: it describes what was done"}
        figure = Figure(name="reported", method="count of items reported", value=float(number),
                        n={"items": int(count)}, details=details)  # fmt: skip
        found.add(str(rater), "reported", figure)


# --- the part of the report -----------------------------------------------------------


SCALE = "Use of the scale"
_LABELS = {
    "spearman": "Order compared with others",
    "offset": "Above others by",
    "top_share": "Most used value",
}
# of several criteria the table has what can be compared; the rest shows where it is flagged
_OF_EACH = ("spearman",)
_USUAL_WIDTH = 6  # of seven points
_OF_PAGES = {
    "median_seconds": "Median seconds",
    "speed_ratio": "Pace compared with others",
    "share_under_floor": "Too fast to read",
}


def report_raters(
    table: Table, others: Mapping[str, pd.DataFrame], instrument: Sequence[Mapping[str, Any]],
    limits: Thresholds = START, *, given: Table | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A row for each rater with figures and flags; no rows where raters are unknown.

    `others`: annotations, the exported file of that name, which says how checks were answered and
    what was reported; words, of each item how many its page shows. `limits`: where figures become
    flags. `given`: the table with repeats, which are no results.
    """
    if not table.raters_known or not len(table):
        return {"columns": [], "rows": [], "pool": {}}
    found = Found(
        raters={
            str(name): {"participant": name, "n": int(number), "figures": {}, "flags": []}
            for name, number in sorted(table.rows.groupby("participant").size().items())
        },
        limits=limits,
    )
    answers = table.rows.groupby("participant")["item"].nunique().to_dict()
    _add_pace(table, others.get("words"), answers, found)
    _add_checks(others.get("annotations"), found)
    rated = [one for one in instrument if find_family(one).is_scored]
    rows = {
        str(one["key"]): _add_criterion(table, one, found, is_only=len(rated) == 1) for one in rated
    }
    for rater, flags in flag_answers(list(rows.values()), answers, limits).items():
        for flag in flags:
            found.raise_flag(rater, flag)
    on_points = [one for one in rated if find_family(one).has_points]
    if len(on_points) > 1:
        _add_sameness(table, [str(one["key"]) for one in on_points], found)
    add_reserved(table, on_points, rows, found)
    add_family_columns(rated, rows, found)
    add_preferences(table, found)
    if given is not None and (given.rows.kind == "repeat").any():
        add_repeats(find_passes(given), instrument, found)
    add_problems(others.get("annotations"), found)
    return found.to_report()


def _add_pace(
    table: Table, words: pd.DataFrame | None, answers: Mapping[str, int], found: Found
) -> None:
    """How long each rater takes for a page, and whether that is enough to read it.

    `words`: of each text of each item.
    """
    timed = table.rows[table.rows.seconds.notna()]
    timed = timed.drop_duplicates(["participant", "item"])
    if not len(timed):
        return
    read = None if words is None else _count_read(timed, words)
    described = describe_pace(rater=timed.participant, seconds=timed.seconds, words=read)
    for key, label in _OF_PAGES.items():
        found.add_column(key, label)
    for rater, figures in described.items():
        for key in _OF_PAGES:
            if key in figures:
                found.add(rater, key, figures[key])
        found.raise_flag(rater, see_speed(figures, answers[rater], found.limits))


def _count_read(pages: pd.DataFrame, words: pd.DataFrame) -> Any:
    """Return how many words on each page are new to its rater; missing where it has none, or that
    is not known."""
    words = words[words.groupby("item").words.transform("sum") > 0]
    shown = pages[["participant", "item"]].assign(page=range(len(pages)), order=find_order(pages))
    shown = shown.merge(words, on="item").sort_values("order", kind="stable")
    shown["words"] = shown.words.where(~shown.duplicated(["participant", "text"]), 0.0)
    return shown.groupby("page").words.sum().reindex(range(len(pages))).to_numpy()


def _add_checks(annotations: pd.DataFrame | None, found: Found) -> None:
    """How many of the gold and attention items that were dealt in were answered right."""
    if annotations is None:
        return
    checks = annotations[
        annotations.kind.isin(["gold", "attention"]) & (annotations.gold_agrees != "")
    ]
    checks = checks[checks.participant.isin(list(found.raters))]
    if not len(checks):
        return
    is_right = checks.gold_agrees == "yes"
    found.add_column("gold_share", "Checks answered right")
    judged = check_gold(rater=checks.participant, is_right=is_right, limits=found.limits)
    for rater, (figure, flag) in judged.items():
        found.add(rater, "gold_share", figure)
        found.raise_flag(rater, flag)


def _add_criterion(
    table: Table, described: Mapping[str, Any], found: Found, *, is_only: bool
) -> list[RaterRow]:
    """Figures and flags of one criterion, its columns named for it where there are several; all
    that is known of its raters."""
    scale = [float(answer["value"]) for answer in described["answers"]] or None
    least, most = described.get("minimum"), described.get("maximum")
    if scale:
        least, most = min(scale), max(scale)
    raters = check_raters(
        table.of(str(described["key"])),
        scale=scale,
        ends=None if least is None or most is None else (float(least), float(most)),
        reserved=[float(point) for point in described.get("reserved", ())],
        is_log=find_family(described).is_log,
        limits=_widen(found.limits, described),
    )
    for key in _LABELS if is_only else _OF_EACH:
        column = key if is_only else f"{described['key']}: {key}"
        label = _LABELS[key] if is_only else f"{described['label']}: {_LABELS[key].lower()}"
        found.add_column(column, label, part=SCALE)
        for row in raters:
            if key in row.figures:
                found.add(row.rater, column, row.figures[key])
    criterion = "" if is_only else str(described["label"])
    for row in raters:
        for flag in row.flags:
            found.raise_flag(row.rater, flag, criterion)
    return raters


def _widen(limits: Thresholds, described: Mapping[str, Any]) -> Thresholds:
    """The limits, of which drift is in points, on a scale that is too fine for labels."""
    ends = described.get("minimum"), described.get("maximum")
    if described["answers"] or None in ends or not find_family(described).has_points:
        return limits
    wider = (ends[1] - ends[0]) / _USUAL_WIDTH  # type: ignore[operator]
    return replace(limits, drift=limits.drift * max(wider, 1.0))


def _add_sameness(table: Table, criteria: list[str], found: Found) -> None:
    same = Table(
        rows=table.rows[table.rows.criterion.isin(criteria)], raters_known=table.raters_known
    )
    for rater, flag in flag_sameness(same, found.limits).items():
        found.raise_flag(rater, flag)


def report_copies(table: Table) -> dict[str, Any]:
    """Return the pairs of raters whose answers look copied, as `find_copied` does."""
    rows = table.rows if table.raters_known else table.rows[:0]
    copied = find_copied(
        unit=rows.output,
        rater=rows.participant,
        criterion=rows.criterion,
        value=rows.preferred.where(rows.preferred != "", rows.value.astype(str)),
    )
    return {
        name: copied[name] for name in ("raters", "pairs", "can_be_seen", "most_shared", "alike")
    }


def warn_of_copies(copied: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Warn of the pairs of raters with copied answers, without their names: reports are shared."""
    if alike := copied["alike"]:
        equal = alike["outputs"] - alike["unequal"]
        return [make_note("both_alike", equal=equal, outputs=alike["outputs"])]
    if not copied["pairs"]:
        return []
    pair = copied["pairs"][0]
    equal, number = pair["outputs"] - pair["unequal"], len(copied["pairs"])
    return [
        make_note(
            "copied", pairs=number, equal=equal, outputs=pair["outputs"], others=pair["others"]
        )
    ]


def report_repeats(
    given: Table, instrument: Sequence[Mapping[str, Any]], seed: int
) -> list[Figure] | None:
    """Both passes of all raters compared, by criterion; None where nothing was shown twice.

    `given` holds the repeats, which never count in results.
    """
    passes = find_passes(given)
    if not len(passes):
        return None
    found: list[Figure] = []
    for described in instrument:
        mine = passes[passes.criterion == described["key"]]
        if not len(mine):
            continue
        figures = get_numbers(find_family(described)).compare_repeats(mine, seed)
        found += [
            replace(figure, name=f"{described['label']}: {name.replace('_', ' ')}")
            for name, figure in figures.items()
        ]
    return found
