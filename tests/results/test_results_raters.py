"""The part of the results on raters: one table for all, further ones for what they did."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from evalsite.results.report.person_tables import tabulate_raters

from evalsite.results.models import Report
from evalsite.results.people.flags import read_notes
from evalsite.results.report.computation import analyse_study
from evalsite.results.report.parts import RATERS, show_part
from evalsite.studies.models import Study
from tests.support.exports import annotate, main_items
from tests.support.reports import keep_report, make_figure


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2)


def make_column(key: str, label: str, part: str, **known: bool) -> dict[str, Any]:
    return {"key": key, "label": label, "part": part, "has_n": False, "is_detail": False} | known


@pytest.fixture
def report(study: Study) -> Report:
    rare = "Points meant to be rare"
    columns = [
        make_column("median_seconds", "Median seconds", ""),
        *(make_column(f"c{one}: share_reserved", f"C{one}", rare, has_n=True, is_detail=True)
          for one in range(7)),
    ]  # fmt: skip
    shares = {
        f"c{one}: share_reserved": make_figure("share_reserved", 0.375, n={"ratings": 1600})
        for one in range(7)
    }
    pool = {key: one | {"value": 0.25, "n": {"ratings": 9000}} for key, one in shares.items()}
    rows = [
        {"participant": "p-one", "n": 1600, "flags": [],
         "figures": {"median_seconds": make_figure("median_seconds", 21.0)} | shares},
        {"participant": "p-two", "n": 1, "flags": [], "figures": {}},
    ]  # fmt: skip
    return keep_report(study, raters={"columns": columns, "rows": rows, "pool": pool})


def test_the_table_of_raters_is_narrow_and_each_further_part_has_its_own(report: Report) -> None:
    tables = [table for table, _ in show_part(report, RATERS).blocks]

    assert [table.caption for table in tables] == [
        "Raters", "Points meant to be rare", "Points meant to be rare, 2",
    ]  # fmt: skip
    assert tables[0].columns == ("Participant", "Ratings", "Flags", "Median seconds")
    assert max(len(table.columns) for table in tables) <= 7


def test_words_under_a_table_are_of_the_columns_that_it_has() -> None:
    figures = {key: make_figure(key, 0.5) for key in ("speed_ratio", "c: spearman", "offset")}
    row = {"participant": "p-one", "n": 3, "flags": [], "figures": figures}
    part = "Use of the scale"
    pace = make_column("speed_ratio", "Pace compared with others", "")
    order = make_column("c: spearman", "C: order compared with others", part)
    offset = make_column("offset", "Above others by", part)

    few = tabulate_raters({"columns": [pace, order], "rows": [row]})
    more = tabulate_raters({"columns": [order, offset], "rows": [row]})

    assert "median time over that of the median rater" in few[0].words
    assert "8 words" not in few[0].words
    assert "Above others by" not in few[1].words
    assert "Above others by is in points" in more[1].words


def test_shares_stand_with_their_number_and_those_of_all_raters_last(report: Report) -> None:
    rare = show_part(report, RATERS).blocks[1][0]

    assert rare.rows[0][:2] == ("p-one", "38% of 1,600")
    assert rare.rows[-1][:2] == ("All raters", "25% of 9,000")
    assert len(rare.rows) == 2  # who has no such rating is not there


def test_the_file_of_a_part_holds_its_figures(
    staff_client: Client, study: Study, report: Report
) -> None:
    args = [study.pk, report.pk, RATERS, "raters-points-meant-to-be-rare"]
    response = staff_client.get(reverse("admin:study-results-table", args=args))

    rows = list(csv.DictReader(io.StringIO(response.content.decode(), newline="")))
    told = [(row["participant"], row["value"], row["n_ratings"]) for row in rows]
    assert told[0] == ("p-one", "0.375", "1600")
    assert ("All raters", "0.25", "9000") in told


def test_lists_of_people_leave_details_out(report: Report) -> None:
    noted = read_notes(report)

    assert [label for label, _ in noted["p-one"].figures] == ["Median seconds"]


@pytest.mark.slow
def test_the_texts_of_a_study_tell_who_had_no_time_to_read(study: Study) -> None:
    for _ in range(3):
        person = study.participants.create()  # type: ignore[attr-defined]
        for item in main_items(study):
            annotate(study, person, item)

    raters = analyse_study(study)[0]["kept"]["raters"]

    assert "share_under_floor" in {one["key"] for one in raters["columns"]}
