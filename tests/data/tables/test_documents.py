"""Documents of JSON that are larger than memory: what programs write that is no JSON."""

import io
import json

import pytest

from evalsite.data.tables.documents import WithoutNaN, read_items

TEXTS = [
    '{"a": NaN, "b": "NaN", "c": [NaN,NaN], "d": "a \\" NaN", "e": {"NaN": NaN}}',
    "[NaN]",
    '{"long": "' + "x, NaN " * 50 + '", "n": NaN}',
    '{"é": "NaN é", "n":NaN}',
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
@pytest.mark.parametrize("text", TEXTS)
def test_nan_is_null_outside_of_texts_only(text: str, size: int) -> None:
    source = WithoutNaN(io.BytesIO(text.encode()))

    content = b"".join(iter(lambda: source.read(size), b""))

    # Python reads NaN as a number that isn't equal to itself
    assert json.loads(content) == json.loads(text, parse_constant=lambda _: None)


def test_a_list_with_nan_is_read() -> None:
    document = io.BytesIO(b'{"rows": [{"a": NaN, "b": "NaN"}, {"a": 1}]}')

    assert list(read_items(document, ["rows"])) == [{"a": None, "b": "NaN"}, {"a": 1}]
