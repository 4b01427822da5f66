"""Topping up: excluded answers free nothing until an owner asks for as many more."""

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.data.fsck import find_breaches
from evalsite.decisions.models import Exclusion
from evalsite.decisions.top_up import Shortage, find_shortage, top_up
from evalsite.fieldwork.launch import close_study
from evalsite.handout.claims import claim_set
from evalsite.handout.models import TOP_UP_FROM, Annotation, Slot
from evalsite.lib.clock import now
from evalsite.people.models import Participant
from evalsite.results.progress import progress_of
from evalsite.studies.models import Item, Membership, Study
from tests.handout.test_changing_k import answer_all, change
from tests.support.factories import answer_item, make_annotator, make_user
from tests.support.tabs import make_live

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


@pytest.fixture
def study(researcher) -> Study:
    """Two items with two answers each, all that were asked for."""
    study = make_live(items=2, k=2, set_size=2)
    answer_all(study, people=2)
    return study


def exclude(study: Study, **named: object) -> Exclusion:
    return Exclusion.objects.create(study=study, reason="too fast", **named)


def first_person(study: Study) -> Participant:
    return study.participants.earliest("pk")


def test_exclusion_frees_nothing_by_itself(study):
    exclude(study, participant=first_person(study))

    assert not Slot.objects.free().exists()
    assert claim_set(make_annotator(study)) is None
    assert find_shortage(study) == Shortage(items=2, places=2)


def test_top_up_asks_one_more_person_for_each_excluded_answer(researcher, study):
    exclude(study, participant=first_person(study))

    added = top_up(study=study, by=researcher)
    newcomer = make_annotator(study)
    item_set = claim_set(newcomer)
    for item in Item.objects.filter(pk__in=item_set.item_ids):
        answer_item(newcomer, item, item_set=item_set)

    assert added == 2
    assert {slot.no for slot in Slot.objects.filter(participant=newcomer)} == {TOP_UP_FROM}
    assert find_shortage(study) == Shortage(items=0, places=0)
    assert find_breaches(study) == []
    progress = progress_of(study)
    assert (progress.done, progress.target) == (6, 6)


def test_further_place_shows_the_outputs_as_the_excluded_answer_did(researcher, study):
    answer = Annotation.objects.counted().latest("pk")
    Slot.objects.filter(pk=answer.slot_id).update(arrangement=4)
    exclude(study, annotation=answer)

    top_up(study=study, by=researcher)

    added = Slot.objects.get(no__gte=TOP_UP_FROM)
    assert (added.item_id, added.arrangement) == (answer.item_id, 4)
    assert added.pos == Slot.objects.latest("pos").pos


@pytest.mark.both_databases
def test_top_up_pressed_twice_tops_up_once(researcher, study):
    exclude(study, participant=first_person(study))

    assert [top_up(study=study, by=researcher) for _ in range(2)] == [2, 0]
    assert AuditEntry.objects.filter(action="items topped up").count() == 1


def test_answer_to_a_top_up_that_is_excluded_too_is_topped_up_again(researcher, study):
    exclude(study, participant=first_person(study))
    top_up(study=study, by=researcher)
    newcomer = answer_all(study)[0]
    exclude(study, participant=newcomer)

    assert top_up(study=study, by=researcher) == 2
    assert sorted(Slot.objects.free().values_list("no", flat=True)) == [TOP_UP_FROM + 1] * 2
    assert {
        entry.detail["slots"] for entry in AuditEntry.objects.filter(action="items topped up")
    } == {2}


def test_revoked_exclusion_leaves_nothing_short(study):
    exclude(study, participant=first_person(study), revoked_at=now())

    assert find_shortage(study).places == 0


def test_answer_excluded_twice_is_one_answer_short(study):
    answer = Annotation.objects.counted().earliest("pk")
    exclude(study, annotation=answer)
    exclude(study, participant=answer.participant)

    assert find_shortage(study) == Shortage(items=2, places=2)


def test_places_of_a_group_that_stays_together_are_added_together(researcher):
    study = make_live(items=4, k=1, set_size=4, groups="together")
    Item.objects.main().filter(key__in=["item-001", "item-002"]).update(group="g1")
    me = answer_all(study)[0]
    exclude(study, participant=me)

    top_up(study=study, by=researcher)

    places = [
        set(Slot.objects.free().filter(item__group=group).values_list("pos", flat=True))
        for group in ("g1", "group-003", "group-004")
    ]
    assert [len(one) for one in places] == [1, 1, 1]
    assert len(set.union(*places)) == 3


def test_top_ups_stay_when_k_is_changed(researcher, study):
    exclude(study, participant=first_person(study))
    top_up(study=study, by=researcher)

    change(study, 1)
    change(study, 3)

    for item in study.items.main():
        assert item.slots.filter(no__lt=TOP_UP_FROM).count() == 3
        assert item.slots.filter(no__gte=TOP_UP_FROM).count() == 1


# --- the page -------------------------------------------------------------------------------


def test_overview_offers_to_top_up_with_the_number_of_places(staff_client, study):
    before = staff_client.get(reverse("admin:study-overview", args=[study.pk])).text
    exclude(study, participant=first_person(study))

    after = staff_client.get(reverse("admin:study-overview", args=[study.pk])).text
    done = staff_client.post(reverse("admin:study-top-up", args=[study.pk]), follow=True).text

    assert "Top up" not in before
    assert "2 answers are missing on 2 items" in after
    assert "Top up: ask for 2 more answers" in after
    assert "Topped up: 2 more places." in done
    assert "Top up: ask" not in done


def test_editors_top_up_and_viewers_do_not(client, study):
    exclude(study, participant=first_person(study))
    viewer, editor = make_user("viewer"), make_user("editor")
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)
    Membership.objects.create(study=study, user=editor, role=Membership.Role.EDITOR)
    client.force_login(viewer, backend="django.contrib.auth.backends.ModelBackend")

    page = client.get(reverse("admin:study-overview", args=[study.pk])).text
    refused = client.post(reverse("admin:study-top-up", args=[study.pk]))

    assert "Top up: ask" not in page
    assert refused.status_code == 403
    with pytest.raises(PermissionDenied):
        top_up(study=study, by=viewer)
    assert top_up(study=study, by=editor) == 2


def test_closed_study_is_not_topped_up(researcher, study):
    exclude(study, participant=first_person(study))
    close_study(study=study, by=researcher)

    with pytest.raises(ValidationError, match="live or paused"):
        top_up(study=study, by=researcher)
