"""Whether answers may be shared is a choice beside the consent, and can be changed later."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.participation.consent import answer_consent, withdraw
from evalsite.people.models import Participant
from evalsite.studies.models import Study
from evalsite.studies.versions import shown_content
from tests.support.annotators import read_fields
from tests.support.factories import launch, make_participant, make_study, mint_link
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


def arrive(study: Study) -> tuple[Participant, str]:
    person = make_participant(study)
    return person, mint_link(person)


def agree(home: str, **entries: str):
    text = read_fields(Client().get(f"{home}consent/").text)["text"]
    return Client().post(f"{home}consent/", {"text": text, "go": "agree"} | entries)


def choice_of(person: Participant) -> bool | None:
    return Participant.objects.get(pk=person.pk).may_share


def test_consent_is_one_press_and_the_box_is_unticked_and_no_condition() -> None:
    study = make_live(asks_to_share=True)
    (silent, one), (willing, two) = arrive(study), arrive(study)

    page = Client().get(f"{one}consent/").text
    answers = [agree(one), agree(two, share="yes")]

    assert "My answers may be shared, without my ID." in page
    assert "You can take part without agreeing." in page
    assert 'name="share"' in page
    assert " checked" not in page
    assert [one.status_code for one in answers] == [302, 302]
    assert [choice_of(silent), choice_of(willing)] == [False, True]


def test_nobody_is_asked_where_the_setting_is_off_whatever_is_posted() -> None:
    person, home = arrive(make_live())

    agree(home, share="yes")

    assert "may be shared" not in Client().get(f"{home}withdraw/").text
    assert choice_of(person) is None
    assert Client().get(f"{home}sharing/").status_code == 302


def test_a_tick_survives_a_refused_form() -> None:
    _, home = arrive(make_live(asks_to_share=True, minimum_age=18))

    page = agree(home, share="yes")

    assert page.status_code == 422
    assert 'aria-describedby="share-help" checked' in page.text


def test_choice_is_changed_on_the_persons_own_page_until_they_withdraw() -> None:
    person, home = arrive(make_live(asks_to_share=True))
    agree(home)
    client = Client()

    link = f'href="{home}sharing/"'
    ways = [link in client.get(f"{home}withdraw/").text]
    saved = client.post(f"{home}sharing/", {"share": "yes"}, follow=True).text
    shared = choice_of(person)
    client.post(f"{home}sharing/", {})
    unshared = choice_of(person)
    withdraw(participant=person, is_kept=True)
    late = client.post(f"{home}sharing/", {"share": "yes"})

    assert ways == [True]
    assert "Saved: your answers may be shared." in saved
    assert (shared, unshared) == (True, False)
    assert late.headers["Location"] == f"{home}withdrawn/"
    assert choice_of(person) is False
    assert AuditEntry.objects.filter(action="sharing changed").count() == 2


def test_declining_takes_the_choice_back() -> None:
    study = make_live(asks_to_share=True)
    person, home = arrive(study)
    agree(home, share="yes")
    Participant.objects.filter(pk=person.pk).update(consented_to="an earlier text")

    person.refresh_from_db()
    answer_consent(participant=person, is_given=False)

    assert choice_of(person) is None


@pytest.mark.both_databases
def test_database_refuses_a_choice_of_someone_who_did_not_agree() -> None:
    person = make_participant(make_live(asks_to_share=True))

    with (
        transaction.atomic(),
        pytest.raises(IntegrityError, match="only_who_agreed_to_take_part_shares_or_not"),
    ):
        Participant.objects.filter(pk=person.pk).update(may_share=True)

    assert choice_of(person) is None


def test_consent_text_says_so_and_the_setting_is_frozen_at_launch(
    staff_client: Client, researcher: Any
) -> None:
    texts = [
        shown_content(make_study(asks_to_share=asks))["texts"]["consent"] for asks in (False, True)
    ]
    study = launch(make_study(asks_to_share=True, by=researcher))
    page = staff_client.get(reverse("admin:setup-read", args=[study.pk])).text

    assert ["Answers of people who agree to this are published" in one for one in texts] == [
        False,
        True,
    ]
    assert "you can change whether they may be shared" in texts[1]
    assert shown_content(study)["asks_to_share"] is True
    assert "Ask if answers may be published" in page
