"""Ratings in the forms of other tools: recognised ones, commas, and what is refused or asked."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from evalsite.data.items.importer import import_file
from evalsite.data.ratings.answers import CheckedRatings
from evalsite.studies.models import Study
from tests.support.checking import check_file, check_ratings, check_scores
from tests.support.instruments import make_built_study

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "getting_in"


def make_study(case: str, batch: str = "batch.csv") -> Study:
    study = make_built_study(json.loads((FOLDER / "study_one.json").read_bytes()))
    import_file(study=study, path=FOLDER / case / batch, by=study.memberships.get().user)
    return study


def check(study: Study, data: bytes | str, **options: Any) -> CheckedRatings:
    mapping = options.pop("mapping", None)
    content = data.encode() if isinstance(data, str) else data
    return check_ratings(io.BytesIO(content), study=study, mapping=mapping, options=options)


def count(checked: CheckedRatings) -> tuple[int, int]:
    return checked.ratings, len(checked.participants)


@pytest.mark.parametrize(
    ("case", "name", "ratings"),
    [
        ("d7_label_studio_json", "export.json", 16),
        ("d7_several_responses_in_a_record", "records.jsonl", 24),
    ],
)
def test_ratings_of_a_known_tool_need_no_mapping(case, name, ratings):
    study = make_study(case)

    checked = check(study, (FOLDER / case / name).read_bytes())

    assert [str(fault) for fault in checked.faults] == []
    assert count(checked) == (ratings, 2)


def test_decimal_commas_are_asked_about_once():
    study = make_study("e1_ratings_as_floats")
    rows = "participant;item;system;fluency;adequacy\nw;q1;alpha;4,0;5,0\nw;q1;beta;3,0;2,0\n"

    asked = check(study, rows)
    checked = check(study, rows, decimal_comma=True)

    assert {fault.code for fault in asked.faults} == {"value_invalid"}
    assert [decision.key for decision in asked.decisions][-1] == "decimal_comma"
    assert count(checked) == (4, 1)
    ratings = [rating for answer in checked.answers for rating in answer.ratings.values()]
    assert sorted(rating.row.value for rating in ratings) == [2, 3, 4, 5]


@pytest.mark.parametrize("value", ["3.5", "6", "0", "4.01", "4..0"])
def test_values_off_a_scale_of_whole_points_stay_faults(value):
    study = make_study("e1_ratings_as_floats")
    rows = f"participant,item,system,fluency,adequacy\nw,q1,alpha,{value},5\n"

    checked = check(study, rows, keeps_incomplete=True)

    assert [fault.code for fault in checked.faults] == ["value_invalid"]


@pytest.mark.parametrize("word", ["NA", "n/a", "nan", "None", "null"])
def test_missing_ratings_are_counted(word):
    study = make_study("e1_ratings_as_floats")
    rows = f"participant,item,system,fluency,adequacy\nw,q1,alpha,{word},5\n"

    checked = check(study, rows, keeps_incomplete=True)

    assert count(checked) == (1, 1)
    assert "ratings_missing" in {remark.code for remark in checked.remarks}


@pytest.mark.parametrize(("answer", "people"), [("leave-out", 1), ("keep", 2)])
def test_rejected_work_is_left_out_or_counted(answer, people):
    study = make_study("e1_ratings_as_floats")
    rows = (
        "WorkerId,AssignmentStatus,Input.item,Input.system,Answer.fluency,Answer.adequacy\n"
        "w1,Approved,q1,alpha,4,5\nw2,Rejected,q1,alpha,1,1\n"
    )

    asked = check(study, rows)
    checked = check(study, rows, rejected=answer)

    assert [fault.code for fault in asked.faults] == ["decision_needed"]
    assert count(checked) == (2 * people, people)


def test_a_status_of_another_program_leaves_no_row_out():
    study = make_study("e1_ratings_as_floats")
    rows = "Status,participant,item,system,fluency,adequacy\nIP Address,w,q1,alpha,4,5\n"

    assert count(check(study, rows)) == (2, 1)


@pytest.mark.both_databases
def test_scores_and_later_batches_find_an_item_by_the_id_of_its_file():
    study = make_study("e3_ids_with_spaces_and_umlauts", "out.csv")
    scores = "item,system,bleu\nKöln-1,alpha,0.5\nKoeln-1,beta,0.25\n"
    later = "id,prompt,system,output\nKöln-1,Übersetze: Gute Nacht.,gamma,Nighty.\n"

    scored = check_scores(io.BytesIO(scores.encode()), study=study)
    joined = check_file(io.BytesIO(later.encode()), study=study)

    assert [score.value for score in scored.scores] == [0.5, 0.25]
    assert [str(fault) for fault in joined.faults] == []
    assert {item.group for item in joined.items} <= {
        *study.items.main().values_list("group", flat=True)
    }


@pytest.mark.parametrize(
    ("rows", "ratings"),
    [
        (
            "item,system,fluency_ann1,fluency_ann2,adequacy_ann1,adequacy_ann2\nq1,alpha,4,5,3,2\n",
            (4, 2),
        ),
        ("participant,q1_alpha_fluency,q1_alpha_adequacy\nw,4,5\n", (2, 1)),
        (
            "item,system,ann1_fluency,ann1_adequacy,ann2_fluency,ann2_adequacy\nq1,beta,1,2,3,4\n",
            (4, 2),
        ),
    ],
)
def test_names_of_columns_are_read_unasked_where_all_cells_are_points(rows, ratings):
    checked = check(make_study("e1_ratings_as_floats"), rows)

    assert [str(fault) for fault in checked.faults] == []
    assert count(checked) == ratings


def test_names_of_columns_with_other_cells_are_not_read():
    rows = "item,system,fluency_ann1,fluency_why\nq1,alpha,4,It is good\n"

    checked = check(make_study("e1_ratings_as_floats"), rows)

    assert {fault.code for fault in checked.faults} == {"column_missing"}
