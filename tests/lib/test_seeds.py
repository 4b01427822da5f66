"""Numbers of a seed: the same whichever way they are asked for."""

from hashlib import sha256

import pytest

from evalsite.lib.seeds import SHUFFLE_PRIME, derive_number, derive_numbers

LASTS = ["item-1", "", "Büro", "a\x1fb", "7", "x" * 5000]


@pytest.mark.parametrize("last", LASTS)
def test_number_is_that_of_the_parts_and_their_hash(last: str) -> None:
    # the definition: parts with a unit separator between, SHA-256, its first 128 bits
    text = f"42\x1fitem\x1f{last}"
    first_bits = int(sha256(text.encode()).hexdigest()[:32], 16)

    assert derive_number(42, "item", last) == first_bits % SHUFFLE_PRIME


@pytest.mark.parametrize("last", LASTS)
def test_numbers_with_the_same_beginning_are_those_of_all_parts(last: str) -> None:
    of_item = derive_numbers(42, "item")

    assert [of_item(last), of_item("other"), of_item(last)] == [
        derive_number(42, "item", last),
        derive_number(42, "item", "other"),
        derive_number(42, "item", last),
    ]
