"""Sentences of reports come from templates: entries, lines, lists and what LaTeX needs."""

import re
from pathlib import Path

import pytest
from django.template import Context, Engine

from evalsite.results.report import methods
from evalsite.results.report.prose import join_lines, list_entries, write_prose

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "results" / "report"
# what may be written in LaTeX: what is escaped, counts, and numbers made by this software
_SAFE = re.compile(r"\|(tex|tex_listing|tex_finding|tt|paragraph|count:\"[^\"]+\"|number|length)$")
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


def test_values_in_latex_are_escaped() -> None:
    assert render("{{ name|tex }}", name="a_b\n&") == r"a\_b \&"
    assert render("{{ names|tex_listing }}", names=["a_b", "50%"]) == r"a\_b and 50\%"


def test_every_value_in_a_latex_template_is_escaped_or_a_number() -> None:
    found = [
        f"{path.name}: {value}"
        for path in sorted(TEMPLATES.rglob("*.tex"))
        if path.name != "head.tex"  # its lines are comments
        for value in re.findall(r"\{\{ (.*?) \}\}", path.read_text(encoding="utf-8"))
        if not _SAFE.search(value) and value.rpartition(".")[2] not in _NUMBERS
    ]

    assert found == []


@pytest.mark.parametrize(
    ("name", "key", "kinds"),
    [
        ("_agreement", "agreement", methods._AGREEMENT),
        ("_other_methods", "checks", methods._OTHER_TESTS),
        ("_other_methods", "tests_of_all", methods._TESTS_OF_ALL),
        ("_other_methods", "sizes", methods._SIZES),
        ("_other_methods", "other_agreement", methods._OTHER_AGREEMENT),
    ],
)
def test_every_kind_of_figure_that_methods_choose_is_named(
    name: str, key: str, kinds: tuple[str, ...]
) -> None:
    nothing = write_prose(f"latex/{name}.tex", {key: ["unknown"]}).rstrip(".")

    written = [write_prose(f"latex/{name}.tex", {key: [kind]}) for kind in kinds]

    assert len(set(written)) == len(kinds)
    assert all(len(text) > len(nothing) + 3 for text in written)
