"""How long identities are kept, and what is left of a person who is erased."""

from datetime import timedelta

import pytest
from django.apps import apps
from django.core import serializers
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.models import Q
from django.urls import reverse

from evalsite.annotation.models import Annotation, Rating, Slot
from evalsite.annotation.running.launch import close_study
from evalsite.exports.bundle.format import Contents
from evalsite.exports.bundle.job import start_packing
from evalsite.exports.jobs import start_export
from evalsite.exports.services import Choice
from evalsite.jobs.models import Job
from evalsite.jobs.services import run_job
from evalsite.lib.clock import now, standing_at
from evalsite.operations.retention import delete_expired, erase_person, find_expiry
from evalsite.participants.models import (
    Consent,
    Expert,
    ItemSet,
    Participant,
    ParticipantIdentity,
    Visit,
)
from evalsite.quality.exclusions import exclude
from evalsite.quality.models import Approval, Note
from evalsite.quality.notes import add_notes
from evalsite.quality.pay import approve_sets, list_payable
from evalsite.studies.models import Membership
from tests.quality.test_pay import begin, work
from tests.support.experts import invite
from tests.support.factories import make_user
from tests.support.invariants import check_invariants
from tests.support.rounds import Person

pytestmark = pytest.mark.django_db

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


TEXTS = ("secret note", "secret message", "secret reason", "secret answer", "da-DK,da;q=0.9")
TIMES = {
    Participant: ("created_at", "stopped_at", "withdrawn_at"),
    Visit: ("arrived_at", "ended_at"),
    ItemSet: ("created_at", "finished_at", "leased_until"),
    Annotation: ("started_at", "submitted_at"),
    Consent: ("answered_at",),
}


def read_everything(folder) -> str:
    """Return every row of the database and every file on disk as one text."""
    rows = serializers.serialize("json", (row for model in apps.get_models() for row in
                                          model._default_manager.all()))  # fmt: skip
    files = (path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())
    return "\n".join([rows, *files])


def remark_on(person, study) -> None:
    """Write something about a person wherever the team may."""
    by = make_user()
    add_notes(study=study, text="secret note", by=by, participants=[person.me])
    Approval.objects.create(
        study=study,
        item_set=person.me.item_sets.get(),
        state="rejected",
        reason="checks",
        message="secret message",
        answer="secret answer",
        decided_at=now(),
    )
    exclude(study=study, participants=[person.me], reason="secret reason", by=by)
    Annotation.objects.update(language="da-DK,da;q=0.9", device="wide-landscape")


@pytest.mark.both_databases
@pytest.mark.slow
def test_nothing_written_about_an_erased_person_is_left_in_rows_or_files(
    served_before, settings, tmp_path, django_capture_on_commit_callbacks
):
    settings.DATA_DIR = tmp_path
    recruitment = begin(checks=0)
    person = work(recruitment)
    me, other = person.me, work(recruitment, 1).me
    study = recruitment.study
    remark_on(person, study)
    Participant.objects.filter(pk=me.pk).update(network="digest", network_at=now())
    run_job(start_export(study, Choice(file="ratings"), by=make_user()))
    run_job(start_packing(study, Contents(has_free_text=True), by=make_user()))
    kept = other.annotations.order_by("pk").values("started_at", "submitted_at")[0]
    before = read_everything(tmp_path)
    files_before = [path for path in tmp_path.rglob("*") if path.is_file()]

    with django_capture_on_commit_callbacks(execute=True):
        erase_person(me, by=None)
    after = read_everything(tmp_path)

    assert [text for text in TEXTS if text not in before] == []
    assert len(files_before) == 2
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    mine = Q(participant=me)
    assert set(Annotation.objects.filter(mine).values_list("device", "language")) == {("", "")}
    assert Participant.objects.get(pk=me.pk).network == ""
    assert not Note.objects.exists()
    assert [text for text in TEXTS[:4] if text in after] == []
    for model, names in TIMES.items():
        rows = model.objects.filter(pk=me.pk) if model is Participant else (
            model.objects.filter(mine)
        )  # fmt: skip
        times = [moment for row in rows.values_list(*names) for moment in row if moment]
        assert times
        assert {(moment.second, moment.microsecond) for moment in times} == {(0, 0)}, model
    # nobody else's
    assert other.annotations.order_by("pk").values("started_at", "submitted_at")[0] == kept
    check_invariants(study)


@pytest.mark.both_databases
def test_nobody_is_erased_while_a_file_is_written_that_may_hold_their_answers():
    recruitment = begin(checks=0)
    person = work(recruitment)
    job = start_export(recruitment.study, Choice(file="ratings"), by=make_user())
    Job.objects.filter(pk=job.pk).update(state="running", heartbeat_at=now())

    with pytest.raises(ValidationError) as refused:
        erase_person(person.me, by=None)

    assert refused.value.code == "file_being_written"
    assert Rating.objects.exists()


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
