"""Ratings in wide rows and from published files: onto their batches as they are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from evalsite.analysis.__main__ import main
from evalsite.data.fsck import find_breaches
from evalsite.data.items.importer import import_file
from evalsite.handout.models import Annotation, Rating, RatingsFile
from evalsite.studies.models import Study
from tests.data.ratings.test_ratings_pages import address, press_import, show, upload
from tests.support.batches import import_rows, make_rows
from tests.support.exports import export, read
from tests.support.imported import check, load, rows_for, write_csv

pytestmark = pytest.mark.django_db

PUBLISHED = Path(__file__).resolve().parents[3] / "fixtures/ratings"


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2)


@pytest.fixture
def rankme(make_study: Callable[..., Any]) -> Study:
    study = make_study(items=0, k=3)
    import_file(study=study, path=PUBLISHED / "rankme_batch.csv", by=None)
    return study


def read_file(name: str) -> str:
    return (PUBLISHED / name).read_text(encoding="utf-8")


def codes(checked: Any) -> list[str]:
    return [fault.code for fault in checked.faults]


# --- published files --------------------------------------------------------------------


@pytest.mark.torture
@pytest.mark.slow
def test_the_published_file_of_rankme_is_imported_as_it_is(
    rankme: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load(rankme, read_file("stp2_rankME_inf.csv"))

    assert Rating.objects.filter(study=rankme).count() == 900
    assert Annotation.objects.counted().count() == 300
    assert find_breaches(rankme) == []
    exported = tmp_path / "ratings.csv"
    exported.write_bytes(export(rankme))
    assert main(["report", str(exported), "--file-order", "--json"]) == 0
    assert '"value": 0.8221' in capsys.readouterr().out


def test_criteria_that_the_study_does_not_ask_are_left_out_with_a_remark(rankme: Study) -> None:
    checked = check(rankme, read_file("stp1_rankME.csv"))

    assert checked.faults == []
    assert checked.ratings == 90
    assert [remark.code for remark in checked.remarks] == ["criteria_left_out"]
    assert "naturalness1, naturalness2" in str(checked.remarks[0])


def test_the_published_judgements_of_marco_are_imported_by_criterion(
    make_study: Callable[..., Any],
) -> None:
    study = make_study(items=0, protocol="pairwise", k=3)
    import_file(study=study, path=PUBLISHED / "marco_batch.csv", by=None)

    load(study, read_file("marco_ratings.csv"), has_persons=False)

    assert Annotation.objects.counted().count() == 54
    first = read(export(study))[:2]
    assert [(row["criterion"], row["preferred"], row["outcome"]) for row in first] == [
        ("completion", "", "tie"), ("readability", "HDSA", "1"),
    ]  # fmt: skip


# --- forms ------------------------------------------------------------------------------


@pytest.fixture
def replies(make_study: Callable[..., Any]) -> Study:
    study = make_study(items=0, protocol="rrgen")
    import_rows(study, make_rows(study.config, items=2))
    return study


def test_a_column_for_each_criterion_gives_the_ratings_of_the_long_form(replies: Study) -> None:
    long = rows_for(replies)
    wide: dict[str, dict[str, str]] = {}
    for row in long:
        cells = wide.setdefault(row["item"], {"judge": row["participant"], "item": row["item"]})
        cells |= {"model": row["system"], row["criterion"]: row["value"]}

    checked = check(replies, list(wide.values()))

    assert checked.faults == []
    assert [answer.ratings.keys() for answer in checked.answers] == [
        answer.ratings.keys() for answer in check(replies, long).answers
    ]


def test_a_criterion_without_a_column_is_reported_once(replies: Study) -> None:
    text = "judge,item,model,relevance\nw1,item-1,alpha,3\nw1,item-2,alpha,3\n"

    assert set(codes(check(replies, text))) == {"column_missing"}
    assert check(replies, text, keeps_incomplete=True).ratings == 2


def test_an_empty_cell_of_a_wide_row_is_no_rating(study: Study) -> None:
    text = (
        "judge,item,inf1,team1,inf2,team2,inf3,team3\n"
        "w1,item-001,100,baseline,,neural,60,template\n"
        "w1,item-002,,,,,,\n"
    )

    checked = check(study, text)
    kept = check(study, text, keeps_incomplete=True)

    assert codes(checked) == ["answer_incomplete"]
    assert (kept.ratings, len(kept.answers)) == (2, 1)
    assert "rows_unrated" in [remark.code for remark in kept.remarks]


def test_a_fault_in_a_wide_row_names_its_own_column(study: Study) -> None:
    text = (
        "judge,item,inf1,team1,inf2,team2,inf3,team3\nw1,item-001,100,baseline,lots,neural,60,gpt\n"
    )

    faults = [(fault.column, fault.code) for fault in check(study, text).faults]

    assert faults == [("inf2", "value_invalid"), ("team3", "system_unknown")]


# --- leaving out ------------------------------------------------------------------------


def test_faulty_rows_are_left_out_where_somebody_says_so(study: Study) -> None:
    rows = rows_for(study, ["w1", "w2"])
    rows[0]["value"] = "lots"
    rows[7]["item"] = "item-999"

    refused = check(study, rows)
    checked = check(study, rows, leave_out_faulty=True, keeps_incomplete=True)

    assert {"value_invalid", "item_unknown"} < set(codes(refused))
    (decision,) = refused.decisions
    assert (decision.key, decision.is_made) == ("leave_out_faulty", False)
    assert [row[:17] for row in decision.rows] == ["line 2 (record 1)", "line 9 (record 8)"]
    assert checked.faults == []
    assert checked.ratings == 10
    assert checked.import_notes == [
        {
            "code": "rows_left_out",
            "text": "2 faulty rows were left out.",
            "rows": [[2, 1, "value_invalid"], [9, 8, "item_unknown"]],
        }
    ]


def test_an_answer_that_lacks_a_row_left_out_is_still_a_fault(study: Study) -> None:
    rows = rows_for(study)
    rows[0]["value"] = "lots"

    assert codes(check(study, rows, leave_out_faulty=True)) == ["answer_incomplete"]


def test_a_wide_row_is_left_out_whole(study: Study) -> None:
    text = (
        "judge,item,inf1,team1,inf2,team2,inf3,team3\n"
        "w1,item-001,100,baseline,80,neural,lots,template\n"
        "w1,item-001,90,baseline,70,neural,50,template\n"
    )

    checked = check(study, text, leave_out_faulty=True)

    assert checked.faults == []
    (answer,) = checked.answers
    assert sorted(rating.row.value for rating in answer.ratings.values()) == [50, 70, 90]
    assert (answer.line, answer.record) == (3, 2)


def test_answers_that_the_study_has_already_can_be_left_out(study: Study) -> None:
    load(study, rows_for(study, ["w1"]))
    rows = rows_for(study, ["w1", "w2"])

    checked = check(study, rows, leave_out_faulty=True)

    assert checked.participants == ["w2"]
    assert len(checked.import_notes[0]["rows"]) == 6
    assert {code for _, _, code in checked.import_notes[0]["rows"]} == {"answered_already"}


def test_what_was_left_out_is_kept_with_the_file(staff_client: Client, study: Study) -> None:
    rows = [*rows_for(study), *rows_for(study)[:1]]
    waiting = upload(staff_client, study, rows)
    assert "1 row has faults" in show(staff_client, study, waiting)

    decision = {"decision-leave_out_faulty": "True"}
    staff_client.post(address("upload-preview", study, waiting.pk), decision)
    assert '<option value="True" selected>' in show(staff_client, study, waiting)
    press_import(staff_client, study, waiting)

    file = RatingsFile.objects.get()
    assert file.import_notes[0]["rows"] == [[8, 7, "rating_twice"]]
    assert Rating.objects.count() == 6


# --- the next file ----------------------------------------------------------------------


def test_what_columns_hold_is_remembered_for_the_next_file(
    staff_client: Client, study: Study
) -> None:
    def rename(person: str) -> str:
        rows = [
            {"who": row["participant"], "n": row["value"], "item": row["item"], "of": row["system"]}
            for row in rows_for(study, [person])
        ]
        return write_csv(rows)

    first = upload(staff_client, study, rename("w1"))
    fields = {"column-0": "participant", "column-1": "value", "column-2": "item",
              "column-3": "system"}  # fmt: skip
    staff_client.post(address("upload-preview", study, first.pk), fields)

    second = upload(staff_client, study, rename("w2"))

    second.refresh_from_db()
    fields = {"who": "participant", "n": "value", "item": "item", "of": "system"}
    assert second.mapping.fields == fields
    assert "Import 2 answers" in show(staff_client, study, second)


def test_what_a_column_contains_is_chosen_in_words(staff_client: Client, rankme: Study) -> None:
    waiting = upload(staff_client, rankme, read_file("stp2_rankME_inf.csv"))

    page = show(staff_client, rankme, waiting)

    chosen = '<option value="value2:informativeness" selected>Informativeness of output 2</option>'
    assert chosen in page
    assert '<option value="system3" selected>System of output 3</option>' in page
    assert ">Informativeness of slug2slug</option>" in page
    assert ">Participant: who rated</option>" in page


def test_an_unknown_item_is_reported_once_for_all_ratings_of_its_row(rankme: Study) -> None:
    header, first, *_ = read_file("stp2_rankME_inf.csv").splitlines()
    line = first.replace(']",1,', ']",999,')
    assert line != first

    checked = check(rankme, f"{header}\n{line}\n")

    assert codes(checked) == ["item_unknown"]
