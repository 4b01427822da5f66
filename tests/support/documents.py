"""The task documents whose licences allow a copy: fixtures/README.md names authors and licences."""

import html
import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "documents"


@cache
def read_document(name: str) -> str:
    """Return a document as it is, such as "pairwise.md"."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def squeeze(text: str) -> str:
    """Return the text with every run of white space as one space."""
    return " ".join(text.split())


def strip_tags(page: str, *, between: str = "") -> str:
    """Return the words of HTML; `between` stands where a tag was."""
    return squeeze(html.unescape(re.sub(r"<[^>]*>", between, page)))


def strip_marks(markdown: str) -> str:
    """Return the words of Markdown: without headings' signs, bullets, numbers and emphasis."""
    bare = re.sub(r"^#+ |^ *- |^\d\. |[*`]|\\(?=[*\n])", "", markdown, flags=re.MULTILINE)
    return squeeze(bare)
