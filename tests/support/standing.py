"""People whose reports count, without the work that it takes."""

from uuid import uuid4

from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.participation.saving import Saved
from evalsite.people.models import Participant
from evalsite.studies.items import item_keys
from evalsite.studies.models import Item
from tests.support.factories import answer_item


def give_standing(me: Participant, answers: int = 4) -> Participant:
    """Give this person answers to checks, which nobody is dealt, so that their reports count."""
    for number in range(answers):
        key = f"standing-{number}"
        item, _ = Item.objects.get_or_create(
            study=me.study,
            kind=Item.Kind.ATTENTION,
            defaults=item_keys(me.study, key=key, group=key),
            key=key,
        )
        Annotation.objects.create(
            study=me.study,
            item=item,
            participant=me,
            key=uuid4(),
            status=Annotation.Status.CONTROL,
            started_at=now(),
            submitted_at=now(),
        )
    return me


def report_item(me: Participant, item: Item, **fields: object) -> Saved:
    """This person has reported the item."""
    said = {"outcome": "reported", "reason": "missing", "rows": (), **fields}
    return answer_item(me, item, **said)
