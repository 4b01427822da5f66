"""Nothing in an archive is passed over without a word, and ids of a file stay apart."""

import io
import json
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


def test_a_chosen_path_at_which_there_is_nothing_is_named() -> None:
    study = make_study(protocol="fluency", items=0)
    row = b'{"id": "1", "dialogue": "A: Hi.", "system": "x", "output": "Yo.", "meta": {"doc": "d"}}'

    def find_codes(path: str) -> set[str]:
        checked = check_file(io.BytesIO(row), study=study, mapping={path: "group"})
        return {remark.code for remark in checked.remarks}

    assert "path_void" in find_codes("meta.dok")
    assert "path_void" not in find_codes("meta.doc")


def test_lists_of_several_columns_make_no_more_rows_than_one() -> None:
    study = make_study(protocol="fluency", items=0)
    lists = {name: [1] * 300 for name in "lmn"}
    row = json.dumps({"id": "1", "dialogue": "A: Hi.", "system": "x", "output": "Yo.", **lists})
    mapping = {"l[*]": "group", "m[*]": "cluster", "n[*]": "kind"}

    checked = check_file(io.BytesIO(row.encode()), study=study, mapping=mapping)

    assert [fault.code for fault in checked.faults] == ["too_large"]
