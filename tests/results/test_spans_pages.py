"""Pages of results of a question of error spans."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.results.items.records import list_records
from evalsite.results.items.spread import find_limit, measure_records, read_counted
from evalsite.results.report.computation import compute_report, hide_systems
from evalsite.studies.models import Study
from tests.analysis.vectors import read_vector
from tests.support.factories import make_annotator
from tests.support.spans import answer_spans, answer_vector, make_content, make_spans_study

pytestmark = pytest.mark.django_db


def mark(start: int, end: int, severity: str = "minor", **more: str) -> dict[str, Any]:
    return {"start": start, "end": end, "category": "style", "severity": severity, **more}


def answer(study: Study, *people: list[dict[str, Any]]) -> None:
    for marks in people:
        answer_spans(make_annotator(study), study.items.get(key="i01/A"), marks)


def measure(study: Study) -> Any:
    (criterion,) = study.config.criteria
    systems = list(study.systems.order_by("name").values_list("pk", flat=True))
    (spread,) = measure_records(list_records(study), criterion, read_counted(study), systems)
    return spread


@pytest.mark.parametrize(
    ("first", "second", "apart", "is_wide"),
    [
        ([mark(0, 10)], [mark(0, 10)], 0, False),
        ([mark(0, 10)], [mark(20, 30)], 1, True),
        ([mark(0, 10)], [mark(5, 15)], 0.5, False),
        # 2 x 1 / 20: under .2
        ([mark(0, 10)], [mark(9, 19)], 0.9, True),
        ([], [], 0, False),
        ([mark(0, 10)], [], 1, True),
        # what weighs nothing is no error
        ([mark(0, 10, "neutral")], [], 0, False),
        # the same place of another text
        ([mark(0, 10)], [mark(0, 10, column="source")], 1, True),
        ([mark(80, 80)], [mark(80, 80)], 0, False),
    ],
)  # fmt: skip
def test_apart_is_1_minus_f1_of_what_two_people_marked(
    first: Any, second: Any, apart: float, is_wide: bool
) -> None:
    study = make_spans_study(items=1, systems="A")
    answer(study, first, second)

    spread = measure(study)

    assert spread.apart == pytest.approx(apart)
    assert spread.is_wide is is_wide
    assert find_limit(study.config.criteria[0].scale).unit == "places"


def test_difference_is_that_of_mean_penalties() -> None:
    study = make_spans_study(items=1, systems="AB")
    answer(study, [mark(0, 10, "major")], [mark(0, 10), mark(20, 30)])
    answer_spans(make_annotator(study), study.items.get(key="i01/B"), [])

    # the mean of 5 and 2, and 0
    assert measure(study).difference == 3.5


def test_pages_of_results_show_errors_and_places(staff_client: Client, researcher: Any) -> None:
    _, expected, _ = read_vector("spans__spans_errors")
    study = make_spans_study(by=researcher)
    answer_vector(study)
    compute_report(study)
    f1 = f"{expected['span_f1']['f1']:.2f}".removeprefix("0")

    question = staff_client.get(reverse("admin:results-question", args=[study.pk, "errors"])).text
    raters = staff_client.get(reverse("admin:results-raters", args=[study.pk])).text
    item = study.items.get(key="i01/B")
    read = staff_client.get(reverse("admin:results-item", args=[study.pk, item.pk])).text

    assert 'id="errors"' in question
    assert f"F1 {f1}" in re.sub("[\xa0\u202f]", " ", question)
    # categories of the vector, with their numbers: 11 errors of terminology in A
    assert "Terminology" in question
    assert "11 (0.37)" in question
    assert f1 in raters
    assert "Non translation" in read
    assert "Major" in read


def test_a_question_without_categories_has_no_table_of_them(
    staff_client: Client, researcher: Any
) -> None:
    content = make_content(categories=[], weights=[])
    study = make_spans_study(items=3, systems="AB", content=content, by=researcher)
    for item in study.items.all():
        for start in (0, 3):
            answer_spans(make_annotator(study), item, [mark(start, 10) | {"category": ""}])
    compute_report(study)

    page = staff_client.get(reverse("admin:results-question", args=[study.pk, "errors"])).text

    assert "errors-errors" in page
    assert "errors-categories" not in page
    assert "categor" not in re.sub(r"<nav.*?</nav>", "", page.lower(), flags=re.DOTALL)


def test_hidden_results_keep_agreement_on_places_and_no_system() -> None:
    study = make_spans_study()
    answer_vector(study)

    content = hide_systems(compute_report(study).content)

    spans = content["kept"]["criteria"][0]["spans"]
    assert spans["agreement"]
    assert (spans["systems"], spans["categories"], spans["severities"]) == ([], [], [])
