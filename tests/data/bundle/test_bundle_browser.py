"""The page of bundles in a browser: accessible, quiet, no wider than a phone, and it delivers."""

import pytest
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn, follow
from tests.support.bundles import check, move_data
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.torture
def test_bundle_is_made_and_taken_without_a_fault_at_any_width(
    page, live_server, settings, tmp_path, checks_here
):
    move_data(settings, tmp_path)
    watch = Watch(page)
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    study = launch(make_study(items=3, by=user))
    answer_item(make_annotator(study), study.items.main()[0])

    page.goto(f"{live_server}{reverse('admin:export-bundle', args=[study.pk])}")
    faults = find_faults_in_turn(page)
    follow(page, "text=Create the bundle")
    faults += find_faults_in_turn(page)
    run_job(Job.objects.get(kind="bundle"))
    page.wait_for_selector("button:has-text('Download')")
    faults += find_faults_in_turn(page)
    with page.expect_download() as downloading:
        page.click("button:has-text('Download')")
    page.goto(f"{live_server}{reverse('admin:export-anonymous', args=[study.pk])}")
    faults += find_faults_in_turn(page)
    follow(page, "text=Create anonymous bundle")
    run_job(Job.objects.get(subject="anonymous"))
    page.click("text=Replaced words")
    faults += find_faults_in_turn(page)

    assert faults == []
    assert watch.found == []
    assert check(downloading.value.path().read_bytes()).faults == []
