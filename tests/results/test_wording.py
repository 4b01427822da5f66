"""Intervals in words: open ends, and why there is none."""

import pytest

from evalsite.results.report.wording import describe_interval, write_interval
from tests.support.reports import make_figure


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.12, 0.45, "0.12 to 0.45"), (0.12, None, "0.12 or more"), (None, 2.0, "2.00 or less")],
)
def test_open_end_of_an_interval_is_said(low, high, words):
    figure = make_figure("mean", 0.3, low=low, high=high)

    assert write_interval(figure) == describe_interval(figure) == words


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ("too_few", "none: too few values"),
        ("separated", "none: a system always wins or always loses"),
        ("equal_differences", "none: every difference is equal"),
        ("none", ""),
    ],
)
def test_figure_without_an_interval_says_why(interval, words):
    figure = make_figure("mean", 0.3, details={"interval": interval})

    assert describe_interval(figure) == words


def test_undefined_figure_gives_its_reason_once():
    figure = make_figure("mean", None, reason="no_data", details={"interval": "test"})

    assert describe_interval(figure) == ""
