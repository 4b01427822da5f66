"""Annotators who work at the same time, each with a browser of their own, through the real pages.

`python -m tests.support.annotators` reads the names of JSON files, one a line, and runs the crowd
that each describes, in threads of this process of its own. It writes back where each of them
stopped, with what went wrong, and answers with an empty line.
"""

import json
import random
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from html import unescape
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import django
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application
from django.db import connections
from django.test import RequestFactory
from django.urls import resolve

from evalsite.lib.clock import standing_at
from evalsite.studies.version_cache import forget_versions

MOST_PAGES = 2_000
ENDS = ("participant-no-work", "participant-shut", "participant-stopped")
ENTRY = {"go": "agree", "first_language": "English", "variety": "british"}


def read_fields(html: str) -> dict[str, str]:
    """What stands in the boxes of a page, and what is hidden beside them."""
    inputs = re.findall(r"<input[^>]*>", html)
    pairs = [(re.search(r'name="([^"]*)"', i), re.search(r'value="([^"]*)"', i)) for i in inputs]
    return {name[1]: unescape(value[1]) if value else "" for name, value in pairs if name}


class PageFailed(Exception):
    """A page answered with something that no annotator should ever see."""


@dataclass
class Page:
    address: str
    html: str

    @property
    def name(self) -> str:
        return resolve(urlsplit(self.address).path).url_name or ""

    @property
    def fields(self) -> dict[str, str]:
        return read_fields(self.html)


class Browser:
    """Requests to the site in this very thread, through all of its middleware."""

    def __init__(self, site: WSGIHandler, moment: datetime | None = None) -> None:
        self.site = site
        self.moment = moment
        self.requests = RequestFactory(headers={"accept-language": "en-GB"})

    def get(self, address: str) -> Page:
        return self._ask(address, "GET")

    def post(self, address: str, data: dict[str, str]) -> Page:
        return self._ask(address, "POST", data)

    def _ask(self, address: str, method: str, data: dict[str, str] | None = None) -> Page:
        request = getattr(self.requests, method.lower())(address, data or {})
        told: list[tuple[str, dict[str, str]]] = []
        with standing_at(self.moment) if self.moment else nullcontext():
            response = self.site(
                request.environ, lambda status, headers: told.append((status, dict(headers)))
            )
            html = b"".join(response).decode()
            response.close()
        status, headers = int(told[0][0][:3]), told[0][1]
        if status == HTTPStatus.FOUND:
            return self.get(urljoin(address, headers["Location"]))
        if status != HTTPStatus.OK:
            raise PageFailed(f"{method} {urlsplit(address).path} answered {status}.\n{html[:300]}")
        return Page(address, html)


class Annotator:
    """Somebody who takes set after set, in one tab or several, until there is nothing left."""

    def __init__(self, browser: Browser, *, seed: str, leaves_after: int = 0) -> None:
        self.browser = browser
        self.draw = random.Random(seed)
        self.leaves_after = leaves_after
        self.saves = 0

    def join(self, study_id: str) -> str:
        """The address of this person's pages, everything before the work being done.

        "": no place was free, so nobody was let in.
        """
        page = self.browser.post(f"/join/{study_id}/", {})
        if page.name == "study-join":
            return ""
        home = page.address.split("consent")[0]
        for _ in range(MOST_PAGES):
            if page.name in ("rating-page", "set-sheet", "participant-start", *ENDS):
                return home
            page = self._answer(page)
        raise PageFailed("The work never began.")

    def work(self, page: Page) -> Page:
        """The page at which this person stopped: nothing is left, or they left."""
        for _ in range(MOST_PAGES):
            if page.name in ENDS:
                return page
            if page.name == "participant-finish" and "Do another" not in page.html:
                return page
            if self.leaves_after and self.saves >= self.leaves_after:
                return page
            page = self._answer(page)
        raise PageFailed("The work never came to an end.")

    def rate(self, page: Page) -> Page:
        """The scores of this page are sent, by some people twice."""
        self.saves += 1
        filled = self._fill(page)
        if self.draw.random() < 0.1:
            self.browser.post(page.address, filled)
        return self.browser.post(page.address, filled)

    def _fill(self, page: Page) -> dict[str, str]:
        """The same scores in every tab, but for a few changes of mind."""
        mood = self.draw.choice((0, 0, 0, 0, 0, 0, 0, 0, 0, 5))
        boxes = [name for name in page.fields if name.rpartition("-")[2].isdigit()]
        scores = {name: str(50 + mood + number * 10) for number, name in enumerate(boxes)}
        return {**page.fields, **scores, "go": "next"}

    def _answer(self, page: Page) -> Page:
        """The page after this one, as a person without scripts gets there."""
        start = "/".join([*page.address.split("/")[:3], "start", ""])
        match page.name:
            case "rating-page" if "state" in page.fields:
                return self.rate(page)
            case "set-sheet" if "at" in page.fields:
                return self.rate(page)
            case "participant-finish" | "rating-page" | "set-sheet":
                return self.browser.post(start, {})
            case "set-review" if f'action="{start}"' in page.html:
                # all of it went to others, or was withdrawn
                return self.browser.post(start, {})
            case "set-review" if 'method="post"' not in page.html:
                # another tab has opened the next set, or an answer is missing
                return self.browser.get("/".join([*page.address.split("/")[:3], ""]))
            case "participant-practice" if 'autofocus aria-describedby="status"' not in page.html:
                return self.browser.post(page.address, self._fill(page))
            case "participant-practice":
                link = re.search(r'class="btn main" href="([^"]+)"', page.html)
                return self.browser.get(link[1]) if link else self.browser.post(start, {})
        return self.browser.post(page.address, page.fields | ENTRY)


def run_crowd(state: dict) -> dict:
    """Everyone of the state works in threads of this process, each in as many tabs as they have.

    Who has a `page` from an earlier round sends its form first, however late that is.
    """
    site = get_wsgi_application()
    moment = datetime.fromisoformat(state["moment"]) if state["moment"] else None
    people = state["people"]

    def arrive(person: dict) -> None:
        one = Annotator(Browser(site, moment), seed=person["seed"])
        person["home"] = person["home"] or one.join(state["study"])
        if person["page"]:
            one.rate(Page(**person["page"]))

    def work(person: dict, tab: int) -> None:
        if not person["home"]:
            return
        seed = f"{person['seed']}/{tab}/{moment}"
        one = Annotator(Browser(site, moment), seed=seed, leaves_after=person["leaves_after"])
        last = one.work(one.browser.get(person["home"]))
        person["page"] = vars(last) if "state" in last.fields else None

    errors = run_threads([partial(arrive, person) for person in people])
    tabs = [partial(work, person, tab) for person in people for tab in range(person["tabs"])]
    return {**state, "errors": errors + run_threads(tabs)}


def run_threads(functions: list[Callable[[], None]]) -> list[str]:
    """Each function has run in a thread of its own; what went wrong, in words."""

    def run(function: Callable[[], None]) -> None:
        try:
            function()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=len(functions)) as threads:
        futures = [threads.submit(run, function) for function in functions]
    return [repr(error) for future in futures if (error := future.exception()) is not None]


def main() -> None:
    django.setup()
    for line in sys.stdin:
        path = Path(line.rstrip("\n"))
        forget_versions()
        state = run_crowd(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(state), encoding="utf-8")
        sys.stdout.write("\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
