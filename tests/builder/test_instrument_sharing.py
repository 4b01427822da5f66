"""Sharing an instrument: it keeps an owner, and tells nobody who has an account."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from evalsite.studies.models import Instrument, InstrumentMember
from tests.builder.test_builder import begin
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("sent", [{"user": "jane", "role": "editor"}, {"remove": "jane"}])
def test_the_last_owner_of_an_instrument_cannot_step_down(staff, jane, sent):
    instrument = begin(staff)
    share = reverse("admin:instrument-share", args=[instrument.pk])
    make_user("tom")

    refused = staff.post(share, sent, follow=True)
    staff.post(share, {"user": "tom", "role": "owner"})
    make_user("ann", is_active=False)
    staff.post(share, sent)

    assert "needs an owner" in refused.text
    roles = dict(instrument.members.values_list("user__username", "role"))
    assert roles == {"tom": "owner"} | ({"jane": "editor"} if "role" in sent else {})


def test_an_owner_who_cannot_sign_in_is_no_other_owner(staff, jane):
    instrument = begin(staff)
    gone = make_user("tom", is_active=False)
    InstrumentMember.objects.create(instrument=instrument, user=gone, role="owner")

    staff.post(reverse("admin:instrument-share", args=[instrument.pk]), {"remove": "jane"})

    assert instrument.members.filter(user=jane, role="owner").exists()


def test_sharing_tells_nobody_who_has_an_account(staff):
    make_user("anna")
    make_user("asleep", is_active=False)
    User.objects.create_user("amanda")
    bodies = []
    for number, name in enumerate(("anna", "asleep", "amanda", "absent")):
        staff.post(reverse("admin:instrument-new"), {"title": f"Replies {number}"})
        instrument = Instrument.objects.get(title=f"Replies {number}")
        share = reverse("admin:instrument-share", args=[instrument.pk])
        pages = [
            staff.post(share, {"user": name, "role": role}, follow=True)
            for role in ("viewer", "owner", "editor")
        ]
        pages += [staff.post(share, {"remove": name}, follow=True)]
        text = " ".join(page.text for page in pages)
        for word in (name, str(instrument.pk), f"Replies {number}", f"replies_{number}"):
            text = text.replace(word, "-")
        bodies.append(re.sub('name="csrfmiddlewaretoken" value="[^"]+"', "", text))

    assert len({*bodies}) == 1
    assert ">Viewer<" in bodies[0]
