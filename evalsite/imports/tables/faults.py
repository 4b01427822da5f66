"""What is wrong with a file, told with its place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that keeps a file out: what it is, where it stands, and what to do.

    `line` is the physical line of the file, `record` the row of data, both counted from 1. They
    differ once a cell holds a line break.
    """

    message: str
    column: str = ""
    line: int | None = None
    record: int | None = None

    @property
    def place(self) -> str:
        return name_place(self.line, self.record, self.column)

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class UnreadableFile(Exception):
    """The file cannot be read on from here."""

    def __init__(self, message: str, *, line: int | None = None, record: int | None = None) -> None:
        super().__init__(message)
        self.fault = Fault(message, line=line, record=record)


def name_place(line: int | None, record: int | None, column: str = "") -> str:
    """A place in the words that every message uses: "line 19 (record 17), output"."""
    parts = []
    if line is not None:
        parts.append(f"line {line}" + (f" (record {record})" if record is not None else ""))
    if column:
        parts.append(column)
    return ", ".join(parts)
