"""Personal links: copied again, used once into one place on every device, ended by a new one."""

from functools import partial

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.annotation.running.launch import close_study
from evalsite.participants.models import Participant, PersonalLink, Visit
from evalsite.studies.models import Study
from tests.support.factories import make_user
from tests.support.races import at_once
from tests.support.rounds import make_round
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


@pytest.fixture(name="study")
def _study() -> Study:
    study = make_live()
    make_round(study, "personal")
    return study


def url(name: str, study: Study) -> str:
    return reverse(f"admin:{name}", args=[study.pk, 1])


def create(client: Client, study: Study, total: object = 3):
    return client.post(url("personal-links-create", study), {"total": str(total)}, follow=True)


def addresses(client: Client, study: Study) -> list[str]:
    return [
        address
        for _, address in client.post(url("personal-links-show", study)).context["personal_links"]
    ]


def test_links_are_created_up_to_the_number_asked_for_and_can_be_copied_again(staff_client, study):
    for total in (3, 3, "0", "x", 501, "-1"):
        create(staff_client, study, total)

    shown = addresses(staff_client, study)
    assert len(shown) == len({*shown}) == 3
    assert addresses(staff_client, study) == shown
    rows = staff_client.post(url("personal-links", study)).content.decode().splitlines()
    assert rows == ["number,link,participant", *(f"{n},{a}," for n, a in enumerate(shown, 1))]
    # only hashes are stored
    stored = str([*PersonalLink.objects.values_list()])
    assert not [address for address in shown if address.split("/")[-2] in stored]


def test_looking_at_a_link_makes_nothing_and_start_leads_to_one_place(staff_client, study):
    create(staff_client, study)
    address = addresses(staff_client, study)[0]

    looks = [Client().get(f"{address}?PROLIFIC_PID=x"), Client().head(address)]

    assert {page.status_code for page in looks} == {200}
    assert ">Start<" in looks[0].text
    assert not looks[0].cookies
    assert not Participant.objects.exists()
    for device in (Client(), Client()):
        assert device.post(address).headers["Location"] == "/" + address.split("/", 3)[3]
    me = Participant.objects.get()
    assert Visit.objects.get().recruitment == study.recruitments.get(number=1)
    assert Client().get(address, follow=True).redirect_chain[-1][0].endswith("/consent/")
    assert me.pseudonym in staff_client.post(url("personal-links", study)).content.decode()


def test_a_new_link_ends_the_old_one_and_keeps_the_place(staff_client, study):
    create(staff_client, study)
    used, unused, _ = addresses(staff_client, study)
    Client().post(used)

    for sent in ("1-1", "1-1", "2-1", "9-1", "1", "x-y", ""):
        staff_client.post(url("personal-link-renew", study), {"link": sent})

    assert [*PersonalLink.objects.values_list("generation", flat=True)] == [2, 2, 1]
    assert [Client().get(old).status_code for old in (used, unused)] == [404, 404]
    new, other, _ = addresses(staff_client, study)
    assert Client().get(new).status_code == 302
    assert Client().get(other).status_code == 200
    assert Participant.objects.count() == 1


def test_links_start_nothing_while_the_round_is_off_or_the_study_closed(staff_client, study):
    create(staff_client, study)
    one, other, _ = addresses(staff_client, study)
    Client().post(one)
    staff_client.post(url("recruitment-switch", study), {"do": "off"})

    page = Client().post(other)

    assert page.status_code == 200
    assert ">Start<" not in page.text
    close_study(study=study, by=make_user())
    assert Client().post(other).status_code == 200
    assert Client().post(one).status_code == 302
    assert Participant.objects.count() == 1


def test_the_round_has_no_link_to_share(study):
    assert Client().get(f"/join/{study.pk}/1/").status_code == 404


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_one_link_pressed_twenty_times_at_once_is_one_person(staff_client, study):
    create(staff_client, study)
    address = addresses(staff_client, study)[0]

    answers = at_once([partial(Client().post, address) for _ in range(20)])

    assert {answer.status_code for answer in answers} == {302}
    assert Participant.objects.count() == Visit.objects.count() == 1


def test_settings_are_saved_from_the_page_that_shows_the_links_too(staff_client, study):
    create(staff_client, study)
    page = staff_client.post(url("personal-links-show", study))

    assert f'action="{url("study-recruitment", study)}"' in page.text
    assert "no-store" in page.headers["Cache-Control"]
