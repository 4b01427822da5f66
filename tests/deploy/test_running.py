"""The composed site at work: slow clients, a database that goes, and nodes that share one site."""

import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from itertools import cycle
from pathlib import Path
from time import monotonic
from urllib.parse import urlencode

import pytest

from tests.support.annotators import Page, PageFailed, read_fields
from tests.support.databases import NO_SERVER, Cluster, find_binaries
from tests.support.deployed import ROOT, Composed, wait_until
from tests.support.proxies import (
    FORM,
    NAME,
    Proxy,
    find_free_port,
    is_too_large,
    time_beside_slow_clients,
)
from tests.support.raters import Rater

pytestmark = [pytest.mark.torture, pytest.mark.slow]

ORDINARY = 1_000
PASSWORD = "four unrelated words work"
STUDY = r"/admin/studies/([0-9a-f-]{36})/"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Composed]:
    """A site that was prepared, on a PostgreSQL of its own."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip(NO_SERVER)
    cluster = Cluster(binaries)
    try:
        cluster.start()
        with Composed(cluster, tmp_path) as site:
            yield site
    finally:
        cluster.stop()


@dataclass
class Visitor:
    """A browser with cookies, whose next request may go to another node."""

    cookies: SimpleCookie = field(default_factory=SimpleCookie)
    html: str = ""

    def get(self, node: Proxy, path: str) -> int:
        return self._ask(node, "GET", path)

    def post(self, node: Proxy, path: str, fields: dict[str, str]) -> int:
        """Send the form of the page that was shown last."""
        token = read_fields(self.html)["csrfmiddlewaretoken"]
        body = urlencode({"csrfmiddlewaretoken": token, **fields}).encode()
        return self._ask(node, "POST", path, body, FORM)

    def send_file(self, node: Proxy, path: str, content: bytes) -> int:
        token, edge = read_fields(self.html)["csrfmiddlewaretoken"], "edge-of-a-part"
        part = f"--{edge}\r\nContent-Disposition: form-data; name="
        head = f'{part}"csrfmiddlewaretoken"\r\n\r\n{token}\r\n{part}"file"; filename="a.zip"\r\n'
        body = f"{head}Content-Type: application/zip\r\n\r\n".encode() + content
        body += f"\r\n--{edge}--\r\n".encode()
        return self._ask(node, "POST", path, body, f"multipart/form-data; boundary={edge}")

    def _ask(
        self, node: Proxy, method: str, path: str, body: bytes | None = None, kind: str = ""
    ) -> int:
        headers = {"Origin": f"https://{NAME}:{node.port}"} if body is not None else {}
        headers |= {"Content-Type": kind} if kind else {}
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in self.cookies.items())
        answer = node.fetch(method, path, body, headers | ({"Cookie": cookies} if cookies else {}))
        for line in answer.cookies:
            self.cookies.load(line)
        self.location, self.content = answer.location, answer.content
        self.html = answer.content.decode(errors="replace")
        return answer.status


class RaterBrowser:
    """Somebody's browser whose every request goes to the next node."""

    def __init__(self, nodes: list[Proxy]) -> None:
        self.nodes = cycle(nodes)

    def get(self, address: str) -> Page:
        return self._ask("GET", address, None)

    def post(self, address: str, data: dict[str, str]) -> Page:
        return self._ask("POST", address, data)

    def _ask(self, method: str, address: str, data: dict[str, str] | None) -> Page:
        body = urlencode(data).encode() if data is not None else None
        headers = {"Content-Type": FORM} if body is not None else {}
        answer = next(self.nodes).fetch(method, address.partition("#")[0], body, headers)
        if answer.status == 302:
            return self.get(answer.location)
        if answer.status != 200:
            raise PageFailed(f"{method} {address} answered {answer.status}.")
        return Page(address, answer.content.decode())


def read_link(output: str) -> str:
    return re.search(r"https://[^/]+(/account/first/\S+)", output)[1]


def sign_up(site: Composed, output: str, first: Proxy, second: Proxy) -> Visitor:
    """Make the first administrator: the page comes from one node, and its form goes to another."""
    path, visitor = read_link(output), Visitor()
    assert visitor.get(first, path) == 200
    fields = {"first_name": "Ada", "email": "ada@example.org", "username": "ada"}
    passwords = {"password1": PASSWORD, "password2": PASSWORD}
    assert visitor.post(second, path, fields | passwords) == 302
    return visitor


def test_slow_clients_hold_nobody_up(site, record_property):
    site.run("prepare")
    _, port = site.start_web()
    with site.proxied(port) as proxy:
        ordinary = {proxy.ask("GET", "/account/login/") for _ in range(ORDINARY)}
        secret = "/p/not-to-be-logged/consent/"

        alone, beside_bodies, beside_all = time_beside_slow_clients(proxy, secret)
        refused = is_too_large(proxy)
        proxy.ask("GET", f"{secret}?id=not-to-be-logged", Cookie="not-to-be-logged")
        logs = proxy.read_logs()

    record_property("seconds", (alone, beside_bodies, beside_all))
    assert ordinary == {200}
    assert beside_bodies < 3 * alone
    assert beside_all < 3 * alone
    assert refused
    assert '"uri":"/p/-' in logs
    assert "not-to-be-logged" not in logs


def test_health_follows_the_database(site):
    site.run("prepare")
    worker, (web, port) = site.start("worker"), site.start_web()
    with site.proxied(port) as proxy:
        ordinary = {proxy.ask("GET", "/account/login/") for _ in range(ORDINARY)}
        wait_until(lambda: site.ask("health", "--worker") == 0, worker)
        before = proxy.ask("GET", "/health/ready/")

        site.cluster.crash()
        wait_until(lambda: proxy.ask("GET", "/health/ready/") == 503, web)
        during = [
            proxy.ask("GET", "/health/live/"), site.ask("health", "--port", str(port)),
            site.ask("health", "--worker"), proxy.ask("GET", "/account/login/"),
        ]  # fmt: skip
        site.cluster.serve()
        wait_until(lambda: proxy.ask("GET", "/health/ready/") == 200, web)
        after = [site.ask("health", "--port", str(port)), proxy.ask("GET", "/account/login/")]
        wait_until(lambda: site.ask("health", "--worker") == 0, worker)

    assert (ordinary, before) == ({200}, 200)
    assert during[:3] == [200, 1, 1]
    assert after == [0, 200]
    assert "/health/" not in web.read_log()


def test_two_web_nodes_and_two_workers_are_one_site(site):
    output = site.run("prepare")
    workers = [site.start("worker"), site.start("worker")]
    (_, first_port), (_, second_port) = site.start_web(), site.start_web()
    with site.proxied(first_port) as first, site.proxied(second_port) as second:
        visitor = sign_up(site, output, first, second)
        assert [visitor.get(node, "/admin/") for node in (first, second)] == [200, 200]

        # a file that comes to one node is checked by some worker and imported through the other
        visitor.get(first, "/admin/studies/import/")
        bundle = (ROOT / "fixtures/bundle/format-3.zip").read_bytes()
        assert visitor.send_file(first, "/admin/studies/import/", bundle) == 302
        page = visitor.location
        wait_until(lambda: visitor.get(second, page) == 200 and 'value="data"' in visitor.html)
        assert visitor.post(second, page, {"do": "data"}) == 302
        wait_until(lambda: visitor.get(first, page) == 200 and bool(re.search(STUDY, visitor.html)))
        study = re.search(STUDY, visitor.html)[1]

        # with one worker gone, the other writes a file that both nodes send
        workers[0].end(signal.SIGKILL)
        files = f"/admin/studies/{study}/files/bundle/"
        assert visitor.get(first, files) == 200
        assert visitor.post(first, f"{files}make/", {"contents": "data"}) == 302
        pattern = rf'action="({files}[0-9a-f-]{{36}}\.zip)"'
        wait_until(lambda: visitor.get(second, files) == 200 and ".zip" in visitor.html, workers[1])
        file = re.search(pattern, visitor.html)[1]
        sent = []
        for node in (first, second):
            visitor.get(node, files)
            assert visitor.post(node, file, {}) == 200
            sent.append(visitor.content)
        assert sent[0] == sent[1]
        assert sent[0].startswith(b"PK")

        assert list_statuses_of_a_lock([first, second]) == [422] * 4 + [429] * 3

    # two workers, one daily backup
    (backup,) = site.volumes["/backups"].iterdir()
    assert re.fullmatch(r"evalsite-\d{8}-\d{6}\.tar\.gz", backup.name)


def test_proxy_passes_over_a_node_that_is_down(site):
    site.run("prepare")
    _, port = site.start_web()
    with site.proxied(find_free_port(), port) as proxy:
        # the two are asked at random
        answers = {proxy.ask("GET", "/account/login/") for _ in range(20)}
        answers.add(proxy.ask("POST", "/account/login/", b"login=ada"))

    assert answers <= {200, 403}


def list_statuses_of_a_lock(nodes: list[Proxy]) -> list[int]:
    """Send the nodes in turn five wrong passwords, the last of which locks, and the right one."""
    visitor, statuses = Visitor(), []
    for number, node in zip(range(7), cycle(nodes), strict=False):
        visitor.get(node, "/account/login/")
        password = PASSWORD if number >= 5 else "wrong"
        fields = {"login": "ada", "password": password}
        statuses.append(visitor.post(node, "/account/login/", fields))
    return statuses


ANSWERED = """
from evalsite.data.fsck import find_breaches
from evalsite.handout.models import Annotation
from evalsite.studies.models import Study
print(Annotation.objects.count(), sum(1 for study in Study.objects.all()
                                      for _ in find_breaches(study)))
"""
MAKE = """
from tests.support.factories import launch, make_annotator, make_study, mint_link
study = launch(make_study(items=6, k=2, set_size=3))
print(*(mint_link(make_annotator(study)) for _ in range(2)))
"""


def test_person_whose_requests_go_to_two_nodes_in_turn_loses_nothing(site):
    site.run("prepare")
    (_, first_port), (_, second_port) = site.start_web(), site.start_web()
    homes = site.run_program(MAKE).split()
    with site.proxied(first_port) as first, site.proxied(second_port) as second:
        for home in homes:
            browser = RaterBrowser([first, second])
            Rater(browser, seed=home).work(browser.post(f"{home}start/", {}))

    # 6 items, 2 answers each
    assert site.run_program(ANSWERED).split() == ["12", "0"]


def test_documented_upgrade_keeps_everything(site):
    site.run("prepare")
    worker, (web, port) = site.start("worker"), site.start_web()
    site.run_program(MAKE)
    with site.proxied(port) as proxy:
        assert proxy.ask("GET", "/account/login/") == 200

    started = monotonic()
    exits = [web.end(), worker.end()]
    seconds = monotonic() - started
    site.run("manage", "backup", str(site.volumes["/backups"]))
    site.run("prepare")
    site.start("worker")
    _, port = site.start_web()

    assert exits == [0, 0]
    assert seconds < 10 + 120  # stop_grace_period
    assert site.run("manage", "restore", "--check", "--newest").startswith("This backup can be")
    assert site.ask("manage", "fsck") == 0
    with site.proxied(port) as proxy:
        assert proxy.ask("GET", "/account/login/") == 200
