"""Where a text file lacks lines, as the files tell that have them all."""

import re
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import exp, inf, log
from statistics import median

Texts = Callable[[], Iterator[str]]

# pairs of lines that are compared; more would take too long
_MOST_PAIRS = 400_000
# so many missing are no accident, but another file
_MOST_MISSING = 0.2
# how sure the place has to be
_PROBABLY = 0.5
_WORD = re.compile(r"\w+")
_MOST_WORDS, _WORD_CHARACTERS = 100_000, 2_000
# Gale and Church (1993): the variance of a translation's length for each character of its source
_VARIANCE, _LEAST_VARIANCE = 6.8, 0.5
# a text of another kind among them counts as three standard deviations
_MOST_DEVIATION = 9.0
# median of the squares of a standard normal variable
_MEDIAN = 0.455
# chance that a word of a text is in its counterpart; at most this evidence for a shared word
_IS_SHARED, _MOST_EVIDENCE = 0.5, 5.0


def find_missing(whole: Texts, short: Texts, lines: int, missing: int) -> list[int]:
    """Return the numbers of the lines of `whole` that have no counterpart in `short`.

    Nothing if no place is more likely than all others together. `whole` has so many `lines`, and
    each line of `short` belongs to one of them, in the same order. How well two lines fit is told
    by their lengths (Gale and Church, 1993) and by rare words that they share, such as names and
    numbers. The alignment is exact: every way to leave out lines is weighed.
    """
    if missing > max(1, _MOST_MISSING * lines) or (lines - missing) * (missing + 1) > _MOST_PAIRS:
        return []
    if missing == lines:
        return []
    pairs = _Pairs(whole, short, lines, missing)
    path, _ = _align(pairs, _VARIANCE)
    width = missing + 1
    deviations = [pairs.deviations[n * width + shift] for n, shift in enumerate(path)]
    variance = max(_LEAST_VARIANCE, median(deviations) / _MEDIAN)
    path, certainty = _align(pairs, variance)
    if certainty < _PROBABLY:
        return []
    kept = {number + shift for number, shift in enumerate(path)}
    return [number + 1 for number in range(lines) if number not in kept]


class _Pairs:
    """How well each line of the short text fits those that it may belong to."""

    def __init__(self, whole: Texts, short: Texts, lines: int, missing: int) -> None:
        self.width = missing + 1
        self.deviations, self.evidence = array("d"), array("d")
        counts, length = Counter[str](), 0
        for text in whole():
            length += len(text)
            counts.update(
                word for word in _list_words(text) if word in counts or len(counts) < _MOST_WORDS
            )
        of_short = sum(map(len, short()))
        ratio = max(1, of_short) / (lines - missing) / (max(1, length) / lines)
        weights = {
            word: min(_MOST_EVIDENCE, log(_IS_SHARED * lines / count))
            for word, count in counts.items()
            if count < _IS_SHARED * lines
        }
        texts = whole()
        window = deque(map(_measure, islice(texts, missing)), maxlen=self.width)
        for text, added in zip(short(), map(_measure, texts), strict=True):
            window.append(added)
            words = [word for word in _list_words(text) if word in weights]
            for expected, counterpart in window:
                size = max(1.0, expected)
                self.deviations.append((len(text) - ratio * expected) ** 2 / size)
                shared = sum(weights[word] for word in words if word in counterpart)
                self.evidence.append(shared - log(size) / 2)

    def rate(self, number: int, variance: float) -> list[float]:
        """Return the log-likelihood of a line beside each that it may belong to."""
        start = number * self.width
        return [
            evidence - min(_MOST_DEVIATION, deviation / variance) / 2
            for deviation, evidence in zip(
                self.deviations[start : start + self.width],
                self.evidence[start : start + self.width],
                strict=True,
            )
        ]


def _measure(text: str) -> tuple[int, set[str]]:
    return len(text), _list_words(text)


def _list_words(text: str) -> set[str]:
    return set(_WORD.findall(text[:_WORD_CHARACTERS].casefold()))


def _align(pairs: _Pairs, variance: float) -> tuple[Sequence[int], float]:
    """Return by how much each line is shifted in the best alignment, and how likely that is."""
    width, lines = pairs.width, len(pairs.deviations) // pairs.width
    best, total = [0.0] * width, [0.0] * width
    steps = array("i")
    for number in range(lines):
        rates = pairs.rate(number, variance)
        highest, at, sum_before = -inf, 0, -inf
        for shift in range(width):
            if best[shift] > highest:
                highest, at = best[shift], shift
            # before the first line every shift is a beginning of its own
            sum_before = _add(sum_before, total[shift]) if number else total[shift]
            steps.append(at if number else shift)
            best[shift] = (highest if number else best[shift]) + rates[shift]
            total[shift] = sum_before + rates[shift]
    end = max(range(width), key=lambda shift: best[shift])
    whole = -inf
    for value in total:
        whole = _add(whole, value)
    path = [end]
    for number in range(lines - 1, 0, -1):
        path.append(steps[number * width + path[-1]])
    path.reverse()
    return path, exp(best[end] - whole)


def _add(first: float, second: float) -> float:
    """Add two numbers of which the logarithms are known."""
    if first < second:
        first, second = second, first
    return first if second == -inf else first + log(1 + exp(second - first))
