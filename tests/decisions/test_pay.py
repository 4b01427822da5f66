"""Pay: due for whatever was done, decided once, rejected only for reasons a platform accepts."""

import re
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.urls import reverse

from evalsite.decisions.models import Approval
from evalsite.decisions.pay import (
    PaySet,
    add_bonus,
    answer_review,
    approve_sets,
    ask_for_review,
    count_states,
    describe_sets,
    find_rate,
    list_payable,
    mark_paid,
    reject_sets,
)
from evalsite.decisions.pay_files import PayFile, write_block_list, write_files
from evalsite.fieldwork.launch import close_study
from evalsite.lib.clock import now
from evalsite.participation.consent import withdraw
from evalsite.people.models import ItemSet, Recruitment, Visit
from evalsite.people.platforms import installed_platforms
from evalsite.studies.models import Study
from tests.support.checks import add_checks
from tests.support.factories import launch, make_study, make_user
from tests.support.races import at_once
from tests.support.rounds import Person, make_round
from tests.support.tabs import after_the_lease, make_live

pytestmark = pytest.mark.django_db

LONG = "Both items that tell you which score to enter have a different score. " * 2
# attention items ask for equal scores
GOOD, BAD = "90 90 90", "70 80 95"


def begin(
    key: str = "prolific",
    *,
    checks: int = 4,
    items: int = 8,
    set_size: int = 4,
    asks: bool = False,
    **fields: Any,
) -> Recruitment:
    """A round that pays £2.10 for a set of 4 items, some with attention items among them.

    A set has room for one check for every 4 items.
    """
    study = make_study(
        items=items, k=2, set_size=set_size, checks_per_person=2 if checks else 0,
        minutes_per_set=12, pay_per_set=Decimal("2.10"), is_practice_on=False, is_check_on=asks,
    )  # fmt: skip
    if checks:
        add_checks(study, checks, kind="attention")
        study.items.filter(kind="attention").update(gold={"informativeness": "1=2"})
    return make_round(launch(study), key, **fields)


def work(recruitment: Recruitment, number: int = 0, scores: str = GOOD) -> Person:
    return Person(recruitment, number, number).enter().finish(scores=scores)


def sets_of(study: Study) -> list[PaySet]:
    return describe_sets(study, list_payable(study).order_by("created_at"))


def ids(study: Study) -> list[Any]:
    return [one.item_set.pk for one in sets_of(study)]


def files_of(recruitment: Recruitment) -> dict[str, PayFile]:
    return {one.key: one for one in write_files(recruitment)}


# --- what is due ---------------------------------------------------------------------------------


def test_finished_work_is_due_in_full_also_when_late():
    recruitment = begin()
    person = Person(recruitment).enter()
    with after_the_lease(recruitment.study):
        person.client.post(f"{person.home}instructions/")
        person.client.post(f"{person.home}start/")
        person.finish()

        [one] = sets_of(recruitment.study)

    assert (one.state, one.amount) == ("waiting", Decimal("2.10"))


@pytest.mark.one_case
@pytest.mark.parametrize(("is_kept", "key"), [(True, "prolific"), (False, "open_link")])
def test_people_who_withdraw_are_paid_by_the_item(is_kept, key):
    recruitment = begin(key, checks=0)
    person = Person(recruitment).enter().rate(most=3)
    assert not sets_of(recruitment.study)

    withdraw(participant=person.me, is_kept=is_kept)

    [one] = sets_of(recruitment.study)
    assert one.amount == Decimal("1.58")  # 1.575, rounded up
    assert one.is_bonus == (key == "prolific")
    page = person.client.get(f"{person.home}work/").text
    assert "£1.58" in page
    assert "£1.58" not in person.open().text


def test_a_person_at_work_is_due_nothing_yet_and_by_the_item_once_the_study_has_ended():
    recruitment = begin("open_link", checks=0)
    Person(recruitment).enter().rate(most=1)
    close_study(study=recruitment.study, by=make_user())
    recruitment.study.refresh_from_db()
    assert not sets_of(recruitment.study)

    with after_the_lease(recruitment.study):
        [one] = sets_of(recruitment.study)

    assert one.amount == Decimal("0.53")


@pytest.mark.both_databases
def test_the_median_is_compared_with_what_was_promised():
    recruitment = begin()
    person = Person(recruitment).enter()
    assert find_rate(recruitment.study) is None
    with after_the_lease(recruitment.study):
        person.client.post(f"{person.home}instructions/")
        person.client.post(f"{person.home}start/")
        person.finish()

        rate = find_rate(recruitment.study)

    assert rate is not None
    assert rate.promised == Decimal("10.50")
    assert rate.is_low
    assert round(rate.minutes) == 61


def test_pilots_and_studies_without_pay_have_none(staff_client):
    study = make_live()

    assert list_payable(study).count() == 0
    page = staff_client.get(reverse("admin:study-overview", args=[study.pk]))
    assert reverse("admin:study-pay", args=[study.pk]) not in page.text
    person = Person(make_round(study, "open_link")).enter().finish()
    # hidden fields hold random letters, which may spell the word
    assert "pay" not in re.sub('type="hidden"[^>]*', "", person.open().text).lower()
    page = person.client.get(f"{person.home}work/")
    assert page.status_code == 200
    body = page.text.partition("</head>")[2]
    assert "pay" not in re.sub('type="hidden"[^>]*', "", body).lower()


# --- deciding ------------------------------------------------------------------------------------


def test_approved_sets_are_offered_until_they_are_marked_as_paid():
    recruitment = begin()
    people = [work(recruitment, number) for number in (0, 1)]
    study = recruitment.study
    first, second = ids(study)

    assert approve_sets(study=study, set_ids=[first], by=make_user()) == 1
    assert approve_sets(study=study, set_ids=[first], by=make_user()) == 0

    assert files_of(recruitment)["approve"].text == people[0].visit.visit_id
    assert "Approved" in people[0].client.get(f"{people[0].home}work/").text
    assert mark_paid(study=study, set_ids=[first, second], by=make_user()) == 1
    assert mark_paid(study=study, set_ids=[first, second], by=make_user()) == 0
    assert files_of(recruitment) == {}
    assert count_states(study) | {"paid": 1, "waiting": 1} == count_states(study)
    assert "Marked as paid" in people[0].client.get(f"{people[0].home}work/").text


def test_failed_attention_checks_are_a_reason_and_the_person_reads_which():
    recruitment = begin(set_size=8, items=16)
    person = work(recruitment, scores=BAD)
    study = recruitment.study
    [one] = sets_of(study)
    assert (one.attention.failed, one.attention.asked) == (2, 2)

    reject_sets(study=study, set_ids=ids(study), reason="checks", message=LONG, by=make_user())

    approval = Approval.objects.get()
    assert approval.amount == 0
    assert len(approval.checks["said"]) == 2
    page = person.client.get(f"{person.home}work/").text
    assert LONG.strip() in page
    assert "Missed 2 of 2 attention checks." in page
    line = f"{person.visit.visit_id},FAILED_CHECK,{LONG.strip()}\n"
    assert files_of(recruitment)["reject"].text == line


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("key", "scores", "reason", "message", "code"),
    [
        ("prolific", GOOD, "checks", LONG, "unfair"),
        ("prolific", BAD, "checks", "Too short.", "message"),
        ("prolific", BAD, "disagrees", LONG, "reason"),
        ("prolific", BAD, "same answer", LONG, "reason"),
        ("prolific", BAD, "gold", LONG, "reason"),
        ("sona", BAD, "checks", LONG, "reason"),
        ("connect", GOOD, "checks", "x", "unfair"),
    ],
)
def test_what_a_platform_does_not_accept_is_not_rejected(key, scores, reason, message, code):
    recruitment = begin(key)
    work(recruitment, scores=scores)
    study = recruitment.study

    with pytest.raises(ValidationError) as refused:
        reject_sets(study=study, set_ids=ids(study), reason=reason, message=message, by=make_user())

    assert refused.value.code == code
    assert not Approval.objects.exists()


def test_one_failed_check_is_enough_on_prolific_only_under_five_minutes():
    prolific = installed_platforms()["prolific"]
    reason = prolific.reasons[0]

    said = [
        bool(prolific.check_rejection(reason, failed=failed, minutes=minutes))
        for failed, minutes in [(0, 4), (1, 4), (1, 5), (2, 5)]
    ]

    assert said == [True, False, True, False]


def test_gold_items_are_no_reason():
    recruitment = begin(checks=0)
    study = recruitment.study
    study.items.main().update(kind="main")
    work(recruitment, scores=BAD)

    with pytest.raises(ValidationError) as refused:
        reject_sets(study=study, set_ids=ids(study), reason="checks", message=LONG, by=make_user())

    assert refused.value.code == "unfair"


def test_a_bonus_is_one_line_and_not_changed_once_it_is_marked():
    recruitment = begin()
    person = work(recruitment)
    study, jane = recruitment.study, make_user()
    give = partial(add_bonus, study=study, set_ids=ids(study), by=jane)

    assert [give(amount=Decimal("1.00")) for _ in range(2)] == [1, 0]
    assert files_of(recruitment)["bonus"].text == f"{person.visit.visit_id},1.00\n"
    mark_paid(study=study, bonus_ids=ids(study), by=jane)

    assert give(amount=Decimal("2.00")) == 0
    assert "bonus" not in files_of(recruitment)
    assert "a bonus of £1.00" in person.client.get(f"{person.home}work/").text
    with pytest.raises(ValidationError):
        give(amount=Decimal(0))


def test_returned_work_is_paid_by_a_bonus_line_that_adds_up():
    recruitment = begin()
    person = work(recruitment)
    study = recruitment.study
    Visit.objects.update(reported="returned", bonus=Decimal("0.35"), bonus_minutes=2)
    approve_sets(study=study, set_ids=ids(study), by=make_user())
    add_bonus(study=study, set_ids=ids(study), amount=Decimal("1.00"), by=make_user())

    files = files_of(recruitment)

    assert [*files] == ["bonus"]
    assert files["bonus"].text == f"{person.visit.visit_id},3.45\n"
    assert files["bonus"].total == Decimal("3.45")
    bonus = files["bonus"]
    marked = mark_paid(
        study=study,
        set_ids=bonus.set_ids,
        bonus_ids=bonus.bonus_ids,
        visit_ids=bonus.visit_ids,
        by=make_user(),
    )
    assert marked == 3
    assert files_of(recruitment) == {}


def test_long_texts_come_in_parts_that_can_be_marked():
    recruitment = begin()
    person = work(recruitment)
    study = recruitment.study
    sets = ItemSet.objects.bulk_create(
        ItemSet(study=study, participant=person.me, number=number, finished_at=now(), code="x")
        for number in range(2, 610)
    )
    Visit.objects.bulk_create(
        Visit(
            study=study, participant=person.me, recruitment=recruitment, item_set=item_set,
            outcome="completed", ended_at=now(), person_id=person.visit.person_id,
            visit_id=f"{item_set.number:024x}", arrived_at=now() - timedelta(days=1),
            bonus=Decimal("0.10"),
        )
        for item_set in sets
    )  # fmt: skip
    Approval.objects.bulk_create(
        Approval(study=study, item_set=item_set, state="approved", amount=2) for item_set in sets
    )

    files = files_of(recruitment)

    assert (files["approve"].lines, files["approve"].more) == (500, 108)
    assert (files["bonus"].lines, files["bonus"].more) == (200, 408)
    assert len(files["bonus"].visit_ids) == 200
    mark_paid(study=study, set_ids=files["approve"].set_ids, by=make_user())
    assert files_of(recruitment)["approve"].lines == 108


def test_further_sets_of_a_visit_are_bonus_lines():
    recruitment = begin(has_further_sets=True, checks=0)
    person = work(recruitment)
    person.client.post(f"{person.home}start/")
    person.finish(2)
    study = recruitment.study

    approve_sets(study=study, set_ids=ids(study), by=make_user())

    files = files_of(recruitment)
    assert files["approve"].text == person.visit.visit_id
    assert files["bonus"].text == f"{person.visit.visit_id},2.10\n"


def test_the_block_list_has_everyone_who_came_once():
    recruitment = begin(sets_per_person=2)
    for number in (0, 1):
        work(recruitment, number)
    Person(recruitment, 0, 2).start()

    listed = write_block_list(recruitment)

    assert listed.lines == 2
    assert len({*listed.text.split()}) == 2


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_deciding_at_once_decides_once():
    recruitment = begin(set_size=8, items=16)
    work(recruitment, scores=BAD)
    study, jane = recruitment.study, make_user()
    pks = ids(study)
    reject = partial(reject_sets, study=study, set_ids=pks, reason="checks", message=LONG, by=jane)
    approve = partial(approve_sets, study=study, set_ids=pks, by=jane)

    at_once([reject, reject, reject, reject])
    assert Approval.objects.count() == 1
    at_once([approve, approve, partial(mark_paid, study=study, set_ids=pks, by=jane)])

    assert Approval.objects.get().state in ("approved", "paid")


@pytest.mark.one_case
@pytest.mark.both_databases
@pytest.mark.parametrize(
    "fields",
    [{"state": "rejected"}, {"state": "paid"}, {"state": "review", "reason": "x", "message": "y"}],
)
def test_the_database_refuses_decisions_that_cannot_be(fields):
    recruitment = begin()
    item_set = work(recruitment).me.item_sets.get()

    with pytest.raises(IntegrityError), transaction.atomic():
        Approval.objects.create(study=recruitment.study, item_set=item_set, **fields)


# --- reviews -------------------------------------------------------------------------------------


def reject_one(recruitment: Recruitment) -> Person:
    person = work(recruitment, scores=BAD)
    study = recruitment.study
    reject_sets(study=study, set_ids=ids(study), reason="checks", message=LONG, by=make_user())
    return person


@pytest.mark.one_case
@pytest.mark.parametrize(("is_approved", "state"), [(True, "approved"), (False, "rejected")])
def test_a_review_pauses_the_rejection_until_it_is_answered(is_approved, state):
    recruitment = begin(set_size=8, items=16)
    person = reject_one(recruitment)
    study = recruitment.study
    assert "reject" in files_of(recruitment)

    for _ in range(2):
        person.client.post(f"{person.home}work/", {"set": "1", "text": "My phone <b>froze."})

    approval = Approval.objects.get()
    assert (approval.state, approval.review_text) == ("review", "My phone <b>froze.")
    assert (approval.review_due_at - now()).days in (4, 5)
    assert files_of(recruitment) == {}
    assert approve_sets(study=study, set_ids=ids(study), by=make_user()) == 0
    answer = partial(
        answer_review, study=study, set_id=ids(study)[0], is_approved=is_approved,
        answer="We looked again.", by=make_user(),
    )  # fmt: skip
    assert [answer(), answer()] == [True, False]
    approval.refresh_from_db()
    assert approval.state == state
    assert approval.amount == (Decimal("2.10") if is_approved else 0)
    page = person.client.get(f"{person.home}work/").text
    assert "We looked again." in page
    # a rejection is looked at again once
    assert not ask_for_review(participant=person.me, number=1, text="Again")


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"set": "1", "text": ""}, 422),
        ({"set": "1", "text": " \0"}, 422),
        ({"set": "1", "text": "x" * 2001}, 422),
        ({"set": "2", "text": "x"}, 302),
        ({"set": "٣", "text": "x"}, 302),
        ({}, 422),
    ],
)
def test_a_review_takes_a_text_and_a_rejected_set(sent, status):
    person = reject_one(begin(set_size=8, items=16))

    response = person.client.post(f"{person.home}work/", sent)

    assert response.status_code == status or (
        sent.get("set") == "٣" and response.status_code == 200
    )
    assert Approval.objects.get().state == "rejected"
