"""The order in which the items of a set are met."""

from evalsite.lib.seeds import make_random
from evalsite.participants.models import Participant
from evalsite.studies.models import Item, Study


def order_items(items: list[Item], me: Participant, study: Study, number: int) -> list[int]:
    """The order of a set: as uploaded, or shuffled for this participant, groups in one piece.

    What is in one group is shuffled in any case: its items are compared with one another. What
    hangs together otherwise, such as the turns of a conversation, keeps its own order.
    """
    draw = make_random(study.seed, "set", me.pseudonym, number)
    groups: dict[str, list[int]] = {}
    for item in sorted(items, key=lambda item: item.key):
        together = item.group if study.groups == Study.Groups.TOGETHER else item.key
        groups.setdefault(together, []).append(item.pk)
    if study.item_order == Study.ItemOrder.UPLOADED:
        order = sorted(groups.values(), key=min)
    else:
        order = list(groups.values())
        draw.shuffle(order)
    for group in order:
        draw.shuffle(group)
    arranged = [item_id for group in order for item_id in group]
    if study.groups == Study.Groups.TOGETHER:
        return arranged
    return _keep_turns(arranged, {item.pk: item.cluster for item in items if item.cluster})


def _keep_turns(item_ids: list[int], clusters: dict[int, str]) -> list[int]:
    """The items of each cluster are in the order of the file, in the places that they had."""
    waiting: dict[str, list[int]] = {}
    for item_id in sorted(clusters, reverse=True):
        waiting.setdefault(clusters[item_id], []).append(item_id)
    return [
        waiting[clusters[item_id]].pop() if item_id in clusters else item_id for item_id in item_ids
    ]
