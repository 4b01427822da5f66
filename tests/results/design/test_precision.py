"""Precision: what the study at hand detects, now, with further answers, and made larger."""

from decimal import Decimal
from typing import Any

import pytest

from evalsite.analysis.report.further import count_tests
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.decisions.models import AnalysisPlan
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.lib.clock import now
from evalsite.results.models import Report, SizePlan
from evalsite.results.progress import count_edge
from evalsite.results.report.ahead import Work, describe_settings
from evalsite.studies.models import Study
from tests.site.test_staff_pages import url
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
    """The analysis that the page starts, when it is done."""
    Job.objects.filter(study_id=study.pk).delete()
    client.get(url("results-design", study))
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


def read(client: Any, study: Study, question: str = "") -> Any:
    """Return what the page knows; it shows precision from ten answers on."""
    return client.get(f"{url('results-design', study)}?question={question}").context


def make_answered(**fields: Any) -> Study:
    """A hidden study whose twelve answers come from three people."""
    study = make_planned_study(items=4, **fields)
    for _ in range(3):
        add_person(study)
    return study


PLANNED = {"key": "planned", "detectable": 1.25}


@pytest.mark.slow
def test_an_analysis_projects_the_answers_that_are_still_to_come(staff_client):
    study = make_live(pay_per_set=Decimal("1.50"))

    job = compute(staff_client, study)

    projected = job.result["ahead"]["criteria"]["informativeness"]
    options = {one["key"]: one for one in projected["options"]}
    edge = count_edge(study)
    assert 0 < edge.done < edge.target == 24
    assert options["planned"]["answers"] == edge.target - edge.done
    assert list(options) == ["planned", "hundred", "one_more", "inputs"]
    assert options["hundred"]["answers"] == options["hundred"]["sets"] * 4 == 100
    assert options["one_more"]["answers"] == 6
    sizes = [projected["now"]["detectable"], *(one["detectable"] for one in projected["options"])]
    assert max(sizes[1:]) < sizes[0]
    assert options["hundred"]["detectable"] < options["planned"]["detectable"]
    context = read(staff_client, study)
    assert (
        f"With all 24 answers, this study can detect a ratio of {sizes[1]:.2f}"
        in (context["reach"])
    )
    rows = {row["label"]: row for row in context["options"]}
    # 25 sets at 1.50; 6 sets of 4 are 24 answers
    assert rows["Add 25 sets"]["cost"] == "£37.50 on top"
    assert rows["Collect all 24, as planned"]["cost"] == "£9.00 in total"


@pytest.mark.slow
def test_a_study_that_is_over_says_what_a_larger_one_would_detect(staff_client):
    study = make_live(pay_per_set=Decimal("1.50"))
    Study.objects.filter(pk=study.pk).update(state="closed")
    study.refresh_from_db()

    job = compute(staff_client, study)

    projected = job.result["ahead"]["criteria"]["informativeness"]
    options = {one["key"]: one for one in projected["options"]}
    assert options["twice_inputs"]["detectable"] < options["inputs"]["detectable"]
    assert options["twice_answers"]["detectable"] < options["one_more"]["detectable"]
    rows = {row["label"]: row for row in read(staff_client, study)["options"]}
    assert "Add 25 sets" not in rows
    # of the 24 answers, and as many again
    assert rows["Twice the inputs"]["cost"] == "£18.00"


def test_only_the_comparisons_that_hypotheses_name_count_in_the_correction_of_what_is_detected():
    def make(family: int, **known: bool) -> dict[str, Any]:
        return {"effect": {"details": {"family": family} | known}}

    criterion = {"pairs": [make(3, is_exploratory=True), make(1), make(3, is_exploratory=True)]}

    assert count_tests(criterion) == 1


@pytest.mark.torture
def test_the_fewest_sets_that_meet_the_plan_are_looked_for(staff_client):
    study = make_live()
    plan = AnalysisPlan.objects.create(study=study, smallest=9.0, primary="informativeness")
    first = compute(staff_client, study).result["ahead"]["criteria"]["informativeness"]
    planned, hundred, *_ = (one["detectable"] for one in first["options"])

    AnalysisPlan.objects.filter(pk=plan.pk).update(smallest=(planned + hundred) / 2)
    projected = compute(staff_client, study).result["ahead"]["criteria"]["informativeness"]

    options = {one["key"]: one for one in projected["options"]}
    assert options["fewest"]["detectable"] <= (planned + hundred) / 2 < planned
    assert 0 < options["fewest"]["sets"] < options["hundred"]["sets"]
    (row,) = read(staff_client, study)["precision"]
    assert row["takes"].startswith(f"{options['fewest']['sets']} more set")


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"options": [PLANNED]}, "With all 20 answers, this study can detect a ratio of 1.25."),
        ({}, "This study can now detect a ratio of 1.40."),
        ({"smallest": 1.5}, "Your plan’s ratio of 1.50 is reached."),
        # as large when rounded
        (
            {"smallest": 1.2, "options": [PLANNED | {"detectable": 1.2004}]},
            "With all 20 answers, this study can detect a ratio of 1.200.",
        ),
        ({"now": None}, ""),
        ({"now": {"detectable": None, "alone": None, "half": 9.0}}, ""),
    ],
)
def test_a_sentence_says_what_can_be_detected(staff_client, known, words):
    study = make_answered()

    keep_projection(study, **known)

    assert read(staff_client, study)["reach"] == words


def test_of_several_questions_the_first_is_shown_until_another_is_chosen(staff_client):
    study = make_answered()
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
    projected = job.result["ahead"]["criteria"]["informativeness"]
    job.result["ahead"]["criteria"]["clarity"] = projected | {
        "now": {"detectable": 0.0104, "alone": 0.0096, "half": 0.2}
    }
    job.save()

    assert read(staff_client, study)["reach"] == "This study can now detect a ratio of 1.40."
    # a share of one in a hundred is a single point
    assert read(staff_client, study, "clarity")["reach"] == (
        "This study can now detect a difference of 1 percentage point."
    )
    assert len(read(staff_client, study)["precision"]) == 2


def test_a_width_that_is_more_than_planned_is_marked_and_named_in_the_headline(staff_client):
    study = make_answered()
    keep_projection(study)
    content = {"criterion": "informativeness", "width": 0.2, "words": "12 inputs"}
    SizePlan.objects.create(study=study, content=content, kept_at=now())

    response = staff_client.get(url("results-design", study))

    (row,) = response.context["precision"]
    # e to the 0.1 and to the 0.2: half of the whole width
    assert (row["planned"], row["reached"], row["is_wider"]) == ("× 1.11", "× 1.22", True)
    assert "<mark>× 1.22</mark>" in response.text
    assert response.context["wider"]


def test_where_no_difference_is_large_enough_the_table_says_so(staff_client):
    study = make_answered()
    none = {"detectable": None, "alone": None, "half": 9.0}
    keep_projection(study, now=none, options=[{"key": "planned", **none}])

    assert [row["detects"] for row in read(staff_client, study)["options"]] == ["none", "none"]


def test_figures_of_other_settings_are_out_of_date(staff_client):
    study = make_answered()
    keep_projection(study, options=[PLANNED])
    assert read(staff_client, study)["notes"]["is_current"]

    Study.objects.filter(pk=study.pk).update(set_size=7)

    assert not read(staff_client, study)["notes"]["is_current"]


def test_hidden_systems_stay_hidden(staff_client):
    study = make_answered()
    keep_projection(study, options=[PLANNED], smallest=1.1)

    page = staff_client.get(url("results-design", study)).text

    assert "the report lists that as a deviation" in page
    assert not any(name in page for name in ("alpha", "beta"))
    # how far intervals will reach is of the same projection: exp(0.1)
    assert "× 1.11" in staff_client.get(url("study-results", study)).text


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ("merged", "So far each output has one answer"),
        ("own_errors", "its own error term"),
        ("no_model", "The mixed model doesn’t fit these ratings"),
    ],
)
def test_what_cannot_be_projected_says_why(staff_client, why, words):
    study = make_answered()
    keep_projection(study, why=why)

    page = staff_client.get(url("results-design", study)).text

    assert words in page
    assert "What more answers would buy" not in page


def test_results_of_a_command_have_no_projection_and_the_page_says_how_to_get_it(staff_client):
    study = make_answered()
    keep_report(study)

    response = staff_client.get(url("results-design", study))

    assert response.context["is_projected"] is False
    assert "Compute again" in response.text
    assert "there are no comparisons" not in response.text


def test_the_page_asks_little_of_the_database(staff_client, django_assert_max_num_queries):
    study = make_answered()
    keep_projection(study, options=[PLANNED], smallest=1.1)

    with django_assert_max_num_queries(15):
        staff_client.get(url("results-design", study))


@pytest.mark.parametrize("groups", ["free", "together", "once"])
def test_nobody_to_come_gets_the_same_item_twice(groups):
    study = make_planned_study(items=5, groups=groups)

    work = Work(study, people=0, answers=0)

    for answers in (work.list_open(), work.deal_sets(3), work.deal_inputs(4)):
        assert len(set(answers)) == len(answers)
    assert len(work.list_open()) == 25
    assert len(work.deal_inputs(4)) == 4 * study.k
