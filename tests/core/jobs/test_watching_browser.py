"""Pages that follow a job: in place, so that nobody loses anything; without scripts again."""

import re
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import report_progress, run_job
from evalsite.data.files.jobs import start_export
from evalsite.data.files.services import Choice
from evalsite.fieldwork.launch import launch_study
from evalsite.results.report.computation import start_analysis
from evalsite.studies.models import Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults, find_faults_in_turn
from tests.support.exports import annotate, main_items
from tests.support.factories import make_participant, make_study, make_user
from tests.support.queues import run_waiting_jobs
from tests.support.reports import keep_report, make_content

pytestmark = pytest.mark.django_db(transaction=True)

STATUS = "p.vh[role=status]"
# how long a page waits before it asks again, at best and during an outage
PAUSE, LONGEST_PAUSE = 2_000, 30_000


@pytest.fixture(autouse=True)
def _own_folder(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path


def open_export(page: Page, base: Any) -> tuple[Study, Job]:
    """The page of exports, on which a job waits for its worker."""
    user = make_user(is_superuser=True)
    sign_in(page, base, user)
    study = make_study(items=2, by=user)
    for item in main_items(study):
        annotate(study, make_participant(study), item)
    job = start_export(study, Choice(file="annotations"), by=user)
    page.goto(f"{base}{reverse('admin:files-all', args=[study.pk])}")
    expect(page.locator(".ex-job")).to_contain_text("starts in a moment")
    return study, job


def begin(job: Job, done: int) -> None:
    """The job is at work on the hundredth row of four hundred, or on a later one."""
    Job.objects.filter(pk=job.pk).update(state="running")
    report_progress(job, done, 400)


def finish(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(state="waiting")
    assert run_job(job).state == "done"


def note_changes(page: Page) -> None:
    """From now on the page counts what is changed in its main part."""
    page.evaluate(
        "window.changes = 0; new MutationObserver(all => { window.changes += all.length; })"
        ".observe(document.querySelector('main'), {subtree: true, childList: true,"
        " attributes: true, characterData: true})"
    )


def focused(page: Page) -> str:
    text: str = page.evaluate("document.activeElement.textContent")
    return text


def test_page_follows_a_job_in_place_and_says_when_it_is_done(page: Page, live_server: Any) -> None:
    width = 360
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    watch = Watch(page)
    _, job = open_export(page, live_server)
    page.evaluate("window.isStill = true")
    page.click("text=What to include")
    page.get_by_label("Saved from").fill("2026-01-02")
    page.focus("text=Read the codebook")
    scrolled = page.evaluate("scrollY")

    begin(job, 100)
    expect(page.locator(".ex-job")).to_contain_text("100 of 400 rows")
    expect(page.locator(STATUS)).to_be_empty()
    faults = find_faults(page)
    finish(job)
    expect(page.locator("#large ~ form")).to_contain_text("annotations.csv")

    assert page.evaluate("window.isStill")
    assert focused(page) == "Read the codebook"
    assert page.get_by_label("Saved from").input_value() == "2026-01-02"
    assert abs(page.evaluate("scrollY") - scrolled) < 400
    expect(page.locator(STATUS)).to_have_text("Writing annotations.csv: done.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert faults + find_faults_in_turn(page) == []
    assert watch.found == []


@pytest.mark.torture
def test_what_came_with_the_finished_job_works(page: Page, live_server: Any) -> None:
    _, job = open_export(page, live_server)

    finish(job)
    with page.expect_download() as downloading:
        page.click("[aria-label='Download annotations.csv']")

    assert downloading.value.path().read_bytes().startswith(b"study,")


@pytest.mark.torture
def test_focus_on_what_is_gone_goes_to_the_heading_and_to_no_other_control(
    page: Page, live_server: Any
) -> None:
    _, job = open_export(page, live_server)
    page.focus("text=Look again")

    finish(job)
    expect(page.locator(STATUS)).to_have_text("Writing annotations.csv: done.")

    assert focused(page) == "Large files"


@pytest.mark.torture
def test_details_that_are_open_stay_open_when_results_come(page: Page, live_server: Any) -> None:
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    study = make_study(items=1, by=user)
    annotate(study, make_participant(study), main_items(study)[0])
    report = keep_report(study)
    job = start_analysis(study=study, by=user)
    page.goto(f"{live_server}{reverse('admin:study-results', args=[study.pk])}")
    how = page.locator("details").last
    how.locator("summary").click()

    report.content["kept"] = make_content(("alpha", "gamma"))
    report.save()
    Job.objects.filter(pk=job.pk).update(state="done")
    expect(page.locator(STATUS)).to_have_text("Computing the results: done.")

    expect(page.locator("main")).to_contain_text("times as high as gamma")
    assert how.evaluate("one => one.open && one.contains(document.activeElement)")


@pytest.mark.torture
def test_page_that_stands_still_is_not_touched(page: Page, live_server: Any) -> None:
    page.clock.install()
    open_export(page, live_server)
    note_changes(page)

    for _ in range(3):
        with page.expect_response("**/files/all/"):
            page.clock.run_for(PAUSE)

    assert page.evaluate("window.changes") == 0


@pytest.mark.torture
def test_job_that_stopped_says_so_by_its_alert_and_is_not_called_done(
    page: Page, live_server: Any
) -> None:
    _, job = open_export(page, live_server)

    Job.objects.filter(pk=job.pk).update(state="failed", message="The disk is full.")

    expect(page.get_by_role("alert")).to_contain_text("The disk is full.")
    expect(page.locator(STATUS)).to_be_empty()


@pytest.mark.torture
def test_page_changed_by_a_translator_is_followed_all_the_same(
    page: Page, live_server: Any
) -> None:
    watch = Watch(page)
    _, job = open_export(page, live_server)
    page.evaluate("document.querySelector('.ex-job p').append(document.createElement('font'))")

    begin(job, 100)
    expect(page.locator(".ex-job")).to_contain_text("100 of 400 rows")
    finish(job)

    expect(page.locator("[aria-label='Download annotations.csv']")).to_be_visible()
    assert watch.found == []


@pytest.mark.torture
def test_message_stays_while_the_page_follows_a_job(page: Page, live_server: Any) -> None:
    _, job = open_export(page, live_server)
    page.evaluate("document.querySelector('[name=since][type=hidden]').value = 'no day'")
    page.click("[aria-label='items: CSV']")
    said = page.locator(".messagelist")
    expect(said).to_contain_text("can't be read")

    finish(job)

    expect(page.locator(STATUS)).to_have_text("Writing annotations.csv: done.")
    expect(said).to_contain_text("can't be read")


@pytest.mark.torture
def test_outage_is_survived_with_longer_pauses(page: Page, live_server: Any) -> None:
    page.clock.install()
    _, job = open_export(page, live_server)
    page.evaluate(
        "() => { const wait = window.setTimeout, told = document.body.dataset; told.pauses = '';"
        "window.setTimeout = (work, pause) => { told.pauses += `${pause} `;"
        " return wait(work, pause); }; }"
    )
    told = ""

    page.route("**/files/all/", lambda route: route.fulfill(status=503, body="<p>away</p>"))
    for pause in (4_000, 8_000, 16_000, LONGEST_PAUSE, LONGEST_PAUSE):
        page.clock.run_for(LONGEST_PAUSE)
        told += f"{pause} "
        expect(page.locator("body")).to_have_attribute(
            "data-pauses", re.compile(f"^(2000 )*{told}")
        )
    page.unroute("**/files/all/")
    finish(job)
    page.clock.run_for(LONGEST_PAUSE)

    expect(page.locator("[aria-label='Download annotations.csv']")).to_be_visible()


@pytest.mark.torture
def test_launched_study_leads_to_its_invitations(page: Page, live_server: Any) -> None:
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    study = make_study(items=2, by=user)
    launch_study(study=study, by=user)
    page.goto(f"{live_server}{reverse('admin:study-launch', args=[study.pk])}")

    run_waiting_jobs()

    page.wait_for_url(f"**{reverse('admin:study-invite', args=[study.pk])}")


@pytest.mark.torture
def test_who_is_signed_out_is_led_to_the_way_in(page: Page, live_server: Any) -> None:
    open_export(page, live_server)

    page.context.clear_cookies()

    page.wait_for_url("**/login/?next=**")


@pytest.mark.torture
def test_without_scripts_the_page_comes_anew_by_itself(browser: Browser, live_server: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    _, job = open_export(page, live_server)

    finish(job)

    expect(page.locator("[aria-label='Download annotations.csv']")).to_be_visible()
    context.close()
