"""A few threads at one moment, and races that need a moment exactly."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

only_postgresql = pytest.mark.skipif(
    "connection.vendor != 'postgresql'", reason="SQLite has one writer at a time: no such race."
)


def at_once(functions: list[Callable[[], Any]]) -> list[Any]:
    """What these functions return, all begun at the same moment on connections of their own."""
    barrier = threading.Barrier(len(functions))

    def run(function: Callable[[], Any]) -> Any:
        barrier.wait(timeout=30)
        try:
            return function()
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=len(functions)) as threads:
        futures = [threads.submit(run, function) for function in functions]
    return [future.result() for future in futures]


class Held:
    """Two threads: the first stops before its commit until the second waits for it."""

    def __init__(self, first: Callable[[], Any], second: Callable[[], Any]) -> None:
        self.first, self.second = first, second
        self.is_done, self.ended = threading.Event(), threading.Event()
        self.pid = 0
        # whether the second had to wait for the first at any moment
        self.has_waited = False

    def run(self) -> tuple[Any, Any]:
        return tuple(at_once([self._run_first, self._run_second]))

    def _run_first(self) -> Any:
        with transaction.atomic():
            result = self.first()
            self.is_done.set()
            while not (self.ended.wait(0.02) or self._is_second_waiting()):
                pass
        return result

    def _run_second(self) -> Any:
        assert self.is_done.wait(30)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self.pid = cursor.fetchone()[0]
        try:
            return self.second()
        finally:
            self.ended.set()

    def _is_second_waiting(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [self.pid])
            self.has_waited |= cursor.fetchone()[0]
        return self.has_waited


def wait_for_others(seconds: float = 20) -> None:
    """No other connection is in the middle of something; after so many seconds, come what may."""
    if connection.vendor != "postgresql":
        return
    pause, until = threading.Event(), time.monotonic() + seconds
    while time.monotonic() < until and _count_busy():
        pause.wait(0.02)


def _count_busy() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            " AND state <> 'idle'"
        )
        return int(cursor.fetchone()[0])
