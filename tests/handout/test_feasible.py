"""How many people a design takes: proved by playing it through, and offered before a launch."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from evalsite.core.audit.models import AuditEntry
from evalsite.fieldwork.checklist import check_launch, measure_work
from evalsite.handout.claims import claim_set
from evalsite.handout.feasibility import (
    Workload,
    can_be_finished,
    fewest_people,
    find_offers,
    people_needed,
)
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Membership, Study
from tests.site.test_staff_pages import sign_in, url
from tests.support.factories import launch, make_annotator, make_study, make_user
from tests.support.rounds import make_round

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

PLAYED = hypothesis_settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def designs(draw: Any) -> dict[str, Any]:
    """A small study: how many items each of its groups holds, and how they are handed out."""
    groups = draw(st.sampled_from(["free", "together", "once"]))
    most = 1 if groups == "free" else 3
    return {
        "sizes": draw(st.lists(st.integers(1, most), min_size=1, max_size=4)),
        "groups": groups,
        "k": draw(st.integers(1, 3)),
        "set_size": draw(st.integers(1, 4)),
        "max_sets": draw(st.sampled_from([None, 1, 2])),
        "max_items": draw(st.sampled_from([None, None, 3, 4])),
    }


def make_grouped(*, sizes: list[int], **fields: Any) -> Study:
    """A draft with one group for each of these sizes."""
    study = make_study(items=sum(sizes), **fields)
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    for item, group in zip(study.items.main().order_by("id"), groups, strict=True):
        Item.objects.filter(pk=item.pk).update(group=f"g{group}", group_shuffle_key=group * 7919)
    return study


def takes_a_set(me: Participant) -> bool:
    """Whether there was a set for this person, who has then answered all of it."""
    if claim_set(me) is None:
        return False
    Slot.objects.filter(participant=me).update(state=Slot.State.DONE, lease_until=None)
    ItemSet.objects.filter(participant=me).update(finished_at=now())
    return True


def is_finished_by(study: Study, people: int, *, seed: int) -> bool:
    """Whether so many people, who take their sets in an order of chance, leave nothing."""
    chance = Random(seed)
    is_one_by_one = chance.random() < 0.3
    with transaction.atomic():
        here = [make_annotator(study) for _ in range(people)]
        while here:
            place = 0 if is_one_by_one else chance.randrange(len(here))
            if not takes_a_set(here[place]):
                del here[place]
        is_finished = not Slot.objects.free().filter(study=study).exists()
        transaction.set_rollback(True)
    return is_finished


@pytest.mark.torture
@PLAYED
@given(design=designs(), seed=st.integers(0, 1000))
def test_people_who_are_called_enough_finish_in_whatever_order_they_come(design, seed):
    study = make_grouped(**design)
    work = measure_work(study)
    assume(can_be_finished(work))
    launch(study)

    assert is_finished_by(study, people_needed(work), seed=seed)


@pytest.mark.torture
@PLAYED
@given(design=designs(), seed=st.integers(0, 1000))
def test_fewer_people_than_the_fewest_finish_in_no_order(design, seed):
    study = make_grouped(**design)
    work = measure_work(study)
    assume(can_be_finished(work) and fewest_people(work) > 1)
    launch(study)

    assert not is_finished_by(study, fewest_people(work) - 1, seed=seed)


@pytest.mark.torture
@PLAYED
@given(design=designs(), seed=st.integers(0, 1000))
def test_offered_settings_are_finished_by_the_people_they_were_offered_for(design, seed):
    study = make_grouped(**design)
    work = measure_work(study)
    people = max(1, people_needed(work) - 1)
    offers = find_offers(work, people)
    assume(can_be_finished(work) and offers)
    offer = Random(seed).choice(offers)
    Study.objects.filter(pk=study.pk).update(**dict(offer.changes))
    study.refresh_from_db()
    launch(study)

    assert is_finished_by(study, people, seed=seed)


def work(**fields: Any) -> Workload:
    """Three hundred groups of one item, unless said otherwise."""
    items = fields.pop("items", 300)
    given_ = {"group_count": items, "sizes": (1,), "k": 3, "set_size": 10, **fields}
    return Workload(items=items, **given_)


@pytest.mark.parametrize(
    ("fields", "fewest", "needed"),
    [
        ({}, 3, 3),
        ({"k": 5}, 5, 5),
        # 900 answers, one set of 10 each: whoever comes is new to everything
        ({"max_sets": 1}, 90, 90),
        ({"max_items": 10}, 90, 90),
        # 900 answers, 50 each: 18 people, but two of them may have met the last items
        ({"max_sets": 5}, 18, 20),
        ({"max_items": 50}, 18, 20),
        # the example of docs/guide.md
        ({"items": 100, "max_sets": 5}, 6, 8),
        ({"max_sets": 30}, 3, 3),
        # the example of three people who come in turn: a b, c a, and nobody is left for c
        ({"items": 3, "k": 2, "set_size": 1, "max_sets": 2}, 3, 4),
        # 100 reviews of 3 stay together: a set of 10 holds 9
        ({"sizes": (3,), "group_count": 100, "groups": "together", "max_sets": 1}, 100, 100),
        # a person meets each context once
        ({"sizes": (3,), "group_count": 100, "groups": "once"}, 9, 9),
        ({"sizes": (1, 3), "group_count": 120, "groups": "once"}, 9, 9),
        ({"sizes": (3,), "group_count": 50, "items": 150, "groups": "once", "max_sets": 5}, 9, 9),
    ],
)
def test_how_many_people_a_design_takes(fields, fewest, needed):
    assert (fewest_people(work(**fields)), people_needed(work(**fields))) == (fewest, needed)


def test_three_people_who_come_in_turn_can_leave_a_place_to_nobody():
    study = make_grouped(
        sizes=[1, 1, 1], groups="free", k=2, set_size=1, max_sets=2, max_items=None
    )
    launch(study)
    needed = people_needed(measure_work(study))

    finished = [is_finished_by(study, needed - 1, seed=seed) for seed in range(12)]

    assert len(set(finished)) == 2
    assert all(is_finished_by(study, needed, seed=seed) for seed in range(12))


def test_a_group_that_is_larger_than_what_one_may_be_given_is_finished_by_nobody():
    study = make_grouped(
        sizes=[4, 1], groups="together", k=1, set_size=5, max_sets=None, max_items=3
    )

    (check,) = [check for check in check_launch(study) if check.problem]

    assert "a group has 4 and stays together" in check.problem
    assert [offer.changes for offer in check.offers] == [(("max_items", 4),)]


def test_offers_are_the_least_changes_that_would_do():
    design = work(max_sets=1)

    offers = find_offers(design, 60)

    assert [offer.words for offer in offers] == [
        "Let each person take 2 sets",
        "Make sets of 15 items",
        "Ask for 2 answers per item",
    ]
    for offer in offers:
        assert people_needed(replace(design, **dict(offer.changes))) <= 60


def test_both_limits_are_offered_to_go_where_raising_one_is_not_enough():
    design = work(max_sets=1, max_items=10)

    words = [offer.words for offer in find_offers(design, 20)]

    assert words == ["Set no limit to what a person may answer"]


def test_a_bonus_for_all_sets_keeps_its_number_of_sets():
    design = work(max_sets=1, max_items=10)

    assert find_offers(design, 20, has_bonus=True) == []


def test_a_group_met_once_by_too_few_is_offered_fewer_answers_or_to_be_met_again():
    design = work(sizes=(3,), group_count=100, groups="once")

    words = [offer.words for offer in find_offers(design, 8)]

    assert words == [
        "Ask for 2 answers per item",
        "Let a person meet more than one item of a group",
    ]


# --- the launch page --------------------------------------------------------------------------


def make_short() -> Study:
    """Thirty answers, one set of two each, and fourteen people: it takes fifteen."""
    study = make_study(items=10, k=3, set_size=2, max_sets=1)
    make_round(study, "panel", places=14)
    return study


def test_launch_offers_what_would_do_and_an_editor_takes_it(staff_client):
    study = make_short()
    page = staff_client.get(url("study-launch", study))
    offered = {"offer": "max_sets=2", "revision": study.revision}

    after = staff_client.post(url("study-launch-offer", study), offered, follow=True)

    assert "Invite at least 15 people." in page.text
    assert "Let each person take 2 sets</button>" in page.text
    study.refresh_from_db()
    assert study.max_sets == 2
    assert "Changed: let each person take 2 sets." in after.text
    assert "Invite at least 15 people." not in after.text
    assert AuditEntry.objects.filter(study_id=study.pk, action="settings changed").exists()


def test_an_order_that_must_be_lucky_is_said(staff_client):
    study = make_study(items=10, k=3, set_size=2, max_sets=2)
    make_round(study, "panel", places=8)

    page = staff_client.get(url("study-launch", study))

    assert "They can finish only if they come in a lucky order" in page.text
    assert "With 9 the order does not matter." in page.text


@pytest.mark.one_case
@pytest.mark.parametrize(
    "posted",
    [
        {"offer": "max_sets=9", "revision": "0"},
        {"offer": "max_sets=2", "revision": "7"},
        {"offer": "max_sets=2", "revision": "²"},
        {"offer": "state=live", "revision": "0"},
        {},
    ],
)
def test_what_was_not_offered_is_not_set(staff_client, posted):
    study = make_short()

    after = staff_client.post(url("study-launch-offer", study), posted, follow=True)

    assert "Look at the list again." in after.text
    study = Study.objects.get(pk=study.pk)
    assert (study.max_sets, study.revision) == (1, 0)


@pytest.mark.parametrize(("role", "status"), [("editor", 302), ("viewer", 403), ("", 404)])
def test_offers_are_for_editors_of_this_study(role, status):
    study = make_short()
    person = make_user("somebody")
    if role:
        Membership.objects.create(study=study, user=person, role=role)

    response = sign_in(person).post(
        url("study-launch-offer", study), {"offer": "max_sets=2", "revision": 0}
    )

    assert response.status_code == status
    study.refresh_from_db()
    assert study.max_sets == (2 if status == 302 else 1)


def test_nothing_is_offered_while_a_launch_is_on_its_way(staff_client):
    study = make_study()
    staff_client.post(url("study-launch-start", study))
    make_round(study, "panel", is_on=False, places=1)

    page = staff_client.get(url("study-launch", study))

    assert "What would work instead" not in page.text
