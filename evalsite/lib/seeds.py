"""Randomness that can be replayed: every choice is a function of a seed and of what it is for."""

import random
from hashlib import sha256

# The largest prime below 2^40. Keys below it can be re-shuffled by multiplication modulo it
# inside a 64-bit database integer, without two of them ever falling together.
SHUFFLE_PRIME = 1_099_511_627_689


def derive_number(*parts: object) -> int:
    """A number below SHUFFLE_PRIME that depends on every part and on nothing else."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(sha256(text.encode()).digest()[:16]) % SHUFFLE_PRIME


def make_random(*parts: object) -> random.Random:
    """A generator whose draws depend on every part and on nothing else."""
    return random.Random("\x1f".join(str(part) for part in parts))  # noqa: S311


def arrange(size: int, arrangement: int, *parts: object) -> list[int]:
    """The order in which `size` outputs are shown, as their positions from 0.

    Arrangements 0 to size-1 are the rotations of one seeded shuffle, so over any `size`
    consecutive arrangements every output stands exactly once in every place.
    """
    base = list(range(size))
    make_random("arrange", *parts).shuffle(base)
    turn = arrangement % size if size else 0
    return base[turn:] + base[:turn]
