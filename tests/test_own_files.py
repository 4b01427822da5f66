"""Files in the shapes people have go in without an edit: what to say of each is a choice or two."""

from pathlib import Path
from typing import Any

import pytest

from evalsite.imports.batches.importer import ITEMS
from evalsite.imports.core import check_source

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


@pytest.mark.parametrize(
    ("name", "protocol", "said", "items", "systems"),
    [
        ("batches/rankme_wide.csv", "magnitude", {}, 100, 3),
        ("batches/rankme_long.csv", "magnitude", {}, 100, 3),
        ("ratings/stp2_rankME_inf.csv", "magnitude", {"options": {"take_once": True}}, 100, 3),
        ("batches/marco.csv", "pairwise", {}, None, 3),
        ("batches/systems_as_columns.xlsx", "magnitude", {}, 8, 3),
        (
            "batches/json_dump.json",
            "pairwise",
            {"mapping": {"ref": "output_of_this_system"}},
            15,
            3,
        ),
        ("batches/huggingface_messages.jsonl", "dialogue", {}, 12, 3),
        (
            "batches/pandas_index_windows_1252.csv",
            "rrgen",
            {"options": {"encoding": "windows-1252"}},
            8,
            2,
        ),
    ],
)
def test_a_file_as_people_have_it_goes_in(
    make_study: Any, name: str, protocol: str, said: dict[str, Any], items: int, systems: int
) -> None:
    study = make_study(protocol=protocol, items=0)
    with (FIXTURES / name).open("rb") as source:
        checked = check_source(ITEMS, source, study=study, **said)

    assert [str(fault) for fault in checked.faults] == []
    assert items is None or len(checked.items) == items
    assert len({output.system for item in checked.items for output in item.outputs}) == systems
