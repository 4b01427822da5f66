"""Dialogue response: its words against the document, and what the contract cannot know."""

import csv
import html
import re
from hashlib import sha256
from html.parser import HTMLParser
from itertools import product

import pytest
from django.template.loader import render_to_string

from evalsite.instruments.installed import find_folder, get_protocol
from evalsite.instruments.questions import write_gold
from evalsite.instruments.scales.likert import Likert
from evalsite.lib.dialogue import parse_dialogue
from evalsite.lib.markdown import render_markdown
from evalsite.participation.view_models import view_item
from evalsite.studies.gold import check_gold, count_met, feedback

# SHA-256 of the words of all points and notes, as they were compared with the document
POINTS = "4bca61e72f8df06b7ced54d571f1e6701d7bdfb678aa6d2508a372be8a2004a9"
# how the document heads the points of each criterion
HEADINGS = {
    "appropriateness": "Appropriateness",
    "information_content": "Information Content",
    "human_likeness": "Human-likeness",
}


def squeeze(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


class _Points(HTMLParser):
    """Reads numbered lists with notes: by heading, the label and the notes of each point.

    A note is an item of a bulleted list, inside its point or after it: the document has both.
    """

    def __init__(self, source: str, heading: str) -> None:
        super().__init__()
        self.heading = heading
        self.rows: dict[str, list[list[str]]] = {}
        self.lists: list[str] = []
        self.is_heading = False
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        if tag in ("ol", "ul"):
            self.lists.append(tag)
        elif tag == self.heading and not self.lists:
            self.is_heading = True
        elif tag == "li" and self.rows:
            points = list(self.rows.values())[-1]
            if self.lists == ["ol"]:
                points.append([""])
            elif points:
                points[-1].append("")

    def handle_endtag(self, tag):
        if tag in ("ol", "ul"):
            self.lists.pop()
        elif tag == self.heading:
            self.is_heading = False

    def handle_data(self, data):
        if self.is_heading:
            self.rows[squeeze(data).rstrip(":")] = []
        elif self.lists and self.rows:
            points = list(self.rows.values())[-1]
            if points:
                points[-1][-1] += data

    @property
    def points(self) -> dict[str, list[list[str]]]:
        return {
            heading: [[squeeze(text) for text in point] for point in points]
            for heading, points in self.rows.items()
            if points
        }


@pytest.fixture
def config():
    return get_protocol("dialogue")


@pytest.fixture
def instructions(config) -> str:
    """The instructions as plain words: without marks of Markdown."""
    return squeeze(re.sub(r"\*\*|^#+ |^ *- |^\d\. ", "", config.instructions, flags=re.MULTILINE))


def read_batch(config) -> list[dict[str, str]]:
    with find_folder(config.key).example_batch.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def points_of(config) -> dict[str, list[list[str]]]:
    """What the protocol declares, in the form in which a page of the document is read."""
    return {
        HEADINGS[criterion.key]: [[point.label, *point.notes] for point in criterion.scale.points]
        for criterion in config.criteria
    }


def render_item(config, inputs, text) -> str:
    return render_to_string(
        config.item_template,
        {
            "frame": "participation/example.html",
            "layout": config.layout,
            "item": view_item(config, inputs=inputs, texts=[text], options={}),
        },
    )


# --- to the letter: the document states no licence, so its sentences are quoted -----


def test_criteria_and_their_definitions_are_the_documents(config):
    assert {criterion.label: criterion.definition for criterion in config.criteria} == {
        "Appropriateness": "The degree to which the output is appropriate in the given "
        "context/situation.",
        "Information content of outputs": "The amount of information conveyed by an output.",
        "Human-likeness": "The degree to which an output could have been produced by a human.",
    }


def test_every_point_and_every_note_is_the_documents(config):
    words = "\n".join("\n".join(point) for points in points_of(config).values() for point in points)

    assert sha256(words.encode()).hexdigest() == POINTS


def test_instructions_state_every_point_and_every_note(config):
    page = str(render_markdown(config.instructions))

    stated = _Points(page, "h3").points

    assert stated == points_of(config)


def test_instructions_state_every_definition(config, instructions):
    for criterion in config.criteria:
        assert f"{criterion.label}: {criterion.definition}" in instructions


def test_title_and_jump_menu_are_the_documents(config):
    places = range(1, config.design.set_size + 1)
    menu = [*config.layout.menu, *(f"{config.item.name} {number}" for number in places)]

    assert config.instructions_title == "Instructions"
    assert menu == [
        "Instructions",
        "Specific Definitions",
        *(f"Question {number}" for number in range(1, 12)),
    ]


def test_slips_of_the_document_stay(config):
    words = " ".join(text for points in points_of(config).values() for point in points
                     for text in point)  # fmt: skip

    for slip in (
        "lets move on",
        "its not THAT weird",
        "this conversations is about",
        "with with 3 or more things",
        "Example:“Yeah",
        "(~>10 words)",
        "block or marble [...]",
        "i guess",
        "Yeah i get you",
    ):
        assert slip in words


@pytest.mark.parametrize(
    "sentence",
    [
        "The annotation task is to label responses to a given prompt. The prompt consists of two "
        "people (A and B) talking to each other. The response is the next utterance after the "
        "final utterance in the prompt. The three base annotation criteria are:",
        "Each criteria is annotated on a 5-point scale where 1 is worst and 5 is best.",
        "NOTE: THERE ARE A MAXIMUM OF 5 SETS YOU CAN COMPLETE. COMPLETING ALL 5 SETS WILL GIVE YOU "
        "A BONUS! WE ENCOURAGE YOU TO DO ALL 5 SETS",
    ],
)
def test_sentence_of_the_document_is_in_the_instructions(sentence, instructions):
    assert sentence in instructions


def test_limit_and_bonus_come_first(instructions):
    assert instructions.startswith("NOTE: THERE ARE A MAXIMUM OF 5 SETS")


def test_worst_and_best_are_on_the_page_in_the_documents_words(config, instructions):
    assert config.page_note.replace("**", "") in instructions


# --- the rules in our own words -------------------------------------------------


def test_instructions_give_the_number_of_questions_and_the_menu(instructions):
    assert "A set has 11 questions. Use the Navigation menu to go to any question" in instructions


def test_the_three_criteria_have_five_points_from_worst_to_best(config):
    assert [criterion.label for criterion in config.criteria] == [
        "Appropriateness",
        "Information content of outputs",
        "Human-likeness",
    ]
    for criterion in config.criteria:
        assert isinstance(criterion.scale, Likert)
        assert [point.value for point in criterion.scale.points] == [1, 2, 3, 4, 5]
        assert criterion.scale.display == "stacked"  # its words are too long to stand side by side
        assert not any(point.reserved for point in criterion.scale.points)


def test_sets_have_11_questions_and_all_of_5_sets_earn_a_bonus(config):
    assert config.design.set_size == 11
    assert config.design.max_sets == 5
    assert config.design.has_bonus
    assert config.design.groups == "once"


def test_the_document_has_no_ignoring_no_highlights_no_note_and_no_condition(config):
    assert [config.has_ignore, config.has_highlight, config.has_note] == [False] * 3
    assert config.eligibility is None
    assert config.examples == []
    assert (config.item.outputs.least, config.item.outputs.most) == (1, 1)
    assert config.item.output_name == "Response"


def test_instructions_begin_with_a_short_version_and_hold_no_raw_html(config):
    short = config.instructions.split("\n## ")[0]

    assert len(short.split()) <= 150
    assert not short.startswith("#")
    assert not re.search(r"<\w|^# ", config.instructions, flags=re.MULTILINE)


def test_instructions_tell_the_sets_and_the_bonus_that_a_study_has(config):
    design, instructions = config.design, config.instructions

    assert config.instructions_for(design) == instructions

    fewer = config.instructions_for(
        design.model_copy(update={"set_size": 12, "max_sets": 2, "has_bonus": False})
    )
    assert "A set has 12 questions." in fewer
    assert fewer.startswith(
        "**NOTE: THERE ARE A MAXIMUM OF 2 SETS YOU CAN COMPLETE.**\n\nThe annotation task"
    )
    assert "11 questions" not in fewer
    assert "BONUS" not in fewer

    single = config.instructions_for(design.model_copy(update={"set_size": 1, "max_sets": 1}))
    assert "A set has 1 question." in single
    assert "IS A MAXIMUM OF 1 SET YOU CAN COMPLETE. COMPLETING THE SET WILL GIVE" in single

    endless = config.instructions_for(
        design.model_copy(update={"max_sets": None, "has_bonus": False})
    )
    assert endless.startswith("The annotation task")


def test_jump_menu_leads_to_headings_that_the_instructions_have(config):
    title, *headings = config.layout.menu

    assert title == config.instructions_title
    for heading in headings:
        assert f"\n## {heading}\n" in config.instructions


# --- what a page shows ----------------------------------------------------------


def test_page_shows_turns_with_names_and_what_is_to_be_rated(config):
    inputs = {"dialogue": "A: Have you ever been to India?\nB: No <b>never</b> 😀"}

    page = render_item(config, inputs, "A pity! The “Taj” & more…")

    words = squeeze(html.unescape(re.sub(r"<[^>]*>", "", page)))
    assert re.search(r"Prompt A Have you ever been to India\? B No <b>never</b> 😀 Response", words)
    assert re.search(r"Response to rate( \(A\))?: A pity! The “Taj” & more… Appropriateness", words)
    assert page.count('class="specimen"') == 1


def test_page_keeps_every_definition_point_and_note_in_view(config):
    page = render_item(config, {"dialogue": "A: Hello!"}, "Hi.")

    words = squeeze(html.unescape(re.sub(r"<[^>]*>", " ", page)))
    for criterion in config.criteria:
        assert f"{criterion.label} {criterion.definition}" in words
        for point in criterion.scale.points:
            assert squeeze(" ".join([str(point.value), point.label, *point.notes])) in words
    assert "<details" not in page
    assert " hidden" not in page
    assert " checked" not in page


def test_speaker_that_the_response_names_is_told_and_not_repeated(config):
    inputs = {"dialogue": "A: Have you ever been to India?\nB: No.\nA: Me neither."}

    page = render_item(config, inputs, "B: Shall we go?")

    words = squeeze(html.unescape(re.sub(r"<[^>]*>", "", page)))
    assert "Response to rate (B): Shall we go? Appropriateness" in words


# --- practice -------------------------------------------------------------------


def test_practice_gold_can_be_met_and_can_be_missed(config):
    for item in config.practice:
        for key, gold in write_gold(config, item).items():
            criterion = config.criterion_by_key[key]
            check_gold(criterion, gold, item.outputs)
            met = {
                count_met(feedback(criterion, gold, [value], None, ["Response"]))
                for value in range(1, 6)
            }
            assert met == {(1, 1), (0, 1)}


def test_practice_shows_that_the_criteria_go_separate_ways(config):
    (item,) = config.practice

    assert write_gold(config, item) == {
        "appropriateness": "3..4",
        "information_content": "1",
        "human_likeness": "5",
    }
    assert item.why


def test_practice_never_asks_for_an_example_of_the_scales(config):
    anchors = " ".join(
        text for points in points_of(config).values() for point in points for text in point
    ).casefold()

    for item in config.practice:
        for text in item.outputs:
            assert text.casefold().rstrip(".?!") not in anchors


# --- the example batch ----------------------------------------------------------


def test_example_batch_has_a_response_of_each_system_to_each_prompt(config):
    rows = read_batch(config)
    groups: dict[str, set[str]] = {}
    prompts: dict[str, set[str]] = {}
    for row in rows:
        groups.setdefault(row["group"], set()).add(row["system"])
        prompts.setdefault(row["group"], set()).add(row["dialogue"])

    assert list(rows[0]) == ["item", "group", "dialogue", "system", "output"]
    assert len({row["item"] for row in rows}) == len(rows) == 3 * len(groups)
    assert all(systems == {"tuned", "retrieval", "baseline"} for systems in groups.values())
    assert all(len(texts) == 1 for texts in prompts.values())
    assert len(set.union(*prompts.values())) == len(groups)
    assert all(all(row.values()) for row in rows)


def test_example_batch_is_enough_for_the_sets_that_earn_the_bonus(config):
    groups = {row["group"] for row in read_batch(config)}

    assert len(groups) >= config.design.set_size * config.design.max_sets


def test_example_batch_holds_talks_of_two_people_who_take_turns(config):
    for row in read_batch(config):
        speakers = [turn.speaker for turn in parse_dialogue(row["dialogue"])]
        assert speakers == ["A", "B", "A", "B", "A"][: len(speakers)]
        assert speakers


def test_example_batch_shows_what_real_files_hold(config):
    rows = read_batch(config)
    texts = [row["output"] for row in rows]
    prompts = {row["dialogue"] for row in rows}
    by_prompt: dict[str, list[str]] = {}
    for row in rows:
        by_prompt.setdefault(row["group"], []).append(row["output"])

    assert any("😩" in prompt for prompt in prompts)
    assert any("Ō" in text for text in prompts)
    assert any(not text.isascii() for text in texts)
    assert any('"' in text or "“" in text for text in texts)
    assert any("," in text for text in texts)
    assert any(len(set(outputs)) < len(outputs) for outputs in by_prompt.values())
    assert {prompt.count("\n") for prompt in prompts} >= {0, 1, 2, 3}


def test_example_batch_does_not_give_systems_away(config):
    rows = read_batch(config)
    by_place = list(zip(rows[::3], rows[1::3], rows[2::3], strict=True))

    for place in range(3):
        assert len({group[place]["system"] for group in by_place}) == 3
    for row, system in product(rows, ("tuned", "retrieval", "baseline")):
        phrases = f"{row['item']} {row['group']} {row['dialogue']} {row['output']}".casefold()
        assert system not in phrases
