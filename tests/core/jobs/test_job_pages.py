"""Jobs of files on staff pages: one that stopped is started again, by whoever may."""

from collections.abc import Callable
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client, RequestFactory

from evalsite.core.jobs.models import Job
from evalsite.studies.models import Study
from tests.data.items.test_upload_pages import address


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=0)


def show(study: Study, job: Job) -> str:
    context = {"job": job, "job_title": "Checking rankme.csv", "study": study, "can_restart": True}
    return render_to_string(
        "core/_job.html", context, request=RequestFactory().get("/admin/somewhere/")
    )


def test_job_at_work_shows_how_far_it_is(study: Study) -> None:
    job = Job.objects.create(
        study_id=study.pk, kind="import batch", state="running", done=12_000, total=100_000
    )

    page = show(study, job)

    assert "12,000 of 100,000 rows" in page
    assert '<progress class="bar in" value="12000" max="100000"' in page
    assert '<a href="/admin/somewhere/">Look again</a>' in page
    assert "If it stops responding, this page says so after two minutes." in page
    assert "Start again" not in page


def test_job_that_failed_says_why_and_offers_to_start_again(study: Study) -> None:
    job = Job.objects.create(
        study_id=study.pk, kind="import batch", state="failed", message="The disk is full."
    )

    page = show(study, job)

    assert "The disk is full." in page
    assert "Start again" in page
    assert '<input type="hidden" name="next" value="/admin/somewhere/">' in page


@pytest.mark.parametrize(
    ("given", "led"), [("/admin/elsewhere/", "/admin/elsewhere/"), ("//evil.example/", None)]
)
def test_failed_job_waits_again_and_leads_back_on_this_site_only(
    staff_client: Client, study: Study, given: str, led: str | None
) -> None:
    job = Job.objects.create(study_id=study.pk, kind="export", state="failed", subject="7")

    response = staff_client.post(address("job-restart", study, job.pk), {"next": given})

    assert response["Location"] == (led or address("batch-list", study))
    assert Job.objects.get(study_id=study.pk, subject="7", state="waiting").kind == "export"


def test_job_at_work_is_not_started_again(staff_client: Client, study: Study) -> None:
    job = Job.objects.create(study_id=study.pk, kind="export")

    page = staff_client.post(address("job-restart", study, job.pk), follow=True)

    assert "has not stopped" in page.content.decode()
    assert Job.objects.count() == 1


def test_jobs_with_rules_of_their_own_are_not_started_here(
    staff_client: Client, study: Study
) -> None:
    job = Job.objects.create(study_id=study.pk, kind="launch", state="failed")

    response = staff_client.post(address("job-restart", study, job.pk))

    assert response.status_code == 404
