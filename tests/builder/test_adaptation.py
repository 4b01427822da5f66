"""An instrument as a file needs it: what it holds is drawn as what it is, and changes are kept."""

import pytest

from evalsite.builder.adaptation import adapt, has_comment_box
from evalsite.builder.fitting import FileInput, FirstItem, fit_entry
from evalsite.builder.gallery import Entry, list_gallery, list_shipped
from evalsite.instruments.texts import digest_content
from evalsite.studies.instruments import find_faults
from tests.builder.test_fitting import MESSAGES, make_first


def get_entry(key: str) -> Entry:
    return next(entry for entry in list_shipped() if entry.config.key == key)


def adapt_for(key: str, first: FirstItem, has_comments: bool = False, added: tuple[str, ...] = ()):
    content = adapt(fit_entry(get_entry(key), first), first, has_comments=has_comments, added=added)
    assert find_faults(content) == []
    return content


def test_file_that_has_what_an_instrument_asks_for_gets_the_instrument_itself():
    content = adapt_for("adequacy_fluency", make_first("source", "reference"))

    assert content == get_entry("adequacy_fluency").config.to_data()


def test_messages_become_a_conversation_whatever_the_instrument_says():
    first = make_first(inputs={"prompt": FileInput("conversation", MESSAGES)})

    content = adapt_for("arena_preference", first)

    assert content["item"]["inputs"][0]["kind"] == "conversation"
    assert content["based_on"]["kinds"] == {"prompt": "conversation"}


def test_kind_that_only_instruments_have_is_kept():
    first = make_first(inputs={"source": FileInput("meaning representation", "name[Aromi]")})

    content = adapt_for("da_sqm", first)

    assert content["based_on"]["kinds"] == {"source": "meaning representation"}


def test_text_in_place_of_a_conversation_stays_text_in_practice_too():
    content = adapt_for("helpsteer2", make_first("prompt"))

    assert content["item"]["inputs"][0]["kind"] == "text"
    assert all(isinstance(item["inputs"]["prompt"], str) for item in content["practice"])


def test_markdown_is_drawn_as_markdown():
    first = make_first("source", "reference", output_kind="markdown")

    content = adapt_for("adequacy_fluency", first)

    assert content["item"]["outputs"]["kind"] == "markdown"
    assert content["based_on"]["kinds"] == {"output": "markdown"}


def test_text_that_stands_for_the_prompt_is_known_by_its_name_in_later_files():
    content = adapt_for("arena_preference", make_first("what_we_sent"))

    assert "what_we_sent" in content["item"]["inputs"][0]["aliases"]
    assert content["based_on"].keys() == {"key", "version", "sha256"}


def test_added_input_and_comment_box_are_departures_from_what_was_chosen():
    first = make_first("source", "reference")

    content = adapt_for("adequacy_fluency", first, True, ("source", "not_in_the_file"))

    base = get_entry("adequacy_fluency").config.to_data()
    assert [column["name"] for column in content["item"]["inputs"]] == ["reference", "source"]
    assert content["note"]
    assert content["based_on"] == {
        "key": "adequacy_fluency", "version": 1, "sha256": digest_content(base),
        "inputs": ["source"], "note": True,
    }  # fmt: skip


@pytest.mark.parametrize("entry", list_gallery(), ids=lambda entry: entry.config.key)
def test_every_instrument_is_without_fault_with_all_that_a_file_adds(entry):
    inputs = {
        column.name: FileInput("conversation" if number else "markdown", MESSAGES)
        for number, column in enumerate(entry.config.item.inputs)
    }
    first = make_first(
        inputs={**inputs, "hint": FileInput("table", "a,b\n1,2")},
        output_kind="conversation" if entry.config.asks_turns else "markdown",
    )

    content = adapt_for(entry.config.key, first, True, ("hint",))

    assert content["based_on"]["inputs"] == ["hint"]


def test_instrument_as_published_stays_as_it_is():
    first = make_first("dialogue", "hint", output_kind="markdown")
    entry = get_entry("pairwise")

    content = adapt(fit_entry(entry, first), first, has_comments=True, added=["hint"])

    assert content == entry.config.to_data()


@pytest.mark.parametrize(
    ("key", "has_box"),
    [("arena_preference", True), ("helpsteer2", False), ("adequacy_fluency", False)],
)
def test_box_is_offered_unless_people_can_always_write_a_comment(key, has_box):
    assert has_comment_box(get_entry(key).config) is has_box
