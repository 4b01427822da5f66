"""Which column of a file of ratings holds what: guessed from its name, then checked."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from evalsite.imports.tables.faults import Fault
from evalsite.protocol import Protocol

# The fields, each with other names that real files use for it.
FIELDS: dict[str, tuple[str, ...]] = {
    "participant": (
        "participant_id", "worker", "worker_id", "workerid", "annotator", "annotator_id", "rater",
        "rater_id", "judge", "judge_id", "subject", "subject_id", "user", "user_id", "prolific_pid",
    ),
    "item": ("item_id", "itemid", "item_key", "id", "mr_id", "example", "example_id"),
    "criterion": ("criteria", "dimension", "aspect", "metric", "question"),
    "system": ("system_id", "system_name", "team", "model", "algorithm", "method"),
    "value": ("rating", "score", "answer", "judgement", "judgment"),
    "preferred": ("preference", "winner", "better", "choice"),
    "place": ("position",),
    "order_shown": ("order", "shown_order"),
    "shown_first": ("first_shown", "left"),
    "label": ("value_label",),
    "value_typed": ("typed",),
    "outcome": (),
    "submitted_at": ("submitted", "submit_time", "time", "timestamp", "created_at", "date"),
    "time_given": (),
    "note": ("notes", "comment", "comments", "feedback", "remark"),
    # of our own exports: which rows belong in results, and what they are
    "kind": (),
    "status": (),
    "origin": (),
    "person": (),
    "excluded": (),
}  # fmt: skip

# what a researcher should know of a field that can be mapped
MEANINGS = {
    "participant": "who rated",
    "item": "the item's id, as in its batch",
    "criterion": "what was rated",
    "system": "which output was rated",
    "value": "the rating",
    "preferred": "the better system, or tie",
    "place": "where the output stood, from 1",
    "order_shown": "the outputs as shown",
    "shown_first": "the first system shown",
    "label": "the words of the point",
    "value_typed": "the number as typed",
    "outcome": "tie, where none is named",
    "submitted_at": "the time, kept as it is",
    "time_given": "the time, taken first",
    "note": "a note on the item",
    "kind": "only main rows go in",
    "status": "only counted rows go in",
    "origin": "own, imported, simulated",
    "person": "one person, or not",
    "excluded": "excluded there, or not",
}

# A file written by hand has no use for these: offered where they were guessed.
_OF_EXPORTS = ("outcome", "time_given", "kind", "status", "origin", "person", "excluded",
               "value_typed")  # fmt: skip

# what only some protocols have a use for
_OF_VALUES = ("value", "label", "value_typed", "place")
_OF_COMPARISONS = ("preferred", "outcome", "shown_first")


# what a row of the long form tells of its one rating
_LONG = ("criterion", "system", "value", "preferred")


def name_fields(config: Protocol, mapping: Mapping[str, str]) -> list[str]:
    """Every field that a column may be mapped to, in the order in which a page offers them."""
    useless = set() if has_values(config) else set(_OF_VALUES)
    if not has_comparisons(config):
        useless |= set(_OF_COMPARISONS)
    there = set(mapping.values())
    return [
        field
        for field in FIELDS
        if field in there or (field not in useless and field not in _OF_EXPORTS)
    ]


def guess_mapping(header: Sequence[str], config: Protocol) -> dict[str, str]:
    """A field for each column that has a known name; each field is given once."""
    best = _rank_columns(header)
    if not has_comparisons(config):
        best = _without(best, _OF_COMPARISONS)
    if not has_values(config):
        if "value" in best:
            best.setdefault("preferred", best["value"])
        # an export says 1 and 0 beside the system preferred
        best = _without(best, _OF_VALUES)
    chosen: dict[int, str] = {}
    for field, (_, number) in sorted(best.items(), key=lambda pair: pair[1]):
        chosen.setdefault(number, field)
    return {column.strip(): chosen.get(number, "") for number, column in enumerate(header)}


def _rank_columns(header: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The number of the best column for each field, behind how far its name is from the field's."""
    best: dict[str, tuple[int, int]] = {}
    for number, column in enumerate(header):
        for field, aliases in FIELDS.items():
            names = (field, *aliases)
            if (folded := _fold(column)) in names:
                place = (names.index(folded), number)
                best[field] = min(best.get(field, place), place)
    return best


def _without(best: dict[str, tuple[int, int]], fields: Iterable[str]) -> dict[str, tuple[int, int]]:
    return {field: place for field, place in best.items() if field not in fields}


def check_mapping(
    mapping: Mapping[str, str],
    config: Protocol,
    line: int | None,
    systems: Iterable[str] = (),
) -> list[Fault]:
    """Each field has one column, and what ratings of this protocol need is there."""
    by_field: dict[str, list[str]] = {}
    for column, field in mapping.items():
        if field:
            by_field.setdefault(field, []).append(column)
    faults = [
        Fault("field_unknown", f"There is no field “{field}” to map it to.", column=columns[0])
        for field, columns in by_field.items()
        if field not in FIELDS
    ]
    faults += [
        Fault(
            "column_mapped_twice",
            f"Columns {' and '.join(f'“{column}”' for column in columns)} are both mapped to "
            f"“{field}”. Choose one.",
            line=line,
        )
        for field, columns in by_field.items()
        if len(columns) > 1
    ]
    missing = [field for field in _list_needed(config) if field not in by_field]
    if wide := _find_wide(mapping, missing, config, systems):
        missing = [field for field in missing if field not in _LONG]
        faults.append(Fault("forms_mixed", _describe_wide(wide, config), line=line))
    return faults + [_describe_missing(field, mapping, line) for field in missing]


def _find_wide(
    mapping: Mapping[str, str],
    missing: Sequence[str],
    config: Protocol,
    systems: Iterable[str],
) -> list[str]:
    """The columns that hold a rating each, where none holds all of them."""
    if not {"value", "preferred"} & set(missing):
        return []
    names = [_fold(name) for name in (*(one.key for one in config.criteria), *systems)]
    return [
        column
        for column, field in mapping.items()
        if not field and any(f"_{name}_" in f"_{_fold(column)}_" for name in names)
    ]


def _describe_wide(columns: Sequence[str], config: Protocol) -> str:
    shown = " and ".join(f"“{column}”" for column in columns[:2])
    needed = " and ".join(f"“{field}”" for field in _list_needed(config) if field in _LONG)
    return (
        f"A row seems to hold several ratings, in columns such as {shown} (the wide form). Ratings "
        f"are taken in the long form: a row for each rating, with {needed} in columns of their "
        "own. Reshape the table (melt in pandas, pivot_longer in R), then upload it again."
    )


def _list_needed(config: Protocol) -> Iterable[str]:
    yield from ("participant", "item")
    if len(config.criteria) > 1:
        yield "criterion"
    if needs_system(config):
        yield "system"
    if has_values(config):
        yield "value"
    if has_comparisons(config):
        yield "preferred"


def _describe_missing(field: str, mapping: Mapping[str, str], line: int | None) -> Fault:
    message = (
        f"Column “{field}” ({MEANINGS[field]}) is missing. Found: {', '.join(mapping) or 'none'}."
    )
    free = {_fold(column): column for column, mapped in mapping.items() if not mapped}
    near = [
        free[match]
        for name in (field, *FIELDS[field])
        for match in get_close_matches(name, free, n=2, cutoff=0.6)
    ]
    if near:
        names = " or ".join(f"“{name}”" for name in dict.fromkeys(near))
        message += f" Did you mean {names}? Map it, or rename it."
    else:
        message += " Map a column to it, or add it."
    return Fault("column_missing", message, column=field, line=line)


def has_values(config: Protocol) -> bool:
    """Tell whether some ratings are a value in a cell."""
    return not all(criterion.scale.compares for criterion in config.criteria)


def has_comparisons(config: Protocol) -> bool:
    """Tell whether some ratings name the system preferred."""
    return any(criterion.scale.compares for criterion in config.criteria)


def needs_system(config: Protocol) -> bool:
    """Tell whether some ratings are of one of several outputs."""
    return config.outputs[1] > 1 and any(criterion.per_output for criterion in config.criteria)


def _fold(name: str) -> str:
    return re.sub(r"[\s_.-]+", "_", name.strip().casefold()).strip("_")
