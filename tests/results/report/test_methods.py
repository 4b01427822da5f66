"""The methods paragraph says how a study differs from its instrument, and what is missing."""

import pytest

from evalsite.instruments.schema import BasedOn
from evalsite.results.document.blocks import Sentence
from evalsite.results.report.sections.methods import make_methods
from tests.support.reports import make_content, make_facts, make_points, make_source


def read_methods(**facts: object) -> dict[str, str]:
    blocks = make_methods(make_source(facts=make_facts(**facts)))
    return {block.code: block.text for block in blocks if isinstance(block, Sentence)}


def test_an_instrument_that_is_used_as_it_is_has_no_changes() -> None:
    assert not {"instrument_changed", "own_examples"} & read_methods().keys()


def test_each_change_of_the_instrument_is_named() -> None:
    changed = BasedOn(note=True, inputs=["source"], kinds={"output": "code", "context": "table"})

    text = read_methods(departures=changed)["instrument_changed"]

    for words in ("source", "outputs were shown as code", "context", "a table", "comments"):
        assert words in text


def test_examples_of_the_study_are_counted() -> None:
    assert "1 example chosen" in read_methods(own_examples=1)["own_examples"]


@pytest.mark.parametrize(
    ("shares", "start"),
    [((0.004,), "Less than 1% of"), ((0.02, 0.31), "Up to 31% of"), ((), "")],
)
def test_missing_ratings_are_counted_and_taken_as_missing_at_random(shares, start) -> None:
    criteria = [
        make_points() | {"notes": [{"code": "missing_at_random", "facts": {"share": share}}]}
        for share in shares
    ]
    source = make_source(make_content(criteria=criteria or [make_points()]))

    texts = {one.code: one.text for one in make_methods(source) if isinstance(one, Sentence)}

    assert texts.get("missing_at_random", "").startswith(start)
    assert ("missing_at_random" in texts) == bool(shares)


def test_it_is_said_that_nobody_knows_what_is_missing() -> None:
    criterion = make_points() | {"notes": [{"code": "shown_unknown", "facts": {}}]}

    codes = [
        one.code
        for one in make_methods(make_source(make_content(criteria=[criterion])))
        if isinstance(one, Sentence)
    ]

    assert "shown_unknown" in codes
