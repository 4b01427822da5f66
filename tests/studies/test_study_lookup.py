"""Every command refers to a study in the same way."""

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import (
    CommandError,
    call_command,
    get_commands,
    load_command_class,
)

from evalsite.studies.models import Study
from evalsite.studies.study_lookup import find_study

pytestmark = pytest.mark.django_db

# what each command needs beside its study
COMMANDS: dict[str, list[str]] = {
    "analyse": [],
    "design": [],
    "export_bundle": [],
    "fsck": [],
    "import_batch": ["no-file.csv"],
    "import_judges": ["no-file.csv"],
    "import_metrics": ["no-file.csv"],
    "import_ratings": ["no-file.csv", "--persons", "yes"],
    "simulate": ["--participants", "1"],
}


@pytest.fixture
def study(make_study: Callable[..., Study]) -> Study:
    return make_study(title="Restaurants A")


def refer(study: Study) -> list[str]:
    """All that a study may be called."""
    return [str(study.pk), study.pk.hex, str(study.pk)[:10], study.pk.hex[:6].upper(), study.title]


def test_every_command_that_takes_a_study_is_listed_here() -> None:
    folders = Path(__file__).resolve().parents[2].glob("evalsite/**/management/commands/*.py")

    taking = {
        path.stem
        for path in folders
        if re.search(r"find_study\(|\(ImportCommand\)", path.read_text(encoding="utf-8"))
    }

    assert taking == set(COMMANDS)


def test_study_is_found_by_id_beginning_of_it_or_title(study: Study, make_study: Any) -> None:
    make_study(title="Restaurants B")

    assert {find_study(reference).pk for reference in refer(study)} == {study.pk}


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_the_study_in_every_way(
    study: Study, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where a bundle is written

    refused = []
    for reference in refer(study):
        try:
            call_command(name, reference, *COMMANDS[name], stdout=StringIO())
        except CommandError as error:
            # for another reason: no answers, no such file, a bundle that exists by now
            refused.append(str(error))

    assert [message for message in refused if "no study" in message] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_lists_the_studies_if_there_is_none_of_that_name(
    study: Study, name: str
) -> None:
    with pytest.raises(CommandError, match="There is no study “nosuch”") as refused:
        call_command(name, "nosuch", *COMMANDS[name])

    assert f"{study.pk}  Restaurants A" in str(refused.value)
    assert refused.value.returncode == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_lists_the_studies_that_may_be_meant(
    study: Study, name: str, make_study: Any
) -> None:
    twin, other = make_study(title=study.title), make_study(title="Restaurants B")

    with pytest.raises(CommandError, match="any of these") as refused:
        call_command(name, study.title, *COMMANDS[name])

    assert all(str(one.pk) in str(refused.value) for one in (study, twin))
    assert str(other.pk) not in str(refused.value)


@pytest.mark.parametrize(
    "name", [name for name, app in get_commands().items() if str(app).startswith("evalsite")]
)
def test_every_command_and_each_of_its_arguments_has_a_help_text(name: str) -> None:
    command = load_command_class(get_commands()[name], name)

    parser = command.create_parser("manage.py", name)

    assert command.help
    assert [action.dest for action in parser._actions if not action.help] == []


def test_bundle_without_a_name_is_written_beside_under_the_name_of_its_study(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    call_command("export_bundle", "Restaurants A", stdout=StringIO())
    with pytest.raises(CommandError, match="exists already"):
        call_command("export_bundle", "Restaurants A")

    assert [path.name for path in tmp_path.iterdir()] == ["restaurants-a_bundle.zip"]


@pytest.mark.parametrize("number", ["0", "-3", "many"])
def test_crowd_of_nobody_is_refused(study: Study, number: str) -> None:
    with pytest.raises(CommandError, match="whole number of 1 or more"):
        call_command("simulate", str(study.pk), f"--participants={number}")
