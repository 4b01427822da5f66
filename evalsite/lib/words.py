"""Numbers in sentences; the standard library alone, for commands without a site too."""


def count_of(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as "1 item" or "300 items"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
