"""A batch that is uploaded while a study runs: kept back, opened by an owner, dealt last."""

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.data.items.importer import undo_batch
from evalsite.fieldwork.launch import close_study
from evalsite.fieldwork.live_changes import newest_places, open_batch
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.results.progress import progress_by_system, progress_of
from evalsite.studies.models import Batch, Item, Membership, Study
from tests.support.browsing import is_watched
from tests.support.factories import add_batch, answer_item, make_annotator, make_user
from tests.support.queues import run_waiting_jobs
from tests.support.tabs import make_live
from tests.support.uploads import GOOD

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


@pytest.fixture
def study(researcher) -> Study:
    return make_live(items=2, k=2, set_size=4)


@pytest.fixture
def later(study) -> Batch:
    return add_batch(study, items=2, first=9)


def url(name: str, study: Study, *more: object) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *more])


# --- kept back ------------------------------------------------------------------------------


def test_batch_uploaded_into_a_live_study_waits(staff_client, study):
    page = staff_client.post(url("upload-new", study), {"pasted": GOOD}, follow=True)
    pressed = staff_client.post(f"{page.redirect_chain[-1][0]}import/", follow=True)

    batch = study.batches.latest("uploaded_at")
    assert batch.opened_at is None
    assert not Slot.objects.filter(item__batch=batch).exists()
    assert "once an owner has opened the batch" in pressed.text
    assert "not opened yet" in pressed.text
    assert url("batch-open-confirm", study, batch.pk) in pressed.text


def test_nobody_gets_an_item_of_a_batch_that_waits(study, later):
    item_set = claim_set(make_annotator(study))

    assert not Item.objects.filter(pk__in=item_set.item_ids, batch=later).exists()


def test_answers_of_a_batch_that_waits_are_not_asked_for(study, later):
    assert progress_of(study).target == 4
    assert {one["target"] for one in progress_by_system(study)} == {4}


def test_batch_that_waits_can_be_undone(staff_client, researcher, study, later):
    undo_batch(batch=later, by=researcher)

    assert study.batches.count() == 1
    assert Slot.objects.filter(study=study).count() == 4


def test_overview_tells_of_a_batch_that_waits(staff_client, study, later):
    before = staff_client.get(url("study-overview", study)).text
    open_all = Batch.objects.filter(pk=later.pk)
    open_all.update(opened_at=now())

    assert "Open 1 batch" in before
    assert "Open 1 batch" not in staff_client.get(url("study-overview", study)).text
    open_all.update(opened_at=None)


def test_practice_of_a_launched_study_stays_as_it_is(staff_client, study):
    rows = GOOD.replace("item,mr", "kind,item,mr").replace("m1,", "practice,m1,")

    page = staff_client.post(url("upload-new", study), {"pasted": rows}, follow=True)

    assert "its practice can&#x27;t change" in page.text
    assert study.batches.count() == 1


def test_closed_study_takes_no_batch_and_opens_none(staff_client, researcher, study, later):
    close_study(study=study, by=researcher)

    page = staff_client.get(url("batch-list", study))

    assert "takes no further items" in page.text
    assert "Open…" not in page.text
    with pytest.raises(ValidationError, match="live or paused"):
        open_batch(batch=later, by=researcher)


# --- opened ---------------------------------------------------------------------------------


def test_opened_batch_gets_k_places_behind_all_others(staff_client, study, later):
    last = Slot.objects.latest("pos").pos

    page = staff_client.post(url("batch-open", study, later.pk), follow=True)
    run_waiting_jobs()

    assert "is open to people" in page.text
    new = Slot.objects.filter(item__batch=later)
    assert sorted(new.values_list("no", flat=True)) == [0, 0, 1, 1]
    assert new.earliest("pos").pos > last
    assert progress_of(study).target == 8


def test_person_who_had_everything_finds_the_new_items(staff_client, study, later):
    me = make_annotator(study)
    item_set = claim_set(me)
    for item in Item.objects.filter(pk__in=item_set.item_ids):
        answer_item(me, item, item_set=item_set)
    me.item_sets.update(finished_at=now(), code="K7QF-3M2X")
    assert claim_set(me) is None

    staff_client.post(url("batch-open", study, later.pk))
    run_waiting_jobs()

    assert set(claim_set(me).item_ids) == set(later.items.values_list("pk", flat=True))


def test_opening_asks_first_and_stands_in_the_log(staff_client, researcher, study, later):
    page = staff_client.get(url("batch-open-confirm", study, later.pk))
    later.refresh_from_db()
    assert later.opened_at is None
    assert "2 items get 4 places" in page.text

    staff_client.post(url("batch-open", study, later.pk))
    run_waiting_jobs()

    entry = AuditEntry.objects.get(action="batch opened")
    assert entry.actor == researcher
    assert entry.detail == {"batch": str(later.pk), "items": 2}
    assert AuditEntry.objects.get(action="places fitted").detail == {"k": 2, "added": 4}


def test_bad_68_opened_batch_is_not_undone(staff_client, researcher, study, later):
    open_batch(batch=later, by=researcher)

    page = staff_client.post(url("batch-undo", study, later.pk), follow=True)
    run_waiting_jobs()

    assert "open to people. It can&#x27;t be undone" in page.text
    assert Batch.objects.filter(pk=later.pk).exists()


def test_bad_68_batch_with_ratings_is_not_undone(staff_client, study):
    me = make_annotator(study)
    item_set = claim_set(me)
    answer_item(me, Item.objects.get(pk=item_set.item_ids[0]), item_set=item_set)
    batch = study.batches.get()

    page = staff_client.post(url("batch-undo", study, batch.pk), follow=True)

    assert "can&#x27;t be undone any more" in page.text
    assert Annotation.objects.counted().count() == 1


def test_batch_is_opened_once(researcher, study, later):
    open_batch(batch=later, by=researcher)
    run_waiting_jobs()

    with pytest.raises(ValidationError, match="open to people already"):
        open_batch(batch=later, by=researcher)

    assert Slot.objects.filter(item__batch=later).count() == 4


def test_opening_in_a_paused_study_deals_nothing_before_it_is_resumed(researcher, study, later):
    Study.objects.update(state="paused")

    open_batch(batch=later, by=researcher)
    run_waiting_jobs()

    assert Slot.objects.filter(item__batch=later).count() == 4
    assert claim_set(make_annotator(study)) is None


def test_study_that_is_closed_while_places_are_made_has_them_all_the_same(researcher, study, later):
    open_batch(batch=later, by=researcher)
    close_study(study=study, by=researcher)

    run_waiting_jobs()

    assert Slot.objects.filter(item__batch=later).count() == 4


def test_editors_open_batches_and_viewers_do_not(client, study, later):
    viewer, editor = make_user("viewer"), make_user("editor")
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)
    Membership.objects.create(study=study, user=editor, role=Membership.Role.EDITOR)
    client.force_login(viewer, backend="django.contrib.auth.backends.ModelBackend")

    assert client.post(url("batch-open", study, later.pk)).status_code == 403
    assert "Open…" not in client.get(url("batch-list", study)).text
    with pytest.raises(PermissionDenied):
        open_batch(batch=later, by=viewer)
    assert open_batch(batch=later, by=editor).opened_at is not None


def test_looking_at_the_address_opens_nothing(staff_client, study, later):
    assert staff_client.get(url("batch-open", study, later.pk)).status_code == 405


# --- the job --------------------------------------------------------------------------------


def test_stopped_work_says_so_and_goes_on(staff_client, researcher, study, later):
    open_batch(batch=later, by=researcher)
    Job.objects.update(state="running", heartbeat_at=now() - timedelta(minutes=10))

    page = staff_client.get(url("batch-list", study))
    staff_client.post(url("study-places-again", study))
    run_waiting_jobs()

    assert "stopped responding" in page.text
    assert newest_places(study).state == "done"
    assert Slot.objects.filter(item__batch=later).count() == 4


def test_running_work_is_told_on_the_overview_which_follows_it(
    staff_client, researcher, study, later
):
    open_batch(batch=later, by=researcher)
    Job.objects.update(state="running", heartbeat_at=now(), done=1, total=4)

    page = staff_client.get(url("study-overview", study))

    assert "Places are being made or removed" in page.text
    assert is_watched(page)
    assert "Start again" not in page.text
    Job.objects.update(state="waiting")
    run_waiting_jobs()
