"""Where marks stand in the charts of a page: positions in percent, on an axis with round ticks."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

_STEPS = (1, 2, 2.5, 5, 10)
_INTERVALS = 4  # between ticks, roughly


@dataclass(frozen=True, kw_only=True)
class Tick:
    place: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis from `low` to `high`; `step`: from tick to tick; `times`: what labels are in;
    `is_bounded`: of coefficients, which are written without a zero; `better`: which end is the
    better one, "higher" or "lower", where one is."""

    low: float
    high: float
    step: float
    times: float = 1
    is_bounded: bool = False
    better: str = ""

    def place(self, value: float) -> str:
        """Return where the value is, such as "12.5%"; the nearest end if it is beyond."""
        share = (value - self.low) / (self.high - self.low)
        return f"{min(max(share, 0), 1) * 100:.1f}%"

    @property
    def ticks(self) -> list[Tick]:
        number = round((self.high - self.low) / self.step)
        values = [self.low + place * self.step for place in range(number + 1)]
        return [Tick(place=self.place(value), label=self._label(value)) for value in values]

    def _label(self, value: float) -> str:
        text = f"{value * self.times:.6g}"
        number = 0.0 if abs(float(text)) < self.step * self.times * 1e-6 else float(text)
        text = f"{number:,g}" if abs(number) < 1e6 else f"{number:.3g}"
        if self.is_bounded:
            text = text.replace("0.", ".", 1)
        return text.replace("-", "−") + ("%" if self.times == 100 else "")


def make_axis(
    values: Iterable[float | None],
    *,
    times: float = 1,
    is_bounded: bool = False,
    is_share: bool = False,
) -> Axis:
    """Return an axis with round ticks that holds all of these values; of shares, from 0 to 1."""
    known = [value for value in values if value is not None]
    if is_share:
        times, known = 100, [min(max(value, 0.0), 1.0) for value in known]
        known = known if len(set(known)) > 1 else []
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / _INTERVALS
    scale = 10 ** floor(log10(rough))
    step = next(size * scale for size in _STEPS if size * scale >= rough * (1 - 1e-9))
    # 1e-9: what floating point adds to a value on a tick opens no further interval
    return Axis(
        low=floor(low / step + 1e-9) * step,
        high=ceil(high / step - 1e-9) * step,
        step=step,
        times=times,
        is_bounded=is_bounded,
    )


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The mark of one row: a dot, the line around it, and a ring for a second value."""

    dot: str
    start: str
    end: str
    ring: str


def make_mark(
    axis: Axis,
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    second: float | None = None,
) -> Mark | None:
    """Return where the marks of these values are; None without a value."""
    if value is None:
        return None
    start, end, ring = ("" if end is None else axis.place(end) for end in (low, high, second))
    return Mark(dot=axis.place(value), start=start, end=end, ring=ring)
