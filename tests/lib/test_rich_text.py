"""Markdown, code, tables and conversations as safe HTML, whatever their texts try to be."""

import json
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.lib.rich_text import RICH_KINDS, render_rich
from tests.support.hostile import EVERYTHING, TEXTS

# what markdown-it, Pygments, CSV and JSON are known to be attacked with, beside the usual texts
ATTACKS = {
    "link": "[x](javascript:alert(1)) [x](data:text/html;base64,PHNjcmlwdD4=) <javascript:evil>",
    "link with a title": '[x](//evil.example "y\' onclick=evil")\n\n[x]: //evil',
    "picture": "![evil](https://evil.example/a.png) ![a](data:image/svg+xml,<svg/onload=evil()>)",
    "fence": '```python" onload="evil\n</code></pre><script evil>1</script>\n```',
    "fence of any language": "~~~{{evil}} <b evil>\n<b evil>\n~~~",
    "heading": "# <b evil>\n=====\n###### [x](evil:1)",
    "table": "|<b evil>|b|\n|:-|-:|\n|<i evil>|[x](javascript:evil)|",
    "formula": "$<b evil>x$ $$</span><script evil>$$ \\(<img evil src=x>\\) \\[ x \\]",
    "nested": "> " * 500 + "deep " + "[" * 500 + "*" * 2_000,
    "entity": "&lt;script evil&gt; &#x3c;b evil&#x3e; [a](&#106;avascript:evil)",
    "records": json.dumps([{"<b evil>": "<script evil>", 'a" onclick="evil': {"x": "<i evil>"}}]),
    "turns": json.dumps(
        [
            {"role": "<b evil>", "content": "<script evil>1</script>"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "//evil"}}, 7]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"function": {"name": '<b evil>"', "arguments": "</code><script evil>"}},
                    "evil",
                    {"function": 3},
                ],
            },
            {"role": "tool", "name": "<i evil>", "content": "</details><b evil>"},
            {"role": "user", "content": "\ud800"},
        ]
    ),
    "nested values": json.dumps([{"role": "user", "content": "x"}]).replace(
        '"x"', "[" * 900 + "]" * 900
    ),
    "many columns": "a," * 30_000 + "\n1",
}
_TAGS = {
    "p", "br", "hr", "h3", "h4", "ul", "ol", "li", "strong", "em", "s", "code", "pre", "span",
    "blockquote", "table", "thead", "tbody", "tr", "th", "td", "div", "b",
}  # fmt: skip
_VALUES = {
    "class": {"hk", "hc", "hs", "math", "text", "dialogue", "a", "b", "call", "label", "many"},
    "scope": {"col"}, "dir": {"auto"},
}  # fmt: skip


class Reader(HTMLParser):
    """What a browser would make of HTML: its elements and attributes, and its text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS:
            self.faults.append(f"<{tag}>")
        self.faults += [
            f"{name}={value}"
            for name, value in attrs
            if not (name == "start" and (value or "").isdecimal())
            and name != "data-name"
            and value not in _VALUES.get(name, ())
        ]

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"<!--{data}-->")


def read(text: str, kind: str, language: str = "") -> Reader:
    reader = Reader()
    reader.feed(render_rich(text, kind, language) or "")
    reader.close()
    return reader


@pytest.mark.parametrize("kind", sorted(RICH_KINDS))
@pytest.mark.parametrize("name", [*TEXTS, *ATTACKS])
def test_hostile_text_makes_no_element_or_attribute_of_its_own(name, kind):
    text = {**TEXTS, **ATTACKS}[name]

    for shown in (text, f"{EVERYTHING}\n\n{text}"):
        for language in ("python", "html", "json", 'evil" onload="evil'):
            assert read(shown, kind, language).faults == []


@given(st.text("<>&\"'`*_[]()!#|\\$\n aé{}:,-", max_size=80), st.sampled_from(sorted(RICH_KINDS)))
def test_any_text_is_safe_in_any_kind(text, kind):
    assert read(text, kind, "python").faults == []


def test_code_is_shown_to_the_letter():
    code = "def f(x):\n\n    return '<b>' # &amp; \t\n\n"

    shown = read(code, "code", "python")

    assert shown.text == code
    assert '<span class="hk">def</span>' in str(render_rich(code, "code", "python"))
    assert read(code, "code", "no language").text == code


def test_links_and_pictures_are_text():
    text = "[Docs](https://example.org/a) <https://example.org/b> ![Chart](chart.png)"

    assert read(text, "markdown").text.strip() == (
        "Docs (https://example.org/a) https://example.org/b ![Chart](chart.png)"
    )


@pytest.mark.parametrize(
    "formula", ["$a_1 * b_2 * c_3$", r"\(x_1 \{y\}\)", r"\[ \frac{a}{b} \]", "$$\na_i*b_i*c\n$$"]
)
def test_formulas_are_shown_as_they_are_written(formula):
    assert read(f"So {formula} holds.", "markdown").text.strip() == f"So {formula} holds."


def test_sums_of_money_are_no_formulas():
    assert "math" not in str(render_rich("It costs $5 or *about* $10.", "markdown"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("table", "no table"), ("table", "a,b"), ("table", '{"a": 1}'), ("table", "[" * 10_000),
        ("conversation", "User: Hi"), ("conversation", '[{"text": "x"}]'), ("conversation", "[1]"),
        ("text", "**x**"), ("dialogue", "A: x"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_as_its_kind_is_plain_text(kind, text):
    assert render_rich(text, kind) is None


def test_tables_come_as_csv_and_as_records():
    as_csv = str(render_rich('city;note\nYork;"a; b"\nBath\n', "table"))
    records: list[dict[str, Any]] = [{"city": "York", "note": "a; b"}, {"city": "Bath"}]

    assert as_csv == str(render_rich(json.dumps(records), "table"))
    assert "<td>a; b</td>" in as_csv


def test_cells_of_a_wide_table_have_the_names_of_their_columns():
    names = ["a", "b", 'c"<', "d", "e", "f"]
    as_markdown = "\n".join(f"| {' | '.join(row)} |" for row in (names, ["-"] * 6, [*"123456"]))

    for text, kind in ((",".join(names) + "\n1,2,3,4,5,6", "table"), (as_markdown, "markdown")):
        html = str(render_rich(text, kind))
        assert html.count("<td data-name=") == 6
        assert '<table class="many">' in html
        assert 'data-name="c&quot;&lt;"' in html or 'data-name="c&quot;<"' in html
    assert "data-name" not in str(render_rich("a,b,c,d,e\n1,2,3,4,5", "table"))


@pytest.mark.parametrize(("length", "is_closed"), [(1_000, False), (1_001, True)])
def test_the_rest_of_a_long_result_opens_on_request(length: int, is_closed: bool) -> None:
    result = "é" * length

    html = str(render_rich(json.dumps([{"role": "tool", "content": result}]), "conversation"))

    assert ('<details class="open"><summary>Show all</summary>' in html) is is_closed
    assert html.count("é") == length
    assert html.partition("<details")[0].count("é") == 1_000


def test_arguments_of_a_call_are_always_open() -> None:
    call = {"function": {"name": "write", "arguments": "é" * 1_001}}

    turns = json.dumps([{"role": "assistant", "tool_calls": [call]}])

    assert "<details" not in str(render_rich(turns, "conversation"))


def test_turns_have_their_roles_and_tool_calls_are_open():
    turns = [
        {"role": "user", "content": "How warm is it?"},
        {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "weather", "arguments": '{"city": "York"}'}}],
        },
        {"role": "tool", "name": "weather", "content": "21"},
        {"role": "assistant", "content": [{"type": "text", "text": "21 degrees."}]},
    ]

    html = str(render_rich(json.dumps(turns), "conversation"))

    assert html.count("<li") == 4
    assert '<li class="a"><b dir="auto">User</b>' in html
    assert '<p class="label">Call of weather</p><pre>' in html
    assert '<p class="label">Result of weather</p><pre>' in html
    assert ">21 degrees.</span>" in html
