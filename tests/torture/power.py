"""`python -m tests.torture.power`: the power fails in mid-load, on SQLite; nothing may be lost.

A library loaded into the web server (record.c) records what it writes into the database's files
and when it waited for the disk. While people rate, the power "fails" again and again: from the
record, the files are made again as a disk would hold them that had taken what it was waited for
and of the rest nothing, or a part chosen at random. Every answer that was acknowledged before must
be in each of them, and the database must be whole. That losses would be seen is shown too: were
the log not waited for at each answer, the same cuts would lose some.
"""

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import django

from tests.torture.kill import ITEMS, PEOPLE, SET_SIZE, K

SOURCE = Path(__file__).with_name("record.c")
DATABASE = "torture.sqlite3"


@dataclass(frozen=True)
class Entry:
    """One call: a write or a new length (`data` or `length`), or where the disk was waited for."""

    kind: str
    name: str
    offset: int = 0
    length: int = 0
    data: bytes = b""
    number: str = ""


@dataclass(frozen=True)
class Cut:
    """A moment: how long the record was, and what people had been told before it."""

    size: int
    saves: dict[str, tuple[str, ...]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.power", description=__doc__)
    parser.add_argument("--cuts", type=int, default=25)
    given = parser.parse_args()
    compiler = shutil.which("cc")
    if compiler is None:
        sys.stdout.write("Power cuts skipped: no C compiler is installed.\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="evalsite-power-") as name:
        folder = Path(name)
        library = folder / "record.so"
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True
        )
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "EVALSITE_DATA_DIR": name,
            "EVALSITE_DATABASE": f"sqlite:///{folder}/data/{DATABASE}",
        }
        (folder / "data").mkdir()
        (folder / "static").mkdir()
        django.setup()
        return run(folder, library, given.cuts)


def run(folder: Path, library: Path, count: int) -> int:
    """0 if no cut lost anything, and some would have lost something without waiting."""
    people = start_study()
    before = folder / "before"
    shutil.copytree(folder / "data", before)
    cuts, record = rate_and_cut(folder, library, people, count)
    entries = list(read_record(record.read_bytes()))
    draw = random.Random(1)
    ways: dict[str, Callable[[Entry], bool]] = {
        "nothing that the disk was not waited for": lambda entry: False,
        "a part of that, chosen at random": lambda entry: draw.random() < 0.5,
    }
    faults = 0
    for what, is_kept in ways.items():
        lost = [count_losses(folder, before, entries, cut, people, is_kept) for cut in cuts]
        faults += sum(lost)
        say(f"SQLite, {count} power cuts, the disk keeps {what}: {sum(lost)} faults")
    never = [
        count_losses(folder, before, [e for e in entries if not _is_log_sync(e)], cut, people)
        for cut in cuts
    ]
    told = len(cuts[-1].saves)
    say(f"{told} answers were acknowledged by the last cut")
    say(f"had the log never been waited for: {sum(map(bool, never))} of {count} cuts with losses")
    return 0 if not faults and any(never) else 1


def start_study() -> dict[str, int]:
    """A live study in a database whose files are at rest; personal pages with their people."""
    from django.core.management import call_command  # noqa: PLC0415 (once Django is set up)
    from django.db import connection  # noqa: PLC0415

    from tests.support.factories import launch, make_annotator, make_study, mint_link  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    study = launch(make_study(items=ITEMS, k=K, set_size=SET_SIZE))
    people = {mint_link(me): me.pk for me in (make_annotator(study) for _ in range(PEOPLE))}
    # the last connection that is closed brings the log home
    connection.close()
    return people


def rate_and_cut(
    folder: Path, library: Path, people: dict[str, int], count: int
) -> tuple[list[Cut], Path]:
    from tests.support.raters import Raters  # noqa: PLC0415 (once Django is set up)
    from tests.support.webserver import WebServer  # noqa: PLC0415

    record = folder / "record"
    server = WebServer(os.environ["EVALSITE_DATABASE"], folder)
    server.environment |= {
        "LD_PRELOAD": str(library),
        "EVALSITE_TEST_RECORD": str(record),
        "EVALSITE_TEST_RECORD_FOLDER": str(folder / "data"),
    }
    cuts = []
    with server:
        raters = Raters(server.port, list(people))
        for number in range(1, count + 1):
            raters.diary.wait_for(number * ITEMS * K // (count + 1))
            # first what people know, then what is written: never the other way round
            saves = dict(raters.diary.saves)
            cuts.append(Cut(record.stat().st_size, saves))
        raters.wait()
    return cuts, record


def read_record(record: bytes) -> Iterator[Entry]:
    """Its entries, each with the place in the record at which it ends as `length` of the whole."""
    at = 0
    while at < len(record):
        end = record.index(b"\n", at)
        kind, name, *rest = record[at:end].decode().split()
        at = end + 1
        match kind:
            case "W":
                offset, length = map(int, rest)
                data = record[at : at + length]
                at += length
                yield Entry(kind, name, offset, at, data)
            case "T":
                yield Entry(kind, name, int(rest[0]), at)
            case _:
                yield Entry(kind, name, 0, at, number=rest[0])


def _is_log_sync(entry: Entry) -> bool:
    return entry.kind == "S" and entry.name.endswith("-wal")


def count_losses(
    folder: Path,
    before: Path,
    entries: list[Entry],
    cut: Cut,
    people: dict[str, int],
    is_kept: Callable[[Entry], bool] = lambda entry: False,
) -> int:
    """How many faults the files have that a disk would hold after this cut."""
    after = folder / "after"
    shutil.rmtree(after, ignore_errors=True)
    shutil.copytree(before, after)
    write_files(after, [entry for entry in entries if entry.length <= cut.size], is_kept)
    return len(find_faults(after / DATABASE, cut, people))


def write_files(after: Path, entries: list[Entry], is_kept: Callable[[Entry], bool]) -> None:
    """The files hold what was written before the disk was last waited for, and what is kept."""
    begun: dict[str, int] = {}
    safe: dict[str, int] = {}
    for number, entry in enumerate(entries):
        if entry.kind == "B":
            begun[entry.number] = number
        if entry.kind == "S":
            safe[entry.name] = max(safe.get(entry.name, -1), begun[entry.number])
    for number, entry in enumerate(entries):
        if entry.kind in "BS" or entry.name.endswith("-shm"):
            continue
        if number > safe.get(entry.name, -1) and not is_kept(entry):
            continue
        path = after / entry.name
        with path.open("r+b" if path.exists() else "w+b") as file:
            if entry.kind == "T":
                file.truncate(entry.offset)
            else:
                file.seek(entry.offset)
                file.write(entry.data)


def find_faults(path: Path, cut: Cut, people: dict[str, int]) -> list[str]:
    """What is wrong with this database, or missing of what people had been told is saved."""
    database = sqlite3.connect(path)
    try:
        whole = database.execute("PRAGMA integrity_check").fetchone()[0]
        found = [] if whole == "ok" else [whole]
        for address, scores in cut.saves.items():
            home, rest = address.split("sets/")
            number, place = rest.split("/items/")
            rows = database.execute(
                "SELECT text FROM annotation_rating rating"
                " JOIN annotation_annotation annotation ON annotation.id = rating.annotation_id"
                " JOIN participants_itemset dealt ON dealt.id = annotation.item_set_id"
                " WHERE annotation.participant_id = ? AND dealt.number = ?"
                " AND annotation.place = ?",
                (people[home], int(number), int(place.strip("/"))),
            )
            stored = sorted(value for (value,) in rows)
            if stored != sorted(scores):
                found.append(f"{rest} holds {stored}, not {scores}")
    except sqlite3.DatabaseError as error:
        return [str(error)]
    finally:
        database.close()
    return found


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
