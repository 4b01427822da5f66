"""Ratings with a column for each person or item, for a study that exists."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsite.data.models import Upload
from evalsite.handout.models import Rating
from evalsite.studies.models import Study
from tests.data.ratings.test_rating_forms import check, count, make_study

pytestmark = pytest.mark.django_db

PEOPLE = """\
item,system,criterion,Anna,Ben,Zeit
q1,alpha,fluency,4,5,127
q1,alpha,adequacy,3,NA,80
q2,alpha,fluency,1,2,127
q2,alpha,adequacy,,5,80
"""
ITEMS = """\
participant,system,criterion,q1,q2,Alter
w1,alpha,fluency,4,5,5
w1,alpha,adequacy,2,1,5
w2,beta,fluency,3,3,4
w2,beta,adequacy,3,3,4
"""


def read_ratings(checked: Any) -> set[tuple[str, str, str, str, float]]:
    return {
        (answer.participant, rating.row.item, rating.row.system, key, rating.row.value)
        for answer in checked.answers
        for key, rating in answer.ratings.items()
    }


@pytest.fixture
def study() -> Study:
    return make_study("e1_ratings_as_floats")


def test_names_of_columns_are_people_with_the_points_below_them(study: Study) -> None:
    checked = check(study, PEOPLE, turn="people", keeps_incomplete=True)

    assert [str(fault) for fault in checked.faults] == []
    assert count(checked) == (6, 2)
    assert "table_turned" in {remark.code for remark in checked.remarks}
    # minutes are no points of a scale, so they are no person
    assert "Zeit" in checked.header


def test_names_of_columns_are_items_of_the_study_and_no_others(study: Study) -> None:
    checked = check(study, ITEMS, turn="items")

    assert [str(fault) for fault in checked.faults] == []
    assert count(checked) == (8, 2)
    assert checked.header[-3:] == ["Alter", "item", "value"]


def test_column_that_was_chosen_stays_a_column(study: Study) -> None:
    rows = "item,system,Anna,Ben,Note\nq1,alpha,4,5,1\nq2,alpha,1,2,5\n"

    checked = check(
        study, rows, turn="people", keeps_incomplete=True,
        mapping={"Note": "note", "value": "value:fluency"},
    )  # fmt: skip

    assert [str(fault) for fault in checked.faults] == []
    assert count(checked) == (4, 2)


def test_table_without_such_columns_is_read_as_it_is(study: Study) -> None:
    rows = "participant,item,system,fluency,adequacy\nw,q1,alpha,4,5\n"

    checked = check(study, rows, turn="people")

    assert count(checked) == (2, 1)
    assert "table_turned" in {remark.code for remark in checked.remarks}


@pytest.mark.parametrize("row", ["q1,alpha,fluency,4\n", "q2,beta,fluency,9,5,1\n"])
def test_faulty_rows_of_a_turned_table_keep_their_faults(study: Study, row: str) -> None:
    checked = check(study, f"{PEOPLE}{row}", turn="people", keeps_incomplete=True)

    assert [(fault.code, fault.line) for fault in checked.faults] in (
        [("row_width", 6)], [("value_invalid", 6)],
    )  # fmt: skip


def test_page_turns_the_table_and_back(client: Client, study: Study) -> None:
    client.force_login(study.memberships.get().user)
    file = SimpleUploadedFile("wide.csv", PEOPLE.encode())
    address = reverse("admin:upload-new", args=[study.pk])
    client.post(address, {"file": file, "pasted": "", "purpose": "ratings"})
    upload = Upload.objects.get()
    page = reverse("admin:upload-preview", args=[study.pk, upload.pk])
    assert upload.report["fault_count"]

    client.post(page, {"turn": "people", "keeps_incomplete": "True"})
    upload.refresh_from_db()
    assert upload.report["summary"]["ratings"] == 6
    assert 'value="people" selected' in client.get(page).text

    client.post(page, {"turn": ""})
    upload.refresh_from_db()
    assert upload.report["fault_count"]


def test_command_turns_the_table(study: Study, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("item,system,Anna,Ben\nq1,alpha,4,5\nq2,alpha,1,2\n")

    call_command(
        "import_ratings", str(study.pk), str(tmp_path / "wide.csv"), "--persons", "yes",
        "--turn", "people", "--incomplete", "--map", "value=value:fluency",
    )  # fmt: skip

    assert sorted(Rating.objects.values_list("criterion", "value")) == [
        ("fluency", 1), ("fluency", 2), ("fluency", 4), ("fluency", 5),
    ]  # fmt: skip
