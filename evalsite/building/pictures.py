"""A small drawing of an instrument's page: what is read, and a row for each question."""

from collections.abc import Iterator
from dataclasses import dataclass

from evalsite.instruments.scales import Scale
from evalsite.instruments.schema import Instrument

WIDTH, HEIGHT = 240, 128
_MOST_ROWS = 5
_MOST_SEGMENTS = 9


@dataclass(frozen=True)
class Shape:
    """A rectangle, or with a radius alone a dot; `kind` is its class in the stylesheet."""

    kind: str
    x: float
    y: float
    width: float = 0
    height: float = 3
    radius: float = 1

    @property
    def is_dot(self) -> bool:
        return not self.width


Picture = tuple[Shape, ...]


def draw(config: Instrument) -> Picture:
    """Return the shapes of the drawing, those that lie below first."""
    is_one = config.layout.outputs == "one"
    shapes: list[Shape] = []
    if is_one:
        shapes += _draw_input(config, 12, 14, 72, 4)
        shapes += _draw_card(12, 62, 72, 52)
        left, top, right, bottom = 100.0, 14.0, 228.0, 116.0
    else:
        count = 2 if config.layout.is_pair else 3
        shapes += _draw_input(config, 12, 10, 216, 2)
        width = (216 - 8 * (count - 1)) / count
        for number in range(count):
            shapes += _draw_card(12 + number * (width + 8), 32, width, 44)
        left, top, right, bottom = 12.0, 84.0, 228.0, 122.0
    criteria = config.criteria[: _MOST_ROWS if is_one else 2]
    step = (bottom - top) / len(criteria)
    for row, criterion in enumerate(criteria):
        y = top + row * step
        shapes.append(Shape("l", left, y, 28 + row * 3 % 9))
        shapes += _draw_scale(criterion.scale, row, left, y + 6, right - left, min(14.0, step - 9))
    return tuple(shapes)


def _draw_input(
    config: Instrument, x: float, y: float, width: float, lines: int
) -> Iterator[Shape]:
    if not config.columns:
        return
    if config.columns[0].kind == "dialogue":
        yield Shape("s", x, y - 4, width * 0.8, 16, 6)
        yield Shape("l", x + 8, y + 3, width * 0.5)
        if lines > 2:
            yield Shape("s", x + width * 0.2, y + 18, width * 0.8, 16, 6)
            yield Shape("l", x + width * 0.2 + 8, y + 25, width * 0.5)
        return
    for line in range(lines):
        is_last = line == lines - 1
        yield Shape("l", x, y + 8 * line, width * (0.6 if is_last else 1))


def _draw_card(x: float, y: float, width: float, height: float) -> Iterator[Shape]:
    yield Shape("s", x, y, width, height, 2)
    yield Shape("k", x, y, width, 3, 0)
    for line, share in enumerate((1, 1, 0.6)):
        yield Shape("l", x + 7, y + 12 + 9 * line, (width - 14) * share)


def _draw_scale(
    scale: Scale, row: int, x: float, top: float, width: float, height: float
) -> Iterator[Shape]:
    """Draw what is chosen from: points, a line, boxes to tick, or a box to write in."""
    # first, tie, second
    answers = len(scale.list_answers()) or (3 if scale.compares else 0)
    if scale.has_parts:
        yield from _draw_ticks(x, top, width, height)
    elif 2 <= answers <= _MOST_SEGMENTS:
        chosen = (answers - 1 - row) % answers
        part = width / answers
        for number in range(answers):
            kind = "t" if number == chosen else "s"
            yield Shape(kind, x + number * part, top, part, height, 2)
        yield Shape("a", x + (chosen + 0.5) * part, top + height / 2, radius=3)
    elif scale.is_written:
        yield Shape("s", x, top, width / 2, height, 2)
        yield Shape("l", x + 6, top + height / 2 - 1.5, width / 8)
    elif isinstance(getattr(scale, "maximum", None), int):
        yield Shape("l", x, top + height / 2 - 1.5, width, 3, 2)
        yield Shape("a", x + width * (0.4 + row * 3 % 5 * 0.1), top + height / 2, radius=5)
    else:
        yield Shape("s", x, top, width, height, 2)


def _draw_ticks(x: float, top: float, width: float, height: float) -> Iterator[Shape]:
    """Draw three boxes side by side, the first and the last one ticked."""
    part, side = width / 3, min(height, 10)
    for number in range(3):
        left = x + number * part
        yield Shape("s" if number == 1 else "t", left, top + (height - side) / 2, side, side, 2)
        if number != 1:
            yield Shape("a", left + side / 2, top + height / 2, radius=2.5)
        yield Shape("l", left + side + 4, top + height / 2 - 1.5, part - side - 10)
