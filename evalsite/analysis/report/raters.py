"""The part of a report on raters: what each did, and what is worth a look. Nobody is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from evalsite.analysis.behaviour import describe_pace
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import Figure
from evalsite.analysis.flags import (
    RaterRow,
    check_gold,
    check_raters,
    find_order,
    flag_sameness,
    see_speed,
)
from evalsite.analysis.intra_rater import find_passes
from evalsite.analysis.report.rater_parts import (
    Found,
    add_family_columns,
    add_preferences,
    add_problems,
    add_repeats,
    add_reserved,
)
from evalsite.analysis.table import Table
from evalsite.analysis.thresholds import START, Thresholds

SCALE = "Use of the scale"
_LABELS = {
    "spearman": "Order beside others",
    "offset": "Above others by",
    "top_share": "Most used value",
}
# of several criteria the table has what can be compared; the rest shows where it is flagged
_OF_EACH = ("spearman",)
_USUAL_WIDTH = 6  # of seven points
_OF_PAGES = {
    "median_seconds": "Median seconds",
    "speed_ratio": "Pace beside others",
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
    _add_pace(table, others.get("words"), found)
    _add_checks(others.get("annotations"), found)
    rated = [one for one in instrument if find_family(one).is_scored]
    rows = {
        str(one["key"]): _add_criterion(table, one, found, is_only=len(rated) == 1) for one in rated
    }
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


def _add_pace(table: Table, words: pd.DataFrame | None, found: Found) -> None:
    """How long each rater takes for a page, and whether that is enough to read it.

    `words`: by item, those of the outputs and of the inputs, which are read once by a rater who
    sees several items of a group.
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
        found.raise_flag(rater, see_speed(figures, found.limits))


def _count_read(pages: pd.DataFrame, words: pd.DataFrame) -> Any:
    """Of each page how many words on it are new to its rater; missing where that is not known."""
    pages = pages.assign(order=find_order(pages))
    again = pages.sort_values("order").duplicated(["participant", "group"]).reindex(pages.index)
    known = words.reindex(pages["item"])
    return known.outputs.to_numpy() + known.inputs.where(~again.to_numpy(), 0).to_numpy()


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
    raters = check_raters(
        table.of(str(described["key"])),
        scale=scale,
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
            if flag.code != "speeder":  # it is of pages, whatever is asked there
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
