"""Looking at a page changes nothing: only posts hand out work."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.annotation.dealing import claim_set
from evalsite.annotation.models import Annotation, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.participants.models import ItemSet, Participant
from evalsite.studies.models import Study
from tests.factories import make_annotator, make_participant, mint_link
from tests.tabs import Tab, make_live

pytestmark = pytest.mark.django_db


def make_people(study: Study) -> list[Participant]:
    """One of each kind: new, ready, in a set, with a lapsed set, finished, stopped, withdrawn."""
    lapsed = make_annotator(study)
    with standing_at(now() - timedelta(hours=5)):
        claim_set(lapsed)
    working, done = make_annotator(study), make_annotator(study)
    claim_set(working)
    claim_set(done)
    Tab(done).finish()
    gone = {"stopped_at": now(), "withdrawn_at": now()}
    return [
        make_participant(study),
        make_annotator(study),
        lapsed,
        working,
        done,
        make_annotator(study, stopped_at=now()),
        make_annotator(study, **gone),
    ]


PAGES = [
    *("home", "consent", "declined", "entry", "refused", "instructions", "start", "finish"),
    *("no-work", "stop", "shut", "withdraw", "withdrawn"),
]


def addresses_of(token: str) -> list[str]:
    """Every address below a personal link that is not for posts alone."""
    return [
        *(reverse(f"participant-{name}", args=[token]) for name in PAGES),
        *(reverse("participant-practice", args=[token, number]) for number in (1, 2, 3, 9)),
        *(reverse("rating-page", args=[token, 1, place]) for place in (0, 1, 2, 3, 9)),
        *(reverse("rating-report", args=[token, 1, place]) for place in (1, 9)),
        reverse("set-break", args=[token, 1, 2]),
        reverse("set-review", args=[token, 1]),
        reverse("set-review", args=[token, 9]),
    ]


def everything(study: Study) -> list[list[dict]]:
    models = (Slot, ItemSet, Participant, Annotation)
    return [list(model.objects.filter(study=study).order_by("pk").values()) for model in models]


@pytest.mark.parametrize("method", ["get", "head", "options"])
def test_looking_at_any_page_takes_no_work_and_changes_nothing(method):
    study = make_live(items=9)
    tokens = [mint_link(me).split("/")[2] for me in make_people(study)]
    before = everything(study)
    client = Client(raise_request_exception=True)

    for token in tokens:
        for address in addresses_of(token):
            assert getattr(client, method)(address).status_code in (200, 302, 404, 405)
    assert client.get(reverse("study-join", args=[study.pk])).status_code == 200

    assert everything(study) == before
    assert not client.cookies


def test_only_a_post_to_start_takes_a_set():
    study = make_live(items=9)
    home = mint_link(make_annotator(study))
    client = Client()

    assert client.get(home, follow=True).status_code == 200
    assert not Slot.objects.leased().exists()

    client.post(f"{home}start/")

    assert Slot.objects.leased().count() == 3


def test_nothing_is_handed_out_before_consent():
    study = make_live(items=3)
    home = mint_link(make_participant(study, is_eligible=True, practised_at=now()))

    response = Client().post(f"{home}start/")

    assert response.headers["Location"] == f"{home}consent/"
    assert not Slot.objects.leased().exists()
