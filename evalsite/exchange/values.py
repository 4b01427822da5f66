"""Items as a checked file gives them: plain values, no rows of the database."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

_MADE = "inputs-"


@dataclass(frozen=True, slots=True)
class CheckedOutput:
    system: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """One item, and where its first row stands in the file."""

    key: str
    group: str
    line: int
    record: int
    outputs: tuple[CheckedOutput, ...]
    inputs: dict[str, str]
    kind: str = "main"
    cluster: str = ""
    extra: dict[str, object] = field(default_factory=dict)
    gold: dict[str, str] = field(default_factory=dict)


def name_group(inputs: Mapping[str, str]) -> str:
    """The group of items that name none: equal for equal inputs, and for no others."""
    text = json.dumps(inputs, sort_keys=True, ensure_ascii=False)
    return f"{_MADE}{sha256(text.encode()).hexdigest()[:16]}"


def is_made_group(group: str) -> bool:
    """Whether this is no name that stands in a file, but one that was made of the inputs."""
    return group.startswith(_MADE)
