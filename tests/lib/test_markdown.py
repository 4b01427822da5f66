"""Researchers' texts are rendered by several threads at once."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from evalsite.lib.markdown import _PARSER as parser
for one in (parser.core, parser.block, parser.inline):
    print(one.ruler.__cache__ is not None)
print(parser.inline.ruler2.__cache__ is not None)
"""


def test_rules_are_ready_before_two_threads_ask_for_them_at_once():
    # the parser makes its lists at the first text; a thread that came meanwhile found none of them
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
    )  # fmt: skip

    assert done.stdout.split() == ["True"] * 4
