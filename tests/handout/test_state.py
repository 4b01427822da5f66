"""What a page says of itself in its signed state: read back as it was, and blind."""

import base64
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from uuid import UUID

import pytest
from django.core import signing

from evalsite.participation.shown_screens import Shown, read_shown

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


def read_payload(text: str) -> bytes:
    """Return what anyone can read of a signed text without the key."""
    payload = text.split(":")[0]
    return base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))


def test_the_same_showing_never_gives_related_texts():
    payloads = [read_payload(SHOWN.sign()) for _ in range(50)]

    for first, second in combinations(payloads, 2):
        # 105 random bytes agree in about 0.4 places
        assert sum(a == b for a, b in zip(first, second, strict=True)) < 12


def test_two_showings_at_one_moment_do_not_give_away_how_their_items_differ():
    neighbour = replace(SHOWN, item_id=SHOWN.item_id + 1)
    apart = {
        int.from_bytes(read_payload(SHOWN.sign())) ^ int.from_bytes(read_payload(neighbour.sign()))
        for _ in range(50)
    }

    assert len(apart) == 50


def test_no_number_of_a_showing_can_be_read_from_the_signed_text():
    text = SHOWN.sign()
    payload = read_payload(text)

    for number in (SHOWN.item_id, SHOWN.slot_id):
        assert number.to_bytes(4) not in payload
        assert str(number).encode() not in payload
    assert SHOWN.set_id.bytes not in payload


@pytest.mark.parametrize(
    "text",
    [
        None, "", "nonsense", SHOWN.sign()[:-1], "x" + SHOWN.sign(),
        # signed with this key, for something else
        signing.dumps([7, 1_000_003], salt="evalsite.handout.shown"),
    ],
    # signed texts hold the time: as ids, they would differ from process to process
    ids=["no_text", "empty", "nonsense", "cut", "longer", "of_something_else"],
)  # fmt: skip
def test_what_was_not_signed_here_is_nothing(text):
    assert read_shown(text) is None


# --- pages that stay open over a change of keys --------------------------------------------


def test_a_page_signed_with_an_earlier_key_reads_while_that_key_is_listed(settings):
    text, earlier = SHOWN.sign(), settings.SECRET_KEY
    settings.SECRET_KEY = new_key = "a-new-key-" + "0123456789" * 5

    assert read_shown(text) is None

    settings.SECRET_KEY_FALLBACKS = ["another-key-" + new_key, earlier]
    assert read_shown(text).item_id == SHOWN.item_id
    assert read_shown(SHOWN.sign()) == SHOWN
