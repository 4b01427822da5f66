"""People who rate over HTTP while servers die, and never give up: they send the same form again."""

import gzip
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlencode, urljoin, urlsplit

from evalsite.command_line.site import HOST
from evalsite.handout.models import Annotation
from evalsite.studies.models import Item, Study
from tests.support.annotators import Annotator, Page, PageFailed
from tests.support.invariants import find_breaches

_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_MOST_TRIES = 600
_PAUSE = 0.1


@dataclass
class Diary:
    """What the people were told: every save that was acknowledged, with its scores."""

    saves: dict[str, tuple[str, ...]] = field(default_factory=dict)
    already: int = 0
    retries: int = 0
    unavailable: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def note_save(self, path: str, scores: tuple[str, ...], *, is_news: bool) -> None:
        with self.changed:
            self.saves[path] = scores
            self.already += not is_news
            self.changed.notify_all()

    def wait_for(self, saves: int) -> None:
        """So many saves have been acknowledged."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.saves) >= saves, timeout=120)

    def note_retry(self, status: int = 0) -> None:
        with self.changed:
            self.retries += 1
            self.unavailable += status == 503


class TirelessBrowser:
    """A browser over HTTP that sends a request again until a server has answered it."""

    def __init__(self, port: int, diary: Diary) -> None:
        self.port = port
        self.diary = diary
        self.http: HTTPConnection | None = None
        self.pause = threading.Event()

    def get(self, address: str) -> Page:
        return self._ask("GET", address, None)

    def post(self, address: str, data: dict[str, str]) -> Page:
        return self._ask("POST", address, data)

    def _ask(self, method: str, address: str, data: dict[str, str] | None) -> Page:
        for _ in range(_MOST_TRIES):
            try:
                status, location, html = self._try(method, address, data)
            except (OSError, HTTPException):
                self.http = None
                self.diary.note_retry()
            else:
                if status < 500:
                    return self._follow(method, address, data, (status, location, html))
                self.diary.note_retry(status)
            self.pause.wait(_PAUSE)
        raise PageFailed(f"{method} {address} was never answered.")

    def _try(self, method: str, address: str, data: dict[str, str] | None) -> tuple[int, str, str]:
        if self.http is None:
            self.http = HTTPConnection(HOST, self.port, timeout=30)
        body = urlencode(data) if data is not None else None
        path = address.partition("#")[0]
        self.http.request(method, path, body, _FORM if body is not None else {})
        response = self.http.getresponse()
        content = response.read()
        if response.getheader("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        return response.status, response.getheader("Location") or "", content.decode()

    def _follow(
        self, method: str, address: str, data: dict[str, str] | None, told: tuple[int, str, str]
    ) -> Page:
        status, location, html = told
        if status == 302:
            outcome = location.partition("#")[0].partition("?was=")[2].partition("&")[0]
            if data and outcome in ("saved", "already"):
                scores = tuple(data[name] for name in data if name.rpartition("-")[2].isdigit())
                path = urlsplit(address).path
                self.diary.note_save(path, scores, is_news=outcome == "saved")
            return self.get(urljoin(address, location))
        if status != 200:
            raise PageFailed(f"{method} {address} answered {status}.\n{html[:300]}")
        return Page(address, html)


class Rater(Annotator):
    """Somebody whose every score tells on which page it was given."""

    def _fill(self, page: Page) -> dict[str, str]:
        place = int(page.address.split("/items/")[1].split("/")[0])
        number = int(page.address.split("/sets/")[1].split("/")[0])
        boxes = [name for name in page.fields if name.rpartition("-")[2].isdigit()]
        scores = {
            name: str(1000 * number + 10 * place + one) for one, name in enumerate(boxes, start=1)
        }
        return {**page.fields, **scores, "go": "next"}


class Raters:
    """People who work at the same time, each in a thread, until nothing is left for them."""

    def __init__(self, port: int, homes: list[str]) -> None:
        self.diary = Diary()
        self.port = port
        self.threads = ThreadPoolExecutor(max_workers=len(homes))
        self.futures = [self.threads.submit(self._work, home) for home in homes]

    def _work(self, home: str) -> None:
        browser = TirelessBrowser(self.port, self.diary)
        one = Rater(browser, seed=home)
        one.work(browser.post(f"{home}start/", {}))

    def wait(self) -> Diary:
        """All of them are done; the diary of what they were told."""
        self.threads.shutdown()
        for future in self.futures:
            future.result()
        return self.diary


def find_losses(study: Study, diary: Diary, people: dict[str, int]) -> list[str]:
    """Whatever differs between what people were told and what the database holds, in words.

    `people` maps each personal page to its participant.
    """
    found = list(find_breaches(study))
    for path, scores in diary.saves.items():
        home, rest = path.split("sets/")
        number, place = rest.split("/items/")
        rows = Annotation.objects.filter(
            participant=people[home], item_set__number=number, place=place.strip("/")
        )
        if rows.count() != 1:
            found.append(f"{rows.count()} rows hold the answer at set {rest}")
            continue
        stored = rows.get().ratings.order_by("id").values_list("text", flat=True)
        if sorted(stored) != sorted(scores):
            found.append(f"set {rest} holds {list(stored)}, not {scores}")
    total = Annotation.objects.filter(study=study).count()
    if total != len(diary.saves):
        found.append(f"{total} answers are stored, {len(diary.saves)} were acknowledged")
    wanted = Item.objects.main().filter(study=study).count() * study.k
    counted = Annotation.objects.filter(study=study).counted().count()
    if counted != wanted:
        found.append(f"{counted} answers count, {wanted} were asked for")
    return found
