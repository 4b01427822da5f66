"""Pairwise comparison: its words against the document, and what the contract cannot know."""

import csv
import html
import re
from collections import defaultdict
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from django.template.loader import render_to_string

from evalsite.annotation.pages.view_models import view_item
from evalsite.protocol import find_folder, get_protocol, installed_protocols
from evalsite.scales.preference import Preference
from evalsite.studies.gold import check_gold, feedback
from tests.support.checking import check_file
from tests.support.factories import make_study
from tests.support.published import published_file

pytestmark = pytest.mark.skipif(
    "pairwise" not in installed_protocols(),
    reason="protocols.pairwise is not listed in PROTOCOLS yet: the site lacks what it needs",
)

ROOT = Path(__file__).resolve().parents[2]
SEEDS = ROOT / "../shared/seeds"
REAL = published_file("marco_pairwise/batch_long.csv")
SHOWN = ("Response A", "Response B")
SYSTEMS = ("joint", "cascade", "retrieval")


def squeeze(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def plain(text: str) -> str:
    """The words of a Markdown text without its marks."""
    return squeeze(re.sub(r"[*`>#]|^\s*- ", "", text, flags=re.MULTILINE))


@cache
def read_document() -> str:
    """The task document as it stands, its line breaks as line breaks."""
    found = sorted(SEEDS.glob("004_*.txt"))
    if not found:
        pytest.skip(f"no task document 004 in {SEEDS}: the wording was not compared")
    return found[0].read_text(encoding="utf-8").replace("<br />", "\n").replace("\u00a0", " ")


def read_examples(document: str) -> list[tuple[str, list[tuple[str, str]], str]]:
    """The worked examples of the document: criterion, lines by speaker, verdict with reason."""
    parts = re.split(r"^## \d\. (\w+)$", document, flags=re.MULTILINE)[1:]
    found = []
    for criterion, part in zip(parts[::2], parts[1::2], strict=True):
        for block in re.split(r"\n[a-f]\.\s*\n", part)[1:]:
            lines = re.findall(r"^\| (\w+) \| (.*?) \|$", block, flags=re.MULTILINE)
            verdict = re.search(r"^=> (.*?)\s*$", block, flags=re.MULTILINE)
            found.append((criterion, lines, verdict[1]))
    return found


@pytest.fixture
def config():
    return get_protocol("pairwise")


@pytest.fixture
def document() -> str:
    return read_document()


@pytest.fixture
def instructions(config) -> str:
    return plain(config.instructions)


def read_batch(config) -> list[dict[str, str]]:
    with find_folder(config.key).example_batch.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def render_item(config, inputs, texts, *, is_aided=False) -> str:
    item = view_item(config, inputs=inputs, texts=texts, options={}, is_aided=is_aided)
    return render_to_string(
        config.item_template,
        {"frame": "annotation/preview.html", "layout": config.layout.style, "item": item},
    )


def words_of(page: str) -> str:
    return squeeze(html.unescape(re.sub(r"<[^>]*>", " ", page)))


# --- to the letter --------------------------------------------------------------


def test_criteria_are_the_documents(config, document):
    headings = re.findall(r"^## \d\. (\w+)$", document, flags=re.MULTILINE)

    assert [criterion.label for criterion in config.criteria] == headings
    assert headings == ["completion", "readability"]


def test_definitions_are_the_documents(config, document):
    for criterion in config.criteria:
        section = document.split(f". {criterion.label}\n")[1]
        stated = plain(section.split("Examples:")[0])

        lines = [plain(line) for line in criterion.definition.split("\n")]

        assert stated.startswith(criterion.summary)
        assert all(line in stated for line in lines)
        # the line above the list is also its first point, or we make it that
        assert " ".join(lines) == stated or " ".join([criterion.summary, *lines]) == stated


def test_words_that_stand_out_in_a_definition_are_the_documents(config, document):
    bold = re.findall(r"\*\*([a-z ]+)\*\*", document.replace("** **", " "))

    assert bold == ["user query", "wrong information", "useful information"]
    assert re.findall(r"\*\*(.+?)\*\*", config.criteria[0].definition) == bold


def test_practice_items_are_the_documents_examples_in_their_order(config, document):
    examples = read_examples(document)

    assert len(examples) == len(config.practice) == 12
    for item, (criterion, lines, verdict) in zip(config.practice, examples, strict=True):
        *dialogue, (_, first), (_, second) = lines
        assert [speaker for speaker, _ in lines[-2:]] == ["sys1", "sys2"]
        assert item.inputs["dialogue"].split("\n") == [": ".join(line) for line in dialogue]
        assert list(item.outputs) == [first, second]
        right = {"sys1": "1", "sys2": "2", "tie": "tie"}[re.match(r"\w+", verdict)[0]]
        assert item.gold == {criterion: right}


def test_practice_gives_the_documents_verdict_and_reason(config, document):
    numbers = defaultdict(int)
    examples = read_examples(document)

    for item, (criterion, _, verdict) in zip(config.practice, examples, strict=True):
        numbers[criterion] += 1
        said = item.why.split("\n")[0]
        assert said == f"Example {numbers[criterion]} of {criterion}: {verdict.replace('`', '')}"
    assert numbers == {"completion": 6, "readability": 6}


def test_closing_note_is_kept_whole_with_its_filled_in_form(config, document):
    note = plain(document[document.index("PS.") :])

    assert note.endswith("thank you for using the cambridge towninfo center.")
    assert note.replace("=> ", "") in plain(config.instructions).replace("=> ", "")


@pytest.mark.parametrize(
    "sentence",
    [
        "the response correctly answers the user query.",
        "under the above condition, if the response provides wrong information, the system loses. "
        "Also if the response provides extra useful information, the system wins extra points.",
        "the response is fluent, natural and consistent.",
        "fluent: there are no repetitions in one sentence.",
        "consistent: there are no repeated or conflicted information between response and dialog "
        "history.",
    ],
)
def test_wording_kept_in_the_instructions_is_the_documents(sentence, instructions, document):
    assert sentence in instructions
    assert sentence in plain(document)


# --- the rules, without the document at hand ------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        "The last line is the user query: what the two responses have to answer.",
        "one that does not answer it loses to one that does",
        "Where both answer the user query and no extra information is provided, it is a tie.",
        "How much a response tells does not matter here.",
        "Where both answer, wrong information makes a response lose, and extra information that "
        "is useful to the user, such as the reason for a recommendation, makes it win.",
        "Which one stands first is a matter of chance",
        "Judge each criterion by itself: a response can win on one and lose on the other.",
        "hold it against neither response",
        "A response that asks for something the user has already said is not consistent.",
        "sys1 is Response A and sys2 is Response B",
    ],
)
def test_rules_in_our_own_words_stand_in_the_instructions(rule, instructions):
    assert rule in instructions


def test_instructions_begin_with_a_short_version_and_hold_no_raw_html(config):
    short = config.instructions.split("\n## ")[0]

    assert len(short.split()) <= 150
    assert not short.startswith("#")
    assert not re.search(r"<\w|^# ", config.instructions, flags=re.MULTILINE)


def test_each_criterion_asks_for_one_response_or_a_tie(config):
    for criterion in config.criteria:
        assert isinstance(criterion.scale, Preference)
        assert not criterion.per_output
    assert config.outputs == (2, 2)


def test_each_question_asks_what_its_line_in_the_document_says(config):
    assert {one.label: one.question for one in config.criteria} == {
        "completion": "Which response correctly answers the user’s query?",
        "readability": "Which response is more fluent, natural and consistent with the dialogue?",
    }
    for criterion in config.criteria:
        said = criterion.summary.removeprefix("the response ").removeprefix("is ").rstrip(".")
        assert said.replace("the user query", "the user’s query") in criterion.question


def test_answers_are_named_by_letter_on_the_page_and_in_the_instructions(config, instructions):
    sides = config.criteria[0].scale

    assert config.layout.letters == ("A", "B")
    assert (sides.first, sides.tie, sides.second) == ("A is better", "Tie", "B is better")
    assert all(criterion.scale == sides for criterion in config.criteria)
    assert f"Choose {sides.first}, {sides.second} or {sides.tie}." in instructions


def test_the_document_has_no_ignoring_no_highlights_no_note_and_no_bonus(config):
    assert [config.has_ignore, config.has_highlight, config.has_note] == [False] * 3
    assert not config.design.has_bonus


def test_a_participant_meets_a_dialogue_once_in_sets_of_20(config):
    assert (config.design.groups, config.design.set_size) == ("once", 20)
    assert (config.design.k, config.design.max_sets) == (3, None)


# --- practice -------------------------------------------------------------------


def test_practice_asks_for_one_criterion_and_its_gold_can_be_met(config):
    for item in config.practice:
        ((key, gold),) = item.gold.items()
        criterion = config.criterion_by_key[key]
        check_gold(criterion, gold, item.outputs)
        answers = [feedback(criterion, gold, [value], None, SHOWN) for value in (0, 1, 2)]
        assert sum(result.is_met for (result,) in answers) == 1


def test_practice_says_which_response_a_verdict_means(config):
    for item in config.practice:
        said = item.why.removesuffix("\nsys1 is Response A, sys2 is Response B.")
        assert bool(re.search(r"\bsys[12]\b", said)) == (said != item.why)


def test_examples_are_met_in_practice_without_their_answers_before(config):
    assert config.examples == ()
    assert not any(item.ratings for item in config.practice)


def test_no_reason_is_invented_where_the_document_gives_none(config):
    bare = [item.why for item in config.practice if "(" not in item.why]

    assert bare == ["Example 4 of readability: tie"]


# --- the page -------------------------------------------------------------------


def test_page_shows_the_dialogue_above_the_two_responses(config):
    (item,) = [one for one in config.practice if "\n" in one.inputs["dialogue"]]

    words = words_of(render_item(config, item.inputs, item.outputs))

    lines = [line.replace(": ", " ", 1) for line in item.inputs["dialogue"].split("\n")]
    assert squeeze(" ".join(["Dialogue so far", *lines, "Response"])) in words
    first, second = (words.index(squeeze(text)) for text in item.outputs)
    assert words.index("Dialogue so far") < first < second < words.index("completion")


def test_slots_stay_as_typed_unless_aids_are_on(config):
    text = "i have [value_count] restaurant -s , [ broken and [hotel_name"
    exact = render_item(config, {"dialogue": "user: hi"}, [text, text])
    aided = render_item(config, {"dialogue": "user: hi"}, [text, text], is_aided=True)

    assert exact.count(text) == aided.count(text) == 2
    assert "data-aids" not in exact
    assert 'data-aids="chips differences identical "' in aided


def test_hostile_text_is_shown_and_never_run(config):
    text = "<script>alert(1)</script> {{ 7 }} [value_count] \u202eemag"

    page = render_item(config, {"dialogue": f"user: {text}"}, [text, text])

    assert "<script>alert" not in page
    assert words_of(page).count("<script>alert(1)</script> {{ 7 }} [value_count]") == 3


# --- batches --------------------------------------------------------------------


def test_example_batch_compares_every_pair_of_systems_in_every_dialogue(config):
    rows = read_batch(config)
    items, groups = defaultdict(list), defaultdict(set)
    for row in rows:
        items[row["item"]].append(row["system"])
        groups[row["group"]].add(row["item"])

    assert list(rows[0]) == ["item", "group", "cluster", "dialogue", "system", "output"]
    assert len(groups) >= 30
    for found in groups.values():
        pairs = {frozenset(items[key]) for key in found}
        assert pairs == {frozenset(pair) for pair in combinations(SYSTEMS, 2)}
        assert all(len(items[key]) == 2 for key in found)
    assert all(all(row.values()) for row in rows)


def test_example_batch_goes_on_where_a_conversation_stopped(config):
    before: dict[str, str] = {}
    for row in read_batch(config):
        earlier = before.setdefault(row["cluster"], row["dialogue"])
        assert row["dialogue"].startswith(earlier)
        assert re.fullmatch(r"user: .+", row["dialogue"].split("\n")[-1])
        before[row["cluster"]] = row["dialogue"]


def test_example_batch_shows_what_real_files_hold(config):
    rows = read_batch(config)
    texts = [row["output"] for row in rows]
    outputs = {(row["group"], row["system"]): row["output"] for row in rows}
    turns = {len(row["dialogue"].split("\n")) for row in rows}

    assert not all(text.isascii() for text in texts)
    assert any("😊" in row["dialogue"] for row in rows)
    assert any('"' in text for text in texts)
    assert any("," in text for text in texts)
    assert sum("[" in text for text in texts) > len(texts) / 2
    assert len(set(outputs.values())) < len(outputs)  # two systems with the same text
    assert {1, 3, 5} <= turns


def test_example_batch_does_not_give_systems_away(config):
    rows = read_batch(config)
    by_place = defaultdict(set)
    for row in rows:
        by_place[row["item"][-1]].add(row["system"])

    assert {row["system"] for row in rows[::2]} == set(SYSTEMS)
    assert all(found == set(SYSTEMS) for found in by_place.values())
    for row in rows:
        phrases = f"{row['item']} {row['group']} {row['dialogue']} {row['output']}".casefold()
        assert not any(system in phrases for system in SYSTEMS)


@pytest.mark.django_db
def test_the_real_batch_of_this_evaluation_loads_whole(config):
    study = make_study(protocol=config.key, items=0)

    with REAL.open("rb") as source:
        checked = check_file(source, study=study)

    assert checked.faults == []
    assert checked.systems == ["HDSA", "MarCo", "human"]
    assert (len(checked.items), checked.rows) == (1_484, 2_968)
    assert len({item.group for item in checked.items}) == 742
    assert len({item.cluster for item in checked.items}) == 100
