"""Ratings that somebody has already: what each column of their file holds, and on which scale.

Read as `evalsite report` reads a file, and shown before there is a study.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from django.conf import settings

from evalsite.data.importing import get_limits
from evalsite.data.items.choices import shorten_id
from evalsite.data.ratings.bare_errors import BareErrors, read_errors
from evalsite.data.ratings.columns import make_key, shorten
from evalsite.data.tables.bare_ratings import DECIMAL, open_bare, write_plain
from evalsite.data.tables.mqm import find_columns
from evalsite.data.tables.rating_forms import TURNS, name_winners
from evalsite.data.tables.reader import FileMapping
from evalsite.data.tables.table import Refused, Row, Table, peek
from evalsite.lib.bare_scales import BareScale, read_scale
from evalsite.lib.limited import read_cells
from evalsite.lib.rating_columns import (
    DECISION_WORDS,
    FIELDS,
    MEANINGS,
    MISSING_WORDS,
    check_mapping,
    fold,
    melt,
    split_field,
)
from evalsite.lib.rating_guess import (
    are_numbers,
    complete_guess,
    guess_bare,
    is_rating,
    name_columns,
    name_question,
)
from evalsite.lib.words import count_of, list_of

# what a column holds, where that is more than a field: the kind of a question
SCALE, NUMBER, CATEGORIES = "scale", "number", "categories"
QUESTIONS = {
    SCALE: "Question: a scale",
    NUMBER: "Question: any number",
    CATEGORIES: "Question: categories",
}
ERRORS = "errors"  # of the one question of a file of errors
USES = {
    "item": "Item",
    "system": "System",
    "participant": "Person",
    **QUESTIONS,
    "preferred": "Preferred system",
    "criterion": "Name of the question",
    "note": "Comment",
    "": "Leave out",
}
# among the decisions of a mapping: the kind that was chosen for a question
KIND = "kind:"
# among its decisions, too: what has a column for each
TURN = "turn"
TIE, ONLY_SYSTEM, ONLY_QUESTION = "tie", "system", "rating"
_SAMPLE = 50  # rows that show what columns hold, as in the analysis
_NAMED = 6
_MOST_POINTS, _MOST_OPTIONS = 21, 200
_DECIMALS = 3  # of a stored value
_LONG = 6  # words of a cell that is a text
# what a page shows of a file as it is
_SHOWN = (
    "encoding", "delimiter", "has_commas", "rows", "columns", "faults", "notes", "pairs",
    "is_turned", "systems", "items", "missing",
)  # fmt: skip
_SIDES = ("system_1", "system_2")
# words for the first and the second of a pair
_PLACES = {"1": 0, "first": 0, "a": 0, "system_1": 0, "2": 1, "second": 1, "b": 1, "system_2": 1}


@dataclass
class Question:
    """A criterion of the file: its values, how they are read, and what an instrument asks."""

    name: str
    key: str
    compares: bool = False
    values: Counter[str] = field(default_factory=Counter)
    kind: str = SCALE
    scale: dict[str, Any] = field(default_factory=dict)
    words: str = ""
    # of categories: the key of each
    options: dict[str, str] = field(default_factory=dict)

    def write(self, value: str) -> str:
        """Return a value as a file of ratings has it for a study."""
        if self.kind == ERRORS:
            return value
        if self.options:
            return self.options[value]
        if value.casefold() in DECISION_WORDS:
            return str(DECISION_WORDS[value.casefold()])
        return f"{round(float(value), _DECIMALS):.15g}"


@dataclass(slots=True)
class BareRating:
    """One rating, with the row of the file that has it. `sides`: of a comparison."""

    row: int
    participant: str
    item: str
    system: str
    question: str
    value: str
    fields: dict[str, str]
    sides: tuple[str, ...] = ()


@dataclass
class BareFile:
    """What a file of ratings holds: as a page shows it, and the ratings themselves."""

    encoding: str = ""
    delimiter: str = ""
    has_commas: bool = False
    rows: int = 0
    columns: list[dict[str, Any]] = field(default_factory=list)
    faults: list[list[str]] = field(default_factory=list)
    notes: list[list[str]] = field(default_factory=list)
    # what the report command has to be told of the columns
    pairs: list[str] = field(default_factory=list)
    is_turned: bool = False
    people: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    items: int = 0
    ratings: list[BareRating] = field(default_factory=list)
    questions: dict[str, Question] = field(default_factory=dict)
    missing: int = 0
    # of a file of errors: what else it holds
    errors: BareErrors | None = None

    def add_fault(self, code: str, message: str) -> None:
        if len(self.faults) < _MOST_OPTIONS:
            self.faults.append([code, message])

    def describe(self) -> dict[str, Any]:
        """Return what a page shows, as plain data."""
        return {name: getattr(self, name) for name in _SHOWN} | {
            "fault_count": len(self.faults),
            "ratings": len(self.ratings),
            "people": len(self.people),
            "has_texts": self.errors is not None,
        }


def read_bare_file(source: BinaryIO, *, file_name: str, mapping: FileMapping) -> BareFile:
    """Return what the file holds; what nobody said of it is guessed."""
    bare = BareFile()
    try:
        table = open_bare(source, file_name=file_name, limits=get_limits(), options=mapping.options)
        bare.encoding, bare.delimiter = table.encoding, table.delimiter
        if not peek(table):
            raise Refused("no_rows", "The file has no rows under its header.")
        if find_columns(table.header):
            _read_errors(bare, table)
        else:
            _read(bare, table, mapping)
    except Refused as refused:
        place = f"{refused.fault.place}: " if refused.fault.place else ""
        bare.add_fault(refused.code, f"{place}{refused.message}")
    return bare


def _read(bare: BareFile, table: Table, mapping: FileMapping) -> None:
    first = {name: _find_first(table, number) for number, name in enumerate(table.header)}
    sides = name_winners(table)
    chosen = {name: use for name, use in mapping.fields.items() if use and not use.endswith(":")}
    decimal = str(mapping.decisions.get(DECIMAL) or "")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        before = [row.cells[:] for row in peek(table)]
        odd: list[int] = []
        width = len(table.header)
        table.rows = _watch(table.rows, width, odd)
        known = dict(write_plain(table, path, chosen, sides, decimal=decimal))
        with path.open(encoding="utf-8", newline="") as file:
            csv.field_size_limit(settings.UPLOAD_MAX_CELL)
            header, *rows = read_cells(file)
    bare.rows = len(rows)
    if odd:
        lines = f"{table.unit.capitalize()}{'s' if len(odd) > 1 else ''}"
        names = [*map(str, odd[:_NAMED])]
        names += [f"{len(odd) - _NAMED:,} more"] if len(odd) > _NAMED else []
        bare.add_fault(
            "row_length", f"{lines} {list_of(names)}: not as many cells as the header has names, "
            f"{width}. Correct that, or choose another separator.",
        )  # fmt: skip
    turned = TURNS.get(str(mapping.decisions.get(TURN) or ""), "")
    if turned:
        header, rows = _turn(header, rows, turned, {**mapping.fields, **known})
    bare.has_commas = (
        bool(before)
        and any("," in cell for cells in before for cell in cells)
        and (_has_commas(table.header, before, header, rows))
    )
    guess = guess_bare(header, rows[:_SAMPLE])
    guess |= {name: use for name, use in known.items() if name in guess}
    by_itself = dict(guess)
    complete_guess(guess, header, rows[:_SAMPLE])
    guess |= {name: use for name, use in mapping.fields.items() if name in guess}
    bare.pairs = [f"{name}={use}" for name, use in guess.items() if use != by_itself[name]]
    bare.is_turned = bool(turned)
    problems = check_mapping(guess)
    if not problems:
        _read_ratings(bare, header, rows, guess)
        _read_scales(bare, mapping)
        _look_over(bare)
    else:
        _explain(bare, problems, guess, rows)
    _describe_columns(bare, header, rows, guess)
    for column in bare.columns:
        column["sample"] = shorten(first.get(column["name"]) or column["sample"], 60)
    for name in (name for name in mapping.fields if name in first and name not in guess):
        use = mapping.fields[name]
        bare.columns.append(_make_column(name, first[name], use, use, ""))


def _read_errors(bare: BareFile, table: Table) -> None:
    """Read the TSV of WMT, whose columns are known."""
    bare.errors = errors = read_errors(table)
    question = Question(errors.name, make_key(errors.name, set()), kind=ERRORS, scale=errors.scale)
    bare.questions = {errors.name: question}
    bare.ratings = [
        BareRating(line, person, item, system, errors.name, value, {})
        for line, person, item, system, value in errors.answers
    ]
    bare.rows = errors.rows
    bare.notes.extend(errors.notes)
    _look_over(bare)


def _turn(
    header: Sequence[str], rows: Sequence[list[str]], field: str, chosen: Mapping[str, str]
) -> tuple[list[str], list[list[str]]]:
    """Return a table with one rating in each row; names of columns of numbers are a field."""
    guess = guess_bare(header, rows[:_SAMPLE])
    guess = {name: "" if is_rating(use) or use == field else use for name, use in guess.items()}
    guess |= {name: use for name, use in chosen.items() if name in guess}
    name_columns(guess, leaves_out=field)
    numbers = [
        number
        for number, name in enumerate(header)
        if not guess[name]
        and chosen.get(name) != ""
        and are_numbers(row[number].replace(",", ".") for row in rows[:_SAMPLE])
    ]
    kept = [number for number in range(len(header)) if number not in numbers]
    turned = [
        [*(row[number] for number in kept), header[at], row[at]] for row in rows for at in numbers
    ]
    return [*(header[number] for number in kept), field, "value"], turned


def _watch(rows: Iterator[Row], width: int, odd: list[int]) -> Iterator[Row]:
    """Yield the rows; note the lines of those with more or fewer cells."""
    for row in rows:
        if len(row.cells) != width and not row.problems:
            odd.append(row.line)
        yield row


def _find_first(table: Table, number: int) -> str:
    cells = (row.cells[number] for row in peek(table) if number < len(row.cells))
    return next((cell for cell in cells if cell.strip()), "")


def _has_commas(
    names: Sequence[str],
    before: Sequence[Sequence[str]],
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> bool:
    """Tell whether a decimal comma was read as a point."""
    places = {name: number for number, name in enumerate(header)}
    return any(
        number < len(cells)
        and name in places
        and cells[number].strip() != after[places[name]]
        and cells[number].strip().replace(",", ".") == after[places[name]]
        for cells, after in zip(before, rows, strict=False)
        for number, name in enumerate(names)
    )


# --- columns --------------------------------------------------------------------------------


def change_use(name: str, use: str, guess: Mapping[str, str]) -> str:
    """Return the field of a column for what a person says that it holds."""
    if use not in QUESTIONS:
        return use
    if (target := split_field(guess.get(name, ""))) and target.name == "value":
        return guess[name]
    return "value" if "criterion" in guess.values() else name_question(name)


def _describe_columns(
    bare: BareFile, header: Sequence[str], rows: Sequence[Sequence[str]], guess: dict[str, str]
) -> None:
    for number, name in enumerate(header):
        sample = next((row[number] for row in rows if row[number].strip()), "")
        use, note = _describe_use(bare, guess[name], [row[number] for row in rows])
        bare.columns.append(_make_column(name, sample, guess[name], use, note))


def _make_column(name: str, sample: str, mapped: str, use: str, note: str) -> dict[str, Any]:
    other = MEANINGS.get(mapped, mapped) if use not in USES else ""
    return {
        "name": name,
        "sample": sample,
        "field": mapped,
        "use": use,
        "other": other[:1].upper() + other[1:],
        "note": note,
    }


def _describe_use(bare: BareFile, use: str, cells: Sequence[str]) -> tuple[str, str]:
    """Return what a page calls a field, and what the column was found to hold."""
    values = dict.fromkeys(text for cell in cells if (text := cell.strip()))
    target = split_field(use)
    if target is not None and target.name == "value" and target.is_rating:
        name = target.criterion or ONLY_QUESTION
        question = bare.questions.get(name)
        if question is None and len(bare.questions) == 1:
            question = next(iter(bare.questions.values()))
        if question is None and not target.criterion:
            words = dict.fromkeys(asked.words for asked in bare.questions.values())
            kinds = [asked.kind for asked in bare.questions.values()]
            return kinds[0] if kinds else SCALE, " ".join(words)
        return (question.kind, question.words) if question else (SCALE, "")
    if target is not None and target.name == "preferred":
        return "preferred", _list_few(values, "answer")
    if use == "item":
        short = next((text for text in values if shorten_id(text) != text), "")
        kept = f" “{shorten(short, 40)}” is kept as it is." if short else ""
        return use, f"{count_of(len(values), 'item')}.{kept}"
    if use == "system":
        return use, _list_few(values, "system")
    if use == "participant":
        return use, _list_few(values, "person", "people")
    if use == "criterion":
        return use, _list_few(values, "question")
    if use == "note":
        return use, count_of(sum(bool(cell.strip()) for cell in cells), "comment")
    return use, ""


def _list_few(values: Mapping[str, Any], noun: str, plural: str = "") -> str:
    if len(values) <= _NAMED:
        return ", ".join(shorten(value, 40) for value in values)
    return count_of(len(values), noun, plural)


def _explain(
    bare: BareFile,
    problems: Sequence[Any],
    guess: Mapping[str, str],
    rows: Sequence[Sequence[str]],
) -> None:
    """Say what is missing; a file without numbers and with texts is one of outputs."""
    used = {*guess.values()}
    has_texts = any(len(cell.split()) >= _LONG for row in rows[:_SAMPLE] for cell in row)
    if not any(is_rating(use) for use in used):
        if has_texts:
            bare.add_fault(
                "looks_like_items",
                "No column holds ratings, and there are texts: this looks like a file of outputs.",
            )
        else:
            bare.add_fault(
                "no_ratings", "No column holds ratings. Say below which column is a question."
            )
    for name, words in (("item", "which item was rated"), ("participant", "who rated")):
        if name not in used:
            bare.add_fault(
                f"{name}_missing", f"Say below which column says {words} (“{USES[name]}”)."
            )
    if not bare.faults:
        for problem in problems:
            bare.add_fault(problem.code, problem.message)


# --- ratings --------------------------------------------------------------------------------


def _read_ratings(
    bare: BareFile, header: list[str], rows: Sequence[list[str]], guess: dict[str, str]
) -> None:
    parts = melt(header, guess)
    places = {fold(name): number for number, name in enumerate(header)}
    sides = [places[name] for name in _SIDES if name in places]
    for number, cells in enumerate(rows, start=1):
        for part in parts:
            values = {name: cells[at].strip() for name, at in part.columns.items()}
            values |= part.fixed
            compares = "preferred" in values
            value = values.pop("preferred", "") or values.pop("value", "")
            if not value or value.casefold() in MISSING_WORDS:
                bare.missing += 1
                continue
            rating = BareRating(
                row=number,
                participant=values.pop("participant", ""),
                item=values.pop("item", ""),
                system=values.pop("system", "") or ("" if compares else ONLY_SYSTEM),
                question=values.pop("criterion", "") or ONLY_QUESTION,
                value=value,
                fields={name: text for name, text in values.items() if name in FIELDS and text},
                sides=tuple(cells[at].strip() for at in sides) if compares else (),
            )
            _add(bare, rating, compares=compares)


def _add(bare: BareFile, rating: BareRating, *, compares: bool) -> None:
    for name in ("item", "participant"):
        if not getattr(rating, name):
            bare.add_fault(
                f"{name}_empty", f"Row {rating.row}: the column “{USES[name]}” is empty."
            )
            return
    question = bare.questions.get(rating.question)
    if question is None:
        key = make_key(rating.question, {known.key for known in bare.questions.values()})
        question = bare.questions[rating.question] = Question(rating.question, key, compares)
    if compares:
        rating.value = _name_preferred(rating)
    question.values[rating.value] += 1
    bare.ratings.append(rating)


def _name_preferred(rating: BareRating) -> str:
    """Return the preferred system by name, or a tie."""
    value = rating.value
    if value.casefold() == TIE or value in rating.sides:
        return TIE if value.casefold() == TIE else value
    place = _PLACES.get(fold(value))
    return rating.sides[place] if rating.sides and place is not None else value


# --- scales ---------------------------------------------------------------------------------


def _read_scales(bare: BareFile, mapping: FileMapping) -> None:
    for name, question in bare.questions.items():
        if question.compares:
            question.kind, question.words = "preferred", ""
            continue
        decisions = mapping.decisions
        # where one column holds the values of all questions, it is said of them all
        kind = decisions.get(f"{KIND}{name}") or decisions.get(f"{KIND}{ONLY_QUESTION}")
        _read_question(bare, question, str(kind or ""))


def _read_question(bare: BareFile, question: Question, kind: str) -> None:
    words = {value.casefold() for value in question.values}
    if kind != CATEGORIES and words <= DECISION_WORDS.keys():
        question.scale = _make_decision()
        question.words = "Yes or no. Analysed as a decision."
        return
    if kind == CATEGORIES or not are_numbers(question.values):
        _read_categories(bare, question)
        if kind in (SCALE, NUMBER):
            odd = next(value for value in question.values if not are_numbers([value]))
            bare.add_fault(
                "value_invalid", f"{question.name}: “{shorten(odd)}” is no number. Correct it, or "
                "say that the column holds categories.",
            )  # fmt: skip
        return
    chosen = {SCALE: "likert", NUMBER: "number"}.get(kind, "")
    exact = [float(value) for value in question.values]
    values = [round(value, _DECIMALS) for value in exact]
    if values != exact:
        bare.notes.append([
            "rounded", f"{question.name} is rounded to {_DECIMALS} decimals",
            "The figures may differ from those of the file in the last digits.",
        ])  # fmt: skip
    reading = read_scale(question.name, values, ends=None, kind=chosen)
    question.kind = NUMBER if reading.kind == "number" else SCALE
    question.scale, question.words = _make_scale(reading, values)


def _read_categories(bare: BareFile, question: Question) -> None:
    question.kind = CATEGORIES
    for value in sorted(question.values):
        question.options[value] = make_key(value, {*question.options.values()})
    number = len(question.options)
    if not 2 <= number <= _MOST_OPTIONS:
        bare.add_fault(
            "options", f"{question.name} has {count_of(number, 'different value')}, and categories "
            f"need 2 to {_MOST_OPTIONS}. Leave the column out, or say what else it holds.",
        )  # fmt: skip
    question.scale = {
        "kind": "choice",
        "options": [{"key": key, "label": name} for name, key in question.options.items()],
    }
    question.words = f"{_list_few(question.options, 'category', 'categories')}."


def _make_decision() -> dict[str, Any]:
    return {"kind": "decision", "yes": "Yes", "no": "No"}


def _make_scale(reading: BareScale, values: Sequence[float]) -> tuple[dict[str, Any], str]:
    """Return the scale of an instrument, and in words how the values are read."""
    if reading.decides:
        return _make_decision(), "0 and 1. Analysed as a decision."
    low, high = reading.ends or (min(values), max(values))
    points = reading.list_points()
    if 2 <= len(points) <= _MOST_POINTS:
        scale = {
            "kind": "likert",
            "points": [{"value": _shorten(point), "label": f"{point:g}"} for point in points],
        }
        steps = f" in steps of {reading.step:g}" if reading.step != 1 else ""
        return scale, f"{low:g} to {high:g}{steps}. Analysed as a scale."
    decimals = {len(f"{value:.10g}".partition(".")[2]) for value in values}
    ends = {"minimum": _shorten(low), "maximum": _shorten(high if high > low else low + 1)}
    if reading.kind == "number" and max(decimals):
        # a number is whole unless one of its ends has decimals
        ends = {name: float(end) for name, end in ends.items()}
    if reading.kind == "number" or low == high:
        return {"kind": "number", **ends}, f"{low:g} to {high:g}. Analysed as numbers."
    return (
        {"kind": "slider", **ends, "step": _shorten(reading.step)},
        f"{low:g} to {high:g}. Analysed as a scale.",
    )


def _shorten(number: float) -> float:
    return int(number) if float(number).is_integer() else number


# --- what to know ---------------------------------------------------------------------------


def _look_over(bare: BareFile) -> None:
    bare.people = list(dict.fromkeys(rating.participant for rating in bare.ratings))
    bare.systems = sorted({name for rating in bare.ratings for name in _list_systems(rating)})
    bare.items = len({rating.item for rating in bare.ratings})
    if not bare.ratings:
        bare.add_fault("no_ratings", "No row has a rating.")
        return
    _find_twice(bare)
    _find_pairs(bare)
    _note_missing(bare)
    if len(bare.people) == 1:
        bare.notes.append([
            "one_person", "One person rated",
            "There is no agreement between people, and the results hold for this person alone.",
        ])  # fmt: skip
    if len(bare.systems) == 1:
        bare.notes.append([
            "one_system", "The ratings are of one system",
            "Nothing is compared. If a column says which system was rated, say so above.",
        ])  # fmt: skip


def _list_systems(rating: BareRating) -> Iterator[str]:
    yield from filter(None, rating.sides)
    if rating.system:
        yield rating.system
    elif rating.value != TIE:
        yield rating.value


def _find_twice(bare: BareFile) -> None:
    seen: dict[tuple[str, ...], int] = {}
    twice = 0
    for rating in bare.ratings:
        key = rating.participant, rating.item, rating.system, rating.question
        if key not in seen:
            seen[key] = rating.row
        else:
            twice += 1
            if twice == 1:
                of = f" of {rating.system}" if rating.system not in ("", ONLY_SYSTEM) else ""
                example = (
                    f"“{shorten(rating.participant)}” rated “{shorten(rating.item)}”{of} in rows "
                    f"{seen[key]} and {rating.row}"
                )
    if twice:
        bare.add_fault(
            "rating_twice",
            f"{count_of(twice, 'rating')} {'is' if twice == 1 else 'are'} given twice: {example}. "
            "Remove one of the two, or say above which other column belongs to the item.",
        )


def _find_pairs(bare: BareFile) -> None:
    """Complete the pair of each comparison whose row doesn't name both systems."""
    compared = [rating for rating in bare.ratings if bare.questions[rating.question].compares]
    if not compared:
        return
    of_item: dict[str, set[str]] = {}
    for rating in compared:
        of_item.setdefault(rating.item, set()).update(_list_systems(rating))
    known = {name for names in of_item.values() for name in names}
    for rating in compared:
        names = of_item[rating.item]
        names = known if len(names) < 2 and len(known) == 2 else names
        if len(names) != 2:
            bare.add_fault(
                "pair_unknown",
                f"Row {rating.row}: “{shorten(rating.item)}” has {count_of(len(names), 'system')} "
                f"({list_of(sorted(names)[:_NAMED]) or 'none'}), and a comparison has two. Give "
                "both in columns system_1 and system_2, and each pair an item of its own.",
            )
            return
        rating.sides = tuple(sorted(names))
        if rating.value not in (TIE, *names):
            bare.add_fault(
                "pair_unknown",
                f"Row {rating.row}: “{shorten(rating.value)}” is none of the two systems of "
                f"“{shorten(rating.item)}” ({list_of(rating.sides)}). Correct it, or say that the "
                "column holds categories.",
            )
            return


def _note_missing(bare: BareFile) -> None:
    outputs = dict.fromkeys((rating.item, rating.system) for rating in bare.ratings)
    whole = len(outputs) * len(bare.people) * len(bare.questions)
    missing = whole - len(bare.ratings)
    left_out = ""
    # of a design in which everyone rates everything
    if 0 < missing < whole / 10:
        bare.missing = missing
        left_out = _name_missing(bare, [*outputs])
    total = len(bare.ratings) + bare.missing
    if bare.missing:
        are = f"{'rating' if total == 1 else 'ratings'} {'is' if bare.missing == 1 else 'are'}"
        bare.notes.append([
            "missing", f"{bare.missing:,} of {total:,} {are} missing",
            f"{left_out}The statistics can deal with it.",
        ])  # fmt: skip


def _name_missing(bare: BareFile, outputs: Sequence[tuple[str, str]]) -> str:
    """Return a sentence on who left out what, if that is little."""
    rated = {(rating.participant, rating.item, rating.system) for rating in bare.ratings}
    left_out: dict[str, list[str]] = {}
    for person in bare.people:
        for item, system in outputs:
            if (person, item, system) not in rated:
                by = f" by “{shorten(system, 40)}”" if system not in ("", ONLY_SYSTEM) else ""
                left_out.setdefault(person, []).append(f"“{shorten(item, 40)}”{by}")
    if not left_out or sum(map(len, left_out.values())) > _NAMED:
        return ""
    return "".join(
        f"“{shorten(person, 40)}” left out {list_of(names)}. " for person, names in left_out.items()
    )
