"""Files that people have, imported by the commands: what the study then holds, and what is said."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evalsite.handout.models import Rating
from evalsite.lib.conversations import read_turns
from evalsite.studies.models import Item, Output, Study
from tests.support.instruments import make_built_study

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "getting_in"
CASES: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_bytes())


def run(study: Study, arguments: list[str], folder: Path) -> tuple[bool, str]:
    """Return whether the command took the files, and what it said."""
    name, *options = [argument.replace("@/", f"{folder}/") for argument in arguments]
    output = StringIO()
    try:
        call_command(name, str(study.pk), *options, stdout=output)
    except CommandError as error:
        return False, f"{output.getvalue()}{error}"
    return True, output.getvalue()


def find_id(item: Item, with_ids: bool) -> str:
    """Return what the file called the item; "" where it has no ids."""
    known = item.extra.get("source_id") or item.extra.get("item") or item.key
    return str(known) if with_ids else ""


def read_shown(text: str) -> str:
    """Return what people read: of a conversation the words of its turns."""
    turns = read_turns(text) if text.startswith("[") else None
    return "\n".join(str(turn["content"]) for turn in turns) if turns else text


def read_outputs(study: Study, with_ids: bool) -> list[list[str]]:
    rows = Output.objects.filter(study=study, item__kind="main").select_related("item", "system")
    return [
        [
            find_id(row.item, with_ids),
            *map(read_shown, row.item.inputs.values()),
            row.system.name,  # type: ignore[union-attr]
            row.text,
        ]
        for row in rows
    ]


def read_ratings(study: Study) -> list[list[Any]]:
    rows = Rating.objects.filter(study=study).select_related("annotation__item", "output__system")
    return [
        [
            find_id(row.annotation.item, True),
            row.output.system.name if row.output and row.output.system else "",
            row.criterion,
            row.value,
        ]
        for row in rows
    ]


def squeeze(text: str) -> str:
    return " ".join(text.casefold().split())


@pytest.mark.one_case
@pytest.mark.parametrize("name", CASES)
def test_a_file_becomes_what_its_reader_would_expect(name: str) -> None:
    case = CASES[name]
    study = make_built_study(json.loads((FOLDER / f"study_{case['study']}.json").read_bytes()))

    for step in case["steps"]:
        is_taken, text = run(study, step["run"], FOLDER / name)
        assert is_taken != step.get("refused", False), text
        for words in step.get("say", []):
            choices = words if isinstance(words, list) else [words]
            assert any(squeeze(choice) in squeeze(text) for choice in choices), text

    if (expected := case.get("outputs")) is not None:
        with_ids = any(row[0] for row in expected)
        assert sorted(read_outputs(study, with_ids)) == sorted(expected)
    if "groups" in case:
        assert len(set(study.items.main().values_list("group", flat=True))) == case["groups"]
    if "ratings" in case:
        assert sorted(read_ratings(study)) == sorted(case["ratings"]["rows"])
