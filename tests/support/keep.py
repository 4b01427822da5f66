"""What the demo studies show and export, as files: `python -m tests.support.keep FOLDER`.

Before a change that should change nothing, and again after it; `diff -r` of the two folders shows
what it changed. Seeds are fixed, the clock stands still, and what is random elsewhere (names of
rows, pseudonyms, links) comes from a fixed sequence for each length.
"""

import argparse
import io
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from zipfile import ZipFile, is_zipfile

MOMENT = datetime(2026, 9, 1, 9, 30, tzinfo=UTC)
# addresses of the same kind in a study, such as pages of people
MOST_OF_A_KIND = 6
# simulated people whose pages are kept, in each study
PEOPLE = 2
# forms and links that lead to no page of their own
LEFT_OUT = re.compile(r"/(?:logout|password|drawing)\b|^/account/")


class FixedBytes:
    """What stands in for the system's random bytes: a sequence for each length."""

    def __init__(self) -> None:
        self.calls: Counter[int] = Counter()

    def __call__(self, size: int) -> bytes:
        self.calls[size] += 1
        numbers = range(-(-size // 32))
        seed = f"{size}/{self.calls[size]}"
        return b"".join(sha256(f"{seed}/{n}".encode()).digest() for n in numbers)[:size]


class PageText(HTMLParser):
    """The words of a page, one line for each piece of text, and where its links lead."""

    WORDED = ("alt", "aria-label", "placeholder", "title", "value")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.links: list[str] = []
        self.is_code = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.is_code = tag in ("script", "style")
        if tag == "a":
            self.links.append(values.get("href", ""))
        if values.get("type") != "hidden":
            self.lines += [
                f"[{name}] {values[name]}" for name in self.WORDED if values.get(name, "").strip()
            ]

    def handle_endtag(self, tag: str) -> None:
        self.is_code = False

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and not self.is_code:
            self.lines.append(text)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def write(path: Path, content: bytes) -> None:
    """Write a file; of an archive its members, as the bytes of archives depend on zlib."""
    if is_zipfile(io.BytesIO(content)):
        with ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                write(path / name, archive.read(name))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def name_folder(study: Any) -> str:
    return study.protocol or study.instrument.key or "instrument"


def keep_participants_pages(folder: Path) -> None:
    """Let the first simulated people of each study leave the text of each page they see."""
    from django.test import Client
    from django.urls import resolve

    from evalsite.fieldwork import simulation
    from evalsite.studies.models import Study

    visitors: Counter[str] = Counter()

    class Recorder(Client):
        def __init__(self, **defaults: Any) -> None:
            super().__init__(**defaults)
            self.folder: Path | None = None
            self.pages = 0

        def post(self, path: str, *args: Any, **options: Any) -> Any:
            match = resolve(urlsplit(path).path)
            if match.url_name == "study-join":
                name = name_folder(Study.objects.get(pk=match.kwargs["study_id"]))
                visitors[name] += 1
                if visitors[name] <= PEOPLE:
                    self.folder = folder / name / "participants" / str(visitors[name])
            return super().post(path, *args, **options)

        def get(self, path: str, *args: Any, **options: Any) -> Any:
            page = super().get(path, *args, **options)
            if self.folder and options.get("follow"):
                self.pages += 1
                place = page.redirect_chain[-1][0] if page.redirect_chain else path
                name = resolve(urlsplit(place).path).url_name
                text = PageText(page.content.decode()).text
                write(self.folder / f"{self.pages:03}-{name}.txt", text.encode())
            return page

    simulation.Client = Recorder  # type: ignore[misc]


def keep_files(study: Any, folder: Path) -> None:
    """Write each file that can be downloaded, the bundles, and compute the report."""
    from evalsite.data.bundle.format import Contents
    from evalsite.data.bundle.write import write_bundle
    from evalsite.data.files.columns import list_downloads_of
    from evalsite.data.files.services import Choice, write_file
    from evalsite.results.report.computation import compute_report

    compute_report(study)
    for name in list_downloads_of(study):
        for choice in (Choice(file=name), Choice(file=name, is_workbook=True)):
            with io.BytesIO() as target:
                write_file(study, choice, target)
                write(folder / "files" / choice.file_name, target.getvalue())
    bundles = {
        "bundle": Contents(has_free_text=True, has_entry_answers=True),
        "bundle-design": Contents(has_data=False),
    }
    for name, contents in bundles.items():
        with io.BytesIO() as target:
            write_bundle(study.pk, contents, target)
            write(folder / name, target.getvalue())


def keep_staff_pages(client: Any, start: str, folder: Path, names: dict[str, str]) -> int:
    """Follow every link from this page on, and keep what each address answers; count them."""
    from django.urls import Resolver404, resolve

    kinds: Counter[tuple[str, str, bool]] = Counter()
    seen, waiting = {start}, [start]
    pages = 0
    while waiting:
        address = waiting.pop(0)
        try:
            match = resolve(urlsplit(address).path)
        except Resolver404:
            continue
        study = names.get(str(match.kwargs.get("study_id", "")), "site")
        has_query = bool(urlsplit(address).query)
        kind = (study, match.url_name or "", has_query)
        kinds[kind] += 1
        if kinds[kind] > MOST_OF_A_KIND:
            continue
        answer = client.get(address, follow=True)
        content, pages = answer.getvalue(), pages + 1
        name = f"{match.url_name}{'-query' if has_query else ''}-{kinds[kind]}"
        if "html" in answer.headers.get("Content-Type", ""):
            page = PageText(content.decode())
            content = f"{answer.status_code}\n{page.text}".encode()
            for link in page.links:
                target = urljoin(address, link).split("#")[0]
                is_ours = target.startswith("/") and not target.startswith("//")
                if is_ours and target not in seen and not LEFT_OUT.search(target):
                    seen.add(target)
                    waiting.append(target)
        write(folder / study / "pages" / name, content)
    return pages


def keep(folder: Path) -> None:
    """Fill the demo studies and write what they show and export."""
    from django.contrib.auth.models import User
    from django.test import Client
    from django.urls import reverse

    from evalsite.core.accounts.researchers import find_or_make_first
    from evalsite.data.demo import add_demo_crowds, make_demo_studies
    from evalsite.studies.models import Study

    keep_participants_pages(folder)
    user, _ = find_or_make_first()
    failures = make_demo_studies(by=user)[1] + add_demo_crowds()[1]
    if failures:
        raise SystemExit(f"A demo study couldn't be made: {failures}")
    studies = list(Study.objects.select_related("instrument").order_by("created_at", "pk"))
    for study in studies:
        keep_files(study, folder / name_folder(study))
    names = {str(study.pk): name_folder(study) for study in studies}
    client = Client(HTTP_HOST="localhost")
    client.force_login(User.objects.get(pk=user.pk))
    pages = keep_staff_pages(client, reverse("admin:index"), folder, names)
    files = sum(path.is_file() for path in folder.rglob("*"))
    sys.stdout.write(f"{len(studies)} studies, {pages} staff pages, {files} files in {folder}\n")


@contextmanager
def fixed_site() -> Iterator[None]:
    """Set up an empty site on SQLite, with a fixed clock and fixed random bytes."""
    os.urandom = random._urandom = FixedBytes()  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory(prefix="evalsite-keep-") as data:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "EVALSITE_DATA_DIR": data,
            "EVALSITE_DATABASE": f"sqlite:///{data}/keep.sqlite3",
            "OPENBLAS_NUM_THREADS": "1",
        }
        (Path(data) / "static").mkdir()
        import django
        import time_machine

        with time_machine.travel(MOMENT, tick=False):
            django.setup()
            from django.core.management import call_command

            call_command("migrate", verbosity=0)
            yield


def keep_bundles(folder: Path) -> None:
    """Pack the studies of `kept_bundles.py` in today's format."""
    from evalsite.data.bundle.format import FORMAT_VERSION
    from tests.support.bundles import close, pack
    from tests.support.kept_bundles import MAKERS

    folder.mkdir(parents=True, exist_ok=True)
    for groups, make in MAKERS.items():
        path = folder / f"format-{FORMAT_VERSION}-{groups}.zip"
        path.write_bytes(pack(close(make()), has_free_text=True))
        sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.keep")
    parser.add_argument("folder", type=Path, help="a new or empty folder")
    parser.add_argument("--bundles", action="store_true", help="write small bundles instead")
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} isn't empty. Name a new folder.")
    with fixed_site():
        (keep_bundles if chosen.bundles else keep)(folder)


if __name__ == "__main__":
    main()
