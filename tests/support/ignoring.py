"""Reviews with three responses each, and somebody who reads them, in tests."""

from django.test import Client

from evalsite.people.models import Participant
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.support.annotators import read_fields
from tests.support.factories import SYSTEMS, launch, make_annotator, make_study, mint_link

GROUP, ITEM = "review", "response"
SCORES = {"relevance": "4", "fluency": "6", "sentiment": "2", "domain": "7", "decision": "1"}


def add_reviews(study: Study, *, reviews: int, responses: int = 3) -> Study:
    """This many reviews in the study, each with its responses as items of their own."""
    batch = Batch.objects.create(study=study, file_name="batch.csv", sha256="0" * 64, rows=1)
    for review in range(1, reviews + 1):
        for number in range(1, responses + 1):
            item = Item.objects.create(
                study=study,
                batch=batch,
                inputs={"review": f"Review {review} says little."},
                **item_keys(study, key=f"r{review}-{number}", group=f"review-{review}"),
            )
            name = SYSTEMS[(number - 1) % len(SYSTEMS)]
            system, _ = System.objects.get_or_create(study=study, name=name)
            text = f"Reply {number} to review {review}."
            Output.objects.create(study=study, item=item, system=system, position=0, text=text)
    return study


def make_reviews(*, reviews: int = 2, responses: int = 3, **fields) -> Study:
    """A live study of reviews, whose responses follow one another."""
    study = make_study(protocol="rrgen", items=0, **{"set_size": 6, "k": 1, **fields})
    return launch(add_reviews(study, reviews=reviews, responses=responses))


class Reader:
    """A browser tab without scripts, on the pages of a set."""

    def __init__(self, me: Participant, home: str = "") -> None:
        self.me = me
        self.home = home or mint_link(me)
        self.client = Client()
        self.page = None

    def start(self) -> "Reader":
        return self.show(self.client.post(f"{self.home}start/", follow=True))

    def show(self, page) -> "Reader":
        self.page = page
        return self

    def duplicate(self) -> "Reader":
        return Reader(self.me, self.home).show(self.page)

    def address_of(self, place: int) -> str:
        return f"{self.home}sets/1/items/{place}/"

    def item_at(self, place: int) -> Item:
        return Item.objects.get(pk=self.me.item_sets.get(number=1).item_ids[place - 1])

    def open(self, place: int) -> "Reader":
        # also where a warning covers it
        return self.show(self.client.get(f"{self.address_of(place)}?shown"))

    def rate(self, place: int, **changes: str):
        """What the server answers to these scores of this place."""
        self.open(place)
        return self.send(place, **{**SCORES, **changes})

    def send(self, place: int, **fields: str):
        """What the server answers to the rating page in view, with these fields changed."""
        data = {**read_fields(self.page.text), "go": "next", **fields}
        return self.client.post(self.address_of(place), data)

    def go_to_ignore(self, place: int = 0) -> "Reader":
        """The page to ignore the item in view, as its link leads there; or that of a place."""
        address = f"{self.address_of(place)}ignore/" if place else self.page.context["ignore_url"]
        return self.show(self.client.get(address))

    def ignore(self, place: int, reason: str, **more: str):
        """What the server answers when the item at this place is ignored."""
        self.open(place).go_to_ignore()
        return self.send_ignoring(place, reason, **more)

    def send_ignoring(self, place: int, reason: str, **more: str):
        state = self.page.context["state"]
        data = {"state": state, "ignore": reason, **more}
        return self.client.post(f"{self.address_of(place)}ignore/", data)

    def undo(self, place: int):
        return self.client.post(f"{self.address_of(place)}ignore/undo/")

    def finish(self):
        return self.client.post(f"{self.home}sets/1/review/", follow=True)


def open_reader(study: Study | None = None, **fields) -> Reader:
    """The first rating page of somebody who has just pressed Start."""
    return Reader(make_annotator(study or make_reviews(**fields))).start()
