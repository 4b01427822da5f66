"""Intervals in words: open ends."""

import pytest

from evalsite.results.report.wording import write_interval
from tests.support.reports import make_figure


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.12, 0.45, "0.12 to 0.45"), (0.12, None, "0.12 or more"), (None, 2.0, "2.00 or less")],
)
def test_open_end_of_an_interval_is_said(low, high, words):
    figure = make_figure("mean", 0.3, low=low, high=high)

    assert write_interval(figure) == words
