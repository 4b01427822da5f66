"""Fluency and coherence: its words against the document, and what the contract cannot know."""

import csv
import html
import re
from functools import cache

import pytest
from django.template.loader import render_to_string

from evalsite.instruments.installed import find_folder, get_protocol
from evalsite.instruments.questions import write_gold
from evalsite.instruments.scales.likert import Likert
from evalsite.participation.view_models import view_item
from evalsite.studies.gold import check_gold
from tests.support import documents
from tests.support.checking import check_file
from tests.support.documents import squeeze, strip_marks, strip_tags
from tests.support.factories import make_study
from tests.support.published import published_file

DATA = published_file("dialogues_in_html.csv")
# all that is changed in the instructions: docs/protocols.md gives the reasons
CHANGES = (
    ("other similar HITS!", "other similar tasks!"),
    ("this new HIT", "this new task"),
    ("In this HIT", "In this task"),
    ("things have changed a bit", "things may have changed a bit"),
    ("aims to contains", "aims to contain"),
)


@cache
def read_document() -> str:
    """The words of the task document, with typographic apostrophes."""
    return squeeze(documents.read_document("fluency.txt")).replace("'", "’")


@pytest.fixture
def config():
    return get_protocol("fluency")


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


def read_real_rows() -> list[dict[str, str]]:
    with DATA.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def render(config, dialogue: str, output: str) -> str:
    view = view_item(config, inputs={"dialogue": dialogue}, texts=[output], options={})
    frame = "participation/example.html"
    return render_to_string(
        config.item_template, {"frame": frame, "layout": config.layout, "item": view}
    )


def words_of(page: str) -> str:
    return strip_tags(page, between=" ")


# --- to the letter --------------------------------------------------------------


def test_criteria_are_the_documents_with_their_names_and_questions(config, document):
    asked = [(criterion.label, criterion.definition) for criterion in config.criteria]

    assert asked == [
        (
            "Fluency/Grammaticality",
            "Is the system’s generation grammatical, easy-to-read, and fluent?",
        ),
        (
            "Quality/Coherence",
            "Is the next utterance coherent, reasonable, and the type of thing a person might "
            "say, in the context of the dialogue history?",
        ),
    ]
    for label, definition in asked:
        assert f"• {label}: {definition}" in document


def test_points_are_the_documents_with_their_names_and_sentences(config, document):
    for criterion in config.criteria:
        downwards = reversed(criterion.scale.points)
        written = " ".join(
            f"• {point.value}/5 ({point.label}): {' '.join(point.notes)}" for point in downwards
        )
        assert f"• {criterion.label}: {written}" in document


def test_both_texts_of_an_item_are_named_as_in_the_document(config, document):
    assert f"{config.columns[0].label} (read me first!):" in document
    assert f"{config.item.output_name} (rate this!):" in document


def test_the_document_reserves_no_point_and_has_no_ignoring_and_no_highlights(config):
    points = [point for criterion in config.criteria for point in criterion.scale.points]

    assert not any(point.reserved for point in points)
    assert [config.has_ignore, config.has_highlight, config.design.has_bonus] == [False] * 3


def test_headings_of_the_page_are_the_documents(config, document):
    page = words_of(render(config, "Person 1: Hello?", "Hi!"))

    assert "Dialogue context (read me first!): ${prompt}" in document
    assert "System’s generation (rate this!): ${machine_completion}" in document
    assert page.startswith(
        "Dialogue context (read me first!): Person 1 Hello? System’s generation (rate this!): Hi!"
    )


def test_question_of_the_note_is_the_documents(config, document):
    assert config.has_note
    assert document.endswith(config.note)


def test_instructions_are_the_documents_but_for_the_listed_changes(instructions, document):
    expected = document[: document.index(" Dialogue context (read me first!):")]
    for old, new in CHANGES:
        assert old in expected
        expected = expected.replace(old, new)
    # its list of scales has the names of the axes as entries, ours as headings
    expected = re.sub(r"• (Fluency/Grammaticality|Quality/Coherence): (?=•)", r"\1 ", expected)

    assert instructions.split(" On each page ")[0] == expected.replace("• ", "")


# --- the rules, without the document at hand ------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        "Read the Dialogue context (read me first!), then rate the System’s generation (rate "
        "this!).",
        "Rate the two axes separately",
    ],
)
def test_rules_in_our_own_words_stand_in_the_instructions(rule, instructions):
    assert rule in instructions


def test_both_scales_are_listed_from_5_to_1_and_stored_as_1_to_5(config):
    for criterion in config.criteria:
        scale = criterion.scale
        assert isinstance(scale, Likert)
        assert scale.display == "stacked"
        assert [point.value for point in scale.points] == [1, 2, 3, 4, 5]
        assert all(len(point.notes) == 1 for point in scale.points)
        assert [point.value for point in scale.points_shown] == [5, 4, 3, 2, 1]


def test_no_point_is_chosen_beforehand_and_every_sentence_is_shown(config):
    page = render(config, "Person 1: Hello?", "Hi!")

    assert page.count('type="radio"') == 10
    assert "checked" not in page
    for criterion in config.criteria:
        shown = [
            f"{point.value}/5 ({point.label}): {point.notes[0]}"
            for point in reversed(criterion.scale.points)
        ]
        assert " ".join(shown) in words_of(page)


def test_participant_meets_a_dialogue_once_and_rates_one_line_at_a_time(config):
    assert config.design.groups == "once"
    assert config.design.set_size == 12
    assert config.design.max_sets is None
    assert (config.item.outputs.least, config.item.outputs.most) == (1, 1)


# --- practice -------------------------------------------------------------------


def test_practice_asks_both_questions_with_golds_and_says_why(config):
    assert config.examples == []
    (item,) = config.practice
    assert set(item.gold) == {"fluency", "coherence"}
    for key, gold in write_gold(config, item).items():
        check_gold(config.criterion_by_key[key], gold, item.outputs)
    assert item.why


def test_practice_shows_that_the_two_questions_are_separate(config):
    (item,) = config.practice

    assert write_gold(config, item) == {"fluency": "5", "coherence": "1..2"}


# --- dialogues and next lines ---------------------------------------------------


def test_real_cells_of_html_are_shown_as_a_dialogue_and_nothing_of_them_runs(config):
    for row in read_real_rows():
        page = render(config, row["prompt"], row["machine_completion"])
        plain = html.unescape(re.sub(r"<[^>]*>", "", row["machine_completion"]))
        assert page.count('<li class="a"><b dir="auto">Person 1</b>') == 3
        assert page.count('<li class="b"><b dir="auto">Person 2</b>') == 2
        # the document's heading, and nothing behind its colon
        assert re.search(r"generation \(rate this!\):\s*</h2>", page)
        assert plain.removeprefix("Person 2: ") in html.unescape(page)
        assert "font" not in page
        assert "&lt;" not in page


@pytest.mark.parametrize(
    "hostile",
    ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{{ 7*7 }}{% now 'Y' %}"],
)
def test_hostile_text_is_shown_as_text_in_either_place(config, hostile):
    for wrap in ("A: {}", "<p>A: {}</p>", '[{{"speaker": "A", "text": "{}"}}]'):
        page = render(config, wrap.format(hostile), wrap.format(hostile))
        assert words_of(page).count("7*7") == (2 if "7*7" in hostile else 0)
        assert not re.search(r"<(script|img)", page)
        assert html.unescape(page).count(hostile) == 2


def test_line_of_a_system_keeps_what_is_not_a_name_of_the_dialogue(config):
    page = words_of(render(config, "Person 1: Is he here?", "Listen: he is gone <b>now</b>."))

    assert "Listen: he is gone" in page
    assert "&lt;b&gt;now&lt;/b&gt;" in render(config, "A: x", "He is gone <b>now</b>.")


@pytest.mark.django_db
def test_real_file_is_ready_to_import_with_its_systems_hidden_from_the_page():
    rows = read_real_rows()
    study = make_study(protocol="fluency", items=0)

    with DATA.open("rb") as source:
        checked = check_file(source, study=study)

    assert checked.faults == []
    assert [item.inputs["dialogue"] for item in checked.items] == [row["prompt"] for row in rows]
    assert [item.outputs[0].text for item in checked.items] == [
        row["machine_completion"] for row in rows
    ]
    assert sorted(checked.systems) == ["base_ppo", "supervised", "supervised_nlpo", "zero_shot"]
    assert [item.key for item in checked.items] == [f"row-{n:04}" for n in range(1, 10)]


# --- the example batch ----------------------------------------------------------


def test_example_batch_has_one_line_of_each_system_for_every_dialogue(config):
    rows = read_batch(config)
    groups: dict[str, set[str]] = {}
    for row in rows:
        groups.setdefault(row["group"], set()).add(row["system"])

    assert list(rows[0]) == ["item", "group", "dialogue", "system", "output"]
    assert len(groups) >= 30
    assert all(systems == {"pretrained", "retrieval", "seq2seq"} for systems in groups.values())
    assert len({row["item"] for row in rows}) == len(rows) == 3 * len(groups)
    assert all(all(row.values()) for row in rows)
    assert len({row["dialogue"] for row in rows}) == len(groups)


def test_example_batch_shows_what_real_files_hold(config):
    rows = read_batch(config)
    everything = " ".join(row["dialogue"] + row["output"] for row in rows)
    repeated = [
        group
        for group in {row["group"] for row in rows}
        if len({row["output"] for row in rows if row["group"] == group}) < 3
    ]

    assert any(ord(sign) > 0x1F000 for sign in everything)
    assert "شكرا" in everything
    assert max(row["dialogue"].count("\n") for row in rows) >= 8
    assert '"' in everything
    assert "," in everything
    assert repeated


def test_example_batch_does_not_give_systems_away(config):
    rows = read_batch(config)
    systems = ("pretrained", "retrieval", "seq2seq")
    first = {row["system"] for row in rows[::3]}

    assert first == set(systems)
    for row in rows:
        phrases = f"{row['item']} {row['group']} {row['dialogue']} {row['output']}".casefold()
        assert not any(system in phrases for system in systems)


def test_sentences_of_points_are_no_notes_that_could_be_folded_away(config):
    assert not any(criterion.scale.has_notes for criterion in config.criteria)
    assert any(criterion.scale.has_notes for criterion in get_protocol("dialogue").criteria)
