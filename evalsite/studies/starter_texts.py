"""What a new study starts with."""

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def write_summary(questions: int, *, is_one: bool) -> str:
    """Return what people do, in a sentence; `is_one`: an item has one output."""
    number = _NUMBERS[questions - 1] if questions <= len(_NUMBERS) else f"{questions:,}"
    asked = f"{number} question{'' if questions == 1 else 's'}"
    if is_one:
        return f"You read texts and answer {asked} about each."
    return f"You read texts side by side and answer {asked} about them."


RECOGNISE_DAYS = 365
