"""A study's answers as a dataset: five tables with texts, of the same types in either format.

Judgements are in `ratings` and `comparisons`. What they decide is in `preferences`, its twin of
messages, and `unpaired`, in the forms that programs for training read.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.util import find_spec
from itertools import combinations, islice
from pathlib import Path
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import Count, Q
from pydantic import BaseModel, ConfigDict

from evalsite.data.files.columns import TIMES, WITHHELD, name_output
from evalsite.data.files.rows import (
    Answer,
    AnswerReader,
    Group,
    MarkRow,
    RatingRow,
    find_source,
    find_tags,
    is_written,
)
from evalsite.data.files.selection import Selection, shared
from evalsite.decisions.frozen_plans import plan_of
from evalsite.handout.models import Annotation
from evalsite.instruments.answer import HIGHLIGHTS
from evalsite.instruments.schema import Criterion
from evalsite.lib.conversations import list_calls, read_turns
from evalsite.lib.transactions import consistent_cut
from evalsite.people.models import Origin
from evalsite.studies.models import Item, Output, Study

Row = dict[str, Any]
# as the card and pyarrow call them; messages are lists of role and content
STRING, BOOL, FLOAT, INT, TIME = "string", "bool", "float64", "int32", "timestamp[us, tz=UTC]"
LIST, MESSAGES = "list", "messages"
RATINGS, COMPARISONS, UNPAIRED = "ratings", "comparisons", "unpaired"
PREFERENCES, CONVERSATIONAL = "preferences", "preferences_conversational"
TABLES = (RATINGS, COMPARISONS, PREFERENCES, CONVERSATIONAL, UNPAIRED)

_RATED = {
    "system": STRING, "output": STRING, "output_is_empty": BOOL, "criterion": STRING,
    "scale": STRING, "scale_min": FLOAT, "scale_max": FLOAT, "value": FLOAT, "label": STRING,
    "text": STRING, "part": STRING, "turn": INT, "not_applicable": BOOL, "rater": STRING,
    "rater_kind": STRING, "origin": STRING, "place": INT, "submitted_at": TIME, "seconds": FLOAT,
    "excluded": BOOL, "tags": LIST,
}  # fmt: skip
# of marked passages; behind `turn`, in studies that have some
_MARKED = {"start": INT, "end": INT, "severity": STRING, "marked_input": STRING}
_COMPARED = {
    "system_1": STRING, "output_1": STRING, "system_2": STRING, "output_2": STRING,
    "criterion": STRING, "outcome": STRING, "strength": INT, "reasons": LIST,
    "shown_first": STRING, "rater": STRING, "rater_kind": STRING, "origin": STRING,
    "submitted_at": TIME, "seconds": FLOAT, "excluded": BOOL, "tags": LIST,
}  # fmt: skip
_PREFERRED = {
    "chosen_system": STRING, "rejected_system": STRING, "criterion": STRING, "votes_chosen": INT,
    "votes_rejected": INT, "votes_tie": INT, "mean_strength": FLOAT, "source_id": STRING,
    "group": STRING, "item": STRING, "study": STRING,
}  # fmt: skip
_UNPAIRED = {
    "prompt": STRING, "completion": STRING, "label": BOOL, "system": STRING, "criterion": STRING,
    "mean_value": FLOAT, "raters": INT, "source_id": STRING, "group": STRING, "study": STRING,
}  # fmt: skip
_CELLS = {column.name: column.get_cell for column in TIMES}
# answers whose items are read at once, and rows or characters that are written at once
_ANSWERS, _ROWS, _CHARACTERS = 200, 2_000, 8_000_000
# where Python splits lines and JSON doesn't escape
_LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


class DatasetOptions(BaseModel):
    """What the author of a dataset decides."""

    model_config = ConfigDict(extra="forbid")

    # the criteria that decide; "": the table isn't made
    preferences: str = ""
    unpaired: str = ""
    # of means; where lower values are better, at most and above
    good_from: float | None = None
    bad_below: float | None = None
    has_comments: bool = False
    is_parquet: bool = False


@dataclass(kw_only=True)
class Dataset:
    """What was written."""

    options: DatasetOptions
    # by table, those that have rows
    fields: dict[str, dict[str, str]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    people: int = 0
    # people and answers that aren't shared, pairs without a majority, outputs in between
    left_out: dict[str, int] = field(default_factory=dict)
    excluded: int = 0
    is_simulated: bool = False
    first_at: str = ""
    last_at: str = ""


def has_parquet() -> bool:
    """Tell whether the extra that writes Parquet is installed."""
    return find_spec("pyarrow") is not None


# --- which criteria decide ------------------------------------------------------------------------


class Deciding(NamedTuple):
    """Which criteria can decide each table, the proposed one first."""

    preferences: list[Criterion]
    unpaired: list[Criterion]


def list_deciding(study: Study) -> Deciding:
    """List what compares or orders outputs, and by what an output alone is good or bad."""
    criteria = study.config.criteria
    primary = plan_of(study).primary
    compared = [
        criterion for criterion in criteria if criterion.scale.compares or criterion.scale.orders
    ]
    valued = [
        criterion
        for criterion in criteria
        if criterion.per == "output"
        and criterion.direction in ("higher", "lower")
        and criterion.scale.gives_number
    ]
    valued.sort(key=lambda criterion: criterion.key != primary)
    voting = sorted([*compared, *valued], key=lambda criterion: criterion.key != primary)
    return Deciding(voting, valued)


def needs_thresholds(criterion: Criterion) -> bool:
    """Tell whether a person has to say which means are good; yes or no says it by itself."""
    return not criterion.scale.decides


def propose_options(study: Study, known: Deciding | None = None) -> DatasetOptions:
    """Return the options that the page and the command begin with."""
    voting, valued = known or list_deciding(study)
    is_ready = bool(valued) and not needs_thresholds(valued[0])
    return DatasetOptions(
        preferences=voting[0].key if voting else "",
        unpaired=valued[0].key if is_ready else "",
        is_parquet=has_parquet(),
    )


def check_options(study: Study, options: DatasetOptions, known: Deciding | None = None) -> None:
    """Raise ValidationError where these options can't be met."""
    for name, criteria in (known or list_deciding(study))._asdict().items():
        key = getattr(options, name)
        if key and key not in [criterion.key for criterion in criteria]:
            listed = ", ".join(criterion.key for criterion in criteria) or "none of this study"
            message = f"“{key}” can’t decide {name}. These can: {listed}."
            raise ValidationError({name: ValidationError(message, code="criterion")})
    if not options.unpaired:
        return
    criterion = study.config.criterion_by_key[options.unpaired]
    if not needs_thresholds(criterion):
        return
    good, bad = options.good_from, options.bad_below
    if good is None or bad is None:
        message = (
            f"Type from which mean of {criterion.label} an output is good, and below which it is "
            "bad. One threshold for both would make labels of noise."
        )
        raise ValidationError({"good_from": ValidationError(message, code="thresholds")})
    if (bad > good) if criterion.direction == "higher" else (bad < good):
        message = "These overlap: an output could be good and bad. Swap them."
        raise ValidationError({"good_from": ValidationError(message, code="thresholds")})


# --- texts ----------------------------------------------------------------------------------------


class Shown(NamedTuple):
    """An item with its texts; outputs by number, each with its system."""

    key: str
    group: str
    cluster: str
    inputs: Mapping[str, Any]
    extra: Mapping[str, Any]
    outputs: dict[int, tuple[str, str]]

    @property
    def source_id(self) -> str:
        kept = self.extra.get("source_id")
        return kept if isinstance(kept, str) and kept else find_source(self.key, self.extra)

    def list_tags(self, system: str) -> list[str]:
        return [tag.strip() for tag in find_tags(system, self.extra).split(";") if tag.strip()]


def read_shown(ids: Iterable[int]) -> dict[int, Shown]:
    """Read these items with their outputs."""
    items = Item.objects.filter(pk__in=set(ids))
    shown = {
        pk: Shown(key, group, cluster, inputs, extra, {})
        for pk, key, group, cluster, inputs, extra in items.values_list(
            "pk", "key", "group", "cluster", "inputs", "extra"
        )
    }
    outputs = Output.objects.filter(item__in=shown).order_by("item_id", "position")
    for item, position, system, text in outputs.values_list(
        "item_id", "position", "system__name", "text"
    ):
        shown[item].outputs[position + 1] = (system or "", text)
    return shown


def _read_messages(text: str) -> list[dict[str, str]] | None:
    """Return the turns of a conversation as messages of text; None if it is none."""
    turns = read_turns(text)
    return None if turns is None else [_write_message(turn) for turn in turns]


def _write_message(turn: Mapping[str, Any]) -> dict[str, str]:
    content = turn.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "\n".join(part for part in parts if isinstance(part, str))
    calls = [json.dumps(call, ensure_ascii=False) for call in list_calls(turn)]
    text = content if isinstance(content, str) else ""
    return {"role": str(turn["role"]), "content": "\n".join(filter(None, [text, *calls]))}


def _write_turns(messages: Iterable[Mapping[str, str]]) -> str:
    return "\n\n".join(f"{turn['role'].capitalize()}: {turn['content']}" for turn in messages)


class Prompts:
    """What systems were given and what they answered, as one text or as messages."""

    def __init__(self, study: Study) -> None:
        self.kinds = {column.name: column.kind for column in study.config.item.inputs}
        self._answers_turns = study.config.item.outputs.kind == "conversation"

    def read_input(self, name: str, inputs: Mapping[str, Any]) -> Any:
        """Return an input as the tables have it."""
        value = inputs.get(name)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if self.kinds[name] == "conversation":
            return None if value is None else _read_messages(text)
        return None if value is None else text

    def write_prompt(self, inputs: Mapping[str, Any]) -> tuple[str, list[dict[str, str]]]:
        """Return the prompt as one text, and as messages."""
        texts: list[str] = []
        turns: list[dict[str, str]] = []
        for name in self.kinds:
            value = self.read_input(name, inputs)
            if isinstance(value, list):
                turns += value
            elif value:
                texts.append(value)
        first = [{"role": "user", "content": "\n\n".join(texts)}] if texts else []
        parts = [*texts, *([_write_turns(turns)] if turns else [])]
        return "\n\n".join(parts), [*first, *turns]

    def write_answer(self, text: str) -> tuple[str, list[dict[str, str]]]:
        """Return an output as one text, and as messages."""
        turns = _read_messages(text) if self._answers_turns else None
        if turns is None:
            return text, [{"role": "assistant", "content": text}]
        return _write_turns(turns), turns


# --- tables ---------------------------------------------------------------------------------------


class _JsonLines:
    """A table as JSON lines."""

    ending = "jsonl"

    def __init__(self, path: Path, fields: Mapping[str, str]) -> None:
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def write(self, row: Row) -> None:
        line = json.dumps(row, ensure_ascii=False, allow_nan=False)
        self._file.write(line.translate(_LINE_ENDS) + "\n")

    def close(self) -> None:
        self._file.close()


class _Parquet:
    """A table as Parquet, which `pandas` and DuckDB read by default."""

    ending = "parquet"

    def __init__(self, path: Path, fields: Mapping[str, str]) -> None:
        import pyarrow  # noqa: PLC0415 (large, and not installed everywhere)
        import pyarrow.parquet  # noqa: PLC0415

        message = pyarrow.struct([("role", pyarrow.string()), ("content", pyarrow.string())])
        types = {
            STRING: pyarrow.string(), BOOL: pyarrow.bool_(), FLOAT: pyarrow.float64(),
            INT: pyarrow.int32(), TIME: pyarrow.timestamp("us", tz="UTC"),
            LIST: pyarrow.list_(pyarrow.string()), MESSAGES: pyarrow.list_(message),
        }  # fmt: skip
        self._schema = pyarrow.schema([(name, types[kind]) for name, kind in fields.items()])
        self._times = [name for name, kind in fields.items() if kind == TIME]
        self._make = pyarrow.RecordBatch.from_pylist
        self._file = pyarrow.parquet.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[Row] = []
        self._size = 0

    def write(self, row: Row) -> None:
        times = {name: row[name] and datetime.fromisoformat(row[name]) for name in self._times}
        self._rows.append(row | times)
        self._size += sum(len(cell) for cell in row.values() if isinstance(cell, str))
        if len(self._rows) >= _ROWS or self._size > _CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        self._file.write_batch(self._make(self._rows, schema=self._schema))
        self._rows, self._size = [], 0

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._file.close()


class _Writer:
    """Writes each table into a file of its own, which is made with its first row."""

    def __init__(self, study: Study, made: Dataset, folder: Path) -> None:
        self.made, self._folder = made, folder
        self._files: dict[str, _JsonLines | _Parquet] = {}
        about = {"study": STRING, "item": STRING, "source_id": STRING, "group": STRING}
        inputs = {
            f"input_{column.name}": MESSAGES if column.kind == "conversation" else STRING
            for column in study.config.item.inputs
        }
        about |= {"cluster": STRING, **inputs}
        rated: dict[str, str] = {}
        for name, kind in _RATED.items():
            rated |= {name: kind}
            if name == "turn" and study.config.has_marks:
                rated |= _MARKED
        texts = {"prompt": STRING, "chosen": STRING, "rejected": STRING}
        self._known = {
            RATINGS: {"rating_id": STRING, **about, **rated},
            COMPARISONS: {"comparison_id": STRING, **about, **_COMPARED},
            PREFERENCES: {**texts, **_PREFERRED},
            CONVERSATIONAL: {**dict.fromkeys(texts, MESSAGES), **_PREFERRED},
            UNPAIRED: _UNPAIRED,
        }

    def write(self, table: str, row: Row) -> None:
        if table not in self._files:
            kind = _Parquet if self.made.options.is_parquet else _JsonLines
            self.made.fields[table] = self._known[table]
            self.made.files[table] = f"data/{table}.{kind.ending}"
            self.made.rows[table] = 0
            path = self._folder / self.made.files[table]
            path.parent.mkdir(parents=True, exist_ok=True)
            self._files[table] = kind(path, self._known[table])
        # a rating that is no mark has no place in a text
        self._files[table].write({name: row.get(name) for name in self._known[table]})
        self.made.rows[table] += 1

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def write_dataset(study: Study, options: DatasetOptions, folder: Path) -> Dataset:
    """Write the tables that have rows into this folder, of one moment.

    ValidationError if the options can't be met, or if there is nothing to write.
    """
    check_options(study, options)
    made = Dataset(options=options)
    writer = _Writer(study, made, folder)
    try:
        with consistent_cut():
            _Tables(study, writer).write()
    finally:
        writer.close()
    if not made.rows:
        raise ValidationError(explain_empty(study), code="no_rows")
    made.fields = {table: made.fields[table] for table in TABLES if table in made.rows}
    return made


def select_shared(study: Study) -> Selection:
    """Return what a dataset is made of: answers that count, of people who share them."""
    return Selection(
        status=Annotation.Status.COUNTED, kind=Item.Kind.MAIN, only_shared=study.asks_to_share
    )


def count_shared(study: Study) -> tuple[int, int, int, int]:
    """Count people and answers in a dataset, then those that aren't shared."""
    answers = replace(select_shared(study), only_shared=False).find_annotations(study).order_by()
    is_shared = shared("participant__") if study.asks_to_share else Q(pk__isnull=False)
    counts = answers.aggregate(
        people=Count("participant", distinct=True, filter=is_shared),
        answers=Count("pk", filter=is_shared),
        left_out=Count("participant", distinct=True, filter=~is_shared),
        answers_left_out=Count("pk", filter=~is_shared),
    )
    return counts["people"], counts["answers"], counts["left_out"], counts["answers_left_out"]


def explain_empty(study: Study) -> str:
    """Say why there is nothing to write."""
    if count_shared(study)[3]:
        return (
            "Nobody who answered agreed to share their answers, so a dataset would be empty. The "
            "bundle without the choice “to publish” holds everything for your team."
        )
    return "There are no answers that count yet, so there is nothing to write."


class _Tables:
    """Makes the rows of all tables of a study."""

    def __init__(self, study: Study, writer: _Writer) -> None:
        self.study, self.writer, self.made = study, writer, writer.made
        self._id = str(study.pk)
        self._raters: set[str] = set()
        self._prompts = Prompts(study)
        options, criteria = writer.made.options, study.config.criterion_by_key
        self._votes = Votes(criteria[options.preferences]) if options.preferences else None
        self._values = Values(criteria[options.unpaired], options) if options.unpaired else None

    def write(self) -> None:
        made = self.made
        _, answers, people, left_out = count_shared(self.study)
        made.left_out = {"people": people, "answers": left_out}
        chosen = select_shared(self.study)
        simulated = replace(chosen, origin=Origin.SIMULATED).find_annotations(self.study).count()
        made.is_simulated = bool(answers) and simulated == answers
        # e-mail addresses and long numbers in what people wrote
        chosen = replace(chosen, is_masked=True)
        for answer, rows, shown in self._read(AnswerReader(self.study, chosen).read_ratings()):
            self._write_answer(answer, rows, shown)
        if self.study.config.has_marks:
            for answer, marks, shown in self._read(
                AnswerReader(self.study, chosen).read_highlights()
            ):
                about = self._describe_answer(answer, shown)
                for mark in marks:
                    self.writer.write(RATINGS, self._make_mark(mark, shown) | about)
        made.people = len(self._raters)
        if self._votes:
            self._write_preferences(self._votes)
        if self._values:
            self._write_unpaired(self._values)

    def _read(self, groups: Iterator[Group]) -> Iterator[tuple[Answer, Sequence[Any], Shown]]:
        """Read answers with their rows and texts; simulated ones only if there are no others."""
        while page := list(islice(groups, _ANSWERS)):
            kept = [
                (answer, rows)
                for answer, rows in page
                if self.made.is_simulated or answer.origin != Origin.SIMULATED
            ]
            shown = read_shown(answer.item_id for answer, _ in kept)
            for answer, rows in kept:
                yield answer, rows, shown[answer.item_id]

    def _write_answer(self, answer: Answer, rows: Sequence[RatingRow], shown: Shown) -> None:
        made, at = self.made, _CELLS["submitted_at"](answer)
        self._raters.add(answer.participant)
        made.excluded += bool(answer.reasons)
        made.first_at = min(made.first_at or at, at or made.first_at)
        made.last_at = max(made.last_at, at)
        about = self._describe_answer(answer, shown)
        for row in rows:
            if row.score.comparison.outcome:
                self.writer.write(COMPARISONS, self._make_comparison(row, shown) | about)
            else:
                self.writer.write(RATINGS, self._make_rating(row, shown) | about)
            if not answer.reasons:
                for collected in (self._votes, self._values):
                    if collected:
                        collected.add(row)

    def _describe_answer(self, answer: Answer, shown: Shown) -> Row:
        """Return what ratings and comparisons of an answer share."""
        seconds = _CELLS["seconds"](answer)
        inputs = {
            f"input_{name}": self._prompts.read_input(name, shown.inputs)
            for name in self._prompts.kinds
        }
        return {
            "study": self._id,
            "item": shown.key,
            "source_id": shown.source_id,
            "group": shown.group,
            "cluster": shown.cluster or None,
            **inputs,
            "rater": answer.participant,
            "rater_kind": "person" if answer.person == "yes" else "position",
            "origin": answer.origin,
            "submitted_at": _CELLS["submitted_at"](answer) or None,
            "seconds": float(seconds) if seconds else None,
            "excluded": bool(answer.reasons),
        }

    def _make_rating(self, row: RatingRow, shown: Shown) -> Row:
        score, scale = row.score, row.score.scale
        system, output = shown.outputs.get(row.number, (None, None))
        is_words = bool(score.text) and is_written(scale, score.part)
        label = ""
        if scale and score.value is not None:
            label = scale.label_of_row(score.value, score.part)
        place = row.answer.places.get(row.number)
        return {
            "rating_id": name_rating(row),
            "system": system or None,
            "output": output,
            "output_is_empty": output == "",
            "criterion": score.criterion,
            "scale": scale.kind if scale else None,
            "scale_min": _make_float(scale.minimum if scale else None),
            "scale_max": _make_float(scale.maximum if scale else None),
            "value": _make_float(score.value),
            "label": label or None,
            "text": (WITHHELD if is_words and not self.made.options.has_comments else score.text)
            or None,
            "part": score.part or None,
            "turn": score.turn or None,
            "not_applicable": score.is_not_applicable,
            "place": int(place) if place else None,
            "tags": shown.list_tags(system or ""),
        }

    def _make_mark(self, mark: MarkRow, shown: Shown) -> Row:
        """Return a marked passage, with its words as text."""
        criterion = mark.criterion or HIGHLIGHTS
        asked = self.study.config.criterion_by_key.get(mark.criterion)
        system, output = shown.outputs[mark.number]
        place = mark.answer.places.get(mark.number)
        named = [criterion, name_output(mark.answer.item, mark.number - 1), mark.input]
        named += [
            f"turn {mark.turn}" if mark.turn else "",
            f"{mark.start}-{mark.end}",
            mark.category,
            mark.severity,
        ]
        return {
            "rating_id": "/".join([mark.answer.annotation, *filter(None, named)]),
            "system": system or None,
            "output": output,
            "output_is_empty": output == "",
            "criterion": criterion,
            "scale": asked.scale.kind if asked else None,
            "text": mark.quote,
            "part": mark.category or None,
            "turn": mark.turn or None,
            "start": mark.start,
            "end": mark.end,
            "severity": mark.severity or None,
            "marked_input": mark.input or None,
            "not_applicable": False,
            "place": int(place) if place else None,
            "tags": shown.list_tags(system or ""),
        }

    def _make_comparison(self, row: RatingRow, shown: Shown) -> Row:
        score, comparison = row.score, row.score.comparison
        detail = score.detail or {}
        both = detail.get("both")
        texts = dict(shown.outputs.values())
        scale = score.scale
        has_strength = bool(comparison.preferred and scale and scale.maximum > 1)
        reasons = (key for keys in detail.get("reasons", {}).values() for key in keys)
        return {
            "comparison_id": name_rating(row),
            "system_1": comparison.system_1,
            "output_1": texts.get(comparison.system_1),
            "system_2": comparison.system_2,
            "output_2": texts.get(comparison.system_2),
            "criterion": score.criterion,
            "outcome": f"both_{both}" if both else comparison.outcome,
            "strength": int(score.value) if has_strength and score.value else None,
            "reasons": list(dict.fromkeys(reasons)),
            "shown_first": comparison.shown_first or None,
            "tags": shown.list_tags(comparison.system_1),
        }

    def _write_preferences(self, votes: "Votes") -> None:
        self.made.left_out["pairs"] = 0
        pairs = votes.list_pairs()
        while page := list(islice(pairs, _ANSWERS)):
            shown = read_shown(place[0] for pair in page for place in (pair.first, pair.second))
            for pair in page:
                if pair.votes[0] == pair.votes[1]:
                    self.made.left_out["pairs"] += 1
                else:
                    self._write_pair(pair, votes.criterion.key, shown)

    def _write_pair(self, pair: "Pair", criterion: str, shown: Mapping[int, Shown]) -> None:
        is_first = pair.votes[0] > pair.votes[1]
        places = (pair.first, pair.second) if is_first else (pair.second, pair.first)
        items = [shown[item] for item, _ in places]
        sides = [item.outputs[number] for item, (_, number) in zip(items, places, strict=True)]
        answers = [self._prompts.write_answer(text) for _, text in sides]
        texts = [self._prompts.write_prompt(items[0].inputs), *answers]
        strengths = pair.strengths[0 if is_first else 1]
        about = {
            "chosen_system": sides[0][0],
            "rejected_system": sides[1][0],
            "criterion": criterion,
            "votes_chosen": max(pair.votes),
            "votes_rejected": min(pair.votes),
            "votes_tie": pair.ties,
            "mean_strength": sum(strengths) / len(strengths) if strengths else None,
            "source_id": items[0].source_id,
            "group": items[0].group,
            # of two items that share an input: neither
            "item": items[0].key if places[0][0] == places[1][0] else None,
            "study": self._id,
        }
        for form, table in enumerate((PREFERENCES, CONVERSATIONAL)):
            named = zip(
                ("prompt", "chosen", "rejected"), (text[form] for text in texts), strict=True
            )
            self.writer.write(table, dict(named) | about)

    def _write_unpaired(self, values: "Values") -> None:
        self.made.left_out["outputs"] = 0
        places = iter(sorted(values.by_output))
        while page := list(islice(places, _ANSWERS)):
            shown = read_shown(item for item, _ in page)
            for item, number in page:
                rated = values.by_output[item, number]
                label = values.decide(rated)
                if label is None:
                    self.made.left_out["outputs"] += 1
                    continue
                system, text = shown[item].outputs[number]
                row = {
                    "prompt": self._prompts.write_prompt(shown[item].inputs)[0],
                    "completion": self._prompts.write_answer(text)[0],
                    "label": label,
                    "system": system,
                    "criterion": values.criterion.key,
                    "mean_value": sum(rated) / len(rated),
                    "raters": len(rated),
                    "source_id": shown[item].source_id,
                    "group": shown[item].group,
                    "study": self._id,
                }
                self.writer.write(UNPAIRED, row)


def _make_float(number: float | None) -> float | None:
    return None if number is None else float(number)


def name_rating(row: RatingRow) -> str:
    """Return the id of a rating, of what names it in ratings.csv too."""
    score = row.score
    about = name_output(row.answer.item, row.number - 1) if row.number else ""
    parts = [score.criterion, about, f"turn {score.turn}" if score.turn else "", score.part]
    return "/".join([row.answer.annotation, *filter(None, parts)])


# --- what judgements decide -----------------------------------------------------------------------

# an output: the id of its item, and its number there
Place = tuple[int, int]


@dataclass
class Pair:
    """The votes on two outputs for one input."""

    first: Place
    second: Place
    votes: list[int] = field(default_factory=lambda: [0, 0])
    ties: int = 0
    strengths: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    def add(self, winner: int | None, strength: float | None = None) -> None:
        """Count a vote for the first (0) or the second (1), or a tie, which is for neither."""
        if winner is None:
            self.ties += 1
            return
        self.votes[winner] += 1
        if strength is not None:
            self.strengths[winner].append(strength)


class Votes:
    """Collects what raters say of pairs of outputs by one criterion.

    A comparison is a vote. Of ratings, the output to which one rater gave the better value has that
    rater's vote. Of an order, each two outputs of which it says something have a vote; the same
    output counts as one, in whichever items of its input it was shown.
    """

    def __init__(self, criterion: Criterion) -> None:
        self.criterion = criterion
        self._pairs: dict[tuple[Place, Place], Pair] = {}
        # of ratings: by group and rater
        self._values: defaultdict[str, defaultdict[int, dict[Place, float]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        # of orders: by answer, with the values by number
        self._orders: dict[int, tuple[Answer, dict[int, float]]] = {}
        self._places: dict[tuple[str, str], Place] = {}

    def add(self, row: RatingRow) -> None:
        if row.score.criterion != self.criterion.key:
            return
        if self.criterion.scale.compares:
            self._add_comparison(row)
        elif self.criterion.scale.orders and row.number and row.score.value is not None:
            _answer, values = self._orders.setdefault(row.answer.id, (row.answer, {}))
            values[row.number] = row.score.value
        elif row.number and row.score.value is not None and not row.score.part:
            of_rater = self._values[row.answer.group][row.answer.participant_id]
            of_rater[row.answer.item_id, row.number] = row.score.value

    def _add_comparison(self, row: RatingRow) -> None:
        if not row.score.comparison.outcome:
            return
        first, second = sorted(row.answer.outputs)[:2]
        pair = self._find_pair((row.answer.item_id, first), (row.answer.item_id, second))
        winner = {first: 0, second: 1}.get(row.chosen)
        pair.add(winner, row.score.value if self.criterion.scale.maximum > 1 else None)

    def _add_order(self, answer: Answer, values: Mapping[int, float]) -> None:
        scale = self.criterion.scale
        for first, second in combinations(sorted(answer.outputs), 2):
            if first not in values and second not in values:
                continue
            worths = [scale.weigh_place(values.get(number)) for number in (first, second)]
            winner = None if worths[0] == worths[1] else int(worths[1] > worths[0])
            places = [self._find_place(answer, number) for number in (first, second)]
            is_turned = places[0] > places[1]
            if winner is not None and is_turned:
                winner = 1 - winner
            self._find_pair(*sorted(places)).add(winner)

    def _find_place(self, answer: Answer, number: int) -> Place:
        """Return where the output of this system was first met for this input."""
        system = answer.outputs[number][1] or str(number)
        return self._places.setdefault((answer.group, system), (answer.item_id, number))

    def _find_pair(self, first: Place, second: Place) -> Pair:
        return self._pairs.setdefault((first, second), Pair(first, second))

    def list_pairs(self) -> Iterator[Pair]:
        """Yield every pair that somebody judged."""
        is_lower_better = self.criterion.direction == "lower"
        for raters in self._values.values():
            for values in raters.values():
                for first, second in combinations(sorted(values), 2):
                    difference = values[first] - values[second]
                    is_second = (difference < 0) is not is_lower_better
                    winner = int(is_second) if difference else None
                    self._find_pair(first, second).add(winner)
        for answer, placed in self._orders.values():
            self._add_order(answer, placed)
        yield from (self._pairs[places] for places in sorted(self._pairs))


class Values:
    """Collects the values that outputs got by one criterion."""

    def __init__(self, criterion: Criterion, options: DatasetOptions) -> None:
        self.criterion, self._options = criterion, options
        self.by_output: defaultdict[Place, list[float]] = defaultdict(list)

    def add(self, row: RatingRow) -> None:
        is_value = row.score.criterion == self.criterion.key and row.score.value is not None
        if is_value and row.number and not row.score.part:
            self.by_output[row.answer.item_id, row.number].append(row.score.value)  # type: ignore[arg-type]

    def decide(self, values: Sequence[float]) -> bool | None:
        """Return whether an output with these values is good; None: between the thresholds."""
        mean = sum(values) / len(values)
        good, bad = self._options.good_from, self._options.bad_below
        if not needs_thresholds(self.criterion):
            # more said yes than no
            is_good, is_bad = mean > 0.5, mean < 0.5
        elif self.criterion.direction == "lower":
            is_good, is_bad = mean <= good, mean > bad  # type: ignore[operator]
        else:
            is_good, is_bad = mean >= good, mean < bad  # type: ignore[operator]
        if not needs_thresholds(self.criterion) and self.criterion.direction == "lower":
            is_good, is_bad = is_bad, is_good
        return is_good if is_good or is_bad else None
