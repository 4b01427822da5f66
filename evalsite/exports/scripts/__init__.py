"""Scripts that go with the data: they read ratings.csv and give the study's main tables."""

from pathlib import Path

_FOLDER = Path(__file__).parent
# the same for every protocol: what they do follows from the scale of each criterion
_NAMES = ("analysis.R", "analysis.py")


def read_scripts() -> dict[str, str]:
    """Return the scripts by their file names in the bundle."""
    return {name: (_FOLDER / name).read_text(encoding="utf-8") for name in _NAMES}
