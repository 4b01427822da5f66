"""docs/protocols.md leads to the tests of each protocol, where every rule of a document is one."""

import re

import pytest
from django.conf import settings

DOCUMENT = (settings.BASE_DIR / "docs" / "protocols.md").read_text(encoding="utf-8")


def test_every_protocol_is_in_the_document_with_its_origin_and_departures():
    names = re.findall(r"^\| \[(\w+)\]\(#\1\) \|", DOCUMENT, re.M)

    assert sorted(names) == sorted(name.removeprefix("protocols.") for name in settings.PROTOCOLS)
    for name in names:
        part = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", DOCUMENT, re.M | re.S)
        assert part is not None, name
        assert "| in the document | here |" in part[1], name


@pytest.mark.parametrize("protocol", settings.PROTOCOLS)
def test_rules_of_a_protocol_are_tests_beside_it(protocol: str):
    assert "protocols/<name>/tests.py" in DOCUMENT
    path = settings.BASE_DIR / protocol.replace(".", "/") / "tests.py"

    # the documents have 10 to 13 rules each
    assert len(re.findall(r"^def test_", path.read_text(encoding="utf-8"), re.M)) >= 20
