"""Which two systems a preference compares, and which of them it prefers."""

import numpy as np
import pandas as pd

TIE = "tie"
_OUTCOMES = {"1": -1.0, TIE: 0.0, "2": 1.0}
_ENDING = r"[-_.:/#]([^-_.:/#]+)$"
_ENOUGH = 20  # decided answers for each ending, before ids are believed to tell the pair
_SIDES = ("system_1", "system_2")
# words for the first and the second of a pair, which are no names of systems
_PLACES = {"1": 0, "first": 0, "system_1": 0, "2": 1, "second": 1, "system_2": 1}
_PLACES_ON_SCREEN = {"left", "right"}
Pair = tuple[str, str]


def find_outcomes(
    rows: pd.DataFrame, text: pd.DataFrame, outputs: pd.DataFrame | None
) -> list[str]:
    """Gives `rows` of a table their `outcome`, and `preferred` a system's name or a tie.

    `text`: the file as it stands. `outputs`: item and system, if given; group and cluster are
    taken over. Where the pairs of some items stay unknown no row has an outcome: those with a
    known pair are the decided ones, and would tell too few ties. Columns system_1 and system_2 of
    the file name the pair before anything else does; then preferred may be first or second, too.
    Returns notes, plain sentences. ValueError: an item compares more than two systems, or prefers
    one it does not compare, or a place that no system is known of.
    """
    rows["outcome"] = np.nan
    if "outcome" in text:  # as the site exports it
        found = text["outcome"].map(_OUTCOMES).to_numpy(dtype=float)
        rows["outcome"] = found
        rows.loc[~np.isnan(found) & (rows.preferred == "").to_numpy(), "preferred"] = TIE
        return []
    if "preferred" not in text:
        return []
    rows["preferred"] = rows.preferred.str.strip()
    tied = rows.preferred.str.casefold() == TIE
    rows.loc[tied, "preferred"] = TIE
    notes: list[str] = []
    if _names_systems(rows):
        _read_sides(rows)
    else:
        pairs, notes = _find_pairs(rows, outputs)
        for place, name in enumerate(_SIDES):
            rows[name] = [pairs.get(item, ("", ""))[place] for item in rows["item"]]
    if outputs is not None:
        _take_groups(rows, outputs)
    lost = rows.loc[(rows.system_1 == "") & (rows.preferred != ""), "item"].nunique()
    if lost:
        return [
            f"Which two systems {lost} items compare is not known, so none are compared. Give the "
            "file of the items, with columns item and system, or name both in columns system_1 "
            "and system_2."
        ]
    _refuse_strangers(rows)
    outcome = np.where(tied, 0.0, np.where(rows.preferred == rows.system_2, 1.0, -1.0))
    rows["outcome"] = np.where(rows.preferred == "", np.nan, outcome)
    return notes


def _names_systems(rows: pd.DataFrame) -> bool:
    """Whether the file itself names both systems; ValueError where only some rows do."""
    named = (rows.system_1.str.strip() != "") & (rows.system_2.str.strip() != "")
    if not ((rows.system_1 != "") | (rows.system_2 != "")).any():
        return False
    gone = rows[~named & (rows.preferred != "")]
    if len(gone):
        raise ValueError(f"Row {gone.iloc[0].row}: name both systems, system_1 and system_2.")
    return True


def _read_sides(rows: pd.DataFrame) -> None:
    """Gives each row its two systems in order of their names, and the name that it prefers."""
    given = [rows[name].str.strip() for name in _SIDES]
    place = rows.preferred.str.casefold().map(_PLACES)
    is_name = (rows.preferred == given[0]) | (rows.preferred == given[1])
    for number, names in enumerate(given):
        rows["preferred"] = rows.preferred.where(is_name | (place != number), names)
    if (given[0] == given[1]).any():
        row = rows[given[0] == given[1]].iloc[0]
        raise ValueError(f"Row {row.row}: {row.system_1} is compared with itself.")
    is_turned = given[0] > given[1]
    rows["system_1"] = given[0].where(~is_turned, given[1])
    rows["system_2"] = given[1].where(~is_turned, given[0])
    pairs = rows.drop_duplicates(["item", *_SIDES])
    if (double := pairs["item"].duplicated()).any():
        raise ValueError(f"Item {pairs['item'][double].iloc[0]} compares more than two systems.")


def _refuse_places(decided: pd.DataFrame) -> None:
    """ValueError where what is preferred is a place on the page, and no system."""
    words = set(decided.preferred.str.casefold())
    if not words or not words <= {*_PLACES, *_PLACES_ON_SCREEN}:
        return
    first = decided.iloc[0]
    raise ValueError(
        f"Row {first.row}: preferred is {first.preferred}, a place and no system. Write the name "
        "of the preferred system, or name both in columns system_1 and system_2 (then preferred "
        "may be first, second or tie)."
    )


def _refuse_strangers(rows: pd.DataFrame) -> None:
    known = rows.preferred.isin(["", TIE])
    known |= (rows.preferred == rows.system_1) | (rows.preferred == rows.system_2)
    if not known.all():
        first = rows[~known].iloc[0]
        raise ValueError(
            f"Row {first.row}: item {first['item']} compares {first.system_1} and "
            f"{first.system_2}, not {first.preferred}."
        )


def _find_pairs(
    rows: pd.DataFrame, outputs: pd.DataFrame | None
) -> tuple[dict[str, Pair], list[str]]:
    """The two systems of each compared item, sorted; only where both are known. And notes."""
    if outputs is not None:
        for name in ("item", "system"):
            if name not in outputs:
                raise ValueError(f"The file of the items has no column {name}.")
        return _pair_up(outputs.groupby("item").system.unique()), []
    decided = rows[(rows.preferred != "") & (rows.preferred != TIE)]
    _refuse_places(decided)
    everywhere = sorted(decided.preferred.unique())
    if len(everywhere) == 2:
        return dict.fromkeys(rows["item"].unique(), (everywhere[0], everywhere[1])), []
    named = _pair_up(decided.groupby("item").preferred.unique())
    by_ending = _split_by_ending(rows, decided)
    if len(named) == rows["item"].nunique() or not by_ending:
        return named, []
    note = (
        "Which two systems an item compares was told by how its id ends: "
        + "; ".join(f"{ending} is {one} and {two}" for ending, (one, two) in by_ending.items())
        + "."
    )
    ending = rows["item"].str.extract(_ENDING, expand=False)
    return {item: by_ending[end] for item, end in zip(rows["item"], ending, strict=True)}, [note]


def _pair_up(named: pd.Series) -> dict[str, Pair]:
    found = {}
    for item, names in named.items():
        if len(names) > 2:
            raise ValueError(f"Item {item} compares more than two systems.")
        if len(names) == 2:
            one, two = sorted(names)
            found[str(item)] = (one, two)
    return found


def _split_by_ending(rows: pd.DataFrame, decided: pd.DataFrame) -> dict[str, Pair]:
    """The pair of each ending of ids, such as -1 and -2; {} unless all endings tell it plainly."""
    endings = rows["item"].str.extract(_ENDING, expand=False)
    if endings.isna().any():
        return {}
    by = decided.preferred.groupby(endings[decided.index])
    named, number = by.unique(), by.size()
    if set(named.index) != set(endings) or (number < _ENOUGH).any():
        return {}
    if any(len(names) != 2 for names in named):
        return {}
    return _pair_up(named)


def _take_groups(rows: pd.DataFrame, outputs: pd.DataFrame) -> None:
    """Groups and clusters from the file of the items."""
    first = outputs.drop_duplicates("item").set_index("item")
    for name in ("group", "cluster"):
        if name in first:
            given = rows["item"].map(first[name].astype(object)).fillna("")
            rows[name] = given.where(given != "", rows[name])
    rows["block"] = rows.cluster.where(rows.cluster != "", rows.group)
