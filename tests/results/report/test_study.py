"""The study in four lines, and what was excluded by which rule, whom and when."""

from decimal import Decimal

import pytest

from evalsite.results.document.blocks import Cell, Document, Table
from evalsite.results.report.sections.methods import make_plan, make_study
from tests.support.reports import make_content, make_facts, make_source

OWN = {"own": 12, "imported": 0, "simulated": 0}
ELSEWHERE = {"own": 0, "imported": 12, "simulated": 0}


@pytest.mark.parametrize(
    ("hourly", "origins", "paid"),
    [(Decimal("12.5"), OWN, [12.5]), (None, OWN, []), (Decimal("12.5"), ELSEWHERE, [])],
)
def test_pay_per_hour_is_beside_the_people_who_got_it(hourly, origins, paid) -> None:
    content = make_content()
    content["data"]["origins"] = origins
    facts = make_facts(hourly=hourly, settings={"currency": "GBP"}, data=content["data"])

    table = Document("", list(make_study(make_source(content, facts=facts)))).find_table("study")

    people = dict(table.rows)["People"]
    assert isinstance(people, Cell)
    figures = [one for one in people.figures if one.name == "pay_per_hour"]
    assert [one.value for one in figures] == paid
    assert people.text.endswith("; £12.50 an hour") == bool(paid)


@pytest.mark.parametrize(
    ("places", "words"),
    [
        # one output on a page, so there is one position
        ({"a": {"1": 36}, "b": {"1": 36}}, ""),
        ({"a": {"1": 6, "2": 6}, "b": {"1": 6, "2": 6}}, "equally often in each position"),
        ({"a": {"1": 6, "2": 7}, "b": {"1": 7, "2": 6}}, "in each position, to within 1"),
    ],
)
def test_positions_are_said_to_be_equal_where_there_are_several(places, words) -> None:
    content = make_content()
    content["data"] |= {"places": places, "systems": ["a", "b"]}

    (table,) = (block for block in make_study(make_source(content)) if isinstance(block, Table))
    design = next(row[1] for row in table.rows if row[0] == "Design")

    assert isinstance(design, Cell)
    assert design.text.endswith(words)
    assert ("position" in design.text) == bool(words)


def test_each_reason_has_its_people_and_days() -> None:
    decided = {
        "people": 2, "first": "2026-03-04T12:15:00+00:00", "last": "2026-03-06T09:00:00+00:00",
    }  # fmt: skip
    facts = make_facts(exclusions=(("Slept", 3), ("Too fast", 1)), excluded={"Slept": decided})

    blocks = {getattr(one, "code", ""): one for one in make_plan(make_source(facts=facts))}

    assert blocks["exclusions"].text == (
        "Active exclusions by reason: “Slept” (3 decisions, 2 people, 4 March 2026 to 6 March "
        "2026); “Too fast” (1 decision)."
    )
    assert [one.value for one in blocks["exclusions"].figures] == [3, 1]
