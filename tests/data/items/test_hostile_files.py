"""A small file never becomes gigabytes or minutes: it is refused before anything is built of it."""

import gzip
import io
import json
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator

import pyarrow
import pyarrow.parquet
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Limits, Refused
from evalsite.data.uploads import is_large, keep_upload
from tests.participation.test_rich_browser import make_rich_study
from tests.support.checking import check_file
from tests.support.factories import make_study, make_user
from tests.support.lasting import lasting_rows
from tests.support.soak import serve_ordinary_requests

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
MEBIBYTES = 100
# how many times as long as an ordinary file of 1 MB, the largest that is read while a page waits
MOST_TIMES = 20
ORDINARY = b"item,prompt,system,output\n" + b"".join(
    b"%d,A question?,alpha,An answer to the question.\n" % number for number in range(1_000)
)


@pytest.fixture(scope="module", autouse=True)
def old_process(request) -> Iterator[None]:
    """The process has answered ordinary requests for a while."""
    with lasting_rows(request):
        serve_ordinary_requests()
        yield


def pack(entries: dict[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()


def make_log(*, header: str = '{"eval":{"model":"m"},"status":"success"}', **sample) -> bytes:
    whole = {"id": 1, "epoch": 1, "input": "Q", "output": {"choices": []}, **sample}
    return pack({"header.json": header, "samples/1.json": json.dumps(whole)})


def make_parquet(output: pyarrow.Array) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(
        pyarrow.table({"output": output}), file, dictionary_pagesize_limit=10_000_000
    )
    return file.getvalue()


def repeat(text: str, count: int) -> pyarrow.Array:
    """Return a column with this text in each row, which a file holds once."""
    return pyarrow.DictionaryArray.from_arrays([0] * count, [text])


def write_objects(count: int) -> str:
    return "[" + ",".join(["{}"] * count) + "]"


MANY = write_objects(200_000)
FEWER = write_objects(100_100)
FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "log whose header is 200,000 objects": (
        lambda: make_log(header=f'{{"eval":{MANY},"status":"success"}}'),
        "too_large",
    ),
    "log whose header is a list of 2,000,000 objects": (
        lambda: make_log(header=write_objects(2_000_000)),
        "too_large",
    ),
    "log whose output is 200,000 objects": (
        lambda: make_log(output=json.loads(MANY)),
        "too_large",
    ),
    "log of 60 MB": (lambda: make_log(events="a" * 60 * 1024**2), "archive_too_large"),
    "logs in a zip, one a bomb": (
        lambda: pack({f"{name}.eval": make_log(events=name * 60 * 1024**2) for name in "ab"}),
        "too_large",
    ),
    "zip in a zip": (lambda: pack({"a.csv": pack({"b.csv": "a,b\n1,2\n"})}), "archive_unreadable"),
    "zip of 60 MB": (lambda: pack({"a.csv": "a,b\n" * 15_000_000}), "archive_too_large"),
    "gzip of 60 MB": (lambda: gzip.compress(b"a,b\n" * 15_000_000), "archive_too_large"),
    "Parquet with a text of 1 MB in 1,000 rows": (
        lambda: make_parquet(repeat("a" * 1_000_000, 1_000)),
        "too_large",
    ),
    "Parquet of 10,000,000 nulls": (
        lambda: make_parquet(pyarrow.nulls(10_000_000, pyarrow.string())),
        "too_large",
    ),
    "CSV with 400,000 columns": (lambda: b"a," * 400_000 + b"\n1,2\n", "too_many_columns"),
    "CSV with a row of 400,000 cells": (
        lambda: b"item,output\n" + b"a," * 400_000,
        "too_many_columns",
    ),
    "CSV of blank lines": (lambda: b"item,output\n" + b"\n" * 24_000_000, "too_many_rows"),
    "CSV of lines with spaces": (lambda: b"item,output\n" + b" \n" * 1_000_000, "too_many_rows"),
    "JSON lines of blank lines": (lambda: b'{"a":1}\n' + b"\n" * 24_000_000, "too_many_rows"),
    "JSON lines with 100,100 objects in one": (
        lambda: f'{{"item":1,"output":{FEWER}}}\n'.encode(),
        "too_large",
    ),
    "JSON list with 100,100 objects in one": (
        lambda: f'[{{"output":{FEWER}}}]'.encode(),
        "too_large",
    ),
    "JSON nested 100,000 deep": (
        lambda: b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "json_depth",
    ),
    "data frame with 6,000,000 values": (
        lambda: b"[" + b",".join([b"[1,2]"] * 3_000_000) + b"]",
        "too_many_values",
    ),
}


def read_code(content: bytes) -> str:
    """Return the code with which a file is refused, wherever it is; "" if all of it is read."""
    try:
        table = open_table(io.BytesIO(content), limits=Limits())
        problems = [problem.code for row in table.rows for problem in row.problems]
    except Refused as error:
        return error.fault.code
    return problems[0] if problems else ""


def measure_cpu(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


@pytest.fixture(scope="module")
def ordinary(old_process) -> float:
    """The processor time that an ordinary file takes."""
    return min(measure_cpu(lambda: read_code(ORDINARY * 20)) for _ in range(3))


@pytest.mark.one_case
@pytest.mark.parametrize(("make", "code"), FILES.values(), ids=FILES)
def test_bad_93_a_hostile_file_is_refused_at_little_cost(make, code, ordinary):
    content = make()

    assert read_code(content) == code
    assert min(measure_cpu(lambda: read_code(content)) for _ in range(2)) < MOST_TIMES * ordinary
    tracemalloc.start()
    try:
        read_code(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEBIBYTES * 1024**2


def test_a_log_with_very_many_events_is_read_without_them():
    events = [{"event": number, "of": ["a", "b"]} for number in range(30_000)]
    output = {"choices": [{"message": {"role": "assistant", "content": "So."}}]}

    table = open_table(io.BytesIO(make_log(events=events, output=output)))

    assert [row.cells[table.header.index("output")] for row in table.rows] == ["So."]


def test_a_file_is_read_while_a_page_waits_only_if_little_is_in_it(settings):
    study = make_study(items=0)
    for content, expected in [
        (pack({"a.csv": ORDINARY}), False),
        (pack({"a.csv": ORDINARY * 40}), True),
        (gzip.compress(ORDINARY * 400), True),
        (ORDINARY, False),
        (ORDINARY * 40, True),
    ]:
        upload = keep_upload(study=study, file_name="a", chunks=[content], by=None)
        assert is_large(upload) is expected


def test_a_log_of_a_few_kilobytes_is_refused_by_the_page_within_100_mib():
    user = make_user("owner", is_staff=True)
    study = make_study(items=0, by=user)
    client = Client(raise_request_exception=False)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    file = SimpleUploadedFile("run.eval", make_log(header=write_objects(2_000_000)))

    tracemalloc.start()
    try:
        response = client.post(f"/admin/studies/{study.pk}/uploads/", {"file": file})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert response.status_code in (302, 422)
    assert peak < MEBIBYTES * 1024**2


@pytest.mark.parametrize("names", [("é", "e\u0301"), ("É", "e\u0301")])
def test_names_of_columns_are_compared_as_the_same_letters(names):
    content = f"item,output,{names[0]},{names[1]}\n1,a,b,c\n".encode()

    table = open_table(io.BytesIO(content))

    assert [fault.code for fault in table.check_mapped([table.header[2]])] == ["column_duplicate"]


def test_the_preview_says_how_many_texts_are_too_large_to_draw():
    large = json.dumps([{f"column {number}": number} for number in range(1_000)])
    larger = json.dumps([{f"column {number}": number} for number in range(2_000)])
    small = json.dumps([{"a": 1}])
    study = make_rich_study("table", [small, small], source=small, of="table")
    rows = "".join(
        f"{number},{cell},{system},{cell}\n"
        for number, text in enumerate([small, large, larger], start=2)
        for cell in [f'"{text.replace(chr(34), chr(34) * 2)}"']
        for system in ("s0", "s1")
    )
    source = io.BytesIO(f"item,dialogue,system,output\n{rows}".encode())

    checked = check_file(source, study=study)

    counts = {remark.code: remark.count for remark in checked.remarks}
    assert checked.faults == []
    assert counts["shown_as_source"] == 4
    assert counts["inputs_as_source"] == 2
