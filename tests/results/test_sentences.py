"""Sentences are made from codes and facts, in one module, without a site."""

import subprocess
import sys

import pytest

from evalsite.results.report.sentences import SENTENCES, write_sentence


def test_a_note_becomes_the_sentence_of_its_code() -> None:
    note = {"code": "few_items", "criterion": "fluency", "facts": {}}

    assert write_sentence(note) == SENTENCES["few_items"]()
    assert write_sentence(note | {"study": "second"}) == f"Repeat: {SENTENCES['few_items']()}"


def test_sentences_need_no_django() -> None:
    code = "import sys, evalsite.results.report.sentences; sys.exit('django' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_copied_answers_name_nobody_in_a_report() -> None:
    facts = {"pairs": 1, "equal": 1400, "outputs": 1400, "others": [0.26, 0.43]}

    sentence = write_sentence({"code": "copied", "criterion": None, "facts": facts})
    several = SENTENCES["copied"](**facts | {"pairs": 3})
    alone = SENTENCES["copied"](**facts | {"others": []})

    assert sentence.startswith(
        "Two raters gave identical answers on 1,400 of 1,400 outputs. Other pairs agree on 26% to "
        "43%. Check whether"
    )
    assert "In 3 pairs" in several
    assert "Other pairs" not in alone


@pytest.mark.parametrize("relation", ["not_worse", "equivalent"])
@pytest.mark.parametrize(
    ("outcome", "shown", "hidden"),
    [
        ("pass", [".012"], [".800", ".011"]),
        ("fail", [".800"], [".012", ".011"]),
        ("undecided", [".012", ".800"], [".011"]),
    ],
)
def test_a_margin_shows_the_p_of_its_outcome_and_both_where_undecided(
    relation: str, outcome: str, shown: list[str], hidden: list[str]
) -> None:
    facts = {
        "system": "B", "other": "A", "relation": relation, "outcome": outcome, "margin": "0.5",
        "unit": "points", "reason": "", "interval": "90% CI −0.9 to 0.1", "p": 0.011,
        "p_corrected": 0.012, "p_fail": 0.8,
    }  # fmt: skip

    text = write_sentence({"code": "planned_margin", "facts": facts})

    assert all(p in text for p in shown)
    assert not any(p in text for p in hidden)
    assert ("corrected p = .012" in text) == (".012" in shown)


@pytest.mark.parametrize(
    ("value", "amount"), [(0.01, "1 percentage point"), (0.02, "2 percentage points")]
)
def test_a_single_percentage_point_is_singular(value: float, amount: str) -> None:
    known = {"unit": "", "effect": "risk_difference"}
    detected = {"value": value, "low": 0.01, "high": 0.03, "tests": 1}
    missing = {
        "system": "B", "shown": 40, "missing": 8, "share": 0.2, "others": 0.0, "p": 0.001,
        "better": "higher", "shift": value,
    }  # fmt: skip

    for code, facts in (("detectable", detected), ("missing_by_system", missing)):
        assert f"{amount} " in write_sentence({"code": code, "facts": known | facts})
