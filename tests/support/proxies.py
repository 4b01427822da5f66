"""Proxies in front of a site, and clients that are slow on purpose."""

import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from evalsite.command_line.site import HOST

ROOT = Path(__file__).resolve().parents[2]
NAME = "localhost"  # of the site, as the tests' settings allow it
FORM = "application/x-www-form-urlencoded"
SLOW_BODIES, HALF_HEADERS, HONEST = 40, 60, 20
PATIENCE = 20  # seconds that nothing takes unless all threads are held
OLDEST_CADDY = (2, 7)  # it has `request_buffers`


def replace_all(text: str, replacements: dict[str, str]) -> str:
    for old, new in replacements.items():
        assert old in text, f"{old} isn't in the example any more"
        text = text.replace(old, new)
    return text


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def make_certificate(folder: Path) -> tuple[Path, Path]:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={NAME}",
         "-addext", f"subjectAltName=DNS:{NAME}", "-days", "2",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, certificate


def find_caddy() -> str | None:
    for program in (ROOT / "var/test-tools/bin/caddy", shutil.which("caddy")):
        if program and Path(program).exists():
            words = subprocess.run([program, "version"], capture_output=True, text=True, check=True)
            number = re.search(r"(\d+)\.(\d+)", words.stdout)
            if number and (int(number[1]), int(number[2])) >= OLDEST_CADDY:
                return str(program)
    return None


def prepare_caddy(folder: Path) -> list[str]:
    """Return the command that runs deploy/Caddyfile with a certificate of our own.

    Nothing else is changed: its address and the site behind it come from the environment.
    """
    program = find_caddy()
    if program is None:
        pytest.skip("Caddy 2.7 or later isn't installed (`make torture-crashes` installs it)")
    key, certificate = make_certificate(folder)
    text = replace_all(
        (ROOT / "deploy/Caddyfile").read_text(encoding="utf-8"),
        {
            "\tadmin off\n": "\tadmin off\n\tauto_https off\n\tpersist_config off\n"
            f"\tstorage file_system {folder}\n",
            "{$EVALSITE_URL} {": f"{{$EVALSITE_URL}} {{\n\ttls {certificate} {key}",
        },
    )
    (folder / "Caddyfile").write_text(text, encoding="utf-8")
    return [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    location: str
    cookies: list[str]
    content: bytes


class Proxy:
    """A running proxy, and ways to ask it."""

    def __init__(self, port: int, logs: Path) -> None:
        self.port = port
        self.logs = logs
        self.trust = ssl.create_default_context(cafile=logs / "certificate.pem")

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> int:
        return self.fetch(method, path, body, headers).status

    def fetch(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        connection = HTTPSConnection(NAME, self.port, timeout=PATIENCE, context=self.trust)
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            return Answer(
                status=response.status,
                location=response.getheader("Location") or "",
                cookies=response.headers.get_all("Set-Cookie") or [],
                content=response.read(),
            )
        finally:
            connection.close()

    def open(self, start: bytes) -> socket.socket:
        """Return a connection on which no more than this was sent."""
        plain = socket.create_connection((HOST, self.port), timeout=PATIENCE)
        link = self.trust.wrap_socket(plain, server_hostname=NAME)
        link.sendall(start)
        return link

    def take_honest_seconds(self, path: str) -> float:
        """Return how long honest requests take, each of which is answered with 200.

        Of three times the shortest: other work on this machine only makes it longer.
        """
        seconds = []
        for _ in range(3):
            started = time.monotonic()
            assert [self.ask("GET", path) for _ in range(HONEST)] == [200] * HONEST
            seconds.append(time.monotonic() - started)
        return min(seconds)

    def read_logs(self) -> str:
        return "".join(
            path.read_text(encoding="utf-8", errors="replace") for path in self.logs.glob("*.txt")
        )


@contextmanager
def running(
    command: Sequence[str], folder: Path, port: int, environment: Mapping[str, str] | None = None
) -> Iterator[Proxy]:
    """The proxy of this command listens on the port inside the block."""
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            assert process.poll() is None, (folder / "output.txt").read_text(encoding="utf-8")
            assert time.monotonic() < deadline
            try:
                socket.create_connection((HOST, port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield Proxy(port, folder)
    finally:
        process.kill()
        process.wait()


def write_head(path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: {FORM}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def time_beside_slow_clients(proxy: Proxy, posted: str) -> tuple[float, float, float]:
    """Return the seconds of honest requests: alone, beside slow bodies, beside half headers too."""
    path = "/account/login/"
    with ExitStack() as links:
        alone = proxy.take_honest_seconds(path)
        for _ in range(SLOW_BODIES):
            links.enter_context(proxy.open(write_head(posted, 5_000) + b"go=dec+"))
        beside_bodies = proxy.take_honest_seconds(path)
        for _ in range(HALF_HEADERS):
            links.enter_context(proxy.open(b"GET / HTTP/1.1\r\nHost: local"))
        beside_all = proxy.take_honest_seconds(path)
    # once more: what else runs on this machine may have changed meanwhile
    return max(alone, proxy.take_honest_seconds(path)), beside_bodies, beside_all


def is_too_large(proxy: Proxy) -> bool:
    """Return whether a body of 27 MB is refused before it comes."""
    with proxy.open(write_head("/admin/", 27 * 1024**2)) as large:
        return b" 413 " in large.recv(100).split(b"\r\n")[0]
