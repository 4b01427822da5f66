"""No fault of a file leaves a check as an exception: real files, changed at random, all the way."""

import csv
import io
import json
import random
import re
import zipfile
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from evalsite.data.models import Upload
from evalsite.studies.models import Study
from tests.support.factories import add_batch, make_study
from tests.support.instruments import make_built_study

pytestmark = pytest.mark.django_db

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
ENDINGS = {".csv", ".tsv", ".json", ".jsonl", ".txt", ".xlsx", ".ods", ".parquet", ".eval"}
FOLDERS = ("batches", "tool_outputs", "ratings", "getting_in")
LARGEST = 100_000
FILES = [
    path
    for folder in FOLDERS
    for path in sorted((FIXTURES / folder).rglob("*"))
    if path.suffix in ENDINGS and path.stat().st_size <= LARGEST
]
PAGES = {"upload": "import_batch", "ratings": "import_ratings", "metrics": "import_metrics"}
# too deep for what walks through values, though not for Python's reader of JSON
DEEP = '{"a":' * 400 + "1" + "}" * 400
# what no program should have written where it stands
VALUES: list[Any] = [
    None, "", " ", {}, [], [[]], [{}], [None], 0, -1, True, 1e999, float("nan"), 10**400, "\ud800",
    "\0", "x" * 3_000, {"a": {"b": {"c": [1]}}}, {"": ""}, {"role": []},
    [{"type": [], "text": {}}], [{"role": "user", "content": None}], {"status": "ok"}, "[{",
    "9" * 5_000,
]  # fmt: skip
PIECES = [
    b"{", b"}", b"[", b"]", b'"', b"'", b",", b";", b"\t", b"\n", b"\r", b"\0", b"\xff\xfe",
    b"\xed\xa0\x80", b"null", b"NaN", b"1e999", b"9" * 5_000, b"\\ud800", b"\\",
    b'{"a": {"b": 1}}', b'"status": "x", ', b"<!doctype html>", b"PK\x03\x04", b"PAR1",
    b"\x1f\x8b", b"=1+1", b"[" * 200, b'{"a":' * 200,
    DEEP.encode(),
]  # fmt: skip
KEYS = [
    "status", "eval", "samples", "results", "id", "item", "item_id", "system", "output", "prompt",
    "input", "testIdx", "vars", "metrics", "provider", "doc", "custom_id", "response", "columns",
    "data", "schema", "", "a.b", 'odd "name"]',
]  # fmt: skip


# --- faults that once left a check as an exception -----------------------------------------

CUT_LINE = b"""\
{"id": "1", "doc": {"q": "x"}, "system": "a", "output": "one"}
{bad}
"""
DEEP_CELL = 'item,mr,system,output,extra\nm1,x,a,One.,"{}"\n'.format(DEEP.replace('"', '""'))
STATUS = b"""\
{"status": "ok", "id": "1", "prompt": "Why?", "system": "a", "output": "one"}
"""


def zip_with_a_dot() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(".", b"x")
    return file.getvalue()


def workbook_with_a_lost_part() -> bytes:
    """A workbook whose directory says that a part begins before the file does."""
    content = (FIXTURES / "batches" / "systems_as_columns.xlsx").read_bytes()
    at = content.rindex(b"PK\x05\x06") + 16
    start = int.from_bytes(content[at : at + 4], "little") + 5_000
    return content[:at] + start.to_bytes(4, "little") + content[at + 4 :]


@pytest.mark.one_case
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.jsonl", CUT_LINE),
        ("status.jsonl", STATUS),
        ("dot.zip", zip_with_a_dot()),
        ("lost.xlsx", workbook_with_a_lost_part()),
        ("deep.csv", DEEP_CELL.encode()),
        ("deep.json", f'{{"item":{{"0":{DEEP}}}}}'.encode()),
    ],
    ids=[
        "a nested object and an unreadable line",
        "a key status",
        "an entry named .",
        "a lost part",
        "a deep value in a cell",
        "a deep value in a data frame",
    ],
)
def test_bad_94_the_file_is_refused_in_words(
    staff_client: Client, page: str, name: str, content: bytes
) -> None:
    study = make_study(items=0)

    walk(staff_client, study, page, (name, content), random.Random(name))


def test_a_path_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "candidates": [{"who": "a"}]}\n')

    with pytest.raises(CommandError, match=r"no column “answers\[\*\].who”"):
        call_command(
            "import_batch",
            str(make_study(items=0).pk),
            str(path),
            "--map",
            "answers[*].who=system",
        )


# --- changing a file ----------------------------------------------------------------------


def change(path: Path, chance: random.Random) -> bytes:
    """Return the bytes of this file with a few things in it that are wrong."""
    content = path.read_bytes()
    if path.suffix in (".json", ".jsonl") and chance.random() < 0.6:
        content = change_json(content, chance)
    elif path.suffix in (".csv", ".tsv") and chance.random() < 0.5:
        content = change_cells(content, chance)
    if chance.random() < 0.6:
        for _ in range(chance.choice((1, 1, 3))):
            content = change_bytes(content, chance)
    return pack(path, content, chance) if chance.random() < 0.15 else content


def change_bytes(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    lines = content.splitlines(keepends=True) or [b""]
    line = chance.randrange(len(lines))
    return chance.choice(
        [
            lambda: content[:at],
            lambda: content[:at] + chance.choice(PIECES) + content[at:],
            lambda: content[:at] + chance.randbytes(3) + content[at + 3 :],
            lambda: content[:at] + content[at + chance.choice((1, 5, 50)) :],
            lambda: b"".join(lines[:line] + lines[line + 1 :]),
            lambda: b"".join([*lines[: line + 1], *lines[line:]]),
            lambda: b"".join([*lines[:line], b"{bad}\n", *lines[line:]]),
            lambda: b"".join(chance.sample(lines, len(lines))),
        ]
    )()


def change_json(content: bytes, chance: random.Random) -> bytes:
    try:
        document = json.loads(content)
    except RecursionError:
        return content
    except ValueError:
        lines = content.split(b"\n")
        number = chance.randrange(len(lines))
        try:
            lines[number] = json.dumps(change_value(json.loads(lines[number]), chance)).encode()
        except ValueError:
            lines[number] = chance.choice(PIECES)
        return b"\n".join(lines)
    return json.dumps(change_value(document, chance)).encode()


def change_value(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """Return the value with a part, key or type changed somewhere in it."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        draw = chance.random()
        if draw < 0.1:
            return {name: part for name, part in value.items() if name != key}
        if draw < 0.3:
            return {chance.choice(KEYS): chance.choice(VALUES), **value}
        return {**value, key: change_value(value[key], chance, depth + 1)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], change_value(value[at], chance, depth + 1), *value[at + 1 :]]
    return chance.choice(VALUES)


def change_cells(content: bytes, chance: random.Random) -> bytes:
    try:
        text = content.decode()
        delimiter = "\t" if "\t" in text else ","
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        row = chance.choice(rows)
        row[chance.randrange(len(row))] = str(chance.choice([*VALUES, *KEYS])).replace(
            "\ud800", "?"
        )
    except (ValueError, IndexError, csv.Error):
        return change_bytes(content, chance)
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    return buffer.getvalue().encode()


def pack(path: Path, content: bytes, chance: random.Random) -> bytes:
    """Return a zip of the changed file with those beside it."""
    buffer = io.BytesIO()
    beside = [file for file in sorted(path.parent.iterdir()) if file in FILES and file != path]
    names = [path.name, ".", "a/", "..", "a/../b", "C:x", "x" * 300, "\ud7ff.csv", "header.json"]
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(chance.choice(names), content)
        for file in beside[:3]:
            archive.writestr(f"{path.parent.name}/{file.name}", file.read_bytes())
    return buffer.getvalue()


# --- the whole check ----------------------------------------------------------------------


def make_some_study(chance: random.Random) -> Study:
    kind = chance.choice(("magnitude", "pairwise", "one", "pair"))
    if kind in ("one", "pair"):
        return make_built_study(
            json.loads((FIXTURES / "getting_in" / f"study_{kind}.json").read_bytes())
        )
    study = make_study(items=0, protocol=kind)
    if chance.random() < 0.5 and kind == "magnitude":
        add_batch(study, items=2)
    return study


def walk(
    client: Client, study: Study, page: str, file: tuple[str, bytes], chance: random.Random
) -> None:
    """Upload the file, look at it, map its columns, decide what is asked, and import it."""
    name, content = file
    known = set(Upload.objects.values_list("pk", flat=True))
    new = reverse("admin:upload-new", args=[study.pk])
    purpose = "items" if page == "upload" else page
    ask(client.post(new, {"file": SimpleUploadedFile(name, content), "purpose": purpose}))
    kept = Upload.objects.exclude(pk__in=known).first()
    if kept is None:
        return

    def address(act: str) -> str:
        return reverse(f"admin:upload-{act}", args=[study.pk, kept.pk])

    for _ in range(4):
        html = ask(client.get(address("preview"))).content.decode()
        ask(client.get(address("faults")))
        ask(client.post(address("preview"), choose(html, chance)))
    ask(client.get(address("preview")))
    ask(client.post(address("import"), {"has_persons": "yes"}, follow=True))


def ask(answer: Any) -> Any:
    assert answer.status_code < 500
    return answer


SELECT = re.compile(r'<select name="([^"]+)".*?</select>', re.DOTALL)
OPTION = re.compile(r'<option value="([^"]*)"( selected)?')


def choose(html: str, chance: random.Random) -> dict[str, str]:
    """Return what a form sends, with other choices here and there."""
    sent = {}
    for select in SELECT.finditer(html):
        options = OPTION.findall(select[0])
        chosen = next((value for value, selected in options if selected), "")
        sent[select[1]] = unescape(chance.choice(options)[0] if chance.random() < 0.3 else chosen)
    return sent


def run_command(study: Study, name: str, path: Path, *arguments: str) -> None:
    """Run the command; a CommandError is its way to refuse a file."""
    persons = ["--persons", "yes"] if name == "import_ratings" else []
    output = StringIO()
    try:
        with transaction.atomic():
            call_command(
                name,
                str(study.pk),
                *arguments,
                str(path),
                *persons,
                stdout=output,
                stderr=output,
            )
    except CommandError:
        pass


def check_all_ways(client: Client, seed: int, folder: Path) -> None:
    chance = random.Random(f"whole check {seed}")
    study = make_some_study(chance)
    path = FILES[chance.randrange(len(FILES))]
    content = change(path, chance)
    walk(client, study, chance.choice(list(PAGES)), (path.name, content), chance)
    changed = folder / path.name
    changed.write_bytes(content)
    for name in PAGES.values():
        run_command(study, name, changed)
    other = chance.choice([file for file in FILES if file.parent == path.parent])
    run_command(study, "import_batch", other, f"alpha={changed}")


SEEDS = [
    pytest.param(seed, marks=pytest.mark.torture) if seed >= 12 else seed for seed in range(200)
]


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_changed_file_is_taken_or_refused_in_words(
    staff_client: Client, seed: int, tmp_path: Path
) -> None:
    check_all_ways(staff_client, seed, tmp_path)
