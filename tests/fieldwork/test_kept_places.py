"""Places of people who left are taken back by the researchers."""

from datetime import timedelta

import pytest
from django.db import connection  # noqa: F401 (the mark reads it)
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.data.fsck import find_breaches
from evalsite.fieldwork.kept_places import list_holders, take_back_places
from evalsite.fieldwork.launch import close_study
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Rating, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.studies.models import Membership, Study
from tests.support.factories import answer_item, make_annotator, make_user
from tests.support.races import Held, only_postgresql
from tests.support.tabs import make_live, open_tab, what_became

pytestmark = pytest.mark.django_db

AWAY = timedelta(minutes=12)


@pytest.fixture
def study(researcher) -> Study:
    return make_live(by=researcher, items=6, k=1)


def url(name: str, study: Study) -> str:
    return reverse(f"admin:{name}", args=[study.pk])


def take_back(client, study: Study, **query: str):
    """The places that the page shows are taken back."""
    page = client.get(url("study-places-kept", study), query)
    sent = {"before": page.context["before"]}
    return client.post(url("study-places-take-back", study), sent, follow=True)


def test_overview_counts_places_of_people_who_went_quiet_and_nobody_elses(staff_client, study):
    gone, at_work = open_tab(study), make_annotator(study)
    with standing_at(now() + AWAY):
        claim_set(at_work)

        page = staff_client.get(url("study-overview", study))

        [quiet] = [task for task in page.context["tasks"] if task.key == "quiet"]
        assert (quiet.count, quiet.items) == (3, 1)
        confirmation = staff_client.get(url("study-places-kept", study))
        assert gone.me.pseudonym in confirmation.text
        assert at_work.pseudonym not in confirmation.text


@pytest.mark.both_databases
def test_places_taken_back_are_free_for_others_and_the_log_says_whose_they_were(
    staff_client, study
):
    tab = open_tab(study)
    with standing_at(now() + AWAY):
        take_back(staff_client, study)

    assert not Slot.objects.leased().exists()
    entry = AuditEntry.objects.get(action="places taken back", study_id=study.pk)
    assert (entry.detail["places"], entry.detail["who"]) == (3, [tab.me.pseudonym])
    assert find_breaches(study) == []


@pytest.mark.both_databases
def test_taking_back_twice_is_taking_back_once(staff_client, study):
    open_tab(study)
    with standing_at(now() + AWAY):
        sent = {"before": staff_client.get(url("study-places-kept", study)).context["before"]}
        for _ in range(2):
            staff_client.post(url("study-places-take-back", study), sent)

    assert AuditEntry.objects.filter(action="places taken back").count() == 1


def test_who_answered_after_the_page_was_shown_keeps_their_places(staff_client, study):
    tab = open_tab(study)
    with standing_at(now() + AWAY):
        before = now()
    with standing_at(now() + AWAY + timedelta(minutes=1)):
        tab.save()
        assert list_holders(study, before=before) == []
        assert take_back_places(study=study, before=before, by=None) == []

    assert Slot.objects.leased().filter(participant=tab.me).count() == 2


@pytest.mark.both_databases
@only_postgresql
@pytest.mark.django_db(transaction=True)
def test_who_answers_at_the_moment_of_taking_back_keeps_their_places(study):
    tab = open_tab(study)
    before = now()

    race = Held(
        lambda: what_became(tab.save()),
        lambda: take_back_places(study=study, before=before, by=None),
    )

    assert race.run() == ("saved", [])
    assert race.has_waited
    assert Slot.objects.leased().filter(participant=tab.me).count() == 2


def test_who_comes_back_gets_what_is_free_and_has_lost_the_rest(staff_client, study):
    tab = open_tab(study)
    item_set = tab.me.item_sets.get()
    with standing_at(now() + AWAY):
        take_back(staff_client, study)
        lost = Slot.objects.filter(item__in=item_set.item_ids[:2])
        lost.update(
            state=Slot.State.LEASED,
            participant=make_annotator(study),
            lease_until=now() + timedelta(hours=1),
        )
        claim_set(tab.me)

    item_set.refresh_from_db()
    assert item_set.lost_ids == item_set.item_ids[:2]
    assert Slot.objects.leased().filter(participant=tab.me).count() == 1


def test_a_late_answer_counts_if_its_place_is_free_and_is_surplus_otherwise(staff_client, study):
    free, gone = open_tab(study), open_tab(study)
    with standing_at(now() + AWAY):
        take_back(staff_client, study)
        answer_item(make_annotator(study), gone.item)

        assert what_became(free.save()) == "saved"
        assert what_became(gone.save()) == "saved"

    assert free.me.annotations.get().status == "counted"
    assert gone.me.annotations.get().status == "surplus"
    assert find_breaches(study) == []


@pytest.mark.parametrize("role", [Membership.Role.VIEWER, Membership.Role.EDITOR])
def test_editors_take_places_back_and_viewers_do_not(client, study, role):
    open_tab(study)
    user = make_user(role)
    Membership.objects.create(study=study, user=user, role=role)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    with standing_at(now() + AWAY):
        page = client.post(url("study-places-take-back", study), {"before": now().isoformat()})

    is_editor = role == Membership.Role.EDITOR
    assert page.status_code == (302 if is_editor else 403)
    assert Slot.objects.leased().exists() is not is_editor


def test_a_closed_study_is_archived_once_places_are_taken_back(staff_client, study, researcher):
    open_tab(study)
    close_study(study=study, by=researcher)
    overview = staff_client.get(url("study-overview", study))
    assert [(task.key, task.count) for task in overview.context["tasks"]] == [("kept", 3)]
    assert url("study-places-kept", study) in overview.text
    refused = staff_client.post(url("study-archive", study), follow=True)
    assert "3 places of this study are still kept" in refused.text

    take_back(staff_client, study, minutes="0")

    assert staff_client.get(url("study-overview", study)).context["tasks"] == []
    staff_client.post(url("study-archive", study))
    assert Study.objects.get(pk=study.pk).state == "archived"


def put_away(staff_client, study, researcher) -> None:
    close_study(study=study, by=researcher)
    take_back(staff_client, study, minutes="0")
    staff_client.post(url("study-archive", study))
    study.refresh_from_db()
    assert study.state == "archived"


def test_bad_82_an_answer_sent_after_the_archive_counts_nowhere_and_says_so(
    staff_client, study, researcher
):
    tab = open_tab(study)
    put_away(staff_client, study, researcher)

    response = tab.save()

    assert what_became(response) == "ended"
    assert tab.me.annotations.get().status == "surplus"
    assert not Slot.objects.done().exists()
    page = tab.client.get(response.headers["Location"], follow=True).text
    assert "too late to count" in page
    assert "This study has ended" in page
    assert "where you left off" not in page
    assert what_became(tab.save()) == "already"
    assert find_breaches(study) == []


def test_bad_82_an_open_page_changes_no_answer_after_the_archive(staff_client, study, researcher):
    tab = open_tab(study)
    tab.save()
    page = tab.open(1)
    before = list(Rating.objects.order_by("pk").values())
    put_away(staff_client, study, researcher)

    assert what_became(page.save(("1", "2", "3"))) == "final"

    assert list(Rating.objects.order_by("pk").values()) == before


@pytest.mark.parametrize("before", ["", "yesterday", "2026-01-01", "\x00"])
def test_a_moment_that_is_none_takes_nothing_back(staff_client, study, before):
    open_tab(study)

    page = staff_client.post(url("study-places-take-back", study), {"before": before})

    assert page.status_code == 302
    assert Slot.objects.leased().count() == 3
