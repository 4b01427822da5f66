"""People at work over HTTP: a bounded number of threads, each with a connection that it keeps."""

import gzip
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection
from urllib.parse import urlencode

import brotli

from evalsite.command_line.site import HOST
from tests.support.annotators import read_fields

_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_BROWSER = {"Accept-Encoding": "gzip, deflate, br", "Accept-Language": "en-GB,en"}
_UNPACK = {"": bytes, "gzip": gzip.decompress, "br": brotli.decompress}


@dataclass
class Answer:
    """A response, and how many bytes it was on the wire."""

    status: int
    headers: dict[str, str]
    body: bytes
    wire: int

    @property
    def text(self) -> str:
        unpack = _UNPACK[self.headers.get("Content-Encoding", "")]
        return str(unpack(self.body).decode())


class Connection:
    """One connection to the server, kept open."""

    def __init__(self, port: int) -> None:
        self.http = HTTPConnection(HOST, port, timeout=60)

    def ask(self, method: str, address: str, data: dict[str, str] | None = None) -> Answer:
        body = urlencode(data) if data is not None else None
        self.http.request(method, address, body, {**_BROWSER, **(_FORM if body else {})})
        response = self.http.getresponse()
        content = response.read()
        headers = response.getheaders()
        head = len("HTTP/1.1 200 OK\r\n\r\n") + sum(len(k) + len(v) + 4 for k, v in headers)
        return Answer(response.status, dict(headers), content, head + len(content))

    def save_and_go_on(self, address: str, data: dict[str, str]) -> tuple[str, Answer]:
        """A POST, its redirect, and the next page with its address."""
        answer = self.ask("POST", address, data)
        if answer.status != 302:
            raise SystemExit(f"A save was answered with {answer.status}: {answer.text[:500]}")
        address = answer.headers["Location"]
        page = self.ask("GET", address)
        if page.status != 200:
            raise SystemExit(f"A page was answered with {page.status}: {page.text[:500]}")
        return address.partition("?")[0], page


@dataclass
class Run:
    """What came of a load: how many saves, in what time, at what cost."""

    milliseconds: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def saves(self) -> int:
        return len(self.milliseconds)

    @property
    def per_second(self) -> float:
        return self.saves / self.seconds

    @property
    def cpu_ms(self) -> float:
        """Processor time of the server for each save and next page."""
        return 1000 * self.cpu_seconds / self.saves

    def percentile(self, share: float) -> float:
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


Work = Callable[[Connection], Iterable[float]]


def run_load(work: Iterable[Work], *, port: int, people: int, cpu: Callable[[], float]) -> Run:
    """All this work has been done by so many people at once."""
    waiting = deque(work)
    run = Run()
    ready = threading.Barrier(people + 1)

    def take_part() -> None:
        connection = Connection(port)
        connection.ask("GET", "/bare/")
        ready.wait()
        while waiting:
            try:
                one = waiting.popleft()
            except IndexError:
                return
            run.milliseconds.extend(one(connection))

    with ThreadPoolExecutor(max_workers=people) as threads:
        futures = [threads.submit(take_part) for _ in range(people)]
        ready.wait()
        began, used = time.perf_counter(), cpu()
        for future in futures:
            future.result()
        run.seconds, run.cpu_seconds = time.perf_counter() - began, cpu() - used
    return run


def rate_set(address: str, html: str, saves: int) -> Work:
    """The work of rating this many items, from a page that has been opened already."""

    def work(connection: Connection) -> Iterable[float]:
        nonlocal address, html
        for number in range(saves):
            sent = fill(html, number)
            began = time.perf_counter()
            address, page = connection.save_and_go_on(address, sent)
            yield 1000 * (time.perf_counter() - began)
            html = page.text

    return work


def rate_sets(home: str, sets: int, saves: int, go: str = "another") -> Work:
    """The whole loop of one person: start a set, rate all of it, finish, start the next one.

    `go` is the button on the review page: "another" starts the next set at once. After the last set
    it is "finish", so that no set is handed out that nobody rates.
    """

    def work(connection: Connection) -> Iterable[float]:
        address = home
        for turn in range(1, sets + 1):
            began = time.perf_counter()
            if "/items/" not in address:
                address, page = connection.save_and_go_on(f"{home}start/", {})
            for number in range(saves):
                address, page = connection.save_and_go_on(address, fill(page.text, number))
                if number == saves - 1:
                    sent = {"go": go if turn < sets else "finish"}
                    address, page = connection.save_and_go_on(address, sent)
                yield 1000 * (time.perf_counter() - began)
                began = time.perf_counter()

    return work


def bare_saves(saves: int, address: str = "/bare/") -> Work:
    """As many saves by a bare pair of views."""

    def work(connection: Connection) -> Iterable[float]:
        sent = {f"score-{box}": "70" for box in (1, 2, 3)}
        for _ in range(saves):
            began = time.perf_counter()
            connection.save_and_go_on(address, sent)
            yield 1000 * (time.perf_counter() - began)

    return work


def fill(html: str, number: int) -> dict[str, str]:
    """The form of a rating page, filled in as its script would: the last answer of each choice."""
    fields = read_fields(html)
    boxes = [name for name, value in fields.items() if re.fullmatch(r".+-\d+", name) and not value]
    return {
        **fields,
        **{box: str(50 + number + place) for place, box in enumerate(boxes)},
        "go": "next",
        "device": "wide-landscape",
        "client_ms": "20000",
        "active_ms": "18000",
    }
