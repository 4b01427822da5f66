"""Nobody reads, practises or agrees for a place that they don't get."""

from datetime import timedelta
from functools import partial

import pytest
from django.test import Client

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import Answer, Consent, ItemSet, Participant
from evalsite.studies.models import Study
from tests.support.annotators import read_fields
from tests.support.arriving import (
    P,
    Q,
    count_made,
    join,
    make_rounds,
    open_link,
    press_start,
    prolific,
)
from tests.support.factories import launch, make_annotator, make_participant, make_study, mint_link
from tests.support.invariants import check_invariants
from tests.support.races import at_once
from tests.support.tabs import Tab

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
SPEAKER = {"first_language": "English", "variety": "british"}


def make_live(places: int = 1, **fields) -> Study:
    """A study of one item, for so many people."""
    return launch(make_study(items=1, k=places, set_size=1, **fields))


class Newcomer:
    """Somebody who has arrived, in a browser without scripts."""

    def __init__(self, study: Study) -> None:
        self.me = make_participant(study)
        self.home = mint_link(self.me)
        self.client = Client()

    def get(self, path: str = ""):
        return self.client.get(f"{self.home}{path}", follow=True)

    def post(self, path: str, data: dict[str, str] | None = None):
        return self.client.post(f"{self.home}{path}", data or {})

    def where(self) -> str:
        """The page that the personal link leads to now, after the token."""
        return self.get().redirect_chain[-1][0].removeprefix(self.home)

    def agree(self):
        page = self.get("consent/")
        return self.post("consent/", read_fields(page.text) | {"go": "agree"})

    def answer(self, **changes: str):
        return self.post("questions/", SPEAKER | changes)

    def holds(self) -> int:
        return Slot.objects.leased().filter(participant=self.me).count()


def settle_in(study: Study) -> Newcomer:
    """Somebody who has agreed and was asked what there is to ask."""
    one = Newcomer(study)
    one.agree()
    if study.is_eligibility_on:
        one.answer()
    return one


# --- the first page ---------------------------------------------------------------------


def test_first_page_says_when_no_place_is_free_and_lets_nobody_in():
    study = make_live()
    settle_in(study)
    before = count_made()

    page, pressed = open_link(study), press_start(study)

    for answer in (page, pressed):
        assert "No places are free right now" in answer.text
        assert ">Start<" not in answer.text
    assert page.status_code == pressed.status_code == 200
    assert count_made() == before


def test_first_page_says_when_all_answers_are_in():
    study = make_live()
    one = settle_in(study)
    Slot.objects.update(state=Slot.State.DONE, participant=one.me, lease_until=None)

    page = open_link(study)

    assert "No places are left" in page.text
    assert "Leave this page open" not in page.text


@pytest.mark.parametrize("lapsed_by", [-MINUTE, MINUTE])
def test_place_whose_lease_is_over_is_free(lapsed_by):
    study = make_live()
    settle_in(study)
    Slot.objects.update(lease_until=now() - lapsed_by)

    assert (">Start<" in open_link(study).text) == (lapsed_by > timedelta())


def test_people_from_a_platform_are_asked_to_return_their_submission():
    study = make_rounds(make_live())
    settle_in(study)

    page = open_link(study, prolific())

    assert "Please return your submission on Prolific." in page.text
    assert "Leave this page open" not in page.text


def test_people_from_a_platform_who_have_a_place_find_their_own_page():
    study = make_rounds(make_live())
    home = join(study, prolific(P))
    settle_in(study)

    mine = press_start(study, prolific(P))
    other = press_start(study, prolific(Q))

    assert (mine.status_code, other.status_code) == (302, 200)
    assert mine.headers["Location"].startswith("/p/")
    assert home.startswith("/p/")
    assert Participant.objects.count() == 2


# --- consent, entry questions, place ----------------------------------------------------


def test_agreeing_reserves_a_place_where_nothing_else_is_asked():
    one = Newcomer(make_live(is_eligibility_on=False))

    answer = one.agree()

    assert answer.headers["Location"] == f"{one.home}instructions/"
    assert one.holds() == 1
    assert "holding a place for you until" in one.get().text


def test_agreeing_reserves_nothing_before_the_entry_questions_are_answered():
    one = Newcomer(make_live())

    one.agree()

    assert one.holds() == 0
    assert one.where() == "questions/"


def test_answers_that_qualify_reserve_a_place_and_others_do_not():
    study = make_live(places=2)
    native, other = Newcomer(study), Newcomer(study)
    native.agree(), other.agree()

    native.answer()
    other.answer(first_language="Polish", variety="none")

    assert (native.holds(), other.holds()) == (1, 0)
    assert (native.where(), other.where()) == ("instructions/", "not-eligible/")
    assert not ItemSet.objects.filter(participant=other.me).exists()


@pytest.mark.parametrize("is_eligibility_on", [False, True])
def test_when_the_last_place_has_just_gone_nobody_has_to_read_for_nothing(is_eligibility_on):
    study = make_live(is_eligibility_on=is_eligibility_on)
    slow = Newcomer(study)
    settle_in(study)

    slow.agree()
    if is_eligibility_on:
        slow.answer()

    assert slow.where() == "no-work/"
    page = slow.get()
    assert "Leave this page open." in page.text
    assert not page.context.get("code")
    for path in ("practice/1/", "start/"):
        assert "No places are free right now" in slow.get(path).text


@pytest.mark.torture
@pytest.mark.both_databases
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("count", [12, pytest.param(50, marks=pytest.mark.torture)])
def test_bad_83_of_many_people_who_answer_at_once_three_have_the_three_places(count):
    study = make_live(places=3)
    people = [Newcomer(study) for _ in range(count)]
    for one in people:
        one.agree()

    at_once([one.answer for one in people])

    assert sorted(one.holds() for one in people) == [0] * (count - 3) + [1] * 3
    assert {one.where() for one in people} == {"instructions/", "no-work/"}
    # whoever was too late isn't asked again
    assert Answer.objects.count() == count * len(SPEAKER)
    assert set(Participant.objects.values_list("is_eligible", flat=True)) == {True}
    check_invariants(study)


@pytest.mark.torture
@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_agreeing_twice_at_once_takes_one_set():
    study = make_live(places=3, is_eligibility_on=False)
    one = Newcomer(study)
    fields = read_fields(one.get("consent/").text) | {"go": "agree"}

    at_once([partial(Client().post, f"{one.home}consent/", fields)] * 4)

    assert one.holds() == ItemSet.objects.count() == Consent.objects.count() == 1


def test_declining_gives_the_place_back_and_changing_ones_mind_asks_for_it_again():
    study = make_live(is_eligibility_on=False)
    one = Newcomer(study)

    one.post("consent/", {"go": "decline"})
    assert (one.holds(), claim_set(one.me)) == (0, None)
    one.agree()
    assert one.holds() == 1


# --- waiting ----------------------------------------------------------------------------


def test_waiting_is_reading_alone_and_taking_the_place_is_a_post():
    study = make_live(is_eligibility_on=False)
    settle_in(study)
    second = Newcomer(study)
    second.agree()
    assert second.where() == "no-work/"

    Slot.objects.update(state=Slot.State.FREE, participant=None, lease_until=None)
    free = second.get()

    assert ">Go on<" in free.text
    assert second.holds() == 0
    assert second.post("start/").headers["Location"] == f"{second.home}instructions/"
    assert second.holds() == 1


def test_place_goes_to_the_first_who_takes_it():
    study = make_live(is_eligibility_on=False)
    settle_in(study)
    waiting = [Newcomer(study) for _ in range(2)]
    for one in waiting:
        one.agree()
    Slot.objects.update(state=Slot.State.FREE, participant=None, lease_until=None)
    assert [">Go on<" in one.get().text for one in waiting] == [True, True]

    answers = [one.post("start/").headers["Location"] for one in waiting]

    assert answers[0].endswith("/instructions/")
    assert answers[1].endswith("/no-work/?taken")
    assert "No places are free right now" in waiting[1].get("no-work/?taken").text


# --- reserved ---------------------------------------------------------------------------


def test_place_is_kept_15_minutes_and_15_more_once_the_instructions_are_read():
    study = make_live(is_eligibility_on=False)
    start = now()
    with standing_at(start):
        one = settle_in(study)
        assert Slot.objects.get().lease_until == start + 15 * MINUTE

    for minutes in (10, 12):
        with standing_at(start + minutes * MINUTE):
            one.post("instructions/")
        assert Slot.objects.get().lease_until == start + 30 * MINUTE


def test_place_that_lapsed_while_reading_and_went_to_somebody_else_is_gone():
    study = make_live(is_eligibility_on=False)
    start = now()
    with standing_at(start):
        slow = settle_in(study)
    with standing_at(start + 16 * MINUTE):
        quick = settle_in(study)
        answer = slow.post("instructions/")

        assert answer.headers["Location"].endswith("/no-work/?taken")
        assert (slow.holds(), quick.holds()) == (0, 1)
        assert slow.where() == "no-work/"


def test_place_that_lapsed_while_reading_and_is_free_is_theirs_again():
    study = make_live(places=3, is_eligibility_on=False)
    start = now()
    with standing_at(start):
        slow = settle_in(study)
    with standing_at(start + 25 * MINUTE):
        slow.post("instructions/")

        assert slow.holds() == 1
        assert slow.where() == "practice/1/"


def test_no_item_is_shown_before_the_instructions_and_practice_are_done():
    one = settle_in(make_live(is_eligibility_on=False))

    assert one.get("sets/1/items/1/").redirect_chain[-1][0] == f"{one.home}instructions/"
    one.post("instructions/")
    assert one.get("sets/1/items/1/").redirect_chain[-1][0] == f"{one.home}practice/1/"


def test_people_at_work_are_not_sent_back_to_wait():
    study = make_live(places=1)
    tab = Tab(make_annotator(study)).start()
    tab.save()

    assert tab.client.get(tab.home).headers["Location"].endswith("/sets/1/review/")


def test_pilot_without_items_is_not_told_that_others_have_them():
    me = make_annotator(make_study(items=0), is_pilot=True)

    page = Client().post(f"{mint_link(me)}start/", follow=True)

    assert "This pilot has no items left to try." in page.text
    assert "Other people" not in page.text


# --- a place whose time is up while somebody reads or practises ------------------------------


def test_strip_offers_to_keep_a_place_whose_time_is_up():
    study = make_live(is_eligibility_on=False)
    reader = settle_in(study)
    first = reader.get("instructions/").context
    assert not first["is_place_over"]

    with standing_at(now() + 16 * MINUTE):
        page = reader.get("instructions/")
        assert page.context["is_place_over"]
        assert reader.post("start/").headers["Location"] == f"{reader.home}instructions/"
        kept = reader.get("instructions/").context
        assert not kept["is_place_over"]
        assert kept["held_until"] > now() > first["held_until"]
        # nothing is held for longer by pressing it again
        reader.post("start/")
        assert reader.get("instructions/").context["held_until"] == kept["held_until"]
    assert reader.holds() == 1


def test_place_that_someone_else_took_is_not_kept():
    study = make_live(is_eligibility_on=False)
    reader = settle_in(study)
    with standing_at(now() + 31 * MINUTE):
        other = settle_in(study)
        assert other.holds() == 1

        assert reader.get("instructions/").context["is_place_over"]
        assert reader.post("start/").headers["Location"].startswith(f"{reader.home}no-work/")

    assert reader.holds() == 0


def test_nobody_keeps_a_place_before_they_agreed_or_were_asked():
    study = make_live()
    reader = Newcomer(study)
    assert reader.post("start/").headers["Location"] == f"{reader.home}consent/"
    reader.agree()
    assert reader.post("start/").headers["Location"] == f"{reader.home}questions/"
    assert reader.holds() == 0
