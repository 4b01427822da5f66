"""The page of a repeated study in a browser: accessible, quiet, and no wider than a phone."""

import pytest
from django.urls import reverse

from evalsite.jobs.models import Job
from evalsite.jobs.services import run_job
from evalsite.results.replication.comparison import KIND
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults, follow
from tests.support.factories import make_study, make_user
from tests.support.repeated import rate

pytestmark = pytest.mark.django_db(transaction=True)


def walk(page, live_server):
    """Nothing chosen, computed by a job, and shown."""
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    first = make_study(items=6, title="The first one, with a long title " * 3, by=user)
    again = make_study(items=6, title="The repeat", by=user)
    rate(first)
    rate(again, step=40, hour=5)
    page.goto(f"{live_server}{reverse('admin:study-repeat', args=[again.pk])}")
    yield "empty"
    page.select_option("#id_original", str(first.pk))
    follow(page, "text=Compare")
    page.wait_for_selector(".ex-job")
    yield "at work"
    run_job(Job.objects.get(kind=KIND))
    page.wait_for_selector("#informativeness-scores")
    yield "compared"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_axe_finds_no_fault_and_nothing_is_wider_than_the_window(page, live_server, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    watch = Watch(page)

    found = {
        step: (find_faults(page), page.evaluate("document.documentElement.scrollWidth") - width)
        for step in walk(page, live_server)
    }

    assert {step: faults for step, (faults, _) in found.items() if faults} == {}
    assert {step: over for step, (_, over) in found.items() if over > 0} == {}
    assert watch.found == []
