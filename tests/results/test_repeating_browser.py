"""The page of a repeated study in a browser: accessible, quiet, and no wider than a phone."""

import pytest
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.results.replication.comparison import KIND
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn, follow
from tests.support.factories import make_study, make_user
from tests.support.repeated import rate

pytestmark = pytest.mark.django_db(transaction=True)


def walk(page, live_server):
    """Nothing chosen, computed by a job, and shown."""
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    first = make_study(items=2, title="The first one, with a long title " * 3, by=user)
    again = make_study(items=2, title="The repeat", by=user)
    rate(first)
    rate(again, step=40, hour=5)
    page.goto(f"{live_server}{reverse('admin:study-repeat', args=[again.pk])}")
    yield "empty"
    page.select_option("#id_original", str(first.pk))
    follow(page, "text=Compare")
    page.wait_for_selector(".ex-job")
    yield "at work"
    run_job(Job.objects.get(kind=KIND))
    page.wait_for_selector("caption:has-text('scores of systems')")
    yield "compared"


@pytest.mark.torture
def test_axe_finds_no_fault_and_nothing_is_wider_than_the_window(page, live_server):
    watch = Watch(page)

    faults = {step: find_faults_in_turn(page) for step in walk(page, live_server)}

    assert {step: found for step, found in faults.items() if found} == {}
    assert watch.found == []
