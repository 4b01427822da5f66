"""The batches that docs/files.md shows are taken, each as the document says."""

import io
import re
from pathlib import Path

import pytest

from evalsite.data.items.items import CheckedItems as Checked
from evalsite.instruments.installed import installed_protocols
from evalsite.studies.models import Study
from tests.support.checking import check_file
from tests.support.factories import make_study

pytestmark = pytest.mark.django_db

DOCUMENT = (Path(__file__).resolve().parents[3] / "docs/files.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"^```csv (?!metrics)(\w+)\n(.*?)^```$", DOCUMENT, flags=re.MULTILINE | re.DOTALL
)
PAIRS = [content for protocol, content in EXAMPLES if protocol == "pairwise"]


def check(study: Study, content: str) -> Checked:
    return check_file(io.BytesIO(content.encode()), study=study)


@pytest.mark.parametrize(("protocol", "content"), EXAMPLES)
def test_example_of_a_batch_is_taken_with_nothing_to_correct(protocol: str, content: str):
    if protocol not in installed_protocols():
        pytest.skip(f"protocols.{protocol} is not listed in PROTOCOLS.")
    study = make_study(protocol=protocol, items=0)

    checked = check(study, content)

    outputs = study.config.item.outputs
    least, most = outputs.least, outputs.most
    assert [str(fault) for fault in checked.faults] == []
    assert "" not in checked.mapping.values()
    assert checked.items
    assert all(least <= len(item.outputs) <= most for item in checked.items)
    assert len(checked.systems) >= 2


def test_example_of_pairs_makes_the_items_that_the_document_names():
    if "pairwise" not in installed_protocols():
        pytest.skip("protocols.pairwise is not listed in PROTOCOLS.")
    study = make_study(protocol="pairwise", items=0)

    every, named = (check(study, block) for block in PAIRS)

    assert [item.key for item in every.items] == ["d1/1-2", "d1/1-3", "d1/2-3"]
    assert [item.key for item in named.items] == ["d1/1-2", "d1/1-3"]
    assert all(f"`{item.key}`" in DOCUMENT for item in every.items)
