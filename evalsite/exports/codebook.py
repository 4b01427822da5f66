"""The codebook: what each column of each file means, made from the columns' own declaration."""

from dataclasses import dataclass, replace

from evalsite.exports.columns import Column, list_files
from evalsite.exports.exporting import guard_cell, write_rows
from evalsite.protocol import Protocol

HEADER = ("file", "column", "meaning", "type", "allowed", "empty means", "derived")

PANDAS = "pandas.read_csv(path, dtype=str, keep_default_na=False)"


@dataclass(frozen=True)
class Chapter:
    """One file and its columns, with what this protocol allows in them."""

    file: str
    columns: tuple[Column, ...]


def list_chapters(config: Protocol) -> list[Chapter]:
    """Every file that a study of this protocol exports."""
    return [
        Chapter(f"{name}.csv", tuple(_fit(column, config, name) for column in columns))
        for name, columns in list_files(config).items()
    ]


def write_codebook(config: Protocol) -> str:
    """The codebook as CSV: one row for each column of each file."""
    rows = [
        (
            chapter.file, column.name, column.meaning, column.type,
            column.allowed, column.missing, column.derived,
        )
        for chapter in list_chapters(config)
        for column in chapter.columns
    ]  # fmt: skip
    return write_rows([HEADER, *([guard_cell(cell) for cell in row] for row in rows)])


def _fit(column: Column, config: Protocol, file: str) -> Column:
    """The column with the criteria and values of this protocol, where people rated by them."""
    if file == "metrics":
        return column
    if column.name == "criterion":
        return replace(column, allowed=", ".join(config.criterion_by_key))
    if column.name == "scale":
        kinds = dict.fromkeys(criterion.scale.kind for criterion in config.criteria)
        return replace(column, allowed=", ".join(kinds))
    if column.name == "value":
        values = "; ".join(f"{one.key}: {one.scale.describe_values()}" for one in config.criteria)
        return replace(column, allowed=f"{values}. {column.allowed}")
    return column
