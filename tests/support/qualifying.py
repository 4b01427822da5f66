"""Somebody on the way through a qualification, and answers that pass or fail it."""

from django.test import Client

from evalsite.studies.models import Study
from tests.support.annotators import read_fields
from tests.support.factories import (
    launch,
    make_learner,
    make_study,
    mint_link,
    practise_every_gold,
)
from tests.support.tabs import BOXES

# of each of the three practice items: all that gold asks for, and nothing of it
RIGHT = (("50", "90", "70"), ("90", "70", "90"), ("50", "60", "90"))
WRONG = (("500", "300", "400"), ("200", "300", "250"), ("500", "500", "300"))
PARTS = 12


def make_live(*, items: int = 3, **fields) -> Study:
    draft = make_study(items=items, set_size=3, is_qualification_on=True, **fields)
    return launch(practise_every_gold(draft))


class Candidate:
    """A browser without scripts, in one tab, on its way through the qualification."""

    def __init__(self, study: Study, **fields) -> None:
        self.me = make_learner(study, **fields)
        self.home = mint_link(self.me)
        self.client = Client()

    def get(self, path: str = ""):
        return self.client.get(f"{self.home}{path}")

    def where(self) -> str:
        """The page that the personal link opens now, after the token."""
        return self.get().headers["Location"].removeprefix(self.home)

    def fields(self, path: str) -> dict[str, str]:
        return read_fields(self.get(path).content.decode())

    def answer(self, number: int, scores, **changes):
        path = f"qualification/{number}/"
        data = self.fields(path) | dict(zip(BOXES, scores, strict=True)) | changes
        return self.client.post(f"{self.home}{path}", data)

    def take_try(self, answers) -> None:
        self.client.post(f"{self.home}qualification/")
        for number, scores in enumerate(answers, start=1):
            assert self.answer(number, scores).status_code == 302
        self.me.refresh_from_db()


def without_gold(study: Study) -> Study:
    study.items.practice().update(gold={})
    return study
