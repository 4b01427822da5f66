"""Many people at once: exactly k for every item, nobody twice, nothing lost, nothing locked."""

from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.db.models import Count

from evalsite.data.items.importer import import_file
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Rating, Revision, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Study
from tests.handout.test_dealing import add_grouped_items
from tests.support.annotators import Browser
from tests.support.batches import import_rows, make_rows
from tests.support.crowds import check_exactly_k, crowd_workers, make_crowd, make_live_study
from tests.support.factories import (
    add_batch,
    answer_item,
    launch,
    make_annotator,
    make_study,
    make_user,
    mint_link,
)
from tests.support.invariants import check_invariants
from tests.support.published import published_file
from tests.support.races import Held, at_once, only_postgresql
from tests.support.tabs import BOXES, SCORES

__all__ = ["crowd_workers", "make_crowd"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

RANKME = published_file("rankme/batch_wide.csv")


# --- a crowd through the real pages, in processes of its own ----------------------------


@pytest.mark.torture
def test_sixteen_people_at_once_rate_the_100_rankme_items_exactly_three_times(make_crowd):
    study = make_live_study(
        add_items=lambda study: import_file(study=study, path=RANKME, by=make_user())
    )
    crowd = make_crowd(study)
    crowd.add(16)

    crowd.work()

    check_exactly_k(study)
    assert Annotation.objects.counted().count() == 300
    assert Rating.objects.filter(annotation__status="counted").count() == 900
    assert not Annotation.objects.filter(status="surplus").exists()
    assert Participant.objects.filter(annotations__status="counted").distinct().count() == 16


@pytest.mark.torture
def test_people_with_two_tabs_and_double_sends_rate_every_item_exactly_three_times(make_crowd):
    study = make_live_study(set_size=5, add_items=lambda study: add_batch(study, items=9))
    crowd = make_crowd(study)
    crowd.add(4, tabs=2)

    crowd.work()

    check_exactly_k(study)
    assert not Annotation.objects.filter(status="surplus").exists()
    # the tabs were really open on the same items, and minds were changed in them
    assert Revision.objects.exists()


@pytest.mark.torture
def test_people_with_two_tabs_on_sheets_rate_every_item_exactly_three_times(make_crowd):
    study = make_live_study(
        protocol="dialogue",
        options={"screen": "sheet"},
        set_size=4,
        max_sets=None,
        add_items=lambda study: import_rows(study, make_rows(study.config, 8)),
    )
    crowd = make_crowd(study)
    crowd.add(4, tabs=2)

    crowd.work()

    check_exactly_k(study)
    assert not Annotation.objects.filter(status="surplus").exists()


@pytest.mark.torture
def test_what_some_walk_away_from_is_done_by_others_and_their_late_answers_are_kept(make_crowd):
    study = make_live_study(set_size=5, add_items=lambda study: add_batch(study, items=9))
    crowd = make_crowd(study)
    crowd.add(2, leaves_after=3)
    crowd.add(3)

    crowd.work()
    left_open = Slot.objects.leased().count()
    crowd.come_back(now() + timedelta(minutes=study.lease_minutes + 1))
    crowd.come_back(now() + timedelta(days=1))

    assert left_open > 0
    check_exactly_k(study)
    late = Annotation.objects.filter(status__in=["counted", "surplus"])
    assert late.count() >= Slot.objects.count()


@pytest.mark.torture
def test_a_large_crowd_of_whom_some_walk_away_rates_every_item_exactly_three_times(make_crowd):
    """100 people in four processes on PostgreSQL; 40, its documented limit being 50, on SQLite."""
    people, processes = (100, 4) if connection.vendor == "postgresql" else (40, 2)
    study = make_live_study(set_size=5, add_items=lambda study: add_batch(study, items=3 * people))
    crowd = make_crowd(study, processes=processes)
    crowd.add(people // 10, leaves_after=3)
    crowd.add(people - people // 10)

    crowd.work()
    left_open = Slot.objects.leased().count()
    crowd.come_back(now() + timedelta(minutes=study.lease_minutes + 1))

    assert left_open > 0
    check_exactly_k(study)
    assert Participant.objects.filter(annotations__status="counted").distinct().count() == people


# --- a few threads and one moment -------------------------------------------------------


@pytest.mark.slow
def test_bad_54_one_answer_sent_by_ten_tabs_at_once_is_stored_once():
    study = launch(make_study(items=3, set_size=3))
    home = mint_link(make_annotator(study))
    site = get_wsgi_application()
    page = Browser(site).post(f"{home}start/", {})
    sent = {**page.fields, **dict(zip(BOXES, SCORES, strict=True)), "go": "next"}

    pages = at_once([lambda: Browser(site).post(page.address, sent)] * 10)

    words = sorted(
        page.address.partition("#")[0].partition("?was=")[2].partition("&")[0] for page in pages
    )
    assert words == ["already"] * 9 + ["saved"]
    assert (Annotation.objects.count(), Rating.objects.count()) == (1, 3)
    assert not Revision.objects.exists()
    check_invariants(study)


def test_ten_different_answers_of_one_person_at_once_are_one_answer_and_its_history():
    study = launch(make_study(items=1, set_size=1))
    me = make_annotator(study)
    item_set = claim_set(me)
    item = Item.objects.main().get()

    answer = partial(answer_item, me, item, item_set=item_set)
    at_once([partial(answer, score=score) for score in range(1, 11)])

    assert Annotation.objects.count() == 1
    assert Revision.objects.count() == 9
    check_invariants(study)


def test_start_pressed_in_ten_tabs_at_once_deals_one_set():
    study = launch(make_study(items=9, set_size=3))
    me = make_annotator(study)

    sets = at_once([lambda: claim_set(me)] * 10)

    assert len({item_set.pk for item_set in sets}) == 1
    assert ItemSet.objects.count() == 1
    assert Slot.objects.leased().count() == 3


@pytest.mark.slow
def test_the_last_place_goes_to_one_of_twelve_people_who_ask_at_once():
    study = launch(make_study(items=1, k=1, set_size=1))
    people = [make_annotator(study) for _ in range(12)]

    sets = at_once([partial(claim_set, me) for me in people])

    assert sum(item_set is not None for item_set in sets) == 1
    assert Slot.objects.leased().count() == 1


@pytest.mark.torture
@pytest.mark.slow
def test_forty_arrivals_for_thirty_places_are_thirty_people_at_work_and_ten_polite_pages():
    study = launch(make_study(items=10, k=30, set_size=10))
    homes = [mint_link(make_annotator(study)) for _ in range(40)]
    site = get_wsgi_application()

    pages = at_once([partial(Browser(site).post, f"{home}start/", {}) for home in homes])

    assert Counter(page.name for page in pages) == {"rating-page": 30, "participant-no-work": 10}
    assert Slot.objects.leased().count() == Slot.objects.count() == 300
    polite = [page.html for page in pages if page.name == "participant-no-work"]
    assert ["Other people are working on all the items." in html for html in polite] == [True] * 10
    check_invariants(study)


@pytest.mark.torture
def test_ten_items_in_sets_of_twelve_go_to_three_of_eight_people_at_once():
    study = launch(make_study(items=10, k=3, set_size=12))
    people = [make_annotator(study) for _ in range(8)]

    sets = at_once([partial(claim_set, me) for me in people])

    assert not Slot.objects.free().exists()
    for item_set in filter(None, sets):
        assert len(set(item_set.item_ids)) == len(item_set.item_ids)
    check_invariants(study)


def split_groups(study: Study) -> list[int]:
    """The places of which several people have a part."""
    places = Slot.objects.filter(study=study).order_by().values("pos")
    return [
        place["pos"]
        for place in places.annotate(n=Count("participant", distinct=True), all=Count("pk"))
        if place["n"] > 1
    ]


@pytest.mark.torture
@pytest.mark.slow
def test_forty_people_at_once_get_sixty_groups_whole():
    study = make_study(items=0, k=3, set_size=10, groups="together")
    launch(add_grouped_items(study, groups=60, size=3))
    people = [make_annotator(study) for _ in range(40)]

    # in two waves, so that no more threads wait than a web server has
    sets = at_once([partial(claim_set, me) for me in people[:20]])
    sets += at_once([partial(claim_set, me) for me in people[20:]])

    assert {len(item_set.item_ids) for item_set in sets} == {9}
    assert Slot.objects.leased().count() == 40 * 9
    assert split_groups(study) == []
    check_invariants(study)


@pytest.mark.torture
@pytest.mark.slow
def test_lapsed_groups_return_whole_to_sixteen_people_who_ask_at_once():
    study = make_study(items=0, k=1, set_size=10, groups="together")
    launch(add_grouped_items(study, groups=24, size=3))
    with standing_at(now() - timedelta(hours=5)):
        while claim_set(make_annotator(study)):
            pass
    people = [make_annotator(study) for _ in range(16)]

    for _ in range(3):
        at_once([partial(claim_set, me) for me in people])
        assert split_groups(study) == []

    assert not Slot.objects.leased().filter(lease_until__lt=now()).exists()
    check_invariants(study)


@pytest.mark.slow
def test_late_answers_and_new_claims_at_once_count_every_place_once():
    study = launch(make_study(items=12, k=1, set_size=4))
    late = [make_annotator(study) for _ in range(3)]
    with standing_at(now() - timedelta(hours=5)):
        sets = [claim_set(me) for me in late]
    people = [make_annotator(study) for _ in range(5)]

    def answer_all(me: Participant, item_set: ItemSet) -> None:
        for item in Item.objects.filter(pk__in=item_set.item_ids):
            answer_item(me, item, item_set=item_set)

    at_once(
        [
            *(partial(answer_all, item_set.participant, item_set) for item_set in sets),
            *(partial(claim_set, me) for me in people),
        ]
    )

    assert Annotation.objects.filter(participant__in=late).count() == 12
    check_invariants(study)
    taken = Slot.objects.exclude(state=Slot.State.FREE).count()
    assert taken == Slot.objects.count()


# --- races that need a moment exactly ------------------------------------------------------


@only_postgresql
def test_saving_in_one_tab_and_starting_in_another_do_not_wait_for_one_another():
    study = launch(make_study(items=3, set_size=3))
    me = make_annotator(study)
    item_set = claim_set(me)
    item = Item.objects.get(pk=item_set.item_ids[0])

    saved, again = Held(
        first=lambda: answer_item(me, item, item_set=item_set), second=lambda: claim_set(me)
    ).run()

    assert saved.name == "SAVED"
    assert again.pk == item_set.pk
    check_invariants(study)


@only_postgresql
def test_an_item_dealt_to_me_in_another_tab_at_this_moment_takes_my_late_answer():
    study = launch(make_study(items=1, k=2, set_size=1))
    me = make_annotator(study)
    item_set = claim_set(me)
    item = Item.objects.main().get()
    Slot.objects.update(state=0, participant=None, lease_until=None)

    again, saved = Held(
        first=lambda: claim_set(me), second=lambda: answer_item(me, item, item_set=item_set)
    ).run()

    assert again.pk == item_set.pk
    assert saved.name == "SAVED"
    assert Annotation.objects.get().status == "counted"
    check_invariants(study)


@only_postgresql
def test_an_item_that_i_answer_late_at_this_moment_is_not_dealt_to_me_again():
    study = launch(make_study(items=2, k=2, set_size=2))
    me = make_annotator(study)
    item = Item.objects.main().first()

    saved, item_set = Held(first=lambda: answer_item(me, item), second=lambda: claim_set(me)).run()

    assert saved.name == "SAVED"
    assert item.pk not in item_set.item_ids
    check_invariants(study)
