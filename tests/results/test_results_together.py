"""The part of the results across criteria: what was ignored, what to look at again, and notes."""

import csv
import io
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from evalsite.results.report.html_document import write_page
from evalsite.results.report.latex_document import list_files, write_fragment, write_further
from evalsite.results.report.person_tables import tabulate_contradictions

from evalsite.results.models import Report
from evalsite.studies.models import Study
from tests.support.reports import keep_report, make_content, make_figure

_BOTH = ["informativeness", "fun_key"]


@pytest.fixture
def study(make_study: Any) -> Study:
    made: Study = make_study(items=2)
    person = made.participants.create()  # type: ignore[attr-defined]
    made.participants.filter(pk=person.pk).update(pseudonym="p-one")  # type: ignore[attr-defined]
    return made


@pytest.fixture
def report(study: Study) -> Report:
    share = make_figure("share_ignored", 2 / 3, low=0.2, high=0.9, n={"answers": 3, "hits": 2})
    criterion = make_content()["criteria"][0]
    named = criterion | {"label": "USE & INFORMATION"}
    undropped = make_content()["criteria"][0]
    undropped["systems"][0]["headline"]["value"] = 66.6
    why = "rejected, though every score is 6 or more"
    other = named | {"key": "fun_key", "label": "Fun for all"}
    against = {"annotation": "a-1", "participant": "p-one", "item": "item-7", "system": "alpha",
               "why": why, "scores": {"fit": 7.0}}  # fmt: skip
    together = {
        "correlations": [make_figure("criteria_spearman", 0.9, details={"criteria": _BOTH})],
        "decision": [make_figure("mean_accepted", 5.5, details={"criteria": _BOTH[:1]}),
                     make_figure(why, 3.0)],
        "cronbach": make_figure("cronbach_alpha", 0.97),
        "contradictions": [against] * 130,
        "ignore": [share],
        "ignored_items": [{"item": f"item-{n}", "share": share, "is_dropped": n == 0}
                          for n in range(25)],
        "ignored_raters": [{"participant": "p-one", "share": share}],
    }  # fmt: skip
    likeness = {"code": "too_alike", "criterion": "together",
                "facts": {"pairs": [{"labels": ["fit", "fun"], "correlation": 0.9}]}}  # fmt: skip
    return keep_report(
        study,
        together=together,
        warnings=[likeness],
        criteria=[named | {"undropped": undropped}, other],
    )


def read(client: Client, study: Study, part: str = "together") -> str:
    address = reverse("admin:study-results", args=[study.pk])
    return client.get(f"{address}?part={part}").content.decode()


def read_file(client: Client, study: Study, report: Report, name: str) -> list[dict[str, str]]:
    address = reverse("admin:study-results-table", args=[study.pk, report.pk, "together", name])
    return list(csv.DictReader(io.StringIO(client.get(address).content.decode(), newline="")))


def test_decisions_to_look_at_again_lead_to_who_made_them_and_are_all_in_the_file(
    staff_client: Client, study: Study, report: Report
) -> None:
    html = read(staff_client, study)
    rows = read_file(staff_client, study, report, "contradictions")

    link = reverse("admin:study-person", args=[study.pk, "p-one"])
    assert f'<a href="{link}">p-one</a>' in html
    assert staff_client.get(link).status_code == 200
    assert "130 to look at again, the first 100 shown here, all in the file" in html
    assert html.count("Rejected, though every score is 6 or more.") == 100
    assert len(rows) == 130
    assert (rows[0]["Participant"], rows[0]["Item"]) == ("p-one", "item-7")


def test_a_list_that_the_analysis_cut_is_not_said_to_be_whole() -> None:
    why = "rejected, though every score is 6 or more"
    against = {"annotation": "a-1", "item": "item-7", "system": "alpha", "why": why, "scores": {}}
    decision = [make_figure("mean_accepted", 5.5), make_figure(why, 1234.0)]
    content = make_content(together={"contradictions": [against] * 1000, "decision": decision})

    table = tabulate_contradictions(content, uuid4())

    assert table.words.startswith(
        "1,234 to look at again, the first 100 shown here, the first 1,000 in the file."
    )


def test_what_was_ignored_stands_by_item_and_by_participant(
    staff_client: Client, study: Study, report: Report
) -> None:
    html = read(staff_client, study)
    items = read_file(staff_client, study, report, "ignored-items")
    people = read_file(staff_client, study, report, "ignored-raters")

    assert "more than half of those who rated or ignored it ignored it: 1 of 25 here" in html
    assert "item-19" in html
    assert "item-20" not in html
    assert [row["item"] for row in items if row["left_out"] == "yes"] == ["item-0"]
    assert len(items) == 25
    assert people[0]["participant"] == "p-one"
    assert float(people[0]["value"]) == pytest.approx(2 / 3)


def test_results_with_the_items_that_most_ignored_stand_beside(
    staff_client: Client, study: Study, report: Report
) -> None:
    html = read(staff_client, study, "informativeness")

    assert "without and with the items that most ignored" in html
    assert "66.6" in html


def test_likeness_and_the_note_on_scales_stand_in_every_form_of_the_report(
    staff_client: Client, study: Study, report: Report
) -> None:
    page = write_page(study, report, is_further=True)
    fragment = write_fragment(study, report) + write_further(study, report)

    for text in (read(staff_client, study), page, fragment):
        assert "Raters may not tell these criteria apart (Spearman" in text
    for text in (read(staff_client, study), page):
        assert "Each criterion is a Likert item: one question." in text
    assert "that the mean of the criteria measures one thing is assumed, not shown" in fragment
    assert "@inproceedings{amidei2019," in list_files(study, report)["references.bib"].decode()
    # who ignored what and who is to be looked at stays on the site
    assert "p-one" not in page + fragment


@pytest.mark.both_databases
def test_criteria_stand_by_their_labels_on_pages_and_by_their_keys_in_files(
    staff_client: Client, study: Study, report: Report
) -> None:
    page = read(staff_client, study)
    html = write_page(study, report, is_further=True)
    fragment = write_further(study, report)
    correlated = read_file(staff_client, study, report, "correlations")
    decided = read_file(staff_client, study, report, "decision")

    for text in (page, html):
        assert "USE &amp; INFORMATION : Fun for all" in text
        assert "USE &amp; INFORMATION: mean where accepted" in text
    assert r"USE \& INFORMATION : Fun for all" in fragment
    assert r"USE \& INFORMATION: mean where accepted" in fragment.replace("\n", " ")
    for text in (page, html, fragment):
        assert "fun_key :" not in text.lower()
        assert ": fun_key" not in text.lower()
    assert [correlated[0][f"criterion_{number}"] for number in (1, 2)] == _BOTH
    assert [row["criterion_1"] for row in decided] == ["informativeness", ""]
