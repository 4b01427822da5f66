"""Ratings imported into a study that was never launched, and what may come after that."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.data.files.services import describe_imports
from evalsite.data.fsck import find_breaches
from evalsite.data.items.importer import undo_batch
from evalsite.data.ratings.store import undo_ratings
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.live_changes import change_k, open_batch
from evalsite.handout.claims import claim_set, has_work
from evalsite.handout.models import Annotation, Slot
from evalsite.results.design.report import report_design
from evalsite.results.people.lookup import describe_people, with_answers
from evalsite.results.progress import activity_of, median_seconds, progress_of, read_latest
from evalsite.studies.models import Batch, Item, Study
from evalsite.studies.setting_changes import change_settings
from tests.support.batches import import_rows, make_rows
from tests.support.factories import add_batch, answer_item, make_annotator, make_user
from tests.support.imported import load, rows_for
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=3, k=2)


def launch_it(study: Study) -> None:
    study.refresh_from_db()
    launch_study(study=study, by=make_user())
    run_waiting_jobs()
    study.refresh_from_db()
    assert study.is_launched


def set_k(study: Study, k: int) -> None:
    study.refresh_from_db()
    change_settings(study=study, values={"k": k}, revision=study.revision, by=make_user())
    run_waiting_jobs()
    study.refresh_from_db()


def places_of(study: Study) -> list[int]:
    items = Item.objects.main().filter(study=study).order_by("id")
    return [item.slots.count() for item in items]


def answer_everything(study: Study) -> int:
    """People come until nothing is left; returns how many answers they gave."""
    given = 0
    for _ in range(10):
        me = make_annotator(study)
        while (mine := claim_set(me)) is not None:
            for item in Item.objects.filter(pk__in=mine.item_ids):
                answer_item(me, item, item_set=mine)
                given += 1
            type(mine).objects.filter(pk=mine.pk).update(finished_at=study.created_at, code="K")
        if not has_work(make_annotator(study), study):
            return given
    raise AssertionError("The work never ends.")


def test_an_import_into_a_draft_opens_the_batches_it_is_about_alone(study: Study) -> None:
    other = add_batch(study, items=1, first=9)
    items = list(Item.objects.main().filter(study=study).exclude(batch=other))

    load(study, rows_for(study, ["w1"], items))

    other.refresh_from_db()
    assert (study.is_launched, other.opened_at) == (False, None)
    assert Batch.objects.exclude(pk=other.pk).get().opened_at is not None
    assert Slot.objects.count() == 6
    assert find_breaches(study) == []


def test_a_batch_with_imported_answers_cannot_be_undone(study: Study) -> None:
    file = load(study, rows_for(study))
    batch = Batch.objects.get(study=study)

    with pytest.raises(ValidationError, match="can't be undone"):
        undo_batch(batch=batch, by=None)

    undo_ratings(file=file, by=None)
    batch.refresh_from_db()
    undo_batch(batch=batch, by=None)
    assert not study.items.main().exists()


def test_what_is_left_is_handed_out_after_the_launch(study: Study) -> None:
    load(study, rows_for(study, ["w1"]))
    set_k(study, 3)

    launch_it(study)

    assert places_of(study) == [3, 3, 3]
    assert answer_everything(study) == 6
    assert Annotation.objects.counted().count() == 9
    assert find_breaches(study) == []


def test_a_study_that_has_all_its_answers_hands_out_nothing(study: Study) -> None:
    load(study, rows_for(study, ["w1", "w2"]))

    launch_it(study)

    assert claim_set(make_annotator(study)) is None
    assert not has_work(make_annotator(study), study)
    assert find_breaches(study) == []


@pytest.mark.slow
def test_a_draft_follows_another_k_up_and_down(study: Study) -> None:
    load(study, rows_for(study, ["w1", "w2", "w3"]))
    assert Annotation.objects.filter(status="surplus").count() == 3

    seen = []
    for k in (4, 1, 3, 2):
        set_k(study, k)
        seen.append((places_of(study), Annotation.objects.counted().count()))
        assert find_breaches(study) == []
    launch_it(study)

    assert seen == [([4] * 3, 9), ([1] * 3, 3), ([3] * 3, 9), ([2] * 3, 6)]
    assert places_of(study) == [2, 2, 2]
    assert find_breaches(study) == []


@pytest.mark.both_databases
def test_k_that_came_down_and_up_again_makes_no_place_too_many(study: Study) -> None:
    (first, *_) = study.items.main().order_by("id")
    load(study, rows_for(study, ["w1"], [first]))
    for k in (5, 1, 3):
        set_k(study, k)

    launch_it(study)

    assert places_of(study) == [3, 3, 3]
    assert answer_everything(study) == 8
    assert find_breaches(study) == []


def test_a_launch_leaves_places_that_keep_other_numbers_after_a_lower_k(
    make_study: Callable[..., Any],
) -> None:
    study = make_study(items=0, protocol="pairwise", k=2, is_practice_on=False)
    import_rows(study, make_rows(study.config, items=6))
    # in each item the place that shows alpha first: of some the first, of others the second
    load(study, [row | {"shown_first": "alpha"} for row in rows_for(study, ["w1"])])
    set_k(study, 1)
    assert set(Slot.objects.values_list("no", flat=True)) == {0, 1}

    launch_it(study)

    assert places_of(study) == [1] * 6
    assert find_breaches(study) == []


def test_settings_and_launch_wait_until_the_places_are_made(study: Study) -> None:
    load(study, rows_for(study))
    study.refresh_from_db()
    change_settings(study=study, values={"k": 4}, revision=study.revision, by=make_user())
    study.refresh_from_db()

    with pytest.raises(ValidationError, match="Wait until that is done, then save"):
        change_settings(study=study, values={"k": 5}, revision=study.revision, by=make_user())
    with pytest.raises(ValidationError, match="then launch"):
        launch_study(study=study, by=make_user())
    with pytest.raises(ValidationError, match="then try again"):
        load(study, rows_for(study, ["w2"]))

    run_waiting_jobs()
    assert places_of(study) == [4, 4, 4]


def test_an_import_waits_for_a_launch(study: Study) -> None:
    launch_study(study=study, by=make_user())

    with pytest.raises(ValidationError, match="then try again"):
        load(study, rows_for(study))

    Job.objects.update(state="failed")
    with pytest.raises(ValidationError, match="launch of this study has stopped"):
        load(study, rows_for(study))


def test_how_groups_are_handed_out_is_fixed_by_an_import(study: Study) -> None:
    load(study, rows_for(study))
    study.refresh_from_db()

    with pytest.raises(ValidationError, match="undo that import"):
        change_settings(
            study=study, values={"groups": "once"}, revision=study.revision, by=make_user()
        )


def test_a_later_batch_is_opened_and_rated_as_ever(study: Study) -> None:
    load(study, rows_for(study, ["w1"]))
    later = add_batch(study, items=2, first=9)
    launch_it(study)
    later.refresh_from_db()
    assert later.opened_at is not None
    latest = add_batch(study, items=1, first=20)
    open_batch(batch=latest, by=make_user())
    run_waiting_jobs()

    load(study, rows_for(study, ["w2"], list(latest.items.all())))

    assert places_of(study) == [2] * 6
    assert find_breaches(study) == []
    answer_everything(study)
    assert Annotation.objects.counted().count() == 12
    assert find_breaches(study) == []


@pytest.mark.slow
def test_k_can_change_again_once_the_study_runs(study: Study) -> None:
    load(study, rows_for(study, ["w1", "w2", "w3"]))
    launch_it(study)

    for k in (3, 1, 2):
        study.refresh_from_db()
        change_k(study=study, k=k, revision=study.revision, by=make_user())
        run_waiting_jobs()
        study.refresh_from_db()
        assert (places_of(study), Annotation.objects.counted().count()) == ([k] * 3, 3 * k)
        assert find_breaches(study) == []


@pytest.mark.one_case
@pytest.mark.parametrize("protocol", ["rrgen", "pairwise", "dialogue"])
def test_every_way_to_deal_groups_goes_on_after_an_import(
    make_study: Callable[..., Any], protocol: str
) -> None:
    study = make_study(items=0, protocol=protocol, k=2, is_practice_on=False)
    outputs = 2 if protocol == "rrgen" else 0
    import_rows(study, make_rows(study.config, items=4, outputs=outputs))
    some = list(study.items.main().order_by("id"))[::2]
    load(study, [*rows_for(study, ["w1"], some), *rows_for(study, ["w2"])])

    launch_it(study)

    report = report_design(study)
    assert report.answers == Annotation.objects.counted().count()
    assert "exactly those that the seed gives" in report.replay
    free = Slot.objects.free().count()
    assert free == 2 * study.items.main().count() - report.answers
    people = [make_annotator(study) for _ in range(4)]
    dealt = [claim_set(me) for me in people]
    assert sum(len(one.item_ids) for one in dealt if one) == free
    assert find_breaches(study) == []


def test_imported_people_are_told_as_such_and_never_as_active(study: Study) -> None:
    load(study, rows_for(study, ["w1"]))
    load(study, rows_for(study, ["judge1"]), has_persons=False)
    launch_it(study)

    progress = progress_of(study)
    activity = activity_of(study)

    assert (progress.done, progress.target, progress.last_at) == (6, 6, None)
    assert (activity.active, activity.people, activity.surplus) == (0, 0, 0)
    assert median_seconds(read_latest(study)) is None
    people = describe_people(study, list(with_answers(study.participants.order_by("id"))))
    assert [one.state for one in people] == ["imported", "imported, no single person"]
    assert [one.rpartition(" on ")[0] for one in describe_imports(study)] == [
        "3 answers were imported from ratings.csv"
    ] * 2
    assert activity.imported == tuple(describe_imports(study))


def test_a_draft_whose_answers_were_all_imported_is_shown_as_complete(
    staff_client: Client, study: Study
) -> None:
    def state_shown() -> list[bool]:
        pages = [reverse("admin:index"), reverse("admin:study-overview", args=[study.pk])]
        words = "Complete (imported)"
        return [words in staff_client.get(page).content.decode() for page in pages]

    load(study, rows_for(study, ["w1"])[:3])
    before = state_shown()
    load(study, rows_for(study, [f"x{n}" for n in range(study.k)]))

    assert before == [False, False]
    assert state_shown() == [True, True]
