"""Magnitude estimation: its words against the document, and what the contract cannot know."""

import csv
import re
from functools import cache
from itertools import product

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from evalsite.instruments.installed import find_folder, get_protocol
from evalsite.instruments.questions import write_gold
from evalsite.instruments.scales.magnitude import Magnitude, Standard
from evalsite.participation.view_models import view_example
from evalsite.studies.gold import check_gold, count_met, feedback
from tests.support import documents
from tests.support.documents import squeeze, strip_marks, strip_tags
from tests.support.factories import launch, make_annotator, make_study, mint_link

SHOWN = ("Utterance 1", "Utterance 2", "Utterance 3")


@cache
def read_source() -> str:
    """The task document as it is, with its em dash repaired."""
    source = documents.read_document("magnitude.html")
    return source.replace("\u00e2\u20ac\u201d", "—")


@cache
def read_document() -> str:
    """The words of the task document, without its tags."""
    return strip_tags(read_source())


@pytest.fixture
def config():
    return get_protocol("magnitude")


@pytest.fixture
def document() -> str:
    return read_document()


@pytest.fixture
def instructions(config) -> str:
    """The instructions as plain words."""
    return strip_marks(config.instructions)


def read_batch(config) -> list[dict[str, str]]:
    with find_folder(config.key).example_batch.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# --- to the letter --------------------------------------------------------------


def test_definition_is_the_documents(config, document):
    definition = config.criteria[0].definition.replace("*", "")

    assert definition in document
    assert definition == (
        "Informativeness is defined as whether the utterance provides all the information given "
        "in the meaning representation and does not give any unnecessary information."
    )


def test_title_and_labels_are_the_documents(config, document):
    assert document.startswith(f"{config.instructions_title} ")
    assert config.instructions_title.startswith("TASK: ")
    assert f"{config.columns[0].label}:" in document
    for number in (1, 2, 3):
        assert f"{config.item.output_name} {number}:" in document
    assert f"{config.criteria[0].label}?" in document


def test_standard_is_the_documents(config, document):
    standard = config.default_options

    assert (
        "Here is the STANDARD to relate to: "
        f"Meaning representation: {standard['standard_mr']} "
        f"Utterance: {standard['standard_utterance']} "
        f"Informativeness {standard['standard_score']} "
    ) in document


def test_worked_example_stands_beside_the_documents_own_standard(config):
    (example,) = config.examples

    for part in ("standard_mr", "standard_utterance", "standard_score"):
        assert str(example.inputs[part]) == str(config.default_options[part])


def test_who_may_take_part_and_what_may_be_entered_is_said_as_in_the_document(config, document):
    rule = config.eligibility.rule
    refused = config.criteria[0].range_note.partition(". No ")[2].rstrip(".")

    assert f"Participants must be {rule[0].lower()}{rule[1:]}" in document
    assert rule[1:] in config.eligibility.refusal
    assert f"may not use {refused}." in document
    assert config.criteria[0].range_note.startswith("Whole numbers from 1 to 999999. ")
    assert "any whole positive numbers" in document
    assert "use max 6 digits" in document


def test_the_document_has_no_ignoring_no_highlights_and_no_note(config):
    assert [config.has_ignore, config.has_highlight, config.has_note] == [False] * 3
    assert (config.item.outputs.least, config.item.outputs.most) == (3, 3)


def test_worked_example_is_the_documents(config, document):
    (example,) = config.examples
    scores = example.ratings["informativeness"]
    start = document.index("Here is the TASK for you: Meaning representation:")

    shown = document[start:]

    assert f"Meaning representation: {example.inputs['mr']} " in shown
    for number, (text, score) in enumerate(zip(example.outputs, scores, strict=True), start=1):
        assert f"Utterance {number}: {text} Informativeness? ({score})" in shown.replace(
            f"Utterance {number}:{text}", f"Utterance {number}: {text}"
        )


def test_explanation_is_the_documents(config, document):
    (example,) = config.examples

    assert f"Explanation: {strip_marks(example.why)}" in document
    assert "**area[city centre]**" in example.why


def test_part_marked_in_the_example_is_the_one_that_stands_out_in_the_document(config):
    coloured = re.findall(r'<span style="color:[^"]*">(.*?)</span>', read_source())
    (example,) = config.examples

    assert example.marked == {"mr": coloured}


def test_instructions_are_the_documents_to_the_letter(instructions, document):
    steps = document[len("TASK: Evaluate the informativeness of the given utterance ") :]

    assert instructions == steps[: steps.index(" Example Here is the STANDARD")]


def test_bold_words_of_the_instructions_are_the_documents(config):
    bold = re.findall(r"<strong>(.*?)</strong>", read_source().split("Example</p>")[0])
    words = squeeze(" ".join(strip_tags(text) for text in bold[1:])).replace(
        "Informativeness is", ""
    )

    marked = re.findall(r"\*\*\*?(.+?)\*\*\*?", config.instructions, flags=re.DOTALL)

    assert squeeze(" ".join(marked)) == words


# --- the rules, without the document at hand ------------------------------------


def test_the_only_criterion_is_informativeness_on_a_whole_number(config):
    (criterion,) = config.criteria

    assert criterion.key == "informativeness"
    assert criterion.scale == Magnitude(
        kind="magnitude", minimum=1, maximum=999_999, standard=Standard(inputs=["standard_score"])
    )


# --- the worked example and the standard ----------------------------------------


def test_worked_example_explains_one_score_and_keeps_its_own_standard(config):
    (example,) = config.examples
    other = {"standard_mr": "name[X]", "standard_utterance": "X.", "standard_score": 500}

    assert example.ratings == {"informativeness": [70, 100, 90]}
    assert example.why.startswith("The first utterance misses some important information")
    assert config.standard_score(other, example.inputs) == 100
    assert config.item_context(other, example.inputs)["standard"]["mr"].startswith("name[Aromi]")


def test_standard_is_the_studys_unless_the_item_brings_its_own(config):
    options = config.default_options | {"standard_score": 500}

    assert config.standard_score({}, {"mr": "name[X]"}) == 100
    assert config.standard_score(options, {"mr": "name[X]"}) == 500
    assert config.standard_score(options, {"mr": "name[X]", "standard_score": "250"}) == 250
    assert config.standard_score(options, {"mr": "name[X]", "standard_score": ""}) == 500


def test_worked_example_is_shown_in_the_real_layout_with_its_scores(config):
    (example,) = config.examples
    other = config.default_options | {"standard_score": 500}

    page = render_to_string(
        config.item_template,
        {
            "frame": "participation/example.html",
            "layout": config.layout,
            "item": view_example(config, example, other),
        },
    )

    words = strip_tags(page)
    assert words.startswith(
        "Here is the STANDARD to relate to: Meaning representation: name[Aromi]"
    )
    assert "It is not family-friendly. Informativeness 100 Here is the TASK" in words
    assert "Here is the TASK for you: Meaning representation: name[Cocum]," in words
    assert '<span class="missing">area[city centre]</span>' in page
    assert re.findall(r"Informativeness\? \((\d+)\)", words) == ["70", "100", "90"]
    assert "<input" not in page
    assert "500" not in words


@pytest.mark.parametrize("score", ["", "0", "-1", "1.5", "70.0", "007", "1000000", "７０", "x"])
def test_bad_36_a_standard_without_a_whole_score_is_refused_in_its_form(config, score):
    form = config.options_form(config.default_options | {"standard_score": score})

    assert list(form.errors) == ["standard_score"]
    assert "the standard" in form.errors["standard_score"][0]


@pytest.mark.parametrize("part", ["standard_mr", "standard_utterance"])
@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_bad_36_a_standard_without_its_texts_is_refused_in_its_form(config, part, blank):
    form = config.options_form(config.default_options | {part: blank})

    assert list(form.errors) == [part]


# --- practice -------------------------------------------------------------------


def test_practice_gold_is_by_order_alone_and_can_be_met(config):
    (criterion,) = config.criteria

    for item in config.practice:
        gold = write_gold(config, item)[criterion.key]
        check_gold(criterion, gold, item.outputs)
        met, asked = max(
            count_met(feedback(criterion, gold, scores, 100, SHOWN))
            for scores in product((50, 80, 100), repeat=3)
        )
        assert met == asked > 0


def test_practice_explains_each_utterance_by_the_number_on_its_page(config):
    # practice shows utterances in the order of the file, so these are the numbers on the page
    [item] = config.practice
    first, second, third = item.outputs

    assert re.findall(r"[Uu]tterance (\d)", item.why) == ["1", "3", "2"]
    assert "rating" in second
    assert "rating" not in first
    assert "railway" in third
    assert "railway" not in second


def test_practice_never_asks_for_the_example_just_shown(config):
    shown = {example.inputs["mr"] for example in config.examples}

    assert len(config.practice) == 1
    assert not shown & {item.inputs["mr"] for item in config.practice}
    assert not any(item.ratings for item in config.practice)


def test_utterances_that_practice_calls_equal_are_the_same_text(config):
    for item in config.practice:
        for first, second in re.findall(r"(\d)=(\d)", item.gold["informativeness"]):
            assert item.outputs[int(first) - 1] == item.outputs[int(second) - 1]


# --- who may take part ----------------------------------------------------------


@pytest.mark.parametrize("variety", ["british", "american"])
def test_native_speaker_of_british_or_american_english_may_take_part(config, variety):
    assert config.is_eligible({"first_language": "English", "variety": variety})


@pytest.mark.parametrize("language", ["", "Welsh", "Spanish", "Another language", "english"])
def test_other_first_languages_may_not_take_part(config, language):
    assert not config.is_eligible({"first_language": language, "variety": "british"})


@pytest.mark.parametrize("variety", ["other", "none", "", "BRITISH", "australian"])
def test_other_englishes_may_not_take_part(config, variety):
    assert not config.is_eligible({"first_language": "English", "variety": variety})


@pytest.mark.parametrize("answers", [{}, {"first_language": "English"}, {"variety": "british"}])
def test_answers_left_out_do_not_let_in(config, answers):
    assert not config.is_eligible(answers)


def test_questions_do_not_give_the_condition_away(config):
    language, variety = config.eligibility.questions

    assert "English" not in language.label + language.help
    assert len(language.choices) >= 20
    labels = [choice.label for choice in language.choices[:-1]]
    assert labels == sorted(labels)
    assert len(variety.choices) >= 10
    for accepted in config.eligibility.accept["variety"]:
        assert variety.choices[0].value <= accepted < variety.choices[-2].value


# --- worked examples ------------------------------------------------------------


@pytest.mark.django_db
def test_worked_example_can_be_looked_up_with_its_explanation():
    home = mint_link(make_annotator(launch(make_study(items=1))))

    page = Client().get(f"{home}examples/")

    words = strip_tags(page.content.decode(), between=" ")
    assert "Cocum restaurant its not family-friendly." in words
    assert "Explanation : The first utterance misses some important information" in words
    assert page.context["urls"]["examples"] == reverse(
        "worked-examples", args=[home.removeprefix("/p/").rstrip("/")]
    )


# --- the example batch ----------------------------------------------------------


def test_example_batch_has_one_output_of_each_system_in_every_item(config):
    rows = read_batch(config)
    systems = {"template", "pipeline", "neural"}
    items: dict[str, set[str]] = {}
    for row in rows:
        items.setdefault(row["item"], set()).add(row["system"])

    assert list(rows[0]) == ["item", "group", "mr", "system", "output"]
    assert len(items) >= 36
    assert all(of_item == systems for of_item in items.values())
    assert len(rows) == 3 * len(items)
    assert all(all(row.values()) for row in rows)


def test_example_batch_shows_what_real_files_hold(config):
    rows = read_batch(config)
    texts = [row["output"] for row in rows]
    slots = {row["mr"].count("[") for row in rows}

    assert not all(text.isascii() for text in texts)
    assert any('"' in text for text in texts)
    assert any("," in text for text in texts)
    assert len(set(texts)) < len(texts)  # two systems with the same text
    assert (min(slots), max(slots)) == (3, 8)


def test_example_batch_does_not_give_systems_away(config):
    rows = read_batch(config)
    first = [row["system"] for row in rows[::3]]

    assert len(set(first)) == 3
    for row in rows:
        phrases = f"{row['item']} {row['group']} {row['mr']} {row['output']}".casefold()
        assert not any(system in phrases for system in ("template", "pipeline", "neural"))
