"""Several files as one: by id, by input, by line, or read one after another with their folders."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Limits, Refused
from evalsite.handout.models import Rating
from evalsite.studies.models import Item, Output, Study
from tests.data.ratings.test_rating_forms import check, count, make_study
from tests.support.instruments import make_built_study

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "getting_in"
POTATO = {
    "folder": "participant",
    "id": "item",
    "model": "system",
    "label_annotations.{criterion}.{point}": "value",
}


def make_zip(files: dict[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return target.getvalue()


def annotate(fluency: int, adequacy: int) -> str:
    """Three items by two systems, as Potato writes them: the chosen points with “true”."""
    return "".join(
        json.dumps({
            "id": item, "model": model,
            "label_annotations": {
                "fluency": {str(fluency): "true"}, "adequacy": {str(adequacy): "true"},
            },
        }) + "\n"
        for item in ("q1", "q2")
        for model in ("alpha", "beta")
    )  # fmt: skip


# --- one after another --------------------------------------------------------------------


def test_a_folder_for_each_person_names_who_rated() -> None:
    study = make_study("e1_ratings_as_floats")
    files = {
        "annotation_output/ann/annotated_instances.jsonl": annotate(4, 5),
        "annotation_output/ben/annotated_instances.jsonl": annotate(2, 3),
    }

    checked = check(study, make_zip(files), mapping=POTATO)

    assert [str(fault) for fault in checked.faults] == []
    assert count(checked) == (16, 2)
    assert set(checked.participants) == {"ann", "ben"}


def test_the_name_of_the_file_is_a_column_too() -> None:
    study = make_study("e1_ratings_as_floats")
    files = {"ann.jsonl": annotate(4, 5), "ben.jsonl": annotate(2, 3)}
    mapping = {**POTATO, "folder": "", "file": "participant"}

    checked = check(study, make_zip(files), mapping=mapping)

    assert set(checked.participants) == {"ann.jsonl", "ben.jsonl"}


def test_ratings_with_the_same_columns_are_read_one_after_another() -> None:
    study = make_study("e1_ratings_as_floats")
    one = "participant,item,system,fluency,adequacy\nw1,q1,alpha,4,5\nw1,q1,beta,4,5\n"
    two = "item,participant,system,adequacy,fluency\nq1,w2,alpha,3,2\nq1,w2,beta,3,2\n"

    checked = check(study, make_zip({"1.csv": one, "2.csv": two}))

    assert count(checked) == (8, 2)
    assert checked.joined == "2 files, read one after another."
    assert checked.mapping["file"] == checked.mapping["folder"] == "-"


def test_a_fault_of_one_of_several_files_is_counted_on() -> None:
    study = make_study("e1_ratings_as_floats")
    one = "participant,item,system,fluency,adequacy\nw1,q1,alpha,4,5\nw1,q1,beta,4,5\n"
    two = one.replace("w1", "w2").replace("beta,4", "beta,9")

    checked = check(study, make_zip({"1.csv": one, "2.csv": two}))

    assert [(fault.code, fault.record) for fault in checked.faults] == [("value_invalid", 4)]


def test_ratings_with_other_columns_are_not_joined() -> None:
    study = make_study("e1_ratings_as_floats")
    files = {"1.csv": "participant,item\nw,q1\n", "2.csv": "rater,rating\nw,4\n"}

    checked = check(study, make_zip(files))

    assert [fault.code for fault in checked.faults] == ["archive_several_tables"]


@pytest.mark.parametrize("is_chosen", [True, False])
def test_the_place_of_a_single_file_is_a_column_where_it_is_chosen(is_chosen: bool) -> None:
    options = {"chosen": {"folder": "participant"} if is_chosen else {}}

    table = open_table(io.BytesIO(b"a,b\n1,2\n"), options=options, file_name="run/ann/x.csv")

    assert table.header == (["a", "b", "folder", "file"] if is_chosen else ["a", "b"])
    assert next(table.rows).cells[2:] == (["ann", "x.csv"] if is_chosen else [])


def test_a_column_that_is_called_folder_is_that_column() -> None:
    data = make_zip({"x/1.csv": "folder,b\nf,1\n", "y/2.csv": "folder,b\ng,2\n"})

    table = open_table(io.BytesIO(data), options={"chosen": {"folder": "participant"}})

    assert table.header == ["folder", "b", "file"]
    assert [row.cells for row in table.rows] == [["f", "1", "1.csv"], ["g", "2", "2.csv"]]


def test_limits_hold_for_all_files_together() -> None:
    data = make_zip({"1.csv": "a\n1\n2\n", "2.csv": "a\n3\n"})
    options = {"outputs_join": "append"}

    with pytest.raises(Refused) as rows:
        list(open_table(io.BytesIO(data), limits=Limits(rows=2), options=options).rows)
    with pytest.raises(Refused) as columns:
        open_table(io.BytesIO(data), limits=Limits(columns=2), options=options)

    assert (rows.value.code, columns.value.code) == ("too_many_rows", "too_many_columns")


def test_the_command_takes_a_folder_of_ratings(tmp_path: Path, capsys: Any) -> None:
    study = make_study("e1_ratings_as_floats")
    for name, points in (("ann", 4), ("ben", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "annotated_instances.jsonl").write_text(annotate(points, points))
    maps = [word for path, use in POTATO.items() for word in ("--map", f"{path}={use}")]

    call_command("import_ratings", str(study.pk), str(tmp_path), "--persons", "yes", *maps)

    assert Rating.objects.filter(study=study).count() == 16


# --- items --------------------------------------------------------------------------------


def take(study: Study, folder: Path, files: dict[str, str], *options: str) -> None:
    paths = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        paths.append(str(path))
    call_command("import_batch", str(study.pk), *paths, *options)


@pytest.fixture
def study() -> Study:
    return make_built_study(json.loads((FOLDER / "study_one.json").read_bytes()))


def list_items(study: Study) -> set[tuple[str, str]]:
    outputs = Output.objects.filter(item__study=study, item__kind=Item.Kind.MAIN)
    pairs = outputs.values_list("item__inputs__prompt", "system__name")
    return {(str(prompt), str(system)) for prompt, system in pairs}


PAIRS = {("What?", "alpha"), ("What?", "beta"), ("Why?", "alpha"), ("Why?", "beta")}


def test_ids_that_count_anew_in_each_file_are_passed_over_by_input(
    study: Study, tmp_path: Path
) -> None:
    files = {
        "alpha.csv": "id,prompt,output\n1,What?,A tower.\n2,Why?,For the view.\n",
        "beta.csv": "id,prompt,output\n1,Why?,Because.\n2,What?,A bridge.\n",
    }

    with pytest.raises(CommandError):
        take(study, tmp_path, files)
    take(study, tmp_path, files, "--join", "input")

    assert list_items(study) == PAIRS


@pytest.mark.parametrize(
    ("names", "systems"),
    [
        (["source.de.txt", "nmt-base.en.txt", "nmt-large.en.txt"], ["nmt-base", "nmt-large"]),
        (["src.de", "nmt-base.en", "nmt-large.en"], ["nmt-base", "nmt-large"]),
        (["src.txt", "nmt.en.txt", "nmt.fr.txt"], ["nmt.en", "nmt.fr"]),
        (["src.txt", "nmt.en.txt", "online.fr.txt"], ["nmt.en", "online.fr"]),
        (["wmt.src.en", "base.zh-CN.txt", "large.zh-CN.txt"], ["base", "large"]),
        (["src.txt", "base/out.txt", "large/out.txt"], ["base", "large"]),
    ],
)
def test_systems_are_called_like_their_texts(
    names: list[str], systems: list[str], study: Study, tmp_path: Path
) -> None:
    texts = zip(names, ("What?\nWhy?\n", "A\nB\n", "C\nD\n"), strict=True)

    take(study, tmp_path, dict(texts))

    assert {system for _, system in list_items(study)} == {*systems}


def test_files_of_one_name_are_told_apart_by_their_folders(study: Study, tmp_path: Path) -> None:
    files = {
        f"{system}/generations.jsonl": f'{{"prompt": "What?", "output": "By {system}."}}\n'
        for system in ("alpha", "beta")
    }

    take(study, tmp_path, files)

    assert list_items(study) == {("What?", "alpha"), ("What?", "beta")}


def test_shards_are_read_one_after_another(study: Study, tmp_path: Path) -> None:
    files = {
        "1.csv": "prompt,system,output\nWhat?,alpha,A tower.\nWhat?,beta,A bridge.\n",
        "2.csv": "prompt,system,output\nWhy?,alpha,For the view.\nWhy?,beta,Because.\n",
    }

    take(study, tmp_path, files, "--join", "append")

    assert list_items(study) == PAIRS


def test_the_folder_names_the_system_where_it_is_chosen(study: Study, tmp_path: Path) -> None:
    files = {
        "alpha/x.csv": "key,prompt,output\n1,What?,A tower.\n2,Why?,For the view.\n",
        "beta/y.csv": "key,prompt,output\n1,What?,A bridge.\n2,Why?,Because.\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)

    call_command("import_batch", str(study.pk), str(tmp_path), "--map", "folder=system")

    assert list_items(study) == PAIRS


def test_without_an_id_rows_are_not_joined_by_id(study: Study, tmp_path: Path) -> None:
    files = {
        "alpha.csv": "prompt,output\nWhat?,A tower.\n",
        "beta.csv": "prompt,output\nWhat?,A bridge.\n",
    }

    with pytest.raises(CommandError, match="no id"):
        take(study, tmp_path, files, "--join", "id")
    take(study, tmp_path, files, "--join", "input")

    assert len(list_items(study)) == 2


def test_tables_are_never_joined_by_line(study: Study, tmp_path: Path) -> None:
    files = {
        "alpha.csv": "prompt,output\nWhat?,A tower.\n",
        "beta.csv": "prompt,output\nWhat?,A bridge.\n",
    }

    with pytest.raises(CommandError, match="by line"):
        take(study, tmp_path, files, "--join", "line")
    with pytest.raises(CommandError, match="no way"):
        take(study, tmp_path, files, "--join", "zip")


def test_texts_are_joined_by_line_where_it_is_said(study: Study, tmp_path: Path) -> None:
    files = {"source.de": "What?\nWhy?\n", "alpha.x": "A\nB\n", "beta.x": "C\nD\n"}

    take(study, tmp_path, files, "--join", "line")

    assert list_items(study) == PAIRS
