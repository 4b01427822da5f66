"""What a page of Set up still lacks, and where [Save and continue] leads from there."""

import pytest
from django.urls import reverse

from evalsite.studies.models import Study
from evalsite.studies.services import create_study
from tests.studies.test_staff_settings import address, entries
from tests.support.factories import make_study, make_user
from tests.support.instruments import make_built_study, read_gallery

pytestmark = pytest.mark.django_db


def test_page_of_a_section_says_what_it_lacks_and_where(staff_client):
    study = make_study(
        items=1,
        contact_email="",
        answers_kept_for="",
    )

    basics = staff_client.get(address(study, "basics"))
    first_page = staff_client.get(address(study, "first-page")).text
    work = staff_client.get(address(study, "work"))

    problem = "Enter an e-mail address that participants can write to"
    assert f'<a href="#id_contact_email">{problem}</a>' in basics.text
    missing = "How long you keep the answers is missing"
    assert f'<a href="#id_answers_kept_for">{missing}</a>' in first_page
    assert work.context["lacking"] == []


def test_saving_the_basics_goes_on_to_the_items_until_there_are_some(staff_client):
    without, with_items = make_study(items=0), make_study(items=1, answers_kept_for="")

    pages = [
        staff_client.post(
            address(study, "basics"), entries(staff_client, study, "basics", do="continue")
        ).url
        for study in (without, with_items)
    ]

    assert pages == [
        reverse("admin:batch-list", args=[without.pk]),
        address(with_items, "first-page"),
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
