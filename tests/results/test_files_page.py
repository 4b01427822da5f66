"""The pages of Files: what is on them, what they offer to whom, and that all of it opens."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle import job as packing
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.job import start_packing
from evalsite.data.bundle.public import PageOptions
from evalsite.data.files.file_counts import store_counts
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.schema import Instrument
from evalsite.results.report.downloads import FILES
from evalsite.studies.models import Study
from tests.data.files.test_export_simple import make_rated
from tests.site.test_staff_pages import member
from tests.support.browsing import is_watched
from tests.support.exports import annotate, main_items
from tests.support.factories import launch, make_participant, make_study
from tests.support.instruments import make_built_study, read_gallery
from tests.support.planned import ONE_POINT, add_person, make_planned_study
from tests.support.reports import keep_report

pytestmark = pytest.mark.django_db
# RESULTS.md allows 475; measured by the words of a page, without its header
MOST_WORDS = 475 * 1.2
ROLES = ("viewer", "editor", "owner")
LINK = re.compile(r'(?:href|action|formaction)="(/admin/studies/[^"]+)"')
POSTED = re.compile(r'formaction="([^"]+)"')


@pytest.fixture(autouse=True)
def data(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


def url(name: str, study: Study, *more: Any) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *more])


def make_answered() -> Study:
    study = launch(make_study(items=2))
    for item in main_items(study):
        annotate(study, make_participant(study), item)
    report = keep_report(study)
    report.outputs.write_text("item,mean\r\n")
    store_counts(study)
    return study


def read_main(page: str) -> str:
    return page.partition("<main")[2].partition("</main>")[0]


def count_words(page: str) -> int:
    text = re.sub(r"<script.*?</script>|<input[^>]*>|<[^>]+>", " ", read_main(page), flags=re.S)
    return len(unescape(text).split())


# --- what is shown ------------------------------------------------------------------------------


def test_three_cards_name_the_files_that_their_buttons_give() -> None:
    study = make_answered()
    client = member(study, "owner")

    page = client.get(url("study-export", study)).text

    assert re.findall(r"<li><h2>(.*?)</h2>", page) == ["Ratings", "Report", "Bundle"]
    sent = client.post(url("export-file", study, "ratings_simple"))
    opened = client.get(url("report-file", study, "report.html"))
    for answer in (sent, opened):
        name = answer["Content-Disposition"].partition('filename="')[2].rstrip('"')
        assert f"<code>{name}</code>" in page
    assert "<br>6 rows" in page


def test_answers_that_came_after_the_count_are_not_said_to_be_0_rows() -> None:
    study = launch(make_study(items=1))
    store_counts(study)
    annotate(study, make_participant(study), main_items(study)[0])

    page = member(study, "owner").get(url("study-export", study)).text

    assert "<br>not counted yet" in page


def test_the_last_bundle_and_public_page_are_offered_with_size_and_time() -> None:
    study = make_answered()
    client = member(study, "owner")
    job = run_job(start_packing(study, Contents(), by=None))

    page = client.get(url("study-export", study))

    made = page.context["archives"]["bundle"]
    assert made["job"] == job
    assert made["name"] == "restaurant-descriptions_bundle.zip"
    assert f'action="{url("export-bundle-file", study, job.pk)}"' in page.text
    assert "public" not in page.context["archives"]
    packing.find_file(job).unlink()  # type: ignore[union-attr]
    assert client.get(url("study-export", study)).context["archives"] == {}


@pytest.mark.parametrize("is_page", [False, True])
def test_a_job_is_followed_and_one_that_failed_says_why_and_can_start_again(is_page: bool) -> None:
    study = make_answered()
    client = member(study, "owner")
    job = start_packing(study, Contents(), by=None, page=PageOptions() if is_page else None)

    working = client.get(url("study-export", study))
    Job.objects.filter(pk=job.pk).update(state="failed", message="The disk is full.")
    failed = client.get(url("study-export", study))

    title = "Creating the public page" if is_page else "Creating the bundle"
    assert is_watched(working)
    assert title in working.text
    assert not is_watched(failed)
    assert "The disk is full." in failed.text
    assert url("job-restart", study, job.pk) in failed.text


def test_who_may_not_see_identities_is_not_offered_a_bundle_with_entry_answers() -> None:
    study = make_answered()
    run_job(start_packing(study, Contents(has_entry_answers=True), by=None))

    for name in ("study-export", "files-all"):
        offered = {
            role: "bundle" in member(study, role).get(url(name, study)).context["archives"]
            for role in ("viewer", "owner")
        }
        assert offered == {"viewer": False, "owner": True}


def test_all_files_counts_the_rows_and_each_says_what_it_is() -> None:
    content = next(one for one in read_gallery() if one["key"] == "adequacy_fluency")
    built = make_built_study(content)
    for study in (make_answered(), built):
        page = member(study, "owner").get(url("files-all", study)).text

        rows = re.findall(r'<li><h3 class="mono">(.*?)</h3><p>(.*?)</p>', page, flags=re.S)
        names = [name for names, _ in rows for name in names.replace("<wbr>", "").split(", ")]
        assert f"<h1>All {len(names)} files</h1>" in page
        assert len(names) == len(set(names))
        assert all(len(purpose.split()) > 2 for _, purpose in rows)
    assert "instrument" in names


@pytest.mark.parametrize("name", ["study-export", "files-all"])
def test_pages_stay_within_their_words(name: str) -> None:
    study = make_answered()
    run_job(start_packing(study, Contents(), by=None))

    page = member(study, "owner").get(url(name, study)).text

    assert 100 < count_words(page) <= MOST_WORDS


@pytest.mark.one_case
@pytest.mark.parametrize("config", installed_protocols().values(), ids=lambda config: config.key)
def test_the_snippet_reads_the_file_as_it_is_downloaded(
    make_study: Callable[..., Any], config: Instrument, tmp_path: Path
) -> None:
    study = make_rated(make_study, config)
    client = member(study, "owner")
    snippet = client.get(url("study-export", study)).context["snippet"]
    sent = client.post(url("export-file", study, "ratings_simple"))
    name = sent["Content-Disposition"].partition('filename="')[2].rstrip('"')
    (tmp_path / name).write_bytes(sent.getvalue())

    *lines, last = snippet.splitlines()
    script = "\n".join([*lines, f"answer = {last}", "print(answer.notna().sum(), len(answer))"])
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=60, capture_output=True
    )

    known, rows = map(int, run.stdout.split())
    assert known == rows > 0


# --- what is offered opens ----------------------------------------------------------------------


def list_offered(page: str) -> Iterator[tuple[str, str]]:
    """Yield the method and the address of each file and page that is offered."""
    posted = set(POSTED.findall(page)) | set(
        re.findall(r'<form class="acts" method="post" action="([^"]+)"', page)
    )
    for address in dict.fromkeys(LINK.findall(read_main(page))):
        yield ("post" if address in posted else "get"), unescape(address)


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("is_hidden", [False, True], ids=["shown", "hidden"])
def test_everything_that_is_offered_opens(role: str, is_hidden: bool) -> None:
    if is_hidden:
        study = make_planned_study(rules=[ONE_POINT])
        add_person(study)
        keep_report(study)
    else:
        study = make_answered()
        contents = Contents(has_entry_answers=False)
        run_job(start_packing(study, contents, by=None))
    client = member(study, role)

    pages = [client.get(url(name, study), follow=True) for name in ("study-export", "files-all")]
    offered = {offer for page in pages for offer in list_offered(page.text)}
    answers = {(method, address): getattr(client, method)(address) for method, address in offered}

    reveal = f"{url('study-results', study)}#reveal"
    assert {offer for offer, answer in answers.items() if answer.status_code != 200} == set()
    files = [address for method, address in offered if method == "post"]
    assert len(files) >= (5 if is_hidden else 15)
    addresses = {address for _, address in offered}
    # while hidden, the report and the files of the others lead to the form
    assert all((url("report-file", study, name) in addresses) is not is_hidden for name in FILES)
    refused = [
        client.get(url("report-file", study, "report.html")),
        client.post(url("export-file", study, "ratings_simple")),
        client.post(url("export-bundle", study), {"contents": "data"}),
    ]
    assert all((answer.get("Location") == reveal) is is_hidden for answer in refused)
