"""Personal links: copied again, used once into one place on every device, ended by a new one."""

from functools import partial

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.fieldwork.launch import close_study
from evalsite.people.models import Participant, ParticipantLink, PersonalLink, Visit
from evalsite.studies.models import Study
from tests.support.experts import invite
from tests.support.factories import make_user
from tests.support.races import at_once
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


@pytest.fixture(name="study")
def _study() -> Study:
    study = make_live(k=3)
    invite(study)
    return study


def addresses(client: Client, study: Study) -> list[str]:
    page = client.get(reverse("admin:study-invite", args=[study.pk]))
    return [row["link"] for row in page.context["rows"]]


def act(client: Client, study: Study, **values: str):
    return client.post(reverse("admin:invited-act", args=[study.pk]), values)


def test_each_person_has_a_link_that_can_be_copied_for_good(staff_client, study):
    shown = addresses(staff_client, study)

    assert len(shown) == len({*shown}) == 3
    assert addresses(staff_client, study) == shown
    csv = staff_client.post(reverse("admin:invited-links", args=[study.pk])).content.decode()
    assert [line.split(",")[1] for line in csv.splitlines()[1:]] == shown
    # only hashes are stored
    stored = str([*PersonalLink.objects.values_list()])
    assert not [address for address in shown if address.split("/")[-2] in stored]


def test_looking_at_a_link_makes_nothing_and_start_leads_to_one_place(staff_client, study):
    address = addresses(staff_client, study)[0]

    looks = [Client().get(f"{address}?PROLIFIC_PID=x"), Client().head(address)]

    assert {page.status_code for page in looks} == {200}
    assert ">Start<" in looks[0].text
    assert not looks[0].cookies
    assert not ParticipantLink.objects.exists()
    for device in (Client(), Client()):
        assert device.post(address).headers["Location"] == "/" + address.split("/", 3)[3]
    assert Visit.objects.get().participant == study.experts.first().link.participant
    assert Client().get(address, follow=True).redirect_chain[-1][0].endswith("/consent/")
    assert Participant.objects.count() == 3


def test_a_new_link_ends_the_old_one_and_keeps_the_place(staff_client, study):
    used, unused, _ = addresses(staff_client, study)
    Client().post(used)
    first, second = study.experts.values_list("pk", flat=True)[:2]

    for sent in (f"{first}-1", f"{first}-1", f"{second}-1", "999999-1", "1", "x-y", ""):
        act(staff_client, study, renew=sent)

    assert [*PersonalLink.objects.values_list("generation", flat=True)] == [2, 2, 1]
    assert [Client().get(old).status_code for old in (used, unused)] == [404, 404]
    new, other, _ = addresses(staff_client, study)
    assert Client().get(new).status_code == 302
    assert Client().get(other).status_code == 200
    assert Participant.objects.count() == 3


def test_links_start_nothing_once_the_study_is_closed(staff_client, study):
    used, unused, _ = addresses(staff_client, study)
    Client().post(used)

    close_study(study=study, by=make_user())

    page = Client().post(unused)
    assert page.status_code == 200
    assert ">Start<" not in page.text
    assert Client().post(used).status_code == 302
    assert ParticipantLink.objects.count() == 1


def test_personal_links_have_no_link_to_share(study):
    number = study.recruitments.exclude(number=0).get().number

    assert Client().get(f"/join/{study.pk}/{number}/").status_code == 404


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_one_link_pressed_twenty_times_at_once_is_one_person(staff_client, study):
    address = addresses(staff_client, study)[0]

    answers = at_once([partial(Client().post, address) for _ in range(20)])

    assert {answer.status_code for answer in answers} == {302}
    assert ParticipantLink.objects.count() == Visit.objects.count() == 1
