"""Zip files of outputs: read like folders, or refused as a whole with a code."""

import stat
import zipfile
from pathlib import Path

import pytest
from backports.zstd import zipfile as zstd_zip

from evalsite.data.tables import files as batch_files
from evalsite.data.tables.batch import convert
from evalsite.data.tables.files import find_named
from evalsite.data.tables.table import Limits, Refused
from tests.data.tables.test_bad_outputs import LINES, refuse
from tests.data.tables.test_formats import FOLDER, read_batch


def pack(folder: Path, entries: dict[str, str], **mode: int) -> Path:
    path = folder / "packed.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode.get("mode", 0o644) << 16
            archive.writestr(entry, text)
    return path


def test_a_zip_is_a_folder(tmp_path):
    rows = read_batch([pack(tmp_path, {f"run/{name}": text for name, text in LINES.items()})])

    assert [row["output"] for row in rows] == ["eins", "zwei"]


@pytest.mark.parametrize("name", ["../a.txt", "/a.txt", "x/../../a.txt", "C:/a.txt", "..\\a.txt"])
def test_an_entry_that_leads_out_of_the_zip_is_refused(tmp_path, name):
    assert refuse([pack(tmp_path, {"source.txt": "one\n", name: "x\n"})]).code == "zip_entry"


def test_a_link_in_a_zip_is_refused(tmp_path):
    path = pack(tmp_path, {"source.txt": "/etc/passwd"}, mode=stat.S_IFLNK | 0o777)

    assert refuse([path]).code == "zip_entry"


def test_ten_thousand_entries_are_refused(tmp_path):
    path = pack(tmp_path, {f"{number}.txt": "x" for number in range(10_000)})

    assert refuse([path]).code == "too_many_files"


def test_a_zip_that_unpacks_to_too_much_is_refused(tmp_path):
    path = pack(tmp_path, {"source.txt": "x" * 10_000, "a.txt": "y"})
    files, names = find_named([("", path)])

    with pytest.raises(Refused) as caught:
        convert(files, names=names, most_bytes=5_000)

    assert caught.value.code == "too_large"


def test_an_entry_larger_than_it_says_is_refused(tmp_path, monkeypatch):
    """A bomb of zstd lies about its size: no more is read than a record may have."""
    monkeypatch.setattr(batch_files, "MOST_IN_RECORD", 1_000)
    (path, *_) = sorted(FOLDER.glob("inspect/*.eval"))

    assert refuse([path]).code in {"too_large", "unknown_format"}


def test_a_bomb_of_zstd_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "log.eval"
    with zstd_zip.ZipFile(path, "w", zstd_zip.ZIP_ZSTANDARD) as log:
        with log.open("header.json", "w") as entry:
            for _ in range(300):
                entry.write(b" " * 1024**2)
        log.writestr("samples/1_epoch_1.json", "{}")

    with pytest.raises(Refused) as caught:
        convert(find_named([("", path)])[0], most_bytes=200 * 1024**2)

    assert path.stat().st_size < 100_000
    assert caught.value.code == "too_large"


def test_a_damaged_zip_is_refused(tmp_path):
    path = pack(tmp_path, LINES)
    path.write_bytes(path.read_bytes()[:-30])

    assert refuse([path]).code == "file_damaged"


@pytest.mark.parametrize("packed", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.json", "a.csv"])
def test_a_zip_with_a_damaged_entry_is_refused(tmp_path, packed, name):
    path = tmp_path / "packed.zip"
    lines = "".join(f"a line, {number * 7919}\n" for number in range(200)).encode()
    with zipfile.ZipFile(path, "w", packed) as archive:
        archive.writestr("source.txt", lines)
        archive.writestr(name, lines)
        start = archive.getinfo(name).header_offset + 80  # its header is shorter
    data = bytearray(path.read_bytes())
    data[start : start + 40] = bytes(40)
    path.write_bytes(data)

    fault = refuse([path])

    assert (fault.code, name in fault.message) == ("entry_damaged", True)


def test_a_table_among_others_has_the_limits_of_every_table(tmp_path):
    for name in ("alpha", "beta"):
        rows = "".join(f"{number},Q{number},{name}\n" for number in range(20))
        (tmp_path / f"{name}.csv").write_text(f"id,prompt,output\n{rows}", encoding="utf-8")

    assert len(list(convert(batch_files.find_files(tmp_path), limits=Limits(rows=20)).rows)) == 40
    with pytest.raises(Refused) as refused:
        convert(batch_files.find_files(tmp_path), limits=Limits(rows=19))
    assert refused.value.code == "too_many_rows"
