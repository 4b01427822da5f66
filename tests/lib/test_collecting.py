"""The search for cyclic garbage is put off for a writer, and only for as long as it writes."""

import gc
from contextlib import suppress

from evalsite.data.files.jobs import collect_seldom


def test_usual_manner_comes_back_even_after_an_error() -> None:
    usual = gc.get_threshold()

    seldom = None

    with suppress(OSError), collect_seldom():
        seldom = gc.get_threshold()
        raise OSError("the disk is full")

    assert seldom is not None
    assert seldom[0] > usual[0]
    assert gc.isenabled()
    assert gc.get_threshold() == usual
