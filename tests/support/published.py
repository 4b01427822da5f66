"""Real data that others have published: fixtures/README.md names authors, licences and changes."""

import atexit
import gzip
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
# kept where other tests and the documents look for them
_ELSEWHERE = {
    "rankme/batch_wide.csv": "batches/rankme_wide.csv",
    "rankme/batch_long.csv": "batches/rankme_long.csv",
    "rankme/stp2_rankME_inf.csv": "ratings/stp2_rankME_inf.csv",
    # in the form of other people's templates, with texts of our own
    "dialogues_in_html.csv": "batches/dialogues_in_html.csv",
    "pairs_by_letter.csv": "batches/pairs_by_letter.csv",
}


@cache
def published_file(name: str) -> Path:
    """Return a file to read, such as "rankme/ratings_long.csv"."""
    if name in _ELSEWHERE:
        return FIXTURES / _ELSEWHERE[name]
    path = _folder() / name
    path.parent.mkdir(exist_ok=True)
    with gzip.open(FIXTURES / "published" / f"{name}.gz") as packed, path.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return path


@cache
def _folder() -> Path:
    """A folder of this process, gone at its end."""
    folder = Path(mkdtemp(prefix="evalsite-published-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
