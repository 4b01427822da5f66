"""Arrival by a platform's link: looking makes nothing, Start finds or makes the participant."""

import re
from functools import partial

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.fieldwork.launch import close_study
from evalsite.lib.clock import now
from evalsite.participation.consent import withdraw
from evalsite.people.models import (
    Participant,
    ParticipantIdentity,
    Visit,
)
from evalsite.people.random_codes import hash_token
from evalsite.people.services import instructions_hash, record_consent
from evalsite.studies.models import Study
from tests.support.annotators import read_fields
from tests.support.arriving import (
    NOTHING,
    STUDY_ID,
    P,
    Q,
    V,
    W,
    address_of,
    count_made,
    join,
    make_rounds,
    open_link,
    press_start,
    prolific,
    send_form,
)
from tests.support.factories import make_user
from tests.support.races import at_once
from tests.support.tabs import Tab, make_live

pytestmark = pytest.mark.django_db

CONNECT, ASSIGNMENT = "A1b2C3d4E5f6A7b8", "F00dF00dF00dF00d"
WORKER, MTURK_ASSIGNMENT = "A2SUAM1J3GNN3B", "3TR2532VI040LV46NXNX77Y3USZJ6N"


def make_open() -> Study:
    return make_rounds(make_live())


def find_owner(home: str) -> Participant:
    return Participant.objects.get(links__token_hash=hash_token(home.split("/")[2]))


def make_ready(me: Participant) -> Tab:
    """This participant agreed, read and practised: next comes work."""
    Participant.objects.filter(pk=me.pk).update(
        is_eligible=True, practised_at=now(), instructions_read=instructions_hash(me.study)
    )
    me.refresh_from_db()
    record_consent(participant=me, is_given=True)
    return Tab(me).start()


def finish_set(me: Participant) -> None:
    make_ready(me).finish()


# --- looking ------------------------------------------------------------------------------


def test_opening_the_link_makes_nothing_and_start_makes_one_participant():
    study = make_open()

    page = open_link(study, prolific())

    assert page.status_code == 200
    assert count_made() == NOTHING
    assert not page.cookies
    home = send_form(study, page).headers["Location"]
    identity = ParticipantIdentity.objects.get()
    assert (identity.platform, identity.outside_id) == ("prolific", P)
    assert identity.participant == find_owner(home)
    visit = Visit.objects.get()
    assert (visit.person_id, visit.visit_id, visit.platform_study_id) == (P, V, STUDY_ID)
    assert visit.flags == []


@pytest.mark.one_case
@pytest.mark.parametrize("agent", ["Slackbot-LinkExpanding 1.0", "Googlebot/2.1"])
def test_bad_60_head_requests_bots_and_forty_looks_make_nothing(agent):
    study = make_open()
    client = Client(headers={"user-agent": agent})
    link = address_of(study, prolific())

    answers = [client.get(link) for _ in range(40)]
    answers += [client.head(link), client.head(address_of(study))]

    assert {answer.status_code for answer in answers} == {200}
    assert client.options(link).status_code == 405
    assert client.put(link).status_code == 405
    assert count_made() == NOTHING


def test_the_ids_are_signed_for_this_study_alone():
    study, other = make_open(), make_open()
    page = open_link(study, prolific())

    answers = [
        Client().post(address_of(other), read_fields(page.text)),
        Client().post(address_of(study), {"arrival": "eyJ9:1:2"}),
        Client().post(address_of(study), {"arrival": ""}),
        Client().post(address_of(study), {"arrival": "\x00é:"}),
    ]

    assert [answer.status_code for answer in answers] == [400] * 4
    assert count_made() == NOTHING


def test_pages_of_arrival_tell_no_other_site_and_are_kept_by_nobody():
    study = make_open()
    pages = [
        open_link(study, prolific()),
        open_link(study, prolific(person="me@example.org")),
        press_start(study, prolific()),
    ]

    for page in pages:
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert "no-store" in page.headers["Cache-Control"]
        assert not page.cookies


def test_the_form_is_sent_to_an_address_without_ids():
    study = make_open()

    html = open_link(study, prolific()).text

    number = study.recruitments.get(platform="prolific").number
    assert f'<form method="post" action="/join/{study.pk}/{number}/">' in html
    assert "data-study" not in html  # another person's link on this device is not offered


# --- the same person ----------------------------------------------------------------------


@pytest.mark.both_databases
def test_start_pressed_twice_is_one_person_and_one_visit_with_two_links():
    study = make_open()

    homes = [join(study, prolific()) for _ in range(2)]

    assert len(set(homes)) == 2
    assert find_owner(homes[0]) == find_owner(homes[1])
    assert count_made() == NOTHING | {
        "Participant": 1, "ParticipantIdentity": 1, "ParticipantLink": 2, "Visit": 1,
    }  # fmt: skip


def test_bad_64_a_new_visit_of_the_same_person_resumes_in_the_same_place():
    study = make_open()
    first = join(study, prolific())
    tab = make_ready(find_owner(first))
    tab.save()

    second = join(study, prolific(visit=W))

    assert find_owner(second) == find_owner(first)
    assert [*Visit.objects.values_list("visit_id", flat=True)] == [V, W]
    pages = [Client().get(home, follow=True).redirect_chain[-1][0] for home in (first, second)]
    assert [page.partition("/sets/")[2] for page in pages] == ["1/items/2/"] * 2


def test_bad_64_whoever_has_finished_gets_the_same_code_again_also_in_a_closed_study():
    study = make_open()
    me = find_owner(join(study, prolific()))
    finish_set(me)
    code = me.item_sets.get().code

    again = Client().get(join(study, prolific()), follow=True)
    close_study(study=study, by=make_user())
    afterwards = Client().get(join(study, prolific()), follow=True)
    elsewhere = Client().get(join(study, prolific(visit=W)), follow=True)

    assert code in again.text
    assert code in afterwards.text
    # an id is no password
    assert code not in elsewhere.text
    assert Participant.objects.count() == 1
    # whoever didn't take part gets no page of their own
    assert press_start(study, prolific(person=Q)).status_code == 200
    assert Participant.objects.count() == 1


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_the_link_to_a_study_that_is_not_open_does_not_tell_whether_an_id_took_part(state):
    study = make_open()
    join(study, prolific())
    Study.objects.update(state=state)

    with CaptureQueriesContext(connection) as queries:
        pages = [open_link(study, prolific(person=person)) for person in (P, Q)]

    assert [page.templates[0].name for page in pages] == ["people/closed.html"] * 2
    known, unknown = (re.sub('value="[^"]+"', "", page.text) for page in pages)
    assert known == unknown
    assert not [one for one in queries if "participantidentity" in one["sql"]]
    # the way back is one press
    assert send_form(study, pages[0]).status_code == 302
    assert send_form(study, pages[1]).status_code == 200
    assert Participant.objects.count() == 1


def test_whoever_has_withdrawn_gets_the_page_that_says_so():
    study = make_open()
    me = find_owner(join(study, prolific()))
    withdraw(participant=me, is_kept=False)

    page = Client().get(join(study, prolific(visit=W)), follow=True)

    assert page.redirect_chain[-1][0].endswith("/withdrawn/")
    # pay is decided by the id, so that it outlives the answers
    assert ParticipantIdentity.objects.get().participant == me


def test_the_same_person_in_another_study_is_another_participant():
    one, other = make_open(), make_open()

    owners = [find_owner(join(study, prolific())) for study in (one, other)]

    assert owners[0].pseudonym != owners[1].pseudonym


def test_two_people_with_one_visit_id_are_two_people():
    study = make_open()

    owners = {find_owner(join(study, prolific(person=person))) for person in (P, Q)}

    assert len(owners) == Visit.objects.filter(visit_id=V).count() == 2


@pytest.mark.parametrize("spelling", [P.upper(), f"  {P} ", f"\u00a0{P}\u200b"])
def test_case_and_spaces_around_an_id_make_no_other_person(spelling):
    study = make_open()

    owners = {find_owner(join(study, prolific(person=one))) for one in (P, spelling)}

    assert len(owners) == 1
    assert {*Visit.objects.values_list("person_id", flat=True)} == {P}


@pytest.mark.parametrize("name", ["prolific_pid", "Prolific_Pid", "PROLIFIC_PID"])
def test_a_parameters_name_may_have_any_case(name):
    study = make_open()

    join(study, {name: P})

    assert ParticipantIdentity.objects.get().outside_id == P
    assert Visit.objects.get().visit_id == ""


def test_unknown_parameters_are_ignored():
    study = make_open()

    join(study, "fbclid=1")
    join(study, "brid=1&utm_source=x")
    join(study, prolific(brid="1", next="//evil.example"))

    assert Participant.objects.count() == 3
    assert ParticipantIdentity.objects.count() == 1


def test_without_ids_each_start_is_a_new_person():
    study = make_open()

    owners = {find_owner(join(study)) for _ in range(3)}

    assert len(owners) == 3
    assert not ParticipantIdentity.objects.exists()
    visits = Visit.objects.values_list("platform", "person_id", "visit_id")
    assert [*visits] == [("", "", "")] * 3


def test_a_start_without_the_hidden_field_keeps_the_ids_of_its_address():
    study = make_open()

    Client().post(address_of(study, prolific()))

    assert ParticipantIdentity.objects.get().outside_id == P


# --- ids that say nothing -----------------------------------------------------------------


def refuse(study, query) -> str:
    """The page for a link that nobody can arrive by, after which nothing is stored."""
    answers = [open_link(study, query), Client().post(address_of(study, query))]
    for answer in answers:
        assert answer.status_code == 400
        assert "<button" not in answer.text
        assert count_made() == NOTHING
    assert answers[0].content == answers[1].content
    return str(answers[0].context["problem"])


@pytest.mark.one_case
@pytest.mark.parametrize(
    "query",
    ["PROLIFIC_PID=", "PROLIFIC_PID=%20", f"SESSION_ID={V}", f"STUDY_ID={STUDY_ID}", "sona_id="],
)
def test_bad_63_a_missing_id_is_said_to_be_missing(query):
    assert refuse(make_open(), query) == "missing"


@pytest.mark.one_case
@pytest.mark.parametrize(
    "query",
    [
        "PROLIFIC_PID={{%PROLIFIC_PID%}}",
        "PROLIFIC_PID=%7B%7B%25PROLIFIC_PID%25%7D%7D",
        "PROLIFIC_PID=%25PROLIFIC_PID%25%7D",
        "PROLIFIC_PID=[[pid]]",
        "PROLIFIC_PID=${pid}",
        "participantId=[ID]",
        "sona_id=%SURVEY_CODE%",
        "sona_id=%25SURVEY_CODE%25",
    ],
)
def test_bad_63_84_an_id_that_was_not_filled_in_is_said_to_be_so(query):
    assert refuse(make_open(), query) == "not filled in"


@pytest.mark.one_case
@pytest.mark.parametrize(
    "person",
    [
        P[:-1], P + "0", "z" * 24, "me@example.org", "0" * 5000, f"{P}\x00", f"\x00{P}",
        f"{P[:12]} {P[12:]}", f"{P[:12]}\n{P[12:]}", b"\xff\xfe\x00",
        "<script>", "' OR 1=1 --", f"{P},{P}", "５" * 24,
    ],
)  # fmt: skip
def test_bad_63_84_an_id_of_another_form_is_malformed(person):
    assert refuse(make_open(), {"PROLIFIC_PID": person, "SESSION_ID": V}) == "malformed"


def test_bad_63_84_an_id_sent_twice_is_one_if_it_is_the_same():
    study = make_open()

    assert refuse(study, f"PROLIFIC_PID={P}&PROLIFIC_PID={Q}") == "malformed"
    assert refuse(study, f"PROLIFIC_PID={P}&prolific_pid=") == "malformed"
    join(study, f"PROLIFIC_PID={P}&prolific_pid={P.upper()}&SESSION_ID={V}&SESSION_ID={V}")

    assert Participant.objects.count() == Visit.objects.filter(visit_id=V).count() == 1


def test_a_malformed_link_to_a_closed_study_says_that_it_is_closed():
    study = make_open()
    close_study(study=study, by=make_user())

    page = open_link(study, "PROLIFIC_PID=x")

    assert page.status_code == 200
    assert page.templates[0].name == "people/closed.html"


@pytest.mark.parametrize(
    ("more", "flags"),
    [
        ({"SESSION_ID": "035orbpf1pk3"}, ["possible preview"]),
        ({"SESSION_ID": "{{%SESSION_ID%}}"}, ["possible preview"]),
        ({"SESSION_ID": ""}, []),
        ({"STUDY_ID": "x" * 5000}, ["bad study id"]),
    ],
)
def test_an_odd_visit_or_study_id_keeps_nobody_out(more, flags):
    study = make_open()

    join(study, prolific() | more)

    visit = Visit.objects.get()
    assert visit.person_id == P
    assert visit.flags == flags
    assert {visit.visit_id, visit.platform_study_id} <= {"", V, STUDY_ID}


# --- other platforms ----------------------------------------------------------------------


def test_connect_names_a_person_in_any_case_with_or_without_a_visit():
    study = make_open()

    join(study, {"participantId": CONNECT})
    join(study, {"participantid": CONNECT.lower(), "assignmentId": ASSIGNMENT, "projectId": "x"})

    assert ParticipantIdentity.objects.get().platform == "connect"
    visits = Visit.objects.values_list("person_id", "visit_id", "flags")
    assert [*visits] == [(CONNECT, "", []), (CONNECT.lower(), ASSIGNMENT, ["bad study id"])]


def test_sona_names_a_person_by_a_number_without_a_leading_zero():
    study = make_open()

    assert refuse(study, "sona_id=01234") == "malformed"
    assert refuse(study, "sona_id=12345678") == "malformed"
    join(study, "sona_id=1234")

    assert ParticipantIdentity.objects.get().outside_id == "1234"


def test_bad_66_a_worker_of_mturk_is_one_person_in_many_hits():
    study = make_open()
    hits = [f"{MTURK_ASSIGNMENT[:-1]}{number}" for number in range(3)]

    for hit in hits:
        query = {"workerId": WORKER, "assignmentId": hit, "hitId": hit, "turkSubmitTo": "//evil"}
        join(study, query)

    assert Participant.objects.count() == 1
    assert [*Visit.objects.values_list("visit_id", flat=True)] == hits


@pytest.mark.parametrize("worker", [{}, {"workerId": WORKER}])
def test_bad_65_a_preview_on_mturk_shows_the_first_page_and_starts_nothing(worker):
    study = make_open()
    query = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": MTURK_ASSIGNMENT, **worker}

    page = open_link(study, query)
    sent = Client().post(address_of(study, query))

    assert page.status_code == sent.status_code == 200
    assert "<form" not in page.text
    assert 'type="button" disabled' in page.text
    assert count_made() == NOTHING


# --- what an id does not open -------------------------------------------------------------


@pytest.mark.parametrize(("query", "is_shown"), [("", True), (prolific(), False)])
def test_whoever_arrived_by_an_id_is_shown_no_receipt_number(query, is_shown):
    study = make_open()
    me = find_owner(join(study, query))
    finish_set(me)
    home = Tab(me).home

    finish = Client().get(f"{home}finish/")
    withdraw(participant=me, is_kept=True)
    withdrawn = Client().get(f"{home}withdrawn/")

    assert finish.status_code == withdrawn.status_code == 200
    assert [me.receipt in page.text for page in (finish, withdrawn)] == [is_shown] * 2


# --- at once ------------------------------------------------------------------------------


@pytest.mark.torture
@pytest.mark.both_databases
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_fifty_starts_of_one_person_at_once_are_one_participant():
    study = make_open()
    page = open_link(study, prolific())

    answers = at_once([partial(send_form, study, page) for _ in range(50)])

    assert {answer.status_code for answer in answers} == {302}
    assert count_made() == NOTHING | {
        "Participant": 1, "ParticipantIdentity": 1, "ParticipantLink": 1, "Visit": 1,
    }  # fmt: skip
    assert len({find_owner(answer.headers["Location"]) for answer in answers}) == 1
