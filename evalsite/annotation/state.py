"""What was shown, and when: it travels signed in the form, so a page needs no session."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.core import signing

from evalsite.lib.clock import now

_SALT = "evalsite.annotation.shown"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One showing of one item to one participant. Holds numbers only, nothing to read from."""

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

    def sign(self) -> str:
        return signing.dumps(
            [
                self.participant_id,
                self.item_id,
                self.slot_id,
                self.set_id.hex if self.set_id else None,
                self.set_number,
                self.place,
                self.total,
                self.version_id,
                int(self.is_aided),
                int(self.shown_at.timestamp() * 1000),
            ],
            salt=_SALT,
        )


def read_shown(text: Any) -> Shown | None:
    """The showing that this text signs; None when it was not signed here or was tampered with."""
    try:
        parts = signing.loads(str(text or ""), salt=_SALT)
    except signing.BadSignature:
        return None
    participant, item, slot, set_hex, number, place, total, version, aided, at = parts
    return Shown(
        participant_id=participant,
        item_id=item,
        slot_id=slot,
        set_id=UUID(hex=set_hex) if set_hex else None,
        set_number=number,
        place=place,
        total=total,
        version_id=version,
        is_aided=bool(aided),
        # never later than now, whatever clock signed it
        shown_at=min(datetime.fromtimestamp(at / 1000, UTC), now()),
    )
