"""Answers in worked examples and practice items: read from the words of a form, and written."""

import re
from collections.abc import Iterator
from typing import Any

from evalsite.builder.controls import Plain
from evalsite.instruments.scales import NA, Scale, read_scale

# several answers of which none is chosen, as in a gold column
NOTHING = "-"
# a statement that isn't asked
_OPEN = "?"
_WHOLE = re.compile(r"-?[0-9]{1,9}")


def find_scale(criterion: Any) -> Scale | None:
    """Return the scale of a question of a draft; None as long as it isn't right."""
    data: Any = criterion.get("scale") if isinstance(criterion, dict) else None
    try:
        scale = read_scale(data)
    except ValueError:
        return None
    return None if list(scale.find_faults("")) else scale


def read_number(text: str) -> Any:
    """Return a number; other text as it is, for the check to name; None for nothing."""
    words = text.strip()
    if not words:
        return None
    if words.isascii() and _WHOLE.fullmatch(words):
        return int(words)
    try:
        return float(words) if re.fullmatch(r"-?[0-9]{1,9}\.[0-9]{1,6}", words) else words
    except ValueError:
        return words


def name_answers(scale: Scale) -> dict[Any, str]:
    """Return the answers that can be listed, each with its words."""
    return {answer: scale.name_tested(answer) for answer in scale.list_testable() or ()}


def describe_answers(criterion: Plain, *, is_gold: bool) -> str:
    """Say what may be entered as an answer; "" as long as the question isn't right."""
    scale = find_scale(criterion)
    if scale is None:
        return ""
    names = name_answers(scale)
    listed = ", ".join(
        f"{answer} ({words})" if words != str(answer) else words for answer, words in names.items()
    )
    low, high = getattr(scale, "minimum", None), getattr(scale, "maximum", None)
    if not listed and scale.gold_of_all and is_gold:
        return "Enter the order of the outputs, such as 2<1=3."
    if not listed and low is not None:
        listed = f"a number from {low} to {high}"
    ranges = ", or a range such as 3..4" if is_gold and not scale.is_gold([], 1) else ""
    return f"Enter {listed}{ranges if low is not None or names else ''}." if listed else ""


# --- read ---------------------------------------------------------------------------


def read_answer(text: str, criterion: Plain, outputs: int, *, is_gold: bool) -> Any:
    """Return the first reading of this text that is an answer; if none is, the plainest one."""
    scale = find_scale(criterion)
    if scale is None:
        return text
    per = str(criterion.get("per"))
    is_of_all = per == "item" or (is_gold and scale.gold_of_all)
    if is_of_all:
        readings = list(_read_alone(text, scale, is_gold=is_gold))
        is_right = scale.is_gold if is_gold else scale.is_answer
        return next((value for value in readings if is_right(value, outputs)), readings[0])
    parts = text.split(",")
    count = len(parts) if per == "turn" else outputs
    if len(parts) != count and count == 1:
        parts = [text]
    answers = [_read_part(part.strip(), scale, is_gold=is_gold) for part in parts]
    return [answers] if per == "turn" else answers


def _read_part(text: str, scale: Scale, *, is_gold: bool) -> Any:
    if is_gold and not text:
        return None
    readings = list(_read_alone(text, scale, is_gold=is_gold))
    is_right = scale.is_gold if is_gold else scale.is_answer
    return next(
        (value for value in readings if is_right(value, 1) or (value == NA and scale.has_na)),
        readings[0],
    )


def _read_alone(text: str, scale: Scale, *, is_gold: bool) -> Iterator[Any]:
    """Yield what a text may mean: an answer by its words, a number, text, or several answers."""
    named = {str(answer).casefold(): answer for answer in scale.list_testable() or ()}
    named |= {words.casefold(): answer for answer, words in name_answers(scale).items()}

    def read(words: str) -> Any:
        return named.get(words.strip().casefold(), read_number(words))

    if is_gold:  # gold of numbers is text in files: a number, or a range
        yield str(read(text))
    yield read(text)
    yield text
    several = [] if text.strip() == NOTHING else text.split()
    yield [read(words) for words in several]
    yield [None if words == _OPEN else read(words) for words in several]
    # places of a ranking, and what is best and worst
    yield [read_number(words) for words in re.split(r"[,\s]+", text.strip())]


# --- written ------------------------------------------------------------------------


def write_answer(answer: Any, criterion: Plain) -> str:
    """Write an answer of an example as it may be entered."""
    if answer is None:
        return ""
    if criterion.get("per") == "turn" and isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if not isinstance(answer, list):
        return str(answer)
    if criterion.get("per") == "item":
        return _write_part(answer)
    return ", ".join(map(_write_part, answer))


def _write_part(part: Any) -> str:
    if isinstance(part, list):
        return " ".join(_OPEN if entry is None else str(entry) for entry in part) or NOTHING
    return "" if part is None else str(part)
