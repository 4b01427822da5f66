"""The public page holds what its options say, nothing of raters, and works from a folder."""

import csv
import io
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser

from evalsite.command_line.main import run_command
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.data_package import Author, read_author
from evalsite.data.bundle.format import REPORT, STUDY
from evalsite.data.bundle.job import find_file
from evalsite.data.bundle.public import PageOptions, write_public_page
from evalsite.data.bundle.read import BadBundle
from evalsite.handout.models import Annotation
from evalsite.people.models import Participant
from evalsite.results.report.computation import compute_report
from evalsite.studies.models import Study, System
from tests.support.bundles import (
    CODE,
    FEEDBACK,
    NOTE,
    STAFF,
    WORKER,
    change,
    close,
    examine,
    make_full_study,
    move_data,
    pack,
    read_files,
    zip_files,
)
from tests.support.stored_reports import NAMES, TITLE

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("checks_here"),
    pytest.mark.slow,
]
ALL = PageOptions(has_outputs=True, has_comments=True)
# what a person wrote, and what stands there instead
MAIL, NUMBER, MASKED = "rater@mail.example", "0151 2345678", "[e-mail], [number]"
AUTHORS = [Author(name="Ja{ne} & O'Mori", orcid="0000-0002-1825-0097"), Author(name="نظام")]


def make_shared_study() -> Study:
    """A closed study with hostile names and a report, of which half of the people don't share."""
    study = close(make_full_study("magnitude", asks_to_share=True, title=TITLE))
    for system, name in zip(System.objects.filter(study=study).order_by("pk"), NAMES, strict=False):
        System.objects.filter(pk=system.pk).update(name=name)
    agreed = study.participants.filter(may_share__isnull=False)
    counted = Count("annotations", filter=Q(annotations__status="counted"))
    for number, person in enumerate(agreed.annotate(counted=counted).order_by("-counted", "pk")):
        Participant.objects.filter(pk=person.pk).update(may_share=number % 2 == 0)
    shared = study.annotations.filter(participant__may_share=True).exclude(note="")
    Annotation.objects.filter(pk=shared.first().pk).update(note=f"{NOTE} {MAIL}, {NUMBER}")
    compute_report(study)
    return study


@cache
def make_bundle() -> tuple[bytes, tuple[str, ...], str]:
    """The team's bundle with everything, who doesn't share, and an output: made once."""
    with transaction.atomic():
        study = make_shared_study()
        people = study.participants.filter(may_share=False).values_list("pseudonym", flat=True)
        item = study.items.main().order_by("pk")[0]
        text = max(item.outputs.values_list("text", flat=True), key=len)
        made = pack(study, has_free_text=True), tuple(people), text
        transaction.set_rollback(True)
    return made


def publish(folder: Path, options: PageOptions, bundle: bytes | None = None) -> dict[str, bytes]:
    """Write the page; return its files, those of its bundle too."""
    write_public_page(io.BytesIO(bundle or make_bundle()[0]), options, folder / "page")
    files = {
        str(path.relative_to(folder / "page")): path.read_bytes()
        for path in (folder / "page").rglob("*")
        if path.is_file()
    }
    for archive in [name for name in files if name.endswith(".zip")]:
        files |= {f"{archive}/{name}": data for name, data in read_files(files[archive]).items()}
    return files


def find_words(files: dict[str, bytes], *words: str) -> list[tuple[str, str]]:
    """Where a word is in the files, as it is or as HTML or JSON write it."""
    return [
        (name, word)
        for name, data in files.items()
        for word in words
        if word.encode() in data or json.dumps(word)[1:-1].encode() in data
    ]


@pytest.mark.parametrize("has_comments", [True, False])
def test_no_file_holds_a_name_an_id_or_a_private_answer_of_a_rater(
    tmp_path: Path, has_comments: bool
) -> None:
    _, people, _ = make_bundle()

    files = publish(tmp_path, PageOptions(has_outputs=True, has_comments=has_comments))

    assert people
    assert find_words(files, STAFF, WORKER, CODE, FEEDBACK, MAIL, NUMBER, *people) == []
    # a comment on an item is published only if that was chosen
    pages = {name: data for name, data in files.items() if name.startswith("read")}
    assert bool(find_words(pages, NOTE)) is has_comments
    assert bool(find_words(files, NOTE)) is has_comments
    masked = {name.rpartition("/")[2].rpartition("_")[2] for name, _ in find_words(files, MASKED)}
    with_notes = {"comments.csv", "annotations.csv", "annotations.jsonl"}
    assert masked & with_notes == (with_notes if has_comments else set())


def test_items_have_the_numbers_of_the_files_beside_them(tmp_path: Path) -> None:
    files = publish(tmp_path, ALL)

    pages = b"".join(data for name, data in files.items() if name.startswith("read")).decode()
    (items,) = (data for name, data in files.items() if name.endswith("_items.csv"))
    rows = csv.DictReader(io.StringIO(items.decode("utf-8-sig")))
    numbers = {row["item_no"] for row in rows if row["kind"] == "main"}
    assert set(re.findall(r">Item (\d+)<", pages)) == numbers


def test_outputs_that_may_not_be_published_are_in_no_file(tmp_path: Path) -> None:
    _, _, text = make_bundle()

    files = publish(tmp_path, PageOptions())

    assert not [name for name in files if name.startswith("read") or "items" in name]
    assert "bundle.zip" not in files
    words = max(text.split("\n"), key=len)
    assert len(words) > 20
    assert find_words(files, words) == []


def test_its_bundle_is_of_those_who_share_and_is_verified(tmp_path: Path) -> None:
    _, people, _ = make_bundle()

    files = publish(tmp_path, ALL)

    report = examine(files["bundle.zip"])
    assert report.faults == []
    assert "Every figure of its report, computed again." in report.checks
    about, kept = (json.loads(files[f"bundle.zip/{name}"]) for name in (STUDY, REPORT))
    assert about["left_out"]["participants"] >= len(people)
    left_out = about["left_out"]["participants"]
    assert kept["basis"]["not_sharing"] == left_out
    assert f"{left_out} people didn’t agree to share" in files["index.html"].decode()


class Parsed(HTMLParser):
    """What a page asks for and holds."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: set[str] = set()
        self.handlers: set[str] = set()
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.addresses.add(value)
            if name.startswith("on") or name == "style":
                self.handlers.add(name)


def test_pages_are_small_escape_names_and_lead_to_files_that_are_there(tmp_path: Path) -> None:
    files = publish(tmp_path, PageOptions(has_outputs=True, has_comments=True, authors=AUTHORS))

    pages = {name: data for name, data in files.items() if name.endswith(".html")}
    own = {name: data for name, data in files.items() if not name.startswith(("data/", "bundle"))}
    assert sum(map(len, own.values())) <= 300_000
    assert set(pages) >= {"index.html", "report.html", "further.html", "read.html"}
    for name, page in pages.items():
        if "/" in name:
            continue
        parsed = Parsed(page)
        assert not parsed.tags & {"script", "style", "img", "iframe", "form"}, name
        assert not parsed.handlers, name
        assert b"alert(1)</script>" not in page
        for address in parsed.addresses:
            path, _, anchor = address.partition("#")
            if path.startswith(("https://creativecommons.org/", "data:,")):
                continue
            assert not path or path in files, (name, address)
            if anchor:
                target = files[path or name].decode()
                assert f'id="{anchor}"' in target, (name, address)
    citation = yaml.safe_load(files["CITATION.cff"])
    assert citation["authors"][0]["family-names"] == "O'Mori"
    assert citation["authors"][1]["name"] == "نظام"
    assert citation["identifiers"][0]["value"].startswith("sha256:")
    bibtex = files["index.html"].decode().partition("@misc")[2].partition("</pre>")[0]
    assert "O&#x27;Mori, Ja\\{ne\\} \\&amp; and {نظام}" in bibtex
    assert "\\end{document}" not in bibtex


def test_page_that_search_engines_leave_out_says_so_on_every_page(tmp_path: Path) -> None:
    files = publish(tmp_path, PageOptions(has_outputs=True, is_indexed=False))

    pages = [data for name, data in files.items() if name.endswith(".html") and "/" not in name]
    assert all(b'content="noindex, nofollow"' in page for page in pages)


@pytest.mark.torture
def test_page_opens_from_the_file_system_without_errors(tmp_path: Path, browser: Browser) -> None:
    files = publish(tmp_path, ALL)
    faults: list[str] = []
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda request: faults.append(request.url))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:")) else faults.append(request.url)
        ),
    )

    for name in files:
        if name.endswith(".html") and "/" not in name:
            page.goto(f"file://{tmp_path}/page/{name}")
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                faults.append(f"{name} is too wide")

    context.close()
    assert faults == []


def reopen(about: dict[str, Any]) -> None:
    about["study"]["state"] = "live"


def test_only_a_closed_study_with_a_report_has_a_page(tmp_path: Path) -> None:
    bundle, _, _ = make_bundle()
    files = {name: data for name, data in read_files(bundle).items() if name != REPORT}

    with pytest.raises(BadBundle) as still_open:
        publish(tmp_path / "1", ALL, change(bundle, STUDY, reopen))
    with pytest.raises(BadBundle) as without_report:
        publish(tmp_path / "2", ALL, zip_files(files))

    assert still_open.value.fault.code == "not_closed"
    assert without_report.value.fault.code == "no_report"


def test_bundle_with_a_changed_figure_has_no_page(tmp_path: Path) -> None:
    shared = publish(tmp_path / "1", ALL)["bundle.zip"]

    def raise_figure(kept: dict[str, Any]) -> None:
        kept["figures"][0]["value"] += 1

    with pytest.raises(ValidationError) as refused:
        publish(tmp_path / "2", ALL, change(shared, REPORT, raise_figure))

    assert refused.value.code == "bundle_unsound"
    assert not (tmp_path / "2" / "page").exists()


def test_command_writes_the_page_and_leaves_a_full_folder_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bundle.zip").write_bytes(make_bundle()[0])
    words = ["page", str(tmp_path / "bundle.zip"), "--out", str(tmp_path / "public")]

    assert run_command([*words, "--author", "Jane Mori", "--no-index"]) == 0
    assert run_command(words) == 3

    assert (tmp_path / "public" / "index.html").stat().st_mode & 0o777 == 0o644
    assert "isn't an empty folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "author"),
    [
        ("Jane  Mori", Author(name="Jane Mori")),
        ("Jane Mori 0000-0002-1825-009X", Author(name="Jane Mori", orcid="0000-0002-1825-009X")),
    ],
)
def test_author_is_a_name_and_an_orcid(line: str, author: Author) -> None:
    assert read_author(line) == author


def test_author_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="ORCID"):
        read_author("   ")


def test_button_in_files_makes_the_folder(
    staff_client: Client, researcher: Any, settings: Any, tmp_path: Path
) -> None:
    move_data(settings, tmp_path / "data")
    study = make_shared_study()
    study.memberships.create(user=researcher, role="owner")
    address = reverse("admin:export-public", args=[study.pk])

    files_page = staff_client.get(reverse("admin:study-export", args=[study.pk])).text
    refused = staff_client.post(address, {"title": "", "licence": "CC0-1.0"})
    answer = staff_client.post(
        address, {"title": "Ours", "authors": "Jane Mori", "licence": "CC0-1.0", "is_indexed": "on"}
    )
    run_job(Job.objects.get(kind="bundle"))

    assert address in files_page
    assert refused.context["form"].errors.keys() == {"title"}
    assert answer.url == f"{reverse('admin:study-export', args=[study.pk])}#public"
    job = Job.objects.get(kind="bundle")
    path = find_file(job)
    assert path is not None, job.message
    files = read_files(path.read_bytes())
    (index,) = [data for name, data in files.items() if name.endswith("/index.html")]
    assert b"Ours" in index
    assert b"Jane Mori" in index


def test_open_study_has_no_page_to_make(staff_client: Client, researcher: Any) -> None:
    study = make_full_study("magnitude")
    study.memberships.create(user=researcher, role="owner")
    address = reverse("admin:export-public", args=[study.pk])

    page = staff_client.post(address, {"title": "Ours"})

    assert "Only a closed study" in page.text
    assert not Job.objects.filter(kind="bundle").exists()


def test_simulated_answers_are_named_on_every_page_and_in_names_of_files(tmp_path: Path) -> None:
    files = publish(tmp_path, ALL)

    pages = [data for name, data in files.items() if name.endswith(".html") and "/" not in name]
    assert all(b'<p class="note">' in page and b"are simulated" in page for page in pages)
    names = {name.rpartition("_simulated_")[2] for name in files if "_simulated_" in name}
    assert "ratings_simple.csv" in names
    assert "items.csv" not in names


@pytest.mark.parametrize("has_outputs", [False, True])
def test_dataset_is_in_the_data_where_outputs_are_published(
    tmp_path: Path, *, has_outputs: bool
) -> None:
    options = PageOptions(has_outputs=has_outputs, authors=AUTHORS, licence="CC0-1.0")
    files = publish(tmp_path, options)

    (name,) = [name for name in files if name.endswith("_dataset.zip")] or [""]
    assert bool(name) is has_outputs
    assert (f'href="{name}"'.encode() in files["index.html"]) is has_outputs
    if has_outputs:
        folder = f"{name}/{Path(name).stem}"
        card = files[f"{folder}/README.md"].decode()
        package = json.loads(files[f"{folder}/datapackage.json"])
        head = yaml.safe_load(card.split("\n---\n")[0])
        assert head["license"] == "cc0-1.0"
        assert [author["title"] for author in package["contributors"]] == [
            author.name for author in AUTHORS
        ]
        left_out = json.loads(files["bundle.zip/study.json"])["left_out"]["participants"]
        assert re.search(rf"\b{left_out} (person|people) ", card)
