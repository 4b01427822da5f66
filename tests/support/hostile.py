"""Texts that try to be more than text, studies full of them, and what a page made of them."""

import json
from html.parser import HTMLParser
from random import Random
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.urls import resolve

from evalsite.fieldwork.simulation import Crowd, Visitor
from evalsite.instruments.schema import InputColumn, Instrument
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.support.batches import Row, import_rows, make_rows, text_columns
from tests.support.factories import launch, make_study

# Whatever of them becomes an element or an attribute has "evil" in it; whatever runs, sets it.
TEXTS = {
    "script": '<script evil>window.evil = 1; alert("evil")</script>',
    "handler": '<img evil src="/evil" onerror="window.evil = 2"><svg evil onload="evil()">',
    "end of an element": "</textarea></title></style></iframe></script><b evil>out</b>",
    "end of an attribute": '" evil autofocus onfocus="window.evil = 4" x=\' evil=\'',
    "comment": "<!-- <b evil> --> --> ]]> <![CDATA[<b evil>]]> <?php evil ?> <!doctype evil>",
    "entity": "&lt;b evil&gt; &amp;amp; &#60;b evil&#62; &nbsp &quot;",
    "template": '{{ 7*7 }}{% now "Y" %}{# evil #}{% load evil %} ${7*7} #{7*7} <%= 7*7 %>',
    "format": "%s %d %(name)s %% {} {0} {name!r} ${x} `${x}` $x \\1 \\n \\u0041 \\",
    "markdown": "**bold** [click](javascript:window.evil=5) ![x](/evil) `code`\n# heading",
    "formula": '=HYPERLINK("http://evil.example","x")',
    "formula at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "formula minus": "-2+3",
    "full-width formula": "＝1+1",
    "override": "abc \u202edef \u2066ghi \u202bjkl \u2067mno",
    "closing marks": "\u202c\u2069\u2069\u202c closes what another opened",
    "right to left": "שלום (עולם) 123, مرحبا!",
    "emoji": "👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 👍🏽 𝒳",
    "forms": "cafe\u0301 and café, A\u030a, ﬁ, ½, नमस्ते",
    "invisible": "a\u200bb\u00adc\u00a0d\ufeffe\u0085f",
    "quotes": "'; DROP TABLE studies_item; -- \"x\" 'y' `z` , ;",
    "line breaks": "one\n\ntwo\r\nthree\u2028four",
    "number": "1e5",
    "nothing": "NA",
}
EVERYTHING = "\n".join(TEXTS.values())
TITLE = """<b evil>T</b> {{ 7*7 }} %s ${x} &amp; " evil onclick="evil" '"""

# what may name a system: signs that can be seen, on one line
SYSTEMS = (
    '<script evil>alert("evil")</script>',
    '=SUM(A1)" evil onclick="evil',
    "{{ 7*7 }} %s ${x} &lt;שלום&gt;, 👍🏽",
)
EXTRA = '<b evil>extra</b> {{ 7*7 }} \u202e"'


def dress(text: str, column: str) -> str:
    """The text, so that it can be told in which column it stood."""
    return f"{text} ({column})"


def cells_of(column: InputColumn | None, text: str) -> list[str]:
    """Each way in which this text may stand in a cell of this column; None: of outputs."""
    if column is not None and column.kind == "dialogue":
        turns = [{"speaker": text, "text": text}, {"speaker": "B", "text": text}]
        return [f"A: {text}\nB: Well.", json.dumps(turns, ensure_ascii=False)]
    return [text]


def count_ways(config: Instrument) -> int:
    return max(len(cells_of(column, "")) for column in config.columns)


def hostile_rows(
    config: Instrument, *, key: str, text: str, way: int | None = None, **fields: str
) -> list[Row]:
    """Rows of items that hold this text in every column that takes free text, in each way."""
    rows = []
    for one in range(count_ways(config)) if way is None else [way]:
        for place, row in enumerate(make_rows(config, items=1)):
            row |= {"item": f"{key}-{one}", "kind": "", "gold_why": "", **fields}
            row |= {"system": SYSTEMS[place], "output": dress(text, f"output {place} {one}")}
            row[EXTRA] = dress(text, "extra")
            for column in config.columns:
                if column.name in text_columns(config):
                    cells = cells_of(column, dress(text, column.name))
                    row[column.name] = cells[one % len(cells)]
            rows.append(row)
    return rows


def rows_to_rate(config: Instrument, *, is_short: bool = False) -> list[Row]:
    """Items with all texts together, and unless this is to be short one more for each text."""
    rows = hostile_rows(config, key="all", text=EVERYTHING)
    for number, text in enumerate([] if is_short else TEXTS.values()):
        way = number % count_ways(config)
        rows += hostile_rows(config, key=f"t{number}", text=text, way=way)
    return rows


def make_hostile(config: Instrument, *, is_short: bool = False, **fields: Any) -> Study:
    """A live study with every text in every column, and all of them in one item and in practice.

    A short one has only these items.
    """
    rows = rows_to_rate(config, is_short=is_short)
    rows += hostile_rows(
        # under a heading of its own: who has practised a text is not asked about it again
        config,
        key="p",
        text=f"p{EVERYTHING}",
        kind="practice",
        gold_why=dress(EVERYTHING, "why"),
    )
    texts = {"title": TITLE, "summary": TITLE, "organisation": TITLE}
    given = {"items": 0, "set_size": 100, "k": 1, "max_sets": None, **texts, **fields}
    study = make_study(protocol=config.key, **given)
    import_rows(study, rows, file_name=TITLE)
    return launch(study)


# --- what a page made of it ---------------------------------------------------------


class Seen(HTMLParser):
    """What a page says, frames within it included, and what in it is not the site's own."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.breaches: list[str] = []
        self.feed(html)
        self.close()

    @property
    def words(self) -> str:
        return squeeze("".join(self.pieces))

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if any("evil" in name or name.startswith("on") for name in given):
            self.breaches.append(self.get_starttag_text() or tag)
        if tag == "script" and not given.get("src") and given.get("type") != "application/json":
            self.breaches.append("an inline script")
        for name, value in given.items():
            if name in ("href", "src", "action", "formaction") and not _leads_on(value):
                self.breaches.append(f"{name}={value}")
            if name == "srcdoc":
                inner = Seen(value)
                self.breaches += inner.breaches
                value = "".join(inner.pieces)
            self.pieces.append(f"\n{value}\n")

    def handle_comment(self, data: str) -> None:
        if "evil" in data:
            self.breaches.append(f"<!--{data}-->")


def _leads_on(address: str) -> bool:
    return not address.strip().lower().startswith(("javascript:", "data:text", "vbscript:"))


def squeeze(text: str) -> str:
    """The text without white space, which pages and parsers may change."""
    return "".join(text.split())


def texts_shown(row: Row, config: Instrument) -> list[str]:
    """What a participant is to read of this row, as it is to be read."""
    found = [row["output"]]
    for column in config.columns:
        if column.name not in text_columns(config):
            continue
        cell = row[column.name]
        if cell.startswith("[{"):
            found += [part for turn in json.loads(cell) for part in turn.values()]
        elif column.kind == "dialogue":
            found.append(cell.removeprefix("A: ").removesuffix("\nB: Well."))
        else:
            found.append(cell)
    return found


class Walker(Visitor):
    """Somebody who does all that there is to do, opens every link, and keeps every page."""

    def __init__(self, study: Study) -> None:
        super().__init__(Crowd(study, "walker"), Random(1), now(), latest=now())
        self.pages: list[tuple[str, str]] = []
        self._opened: set[str | None] = set()

    def _get(self, address: str) -> Any:
        page, address = super()._get(address)
        html = page.content.decode()
        self.pages.append((address, html))
        links = {name_of(urljoin(address, link)): link for link in _Links(html).found}
        for name, link in links.items():
            if name not in self._opened:
                self._opened.add(name)
                linked, there = super()._get(urljoin(address, link))
                self.pages.append((there, linked.content.decode()))
        is_break = name_of(address) == "set-break"
        return self._get(links["rating-page"]) if is_break else (page, address)

    def _walks_away(self, address: str) -> bool:
        return False


def name_of(address: str) -> str | None:
    """The name of the page at this address."""
    return resolve(urlsplit(address).path).url_name


class _Links(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href") or ""
        if tag == "a" and href.startswith("/p/"):
            self.found.append(href)
