"""The methods paragraph says how a study differs from its instrument."""

from evalsite.instruments.schema import BasedOn
from evalsite.results.document.blocks import Sentence
from evalsite.results.report.sections.methods import make_methods
from tests.support.reports import make_facts, make_source


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
