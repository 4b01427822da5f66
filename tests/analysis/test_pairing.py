"""Which systems a bare file of preferences compares, and which it prefers."""

import pandas as pd
import pytest

from evalsite.analysis.ratings import make_table


def table(*rows, columns=("participant", "item", "system_1", "system_2", "preferred")):
    return make_table(pd.DataFrame(rows, columns=list(columns))).rows


def test_columns_of_the_file_name_the_pair():
    rows = table(
        ("p1", "i1", "C", "A", "C"),
        ("p2", "i1", "A", "C", "tie"),
        ("p1", "i2", "B", "D", "B"),
        ("p2", "i2", "B", "D", "D"),
    )

    assert (
        list(zip(rows.system_1, rows.system_2, strict=True)) == [("A", "C")] * 2 + [("B", "D")] * 2
    )
    # -1: the first by name is preferred
    assert rows.outcome.tolist() == [1, 0, -1, 1]


@pytest.mark.parametrize(("first", "second"), [("first", "second"), ("1", "2")])
def test_places_are_those_of_the_columns(first, second):
    rows = table(
        ("p1", "i1", "B", "A", first), ("p2", "i1", "B", "A", second), ("p1", "i2", "A", "B", first)
    )

    assert rows.preferred.tolist() == ["B", "A", "A"]
    assert rows.outcome.tolist() == [1, -1, -1]


def test_a_system_named_like_a_place_is_a_system():
    rows = table(("p1", "i1", "second", "first", "first"), ("p2", "i1", "second", "first", "tie"))

    assert rows.preferred.tolist() == ["first", "tie"]


@pytest.mark.parametrize("word", ["first", "2", "left", "Second"])
def test_places_without_systems_are_refused_with_what_to_do(word):
    with pytest.raises(ValueError, match="a place and no system") as refused:
        table(("p1", "i1", word), ("p2", "i1", "tie"), columns=("participant", "item", "preferred"))

    assert "Row 1: " in str(refused.value)
    assert "system_1 and system_2" in str(refused.value)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("p1", "i1", "A", "", "A")], "Row 1: name both systems"),
        ([("p1", "i1", "A", "A", "A")], "Row 1: A is compared with itself"),
        ([("p1", "i1", "A", "B", "left")], "compares A and B, not left"),
        (
            [("p1", "i1", "A", "B", "A"), ("p2", "i1", "A", "C", "A")],
            "Item i1 compares more than two systems",
        ),
    ],
)
def test_pairs_that_cannot_be_are_refused(rows, words):
    with pytest.raises(ValueError, match=words):
        table(*rows)
