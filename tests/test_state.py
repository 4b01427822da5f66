"""What a page says of itself in its signed state: read back as it was, and blind."""

import base64
import json
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from evalsite.annotation.state import Shown, read_shown

SHOWN = Shown(
    participant_id=7,
    item_id=1_000_003,
    slot_id=2_000_005,
    set_id=UUID(int=9),
    set_number=2,
    place=3,
    total=12,
    version_id=4,
    is_aided=True,
    shown_at=datetime(2026, 11, 21, 12, 0, 0, 123_000, tzinfo=UTC),
)


def read_payload(text: str) -> list:
    """What anybody can read of a signed text without the key."""
    payload = text.split(":")[0]
    raw = base64.urlsafe_b64decode(payload.lstrip(".") + "=" * (-len(payload.lstrip(".")) % 4))
    return json.loads(zlib.decompress(raw) if payload.startswith(".") else raw)


@pytest.mark.parametrize(
    "shown",
    [
        SHOWN,
        replace(SHOWN, slot_id=None, set_id=None, version_id=None),
        replace(SHOWN, item_id=2**47, slot_id=1),
    ],
)
def test_what_was_signed_reads_back_as_it_was(shown):
    assert read_shown(shown.sign()) == shown


def test_ids_of_item_and_slot_cannot_be_read_from_the_signed_text():
    payload = read_payload(SHOWN.sign())

    assert SHOWN.place in payload
    assert not {SHOWN.item_id, SHOWN.slot_id} & {one for one in payload if isinstance(one, int)}


def test_neighbours_in_the_file_are_no_neighbours_in_the_signed_text():
    later = SHOWN.shown_at.replace(second=1)
    neighbour = replace(SHOWN, item_id=SHOWN.item_id + 1, shown_at=later)

    _, item, *_ = read_payload(SHOWN.sign())
    _, other, *_ = read_payload(neighbour.sign())

    assert abs(item - other) > 1


@pytest.mark.parametrize("text", [None, "", "nonsense", SHOWN.sign()[:-1], "x" + SHOWN.sign()])
def test_what_was_not_signed_here_is_nothing(text):
    assert read_shown(text) is None
