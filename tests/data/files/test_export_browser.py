"""The pages of exports in a browser: accessible, no wider than a phone, usable without scripts."""

from typing import Any

import pytest
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.job import start_packing
from evalsite.data.files.jobs import KIND, start_export
from evalsite.data.files.services import Choice
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn
from tests.support.exports import annotate, export, main_items
from tests.support.factories import make_participant, make_study, make_user
from tests.support.planned import ONE_POINT, add_person, make_planned_study
from tests.support.reports import keep_report

PAGES = (
    ("study-export", ""),
    ("files-all", ""),
    ("files-all", "?since=2026-12-02&until=2026-12-01"),
    ("files-all", "?status=counted&since=2026-01-01"),
    ("export-codebook", ""),
    ("export-bundle", ""),
    ("export-anonymous", ""),
    ("export-public", ""),
)
pytestmark = pytest.mark.django_db(transaction=True)


def test_pages_of_exports_are_accessible_and_fit_the_screen(page: Any, live_server: Any) -> None:
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    study = make_study(items=2, by=user)
    for item in main_items(study):
        annotate(study, make_participant(study), item, origin="simulated")
    export(study)
    run_job(start_export(study, Choice(file="items", is_workbook=True), by=user))
    failed = start_export(study, Choice(file="annotations"), by=user)
    Job.objects.filter(pk=failed.pk).update(state="failed", message="The disk is full.")
    watch = Watch(page)

    keep_report(study)
    start_packing(study, Contents(), by=user)
    hidden = make_planned_study(rules=[ONE_POINT], by=user)
    add_person(hidden)

    for name, query in PAGES:
        page.goto(f"{live_server}{reverse(f'admin:{name}', args=[study.pk])}{query}")
        assert find_faults_in_turn(page) == [], name
    page.goto(f"{live_server}{reverse('admin:study-export', args=[hidden.pk])}")
    assert find_faults_in_turn(page) == []

    assert Job.objects.filter(kind=KIND).count() == 2
    assert watch.found == []
