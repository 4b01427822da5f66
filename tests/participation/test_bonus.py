"""The cap of sets and the bonus for all of them: told before, never too early, and counted."""

import csv
import io
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.data.files.services import Choice, stream_file
from evalsite.fieldwork.checklist import check_launch
from evalsite.fieldwork.launch import close_study
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.participation.bonus import find_earners
from evalsite.participation.consent import withdraw
from evalsite.people.models import ItemSet
from evalsite.studies.models import Study
from evalsite.studies.setup_forms import WorkForm
from evalsite.studies.versions import shown_content
from tests.support.factories import (
    answer_item,
    launch,
    make_annotator,
    make_participant,
    make_study,
    make_user,
    mint_link,
)

pytestmark = pytest.mark.django_db

TOLD = "You can complete at most 2 sets. Completing all 2 earns a bonus of £2.00."
YOURS = "bonus of £2.00 is yours."


def make_live(*, items: int = 6, **fields) -> Study:
    given = {"k": 1, "set_size": 2, "max_sets": 2, "bonus": "2.00", **fields}
    study = launch(make_study(items=items, **given))
    study.refresh_from_db()
    return study


def take_set(me, *, is_finished: bool = True) -> ItemSet:
    """A set of this person's, answered and finished."""
    item_set = claim_set(me)
    assert item_set is not None
    if is_finished:
        for item_id in item_set.item_ids:
            answer_item(me, me.study.items.get(pk=item_id), item_set=item_set)
        finish(item_set)
    return item_set


def finish(item_set: ItemSet) -> None:
    item_set.finished_at, item_set.code = now(), "AAAA-BBBB"
    item_set.save()


def is_due(me) -> bool:
    """Whether the bonus is due, by the person's own pages and by the researcher's lists alike."""
    found = me.pk in find_earners(me.study)
    assert found == (me.pk in find_earners(me.study, me.item_sets.all()))
    page = Client().get(f"{mint_link(me)}finish/", follow=True).content.decode()
    assert found == ("is yours." in page)
    return found


def read_people(study: Study, **options) -> list[dict[str, str]]:
    sent = b"".join(stream_file(study, Choice(file="participants", **options), by=None))
    return list(csv.DictReader(io.StringIO(sent.decode(), newline="")))


# --- told before --------------------------------------------------------------------------


def test_cap_and_bonus_are_told_before_the_work_and_beside_it():
    study = make_live()
    invited, at_work = mint_link(make_participant(study)), mint_link(make_annotator(study))
    client = Client()

    landing = client.get(reverse("study-join", args=[study.pk])).content.decode()
    consent = client.get(invited, follow=True).content.decode()
    item = client.post(f"{at_work}start/", follow=True).content.decode()

    assert TOLD in landing
    assert TOLD in consent
    assert "Set 1 of at most 2. Completing all 2 earns a bonus of £2.00." in item


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"max_sets": 1}, "at most 1 set. Completing it earns a bonus of £2.00."),
        ({"bonus": None}, "You can complete at most 2 sets.</b>"),
        ({"bonus": "5.50", "currency": "CHF"}, "earns a bonus of 5.50 CHF."),
    ],
)
def test_what_is_told_fits_the_design(fields, told):
    study = make_live(**fields)

    page = Client().get(reverse("study-join", args=[study.pk])).content.decode()

    assert told in page


def test_without_a_cap_nothing_is_told_of_sets():
    study = make_live(max_sets=None, bonus=None)

    page = Client().get(reverse("study-join", args=[study.pk])).content.decode()

    assert "at most" not in page
    assert "bonus" not in page


# --- when it is due -----------------------------------------------------------------------


def test_bonus_is_due_after_all_sets_and_not_before(promises):
    study = make_live()
    me = make_annotator(study)

    take_set(me)
    after_one = Client().get(f"{mint_link(me)}finish/").content.decode()
    assert not is_due(me)
    take_set(me)

    assert (
        "You’ve finished 1 set and can do up to 2. Completing all 2 earns a bonus of £2.00."
        in after_one
    )
    assert is_due(me)
    after_all = Client().get(f"{mint_link(me)}finish/").content.decode()
    assert f"You have completed all 2 sets. The {YOURS}" in after_all
    assert "Do another" not in after_all


def test_more_sets_that_are_open_are_counted_down():
    study = make_live(items=20, max_sets=5)
    me = make_annotator(study)
    take_set(me)

    page = Client().get(f"{mint_link(me)}finish/").content.decode()

    assert "You’ve finished 1 set and can do up to 5." in page
    assert "Completing all 5 earns a bonus of £2.00." in page


def test_short_last_set_counts_as_a_set():
    study = make_live(items=3)
    me = make_annotator(study)

    take_set(me)
    last = take_set(me)

    assert len(last.item_ids) == 1
    assert is_due(me)


def test_bonus_is_due_when_sets_run_out_for_somebody_who_did_all_there_were():
    study = make_live(items=4, max_sets=5)
    me = make_annotator(study)
    take_set(me)
    assert not is_due(me)

    take_set(me)

    assert is_due(me)
    page = Client().post(f"{mint_link(me)}start/", follow=True).content.decode()
    assert f"You have completed all the sets available to you. The {YOURS}" in page


def test_nothing_is_promised_while_a_place_of_others_may_come_free():
    study = make_live(items=4, max_sets=5)
    me, other = make_annotator(study), make_annotator(study)
    theirs = take_set(other, is_finished=False)
    take_set(me)

    assert not is_due(me)
    for item_id in theirs.item_ids:
        answer_item(other, study.items.get(pk=item_id), item_set=theirs)
    finish(theirs)

    # all had gone when I finished: nothing was left for me then
    assert is_due(me)
    # and this person went on to an end that came later
    assert is_due(other)


def test_who_left_while_work_was_open_has_no_claim_once_others_have_done_it():
    study = make_live(items=4, max_sets=5)
    me, other = make_annotator(study), make_annotator(study)
    take_set(me)

    with standing_at(now() + timedelta(minutes=5)):
        take_set(other)

    assert not is_due(me)
    assert is_due(other)


def test_open_set_that_is_not_finished_earns_nothing():
    study = make_live(items=4, max_sets=5)
    me = make_annotator(study)
    take_set(me)
    last = take_set(me, is_finished=False)
    for item_id in last.item_ids:
        answer_item(me, study.items.get(pk=item_id), item_set=last)

    assert not is_due(me)


def test_answers_that_are_taken_back_put_off_a_bonus_that_nobody_was_told_of():
    study = make_live(items=4, max_sets=5)
    me, other = make_annotator(study), make_annotator(study)
    take_set(other)
    withdraw(participant=other, is_kept=False)
    take_set(me)

    assert not is_due(me)


def test_set_finished_after_the_end_of_the_study_was_the_last_on_offer():
    study = make_live(items=6, max_sets=5)
    early, late = make_annotator(study), make_annotator(study)
    take_set(early)
    theirs = take_set(late, is_finished=False)

    close_study(study=study, by=make_user())
    study.refresh_from_db()
    for item_id in theirs.item_ids:
        answer_item(late, study.items.get(pk=item_id), item_set=theirs)
    finish(theirs)

    assert find_earners(study) == {late.pk}


def test_groups_that_are_met_once_do_not_count_as_left():
    study = make_live(items=4, max_sets=5, set_size=1, groups=Study.Groups.ONCE)
    study.items.main().update(group="one and the same")
    me = make_annotator(study)

    take_set(me)

    assert claim_set(me) is None
    assert is_due(me)


def test_practice_on_the_inputs_of_an_item_leaves_that_item_open():
    study = make_live(items=2, max_sets=5, set_size=1, groups=Study.Groups.ONCE)
    me = make_annotator(study)
    for practised, item in zip(study.items.practice(), study.items.main(), strict=False):
        study.items.filter(pk=practised.pk).update(group=item.group)
        answer_item(me, practised)

    first = take_set(me)
    is_promised_early = is_due(me)
    second = take_set(me)

    assert not is_promised_early
    assert {*first.item_ids, *second.item_ids} == {one.pk for one in study.items.main()}
    assert is_due(me)


def test_item_that_waits_for_the_researcher_puts_the_bonus_off_until_the_end():
    study = make_live(items=3, max_sets=5)
    me = make_annotator(study)
    held = study.items.main().last()
    study.items.filter(pk=held.pk).update(held_at=now())
    take_set(me)
    assert claim_set(me) is None
    assert not is_due(me)

    close_study(study=study, by=make_user())
    me.study.refresh_from_db()

    assert is_due(me)


def test_study_without_a_bonus_owes_none():
    study = make_live(bonus=None)
    me = make_annotator(study)
    take_set(me)
    take_set(me)

    assert not is_due(me)


# --- for the researcher -------------------------------------------------------------------


def test_people_and_their_file_say_to_whom_the_bonus_is_due(staff_client):
    study = make_live(items=8)
    one, two = make_annotator(study), make_annotator(study)
    take_set(one)
    take_set(one)
    take_set(two)
    make_participant(study, is_pilot=True)

    page = staff_client.get(reverse("admin:study-people", args=[study.pk]))
    rows = {row["participant"]: row for row in read_people(study)}

    due = {person.participant.pk: person.has_bonus for person in page.context["people"]}
    assert (due[one.pk], due[two.pk]) == (True, False)
    assert page.content.decode().count("<small>Bonus due</small>") == 1
    assert rows.keys() == {one.pseudonym, two.pseudonym}
    facts = [(row["sets_finished"], row["answers"], row["bonus"]) for row in rows.values()]
    assert facts == [("2", "4", "yes"), ("1", "2", "no")]
    assert len(read_people(study, with_pilot=True)) == 3


def test_last_page_of_a_set_looks_at_all_places_only_when_none_is_left():
    study = make_live(items=4, max_sets=5)
    me = make_annotator(study)
    link = f"{mint_link(me)}finish/"

    def looks_at_all() -> bool:
        with CaptureQueriesContext(connection) as queries:
            Client().get(link)
        return any("MAX(COALESCE" in query["sql"] for query in queries)

    take_set(me)
    assert not looks_at_all()
    take_set(me)
    assert looks_at_all()
    assert is_due(me)


def test_lists_of_people_take_the_same_queries_however_many_came(
    staff_client, django_assert_max_num_queries
):
    study = make_live(items=60, max_sets=5)
    for _ in range(20):
        take_set(make_annotator(study))
    assert Slot.objects.free().filter(study=study).exists()

    with django_assert_max_num_queries(5):
        find_earners(study)
    with django_assert_max_num_queries(15):
        read_people(study)


def test_bonus_without_a_number_of_sets_is_refused():
    study = make_study(items=0)

    errors = settings_errors(study, bonus="2.00", max_sets="")

    assert list(errors) == ["max_sets"]
    assert (
        "Enter how many a person may complete, or leave the bonus empty." in errors["max_sets"][0]
    )


def test_amount_below_a_penny_is_refused():
    study = make_study(items=0)

    wrong = settings_errors(study, max_sets="5", bonus="0")
    assert wrong["bonus"] == ["Enter 0.01 or more."]
    assert not settings_errors(study, max_sets="5", bonus="2.00")


def settings_errors(study: Study, **changes: str) -> dict:
    form = WorkForm(instance=study)
    data = {name: form[name].value() for name in form.fields} | changes
    return WorkForm(
        {
            name: str(value)
            for name, value in data.items()
            if value is not None and value is not False
        },
        instance=study,
    ).errors


def test_cap_and_bonus_are_fixed_since_launch_and_part_of_the_version():
    study = make_live()

    form = WorkForm(instance=study)

    assert form.fields["bonus"].disabled
    settings = study.version.content["settings"]
    assert (settings["max_sets"], settings["has_bonus"], settings["bonus"]) == (2, True, "2.00")


def checked(study: Study):
    return next(one for one in check_launch(study) if "bonus" in one.label)


def test_other_sets_than_the_documents_are_remarked_on_and_not_refused(staff_client):
    study = make_study(items=0, protocol="dialogue", bonus="2.00")
    assert (checked(study).problem, checked(study).remark) == ("", "")

    study.max_sets, study.bonus = 3, None
    study.save()
    own = checked(study).remark
    page = staff_client.get(reverse("admin:study-launch", args=[study.pk])).content.decode()

    assert checked(study).is_met
    assert own.startswith(
        "The document says at most 5 sets of 11 and a bonus for all of them; this study has at "
        "most 3 sets of 11 and no bonus. People read what this study has."
    )
    assert "this study has at most 3 sets of 11 and no bonus" in page
    study.instructions = "Do at most 3 sets."
    assert "Make sure that your own instructions say this." in checked(study).remark


def test_other_sets_are_remarked_on_and_told_to_participants():
    study = make_study(items=0, protocol="dialogue", set_size=12, max_sets=2)
    assert "this study has at most 2 sets of 12 and no bonus" in checked(study).remark

    told = shown_content(study)["texts"]["instructions"]

    assert "A set has 12 questions" in told
    assert "THERE ARE A MAXIMUM OF 2 SETS YOU CAN COMPLETE.**\n\n" in told


def test_bonus_without_a_cap_is_not_launched():
    study = make_study(items=0, bonus="2.00", max_sets=None)

    assert not checked(study).is_met


def test_new_study_takes_the_cap_of_its_protocol_and_promises_no_bonus_without_an_amount():
    study = make_study(items=0, protocol="dialogue")

    assert (study.max_sets, study.has_bonus, study.bonus) == (5, False, None)
    assert not Annotation.objects.exists()
    assert "no bonus" in checked(study).remark
