"""Tuples: which outputs of an input are shown together where a page shows only some of them.

Of `outputs` outputs, t = outputs * r / size tuples are made in which each is shown r times: twice,
or as much more often as makes t whole. No tuple is there twice.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, count
from random import Random

from evalsite.lib.seeds import make_random

Tuples = tuple[tuple[int, ...], ...]

_DRAWS = 1_000
_FEWEST_TIMES = 2


def count_times(outputs: int, size: int) -> int:
    """Return how often each of so many outputs is shown in tuples of this size."""
    if outputs <= size:
        return 1
    return next(times for times in count(_FEWEST_TIMES) if outputs * times % size == 0)


def make_tuples(outputs: int, size: int, seed: str, key: str) -> list[tuple[int, ...]]:
    """Return the tuples of an input, each with the numbers of its outputs from 0, in rising order.

    The best design of the study's seed is drawn once for each number of outputs; which output has
    which place in it depends on the key of the input.
    """
    if outputs <= size:
        return [tuple(range(outputs))]
    places = list(range(outputs))
    make_random(seed, "tuples", key).shuffle(places)
    design = _find_best(outputs, size, seed)
    return sorted(tuple(sorted(places[at] for at in shown)) for shown in design)


def count_meetings(outputs: int, tuples: Tuples) -> list[int]:
    """Return how often two outputs are in one tuple, for each two of them."""
    met = Counter(pair for shown in tuples for pair in combinations(sorted(shown), 2))
    return [met[pair] for pair in combinations(range(outputs), 2)]


@lru_cache(maxsize=64)
def _find_best(outputs: int, size: int, seed: str) -> Tuples:
    """Return the draw in which two outputs meet as equally often as possible; of these the first.

    First the largest difference counts, then the sum of all.
    """
    draw = make_random(seed, "tuples", outputs, size)
    times = count_times(outputs, size)
    drawn = (_draw(outputs, size, times, draw) for _ in range(_DRAWS))

    def weigh(tuples: Tuples) -> tuple[int, int]:
        met = count_meetings(outputs, tuples)
        return max(met) - min(met), sum(number * number for number in met)

    return min((tuples for tuples in drawn if len({*tuples}) == len(tuples)), key=weigh)


def _draw(outputs: int, size: int, times: int, draw: Random) -> Tuples:
    """Deal all outputs in random order as often as they are shown, each once in a tuple."""
    sequence: list[int] = []
    for _ in range(times):
        shuffled = draw.sample(range(outputs), outputs)
        begun = sequence[len(sequence) - len(sequence) % size :]
        fill = [output for output in shuffled if output not in begun][: -len(begun) % size]
        sequence += fill + [output for output in shuffled if output not in fill]
    return tuple(tuple(sorted(sequence[at : at + size])) for at in range(0, len(sequence), size))


class TupleCounts:
    """For each number of outputs, how many inputs have it and which tuples these make."""

    def __init__(self, size: int, seed: str) -> None:
        self._size, self._seed = size, seed
        self._inputs: dict[int, int] = defaultdict(int)
        self.made = 0

    def add(self, outputs: int) -> None:
        if outputs > self._size:
            self._inputs[outputs] += 1
            self.made += outputs * count_times(outputs, self._size) // self._size

    def describe(self) -> Iterator[str]:
        """Say how many items each input makes, how often outputs are shown, and how evenly."""
        for outputs, inputs in sorted(self._inputs.items()):
            design = _find_best(outputs, self._size, self._seed)
            met = count_meetings(outputs, design)
            difference = max(met) - min(met)
            evenly = (
                f"any two of them meet {_say_times(met[0])}"
                if not difference
                else f"two of them meet {min(met)} to {max(met)} times (largest difference "
                f"{difference})"
            )
            yield (
                f"{inputs:,} input{'' if inputs == 1 else 's'} with {outputs} outputs "
                f"{'becomes' if inputs == 1 else 'become'} {len(design)} items "
                f"{'' if inputs == 1 else 'each '}with {self._size} outputs: each output is shown "
                f"{_say_times(count_times(outputs, self._size))}, and {evenly}"
            )


def _say_times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")
