"""The search for objects that only refer to each other, put off while rows are written."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = 100_000  # more than the rows that are held at a time


@contextmanager
def collect_seldom() -> Iterator[None]:
    """Python searches for such objects as seldom as a writer of many rows can afford.

    For a process that does nothing else meanwhile: rows never refer to each other, and to look
    for it after every few hundred takes a twentieth of the time of a large file.
    """
    usual = gc.get_threshold()
    gc.set_threshold(_SELDOM, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
