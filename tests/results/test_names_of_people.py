"""People who are invited by name: only those who may see identities read the name."""

from datetime import timedelta

import pytest
from django.urls import reverse

from evalsite.decisions.exclusions import exclude
from evalsite.studies.models import Membership, Study
from tests.results.test_overview_people import make_invited, rate
from tests.site.test_staff_pages import member, url
from tests.support.factories import make_participant

pytestmark = pytest.mark.django_db


def test_invited_people_have_their_progress_and_comments_and_no_pay(staff_client):
    study, (ana, ben) = make_invited("Ana Ruiz", "Ben Otte")
    Study.objects.update(pay_per_set="1.80")
    rate(ana, 4, ago=timedelta(hours=1))
    rate(ben, 1, ago=timedelta(minutes=1))
    study.annotations.filter(participant=ana.link.participant).update(note="Odd")

    page = staff_client.get(url("study-people", study))
    found = staff_client.get(url("study-people", study), {"q": "ruiz"})

    rows = {
        person.participant: (row.done, row.total, row.state, comments)
        for person, _, row, comments in page.context["invited"]
    }
    assert rows == {
        ana.link.participant: (4, 4, "done", 4),
        ben.link.participant: (1, 4, "working", 0),
    }
    assert ">Pay</th>" not in page.text
    assert [person.participant for person in found.context["people"]] == [ana.link.participant]


def test_people_who_came_by_a_link_turn_the_list_into_that_of_everyone(staff_client):
    study, _ = make_invited("Ana Ruiz", "Ben Otte")
    make_participant(study)

    page = staff_client.get(url("study-people", study))

    assert "invited" not in page.context
    assert "Ana Ruiz" in page.text
    assert len(page.context["table"]) == 3


@pytest.mark.parametrize(
    ("role", "sees_identities", "reads_name"),
    [("owner", False, True), ("editor", True, True), ("editor", False, False), ("viewer", 0, 0)],
)
def test_names_are_read_by_those_who_may_see_identities(role, sees_identities, reads_name):
    study, (ana, ben) = make_invited("Ana Ruiz", "Ben Otte")
    for person in (ana, ben):
        rate(person, 4, ago=timedelta(hours=1))
    exclude(study=study, participants=[ana.link.participant], reason="Twice", by=None)
    reader = member(study, role)
    Membership.objects.filter(study=study, role="editor").update(has_identities=sees_identities)
    pseudonym = ana.link.participant.pseudonym
    addresses = [
        url("study-people", study),
        reverse("admin:study-person", args=[study.pk, pseudonym]),
        url("study-exclusions", study),
        url("study-overview", study),
    ]

    pages = [reader.get(address).text for address in addresses]

    assert ["Ana Ruiz" in text for text in pages] == [bool(reads_name)] * 4
    assert all(pseudonym in text for text in pages)
