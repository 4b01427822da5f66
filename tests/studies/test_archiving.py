"""Archived studies: out of the list, readable, unchanged, and brought back when wanted."""

from datetime import timedelta

import pytest
from django.contrib.messages import get_messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from evalsite.admin import ARCHIVED, collect_study_views
from evalsite.core.audit.models import AuditEntry
from evalsite.data.fsck import find_breaches
from evalsite.fieldwork.launch import (
    archive_study,
    close_study,
    launch_study,
    unarchive_study,
)
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now, standing_at
from evalsite.studies.models import Membership, Study
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user

pytestmark = pytest.mark.django_db

HOME = reverse("admin:index")


def url(name: str, study: Study) -> str:
    return reverse(f"admin:{name}", args=[study.pk])


def state_of(study: Study) -> str:
    return Study.objects.get(pk=study.pk).state


@pytest.fixture
def closed(researcher) -> Study:
    study = launch(make_study(by=researcher))
    answer_item(make_annotator(study), study.items.main()[0])
    close_study(study=study, by=researcher)
    return Study.objects.get(pk=study.pk)


@pytest.fixture
def archived(closed, researcher) -> Study:
    archive_study(study=closed, by=researcher)
    return Study.objects.get(pk=closed.pk)


def test_closed_study_is_archived_and_brought_back_with_its_buttons(staff_client, closed):
    assert url("study-archive", closed) in staff_client.get(url("study-overview", closed)).text

    page = staff_client.post(url("study-archive", closed), follow=True)

    assert "Archived. It is listed among the archived studies" in page.text
    assert state_of(closed) == "archived"
    assert url("study-unarchive", closed) in page.text

    page = staff_client.post(url("study-unarchive", closed), follow=True)

    assert "Restored. It is back among your studies." in page.text
    assert state_of(closed) == "closed"
    logged = AuditEntry.objects.filter(study_id=closed.pk).values_list("action", flat=True)
    assert {"study archived", "study brought back"} <= set(logged)


def test_archived_study_stands_on_a_list_of_its_own(staff_client, archived, researcher):
    other = make_study(title="Still at work", by=researcher)

    home, archive = staff_client.get(HOME), staff_client.get(HOME, {"archived": ""})

    assert archived.title not in home.text
    assert other.title in home.text
    assert 'href="?archived=">1 archived study</a>' in home.text
    assert archived.title in archive.text
    assert other.title not in archive.text


def test_empty_list_of_archived_studies_says_how_to_archive(staff_client, closed):
    assert "To archive a draft or a closed study" in staff_client.get(HOME, {"archived": ""}).text


def test_strangers_see_no_archived_study(client, archived):
    client.force_login(make_user("stranger"), backend="django.contrib.auth.backends.ModelBackend")

    page = client.get(HOME, {"archived": ""})

    assert archived.title not in page.text
    assert "0 archived studies" in page.text


# --- nothing of it changes ------------------------------------------------------------------


def changing_pages() -> list[str]:
    """The pages with no further number in their address that an archived study refuses."""
    return [
        page.name
        for page in collect_study_views()
        if not page.is_reading and "<" not in page.path and page.name != "study-archive"
    ]


def test_no_page_of_an_archived_study_takes_a_post_that_could_change_it(staff_client, archived):
    before = Study.objects.filter(pk=archived.pk).values().get()

    for name in changing_pages():
        page = staff_client.post(url(name, archived))

        assert page.url == url("study-overview", archived), name
        assert ARCHIVED in map(str, get_messages(page.wsgi_request)), name
        assert Study.objects.filter(pk=archived.pk).values().get() == before, name


def test_pages_of_an_archived_study_say_so_and_are_read(staff_client, archived):
    for name in ("study-overview", "setup-read", "study-results", "study-export"):
        page = staff_client.get(url(name, archived))

        assert page.status_code == 200, name
        assert "This study is archived: you can read" in page.text, name
        assert ">Save</button>" not in page.text, name
        assert "until you close it" not in page.text, name


def test_analysis_plan_of_an_archived_study_is_told_without_its_form(staff_client, closed):
    assert "<select" in staff_client.get(url("setup-plan", closed)).text

    staff_client.post(url("study-archive", closed))

    page = staff_client.get(url("setup-plan", closed))
    assert "<select" not in page.text
    assert "How they are decided" in page.text


def test_archived_study_is_exported_as_before(staff_client, closed):
    address = reverse("admin:export-file", args=[closed.pk, "ratings"])
    before = b"".join(staff_client.post(address).streaming_content)
    staff_client.post(url("study-archive", closed))

    after = staff_client.post(address)

    assert b"".join(after.streaming_content) == before
    assert before.count(b"\n") > 1


def test_archived_study_is_computed(staff_client, archived):
    page = staff_client.post(url("study-results-compute", archived))

    assert page.url == url("study-results", archived)


def test_archived_study_has_nothing_wrong(archived):
    assert find_breaches(archived) == []


def test_participants_of_an_archived_study_meet_a_closed_one(client, archived):
    page = client.get(reverse("study-join", args=[archived.pk]))

    assert "This study is closed" in page.text


# --- when it is refused ---------------------------------------------------------------------


def test_study_that_is_not_closed_is_not_archived(researcher):
    study = launch(make_study(by=researcher))

    with pytest.raises(ValidationError, match="another state"):
        archive_study(study=study, by=researcher)


def test_study_is_not_archived_while_somebody_may_finish(researcher):
    study = launch(make_study(by=researcher))
    me = make_annotator(study)
    claim_set(me)
    close_study(study=study, by=researcher)

    with pytest.raises(ValidationError, match="take the places back first"):
        archive_study(study=study, by=researcher)
    assert state_of(study) == "closed"

    with standing_at(now() + timedelta(minutes=study.lease_minutes, seconds=1)):
        archive_study(study=study, by=researcher)
    assert state_of(study) == "archived"
    assert not Annotation.objects.filter(study=study).exists()


@pytest.mark.parametrize("service", [archive_study, unarchive_study])
def test_only_owners_archive(closed, service):
    editor = make_user("editor")
    Membership.objects.create(study=closed, user=editor, role=Membership.Role.EDITOR)

    with pytest.raises(PermissionDenied):
        service(study=closed, by=editor)


# --- drafts ------------------------------------------------------------------------------------


def test_draft_is_archived_from_its_header_and_is_a_draft_again(staff_client, researcher):
    draft = make_study(items=2, by=researcher)
    page = staff_client.get(url("setup-work", draft)).text

    archived = staff_client.post(url("study-archive", draft), follow=True)

    assert f'action="{url("study-archive", draft)}"' in page
    assert state_of(draft) == "archived"
    assert [place.label for place in archived.context["frame"].places] == ["Set up", "Invite"]
    assert archived.context["frame"].setup is None
    assert url("study-launch", draft) not in archived.text.partition("</header>")[0]
    assert find_breaches(Study.objects.get(pk=draft.pk)) == []

    staff_client.post(url("study-unarchive", draft))

    assert state_of(draft) == "draft"


def test_archived_draft_is_neither_changed_nor_tried_nor_launched(staff_client, researcher):
    draft = make_study(items=2, by=researcher)
    archive_study(study=draft, by=researcher)

    for name in ("setup-work", "study-launch-start", "study-pilot-take"):
        assert staff_client.post(url(name, draft)).url == url("study-setup", draft), name
    launch_page = staff_client.get(url("study-launch", draft)).text

    assert f'action="{url("study-launch-start", draft)}"' not in launch_page
    assert not draft.participants.exists()


def test_draft_is_not_archived_while_it_is_launched(researcher):
    draft = make_study(items=2, by=researcher)
    launch_study(study=draft, by=researcher)

    with pytest.raises(ValidationError, match="being launched"):
        archive_study(study=draft, by=researcher)

    assert state_of(draft) == "draft"
