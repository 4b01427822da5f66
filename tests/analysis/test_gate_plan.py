"""How many more answers a gate needs, by the closed form."""

import json

import pytest

from evalsite.analysis.gate import GateDesign, plan_gate
from tests.analysis.vectors import FOLDER, compare

_VECTOR = json.loads((FOLDER / "expected" / "v3_gate_plan__grid.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("expected", _VECTOR["expected"])
def test_power_and_what_it_takes_are_those_of_the_vector(expected):
    design = GateDesign(people=expected["people"], inputs=expected["inputs"])

    got = plan_gate(design, variances=expected["variances"], margin=expected["margin"])

    compare(got, expected, _VECTOR["tolerance_abs"])


def test_people_who_all_rate_everything_are_a_complete_design():
    known = {"variances": (0.08, 0.5, 1.787), "margin": 0.5}

    every, six = (
        plan_gate(GateDesign(people=6, inputs=30, answers_per_input=k), **known) for k in (None, 6)
    )

    assert every["se"] == six["se"]


def test_one_answer_per_input_has_the_freedom_of_people():
    design = GateDesign(people=10, inputs=100, answers_per_input=1)

    got = plan_gate(design, variances=(0.08, 0.5, 1.787), margin=0.5)

    # by hand: (a + (b + e) / m) / P with m = n k / P = 10
    assert got["se"] ** 2 == pytest.approx((0.08 + (0.5 + 1.787) / 10) / 10)
    assert got["df"] == 9


@pytest.mark.parametrize(
    ("people", "inputs", "margin"), [(1, 30, 0.5), (6, 1, 0.5), (6, 30, 0.0), (6, 30, float("nan"))]
)
def test_what_cannot_be_planned_is_refused(people, inputs, margin):
    design = GateDesign(people=people, inputs=inputs)

    with pytest.raises(ValueError, match="two people"):
        plan_gate(design, variances=(0.08, 0.5, 1.787), margin=margin)


def test_without_any_variance_the_gate_always_passes():
    got = plan_gate(GateDesign(people=6, inputs=30), variances=(0.0, 0.0, 0.0), margin=0.5)

    assert (got["power"], got["inputs_needed"], got["people_needed"]) == (1.0, 30, 6)
