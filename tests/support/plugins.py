"""Protocols and scales that tests build in a folder of their own, and run the site's tests on."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# questions on instructions that have nothing to ask
COMPREHENSION = [
    {
        "question": f"Which is {number}?",
        "choices": ["1", "2", "3"],
        "right": f"{number}",
        "why": "-",
    }
    for number in (1, 2, 3)
]

SOURCE = {"cite": "made by a test", "licence": "none", "exact": "nothing", "ours": "all of it"}


def read_documented(page: str) -> dict[str, str]:
    """The files that a page of docs/ tells an author to write, by name."""
    document = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w+ (\S+)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    return dict(blocks)


def run_tests(
    folder: Path, settings: str, only: str, subjects: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Run tests on these subjects whose names contain `only`, with what is in this folder.

    In a process of its own, with this settings module of the folder.
    """
    files: list[Path] = []
    for subject in subjects:
        named = sorted((ROOT / "tests").rglob(f"test_{subject}.py"))
        assert named, f"There is no test_{subject}.py in tests/."
        files += named
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "EVALSITE_")) or name == "EVALSITE_TEST_TEMPLATE"
    }
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *map(str, files), "-q", "--all-cases", "-k", only),
            *("-p", "no:cacheprovider", "--color=no"),
        ],
        cwd=ROOT,
        env=inherited | {"DJANGO_SETTINGS_MODULE": settings, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def count_results(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How many tests passed, were left out and so on; AssertionError if one failed."""
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return read_counts(done)


def read_counts(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How many tests passed, failed, were left out and so on."""
    counts = re.findall(r"(\d+) ([a-z]+)(?=,| in )", done.stdout.splitlines()[-1])
    return {what: int(number) for number, what in counts}
