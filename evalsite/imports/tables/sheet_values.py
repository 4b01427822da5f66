"""What a cell of a sheet says, as text: the rule stands in docs/files.md."""

import re
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache

NUMBER, DATE, DURATION = "number", "date", "duration"

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[Ee][+-]?[0-9]{1,4})?")
_ADDRESS = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
# parts of a format that are shown as they stand, or colour it
_SHOWN = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_BUILT_IN = {
    **dict.fromkeys([*range(14, 23), *range(27, 37), 45, 47, *range(50, 59)], DATE),
    46: DURATION,
}
_DAY = 86_400_000  # milliseconds
_NO_DAY = 60  # Excel's 29 February 1900, which never was
_LAST_DAY = 2_958_465


def unescape(text: str) -> str:
    """What Excel wrote as _x000D_ is the sign itself again."""
    if "_x" not in text:
        return text
    found = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return _PAIR.sub(_join_pair, found)


def _join_pair(match: re.Match[str]) -> str:
    return match[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def write_number(literal: str) -> str:
    """A whole number as it stands; another in the fewest digits that mean it, without exponent."""
    if _WHOLE.fullmatch(literal):
        return literal
    if not _DECIMAL.fullmatch(literal):
        raise ValueError(f"{literal[:40]} is no number.")
    number = float(literal)
    if number in (float("inf"), float("-inf")):
        raise ValueError("The number is too large.")
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def find_meaning(number: int, code: str | None) -> str:
    """Whether cells of this format are numbers, dates or durations."""
    if code is None:
        return _BUILT_IN.get(number, NUMBER)
    if _ELAPSED.search(code):
        return DURATION
    # what stands after a ; is for numbers below zero and for texts
    shown = _SHOWN.sub("", code).partition(";")[0].lower()
    return DATE if "general" not in shown and re.search("[dmyhs]", shown) else NUMBER


def write_date(literal: str, *, is_1904: bool) -> str:
    """ISO 8601: a date, with the time of day unless it is midnight; before day 1 a time alone."""
    days, moment = _count_days(literal)
    clock = _write_clock(moment)
    if is_1904:
        start = datetime(1904, 1, 1)  # noqa: DTZ001 (a calendar's day, in no zone)
    elif not days:
        return clock
    elif days == _NO_DAY:
        raise ValueError("There was no 29 February 1900.")
    else:
        start = datetime(1899, 12, 31 if days < _NO_DAY else 30)  # noqa: DTZ001
    day = (start + timedelta(days=days)).date().isoformat()
    return f"{day}T{clock}" if moment else day


def write_duration(literal: str) -> str:
    """Hours, minutes and seconds."""
    days, moment = _count_days(literal)
    hours, rest = divmod(days * _DAY + moment, 3_600_000)
    return f"{hours}:{_write_clock(rest)[3:]}"


def _count_days(literal: str) -> tuple[int, int]:
    """Whole days, and the milliseconds of the last."""
    if not _DECIMAL.fullmatch(literal):
        raise ValueError(f"{literal[:40]} is no number.")
    number = float(literal)
    if not 0 <= number < _LAST_DAY + 1:
        raise ValueError("No calendar has this day.")
    return divmod(round(number * _DAY), _DAY)


def _write_clock(moment: int) -> str:
    seconds, rest = divmod(moment, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours:02}:{minutes:02}:{seconds:02}"
    return f"{clock}.{rest:03}" if rest else clock


def split_address(address: str) -> int:
    """The number of the column that a cell such as AB12 stands in, from 0."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise ValueError(f"{address[:40]} is no cell.")
    return _count_column(found[1])


@lru_cache(maxsize=1024)
def _count_column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def name_cell(column: int, row: int) -> str:
    letters = ""
    number = column + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row}"
