"""A short notice on the first page: Start agrees to it, and it is stored as a consent text is."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from evalsite.fieldwork.launch import close_study
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import Consent, Participant, PersonalLink, Recruitment
from evalsite.people.recruiting import turn_on
from evalsite.people.services import consent_hash
from evalsite.studies.copying import copy_study
from evalsite.studies.models import Study
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.versions import make_version
from tests.support.annotators import read_fields
from tests.support.arriving import open_link, press_start
from tests.support.experts import invite
from tests.support.factories import (
    launch,
    make_annotator,
    make_participant,
    make_study,
    make_user,
    mint_link,
)
from tests.support.rounds import make_round

pytestmark = pytest.mark.django_db


def make_live(**fields) -> Study:
    return launch(make_study(items=2, protocol="fluency", has_notice=True, **fields))


def make_link(study: Study) -> str:
    """The address of somebody invited by name."""
    (expert,) = invite(study, "Ana Costa")
    return f"/p/{expert.link.token}/"


def start(address: str, **fields: str):
    client = Client()
    page = client.get(address)
    return client.post(address, read_fields(page.text) | fields)


def test_first_page_shows_the_notice_and_start_agrees_to_it():
    study = make_live()
    address = make_link(study)

    page = Client().get(address)
    pressed = start(address)

    assert "We keep your name, your answers" in page.text
    assert not page.cookies
    assert pressed.status_code == 302
    consent = Consent.objects.get()
    assert consent.is_given
    assert (consent.version, consent.text_sha256) == (study.version, consent_hash(study))
    # what comes next isn't the question again
    following = Client().get(address, follow=True)
    assert "/consent/" not in following.redirect_chain[-1][0]


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"minimum_age": 18}, {"age": ""}),
        ({}, {"text": "another"}),
        ({}, {"text": ""}),
    ],
)
def test_start_without_agreeing_says_what_is_missing_and_lets_nobody_in(fields, sent):
    address = make_link(make_live(**fields))

    page = start(address, **sent)

    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert not Consent.objects.exists()
    assert not PersonalLink.objects.get().is_used
    assert start(address, age="yes").status_code == 302


@pytest.mark.parametrize(("box", "may_share"), [({"share": "yes"}, True), ({"share": ""}, False)])
def test_sharing_is_asked_with_the_notice_and_nobody_has_to_agree(box, may_share):
    address = make_link(make_live(asks_to_share=True))

    start(address, **box)

    assert Participant.objects.get().may_share is may_share


def test_start_pressed_twice_agrees_once():
    address = make_link(make_live())
    client = Client()
    sent = read_fields(client.get(address).text)

    answers = [client.post(address, sent).status_code for _ in range(2)]

    assert answers == [302, 302]
    assert Consent.objects.count() == 1


def test_another_notice_is_put_to_everyone_again():
    study = make_live()
    address = make_link(study)
    start(address)
    jane = make_user()

    with pytest.raises(ValidationError) as refused:
        change_settings(study=study, values={"answers_kept_for": "2 years"}, by=jane)
    change_settings(
        study=study, values={"answers_kept_for": "2 years"}, by=jane, is_new_version=True
    )
    page = Client().get(address, follow=True)

    assert refused.value.code == "version"
    assert page.redirect_chain[-1][0] == f"{address}consent/"
    assert "We keep your answers for 2 years." in page.text
    sent = read_fields(page.text) | {"go": "agree"}
    assert Client().post(f"{address}consent/", sent).status_code == 302
    assert Consent.objects.filter(is_given=True).count() == 2


def test_who_tries_the_study_agrees_by_start_as_well():
    study = make_study(items=2, has_notice=True)
    me = make_participant(study, is_pilot=True)

    page = Client().get(mint_link(me), follow=True)

    assert ">Start<" in page.text
    assert study.title in page.text
    assert "We keep your name" in page.text


def test_first_page_with_a_notice_takes_no_more_queries_than_without(django_assert_max_num_queries):
    plain = make_link(launch(make_study(items=2, protocol="fluency")))
    with django_assert_max_num_queries(60) as asked:
        Client().get(plain)
    noted = make_link(make_live())

    with django_assert_max_num_queries(len(asked)):
        Client().get(noted)


# --- who may come -----------------------------------------------------------------------


def test_nobody_comes_in_by_the_open_link_of_a_study_with_a_notice():
    study = make_live()

    page, pressed = open_link(study), press_start(study)

    assert ">Start<" not in page.text
    assert pressed.status_code == 200
    assert not Participant.objects.exists()


@pytest.mark.parametrize("platform", ["prolific", "none"])
def test_turning_on_a_shared_link_gives_a_draft_the_page(platform):
    jane = make_user()
    study = make_study(has_notice=True, minutes_per_set=10, pay_per_set=Decimal(3))
    recruitment = (
        make_round(study, platform, is_on=False)
        if platform == "prolific"
        else Recruitment.objects.open_link(study)
    )
    if recruitment._state.adding:
        recruitment.save()
    turn_on(recruitment=recruitment, by=jane)

    study.refresh_from_db()
    recruitment.refresh_from_db()
    assert recruitment.is_on
    assert not study.has_notice


def test_launched_study_with_a_notice_has_to_change_before_a_shared_link_is_turned_on():
    study = make_live()
    recruitment = Recruitment.objects.open_link(study)
    recruitment.save()

    with pytest.raises(ValidationError) as refused:
        turn_on(recruitment=recruitment, by=make_user())

    recruitment.refresh_from_db()
    assert refused.value.code == "notice"
    assert not recruitment.is_on


def test_choosing_the_notice_turns_off_the_open_link_of_a_draft_and_not_a_panel():
    jane = make_user()
    draft, with_panel, live = (make_study(title=title) for title in "abc")
    Recruitment.objects.open_link(draft).save()
    make_round(with_panel, "prolific")
    live = launch(live)
    Recruitment.objects.open_link(live).save()

    change_settings(study=draft, values={"has_notice": True}, by=jane)
    codes = []
    for study in (with_panel, live):
        with pytest.raises(ValidationError) as refused:
            change_settings(study=study, values={"has_notice": True}, by=jane, is_new_version=True)
        codes.append(refused.value.code)

    assert not Recruitment.objects.open_link(draft).is_on
    assert codes == ["notice", "notice"]


def test_open_link_of_a_launched_study_is_turned_off_before_the_notice_is_chosen():
    study, jane = launch(make_study(items=2)), make_user()
    open_before = open_link(study).context["shortage"]

    with pytest.raises(ValidationError) as refused:
        change_settings(study=study, values={"has_notice": True}, by=jane, is_new_version=True)
    link = Recruitment.objects.open_link(study)
    is_on, link.is_on = link.is_on, False
    link.save()
    change_settings(study=study, values={"has_notice": True}, by=jane, is_new_version=True)
    change_settings(
        study=study, values={"answers_kept_for": "2 years"}, by=jane, is_new_version=True
    )

    assert (refused.value.code, is_on, open_before) == ("notice", True, "")
    assert Study.objects.get().has_notice


def test_launched_study_changes_to_the_page_only_with_how_long_answers_are_kept():
    study = make_live(answers_kept_for="")
    jane = make_user()

    with pytest.raises(ValidationError) as refused:
        change_settings(study=study, values={"has_notice": False}, by=jane, is_new_version=True)
    values = {"has_notice": False, "answers_kept_for": "10 years"}
    change_settings(study=study, values=values, by=jane, is_new_version=True)

    assert refused.value.code == "answers_kept_for"
    assert not Study.objects.get().has_notice


# --- until when answers can be deleted --------------------------------------------------


def leave(me: Participant):
    client, home = Client(), mint_link(me)
    page = client.get(f"{home}withdraw/")
    return page, client.post(f"{home}withdraw/", {"keep": "delete"})


def test_answers_are_deleted_until_the_study_closes_and_kept_after_that():
    study = make_live()
    early, late = make_annotator(study), make_annotator(study)

    _, done = leave(early)
    close_study(study=study, by=make_user())
    page, refused = leave(late)

    assert (done.status_code, refused.status_code) == (302, 422)
    assert 'value="delete"' not in page.text
    assert "until the study closed" in page.text
    late.refresh_from_db()
    assert late.withdrawn_at is None


def test_answers_are_deleted_through_the_day_that_people_were_promised():
    last = now().date() + timedelta(days=3)
    study = make_live(withdrawable_until=last)
    people = [make_annotator(study) for _ in range(2)]
    close_study(study=study, by=make_user())
    # later texts don't shorten it for those who agreed to this one
    Study.objects.update(withdrawable_until=date(2020, 1, 1))
    make_version(Study.objects.get(), by=None)

    statuses = []
    for days, me in zip((3, 4), people, strict=True):
        with standing_at(now() + timedelta(days=days)):
            statuses.append(leave(me)[1].status_code)

    assert statuses == [302, 422]


def test_copy_of_a_study_takes_the_texts_but_not_a_day_of_the_calendar():
    study = make_study(
        answers_kept_for="5 years", has_notice=True, withdrawable_until=date(2030, 1, 1)
    )

    copy = copy_study(study=study, title="Copy", with_items=False, by=make_user())

    assert (copy.answers_kept_for, copy.has_notice) == ("5 years", True)
    assert copy.withdrawable_until is None
