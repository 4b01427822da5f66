"""Pages of one question: the question and its answers in sight, the rest under More."""

import re

import pytest
from django.urls import reverse

from evalsite.studies.models import Membership, Study
from tests.support.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def show(client, study: Study, name: str, key: object) -> str:
    return client.get(reverse(f"admin:{name}", args=[study.pk, key])).text


def list_fields(html: str) -> set[str]:
    names = re.findall(r'<(?:input|textarea|select)[^>]* name="(\w+)"', html)
    return set(names) - {"csrfmiddlewaretoken", "revision"}


@pytest.mark.parametrize(
    ("name", "in_sight", "more"),
    [
        ("background-question", {"label", "choices"}, {"help", "kind"}),
        (
            "study-question",
            {"label", "choices", "rule", "answers"},
            {"help", "kind", "least", "most"},
        ),
    ],
)
def test_question_and_answers_come_first_and_the_rest_is_under_more(
    staff_client, name, in_sight, more
):
    page = show(staff_client, make_study(), name, "question_1")

    sight, _, rest = page.partition("<main")[2].partition('<details class="fold only"')
    assert list_fields(sight) == in_sight
    assert list_fields(rest.partition("</details>")[0]) == more
    assert "One answer from a list. Help: none." in rest


def test_fault_under_more_opens_it(staff_client):
    study = make_study()
    address = reverse("admin:background-question", args=[study.pk, "question_1"])

    page = staff_client.post(address, {"label": "Age?", "kind": "age", "revision": 0}).text

    assert '<details class="fold only" open>' in page


def test_note_for_colleagues_is_saved_by_editors_and_read_by_the_team(client, researcher):
    study = make_study(by=researcher)
    editor, viewer = make_user("ed"), make_user("vi")
    Membership.objects.create(study=study, user=editor, role="editor")
    Membership.objects.create(study=study, user=viewer, role="viewer")
    address = reverse("admin:team-note", args=[study.pk])

    client.force_login(editor)
    saved = client.post(address, {"description": "Ask Ben\r\nfirst."})
    client.force_login(viewer)
    refused = client.post(address, {"description": "Mine"})
    page = client.get(reverse("admin:study-team", args=[study.pk])).text

    assert (saved.status_code, refused.status_code) == (302, 403)
    study.refresh_from_db()
    assert study.description == "Ask Ben\nfirst."
    assert "Ask Ben<br>first." in page
