"""Another k while people work: places come and go, and nothing that people gave is lost."""

import pytest
from django.core.exceptions import PermissionDenied, ValidationError

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import take_over_job
from evalsite.fieldwork.launch import close_study
from evalsite.fieldwork.live_changes import change_k, newest_places
from evalsite.handout import change_k as places
from evalsite.handout.change_k import Fit, foresee_fit
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.setting_changes import ChangedMeanwhile
from tests.support.factories import add_batch, answer_item, make_annotator, make_study, make_user
from tests.support.queues import run_waiting_jobs
from tests.support.tabs import make_live, open_tab

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("promises"),
]


def change(study: Study, k: int) -> Study:
    """The study asks for k answers per item, and the job has run."""
    study.refresh_from_db()
    change_k(study=study, k=k, revision=study.revision, by=study.memberships.get().user)
    run_waiting_jobs()
    study.refresh_from_db()
    assert newest_places(study).state == "done"
    return study


def places_of(study: Study) -> set[int]:
    """How many places the items have, each number once."""
    return {
        item.slots.count() for item in study.items.main().filter(batch__opened_at__isnull=False)
    }


def answer_all(study: Study, people: int = 1) -> list[Participant]:
    """So many people have each answered all that they were dealt in one set."""
    came = [make_annotator(study) for _ in range(people)]
    for me in came:
        item_set = claim_set(me)
        for item in Item.objects.filter(pk__in=item_set.item_ids).order_by("pk"):
            answer_item(me, item, item_set=item_set)
    return came


# --- raised ---------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_raised_k_makes_more_places_behind_all_others():
    study = make_live(items=3, k=2)
    last = Slot.objects.latest("pos").pos

    change(study, 4)

    assert places_of(study) == {4}
    assert min(Slot.objects.filter(no__gte=2).values_list("pos", flat=True)) > last


def test_outputs_stand_equally_often_in_each_place_after_k_was_raised():
    study = make_live(items=4, k=1)

    change(study, 3)

    for item in study.items.main():
        turns = {slot.arrangement % 3 for slot in item.slots.all()}
        assert len(turns) == 3


def test_raised_k_makes_no_places_of_a_batch_that_is_not_open():
    study = make_live(items=2, k=1)
    later = add_batch(study, items=2, first=9)

    change(study, 2)

    assert places_of(study) == {2}
    assert not Slot.objects.filter(item__batch=later).exists()


def test_people_find_work_again_when_k_is_raised():
    study = make_live(items=2, k=1, set_size=2)
    answer_all(study)
    newcomer = make_annotator(study)
    assert claim_set(newcomer) is None

    change(study, 2)

    assert len(claim_set(newcomer).item_ids) == 2


def test_surplus_answers_count_when_k_is_raised_again():
    study = make_live(items=2, k=2)
    answer_all(study, people=2)
    change(study, 1)
    assert Annotation.objects.counted().count() == 2

    change(study, 2)

    assert Annotation.objects.counted().count() == 4
    assert not Slot.objects.free().exists()


def test_problem_report_never_counts_when_k_is_raised():
    study = make_live(items=1, k=1)
    me = make_annotator(study)
    said = {"outcome": "reported", "reason": "other", "rows": ()}
    answer_item(me, study.items.main().get(), item_set=claim_set(me), **said)

    change(study, 3)

    assert Annotation.objects.counted().count() == 0
    assert Slot.objects.free().count() == 3


# --- lowered --------------------------------------------------------------------------------


def test_bad_68_lowering_k_takes_free_places_before_any_others():
    study = make_live(items=3, k=3)
    answer_all(study)

    change(study, 1)

    assert places_of(study) == {1}
    assert Annotation.objects.counted().count() == 3
    assert not Slot.objects.free().exists()


@pytest.mark.both_databases
def test_bad_68_lowering_k_below_the_answers_makes_the_newest_surplus():
    study = make_live(items=2, k=3)
    first, second, third = answer_all(study, people=3)

    change(study, 1)

    assert set(Annotation.objects.counted().values_list("participant", flat=True)) == {first.pk}
    surplus = Annotation.objects.filter(status="surplus")
    assert set(surplus.values_list("participant", flat=True)) == {second.pk, third.pk}
    assert Rating.objects.count() == 18
    assert places_of(study) == {1}


def test_bad_68_place_in_somebodys_hands_goes_before_an_answer():
    study = make_live(items=1, k=2)
    answer_all(study)
    busy = make_annotator(study)
    claim_set(busy)

    change(study, 1)

    assert Annotation.objects.counted().count() == 1
    assert not Slot.objects.filter(participant=busy).exists()


def test_bad_68_who_has_the_page_open_while_k_is_lowered_saves_a_surplus_answer():
    study = make_live(items=1, k=2)
    answer_all(study)
    tab = open_tab(study)
    change(study, 1)

    response = tab.save()

    assert "was=saved" in response.headers["Location"]
    assert Annotation.objects.get(participant=tab.me).status == "surplus"
    tab.client.post(f"{tab.home}sets/1/review/")
    assert tab.client.get(tab.home, follow=True).context["code"]


def test_answer_without_its_place_is_about_the_outputs_as_they_were_shown():
    study = make_live(items=1, k=2)
    answer_all(study)
    Slot.objects.free().update(arrangement=4)
    tab = open_tab(study)
    shown = [output.text for output in tab.page.context["item"].outputs]
    change(study, 1)

    tab.save(("10", "20", "30"))

    ratings = Rating.objects.filter(annotation__participant=tab.me).order_by("value")
    assert shown != sorted(shown)
    assert [rating.output.text for rating in ratings] == shown


def test_who_comes_back_after_k_was_lowered_is_not_asked_for_what_nobody_needs():
    study = make_live(items=2, k=2, set_size=2)
    answer_all(study)
    tab = open_tab(study)
    tab.save()

    change(study, 1)
    page = tab.client.post(f"{tab.home}start/", follow=True)

    assert page.context["is_complete"]
    assert ItemSet.objects.get(participant=tab.me).total == 1


def test_lowering_k_in_two_steps_and_raising_it_again_ends_with_k():
    study = make_live(items=3, k=4)
    answer_all(study, people=2)

    for k in (3, 1, 2, 5):
        change(study, k)
        assert places_of(study) == {k}
        assert Annotation.objects.counted().count() == 3 * min(k, 2)


def test_item_keeps_its_k_places_whatever_numbers_they_have():
    study = make_live(items=1, k=3)
    answer_all(study)
    # the first place is free, and the last one filled
    Slot.objects.filter(no=2).update(no=9)
    Slot.objects.done().update(no=2)
    Slot.objects.filter(no=9).update(no=0)

    for k in (1, 2, 1):
        change(study, k)
        assert places_of(study) == {k}

    assert Annotation.objects.counted().count() == 1


# --- how it is done -------------------------------------------------------------------------


def test_change_is_a_new_version_and_stands_in_the_log_with_its_numbers(researcher):
    study = make_live(items=2, k=3)
    answer_all(study, people=2)

    change(study, 1)

    assert (study.k, study.version.number) == (1, 2)
    assert study.version.content["settings"]["k"] == 1
    asked = AuditEntry.objects.get(action="answers per item changed")
    done = AuditEntry.objects.get(action="places fitted")
    numbers = {"free_gone": 2, "now_surplus": 2}
    assert asked.actor == researcher
    assert asked.detail == {"before": 3, "after": 1, "version": 2, "foreseen": numbers}
    assert done.detail == {"k": 1, **numbers}


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("k", "fit"),
    [
        (1, Fit(free_gone=1, leased_gone=2, now_surplus=1)),
        (2, Fit(free_gone=1, leased_gone=1)),
        (5, Fit(added=4)),
    ],
)
def test_what_is_foreseen_is_what_happens(k, fit):
    study = make_live(items=2, k=3, set_size=2)
    one, two = study.items.main()
    answer_all(study)
    busy = make_annotator(study)
    answer_item(busy, one, item_set=claim_set(busy))
    # a third has the last place of the first item, and that of the second is free
    claim_set(make_annotator(study))
    last = Slot.objects.leased().filter(item=two).latest("pk")
    Slot.objects.filter(pk=last.pk).update(state=0, participant=None, lease_until=None)

    foreseen = foresee_fit(study, k)
    change(study, k)

    assert foreseen == fit
    assert Fit(**newest_places(study).params["done"]) == foreseen


@pytest.mark.both_databases
def test_job_that_was_stopped_goes_on_and_tells_all_that_was_done(monkeypatch, researcher):
    study = make_live(items=3, k=3)
    answer_all(study, people=3)
    change_k(study=study, k=1, revision=study.revision, by=researcher)
    job = Job.objects.get()

    stop_after(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        run_waiting_jobs()
    monkeypatch.undo()
    job.refresh_from_db()
    take_over_job(job)
    run_waiting_jobs()

    job.refresh_from_db()
    assert job.state == "failed"
    assert places_of(study) == {1}
    assert newest_places(study).result == {"now_surplus": 6}


def stop_after(monkeypatch, times: int) -> None:
    """The job is killed after so many items."""
    real = places._remove_taken
    seen = []

    def stopped(study, item_id):
        seen.append(item_id)
        if len(seen) > times:
            raise KeyboardInterrupt
        return real(study, item_id)

    monkeypatch.setattr(places, "_remove_taken", stopped)


# --- refused --------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_bad_69_second_of_two_who_change_k_hears_who_was_first(researcher):
    study = make_live(items=1, k=3)
    change(study, 2)

    with pytest.raises(ChangedMeanwhile, match="Changed by jane at"):
        change_k(study=study, k=5, revision=study.revision - 1, by=researcher)

    study.refresh_from_db()
    assert study.k == 2


@pytest.mark.parametrize("k", [0, -1, 1001, 3])
def test_k_that_is_none_or_no_change_is_refused(researcher, k):
    study = make_live(items=1, k=3)

    with pytest.raises(ValidationError):
        change_k(study=study, k=k, revision=study.revision, by=researcher)

    assert not Job.objects.exists()


def test_draft_and_closed_studies_are_refused(researcher):
    draft = make_study()
    closed = make_live()
    close_study(study=closed, by=researcher)

    for study in (draft, closed):
        with pytest.raises(ValidationError, match="live or paused"):
            change_k(study=study, k=9, revision=study.revision, by=researcher)


@pytest.mark.both_databases
def test_second_change_waits_for_the_first(researcher):
    study = make_live(items=1, k=3)
    changed = change_k(study=study, k=2, revision=study.revision, by=researcher)

    with pytest.raises(ValidationError, match="Wait until that is done"):
        change_k(study=study, k=5, revision=changed.revision, by=researcher)

    run_waiting_jobs()


def test_change_after_work_that_stopped_is_told_to_start_that_again(researcher):
    study = make_live(items=1, k=3)
    changed = change_k(study=study, k=2, revision=study.revision, by=researcher)
    Job.objects.update(state="failed")

    with pytest.raises(ValidationError, match="Start it again on the Overview"):
        change_k(study=study, k=5, revision=changed.revision, by=researcher)


def test_editors_change_k_and_viewers_do_not(db):
    study = make_live()
    viewer, editor = make_user("viewer"), make_user("editor")
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)
    Membership.objects.create(study=study, user=editor, role=Membership.Role.EDITOR)

    with pytest.raises(PermissionDenied):
        change_k(study=study, k=9, revision=study.revision, by=viewer)

    assert change_k(study=study, k=9, revision=study.revision, by=editor).k == 9
