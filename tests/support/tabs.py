"""A participant's browser in tests: tabs without scripts, and what they may be shown."""

from datetime import timedelta

from django.test import Client

from evalsite.handout.models import Annotation, Draft, Rating, Revision, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study
from tests.support.annotators import read_fields
from tests.support.factories import launch, make_annotator, make_study, mint_link

BOXES = ("informativeness-1", "informativeness-2", "informativeness-3")
SCORES = ("70", "80", "90")


class Tab:
    """A browser tab without scripts: it sends the fields of the page that it shows."""

    def __init__(self, me: Participant, home: str = "") -> None:
        self.me = me
        self.home = home or mint_link(me)
        self.client = Client()
        self.page = None

    def start(self) -> "Tab":
        return self.show(self.client.post(f"{self.home}start/", follow=True))

    def open(self, place: int = 1, *, number: int = 1) -> "Tab":
        return self.show(self.client.get(self.address_of(place, number)))

    def address_of(self, place: int, number: int = 1) -> str:
        return f"{self.home}sets/{number}/items/{place}/"

    def show(self, page) -> "Tab":
        self.page = page
        return self

    def duplicate(self) -> "Tab":
        """The same page once more, as the browser's [Duplicate] makes it."""
        return Tab(self.me, self.home).show(self.page)

    @property
    def fields(self) -> dict[str, str]:
        return read_fields(self.page.content.decode())

    @property
    def entered(self) -> tuple[str, ...]:
        return tuple(self.fields[box] for box in BOXES)

    @property
    def item(self) -> Item:
        place = self.page.context["place"]
        return Item.objects.get(pk=self.me.item_sets.last().item_ids[place - 1])

    def post(self, changes: dict | None = None, *, to: str = ""):
        """What the server answers to the page's own form, with these fields changed."""
        data = {**self.fields, "go": "next", **(changes or {})}
        return self.client.post(to or self.address_of(1), data)

    def save(self, scores: tuple[str, ...] = SCORES, **changes: str):
        return self.post(dict(zip(BOXES, scores, strict=True)) | changes)

    def finish(self) -> None:
        """Every place is answered, and the set is finished."""
        for place in range(1, len(self.me.item_sets.last().item_ids) + 1):
            self.open(place).save()
        self.client.post(f"{self.home}sets/1/review/")


def make_live(*, items: int = 3, **fields) -> Study:
    return launch(make_study(items=items, **{"set_size": 3, **fields}))


def open_tab(study: Study | None = None, **fields) -> Tab:
    """The first rating page of somebody who has just pressed Start."""
    return Tab(make_annotator(study or make_live(**fields))).start()


def what_became(response) -> str:
    """The outcome that a save tells in the address that it leads to."""
    assert response.status_code == 302, response.status_code
    return response.headers["Location"].partition("#")[0].partition("?was=")[2].partition("&")[0]


def snapshot() -> list[list[dict]]:
    models = (Annotation, Rating, Revision, Slot, Draft)
    return [list(model.objects.order_by("pk").values()) for model in models]


def refused(tab: Tab, response) -> Tab:
    """The tab with the page of a refusal, after which nothing is stored."""
    assert response.status_code == 422
    assert not Annotation.objects.exists()
    assert not Slot.objects.done().exists()
    return tab.show(response)


def after_the_lease(study: Study):
    return standing_at(now() + timedelta(minutes=study.lease_minutes + 1))
