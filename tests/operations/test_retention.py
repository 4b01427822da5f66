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

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.job import start_packing
from evalsite.data.files.jobs import start_export
from evalsite.data.files.services import Choice
from evalsite.decisions.exclusions import exclude
from evalsite.decisions.models import Approval, Note
from evalsite.decisions.notes import add_notes
from evalsite.decisions.pay import approve_sets, list_payable
from evalsite.fieldwork.launch import close_study
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.operations.retention import delete_expired, erase_person, find_expiries
from evalsite.people.models import (
    Consent,
    Expert,
    ItemSet,
    Participant,
    ParticipantIdentity,
    Visit,
)
from evalsite.studies.models import Membership, Study
from evalsite.studies.versions import build_content, make_version
from tests.decisions.test_pay import begin, work
from tests.support.experts import invite
from tests.support.factories import make_study, make_user
from tests.support.invariants import check_invariants
from tests.support.rounds import Person

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def close(study):
    close_study(study=study, by=make_user())
    study.refresh_from_db()
    return study.closed_at


def change_texts(study, **fields):
    """The study has a new version, whose texts follow from today's settings."""
    for name, value in fields.items():
        setattr(study, name, value)
    study.save()
    make_version(study, by=None)
    study.refresh_from_db()


def test_identities_are_kept_90_days_after_the_last_decision_and_never_more_than_180():
    recruitment = begin(checks=0)
    study = recruitment.study
    work(recruitment)
    running = find_expiries(study)
    closed_at = close(study)
    alone = find_expiries(study)
    decided = {}
    for days in (60, 120):
        with standing_at(closed_at + days * DAY):
            approve_sets(study=study, set_ids=[list_payable(study).get().pk], by=make_user())
        Approval.objects.update(state="waiting")
        decided[days] = find_expiries(study)

    assert running == {}
    versions = (None, study.version_id)
    assert alone == dict.fromkeys(versions, closed_at + 90 * DAY)
    assert decided == {
        60: dict.fromkeys(versions, closed_at + 150 * DAY),
        120: dict.fromkeys(versions, closed_at + 180 * DAY),
    }


@pytest.mark.both_databases
def test_everyone_is_forgotten_when_the_text_they_agreed_to_said_whatever_the_study_says_later():
    recruitment = begin(checks=0)
    study = recruitment.study
    change_texts(study, identity_days=30)
    early, both, declined = (Person(recruitment, number, number) for number in range(3))
    early.start().choose("agree")
    both.start().choose("agree")
    change_texts(study, identity_days=7)
    both.choose("agree")
    declined.start().choose("decline")
    Study.objects.filter(pk=study.pk).update(identity_days=180)
    closed_at = close(study)
    names = {early.me.pk: "early", both.me.pk: "both", declined.me.pk: "declined"}

    kept = {}
    for days in (6, 8, 29, 31):
        with standing_at(closed_at + days * DAY):
            delete_expired()
        left = ParticipantIdentity.objects.values_list("participant", flat=True)
        kept[days] = {names[pk] for pk in left}

    assert kept == {6: {"early", "both", "declined"}, 8: {"early"}, 29: {"early"}, 31: set()}
    log = AuditEntry.objects.filter(action="identities deleted").order_by("pk")
    assert [entry.detail["people"] for entry in log] == [2, 1]


def test_person_reads_the_days_they_were_promised():
    recruitment = begin(checks=0)
    change_texts(recruitment.study, identity_days=30)
    person = work(recruitment)
    Study.objects.update(identity_days=7)

    for page in (person.open(), person.client.get(f"{person.home}work/")):
        assert page.context["kept_id"]["days"] == 30


def test_decision_on_pay_keeps_nobody_longer_who_was_told_of_the_end_of_the_study_alone():
    recruitment = begin(checks=0)
    study = recruitment.study
    change_texts(study, pay_per_set=None)
    work(recruitment)
    closed_at = close(study)
    Approval.objects.create(
        study=study, item_set=ItemSet.objects.get(), decided_at=closed_at + 60 * DAY
    )

    assert find_expiries(study)[study.version_id] == closed_at + 90 * DAY


@pytest.mark.parametrize(("site", "days"), [(30, 30), (180, 180), (365, 180)])
def test_new_study_keeps_identities_as_long_as_the_site_says_and_180_days_at_most(
    settings, site, days
):
    settings.IDENTITY_DAYS = site
    study = make_study()

    content = build_content(study)

    assert f"delete it {days} days after the study closes" in content["texts"]["consent"]
    assert content["settings"]["identity_days"] == days


@pytest.mark.parametrize("days", [0, 181])
def test_nobody_is_promised_less_than_a_day_or_more_than_180(days):
    with pytest.raises(ValidationError, match="identity_days"):
        make_study(identity_days=days).full_clean()


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
    assert (expert.name, expert.email) == (f"Person {expert.pk}", "")
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
