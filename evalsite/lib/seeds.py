"""Randomness that can be replayed: every choice is a function of a seed and of what it is for."""

import random
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from itertools import permutations
from math import factorial

# The largest prime below 2^40: seeded numbers below it fit every database's integers.
SHUFFLE_PRIME = 1_099_511_627_689


def derive_number(*parts: object) -> int:
    """Return a number below SHUFFLE_PRIME that depends on every part and on nothing else."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(sha256(text.encode()).digest()[:16]) % SHUFFLE_PRIME


def derive_numbers(*parts: object) -> Callable[[str], int]:
    """Return derive_number for these parts and a last one, which takes half the time for each."""
    begun = sha256("".join(f"{part}\x1f" for part in parts).encode())

    def derive(last: str) -> int:
        whole = begun.copy()
        whole.update(last.encode())
        return int.from_bytes(whole.digest()[:16]) % SHUFFLE_PRIME

    return derive


def make_random(*parts: object) -> random.Random:
    """Return a generator whose draws depend on every part and on nothing else."""
    return random.Random("\x1f".join(str(part) for part in parts))  # noqa: S311


# up to this many outputs, every order has its own number: 5! = 120 of them
MOST_ORDERED = 5


def count_orders(size: int) -> int:
    """Count the arrangements of `size` outputs: all orders of up to five, else the rotations."""
    return factorial(size) if size <= MOST_ORDERED else size


def arrange(size: int, arrangement: int, *parts: object) -> list[int]:
    """Return the order in which `size` outputs are shown, as their positions from 0.

    Arrangements 0 to size-1 are rotations of one order: the order of the file, or of more than
    five outputs a shuffle that depends on the parts. So over any `size` of them in a row every
    output is exactly once in every place. Up to five, further numbers are the other orders.
    """
    number, turn = divmod(arrangement % count_orders(size), size) if size else (0, 0)
    if size <= MOST_ORDERED:
        base = list(_cycles(size)[number])
    else:
        base = list(range(size))
        make_random("arrange", *parts).shuffle(base)
    return base[turn:] + base[:turn]


def find_arrangement(order: Sequence[int]) -> int:
    """Return the number of this order of up to five outputs: what `arrange` takes to give it."""
    start = order.index(0)
    cycle = (*order[start:], *order[:start])
    return _cycles(len(order)).index(cycle) * len(order) + (len(order) - start) % len(order)


@cache
def _cycles(size: int) -> tuple[tuple[int, ...], ...]:
    """Return the orders of so many outputs that are no rotation of one another."""
    return tuple((*range(min(size, 1)), *rest) for rest in permutations(range(1, size)))
