"""The tables of a dataset: their rows, what decides preferences, and who is in them."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.exceptions import ValidationError

from evalsite.data.files.dataset import DatasetOptions, propose_options
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Annotation, Rating
from evalsite.people.models import Origin
from evalsite.results.documents.dataset_card import write_dataset_folder
from evalsite.studies.models import Output
from tests.support.batches import import_rows, make_rows
from tests.support.datasets import (
    Row,
    make_compared,
    make_rated,
    read_example,
    read_lines,
    write,
)
from tests.support.exports import annotate, export, main_items, read
from tests.support.factories import make_participant
from tests.support.instruments import make_built_study, read_instrument
from tests.support.spans import answer_vector, make_spans_study

pytestmark = pytest.mark.django_db
# columns that TRL takes for something of its own
RESERVED = {"margin", "messages", "text", "images", "image", "tools", "chat_template_kwargs"}
THRESHOLDS = {"unpaired": "fluency", "good_from": 4, "bad_below": 3}
# made again for each study
IDS = ("rating_id", "comparison_id", "study")


def drop_ids(rows: list[Row]) -> list[Row]:
    return [{name: cell for name, cell in row.items() if name not in IDS} for row in rows]


@pytest.mark.parametrize("table", ["ratings", "unpaired"])
def test_ratings_are_written_as_in_the_example(table: str, tmp_path: Path) -> None:
    study = make_rated()

    _, tables = write(study, tmp_path, **THRESHOLDS)

    assert drop_ids(tables[table]) == drop_ids(read_example(table))
    assert [*tables[table][0]] == [*read_example(table)[0]]


@pytest.mark.parametrize("table", ["comparisons", "preferences", "preferences_conversational"])
def test_comparisons_are_written_as_in_the_example(table: str, tmp_path: Path) -> None:
    study = make_compared()

    made, tables = write(study, tmp_path, preferences="better")

    assert drop_ids(tables[table]) == drop_ids(read_example(table))
    assert [*tables[table][0]] == [*read_example(table)[0]]
    assert made.left_out == {"people": 0, "answers": 0, "pairs": 1}


def test_raters_vote_for_the_output_of_an_input_to_which_they_gave_the_better_value(
    tmp_path: Path,
) -> None:
    study = make_rated()

    _, tables = write(study, tmp_path, preferences="fluency")

    votes = {
        (row["group"], row["chosen_system"], row["rejected_system"]): (
            row["votes_chosen"], row["votes_rejected"], row["votes_tie"],
        )
        for row in tables["preferences"]
    }  # fmt: skip
    # counted by hand from the example; in s3 one rater gave gamma no value
    assert votes == {
        ("s1", "beta", "alpha"): (1, 0, 2), ("s1", "alpha", "gamma"): (3, 0, 0),
        ("s1", "beta", "gamma"): (3, 0, 0), ("s2", "beta", "alpha"): (1, 0, 2),
        ("s2", "alpha", "gamma"): (3, 0, 0), ("s2", "beta", "gamma"): (3, 0, 0),
        ("s3", "beta", "alpha"): (1, 0, 2), ("s3", "alpha", "gamma"): (2, 0, 0),
        ("s3", "beta", "gamma"): (2, 0, 0),
    }  # fmt: skip
    assert {row["item"] for row in tables["preferences"]} == {None}
    assert {row["mean_strength"] for row in tables["preferences"]} == {None}


def test_lower_values_win_where_they_are_better(tmp_path: Path) -> None:
    study = make_rated(better="lower")

    _, tables = write(
        study, tmp_path, preferences="fluency", unpaired="fluency", good_from=3, bad_below=4
    )

    chosen = {row["chosen_system"] for row in tables["preferences"] if row["group"] == "s1"}
    assert chosen == {"alpha", "gamma"}
    good = {(row["group"], row["system"]) for row in tables["unpaired"] if row["label"]}
    assert good == {("s1", "gamma"), ("s2", "gamma"), ("s3", "gamma")}
    assert {row["system"] for row in tables["unpaired"] if not row["label"]} == {"alpha", "beta"}


def test_excluded_answers_are_marked_and_decide_nothing(tmp_path: Path) -> None:
    study = make_compared()
    rater = study.participants.get(pseudonym="P7KQ")
    Exclusion.objects.create(study=study, participant=rater, reason="too fast")

    made, tables = write(study, tmp_path, preferences="better")

    assert sum(row["excluded"] for row in tables["comparisons"]) == made.excluded == 5
    assert max(row["votes_chosen"] for row in tables["preferences"]) == 2


@pytest.mark.both_databases
def test_only_answers_of_people_who_agreed_are_in_it_and_the_card_counts_the_others(
    tmp_path: Path,
) -> None:
    study = make_rated(asks_to_share=True)
    study.participants.filter(pseudonym="PB3T").update(may_share=False)

    made = write_dataset_folder(study, propose_options(study), tmp_path)

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (made.people, made.left_out["people"], made.left_out["answers"]) == (2, 1, 9)
    assert made.rows["ratings"] == 18
    assert [path for path in files if b"PB3T" in path.read_bytes()] == []
    card = (tmp_path / "README.md").read_text()
    assert "included: 2 of 3." in card
    assert "1 person with 9 answers is left out, because they didn’t agree." in card


def test_nothing_is_written_if_nobody_agreed(tmp_path: Path) -> None:
    study = make_rated(asks_to_share=True)
    study.participants.update(may_share=False)

    with pytest.raises(ValidationError) as error:
        write(study, tmp_path)

    assert error.value.code == "no_rows"
    assert [*tmp_path.iterdir()] == []


def test_simulated_answers_are_left_out_unless_there_are_no_others(tmp_path: Path) -> None:
    study = make_rated()
    of_rater = Annotation.objects.filter(study=study, participant__pseudonym="PB3T")
    of_rater.update(origin=Origin.SIMULATED)

    mixed, _ = write(study, tmp_path / "mixed")
    Annotation.objects.filter(study=study).update(origin=Origin.SIMULATED)
    alone = write_dataset_folder(study, propose_options(study), tmp_path / "alone")

    assert (mixed.rows["ratings"], mixed.people, mixed.is_simulated) == (18, 2, False)
    assert (alone.rows["ratings"], alone.people, alone.is_simulated) == (27, 3, True)
    assert "machine-generated" in (tmp_path / "alone" / "README.md").read_text()


def test_one_system_has_ratings_and_no_preferences(tmp_path: Path) -> None:
    study = make_rated()
    Annotation.objects.filter(study=study).exclude(item__outputs__system__name="alpha").delete()

    made, _ = write(study, tmp_path, preferences="fluency", **THRESHOLDS)

    assert made.rows == {"ratings": 9, "unpaired": 2}


def test_ties_alone_decide_nothing_and_are_counted(tmp_path: Path) -> None:
    study = make_compared()
    Rating.objects.filter(study=study).update(output=None, value=0, detail=None)

    made, tables = write(study, tmp_path, preferences="better")

    assert {row["outcome"] for row in tables["comparisons"]} == {"tie"}
    assert made.rows == {"comparisons": 15}
    assert made.left_out["pairs"] == 5


HOSTILE = (
    "one\u2028two\u2029three\u0085four", r"\u0000 \x00 \N null", "a" * 1024**2,
    'quote " and \\ back', "\ud83d\ude00 نظام".encode("utf-16", "surrogatepass").decode("utf-16"),
)  # fmt: skip


@pytest.mark.parametrize("key", ["fluency", "margin", "text"])
@pytest.mark.parametrize("is_parquet", [False, True])
def test_texts_survive_in_either_format_whatever_the_question_is_called(
    tmp_path: Path, *, is_parquet: bool, key: str
) -> None:
    study = make_rated(key=key, title=HOSTILE[0])
    outputs = list(Output.objects.filter(study=study, item__kind="main").order_by("pk"))
    for output, text in zip(outputs, HOSTILE, strict=False):
        Output.objects.filter(pk=output.pk).update(text=text)

    options = {"preferences": key, "unpaired": key, "good_from": 4, "bad_below": 3}
    write_dataset_folder(study, DatasetOptions(is_parquet=is_parquet, **options), tmp_path)

    ending = "parquet" if is_parquet else "jsonl"
    ratings = read_table(tmp_path / f"data/ratings.{ending}")
    by_id = {(row["item"], row["system"]): row["output"] for row in ratings}
    stored = {
        (output.item.key, output.system.name): output.text
        for output in Output.objects.filter(study=study, item__kind="main")
    }
    assert by_id == stored
    assert {row["criterion"] for row in ratings} == {key}
    head = yaml.safe_load((tmp_path / "README.md").read_text().split("\n---\n")[0])
    assert head["pretty_name"] == "one two three four"
    for table in ("preferences", "preferences_conversational", "unpaired"):
        # what programs for training take for something else
        assert not RESERVED & {*read_table(tmp_path / f"data/{table}.{ending}")[0]}


def read_table(path: Path) -> list[Row]:
    if path.suffix == ".jsonl":
        return read_lines(path)
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[Row] = parquet.read_table(path).to_pylist()
    return rows


def test_both_formats_hold_the_same_values(tmp_path: Path) -> None:
    study = make_compared()
    for is_parquet in (False, True):
        folder = tmp_path / str(is_parquet)
        options = DatasetOptions(preferences="better", is_parquet=is_parquet)
        made = write_dataset_folder(study, options, folder)

    for table in made.files:
        lines = read_table(tmp_path / f"False/data/{table}.jsonl")
        rows = read_table(tmp_path / f"True/data/{table}.parquet")
        for row in rows:
            if at := row.get("submitted_at"):
                row["submitted_at"] = f"{at:%Y-%m-%dT%H:%M:%S.%fZ}"
        assert rows == lines


def test_without_a_licence_neither_card_nor_descriptor_has_one(tmp_path: Path) -> None:
    study = make_rated()

    write_dataset_folder(study, propose_options(study), tmp_path / "none")
    study.licence, study.authors = "CC0-1.0", "Jane Mori 0000-0002-1825-0097\n\n"
    write_dataset_folder(study, propose_options(study), tmp_path / "free")

    heads = [
        yaml.safe_load((tmp_path / name / "README.md").read_text().split("\n---\n")[0])
        for name in ("none", "free")
    ]
    packages = [
        json.loads((tmp_path / name / "datapackage.json").read_text()) for name in ("none", "free")
    ]
    assert [head.get("license") for head in heads] == [None, "cc0-1.0"]
    assert [package.get("licenses", [{}])[0].get("name") for package in packages] == [
        None, "CC0-1.0",
    ]  # fmt: skip
    assert [package["contributors"][0]["title"] for package in packages] == [
        "Language Lab", "Jane Mori",
    ]  # fmt: skip
    assert packages[1]["contributors"][0]["path"] == "https://orcid.org/0000-0002-1825-0097"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"preferences": "better"}, "criterion"),
        ({"unpaired": "fluency"}, "thresholds"),
        ({"unpaired": "fluency", "good_from": 4}, "thresholds"),
        ({"unpaired": "fluency", "good_from": 3, "bad_below": 4}, "thresholds"),
    ],
)
def test_what_cannot_decide_is_refused(options: dict[str, Any], code: str, tmp_path: Path) -> None:
    study = make_rated()

    with pytest.raises(ValidationError) as error:
        write(study, tmp_path, **options)

    ((fault, *_), *_) = error.value.error_dict.values()
    assert fault.code == code


def test_words_of_people_stay_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    study = make_built_study(read_instrument("arena_preference"))
    import_rows(study, make_rows(study.config, items=1))
    answer = annotate(study, make_participant(study), main_items(study)[0], order_shown=[1, 0])
    answer.ratings.all().delete()
    words = "Write to me@mail.example"
    for criterion, fields in (
        ("preference", {"value": 0}),
        ("preference", {"part": "comment", "text": words}),
        ("what_is_bad", {"text": words}),
    ):
        Rating.objects.create(study=study, annotation=answer, criterion=criterion, **fields)

    _, without = write(study, tmp_path / "without")
    _, included = write(study, tmp_path / "included", has_comments=True)

    texts = [[row["text"] for row in tables["ratings"]] for tables in (without, included)]
    assert texts == [["(left out)"] * 2, ["Write to [e-mail]"] * 2]
    assert [row["part"] for row in included["ratings"]] == ["comment", None]
    assert len(included["comparisons"]) == 1


def test_conversations_are_messages(tmp_path: Path) -> None:
    study = make_built_study(read_instrument("helpsteer2_preference"))
    turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi. Yes?"},
             {"role": "user", "content": [{"type": "text", "text": "Is ice cold?"}]}]  # fmt: skip
    plain = [*turns[:2], {"role": "user", "content": "Is ice cold?"}]
    import_rows(
        study,
        [
            {"item": "a", "prompt": json.dumps(turns), "system": system, "output": output}
            for system, output in (("one", "Yes."), ("two", "No."))
        ],
    )
    answer = annotate(study, make_participant(study), main_items(study)[0], order_shown=[1, 0])
    answer.ratings.all().delete()
    Rating.objects.create(
        study=study, annotation=answer, criterion="preference", value=3,
        output=Output.objects.get(item=answer.item, system__name="one"),
    )  # fmt: skip

    made, tables = write(study, tmp_path, preferences="preference")

    assert made.fields["comparisons"]["input_prompt"] == "messages"
    assert tables["comparisons"][0]["input_prompt"] == plain
    (text,), (messages,) = tables["preferences"], tables["preferences_conversational"]
    assert text["prompt"] == "User: Hello\n\nAssistant: Hi. Yes?\n\nUser: Is ice cold?"
    assert messages["prompt"] == plain
    assert messages["chosen"] == [{"role": "assistant", "content": "Yes."}]


def test_marked_passages_are_ratings_with_a_place_in_the_text(tmp_path: Path) -> None:
    study = make_spans_study(items=15)
    answer_vector(study)

    made, tables = write(study, tmp_path)

    marks = read(export(study, "highlights", kind="main", status="counted"))
    rows = [row for row in tables["ratings"] if row["start"] is not None]
    assert [
        (row["item"], row["rater"], str(row["start"]), str(row["end"]), row["part"],
         row["severity"], row["text"])
        for row in rows
    ] == [
        (row["item"], row["participant"], row["start"], row["end"], row["category"],
         row["severity"], row["quote"])
        for row in marks
    ]  # fmt: skip
    assert all(row["output"][row["start"] : row["end"]] == row["text"] for row in rows)
    assert len({row["rating_id"] for row in tables["ratings"]}) == made.rows["ratings"]
    assert [*made.fields["ratings"]].index("start") == [*made.fields["ratings"]].index("turn") + 1
