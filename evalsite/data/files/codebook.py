"""The codebook: what each column of each file means, made from the columns' own declaration."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evalsite.data.files.columns import Column, list_downloads, list_files
from evalsite.instruments.schema import Instrument
from evalsite.lib.csv_writer import guard_cell, write_rows

HEADER = ("file", "column", "meaning", "type", "allowed", "empty means", "derived")
# the first line of a codebook: pages use other words
WORDS = (
    "In files, a question is a criterion, a person a participant, and an item of the pages a "
    "group; item is what a person sees on one page."
)

PANDAS = "pandas.read_csv(path, dtype=str, keep_default_na=False)"


@dataclass(frozen=True)
class Chapter:
    """One file and its columns, with what this protocol allows in them."""

    file: str
    columns: tuple[Column, ...]


def list_chapters(
    config: Instrument, files: Mapping[str, Sequence[Column]] | None = None, *, misread: str = ""
) -> list[Chapter]:
    """List the files with their columns; by default, those that bundles hold.

    `misread`: what to say of ids that programs misread.
    """
    return [
        Chapter(
            f"{name}.{'tsv' if name == 'mqm' else 'csv'}",
            tuple(_fit(column, config, name, misread) for column in columns),
        )
        for name, columns in (files or list_files(config)).items()
    ]


def write_codebook(config: Instrument, *, asks_to_share: bool = False, misread: str = "") -> str:
    """Write the codebook of all downloads as CSV: one row for each column of each file."""
    files = list_downloads(config, asks_to_share=asks_to_share)
    return write_chapters(list_chapters(config, files, misread=misread))


def write_chapters(chapters: Iterable[Chapter]) -> str:
    """Write chapters as CSV: one row for each column of each file."""
    rows = [
        (
            chapter.file, column.name, column.meaning, column.type,
            column.allowed, column.missing, column.derived,
        )
        for chapter in chapters
        for column in chapter.columns
    ]  # fmt: skip
    about = ("", "", WORDS, "", "", "", "")
    return write_rows([HEADER, about, *([guard_cell(cell) for cell in row] for row in rows)])


def _fit(column: Column, config: Instrument, file: str, misread: str) -> Column:
    """Return the column with the criteria, values and ids of this study, where they apply."""
    if file in ("metrics", "mqm") or (file == "judge_labels" and column.name != "criterion"):
        return column
    if column.name == "item_no" and misread:
        return replace(column, meaning=f"{column.meaning} {misread}")
    if column.name == "criterion":
        return replace(column, allowed=", ".join(config.criterion_by_key))
    if column.name == "scale":
        kinds = dict.fromkeys(criterion.scale.kind for criterion in config.criteria)
        return replace(column, allowed=", ".join(kinds))
    if column.name == "value":
        values = "; ".join(
            f"{criterion.key}: {criterion.scale.describe_values()}" for criterion in config.criteria
        )
        return replace(column, allowed=f"{values}. {column.allowed}")
    return column
