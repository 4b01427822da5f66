"""A gate before the live server: between two tests no request reaches the database.

A page that was closed may have sent one more request (a draft, a question after its job). Answered
while the tables are emptied, it and that are a deadlock; answered later, it would leave rows in
the tables of the next test.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

# Seconds. An answer that takes longer is a fault of its own.
PATIENCE = 60


class Gate:
    """A WSGI application that is open or shut; shut, it answers 503 by itself."""

    def __init__(
        self, application: "WSGIApplication", tidy: Callable[[], object] = lambda: None
    ) -> None:
        """`tidy` is done after each request, in its thread, while it counts as inside."""
        self._application, self._tidy = application, tidy
        self._left = threading.Condition()
        self._inside = 0
        self._is_open = True

    def open(self) -> None:
        with self._left:
            self._is_open = True

    def shut(self) -> None:
        """No request is inside, and none will be until the gate is open again."""
        with self._left:
            self._is_open = False
            if not self._left.wait_for(lambda: self._inside == 0, PATIENCE):
                raise TimeoutError(f"{self._inside} requests are at work after {PATIENCE} s.")

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        with self._left:
            if not self._is_open:
                start_response("503 Service Unavailable", [("Content-Length", "0")])
                return []
            self._inside += 1
        try:
            answer = self._application(environ, start_response)
        except BaseException:
            self._leave()
            raise
        return _Answer(answer, self)

    def _leave(self) -> None:
        self._tidy()
        with self._left:
            self._inside -= 1
            self._left.notify_all()


class _Answer:
    """What the application answered; its request is inside until the answer is closed."""

    def __init__(self, answer: Iterable[bytes], gate: Gate) -> None:
        self._answer, self._gate, self._is_closed = answer, gate, False

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        try:
            # ends what streams, and gives the connection back
            getattr(self._answer, "close", lambda: None)()
        finally:
            self._gate._leave()
