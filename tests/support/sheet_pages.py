"""A sheet in tests: all items of a set on one page, without scripts or as a script sends it."""

import re

from django.test import Client

from evalsite.handout.models import Rating
from evalsite.instruments.installed import get_protocol
from evalsite.studies.models import Study
from tests.support.answering import Entered, make_live
from tests.support.factories import make_annotator, mint_link

NAMES = ("appropriateness", "information_content", "human_likeness")
SHEET = {"screen": "sheet"}


def make_sheet(items: int = 4, **fields):
    given = {"set_size": items, "k": 1, "options": SHEET, **fields}
    return make_live(get_protocol("dialogue"), items, **given)


class Sheet:
    """The sheet of somebody who has just pressed Start, in a browser."""

    def __init__(self, study: Study | None = None, me=None) -> None:
        self.me = me or make_annotator(study or make_sheet())
        self.home = mint_link(self.me)
        self.client = Client()
        self.show(self.client.post(f"{self.home}start/", follow=True))

    def show(self, page) -> "Sheet":
        self.page = page
        return self

    @property
    def address(self) -> str:
        return f"{self.home}sets/1/"

    def open(self) -> "Sheet":
        return self.show(self.client.get(self.address, follow=True))

    def twin(self) -> "Sheet":
        """The same page in another tab."""
        other = object.__new__(Sheet)
        other.__dict__ = {**self.__dict__}
        return other

    @property
    def html(self) -> str:
        return self.page.content.decode()

    @property
    def fields(self) -> dict[str, str]:
        return Entered(self.html).values

    @property
    def done(self) -> list[int]:
        """The places that the menu shows as answered."""
        found = re.findall(r'<li class="done"><button name="go" value="(\d+)"', self.html)
        return [int(place) for place in found]

    @property
    def errors(self) -> list[str]:
        problem = re.search(r'<div class="problem".*?</div>', self.html, re.DOTALL)
        return re.findall(r'<a href="#([^"]+)"', problem[0]) if problem else []

    def part_of(self, place: int) -> str:
        return self.html.partition(f'id="q{place}" ')[2].partition("</article>")[0]

    def save(self, *answers: dict[str, str], at: int | str = "", **more: str):
        """What the server says to the whole form with these answers, as without scripts."""
        data = {**self.fields, "go": "next", "at": str(at), **more}
        for answer in answers:
            data |= answer
        return self.client.post(self.address, data)

    def follow(self, *answers: dict[str, str]) -> "Sheet":
        """The page to which the answer to the form leads."""
        response = self.save(*answers)
        assert response.status_code == 302, response.status_code
        return self.show(self.client.get(response.headers["Location"], follow=True))

    def keep(self, *answers: dict[str, str]):
        """What the server says to what a script sends in the background."""
        data = {}
        for answer in answers:
            for name in answer:
                place = name.partition("-")[0]
                data |= {n: v for n, v in self.fields.items() if n.startswith(f"{place}-")}
        for answer in answers:
            data |= answer
        return self.client.post(f"{self.address}draft/", data)


def answer(place: int, *scores: int | str) -> dict[str, str]:
    return {f"q{place}-{name}": str(score) for name, score in zip(NAMES, scores, strict=False)}


def given() -> dict[int, list[int]]:
    """The stored answers by place."""
    found: dict[int, list[int]] = {}
    for rating in Rating.objects.order_by("annotation__place", "id"):
        found.setdefault(rating.annotation.place, []).append(rating.value)
    return found
