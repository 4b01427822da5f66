"""What was shown, and when: it travels in the form, encrypted and signed; no page needs a session.

The ids follow the order of the file, in which systems often take turns: a participant who could
read or compare them could distinguish systems.
"""

import hmac
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.utils.crypto import salted_hmac

from evalsite.lib.clock import now

_SALT = "evalsite.annotation.shown"
_NONCE_BYTES = 16
_HASH = "sha256"
# participant, item, slot, arrangement, version, set, set number, place, total, is aided, time
_LAYOUT = struct.Struct(">QQQHQ16sIIIBQ")
_NO_SET = bytes(16)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One showing of one item to one participant, as numbers."""

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
    # the slot's own: a slot may be taken away while its item is on a person's page
    arrangement: int = 0

    def sign(self) -> str:
        """Return a text that only this site can make or read, different each time."""
        plain = _LAYOUT.pack(
            self.participant_id,
            self.item_id,
            self.slot_id or 0,
            self.arrangement,
            self.version_id or 0,
            self.set_id.bytes if self.set_id else _NO_SET,
            self.set_number,
            self.place,
            self.total,
            self.is_aided,
            int(self.shown_at.timestamp() * 1000),
        )
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + _encrypt(plain, nonce, settings.SECRET_KEY)
        return _signer(settings.SECRET_KEY).sign(urlsafe_b64encode(sealed).decode("ascii"))


def read_shown(text: Any) -> Shown | None:
    """Return the showing that this text signs, or None if this site didn't sign it."""
    signed = str(text or "")
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            return _read_sealed(_signer(key).unsign(signed), key)
        except signing.BadSignature:
            pass
    return None


def _read_sealed(body: str, key: str) -> Shown:
    sealed = urlsafe_b64decode(body)
    nonce, encrypted = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    participant, item, slot, arrangement, version, set_bytes, number, place, total, aided, at = (
        _LAYOUT.unpack(_encrypt(encrypted, nonce, key))
    )
    return Shown(
        participant_id=participant,
        item_id=item,
        slot_id=slot or None,
        set_id=UUID(bytes=set_bytes) if set_bytes != _NO_SET else None,
        set_number=number,
        place=place,
        total=total,
        version_id=version or None,
        is_aided=bool(aided),
        shown_at=_to_time(at),
        arrangement=arrangement,
    )


def _encrypt(text: bytes, nonce: bytes, key: str) -> bytes:
    """Return the text under the keystream of this nonce; the same call decrypts it."""
    secret = _stream_key(key)
    blocks = -(-len(text) // 32)
    stream = b"".join(hmac.digest(secret, nonce + bytes([block]), _HASH) for block in range(blocks))
    mixed = int.from_bytes(text, "big") ^ int.from_bytes(stream[: len(text)], "big")
    return mixed.to_bytes(len(text), "big")


@lru_cache(maxsize=8)
def _stream_key(key: str) -> bytes:
    return salted_hmac(f"{_SALT}.stream", "", secret=key, algorithm=_HASH).digest()


@lru_cache(maxsize=8)
def _signer(key: str) -> signing.Signer:
    return signing.Signer(key=key, salt=f"{_SALT}.sealed", algorithm=_HASH, fallback_keys=[])


def _to_time(milliseconds: int) -> datetime:
    # never later than now, whatever clock signed it
    return min(datetime.fromtimestamp(milliseconds / 1000, UTC), now())
