"""Pairwise comparison: its words against the document, and what the contract cannot know."""

import csv
import re
from collections import defaultdict
from functools import cache
from itertools import combinations

import pytest
from django.template.loader import render_to_string
from django.test import Client

from evalsite.instruments.installed import find_folder, get_protocol
from evalsite.instruments.questions import read_ratings, write_gold
from evalsite.instruments.scales.preference import Judgement, Preference
from evalsite.participation.view_models import view_item
from evalsite.studies.gold import check_gold, feedback
from tests.support import documents
from tests.support.checking import check_file
from tests.support.documents import squeeze, strip_tags
from tests.support.factories import launch, make_annotator, make_learner, make_study, mint_link
from tests.support.published import published_file

REAL = published_file("marco_pairwise/batch_long.csv")
SHOWN = ("sys1", "sys2")
SYSTEMS = ("joint", "cascade", "retrieval")


def plain(text: str) -> str:
    """The words of a Markdown text without its marks."""
    return squeeze(re.sub(r"[*`>#\\]|^\s*- ", "", text, flags=re.MULTILINE))


@cache
def read_document() -> str:
    """The task document as it is, its line breaks as line breaks."""
    source = documents.read_document("pairwise.md")
    return source.replace("<br />", "\n").replace("\u00a0", " ")


def read_examples(document: str) -> list[tuple[str, str, list[tuple[str, str]], str]]:
    """The worked examples: criterion, letter, lines by speaker, verdict with reason."""
    parts = re.split(r"^## \d\. (\w+)$", document, flags=re.MULTILINE)[1:]
    examples = []
    for criterion, part in zip(parts[::2], parts[1::2], strict=True):
        _, *pieces = re.split(r"\n([a-f])\.\s*\n", part)
        for letter, block in zip(pieces[::2], pieces[1::2], strict=True):
            lines = re.findall(r"^\| (\w+) \| (.*?) \|$", block, flags=re.MULTILINE)
            verdict = re.search(r"^=> (.*?)\s*$", block, flags=re.MULTILINE)
            examples.append((criterion, letter, lines, verdict[1]))
    return examples


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
        {"frame": "participation/preview.html", "layout": config.layout, "item": item},
    )


def words_of(page: str) -> str:
    return strip_tags(page, between=" ")


# --- to the letter --------------------------------------------------------------


def test_title_is_the_documents(config, document):
    assert document.startswith(f"# {config.instructions_title}\n")


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


def test_worked_examples_are_the_documents_in_its_order_with_its_letters(config, document):
    examples = read_examples(document)

    assert len(examples) == len(config.examples) == 12
    for item, (criterion, letter, lines, verdict) in zip(config.examples, examples, strict=True):
        *dialogue, (_, first), (_, second) = lines
        assert [speaker for speaker, _ in lines[-2:]] == ["sys1", "sys2"]
        assert (item.criterion, item.label) == (criterion, letter)
        assert item.inputs["dialogue"].split("\n") == [": ".join(line) for line in dialogue]
        assert list(item.outputs) == [first, second]
        asked = config.criterion_by_key[criterion]
        described = f"{asked.scale.describe_ratings(read_ratings(asked, item))} {item.why}".strip()
        # a back quote of the document is on the wrong side of a bracket
        assert described.replace("`", "") == verdict.replace("`", "")
    assert [item.label for item in config.examples] == list("abcdefacdeff")


def test_practice_is_four_of_the_documents_examples_with_their_verdicts(config):
    by_name = {(item.criterion, item.label): item for item in config.examples}

    assert [(item.criterion, item.label) for item in config.practice] == [
        ("completion", "b"),
        ("completion", "e"),
        ("readability", "d"),
        ("readability", "f"),
    ]
    for item in config.practice:
        worked = by_name[item.criterion, item.label]
        assert (item.inputs, item.outputs, item.why) == (worked.inputs, worked.outputs, worked.why)
        (preferred,) = read_ratings(config.criterion_by_key[item.criterion], worked)
        right = str(preferred.better) if preferred.better else "tie"
        assert write_gold(config, item) == {item.criterion: right}
    assert "museum" in config.practice[-1].inputs["dialogue"]


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
        "For each of two criteria, choose sys1, tie or sys2.",
        "Judge each criterion separately: a response can win on one and lose on the other.",
        "sys1 and sys2 only name the two sides. Which system is on which side changes from item to "
        "item.",
        "They count against neither response.",
        "The page “Worked examples” has twelve pairs, each with its verdict and the reason.",
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
    assert (config.item.outputs.least, config.item.outputs.most) == (2, 2)


def test_each_question_asks_what_its_line_in_the_document_says(config):
    assert {criterion.label: criterion.question for criterion in config.criteria} == {
        "completion": "Which response correctly answers the user’s query?",
        "readability": "Which response is more fluent, natural and consistent with the dialogue?",
    }
    for criterion in config.criteria:
        summary = criterion.summary.removeprefix("the response ").removeprefix("is ").rstrip(".")
        assert summary.replace("the user query", "the user’s query") in criterion.question


def test_answers_and_responses_are_named_as_in_the_document(config):
    sides = config.criteria[0].scale

    assert config.layout.letters == ["sys1", "sys2"]
    assert tuple(point.label for point in sides.points) == ("sys1", "tie", "sys2")
    assert all(criterion.scale == sides for criterion in config.criteria)


def test_page_says_once_that_the_names_are_those_of_the_sides(config):
    page = words_of(render_item(config, {"dialogue": "user: hi"}, ["a", "b"]))

    assert page.count("sys1 and sys2 only name the two sides.") == 1


def test_the_document_has_no_ignoring_no_highlights_no_note_and_no_bonus(config):
    assert [config.has_ignore, config.has_highlight, config.has_note] == [False] * 3
    assert not config.design.has_bonus


def test_a_participant_meets_a_dialogue_once_in_sets_of_20(config):
    assert (config.design.groups, config.design.set_size) == ("once", 20)
    assert (config.design.k, config.design.max_sets) == (3, None)


# --- practice -------------------------------------------------------------------


def test_practice_judges_one_criterion_and_its_gold_can_be_met(config):
    for item in config.practice:
        ((key, gold),) = write_gold(config, item).items()
        criterion = config.criterion_by_key[key]
        check_gold(criterion, gold, item.outputs)
        answers = [
            feedback(criterion, gold, [Judgement(better, int(better > 0))], None, SHOWN)
            for better in (0, 1, 2)
        ]
        assert sum(result.is_met for (result,) in answers) == 1


def test_no_reason_is_invented_where_the_document_gives_none(config):
    bare = [(item.criterion, item.label) for item in config.examples if not item.why]

    assert bare == [("readability", "e")]


@pytest.mark.django_db
def test_worked_examples_can_be_looked_up_from_practice_and_instructions():
    study = launch(make_study(protocol="pairwise"))
    home = mint_link(make_learner(study))
    client = Client()

    page = client.get(f"{home}examples/").content.decode()

    words = words_of(page)
    assert page.count('<article class="worked">') == 12
    assert "Example 2 (b) user yes , i am also looking for a multiple sports attraction" in words
    assert "tie (the same as c)" in words
    for path in ("practice/1/", "instructions/"):
        assert f'href="{home}examples/" ' in client.get(home + path).content.decode()


@pytest.mark.django_db
def test_worked_examples_stay_closed_while_a_test_asks_them():
    study = launch(make_study(protocol="pairwise", items=0, is_qualification_on=True))
    participant = make_annotator(study, practised_at=None)
    home = mint_link(participant)

    before = Client().get(f"{home}examples/")
    participant.is_qualified = True
    participant.save()
    after = Client().get(f"{home}examples/")

    assert (before.status_code, after.status_code) == (404, 200)


# --- the page -------------------------------------------------------------------


def test_page_shows_the_dialogue_above_the_two_responses(config):
    (item,) = [example for example in config.examples if "\n" in example.inputs["dialogue"]]

    words = words_of(render_item(config, item.inputs, item.outputs))

    lines = [line.replace(": ", " ", 1) for line in item.inputs["dialogue"].split("\n")]
    assert squeeze(" ".join(["Dialogue so far", *lines, "sys1"])) in words
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
    for keys in groups.values():
        pairs = {frozenset(items[key]) for key in keys}
        assert pairs == {frozenset(pair) for pair in combinations(SYSTEMS, 2)}
        assert all(len(items[key]) == 2 for key in keys)
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
    assert all(systems == set(SYSTEMS) for systems in by_place.values())
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
