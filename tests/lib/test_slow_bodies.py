"""Bodies that never end can't hold the web server's threads: they are cut, and others go on."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection

import pytest

from evalsite.management.commands.serve import HOST
from tests.support.factories import make_participant, make_study, mint_link
from tests.support.webserver import WebServer

# two processes with eight threads each
THREADS = 16
# seconds that nothing takes unless a thread is held for good
PATIENCE = 30

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=X"
HALF_OF_A_PART = b"--X\r\nContent-Disposition: form-data; name=go\r\n\r\ndec"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def home() -> str:
    """The address of a participant's page."""
    return mint_link(make_participant(make_study()))


@pytest.fixture
def server(home, database_url, tmp_path) -> Iterator[WebServer]:
    with WebServer(database_url, tmp_path, EVALSITE_BODY_SECONDS="1") as server:
        yield server


def send_half(server: WebServer, path: str, content_type: str, half: bytes) -> socket.socket:
    """Return a connection with a request whose body is longer than what was sent of it."""
    link = socket.create_connection((HOST, server.port), timeout=PATIENCE)
    lines = [
        *(f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {content_type}"),
        *("Content-Length: 5000", "", ""),
    ]
    link.sendall("\r\n".join(lines).encode() + half)
    return link


def ask(server: WebServer, path: str) -> int:
    link = HTTPConnection(HOST, server.port, timeout=PATIENCE)
    try:
        link.request("GET", path)
        return link.getresponse().status
    finally:
        link.close()


def read_all(link: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection."""
    pieces = []
    while piece := link.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def test_bad_81_bodies_that_never_end_are_cut_while_honest_requests_go_on(server, home):
    kinds = [
        ("/account/login/", FORM, b"username=jane"),
        (f"{home}consent/", FORM, b"go=dec"),
        (f"{home}consent/", MULTIPART, HALF_OF_A_PART),
    ]
    with ExitStack() as links:
        slow = [
            links.enter_context(send_half(server, *kind)) for kind in kinds for _ in range(THREADS)
        ]
        honest = [ask(server, home) for _ in range(10)]
        answers = [read_all(link) for link in slow]

    assert honest == [302] * 10
    assert {answer.split(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 408 Request Timeout"}
    assert "Traceback" not in server.errors.read_text(encoding="utf-8")


def test_bad_81_a_body_that_comes_by_single_bytes_is_cut_too(server, home):
    with ExitStack() as links:
        slow = [
            links.enter_context(send_half(server, f"{home}consent/", FORM, b"go="))
            for _ in range(THREADS)
        ]
        honest = 0
        cut: set[socket.socket] = set()
        while len(cut) < THREADS:
            for link in slow:
                try:
                    link.sendall(b"a")
                except OSError:  # closed by the server
                    cut.add(link)
            assert ask(server, home) == 302
            honest += 1

    assert honest > 0


def test_a_charset_other_than_utf8_is_refused_by_the_server_that_runs(server):
    link = HTTPConnection(HOST, server.port, timeout=PATIENCE)
    headers = {"Content-Type": f"{MULTIPART}; charset=punycode"}
    link.request("POST", "/account/login/", b"a" * 100_000, headers)

    assert link.getresponse().status == 415
    link.close()
