"""The order in which the items of a set are met."""

from collections.abc import Mapping, Sequence
from random import Random

from evalsite.lib.seeds import make_random
from evalsite.participants.models import Participant
from evalsite.studies.models import Item, Study

# items that follow one another
Run = list[Item]


def order_items(
    items: Sequence[Item],
    me: Participant,
    study: Study,
    number: int,
    arrangements: Mapping[int, int] | None = None,
) -> list[int]:
    """The order of a set: random for this participant, as uploaded, or in blocks.

    Items of a group that stays together are in the order of their slots' arrangements, which gives
    each of them every place equally often; without slots, as in a pilot, they are shuffled. What
    hangs together otherwise, such as the turns of a conversation, keeps its own order.
    """
    draw = make_random(study.seed, "set", me.pseudonym, number)
    runs = _make_runs(items, study, draw, arrangements)
    if study.item_order == Study.ItemOrder.UPLOADED:
        runs.sort(key=_first_id)
    elif study.item_order == Study.ItemOrder.BLOCKED:
        runs = _in_blocks(runs, draw)
    else:
        draw.shuffle(runs)
        runs = _keep_turns(runs)
    return [item.pk for run in runs for item in run]


def _make_runs(
    items: Sequence[Item], study: Study, draw: Random, arrangements: Mapping[int, int] | None
) -> list[Run]:
    """The items in an order that depends on nothing but their keys, whole groups as one."""
    is_together = study.groups == Study.Groups.TOGETHER
    runs: dict[str, Run] = {}
    for item in sorted(items, key=lambda item: item.key):
        runs.setdefault(item.group if is_together else item.key, []).append(item)
    for run in runs.values():
        draw.shuffle(run)
        if arrangements:
            run.sort(key=lambda item: arrangements[item.pk])
    return list(runs.values())


def _in_blocks(runs: list[Run], draw: Random) -> list[Run]:
    """What is of one cluster follows one another as uploaded, else what is of one group, mixed."""
    draw.shuffle(runs)
    blocks: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        item = run[0]
        name = ("cluster", item.cluster) if item.cluster else ("group", item.group)
        blocks.setdefault(name, []).append(run)
    for (kind, _), block in blocks.items():
        if kind == "cluster":
            block.sort(key=_first_id)
    order = list(blocks.values())
    draw.shuffle(order)
    return [run for block in order for run in block]


def _keep_turns(runs: list[Run]) -> list[Run]:
    """What is of one cluster is in the order of the file, in the places that it had."""
    waiting: dict[str, list[Run]] = {}
    for run in sorted(runs, key=_first_id, reverse=True):
        waiting.setdefault(run[0].cluster, []).append(run)
    return [waiting[run[0].cluster].pop() if run[0].cluster else run for run in runs]


def _first_id(run: Run) -> int:
    return min(item.pk for item in run)
