"""Scripts that go with the data: they read ratings.csv and give the study's main tables."""

from pathlib import Path

_FOLDER = Path(__file__).parent
# the same for every protocol: what they do follows from the scale of each criterion
_NAMES = ("analysis.R", "analysis.py")


def read_scripts() -> dict[str, str]:
    """The scripts by the name under which they stand beside the data."""
    return {name: (_FOLDER / name).read_text(encoding="utf-8") for name in _NAMES}
