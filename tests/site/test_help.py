"""The documentation is part of the site: complete, linked within itself, and readable anywhere."""

import re

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evalsite.help_pages import CHAPTERS
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import find_faults_in_turn

pytestmark = pytest.mark.django_db

NAMES = [name for chapters in CHAPTERS.values() for name in chapters]


def test_every_document_is_a_chapter():
    assert {path.stem for path in (settings.BASE_DIR / "docs").glob("*.md")} == set(NAMES)


def test_help_is_linked_from_every_page_and_lists_the_chapters(staff_client: Client):
    assert f'href="{reverse("admin:help")}"' in staff_client.get(reverse("admin:index")).text

    page = staff_client.get(reverse("admin:help")).text

    for name in NAMES:
        assert f'href="{reverse("admin:help-chapter", args=[name])}"' in page


def test_links_between_chapters_lead_to_a_heading_that_is_there(staff_client: Client):
    pages = {
        address: staff_client.get(address).text
        for address in (reverse("admin:help-chapter", args=[name]) for name in NAMES)
    }
    links = 0
    for address, page in pages.items():
        body = page[page.index('<div class="sided">') :]
        assert re.findall(r'href="(?!/|#|https?://)[^"]*"|href="[^"]*\.md', body) == [], address
        for path, anchor in re.findall(r'href="(/[^"#]*|)(?:#([^"]*))?"', body):
            links += 1
            assert (f'id="{anchor}"' if anchor else "") in pages[path or address], (path, anchor)
    assert links > 5


def test_what_is_no_chapter_is_not_found(staff_client: Client):
    address = reverse("admin:help-chapter", args=["nothing"])

    assert staff_client.get(address).status_code == 404


@pytest.mark.torture
@pytest.mark.django_db(transaction=True)
def test_chapters_are_accessible_and_fit_a_phone(page, live_server, researcher: User):
    sign_in(page, live_server, researcher)
    addresses = [
        reverse("admin:help"),
        *(reverse("admin:help-chapter", args=[one]) for one in NAMES),
    ]

    faults = {}
    for address in addresses:
        page.goto(f"{live_server}{address}")
        faults[address] = find_faults_in_turn(page)

    assert {address: found for address, found in faults.items() if found} == {}
