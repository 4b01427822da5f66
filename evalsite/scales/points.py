"""What scales of points and of two answers share: gold in parts, one for each output."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from evalsite.protocol.scale import NA, Judged

# for each output the values that are right, or None where nothing is asked
Parts = list[Sequence[Any] | None]
_LONGEST_QUOTE = 60
_RANGE = re.compile(r"(-?[0-9]{1,9})(?:\s*\.\.\s*(-?[0-9]{1,9}))?")


def parse_parts(
    text: str, outputs: int, parse: Callable[[str], Sequence[Any]], *, may_be_na: bool = False
) -> Parts:
    """Read one part for each output, separated by commas; an empty part asks nothing.

    `may_be_na`: "na" stands for "not applicable".
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != outputs:
        raise ValidationError(
            f"{quote(text)} has {len(parts)} of {outputs} right answers. Give one for each "
            "output in the order of the file, separated by commas; leave a place empty to ask "
            "nothing."
        )
    return [
        None if not part else (NA,) if may_be_na and part.casefold() == NA else parse(part)
        for part in parts
    ]


def judge_parts(
    parts: Parts,
    values: Sequence[Any],
    names: Sequence[str],
    *,
    say_value: Callable[[Any], str],
    say_given: Callable[[Any], str],
    is_by_document: bool,
) -> Judged:
    """Compare each value with its part, and say what was given and what is suggested."""
    judged = []
    for right, value, name in zip(parts, values, names, strict=True):
        if right is None:
            continue
        given = say_given(value)
        suggested = _describe_range([say_value(point) for point in right])
        is_met = value in right
        sentence = verdict_in_words(given, suggested, is_met=is_met, is_by_document=is_by_document)
        judged.append((is_met, sentence if len(parts) == 1 else f"{name}: {sentence}"))
    return judged


def verdict_in_words(given: str, right: str, *, is_met: bool, is_by_document: bool) -> str:
    """Say what was chosen, and what the document says or we suggest."""
    if is_by_document:
        words = (
            _("You chose %(given)s, as in the guidelines.")
            if is_met
            else _("You chose %(given)s. The guidelines say %(right)s.")
        )
    else:
        words = (
            _("You chose %(given)s, as we suggest.")
            if is_met
            else _("You chose %(given)s. We suggest %(right)s.")
        )
    return words % {"given": given, "right": right}


def middle_values(parts: Parts) -> list[Any | None]:
    """Return a value that meets each part."""
    return [None if part is None else part[len(part) // 2] for part in parts]


def parse_range(part: str, lowest: int, highest: int) -> range:
    """Read a number or a range of numbers in a gold: "4" or "4..6"."""
    found = _RANGE.fullmatch(part)
    if not found:
        raise ValidationError(
            f"{quote(part)} is not a point or a range of points. Write it like "
            f"{highest} or {lowest}..{highest}."
        )
    low, high = int(found[1]), int(found[2] or found[1])
    if not (lowest <= low <= highest and lowest <= high <= highest):
        raise ValidationError(
            f"{quote(part)} is outside the scale. Use points from {lowest} to {highest}."
        )
    if low > high:
        raise ValidationError(f"{quote(part)} runs backwards. Write the lower point first.")
    return range(low, high + 1)


def quote(text: str) -> str:
    """Return the words of a cell as a message says them, a long cell by its beginning."""
    said = text.strip()
    return f"“{said}”" if len(said) <= _LONGEST_QUOTE else f"“{said[:_LONGEST_QUOTE]}…”"


def _describe_range(words: Sequence[str]) -> str:
    if len(words) == 1:
        return words[0]
    pair = {"first": words[0], "last": words[-1]}
    return (_("%(first)s to %(last)s") if len(words) > 2 else _("%(first)s or %(last)s")) % pair
