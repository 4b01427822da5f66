"""Drawing a small text never takes gigabytes or minutes, however old the process is."""

import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalsite.lib import limited, rich_text
from evalsite.lib.limited import TooMuch, read_cells, read_json
from evalsite.lib.rich_text import is_shown_as_source, render_rich
from tests.support.lasting import lasting_rows
from tests.support.soak import serve_ordinary_requests

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
ROOT = Path(__file__).resolve().parents[2]
# ordinary code, which nobody waits for
ORDINARY = (ROOT / "evalsite/data/tables/reader.py").read_text(encoding="utf-8")[:2_000]
MOST_TIMES, MEBIBYTES = 20, 100


@pytest.fixture(scope="module", autouse=True)
def old_process(request) -> Iterator[None]:
    """The process has answered ordinary requests for a while."""
    with lasting_rows(request):
        serve_ordinary_requests()
        gc.collect()
        gc.freeze()  # as the web server does
        yield
        gc.unfreeze()


def draw(text: str, kind: str, language: str = "") -> str | None:
    rich_text._html.clear()  # or it would be found there
    return render_rich(text, kind, language)


def measure_cpu(action: Callable[[], object]) -> float:
    """Return the processor time that this takes, without a search for garbage in between."""
    gc.disable()
    try:
        started = time.process_time()
        action()
        return time.process_time() - started
    finally:
        gc.enable()


def measure_memory(action: Callable[[], object]) -> float:
    """Return how much memory this takes at most, in MiB."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / 1024**2
    finally:
        tracemalloc.stop()


def write_objects(count: int, content: str = "") -> str:
    return "[" + ",".join(["{" + content + "}"] * count) + "]"


LOOPS = {
    "line breaks": "\n" * 2_000,
    "a a a": "a " * 1_000,
    "short lines": "a\n" * 1_000,
    "comments": "/*" * 1_000,
    "brackets": "<" * 2_000,
    "prose": "words without any marks " * 80,
    "not quite a loop": ("\n" * 230 + "int f(x){return g;}//qwertyuiopasdfgh;{}") * 7,
    "long": "\n" * 10_000,
    "long and looping": "a " * 10_000,
}
TABLES = {
    "different keys": "[" + ",".join(f'{{"k{number}":1}}' for number in range(4_000)) + "]",
    "a wide row above narrow ones": "," * 4_000 + "a\n" + "a,b\n" * 4_000,
    "a row of 400,000 cells": "a," * 400_000 + "\n1,2",
    "cells of line breaks": '"\n",' * 200_000,
    "200,000 rows": "a,b\n" * 200_000,
    "300,000 records": write_objects(300_000),
    "99,000 records": write_objects(99_000),
    "49,000 records": write_objects(49_000, '"a":1'),
    "lists in lists": "[" * 100_000 + "]" * 100_000,
}
CONVERSATIONS = {
    "80,000 turns": write_objects(70_000, '"role":"a"'),
    "49,000 turns": write_objects(49_000, '"role":"a"'),
    "2,000 turns": write_objects(2_000, '"role":"a"'),
    "calls": json.dumps([{"role": "a", "tool_calls": [{"function": {"arguments": "{}"}}] * 9_000}]),
    "parts": json.dumps([{"role": "a", "content": ["x"] * 90_000}]),
}
MARKDOWN = {
    "open brackets": "[" * 200_000,
    "3,000 brackets": "[" * 3_000,
    "pictures": "![" * 100_000,
    "1,500 pictures": "![" * 1_500,
    "stars": "*a " * 66_000,
    "lists": "- a\n" * 50_000,
    "1,500 lines of lists": "- a\n" * 1_500,
    "ten looping blocks": f"```java\n{'a ' * 10_000}\n```\n" * 10,
    "ten blocks of code": f"```python\n{ORDINARY}\n```\n" * 10,
    "three blocks of line breaks": f"```java\n{chr(10) * 900}```\n" * 3,
}
LANGUAGES = sorted(rich_text._LANGUAGES)


@pytest.fixture(scope="module")
def ordinary(old_process) -> float:
    """The processor time of drawing 2,000 characters of ordinary code."""
    draw(ORDINARY, "code", "python")
    return min(measure_cpu(lambda: draw(ORDINARY, "code", "python")) for _ in range(5))


def check_cost(ordinary: float, text: str, kind: str, language: str = "") -> None:
    draw("x", kind, language)  # the lexer is loaded
    # the shortest of three: nothing makes a text cheaper than it is
    times = [measure_cpu(lambda: draw(text, kind, language)) / ordinary for _ in range(3)]
    assert min(times) < MOST_TIMES
    assert measure_memory(lambda: draw(text, kind, language)) < MEBIBYTES


@pytest.mark.torture
@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_bad_91_a_table_is_drawn_or_shown_as_source_at_little_cost(text, ordinary):
    check_cost(ordinary, text, "table")


@pytest.mark.one_case
@pytest.mark.parametrize("language", LANGUAGES)
def test_bad_92_code_in_any_language_is_drawn_at_little_cost(language, ordinary):
    for text in LOOPS.values():
        check_cost(ordinary, text, "code", language)


@pytest.mark.one_case
@pytest.mark.parametrize("text", CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_a_conversation_is_drawn_or_shown_as_source_at_little_cost(text, ordinary):
    check_cost(ordinary, text, "conversation")


@pytest.mark.one_case
@pytest.mark.parametrize("text", MARKDOWN.values(), ids=MARKDOWN)
def test_markdown_is_drawn_or_shown_as_source_at_little_cost(text, ordinary):
    check_cost(ordinary, text, "markdown")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("table", TABLES["different keys"]),
        ("table", TABLES["a wide row above narrow ones"]),
        ("table", "a,b\n" * 1_001),
        ("conversation", CONVERSATIONS["calls"]),
        ("markdown", MARKDOWN["lists"]),
    ],
)
def test_what_is_too_large_to_draw_is_plain_text_and_is_known_to_be(kind, text):
    assert render_rich(text, kind) is None
    assert is_shown_as_source(text, kind)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("table", "\n".join(",".join("x" * 20) for _ in range(1_000))),
        ("table", json.dumps([{f"k{column}": "x" for column in range(19)}] * 999)),
        ("conversation", CONVERSATIONS["2,000 turns"]),
        ("markdown", MARKDOWN["1,500 lines of lists"]),
    ],
)
def test_what_fits_is_drawn(kind, text):
    assert render_rich(text, kind) is not None
    assert not is_shown_as_source(text, kind)


def test_three_blocks_of_a_text_are_coloured_and_the_rest_are_shown_whole():
    text = "```python\nimport this\n```\n" * 4

    html = render_rich(text, "markdown")

    assert html.count('<span class="hk">import</span>') == 3
    assert html.count("import") == 4


def test_code_over_2000_characters_is_plain_and_whole():
    code = "x = 1\n" * 500

    assert "<span" not in render_rich(code, "code", "python")
    assert code in render_rich(code, "code", "python")


@pytest.mark.parametrize("text", ["[1,2]", '{"a":[3]}', '["a,b,c,[{","\\",,,,"]'])
def test_values_of_json_are_counted_outside_texts(text):
    assert read_json(text, most_values=3) == json.loads(text)


@pytest.mark.parametrize("text", ['[["[[[["]]', '{"a":[1],"b":["]","{"]}', "[[],[],[]]"])
def test_depth_of_json_is_counted_outside_texts(text):
    assert read_json(text, most_depth=2) == json.loads(text)


@pytest.mark.parametrize("text", ["[[[1]]]", '{"a":[{"b":1}]}', "[" * 100_000, '["[",[['])
def test_json_that_is_nested_too_deep_is_refused(text):
    with pytest.raises(TooMuch):
        read_json(text, most_depth=2)


@pytest.mark.parametrize("text", ["[1,2,3,4]", '{"a":[1,2,3]}', "[[[[", "[{},{}]", "{,,,"])
def test_json_with_too_many_values_is_refused(text):
    with pytest.raises(TooMuch):
        read_json(text, most_values=3)


def test_cells_of_a_line_are_counted_before_they_are_made():
    assert list(read_cells(["a,b,c\n"], most=2)) == [["a", "b", "c"]]
    with pytest.raises(TooMuch):
        list(read_cells(["a,b,c,d\n"], most=2))


def test_the_ratio_and_the_size_of_what_is_packed_are_limited():
    limited.check_unpacked(200 * 1024**2, packed=2 * 1024**2 + 50_000)
    for size, packed in [(200 * 1024**2 + 1, 200 * 1024**2), (150 * 1024**2, 1024**2)]:
        with pytest.raises(TooMuch):
            limited.check_unpacked(size, packed)
