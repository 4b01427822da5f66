"""The order in which an item shows its outputs to one person."""

from evalsite.annotation.models import Slot
from evalsite.lib.seeds import arrange, derive_number
from evalsite.participants.models import Participant
from evalsite.studies.models import Item


def order_of(study_seed: str, item: Item, outputs: int, arrangement: int) -> list[int]:
    """Return the outputs' positions in the order that this arrangement of the item shows."""
    return arrange(outputs, arrangement, study_seed, item.key)


def order_for(me: Participant, item: Item, outputs: int, slot: Slot | None) -> list[int]:
    """Return the order of the slot, or, without a slot, one drawn for this person.

    Practice items and repeats show their outputs in the order in which they are stored, and so
    do all items where the instrument says so.
    """
    is_stored = item.kind in (Item.Kind.PRACTICE, Item.Kind.REPEAT)
    if is_stored or me.study.config.layout.is_given:
        return list(range(outputs))
    seed = me.study.seed
    drawn = derive_number(seed, "order", me.pseudonym, item.key)
    return order_of(seed, item, outputs, slot.arrangement if slot else drawn)
