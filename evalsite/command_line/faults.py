"""Known faults as sentences. What isn't known here is raised, with its traceback."""

import errno
import sqlite3
from collections.abc import Callable

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management.base import CommandError
from django.db import DatabaseError, OperationalError, ProgrammingError

from evalsite.command_line.output import NO, Refused
from evalsite.lib.database_state import WHAT_TO_DO_IF_DAMAGED, OtherDatabase, is_damaged
from evalsite.lib.env import BadSetting

# how SQLite describes a folder that is missing or may not be written
_CLOSED = ("unable to open database file", "attempt to write a readonly database")
_UNDEFINED_TABLE = "42P01"  # PostgreSQL's code
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_PATH_FAULTS = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR),
    *(errno.EEXIST, errno.ENAMETOOLONG),
)
_FREE_SOME_ROOM = "The disk is full. Free some room and run this again: nothing is half stored."


def read_fault(error: Exception) -> Refused | None:
    """Return what is wrong in a sentence, with the exit code; None for what isn't known."""
    if isinstance(error, Refused):
        return error
    for kind, read in _READERS.items():
        if isinstance(error, kind):
            return read(error)
    return None


def _read_database_fault(error: Exception) -> Refused | None:
    sentence = _describe_database_fault(error)
    if sentence is None:
        return None
    from django.conf import settings

    return Refused(f"The database {settings.DATABASES['default']['NAME']} {sentence}")


def _describe_database_fault(error: Exception) -> str | None:
    text, cause = str(error).strip(), error.__cause__
    if is_damaged(error):
        return f"can't be read: {text}. {WHAT_TO_DO_IF_DAMAGED}"
    if not isinstance(error, OperationalError | ProgrammingError):
        return None
    if text in _CLOSED:
        return (
            "can't be opened and written. Make its folder and let the user who runs this "
            "write in it, or set EVALSITE_DATA_DIR (or EVALSITE_DATABASE) to another place."
        )
    if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return f"can't be written. {_FREE_SOME_ROOM}"
    if text.startswith("no such table") or getattr(cause, "pgcode", "") == _UNDEFINED_TABLE:
        return (
            "lacks tables. Run evalsite prepare, which also prints a link to the first account. "
            "Then run this again."
        )
    if text.startswith("connection to server") or "could not translate host name" in text:
        return (
            f"can't be reached: {text.splitlines()[0].removesuffix('.')}. Check EVALSITE_DATABASE."
        )
    return None


def _read_path_fault(error: Exception) -> Refused | None:
    if not isinstance(error, OSError):
        return None
    if error.errno in _NO_ROOM:
        return Refused(f"{error.filename or 'A file'} can't be written. {_FREE_SOME_ROOM}")
    if error.errno in _PATH_FAULTS and error.filename is not None:
        return Refused(f"{error.filename}: {error.strerror}. Check the path and who may use it.")
    return None


_READERS: dict[type[Exception], Callable[[Exception], Refused | None]] = {
    OtherDatabase: lambda error: Refused(str(error), NO),
    ImproperlyConfigured: lambda error: Refused(str(error)),
    BadSetting: lambda error: Refused(str(error)),
    CommandError: lambda error: Refused(str(error)),
    ValidationError: lambda error: Refused(" ".join(getattr(error, "messages", []))),
    DatabaseError: _read_database_fault,
    OSError: _read_path_fault,
}
