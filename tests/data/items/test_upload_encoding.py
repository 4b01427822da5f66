"""Files that aren't UTF-8: rows 3 and 85 of the list of bad input."""

import io
import tracemalloc
from typing import Any

import pytest

from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import EncodingPreview, Fault, Refused, Table

CONFIRMED = {"encoding": "windows-1252"}
EXCEL = "id;text\n1;hôtel “lovely” – ?\n".encode("cp1252")


def read(data: bytes, options: dict[str, Any] | None = None) -> Table:
    return open_table(io.BytesIO(data), options=options)


def refuse(data: bytes, options: dict[str, Any] | None = None) -> Fault:
    with pytest.raises(Refused) as refused:
        read(data, options)
    return refused.value.fault


def preview(data: bytes) -> EncodingPreview:
    found = refuse(data).preview
    assert found is not None
    return found


def test_bad_85_file_is_refused_with_a_preview_of_its_odd_characters() -> None:
    found = preview(EXCEL)

    assert found.undefined is None
    assert found.counts == {"ô": 1, "“": 1, "”": 1, "–": 1}
    first = found.places[0]
    assert (first.line, first.before, first.odd, first.after) == (
        2, "1;h", "ô", "tel “lovely” – ?"
    )  # fmt: skip


def test_bad_85_confirmed_file_is_read_exactly_and_never_silently() -> None:
    table = read(EXCEL, CONFIRMED)

    assert [row.cells for row in table.rows] == [["1", "hôtel “lovely” – ?"]]
    assert table.encoding == "Windows-1252"
    assert [remark.code for remark in table.remarks.listed()] == ["windows_1252"]


@pytest.mark.parametrize("byte", [b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d"])
def test_bad_85_byte_without_a_character_is_refused_with_its_place(byte: bytes) -> None:
    data = EXCEL + b"2;caf" + byte + b"\n"
    undefined = preview(data).undefined

    assert undefined is not None
    assert (undefined.line, undefined.before) == (3, "2;caf")
    assert "Windows-1252" not in refuse(data).message
    assert (refuse(data, CONFIRMED).code, refuse(data, CONFIRMED).line) == ("not_windows_1252", 3)


def test_file_that_is_utf8_is_read_as_such_whatever_was_confirmed() -> None:
    table = read("a\né\n".encode(), CONFIRMED)

    assert [row.cells for row in table.rows] == [["é"]]
    assert table.remarks.listed() == []


def test_preview_has_ten_places_and_counts_all() -> None:
    lines = "".join(f"{'x' * 100}{chr(0xC0 + number)}{'y' * 100}\n" for number in range(30))
    found = preview(("a\n" + lines * 2).encode("cp1252"))

    assert [place.line for place in found.places] == list(range(2, 12))
    assert {len(place.before) for place in found.places} == {40}
    assert {len(place.after) for place in found.places} == {20}
    assert set(found.counts.values()) == {2}


def test_preview_prefers_characters_not_shown_yet() -> None:
    found = preview(("a\n" + "é\n" * 500 + "ß\n").encode("cp1252"))

    assert [place.odd for place in found.places] == ["é", "é", "é", "ß"]
    assert found.places[-1].line == 502


def test_preview_shows_no_stretch_of_a_line_twice() -> None:
    found = preview(
        "a\nhôtel “lovely” – this is a longer line which ends in a café\n".encode("cp1252")
    )

    assert [place.odd for place in found.places] == ["ô", "é"]


@pytest.mark.parametrize(
    "data",
    [b"\0\x01\xff\xfe" * 100, "a,b\né,1\n".encode("utf-16-le"), b"\xef\xbb\xbfa\n\xff"],
    ids=["binary", "UTF-16 without mark", "UTF-8 with mark, broken"],
)
def test_what_can_not_be_windows_1252_has_no_preview(data: bytes) -> None:
    assert refuse(data).preview is None
    assert refuse(data, CONFIRMED).code == refuse(data).code


def test_json_may_be_windows_1252_too() -> None:
    data = '[{"a": "é"}]'.encode("cp1252")

    assert [row.cells for row in read(data, CONFIRMED).rows] == [["é"]]


@pytest.mark.slow
def test_memory_of_a_preview_does_not_grow_with_the_file() -> None:
    data = b"a,b\n" + b"\xe9" * 5_000_000

    tracemalloc.start()
    preview(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 7_000_000
