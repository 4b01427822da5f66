"""Options for comparison with other papers: the ratings that they use, and the figures they
print."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.agreement import icc_in_file_order
from evalsite.analysis.figure import make_note
from evalsite.analysis.ratings import Table

# a rating of one output by one rater
_RATING = ["participant", "output", "criterion", "part", "turn"]


def add_printed(parser: ArgumentParser) -> None:
    group = parser.add_argument_group(
        "as other papers print it", "For comparison with other papers; the results don't need them."
    )
    add = group.add_argument
    add("--other-papers", action="store_true", help="also show raw means and those of ln and "
        "ln(1 + x) of magnitudes, linear kappa, Pearson's r of raters, Dawid-Skene; JSON always "
        "has them")  # fmt: skip
    add("--file-order", action="store_true", help="also show the intraclass correlations of "
        "columns in file order; of magnitudes those of ln and ln(1 + x) too")  # fmt: skip
    add("--first", type=_parse_count, metavar="K", help="analyse the first K ratings of each "
        "output, in the order of the file")  # fmt: skip
    add("--rater", action="append", default=[], metavar="NAME", help="analyse the ratings of this "
        "participant only; give it twice for a pair")  # fmt: skip


def _parse_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ArgumentTypeError("Write a whole number from 1.")
    return int(text)


def select_ratings(table: Table, options: Namespace) -> Table:
    """Return the ratings that the options name; ValueError if a rater has none."""
    if options.rater:
        table = _keep_raters(table, options.rater)
    return _keep_first(table, options.first, options.with_excluded) if options.first else table


def _keep_raters(table: Table, names: list[str]) -> Table:
    known = sorted(set(table.rows.participant))
    if unknown := [name for name in names if name not in known]:
        shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
        raise ValueError(f"No participant is called {unknown[0]}. There are: {shown}.")
    rows, silent = table.rows, table.silent
    rows = rows[rows.participant.isin(names)]
    if silent is not None:
        silent = silent[silent.participant.isin(names)]
    note = make_note("only_raters", raters=[*names])
    return replace(table, rows=rows, silent=silent, notes=(*table.notes, note))


def _keep_first(table: Table, first: int, with_excluded: bool) -> Table:
    """Return the first ratings of each output that count; a rater's later ones go as well."""
    counted = table.results(with_excluded=with_excluded).rows
    later = counted[counted.groupby(_RATING[1:]).cumcount() >= first]
    rows = table.rows
    gone = pd.MultiIndex.from_frame(rows[_RATING]).isin(pd.MultiIndex.from_frame(later[_RATING]))
    kept = replace(table, rows=rows[~(gone & (rows.kind == "main"))])
    note = make_note("only_first_ratings", first=first, left_out=len(later))
    return replace(kept, notes=(*kept.notes, note))


def correlate_in_file_order(table: Table, *, is_log: bool) -> list[dict[str, Any]]:
    """Return the correlations of the 1st, 2nd, ... rating of each output.

    `is_log`: the values are magnitudes, so the correlations of ln and ln(1 + x) follow.
    """
    rows = table.rows[table.rows.value.notna()]
    value = rows.value.to_numpy(dtype=np.float64)
    forms = {"": value}
    if is_log:
        forms |= {"log": np.log(value), "log1p": np.log1p(value)}
    return [
        replace(figure, group=(*figure.group, *((("of", form),) if form else ()))).to_dict()
        for form, values in forms.items()
        for figure in icc_in_file_order(unit=rows.output, value=values).values()
    ]
