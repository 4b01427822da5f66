"""What tests of rounds share: a round on any platform, and a person who comes by it."""

import re
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.test import Client
from django.urls import reverse

from evalsite.people.models import Participant, Recruitment, Visit
from evalsite.people.platforms import Outcome, Platform, installed_platforms
from evalsite.people.random_codes import hash_token
from evalsite.people.recruiting import create_recruitment, turn_on
from evalsite.studies.models import Study
from tests.support.annotators import read_fields
from tests.support.factories import make_user
from tests.support.tabs import BOXES, Tab

SPEAKER = {"first_language": "English", "variety": "british"}
# ids of every form that a platform may ask for; the first three that fit are used
CANDIDATES = (
    "5f0c0ffee5f0c0ffee5f0c0f", "60a1b2c3d4e5f60718293a4b", "61a1b2c3d4e5f60718293a4b",
    "A2SUAM1J3GNN3B", "A3SUAM1J3GNN3C", "A4SUAM1J3GNN3D",
    "3TR2532VI040LV46NXNX77Y3USZJ6N", "3TR2532VI040LV46NXNX77Y3USZJ6M",
    "3TR2532VI040LV46NXNX77Y3USZJ6L", "1234", "5678", "91011",
)  # fmt: skip
BACK = "https://panel.example/back?who={id}&visit={visit}&survey_code=XXXX&o="


def make_round(study: Study, key: str, *, is_on: bool = True, **fields: Any) -> Recruitment:
    """A round on this platform with all that it needs to be turned on."""
    platform = installed_platforms()[key]
    if platform.is_open_link:
        recruitment = Recruitment.objects.open_link(study)
        recruitment.save()
    else:
        recruitment = create_recruitment(study=study, platform=platform, by=make_user())
    recruitment.settings |= {
        one.name: one.initial or "Best Panel" for one in platform.settings if one.is_required
    }
    for name, value in fields.items():
        setattr(recruitment, name, value)
    if platform.least_pay and study.pay_per_set is None:
        study.pay_per_set = Decimal(10)
        study.save(update_fields=["pay_per_set"])
    recruitment.save()
    for outcome, leaves in platform.exits.items():
        if leaves.takes_link:
            recruitment.codes.update_or_create(
                outcome=outcome, defaults={"link": f"{BACK}{len(outcome)}"}
            )
    if is_on:
        turn_on(recruitment=recruitment, by=make_user())
    recruitment.is_on = is_on
    return recruitment


def panel_of(recruitment: Recruitment) -> str:
    """The address of the researcher's page of this panel."""
    earlier = recruitment.study.recruitments.filter(
        platform=recruitment.platform, number__lt=recruitment.number
    )
    time, more = earlier.count() + 1, [recruitment.study_id, recruitment.platform]
    if time == 1:
        return reverse("admin:study-panel", args=more)
    return reverse("admin:study-panel-again", args=[*more, time])


def remove_code(recruitment: Recruitment, outcome: str) -> None:
    recruitment.codes.filter(outcome=outcome).update(code="")


def list_ids(platform: Platform, recruitment: Recruitment) -> list[str]:
    """Return ids of people that this platform could send."""
    person = platform.find_person(recruitment.platform_settings)
    assert person is not None
    return [one for one in CANDIDATES if person.pattern.fullmatch(person.spell(one))]


class Person:
    """Somebody who comes by a round's link, in a browser without scripts."""

    def __init__(self, recruitment: Recruitment, number: int = 0, visit: int = 0) -> None:
        self.recruitment, platform = recruitment, recruitment.adapter
        self.client = Client()
        self.query: dict[str, str] = {}
        if (person := platform.find_person(recruitment.platform_settings)) is not None:
            self.query[person.name] = list_ids(platform, recruitment)[number]
        if (parameter := platform.find_visit(recruitment.platform_settings)) is not None:
            fitting = [one for one in CANDIDATES if parameter.pattern.fullmatch(one)]
            self.query[parameter.name] = fitting[visit]

    @property
    def address(self) -> str:
        number = self.recruitment.number
        return f"/join/{self.recruitment.study_id}/" + (f"{number}/" if number else "")

    def look(self, **changes: str) -> Any:
        query = urlencode({**self.query, **changes})
        return self.client.get(f"{self.address}?{query}")

    def start(self) -> "Person":
        page = self.look()
        form = re.search(r'<form method="post" action="([^"]+)"', page.text)
        assert form, page.text
        response = self.client.post(form[1], read_fields(page.text))
        assert response.status_code == 302, response.text
        self.home = response.headers["Location"]
        return self

    @property
    def me(self) -> Participant:
        return Participant.objects.get(links__token_hash=hash_token(self.home.split("/")[2]))

    @property
    def visit(self) -> Visit:
        return self.me.visits.order_by("-arrived_at", "-id")[0]

    def open(self, path: str = "") -> Any:
        return self.client.get(f"{self.home}{path}", follow=True)

    def where(self) -> str:
        """The page that the personal link leads to now, after the token."""
        return self.open().redirect_chain[-1][0].removeprefix(self.home)

    def choose(self, go: str) -> "Person":
        fields = read_fields(self.open("consent/").text)
        self.client.post(f"{self.home}consent/", fields | {"go": go})
        return self

    def answer(self, **changes: str) -> "Person":
        self.client.post(f"{self.home}questions/", SPEAKER | changes)
        return self

    def enter(self) -> "Person":
        """All that comes before a place is done."""
        self.start().choose("agree")
        return self.answer() if self.where() == "questions/" else self

    def rate(self, number: int = 1, *, most: int = 500, scores: str = "90 90 90") -> "Person":
        """The first items of the set have these scores."""
        self.client.post(f"{self.home}instructions/")
        tab = Tab(self.me, self.home)
        given = dict(zip(BOXES, scores.split(), strict=True))
        for place in range(1, min(most, len(self.me.item_sets.last().item_ids)) + 1):
            tab.open(place, number=number)
            self.client.post(tab.address_of(place, number), tab.fields | given | {"go": "next"})
        return self

    def finish(self, number: int = 1, *, scores: str = "90 90 90") -> "Person":
        """Everything is read, the set is rated and finished."""
        self.rate(number, scores=scores)
        self.client.post(f"{self.home}sets/{number}/review/")
        return self


def codes_of(recruitment: Recruitment) -> dict[str, str]:
    return dict(recruitment.codes.exclude(code="").values_list("outcome", "code"))


REFUSED = [one for one in Outcome if one != Outcome.COMPLETED]
