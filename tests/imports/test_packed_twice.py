"""Nothing in an archive is passed over without a word, and ids of a file stay apart."""

import io
from typing import Any
from zipfile import ZipFile

import pytest

from tests.support.checking import check_file
from tests.support.factories import make_study

pytestmark = pytest.mark.django_db


def pack(entries: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return target.getvalue()


def check(content: bytes, **options: Any) -> Any:
    study = make_study(protocol="fluency", items=0)
    names = [column.name for column in study.config.columns if column.required]
    header = ",".join(["item", *names, "system", "output"])
    row = ",".join(["%s", *["%s"] * len(names), "alpha", "%s"])
    rows = [row % (key, *[f"Text of {key}."] * len(names), key) for key in ("a b", "a-b", "a-b")]
    table = "\n".join([header, *rows[:2], rows[2].replace("alpha", "beta")])
    return check_file(
        io.BytesIO(content.replace(b"TABLE", table.encode()) or table.encode()),
        study=study,
        options=options,
    )


def test_an_archive_in_an_archive_is_named() -> None:
    content = pack({"items.csv": b"item,text,system,output\n1,A,x,B\n", "more.zip": pack({})})

    assert [fault.code for fault in check(content).faults] == ["archive_unreadable"]
    left_out = check(content, outputs_names={"more.zip": "-"})
    assert "archive_unreadable" not in {fault.code for fault in left_out.faults}


def test_an_id_that_another_got_in_its_place_gets_the_next() -> None:
    checked = check(b"TABLE")

    assert checked.faults == []
    sources = {item.key.partition("/")[0]: item.extra.get("source_id") for item in checked.items}
    assert sources == {"a-b": "a b", "a-b-2": "a-b"}
