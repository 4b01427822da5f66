"""What a finding says of two systems follows which values of the criterion are better."""

from typing import Any

import pytest

from evalsite.analysis.figure import REML as METHOD
from evalsite.analysis.figure import Figure
from evalsite.analysis.findings import describe_finding
from evalsite.results.report.sentences import write_sentence


def write(
    better: Any, value: float, ends: tuple[float, float], name: str = "difference",
    unit: str = "points",
) -> str:  # fmt: skip
    effect = Figure(
        name=name, method=METHOD, value=value, low=ends[0], high=ends[1],
        details={"p": 0.004, "p_corrected": 0.012},
    )  # fmt: skip
    return write_sentence(describe_finding("B", "A", effect, better, unit))


@pytest.mark.parametrize(
    ("better", "value", "ends", "text"),
    [
        ("higher", 0.42, (0.11, 0.73), "B is rated 0.42 points higher than A ("),
        ("higher", -0.42, (-0.73, -0.11), "A is rated 0.42 points higher than B ("),
        ("lower", -0.42, (-0.73, -0.11), "B is rated 0.42 points lower than A (lower is better, "),
        ("lower", 0.42, (0.11, 0.73), "A is rated 0.42 points lower than B (lower is better, "),
        ("none", 0.42, (0.11, 0.73), "B and A differ by 0.42 points (B is higher, "),
        ("none", -0.42, (-0.73, -0.11), "B and A differ by 0.42 points (A is higher, "),
    ],
)
def test_the_better_system_is_named_first_and_its_interval_goes_with_it(better, value, ends, text):
    sentence = write(better, value, ends)

    assert sentence.startswith(text)
    assert "95% CI 0.11 to 0.73" in sentence


@pytest.mark.parametrize(
    ("better", "value", "ends", "text", "interval"),
    [
        ("higher", 2.0, (1.25, 4.0), "B is rated 2.00 times as high as A (", "1.25 to 4.00"),
        ("lower", 0.5, (0.25, 0.8), "B is rated 0.50 times as high as A (", "0.25 to 0.80"),
        ("lower", 2.0, (1.25, 4.0), "A is rated 0.50 times as high as B (", "0.25 to 0.80"),
        (
            "none",
            0.5,
            (0.25, 0.8),
            "B and A differ by a factor of 2.00 (A is higher, ",
            "1.25 to 4.00",
        ),
    ],
)
def test_a_ratio_is_seen_from_the_better_system(better, value, ends, text, interval):
    sentence = write(better, value, ends, name="ratio")

    assert sentence.startswith(text)
    assert f"95% CI {interval}" in sentence


@pytest.mark.parametrize(
    ("better", "value", "text"),
    [
        ("higher", 0.5, "B is rated 0.50 higher than A ("),
        ("lower", -0.5, "B is rated 0.50 lower than A (lower is better, "),
        ("none", 0.5, "B and A differ by 0.50 (B is higher, "),
    ],
)
def test_numbers_are_no_points(better, value, text):
    assert write(better, value, (value - 0.1, value + 0.1), unit="").startswith(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.01, "B is accepted 1 percentage point more often than A ("),
        (0.02, "B is accepted 2 percentage points more often than A ("),
        (0.21, "B is accepted 21 percentage points more often than A ("),
    ],
)
def test_one_percentage_point_is_singular(value, text):
    ends = (value - 0.005, value + 0.005)

    assert write("higher", value, ends, name="risk_difference").startswith(text)
