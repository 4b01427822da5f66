"""A plan that is frozen at launch: its versions, its rules, and what departs from it."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client

from evalsite.decisions.exclusion_rules import describe_rule
from evalsite.decisions.frozen_plans import is_hidden, list_deviations, reveal_results
from evalsite.decisions.models import (
    AnalysisPlanVersion,
    Exclusion,
    ExclusionRule,
    PlanEvent,
)
from evalsite.decisions.person_measures import rank_correlation
from evalsite.fieldwork.launch import launch_study
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.results.analysis_plan.stored import describe_plan
from evalsite.results.analysis_plan.wording import plan_in_words
from evalsite.studies.models import Study
from tests.results.test_analysis_plan import save
from tests.site.test_staff_pages import member, url
from tests.support.factories import make_annotator, make_study, make_user
from tests.support.planned import AT_LEAST_TWO, ONE_POINT, add_person, make_planned_study

pytestmark = pytest.mark.django_db


def post(client: Client, name: str, study: Study, **said: str):
    return client.post(url(name, study), said, follow=True)


def read_mark(client: Client, study: Study, name: str = "study-rules") -> str:
    html = client.get(url(name, study)).text
    return html.split('name="seen" value="')[1].split('"')[0]


def free_places(study: Study) -> None:
    Slot.objects.leased().filter(study=study).update(
        state=Slot.State.FREE, participant=None, lease_until=None
    )


# --- versions ---------------------------------------------------------------------------------


def test_launch_freezes_the_plan_as_version_1_and_a_study_without_one_as_none():
    planned = make_planned_study(rules=[AT_LEAST_TWO])
    plain = make_study(title="Plain")

    launch_study(study=plain, by=make_user())

    first, second = (AnalysisPlanVersion.objects.get(study=one) for one in (planned, plain))
    assert (first.number, first.has_plan, len(first.sha256)) == (1, True, 64)
    assert first.content["rules"] == [AT_LEAST_TWO]
    assert first.content["planned"] == {"items": 3, "answers": 15, "stopping": "answers"}
    assert (second.number, second.has_plan, second.content) == (1, False, {})
    assert is_hidden(planned)
    assert not is_hidden(plain)


def test_a_later_change_needs_a_reason_and_is_listed_as_a_deviation(staff_client):
    study = make_planned_study()

    refused = save(staff_client, study, primary="informativeness", exclusion_rule="Nobody.")
    saved = save(
        staff_client, study, primary="informativeness", exclusion_rule="Nobody.",
        reason="A referee asked",
    )  # fmt: skip

    assert refused.status_code == 422
    assert "Enter why the plan is changed." in refused.text
    assert saved.status_code == 302
    newest = AnalysisPlanVersion.objects.get(study=study, number=2)
    assert (newest.content["exclusion_rule"], newest.reason) == ("Nobody.", "A referee asked")
    words = dict(plan_in_words(describe_plan(study), criteria=1))["Deviations"]
    assert "(version 2), with 0 answers in: A referee asked" in words


# --- rules on the page of the plan --------------------------------------------------------------


def test_rules_are_entered_row_by_row_and_nothing_is_saved_before_save(staff_client):
    study = make_study()
    rows = {
        "measure-1-1": "top_share", "comparison-1-1": "over", "threshold-1-1": "80",
        "measure-1-2": "answers", "comparison-1-2": "at_least", "threshold-1-2": "20",
    }  # fmt: skip

    added = save(staff_client, study, **rows, do="add-rule")
    before = study.exclusion_rules.count()
    saved = save(staff_client, study, **rows)

    assert 'name="condition-2-measure"' in added.text
    assert "One point in over 80% of at least 20 answers" in added.text
    assert before == 0
    assert saved.status_code == 302
    assert [describe_rule(one.conditions) for one in study.exclusion_rules.all()] == [
        "One point in over 80% of at least 20 answers"
    ]


@pytest.mark.one_case
@pytest.mark.parametrize("threshold", ["", "1_0", "+2", "２", "2.5", "-1", "nan", "1e9"])
def test_a_threshold_that_cannot_be_is_refused(staff_client, threshold):
    study = make_study()
    rule = {"measure-1-1": "failed_checks", "comparison-1-1": "at_least"}

    page = save(staff_client, study, **rule, **{"threshold-1-1": threshold})

    assert page.status_code == 422
    assert ">Rule 1: Enter a whole number from 0 to 1,000.<" in page.text
    assert not study.exclusion_rules.exists()


def test_a_dry_run_shows_counts_and_coverage_and_no_system_with_its_scores(staff_client):
    earlier = make_planned_study(title="Earlier")
    add_person(earlier)
    add_person(earlier, score=70)
    study = make_study()
    rule = {
        "measure-1-1": "top_share", "comparison-1-1": "over", "threshold-1-1": "80",
        "measure-2-1": "failed_checks", "comparison-2-1": "at_least", "threshold-2-1": "2",
    }  # fmt: skip

    page = save(staff_client, study, **rule, do="run", on=str(earlier.pk)).text

    assert "Tried on Earlier: 2 people, 6 answers and 3 items." in page
    assert '<td class="n" data-th="People">1</td>' in page
    assert '<td class="n" data-th="Items that fall short">3</td>' in page
    assert "can’t be tested: no checks" in page
    assert "7919" not in page


def test_of_a_study_of_somebody_else_nothing_is_run(staff_client):
    earlier = make_planned_study(title="Earlier", by=make_user("other"))
    study = make_study()
    rule = {"measure-1-1": "answers", "comparison-1-1": "over", "threshold-1-1": "1"}

    page = save(staff_client, study, **rule, do="run", on=str(earlier.pk)).text

    assert "Earlier" not in page
    assert "Tried on" not in page


@pytest.mark.parametrize(
    ("first", "second", "rho"),
    # R 4.2.2: cor(x, y, method = "spearman")
    [
        ((1, 2, 3, 4, 5), (5, 6, 7, 8, 7), 0.8207826816681233),
        ((1, 2, 2, 4), (3, 1, 2, 4), 0.3162277660168379),
        ((1, 1, 1), (1, 2, 3), None),
        ((1, 2), (1, 2), None),
    ],
)
def test_rank_correlation_is_that_of_r(first, second, rho):
    found = rank_correlation(first, second)

    assert found == (None if rho is None else pytest.approx(rho, abs=1e-12))


# --- applying them ------------------------------------------------------------------------------


def test_rules_are_applied_while_hidden_and_that_is_no_deviation(staff_client):
    study = make_planned_study(rules=[ONE_POINT])
    add_person(study)
    lazy = add_person(study, score=70)
    # a further person alike, excluded already
    free_places(study)

    listed = staff_client.get(url("study-rules", study)).text
    done = post(staff_client, "study-rules", study, seen=read_mark(staff_client, study))

    assert lazy.pseudonym in listed
    exclusion = Exclusion.objects.get()
    assert exclusion.participant == lazy
    assert describe_rule(exclusion.planned_rule.conditions) == exclusion.reason
    assert "1 more person excluded" in done.text
    assert PlanEvent.objects.get(kind="applied").number == 1
    assert list_deviations(study) == []
    assert is_hidden(study)


def test_a_list_that_has_changed_meanwhile_is_shown_again_and_nobody_is_excluded(staff_client):
    study = make_planned_study(rules=[ONE_POINT])
    add_person(study, score=70)
    mark = read_mark(staff_client, study)
    late = add_person(study, score=80)

    page = post(staff_client, "study-rules", study, seen=mark)

    assert page.status_code == 422
    assert late.pseudonym in page.text
    assert not Exclusion.objects.exists()


def test_closing_applies_the_rules_and_then_results_are_shown(staff_client):
    study = make_planned_study(rules=[ONE_POINT])
    add_person(study)
    lazy = add_person(study, score=70)
    free_places(study)
    mark = read_mark(staff_client, study, "study-close-confirm")

    unsure = staff_client.post(url("study-close", study), {"seen": mark})
    study.refresh_from_db()
    still = study.state
    post(staff_client, "study-close", study, seen=mark, choice="apply")

    study.refresh_from_db()
    assert unsure.status_code == 422
    assert (still, study.state) == ("live", "closed")
    assert Exclusion.objects.get().participant == lazy
    assert not is_hidden(study)
    assert list_deviations(study) == []


def test_plan_changed_while_the_study_is_being_closed_closes_nothing_unread(staff_client):
    study = make_planned_study(rules=[ONE_POINT])
    careful, _ = add_person(study), add_person(study, score=70)
    mark = read_mark(staff_client, study, "study-close-confirm")
    rated = [{"measure": "answers", "comparison": "at_least", "threshold": 1}]
    ExclusionRule.objects.update(conditions=rated)

    page = post(staff_client, "study-close", study, seen=mark, choice="apply")

    study.refresh_from_db()
    assert page.status_code == 422
    assert careful.pseudonym in page.text
    assert study.state == "live"
    assert not Exclusion.objects.exists()


def test_declining_at_closing_is_a_deviation_with_its_reason(staff_client):
    study = make_planned_study(rules=[ONE_POINT])
    add_person(study, score=70)
    free_places(study)

    silent = staff_client.post(url("study-close", study), {"choice": "decline"})
    post(staff_client, "study-close", study, choice="decline", reason="Only two people")

    study.refresh_from_db()
    assert silent.status_code == 422
    assert not is_hidden(study)
    (deviation,) = list_deviations(study)
    assert (deviation.kind, deviation.reason) == ("declined", "Only two people")


def test_results_wait_for_people_at_work_and_then_for_the_decision(staff_client):
    study = make_planned_study(rules=[ONE_POINT])
    add_person(study)
    slot = Slot.objects.free().filter(study=study).first()
    lease = {"state": Slot.State.LEASED, "participant": make_annotator(study)}
    Slot.objects.filter(pk=slot.pk).update(lease_until=now() + timedelta(minutes=9), **lease)
    post(staff_client, "study-close", study)

    early = post(staff_client, "study-rules", study, choice="decline", reason="None was lazy")
    Slot.objects.filter(pk=slot.pk).update(lease_until=F("lease_until") - timedelta(hours=1))
    study.refresh_from_db()
    waits = is_hidden(study)
    post(staff_client, "study-rules", study, choice="decline", reason="None was lazy")

    assert early.status_code == 422
    assert "People at work still hold 1 place" in early.text
    assert waits
    assert not is_hidden(study)


def test_only_owners_apply_decline_and_reveal():
    study = make_planned_study(rules=[ONE_POINT])
    editor = member(study, "editor")

    for name in ("study-rules", "study-results-reveal", "study-close"):
        assert editor.post(url(name, study)).status_code == 403
    assert editor.get(url("study-exclusions", study)).status_code == 200


def test_an_exclusion_rests_on_a_planned_rule_or_is_a_deviation(staff_client):
    study = make_planned_study(rules=[ONE_POINT])
    lazy, other = add_person(study, score=70), add_person(study)
    rule = study.exclusion_rules.get()
    address = url("study-exclude", study)

    page = staff_client.get(address, {"p": lazy.pseudonym}).text
    none = staff_client.post(address, {"p": lazy.pseudonym, "reason": "One score"})
    staff_client.post(address, {"p": lazy.pseudonym, "reason": "One score", "basis": rule.pk})
    staff_client.post(address, {"p": other.pseudonym, "reason": "Came twice", "basis": "other"})
    exclusion = Exclusion.objects.get(participant=other)
    staff_client.post(url("exclusions-take-back", study), {"exclusion": exclusion.pk})

    assert "one point in over 80% of at least 2 answers" in page
    assert none.status_code == 422
    (deviation,) = list_deviations(study)
    assert (deviation.kind, deviation.reason) == ("taken_back", "Came twice")


@pytest.mark.both_databases
def test_revealing_is_kept_once_with_the_answers_that_were_in():
    study = make_planned_study()
    add_person(study)
    owner = make_user()

    done = [reveal_results(study=study, by=owner, reason="For a talk") for _ in range(2)]

    assert done == [True, False]
    event = PlanEvent.objects.get(kind="revealed")
    assert (event.answers, event.number, event.by) == (3, 15, owner)
    words = dict(plan_in_words(describe_plan(study), criteria=1))["Deviations"]
    assert "Results were viewed on" in words
    assert "with 3 of 15 answers in. Reason: For a talk" in words
    assert not is_hidden(study)
