"""Which instruments are proposed for a file, by the points of a table made without this code."""

from dataclasses import replace
from typing import Any

import pytest

from evalsite.builder.fitting import FileInput, FirstItem, fit_entry, propose
from evalsite.builder.gallery import list_gallery, list_protocols, list_shipped

MESSAGES = '[{"role": "user", "content": "Where is my refund?"}]'


def make_first(*names: str, systems: int = 2, **fields: Any) -> FirstItem:
    """Ten items with inputs of these names, each a short text."""
    inputs = {name: FileInput("text", f"The {name} of the first item.") for name in names}
    outputs = {f"system-{number}": "An output." for number in range(systems)}
    return FirstItem(**{"inputs": inputs, "outputs": outputs, "sizes": {systems: 10}} | fields)


def name_proposed(first: FirstItem) -> list[str]:
    entries = [*list_gallery(), *list_protocols()]
    return [fit.entry.config.key for fit in propose(first, entries)]


@pytest.mark.parametrize(
    ("first", "proposed"),
    [
        (
            make_first("source", "reference"),
            ["adequacy_fluency", "da_sqm", "arena_preference"],
        ),
        (
            make_first(
                inputs={"prompt": FileInput("conversation", MESSAGES)}, output_kind="markdown"
            ),
            ["arena_preference", "helpsteer2_preference", "helpsteer2"],
        ),
        (
            make_first("document", systems=3, words=900, columns=["sentences"]),
            ["summeval", "factual_checklist", "which_is_better"],
        ),
        (
            make_first("question", "evidence", output_kind="markdown"),
            ["attribution", "arena_preference", "helpsteer2_preference"],
        ),
        (
            make_first(inputs={"data": FileInput("table", "a,b\n1,2")}),
            ["webnlg", "accuracy_errors", "which_is_better"],
        ),
        (
            make_first("what_we_sent"),
            ["arena_preference", "helpsteer2_preference", "helpsteer2"],
        ),
    ],
    ids=["translation", "chat", "summaries", "answers", "data", "odd-name"],
)
def test_three_are_proposed_by_names_and_kinds_of_inputs(first, proposed):
    assert name_proposed(first) == proposed


def test_file_without_sentences_is_not_asked_about_them():
    first = make_first("document", systems=3, words=900)

    assert name_proposed(first) == ["summeval", "summarize_feedback", "which_is_better"]


def test_with_one_system_no_pair_is_proposed_and_it_is_said_why():
    first = make_first("question", systems=1)

    assert "arena_preference" not in name_proposed(first)
    arena = next(entry for entry in list_shipped() if entry.config.key == "arena_preference")
    assert fit_entry(arena, first).lacks == [
        "It shows 2 outputs at a time, and your items have 1 output."
    ]


def test_system_called_tie_is_renamed_before_pairs_are_asked_about():
    first = make_first("prompt", outputs={"Tie": "An output.", "other": "An output."})

    layouts = {fit.entry.config.layout.outputs for fit in propose(first, list_shipped())}
    assert "one" in layouts
    assert "pair" not in layouts


@pytest.mark.parametrize(
    ("first", "points"),
    [
        (make_first("prompt"), 5),
        (make_first("prompt", words=600), 5),
        (make_first("prompt", words=601), 3),
        (make_first("prompt", systems=3), 3),
        (make_first("question"), 4),
        (make_first("what_we_sent"), 3),
        (make_first("prompt", output_kind="markdown"), 7),
    ],
)
def test_points_of_a_pair_are_those_of_the_list(first, points):
    arena = next(entry for entry in list_shipped() if entry.config.key == "arena_preference")

    assert fit_entry(arena, first).points == points


def test_missing_input_is_said():
    adequacy = next(entry for entry in list_shipped() if entry.config.key == "adequacy_fluency")

    lacks = fit_entry(adequacy, make_first("source")).lacks

    assert lacks == ["It needs the column “reference”, which your items don’t have."]


def test_inputs_that_an_instrument_does_not_show_are_named():
    first = make_first("source", "reference")
    adequacy = next(entry for entry in list_shipped() if entry.config.key == "adequacy_fluency")

    assert fit_entry(adequacy, first).list_unused(first) == ["source"]


def test_conversations_go_to_the_instrument_that_rates_conversations():
    first = make_first("goal", systems=1, output_kind="conversation")

    assert name_proposed(first) == ["conversation_turns", "quality"]


@pytest.mark.parametrize(
    ("key", "work"),
    [("quality", "25 outputs"), ("which_is_better", "20 pairs"), ("magnitude", "10 items")],
)
def test_work_is_counted_as_the_instrument_shows_it(key, work):
    """5 items of two outputs and 5 of three: 25 outputs, and 5 + 5 * 3 pairs make 20."""
    first = replace(make_first("prompt"), sizes={2: 5, 3: 5})
    entry = next(entry for entry in list_shipped() if entry.config.key == key)

    assert first.describe_work(entry.config) == work
