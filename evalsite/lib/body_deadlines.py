"""A limit on the time that the body of a request may take.

Threads of a web server are few, and one that waits for a body can't serve others. gunicorn itself
sets no limit to that.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from django.conf import settings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

# a body may take one more second for each of these that have come
BYTES_PER_SECOND = 16 * 1024
# progress is looked at after each of these
PIECE = 16 * 1024
# the watching thread looks at least this often
SECONDS_BETWEEN_LOOKS = 1.0


class BodyDeadline:
    """Raise TimeoutError where a page reads a body that doesn't come in time.

    Only gunicorn exposes a request's connection; with other servers nothing changes.
    """

    def __init__(self, application: "WSGIApplication") -> None:
        self.application = application
        self.watchdog = Watchdog()

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> "Iterable[bytes]":
        connection = environ.get("gunicorn.socket")
        if connection is not None and environ.get("CONTENT_LENGTH", "0") not in ("", "0"):
            body = environ["wsgi.input"]
            environ["wsgi.input"] = TimedBody(body, connection, self.watchdog)
        return self.application(environ, start_response)


class TimedBody:
    """The body of a request, read in pieces, each before a deadline."""

    def __init__(self, body: Any, connection: socket.socket, watchdog: "Watchdog") -> None:
        self._body = body
        self._connection = connection
        self._watchdog = watchdog
        self._deadline = time.monotonic() + settings.BODY_SECONDS

    def read(self, size: int = -1) -> bytes:
        pieces: list[bytes] = []
        left = size
        while left:
            piece = self._in_time(self._body.read, PIECE if left < 0 else min(PIECE, left))
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece) if left > 0 else 0
        return b"".join(pieces)

    def readline(self, size: int = -1) -> bytes:
        return self._in_time(self._body.readline, size)

    def _in_time(self, read: Any, size: int) -> bytes:
        with self._watchdog.watch(self._connection, self._deadline) as watched:
            data: bytes = read(size)
        if watched.is_cut:
            raise TimeoutError("The body of this request came too slowly.")
        self._deadline += len(data) / BYTES_PER_SECOND
        return data


class Watched:
    """A connection that is read from until a moment of the monotonic clock."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self.connection = connection
        self.deadline = deadline
        self.is_cut = False

    def cut(self) -> None:
        """End the read that waits; the connection can still be answered."""
        self.is_cut = True
        with suppress(OSError):  # the other side has gone
            self.connection.shutdown(socket.SHUT_RD)


class Watchdog:
    """One thread in each process, which ends what has waited for too long.

    A timeout of the socket would not do: gunicorn reads until it has what it was asked for, and
    each byte that comes would start the timeout again.
    """

    def __init__(self) -> None:
        self._watched: set[Watched] = set()
        self._news = threading.Condition()
        self._is_idle = True
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, connection: socket.socket, deadline: float) -> Iterator[Watched]:
        """Cut the connection unless the block ends before the deadline."""
        watched = Watched(connection, deadline)
        with self._news:
            self._watched.add(watched)
            if self._is_idle:
                self._wake()
        try:
            yield watched
        finally:
            with self._news:
                self._watched.discard(watched)

    def _wake(self) -> None:
        self._is_idle = False
        if self._thread is None or not self._thread.is_alive():  # also after a fork
            self._thread = threading.Thread(target=self._run, name="body-deadline", daemon=True)
            self._thread.start()
        self._news.notify()

    def _run(self) -> None:
        with self._news:
            while True:
                if not self._watched:
                    self._is_idle = True
                    self._news.wait_for(lambda: self._watched)
                now = time.monotonic()
                for watched in [one for one in self._watched if one.deadline <= now]:
                    watched.cut()
                    self._watched.discard(watched)
                self._news.wait(SECONDS_BETWEEN_LOOKS)
