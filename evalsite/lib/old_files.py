"""Deleting files that are older than they are kept."""

import shutil
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from evalsite.lib.clock import now


def delete_older(paths: Iterable[Path], age: timedelta) -> int:
    """Delete the files and folders that were last changed so long ago; return how many."""
    oldest, deleted = (now() - age).timestamp(), 0
    for path in paths:
        try:
            is_old = path.lstat().st_mtime < oldest
        except FileNotFoundError:
            continue
        if not is_old:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        deleted += 1
    return deleted
