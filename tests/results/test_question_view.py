"""The page of a question on the site: what it shows in each state, its files, its queries."""

import csv
import io
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.decisions.exclusions import exclude
from evalsite.handout.models import Rating
from evalsite.studies.models import Study
from tests.site.test_staff_pages import answer
from tests.support.factories import launch, make_annotator, make_user
from tests.support.instruments import make_built_study
from tests.support.planned import make_planned_study
from tests.support.reports import keep_report, make_content, make_pair, make_points
from tests.support.stored_reports import LIKERT, ask, make_instrument

pytestmark = pytest.mark.django_db


def page(study: Study, key: str) -> str:
    return reverse("admin:results-question", args=[study.pk, key])


def make_asked(*criteria: dict[str, Any], items: int = 2, **fields: Any) -> Study:
    """Return a live study that asks these questions of one output an item."""
    from tests.support.stored_reports import add_items  # noqa: PLC0415

    study = make_built_study(make_instrument(*criteria), **fields)
    add_items(study, ["a", "b"], items)
    return launch(study)


@pytest.fixture
def study() -> Study:
    return make_asked(ask("fluency", "Fluency", LIKERT), ask("tone", "Tone", LIKERT))


def test_answers_are_not_put_in_quotes_as_they_may_have_some(staff_client: Client) -> None:
    points = [{"value": value, "label": f"“{value} of 4”"} for value in range(1, 5)]
    study = make_asked(ask("fluency", "Fluency", {"kind": "likert", "points": points}))

    html = staff_client.get(page(study, "fluency")).text

    assert 'From <b dir="auto">1: “1 of 4”</b> to <b dir="auto">4: “4 of 4”</b>.' in html


def test_the_headline_is_what_was_found(staff_client: Client, study: Study) -> None:
    keep_report(study, criteria=[make_points(make_pair("a", "b", "higher"))])

    html = staff_client.get(page(study, "fluency")).text

    heading = re.search(r"<h1>(.*?)</h1>", html)
    assert heading
    assert heading[1].startswith("Fluency: ")
    for anchor in ("systems", "comparisons", "agreement", "further"):
        assert f'id="{anchor}"' in html


@pytest.mark.parametrize("key", ["items", "comments", "raters", "tables"])
def test_a_question_may_be_called_like_a_page_of_results(staff_client: Client, key: str) -> None:
    study = make_asked(ask(key, "Odd", LIKERT))
    keep_report(study, criteria=[make_points(make_pair("a", "b", "higher"), key=key)])

    assert "Odd" in staff_client.get(page(study, key)).text
    assert staff_client.get(page(study, key)).context["title"]


def test_a_question_without_answers_says_so(staff_client: Client, study: Study) -> None:
    before = staff_client.get(page(study, "tone"))
    keep_report(study, criteria=[make_points(make_pair("a", "b", "higher"))])
    after = staff_client.get(page(study, "tone"))

    for response in (before, after):
        assert response.status_code == 200
        assert "title" not in response.context
        assert "Nobody has answered this question yet" in response.text


def test_a_question_that_the_study_doesnt_ask_has_no_page(
    staff_client: Client, study: Study
) -> None:
    assert staff_client.get(page(study, "variety")).status_code == 404


def test_a_free_text_shows_what_people_wrote(staff_client: Client) -> None:
    study = make_asked(ask("reason_given", "Why", {"kind": "text"}))
    texts = ["<b>Fine</b>", "Too long", "Odd"]
    for text in texts:
        given = answer(study, study.items.main()[0])
        Rating.objects.create(study=study, annotation=given, criterion="reason_given", text=text)

    response = staff_client.get(page(study, "reason_given"))

    assert response.context["count"] == 3
    assert [one["text"] for one in response.context["comments"]] == texts[:0:-1]
    assert "<b>Fine</b>" not in response.text


def test_everyone_is_another_view_of_the_same_page(staff_client: Client, study: Study) -> None:
    exclude(study=study, participants=[make_annotator(study)], reason="Too fast", by=make_user())
    everything = make_content(criteria=[make_points(make_pair("a", "b", "higher"))])
    keep_report(
        study, everything=everything, criteria=[make_points(make_pair("a", "b", "not_enough"))]
    )

    kept = staff_client.get(page(study, "fluency"))
    whole = staff_client.get(f"{page(study, 'fluency')}?people=everyone")

    assert (kept.context["everyone"], whole.context["everyone"]) == (False, True)
    assert kept.context["title"] != whole.context["title"]


# --- hidden -------------------------------------------------------------------------------------


def test_while_results_are_hidden_the_page_leads_to_the_form_that_reveals_them(
    staff_client: Client,
) -> None:
    study = make_planned_study()
    report = keep_report(study)
    key = report.content["kept"]["criteria"][0]["key"]
    table = reverse("admin:results-question-table", args=[study.pk, key, f"{key}-systems", "csv"])

    for address in (page(study, key), f"{page(study, key)}?people=everyone", table):
        response = staff_client.get(address)
        assert response.status_code == 302
        assert response["Location"].endswith("#reveal")


# --- files --------------------------------------------------------------------------------------


def test_each_table_is_a_file_with_every_digit(staff_client: Client, study: Study) -> None:
    keep_report(study, criteria=[make_points(make_pair("a", "b", "higher"))])
    html = staff_client.get(page(study, "fluency")).text

    links = re.findall(r'href="([^"]+\.(?:csv|tex))"', html)
    assert len(links) == 4
    for link in links:
        assert "attachment" in staff_client.get(link)["Content-Disposition"]
    sent = staff_client.get(links[0]).text
    (first, *_) = csv.DictReader(io.StringIO(sent, newline=""))
    assert (first["System"], first["Mean (95% CI), low"]) == ("a", "2.9")
    assert r"\begin{tabular}" in staff_client.get(links[-1]).text


def test_a_table_that_isnt_there_is_not_found(staff_client: Client, study: Study) -> None:
    keep_report(study, criteria=[make_points()])

    for name, kind in (("x", "csv"), ("fluency-systems", "tex"), ("tables", "csv")):
        address = reverse("admin:results-question-table", args=[study.pk, "fluency", name, kind])
        assert staff_client.get(address).status_code == 404


# --- growth -------------------------------------------------------------------------------------


def count_queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert client.get(address).status_code == 200
    return len(asked)


def test_a_page_takes_as_many_queries_for_many_systems_and_people(staff_client: Client) -> None:
    counts = []
    for number in (2, 40):
        study = make_asked(ask("fluency", "Fluency", LIKERT), title=f"Of {number}")
        people = [make_annotator(study) for _ in range(number)]
        for person in people:
            given = answer(study, study.items.main()[0], by=person)
            Rating.objects.create(
                study=study, annotation=given, criterion="fluency", part="comment", text="Hm"
            )
        first = make_points()["systems"][0]
        systems = [first | {"system": f"s{place}"} for place in range(number)]
        pairs = [make_pair("s0", f"s{place}", "not_enough") for place in range(1, number)]
        keep_report(study, criteria=[make_points(*pairs, systems=systems)])
        counts.append(count_queries(staff_client, page(study, "fluency")))

    assert counts[0] == counts[1] <= 15
