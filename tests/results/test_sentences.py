"""Sentences of notes are made from codes and facts, without a site."""

import subprocess
import sys

from evalsite.results.replication.tables import write_note
from evalsite.results.report.sections.words import NOTES

FEW = {"code": "few_items", "criterion": "fluency", "facts": {}}


def test_a_note_on_one_of_two_studies_says_which() -> None:
    assert write_note(FEW | {"study": "second"}) == f"Repeat: {NOTES.write(FEW)}"


def test_sentences_need_neither_settings_nor_numpy() -> None:
    code = (
        "import sys, evalsite.results.replication.tables, evalsite.results.report.bare;"
        "sys.exit(bool({'numpy', 'pandas', 'django.db'} & sys.modules.keys()))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_in_notes_stay_on_their_line_and_keep_their_direction() -> None:
    systems = ["a\nb", "\u05de\u05d5\u05d3\u05dc"]
    note = {"code": "thin_systems", "facts": {"systems": systems}}

    assert "rater: a b, \u2068\u05de\u05d5\u05d3\u05dc\u2069." in NOTES.write(note)


def test_copied_answers_name_nobody_in_a_report() -> None:
    facts = {"pairs": 1, "equal": 1400, "outputs": 1400, "shares": [0.26, 0.43]}

    sentence = NOTES.write({"code": "copied", "facts": facts})
    several = NOTES.write({"code": "copied", "facts": facts | {"pairs": 3}})
    alone = NOTES.write({"code": "copied", "facts": facts | {"shares": []}})

    assert sentence.startswith(
        "Two raters gave identical answers on 1,400 of 1,400 outputs. Other pairs agree on 26% to "
        "43%. Check whether"
    )
    assert "In 3 pairs" in several
    assert "Other pairs" not in alone
