"""Which columns and ids are taken for clusters that nobody named."""

import uuid
from random import Random

import pytest

from evalsite.lib.cluster_guess import guess_clusters


def name(pattern: str, numbers: int = 60) -> list[str]:
    return [pattern.format(n=n, talk=n % 5, batch=n % 3 + 1) for n in range(numbers)]


@pytest.mark.parametrize(
    ("items", "is_likely"),
    [
        (name("talk{talk}_s{n:02}"), True),
        # three batches: it is asked, and no is suggested
        (name("b{batch}-{n}"), False),
    ],
)
def test_ids_that_share_their_beginnings_are_asked_about(items: list[str], is_likely: bool) -> None:
    guess = guess_clusters(items, {})

    assert guess is not None
    assert (guess.column, guess.is_likely) == ("", is_likely)
    assert guess.clusters[items[0]] == guess.clusters[items[15]]


@pytest.mark.parametrize(
    "items",
    [
        name("item_{n:03}"),
        name("q{n}"),
        name("en-de-{n}"),
        [f"{'cnn' if n % 2 else 'dm'}-{4711 + n}" for n in range(60)],
        [str(uuid.UUID(int=Random(n).getrandbits(128))) for n in range(60)],
        name("item-{n}_a"),
    ],
)
def test_ids_of_independent_items_are_not_asked_about(items: list[str]) -> None:
    assert guess_clusters(items, {}) is None


@pytest.mark.parametrize(
    ("column", "number", "is_asked"),
    [
        ("doc", 5, True),
        ("Source ID", 36, True),
        ("doc", 37, False),  # more than 60% as many as there are items
        ("doc", 2, False),
        ("colour", 5, False),
    ],
)
def test_a_column_is_asked_about_by_its_name_and_its_values(
    column: str, number: int, is_asked: bool
) -> None:
    items = name("q{n}")

    guess = guess_clusters(
        items, {column: [(item, f"d{n % number}") for n, item in enumerate(items)]}
    )

    assert (guess is not None) == is_asked
    if guess is not None:
        assert (guess.column, guess.number, guess.is_likely) == (column, number, True)


def test_a_column_with_two_values_of_one_item_is_no_cluster() -> None:
    items = name("q{n}", 20)
    cells = [(item, f"d{n % 5}") for n, item in enumerate([*items, *items[1:]])]

    assert guess_clusters(items, {"topic": cells}) is None
