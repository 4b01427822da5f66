"""Errors that somebody has already, in the TSV of WMT: question, texts and answers of a study."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from evalsite.data.ratings.columns import make_key
from evalsite.data.ratings.marks import describe_passage, place_passage
from evalsite.data.tables.mqm import SEVERITIES, SOURCE, Segment, read_segments
from evalsite.data.tables.table import Refused, Table
from evalsite.instruments.scales import COMMENT, NA, NONE, OUTPUT, write_json
from evalsite.lib.mqm_weights import (
    CRITERION,
    SEVERITY_WEIGHTS,
    is_non_translation,
    is_source_error,
    weigh_mqm,
)
from evalsite.lib.words import count_of

_MOST_CATEGORIES = 200
# what other rows of an answer are called
_PARTS = frozenset({NONE, "omission", COMMENT, NA})


class BareAnswer(NamedTuple):
    """What one rater marked in one output: a list of marks in JSON."""

    line: int
    participant: str
    item: str
    system: str
    value: str


@dataclass
class BareErrors:
    """A file of errors as a new study has it. `outputs`: texts by item and system."""

    answers: list[BareAnswer] = field(default_factory=list)
    scale: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    outputs: dict[tuple[str, str], str] = field(default_factory=dict)
    # the document of an item, if there are several
    clusters: dict[str, str] = field(default_factory=dict)
    notes: list[list[str]] = field(default_factory=list)
    rows: int = 0

    name: ClassVar[str] = CRITERION


def read_errors(table: Table) -> BareErrors:
    """Return what the file holds; Refused with the row at fault."""
    segments = [*read_segments(table).values()]
    keys = _name_categories(segments)
    errors = BareErrors(scale=_make_scale(keys, segments))
    has_clusters = len({segment.doc for segment in segments}) > 1
    for segment in segments:
        _find_twice(segment, keys)
        errors.sources[segment.item] = segment.source
        errors.outputs[segment.item, segment.system] = segment.target
        if has_clusters:
            errors.clusters[segment.item] = segment.doc
        marks: list[Any] = [
            describe_passage(passage, SOURCE, keys[_fold(passage.category)], passage.severity)
            | place_passage(passage)
            for passage in segment.passages
        ]
        errors.answers.append(BareAnswer(
            segment.line, segment.rater, segment.item, segment.system, write_json(marks or [NONE]),
        ))  # fmt: skip
    number = sum(len(segment.passages) for segment in segments)
    clean = sum(not segment.passages for segment in segments)
    errors.rows = number + clean
    of_kinds = count_of(len(keys), "category", "categories")
    errors.notes.append([
        "errors_marked", f"{count_of(number, 'error')} in {of_kinds}",
        f"A rating is one output that one person read; {clean:,} have no error. Penalties are the "
        "weights of MQM, added up: major 5, minor 1. Source and outputs are in the file.",
    ])  # fmt: skip
    return errors


def _fold(name: str) -> str:
    return name.casefold().strip()


def _name_categories(segments: Sequence[Segment]) -> dict[str, str]:
    """Return the key of each category by its name in lower case, the most frequent first."""
    names = Counter(passage.category for segment in segments for passage in segment.passages)
    keys: dict[str, str] = {}
    for name, _count in names.most_common():
        keys.setdefault(_fold(name), make_key(name, {*_PARTS, *keys.values()}))
    if len(keys) > _MOST_CATEGORIES:
        raise Refused(
            "categories_many",
            f"There are {len(keys):,} categories. A question has {_MOST_CATEGORIES} at most.",
        )
    return keys


def _find_twice(segment: Segment, keys: Mapping[str, str]) -> None:
    seen: dict[tuple[Any, ...], int] = {}
    for passage in segment.passages:
        place = passage.place, passage.start, passage.end, keys[_fold(passage.category)]
        if place in seen:
            raise Refused(
                "mark_twice",
                f"{segment.rater} marks the same passage in the same category as in record "
                f"{seen[place]:,}. Keep one of them.",
                record=passage.record,
            )
        seen[place] = passage.record


# --- the question -------------------------------------------------------------------------------


def _make_scale(keys: Mapping[str, str], segments: Sequence[Segment]) -> dict[str, Any]:
    passages = [passage for segment in segments for passage in segment.passages]
    names = {_fold(passage.category): passage.category for passage in reversed(passages)}
    has_missing = any(passage.start == passage.end for passage in passages)
    has_notes = any(passage.note for passage in passages)
    return {
        "kind": "spans",
        "none": "No errors",
        "score": "sum",
        "mark_in": [OUTPUT, SOURCE],
        "note": "optional" if has_notes else "none",
        "severities": [
            {"key": name.casefold(), "label": name, "weight": SEVERITY_WEIGHTS[name.casefold()]}
            for name in SEVERITIES
        ],
        "categories": [_make_category(key, names[name]) for name, key in keys.items()],
        "weights": [part for name, key in keys.items() for part in _list_weights(key, names[name])],
        **({"omission": {"label": "Something is missing"}} if has_missing else {}),
    }


def _make_category(key: str, name: str) -> dict[str, Any]:
    group, _, label = name.partition("/")
    if not label.strip() or not group.strip():
        return {"key": key, "label": name or "No category"}
    return {"key": key, "label": label.strip(), "group": group.strip()}


def _list_weights(key: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the weights that a category has instead of those of severities."""
    if is_non_translation(name) or is_source_error(name):
        yield {"category": key, "weight": weigh_mqm(name, "major")}
        return
    for severity, usual in SEVERITY_WEIGHTS.items():
        weight = weigh_mqm(name, severity)
        if weight != usual:
            yield {"category": key, "severity": severity, "weight": weight}
