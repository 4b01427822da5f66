"""Numbers in sentences; the standard library alone, for commands without a site too."""

from collections.abc import Sequence


def list_of(words: Sequence[str]) -> str:
    """Return the words as a sentence lists them: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def count_of(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as "1 item" or "300 items"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def align(rows: Sequence[Sequence[str]], *, words: int = 2) -> list[str]:
    """Return lines of aligned columns: `words` columns to the left, then numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number < words else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
