"""How many more answers a gate needs, by the closed form."""

import json

import pytest

from evalsite.analysis.gate import plan_gate
from tests.analysis.vectors import FOLDER, compare

_VECTOR = json.loads((FOLDER / "expected" / "v3_gate_plan__grid.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("expected", _VECTOR["expected"])
def test_power_and_what_it_takes_are_those_of_the_vector(expected):
    names = ("people", "inputs", "variances", "margin")

    got = plan_gate(**{name: expected[name] for name in names})

    compare(got, expected, _VECTOR["tolerance_abs"])


def test_people_who_all_rate_everything_are_a_complete_design():
    known = {"people": 6, "inputs": 30, "variances": (0.08, 0.5, 1.787), "margin": 0.5}

    assert plan_gate(**known, answers_per_input=6)["se"] == plan_gate(**known)["se"]


def test_one_answer_per_input_has_the_freedom_of_people():
    known = {"people": 10, "inputs": 100, "variances": (0.08, 0.5, 1.787), "margin": 0.5}

    got = plan_gate(**known, answers_per_input=1)

    # by hand: (a + (b + e) / m) / P with m = n k / P = 10
    assert got["se"] ** 2 == pytest.approx((0.08 + (0.5 + 1.787) / 10) / 10)
    assert got["df"] == 9


@pytest.mark.parametrize(
    "wrong", [{"people": 1}, {"inputs": 1}, {"margin": 0.0}, {"margin": float("nan")}]
)
def test_what_cannot_be_planned_is_refused(wrong):
    known = {"people": 6, "inputs": 30, "variances": (0.08, 0.5, 1.787), "margin": 0.5}

    with pytest.raises(ValueError, match="two people"):
        plan_gate(**(known | wrong))


def test_without_any_variance_the_gate_always_passes():
    got = plan_gate(people=6, inputs=30, variances=(0.0, 0.0, 0.0), margin=0.5)

    assert (got["power"], got["inputs_needed"], got["people_needed"]) == (1.0, 30, 6)
