"""The chart of pace and agreement, and people whom the newest report flags."""

from typing import Any

import pytest
from django.urls import reverse

from evalsite.quality.exclusions import exclude
from evalsite.results.people.scatter import draw_scatter
from evalsite.studies.models import Study
from tests.support.factories import make_participant, make_study
from tests.support.reports import keep_report, make_content, make_figure

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture(autouse=True)
def _own_folder(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path


def make_row(pseudonym: str, seconds: float, *agreements: float, is_flagged: bool = False) -> dict:
    figures = {"median_seconds": make_figure("median_seconds", seconds)}
    for number, value in enumerate(agreements):
        figures[f"c{number}: spearman"] = make_figure("spearman", value)
    flag = make_content()["raters"]["rows"][0]["flags"][0]
    return {
        "participant": pseudonym, "n": 6, "figures": figures,
        "flags": [flag] if is_flagged else [],
    }  # fmt: skip


def report_on(study: Study, *rows: dict):
    columns = make_content()["raters"]["columns"]
    return keep_report(study, raters={"columns": columns, "rows": list(rows)})


def test_points_lie_by_pace_and_mean_agreement():
    report = report_on(make_study(items=1), make_row("p-a", 10, 0.2, 0.4), make_row("p-b", 30, 0.9))

    scatter = draw_scatter(report, flagged=["p-a"], excluded=[])

    assert scatter is not None
    other, flagged = scatter.points
    assert (flagged.pseudonym, flagged.kind, flagged.agreement) == ("p-a", "flagged", ".30")
    assert float(flagged.x) < float(other.x)
    assert float(flagged.y) > float(other.y)  # further down


def test_people_without_a_figure_are_left_out_and_one_alone_makes_no_chart():
    report = report_on(make_study(items=1), make_row("p-a", 10, 0.2), make_row("p-b", 30))

    assert draw_scatter(report, flagged=[], excluded=[]) is None
    assert draw_scatter(None, flagged=[], excluded=[]) is None


def test_of_very_many_people_only_the_flagged_are_points():
    rows = [make_row(f"p-{number}", 20 + number % 30, 0.5) for number in range(301)]
    report = report_on(make_study(items=1), *rows)

    scatter = draw_scatter(report, flagged=["p-7"], excluded=["p-8"])

    assert scatter is not None
    assert {point.pseudonym for point in scatter.points} == {"p-7", "p-8"}
    assert scatter.others == 299


def test_flagged_people_come_first_and_are_counted_in_the_headline(staff_client):
    study = make_study(items=1)
    people = [make_participant(study) for _ in range(3)]
    first, second, third = (person.pseudonym for person in people)
    report_on(
        study,
        make_row(first, 10, 0.2, is_flagged=True),
        make_row(second, 30, 0.5, is_flagged=True),
        make_row(third, 30, 0.5),
    )
    exclude(study=study, participants=[people[1]], reason="Too fast", by=None)

    page = staff_client.get(reverse("admin:study-people", args=[study.pk]))

    assert "1 of 3 people is flagged" in page.text
    listed = [person.participant.pseudonym for person in page.context["people"]]
    assert listed == [first, third, second]
    kinds = {point.pseudonym: point.kind for point in page.context["scatter"].points}
    assert kinds == {first: "flagged", second: "excluded", third: ""}


@pytest.mark.parametrize(
    ("people", "headline"), [(0, "Nobody has started yet"), (2, "2 people have started")]
)
def test_headline_without_a_report(staff_client, people, headline):
    study = make_study(items=1)
    for _ in range(people):
        make_participant(study)

    assert headline in staff_client.get(reverse("admin:study-people", args=[study.pk])).text
