"""Notes of a report: words to read, warnings, and how figures were computed."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evalsite.analysis.design import count_parts, find_shift, is_suspect
from evalsite.analysis.families import name_unit
from evalsite.analysis.figure import REML, Cautions, make_note
from evalsite.analysis.ratings import Table

# --- words to read --------------------------------------------------------------------
_AT_ONCE = 10_000  # rows; texts may be long
# columns of items.csv that aren't inputs; those of gold begin with gold_
_NO_INPUTS = frozenset({
    "study", "batch", "item", "group", "cluster", "kind", "repeat_of", "held", "output_id",
    "system", "output", "output_is_empty", "extra", "item_no", "group_no",
})  # fmt: skip


def count_words(path: Path) -> pd.DataFrame:
    """Return for each text of each item in an exported items.csv: `item`, `text` (equal texts have
    equal numbers) and `words`.

    Words are separated by spaces: a script without spaces seems to have few words, so nobody
    seems too fast. Without a column output the frame is empty.
    """
    counted = [pd.DataFrame({"item": [], "text": [], "words": []})]
    with pd.read_csv(path, dtype=str, keep_default_na=False, chunksize=_AT_ONCE) as parts:
        counted += [_count(part) for part in parts if "output" in part]
    # each output has a row, which repeats the inputs of its item
    return pd.concat(counted[1:] or counted, ignore_index=True).drop_duplicates(["item", "text"])


def _count(rows: pd.DataFrame) -> pd.DataFrame:
    inputs = [
        name for name in rows.columns if name not in _NO_INPUTS and not name.startswith("gold_")
    ]
    texts = rows.melt(id_vars="item", value_vars=["output", *inputs], value_name="of")
    words = texts.of.map(lambda text: len(text.split())).astype(float)
    numbers = pd.util.hash_array(texts.of.to_numpy(dtype=object))
    return pd.DataFrame({"item": texts["item"], "text": numbers, "words": words})


# --- warnings -------------------------------------------------------------------------
FEW_RATERS = 5  # fewer than this and no method rescues a claim about raters
FEW_ITEMS = 10
FEW_CLUSTERS = 5


def warn_about(table: Table) -> list[dict[str, Any]]:
    """Return the warnings about all of the data."""
    rows = table.rows
    warnings = [
        make_note(origin, ratings=count, total=len(rows))
        for origin in ("simulated", "imported")
        if (count := int((rows.origin == origin).sum()))
    ]
    if not table.raters_known:
        warnings.append(make_note("raters_unknown"))
    clusters = rows[rows.cluster != ""].cluster.nunique()
    if 0 < clusters < FEW_CLUSTERS:
        warnings.append(make_note("few_clusters", clusters=clusters))
    if table.raters_known and count_parts(rows) > 1:
        warnings.append(make_note("unlinked"))
    return warnings


def warn_of_few(parts: Mapping[str, Table]) -> list[dict[str, Any]]:
    """Return warnings of few raters or inputs, by criterion, or of all data if all have few.

    `parts`: the ratings or answers of each criterion that has some.
    """
    few_raters: dict[int, list[str]] = {}
    few_items = []
    for key, part in parts.items():
        raters = part.rows.participant.nunique()
        if part.raters_known and raters < FEW_RATERS:
            few_raters.setdefault(raters, []).append(key)
        if part.rows.group.nunique() < FEW_ITEMS:
            few_items.append(key)

    def list_criteria(keys: list[str]) -> list[str | None]:
        return [None] if len(keys) == len(parts) else [*keys]

    return [
        make_note("few_raters", key, raters=raters, keeps_error_rate=False)
        for raters, keys in few_raters.items()
        for key in list_criteria(keys)
    ] + [make_note("few_items", key) for key in list_criteria(few_items) if few_items]


def drop_repeated(
    warnings: Sequence[dict[str, Any]], criteria: Collection[str]
) -> list[dict[str, Any]]:
    """Return the warnings without those of few raters where "one rater" says the same and more.

    `criteria`: the keys of all that have ratings, which a warning of no criterion is about.
    """
    of_one = {note["criterion"] for note in warnings if note["code"] == "one_rater"}
    return [
        note
        for note in warnings
        if note["code"] != "few_raters"
        or note["facts"]["raters"] > 1
        or not ({note["criterion"]} if note["criterion"] else set(criteria)) <= of_one
    ]


# warnings that contradict the claim that tests keep their error rate
_DOUBTS = frozenset({
    "simulated", "raters_unknown", "own_error_differs", "copied", "both_alike",
    "missing_by_system", "clusters_not_named",
})  # fmt: skip
_CLAIMED_FROM = 3  # raters, the fewest in the simulations


def claim_error_rate(
    warnings: Sequence[dict[str, Any]], criteria: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the warnings, those of few raters with a fact: whether simulations back the tests.

    They do if each criterion is compared by the model of all systems and nothing else is in doubt.
    `criteria`: with their pairs.
    """

    def is_claimed(note: Mapping[str, Any]) -> bool:
        key = note["criterion"]
        doubted = {
            other["code"] for other in warnings if key is None or other["criterion"] in (None, key)
        }
        effects = [
            pair["effect"]
            for criterion in criteria
            if key in (None, criterion["key"])
            for pair in criterion["pairs"]
        ]
        return (
            note["facts"]["raters"] >= _CLAIMED_FROM
            and not doubted & _DOUBTS
            and bool(effects)
            and all(effect.method == REML and effect.value is not None for effect in effects)
        )

    return [
        note
        if note["code"] != "few_raters"
        else {**note, "facts": {**note["facts"], "keeps_error_rate": is_claimed(note)}}
        for note in warnings
    ]


def warn_of_missing(
    criterion: Mapping[str, Any], absent: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a warning for each system whose ratings are missing more often than the others'."""
    pairs, better = criterion["pairs"], criterion["better"]
    effect = pairs[0]["effect"].name if pairs else "difference"
    return [
        make_note(
            "missing_by_system",
            criterion["key"],
            **entry,
            better=better,
            unit=name_unit(criterion),
            effect=effect,
            shift=find_shift(entry, pairs, better),
        )
        for entry in absent
        if is_suspect(entry)
    ]


def warn_of_criterion(key: str, cautions: Cautions) -> list[dict[str, Any]]:
    """Return the warnings of a criterion, without those that `warn_of_few` or notes give."""
    # a variance of 0 is a valid answer, so a note reports it
    reported_elsewhere = {"raters_unknown", "singular_model"}
    return [
        make_note(code, key, **facts)
        for code, facts in cautions.items()
        if code not in reported_elsewhere
    ]
