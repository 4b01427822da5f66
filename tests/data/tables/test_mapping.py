"""What a person said of files, as an upload keeps it and readers of files take it."""

from typing import Any

import pytest
from pydantic import ValidationError

from evalsite.data.tables.reader import FileChoice, FileMapping

OPTIONS = {
    "outputs_names": {"a.csv": "alpha", "requests.csv": "inputs", "notes.txt": "-"},
    "system_names": {"m1": "alpha"},
    "take_once": True,
    "outputs_reasoning": "keep",
    "meets": ["alpha"],
}


def test_a_mapping_says_the_same_as_its_options() -> None:
    mapping = FileMapping.read({"reply": "output"}, OPTIONS)

    assert mapping.options == OPTIONS
    assert mapping.files[0] == FileChoice(name="a.csv", role="outputs", system="alpha")
    assert [file.role for file in mapping.files] == ["outputs", "inputs", "-"]
    assert mapping.systems == {"m1": "alpha"}


def test_a_mapping_is_the_same_once_it_was_kept() -> None:
    mapping = FileMapping.read({"reply": "output"}, OPTIONS)

    assert FileMapping.model_validate_json(mapping.model_dump_json()) == mapping
    assert FileMapping().model_dump(exclude_defaults=True) == {}


@pytest.mark.parametrize(
    "plain",
    [
        {"field": {}},
        {"fields": {"a": 1}},
        {"decisions": {"a": {"b": 1}}},
        {"files": [{"name": "a", "role": "judge"}]},
    ],
)
def test_what_is_no_mapping_is_refused(plain: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FileMapping.model_validate(plain)
    with pytest.raises(ValidationError):
        FileMapping().change(**plain)
