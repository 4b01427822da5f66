"""What keeps files from becoming a batch: a fault to correct, or a question to answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class Unusable(Exception):
    """A fault of a file, or of files together: a stable code, and a sentence that says what to do.

    `file` is the file's name; "" if it concerns all of them.
    """

    def __init__(self, code: str, message: str, *, file: str = "") -> None:
        super().__init__(f"{file}: {message}" if file else message)
        self.code, self.message, self.file = code, message, file
        # what is known of each file nevertheless
        self.files: Sequence[Any] = ()


@dataclass(frozen=True)
class Question:
    """A decision that only a person can make, with its answers, each under a key."""

    key: str
    text: str
    answers: tuple[tuple[str, str], ...]
    # ids of all inputs that it is about
    ids: tuple[str, ...] = ()


class Undecided(Exception):
    """The files hold something that may be meant in more than one way."""

    def __init__(self, questions: Sequence[Question]) -> None:
        super().__init__("\n".join(question.text for question in questions))
        self.questions = tuple(questions)
        self.files: Sequence[Any] = ()


def quote(name: object, most: int = 60) -> str:
    """Quote a name or id for a sentence, cut if it is long."""
    text = " ".join(str(name).split())
    return f"“{text}”" if len(text) <= most else f"“{text[: most - 1]}…”"


def name_some(names: Sequence[object], most: int = 3) -> str:
    """Name the first few, and say that there are more."""
    named = ", ".join(quote(name) for name in names[:most])
    return f"{named} and {len(names) - most:,} more" if len(names) > most else named
