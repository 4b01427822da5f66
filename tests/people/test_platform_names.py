"""Facts about platforms are in their table and their templates, and nowhere else."""

import re

from tests.support.plugins import ROOT

# what the site may not know: names of platforms, in code and in the pages' words
NAMES = re.compile(r"prolific(?!_)|cloudresearch|\bsona\b|mturk|mechanical turk", re.IGNORECASE)
# columns of files from elsewhere and what is said of them; contents and search of the guides
EXEMPT = {
    "evalsite/help_pages.py",
    "evalsite/data/importing.py",
    "evalsite/data/ratings/importer.py",
    "evalsite/lib/rating_columns.py",
    "evalsite/lib/rating_guess.py",
    "templates/admin/_help_search.html",
}


def test_the_site_names_no_platform():
    files = [
        *(ROOT / "evalsite").rglob("*.py"),
        *(ROOT / "templates").rglob("*.html"),
        *(ROOT / "static").rglob("*.js"),
    ]
    named = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if "migrations" not in path.parts
        and "platforms" not in path.parts
        and "vendor" not in path.parts
        and NAMES.search(path.read_text(encoding="utf-8"))
    }

    assert named - EXEMPT == set()
