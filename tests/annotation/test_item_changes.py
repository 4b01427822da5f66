"""Items that are withdrawn after the launch: nobody gets them, and no answer is lost."""

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction

from evalsite.annotation.allocation.claims import Shortage, claim_set, find_shortage
from evalsite.annotation.allocation.slots import count_strays, make_slots
from evalsite.annotation.models import Annotation, Draft, Rating, Slot
from evalsite.annotation.running.item_changes import put_item_back, withdraw_item
from evalsite.audit.models import AuditEntry
from evalsite.participants.models import ItemSet
from evalsite.studies.models import Change, Item, Membership, Study
from tests.annotation.test_changing_k import answer_all, change
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user
from tests.support.queues import run_waiting_jobs
from tests.support.tabs import Tab, make_live, open_tab, what_became

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]

REASON = "The second text is cut off."


def withdraw(item: Item) -> Change | None:
    return withdraw_item(item=item, reason=REASON, by=owner_of(item.study))


def put_back(item: Item) -> Change | None:
    change = put_item_back(item=item, reason="It was the wrong one.", by=owner_of(item.study))
    run_waiting_jobs()
    return change


def owner_of(study: Study):
    return study.memberships.get(role=Membership.Role.OWNER).user


def statuses(item: Item) -> list[str]:
    return list(item.annotations.order_by("pk").values_list("status", flat=True))


# --- answers and places ---------------------------------------------------------------------------


@pytest.mark.both_databases
def test_a_withdrawn_item_keeps_its_answers_without_counting_them_and_has_no_place():
    study = make_live(items=3, k=2)
    answer_all(study)
    item = Item.objects.main().first()

    change = withdraw(item)

    item.refresh_from_db()
    assert (item.kind, change.reason, change.answers) == ("withdrawn", REASON, 1)
    assert statuses(item) == ["withdrawn"]
    assert Rating.objects.filter(annotation__item=item).count() == 3
    assert not item.slots.exists()
    assert Annotation.objects.counted().count() == 2
    assert Slot.objects.free().count() == 2


@pytest.mark.both_databases
def test_nobody_is_dealt_a_withdrawn_item():
    study = make_live(items=3, k=1)
    item = Item.objects.main().first()
    withdraw(item)

    item_set = claim_set(make_annotator(study))

    assert len(item_set.item_ids) == 2
    assert item.pk not in item_set.item_ids
    assert claim_set(make_annotator(study)) is None


def test_a_study_is_complete_without_its_withdrawn_items():
    study = make_live(items=3, k=1)
    withdraw(Item.objects.main().first())
    answer_all(study)

    assert find_shortage(study) == Shortage.COMPLETE


def test_the_places_of_all_other_items_stay_as_the_seed_has_them():
    study = make_live(items=8, k=3)
    before = dict(Slot.objects.values_list("pk", "arrangement"))
    withdraw(Item.objects.main().first())

    make_slots(study, study.batches.all())
    change(study, 4)

    assert count_strays(study) == 0
    assert not Slot.objects.filter(item__kind="withdrawn").exists()
    assert Slot.objects.count() == 7 * 4
    for pk, arrangement in Slot.objects.filter(pk__in=before).values_list("pk", "arrangement"):
        assert before[pk] == arrangement


def test_withdrawing_again_changes_nothing():
    study = make_live()
    item = Item.objects.main().first()
    withdraw(item)

    assert withdraw(item) is None
    assert Change.objects.count() == 1
    assert AuditEntry.objects.filter(action="item withdrawn").count() == 1
    assert study.changes.count() == 1


def test_a_held_item_that_is_withdrawn_isnt_held_any_more():
    make_live()
    item = Item.objects.main().first()
    Item.objects.filter(pk=item.pk).update(held_at="2026-11-01T10:00Z")

    withdraw(item)

    item.refresh_from_db()
    assert item.held_at is None


# --- people at work -------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_whoever_holds_the_item_goes_on_with_the_rest_of_the_set():
    study = make_live(items=3)
    tab = open_tab(study)
    item = tab.item

    withdraw(item)

    item_set = ItemSet.objects.get()
    assert item_set.lost_ids == [item.pk]
    assert item_set.total == 2
    assert tab.client.get(tab.address_of(1), follow=True).context["place"] == 2
    for place in (2, 3):
        tab.open(place).save()
    tab.client.post(f"{tab.home}sets/1/review/")
    item_set.refresh_from_db()
    assert item_set.finished_at is not None
    assert item_set.code != ""


@pytest.mark.both_databases
def test_an_answer_that_was_on_its_way_is_kept_as_withdrawn():
    study = make_live(items=3)
    tab = open_tab(study)
    item = tab.item
    withdraw(item)

    assert what_became(tab.save()) == "saved"

    assert statuses(item) == ["withdrawn"]
    assert Annotation.objects.get().slot is None
    assert Rating.objects.count() == 3


def test_an_answer_of_someone_whose_place_has_lapsed_is_kept_as_withdrawn():
    study = make_live(items=3)
    tab = open_tab(study)
    item = tab.item
    Slot.objects.leased().update(state=0, participant=None, lease_until=None)
    withdraw(item)

    tab.save()

    assert statuses(item) == ["withdrawn"]


def test_a_report_of_a_withdrawn_item_holds_nothing():
    study = make_live(items=3)
    tab = open_tab(study)
    item = tab.item
    withdraw(item)

    tab.client.post(
        f"{tab.address_of(1)}report/", {"state": tab.fields["state"], "reason": "missing"}
    )

    assert not Annotation.objects.reports().exists()
    assert not Item.objects.filter(held_at__isnull=False).exists()


def test_what_was_entered_for_it_is_forgotten():
    study = make_live(items=3)
    tab = open_tab(study)
    Draft.objects.create(study=study, item=tab.item, participant=tab.me, values={"x": "1"})

    withdraw(tab.item)

    assert not Draft.objects.exists()


# --- putting back ---------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_an_item_that_is_put_back_has_its_places_and_its_answers_again():
    study = make_live(items=3, k=2)
    answer_all(study, people=2)
    item = Item.objects.main().first()
    before = dict(Annotation.objects.counted().values_list("pk", "slot__arrangement"))
    withdraw(item)

    put_back(item)

    item.refresh_from_db()
    assert item.kind == "main"
    assert dict(Annotation.objects.counted().values_list("pk", "slot__arrangement")) == before
    assert item.slots.count() == 2
    assert count_strays(study) == 0


def test_what_wasnt_withdrawn_cant_be_put_back():
    make_live()

    assert put_back(Item.objects.main().first()) is None
    assert not Change.objects.exists()


# --- who may, and what is refused -----------------------------------------------------------------


@pytest.mark.parametrize("act", [withdraw_item, put_item_back])
def test_a_viewer_may_neither_withdraw_nor_put_back(act):
    study = make_live()
    viewer = make_user("victor")
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)

    with pytest.raises(PermissionDenied):
        act(item=study.items.main().first(), reason=REASON, by=viewer)


def test_an_editor_may_withdraw():
    study = make_live()
    editor = make_user("edith")
    Membership.objects.create(study=study, user=editor, role=Membership.Role.EDITOR)

    assert withdraw_item(item=study.items.main().first(), reason=REASON, by=editor).by == editor


@pytest.mark.parametrize(
    ("reason", "code"), [(" \n", "reason_missing"), ("x" * 201, "reason_long")]
)
def test_a_withdrawal_needs_a_short_reason(reason, code):
    study = make_live()

    with pytest.raises(ValidationError) as refusal:
        withdraw_item(item=study.items.main().first(), reason=reason, by=owner_of(study))

    assert refusal.value.code == code
    assert not Change.objects.exists()


def test_nothing_is_withdrawn_from_a_draft():
    study = make_study()

    with pytest.raises(ValidationError) as refusal:
        withdraw(study.items.main().first())

    assert refusal.value.code == "draft"


def test_practice_isnt_withdrawn():
    study = launch(make_study())

    with pytest.raises(ValidationError) as refusal:
        withdraw(study.items.practice().first())

    assert refusal.value.code == "kind"


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "withdrawn", "reason": ""},
        {"kind": "renamed", "reason": ""},
        {"kind": "corrected", "reason": REASON, "position": 0, "before": "a", "after": "a"},
        {"kind": "withdrawn", "reason": REASON, "after": "a"},
    ],
)
def test_the_database_refuses_a_change_that_says_nothing(fields):
    study = make_live()

    with pytest.raises(IntegrityError), transaction.atomic():
        Change.objects.create(study=study, item=study.items.main().first(), **fields)


def test_a_person_who_answered_a_withdrawn_item_has_used_one_of_their_items():
    study = make_live(items=4, set_size=2, max_items=2)
    me = make_annotator(study)
    item_set = claim_set(me)
    for item in Item.objects.filter(pk__in=item_set.item_ids):
        answer_item(me, item, item_set=item_set)
    ItemSet.objects.update(finished_at=item_set.created_at, code="ABC")
    withdraw(Item.objects.get(pk=item_set.item_ids[0]))

    assert Tab(me).client.get(Tab(me).home, follow=True).status_code == 200
    assert claim_set(me) is None
