"""Items as a checked file gives them: plain values, no rows of the database."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from json.encoder import encode_basestring, encode_basestring_ascii

_MADE = "inputs-"


# not frozen: that takes twice as long to make, and a file may hold 200,000 of each


@dataclass(slots=True)
class CheckedOutput:
    system: str
    text: str


@dataclass(slots=True)
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
    # as JSON, where that is known already
    inputs_text: str = field(default="", compare=False, repr=False)


def write_texts(
    texts: Iterable[tuple[str, str]], quote: Callable[[str], str] = encode_basestring_ascii
) -> str:
    """Texts by name as JSON, as json.dumps writes them, in a quarter of its time."""
    return f"{{{', '.join([f'{quote(name)}: {quote(text)}' for name, text in texts])}}}"


def name_written_group(inputs: Mapping[str, str], written: str) -> str:
    """As name_group, of inputs that have been written as JSON already."""
    if len(inputs) == 1 and "\\u" not in written:
        # one name needs no order, and these letters are written alike in both ways
        return f"{_MADE}{sha256(written.encode()).hexdigest()[:16]}"
    return name_group(inputs)


def name_group(inputs: Mapping[str, str]) -> str:
    """The group of items that name none: equal for equal inputs, and for no others."""
    text = write_texts(sorted(inputs.items()), encode_basestring)
    return f"{_MADE}{sha256(text.encode()).hexdigest()[:16]}"


def is_made_group(group: str) -> bool:
    """Whether this is no name that stands in a file, but one that was made of the inputs."""
    return group.startswith(_MADE)
