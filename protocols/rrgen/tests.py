"""Responses to reviews: the words against the document, and what the contract cannot know."""

import csv
import html
import re
from collections import defaultdict
from itertools import groupby

import pytest
from django.template.loader import render_to_string
from django.test import Client

from evalsite.data.demo import import_example
from evalsite.instruments.installed import find_folder, get_protocol
from evalsite.instruments.questions import write_gold
from evalsite.instruments.scales.decision import Decision
from evalsite.instruments.scales.likert import Likert
from evalsite.participation.view_models import view_example, view_item
from evalsite.people.models import ItemSet
from evalsite.studies.gold import check_gold, count_met, feedback
from tests.support.checking import check_file
from tests.support.factories import launch, make_annotator, make_study, make_user, mint_link

SYSTEMS = {"template", "seq2seq", "finetuned"}
DEFINITIONS = {
    "SEMANTIC RELEVANCE": "indicates the degree to which semantic content of the REVIEW is "
    "reflected/addressed in the RESPONSE (*)",
    "FLUENCY": "indicates the degree to which the RESPONSE text is grammatically fluent",
    "SENTIMENT APPROPRIATENESS": "indicates the degree to which the RESPONSE text accurately "
    "reflects the sentiment conveyed in the REVIEW (e.g. positive vs. negative sentiment)",
    "DOMAIN ACCURACY": "indicates the degree to which the RESPONSE text accurately reflects the "
    "domain of the REVIEW (e.g. Hotel vs. Restaurant)",
}
LABELS = (
    "Not at all",
    "Slightly",
    "More than slightly",
    "Partially",
    "More than partially",
    "Almost completely",
    "Completely",
)
RESERVED = "Note, 3 and 5 are reserved for difficult/borderline cases and should be used sparingly."


def squeeze(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def words_of(page: str) -> str:
    """What a page says, without its tags; a tag parts no words that it stands between."""
    return squeeze(html.unescape(re.sub(r"<[^>]*>", "", page)))


@pytest.fixture
def config():
    return get_protocol("rrgen")


@pytest.fixture
def instructions(config) -> str:
    """The instructions as plain words: without marks of Markdown, but with the starred note's."""
    bare = re.sub(r"\*\*|[`#]|^- ", "", config.instructions, flags=re.MULTILINE)
    return squeeze(bare.replace("\\*", "*"))


def likert_criteria(config):
    return [criterion for criterion in config.criteria if isinstance(criterion.scale, Likert)]


def read_batch(config) -> list[dict[str, str]]:
    with find_folder(config.key).example_batch.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def start(study):
    """The set that a new participant is dealt, and the page it begins with."""
    participant = make_annotator(study)
    page = Client().post(f"{mint_link(participant)}start/", follow=True)
    return ItemSet.objects.get(participant=participant), page


@pytest.fixture
def study():
    """The example batch in a live study of this protocol."""
    study = make_study(protocol="rrgen", items=0)
    import_example(study, by=make_user())
    return launch(study)


def show(config, **context) -> str:
    """The page of the first practice item, in the frame of an example."""
    item = view_example(config, config.practice[0], {})
    return render_to_string(
        config.item_template,
        {
            "frame": "participation/example.html",
            "layout": config.layout,
            "item": item,
            **context,
        },
    )


# --- to the letter: the document states no licence, so its sentences are quoted -----


def test_title_is_the_documents(config):
    assert config.instructions_title == "RRGen Human Evaluation: HELP!"
    assert config.help_label == "HELP!"


def test_criteria_and_definitions_are_the_documents_in_its_order(config):
    assert {
        criterion.label: criterion.definition for criterion in likert_criteria(config)
    } == DEFINITIONS
    assert [criterion.label for criterion in likert_criteria(config)] == list(DEFINITIONS)


def test_points_are_the_documents_on_every_scale(config):
    for criterion in likert_criteria(config):
        points = criterion.scale.points
        assert [point.value for point in points] == list(range(1, 8))
        assert tuple(point.label for point in points) == LABELS


def test_three_and_five_are_reserved_in_the_documents_words(config):
    for criterion in likert_criteria(config):
        assert [point.value for point in criterion.scale.points if point.reserved] == [3, 5]
        assert criterion.scale.reserved_note == RESERVED


def test_range_is_on_the_page_in_the_documents_words(config):
    assert config.page_note == "A score of 1 is the lowest, while 7 is the highest."


def test_decision_comes_last_in_the_documents_words(config, instructions):
    decision = config.criteria[-1]

    assert isinstance(decision.scale, Decision)
    assert decision.label == f"{decision.scale.yes} / {decision.scale.no}" == "ACCEPT / REJECT"
    assert (
        f"we collect {decision.label} information that tells us {decision.definition}."
        in instructions
    )


def test_starred_note_is_that_of_the_instructions(config, instructions):
    assert squeeze(config.ignore_note.replace("**", "").replace("\\", "")) in instructions


def test_what_to_highlight_is_said_in_the_words_of_the_instructions(config, instructions):
    assert config.highlight in instructions


@pytest.mark.parametrize(
    "sentence",
    [
        "Each annotation example consists of a REVIEW text and a generated RESPONSE text.",
        "For each REVIEW text, there are three different RESPONSE texts which are randomised and "
        "shown in succession to improve annotator productivity.",
        "For example, REVIEW A has: RESPONSE from model B RESPONSE from model A RESPONSE from "
        "model C",
        "The purpose of the annotation schema is to compare outputs from different models against "
        "each other. We collect the same evaluation criteria for each model output text.",
        "For each RESPONSE text, we collect two types of annotations.",
        "First, we collect scores on likert scales of 1 to 7 for the following evaluation "
        "criteria:",
        *(f"{label}: {text}" for label, text in DEFINITIONS.items()),
        "A score of 1 is the lowest, while 7 is the highest.",
        " ".join(f"{number} = {label}" for number, label in enumerate(LABELS, start=1)),
        RESERVED,
        "Second, we collect ACCEPT / REJECT information that tells us whether or not the RESPONSE "
        "text is suitable.",
        "* NOTE: if the REVIEW text does not contain any semantically important information or is "
        "deemed unsuitable given the REVIEW text, the example should be ignored completely.",
        "In addition, it is also possible to highlight passages in the RESPONSE text that are "
        "particularly relevant or address explicitly semantic content of the REVIEW text.",
    ],
)
def test_sentence_of_the_document_is_in_the_instructions(sentence, instructions):
    assert sentence in instructions


# --- the rules in our own words -------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        "no semantically important information in the review covers all RESPONSES to the REVIEW.",
        "unsuitable given the review covers only the RESPONSE on the screen.",
        "Leave the scores and ACCEPT / REJECT blank.",
    ],
)
def test_rules_in_our_own_words_stand_in_the_instructions(rule, instructions):
    assert rule in instructions


def test_instructions_begin_with_a_short_version_and_hold_no_raw_html(config):
    short = config.instructions.split("\n## ")[0]

    assert len(short.split()) <= 150
    assert not short.startswith("#")
    assert not re.search(r"<\w|^# ", config.instructions, flags=re.MULTILINE)


def test_one_response_a_screen_and_those_of_a_review_in_succession(config):
    assert (config.item.outputs.least, config.item.outputs.most) == (1, 1)
    assert config.design.groups == "together"
    assert config.design.set_size % 3 == 0  # four reviews with three responses each
    assert (config.design.set_size, config.design.max_sets, config.design.k) == (12, None, 3)


def test_ignoring_has_two_reasons_and_says_what_each_covers(config):
    assert config.has_ignore
    assert {reason.label: reason.covers for reason in config.ignore_reasons} == {
        "no semantically important information in the review": "group",
        "unsuitable given the review": "item",
    }
    assert {reason.covers: reason.note for reason in config.ignore_reasons} == {
        "group": "covers all {count} responses",
        "item": "covers the response on the screen",
    }


def test_version_freezes_what_is_said_about_ignoring_and_highlighting(config):
    instrument = config.to_data()

    assert instrument["ignore"]["note"] == config.ignore_note
    assert [reason["label"] for reason in instrument["ignore"]["reasons"]] == [
        reason.label for reason in config.ignore_reasons
    ]
    assert config.has_highlight
    assert instrument["x_highlight"] == config.highlight


def test_message_for_what_is_missing_names_it(config):
    messages = [
        criterion.scale.make_field(criterion, config.item.output_name).missing
        for criterion in config.criteria
    ]

    assert messages == [
        "Choose a score for semantic relevance",
        "Choose a score for fluency",
        "Choose a score for sentiment appropriateness",
        "Choose a score for domain accuracy",
        "Choose accept or reject for this response",
    ]


@pytest.mark.parametrize("column", ["review", "review_text", "source"])
@pytest.mark.django_db
def test_file_with_other_names_for_its_columns_is_understood(column, tmp_path):
    study = make_study(protocol="rrgen", items=0)
    path = tmp_path / "batch.csv"
    path.write_text(
        f"id,{column},model,response\nr1,Nice.,one,Thank you!\nr1,Nice.,two,Thanks.\n", "utf-8"
    )

    with path.open("rb") as source:
        checked = check_file(source, study=study)

    assert checked.faults == []
    assert [item.inputs for item in checked.items] == [{"review": "Nice."}] * 2
    assert [len(item.outputs) for item in checked.items] == [1, 1]
    assert len({item.group for item in checked.items}) == 1


# --- the page -------------------------------------------------------------------


def test_page_shows_review_response_and_all_definitions_and_points(config):
    page = show(config)

    words = words_of(page.replace("</", " </"))
    example = config.practice[0]
    assert f"REVIEW {example.inputs['review']} RESPONSE {example.outputs[0]}" in words
    for text in DEFINITIONS.values():
        assert text in words
    for label in LABELS:
        assert words.count(f"{LABELS.index(label) + 1} {label}") == 4
    assert "ACCEPT / REJECT" in words
    assert "whether or not the RESPONSE text is suitable" in words
    assert " checked" not in page


def test_page_names_review_and_place_of_the_response_where_the_site_knows_them(config):
    item = view_example(config, config.practice[0], {})
    known = {"group_letter": "B", "place_in_group": 2, "group_size": 4}
    placed = {"inputs": item.inputs, "outputs": item.outputs, "questions": item.questions} | known

    words = words_of(show(config, item=placed).replace("</", " </"))

    assert "REVIEW B We loved" in words
    assert "RESPONSE 2 of 4 to this review" in words


def test_review_and_response_are_shown_literally(config):
    hostile = "<script>alert(1)</script> {{ 7 }} \u202eabc"
    item = view_item(config, inputs={"review": hostile}, texts=[hostile], options={})

    page = show(config, item=item)

    assert "<script>" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; {{ 7 }} \u202eabc") == 2


@pytest.mark.django_db
def test_instructions_are_one_click_away_from_a_rating_page(study):
    _, page = start(study)

    assert [shown.label for shown in page.context["item"].inputs] == ["REVIEW"]
    assert ">HELP!<" in page.content.decode()
    assert re.search(r'href="/p/[^/"]+/instructions/"', page.content.decode())


@pytest.mark.slow
@pytest.mark.django_db
def test_responses_to_a_review_follow_one_another_in_an_order_of_each_participant(study):
    group_of = dict(study.items.main().values_list("pk", "group"))
    orders = defaultdict(list)

    for _ in range(20):  # of 39 reviews at four a set: most are met twice
        item_set, _ = start(study)
        runs = [(name, list(run)) for name, run in groupby(item_set.item_ids, group_of.get)]
        assert [len(run) for _, run in runs] == [3] * len(runs)
        for name, run in runs:
            orders[name].append(run)

    met_twice = [
        orders_of_review for orders_of_review in orders.values() if len(orders_of_review) > 1
    ]
    assert len(met_twice) > 30
    assert any(first != second for first, second, *_ in met_twice)


# --- practice -------------------------------------------------------------------


def test_document_asks_for_no_note_and_promises_no_bonus(config):
    assert not config.has_note
    assert not config.design.has_bonus


def test_document_has_no_worked_example_so_none_is_shown(config):
    assert config.examples == []


def test_practice_is_one_item(config):
    (example,) = config.practice

    assert not example.ratings


def test_practice_gold_can_be_met_and_each_item_says_why(config):
    for example in config.practice:
        met = asked = 0
        for criterion in config.criteria:
            gold = write_gold(config, example)[criterion.key]
            check_gold(criterion, gold, example.outputs)
            lowest, highest = criterion.scale.minimum, criterion.scale.maximum
            best = max(
                count_met(feedback(criterion, gold, [value], None, ["RESPONSE"]))
                for value in range(lowest, highest + 1)
            )
            met, asked = met + best[0], asked + best[1]
        assert met == asked > 0
        assert example.why
        assert not re.search(r"\d", example.why)


def test_practice_suggests_no_reserved_point_alone(config):
    golds = {gold for example in config.practice for gold in write_gold(config, example).values()}

    assert not golds & {"3", "5"}


# --- the example batch ----------------------------------------------------------


def test_example_batch_has_one_response_of_each_system_for_every_review(config):
    rows = read_batch(config)
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row["group"])]

    assert list(rows[0]) == ["item", "group", "review", "system", "output"]
    assert len(groups) >= 30
    assert len({row["item"] for row in rows}) == len(rows) == 3 * len(groups)
    for group in groups:
        assert {row["system"] for row in group} == SYSTEMS
        assert len({row["review"] for row in group}) == 1
    assert all(all(row.values()) for row in rows)


def test_example_batch_shows_what_real_files_hold(config):
    rows = read_batch(config)
    texts = [row["output"] for row in rows] + [row["review"] for row in rows]

    for sign in ("é", "🍜", '"', ",", "\n", "“", "<name>", "شكراً", "€"):
        assert any(sign in text for text in texts), sign
    by_group = groupby(rows, key=lambda row: row["group"])
    assert any(len({row["output"] for row in group}) < 3 for _, group in by_group)
    assert min(len(row["review"]) for row in rows) < 10
    assert max(len(row["review"].split()) for row in rows) >= 600


def test_example_batch_does_not_give_systems_away(config):
    rows = read_batch(config)

    assert {row["system"] for row in rows[::3]} == SYSTEMS
    for row in rows:
        phrases = f"{row['item']} {row['group']} {row['review']} {row['output']}".casefold()
        assert not any(system in phrases for system in SYSTEMS)
