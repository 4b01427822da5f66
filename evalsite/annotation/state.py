"""What was shown, and when: it travels signed in the form, so a page needs no session."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.core import signing
from django.utils.crypto import salted_hmac

from evalsite.lib.clock import now

_SALT = "evalsite.annotation.shown"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One showing of one item to one participant, as numbers.

    Signed, it can be read by anybody, so what could tell systems apart is masked there: ids follow
    the order of the file, in which systems often take turns.
    """

    participant_id: int
    item_id: int
    slot_id: int | None
    set_id: UUID | None
    set_number: int
    place: int
    total: int
    version_id: int | None
    is_aided: bool
    shown_at: datetime
    # the slot's own: a slot may be taken away while its item is on somebody's page
    arrangement: int = 0

    def sign(self) -> str:
        at = int(self.shown_at.timestamp() * 1000)
        return signing.dumps(
            [
                self.participant_id,
                *_mask(self.participant_id, at, self.item_id, self.slot_id or 0, self.arrangement),
                self.set_id.hex if self.set_id else None,
                self.set_number,
                self.place,
                self.total,
                self.version_id,
                int(self.is_aided),
                at,
            ],
            salt=_SALT,
        )


def read_shown(text: Any) -> Shown | None:
    """The showing that this text signs; None when it was not signed here or was tampered with."""
    try:
        parts = signing.loads(str(text or ""), salt=_SALT)
    except signing.BadSignature:
        return None
    participant, *masked, set_hex, number, place, total, version, aided, at = parts
    # a page of an earlier release tells no arrangement
    item, slot, arrangement = [*_mask(participant, at, *masked), 0][:3]
    return Shown(
        participant_id=participant,
        item_id=item,
        slot_id=slot or None,
        set_id=UUID(hex=set_hex) if set_hex else None,
        set_number=number,
        place=place,
        total=total,
        version_id=version,
        is_aided=bool(aided),
        # never later than now, whatever clock signed it
        shown_at=min(datetime.fromtimestamp(at / 1000, UTC), now()),
        arrangement=arrangement,
    )


def _mask(participant_id: int, at: int, *ids: int) -> list[int]:
    """These ids under a mask of this showing alone, or without it again: the mask is its own key.

    The signature keeps them from being changed; this only keeps them from being read.
    """
    pad = salted_hmac(_SALT, f"{participant_id}/{at}", algorithm="sha256").digest()
    # 6 bytes each: JSON holds whole numbers up to 2**53 without loss
    return [
        number ^ int.from_bytes(pad[6 * place : 6 * place + 6]) for place, number in enumerate(ids)
    ]
