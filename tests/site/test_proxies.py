"""The documented proxies keep slow clients away from the web server's threads.

What is tested is the text of docs/deploying.md: only ports, paths and the host name are replaced.
"""

import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from evalsite.command_line.processes import build_web_server
from evalsite.command_line.site import HOST
from tests.support.factories import make_participant, make_study, mint_link
from tests.support.webserver import WebServer

ROOT = Path(__file__).resolve().parents[2]
NAME = "localhost"  # of the site, as the tests' settings allow it
FORM = "application/x-www-form-urlencoded"
ORDINARY_POSTS, SLOW_BODIES, HALF_HEADERS, HONEST = 1_000, 40, 60, 20
PATIENCE = 20  # seconds that nothing takes unless all threads are held
OLDEST_CADDY = (2, 7)  # it has `request_buffers`


def find_example(word: str) -> str:
    """Return the example in the documentation that holds this word."""
    text = (ROOT / "docs/deploying.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall(r"```\n(.*?)```", text, re.DOTALL) if word in block)
    return block


def replace_all(text: str, replacements: dict[str, str]) -> str:
    for old, new in replacements.items():
        assert old in text, f"{old} isn't in the documented example any more"
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


def prepare_nginx(folder: Path, port: int, site_port: int) -> list[str]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx isn't installed (`make torture-crashes` installs it)")
    key, certificate = make_certificate(folder)
    example = replace_all(
        find_example("proxy_pass"),
        {
            "listen 80;": f"listen {HOST}:{find_free_port()};",
            "listen 443 ssl;": f"listen {HOST}:{port} ssl;",
            "evalsite.example;": f"{NAME};",
            "/etc/ssl/evalsite.example/fullchain.pem": str(certificate),
            "/etc/ssl/evalsite.example/privkey.pem": str(key),
            "/var/log/nginx/evalsite.log": str(folder / "access.txt"),
            "/var/log/nginx/evalsite-error.log": str(folder / "errors.txt"),
            "http://127.0.0.1:8000": f"http://{HOST}:{site_port}",
        },
    )
    paths = " ".join(
        f"{part}_temp_path {folder / part};"
        for part in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"pid {folder / 'pid'}; error_log {folder / 'errors.txt'} crit;\n"
        f"events {{ }}\nhttp {{ {paths}\n{example} }}\n",
        encoding="utf-8",
    )
    return [program, "-c", str(folder / "nginx.conf"), "-g", "daemon off; master_process off;"]


def find_caddy() -> str | None:
    for program in (ROOT / "var/test-tools/bin/caddy", shutil.which("caddy")):
        if program and Path(program).exists():
            words = subprocess.run([program, "version"], capture_output=True, text=True, check=True)
            number = re.search(r"(\d+)\.(\d+)", words.stdout)
            if number and (int(number[1]), int(number[2])) >= OLDEST_CADDY:
                return str(program)
    return None


def prepare_caddy(folder: Path, port: int, site_port: int) -> list[str]:
    program = find_caddy()
    if program is None:
        pytest.skip("Caddy 2.7 or later isn't installed (`make torture-crashes` installs it)")
    key, certificate = make_certificate(folder)
    example = replace_all(
        find_example("request_buffers"),
        {
            "\tservers {": "\tadmin off\n\tauto_https off\n\tpersist_config off\n"
            f"\tstorage file_system {folder}\n"
            "\tservers {",
            "evalsite.example {": f"https://{NAME}:{port} {{\n\ttls {certificate} {key}",
            "127.0.0.1:8000": f"{HOST}:{site_port}",
        },
    )
    (folder / "Caddyfile").write_text(example, encoding="utf-8")
    return [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


PROXIES: dict[str, Callable[[Path, int, int], list[str]]] = {
    "nginx": prepare_nginx,
    "caddy": prepare_caddy,
}


class Proxy:
    """A running proxy, and ways to ask it."""

    def __init__(self, port: int, logs: Path) -> None:
        self.port = port
        self.logs = logs
        self.trust = ssl.create_default_context(cafile=logs / "certificate.pem")

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> int:
        connection = HTTPSConnection(NAME, self.port, timeout=PATIENCE, context=self.trust)
        try:
            connection.request(method, path, body, headers)
            return connection.getresponse().status
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
def running(kind: str, folder: Path, site_port: int) -> Iterator[Proxy]:
    folder.mkdir()
    port = find_free_port()
    command = PROXIES[kind](folder, port, site_port)
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
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


@pytest.fixture
def home() -> str:
    """The address of a participant's page."""
    return mint_link(make_participant(make_study()))


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", PROXIES)
def test_bad_81_slow_clients_hold_nobody_up_behind_a_documented_proxy(
    kind, home, database_url, tmp_path
):
    with (
        WebServer(database_url, tmp_path, EVALSITE_BEHIND_PROXY="on") as server,
        running(kind, tmp_path / kind, server.port) as proxy,
        ExitStack() as links,
    ):
        form = {"Content-Type": FORM}
        ordinary = [
            proxy.ask("POST", f"{home}consent/", b"go=nowhere", **form)
            for _ in range(ORDINARY_POSTS)
        ]
        alone = proxy.take_honest_seconds("/account/login/")

        for _ in range(SLOW_BODIES):
            links.enter_context(
                proxy.open(write_head(f"{home}consent/", 5_000) + b"go=dec+"),
            )
        beside_bodies = proxy.take_honest_seconds("/account/login/")
        for _ in range(HALF_HEADERS):
            links.enter_context(proxy.open(b"GET / HTTP/1.1\r\nHost: local"))
        beside_all = proxy.take_honest_seconds("/account/login/")
        links.close()
        # once more: what else runs on this machine may have changed meanwhile
        alone = max(alone, proxy.take_honest_seconds("/account/login/"))

        with proxy.open(write_head("/admin/", 27 * 1024**2)) as large:
            refusal = large.recv(100).split(b"\r\n")[0]
        server.kill()
        without_site = proxy.ask("GET", home)
        logs = proxy.read_logs()

    assert set(ordinary) < {200, 302, 422}
    assert beside_bodies < 3 * alone
    assert beside_all < 3 * alone
    assert b" 413 " in refusal
    assert without_site == 502
    # the link is a secret, also where the proxy complains about a request
    assert home.split("/")[2] not in logs


def test_only_the_loopback_interface_is_listened_on():
    command = build_web_server(8000)

    unit = (ROOT / "deploy/evalsite-web.service").read_text(encoding="utf-8")

    assert command[command.index("--bind") + 1] == "127.0.0.1:8000"
    assert re.findall(r"--bind (\S+)", unit) == ["127.0.0.1:8000"]
