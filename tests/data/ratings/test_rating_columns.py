"""What columns of ratings hold: guessed, checked, and wide rows taken apart."""

import csv
from pathlib import Path

import pytest

from evalsite.lib.rating_columns import Asked, check_mapping, melt, split_field
from evalsite.lib.rating_guess import find_unasked, guess_mapping

RATINGS = Path(__file__).resolve().parents[3] / "fixtures/ratings"
TWO = {"fluency": "Fluency/Grammaticality", "coherence": "Quality/Coherence"}
SCORED = Asked(labels=TWO, per_output=frozenset(TWO), systems=("tgen", "slug2slug"))
SINGLE = Asked(
    labels={"informativeness": "Informativeness"},
    per_output=frozenset({"informativeness"}),
    systems=("baseline", "sheffield_v2", "slug2slug"),
)
CHOICES = {"completion": "Completion", "readability": "Readability"}
COMPARED = Asked(labels=CHOICES, compared=frozenset(CHOICES))


def guess(header: str, asked: Asked) -> dict[str, str]:
    found = guess_mapping(header.split(","), asked)
    return {column: field for column, field in found.items() if field}


def read_header(name: str) -> list[str]:
    with (RATINGS / name).open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("_worker_id", "participant"),
        ("judge", "participant"),
        ("Annotator ID", "participant"),
        ("team", "system"),
        ("model", "system"),
        ("Score", "value"),
        ("rating", "value"),
        ("mr_id", "item"),
        ("comments", "note"),
    ],
)
def test_columns_are_known_by_other_names(column, field):
    assert guess_mapping([column], SINGLE) == {column: field}


def test_each_field_is_given_to_one_column_the_one_whose_name_fits_best():
    assert guess("worker,participant,id,item,team,score", SINGLE) == {
        "participant": "participant", "item": "item", "team": "system", "score": "value",
    }  # fmt: skip


def test_numbered_outputs_are_known_by_the_start_of_the_criterion_and_their_systems():
    found = guess_mapping(read_header("stp2_rankME_inf.csv"), SINGLE)

    assert {column: field for column, field in found.items() if field} == {
        "_created_at": "submitted_at", "_worker_id": "participant", "mr_id": "item",
        "inf1": "value1:informativeness", "inf2": "value2:informativeness",
        "inf3": "value3:informativeness", "team1": "system1", "team2": "system2",
        "team3": "system3",
    }  # fmt: skip
    assert check_mapping(found, SINGLE) == []


@pytest.mark.parametrize("prefix", ["inf", "informativeness", "Informativeness_", "rating"])
def test_the_prefix_of_numbered_ratings_is_key_label_start_or_a_plain_word(prefix):
    header = f"judge,item,{prefix}1,team1,{prefix}2,team2"

    assert {"system1", "system2"} <= set(guess(header, SINGLE).values())
    assert check_mapping(guess(header, SINGLE), SINGLE) == []


def test_several_criteria_of_numbered_outputs_are_told_apart():
    found = guess("judge,item,flu1,coh1,model1,flu2,coh2,model2", SCORED)

    assert found["coh2"] == "value2:coherence"
    assert len(melt([*found], found)) == 4


def test_criteria_that_are_not_asked_are_left_out_with_a_note():
    found = guess_mapping(read_header("stp1_rankME.csv"), SINGLE)

    assert check_mapping(found, SINGLE) == []
    assert find_unasked(found, SINGLE) == [
        "naturalness1", "naturalness2", "naturalness3", "quality1", "quality2", "quality3",
    ]  # fmt: skip


def test_a_column_for_each_criterion_is_taken_beside_a_system():
    assert guess("judge,id,team,fluency,coherence_score", SCORED) == {
        "judge": "participant", "id": "item", "team": "system", "fluency": "value:fluency",
        "coherence_score": "value:coherence",
    }  # fmt: skip


def test_a_column_for_each_criterion_and_system_is_known_in_either_order():
    found = guess("judge,id,fluency_tgen,slug2slug_fluency,coh_tgen,coherence.slug2slug", SCORED)

    assert set(found.values()) >= {
        "value:fluency:tgen", "value:fluency:slug2slug", "value:coherence:tgen",
        "value:coherence:slug2slug",
    }  # fmt: skip
    assert check_mapping(found, SCORED) == []


def test_a_column_for_each_system_is_enough_for_one_criterion():
    found = guess("judge,id,baseline,sheffield_v2,slug2slug", SINGLE)

    assert found["sheffield_v2"] == "value:informativeness:sheffield_v2"


def test_a_column_for_each_criterion_may_hold_the_winner():
    assert guess("judge,id,completion,readability", COMPARED) == {
        "judge": "participant", "id": "item", "completion": "preferred:completion",
        "readability": "preferred:readability",
    }  # fmt: skip


def test_a_complete_long_form_is_never_taken_for_a_wide_one():
    found = guess("judge,id,team,criterion,score,fluency,team1,fluency1", SCORED)

    assert set(found.values()) == {"participant", "item", "system", "criterion", "value"}


@pytest.mark.parametrize(
    ("header", "mapping", "code", "column"),
    [
        ("a,b", {"a": "worker"}, "field_unknown", "a"),
        ("a,b", {"a": "value:beauty"}, "field_unknown", "a"),
        ("a,b", {"a": "preferred:fluency"}, "field_unknown", "a"),
        ("a,b", {"a": "value", "b": "value"}, "column_mapped_twice", ""),
        ("a,b", {"a": "value", "b": "value:fluency"}, "forms_mixed", ""),
        ("a,b", {"a": "value1:fluency"}, "column_missing", "system1"),
        ("a,b", {"a": "value:fluency"}, "column_missing", "system"),
        ("a,b", {"a": "value:fluency:tgen"}, "column_missing", "value:coherence"),
        ("a,b", {"a": "value1"}, "column_missing", "criterion"),
        ("a,b", {}, "column_missing", "value"),
    ],
)
def test_a_mapping_that_cannot_be_used_is_refused_by_code(header, mapping, code, column):
    known = dict.fromkeys(header.split(","), "") | mapping

    found = {(problem.code, problem.column) for problem in check_mapping(known, SCORED)}

    assert (code, column) in found


def test_a_criterion_without_a_column_is_fine_where_answers_may_be_incomplete():
    found = guess("judge,id,team,fluency", SCORED)

    assert [one.column for one in check_mapping(found, SCORED)] == ["value:coherence"]
    assert check_mapping(found, SCORED, keeps_incomplete=True) == []


@pytest.mark.parametrize(
    "field",
    ["value0", "value:", "preferred1", "system:x", "value1:x:y", "place:x", "inf1", "item1"],
)
def test_what_the_grammar_does_not_know_is_no_field(field):
    assert split_field(field) is None


@pytest.mark.parametrize(
    "field", ["value", "value1", "value1:x", "value:x", "value:x:gpt:4", "preferred:x", "system12"]
)
def test_a_field_is_written_as_it_was_read(field):
    assert str(split_field(field)) == field


def test_a_wide_row_holds_one_rating_for_each_column_and_none_where_it_is_empty():
    header = ["judge", "id", "inf1", "team1", "inf2", "team2"]
    cells = ["w1", "m1", "100", "tgen", " ", "slug2slug"]

    parts = melt(header, guess_mapping(header, SINGLE))

    assert [part.is_rated(cells) for part in parts] == [True, False]
    assert {field: cells[at] for field, at in parts[0].columns.items()} == {
        "participant": "w1", "item": "m1", "system": "tgen", "value": "100",
    }  # fmt: skip
    assert parts[0].fixed == {"criterion": "informativeness"}


def test_a_bare_file_takes_numbers_beside_numbered_systems_for_ratings():
    header = ["judge", "id", "ref1", "x1", "team1", "ref2", "x2", "team2"]

    found = guess_mapping(header, numeric=["id", "x1", "x2"])

    assert found["x2"] == "value2:x"
    assert found["ref1"] == ""
    assert check_mapping(found) == []
