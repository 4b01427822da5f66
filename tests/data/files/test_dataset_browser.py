"""The pages of datasets and scores in a browser: accessible, no wider than a phone, and working."""

import os
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.files.file_counts import store_counts
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn, follow
from tests.support.bundles import move_data
from tests.support.datasets import GIVING_OUT, import_from_tool, rate_as_in_the_example
from tests.support.factories import make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.torture]


def test_a_dataset_is_made_and_taken_without_a_fault_at_any_width(
    page, live_server, settings, tmp_path
):
    move_data(settings, tmp_path)
    watch = Watch(page)
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    logs = [GIVING_OUT / f"inspect/{name}.json" for name in ("alpha", "beta")]
    study = import_from_tool(*logs, title="Short answers", by=user, asks_to_share=True)
    rate_as_in_the_example(study, {"mockllm/alpha": "alpha", "mockllm/beta": "beta"})
    study.participants.filter(pseudonym="PB3T").update(may_share=False)
    store_counts(study)

    def look(name, faults):
        faults += find_faults_in_turn(page)
        if folder := os.environ.get("EVALSITE_TEST_SHOTS"):
            for width in (1280, 390):
                page.set_viewport_size({"width": width, "height": 900})
                page.screenshot(path=Path(folder, f"{name}-{width}.png"), full_page=True)
            page.set_viewport_size({"width": 1280, "height": 900})

    faults: list[str] = []
    address = f"{live_server}{reverse('admin:export-dataset', args=[study.pk])}"
    page.goto(address)
    look("dataset-no-licence", faults)
    follow(page, "text=Choose a licence")
    look("about", faults)
    page.fill("[name=authors]", "Jane Mori 0000-0002-1825-0097")
    page.select_option("[name=licence]", "CC-BY-4.0")
    follow(page, "button:has-text('Save')")
    page.select_option("[name=unpaired]", "fluency")
    follow(page, "text=Create the dataset")
    look("dataset-error", faults)
    page.fill("[name=good_from]", "4")
    page.fill("[name=bad_below]", "3")
    follow(page, "text=Create the dataset")
    look("files-working", faults)
    run_job(Job.objects.get(kind="bundle"))
    page.wait_for_selector("button:has-text('ZIP')")
    look("files", faults)
    with page.expect_download() as downloading:
        page.click("button:has-text('ZIP')")
    page.goto(f"{live_server}{reverse('admin:files-all', args=[study.pk])}")
    look("files-all", faults)
    with page.expect_download() as scores:
        page.click("[aria-label='inspect_scores: JSONL']")

    results = import_from_tool(GIVING_OUT / "promptfoo/results.json", title="Prompts", by=user)
    rate_as_in_the_example(results, {"alpha": "alpha", "beta": "beta"})
    page.goto(f"{live_server}{reverse('admin:files-all', args=[results.pk])}")
    look("files-all-promptfoo", faults)
    page.fill("[name=pass_from]", "0.9")
    with page.expect_download() as passed:
        page.click("[aria-label='promptfoo_scores: CSV']")

    assert faults == []
    assert watch.found == []
    with ZipFile(downloading.value.path()) as archive:
        assert len(archive.namelist()) == 6
    assert len(scores.value.path().read_text().splitlines()) == 6
    assert passed.value.path().read_text().count(",true,") == 2
