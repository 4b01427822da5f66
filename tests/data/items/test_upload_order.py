"""A file whose order tells participants which system they rate is remarked on, and no other."""

import io
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from evalsite.fieldwork.checklist import check_launch
from tests.support.checking import check_file
from tests.support.factories import make_study

pytestmark = pytest.mark.django_db

SYSTEMS = ("zeta", "alpha", "kappa")
SORTED = [system for system in SYSTEMS for _ in range(30)]
IN_TURN = list(SYSTEMS) * 30


def find_remarks(order: Iterable[str], *, cluster: int = 0, **fields: Any) -> list[str]:
    """What is said of the order of systems in a file of one output in an item."""
    study = make_study(protocol="rrgen", items=0, **{"groups": "free"} | fields)
    lines = ["review,cluster,system,output"]
    for number, system in enumerate(order):
        name = f"c{number // cluster}" if cluster else ""
        lines.append(f"Review {number}.,{name},{system},Thank you for coming {number}.")
    checked = check_file(io.BytesIO("\n".join(lines).encode()), study=study)
    assert not checked.faults
    return [one for one in map(str, checked.remarks) if "the other" in one]


def test_file_sorted_by_system_is_remarked_on() -> None:
    (remark,) = find_remarks(SORTED)

    assert remark == (
        "The file is sorted by system: its items form 3 runs of one system, where chance would "
        "make about 61. With the item order “as uploaded” people would meet one system "
        "after the other, and may recognise them by it. Let items come in random order, or mix "
        "the rows."
    )


def test_remark_says_that_the_study_keeps_the_order_of_the_file() -> None:
    (remark,) = find_remarks(SORTED, item_order="uploaded")

    assert "The study’s item order is “as uploaded”: people meet" in remark


def test_systems_that_take_turns_are_remarked_on_where_the_order_is_kept() -> None:
    (remark,) = find_remarks(IN_TURN, item_order="uploaded")

    assert remark.startswith("The 3 systems take turns in the file, always in the same order.")


def test_systems_that_take_turns_are_fine_where_items_are_shuffled() -> None:
    assert find_remarks(IN_TURN) == []
    assert find_remarks(IN_TURN, item_order="uploaded", groups="together") == []


@pytest.mark.one_case
@pytest.mark.parametrize("seed", range(20))
def test_mixed_file_is_not_remarked_on(seed: int) -> None:
    order = SORTED.copy()
    Random(seed).shuffle(order)

    assert find_remarks(order, item_order="uploaded") == []


def test_conversation_of_one_system_is_no_run() -> None:
    order = [system for _ in range(10) for system in SYSTEMS for _ in range(5)]

    assert find_remarks(order, cluster=5) == []
    assert len(find_remarks(order)) == 1


@pytest.mark.parametrize("order", [["alpha"] * 40, ["alpha", "beta"] * 5, ["alpha"] * 9 + ["b"]])
def test_nothing_is_said_of_one_system_or_of_few_items(order: list[str]) -> None:
    assert find_remarks(order, item_order="uploaded") == []


@pytest.mark.parametrize(
    ("protocol", "item_order", "is_told"),
    [("rrgen", "uploaded", True), ("rrgen", "random", False), ("magnitude", "uploaded", False)],
)
def test_checklist_asks_to_look_at_the_order_of_the_file(
    protocol: str, item_order: str, is_told: bool
) -> None:
    study = make_study(protocol=protocol, item_order=item_order)

    found = [check for check in check_launch(study) if "order of the file" in check.label]

    assert bool(found) is is_told
    assert all(check.is_met and "sorted by system" in check.remark for check in found)
