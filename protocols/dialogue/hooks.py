"""What data can't express: instructions that give the size and number of a study's sets."""

from evalsite.protocol import Design

# what the instructions say of the document's sets; a study may have others
SET_SIZE = "A set has 11 questions"
CAP = (
    "**NOTE: THERE ARE A MAXIMUM OF 5 SETS YOU CAN COMPLETE. COMPLETING ALL 5 SETS WILL GIVE YOU A"
    " BONUS! WE ENCOURAGE YOU TO DO ALL 5 SETS**\n\n"
)
# the same in the instructions of version 0.1, which its studies keep
CAP_0_1 = (
    "- **You can complete at most 5 sets. If you complete all 5, you get a bonus**, so we encourage"
    " you\n  to do all 5.\n"
)


def describe_cap(design: Design) -> str:
    """Return the note on how many sets a person may complete and what that earns; "" without."""
    most = design.max_sets
    if most is None:
        return ""
    sets, are = ("SET", "IS") if most == 1 else ("SETS", "ARE")
    note = f"NOTE: THERE {are} A MAXIMUM OF {most} {sets} YOU CAN COMPLETE."
    if design.has_bonus:
        every = "THE SET" if most == 1 else f"ALL {most} SETS"
        note += f" COMPLETING {every} WILL GIVE YOU A BONUS! WE ENCOURAGE YOU TO DO {every}"
    return f"**{note}**\n\n"


def describe_cap_0_1(design: Design) -> str:
    """Return the line of version 0.1 on how many sets a person may complete."""
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
    return (
        text.replace(SET_SIZE, f"A set has {questions}")
        .replace(CAP, describe_cap(design))
        .replace(CAP_0_1, describe_cap_0_1(design))
    )
