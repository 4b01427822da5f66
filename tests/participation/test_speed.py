"""What a rating costs, in queries and function calls: counts that no machine changes.

`make bench` measures the times. The bounds on calls leave at most a fifth to spare: who adds more
than that to the busiest pages should know, and raise them on purpose.
"""

from collections.abc import Callable
from cProfile import Profile
from datetime import timedelta
from pstats import Stats
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.handout.claims import claim_set
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.support.checks import add_checks, kinds_of
from tests.support.factories import (
    launch,
    make_annotator,
    make_participant,
    make_study,
    mint_link,
)
from tests.support.tabs import Tab, make_live, open_tab

pytestmark = pytest.mark.django_db

# Measured on SQLite: 22,000, 4,300, 24,900 and 13,200. The lower bar tells how much of an item is
# answered, a lease depends on the answers of its set, and a claim on its network.
MOST_CALLS_OF_SAVE_AND_NEXT = 22_500
MOST_CALLS_OF_CLAIM = 5_100
MOST_CALLS_OF_NEXT_SET = 25_500
MOST_CALLS_OF_REVIEW = 15_800
MOST_QUERIES_OF_CLAIM = 10
MOST_QUERIES_OF_REVIEW = 10
MOST_QUERIES_OF_FINISH = 11


def calls_of(act: Callable[[], Any]) -> int:
    profile = Profile()
    profile.runcall(act)
    return Stats(profile).total_calls  # type: ignore[attr-defined]


def queries_of(act: Callable[[], Any]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        act()
    bounds = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
    return [query["sql"] for query in queries if not query["sql"].startswith(bounds)]


def tab_after(saves: int, **fields: Any) -> Tab:
    """A tab that has saved so many items of its first set, and shows the next."""
    tab = open_tab(make_live(**{"items": 40, "set_size": 10, **fields}))
    for place in range(1, saves + 1):
        tab.open(place).save()
    return tab.open(saves + 1) if saves < 10 else tab


def save_and_go_on(tab: Tab, place: int) -> None:
    response = tab.post(
        {name: "70" for name in tab.fields if name[-2:-1] == "-"}, to=tab.address_of(place)
    )
    tab.show(tab.client.get(response.headers["Location"]))
    assert tab.page.context["place"] == place + 1


def finish(tab: Tab, go: str = "finish", number: int = 1) -> Any:
    return tab.client.post(f"{tab.home}sets/{number}/review/", {"go": go}, follow=True)


def test_saving_and_going_on_reads_no_text_of_the_study():
    tab = tab_after(2)

    asked = queries_of(lambda: save_and_go_on(tab, 3))

    names = [f'"studies_study"."{name}"' for name in Study.SELDOM_READ]
    assert not [sql for sql in asked for name in names if name in sql]
    # nor does it come back for what was left out
    assert len([sql for sql in asked if "studies_study" in sql]) == 2


def test_pages_of_a_draft_read_the_whole_study_at_once():
    study = make_study(items=3, protocol="magnitude")
    home = mint_link(make_participant(study, is_pilot=True))
    tab = Tab(None, home)

    asked = queries_of(lambda: tab.show(tab.client.get(f"{home}consent/")))

    assert tab.page.context["texts"]["title"] == study.title
    assert len([sql for sql in asked if "studies_study" in sql]) == 2


def test_slot_item_and_draft_are_read_at_once():
    tab = tab_after(2)

    asked = queries_of(lambda: tab.open(3))

    tables = ("annotation_slot", "studies_item", "annotation_draft")
    both = [sql for sql in asked if all(f'"{table}"' in sql for table in tables)]
    assert len(both) == 1
    assert len([sql for sql in asked if '"annotation_draft"' in sql]) == 1


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("minutes", "most"), [(0, [11, 7, 7, 7, 7, 7]), (2, [11, 11, 11, 11, 11, 11])]
)
def test_no_save_of_a_set_needs_more_queries_than_before_leases_grew_with_answers(minutes, most):
    start, counts = now(), []
    with time_machine.travel(start, tick=False) as clock:
        tab = open_tab(make_live(items=6, set_size=6))
        for place in range(1, 7):
            clock.shift(timedelta(minutes=minutes))
            tab.open(place)
            counts.append(len(queries_of(tab.save)))

    # as counted in version 1233d21b
    assert all(count <= before for count, before in zip(counts, most, strict=True)), counts


@pytest.mark.one_case
@pytest.mark.parametrize("is_in_order", [True, False])
@pytest.mark.parametrize(("minutes", "most"), [(0, 7), (2, 11)])
def test_no_save_with_checks_needs_more_queries_than_before_leases_grew(minutes, most, is_in_order):
    settings = {"checks_per_person": 2, "repeat_percent": 10}
    study = make_study(items=40, set_size=30, **settings)
    add_checks(study, 4)
    counts = []
    with time_machine.travel(now(), tick=False) as clock:
        tab = open_tab(launch(study))
        kinds = dict(enumerate(kinds_of(tab.me.item_sets.get().item_ids), start=1))
        # or with checks and repeats last, when no place is left
        places = sorted(kinds, key=lambda place: not is_in_order and kinds[place] != "main")
        for place in places:
            clock.shift(timedelta(minutes=minutes))
            tab.open(place)
            counts.append(len(queries_of(tab.save)))

    # as counted in version 1233d21b
    assert {*kinds.values()} == {"main", "gold", "repeat"}
    bounds = [11, *(most if kinds[place] == "main" else 11 for place in places[1:])]
    assert all(count <= bound for count, bound in zip(counts, bounds, strict=True)), counts


def test_a_save_with_the_next_page_calls_no_more_functions_than_it_needs():
    tab = tab_after(2)
    save_and_go_on(tab, 3)

    assert calls_of(lambda: save_and_go_on(tab, 4)) <= MOST_CALLS_OF_SAVE_AND_NEXT


def test_a_claim_calls_no_more_functions_than_it_needs():
    study = make_live(items=40, set_size=10)
    claim_set(make_annotator(study))
    me, other = make_annotator(study), make_annotator(study)

    assert calls_of(lambda: claim_set(me)) <= MOST_CALLS_OF_CLAIM
    assert len(queries_of(lambda: claim_set(other))) <= MOST_QUERIES_OF_CLAIM


@pytest.mark.torture
def test_finishing_a_set_and_starting_the_next_calls_no_more_functions_than_it_needs():
    def go_on(tab: Tab) -> None:
        tab.client.post(f"{tab.home}sets/1/review/", {"go": "finish"})
        tab.client.post(f"{tab.home}start/", follow=True)

    go_on(tab_after(10))
    tab = tab_after(10)

    assert calls_of(lambda: go_on(tab)) <= MOST_CALLS_OF_NEXT_SET
    assert tab.me.item_sets.count() == 2


def test_the_last_page_asks_as_many_queries_after_one_set_as_after_three():
    tab = open_tab(make_live(items=40, set_size=2))
    counts = []
    for number in (1, 2, 3):
        for place in (1, 2):
            tab.open(place, number=number)
            tab.post(
                {name: "70" for name in tab.fields if name[-2:-1] == "-"},
                to=tab.address_of(place, number),
            )
        finish(tab, number=number)
        counts.append(len(queries_of(lambda: tab.client.get(f"{tab.home}finish/"))))
        tab.start()

    assert counts[0] == counts[1] == counts[2] <= MOST_QUERIES_OF_FINISH


@pytest.mark.torture
def test_the_review_page_calls_no_more_functions_than_it_needs():
    for _ in range(2):
        # the first one builds the SQL that is kept
        tab = tab_after(10)
        calls = calls_of(lambda tab=tab: tab.client.get(f"{tab.home}sets/1/review/"))
    queries = queries_of(lambda: tab.client.get(f"{tab.home}sets/1/review/"))

    assert len(queries) <= MOST_QUERIES_OF_REVIEW
    assert calls <= MOST_CALLS_OF_REVIEW
