"""Precision and power: what the study at hand detects, now and with further answers."""

from decimal import Decimal
from typing import Any

import pytest

from evalsite.annotation.running.launch import launch_study
from evalsite.annotation.running.simulation import simulate_crowd
from evalsite.jobs.models import Job
from evalsite.jobs.services import run_job
from evalsite.quality.models import AnalysisPlan
from evalsite.results.models import Report
from evalsite.results.progress import count_edge
from evalsite.results.report.ahead import Work, describe_settings
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member, url
from tests.support.factories import make_study, make_user, open_to_everyone
from tests.support.planned import add_person, make_planned_study
from tests.support.reports import keep_report

pytestmark = pytest.mark.django_db


def make_live(*, people: int = 4, **fields: Any) -> Study:
    """A live study with simulated answers to most of its places."""
    study = make_study(
        **{"is_demo": True, "items": 6, "k": 4, "set_size": 4, "max_sets": 1} | fields
    )
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    open_to_everyone(study)
    list(simulate_crowd(study, participants=people, seed="power"))
    return study


def compute(client: Any, study: Study) -> Job:
    """The analysis that the button of the page starts, when it is done."""
    answer = client.post(url("study-results-compute", study), {"back": "power"})
    assert answer["Location"] == url("study-planner", study)
    return run_job(Job.objects.get(kind="analysis", state="waiting"))


def keep_projection(study: Study, *, options: Any = (), **known: Any) -> Report:
    """A report, and an analysis that found these differences."""
    report = keep_report(study)
    reach = {"detectable": 1.4, "alone": 1.3, "half": 0.2}
    found = {
        "now": reach, "smallest": None, "options": [
            {"answers": 9, "sets": 0, "count": 0, "half": 0.1, "alone": 1.1, **one}
            for one in options
        ], "why": "", "tests": 3, "used": 4, **known,
    }  # fmt: skip
    settings = describe_settings(study, count_edge(study).target)
    ahead = {"settings": settings, "load": 10, "criteria": {"informativeness": found}}
    Job.objects.create(
        kind="analysis", study_id=study.pk, state=Job.State.DONE,
        result={"report": str(report.pk), "ahead": ahead},
    )  # fmt: skip
    return report


def headline(client: Any, study: Study) -> str:
    text = client.get(url("study-planner", study)).text
    return " ".join(text.partition("<h1>")[2].partition("</h1>")[0].split())


PLANNED = {"key": "planned", "detectable": 1.25}


@pytest.mark.slow
def test_an_analysis_projects_the_answers_that_are_still_to_come(staff_client):
    study = make_live(pay_per_set=Decimal("1.50"))
    assert headline(staff_client, study) == "Not computed yet"

    job = compute(staff_client, study)

    found = job.result["ahead"]["criteria"]["informativeness"]
    options = {one["key"]: one for one in found["options"]}
    edge = count_edge(study)
    assert 0 < edge.done < edge.target == 24
    assert options["planned"]["answers"] == edge.target - edge.done
    assert list(options) == ["planned", "hundred", "one_more", "inputs"]
    assert options["hundred"]["answers"] == options["hundred"]["sets"] * 4 == 100
    assert options["one_more"]["answers"] == 6
    sizes = [found["now"]["detectable"], *(one["detectable"] for one in found["options"])]
    assert max(sizes[1:]) < sizes[0]
    assert options["hundred"]["detectable"] < options["planned"]["detectable"]
    page = staff_client.get(url("study-planner", study)).text
    assert f"With all 24 answers, this study can detect a ratio of {sizes[1]:.2f}" in page
    assert "25 sets" in page
    assert "100 answers, £37.50 on top" in page
    # 6 sets of 4 are 24 answers
    assert "£9.00 in total" in page


@pytest.mark.torture
def test_the_fewest_sets_that_meet_the_plan_are_looked_for(staff_client):
    study = make_live()
    plan = AnalysisPlan.objects.create(study=study, smallest=9.0, primary="informativeness")
    first = compute(staff_client, study).result["ahead"]["criteria"]["informativeness"]
    planned, hundred, *_ = (one["detectable"] for one in first["options"])

    AnalysisPlan.objects.filter(pk=plan.pk).update(smallest=(planned + hundred) / 2)
    found = compute(staff_client, study).result["ahead"]["criteria"]["informativeness"]

    options = {one["key"]: one for one in found["options"]}
    assert options["fewest"]["detectable"] <= (planned + hundred) / 2 < planned
    assert 0 < options["fewest"]["sets"] < options["hundred"]["sets"]
    page = staff_client.get(url("study-planner", study)).text
    assert f"{options['fewest']['sets']} more set" in page
    assert "would reach it" in page


def test_no_computation_comes_before_the_launch(staff_client):
    study = make_study(items=2)

    assert headline(staff_client, study) == "Precision and power"
    assert "Plan another study" not in staff_client.get(url("study-planner", study)).text


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"options": [PLANNED]}, "With all 15 answers, this study can detect a ratio of 1.25"),
        ({}, "This study can now detect a ratio of 1.40"),
        ({"smallest": 1.5}, "Your plan’s ratio of 1.50 is reached"),
        (
            {"smallest": 1.2, "options": [PLANNED]},
            "With all 15 answers, this study can detect a ratio of 1.25",
        ),
        # as large when rounded
        (
            {"smallest": 1.2, "options": [PLANNED | {"detectable": 1.2004}]},
            "With all 15 answers, this study can detect a ratio of 1.200",
        ),
        ({"now": None}, "Too few answers to tell: 3 of 15"),
        (
            {"now": {"detectable": None, "alone": None, "half": 9.0}},
            "Too few answers to tell: 3 of 15",
        ),
    ],
)
def test_the_headline_says_what_can_be_detected(staff_client, known, words):
    study = make_planned_study()
    add_person(study)

    keep_projection(study, **known)

    assert headline(staff_client, study) == words


def test_of_several_criteria_the_headline_names_its_own(staff_client):
    study = make_planned_study()
    add_person(study)
    report = keep_projection(study)
    job = Job.objects.get(study_id=study.pk, kind="analysis")
    (first,) = report.content["kept"]["criteria"]
    second = first | {
        "key": "clarity",
        "label": "Clarity",
        "kind": "decision",
        "family": "decision",
    }
    report.content["kept"]["criteria"].append(second)
    report.save()
    found = job.result["ahead"]["criteria"]["informativeness"]
    job.result["ahead"]["criteria"]["clarity"] = found | {
        "now": {"detectable": 0.0104, "alone": 0.0096, "half": 0.2}
    }
    job.save()

    address = url("study-planner", study)
    text = staff_client.get(f"{address}?criterion=clarity").text

    words = " ".join(text.partition("<h1>")[2].partition("</h1>")[0].split())
    assert headline(staff_client, study) == (
        f"This study can now detect a ratio of 1.40 on {first['label']}"
    )
    # a share of one in a hundred is a single point
    assert words == "This study can now detect a difference of 1 percentage point on Clarity"
    assert "1 percentage points" not in text


def test_a_study_that_is_over_is_offered_no_more_answers(staff_client):
    study = make_planned_study()
    add_person(study)
    keep_projection(study, options=[PLANNED])
    Study.objects.filter(pk=study.pk).update(state="closed")

    assert "What more answers would buy" not in staff_client.get(url("study-planner", study)).text
    assert headline(staff_client, study) == "This study can now detect a ratio of 1.40"


def test_where_no_difference_is_large_enough_the_page_says_so(staff_client):
    study = make_planned_study()
    add_person(study)
    none = {"detectable": None, "alone": None, "half": 9.0}
    keep_projection(study, now=none, options=[{"key": "planned", **none}])

    page = staff_client.get(url("study-planner", study)).text

    assert "Even the largest ratio that there can be would often be missed." in page
    assert "–" not in page.partition("<h1>")[2].partition("Plan another study")[0]


def test_without_answers_there_is_nothing_to_compute(staff_client):
    study = make_planned_study()

    page = staff_client.get(url("study-planner", study)).text

    assert headline(staff_client, study) == "Too few answers to tell: 0 of 15"
    assert "Compute" not in page


def test_figures_of_other_data_or_settings_are_out_of_date(staff_client):
    study = make_planned_study()
    add_person(study)
    keep_projection(study, options=[PLANNED])
    page = url("study-planner", study)
    assert "have changed since" not in staff_client.get(page).text

    Study.objects.filter(pk=study.pk).update(set_size=7)

    assert "have changed since" in staff_client.get(page).text
    assert "Compute again" in staff_client.get(page).text
    assert headline(staff_client, study) == "This study can now detect a ratio of 1.40"


def test_hidden_systems_stay_hidden(staff_client):
    study = make_planned_study()
    add_person(study)
    keep_projection(study, options=[PLANNED], smallest=1.1)

    page = staff_client.get(url("study-planner", study)).text

    assert "Systems are hidden" in page
    assert "a deviation from the plan" in page
    assert not any(name in page for name in ("alpha", "neural", "template"))
    # how far intervals will reach is of the same projection: exp(0.1)
    assert "× 1.11" in staff_client.get(url("study-results", study)).text


def test_a_viewer_reads_it_without_a_button():
    study = make_planned_study()
    add_person(study)
    client = member(study, "viewer")

    page = client.get(url("study-planner", study)).text

    assert "Not computed yet" in page
    assert "Compute results" not in page


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ("merged", "So far each output has one answer"),
        ("own_errors", "an error of its own"),
        ("no_model", "The mixed model doesn’t fit these ratings"),
    ],
)
def test_what_cannot_be_projected_says_why(staff_client, why, words):
    study = make_planned_study()
    add_person(study)
    keep_projection(study, why=why)

    page = staff_client.get(url("study-planner", study)).text

    assert words in page
    assert "What more answers would buy" not in page


def test_the_page_asks_little_of_the_database(staff_client, django_assert_max_num_queries):
    study = make_planned_study()
    add_person(study)
    keep_projection(study, options=[PLANNED], smallest=1.1)

    with django_assert_max_num_queries(14):
        staff_client.get(url("study-planner", study))


@pytest.mark.parametrize("groups", ["free", "together", "once"])
def test_nobody_to_come_gets_the_same_item_twice(groups):
    study = make_planned_study(items=5, groups=groups)

    work = Work(study, people=0, answers=0)

    for answers in (work.list_open(), work.deal_sets(3), work.deal_inputs(4)):
        assert len(set(answers)) == len(answers)
    assert len(work.list_open()) == 25
    assert len(work.deal_inputs(4)) == 4 * study.k
