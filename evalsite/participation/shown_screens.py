"""What one person has on the screen: from rows, or from what a form says that was shown, and when.

That travels in the form, encrypted and signed; no page needs a session. The ids follow the order of
the file, in which systems often take turns: a participant who could read or compare them could
distinguish systems.
"""

import hmac
import logging
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.db.models import Exists, FilteredRelation, OuterRef, Q
from django.http import Http404, QueryDict
from django.utils.crypto import salted_hmac

from evalsite.handout.leases import reserved_set_of
from evalsite.handout.models import Annotation, Draft, Slot
from evalsite.handout.network_places import count_answers_in_open_set
from evalsite.lib.clock import now
from evalsite.lib.prepared import Prepared
from evalsite.participation.forms import RatingForm
from evalsite.participation.screens import Screen, answered_screen, entered_values, load_screen
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item

logger = logging.getLogger(__name__)

# --- what was shown, in a form ------------------------------------------------------------

_SALT = "evalsite.handout.shown"
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


# --- its rows -----------------------------------------------------------------------------

_draft_of = Prepared(
    lambda participant, item: Draft.objects.filter(participant=participant, item=item)
)
# with what was entered for its item
_held_by = Prepared(
    lambda participant, item: (
        Slot.objects.filter(participant=participant, item=item)
        .annotate(
            draft=FilteredRelation(
                "participant__drafts", condition=Q(participant__drafts__item=item)
            )
        )
        .select_related("item", "draft")  # type: ignore[misc] # the stubs know no relation
    )
)
# with how many answers the open set of its holder has, and whether it is only reserved: a save
# renews the lease by these
_slot_shown = Prepared(
    lambda slot, item: (
        Slot.objects.select_related("item")
        .filter(pk=slot, item=item)
        .annotate(
            answers=count_answers_in_open_set(OuterRef("participant")),
            is_reserved=Exists(reserved_set_of(OuterRef("participant"))),
        )
    )
)


def as_shown(
    participant: Participant, screen: Screen, item_set: ItemSet | None = None, place: int = 0
) -> Shown:
    """Return this screen as it is shown to this person now."""
    return Shown(
        participant_id=participant.pk,
        item_id=screen.item.pk,
        slot_id=screen.slot.pk if screen.slot else None,
        set_id=item_set.pk if item_set else None,
        set_number=item_set.number if item_set else 0,
        place=place,
        total=len(item_set.item_ids) if item_set else 0,
        version_id=participant.study.version_id,
        is_aided=screen.content["settings"]["is_aided"],
        shown_at=now(),
        arrangement=screen.slot.arrangement if screen.slot else 0,
    )


def load_place(participant: Participant, item_set: ItemSet, place: int) -> tuple[Shown, Screen]:
    screen = screen_of(participant, item_set.item_ids[place - 1])
    return as_shown(participant, screen, item_set, place), screen


def load_shown(text: str | None, participant: Participant) -> tuple[Shown, Screen]:
    """Return what this signed text says was shown; Http404 unless it was shown to this person."""
    shown = read_shown(text)
    if shown is None or shown.participant_id != participant.pk:
        logger.warning("refused a post whose signed state isn't valid or is someone else's")
        raise Http404("Nothing to save here.")
    if shown.slot_id is None:
        return shown, _load_without_slot(participant, shown)
    slot = _slot_shown.one(shown.slot_id, shown.item_id)
    if slot is None:
        return shown, _load_after_its_slot(participant, shown)
    return shown, load_screen(participant, slot.item, slot)


@dataclass(eq=False)
class Sent:
    """What a page sends for an item: how it was shown, and what was entered."""

    shown: Shown
    screen: Screen
    data: QueryDict

    @cached_property
    def form(self) -> RatingForm:
        return self.screen.make_form(self.data)


def read_sent(data: QueryDict, participant: Participant) -> Sent:
    """Return what was sent; Http404 unless its item was shown to this person."""
    return Sent(*load_shown(data.get("state"), participant), data)


def _load_after_its_slot(participant: Participant, shown: Shown) -> Screen:
    """Return the screen as it was shown, though the study asks for fewer answers since."""
    item = only(Item.objects.filter(pk=shown.item_id, study=participant.study))
    if item is None:
        raise Http404("This item is gone.")
    screen = load_screen(participant, item, Slot(arrangement=shown.arrangement))
    screen.slot = None
    return screen


def _load_without_slot(participant: Participant, shown: Shown) -> Screen:
    """Return the screen of an earlier answer, in the order of that answer, or of a pilot.

    An answer that has been taken back since leaves its place, and so its order, to this person.
    """
    answers = Annotation.objects.select_related("item")
    annotation = only(answers.filter(participant=participant, item_id=shown.item_id))
    if annotation is not None:
        return answered_screen(annotation, participant.study)
    try:
        return screen_of(participant, shown.item_id)
    except Item.DoesNotExist:
        raise Http404("This item is gone.") from None


def fill_screen(
    participant: Participant, item_id: int, *, is_answered: bool
) -> tuple[Screen, dict[str, str]]:
    """Return the screen of an item with its entries: the newest of answer and draft."""
    slot = _held_by.one(participant.pk, item_id)
    draft = getattr(slot, "draft", None) if slot else _draft_of.one(participant.pk, item_id)
    if draft and not participant.may_reopen(draft.visit_id):
        draft = None
    if is_answered:
        annotation = (
            Annotation.objects.select_related("item")
            .prefetch_related("ratings")
            .get(participant=participant, item_id=item_id)
        )
        screen = answered_screen(annotation, participant.study)
    else:
        screen = _load_held(participant, item_id, slot)
    return screen, newest_values(screen, draft)


def newest_values(screen: Screen, draft: Draft | None) -> dict[str, str]:
    """Return the entries of an item: those of its answer, or of its draft, if it is newer."""
    # after a lapse an item may come back with its outputs in other places
    drafted = dict(draft.values) if draft and draft.fits(screen.order) else None
    if screen.answer is None:
        return drafted or {}
    # what was entered before an item was left to others is there if the person rates it after all
    is_newer = draft and draft.updated_at > screen.answer.submitted_at
    is_left = screen.answer.outcome in (Annotation.Outcome.REPORTED, Annotation.Outcome.SKIPPED)
    if drafted is not None and (is_newer or is_left):
        return drafted
    return entered_values(screen, screen.answer)


def screen_of(participant: Participant, item_id: int) -> Screen:
    return _load_held(participant, item_id, _held_by.one(participant.pk, item_id))


def _load_held(participant: Participant, item_id: int, slot: Slot | None) -> Screen:
    item = slot.item if slot else Item.objects.get(pk=item_id)
    return load_screen(participant, item, slot)


def circumstances(shown: Shown, screen: Screen) -> dict[str, Any]:
    """Return what was shown, where and since when: the same for a rating and a report."""
    return {
        "item": screen.item,
        "slot_id": shown.slot_id,
        "item_set_id": shown.set_id,
        "place": shown.place,
        "version_id": shown.version_id,
        "order_shown": tuple(screen.order),
        "is_aided": shown.is_aided,
        "started_at": shown.shown_at,
        "shown_at": shown.shown_at,
    }


Row = TypeVar("Row")


def only(rows: Iterable[Row]) -> Row | None:
    """Return the row of a query that can find one at most, or None.

    For pages that every participant opens again and again: `first()` sorts what it asks for, and
    preparing that takes Django half as long again as the query without it.
    """
    return next(iter(rows), None)
