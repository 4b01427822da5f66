"""Sentences of reports come from templates: entries, lines, lists and what LaTeX needs."""

import re
from pathlib import Path

import pytest
from django.template import Context, Engine

from evalsite.results.report.prose import join_lines, list_entries

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "results" / "report"
# what may be written in LaTeX: what is escaped, counts, and numbers made by this software
_SAFE = re.compile(r"\|(tex|tex_finding|tt|paragraph|count:\"[^\"]+\"|number|length)$")
_NUMBERS = {"seed", "pass_mark", "repeat_percent", "repeat_distance", "level", "least", "most",
            "median", "draws", "digest"}  # fmt: skip


def render(text: str, **known: object) -> str:
    template = Engine.get_default().from_string("{% load prose %}" + text)
    return template.render(Context(known, autoescape=False))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\n  two", "one two"),
        ("  one\n\n  ; two\n", "one; two"),
        ("one\n, two\n.", "one, two."),
        ("no\N{NO-BREAK SPACE}break", "no\N{NO-BREAK SPACE}break"),
    ],
)
def test_a_line_break_is_a_space_but_none_before_a_point(text: str, line: str) -> None:
    assert join_lines(text) == line


def test_an_entry_is_a_name_and_words_on_one_line() -> None:
    entries: list[tuple[str, str]] = []

    left = render('{% entry "Pay" %}\n £3\n for a set\n{% endentry %}', entries=entries)

    assert (left, entries) == ("", [("Pay", "£3 for a set")])


def test_an_entry_may_keep_the_lines_of_a_text() -> None:
    entries: list[tuple[str, str]] = []

    render('{% entry "Text" keep_lines=True %}{{ shown }}{% endentry %}',
           entries=entries, shown="a <b>\n\n c")  # fmt: skip

    assert entries == [("Text", "a <b>\n\n c")]


def test_a_topic_that_nobody_answered_is_an_entry_without_words() -> None:
    assert dict(list_entries("datasheet/ethics.txt", {}))["Assessment of impact"] == ""


def test_items_of_a_loop_are_separated_as_a_sentence_lists_them() -> None:
    text = "{% for word in words %}{% comma forloop %}{{ word }}{% endfor %}"

    assert render(text, words="abc") == "a, b and c"
    assert render(text, words="ab") == "a and b"
    assert render(text, words="a") == "a"
