"""What raters did, part by part: the columns of a part, with figures and flags for each rater.

A part is a table of its own; the one without a name has what can be seen of any study.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import Figure
from evalsite.analysis.flags import Flag, flag_changes
from evalsite.analysis.intra_rater import compare_passes
from evalsite.analysis.side_preference import count_chosen_places, count_circles
from evalsite.analysis.table import Table
from evalsite.analysis.thresholds import START, Thresholds
from evalsite.analysis.tie_use import check_tie_use

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
                "text": flag.text,
                "criterion": criterion,
                "figure": flag.figure,
                "threshold": flag.threshold,
                # the study drew this line itself
                "is_own": any(getattr(limits, key) != getattr(START, key) for key in flag.limits),
            }
        )

    def to_report(self) -> dict[str, Any]:
        """Only columns in which somebody has a figure with a value."""
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
