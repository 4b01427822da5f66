"""Sentences are made from codes and facts, in one module, without a site."""

import subprocess
import sys

import pytest

from evalsite.analysis.figure import REML as METHOD
from evalsite.results.report.sentences import REML, SENTENCES, write_sentence


def test_a_note_becomes_the_sentence_of_its_code() -> None:
    note = {"code": "few_items", "criterion": "fluency", "facts": {}}

    assert write_sentence(note) == SENTENCES["few_items"]()
    assert write_sentence(note | {"study": "second"}) == f"Repeat: {SENTENCES['few_items']()}"


def test_sentences_need_neither_django_nor_numpy() -> None:
    code = (
        "import sys, evalsite.results.report.sentences;"
        "sys.exit(bool({'django', 'numpy'} & sys.modules.keys()))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_model_is_called_what_figures_call_it() -> None:
    assert REML == METHOD


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


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"pairs": 0}, "nothing to compare"),
        ({"is_tested": False}, "described, not tested"),
        ({"clear": 0}, "no clear difference between systems"),
        ({"leader": "a", "ahead": ["a"], "behind": ["b"], "systems": 2}, "a is ahead of b"),
        ({"leader": "a", "ahead": ["a"], "behind": ["b", "c"]}, "a is ahead of both others"),
        ({"leader": "a", "systems": 5}, "a is ahead of all 4 others"),
        ({"ahead": ["a", "b"], "behind": ["c"]}, "a and b are ahead of c"),
        ({}, "2 of 3 pairs differ clearly"),
    ],
)
def test_the_headline_of_a_criterion_is_what_its_comparisons_come_to(facts, text) -> None:
    known = {"pairs": 3, "clear": 2, "systems": 3, "is_tested": True, "leader": ""} | facts

    assert SENTENCES["verdict_in_brief"](**known) == text
    start = SENTENCES["verdict_in_brief"](**known, is_start=True)
    # a name stays as it is
    assert start == (text if "ahead" in text else text[0].upper() + text[1:])


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"family": 0}, "Nothing is tested"),
        ({"is_across": True, "family": 2}, "both comparisons of all criteria"),
        ({"is_across": True, "exploratory": 1}, "all 6 comparisons of all criteria"),
        ({"exploratory": 4, "family": 2}, "the 2 comparisons that the plan names"),
        ({"family": 1}, "no correction"),
        ({"baseline": "A"}, "6 comparisons with A"),
        ({}, "all 6 pairs"),
    ],
)
def test_what_p_values_are_corrected_for_goes_by_the_facts(facts, words) -> None:
    known = {"pairs": 6, "family": 6, "is_across": False, "exploratory": 0, "baseline": ""} | facts

    text = SENTENCES["correction"](**known)

    assert words in text
    assert ("exploratory" in text) == bool(facts.get("exploratory"))
