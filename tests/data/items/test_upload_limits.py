"""What a file costs and what stays as it is: rows 27, 28 and 37 of the list of bad input."""

import io
import json
import re
import sys
import tracemalloc
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from evalsite.data.items.importer import undo_batch
from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Limits, Refused
from evalsite.studies.models import Item, Output
from tests.support.checking import check_file
from tests.support.factories import answer_item, launch, make_annotator, make_study

MEGABYTE = 1024 * 1024
SOURCES = Path(__file__).resolve().parents[3] / "evalsite"


def read_all(source: BinaryIO, limits: Limits | None = None) -> int:
    return sum(1 for _ in open_table(source, limits=limits).rows)


# --- memory -------------------------------------------------------------------------------


def make_texts(rows: int) -> list[list[str]]:
    """Rows of about a thousand letters, of which no two are alike."""
    return [
        ["item", "output"],
        *([f"m{row}", " ".join(f"word {row * 7919 + part}" for part in range(75))]
          for row in range(rows)),
    ]  # fmt: skip


def write_csv(rows: list[list[str]]) -> bytes:
    return "".join(f'"{row[0]}","{row[1]}"\n' for row in rows).encode()


def write_json(rows: list[list[str]]) -> bytes:
    return "".join(f"{json.dumps({'a': row[0], 'b': row[1]})}\n" for row in rows[1:]).encode()


def write_json_list(rows: list[list[str]]) -> bytes:
    return json.dumps([{"a": row[0], "b": row[1]} for row in rows[1:]], indent=1).encode()


def measure(data: bytes) -> int:
    """The most memory that reading the file took, beside the file."""
    source = io.BytesIO(data)
    tracemalloc.start()
    read_all(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def list_endless() -> list[Any]:
    """Return how such a line begins and goes on; each of both once, the rest in `make torture`."""
    starts = (b'{"item":"', b'{"item":', b'item,mr\n"', b"item\n")
    signs = (b'\\"', b"[", b",", b"x", b"\xc3\xa9")
    kept = {*zip(starts, signs, strict=False), (b'{"item":', b"\xc3\xa9")}
    return [
        pair if pair in kept else pytest.param(*pair, marks=pytest.mark.torture)
        for pair in product(starts, signs)
    ]


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("write", [write_csv, write_json, write_json_list])
def test_bad_27_memory_does_not_grow_with_the_file(write: Callable[..., bytes]) -> None:
    few, many = write(make_texts(200)), write(make_texts(2_000))

    assert measure(many) < measure(few) + MEGABYTE / 2


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.parametrize(("start", "sign"), list_endless())
def test_bad_27_line_of_50_mb_is_refused_without_reading_it_whole(
    start: bytes, sign: bytes
) -> None:
    source = _Endless(start, sign)

    with pytest.raises(Refused) as refused:
        read_all(source)

    assert refused.value.fault.message
    assert source.read_in_all < 3 * _Endless.SIZE


class _Endless(io.RawIOBase):
    """A file of 50 MB in one line that is made while it is read, and counts what is."""

    SIZE = 50 * MEGABYTE

    def __init__(self, start: bytes, sign: bytes) -> None:
        self._start, self._sign, self._place = start, sign, 0
        self.read_in_all = self.most = 0
        self._page = sign * (MEGABYTE // len(sign))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = (
            offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.SIZE}[whence]
        )
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        # the first row of a JSON document is looked for in so much of it, if it is that long
        assert 0 <= size <= 16 * MEGABYTE
        size = min(size, self.SIZE - self._place)
        head = self._start[self._place : self._place + size]
        # whole signs only: the last may be cut off at the end of the file
        place = self._place + len(head) - len(self._start)
        offset = place % len(self._sign)
        rest = self._page[offset : offset + size - len(head)]
        self._place += len(head) + len(rest)
        self.read_in_all += len(head) + len(rest)
        return head + rest


# --- rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [write_csv, write_json, write_json_list])
def test_bad_28_command_takes_as_many_rows_as_there_are(
    write: Callable[..., bytes],
) -> None:
    data = write(make_texts(4))

    with pytest.raises(Refused, match=r"more than 3 rows\. .*import_batch --no-limit"):
        read_all(io.BytesIO(data), Limits(rows=3))
    assert read_all(io.BytesIO(data), Limits(rows=3).lift()) == 4
    assert Limits().lift().rows == sys.maxsize


def test_bad_29_file_of_more_text_than_is_taken_is_refused_unread() -> None:
    with pytest.raises(Refused, match="50 MB of text, but at most 10 MB"):
        read_all(_Endless(b"item,mr\n", b"x"), Limits(text=10 * MEGABYTE))


# --- texts that people have rated ----------------------------------------------------------


@pytest.mark.django_db
def test_bad_37_no_upload_changes_a_text_once_it_has_ratings() -> None:
    study = launch(make_study(items=2))
    item = Item.objects.get(study=study, key="item-001")
    answer_item(make_annotator(study), item)
    before = list(Output.objects.order_by("pk").values_list("text", flat=True))
    rows = [f"item-001,another,{name},Another text." for name in ("alpha", "beta", "gamma")]

    checked = check_file(
        io.BytesIO("\n".join(["item,mr,system,output", *rows]).encode()), study=study
    )

    assert [fault.code for fault in checked.faults] == ["input_differs"]
    with pytest.raises(ValidationError, match="can't be undone"):
        undo_batch(batch=item.batch, by=None)
    assert list(Output.objects.order_by("pk").values_list("text", flat=True)) == before


@pytest.mark.django_db
@pytest.mark.parametrize("model", ["item", "output"])
def test_bad_37_no_page_of_the_admin_changes_a_text(model: str) -> None:
    study = make_study(items=1)
    row = {"item": Item, "output": Output}[model].objects.filter(study=study).first()
    assert row is not None
    client = Client()
    client.force_login(
        User.objects.create_superuser("root"),
        backend="django.contrib.auth.backends.ModelBackend",
    )
    address = reverse(f"admin:studies_{model}_change", args=[row.pk])

    response = client.post(address, {"text": "Another text.", "inputs": "{}", "key": "x"})

    assert response.status_code == 403


def test_bad_37_nothing_in_the_product_writes_to_a_text_that_stands() -> None:
    writes = re.compile(
        r"Output\.objects[^\n]*\.update\(|\.update\((?:text|inputs)=|bulk_update\([^)]*"
        r"\"(?:text|inputs)\"|(?:output|item)\.(?:text|inputs) = "
    )

    # what a file holds isn't stored yet
    sources = [path for path in SOURCES.rglob("*.py") if path.parent.name != "items"]
    found = {path.name for path in sources if writes.search(path.read_text("utf-8"))}

    # a text that nobody has rated is corrected, with a reason; drafts change their instrument
    assert found == {"item_changes.py", "instrument_change.py"}
