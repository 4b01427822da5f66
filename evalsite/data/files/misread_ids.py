"""Ids that pandas, R or a spreadsheet reads as something else by default."""

import re
from collections.abc import Sequence

from evalsite.data.files.rows import PAGE
from evalsite.studies.models import Item, Study

# Starts with a letter, and nothing takes it for a missing value, a truth value, infinity, or a
# month with a number.
_SAFE = re.compile(
    r"(?!(na|n/a|nan|null|none|nil|true|t|false|f|inf|infinity)$)"
    r"(?!(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?"
    r"|oct(ober)?|nov(ember)?|dec(ember)?)[\W_]*\d[\W\d_]*$)"
    r"[^\W\d_]",
    re.IGNORECASE,
)
# A whole number as every program writes it: it stays itself where all ids are such numbers.
_WHOLE = re.compile(r"0|[1-9][0-9]{0,14}")
_SHOWN = 3


def list_misread(study: Study) -> list[str]:
    """List the first ids of the study that would be misread; most studies have none."""
    items = Item.objects.main().filter(study=study).order_by("id")
    rows = items.values_list("key", "group", "cluster").iterator(chunk_size=PAGE)
    columns = [_Column() for _ in range(3)]
    for row in rows:
        for column, text in zip(columns, row, strict=True):
            column.add(text)
    ids = dict.fromkeys(text for column in columns for text in column.list_misread())
    return list(ids)[:_SHOWN]


def describe_misread(ids: Sequence[str]) -> str:
    """Say that these ids would be misread, and what to do; "" where there are none."""
    if not ids:
        return ""
    listed = ", ".join(f"“{text}”" for text in ids)
    return (
        f"With default settings, pandas, R or a spreadsheet misread ids such as {listed}. "
        "Join the files on item_no, which is safe."
    )


class _Column:
    """A column is read as a whole: whole numbers stay as they are only among themselves."""

    def __init__(self) -> None:
        self._misread: list[str] = []
        self._whole: list[str] = []
        self._has_text = False

    def add(self, text: str) -> None:
        if _SAFE.match(text):
            self._has_text = True
        elif text:
            examples = self._whole if _WHOLE.fullmatch(text) else self._misread
            if len(examples) < _SHOWN:
                examples.append(text)

    def list_misread(self) -> list[str]:
        is_mixed = self._has_text or self._misread
        return [*self._misread, *(self._whole if is_mixed else ())]
