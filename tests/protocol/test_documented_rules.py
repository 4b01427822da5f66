"""docs/protocols.md names, for every rule of a document, a test that proves it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_test_that_the_document_names_exists():
    text = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    files = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("protocols/*/tests.py")]
    names = {
        name for file in files for name in re.findall(r"def (test_\w+)", file.read_text("utf-8"))
    }

    named = set(re.findall(r"`(test_\w+)`", text))
    paths = set(re.findall(r"`((?:tests|protocols)/[\w/]+\.py)`", text))

    assert len(named) > 100
    assert named <= names, sorted(named - names)
    assert all((ROOT / path).is_file() for path in paths)
