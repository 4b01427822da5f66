"""What each of several files is for, guessed from its name and content, or chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evalsite.batches import lines
from evalsite.batches.files import SourceFile
from evalsite.batches.rows import Recognised

# what a file may be called instead of its system
INPUTS, REFERENCE, LEAVE_OUT = "inputs", "reference", "-"
OUTPUTS = "outputs"
WORDS = (INPUTS, REFERENCE, LEAVE_OUT)
_OF_LINES = {lines.INPUTS: INPUTS, lines.REFERENCE: REFERENCE, lines.LEAVE_OUT: LEAVE_OUT}


@dataclass
class FileUse:
    """A file with what it is, the systems whose outputs it holds, and how much was found."""

    name: str
    kind: str = ""  # "" if it isn't recognised
    role: str = ""  # "" if nobody knows
    systems: list[str] = field(default_factory=list)
    found: str = ""


def find_uses(
    files: list[SourceFile], recognised: Mapping[str, Recognised], names: Mapping[str, str]
) -> list[FileUse]:
    """Return what each file is for, before its rows are read."""
    are_lines = not recognised
    return [_find_use(file, recognised.get(file.name), names, are_lines) for file in files]


def _find_use(
    file: SourceFile, known: Recognised | None, names: Mapping[str, str], are_lines: bool
) -> FileUse:
    given = names.get(file.name, "")
    named = [given] if given and given not in WORDS else []
    role = given if given in WORDS else OUTPUTS if given else ""
    if known is not None:
        role = role or {"ignored": LEAVE_OUT}.get(known.shape.role, known.shape.role)
        return FileUse(file.name, known.format.title, role, named)
    if file.name.endswith(".txt") or given:
        guess = lines.guess_role(file)
        if not role and (are_lines or guess == lines.REFERENCE):
            role = _OF_LINES.get(guess, OUTPUTS)
            named = [guess] if role == OUTPUTS else []
        return FileUse(file.name, "text, a line for each input", role, named)
    return FileUse(file.name)


def set_role(known: Recognised, given: str) -> Recognised:
    """Return the file with the role that it was given; else with that of its shape."""
    if not given:
        return known
    role = given if given in WORDS else OUTPUTS
    return replace(known, shape=replace(known.shape, role=role))
