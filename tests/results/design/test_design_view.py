"""The page of the design: planned beside reached, for all members, in each state of a study."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.core.jobs.models import Job
from evalsite.handout.models import Slot
from evalsite.results.design import views
from evalsite.results.design.report import (
    BY_SYSTEM,
    Measure,
    Report,
    Row,
    Table,
    describe_missing,
    head_design,
    list_balance,
    report_design,
)
from evalsite.studies.models import Membership, Study
from tests.results.design.test_design_report import make_counted
from tests.site.test_staff_pages import HOSTILE, member, sign_in, url
from tests.support.factories import launch, make_study, make_user
from tests.support.planned import add_person, make_planned_study
from tests.support.reports import keep_report, make_content
from tests.support.rounds import make_round

pytestmark = pytest.mark.django_db


def read(client: Client, study: Study) -> Any:
    response = client.get(url("results-design", study))
    assert response.status_code == 200
    return response


def find_row(rows: list[dict[str, str]], what: str) -> tuple[str, str]:
    (row,) = [row for row in rows if row["what"] == what]
    return row["planned"], row["reached"]


# --- balance ------------------------------------------------------------------------------------


def test_the_page_shows_planned_beside_reached(staff_client: Client) -> None:
    page = read(staff_client, make_counted())

    rows = page.context["balance"]
    # one pair was answered twice, the other once
    assert find_row(rows, "Answers per pair") == ("2 on all 2 pairs", "1 to 2")
    assert find_row(rows, "The two sides, for one system") == ("equal", "equal to within 1")
    assert '<th scope="rowgroup" rowspan="2" class="es-words">b</th>' in page.text
    assert page.context["answers"] == 3


def make_report(*achieved: int, strays: int = 0, answers: int = 9) -> Report:
    rows = [
        Row(name=f"s{place}", planned=[183], achieved=[number])
        for place, number in enumerate(achieved)
    ]
    table = Table(caption=BY_SYSTEM, head="System", columns=["answers"], rows=rows, words="")
    return Report(
        study="", title="", facts=[], has_places=True, strays=strays, answers=answers,
        tables=[table], measures=[Measure(name="the answers of two items", planned=0, achieved=0)],
    )  # fmt: skip


def test_the_headline_names_the_system_that_is_behind() -> None:
    assert head_design(make_report(183, 169), is_complete=True) == "s1 is 14 answers behind"
    assert head_design(make_report(183, 181), is_complete=True) == "Balanced as planned"
    assert head_design(make_report(0, 0, answers=0), is_complete=False) == "No answers yet"
    assert head_design(make_report(30, 29), is_complete=False) == "Balanced so far"
    assert "3 places" in head_design(make_report(183, 183, strays=3), is_complete=True)


def test_answers_of_each_system_are_listed_or_as_a_range_of_many() -> None:
    for counts, words in (
        ((183, 183), "183 each"), ((183, 169), "183, 169"), (range(10, 17), "10 to 16"),
    ):  # fmt: skip
        assert (
            find_row(list_balance(make_report(*counts), "output"), "Answers per system")[1] == words
        )


def test_missing_answers_are_counted_by_system() -> None:
    none = {"system": "a", "shown": 20, "missing": 0, "share": 0.0}
    some = {"system": "b", "shown": 20, "missing": 5, "share": 0.25}

    whole = describe_missing([{"label": "Fluency", "missing_by_system": [none]}])
    parts = describe_missing([{"label": "Fluency", "missing_by_system": [none, some]}])

    assert whole["rows"] == []
    assert parts["words"].startswith("5 of 40 answers")
    assert [cell["share"] for cell in parts["rows"][0]["cells"]] == ["0%", "25%"]


def test_the_balance_is_counted_with_the_results_once_there_are_some(staff_client: Client) -> None:
    study = make_planned_study(items=4, hides_results=False)
    for _ in range(3):
        add_person(study)
    report = keep_report(study)
    design = report_design(study).as_dict()
    Job.objects.create(
        kind="analysis", study_id=study.pk, state=Job.State.DONE,
        result={"report": str(report.pk), "design": design},
    )  # fmt: skip

    page = read(staff_client, study)

    assert find_row(page.context["balance"], "Answers per item") == (
        # a place for each answer beside the five of each item
        "8 on all 4 items", "3 on all 4 items",
    )  # fmt: skip
    assert page.context["title"] == "Balanced so far"


# --- states -------------------------------------------------------------------------------------


def test_a_draft_shows_what_will_be_planned_and_how_many_people_it_takes(
    staff_client: Client,
) -> None:
    page = read(staff_client, make_study(items=4, k=3))

    assert page.context["is_draft"]
    assert any("3 places" in promise for promise in page.context["promises"])
    assert "can be finished by 3 people or more" in page.text


def test_a_design_that_cannot_be_finished_is_said_with_the_way_to_what_would_do(
    staff_client: Client,
) -> None:
    study = make_study(items=10, k=3, set_size=2, max_sets=1)
    make_round(study, "panel", places=14)
    viewer = make_user("viewer")
    Membership.objects.create(study=study, user=viewer, role="viewer")

    for client, has_link in ((staff_client, True), (sign_in(viewer), False)):
        page = read(client, study).text
        assert "Invite at least 15 people." in page
        # which is closed to viewers
        assert (f'<a href="{url("study-launch", study)}">' in page) == has_link


def test_a_study_without_items_says_what_to_do(staff_client: Client) -> None:
    assert "Upload a batch under Items" in read(staff_client, make_study(items=0)).text


def test_a_launched_study_without_answers_says_that_there_are_none(staff_client: Client) -> None:
    page = read(staff_client, launch(make_study()))

    assert "There are no answers yet." in page.text
    assert page.context["balance"]


def test_places_that_arent_those_of_the_seed_are_in_the_headline(staff_client: Client) -> None:
    study = launch(make_study(items=2))
    Slot.objects.filter(pk=Slot.objects.filter(study=study).first().pk).update(pos=99)

    assert read(staff_client, study).context["title"] == "1 place differs from the plan"


def test_very_many_places_wait_for_the_results(
    staff_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_COUNTED", 3)

    page = read(staff_client, make_counted())

    assert page.context["is_large"]
    assert "balance" not in page.context


# --- who, names, queries ------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["owner", "editor", "viewer"])
def test_every_member_sees_the_design_in_the_navigation(role: str) -> None:
    study = launch(make_study())
    address = url("results-design", study)

    page = member(study, role).get(address)

    assert page.status_code == 200
    assert f'<a href="{address}" aria-current="page">Design</a>' in page.text


def test_the_design_of_a_study_of_others_is_not_there() -> None:
    study = launch(make_study())

    assert sign_in(make_user("stranger")).get(url("results-design", study)).status_code == 404


def test_names_of_systems_are_shown_as_text(staff_client: Client) -> None:
    study = make_counted()
    study.systems.filter(name="b").update(name=HOSTILE)

    page = read(staff_client, study)

    assert "<script>alert" not in page.text
    assert "{{ 7|add:7 }}" in page.text


def count_queries(client: Client, study: Study) -> int:
    with CaptureQueriesContext(connection) as asked:
        read(client, study)
    return len(asked)


def test_a_page_takes_as_many_queries_for_few_items_and_systems_as_for_many(
    staff_client: Client,
) -> None:
    planned = [count_queries(staff_client, launch(make_study(items=items))) for items in (2, 40)]
    counts = []
    for number in (2, 20):
        study = make_planned_study(items=4, hides_results=False, title=f"Of {number}")
        for _ in range(max(number, 3)):
            add_person(study)
        names = [f"system-{place}" for place in range(number)]
        keep_report(study, data=make_content()["data"] | {"systems": names})
        counts.append(count_queries(staff_client, study))

    assert planned[0] == planned[1] <= 15
    assert counts[0] == counts[1] <= 15
