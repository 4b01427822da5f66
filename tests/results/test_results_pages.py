"""The results page shows the newest report, says when it is old, and sends what it is made of."""

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.jobs.models import Job
from evalsite.jobs.services import run_job
from evalsite.quality.models import Exclusion
from evalsite.results.models import Report
from evalsite.results.report.parts import describe_basis, list_parts, show_part
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member
from tests.support.browsing import is_watched
from tests.support.exports import annotate, main_items
from tests.support.factories import make_study as build_study
from tests.support.factories import make_user
from tests.support.reports import SVG, keep_report, make_content


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


def test_study_without_answers_says_what_to_do(staff_client: Client, study: Study) -> None:
    html = staff_client.get(page("study-results", study)).content.decode()

    assert "There are no answers yet" in html
    assert "Compute results" not in html


@pytest.mark.slow
def test_results_are_computed_by_a_job_and_then_shown(
    staff_client: Client, study: Study, drawings: None
) -> None:
    rate(study)
    before = staff_client.get(page("study-results", study)).content.decode()

    staff_client.post(page("study-results-compute", study))
    waiting = staff_client.get(page("study-results", study))
    run_job(Job.objects.get(kind="analysis"))
    after = staff_client.get(page("study-results", study)).content.decode()

    assert "Compute results" in before
    assert is_watched(waiting)
    assert "From 18 ratings by 3 participants" in after
    # a table is read at a glance: a name and five figures at most, but for the main two
    part = show_part(Report.objects.get(), "")
    further = [one for one, _ in part.blocks if not one.name.endswith(("-systems", "-pairs"))]
    assert max(len(table.columns) for table in further) <= 6
    # the factory's scores: 50, 51 and 52 for every rater and item
    assert all(score in after for score in ("50.0", "51.0", "52.0"))
    assert "Compute again" not in after


def test_page_of_a_criterion_says_on_how_many_ratings_it_rests(
    staff_client: Client, study: Study
) -> None:
    rate(study, people=1)
    content = make_content()
    content["data"] |= {"ratings": 36, "participants": 8}
    keep_report(study, **content)

    address = f"{page('study-results', study)}?part=informativeness"
    results = staff_client.get(address).content.decode()

    assert "From 12 ratings of this criterion (36 in all by 8 participants)," in results


def test_preference_counts_once_though_it_is_of_two_systems() -> None:
    criterion = make_content()["criteria"][0] | {"kind": "preference"}
    found = make_content(criteria=[criterion])
    found["data"]["ratings"] = 12

    assert describe_basis(found, criterion["key"]) == "6 ratings of this criterion (12 in all)"
    assert describe_basis(found, "raters") == "12 ratings"


def test_analysis_that_failed_says_why_and_can_be_started_again(
    staff_client: Client, study: Study
) -> None:
    rate(study)
    Job.objects.create(kind="analysis", study_id=study.pk, state="failed", message="No room left.")

    html = staff_client.get(page("study-results", study)).content.decode()

    assert "No room left." in html
    assert "Compute results" in html
    staff_client.post(page("study-results-compute", study))
    assert Job.objects.filter(kind="analysis", state="waiting").exists()


@pytest.mark.slow
def test_same_data_are_not_computed_twice(study: Study) -> None:
    rate(study)

    for _ in range(2):
        run_job(Job.objects.create(kind="analysis", study_id=study.pk))

    assert Report.objects.filter(study=study).count() == 1


def test_report_of_earlier_data_says_so(staff_client: Client, study: Study) -> None:
    rate(study)
    keep_report(study)
    person = study.participants.first()  # type: ignore[attr-defined]

    assert b"have changed since" not in staff_client.get(page("study-results", study)).content
    Exclusion.objects.create(study=study, participant=person, reason="A test")

    html = staff_client.get(page("study-results", study)).content.decode()
    assert "have changed since" in html
    assert "Compute again" in html


def test_figures_reasons_and_warnings_stand_on_the_page(staff_client: Client, study: Study) -> None:
    rate(study)
    keep_report(study)

    html = staff_client.get(f"{page('study-results', study)}?part=informativeness").content.decode()

    summary = staff_client.get(page("study-results", study)).content.decode()
    assert "With 3 raters the intervals are wide" in summary
    for words in ("alpha is rated 1.50 times as high as beta", "105.0", "70.0 to 130.0", ".010",
                  "items have unequal numbers of ratings",
                  "a term for the place of an output on the page."):  # fmt: skip
        assert words in html


def test_names_of_systems_are_never_markup(staff_client: Client, study: Study) -> None:
    rate(study)
    keep_report(study, systems=("<b>one</b>", '"><script>alert(1)</script>'))

    html = staff_client.get(page("study-results", study)).content.decode()

    assert "<b>one" not in html
    assert "<script>alert" not in html
    assert "&lt;b&gt;one&lt;/b&gt;" in html


def test_results_stand_beside_those_with_what_is_excluded(
    staff_client: Client, study: Study
) -> None:
    rate(study)
    everything = make_content()
    everything["criteria"][0]["systems"][0]["headline"]["value"] = 88.0
    keep_report(study, everything=everything)

    html = staff_client.get(f"{page('study-results', study)}?part=informativeness").content.decode()

    assert "without and with what is excluded" in html
    assert "88.0" in html


def test_report_without_a_counted_rating_is_shown_too(staff_client: Client, study: Study) -> None:
    report = keep_report(study)
    report.content["kept"] |= {"criteria": [], "raters": {"columns": [], "rows": []}}
    report.save()

    assert staff_client.get(page("study-results", study)).status_code == 200


def test_raters_have_a_part_of_their_own(staff_client: Client, study: Study) -> None:
    rate(study)
    keep_report(study)

    html = staff_client.get(f"{page('study-results', study)}?part=raters").content.decode()

    assert all(
        words in html for words in ("p-one", "Median seconds", "21.0", "too little time to read")
    )


def test_figures_of_a_table_are_sent_with_every_digit(staff_client: Client, study: Study) -> None:
    report = keep_report(study)
    args = (report.pk, "informativeness", "informativeness-systems")

    response = staff_client.get(page("study-results-table", study, *args))

    rows = list(csv.DictReader(io.StringIO(response.content.decode(), newline="")))
    first = next(row for row in rows if row["figure"] == "geometric_mean")
    known = {"system": "alpha", "value": "105.0", "low": "70", "high": "130", "level": "0.95",
             "n_raters": "2", "method": "made up", "seed": "1", "draws": "2000", "reason": "",
             "interval": "bootstrap_of_items_and_raters"}  # fmt: skip
    assert {key: first[key] for key in known} == known
    assert "attachment" in response["Content-Disposition"]


def test_every_table_has_its_figures_as_a_file_and_says_how_they_were_computed(
    staff_client: Client, study: Study
) -> None:
    report = keep_report(study, everything=make_content())

    for key, _ in list_parts(report.content):
        html = staff_client.get(f"{page('study-results', study)}?part={key}").content.decode()
        tables = [table for table, _ in show_part(report, key).blocks]
        for table in tables:
            link = page("study-results-table", study, report.pk, key, table.name)
            sent = staff_client.get(link).content.decode()
            assert link in html
            assert not re.search("[−–%]|< ", sent)  # numbers, not words for them
        assert html.count("<summary>How this was computed</summary>") == len(tables)


def test_way_of_a_figure_names_method_interval_draws_seed_and_what_went_in(
    staff_client: Client, study: Study
) -> None:
    keep_report(study)

    html = staff_client.get(f"{page('study-results', study)}?part=informativeness").content.decode()

    assert (
        "Geometric mean: made up. 95% interval: bootstrap over items and "
        "raters, percentile "
        "(2,000 draws, seed 1). From 6 ratings, 2 raters."
    ) in html
    assert (
        "Ratings per output, median: made up. No interval"
        in staff_client.get(f"{page('study-results', study)}?part=design").content.decode()
    )


def test_drawing_is_shown_or_saved(staff_client: Client, study: Study) -> None:
    report = keep_report(study)
    name = "informativeness-systems"

    shown = staff_client.get(page("study-results-drawing", study, report.pk, name, "svg"))
    saved = staff_client.get(page("study-results-drawing", study, report.pk, name, "pdf"))

    assert (shown.getvalue(), shown["Content-Type"]) == (SVG, "image/svg+xml")
    assert "attachment" not in shown["Content-Disposition"]
    assert "attachment" in saved["Content-Disposition"]


@pytest.mark.parametrize(("name", "kind"), [("other", "svg"), ("informativeness-systems", "json")])
def test_only_drawings_of_the_report_are_sent(
    staff_client: Client, study: Study, name: str, kind: str
) -> None:
    report = keep_report(study)

    response = staff_client.get(page("study-results-drawing", study, report.pk, name, kind))

    assert response.status_code == 404


def test_report_of_another_study_is_not_found(staff_client: Client, study: Study) -> None:
    foreign = keep_report(build_study(by=make_user("stranger")))

    for pk in (foreign.pk, uuid4()):
        assert staff_client.get(page("study-results-report", study, pk)).status_code == 404


def test_all_digits_are_sent_as_data(staff_client: Client, study: Study) -> None:
    report = keep_report(study)

    response = staff_client.get(page("study-results-report", study, report.pk))

    data = json.loads(response.content)
    assert data["kept"] == report.content["kept"]
    assert data["ratings_sha256"] == "5" * 64


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

    assert b"Compute again" in staff_client.get(page("study-results", study)).content


@pytest.mark.slow
def test_every_output_can_be_saved_with_its_averages(staff_client: Client, study: Study) -> None:
    rate(study)
    run_job(Job.objects.create(kind="analysis", study_id=study.pk))
    report = Report.objects.get(study=study)

    link = page("study-results-outputs", study, report.pk)
    html = staff_client.get(page("study-results", study)).content.decode()
    sent = b"".join(staff_client.get(link).streaming_content).decode()  # type: ignore[attr-defined]

    assert link in html
    rows = list(csv.DictReader(io.StringIO(sent)))
    assert len(rows) == 6  # two items of three outputs
    # the factory's scores: 50, 51 and 52 for every rater and item
    assert {(row["n"], row["mean"]) for row in rows} == {("3", f"{one}.0") for one in (50, 51, 52)}


def test_report_without_a_table_of_outputs_does_not_offer_one(
    staff_client: Client, study: Study
) -> None:
    rate(study)
    report = keep_report(study)

    html = staff_client.get(page("study-results", study)).content.decode()
    gone = staff_client.get(page("study-results-outputs", study, report.pk))

    assert "outputs.csv" not in html
    assert gone.status_code == 404
