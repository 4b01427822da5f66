"""Which workers are alive: each locks its own file until its process ends."""

import fcntl
import hashlib
import logging
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.utils.crypto import get_random_string

logger = logging.getLogger(__name__)

# the start of the name of a file that isn't locked yet; no worker's name starts with it
_UNNAMED = "new-"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def name_worker() -> str:
    """Return a name for this worker: its machine, and random characters."""
    return f"{_name_machine()}.{get_random_string(20)}"


def is_of_this_machine(worker: str) -> bool:
    """Return whether the worker runs, or ran, here: only then can its lock be checked."""
    return worker.startswith(f"{_name_machine()}.")


def _name_machine() -> str:
    # two machines may have one name, but they don't share a start
    boot = _BOOT_ID.read_text(encoding="ascii") if _BOOT_ID.exists() else ""
    return hashlib.sha256(f"{platform.node()}|{boot}".encode()).hexdigest()[:12]


def _folder() -> Path:
    return settings.DATA_DIR / "workers"


@contextmanager
def be_present(worker: str) -> Iterator[None]:
    """Hold the lock of this worker. The kernel releases it however the process ends."""
    path = _folder() / worker
    try:
        lock = _make_lock(path)
    except OSError as error:
        # the disk is full: others then go by this worker's heartbeat
        logger.warning("No lock for this worker in %s: %s", path.parent, error)
        yield
        return
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def _make_lock(path: Path) -> int:
    """Return a lock on this file, which gets its name only once it is locked.

    Otherwise another process might check in between, and take this worker for dead.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unnamed = path.with_name(f"{_UNNAMED}{path.name}")
    lock = os.open(unnamed, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        unnamed.rename(path)
    except OSError:
        os.close(lock)
        raise
    return lock


def find_workers() -> tuple[set[str], set[str]]:
    """Return the workers of this machine that are alive, and those that are certainly dead."""
    alive: set[str] = set()
    dead: set[str] = set()
    folder = _folder()
    for path in folder.iterdir() if folder.exists() else ():
        if is_of_this_machine(path.name):
            (alive if _is_locked(path) else dead).add(path.name)
    return alive, dead


def _is_locked(path: Path) -> bool:
    try:
        lock = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        # shared: others who look at the same moment don't make a dead worker seem alive
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def forget_worker(worker: str) -> None:
    """Remove what a dead worker left."""
    (_folder() / worker).unlink(missing_ok=True)
