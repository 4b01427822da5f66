"""After the launch: items that are withdrawn or put back, and outputs that are corrected."""

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.plan_commitment import hash_plan
from evalsite.fieldwork.item_changes import (
    correct_output,
    digest_text,
    put_item_back,
    withdraw_item,
)
from evalsite.handout.claims import Shortage, claim_set, find_shortage
from evalsite.handout.models import ASSIGNED, Annotation, Draft, Rating, Slot
from evalsite.handout.slots import count_strays, make_slots
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import ItemSet, Visit
from evalsite.studies.models import Change, Item, Membership, Study
from tests.handout.test_changing_k import answer_all, change
from tests.support.factories import (
    answer_item,
    launch,
    make_annotator,
    make_study,
    make_user,
    set_completion,
)
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
    ("reason", "code"),
    [(" \n", "reason_missing"), ("x" * 201, "reason_long"), ("a\x01b", "reason_control")],
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


# --- correcting an output -------------------------------------------------------------------------

TEXT = "Place 1, corrected."


def correct(item: Item, text: str = TEXT, *, position: int = 1, **more) -> Change | None:
    output = item.outputs.get(position=position)
    change = correct_output(
        output=output, text=text, reason="A tag was left in.", by=owner_of(item.study), **more
    )
    run_waiting_jobs()
    return change


@pytest.mark.both_databases
def test_a_text_that_nobody_has_answered_is_corrected_in_place():
    study = make_live(items=3, k=2)
    item = study.items.main().first()
    before = item.outputs.get(position=1).text

    change = correct(item)

    assert item.outputs.get(position=1).text == TEXT
    assert (change.item, change.instead_of, change.position) == (item, None, 1)
    assert (change.before, change.after) == (before, TEXT)
    assert Slot.objects.free().count() == 6


@pytest.mark.both_databases
def test_a_text_that_was_answered_is_a_new_item_of_the_same_group():
    study = make_live(items=3, k=2)
    answer_all(study)
    item = study.items.main().first()
    before = item.outputs.get(position=1).text

    change = correct(item)

    item.refresh_from_db()
    made = change.item
    assert (item.kind, made.kind, made.key) == ("withdrawn", "main", "item-001-2")
    assert (made.group, made.cluster, made.inputs) == (item.group, item.cluster, item.inputs)
    assert statuses(item) == ["withdrawn"]
    assert item.outputs.get(position=1).text == before
    texts = [output.text for output in made.outputs.all()]
    assert texts == [
        item.outputs.get(position=0).text, TEXT, item.outputs.get(position=2).text
    ]  # fmt: skip
    assert made.slots.count() == 2
    assert count_strays(study) == 0
    assert [change.kind for change in study.changes.order_by("pk")] == ["withdrawn", "corrected"]


def test_correcting_a_corrected_text_makes_a_further_item():
    study = make_live(items=1, k=2)
    answer_all(study)
    made = correct(study.items.main().get()).item
    answer_all(study)

    again = correct(made, "Place 1, at last.").item

    assert again.key == "item-001-2-2"
    assert study.items.main().get() == again


@pytest.mark.both_databases
def test_an_answer_to_the_earlier_text_never_counts():
    study = make_live(items=3, k=1)
    tab = open_tab(study)
    item = tab.item
    with standing_at(now() + timedelta(seconds=5)):
        correct(item)

        assert what_became(tab.save()) == "saved"

    assert statuses(item) == ["withdrawn"]
    assert item.slots.get().state == Slot.State.FREE
    assert ItemSet.objects.get().lost_ids == [item.pk]


def test_an_answer_to_the_earlier_text_never_counts_even_in_a_place_of_this_person():
    study = make_live(items=3, k=1)
    tab = open_tab(study)
    item, slot = tab.item, tab.item.slots.get()
    with standing_at(now() + timedelta(seconds=5)):
        correct(item)
        # dealt to the same person again
        Slot.objects.filter(pk=slot.pk).update(
            state=1, participant=tab.me, lease_until=now() + timedelta(hours=1)
        )

        tab.save()

    assert statuses(item) == ["withdrawn"]
    assert item.slots.get().state == Slot.State.FREE


def test_the_corrected_text_is_dealt_and_its_answers_count():
    study = make_live(items=1, k=1)
    item = study.items.main().get()
    correct(item)
    tab = open_tab(study)

    assert TEXT in tab.page.content.decode()
    tab.save()

    assert statuses(item) == ["counted"]


@pytest.mark.both_databases
def test_people_you_know_keep_the_place_of_a_corrected_text():
    study = make_live(items=1, k=1)
    expert = make_annotator(study, is_expert=True)
    Slot.objects.update(state=1, participant=expert, lease_until=ASSIGNED)
    claim_set(expert)
    item = study.items.main().get()

    correct(item)

    assert Slot.objects.get().participant == expert
    assert ItemSet.objects.get().lost_ids == []
    answer_item(expert, item)
    assert statuses(item) == ["counted"]


def test_reports_of_the_earlier_text_hold_the_corrected_one_no_more():
    study = make_live(items=3)
    item = study.items.main().first()
    Item.objects.filter(pk=item.pk).update(held_at=now())

    correct(item)

    item.refresh_from_db()
    assert item.held_at is None
    assert item.released_at is not None


def test_the_same_text_changes_nothing_whatever_its_line_ends():
    study = make_live()
    item = study.items.main().first()
    item.outputs.filter(position=1).update(text="One.\r\nTwo.")

    assert correct(item, "One.\nTwo.") is None
    assert not Change.objects.exists()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (" \n ", "text_empty"),
        ("a\x00b", "text_control"),
        ("a\ud800b", "text_control"),
        ("x" * 1_048_577, "text_long"),
    ],
)
def test_a_text_that_couldnt_be_shown_is_refused(text, code):
    study = make_live()

    with pytest.raises(ValidationError) as refusal:
        correct(study.items.main().first(), text)

    assert refusal.value.code == code


def test_a_conversation_stays_one():
    study = make_live()
    item = study.items.main().first()
    item.outputs.filter(position=1).update(text='[{"role": "assistant", "content": "Hello."}]')

    with pytest.raises(ValidationError) as refusal:
        correct(item, "Hello.")

    assert refusal.value.code == "text_conversation"


def test_a_text_that_somebody_else_corrected_meanwhile_isnt_overwritten():
    study = make_live()
    item = study.items.main().first()
    seen = digest_text(item.outputs.get(position=1).text)
    correct(item, seen=seen)

    with pytest.raises(ValidationError) as refusal:
        correct(item, "Another one.", seen=seen)

    assert refusal.value.code == "changed"
    assert item.outputs.get(position=1).text == TEXT


def test_an_editor_may_not_correct_an_output():
    study = make_live()
    editor = make_user("edith")
    Membership.objects.create(study=study, user=editor, role=Membership.Role.EDITOR)

    with pytest.raises(PermissionDenied):
        correct_output(
            output=study.items.main().first().outputs.first(), text=TEXT, reason=REASON, by=editor
        )


def test_an_item_whose_corrected_text_is_another_item_stays_withdrawn():
    study = make_live(items=1, k=2)
    answer_all(study)
    item = study.items.main().get()
    correct(item)

    with pytest.raises(ValidationError) as refusal:
        put_back(item)

    assert refusal.value.code == "replaced"


def test_the_line_of_the_plan_stays_that_of_the_texts_at_its_moment():
    study = make_live(items=2, k=2)
    moment = now()
    before = hash_plan(study, number=1, content={}, at=moment)
    answer_all(study)
    first, second = study.items.main()
    with standing_at(now() + timedelta(seconds=5)):
        correct(first)
        Annotation.objects.filter(item=second).update(
            status="surplus", slot=None, outcome="reported"
        )
        Rating.objects.filter(annotation__item=second).delete()
        Slot.objects.filter(item=second).update(
            state=0, participant=None, lease_until=None, kept_until=None
        )
        correct(second)

    assert hash_plan(study, number=1, content={}, at=moment) == before


# --- pay ------------------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_whoever_loses_all_of_a_set_gets_what_finished_work_gets():
    study = make_live(items=1, k=1)
    tab = open_tab(study)
    visit = Visit.objects.create(
        study=study, participant=tab.me, recruitment=set_completion(study, code="DONE-1"),
        item_set=ItemSet.objects.get(),
    )  # fmt: skip

    withdraw(tab.item)

    page = tab.client.get(tab.home, follow=True)
    assert page.redirect_chain[-1][0] == f"{tab.home}stopped/"
    assert "DONE-1" in page.text
    visit.refresh_from_db()
    assert visit.outcome == "completed"


def test_whoever_loses_all_of_a_set_is_given_other_items_if_there_are_any():
    study = make_live(items=2, k=1, set_size=1)
    tab = open_tab(study)

    withdraw(tab.item)
    tab.client.post(f"{tab.home}start/")

    tab.me.refresh_from_db()
    assert tab.me.stopped_at is None
    assert ItemSet.objects.get().total == 1
    tab.open(2).save()
    assert Annotation.objects.counted().count() == 1


def test_when_the_last_other_place_goes_too_the_next_click_ends_the_work():
    study = make_live(items=2, k=1, set_size=1)
    tab = open_tab(study)
    withdraw(tab.item)
    claim_set(make_annotator(study))

    answer = tab.client.post(f"{tab.home}start/")

    assert answer.headers["Location"] == f"{tab.home}stopped/"


def test_an_open_set_with_answers_is_finished_and_paid_as_a_whole():
    study = make_live(items=3, k=1)
    tab = open_tab(study)
    tab.save()
    for item in Item.objects.main().filter(annotations=None):
        withdraw(item)

    page = tab.client.get(tab.home, follow=True)
    assert page.redirect_chain[-1][0] == f"{tab.home}sets/1/review/"
    tab.client.post(f"{tab.home}sets/1/review/")

    assert ItemSet.objects.get().code != ""


def test_an_answer_on_its_way_to_the_only_item_of_a_set_is_paid_too():
    study = make_live(items=2, k=1, set_size=1)
    tab = open_tab(study)
    withdraw(tab.item)
    claim_set(make_annotator(study))

    page = tab.client.get(tab.save().headers["Location"])
    assert f'action="{tab.home}start/"' in page.text
    tab.client.post(f"{tab.home}start/")
    tab.client.post(f"{tab.home}sets/1/review/")

    assert ItemSet.objects.get(participant=tab.me).code != ""
