"""E-mail addresses and long numbers are replaced in words that people wrote."""

import pytest

from evalsite.lib.masking import mask_words

MASKED = [
    ("Mail jane.mori+x@lab.example.org, please.", "Mail [e-mail], please."),
    ("<o'neil@uni-köln.de>", "<[e-mail]>"),
    ("Call 0151 2345678 or +44 (0)20 7946 0958.", "Call [number] or [number]."),
    ("born 24.12.1987", "born [number]"),
    ("my id is 5a9d64f5f6dfdd0001eaa73d", "my id is [number]"),
    ("my id is A1B2C3D4E5F6G7 on MTurk", "my id is [number] on MTurk"),
    ("١٢٣٤٥٦٧", "[number]"),
]
KEPT = ["", "v2 beats v1 by 2", "In 1999 and 2026", "3.14 of 5", "@home", "a@b", "1,234,567 rows",
        "ABSOLUTELY NOTHING", "ABCDEFGHIJKLMN", "AI2 and A100", "GPT4TURBO2024V1"]  # fmt: skip


@pytest.mark.parametrize(("text", "masked"), MASKED)
def test_addresses_and_long_numbers_are_replaced(text: str, masked: str) -> None:
    assert mask_words(text) == masked
    # so that a masked bundle which is loaded gives the same files again
    assert mask_words(masked) == masked


@pytest.mark.parametrize("text", KEPT)
def test_other_words_stay_as_they_are(text: str) -> None:
    assert mask_words(text) == text
