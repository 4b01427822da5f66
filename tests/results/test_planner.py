"""The planner: what it asks, what a simulated plan says, and who may start one."""

import csv
import io
from math import log
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.decisions.models import AnalysisPlan
from evalsite.results.analysis_plan.stored import describe_plan, find_plan
from evalsite.results.analysis_plan.wording import plan_in_words
from evalsite.results.models import Report
from evalsite.results.power import design_search
from evalsite.results.power.design_search import TARGET, count_times_wider, find_source, list_models
from evalsite.results.report.computation import newest_report
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member, sign_in, url
from tests.support.browsing import is_watched
from tests.support.factories import make_study, make_user

pytestmark = pytest.mark.django_db

VARIANCES = {"rater": 0.01, "group": 0.0, "group:system": 0.04, "rater:system": 0.01}


def ask(**said: Any) -> dict[str, Any]:
    """What somebody enters for a study of magnitudes."""
    return {
        "criterion": "informativeness", "difference": "1.3", "source": "typical", "raters": "8",
        "per_output": "4", "items": "20", "systems": "3", "price": "", **said,
    }  # fmt: skip


def plan(client: Client, study: Study, **said: Any) -> Job:
    """The finished plan of what was entered."""
    client.post(url("study-planner", study), ask(**said))
    return run_job(Job.objects.get(kind="plan", state="waiting"))


def test_a_plan_is_simulated_by_a_job_and_then_shown(staff_client):
    study = make_study(items=0)
    page = url("study-planner", study)

    answer = staff_client.post(page, ask(items="10, 40"))
    waiting = staff_client.get(answer["Location"])
    job = run_job(Job.objects.get(kind="plan"))
    after = staff_client.get(answer["Location"])

    assert is_watched(waiting)
    assert "starts in a moment" in waiting.text
    assert [row["items"] for row in job.result["rows"]] == [10, 40]
    assert job.done == job.total == 2
    assert not is_watched(after)
    assert "a ratio of 1.3 on Informativeness" in after.text
    assert '<th scope="row">40 inputs' in after.text


@pytest.mark.parametrize(("points", "times"), [(5, 1), (7, 1), (21, 1), (101, 100 / 6)])
def test_typical_values_are_of_a_scale_as_wide_as_the_one_planned(points, times):
    source = find_source("likert", "typical")
    assert source is not None

    assert count_times_wider({"points": points}, source) == times


def test_typical_values_of_ratios_and_comparisons_fit_every_scale():
    sources = [find_source(name, "typical") for name in ("magnitude", "pairs")]

    assert [one and count_times_wider({"points": 101}, one) for one in sources] == [1, 1]


def test_the_fewest_inputs_are_looked_for_where_none_are_named(staff_client):
    study = make_study(items=0, seed="of the planner")

    job = plan(staff_client, study, items="", raters="8, 16")

    few, many = job.result["rows"]
    assert all(TARGET <= row["power"][0] < TARGET + 0.08 for row in (few, many))
    assert many["items"] < few["items"]
    html = staff_client.get(url("study-planner", study)).text
    assert "To find a ratio of 1.3 on Informativeness 8 times in 10, plan for" in html
    assert html.count("smallest that is enough") == 1


@pytest.mark.torture
@pytest.mark.slow
def test_too_few_people_are_told_that_no_number_of_inputs_is_enough(staff_client, monkeypatch):
    monkeypatch.setattr(design_search, "_MOST_CELLS", 6_000)
    study = make_study(items=0)

    job = plan(staff_client, study, difference="1.05", items="", raters="3", per_output="3")

    html = staff_client.get(url("study-planner", study)).text
    assert job.result["rows"] == []
    assert "no number of inputs finds a ratio of 1.05 on Informativeness" in html
    assert "With fewer than 5 people, no test says much" in html


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("protocol", "criterion", "asked", "taken"),
    [
        ("magnitude", "informativeness", "1.5", log(1.5)),
        ("rrgen", "relevance", "0.4", 0.4),
        ("pairwise", "completion", "75", log(3)),
    ],
)
def test_each_scale_has_its_own_difference(staff_client, protocol, criterion, asked, taken):
    study = make_study(items=0, protocol=protocol)

    job = plan(staff_client, study, criterion=criterion, difference=asked, ties="20")

    assert job.state == Job.State.DONE
    assert job.params["difference"] == pytest.approx(taken)
    assert 0 <= job.result["rows"][0]["power"][0] <= 1
    html = staff_client.get(url("study-planner", study)).text
    assert "Found" in html
    assert f'value="{asked}"' in html


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"difference": ""}, "Enter the smallest difference that would matter to you."),
        ({"difference": "1"}, "Enter a ratio above 1, at most 10, such as 1.2."),
        ({"difference": "much"}, "Enter a number, such as 1.2."),
        ({"raters": ""}, "Enter how many people may take part, such as 6, 12."),
        ({"raters": "six"}, "Enter whole numbers with commas between them, such as 6, 12."),
        ({"raters": "1"}, "Enter numbers from 2 to 300."),
        ({"raters": "4", "per_output": "5"}, "So many ratings need 5 people or more."),
        ({"items": "1"}, "Enter numbers from 2 to 10,000."),
        (
            {"items": "9000", "raters": "10"},
            "With 10 people and 3 systems, enter 4,000 or fewer.",
        ),
        (
            {"items": "2,3,4,5,6", "raters": "5,6,7,8,9"},
            "These are more than 24 designs. Enter fewer numbers.",
        ),
        (
            {"items": "", "raters": "5,6,7,8,9", "per_output": "3,4,5"},
            "These are more than 12 designs. Enter fewer numbers.",
        ),
        ({"systems": "1"}, "Enter 2 or more."),
        ({"price": "-1"}, "Enter 0 or more."),
        ({"source": "results"}, "Choose where the variation comes from."),
        ({"criterion": "beauty"}, "Choose a criterion."),
    ],
)
def test_what_cannot_be_planned_says_what_to_enter(staff_client, said, words):
    study = make_study(items=0)

    page = staff_client.post(url("study-planner", study), ask(**said))

    assert page.status_code == 422
    assert words in page.text
    assert "<title>Error: " in page.text
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("protocol", "criterion", "asked", "words"),
    [
        ("rrgen", "relevance", "9", "Enter points above 0, at most 6, such as 0.5."),
        ("pairwise", "completion", "40", "Enter a share above 50 and below 100, such as 60."),
    ],
)
def test_a_difference_that_the_scale_does_not_have_is_refused(
    staff_client, protocol, criterion, asked, words
):
    study = make_study(items=0, protocol=protocol)

    page = staff_client.post(
        url("study-planner", study), ask(criterion=criterion, difference=asked, ties="20")
    )

    assert words in page.text


def test_the_study_s_own_results_are_taken_where_they_tell_how_ratings_vary(staff_client):
    study = make_study(items=0)
    model = {"variances": VARIANCES, "residual": 0.09, "dropped": {}}
    content = {"kept": {"criteria": [{"key": "informativeness", "model": model}]}}
    Report.objects.create(study=study, fingerprint="a", sha256="b", content=content)

    job = plan(staff_client, study, source="results")

    assert job.result["parts"] == pytest.approx(
        {"rater": 0.1, "item": 0.0, "item_system": 0.2, "rater_system": 0.1, "residual": 0.3}
    )
    html = staff_client.get(url("study-planner", study)).text
    assert "From: the newest results of this study." in html


def test_a_plan_from_simulated_results_is_warned_of(staff_client):
    study = make_study(items=0)
    model = {"variances": VARIANCES, "residual": 0.09, "dropped": {}}
    kept = {
        "criteria": [{"key": "informativeness", "model": model}],
        "data": {"origins": {"simulated": 900}},
    }
    Report.objects.create(study=study, fingerprint="a", sha256="b", content={"kept": kept})

    plan(staff_client, study, source="results")

    html = staff_client.get(url("study-planner", study)).text
    assert "The results hold 900 simulated ratings" in html


@pytest.mark.parametrize(("people", "is_first"), [(2, False), (5, True)])
def test_results_of_few_people_are_not_what_a_plan_begins_with(staff_client, people, is_first):
    study = make_study(items=0)
    model = {"variances": VARIANCES, "residual": 0.09, "dropped": {}}
    kept = {
        "criteria": [{"key": "informativeness", "model": model}],
        "data": {"participants": people},
    }
    Report.objects.create(study=study, fingerprint="a", sha256="b", content={"kept": kept})

    form = staff_client.get(url("study-planner", study)).context["form"]
    assert (form.fields["source"].choices[0][0] == "results") == is_first
    assert ("too few to tell how much people differ" in str(form)) != is_first

    plan(staff_client, study, source="results")
    html = staff_client.get(url("study-planner", study)).text
    assert ("This rests on results by 2 people." in html) != is_first


def test_designs_above_the_limit_of_sets_are_named(staff_client):
    study = make_study(items=0, set_size=5, max_sets=2)

    plan(staff_client, study, items="10, 30")

    html = staff_client.get(url("study-planner", study)).text
    assert (
        "Some designs need more than the 2 sets that one person may take here: "
        "30 inputs with 8 people and 4 ratings of each output." in html
    )


def test_people_count_by_criterion_not_by_study(staff_client):
    # 8 people in the study, of whom 2 rated this criterion: systems and pairs tell so
    study = make_study(items=0)
    model = {"variances": VARIANCES, "residual": 0.09, "dropped": {}}
    headline = {"n": {"raters": 2, "ratings": 24}}
    one = {"key": "informativeness", "model": model, "systems": [{"headline": headline}]}
    other = {"key": "quality", "model": model, "systems": [{"headline": {"n": {"raters": 8}}}]}
    kept = {"criteria": [one, other], "data": {"participants": 8}}
    Report.objects.create(study=study, fingerprint="a", sha256="b", content={"kept": kept})

    form = staff_client.get(url("study-planner", study)).context["form"]
    plan(staff_client, study, source="results")
    html = staff_client.get(url("study-planner", study)).text

    assert {
        key: one["raters"] for key, one in list_models(study, newest_report(study)).items()
    } == {
        "informativeness": 2,
        "quality": 8,
    }
    assert form.fields["source"].choices[0][0] != "results"
    assert "Those of some criteria rest on fewer" in str(form)
    assert "This rests on results by 2 people." in html


def test_preferences_are_not_planned_by_their_net_wins(staff_client):
    study = make_study(items=0, protocol="pairwise")
    details = {"ms_residual": 0.18, "ms_rater": 0.58, "ms_item": 0.58}
    pairs = [{"effect": {"details": details, "n": {"raters": 5, "items": 20}}}]
    kept = {"criteria": [{"key": "completion", "kind": "preference", "pairs": pairs}]}
    Report.objects.create(study=study, fingerprint="a", sha256="b", content={"kept": kept})

    html = staff_client.get(url("study-planner", study)).text

    assert list_models(study, newest_report(study)) == {}
    assert "compute them first" not in html
    assert "Preferences can&#x27;t show this" in html


def test_results_that_tell_no_variances_are_not_asked_for_again(staff_client):
    study = make_study(items=0)
    kept = {"criteria": [{"key": "informativeness", "model": {}, "pairs": []}]}
    before = staff_client.get(url("study-planner", study)).text
    Report.objects.create(study=study, fingerprint="a", sha256="b", content={"kept": kept})

    after = staff_client.get(url("study-planner", study)).text

    assert "compute them first" in before
    assert "compute them first" not in after


def test_a_plan_is_sent_as_a_file_with_every_digit(staff_client):
    study = make_study(items=0, set_size=10)
    job = plan(staff_client, study, items="10, 40", price="2.50")

    page = staff_client.get(url("study-planner", study)).text
    address = reverse("admin:study-plan-data", args=[study.pk, job.pk])
    rows = list(csv.DictReader(io.StringIO(staff_client.get(address).text.lstrip("\ufeff"))))

    assert address in page
    assert [(row["items"], float(row["power"])) for row in rows] == [
        (str(one["items"]), one["power"][0]) for one in job.result["rows"]
    ]
    # one answer shows all 3 systems of an input: 40 inputs, 4 ratings, sets of 10 at 2.50
    assert (rows[1]["answers"], rows[1]["sets"], rows[1]["cost"]) == ("160", "16", "40.00")
    assert sign_in(make_user("stranger")).get(address).status_code == 404


def test_a_crossed_pilot_tells_how_ratings_vary_by_its_mean_squares():
    study = make_study(items=0)
    # 5 raters, 20 items: rest 2 * 0.09, raters 20 * 2 * 0.01 more, items 5 * 2 * 0.04 more
    details = {"ms_residual": 0.18, "ms_rater": 0.58, "ms_item": 0.58}
    pairs = [{"effect": {"details": details, "n": {"raters": 5, "items": 20}}}]
    content = {"kept": {"criteria": [{"key": "informativeness", "model": {}, "pairs": pairs}]}}
    Report.objects.create(study=study, fingerprint="a", sha256="b", content=content)

    found = list_models(study, newest_report(study))["informativeness"]

    assert found["residual"] == pytest.approx(0.09)
    assert found["variances"] == pytest.approx({"group:system": 0.04, "rater:system": 0.01})


@pytest.mark.parametrize(("groups", "is_warned"), [("free", True), ("together", False)])
def test_items_that_are_dealt_apart_find_less(staff_client, groups, is_warned):
    study = make_study(items=0, protocol="rrgen", groups=groups)

    plan(staff_client, study, criterion="relevance")

    html = staff_client.get(url("study-planner", study)).text
    assert ("keep its groups together" in html) == is_warned


def test_a_design_has_its_answers_sets_and_cost(staff_client):
    study = make_study(items=0, set_size=10, currency="GBP", protocol="rrgen")

    plan(staff_client, study, criterion="relevance", items="30", price="2.50")

    # 30 inputs, an item for each of 3 systems, 4 ratings: 360 answers in 36 sets
    html = staff_client.get(url("study-planner", study)).text
    assert '>360</td><td data-label="Sets">36</td><td data-label="Cost">£90.00<' in html


def test_pairs_are_paid_for_each_two_systems(staff_client):
    study = make_study(items=0, set_size=10, protocol="pairwise")

    plan(staff_client, study, criterion="completion", difference="65", ties="30", systems="4")

    # 20 inputs, 6 pairs of systems, 4 ratings
    assert (
        '>480</td><td data-label="Sets">48<' in staff_client.get(url("study-planner", study)).text
    )


def test_the_same_choice_is_not_simulated_twice(staff_client):
    study = make_study(items=0)
    first = plan(staff_client, study)

    again = staff_client.post(url("study-planner", study), ask())

    assert Job.objects.count() == 1
    assert str(first.pk) in again["Location"]


def test_a_plan_of_another_study_is_not_shown(staff_client):
    other = make_study(items=0, title="Another")
    mine = make_study(items=0)
    job = plan(staff_client, other)

    html = staff_client.get(url("study-planner", mine), {"plan": str(job.pk)}).text

    assert "Designs that are to find" not in html


def test_editors_plan_and_viewers_read():
    study = make_study(items=0)
    page = url("study-planner", study)

    given = {
        role: member(study, role).post(page, ask()).status_code
        for role in ("owner", "editor", "viewer")
    }
    run_job(Job.objects.get(kind="plan"))
    read = member(study, "viewer").get(page)

    assert given == {"owner": 302, "editor": 302, "viewer": 403}
    assert "Designs that are to find" in read.text
    assert '<form method="post" action="' + page not in read.text
    assert sign_in(make_user("stranger")).get(page).status_code == 404


def test_a_plan_that_stopped_says_so_and_can_be_asked_for_again(staff_client):
    study = make_study(items=0)
    staff_client.post(url("study-planner", study), ask())
    Job.objects.update(state="failed", message="Stopped by an error: OSError.")

    page = staff_client.get(url("study-planner", study))
    staff_client.post(url("study-planner", study), ask())

    assert "Stopped by an error: OSError." in page.text
    assert "Simulate</button>" in page.text
    assert Job.objects.filter(state="waiting").count() == 1


def test_kept_plan_is_printed_with_its_moment(staff_client):
    study = make_study(items=0)
    job = plan(staff_client, study, items="10, 40")

    answer = staff_client.post(
        reverse("admin:study-plan-keep", args=[study.pk, job.pk]), {"design": "1"}, follow=True
    )

    words = describe_plan(study)["size"]["words"]
    assert words.startswith("40 inputs, 8 people, 4 ratings of each output: ")
    assert "power to find a ratio of 1.3 on Informativeness" in words
    assert "after correction for 3 comparisons" in words
    assert "Kept on" in answer.text
    rows = dict(plan_in_words(describe_plan(study), criteria=1))
    assert rows["Planned size"].startswith(f"{words}; chosen before the first answer")


def test_a_design_that_the_plan_lacks_is_not_kept(staff_client):
    study = make_study(items=0)
    job = plan(staff_client, study)

    answer = staff_client.post(
        reverse("admin:study-plan-keep", args=[study.pk, job.pk]), {"design": "7"}, follow=True
    )

    assert "no such design" in answer.text
    assert find_plan(study) is None


def test_hypotheses_in_the_plan_lower_the_number_of_comparisons(staff_client):
    study = make_study(items=0)
    AnalysisPlan.objects.create(
        study=study, primary="informativeness",
        hypotheses=[{"criterion": "informativeness", "system": "a", "relation": "better",
                     "other": "b"}],
    )  # fmt: skip

    job = plan(staff_client, study)

    assert {name: job.params[name] for name in ("comparisons", "named", "further_tests")} == {
        "comparisons": 1, "named": 1, "further_tests": 0,
    }  # fmt: skip
    assert (
        "One comparison, so nothing is corrected."
        in staff_client.get(url("study-planner", study)).text
    )
