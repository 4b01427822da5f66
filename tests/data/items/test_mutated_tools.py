"""Files of tools with something broken in them: refused with a code or read, and never an error."""

import io
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from evalsite.data.importing import aim_at_nothing, aim_at_study, check_source, describe
from evalsite.data.items.importer import ITEMS
from evalsite.data.ratings.importer import RATINGS as RATING_FILES
from evalsite.data.tables.reader import FileMapping
from evalsite.studies.models import Item, Study
from tests.data.tables.test_formats import EXAMPLES, FILES, FOLDER, RATINGS
from tests.support.instruments import make_built_study

pytestmark = pytest.mark.django_db

_ODD: list[Any] = [
    None,
    "",
    0,
    -1.5,
    True,
    [],
    {},
    [[]],
    {"a": []},
    "nan",
    "\x00",
    ["x", 1],
    "[{",
    10**400,
]
_FEW, _MANY = 20, 1_000


def list_examples() -> dict[str, Path]:
    folders = {
        name: FOLDER / paths[0] for name, paths in FILES.items() if (FOLDER / paths[0]).is_file()
    }
    samples = sorted((FOLDER / "lm_eval").rglob("samples_*.jsonl"))[0]
    answers = sorted((FOLDER / "fastchat" / "model_answer").iterdir())[0]
    results = FOLDER / "openai_batch" / "alpha-7b.jsonl"
    return {
        **folders,
        **EXAMPLES,
        **RATINGS,
        "lm_eval": samples,
        "fastchat": answers,
        "openai_batch": results,
    }


def list_places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place of a value: a dict or list, and the key or number in it."""
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        part = waiting.pop()
        pairs = (
            part.items()
            if isinstance(part, dict)
            else enumerate(part)
            if isinstance(part, list)
            else ()
        )
        for key, below in pairs:
            places.append((part, key))
            waiting.append(below)
    return places


def break_value(value: Any, chance: Random) -> Any:
    """Break one place: it is gone, or something else, or there twice."""
    part, key = chance.choice(list_places(value))
    how = chance.randrange(3)
    if how == 0:
        del part[key]
    elif how == 1 or not isinstance(part, list):
        part[key] = chance.choice(_ODD)
    else:
        part.append(part[key])
    return value


def break_file(data: bytes, chance: Random) -> bytes:
    """Break a value of JSON, or else some bytes, or the end."""
    how = chance.randrange(4)
    if how == 0:
        return data[: chance.randrange(len(data))]
    if how == 1:
        place = chance.randrange(len(data))
        return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]
    try:
        return json.dumps(break_value(json.loads(data), chance)).encode()
    except ValueError:
        pass
    lines = data.split(b"\n")
    number = chance.randrange(len(lines))
    try:
        lines[number] = json.dumps(break_value(json.loads(lines[number]), chance)).encode()
    except (ValueError, IndexError):
        lines.append(lines[number])
    return b"\n".join(lines)


@pytest.fixture
def study() -> Study:
    folder = FOLDER.parent / "getting_in"
    return make_built_study(json.loads((folder / "study_one.json").read_bytes()))


def check_broken(study: Study, name: str, number: int) -> None:
    data = list_examples()[name].read_bytes()
    importer = RATING_FILES if name in RATINGS else ITEMS
    for seed in range(number):
        broken = break_file(data, Random(f"{name} {seed}"))
        options = {"outputs_samples": "first", "empty_outputs": "show"} if seed % 2 else {}
        # some of them as if there were no study yet
        is_open = importer is ITEMS and seed % 4 == 1
        target = aim_at_nothing("seed") if is_open else aim_at_study(study)

        checked = check_source(
            importer,
            io.BytesIO(broken),
            target=target,
            file_name=f"run/{name}.x",
            mapping=FileMapping.read({}, options),
        )

        assert checked.faults or checked.is_importable, (name, seed)
        assert all(fault.code and fault.message for fault in checked.faults)
        assert not is_open or describe(importer, checked, target).summary["groups"] >= 0
    assert not Item.objects.main().filter(study=study).exists()


@pytest.mark.parametrize("name", list_examples())
def test_a_broken_file_of_a_tool_is_refused_or_read(study: Study, name: str) -> None:
    check_broken(study, name, _FEW)


@pytest.mark.torture
@pytest.mark.parametrize("name", list_examples())
def test_a_thousand_broken_files_of_a_tool_are_refused_or_read(study: Study, name: str) -> None:
    check_broken(study, name, _MANY)
