"""Responses to reviews: the words against the document, and what the contract cannot know."""

import csv
import html
import re
from collections import defaultdict
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest
from django.template.loader import render_to_string
from django.test import Client

from evalsite.annotation.pages.view_models import view_example, view_item
from evalsite.imports.demo import import_example
from evalsite.participants.models import ItemSet
from evalsite.protocol import find_folder, get_protocol, installed_protocols
from evalsite.scales.decision import Decision
from evalsite.scales.likert import Likert
from evalsite.studies.gold import check_gold, count_met, feedback
from tests.support.checking import check_file
from tests.support.factories import launch, make_annotator, make_study, make_user, mint_link

pytestmark = pytest.mark.skipif(
    "rrgen" not in installed_protocols(), reason="rrgen is not listed in PROTOCOLS"
)

ROOT = Path(__file__).resolve().parents[2]
SEEDS = ROOT / "../shared/seeds"
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


def squeeze(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def words_of(page: str) -> str:
    """What a page says, without its tags; a tag parts no words that it stands between."""
    return squeeze(html.unescape(re.sub(r"<[^>]*>", "", page)))


@cache
def read_document() -> str:
    """The words of the task document, without its tags."""
    found = sorted(SEEDS.glob("001_*.txt"))
    if not found:
        pytest.skip(f"no task document 001 in {SEEDS}: the wording was not compared")
    return words_of(found[0].read_text(encoding="utf-8"))


@pytest.fixture
def config():
    return get_protocol("rrgen")


@pytest.fixture
def document() -> str:
    return read_document()


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
    me = make_annotator(study)
    page = Client().post(f"{mint_link(me)}start/", follow=True)
    return ItemSet.objects.get(participant=me), page


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
            "frame": "annotation/example.html",
            "layout": config.layout.style,
            "item": item,
            **context,
        },
    )


# --- to the letter --------------------------------------------------------------


def test_title_is_the_documents(config, document):
    assert document.startswith(f"{config.instructions_title}: HELP!")


def test_criteria_and_definitions_are_the_documents_in_its_order(config, document):
    declared = {one.label: one.definition for one in likert_criteria(config)}

    assert declared == DEFINITIONS
    places = [document.index(f"{label}: {text}") for label, text in declared.items()]
    assert places == sorted(places)


def test_points_are_the_documents_on_every_scale(config, document):
    listed = " ".join(f"{number} = {label}" for number, label in enumerate(LABELS, start=1))

    assert f"7 is the highest. {listed} Note, 3 and 5" in re.sub(r"(?<=\S)(\d =)", r" \1", document)
    for criterion in likert_criteria(config):
        points = criterion.scale.points
        assert [point.value for point in points] == list(range(1, 8))
        assert tuple(point.label for point in points) == LABELS


def test_three_and_five_are_reserved_in_the_documents_words(config, document):
    for criterion in likert_criteria(config):
        assert [one.value for one in criterion.scale.points if one.reserved] == [3, 5]
        assert criterion.scale.reserved_note in document
        assert criterion.scale.reserved_note == (
            "Note, 3 and 5 are reserved for difficult/borderline cases and should be used "
            "sparingly."
        )


def test_decision_comes_last_in_the_documents_words(config, document):
    decision = config.criteria[-1]

    assert isinstance(decision.scale, Decision)
    assert decision.label == f"{decision.scale.yes} / {decision.scale.no}" == "ACCEPT / REJECT"
    assert f"we collect {decision.label} information that {decision.definition}." in document


def test_starred_note_is_the_documents(config, document):
    assert squeeze(config.ignore_note.replace("**", "").replace("\\", "")) in document


def test_what_to_highlight_is_said_in_the_documents_words(config, document):
    what, _, more = config.highlight.partition(". ")

    assert what.removeprefix("Passages ") in document
    assert more == "Any number, or none."


@pytest.mark.parametrize(
    "sentence",
    [
        "Each annotation example consists of a REVIEW text and a generated RESPONSE text.",
        "For each REVIEW text, there are three different RESPONSE texts",
        "shown in succession",
        "compare outputs from different models against each other",
        *(f"{label}: {text}" for label, text in DEFINITIONS.items()),
        "A score of 1 is the lowest, while 7 is the highest.",
        *(f"{number} = {label}" for number, label in enumerate(LABELS, start=1)),
        "Note, 3 and 5 are reserved for difficult/borderline cases and should be used sparingly.",
        "tells us whether or not the RESPONSE text is suitable.",
        "* NOTE: if the REVIEW text does not contain any semantically important information or is "
        "deemed unsuitable given the REVIEW text, the example should be ignored completely.",
        "In addition, it is also possible to highlight passages in the RESPONSE text that are "
        "particularly relevant or address explicitly semantic content of the REVIEW text.",
    ],
)
def test_wording_kept_in_the_instructions_is_the_documents(sentence, instructions, document):
    assert sentence in instructions
    assert sentence in document


# --- the rules, without the document at hand ------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        "where a REVIEW has more or fewer than three, it says that",
        "their order is randomised: for REVIEW A the RESPONSE from model B may come first, then "
        "the one from model A, then the one from model C",
        "the same questions are asked about every RESPONSE text",
        "no semantically important information in the review: this covers all RESPONSES",
        "unsuitable given the review: this covers the RESPONSE on the screen only",
        "An example that you ignore needs no scores, and neither ACCEPT nor REJECT.",
        "Mark as many passages as you like. You need not mark any.",
        "Score the RESPONSE from 1 to 7 on four criteria: SEMANTIC RELEVANCE, FLUENCY, SENTIMENT "
        "APPROPRIATENESS and DOMAIN ACCURACY. Use 3 and 5 sparingly.",
        "Then choose ACCEPT or REJECT: is the RESPONSE suitable?",
        "You are not told which model is which. Two of the texts may be the same.",
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
    assert config.outputs == (1, 1)
    assert config.design.groups == "together"
    assert config.design.set_size % 3 == 0  # four reviews with three responses each
    assert (config.design.set_size, config.design.max_sets, config.design.k) == (12, None, 3)


def test_ignoring_has_two_reasons_and_says_what_each_covers(config):
    assert config.has_ignore
    assert {one.label: one.covers for one in config.ignore_reasons} == {
        "no semantically important information in the review": "group",
        "unsuitable given the review": "item",
    }
    assert {one.covers: one.note for one in config.ignore_reasons} == {
        "group": "covers all its responses",
        "item": "covers the response on the screen",
    }


def test_version_freezes_what_is_said_about_ignoring_and_highlighting(config):
    instrument = config.to_data()

    assert instrument["ignore"]["note"] == config.ignore_note
    assert [one["label"] for one in instrument["ignore"]["reasons"]] == [
        reason.label for reason in config.ignore_reasons
    ]
    assert config.has_highlight
    assert instrument["x_highlight"] == config.highlight


def test_message_for_what_is_missing_names_it(config):
    said = [one.make_field(config.output_name).missing for one in config.criteria]

    assert said == [
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
        assert len(re.findall(rf"\b[1-7] {label}(?= \d|\s+Note)", words)) == 4
    assert words.count("Note, 3 and 5 are reserved") == 4
    assert page.count("pt reserved") == 8
    assert "Is the RESPONSE suitable?" in words
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

    assert page.context["item"].input("review").label == "REVIEW"
    assert re.search(r'href="/p/[^/"]+/instructions/"', page.content.decode())


@pytest.mark.django_db
def test_responses_to_a_review_follow_one_another_in_an_order_of_each_participant(study):
    group_of = dict(study.items.main().values_list("pk", "group"))
    orders = defaultdict(list)

    for _ in range(20):  # of 38 reviews at four a set: most are met twice
        dealt, _ = start(study)
        runs = [(name, list(run)) for name, run in groupby(dealt.item_ids, group_of.get)]
        assert [len(run) for _, run in runs] == [3] * len(runs)
        for name, run in runs:
            orders[name].append(run)

    met_twice = [found for found in orders.values() if len(found) > 1]
    assert len(met_twice) > 30
    assert any(first != second for first, second, *_ in met_twice)


# --- practice -------------------------------------------------------------------


def test_document_asks_for_no_note_and_promises_no_bonus(config):
    assert not config.has_note
    assert not config.design.has_bonus


def test_document_has_no_worked_example_so_none_is_shown(config):
    assert config.examples == ()


def test_practice_is_one_review_with_three_responses_in_succession(config):
    assert len(config.practice) == 3
    assert len({example.inputs["review"] for example in config.practice}) == 1
    assert len({tuple(example.outputs) for example in config.practice}) == 3
    assert not any(example.ratings for example in config.practice)


def test_practice_gold_can_be_met_and_each_item_says_why(config):
    for example in config.practice:
        met = asked = 0
        for criterion in config.criteria:
            gold = example.gold[criterion.key]
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
    golds = {example.gold[one.key] for example in config.practice for one in config.criteria}

    assert not golds & {"3", "5"}


# --- the example batch ----------------------------------------------------------


def test_example_batch_has_one_response_of_each_system_for_every_review(config):
    rows = read_batch(config)
    groups = [list(found) for _, found in groupby(rows, key=lambda row: row["group"])]

    assert list(rows[0]) == ["item", "group", "review", "system", "output"]
    assert len(groups) >= 30
    assert len({row["item"] for row in rows}) == len(rows) == 3 * len(groups)
    for found in groups:
        assert {row["system"] for row in found} == SYSTEMS
        assert len({row["review"] for row in found}) == 1
    assert all(all(row.values()) for row in rows)


def test_example_batch_shows_what_real_files_hold(config):
    rows = read_batch(config)
    texts = [row["output"] for row in rows] + [row["review"] for row in rows]

    for sign in ("é", "🍜", '"', ",", "\n", "“", "<name>", "شكراً", "€"):
        assert any(sign in text for text in texts), sign
    by_group = groupby(rows, key=lambda row: row["group"])
    assert any(len({row["output"] for row in found}) < 3 for _, found in by_group)
    assert min(len(row["review"]) for row in rows) < 10


def test_example_batch_does_not_give_systems_away(config):
    rows = read_batch(config)

    assert {row["system"] for row in rows[::3]} == SYSTEMS
    for row in rows:
        phrases = f"{row['item']} {row['group']} {row['review']} {row['output']}".casefold()
        assert not any(system in phrases for system in SYSTEMS)
