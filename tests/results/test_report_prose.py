"""Sentences of reports come from templates: entries, lines, lists and what LaTeX needs."""

import re
from pathlib import Path

import pytest
from django.template import Context, Engine

from evalsite.results.report import methods
from evalsite.results.report.prose import join_lines, list_entries
from evalsite.results.report.sentences import OTHER_METHODS

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


def test_values_in_latex_are_escaped() -> None:
    assert render("{{ name|tex }}", name="a_b\n&") == r"a\_b \&"


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
    ("key", "kinds"),
    [
        ("agreement", methods._AGREEMENT),
        ("checks", methods._OTHER_TESTS),
        ("tests_of_all", methods._TESTS_OF_ALL),
        ("sizes", methods._SIZES),
        ("other_agreement", methods._OTHER_AGREEMENT),
    ],
)
def test_every_kind_of_figure_that_methods_choose_is_named(
    key: str, kinds: tuple[str, ...]
) -> None:
    words = OTHER_METHODS[key][1]

    assert list(words) == list(kinds)
    assert len(set(words.values())) == len(kinds)


def test_a_sentence_in_latex_is_escaped_and_cites() -> None:
    asked = '{% tex_sentence "baseline_chosen" moment=moment %}'

    assert render(asked, moment=r"\input{x} [@gwet2008] *τ_b* **bold**") == (
        r"The baseline was chosen \textbackslash{}input\{x\} \citep{gwet2008} $\tau_b$ "
        "{*}{*}bold{*}{*}."
    )


def test_no_latex_template_writes_a_sentence_without_escaping_it() -> None:
    assert [
        path.name
        for path in TEMPLATES.rglob("*.tex")
        if "{% sentence " in path.read_text(encoding="utf-8")
    ] == []
