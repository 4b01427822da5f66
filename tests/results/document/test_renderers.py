"""One document in several forms: each shows every name unchanged, and runs none."""

import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from evalsite.analysis.figure import Figure, Reason
from evalsite.results.document.blocks import (
    Cell,
    Chart,
    Code,
    Column,
    Document,
    Heading,
    Sentence,
    Table,
    isolate,
)
from evalsite.results.document.charts import draw_pdf
from evalsite.results.document.figures import make_figure, write_figure, write_number, write_p
from evalsite.results.document.html import render_html, render_page
from evalsite.results.document.latex import list_latex_files
from evalsite.results.document.text import render_text, write_table_csv

NAMES = (
    "a_b & 100 % {$x^2$} #~--\\input{/etc/passwd}\\end{document}",
    '<script>alert(1)</script><b>"bold" \'</b>',
    '=HYPERLINK("x") [x] * `c` |',
    "\N{RIGHT-TO-LEFT OVERRIDE}نظام",
)


def make_mean(name: str, value: float | None = 4.1, **known: float) -> Figure:
    reason = Reason.TOO_FEW if value is None else None
    return Figure(
        name="mean", method="", value=value, reason=reason, unit="points",
        group=(("criterion", "fluency"), ("system", name)), **known,
    )  # fmt: skip


def make_document(names: tuple[str, ...] = NAMES) -> Document:
    means = [make_mean(name, 4.1 - place, low=3.9 - place, high=4.3 - place)
             for place, name in enumerate(names)]  # fmt: skip
    columns = [Column("System", is_number=False), Column("Mean"), Column("Tier")]
    rows = [
        [isolate(name), mean, Cell("x", above="A", is_strong=True)]
        for name, mean in zip(names, means, strict=True)
    ]
    chosen = [
        make_figure("chosen", share, {"system": name, "answer": answer})
        for name in names
        for answer, share in (("yes", 0.25), ("no", 0.75))
    ]
    listed = ", ".join(map(isolate, names))
    return Document(
        names[0],
        [
            Heading(f"Systems {names[1]}", 2, "systems"),
            Sentence("decision_yes", "By 1 point.", "headline", question="Better?", answer="Yes"),
            Sentence("finding", f"{listed} differ (p < .001).", figures=(means[0],)),
            Sentence("joint", "A second sentence."),
            Sentence("few_people", f"{listed}: one person.", "warning"),
            Table("fluency-systems", f"Means of {listed}", columns, rows, marks="intervals"),
            Chart("means", "intervals", "Means", means, reference=2.5),
            Chart("chosen", "stacked", "Answers", chosen),
            Code("sh", "evalsite verify ```\n\\end{verbatim}"),
        ],
    )


class Page(HTMLParser):
    """The words of a page, and the tags that it opens."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.941, "points", "3.94"), (63.44, "points", "63.4"), (-0.001, "points", "0.00"),
        (1234.5, "points", "1,234"), (0.614, "share", "61%"),
        (-0.12, "difference in shares", "−12"),
        (0.5, "coefficient", ".50"), (-0.07, "coefficient", "−.07"), (1.0, "coefficient", "1.00"),
        (1320, "count", "1,320"), (12.34, "seconds", "12.3"), (10.981, "money", "10.98"),
        (1.317, "ratio", "1.32"), (None, "points", "–"),
    ],
)  # fmt: skip
def test_the_unit_decides_how_a_number_is_written(value, unit, text) -> None:
    assert write_number(value, unit) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0004, "< .001"), (0.0123, ".012"), (0.0996, ".100"), (0.25, ".25"), (0.999, "> .99")],
)
def test_p_has_three_digits_below_a_tenth_and_two_above(p: float, text: str) -> None:
    assert write_p(p) == text


def test_an_undefined_figure_says_why() -> None:
    assert write_figure(make_mean("a", None)) == "too few values"
    # the same code says another thing of two people and of two systems
    unpaired = replace(make_mean("a", None), reason=Reason.NO_OVERLAP)
    assert write_figure(unpaired) == "no item has two ratings"
    assert write_figure(replace(unpaired, name="superiority")) == "nobody rated both"


# --- every form ---------------------------------------------------------------------------------


def test_html_escapes_every_name() -> None:
    page = Page(render_html(make_document()))

    assert "script" not in page.tags
    for name in NAMES:
        assert isolate(name) in page.text
    assert page.text.count("A second sentence.") == 1


def test_stand_alone_page_needs_nothing_else() -> None:
    html = render_page(make_document())

    addresses = re.findall(r'(?:href|src)="([^"]*)"', html)
    assert all(address.startswith(("data:", "#")) for address in addresses)


def test_latex_runs_no_command_of_a_name() -> None:
    text = "".join(list_latex_files(make_document(), "report").values())

    assert "\\input{/etc" not in text
    assert "\\end{document}" not in text
    assert text.count("\\end{verbatim}") == 1
    assert "\\textbf{x}\\textsuperscript{A}" in text
    assert "$p < .001$" in text


def test_latex_has_a_file_for_each_table() -> None:
    files = list_latex_files(make_document(), "report")

    assert list(files) == ["report.tex", "tables/fluency-systems.tex"]
    assert "\\input{tables/fluency-systems}" in files["report.tex"]
    assert "\\label{tab:fluency-systems}" in files["tables/fluency-systems.tex"]


def test_markdown_shows_names_unchanged_and_breaks_no_table() -> None:
    text = render_text(make_document())

    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}
    assert text.count("```") == 2


def test_csv_runs_no_formula_and_has_every_digit() -> None:
    table = make_document().find_table("fluency-systems")
    assert table is not None

    head, *rows = csv.reader(io.StringIO(write_table_csv(table)))

    assert head == ["System", "Mean", "Mean, low", "Mean, high", "Tier"]
    assert rows[2][0].startswith("'=HYPERLINK")
    assert rows[0][1:4] == ["4.1", "3.9", "4.3"]


def test_a_name_from_right_to_left_is_isolated_and_turns_nothing_around() -> None:
    assert isolate(NAMES[3]) == "\N{FIRST STRONG ISOLATE}نظام\N{POP DIRECTIONAL ISOLATE}"
    assert isolate("plain\n name\N{RIGHT-TO-LEFT OVERRIDE}") == "plain name"


def test_pdf_of_a_chart_is_the_same_each_time() -> None:
    charts = [block for block in make_document().blocks if isinstance(block, Chart)]

    for chart in charts:
        content = draw_pdf(chart)
        assert content.startswith(b"%PDF")
        assert content == draw_pdf(chart)


def test_a_document_lists_every_figure() -> None:
    figures = make_document().figures

    assert [figure.name for figure in figures].count("mean") == 1 + 4 + 4
    assert [figure.name for figure in figures].count("chosen") == 8


def test_places_choose_what_a_file_holds() -> None:
    document = Document(
        "Report", [Sentence("a", "Here."), Sentence("b", "There.", place="further")]
    )

    assert document.keep("main").codes == ["a"]
    assert document.keep("further").codes == ["b"]


# --- figures within tables ----------------------------------------------------------------------


def test_a_chart_of_intervals_is_drawn_within_the_table_of_its_name() -> None:
    means = [make_mean(name, 4.0, low=3.5, high=4.5) for name in "ab"]
    rows = [[Cell(name, below="of 3"), mean] for name, mean in zip("ab", means, strict=True)]
    columns = [Column("System", is_number=False), Column("Mean")]
    blocks = [
        Chart("systems", "intervals", "Drawn apart", means, rings=means[:1], ring_label="everyone"),
        Table("systems", "Means", columns, rows),
    ]

    html = render_html(Document("", blocks))

    assert "Drawn apart" not in html
    assert html.count('class="dot"') == 2
    # of the first row, and of the key
    assert html.count('class="ring"') == 2
    assert html.index("of 3") < html.index('class="dot"') < html.index("3.50 to 4.50</small>")


def test_a_second_line_of_a_cell_follows_in_brackets_in_plain_text() -> None:
    table = Table("x", "X", [Column("System"), Column("p")], [["a", Cell(".01", below=".002")]])

    assert ".01 (.002)" in render_text(Document("", [table]))


def test_a_matrix_shades_its_fields() -> None:
    cells = [Cell(".60", look="strong"), Cell("−.10", look="apart")]
    table = Table("m", "Matrix", [Column(""), Column("a"), Column("b")], [["a", *cells]])

    html = render_html(Document("", [table]))

    assert 'class="matrix tight"' in html
    assert [word for word in ("v2", "vx") if f'class="{word}"' in html] == ["v2", "vx"]
