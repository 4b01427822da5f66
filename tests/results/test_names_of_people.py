"""People who are invited by name: only those who may see identities read the name."""

from datetime import timedelta

import pytest
from django.urls import reverse

from evalsite.studies.models import Membership
from tests.results.test_overview_people import make_invited, rate
from tests.site.test_staff_pages import member, url

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("role", "sees_identities", "reads_name"),
    [("owner", False, True), ("editor", True, True), ("editor", False, False), ("viewer", 0, 0)],
)
def test_names_are_read_by_those_who_may_see_identities(role, sees_identities, reads_name):
    study, (ana, ben) = make_invited("Ana Ruiz", "Ben Otte")
    for person in (ana, ben):
        rate(person, 4, ago=timedelta(hours=1))
    reader = member(study, role)
    Membership.objects.filter(study=study, role="editor").update(has_identities=sees_identities)
    pseudonym = ana.link.participant.pseudonym
    addresses = [
        url("study-people", study),
        reverse("admin:study-person", args=[study.pk, pseudonym]),
        url("study-exclusions", study),
        url("study-pay", study),
    ]

    pages = [reader.get(address) for address in addresses]

    shown = [page.text for page in pages if page.status_code == 200]
    assert len(shown) >= 3
    assert [("Ana Ruiz" in text) for text in shown[:2]] == [bool(reads_name)] * 2
    assert all(pseudonym in text for text in shown[:2])
