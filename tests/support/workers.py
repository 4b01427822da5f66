"""A job worker in a process of its own, with kinds of jobs that a test brings."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalsite.core.jobs import worker

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 60

_SETUP = """
import os, signal, sys
import django
django.setup()
from django.core.management import call_command
from evalsite.core.jobs import services
from evalsite.core.jobs.services import job_kind, report_progress, start_job
"""


def run_program(program: str, database_url: str) -> subprocess.Popen[str]:
    """A Python process of the site, which may run db_worker; its log can be read line by line."""
    return subprocess.Popen(
        [sys.executable, "-c", _SETUP + program],
        cwd=ROOT,
        env=os.environ
        | {"DJANGO_SETTINGS_MODULE": "tests.settings", "EVALSITE_DATABASE": database_url},
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def running(program: str, database_url: str) -> Iterator[subprocess.Popen[str]]:
    """The process runs inside the block, and is gone after it."""
    process = run_program(program, database_url)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[str], wanted: str) -> str:
    """The line of its log that holds these words."""
    assert process.stderr is not None
    told = ""
    for line in process.stderr:
        told += line
        if wanted in line:
            return line
    raise AssertionError(f"The process ended without {wanted!r}.\n{told}")


def wait_until(is_so: Callable[[], bool]) -> None:
    """It is so, after a while at most."""
    deadline = time.monotonic() + _SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "It did not come about."
        time.sleep(0.05)


def take_over_lost_jobs() -> int:
    """Let another worker see two minutes of silence; return how many jobs it queues again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "_SECONDS_OF_SILENCE", 0)
        takeover = worker.Takeover("another")
        takeover.take_over_lost()
        return takeover.take_over_lost()
