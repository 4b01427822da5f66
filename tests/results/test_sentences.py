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
