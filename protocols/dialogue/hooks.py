"""What data can't express: instructions that give the size and number of a study's sets."""

from evalsite.instruments.schema import Design

# what the instructions say of the document's sets; a study may have others
SET_SIZE = "A set has 11 questions"
CAP = (
    "**NOTE: THERE ARE A MAXIMUM OF 5 SETS YOU CAN COMPLETE. COMPLETING ALL 5 SETS WILL GIVE YOU A"
    " BONUS! WE ENCOURAGE YOU TO DO ALL 5 SETS**\n\n"
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


def fit_instructions(text: str, design: Design) -> str:
    """Return the instructions with the sets and the bonus of this design."""
    questions = "1 question" if design.set_size == 1 else f"{design.set_size} questions"
    return text.replace(SET_SIZE, f"A set has {questions}").replace(CAP, describe_cap(design))
