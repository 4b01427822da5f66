"""The answers to an item as marks: one square each, in the shade of the answer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from typing import Any, NamedTuple

from evalsite.analysis.families import get_family
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.questions import name_output
from evalsite.instruments.scales import Scale
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.results.people.answer_words import Names, describe_rows

# from the lowest answer to the highest
_SHADES = ("p1", "p12", "p2", "p3", "p4", "p45", "p5")
_BOTH = {"good": "bothgood", "bad": "bothbad"}
# the values that have the first and the last shade
Reach = tuple[float, float]
# answers of one item that are drawn
MOST = 40


class Mark(NamedTuple):
    """An answer as a square. `rank`: its place among all answers, the highest first."""

    rank: float
    shade: str
    words: str


class Square(NamedTuple):
    shade: str
    start: str
    width: str


def mark_answer(
    config: Instrument,
    criterion: Criterion,
    row: AnswerRow,
    sides: Sequence[str],
    reach: Reach,
) -> Mark:
    """Return the mark of an answer. `sides`: of comparisons, what the outputs are called, and
    `row.output` is the number of the one preferred, from 1."""
    if not criterion.scale.compares:
        value = row.value or 0.0
        share = place_value(criterion.scale, value, reach)
        shade = _SHADES[round(share * (len(_SHADES) - 1))]
        return Mark(-share, shade, describe_rows(criterion, [row], Names({}, {})))
    detail = row.detail or {}
    words = _describe_side(config, criterion, row, sides)
    if row.output is None:
        both = detail.get("both", "")
        return Mark(0.0 if both != "bad" else 0.01, _BOTH.get(both, "bothgood"), words)
    share = (row.value or 0.0) / criterion.scale.maximum
    grade = share if row.output == 1 else -share
    return Mark(-grade, _SHADES[_place_grade(criterion.scale, row)], words)


def _place_grade(scale: Any, row: AnswerRow) -> int:
    """Return which shade a grade has: the sides are as different as they can be."""
    grades = [value for value, _label in _list_grades(scale) if value]
    grade = int(row.value or 0) if row.output == 1 else -int(row.value or 0)
    return round(grades.index(grade) * (len(_SHADES) - 1) / max(len(grades) - 1, 1))


def _list_grades(scale: Any) -> list[tuple[int, str]]:
    return [(point.value, point.label) for point in scale.points]


def _describe_side(
    config: Instrument, criterion: Criterion, row: AnswerRow, sides: Sequence[str]
) -> str:
    names = dict(enumerate(sides, start=1))
    shown = {number: name_output(config, number, 2) for number in names}
    detail = {"both": row.detail["both"]} if row.detail and "both" in row.detail else None
    return describe_rows(criterion, [row._replace(detail=detail)], Names(names, shown))


def place_value(scale: Scale, value: float, reach: Reach) -> float:
    """Return where a value is in its reach, from 0 to 1; of magnitudes, its logarithm."""
    listed = [known for known, _label in scale.list_answers()]
    if value in listed:
        return listed.index(value) / max(len(listed) - 1, 1)
    low, high = reach
    if get_family(scale.family).is_log:
        low, high, value = log(max(low, 1)), log(max(high, 1)), log(max(value, 1))
    return min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.5


def list_key(
    config: Instrument, criterion: Criterion, sides: Sequence[str], reach: Reach
) -> list[Mark]:
    """Return what the shades mean, the highest answer first."""
    scale: Any = criterion.scale
    about = AnswerRow(0, None, criterion.key)
    if scale.compares:
        rows = [
            about._replace(output=1 if grade > 0 else 2 if grade else None, value=abs(grade))
            for grade, _label in _list_grades(scale)
        ]
        rows += [
            about._replace(value=0, detail={"both": both})
            for both in _BOTH
            if getattr(scale, f"both_{both}")
        ]
    else:
        values = [value for value, _label in scale.list_answers()]
        rows = [about._replace(value=value) for value in values or reach]
    return sorted(mark_answer(config, criterion, row, sides, reach) for row in rows)


def draw_squares(clusters: Mapping[str, Sequence[Mark]]) -> tuple[list[Square], str]:
    """Return the squares of a row with a gap between clusters, and the row in words."""
    shown = {name: sorted(marks)[:MOST] for name, marks in clusters.items() if marks}
    places = sum(map(len, shown.values())) + max(len(shown) - 1, 0)
    step = 100 / max(places, 5)
    squares, place = [], 0
    for marks in shown.values():
        for mark in marks:
            start, width = f"{place * step + step / 20:.2f}%", f"{step * 0.9:.2f}%"
            squares.append(Square(mark.shade, start, width))
            place += 1
        place += 1
    return squares, "; ".join(
        f"{name}: {_count_words(clusters[name])}" if name else _count_words(clusters[name])
        for name in shown
    )


def _count_words(marks: Sequence[Mark]) -> str:
    counts = Counter(mark.words for mark in sorted(marks))
    return ", ".join(f"{number} × {words}" for words, number in counts.items())
