"""The page of raters: agreement, people, flags; while results are hidden it names no system."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.decisions.people_figures import store_figures
from evalsite.results.document.blocks import Document, Heading, Table
from evalsite.results.report.sections import make_document
from evalsite.results.report.sections.people import (
    head_agreement,
    list_further_of_people,
    tabulate_agreements,
)
from evalsite.studies.models import Study
from tests.support.factories import make_study
from tests.support.planned import SCORES, add_person, make_planned_study
from tests.support.reports import keep_report, make_content, make_figure, make_points, make_source

pytestmark = pytest.mark.django_db


def page(study: Study) -> str:
    return reverse("admin:results-raters", args=[study.pk])


def of(*alphas: float, **data: int) -> Any:
    criteria = [
        make_points(agreement=[make_figure("alpha_ordinal", alpha)])
        | {"key": f"q{place}", "label": f"Question {place}"}
        for place, alpha in enumerate(alphas)
    ]
    content = make_content(criteria=criteria)
    return make_source(content | {"data": content["data"] | data})


def test_the_headline_has_each_alpha_of_up_to_three_questions() -> None:
    for alphas, words in (
        ((0.58, 0.61, 0.34), "α .58, .61 and .34"),
        ((0.58, 0.61, 0.34, 0.5), "α .34 to .61"),
    ):
        assert words in head_agreement(of(*alphas))


def test_one_person_agrees_with_nobody() -> None:
    assert "can’t be measured" in head_agreement(of(0.58, participants=1))


def test_figures_of_agreement_are_in_the_document() -> None:
    source = of(0.58, 0.61)
    known = {(one.name, one.group, one.value) for one in make_document(source).figures}
    table = tabulate_agreements(source, lambda key: f"/{key}/")

    assert table is not None
    figures = Document("", [table]).figures
    assert len(figures) == 2
    assert {(one.name, one.group, one.value) for one in figures} <= known


def test_a_matrix_shows_at_most_twelve_people_those_with_flags_first() -> None:
    names = [f"p-{number:02}" for number in range(30)]
    kappas = {"raters": names, "values": [[0.5] * 30 for _ in names]}
    content = make_content(criteria=[make_points(kappas=kappas)])
    content["raters"]["rows"][0] |= {"participant": "p-29"}
    blocks = list(list_further_of_people(make_source(content), is_blind=False))

    table = Document("", blocks).find_table("fluency-matrix")

    assert table is not None
    assert len(table.rows) == 12
    assert table.rows[-1][0] == "p-29"


def test_every_fold_of_people_stands_on_pages_only() -> None:
    blocks = list(list_further_of_people(of(0.58), is_blind=False))

    assert {block.place for block in blocks} == {"page"}
    assert all(block.level == 3 for block in blocks if isinstance(block, Heading))


def test_people_flags_and_agreement_are_on_the_page(staff_client: Client) -> None:
    study = make_planned_study(hides_results=False)
    people = [add_person(study) for _ in range(3)]
    store_figures(study)
    keep_report(study)

    response = staff_client.get(page(study))

    assert response.context["total"] == 3
    assert len(response.context["reach"]) == 5
    for person in people:
        assert reverse("admin:study-person", args=[study.pk, person.pseudonym]) in response.text


def test_before_anybody_rated_the_page_says_so(staff_client: Client) -> None:
    response = staff_client.get(page(make_study(items=2)))

    assert response.status_code == 200
    assert "Nobody has rated yet" in response.text


def test_while_results_are_hidden_the_page_names_no_system(staff_client: Client) -> None:
    study = make_planned_study()
    add_person(study)
    store_figures(study)
    names = list(SCORES)[:2]
    contradictions = [{"participant": "p", "item": "i", "system": names[0], "why": "rejected",
                       "scores": {}}]  # fmt: skip
    content = make_content(systems=(names[0], names[1]))
    together = content["together"] | {"contradictions": contradictions}
    keep_report(study, systems=tuple(names), together=together)

    response = staff_client.get(page(study))

    assert response.status_code == 200
    assert [name for name in SCORES if name in response.text] == []


def count_queries(client: Client, study: Study) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(page(study)).status_code == 200
    return len(asked)


def test_a_page_takes_as_many_queries_for_many_people(staff_client: Client) -> None:
    counts = []
    for number in (2, 20):
        study = make_planned_study(hides_results=False, title=f"Of {number}", items=1)
        for _ in range(number):
            add_person(study)
        store_figures(study)
        rows = [
            make_content()["raters"]["rows"][0] | {"participant": f"p-{place}"}
            for place in range(number * 10)
        ]
        keep_report(study, raters=make_content()["raters"] | {"rows": rows})
        counts.append(count_queries(staff_client, study))

    assert counts[0] == counts[1] <= 15


def test_figures_of_many_people_are_cut(staff_client: Client) -> None:
    rows = [
        make_content()["raters"]["rows"][0] | {"participant": f"p-{place}"} for place in range(200)
    ]
    content = make_content(raters=make_content()["raters"] | {"rows": rows})
    blocks = list(list_further_of_people(make_source(content), is_blind=False))

    assert all(len(block.rows) <= 50 for block in blocks if isinstance(block, Table))
