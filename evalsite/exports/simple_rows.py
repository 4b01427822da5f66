"""Rows of ratings_simple.csv: what one participant said of one output, or of a pair."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evalsite.exports.column import write_text, yes_no
from evalsite.exports.comparison import TIE, Comparison
from evalsite.exports.simple_columns import REASONS, STRENGTH, VALUE, has_na
from evalsite.instruments.scales import COMMENT, NA
from evalsite.instruments.schema import Criterion

if TYPE_CHECKING:
    from evalsite.exports.answers import RatingRow

# by criterion and part
Cells = dict[tuple[str, str], str]


class SimpleRow(NamedTuple):
    """A row of ratings_simple.csv."""

    system: str
    comparison: Comparison
    values: Mapping[tuple[str, str], str]
    source_id: str
    tags: str
    turn: int


def make_simple_rows(
    ratings: Sequence["RatingRow"],
    criteria: Mapping[str, Criterion],
    extra: Mapping[str, Any],
    *,
    of_output: bool,
) -> list[SimpleRow]:
    """Make the rows of an annotation. Of outputs, what is said of none is beside each."""
    by_row: defaultdict[tuple[int, int], list[RatingRow]] = defaultdict(list)
    for rating in ratings:
        by_row[rating.number, rating.turn].append(rating)
    of_item = _write_cells(by_row[0, 0], criteria) if of_output else {}
    return [
        SimpleRow(
            rows[0].system,
            max(score.comparison for *_, score in rows),
            _write_cells(rows, criteria) | of_item,
            find_source(rows[0].answer.item, extra),
            find_tags(rows[0].system, extra),
            turn,
        )
        for (number, turn), rows in sorted(by_row.items())
        if number or (rows and not of_output)
    ]


def find_source(item: str, extra: Mapping[str, Any]) -> str:
    """Return the id in the uploaded file, which an item made from a part of it keeps."""
    source = extra.get("item")
    return source if isinstance(source, str) and item.startswith(f"{source}/") else item


def find_tags(system: str, extra: Mapping[str, Any]) -> str:
    tags = extra.get("tags", "")
    return write_text(tags.get(system) if isinstance(tags, dict) else tags)


def _write_cells(rows: Sequence["RatingRow"], criteria: Mapping[str, Criterion]) -> Cells:
    cells: Cells = {}
    answers: dict[str, list[RatingRow]] = {}
    for row in rows:
        if row.score.part == COMMENT:
            cells[row.score.criterion, COMMENT] = row.score.text
        else:
            answers.setdefault(row.score.criterion, []).append(row)
    for key, parts in answers.items():
        # a criterion that the protocol no longer has is only in ratings.csv
        if criterion := criteria.get(key):
            cells.update(write_answer(criterion, parts))
    return cells


def write_answer(
    criterion: Criterion, rows: Sequence["RatingRow"]
) -> Iterator[tuple[tuple[str, str], str]]:
    key, row = criterion.key, rows[0]
    if criterion.scale.compares:
        comparison, detail = row.score.comparison, row.score.detail or {}
        both = detail.get("both")
        yield (key, VALUE), comparison.preferred or (f"both_{both}" if both else TIE)
        yield (key, STRENGTH), write_text(row.score.value) if comparison.preferred else ""
        yield (key, REASONS), "; ".join(_list_reasons(row, detail.get("reasons", {})))
        return
    is_na = has_na(criterion) and row.score.is_not_applicable
    yield (key, NA), yes_no(is_na)
    cell = criterion.scale.write_cell([rating.stored for rating in rows])
    yield (key, VALUE), "" if is_na else cell


def _list_reasons(row: "RatingRow", reasons: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """List each reason with the system that it is about, in the order uploaded."""
    names = {str(pk): name for pk, name in row.answer.outputs.values()}
    order = [*names, *(output for output in reasons if output not in names)]
    for output in order:
        for reason in reasons.get(output, ()):
            yield f"{names[output]}: {reason}" if output in names else reason
