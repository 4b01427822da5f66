"""participants_ids.csv: for those who may see identities, logged, and in no other file."""

import io
from zipfile import ZipFile

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.data.files.columns import list_files
from evalsite.data.files.file_counts import store_counts
from evalsite.people.models import Participant, ParticipantIdentity
from evalsite.studies.models import Membership
from tests.people.test_arrival import find_owner, finish_set
from tests.support.arriving import STUDY_ID, P, Q, V, W, join, make_rounds, prolific
from tests.support.bundles import pack
from tests.support.exports import export, read
from tests.support.factories import make_participant, make_user
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db

BACKEND = "django.contrib.auth.backends.ModelBackend"


def url_of(study) -> str:
    return reverse("admin:export-identities", args=[study.pk])


def page_of(study) -> str:
    return reverse("admin:files-all", args=[study.pk])


def make_visited():
    """P came twice and finished; Q came once; one came without an id, one was imported."""
    study = make_rounds(make_live())
    me = find_owner(join(study, prolific()))
    finish_set(me)
    join(study, prolific(visit=W))
    join(study, prolific(person=Q, visit="035orbpf1pk3"))
    join(study)
    ParticipantIdentity.objects.create(
        study=study, participant=make_participant(study), platform="import", outside_id="=w2"
    )
    return study, me


@pytest.mark.both_databases
def test_there_is_a_row_for_each_visit_that_joins_with_the_platforms_export(staff_client):
    study, me = make_visited()

    response = staff_client.post(url_of(study))

    assert response.status_code == 200
    assert "no-store" in response.headers["Cache-Control"]
    first, second, other, imported = read(response.content)
    assert (first["participant"], first["platform"]) == (me.pseudonym, "prolific")
    assert [first["person_id"], first["visit_id"], second["visit_id"]] == [P, V, W]
    assert first["platform_study_id"] == STUDY_ID
    assert first["completion_codes"] == me.item_sets.get().code
    assert (first["state"], first["sets_finished"], first["answers"]) == ("finished", "1", "3")
    assert (other["person_id"], other["visit_id"]) == (Q, "")
    assert (other["notes"], other["state"]) == ("possible preview", "no consent")
    assert (imported["person_id"], imported["arrived_at"]) == ("=w2", "")
    people = read(export(study, "participants"))
    assert {one["participant"] for one in (first, other)} < {one["participant"] for one in people}


def test_the_file_for_spreadsheets_runs_no_formula(staff_client):
    study, _ = make_visited()

    data = staff_client.post(url_of(study), {"purpose": "spreadsheets"}).content

    assert data.decode("utf-8-sig").count(",'=w2,") == 1
    assert data.startswith(b"\xef\xbb\xbf")


def test_the_log_says_who_took_the_identities_and_how_many(staff_client, researcher):
    study, _ = make_visited()

    staff_client.post(url_of(study))

    entry = AuditEntry.objects.get(action="identity view")
    assert (entry.actor, entry.study_id) == (researcher, study.pk)
    assert (entry.detail["file"], entry.detail["rows"]) == ("participants_ids.csv", 4)
    assert P not in str(entry.detail)
    store_counts(study)
    assert "4 rows" in staff_client.get(page_of(study)).text


@pytest.mark.parametrize(
    ("role", "has_identities", "status"),
    [
        (Membership.Role.OWNER, False, 200),
        (Membership.Role.EDITOR, True, 200),
        (Membership.Role.EDITOR, False, 403),
        (Membership.Role.VIEWER, False, 403),
        (None, False, 404),
    ],
)
def test_only_those_who_may_see_identities_get_the_file(role, has_identities, status):
    study, _ = make_visited()
    user = make_user(f"somebody-{role}-{has_identities}", is_staff=True)
    if role:
        Membership.objects.create(study=study, user=user, role=role, has_identities=has_identities)
    client = Client()
    client.force_login(user, backend=BACKEND)

    response = client.post(url_of(study))

    assert response.status_code == status
    assert AuditEntry.objects.filter(action="identity view").exists() == (status == 200)
    page = client.get(page_of(study))
    assert ("participants_ids: CSV" in page.text) == (status == 200)


def test_looking_takes_no_file(staff_client):
    study, _ = make_visited()

    assert staff_client.get(url_of(study)).status_code == 405
    assert not AuditEntry.objects.filter(action="identity view").exists()


def test_no_other_export_and_no_bundle_has_an_id_of_a_platform():
    study, _ = make_visited()
    secrets = {P, Q, V, W, STUDY_ID, "=w2"}

    files = {name: export(study, name).decode() for name in list_files(study.config)}
    with ZipFile(io.BytesIO(pack(study, has_free_text=True))) as archive:
        files |= {
            name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist()
        }

    assert Participant.objects.count() == 4
    assert [name for name, text in files.items() if any(one in text for one in secrets)] == []
    assert "participants_ids.csv" not in " ".join(files)
