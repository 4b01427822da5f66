"""Results in a browser: accessible in all looks, no wider than a phone, opened by keyboard."""

from dataclasses import replace

import pytest
from django.urls import reverse

from evalsite.results.document.blocks import Cell, Column, Document, Table, isolate
from evalsite.results.document.figures import make_figure
from evalsite.results.document.html import render_page
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import find_faults_in_turn
from tests.support.factories import make_study, make_user
from tests.support.reports import keep_report, make_content, make_pair, make_points

KEY = "informativeness"  # of the study that the factory makes

pytestmark = pytest.mark.django_db(transaction=True)


def test_summary_and_criterion_are_accessible_and_a_closed_section_opens_by_keyboard(
    page, live_server
):
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    criterion = make_points(
        make_pair("a", "b", "higher"), make_pair("b", "c", "not_enough"), key=KEY
    )
    everything = make_content(criteria=[make_points(make_pair("a", "b", "not_enough"), key=KEY)])
    study = make_study(items=2, by=user)
    keep_report(study, criteria=[criterion], everything=everything)
    question = reverse("admin:results-question", args=[study.pk, KEY])
    addresses = [
        reverse("admin:study-results", args=[study.pk]), question, f"{question}?people=everyone",
        reverse("admin:results-raters", args=[study.pk]),
        reverse("admin:results-design", args=[study.pk]),
    ]  # fmt: skip

    faults = []
    for address in addresses:
        page.goto(f"{live_server}{address}")
        faults += find_faults_in_turn(page)
        if address == question:
            open_fold_by_keyboard(page)

    assert faults == []


def test_a_name_from_right_to_left_keeps_the_order_of_a_difference_and_the_side_of_its_row(page):
    arabic = isolate("سلام-7B")
    table = Table(
        "pairs", "Differences", [Column("Pair", is_number=False), Column("Difference")],
        [[f"{arabic} − tuned", "−1.2"], [Cell(arabic, below="rated"), "3.0"]],
    )  # fmt: skip

    page.set_content(render_page(Document("Study", [table])))
    pair, name = page.get_by_role("rowheader").all()

    assert find_place(pair, "سلام") < find_place(pair, "−") < find_place(pair, "tuned")
    assert name.locator("small").evaluate("line => getComputedStyle(line).direction") == "ltr"


@pytest.mark.parametrize("width", [1280, 360])
def test_a_report_in_one_file_has_room_for_names_and_says_what_each_number_is(page, width):
    name = "R&D_v2 (50% #1), tuned"
    mean = replace(make_figure("mean", 4.1, {"system": name}, unit="points"), low=3.9, high=4.3)
    shares = [make_figure("chosen", 0.5, {"answer": answer}) for answer in ("1", "5")]
    columns = [Column("System", is_number=False), *map(Column, ("n", "Mean", "SD", "% of 1 to 5"))]
    systems = [name, "36", mean, "0.7", Cell("50 / 50", tuple(shares), look="parts")]
    numbers = [
        Column("Comparison", is_number=False),
        *(Column(f"Test {n} of the pair") for n in range(6)),
    ]
    tables = [
        Table("x-systems", "Systems", columns, [systems], marks="intervals"),
        Table("x-pairs", "Pairs", numbers, [[f"{name} − baseline-of-2024", *[".001"] * 6]]),
    ]
    page.set_viewport_size({"width": width, "height": 740})

    page.set_content(render_page(Document("Study", tables)), wait_until="load")

    for row_head in page.get_by_role("rowheader").all():
        box = row_head.bounding_box()
        assert box["width"] >= 8 * 16
        # of the first number beside or below it, something can be seen
        assert row_head.locator("~ .n").first.bounding_box()["x"] < width - 40
    assert page.get_by_text("Chart", exact=True).bounding_box()["width"] <= 1
    for number in page.locator(".figure td.n").all():
        label = number.evaluate("cell => getComputedStyle(cell, '::before').content")
        assert label == (f'"{number.get_attribute("data-th")}"' if width == 360 else "none")


def find_place(cell, words):
    """Return how far these words are from the left edge of the page."""
    return cell.evaluate(
        """(cell, words) => {
            const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
            let text
            while ((text = texts.nextNode()) && !text.data.includes(words));
            const range = document.createRange()
            range.setStart(text, text.data.indexOf(words))
            range.setEnd(text, text.data.indexOf(words) + words.length)
            return Math.round(range.getBoundingClientRect().left)
        }""",
        words,
    )


def open_fold_by_keyboard(page):
    fold = page.locator("details.fold").first
    fold.locator("summary").focus()
    page.keyboard.press("Enter")

    assert fold.get_attribute("open") is not None


def test_words_of_a_table_stay_whole_on_a_phone(page, live_server):
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    study = make_study(items=2, by=user)
    keep_report(study, criteria=[make_points(make_pair("baseline", "tuned", "higher"), key=KEY)])
    page.set_viewport_size({"width": 360, "height": 740})

    page.goto(f"{live_server}{reverse('admin:results-question', args=[study.pk, KEY])}")

    heights = page.eval_on_selector_all(
        ".document tbody th", "cells => cells.map((cell) => cell.getBoundingClientRect().height)"
    )
    assert heights
    # three lines at most, where a letter a line would make many
    assert max(heights) < 110
