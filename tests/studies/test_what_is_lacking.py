"""What a page of Set up still lacks, and where [Save and continue] leads from there."""

import re

import pytest
from django.urls import reverse

from evalsite.studies.models import Study
from evalsite.studies.services import create_study
from tests.studies.test_staff_settings import address, entries
from tests.support.factories import make_study, make_user
from tests.support.instruments import make_built_study, read_gallery

pytestmark = pytest.mark.django_db


def test_page_says_what_it_lacks_and_where(staff_client):
    study = make_study(
        items=1,
        contact_email="",
        answers_kept_for="",
    )

    read = staff_client.get(address(study, "read")).text
    work = staff_client.get(address(study, "work"))

    headline = re.search("<h1>(.*?)</h1>", read, re.DOTALL)[1]
    assert "2 things are missing" in headline
    for field in ("contact_email", "answers_kept_for"):
        assert f'<div class="field bad" id="div_id_{field}">' in read
    assert work.context["lacking"] == []


def test_save_and_continue_leads_to_the_next_page(staff_client):
    study = make_study(items=1)

    pages = [
        staff_client.post(
            address(study, page), entries(staff_client, study, page, do="continue")
        ).url
        for page in ("read", "work", "quality")
    ]

    assert pages == [
        address(study, "work"),
        address(study, "quality"),
        reverse("admin:setup-plan", args=[study.pk]),
    ]


@pytest.mark.parametrize(
    ("key", "summary"),
    [
        ("summeval", "You read texts and answer four questions about each."),
        # what is bad is asked only where both are
        ("arena_preference", "You read texts side by side and answer one question about them."),
    ],
)
def test_study_starts_with_a_summary_that_lacks_nothing(key, summary):
    content = next(one for one in read_gallery() if one["key"] == key)
    jane = make_user()
    version = make_built_study(content, by=jane).instrument

    create_study(title="Second", by=jane, instrument=version)

    assert Study.objects.get(title="Second").summary == summary
