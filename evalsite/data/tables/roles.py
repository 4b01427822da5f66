"""What each of several files is for, guessed from its name and content, or chosen."""

from collections.abc import Mapping
from dataclasses import replace

from evalsite.data.tables import lines
from evalsite.data.tables.files import SourceFile
from evalsite.data.tables.table import FileUse, Refused
from evalsite.data.tables.tools import Recognised, read_run

# what a file may be called instead of its system
INPUTS, REFERENCE, SETTINGS, LEAVE_OUT = "inputs", "reference", "settings", "-"
OUTPUTS = "outputs"
WORDS = (INPUTS, REFERENCE, SETTINGS, LEAVE_OUT)
_OF_LINES = {lines.INPUTS: INPUTS, lines.REFERENCE: REFERENCE, lines.LEAVE_OUT: LEAVE_OUT}


def find_uses(
    files: list[SourceFile], recognised: Mapping[str, Recognised], names: Mapping[str, str]
) -> list[FileUse]:
    """Return what each file is for, before its rows are read."""
    free = [file for file in files if file.name not in recognised and not names.get(file.name)]
    guesses = lines.guess_roles(filter(lines.is_called_text, free))
    if recognised:
        # beside tables only a reference can be text
        guesses = {name: role for name, role in guesses.items() if role == lines.REFERENCE}
    return [
        _find_use(file, recognised.get(file.name), names, guesses.get(file.name, ""))
        for file in files
    ]


def _find_use(
    file: SourceFile, known: Recognised | None, names: Mapping[str, str], guess: str
) -> FileUse:
    name = names.get(file.name, "")
    named = [name] if name and name not in WORDS else []
    role = name if name in WORDS else OUTPUTS if name else ""
    if known is not None:
        role = role or known.shape.role
        return FileUse(
            file.name, known.format.title, role, named,
            is_settings=is_settings(known), run=read_run(known),
        )  # fmt: skip
    if lines.is_called_text(file) or (name and lines.is_text(file)):
        if not role and guess:
            role = _OF_LINES.get(guess, OUTPUTS)
            named = [guess] if role == OUTPUTS else []
        return FileUse(file.name, "text, a line for each input", role, named)
    return FileUse(file.name, "", role, named)


def is_settings(known: Recognised) -> bool:
    """Return whether the file only says how a run was made."""
    return known.shape.role == SETTINGS


def set_role(known: Recognised, name: str) -> Recognised:
    """Return the file with the role that it was given; else with that of its shape."""
    if not name:
        return known
    role = name if name in WORDS else OUTPUTS
    if is_settings(known) != (role == SETTINGS):
        problem = "has only settings" if is_settings(known) else "isn't one of settings"
        raise Refused("unknown_role", f"This file {problem} of a run.", file=known.file.name)
    return replace(known, shape=replace(known.shape, role=role))
