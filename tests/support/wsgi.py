"""Requests to the site as a web server hands them over, answered in this very process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

from evalsite.lib.charsets import OneCharset
from tests.lib.test_body_limits import Unread

FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Answer:
    status_code: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Site:
    """The site's own application, in front of which stands nothing."""

    def __init__(self) -> None:
        self.application = OneCharset(get_wsgi_application())

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        query: str = "",
        content_type: str = "",
        body: bytes | Unread = b"",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Return the answer to this request. What Django doesn't catch raises, as in a server."""
        length = 100 if isinstance(body, Unread) else len(body)
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SCRIPT_NAME": "",
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": content_type,
            "CONTENT_LENGTH": str(length),
            "wsgi.url_scheme": "http",
            "wsgi.input": body if isinstance(body, Unread) else BytesIO(body),
            "wsgi.errors": BytesIO(),
            "wsgi.version": (1, 0),
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
            **{f"HTTP_{name.upper().replace('-', '_')}": v for name, v in (headers or {}).items()},
        }
        said: list[Any] = []
        with _kept_connections():
            answer = self.application(environ, lambda *started: said.extend(started[:2]))  # type: ignore[arg-type]
            try:
                body_sent = b"".join(answer)
            finally:
                getattr(answer, "close", lambda: None)()
        return Answer(int(said[0].split()[0]), dict(said[1]), body_sent)


@contextmanager
def _kept_connections() -> Iterator[None]:
    """Keep the connection of the test, and its transaction, over the end of a request."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in signals:
            signal.connect(close_old_connections)
