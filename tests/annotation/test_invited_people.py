"""People invited by their own links: set after set, unless limited, and whether they can finish."""

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.annotation.allocation.claims import claim_set
from evalsite.annotation.running.invited_people import count_out_of_reach
from evalsite.lib.clock import now
from evalsite.participants.joins import use_personal_link
from evalsite.participants.models import Participant, PersonalLink, Recruitment
from evalsite.participants.recruiting import create_personal_links
from evalsite.participants.services import instructions_hash, record_consent
from evalsite.studies.models import Study
from tests.support.experts import invite
from tests.support.factories import answer_item, launch, make_study
from tests.support.rounds import make_round
from tests.support.tabs import Tab, make_live

pytestmark = pytest.mark.django_db


def make_personal(study: Study, links: int = 1) -> Recruitment:
    recruitment = make_round(study, "personal")
    create_personal_links(recruitment=recruitment, total=links, by=None)
    return recruitment


def arrive(study: Study, number: int = 1) -> Tab:
    """The person with this link is ready for work."""
    link = PersonalLink.objects.get(study=study, number=number)
    use_personal_link(link)
    link.refresh_from_db()
    me = link.participant
    assert me is not None
    Participant.objects.filter(pk=me.pk).update(
        is_eligible=True, practised_at=now(), instructions_read=instructions_hash(study)
    )
    me.refresh_from_db()
    record_consent(participant=me, is_given=True)
    return Tab(me, f"/p/{link.token}/")


def finish(tab: Tab, number: int) -> None:
    tab.client.post(f"{tab.home}start/")
    for place in range(1, len(tab.me.item_sets.get(number=number).item_ids) + 1):
        tab.show(tab.client.get(tab.address_of(place, number)))
        tab.client.post(
            tab.address_of(place, number),
            tab.fields | {name: "70" for name in tab.fields if "informativeness" in name},
        )
    tab.client.post(f"{tab.home}sets/{number}/review/")


# --- unlimited unless limited ---------------------------------------------------------------


def test_whoever_was_invited_by_name_goes_on_from_set_to_set():
    study = make_live(items=4, k=1, set_size=2, is_practice_on=False)
    make_personal(study)
    tab = arrive(study)

    finish(tab, 1)
    after_first = tab.client.get(f"{tab.home}finish/")
    finish(tab, 2)

    assert after_first.context["next_set"]
    assert tab.me.item_sets.filter(finished_at__isnull=False).count() == 2
    assert tab.me.slots.done().count() == 4


def test_a_round_that_is_limited_gives_each_link_one_set():
    study = make_live(items=4, k=1, set_size=2, is_practice_on=False)
    recruitment = make_personal(study)
    Recruitment.objects.filter(pk=recruitment.pk).update(has_further_sets=False)
    tab = arrive(study)

    finish(tab, 1)
    tab.client.post(f"{tab.home}start/")

    assert tab.me.item_sets.count() == 1


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("is_unlimited", "most", "shown"), [(True, None, ""), (True, 3, "3 sets"), (False, 3, "1 set")]
)
def test_the_limit_is_shown_where_it_is_set(staff_client, is_unlimited, most, shown):
    study = make_live(items=2, max_sets=most)
    recruitment = make_personal(study)
    address = reverse("admin:study-recruitment", args=[study.pk, recruitment.number])
    form = {"has_further_sets": "on"} if is_unlimited else {}

    assert staff_client.post(address, form).status_code == 302
    page = staff_client.get(address)

    assert page.context["sets_limit"] == shown
    assert page.context["form"]["has_further_sets"].value() == is_unlimited
    assert ("any number of sets" in page.text) == (not shown)


def test_the_round_of_experts_has_no_limit_to_set(staff_client):
    study = launch(make_study(items=2))
    invite(study, "Ana Costa")
    recruitment = study.recruitments.get()

    page = staff_client.get(reverse("admin:study-recruitment", args=[study.pk, recruitment.number]))

    assert "has_further_sets" not in page.context["form"].fields
    assert recruitment.has_further_sets


# --- whether they can finish -------------------------------------------------------------------

# 6 items, sets of 2: links, answers to an item, sets a person, groups met once (2 items in each);
# by hand: an answer of each person to an item, or to a group, up to their sets
REACH = [
    # every item takes 2 answers, by 2 people
    (2, 2, None, "free", 0),
    # each item lacks one
    (1, 2, None, "free", 6),
    (2, 3, None, "free", 6),
    # 2 people, 1 set of 2 items each: 4 of 6
    (2, 1, 1, "free", 2),
    (3, 1, 1, "free", 0),
    # two people with 2 sets each give 8 of 12
    (2, 2, 2, "free", 4),
    # nobody is invited: nothing to say
    (0, 2, None, "free", 0),
]


@pytest.mark.one_case
@pytest.mark.parametrize(("links", "k", "max_sets", "groups", "short"), REACH)
def test_answers_out_of_reach_are_counted(links, k, max_sets, groups, short):
    study = make_live(items=6, k=k, set_size=2, max_sets=max_sets, groups=groups)
    if links:
        make_personal(study, links)

    assert count_out_of_reach(study) == short


def test_the_limit_of_a_round_counts_and_what_was_given_does_too():
    study = make_live(items=6, k=2, set_size=2, is_practice_on=False)
    recruitment = make_personal(study, 2)
    Recruitment.objects.filter(pk=recruitment.pk).update(has_further_sets=False)
    # 12 answers, 2 sets of 2
    assert count_out_of_reach(study) == 8

    finish(arrive(study), 1)
    assert count_out_of_reach(study) == 8
    Recruitment.objects.filter(pk=recruitment.pk).update(has_further_sets=True)
    assert count_out_of_reach(study) == 0


def test_whoever_withdrew_gives_nothing_more():
    study = make_live(items=2, k=2, set_size=2)
    make_personal(study, 2)
    tab = arrive(study)
    for item_id in claim_set(tab.me).item_ids:
        answer_item(tab.me, study.items.get(pk=item_id))

    Participant.objects.filter(pk=tab.me.pk).update(withdrawn_at=now(), stopped_at=now())

    # the other person gives the other answer to each
    assert count_out_of_reach(study) == 0
    PersonalLink.objects.filter(number=2).delete()
    assert count_out_of_reach(study) == 2


def test_where_items_of_an_input_are_met_once_each_person_answers_one_of_them():
    study = launch(make_study(items=4, k=1, set_size=2, groups="once"))
    study.items.main().update(group="one input")
    make_personal(study, 3)

    assert count_out_of_reach(study) == 1


def test_other_people_may_finish_it():
    study = make_live(items=2, k=3, set_size=2)
    make_personal(study, 1)
    assert count_out_of_reach(study) == 4

    other = make_round(study, "prolific")
    assert count_out_of_reach(study) == 0

    Recruitment.objects.filter(pk=other.pk).update(is_on=False)
    assert count_out_of_reach(study) == 4
    Client().post(f"/join/{study.pk}/")
    assert count_out_of_reach(study) == 0


def test_what_experts_were_assigned_is_within_reach():
    study = launch(make_study(items=2, k=2))
    invite(study, "Ana Costa")
    assert count_out_of_reach(study) == 2

    invite(study, "Ben Okafor")
    assert count_out_of_reach(study) == 0


def test_the_overview_says_that_the_people_invited_cannot_finish(staff_client):
    study = make_live(items=2, k=3, set_size=2)
    make_personal(study, 1)
    address = reverse("admin:study-overview", args=[study.pk])

    short = staff_client.get(address)
    create_personal_links(recruitment=study.recruitments.get(), total=3, by=None)
    enough = staff_client.get(address)

    assert ("reach", 4) in [(task.key, task.count) for task in short.context["tasks"]]
    assert "reach" not in [task.key for task in enough.context["tasks"]]
