"""The contract of platforms, on every platform that settings list."""

import re
from decimal import Decimal

import pytest
from django.db import connection
from django.template.loader import get_template
from django.utils.html import escape

from evalsite.people.models import ParticipantIdentity, Recruitment, Visit
from evalsite.people.platforms import Bonus, Decision, Outcome, installed_platforms
from evalsite.people.visits import end_visit, find_way_out
from tests.support.annotators import read_fields
from tests.support.arriving import NOTHING, count_made
from tests.support.rounds import (
    BACK,
    REFUSED,
    Person,
    codes_of,
    list_ids,
    make_round,
    panel_of,
)
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db

ALL = sorted(installed_platforms())
# people come by a link that they share
KEYS = [key for key in ALL if not installed_platforms()[key].has_personal_links]
NAMED = [key for key in KEYS if installed_platforms()[key].hands_back]
# a round of these is a person's by an id in its link
IDENTIFIED = NAMED


def begin(key: str, *, items: int = 3, **fields):
    study = make_live(items=items, set_size=1, is_practice_on=False)
    return make_round(study, key, **fields)


# --- what it declares ---------------------------------------------------------------------


@pytest.mark.parametrize("key", ALL)
def test_every_outcome_has_an_exit_and_none_borrows_the_completed_one(key):
    exits = installed_platforms()[key].exits

    assert set(exits) == set(Outcome)
    assert Outcome.COMPLETED not in {one.instead for one in exits.values()}


@pytest.mark.parametrize("key", [key for key in ALL if installed_platforms()[key].hands_back])
def test_it_says_what_to_paste_where_and_what_it_demands(key):
    for name in ("steps", "rules"):
        assert get_template(f"platforms/{key}/{name}.html").render({}).strip()


@pytest.mark.one_case
@pytest.mark.parametrize("key", NAMED)
def test_its_page_has_each_field_once(staff_client, key):
    recruitment = begin(key, is_on=False, refuses_phones=True)

    page = staff_client.get(panel_of(recruitment))

    names = re.findall(r'<(?:input|select)[^>]* name="(?!csrf)([^"]+)"', page.text)
    # its buttons send `do`
    assert sorted(names) == sorted({*page.context["form"].fields} - {"do"})


@pytest.mark.one_case
@pytest.mark.parametrize("key", ALL)
def test_codes_that_a_round_begins_with_are_letters_and_differ(key):
    codes = codes_of(begin(key)).values()

    assert all(re.fullmatch("[B-DF-HJ-NP-TV-XZ]{8}", code) for code in codes)
    assert len({*codes}) == len(codes)


# --- arriving -----------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("key", KEYS)
def test_looking_makes_nothing_and_sets_no_cookie(key):
    person = Person(begin(key))
    before = count_made()

    pages = [person.look() for _ in range(3)]
    pages += [person.client.head(person.address), person.look(fbclid="1", brid="2")]

    assert count_made() == before == NOTHING
    assert ">Start<" in pages[0].text
    assert ">Start<" in pages[-1].text
    assert not any(page.cookies for page in pages)
    assert {page.headers["Referrer-Policy"] for page in pages} == {"no-referrer"}


@pytest.mark.one_case
@pytest.mark.parametrize("key", IDENTIFIED)
def test_the_same_id_is_the_same_person_on_any_device_and_one_visit(key):
    recruitment = begin(key)

    people = [Person(recruitment).start() for _ in range(2)]

    assert people[0].me == people[1].me
    assert Visit.objects.count() == ParticipantIdentity.objects.count() == 1
    assert Person(recruitment, 1).start().me != people[0].me


@pytest.mark.one_case
@pytest.mark.parametrize("key", IDENTIFIED)
def test_spaces_around_an_id_and_the_case_of_its_name_mean_nothing(key):
    recruitment = begin(key)
    person = Person(recruitment).start()
    [name, *_] = [one for one in person.query]
    spelled = Person(recruitment)
    spelled.query = {name.swapcase(): f"\u00a0 {person.query[name]}\u200b"}

    assert spelled.start().me == person.me


@pytest.mark.each_once
@pytest.mark.parametrize("key", IDENTIFIED)
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{{%PID%}}", "not filled in"),
        ("${pid}", "not filled in"),
        ("", "missing"),
        ("\x00", "malformed"),
        ("x" * 5000, "malformed"),
    ],
)
def test_an_id_that_names_nobody_makes_nothing(key, value, problem):
    recruitment = begin(key)
    person = Person(recruitment)
    before = count_made()
    name = recruitment.adapter.find_person(recruitment.platform_settings).name

    page = person.look(**{name: value})

    assert (page.status_code, page.context["problem"]) == (400, problem)
    assert person.client.post(f"{person.address}?{name}={'y' * 300}").status_code == 400
    assert count_made() == before


@pytest.mark.parametrize("key", IDENTIFIED)
def test_a_link_without_an_id_is_refused_where_people_need_one(key):
    recruitment = begin(key)
    person = Person(recruitment)
    person.query = {}

    page = person.look()

    assert (page.status_code == 400) == recruitment.adapter.needs_person


@pytest.mark.one_case
@pytest.mark.parametrize("key", IDENTIFIED)
def test_two_different_ids_in_one_link_are_refused(key):
    recruitment = begin(key)
    person = Person(recruitment)
    name = recruitment.adapter.find_person(recruitment.platform_settings).name
    one, two = list_ids(recruitment.adapter, recruitment)[:2]

    answers = [
        person.client.get(f"{person.address}?{name}={one}&{name}={other}") for other in (one, two)
    ]

    assert [answer.status_code for answer in answers] == [200, 400]


@pytest.mark.one_case
@pytest.mark.parametrize("key", IDENTIFIED)
def test_another_round_knows_the_person_unless_ids_mean_nothing_there(key):
    one = begin(key)
    other = make_round(one.study, key)
    elsewhere = begin(key)

    people = [Person(recruitment).start().me for recruitment in (one, other, elsewhere)]

    assert (people[0] == people[1]) == (not one.adapter.has_ids_of_round)
    assert people[2] not in people[:2]
    assert people[2].pseudonym != people[0].pseudonym


# --- outcomes -----------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("key", KEYS)
def test_nothing_is_given_away_before_the_set_is_finished(key):
    recruitment = begin(key)
    person = Person(recruitment).enter()
    person.client.post(f"{person.home}instructions/")

    pages = [person.open(path) for path in ("", "finish/", "end/", "stop/", "no-work/", "closed/")]

    given = [*codes_of(recruitment).values(), "panel.example", "complete?cc="]
    assert not [text for text in given for page in pages if text in page.text]
    assert person.visit.outcome == ""


_ON_FINISH = "CREATE TRIGGER disk_full BEFORE UPDATE OF finished_at ON participants_itemset"
_DISK_FULL = {
    "sqlite": f"{_ON_FINISH} BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    "postgresql": f"""CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'disk full'; END $$; {_ON_FINISH} EXECUTE FUNCTION refuse()""",
}
_SPACE_AGAIN = {"sqlite": "", "postgresql": "ON participants_itemset"}


@pytest.mark.one_case
@pytest.mark.parametrize("key", NAMED)
def test_while_the_last_save_fails_there_is_neither_code_nor_link(key):
    person = Person(begin(key)).enter().rate()
    person.client.raise_request_exception = False
    with connection.cursor() as cursor:
        cursor.execute(_DISK_FULL[connection.vendor])

        failed = person.client.post(f"{person.home}sets/1/review/", follow=True)
        cursor.execute(f"DROP TRIGGER disk_full {_SPACE_AGAIN[connection.vendor]}")
    shown = person.open()

    assert failed.status_code == 500
    assert person.visit.outcome == ""
    for page in (failed, shown):
        assert not any(code in page.text for code in codes_of(person.recruitment).values())
        assert BACK.partition("?")[0] not in page.text
    assert person.finish().visit.outcome == "completed"


@pytest.mark.one_case
@pytest.mark.parametrize("key", KEYS)
def test_a_finished_set_is_completed_and_says_the_same_on_every_return(key):
    recruitment = begin(key)
    person = Person(recruitment).enter().finish()

    pages = [person.open(), person.open("finish/")]

    visit = person.visit
    assert (visit.outcome, visit.item_set) == ("completed", person.me.item_sets.get())
    assert visit.ended_at is not None
    way_out = pages[0].context["way_out"]
    assert way_out.code or way_out.link
    for page in pages:
        assert way_out.code in page.text
        assert way_out.link.replace("&", "&amp;") in page.text
    assert pages[0].context["way_out"] == pages[1].context["way_out"]


@pytest.mark.one_case
@pytest.mark.each_once
@pytest.mark.parametrize("key", NAMED)
@pytest.mark.parametrize("outcome", REFUSED)
def test_an_outcome_without_a_code_never_shows_that_of_completed_work(key, outcome):
    recruitment = begin(key)
    completed = recruitment.codes.filter(outcome="completed").first()
    recruitment.codes.exclude(outcome="completed").delete()
    person = Person(recruitment).start()
    end_visit(person.me, outcome)

    page = person.open()

    assert page.redirect_chain[-1][0] == f"{person.home}end/"
    for secret in (completed.code, completed.link) if completed else ():
        assert not secret or secret.replace("&", "&amp;") not in page.text
    assert outcome not in page.text
    assert outcome not in page.redirect_chain[-1][0]
    assert page.context["way_out"].code == page.context["way_out"].link == ""


@pytest.mark.one_case
@pytest.mark.each_once
@pytest.mark.parametrize("key", NAMED)
@pytest.mark.parametrize("outcome", REFUSED)
def test_an_outcome_with_a_code_shows_its_own(key, outcome):
    recruitment = begin(key)
    person = Person(recruitment).start()
    end_visit(person.me, outcome)
    own = recruitment.codes.filter(outcome=outcome).first()

    way_out = person.open().context["way_out"]

    assert way_out.code == (own.code if own else "")
    completed = codes_of(recruitment).get("completed")
    assert completed is None or completed not in way_out.link


@pytest.mark.one_case
@pytest.mark.parametrize("key", NAMED)
def test_declining_ends_the_visit_for_good(key):
    person = Person(begin(key)).start().choose("decline")

    assert person.where() == "end/"
    person.choose("agree")
    assert person.where() == "end/"
    assert person.visit.outcome == "no_consent"
    assert not person.me.item_sets.exists()


@pytest.mark.one_case
@pytest.mark.parametrize("key", NAMED)
def test_whoever_may_not_take_part_may_not_on_the_next_visit_either(key):
    recruitment = begin(key)
    person = Person(recruitment).start().choose("agree").answer(first_language="German")

    assert (person.where(), person.visit.outcome) == ("end/", "screened_out")
    if key in IDENTIFIED and recruitment.adapter.visit:
        again = Person(recruitment, visit=1).start()
        assert again.me == person.me
        assert (again.where(), again.visit.outcome) == ("end/", "screened_out")
        assert Visit.objects.count() == 2
    person.answer()
    assert person.where() == "end/"


@pytest.mark.one_case
@pytest.mark.parametrize("key", NAMED)
def test_without_a_place_people_are_asked_to_go_back_and_not_to_wait(key):
    recruitment = begin(key, items=3, places=1)
    late = Person(recruitment, 1).start().choose("agree")
    Person(recruitment).enter()

    late.answer()

    assert (late.where(), late.visit.outcome) == ("end/", "no_place")
    assert "Leave this page open" not in late.open().text
    newcomer = Person(recruitment, 2) if key in IDENTIFIED else Person(recruitment)
    page = newcomer.look()
    assert ">Start<" not in page.text
    assert "Leave this page open" not in page.text


@pytest.mark.one_case
@pytest.mark.parametrize("key", NAMED)
def test_a_round_that_is_off_lets_nobody_new_in_and_people_at_work_finish(key):
    recruitment = begin(key)
    person = Person(recruitment).enter()
    type(recruitment).objects.update(is_on=False)

    other = Person(recruitment, 1)

    assert ">Start<" not in other.look().text
    assert person.finish().visit.outcome == "completed"


@pytest.mark.one_case
@pytest.mark.parametrize("key", IDENTIFIED)
def test_ids_in_links_are_encoded(key):
    recruitment = begin(key)
    recruitment.codes.update_or_create(
        outcome="completed", defaults={"code": "", "link": "https://x.example/?c={code}&i={id}"}
    )
    person = Person(recruitment).start()
    Visit.objects.update(person_id="a b+c/é")

    link = find_way_out(person.me, Outcome.COMPLETED, set_code="a&b=c").link

    # an id is echoed where the link has room for it; SONA's link has room for its code alone
    assert ("a%20b%2Bc%2F%C3%A9" in link) == (key != "sona"), link
    assert "a&b=c" not in link
    assert " " not in link


# --- further visits -----------------------------------------------------------------------

WITH_VISITS = [key for key in IDENTIFIED if installed_platforms()[key].visit is not None]


@pytest.mark.one_case
@pytest.mark.parametrize("key", WITH_VISITS)
def test_a_new_visit_of_somebody_at_work_goes_on_in_the_same_set(key):
    recruitment = begin(key, places=1)
    person = Person(recruitment).enter()

    again = Person(recruitment, visit=1).start()

    assert again.me == person.me
    assert again.where() == person.where()
    again.finish()
    assert list(again.me.visits.values_list("outcome", flat=True)) == ["", "completed"]


@pytest.mark.one_case
@pytest.mark.parametrize("key", WITH_VISITS)
def test_bad_66_a_new_visit_after_finishing_is_new_work_up_to_the_cap_then_the_old_code(key):
    recruitment = begin(key, sets_per_person=2)
    first = Person(recruitment).enter().finish()
    code = first.open().context["way_out"]

    second = Person(recruitment, visit=1).start()

    assert second.where() == "start/"
    second.client.post(f"{second.home}start/")
    second.finish(2)
    third = Person(recruitment, visit=2).start()
    assert third.where() == "finish/"
    one, two = (item_set.item_ids for item_set in third.me.item_sets.all())
    assert not set(one) & set(two)
    assert third.visit.outcome == "completed"
    assert code.code == third.open().context["way_out"].code or not codes_of(recruitment)


@pytest.mark.one_case
@pytest.mark.parametrize("key", NAMED)
def test_one_visit_is_one_set_unless_further_sets_are_a_bonus(key):
    one = Person(begin(key)).enter().finish()
    other = Person(begin(key, has_further_sets=True)).enter().finish()

    for person in (one, other):
        person.client.post(f"{person.home}start/")

    assert [person.me.item_sets.count() for person in (one, other)] == [1, 2]
    assert "another set" not in one.open("finish/").text


@pytest.mark.one_case
@pytest.mark.parametrize("key", KEYS)
def test_whoever_has_only_a_phone_is_told_and_keeps_a_place_they_have(key):
    recruitment = begin(key, refuses_phones=True)
    worker = Person(recruitment).enter()
    page = Person(recruitment, 1).look()
    form = {**read_fields(page.text), "do": "phone"}

    home = worker.client.post(worker.address, form).headers["Location"]
    if recruitment.adapter.person:
        worker.client.post(worker.address, {**read_fields(worker.look().text), "do": "phone"})

    assert "work on phones" in page.text
    outcome = Visit.objects.latest("pk").outcome
    assert outcome == ("wrong_device" if recruitment.adapter.hands_back else "")
    assert worker.visit.outcome == ""
    if outcome:
        assert worker.client.get(home, follow=True).redirect_chain[-1][0] == f"{home}end/"
    Recruitment.objects.update(refuses_phones=False)
    assert "work on phones" not in Person(recruitment, 1).look().text


# --- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ALL)
def test_texts_to_paste_name_every_row_once_and_begin_with_no_mark(key):
    platform = installed_platforms()[key]
    decisions = [
        Decision(person_id=f"p{n}", visit_id=f"v{n}", category="X", message='Too fast, "é"')
        for n in range(3)
    ]
    bonuses = [Bonus(person_id=f"p{n}", visit_id=f"v{n}", amount=Decimal("0.70")) for n in range(3)]

    texts = [
        platform.write_approvals(decisions),
        platform.write_rejections(decisions),
        platform.write_bonuses(bonuses),
    ]

    for text in texts:
        assert [text.count(f"v{n}") for n in range(3)] == [1, 1, 1]
        assert not text.startswith("\ufeff")
    assert texts[2].count("0.70") == 3
    assert platform.write_block_list(["p1", "p2"]).split() == ["p1", "p2"]


@pytest.mark.parametrize("key", ALL)
def test_no_platform_takes_disagreement_or_gold_as_a_reason(key):
    reasons = installed_platforms()[key].reasons

    assert not {one.key for one in reasons} & {"gold", "disagreement", "agreement", "same"}
    assert all(one.failed_checks for one in reasons if "check" in one.label.lower())


# --- ways off the site -----------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("key", NAMED)
def test_bad_67_only_the_rounds_own_https_links_lead_away(key):
    person = Person(begin(key))
    evil = "https://evil.example/submit"
    person.query |= {"turkSubmitTo": evil, "next": "//evil.example", "link": "javascript:alert(1)"}

    finished = person.enter().finish().open()

    away = set(re.findall(r'href="((?:https?:|javascript:|//)[^"]*)"', finished.text))
    link = finished.context["way_out"].link
    assert all(address.startswith("/p/") for address, _ in finished.redirect_chain)
    assert away == ({escape(link)} if link else set())
    assert all(one.startswith("https://") for one in away)
    assert "evil" not in finished.text
