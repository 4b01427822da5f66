"""Rounds: their places, what researchers set, and what became of the links of before."""

from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from evalsite.handout.models import Slot
from evalsite.handout.rounds import list_taken
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, Participant, Recruitment, Visit
from evalsite.people.platforms import installed_platforms
from evalsite.people.recruiting import create_recruitment, turn_on
from evalsite.studies.models import Study
from tests.support.arriving import P, join, open_link, prolific
from tests.support.factories import make_study, make_user
from tests.support.invariants import check_invariants
from tests.support.races import at_once
from tests.support.rounds import Person, codes_of, make_round, panel_of, remove_code
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


def url(name: str, study: Study, *more: object) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *more])


def enter_values(client: Client, address: str, **changes: str):
    """Send the form of a round's page with these values changed."""
    form = client.get(address).context["form"]
    values = {name: form[name].value() for name in form.fields}
    sent = {name: value for name, value in values.items() if value not in (None, False)}
    return client.post(address, sent | changes)


# --- places -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("count", [12, pytest.param(50, marks=pytest.mark.torture)])
def test_many_people_at_once_for_the_last_three_places_are_three_with_one(count):
    study = make_live(items=60, set_size=1, is_practice_on=False)
    recruitment = make_round(study, "open_link", places=3)
    people = [Person(recruitment).start().choose("agree") for _ in range(count)]

    at_once([person.answer for person in people])

    holders = [person for person in people if person.me.slots.exists()]
    assert len(holders) == list_taken(recruitment, study).count() == 3
    assert Visit.objects.filter(item_set__isnull=False).count() == 3
    assert ">Start<" not in Person(recruitment).look().text
    check_invariants(study)


def test_a_place_that_lapsed_unused_is_free_for_the_next_person():
    study = make_live(items=3, set_size=1)
    recruitment = make_round(study, "prolific", places=1)
    first = Person(recruitment).enter()
    Slot.objects.leased().update(lease_until=now() - timedelta(minutes=1))
    ItemSet.objects.update(reserved_until=now() - timedelta(hours=1))

    second = Person(recruitment, 1).enter()

    assert second.me.slots.exists()
    first.client.post(f"{first.home}start/")
    assert (first.where(), first.visit.outcome) == ("end/", "no_place")


def test_a_finished_set_keeps_its_place_for_good():
    study = make_live(items=3, set_size=1, is_practice_on=False)
    recruitment = make_round(study, "prolific", places=1)
    Person(recruitment).enter().finish()

    assert ">Start<" not in Person(recruitment, 1).look().text


def test_places_of_one_round_leave_those_of_another_alone():
    study = make_live(items=3, set_size=1)
    full = make_round(study, "prolific", places=1)
    other = make_round(study, "connect")
    Person(full).enter()

    assert ">Start<" not in Person(full, 1).look().text
    assert Person(other, 1).enter().me.slots.exists()


@pytest.mark.both_databases
def test_the_database_refuses_impossible_rounds_and_visits():
    study = make_live()
    recruitment = make_round(study, "prolific")
    person = Person(recruitment).start()
    impossible = [
        partial(Recruitment.objects.create, study=study, number=1, platform="x"),
        partial(Recruitment.objects.create, study=study, number=9, platform="x", places=0),
        partial(recruitment.codes.create, outcome="completed", code="A"),
        partial(recruitment.codes.create, outcome="paid"),
        partial(Visit.objects.filter(pk=person.visit.pk).update, outcome="completed"),
        partial(Visit.objects.filter(pk=person.visit.pk).update, ended_at=now()),
    ]

    for attempt in impossible:
        with pytest.raises(IntegrityError), transaction.atomic():
            attempt()


# --- the study's own link -----------------------------------------------------------------


def test_an_id_on_the_studys_own_link_leads_to_the_only_round_of_its_platform():
    study = make_live()
    missing = open_link(study, prolific())
    recruitment = make_round(study, "prolific")

    home = join(study, prolific())
    make_round(study, "prolific")
    ambiguous = open_link(study, prolific())

    assert (missing.status_code, missing.context["problem"]) == (400, "missing")
    assert Visit.objects.get().recruitment == recruitment
    assert home.startswith("/p/")
    assert (ambiguous.status_code, ambiguous.context["problem"]) == (400, "missing")


def test_a_second_study_on_the_platform_is_noted():
    recruitment = make_round(make_live(), "prolific")
    Person(recruitment).start()
    other = Person(recruitment, 1)
    other.query["STUDY_ID"] = P

    other.start()

    first = Person(recruitment, 2)
    first.query["STUDY_ID"] = P[::-1]
    first.start()
    assert [*Visit.objects.order_by("pk").values_list("flags", flat=True)] == [
        [], [], ["other study id"],
    ]  # fmt: skip


def test_unknown_rounds_and_platforms_that_are_gone_open_nothing():
    study = make_live()
    recruitment = make_round(study, "prolific")
    Recruitment.objects.filter(pk=recruitment.pk).update(platform="gone")

    addresses = [f"/join/{study.pk}/{number}/" for number in (recruitment.number, 7)]

    assert [Client().get(one).status_code for one in addresses] == [404, 404]


# --- the researcher's pages ---------------------------------------------------------------


def test_a_panel_is_set_up_once_however_often_the_button_is_pressed(staff_client):
    study = make_live()
    first = url("study-panel", study, "prolific")

    early = staff_client.get(first)
    answers = [staff_client.post(first, {"do": "begin"}) for _ in range(2)]

    assert early.context["recruitment"] is None
    assert {answer.headers["Location"] for answer in answers} == {first}
    recruitment = study.recruitments.exclude(number=0).get()
    assert not recruitment.is_on
    assert {*codes_of(recruitment)} == {"completed", "screened_out"}
    again = url("study-panel-again", study, "prolific", 2)
    for _ in range(2):
        staff_client.post(again, {"do": "begin"})
    assert study.recruitments.exclude(number=0).count() == 2
    assert staff_client.get(again).context["name"] == "Prolific, second time"
    skipped = [("prolific", 4), ("connect", 2), ("personal", 1), ("open_link", 1), ("gone", 1)]
    for key, time in skipped:
        address = url("study-panel-again", study, key, time)
        assert staff_client.get(address).status_code == 404


def test_the_link_to_copy_has_the_placeholders_as_the_platform_looks_for_them(staff_client):
    study = make_live()
    recruitment = make_round(study, "prolific")

    page = staff_client.get(panel_of(recruitment))

    assert page.context["link"].endswith(
        f"/join/{study.pk}/1/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}"
        "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )


def test_settings_of_a_round_are_saved_and_bad_ones_refused_beside_their_field(staff_client):
    study = make_live()
    address = panel_of(make_round(study, "connect", is_on=False))

    good = enter_values(staff_client, address, places="30", sets_per_person="2")
    bad = [
        enter_values(staff_client, address, places="0"),
        enter_values(staff_client, address, link_completed="javascript:alert(1)"),
        enter_values(staff_client, address, link_completed="http://example.org/"),
        enter_values(staff_client, address, sets_per_person="-1"),
    ]

    assert good.status_code == 302
    recruitment = study.recruitments.exclude(number=0).get()
    assert (recruitment.places, recruitment.sets_per_person) == (30, 2)
    assert [page.status_code for page in bad] == [422] * 4
    faulty = [[*page.context["form"].errors] for page in bad]
    assert faulty == [["places"], ["link_completed"], ["link_completed"], ["sets_per_person"]]


def test_sonas_link_must_have_room_for_the_survey_code(staff_client):
    study = make_live()
    address = panel_of(make_round(study, "sona", is_on=False))

    page = enter_values(staff_client, address, link_completed="https://school.example/credit")

    assert [*page.context["form"].errors] == ["link_completed"]


def test_another_panel_can_have_a_code_for_completed_work(staff_client):
    recruitment = make_round(make_live(), "panel", is_on=False)
    address = panel_of(recruitment)

    enter_values(staff_client, address, code_completed="code")

    page = staff_client.get(address).text
    assert f'value="{codes_of(recruitment)["completed"]}"' in page
    assert "On Best Panel" in page


@pytest.mark.parametrize(
    ("key", "fields", "code"),
    [
        ("prolific", {"pay_per_set": Decimal("0.50"), "minutes_per_set": 10}, "low_pay"),
        ("prolific", {}, "no_reward"),
        ("connect", {}, "no_reward"),
        ("connect", {}, "no_way_back"),
        ("panel", {"settings": {}}, "settings"),
    ],
)
def test_a_round_that_is_not_ready_is_not_turned_on(key, fields, code):
    settings = {name: fields[name] for name in fields if name == "settings"}
    study = make_live(**{name: fields[name] for name in fields if name != "settings"})
    platform = installed_platforms()[key]
    recruitment = create_recruitment(study=study, platform=platform, by=make_user())
    Recruitment.objects.filter(pk=recruitment.pk).update(**settings)
    recruitment.refresh_from_db()

    with pytest.raises(ValidationError) as refused:
        turn_on(recruitment=recruitment, by=make_user())

    assert code in {error.code for error in refused.value.error_list}
    recruitment.refresh_from_db()
    assert not recruitment.is_on


def test_screening_without_a_code_for_it_keeps_a_round_off_where_the_platform_wants_one():
    study = make_live()
    recruitment = make_round(study, "prolific", is_on=False)
    remove_code(recruitment, "screened_out")

    with pytest.raises(ValidationError) as refused:
        turn_on(recruitment=recruitment, by=make_user())

    assert [error.code for error in refused.value.error_list] == ["no_screen_out_code"]
    Study.objects.update(is_eligibility_on=False)
    recruitment.study.refresh_from_db()
    turn_on(recruitment=recruitment, by=make_user())


def test_counts_by_outcome_and_arrivals_are_on_the_rounds_page(staff_client):
    study = make_live(items=3, set_size=1, is_practice_on=False)
    recruitment = make_round(study, "prolific", places=9)
    Person(recruitment).enter().finish()
    Person(recruitment, 1).start().choose("decline")
    Person(recruitment, 2).start()

    page = staff_client.get(panel_of(recruitment))

    counts = {"Finished": 1, "No consent": 1, "No outcome so far": 1}
    assert dict(page.context["counts"]) == counts
    assert (page.context["arrived"], page.context["taken"]) == (3, 1)
    assert P not in page.text  # ids are for those who may see identities


def test_minutes_and_pay_are_those_of_the_study():
    study = make_live(pay_per_set=Decimal(2), minutes_per_set=12)
    recruitment = make_round(study, "prolific")

    page = Person(recruitment).look().text

    assert "£2.00" in page
    assert "£10.00 an hour" in page
    assert "about 12 minutes" in page
    assert Participant.objects.count() == 0


def test_outcomes_that_the_study_cant_come_to_have_no_row_and_no_field(staff_client):
    study = make_live(is_eligibility_on=False, is_check_on=False, pay_per_set=Decimal(9))
    recruitment = make_round(study, "prolific", is_on=False)

    page = staff_client.get(panel_of(recruitment))

    assert [row["outcome"] for row in page.context["codes"]] == ["completed"]
    fields = {name for name in page.context["form"].fields if name.startswith("code_")}
    assert fields == {"code_no_consent", "code_no_place"}
    made = enter_values(staff_client, panel_of(recruitment), code_no_place="code")
    assert made.status_code == 302
    assert {"completed", "no_place"} <= {*codes_of(recruitment)}
    enter_values(staff_client, panel_of(recruitment), code_no_place="")
    assert "no_place" not in codes_of(recruitment)


def test_turning_a_panel_on_saves_the_page_and_keeps_it_off_where_something_is_missing(
    staff_client,
):
    study = make_study(items=4, k=3, set_size=2, has_notice=True)
    address = url("study-panel", study, "prolific")
    staff_client.post(address, {"do": "begin"})

    refused = enter_values(staff_client, address, do="on", places="7")
    assert refused.status_code == 422
    assert study.recruitments.exclude(number=0).get().places is None
    Study.objects.filter(pk=study.pk).update(pay_per_set=Decimal(9), minutes_per_set=10)
    # 4 items x 3 answers in sets of 2
    assert staff_client.get(address).context["form"]["places"].value() == 6
    assert enter_values(staff_client, address, do="on").status_code == 302

    recruitment = study.recruitments.exclude(number=0).get()
    assert (recruitment.is_on, recruitment.places) == (True, 6)
    study.refresh_from_db()
    assert not study.has_notice
    enter_values(staff_client, address, do="off")
    recruitment.refresh_from_db()
    assert not recruitment.is_on


def test_list_of_rounds_takes_as_many_queries_for_few_people_as_for_many(
    staff_client, django_assert_max_num_queries
):
    study = make_live()
    recruitment = make_round(study, "prolific")
    for number in range(30):
        person = Participant.objects.create(study=study)
        Visit.objects.create(
            study=study, participant=person, recruitment=recruitment, visit_id=str(number)
        )

    with django_assert_max_num_queries(14):
        staff_client.get(url("study-invite", study))
    with django_assert_max_num_queries(14):
        staff_client.get(panel_of(recruitment))
