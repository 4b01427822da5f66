"""Ratings collected elsewhere, imported from the command line."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evalsite.handout.models import Rating, RatingsFile
from evalsite.studies.models import Study
from tests.support.imported import rows_for, write_csv

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2, k=2)


def test_command_imports_a_file_and_knows_it_again(study: Study, tmp_path: Path) -> None:
    path, out = tmp_path / "ratings.csv", StringIO()
    rows = [{"who": row.pop("participant"), **row} for row in rows_for(study)]
    path.write_text(write_csv(rows), encoding="utf-8")

    for _ in range(2):
        call_command(
            "import_ratings", str(study.pk), str(path), "--persons", "no",
            "--map", "who=participant", stdout=out,
        )  # fmt: skip

    assert out.getvalue().splitlines() == [
        "Imported 6 rows: 2 counted answers, 0 surplus.",
        "Already imported as ratings.csv, 0 new.",
    ]
    assert RatingsFile.objects.get().has_persons is False


def test_command_says_what_to_correct(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(write_csv(rows_for(study)[:-1]), encoding="utf-8")

    with pytest.raises(CommandError, match="persons"):
        call_command("import_ratings", str(study.pk), str(path))
    with pytest.raises(CommandError, match=r"line 5 \(record 4\): “w1” did not rate all"):
        call_command("import_ratings", str(study.pk), str(path), "--persons", "yes")
    with pytest.raises(CommandError, match="There is no file"):
        call_command("import_ratings", str(study.pk), "no.csv", "--persons", "yes")
    out = StringIO()
    call_command(
        "import_ratings", str(study.pk), str(path), "--persons", "yes", "--incomplete", stdout=out
    )
    assert "Worth a look: Not everything was rated (1 found). First: line 5" in out.getvalue()
    assert Rating.objects.count() == 5


def test_command_can_check_a_file_by_the_title_of_its_study(study: Study, tmp_path: Path) -> None:
    path, out = tmp_path / "ratings.csv", StringIO()
    path.write_text(write_csv(rows_for(study)), encoding="utf-8")

    call_command(
        "import_ratings", study.title, str(path), "--persons", "yes", "--check", stdout=out
    )

    told = "6 rows, 6 ratings in 2 answers, no faults. Nothing was imported: this was a check.\n"
    assert out.getvalue() == told
    assert not RatingsFile.objects.exists()


def test_command_lists_all_faults_in_a_file_and_tells_by_its_code(
    study: Study, tmp_path: Path
) -> None:
    path, faults = tmp_path / "ratings.csv", tmp_path / "faults.csv"
    path.write_text(write_csv(rows_for(study)[:-1]), encoding="utf-8")

    with pytest.raises(CommandError) as refused:
        call_command(
            "import_ratings", str(study.pk), str(path), "--persons", "no", "--faults", str(faults)
        )
    with pytest.raises(CommandError, match="There is no study") as unknown:
        call_command("import_ratings", "no-study", str(path), "--persons", "no")

    assert len(faults.read_text(encoding="utf-8").splitlines()) == 2
    assert (refused.value.returncode, unknown.value.returncode) == (1, 2)


def test_title_of_two_studies_names_neither(
    make_study: Callable[..., Any], study: Study, tmp_path: Path
) -> None:
    make_study(items=0, title=study.title)
    path = tmp_path / "ratings.csv"
    path.touch()

    with pytest.raises(CommandError, match="any of these studies"):
        call_command("import_ratings", study.title, str(path), "--persons", "no")


@pytest.mark.parametrize(("persons", "is_told"), [("yes", True), ("no", False)])
def test_command_asks_for_no_more_about_persons_than_was_said(
    study: Study, tmp_path: Path, persons: str, is_told: bool
) -> None:
    path, out = tmp_path / "ratings.csv", StringIO()
    path.write_text(write_csv([row | {"person": "no"} for row in rows_for(study)]), "utf-8")

    call_command(
        "import_ratings", str(study.pk), str(path), "--persons", persons, "--check", stdout=out
    )

    assert ("the participant isn't a single person" in out.getvalue()) == is_told


def test_command_tells_remarks_of_a_file_with_faults_too(study: Study, tmp_path: Path) -> None:
    path, out = tmp_path / "ratings.csv", StringIO()
    rows = [row | {"origin": "simulated"} for row in rows_for(study)]
    rows[0]["value"] = "much"
    path.write_text(write_csv(rows), encoding="utf-8")

    with pytest.raises(CommandError, match="must be a whole number"):
        call_command("import_ratings", str(study.pk), str(path), "--persons", "yes", stdout=out)

    assert "Worth a look: 6 rows of the file are simulated" in out.getvalue()


@pytest.mark.parametrize(
    ("maps", "words"),
    [
        (["participant"], "FIELD is one of participant, item"),
        (["participant=foo"], "(?s)no field “foo”.*participant, item"),
        (["who=participant"], "The file's columns are: participant"),
        (["item=note", "item=note"], "“item” is mapped already"),
    ],
)
@pytest.mark.parametrize("is_there", [False, True])
def test_wrong_map_is_refused_also_for_ratings_that_are_there_already(
    study: Study, tmp_path: Path, maps: list[str], words: str, is_there: bool
) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(write_csv(rows_for(study)), encoding="utf-8")
    arguments = [str(study.pk), str(path), "--persons", "no"]
    if is_there:
        call_command("import_ratings", *arguments, stdout=StringIO())

    with pytest.raises(CommandError, match=words):
        call_command("import_ratings", *arguments, *(f"--map={one}" for one in maps))

    assert RatingsFile.objects.count() == is_there
