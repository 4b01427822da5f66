"""Sentences are made from codes and facts, in one module, without a site."""

import subprocess
import sys

import pytest

from evalsite.results.report.sentences import SENTENCES, write_sentence


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
