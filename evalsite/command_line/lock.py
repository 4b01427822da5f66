"""One command at a time on one folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalsite.command_line.output import Refused


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Refuse a second command of this kind on the same folder while the first one runs."""
    path = folder / "running"
    with path.open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise Refused(
                f"Already running in {folder}, process {file.read().strip() or 'unknown'}. "
                "Stop it, or choose another folder."
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
        file.truncate(0)
