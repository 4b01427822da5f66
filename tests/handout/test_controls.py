"""Gold and attention items dealt into sets: where they stand, who gets which, what they count."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.fieldwork.checklist import check_launch
from evalsite.handout.claims import claim_set, deal_pilot_set, has_work
from evalsite.handout.controls import put_checks
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.participation.sets import finish_set
from evalsite.people.models import ItemSet
from evalsite.studies.models import Item, Study, StudyVersion
from evalsite.studies.set_size import items_per_set
from evalsite.studies.summary_lines import describe_sets, estimate_work
from evalsite.studies.version_cache import forget_versions
from tests.support.checks import (
    add_checks,
    do_sets,
    kinds_of,
    make_checked,
    make_checked_reviews,
    shape_of,
)
from tests.support.factories import answer_item, launch, make_annotator, make_study
from tests.support.standing import give_standing, report_item
from tests.support.tabs import Tab, after_the_lease

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


# --- where they stand -------------------------------------------------------------------


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=40),
    count=st.integers(0, 6),
    seed=st.integers(0, 999),
)
def test_checks_come_apart_never_first_never_last_and_never_cut_a_group(sizes, count, seed):
    numbers = iter(range(1, sum(sizes) + 1))
    units = [[next(numbers) for _ in range(size)] for size in sizes]
    checks = [-number for number in range(1, min(count, sum(sizes) // 4) + 1)]

    line = put_checks(units, checks, Random(seed))

    is_check = [unit[0] < 0 for unit in line]
    assert [unit for unit in line if unit[0] > 0] == units
    assert [unit[0] for unit in line if unit[0] < 0] == sorted(
        (check for check in checks if [check] in line), reverse=True
    )
    assert not any(both == (True, True) for both in pairwise(is_check))
    assert not is_check[0]
    assert not is_check[-1]
    # of single items each stretch has a place
    if max(sizes) == 1:
        assert sum(is_check) == len(checks)


def test_no_person_meets_more_checks_than_the_study_says_however_many_sets_they_do():
    study = make_checked(items=40, checks=8, k=1, checks_per_person=3)
    me = make_annotator(study)

    sets = do_sets(me)

    met = [kinds_of(item_set.item_ids).count("gold") for item_set in sets]
    # a set of ten has room for two
    assert met == [2, 1, 0, 0]


def test_checks_of_a_set_come_on_top_of_its_size():
    study = make_checked(set_size=10, checks_per_person=2)

    kinds = kinds_of(claim_set(make_annotator(study)).item_ids)

    assert Counter(kinds) == {"main": 10, "gold": 2}
    assert kinds[0] == "main"


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("count", "percent", "checks", "repeats"),
    [(3, 0, 2, 0), (2, 0, 2, 0), (1, 0, 1, 0), (0, 0, 0, 0), (0, 10, 0, 1), (2, 10, 2, 1)],
)
def test_checks_and_repeats_take_places_among_the_eleven_questions(count, percent, checks, repeats):
    study = make_study(
        protocol="dialogue", items=40, k=1, checks_per_person=count, repeat_percent=percent
    )
    add_checks(study, 8, outputs=1)
    me = make_annotator(launch(study))

    kinds = Counter(kinds_of(claim_set(me).item_ids))

    assert (kinds["gold"], kinds["repeat"]) == (checks, repeats)
    assert kinds.total() == items_per_set(study) == 11


def test_design_of_a_study_with_checks_among_its_questions_adds_up():
    study = make_study(protocol="dialogue", items=45, k=1, checks_per_person=2)
    add_checks(study, 10, outputs=1)

    assert estimate_work(study, 45).sets == 5
    assert "A set shows up to 11 pages: 9 and 2 checks." in describe_sets(study, 45)
    assert [one.problem for one in check_launch(study) if "finished" in one.label] == [""]


def test_study_launched_before_keeps_its_checks_on_top():
    study = launch(make_study(protocol="dialogue", items=40, k=1, checks_per_person=2))
    content = study.version.content
    del content["instrument"]["design"]["checks_take_places"]
    StudyVersion.objects.filter(pk=study.version_id).update(content=content)
    forget_versions()

    assert items_per_set(Study.objects.get(pk=study.pk)) == 13


def test_checks_stand_at_other_places_for_other_people():
    study = make_checked(items=10, k=8, checks_per_person=2)

    places = {
        tuple(n for n, kind in enumerate(kinds_of(claim_set(me).item_ids)) if kind == "gold")
        for me in [make_annotator(study, pseudonym=f"p-{number}") for number in range(8)]
    }

    assert len(places) > 2


def test_no_check_comes_between_the_responses_to_one_review():
    study = make_checked_reviews(repeat_percent=0)

    item_ids = claim_set(make_annotator(study)).item_ids

    groups = dict(Item.objects.main().values_list("pk", "group"))
    runs = [groups.get(pk, f"check {pk}") for pk in item_ids]
    assert [run for n, run in enumerate(runs) if n == 0 or runs[n - 1] != run] == list(
        dict.fromkeys(runs)
    )
    assert Counter(kinds_of(item_ids)) == {"main": 24, "gold": 4}


def test_without_the_setting_no_check_is_dealt():
    study = make_checked(checks_per_person=0)

    assert set(kinds_of(claim_set(make_annotator(study)).item_ids)) == {"main"}


# --- which ones -------------------------------------------------------------------------


@pytest.mark.slow
def test_each_check_is_used_equally_often_and_nobody_meets_one_twice():
    study = make_checked(items=40, checks=8, k=2, checks_per_person=4)

    sets = [one for _ in range(4) for one in do_sets(make_annotator(study), most=2)]

    used = Counter(pk for one in sets for pk in one.item_ids if kinds_of([pk]) == ["gold"])
    assert len(sets) == 8
    assert set(used.values()) == {2}
    for one in {item_set.participant_id for item_set in sets}:
        met = [pk for item_set in sets if item_set.participant_id == one
               for pk in item_set.item_ids]  # fmt: skip
        assert len(met) == len(set(met))


def test_who_has_met_every_check_gets_sets_without():
    study = make_checked(items=30, checks=1, k=1)

    sets = do_sets(make_annotator(study))

    golds = [kinds_of(item_set.item_ids).count("gold") for item_set in sets]
    assert golds == [1, 0, 0]


def test_attention_items_take_turns_with_gold_items():
    study = make_study(items=20, k=1, set_size=10, checks_per_person=4)
    add_checks(study, 2)
    add_checks(study, 2, kind="attention")
    launch(study)

    kinds = [kind for one in do_sets(make_annotator(study)) for kind in kinds_of(one.item_ids)]

    assert Counter(kinds) == {"main": 20, "gold": 2, "attention": 2}


def test_a_check_that_waits_for_the_researcher_is_not_dealt():
    study = make_checked(checks=1)
    gold = Item.objects.get(kind="gold")
    for _ in range(2):
        report_item(give_standing(make_annotator(study)), gold)

    assert set(kinds_of(claim_set(make_annotator(study)).item_ids)) == {"main"}


def test_a_check_of_a_batch_that_is_not_open_yet_is_not_dealt():
    study = make_checked(checks=0)
    batch = add_checks(study, 1, kind="attention")

    assert set(kinds_of(claim_set(make_annotator(study)).item_ids)) == {"main"}

    study.batches.filter(pk=batch.pk).update(opened_at=now())
    assert "attention" in kinds_of(claim_set(make_annotator(study)).item_ids)


def test_a_check_of_a_group_that_is_met_once_is_dealt_to_nobody_who_meets_the_group():
    study = make_checked(items=10, checks=10, k=1, groups="once")
    for number in range(1, 11):
        Item.objects.filter(key=f"gold-{number:02}").update(group=f"group-{number:03}")

    assert set(kinds_of(claim_set(make_annotator(study)).item_ids)) == {"main"}


def test_an_answered_check_takes_nobody_away_from_an_item_that_shares_its_group():
    study = make_checked(items=3, checks=1, k=1, groups="once")
    me = make_annotator(study)
    gold = Item.objects.get(kind="gold")
    Item.objects.filter(pk=gold.pk).update(group="group-001")
    answer_item(me, gold)

    assert has_work(me, study)
    assert len(claim_set(me).item_ids) == 3


# --- what becomes of them ---------------------------------------------------------------


def test_a_check_has_no_slot_and_its_answer_is_a_control_that_never_counts():
    study = make_checked(items=10, k=1)

    do_sets(make_annotator(study))

    controls = Annotation.objects.filter(status="control")
    assert set(controls.values_list("item__kind", flat=True)) == {"gold"}
    assert controls.count() == 2
    assert Annotation.objects.counted().count() == 10 == Slot.objects.done().count()
    assert not Slot.objects.filter(item__kind="gold").exists()


@pytest.mark.slow
def test_a_set_is_finished_only_once_its_checks_are_answered():
    tab = Tab(make_annotator(make_checked(items=10, k=1))).start()
    item_set = tab.me.item_sets.get()
    kinds = kinds_of(item_set.item_ids)
    for place, kind in enumerate(kinds, start=1):
        if kind == "main":
            tab.open(place).save()

    tab.client.post(f"{tab.home}sets/1/review/")
    assert ItemSet.objects.get().finished_at is None
    page = tab.client.get(tab.home, follow=True)
    assert page.context["place"] == kinds.index("gold") + 1

    tab.finish()
    assert ItemSet.objects.get().finished_at


def test_no_page_tells_a_check_from_an_item():
    tab = Tab(make_annotator(make_checked(items=10, k=1))).start()
    kinds = kinds_of(tab.me.item_sets.get().item_ids)
    gold = kinds.index("gold") + 1
    # not the first: it alone has no [Back]
    main = next(n for n, kind in enumerate(kinds, start=1) if kind == "main" and n > 1)

    pages = {place: tab.open(place).page for place in (main, gold)}

    assert shape_of(pages[gold].text) == shape_of(pages[main].text)
    for word in ("gold-0", "gold_", "attention", "control", "check 0"):
        assert word not in pages[gold].text
    assert pages[gold].context["lease_until"] == pages[main].context["lease_until"] is not None


def test_a_check_is_kept_as_long_as_the_rest_of_its_set():
    study = make_checked(items=10, k=1)
    tab = Tab(make_annotator(study)).start()
    gold = kinds_of(tab.me.item_sets.get().item_ids).index("gold") + 1

    with after_the_lease(study):
        lapsed = [tab.open(place).page.templates[0].name for place in (1, gold)]
        tab.start()
        again = [tab.open(place).page.templates[0].name for place in (1, gold)]

    assert lapsed == ["participation/continue.html"] * 2
    assert again == ["magnitude/item.html"] * 2


def test_the_last_item_that_is_missing_is_kept_although_it_is_a_check():
    study = make_checked(items=10, k=1)
    tab = Tab(make_annotator(study)).start()
    kinds = kinds_of(tab.me.item_sets.get().item_ids)
    for place, kind in enumerate(kinds, start=1):
        if kind == "main":
            tab.open(place).save()

    page = tab.open(kinds.index("gold") + 1).page

    assert page.templates[0].name == "magnitude/item.html"
    assert page.context["lease_until"] > now()
    drafted = tab.client.post(f"{tab.home}draft/", tab.fields).json()
    assert drafted["lease_until"]


def test_checks_alone_keep_no_set_open():
    study = make_checked(items=10, k=1)
    me, other = make_annotator(study), make_annotator(study)
    mine = claim_set(me)

    Slot.objects.leased().update(state=0, participant=None, lease_until=None)
    theirs = claim_set(other)

    assert claim_set(me) is None
    mine.refresh_from_db()
    assert mine.total == 0
    assert len(theirs.item_ids) == 12


def test_what_is_left_of_a_set_keeps_its_checks():
    study = make_checked(items=12, k=1)
    me, other = make_annotator(study), make_annotator(study)
    mine = claim_set(me)
    first = Item.objects.get(pk=mine.item_ids[0])
    answer_item(me, first, item_set=mine)

    with after_the_lease(study):
        claim_set(other)
        again = claim_set(me)

    left = [pk for pk in again.item_ids if pk not in again.lost_ids]
    assert again.pk == mine.pk
    assert kinds_of(left).count("gold") == 2


def test_a_set_that_is_filled_again_shows_no_old_check_and_keeps_what_was_answered():
    study = make_checked(items=20, k=1)
    me, other = make_annotator(study), make_annotator(study)
    mine = claim_set(me)
    gold = next(pk for pk in mine.item_ids if kinds_of([pk]) == ["gold"])
    answer_item(me, Item.objects.get(pk=gold), item_set=mine)
    Slot.objects.leased().update(state=0, participant=None, lease_until=None)
    do_sets(other, most=1)
    Slot.objects.filter(item__in=mine.item_ids).exclude(state=2).update(
        state=1, participant=make_annotator(study), lease_until=now()
    )

    again = claim_set(me)

    assert again.pk == mine.pk
    left = [pk for pk in again.item_ids if pk not in again.lost_ids]
    assert [pk for pk in left if kinds_of([pk]) == ["gold"]] == [gold]
    assert again.total == len(left) > 1


@pytest.mark.slow
def test_only_checks_left_may_be_answered_in_a_paused_study():
    study = make_checked(items=10, k=1)
    tab = Tab(make_annotator(study)).start()
    kinds = kinds_of(tab.me.item_sets.get().item_ids)
    for place, kind in enumerate(kinds, start=1):
        if kind == "main":
            tab.open(place).save()
    type(study).objects.filter(pk=study.pk).update(state="paused")

    page = tab.client.get(tab.home, follow=True)
    assert page.context["place"] == kinds.index("gold") + 1

    tab.finish()
    assert ItemSet.objects.get().finished_at


def test_an_answered_check_can_be_changed_while_its_set_is_open():
    study = make_checked(items=10, k=1)
    tab = Tab(make_annotator(study)).start()
    gold = kinds_of(tab.me.item_sets.get().item_ids).index("gold") + 1
    tab.open(gold).save()

    answer = tab.open(gold).save(("5", "6", "7"))

    assert "was=changed" in answer.headers["Location"]
    annotation = Annotation.objects.get(item__kind="gold")
    assert sorted(annotation.ratings.values_list("value", flat=True)) == [5, 6, 7]
    assert annotation.revisions.count() == 1
    assert annotation.status == "control"


def test_a_check_reported_twice_waits_for_the_researcher():
    study = make_checked(items=10, checks=2, k=3)
    for _ in range(2):
        me = give_standing(make_annotator(study))
        item_set = claim_set(me)
        gold = Item.objects.get(key="gold-01")
        report_item(me, gold, item_set=item_set)

    gold.refresh_from_db()
    assert gold.held_at
    assert gold.pk not in claim_set(make_annotator(study)).item_ids
    assert set(Annotation.objects.values_list("status", flat=True)) == {"control"}


def test_a_check_that_is_held_later_still_counts_for_those_who_met_it():
    study = make_checked(items=20, checks=3, k=1, set_size=10, checks_per_person=1)
    me = make_annotator(study)
    first = claim_set(me)
    for pk in first.item_ids:
        answer_item(me, Item.objects.get(pk=pk), item_set=first)
    finish_set(participant=me, item_set=first)
    gold = Item.objects.get(kind="gold", pk__in=first.item_ids)
    for _ in range(2):
        report_item(give_standing(make_annotator(study)), gold)

    later = claim_set(me)

    gold.refresh_from_db()
    assert gold.held_at
    assert set(kinds_of(later.item_ids)) == {"main"}


def test_a_pilot_meets_the_checks_too():
    study = make_study(items=10, set_size=10, checks_per_person=2)
    add_checks(study, 2)

    item_ids = deal_pilot_set(make_annotator(study, is_pilot=True)).item_ids

    assert kinds_of(item_ids).count("gold") == 2


def test_checks_are_told_as_items_at_the_end():
    tab = Tab(make_annotator(make_checked(items=10, k=1))).start()
    tab.finish()

    page = tab.client.get(f"{tab.home}finish/")

    assert page.context["done"] == 12


def test_a_look_at_the_last_control_of_a_set_does_not_move_its_time():
    tab = Tab(make_annotator(make_checked())).start()
    item_set = tab.me.item_sets.get()
    kinds = kinds_of(item_set.item_ids)
    for item in Item.objects.main().filter(pk__in=item_set.item_ids):
        answer_item(tab.me, item, item_set=item_set)
    address = tab.address_of(kinds.index("gold") + 1)

    first = tab.client.get(address).context["lease_until"]
    with standing_at(now() + timedelta(minutes=7)):
        assert tab.client.get(address).context["lease_until"] == first
    # then it is kept no more, like any other item, and comes back like one
    with after_the_lease(tab.me.study):
        assert "lease_until" not in tab.client.get(address).context
        tab.start()
        assert tab.client.get(address).context["lease_until"] == now() + timedelta(minutes=15)
