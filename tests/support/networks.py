"""People who come to a study from a network, through its own pages."""

from collections.abc import Iterable

from django.db import transaction
from django.test import Client

from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, Participant, ParticipantLink
from evalsite.people.random_codes import hash_token
from evalsite.studies.models import Study
from tests.support.annotators import read_fields
from tests.support.factories import launch, make_study

HONEST = "203.0.113.7"


def make_crowded(*, items: int = 100, k: int = 3, set_size: int = 10, **fields) -> Study:
    """A live study that asks for nothing but consent: 300 places, 30 sets."""
    quick = {"is_practice_on": False, "is_eligibility_on": False}
    return launch(make_study(items=items, k=k, set_size=set_size, **{**quick, **fields}))


class Visitor:
    """Somebody in a browser of their own, behind the address of a network."""

    def __init__(self, study: Study, origin: str) -> None:
        self.study = study
        self.client = Client(REMOTE_ADDR=origin)
        self.home = ""
        self.requests = 0

    def get(self, address: str):
        self.requests += 1
        return self.client.get(address)

    def post(self, address: str, fields: dict[str, str] | None = None):
        self.requests += 1
        return self.client.post(address, fields or {})

    def press_start(self):
        response = self.post(f"/join/{self.study.pk}/")
        if response.status_code == 302:
            self.home = response.headers["Location"]
        return response

    def agree(self):
        """Agree to the consent text, which takes a place."""
        page = self.get(f"{self.home}consent/")
        return self.post(f"{self.home}consent/", {**read_fields(page.text), "go": "agree"})

    def take_place(self):
        """Join, and return the answer to the post that takes a place, or the first refusal."""
        response = self.press_start()
        return self.agree() if self.home else response

    @property
    def me(self) -> Participant:
        token = self.home.strip("/").split("/")[-1]
        return ParticipantLink.objects.get(token_hash=hash_token(token)).participant

    @property
    def item_set(self) -> ItemSet | None:
        return self.me.item_sets.last() if self.home else None

    def read_instructions(self) -> None:
        self.post(f"{self.home}instructions/")

    def answer(self, places: Iterable[int]) -> None:
        for place in places:
            address = f"{self.home}sets/{self.item_set.number}/items/{place}/"
            response = self.post(address, self.fill_in(address))
            assert response.status_code == 302, response.status_code

    def fill_in(self, address: str) -> dict[str, str]:
        """Return the form of this page with every score filled in."""
        fields = read_fields(self.get(address).text)
        return {**fields, **{name: "70" for name in fields if name[-2:-1] == "-"}, "go": "next"}

    def report(self, places: Iterable[int]) -> None:
        for place in places:
            address = f"{self.home}sets/{self.item_set.number}/items/{place}/report/"
            self.post(address, read_fields(self.get(address).text))


def count_held_places(study: Study) -> int:
    return Slot.objects.leased().filter(study=study, lease_until__gt=now()).count()


def gets_a_set(study: Study, origin: str = HONEST) -> bool:
    """Whether somebody from this network would get a set at this moment; nothing is kept of it."""
    with transaction.atomic():
        visitor = Visitor(study, origin)
        response = visitor.take_place()
        is_dealt = bool(visitor.item_set) and response.status_code == 302
        transaction.set_rollback(True)
    return is_dealt


def squat(study: Study, origins: list[str], *, answers: int, people: int = 28) -> None:
    """So many people join by turns from these networks, answer a little and stay away.

    At every step somebody from another network would get a set.
    """
    for number in range(people * len(origins)):
        visitor = Visitor(study, origins[number % len(origins)])
        visitor.take_place()
        if visitor.item_set:
            visitor.read_instructions()
            visitor.answer(range(1, answers + 1))
        if number % 7 == 0:
            assert gets_a_set(study), number
