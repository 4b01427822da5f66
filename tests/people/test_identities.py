"""Viewers, and editors without identities, meet no receipt and no entry answer anywhere."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.format import Contents
from evalsite.fieldwork.launch import close_study
from evalsite.people.models import Answer, Participant, ParticipantIdentity
from evalsite.studies.models import Membership, Study, TeamRole
from tests.data.bundle.test_bundle_plan import restore
from tests.site.test_staff_pages import sign_in
from tests.support.bundles import examine, move_data, pack, read_files
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("checks_here")]

WITHOUT = [TeamRole.VIEWER, TeamRole.EDITOR]
WITH = [TeamRole.EDITOR_WITH_IDENTITIES, TeamRole.OWNER]
LANGUAGE, WORKER = "a rare dialect", "5f0c0ffee5f0c0ff"
FILES = ("ratings", "ratings_simple", "annotations", "items", "participants", "metrics")


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    move_data(settings, tmp_path)


@pytest.fixture
def study() -> Study:
    """A study of one person, who was asked for a first language and a variety of English."""
    study = launch(make_study(items=2))
    me = make_annotator(study)
    answer_item(me, study.items.main()[0])
    Answer.objects.create(study=study, participant=me, question="first_language", value=LANGUAGE)
    Answer.objects.create(study=study, participant=me, question="variety", value="british")
    Answer.objects.create(study=study, participant=me, question="qualification-1-1", value="x")
    ParticipantIdentity.objects.create(
        study=study, participant=me, platform="a platform", outside_id=WORKER
    )
    return study


@pytest.fixture
def person(study: Study) -> Participant:
    return study.participants.get()


def client_of(study: Study, role: TeamRole) -> Client:
    user = make_user(role.value)
    Membership.objects.get_or_create(study=study, user=user, defaults=role.columns)
    return sign_in(user)


def url(name: str, study: Study, *more: object) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *more])


def read(response: Any) -> bytes:
    return response.getvalue()


def make(client: Client, study: Study, contents: str = "data") -> Job:
    client.post(url("export-bundle", study), {"contents": contents})
    return run_job(Job.objects.filter(kind="bundle").order_by("-created_at")[0])


def take(client: Client, study: Study, job: Job) -> Any:
    return client.post(url("export-bundle-file", study, job.pk))


def entry_answers(bundle: bytes) -> int:
    people = read_files(bundle)["records/participants.jsonl"].decode()
    return people.count('"variety"') + people.count('"first_language"')


# --- pages --------------------------------------------------------------------------


@pytest.mark.parametrize("role", TeamRole)
def test_receipts_are_shown_to_those_who_may_see_identities(study, person, role):
    client = client_of(study, role)

    pages = [
        client.get(url("study-people", study), {"q": person.pseudonym}).text,
        client.get(url("study-person", study, person.pseudonym)).text,
    ]

    assert [person.receipt in page for page in pages] == [role in WITH] * 2
    assert all(person.pseudonym in page for page in pages)
    assert not any(text in page for text in (LANGUAGE, WORKER) for page in pages)


@pytest.mark.parametrize("role", TeamRole)
def test_people_are_found_by_receipt_only_by_those_who_may_see_it(study, person, role):
    client = client_of(study, role)
    address = url("study-people", study)

    by_receipt = client.get(address, {"q": person.receipt[2:8]}).context["people"]
    by_pseudonym = client.get(address, {"q": person.pseudonym}).context["people"]

    assert len(by_receipt) == (role in WITH)
    assert len(by_pseudonym) == 1


# --- files --------------------------------------------------------------------------


def test_exported_files_are_the_same_for_every_role_and_hold_no_identities(study, person):
    for file in FILES:
        taken = {
            read(client_of(study, role).post(url("export-file", study, file))) for role in TeamRole
        }

        assert len(taken) == 1, file
        [content] = taken
        for secret in (person.receipt, LANGUAGE, WORKER):
            assert secret.encode() not in content, file


def test_raw_records_are_for_administrators_only(study, person):
    addresses = [
        reverse("admin:participants_participant_changelist"),
        reverse("admin:participants_participant_change", args=[person.pk]),
    ]

    for role in TeamRole:
        client = client_of(study, role)
        assert [client.get(one).status_code for one in addresses] == [403, 404], role


# --- bundles ------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("contents", ["data", "free-text"])
@pytest.mark.parametrize("role", WITHOUT)
def test_bundle_of_whoever_may_not_see_identities_has_no_entry_answers(study, role, contents):
    client = client_of(study, role)

    job = make(client, study, contents)
    bundle = read(take(client, study, job))

    assert entry_answers(bundle) == 0
    assert LANGUAGE.encode() not in b"".join(read_files(bundle).values())
    assert examine(bundle).about["has_entry_answers"] is False


def test_bundle_is_not_found_in_another_study(study):
    job = make(client_of(study, TeamRole.OWNER), study)
    other = make_study(items=0, title="Another", by=make_user("zoe"))

    assert take(sign_in(make_user("root", is_superuser=True)), other, job).status_code == 404


@pytest.mark.one_case
@pytest.mark.parametrize("role", WITH)
def test_bundle_of_whoever_may_see_identities_has_them_as_before(study, role):
    client = client_of(study, role)

    bundle = read(take(client, study, make(client, study, "free-text")))

    assert entry_answers(bundle) == 2
    assert "has_entry_answers" not in examine(bundle).about
    assert bundle == pack(study, has_free_text=True)


@pytest.mark.parametrize("contents", ["data", "free-text"])
@pytest.mark.parametrize("role", WITHOUT)
def test_bundle_with_entry_answers_is_not_for_whoever_may_not_see_them(study, role, contents):
    job = make(client_of(study, TeamRole.OWNER), study, contents)
    client = client_of(study, role)

    page = client.get(url("export-bundle", study)).text

    assert take(client, study, job).status_code == 403
    assert url("export-bundle-file", study, job.pk) not in page


def test_bundle_made_before_entry_answers_could_be_left_out_has_them(study):
    job = make(client_of(study, TeamRole.OWNER), study)
    del job.params["has_entry_answers"]
    job.save()

    assert take(client_of(study, TeamRole.VIEWER), study, job).status_code == 403
    assert take(client_of(study, TeamRole.OWNER), study, job).status_code == 200


def test_bundle_of_the_design_is_the_same_for_everybody(study):
    job = make(client_of(study, TeamRole.VIEWER), study, "design")

    taken = {read(take(client_of(study, role), study, job)) for role in TeamRole}

    assert taken == {pack(study, has_data=False)}


def test_wishes_with_and_without_entry_answers_are_two_jobs(study):
    for role in TeamRole:
        client_of(study, role).post(url("export-bundle", study), {"contents": "data"})

    assert Job.objects.filter(kind="bundle").count() == 2


@pytest.mark.slow
def test_bundle_without_entry_answers_is_verified_and_imported(study):
    close_study(study=study, by=make_user())

    restored = restore(pack(study, has_entry_answers=False), is_copy=True).study

    found = Answer.objects.filter(study=restored).values_list("question", flat=True)
    assert not [name for name in found if not name.startswith("qualification-")]
    assert examine(pack(restored, has_entry_answers=False)).about["has_entry_answers"] is False


def test_contents_say_by_default_what_bundles_always_held():
    assert Contents() == Contents(has_data=True, has_free_text=False, has_entry_answers=True)
