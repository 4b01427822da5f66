"""The page of bundles in a browser: accessible, quiet, no wider than a phone, and it delivers."""

import os
from typing import Any

import pytest
from django.urls import reverse

from evalsite.jobs.models import Job
from evalsite.jobs.services import run_job
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults, follow
from tests.support.bundles import check
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_bundle_is_made_and_taken_without_a_fault_at_any_width(
    page, live_server, settings, tmp_path, width, scheme
):
    settings.DATA_DIR = tmp_path
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    watch = Watch(page)
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    study = launch(make_study(items=3, by=user))
    answer_item(make_annotator(study), study.items.main()[0])

    page.goto(f"{live_server}{reverse('admin:export-bundle', args=[study.pk])}")
    seen = [look(page, f"{width}-empty")]
    follow(page, "text=Make the .zip")
    seen.append(look(page, f"{width}-working"))
    run_job(Job.objects.get(kind="bundle"))
    page.wait_for_selector("button:has-text('Download')")
    seen.append(look(page, f"{width}-ready"))
    with page.expect_download() as downloading:
        page.click("button:has-text('Download')")

    assert seen == [([], True)] * 3
    assert watch.found == []
    assert check(downloading.value.path().read_bytes()).faults == []


def look(page: Any, name: str) -> tuple[list[Any], bool]:
    """What axe finds, and whether the page is no wider than the window."""
    if folder := os.environ.get("EVALSITE_SHOTS"):
        page.screenshot(path=f"{folder}/bundle-{name}.png", full_page=True)
    width = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return find_faults(page), width <= 0
