"""Sentences are made from codes and facts, in one module, without a site."""

import subprocess
import sys

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
