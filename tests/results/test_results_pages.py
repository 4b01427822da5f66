"""The results page shows the newest report, says when it is old, and sends what it is made of."""

import csv
import io
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.decisions.models import AnalysisPlan
from evalsite.fieldwork.live_changes import FITTED
from evalsite.handout.models import TOP_UP_ACTION
from evalsite.lib.clock import now
from evalsite.people.models import ParticipantMark
from evalsite.results.models import Report
from evalsite.results.report.computation import Look, RatersMet, find_first_look, find_raters_met
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member
from tests.support.browsing import is_watched
from tests.support.exports import annotate, main_items
from tests.support.factories import answer_item, launch, make_annotator
from tests.support.reports import keep_report, make_content


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2)


def page(name: str, study: Study, *args: Any) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *args])


def rate(study: Study, people: int = 3) -> None:
    for _ in range(people):
        person = study.participants.create()  # type: ignore[attr-defined]
        for item in main_items(study):
            annotate(study, person, item)


@pytest.mark.slow
def test_same_data_are_not_computed_twice(study: Study) -> None:
    rate(study)

    for _ in range(2):
        run_job(Job.objects.create(kind="analysis", study_id=study.pk))

    assert Report.objects.filter(study=study).count() == 1


def test_names_of_systems_are_never_markup(staff_client: Client, study: Study) -> None:
    rate(study)
    keep_report(study, systems=("<b>one</b>", '"><script>alert(1)</script>'))

    html = staff_client.get(page("study-results", study)).content.decode()

    assert "<b>one" not in html
    assert "<script>alert" not in html
    assert "&lt;b&gt;one&lt;/b&gt;" in html


def test_report_without_a_counted_rating_is_shown_too(staff_client: Client, study: Study) -> None:
    report = keep_report(study)
    report.content["kept"] |= {"criteria": [], "raters": {"columns": [], "rows": []}}
    report.save()

    assert staff_client.get(page("study-results", study)).status_code == 200


def test_viewers_read_and_editors_compute(study: Study) -> None:
    rate(study)
    given = {
        role: member(study, role).post(page("study-results-compute", study)).status_code
        for role in ("owner", "editor", "viewer")
    }

    assert given == {"owner": 302, "editor": 302, "viewer": 403}
    assert member(study, "viewer").get(page("study-results", study)).status_code == 200


def test_report_of_other_methods_is_out_of_date(
    staff_client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate(study)
    keep_report(study)

    monkeypatch.setattr("evalsite.results.report.computation.METHODS_VERSION", "another")

    assert not staff_client.get(page("study-results", study)).context["newest"].is_current


@pytest.mark.slow
def test_every_output_can_be_saved_with_its_averages(staff_client: Client, study: Study) -> None:
    rate(study)
    run_job(Job.objects.create(kind="analysis", study_id=study.pk))

    sent = staff_client.get(page("report-file", study, "outputs.csv")).text

    rows = list(csv.DictReader(io.StringIO(sent)))
    assert len(rows) == 6  # two items of three outputs
    # the factory's scores: 50, 51 and 52 for every rater and item
    assert {(row["n"], row["mean"]) for row in rows} == {("3", f"{one}.0") for one in (50, 51, 52)}


# --- parts --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_results_are_computed_by_a_job_and_then_shown(
    staff_client: Client, study: Study, drawings: None
) -> None:
    rate(study)

    staff_client.post(page("study-results-compute", study))
    waiting = staff_client.get(page("study-results", study))
    run_job(Job.objects.get(kind="analysis"))
    after = staff_client.get(page("study-results", study)).text

    assert is_watched(waiting)
    # the factory's scores: 50, 51 and 52 for every rater and item
    assert all(score in after for score in ("50.0", "51.0", "52.0"))
    report = Report.objects.get()
    assert (report.folder / "charts" / "informativeness-systems.pdf").read_bytes()[:4] == b"%PDF"


def test_a_question_has_its_finding_tables_and_further_analyses_in_folds(
    staff_client: Client, study: Study
) -> None:
    rate(study)
    keep_report(study)

    html = staff_client.get(page("results-question", study, "informativeness")).text

    for words in ("Alpha is rated 1.50 times as high as beta", "105.0", "70.0 to 130.0", ".010",
                  "items have unequal numbers of ratings"):  # fmt: skip
        assert words in unescape(html).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(("query", "value"), [("", "105.0"), ("?people=everyone", "88.0")])
def test_everyone_included_is_another_view_of_the_same_report(
    staff_client: Client, study: Study, query: str, value: str
) -> None:
    rate(study)
    everything = make_content()
    everything["criteria"][0]["systems"][0]["headline"]["value"] = 88.0
    keep_report(study, everything=everything)

    html = staff_client.get(page("study-results", study) + query).text

    assert f"<b>{value}" in html or f">{value} (" in html


def test_the_first_look_is_told_with_the_top_up_after_it(
    staff_client: Client, study: Study
) -> None:
    keep_report(study)
    job = Job.objects.create(kind="analysis", study_id=study.pk, state="done", finished_at=now())
    AuditEntry.objects.record(TOP_UP_ACTION, by=None, study_id=study.pk, items=2, slots=3)
    AuditEntry.objects.record(FITTED, by=None, study_id=study.pk, k=4, added=5)

    assert find_first_look(study) == Look(at=job.finished_at, answers=0, asked_later=8)


def test_results_that_were_first_there_after_closing_are_no_early_look(study: Study) -> None:
    study.closed_at = now()
    Job.objects.create(kind="analysis", study_id=study.pk, state="done", finished_at=now())

    late = find_first_look(study)
    study.closed_at = now()
    early = find_first_look(study)

    assert late is None
    assert early is not None


def test_raters_from_the_study_that_is_repeated_are_found(make_study: Any) -> None:
    original, repeat = make_study(items=1), make_study(items=1)
    AnalysisPlan.objects.create(study=repeat, repeats=original)
    for study, people in ((original, "ab"), (repeat, "bc")):
        launch(study)
        for name in people:
            person = make_annotator(study)
            answer_item(person, study.items.main().get())
            ParticipantMark.objects.create(study=study, participant=person, digest=name * 64)

    assert find_raters_met(repeat) == RatersMet(number=1, raters=2)
    assert find_raters_met(original) is None
