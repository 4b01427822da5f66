"""Results compute themselves: as a study closes, and as a page is opened after a change."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.decisions.exclusions import exclude
from evalsite.decisions.frozen_plans import reveal_results
from evalsite.fieldwork.launch import close_by_itself, close_study
from evalsite.lib.clock import now, standing_at
from evalsite.results.models import Report
from evalsite.results.report import computation
from evalsite.results.report.newest import PAUSE
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member, sign_in, url
from tests.support.factories import make_user
from tests.support.planned import SCORES, add_person, make_planned_study
from tests.support.reports import keep_report

pytestmark = pytest.mark.django_db


def make_rated(people: int = 4, **fields: Any) -> Study:
    """A live study with three answers by each person."""
    study = make_planned_study(**{"hides_results": False} | fields)
    for _ in range(people):
        add_person(study)
    return study


def open_page(study: Study, client: Client | None = None) -> Any:
    client = client or sign_in(study.memberships.get().user)
    return client.get(url("study-results", study))


def list_jobs(study: Study) -> list[Job]:
    return list(Job.objects.filter(study_id=study.pk, kind="analysis"))


def keep(study: Study) -> Report:
    """A report of the twelve answers that are in."""
    report = keep_report(study)
    report.content["collection"] = {"done": 12, "target": 15}
    report.save()
    return report


def finish(study: Study, state: str = "done", **fields: Any) -> Job:
    """An analysis of the study that has ended."""
    return Job.objects.create(
        kind="analysis", study_id=study.pk, state=state, **{"finished_at": now()} | fields
    )


# --- closing ----------------------------------------------------------------------------------


def test_closing_starts_the_computation_in_the_same_transaction():
    study = make_rated()
    owner = study.memberships.get().user

    with transaction.atomic():
        close_study(study=study, by=owner)
        within = len(list_jobs(study))
        transaction.set_rollback(True)
    given_up = list_jobs(study)
    close_study(study=study, by=owner)

    assert (within, given_up) == (1, [])
    assert [job.started_by for job in list_jobs(study)] == [owner]


def test_study_that_closes_by_itself_is_computed_too():
    study = make_rated()

    close_by_itself(study=study, why="The last answer came in.")

    assert [job.started_by for job in list_jobs(study)] == [None]


def test_few_answers_are_not_computed_at_closing():
    study = make_rated(people=3)

    close_study(study=study, by=study.memberships.get().user)

    assert list_jobs(study) == []


# --- opening ----------------------------------------------------------------------------------


def test_first_visit_of_anyone_starts_the_computation_once():
    study = make_rated()
    viewer = member(study, "viewer")

    pages = [open_page(study, viewer) for _ in range(2)]

    assert len(list_jobs(study)) == 1
    assert pages[0].context["title"] == "Computing the results"
    assert pages[0].context["is_watched"]
    assert url("study-results-compute", study) not in pages[0].text


def test_fewer_than_ten_answers_are_too_few():
    study = make_rated(people=3)

    page = open_page(study)

    assert list_jobs(study) == []
    assert page.context["title"] == "Too few answers to tell: 9 of 15"


def test_current_results_start_nothing():
    study = make_rated()
    keep_report(study)

    page = open_page(study)

    assert list_jobs(study) == []
    assert page.context["newest"].is_current
    assert "data-job" not in page.text
    # in the fold only
    fold = page.text.partition('id="computed"')[2]
    assert page.text.count(url("study-results-compute", study)) == 1
    assert url("study-results-compute", study) in fold


def test_answers_since_are_counted_and_the_last_results_stay():
    study = make_rated()
    report = keep(study)
    add_person(study)

    page = open_page(study)

    assert page.context["newest"].since == 3
    assert page.context["report"] == report
    assert [job.state for job in list_jobs(study)] == ["waiting"]


def test_a_change_of_decisions_computes_again():
    study = make_rated()
    keep(study)
    exclude(study=study, participants=[study.participants.first()], reason="Too fast", by=None)

    page = open_page(study)

    assert page.context["newest"].since == 0
    assert len(list_jobs(study)) == 1


def test_opening_starts_nothing_within_five_minutes_of_the_last_end():
    study = make_rated()
    keep_report(study)
    finish(study, finished_at=now() - PAUSE + timedelta(seconds=20))
    add_person(study)

    soon = open_page(study)
    before = len(list_jobs(study))
    with standing_at(now() + timedelta(minutes=1)):
        open_page(study)

    assert before == 1
    # it looks again by itself
    assert 'data-every="20"' in soon.text
    assert len(list_jobs(study)) == 2


def test_failed_computation_keeps_the_last_results_and_says_so():
    study = make_rated()
    report = keep_report(study)
    add_person(study)
    finish(study, "failed", message="No room left.")

    editor = open_page(study, member(study, "editor"))
    viewer = open_page(study, member(study, "viewer"))

    assert len(list_jobs(study)) == 1
    assert editor.context["report"] == report
    for page in (editor, viewer):
        assert page.context["newest"].has_failed
        assert 'class="problem"' in page.text
        assert "No room left." in page.text
    problem = editor.text.partition('class="problem"')[2].partition("</div>")[0]
    assert url("study-results-compute", study) in problem
    assert url("study-results-compute", study) not in viewer.text


@pytest.mark.slow
def test_job_that_dies_half_way_leaves_the_last_results(monkeypatch: Any) -> None:
    study = make_rated()
    report = keep_report(study)
    add_person(study)
    open_page(study)
    (job,) = list_jobs(study)

    def die(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(computation, "write_charts", die)
    with pytest.raises(MemoryError):
        run_job(job)

    page = open_page(study)
    assert page.context["newest"].has_failed
    assert page.context["report"] == report
    assert list(Report.objects.all()) == [report]


def test_stopped_worker_is_said_and_not_started_by_a_look():
    study = make_rated()
    job = Job.objects.create(kind="analysis", study_id=study.pk, state="running")
    Job.objects.update(heartbeat_at=now() - timedelta(hours=1))

    page = open_page(study)

    assert page.context["newest"].has_failed
    assert list_jobs(study) == [job]


def test_queries_are_as_many_for_few_answers_as_for_many(
    django_assert_max_num_queries: Any,
) -> None:
    counts = []
    for people in (4, 5):
        study = make_rated(people=people, title=f"Of {people}")
        keep_report(study)
        client = sign_in(study.memberships.get().user)
        with django_assert_max_num_queries(25) as queries:
            open_page(study, client)
        counts.append(len(queries))

    assert counts[0] == counts[1]


# --- hidden -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_while_hidden_nothing_about_a_system_is_computed() -> None:
    study = make_rated(hides_results=True)
    open_page(study)
    (job,) = list_jobs(study)

    done = run_job(job)

    report = Report.objects.get()
    (criterion,) = report.content["kept"]["criteria"]
    assert report.content["is_hidden"]
    assert (criterion["systems"], criterion["pairs"]) == ([], [])
    assert criterion["agreement"]
    # systems are named where answers are counted, and nowhere else
    kept = report.content["kept"]
    stored = json.dumps([{**kept, "data": None}, done.result["ahead"], report.headline])
    # "baseline" is a word of reports too
    assert not [name for name in SCORES if f'": "{name}"' in stored or f'["{name}"' in stored]
    assert not {"neural", "template"} & set(re.findall(r"\w+", stored))
    assert not report.outputs.exists()
    assert not report.folder.exists()


@pytest.mark.slow
def test_revealed_results_are_computed_with_systems() -> None:
    study = make_rated(hides_results=True)
    open_page(study)
    run_job(list_jobs(study)[0])
    reveal_results(study=study, by=make_user())

    with standing_at(now() + PAUSE + timedelta(minutes=1)):
        page = open_page(study)
        newest = list_jobs(study)[0]
        run_job(newest)
        shown = open_page(study)

    assert page.context["report"] is None
    assert shown.context["newest"].is_current
    assert shown.context["paper"]
