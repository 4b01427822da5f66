"""Gold and attention items in tests, and what somebody is dealt of them."""

from html.parser import HTMLParser

from evalsite.handout.claims import claim_set
from evalsite.participation.sets import finish_set
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.support.factories import answer_item, launch, make_study
from tests.support.ignoring import add_reviews

GOLD = {"informativeness": "1<2", "why": "The second says more."}


def add_checks(study: Study, count: int, *, kind: str = "gold", outputs: int = 3) -> Batch:
    """A batch of so many gold or attention items, named gold-01 or attention-01 and on."""
    batch = Batch.objects.create(
        study=study, file_name=f"{kind}.csv", sha256=kind.ljust(64, "0"), rows=count
    )
    for number in range(1, count + 1):
        item = Item.objects.create(
            study=study,
            batch=batch,
            kind=kind,
            gold=GOLD,
            inputs={"mr": f"name[Check {number}], area[riverside]"},
            **item_keys(study, key=f"{kind}-{number:02}", group=f"{kind}-{number:02}"),
        )
        for position in range(outputs):
            system, _ = System.objects.get_or_create(study=study, name=f"check {position}")
            text = f"Check {number} as told by voice {position + 1}."
            Output.objects.create(
                study=study, item=item, system=system, position=position, text=text
            )
    return batch


def make_checked(*, items: int = 20, checks: int = 8, **fields) -> Study:
    """A live study that gives each person two gold items in a set of ten."""
    study = make_study(items=items, **{"k": 2, "set_size": 10, "checks_per_person": 2, **fields})
    add_checks(study, checks)
    return launch(study)


def make_repeated(*, items: int = 60, **fields) -> Study:
    """A live study that repeats a tenth of what a person is dealt."""
    given = {"k": 1, "set_size": 30, "repeat_percent": 10, **fields}
    return launch(make_study(items=items, **given))


def make_checked_reviews(*, reviews: int = 8, responses: int = 3, **fields) -> Study:
    """A live study of reviews whose responses follow one another, with checks and repeats."""
    given = {"set_size": 24, "k": 1, "checks_per_person": 4, "repeat_percent": 10, **fields}
    study = add_reviews(
        make_study(protocol="rrgen", items=0, **given), reviews=reviews, responses=responses
    )
    add_checks(study, 4, outputs=1)
    Item.objects.filter(kind="gold").update(
        gold={"fluency": "5"}, inputs={"review": "This is a check."}
    )
    return launch(study)


def kinds_of(item_ids: list[int]) -> list[str]:
    """The kind of each of these items."""
    kinds = dict(Item.objects.filter(pk__in=item_ids).values_list("pk", "kind"))
    return [kinds[item_id] for item_id in item_ids]


def do_sets(me: Participant, most: int = 100) -> list[ItemSet]:
    """This person has answered and finished set after set, all that they are dealt."""
    for _ in range(most):
        item_set = claim_set(me)
        if item_set is None:
            break
        for place, item_id in enumerate(item_set.item_ids, start=1):
            answer_item(me, Item.objects.get(pk=item_id), item_set=item_set, place=place)
        assert finish_set(participant=me, item_set=item_set)
    return list(me.item_sets.all())


def shape_of(html: str) -> list[tuple[str, ...]]:
    """A page as its tags with the names of their attributes, ids and classes: not its words."""
    shape = Shape()
    shape.feed(html)
    return shape.tags


class Shape(HTMLParser):
    """Collects the tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kept = [value or "" for name, value in attrs if name in ("id", "name", "class", "type")]
        self.tags.append((tag, *(name for name, _ in attrs), *kept))
