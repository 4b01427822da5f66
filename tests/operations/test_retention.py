"""How long identities are kept, and what is left of a person who is erased."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from evalsite.annotation.models import Annotation, Rating, Slot
from evalsite.annotation.running.launch import close_study
from evalsite.lib.clock import now, standing_at
from evalsite.operations.retention import delete_expired, erase_person, find_expiry
from evalsite.participants.models import Expert, Participant, ParticipantIdentity, Visit
from evalsite.quality.models import Approval
from evalsite.quality.pay import approve_sets, list_payable
from evalsite.studies.models import Membership
from tests.quality.test_pay import begin, work
from tests.support.experts import invite
from tests.support.factories import make_user
from tests.support.invariants import check_invariants
from tests.support.rounds import Person

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

DAY = timedelta(days=1)


def close(study):
    close_study(study=study, by=make_user())
    study.refresh_from_db()
    return study.closed_at


def test_identities_are_kept_90_days_after_the_last_decision_and_never_more_than_180():
    recruitment = begin(checks=0)
    study = recruitment.study
    work(recruitment)
    running = find_expiry(study)
    closed_at = close(study)
    alone = find_expiry(study)
    decided = {}
    for days in (60, 120):
        with standing_at(closed_at + days * DAY):
            approve_sets(study=study, set_ids=[list_payable(study).get().pk], by=make_user())
        Approval.objects.update(state="waiting")
        decided[days] = find_expiry(study)

    assert running is None
    assert alone == closed_at + 90 * DAY
    assert decided == {60: closed_at + 150 * DAY, 120: closed_at + 180 * DAY}


def test_what_names_people_is_gone_then_and_all_that_they_did_stays():
    recruitment = begin(checks=0)
    study = recruitment.study
    for number in (0, 1):
        work(recruitment, number)
    invite(study, "Eva Lind")
    approve_sets(study=study, set_ids=[one.pk for one in list_payable(study)], by=make_user())
    closed_at = close(study)
    answers = list(Annotation.objects.order_by("pk").values())
    with standing_at(closed_at + 89 * DAY):
        early = delete_expired()
    kept = ParticipantIdentity.objects.count()

    with standing_at(closed_at + 91 * DAY):
        deleted = delete_expired()
        again = delete_expired()

    assert (early, kept) == ({}, 2)
    assert deleted == {str(study.pk): 3}
    assert again == {}
    assert not ParticipantIdentity.objects.exists()
    assert {*Visit.objects.values_list("person_id", "visit_id", "platform_study_id")} == {
        ("", "", "")
    }
    expert = Expert.objects.get()
    assert (expert.name, expert.email) == (f"Expert {expert.pk}", "")
    assert list(Annotation.objects.order_by("pk").values()) == answers
    assert Approval.objects.filter(state="approved").count() == 2
    check_invariants(study)


def test_erased_person_leaves_nothing_and_is_somebody_new_on_the_next_visit():
    recruitment = begin(checks=0)
    person = work(recruitment)
    me, study = person.me, recruitment.study
    study.recognise_days = 365
    me.marks.create(study=study, digest="d")
    call_command("erase", str(study.pk), me.pseudonym)

    erase_person(me, by=None)
    page = person.client.get(person.home)
    back = Person(recruitment).start()

    assert page.status_code == 404
    assert not Rating.objects.exists()
    assert not Slot.objects.done().exists()
    assert not me.marks.exists()
    assert not me.identities.exists()
    assert {*Annotation.objects.values_list("status", flat=True)} == {"withdrawn"}
    assert back.me.pseudonym != me.pseudonym
    assert Participant.objects.count() == 2
    check_invariants(study)


def test_commands_say_what_they_deleted_and_refuse_a_name_that_nobody_has(capsys):
    study = begin(checks=0).study

    call_command("retain")

    assert "No identity had to be deleted." in capsys.readouterr().out
    with pytest.raises(CommandError, match="nobody called"):
        call_command("erase", str(study.pk), "p-nobody")
    assert now() >= study.launched_at


def test_owner_erases_a_person_on_a_page_that_says_what_goes(staff_client, researcher):
    recruitment = begin(checks=0)
    person = work(recruitment)
    study = recruitment.study
    Membership.objects.update_or_create(study=study, user=researcher, defaults={"role": "owner"})
    address = reverse("admin:person-erase", args=[study.pk, person.me.pseudonym])
    shown = staff_client.get(address)
    kept = Rating.objects.exists()
    pages = [
        staff_client.get(reverse("admin:study-person", args=[study.pk, person.me.pseudonym])),
        person.open("finish/"),
        person.open("work/"),
    ]

    response = staff_client.post(address)

    assert "deletes 4 answers" in shown.text
    assert address in pages[0].text
    for page in pages[1:]:
        assert page.context["kept_id"] == {"platform": "Prolific", "days": 90}
        assert "We delete it 90 days after" in page.text
    assert kept
    assert response.status_code == 302
    assert not Rating.objects.exists()
