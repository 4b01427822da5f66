"""Leaving people and answers out of analysis: once, with a reason, and reversibly."""

import re

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.exclusions import (
    excludable_answers,
    exclude,
    foresee_exclusion,
    take_back,
)
from evalsite.decisions.models import Exclusion
from evalsite.decisions.top_up import Shortage, excluded_answers
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.people.models import Participant
from evalsite.results.report.computation import take_fingerprint
from evalsite.studies.models import Study
from tests.handout.test_changing_k import answer_all
from tests.support.factories import answer_item, make_annotator, make_participant
from tests.support.tabs import make_live

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


@pytest.fixture
def study(researcher) -> Study:
    """Two items with two answers each, all that were asked for."""
    study = make_live(items=2, k=2, set_size=2)
    answer_all(study, people=2)
    return study


def first_person(study: Study) -> Participant:
    return study.participants.earliest("pk")


def leave_out(study: Study, *people: Participant, by=None, **said) -> list[Exclusion]:
    return exclude(study=study, participants=people, by=by, **{"reason": "Too fast", **said})


def test_exclusion_deletes_nothing_and_frees_no_place(researcher, study):
    before = [model.objects.count() for model in (Annotation, Rating, Slot)]

    leave_out(study, first_person(study), by=researcher)

    assert [model.objects.count() for model in (Annotation, Rating, Slot)] == before
    assert not Slot.objects.free().exists()
    assert claim_set(make_annotator(study)) is None
    assert excluded_answers(study).count() == 2


@pytest.mark.both_databases
def test_exclusion_sent_twice_stands_once_with_its_first_reason(researcher, study):
    me = first_person(study)

    made = [leave_out(study, me, by=researcher, reason=reason) for reason in ("First", "Second")]

    assert [len(one) for one in made] == [1, 0]
    assert Exclusion.objects.get().reason == "First"
    assert AuditEntry.objects.filter(action="excluded from results").count() == 1


def test_person_and_one_answer_of_another_are_excluded_together(researcher, study):
    me, other = study.participants.order_by("pk")[:2]
    answer = other.annotations.earliest("pk")

    exclude(study=study, participants=[me], annotations=[answer], reason="Asked us to", by=None)

    assert Exclusion.objects.active().count() == 2
    assert excluded_answers(study).count() == 3


@pytest.mark.parametrize("reason", ["", "  ", "x" * 201])
def test_exclusion_without_a_reason_or_with_a_long_one_is_refused(researcher, study, reason):
    with pytest.raises(ValidationError):
        leave_out(study, first_person(study), by=researcher, reason=reason)

    assert not Exclusion.objects.exists()


def test_exclusion_that_is_taken_back_is_kept_with_who_and_when(researcher, study):
    [exclusion] = leave_out(study, first_person(study), by=researcher)

    done = [take_back(study=study, ids=[exclusion.pk], by=researcher) for _ in range(2)]

    exclusion.refresh_from_db()
    assert done == [1, 0]
    assert exclusion.revoked_at is not None
    assert excluded_answers(study).count() == 0
    assert exclusion.revoked_by == researcher


def test_log_is_not_needed_to_know_who_took_an_exclusion_back(researcher, staff_client, study):
    [exclusion] = leave_out(study, first_person(study))
    take_back(study=study, ids=[exclusion.pk], by=researcher)
    AuditEntry.objects.all().delete()

    page = staff_client.get(reverse("admin:study-exclusions", args=[study.pk])).text

    assert re.search(r"Reinstated by jane on [^<]*</small>", page)


@pytest.mark.both_databases
def test_standing_exclusion_names_nobody_who_revoked_it(researcher, study):
    [exclusion] = leave_out(study, first_person(study), by=researcher)

    with pytest.raises(IntegrityError), transaction.atomic():
        Exclusion.objects.filter(pk=exclusion.pk).update(revoked_by=researcher)


def test_somebody_can_be_excluded_again_after_it_was_taken_back(researcher, study):
    me = first_person(study)
    [first] = leave_out(study, me, by=researcher)
    take_back(study=study, ids=[first.pk], by=researcher)

    leave_out(study, me, by=researcher, reason="Second thoughts")

    assert [one.reason for one in Exclusion.objects.active()] == ["Second thoughts"]
    assert Exclusion.objects.count() == 2


def test_log_says_who_was_excluded_why_and_by_what_rule(researcher, study):
    me = first_person(study)

    leave_out(study, me, by=researcher, rule="gold")

    entry = AuditEntry.objects.get(action="excluded from results")
    assert (entry.actor, entry.study_id) == (researcher, study.pk)
    assert entry.detail["participants"] == [me.pseudonym]
    assert entry.detail["rule"] == "gold"
    assert "Too fast" not in str(entry.detail)


def test_what_an_exclusion_would_do_is_what_it_does(researcher, study):
    me, other = study.participants.order_by("pk")[:2]
    leave_out(study, me, by=researcher)
    answer = other.annotations.earliest("pk")

    foreseen = foresee_exclusion(study, participants=[me], annotations=[answer])
    before = excluded_answers(study).count()
    exclude(study=study, annotations=[answer], reason="Slipped", by=researcher)

    assert foreseen.answers == excluded_answers(study).count() - before == 1
    assert foreseen.shortage == Shortage(items=2, places=3)


def test_answers_of_practice_and_pilots_are_never_in_results_to_leave_out(researcher, study):
    me, pilot = make_annotator(study), make_annotator(study, is_pilot=True)
    answer_item(me, study.items.practice().first())
    answer_item(pilot, study.items.main().first())

    assert set(excludable_answers(study)) == set(Annotation.objects.counted())


def test_reports_are_out_of_date_after_each_decision(researcher, study):
    me, other = study.participants.order_by("pk")[:2]
    seen = [take_fingerprint(study)]
    [first] = leave_out(study, me, by=researcher)
    seen.append(take_fingerprint(study))
    take_back(study=study, ids=[first.pk], by=researcher)
    seen.append(take_fingerprint(study))
    leave_out(study, other, by=researcher)
    seen.append(take_fingerprint(study))

    assert len(set(seen)) == 4


def test_exclusion_of_another_study_leaves_this_one_alone(researcher, study):
    elsewhere = make_participant(make_live(items=2, title="Another"))

    leave_out(elsewhere.study, elsewhere, by=researcher)

    assert excluded_answers(study).count() == 0
