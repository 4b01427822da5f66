"""Scripts that go with the data.

Two reproduce every verdict of the report from ratings.csv; one gives scores back to tools.
"""

import re
from pathlib import Path
from textwrap import fill

# how reports say what was done, put here by the app that makes them
METHOD_WORDS: dict[str, str] = {}
_FOLDER = Path(__file__).parent
# the same for every protocol: what they do follows from the plan and the scale of each criterion
_NAMES = ("analysis.R", "analysis.py")
_WORDS = re.compile(r"^(# )?@@methods@@$", re.MULTILINE)
_WIDTH = 98


def read_scripts() -> dict[str, str]:
    """Return the scripts by their file names in the bundle."""
    words = describe_methods()

    def write_words(place: re.Match[str]) -> str:
        prefix = place[1] or ""
        return fill(words, _WIDTH, initial_indent=prefix, subsequent_indent=prefix)

    return {
        name: _WORDS.sub(write_words, (_FOLDER / name).read_text(encoding="utf-8"))
        for name in _NAMES
    }


def read_scores_script() -> str:
    """Return the script that puts scores into a tool's own record of a run."""
    return (_FOLDER / "scores_back.py").read_text(encoding="utf-8")


def describe_methods() -> str:
    """Return what the scripts compute, in the words of the report."""
    words = METHOD_WORDS
    return (
        f"Systems are compared by {words['model']} with random effects of raters, inputs, and both "
        f"by systems, with {words['errors']}. {words['correction']} {words['agreement']}"
    )
