"""Who knows somebody's id on a platform, and nothing else, can't read, change or delete."""

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver, reverse

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Rating
from evalsite.lib.clock import now
from evalsite.participation.sets import finish_set
from evalsite.people.joins import use_personal_link
from evalsite.people.models import (
    Answer,
    Participant,
    ParticipantIdentity,
    ParticipantLink,
    Recruitment,
)
from evalsite.people.platforms import installed_platforms
from evalsite.people.random_codes import hash_token
from evalsite.people.services import instructions_hash, record_consent
from evalsite.studies.models import Item, Study
from tests.people.test_own_questions import AGE
from tests.support.annotators import read_fields
from tests.support.experts import invite
from tests.support.factories import launch, make_annotator, make_study, mint_link
from tests.support.rounds import make_round
from tests.support.sheet_pages import Sheet, answer, make_sheet
from tests.support.tabs import BOXES, Tab

pytestmark = pytest.mark.django_db

ID = "5f0c0ffee5f0c0ffee5f0abc"
FIRST, OTHER = "61a1b2c3d4e5f60718293a4b", "62a1b2c3d4e5f60718293a4b"
# what nobody else may read: answers, what was entered, answers to questions, the set's code
SCORE, ENTERED, AGE_GIVEN, CODE = "12345", "54321", "87", "QWRTPSDF"


def test_bad_97_another_visit_of_the_id_opens_no_earlier_answer():
    study = launch(make_study(items=12, k=1, set_size=12))
    prolific = installed_platforms()["prolific"]
    study.recruitments.create(
        number=1, platform="prolific", is_on=True,
        settings={setting.name: setting.initial for setting in prolific.settings},
    )  # fmt: skip
    me = make_annotator(study)
    ParticipantIdentity.objects.create(
        study=study, participant=me, platform="prolific", outside_id=ID
    )
    claim_set(me)
    client, first = Client(), f"{mint_link(me)}sets/1/items/1/"
    fields = read_fields(client.get(first).content.decode())
    client.post(first, {name: value or "12345" for name, value in fields.items()} | {"go": "next"})
    assert Annotation.objects.filter(study=study).count() == 1

    stranger = Client()
    arrival = {"PROLIFIC_PID": ID, "SESSION_ID": "62a1b2c3d4e5f60718293a4b",
               "STUDY_ID": "63a1b2c3d4e5f60718293a4b"}  # fmt: skip
    page = stranger.get(f"/join/{study.pk}/1/", arrival)
    started = stranger.post(f"/join/{study.pk}/1/", read_fields(page.content.decode()))
    theirs = "/".join(started.headers["Location"].split("/")[:3]) + "/"

    assert "12345" not in stranger.get(f"{theirs}sets/1/items/1/").content.decode()
    stranger.post(f"{theirs}withdraw/", {"keep": "delete"})
    assert Annotation.objects.filter(study=study, status="counted").count() == 1


# --- somebody who has worked, and all kinds of links --------------------------------------


def arrive(recruitment: Recruitment, visit: str = "") -> str:
    """The link of whoever arrives with the id and this visit, or with none."""
    query = {"PROLIFIC_PID": ID, "STUDY_ID": "63a1b2c3d4e5f60718293a4b"}
    query |= {"SESSION_ID": visit} if visit else {}
    address, client = f"/join/{recruitment.study_id}/{recruitment.number}/", Client()
    page = client.get(address, query)
    response = client.post(address, read_fields(page.text))
    assert response.status_code == 302, response.text
    return str(response.headers["Location"])


def owner_of(home: str) -> Participant:
    return Participant.objects.get(links__token_hash=hash_token(home.split("/")[2]))


def make_ready(me: Participant) -> None:
    Participant.objects.filter(pk=me.pk).update(
        is_eligible=True, instructions_read=instructions_hash(me.study), is_checked=True
    )
    me.refresh_from_db()
    record_consent(participant=me, is_given=True, may_share=True)


@dataclass
class World:
    """A person who came by a platform, finished a set and is in the second one."""

    study: Study
    recruitment: Recruitment
    first: str
    me: Participant = field(init=False)

    def __post_init__(self) -> None:
        self.me = owner_of(self.first)


def make_world(**fields: Any) -> World:
    study = make_study(
        items=6, k=1, set_size=2, is_practice_on=True, asks_to_share=True, pay_per_set=5,
        content_warning="Violence", questions={"background": [AGE]}, **fields,
    )  # fmt: skip
    launch(study)
    recruitment = make_round(study, "prolific", has_further_sets=True)
    recruitment.codes.filter(outcome="completed").delete()
    world = World(study, recruitment, arrive(recruitment, FIRST))
    me, tab = world.me, Tab(world.me, world.first)
    make_ready(me)
    claim_set(me)
    practice(world.first)
    Participant.objects.filter(pk=me.pk).update(practised_at=me.created_at)
    for place in (1, 2):
        save(tab, 1, place)
    finish_set(participant=me, item_set=me.item_sets.get(number=1))
    me.item_sets.update(code=CODE)
    Client().post(f"{world.first}about-you/", {"age": AGE_GIVEN})
    claim_set(me)
    save(tab, 2, 1)
    tab.show(tab.client.get(tab.address_of(2, 2) + "?shown"))
    entered = dict.fromkeys(BOXES, ENTERED)
    tab.client.post(f"{world.first}draft/", tab.fields | entered)
    return world


def practice(home: str) -> None:
    client, address = Client(), f"{home}practice/1/"
    fields = read_fields(client.get(address).text)
    client.post(address, {name: value or SCORE for name, value in fields.items()})


def save(tab: Tab, number: int, place: int, score: str = SCORE) -> Any:
    tab.client.get(tab.address_of(place, number) + "?shown")
    tab.show(tab.client.get(tab.address_of(place, number) + "?shown"))
    return tab.client.post(
        tab.address_of(place, number), tab.fields | dict.fromkeys(BOXES, score) | {"go": "next"}
    )


@pytest.fixture
def world() -> World:
    return make_world()


# --- rights ---------------------------------------------------------------------------------

# which links open a page as it is: those of the first visit only, or those of later ones, too
FIRST_ONLY, BOTH = "first visit", "both"
RIGHTS = {
    "pilot-comment": BOTH,
    "participant-home": BOTH,
    "participant-consent": BOTH,
    "participant-sharing": FIRST_ONLY,
    "participant-declined": BOTH,
    "participant-entry": BOTH,
    "participant-refused": BOTH,
    "participant-end": BOTH,
    "participant-instructions": BOTH,
    "instructions-check": BOTH,
    "instructions-missed": BOTH,
    "worked-examples": BOTH,
    "participant-practice": BOTH,
    "participant-qualification": BOTH,
    "qualification-item": BOTH,
    "qualification-questions": BOTH,
    "qualification-suggestions": BOTH,
    "participant-unqualified": BOTH,
    "participant-start": BOTH,
    "rating-page": BOTH,
    "rating-report": BOTH,
    "rating-skip": BOTH,
    "rating-ignore": BOTH,
    "ignore-undo": FIRST_ONLY,
    "set-sheet": BOTH,
    "sheet-draft": BOTH,
    "set-break": BOTH,
    "set-review": BOTH,
    "rating-draft": BOTH,
    "participant-finish": BOTH,
    "background-questions": FIRST_ONLY,
    "participant-no-work": BOTH,
    "participant-stop": BOTH,
    "participant-shut": BOTH,
    "participant-stopped": BOTH,
    "participant-work": FIRST_ONLY,
    "participant-withdraw": FIRST_ONLY,
    "participant-withdrawn": BOTH,
}
# where a link of the first visit shows something that those of later ones must not show
SECRET = {
    "participant-practice", "rating-page", "set-review", "participant-finish",
    "participant-stop", "participant-no-work", "background-questions", "participant-declined",
    "participant-work",
}  # fmt: skip
KINDS = {"first": FIRST, "same visit": FIRST, "other visit": OTHER, "no visit": ""}


def link_of(world: World, kind: str) -> str:
    return world.first if kind == "first" else arrive(world.recruitment, KINDS[kind])


def list_addresses(home: str) -> dict[str, list[str]]:
    """Every address of a participant, by the name of its page: with each number that it takes."""
    token = home.split("/")[2]
    addresses: dict[str, list[str]] = {}
    for pattern in get_resolver().url_patterns:
        if not str(pattern.pattern).startswith("p/<token>/"):
            continue
        names = list(pattern.pattern.converters)
        for number, place in ((1, 1), (1, 2), (2, 1), (2, 2)):
            values = {"token": token, "number": number, "place": place}
            address = reverse(pattern.name, kwargs={name: values[name] for name in names})
            if address not in addresses.setdefault(pattern.name, []):
                addresses[pattern.name].append(address)
    return addresses


def test_every_page_of_participants_says_which_links_open_it():
    assert list_addresses("/p/token/").keys() == RIGHTS.keys()


def list_secrets(world: World) -> list[str]:
    return [SCORE, ENTERED, CODE, f'value="{AGE_GIVEN}"', world.me.receipt]


@pytest.mark.one_case
@pytest.mark.parametrize("kind", KINDS)
def test_pages_show_what_was_saved_to_links_of_the_first_visit_only(world, kind):
    home, is_first = link_of(world, kind), kind in ("first", "same visit")

    pages = {
        name: [Client().get(address) for address in addresses]
        for name, addresses in list_addresses(home).items()
    }

    telling = {
        name
        for name, answers in pages.items()
        if any(secret in page.text for page in answers for secret in list_secrets(world))
    }
    refused = {
        name for name, answers in pages.items() if {one.status_code for one in answers} == {403}
    }
    assert telling == (SECRET if is_first else set())
    first_only = {name for name, right in RIGHTS.items() if right == FIRST_ONLY}
    assert refused == (set() if is_first else first_only)


def tell_state(me: Participant) -> dict[str, Any]:
    """All that a link of a later visit must leave as it is."""
    person = Participant.objects.get(pk=me.pk)
    earlier = Annotation.objects.filter(participant=me, visit=None).order_by("pk")
    ratings = Rating.objects.filter(annotation__in=earlier).order_by("pk")
    return {
        "answers": [*earlier.values("pk", "outcome", "reason", "note", "status", "submitted_at")],
        "ratings": [*ratings.values("pk", "value", "text")],
        "questions": [*Answer.objects.filter(participant=me).order_by("pk").values()],
        "person": (person.withdrawn_at, person.may_share, person.consented_to, person.stopped_at),
        "receipt": person.receipt,
    }


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["other visit", "no visit"])
def test_nothing_that_is_posted_by_another_visit_changes_what_was_saved(world, kind):
    home = link_of(world, kind)
    before = tell_state(world.me)
    bodies = [
        {"keep": "delete"}, {"share": "no"}, {"age": "20"}, {"go": "decline"}, {"clear": "1"},
        {"reason": "unreadable", "note": "x"}, {"go": "back"}, {"text": "why", "set": "1"}, {},
    ]  # fmt: skip

    for name, addresses in list_addresses(home).items():
        for address in addresses:
            fields = read_fields(Client().get(address).text)
            for body in bodies:
                scores = {key: fields[key] or "777" for key in fields if key in BOXES}
                response = Client().post(address, fields | scores | body)
                assert response.status_code < 500, name
                if RIGHTS[name] == FIRST_ONLY:
                    assert response.status_code == 403, name

    assert tell_state(world.me) == before


# --- what a later visit may do --------------------------------------------------------------


def test_a_later_visit_goes_on_where_an_answer_is_missing_and_takes_a_further_set(world):
    home = arrive(world.recruitment, OTHER)
    tab = Tab(world.me, home)

    earlier = Client().get(f"{home}sets/2/items/1/")
    save(tab, 2, 2, "400")
    review = Client().get(f"{home}sets/2/review/")
    Client().post(f"{home}sets/2/review/")
    finished = Client().get(f"{home}finish/")
    Client().post(f"{home}start/")

    assert earlier.templates[0].name == "participation/saved_earlier.html"
    assert "mailto:jane@example.org" in earlier.text
    assert [row.is_earlier for row, *_ in review.context["rows"]] == [True, False]
    # a code of a set that somebody else has begun isn't shown
    assert world.me.item_sets.get(number=2).code not in finished.text
    assert world.me.item_sets.get(number=2).finished_at is not None
    assert world.me.item_sets.count() == 3


def test_a_later_visit_has_the_code_and_the_answers_of_a_set_that_is_all_its_own(world):
    home = arrive(world.recruitment, OTHER)
    tab = Tab(world.me, home)
    save(tab, 2, 2)
    Client().post(f"{home}sets/2/review/")
    claim_set(owner_of(home))
    for place in (1, 2):
        save(tab, 3, place, "400")
    again = Client().get(f"{arrive(world.recruitment, OTHER)}sets/3/items/1/?shown")
    Client().post(f"{home}sets/3/review/")
    code = world.me.item_sets.get(number=3).code

    def shows_code(link: str) -> bool:
        return code in Client().get(f"{link}finish/").text

    assert read_fields(again.text)[BOXES[0]] == "400"
    assert shows_code(home)
    assert shows_code(world.first)
    assert not shows_code(arrive(world.recruitment, ""))
    # and what its person changed by the first link is the first link's
    assert not shows_code(arrive(world.recruitment, "63a1b2c3d4e5f60718293a4c"))


def test_a_code_that_everybody_gets_is_shown_to_both():
    world = make_world()
    world.recruitment.codes.create(outcome="completed", code="EVERYONE")

    pages = [Client().get(f"{link_of(world, kind)}finish/").text for kind in KINDS]

    assert all("EVERYONE" in page for page in pages)


def test_an_answer_is_not_found_out_by_sending_values(world):
    tab = Tab(world.me, arrive(world.recruitment, OTHER))
    item = Item.objects.get(pk=world.me.item_sets.get(number=2).item_ids[1])
    tab.show(Client().get(tab.address_of(2, 2) + "?shown"))
    mine = Tab(world.me, world.first)
    save(mine, 2, 2, "500")

    answers = [
        tab.client.post(tab.address_of(2, 2), tab.fields | dict.fromkeys(BOXES, score))
        for score in ("500", "600")
    ]

    assert len({response.headers["Location"] for response in answers}) == 1
    assert "was=earlier" in answers[0].headers["Location"]
    values = Rating.objects.filter(annotation__item=item).values_list("value", flat=True)
    assert set(values) == {500}


def test_what_was_answered_on_a_later_visit_and_changed_by_the_first_link_is_the_first_links(world):
    later = arrive(world.recruitment, OTHER)
    save(Tab(world.me, later), 2, 2, "400")
    save(Tab(world.me, world.first), 2, 2, "500")

    page = Client().get(f"{later}sets/2/items/2/?shown")

    assert page.templates[0].name == "participation/saved_earlier.html"


def test_an_entry_that_is_not_saved_yet_is_neither_shown_nor_replaced(world):
    later = Tab(world.me, arrive(world.recruitment, OTHER))
    later.show(Client().get(later.address_of(2, 2) + "?shown"))
    later.client.post(f"{later.home}draft/", later.fields | dict.fromkeys(BOXES, "1"))

    first = Client().get(f"{world.first}sets/2/items/2/?shown")

    assert {later.fields[box] for box in BOXES} == {""}
    assert {read_fields(first.text)[box] for box in BOXES} == {ENTERED}


def test_parts_of_a_sheet_that_were_answered_earlier_are_left_out():
    study = make_sheet()
    recruitment = make_round(study, "prolific")
    first = arrive(recruitment, FIRST)
    make_ready(owner_of(first))
    Participant.objects.filter(study=study).update(practised_at=now())
    sheet = Sheet(study, owner_of(first))
    sheet.save(answer(1, 4, 4, 4))

    page = Client().get(f"{arrive(recruitment, OTHER)}sets/1/")

    assert sheet.open().done == [1]
    assert re.findall('data-part="([0-9]+)"', sheet.html) == ["1", "2", "3", "4"]
    assert re.findall('data-part="([0-9]+)"', page.text) == ["2", "3", "4"]


def test_start_pressed_twice_without_a_visit_opens_the_same_link_twice():
    study = launch(make_study(items=2, k=1, set_size=1))
    recruitment = make_round(study, "prolific")
    page = Client().get(f"/join/{study.pk}/{recruitment.number}/", {"PROLIFIC_PID": ID})

    fields = read_fields(page.text)
    links = {
        Client().post(f"/join/{study.pk}/{recruitment.number}/", fields).headers["Location"]
        for _ in range(2)
    }

    assert len(links) == 1
    assert ParticipantLink.objects.get().later_visit is None


def test_a_personal_link_opens_everything():
    study = launch(make_study(items=2, k=1, set_size=2))
    [expert] = invite(study, "Ana Costa")
    link = expert.link
    use_personal_link(link)

    withdraw = Client().get(f"/p/{link.token}/withdraw/")

    assert withdraw.status_code == 200
    assert ParticipantLink.objects.get().later_visit is None


def test_whoever_agreed_before_is_never_made_to_decline_by_another_visit(world):
    home = arrive(world.recruitment, OTHER)
    Participant.objects.filter(pk=world.me.pk).update(consented_to="0" * 64)
    asked = Client().get(f"{home}consent/")

    declined = Client().post(f"{home}consent/", read_fields(asked.text) | {"go": "decline"})

    assert (asked.status_code, declined.status_code) == (200, 403)
    assert Participant.objects.get(pk=world.me.pk).consented_to == "0" * 64
    assert re.search("first link", declined.text)
