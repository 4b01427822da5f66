"""What people read when no place is free: a study is said to be complete only when it is."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.handout.claims import claim_set, find_shortage
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study
from tests.support.arriving import open_link, press_start
from tests.support.factories import answer_item, launch, make_annotator, make_study, mint_link
from tests.support.rounds import Person, make_round

pytestmark = pytest.mark.django_db

COMPLETE = "This study has all the answers it needs."
CHECKED = "Some items are being checked. Please come back later."


@pytest.fixture
def study() -> Study:
    return launch(make_study(items=2, k=1, set_size=2))


def fill(study: Study, items: int = 2) -> Participant:
    """So many items have their answers, by somebody."""
    me = make_annotator(study)
    claim_set(me)
    for item in study.items.main()[:items]:
        answer_item(me, item)
    return me


def open_waiting(study: Study, me: Participant | None = None) -> Any:
    return Client().get(f"{mint_link(me or make_annotator(study))}no-work/?taken")


def hold(study: Study) -> None:
    Item.objects.filter(study=study).update(held_at=now())


def look_everywhere(study: Study) -> dict[str, str]:
    """The reason on the first page, after Start, and where people wait."""
    pages = {
        "first": open_link(study), "pressed": press_start(study), "waiting": open_waiting(study)
    }  # fmt: skip
    for page in pages.values():
        assert (COMPLETE in page.text) == (page.context["shortage"] == "complete")
        assert (CHECKED in page.text) == (page.context["shortage"] == "checked")
    return {name: str(page.context["shortage"]) for name, page in pages.items()}


def test_all_answers_are_in_once_every_item_has_them(study):
    fill(study)

    assert set(look_everywhere(study).values()) == {"complete"}


def test_places_that_others_have_may_come_free(study):
    fill(study, items=1)

    assert set(look_everywhere(study).values()) == {"taken"}
    assert "Leave this page open" in open_link(study).text


def test_held_items_are_being_checked_and_nobody_waits_for_them(study):
    hold(study)

    assert set(look_everywhere(study).values()) == {"checked"}
    assert "Leave this page open" not in open_link(study).text


def test_a_place_that_somebody_has_beside_held_items_may_come_free(study):
    claim_set(make_annotator(study))
    Item.objects.filter(pk=study.items.main()[0].pk).update(held_at=now())

    assert set(look_everywhere(study).values()) == {"taken"}


def test_a_held_item_that_is_done_keeps_no_study_from_being_complete(study):
    fill(study)
    hold(study)

    assert set(look_everywhere(study).values()) == {"complete"}


def test_who_has_done_all_that_there_is_for_them_is_told_so_and_not_that_it_is_complete():
    study = launch(make_study(items=2, k=2, set_size=2))
    me = fill(study)

    page = open_waiting(study, me)

    assert page.context["shortage"] == "done"
    assert COMPLETE not in page.text
    assert Slot.objects.free().filter(study=study).exists()


def test_what_others_are_at_is_no_reason_to_wait_for_who_has_answered_it():
    study = launch(make_study(items=2, k=2, set_size=2))
    me = fill(study)
    claim_set(make_annotator(study))

    assert open_waiting(study, me).context["shortage"] == "done"


def test_who_may_have_no_further_set_is_done():
    study = launch(make_study(items=4, k=1, set_size=2, max_sets=1))
    me = fill(study)
    me.item_sets.update(finished_at=now())

    assert open_waiting(study, me).context["shortage"] == "done"


@pytest.mark.parametrize("platform", ["open_link", "prolific"])
def test_a_round_that_is_off_or_full_is_not_a_study_that_is_complete(study, platform):
    recruitment = make_round(study, platform)
    pages = []
    for changes in ({"is_on": False}, {"is_on": True, "places": 1}):
        study.recruitments.filter(pk=recruitment.pk).update(**changes)
        pages.append(Person(recruitment, 1).look())
        if changes["is_on"] is False:
            study.recruitments.filter(pk=recruitment.pk).update(is_on=True)
            Person(recruitment).enter()

    assert [page.context["is_off"] for page in pages] == [True, False]
    assert [page.context["is_full"] for page in pages] == [False, True]
    assert not any(COMPLETE in page.text for page in pages)


@pytest.mark.parametrize("state", ["paused", "closed", "draft"])
def test_a_study_that_is_not_open_is_not_said_to_be_complete(study, state):
    Study.objects.update(state=state)

    assert COMPLETE not in open_link(study).text


def test_whom_something_else_keeps_from_a_free_place_is_not_said_to_have_done_all(study):
    """For instance a quota: others come first, as long as it lasts."""
    assert find_shortage(study, make_annotator(study)) == "taken"


# --- a demonstration with all its answers ---------------------------------------------------


def make_demo(**fields: Any) -> Study:
    return launch(make_study(items=2, k=1, set_size=2, is_demo=True, **fields))


def test_full_demonstration_leads_to_those_with_free_places():
    full, free, paused, other_full = (make_demo() for _ in range(4))
    fill(full)
    fill(other_full)
    Study.objects.filter(pk=paused.pk).update(joins_paused_at=now())
    # what somebody's lease held until a moment ago is free, too
    claim_set(make_annotator(free))
    Slot.objects.filter(study=free).update(lease_until=now() - timedelta(minutes=1))

    page = open_link(full)

    assert [url for _, url in page.context["demos"]] == [f"/join/{free.pk}/"]
    assert (page.context["items"], page.context["is_mostly_simulated"]) == (2, False)
    assert "<button" not in page.text
    Participant.objects.filter(study=full).update(origin="simulated")
    assert open_link(full).context["is_mostly_simulated"]


def test_demonstration_that_others_are_working_on_is_waited_for(study):
    demo = make_demo()
    claim_set(make_annotator(demo))
    fill(study)

    assert "demos" not in open_link(demo).context
    # nor is a study that is no demonstration such a page, once it has all its answers
    assert "demos" not in open_link(study).context


def test_full_demonstration_asks_as_many_queries_beside_two_as_beside_six():
    full = make_demo()
    fill(full)
    counts = []
    for _ in range(3):
        for _ in range(2):
            make_demo()
        # a process reads each version once
        open_link(full)
        with CaptureQueriesContext(connection) as queries:
            open_link(full)
        counts.append(len(queries))
    assert counts[-1] <= counts[0]
