"""What data can't express: instructions that tell the size and number of sets."""

from evalsite.protocol import Design

# what the instructions tell of the document's sets; a study may have others
SET_SIZE = "A set has 11 questions"
CAP = (
    "- **You can complete at most 5 sets. If you complete all 5, you get a bonus**, so we encourage"
    " you\n  to do all 5.\n"
)


def tell_cap(design: Design) -> str:
    """The line on how many sets a person may complete, and what that earns; none without a cap."""
    most = design.max_sets
    if most is None:
        return ""
    line = f"You can complete at most {most} {'set' if most == 1 else 'sets'}."
    if not design.has_bonus:
        return f"- **{line}**\n"
    what = "it" if most == 1 else f"all {most}"
    return (
        f"- **{line} If you complete {what}, you get a bonus**, so we encourage you\n"
        f"  to do {what}.\n"
    )


def fit_instructions(text: str, design: Design) -> str:
    """Return the instructions with the sets and the bonus of this design."""
    questions = "1 question" if design.set_size == 1 else f"{design.set_size} questions"
    return text.replace(SET_SIZE, f"A set has {questions}").replace(CAP, tell_cap(design))
