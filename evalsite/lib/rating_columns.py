"""Which column of a file of ratings holds what, and wide rows taken apart into ratings.

A mapping gives each column a field, or "" to leave it out. In the long form a row is one rating:
`value` or `preferred`, with `system` and `criterion`. In a wide form a row holds several:

    value:fluency         a rating of this criterion
    preferred:fluency     the system preferred by this criterion, or tie
    value2, system2       a rating of the row's second output, and the system that made it
    value2:fluency        the same of this criterion
    value:fluency:gpt     a rating of this criterion, of the output by this system

Pages, commands and the analysis of a bare file read it alike.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

# The fields, each with other names that real files use for it.
FIELDS: dict[str, tuple[str, ...]] = {
    "participant": (
        "participant_id", "worker", "worker_id", "workerid", "annotator", "annotator_id", "rater",
        "rater_id", "judge", "judge_id", "judge_name", "evaluator", "evaluator_id", "subject",
        "subject_id", "user", "user_id", "prolific_pid", "prolific_id", "respondent",
        "responseid",
    ),
    "item": (
        "item_id", "itemid", "item_key", "id", "mr_id", "example", "example_id", "sample_id",
        "prompt_id", "question_id", "doc_id", "instance_id", "segment_id",
    ),
    "criterion": ("criteria", "dimension", "aspect", "metric", "question"),
    "system": (
        "system_id", "system_name", "sys", "sys_id", "sys_name", "mt_system", "engine", "mt_engine",
        "team", "model", "model_name", "model_id", "llm", "algorithm", "method",
    ),
    "value": ("rating", "score", "answer", "judgement", "judgment", "label_value", "grade"),
    "preferred": ("preference", "winner", "better", "choice", "preferred_system", "verdict"),
    "place": ("position",),
    "order_shown": ("order", "shown_order"),
    "shown_first": ("first_shown", "left"),
    "label": ("value_label",),
    "value_typed": ("typed",),
    "outcome": (),
    "part": (),
    "text": (),
    "not_applicable": (),
    # a column of this name that holds nothing but directions; any other says what is preferred
    "better": (),
    "submitted_at": ("submitted", "submit_time", "time", "timestamp", "created_at", "date"),
    "time_given": (),
    "note": ("notes", "comment", "comments", "feedback", "remark", "explanation", "rationale"),
    # of our own exports: which rows belong in results, and what they are
    "kind": (),
    "status": (),
    "origin": (),
    "person": (),
    "excluded": (),
}  # fmt: skip

# which values of a criterion are better
DIRECTIONS = ("higher", "lower", "none")
# values of a decision in words
DECISION_WORDS = {"yes": 1, "true": 1, "no": 0, "false": 0}
# what programs write where there is no rating
MISSING_WORDS = ("na", "n/a", "nan", "none", "null", "\\n")

# what a researcher should know of a field that can be mapped
MEANINGS = {
    "participant": "who rated",
    "item": "the item's id, as in its batch",
    "criterion": "what was rated",
    "system": "which output was rated",
    "value": "the rating",
    "preferred": "the better system, or tie",
    "place": "where the output was shown, from 1",
    "order_shown": "the outputs as shown",
    "shown_first": "the first system shown",
    "label": "the label of the point",
    "value_typed": "the number as typed",
    "outcome": "tie, where none is named",
    "part": "the statement or option, or comment",
    "text": "the words that were written",
    "not_applicable": "yes, where it doesn’t apply",
    "better": "whether high or low is better",
    "submitted_at": "the time, kept unchanged",
    "time_given": "the time, taken first",
    "note": "a note on the item",
    "kind": "only main rows are imported",
    "status": "only counted rows are imported",
    "origin": "own, imported, simulated",
    "person": "one person, or not",
    "excluded": "excluded there, or not",
}

_LONG_FIELDS = ("value", "preferred")
_TARGET = re.compile(r"(value|system|place|preferred)([1-9][0-9]?)?(?::([^:]+))?(?::(.+))?")


@dataclass(frozen=True, slots=True)
class Target:
    """A field taken apart: what the column holds, of which output, criterion and system."""

    name: str
    number: str = ""
    criterion: str = ""
    system: str = ""

    @property
    def is_rating(self) -> bool:
        return self.name in _LONG_FIELDS

    @property
    def is_wide(self) -> bool:
        return bool(self.number or self.criterion)

    def __str__(self) -> str:
        parts = [f"{self.name}{self.number}", self.criterion, self.system]
        return ":".join(part for part in parts if part)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a study asks for. Without criteria any name may be one, as in a bare file."""

    labels: Mapping[str, str]  # of its criteria, by key
    compared: frozenset[str] = frozenset()  # criteria whose answer is a system
    per_output: frozenset[str] = frozenset()  # criteria rated for each of several outputs
    systems: tuple[str, ...] = ()

    @property
    def has_values(self) -> bool:
        return not self.labels or bool(self.labels.keys() - self.compared)

    @property
    def has_comparisons(self) -> bool:
        return not self.labels or bool(self.compared)


BARE = Asked(labels={})


@dataclass(frozen=True, slots=True)
class Problem:
    """What keeps a mapping from being used."""

    code: str
    message: str
    column: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the ratings in a row: the columns of its fields, and the fields the header gives."""

    columns: Mapping[str, int]
    fixed: Mapping[str, str]
    is_wide: bool
    rating: int = -1  # of a wide row, the column of the rating

    def is_rated(self, cells: Sequence[str]) -> bool:
        """Return whether a rating was given: an empty cell of a wide row holds none."""
        return not self.is_wide or bool(cells[self.rating].strip())


def split_field(field: str) -> Target | None:
    """Take a field of a mapping apart; None if there is no such field."""
    if field in FIELDS:
        return Target(field)
    match = _TARGET.fullmatch(field)
    if match is None:
        return None
    target = Target(*(part or "" for part in match.groups()))
    is_crossed = bool(target.system)
    is_wrong = (
        (target.name == "preferred" and target.number)
        or (target.criterion and not target.is_rating)
        or (is_crossed and (target.number or target.name != "value"))
    )
    return target if target.is_wide and not is_wrong else None


def fold(name: str) -> str:
    """Spell the name of a column as synonyms are spelled here."""
    return re.sub(r"[\s_.-]+", "_", name.strip().casefold()).strip("_")


# --- parts ----------------------------------------------------------------------------


def melt(header: Sequence[str], mapping: Mapping[str, str]) -> list[Part]:
    """Return the ratings that each row holds, by the numbers of their columns.

    The mapping must be right: `check_mapping` says what keeps it from being so.
    """
    shared: dict[str, int] = {}
    numbered: dict[tuple[str, str], int] = {}
    ratings: list[tuple[Target, int]] = []
    for at, column in enumerate(header):
        target = split_field(mapping.get(column.strip(), ""))
        if target is None:
            continue
        if target.is_rating and target.is_wide:
            ratings.append((target, at))
        elif target.number:
            numbered[target.name, target.number] = at
        else:
            shared[target.name] = at
    if not ratings:
        return [Part(shared, {}, is_wide=False)]
    return [_make_part(target, at, shared, numbered) for target, at in ratings]


def _make_part(
    target: Target, at: int, shared: Mapping[str, int], numbered: Mapping[tuple[str, str], int]
) -> Part:
    columns = {name: column for name, column in shared.items() if name not in _LONG_FIELDS}
    columns[target.name] = at
    for name in ("system", "place"):
        if (name, target.number) in numbered:
            columns[name] = numbered[name, target.number]
    fixed = {"criterion": target.criterion, "system": target.system}
    for name in [name for name, text in fixed.items() if text]:
        columns.pop(name, None)
    return Part(
        columns, {name: text for name, text in fixed.items() if text}, is_wide=True, rating=at
    )


# --- checking -------------------------------------------------------------------------


def check_mapping(
    mapping: Mapping[str, str], asked: Asked = BARE, *, keeps_incomplete: bool = False
) -> list[Problem]:
    """Say what is wrong with a mapping: unknown fields, two columns for one, a column missing."""
    by_field: dict[str, list[str]] = {}
    for column, field in mapping.items():
        if field:
            by_field.setdefault(field, []).append(column)
    targets = {field: split_field(field) for field in by_field}
    problems = [
        Problem("field_unknown", f"There is no field “{field}” to map it to.", columns[0])
        for field, columns in by_field.items()
        if not _is_known(targets[field], asked)
    ]
    problems += [
        Problem(
            "column_mapped_twice",
            f"Columns {' and '.join(f'“{column}”' for column in columns)} are both mapped to "
            f"“{field}”. Choose one.",
        )
        for field, columns in by_field.items()
        if len(columns) > 1
    ]
    known = [target for target in targets.values() if target is not None]
    if any(target.is_wide and target.is_rating for target in known):
        problems += _check_wide(known, mapping, asked, keeps_incomplete=keeps_incomplete)
    else:
        missing = list_missing(by_field.keys(), asked)
        problems += [
            _describe_missing(field, mapping, is_listed=field == missing[0]) for field in missing
        ]
    return problems


def list_missing(fields: Collection[str], asked: Asked) -> list[str]:
    """Return the fields that the long form needs and no column holds."""
    needed = ["participant", "item"]
    needed += ["criterion"] if len(asked.labels) > 1 else []
    needed += ["system"] if asked.per_output else []
    needed += ["value"] if asked.has_values else []
    needed += ["preferred"] if asked.compared and "outcome" not in fields else []
    if not asked.labels:
        needed = ["participant", "item", *([] if "preferred" in fields else ["value"])]
    return [field for field in needed if field not in fields]


def _is_known(target: Target | None, asked: Asked) -> bool:
    if target is None:
        return False
    if not asked.labels or not target.criterion:
        return True
    if target.criterion not in asked.labels:
        return False
    if (target.name == "preferred") != (target.criterion in asked.compared):
        return False
    return not target.system or target.system in asked.systems


def _check_wide(
    targets: Sequence[Target], mapping: Mapping[str, str], asked: Asked, *, keeps_incomplete: bool
) -> Iterator[Problem]:
    fields = {str(target) for target in targets}
    ratings = [target for target in targets if target.is_rating and target.is_wide]
    if long := fields & set(_LONG_FIELDS):
        yield Problem(
            "forms_mixed",
            f"Some columns are mapped to “{min(long)}” (one rating per row) and some to "
            f"“{ratings[0]}” (several per row). Choose one form.",
        )
    needed = {"participant": True, "item": True}
    needed["criterion"] = len(asked.labels) > 1 and not all(target.criterion for target in ratings)
    needed["system"] = any(
        not (target.number or target.system) and target.criterion in asked.per_output
        for target in ratings
    )
    missing = [field for field, is_needed in needed.items() if is_needed and field not in fields]
    yield from (
        _describe_missing(field, mapping, is_listed=field == missing[0]) for field in missing
    )
    numbers = dict.fromkeys(target.number for target in ratings if target.number)
    for number in numbers if asked.per_output or not asked.labels else ():
        if f"system{number}" not in fields:
            yield Problem(
                "column_missing",
                f"Column “system{number}” is missing: “value{number}” is a rating of an output, "
                "and a column has to say which system made it. Map one to it.",
                f"system{number}",
            )
    if not keeps_incomplete and all(target.criterion for target in ratings):
        yield from _find_unrated({target.criterion for target in ratings}, asked)


def _find_unrated(rated: Collection[str], asked: Asked) -> Iterator[Problem]:
    for key in asked.labels:
        if key not in rated:
            field = f"{'preferred' if key in asked.compared else 'value'}:{key}"
            yield Problem(
                "column_missing",
                f"No column holds ratings of {key}. Map one to “{field}”, or say that incomplete "
                "answers are fine.",
                field,
            )


def _describe_missing(field: str, mapping: Mapping[str, str], *, is_listed: bool) -> Problem:
    message = f"Column “{field}” ({MEANINGS[field]}) is missing."
    # one list of the columns is enough
    if is_listed:
        message += f" Found: {', '.join(mapping) or 'none'}."
    free = {fold(column): column for column, mapped in mapping.items() if not mapped}
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
    if field in _LONG_FIELDS:
        message += (
            f" If a row holds several ratings, map each of their columns to “{field}:” and its "
            "criterion, or to “value1” and “system1”, “value2” and “system2”, and so on."
        )
    return Problem("column_missing", message, field)


def name_option(criterion: str, option: str) -> str:
    """Name the criterion that one option of a choice becomes where numbers are needed."""
    return f"{criterion}__{option}"
