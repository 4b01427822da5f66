"""Dialogues in the forms people have them: read whole, and never run."""

import csv
import html
import json
import re

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from evalsite.instruments.installed import get_protocol
from evalsite.instruments.schema import InputColumn, ItemParts, Layout, Outputs
from evalsite.lib.dialogue import Turn, parse_dialogue, plain_output, strip_markup
from evalsite.participation.view_models import InputView, view_item
from tests.support.published import published_file

HTML = (
    '<p><b><font color="#d95f02">Person 1: Is it open?</font></b></p> '
    '<p><b><font color="#1b9e77">Person 2: Till six &amp; on Sundays &#128512;.</font></b></p>'
)


def texts(text: str) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in parse_dialogue(text)]


def render(text: str) -> str:
    shown = {"label": "Said", "turns": parse_dialogue(text)}
    return render_to_string("participation/_input.html", {"input": shown})


# --- lines ----------------------------------------------------------------------


def test_lines_with_speakers_are_turns():
    turns = parse_dialogue("A: Is it open?\nB: Till six.\nA: Good.")

    assert turns == (
        Turn("A", "Is it open?", "a"),
        Turn("B", "Till six.", "b"),
        Turn("A", "Good.", "a"),
    )


def test_line_without_a_speaker_goes_on_with_the_turn_before():
    assert texts("A: Two things.\nFirst, milk.\n\nThen bread.\r\nB: Yes.") == [
        ("A", "Two things.\nFirst, milk.\n\nThen bread."),
        ("B", "Yes."),
    ]


def test_words_before_the_first_speaker_are_a_turn_without_one():
    assert texts("At the counter.\nA: One ticket.") == [
        ("", "At the counter."),
        ("A", "One ticket."),
    ]


def test_first_speaker_is_on_side_a_and_all_others_are_on_side_b():
    turns = parse_dialogue("Scene one\nuser: hi\nsystem: hello\nUSER: bye\nguest: hm")

    assert [turn.side for turn in turns] == ["a", "a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("line", "speaker"),
    [
        ("user : i need a taxi .", "user"),
        ("Person 1: hi", "Person 1"),
        ("Dr. Smith: hi", "Dr. Smith"),
        ("Mary-Jane O'Neil: hi", "Mary-Jane O'Neil"),
        ("A (whispering): yes", "A (whispering)"),
        ("C-3PO: hello", "C-3PO"),
        ("B:hello", "B"),
        ("1: hi", "1"),
        ("أحمد: مرحبا", "أحمد"),
        ("王:你好", "王"),
        ("🤖: beep", "🤖"),
    ],
)
def test_name_at_the_start_of_a_line_is_the_speaker(line, speaker):
    (turn,) = parse_dialogue(line)

    assert turn.speaker == speaker


@pytest.mark.parametrize(
    "line",
    [
        "One thing I forgot: milk.",
        "hi :)",
        "thanks :D",
        "at 12:30 we go",
        "see https://example.org",
        "[restaurant_name]: a place",
        "Well, listen: no",
        "no colon at all",
        ": nobody",
        "“Stop”: he said",
    ],
)
def test_other_colons_name_nobody(line):
    assert parse_dialogue(line) == (Turn("", line),)


@pytest.mark.parametrize("word", ["Note", "PS", "Address", "Edit", "Price"])
def test_word_that_is_nobodys_name_starts_no_turn(word):
    assert texts(f"A: Two things.\n{word}: one of them is new.\nB: Good.") == [
        ("A", f"Two things.\n{word}: one of them is new."),
        ("B", "Good."),
    ]


def test_colon_within_a_line_starts_no_turn():
    assert texts("A: Yes. Note: we close at ten.\nB: Fine: see you") == [
        ("A", "Yes. Note: we close at ten."),
        ("B", "Fine: see you"),
    ]


def test_slots_and_spacing_stay_as_typed():
    line = "system: [value_count] restaurant -s in the [restaurant_area] .  { {{ %s ${x}"

    assert texts(line) == [("system", line.removeprefix("system: "))]


# --- JSON -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "turns",
    [
        [{"speaker": "Ann", "text": "Hi"}, {"speaker": "Bo", "text": "Hey"}],
        [{"role": "Ann", "content": "Hi"}, {"role": "Bo", "content": "Hey"}],
        [{"Name": "Ann", "Utterance": "Hi"}, {"Name": "Bo", "Utterance": "Hey"}],
        [{"from": "Ann", "value": "Hi"}, {"from": "Bo", "value": "Hey"}],
        [{"Ann": "Hi"}, {"Bo": "Hey"}],
        ["Ann: Hi", "Bo: Hey"],
    ],
)
def test_json_list_is_read_under_usual_names(turns):
    assert texts(json.dumps(turns)) == [("Ann", "Hi"), ("Bo", "Hey")]


def test_list_without_speakers_is_spoken_by_a_and_b_in_turn():
    turns = parse_dialogue('["Hello 👋", "Listen: he is gone", "No!"]')

    assert turns == (
        Turn("A", "Hello 👋", "a"),
        Turn("B", "Listen: he is gone", "b"),
        Turn("A", "No!", "a"),
    )


def test_numbers_may_name_speakers():
    assert texts('[{"speaker": 1, "text": "Hi"}, {"speaker": 2, "text": "Hey"}]') == [
        ("1", "Hi"),
        ("2", "Hey"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "[]", "[1, 2]", '["a", null]', '[{"speaker": "A"}]', "[restaurant] is full"),
        *('{"speaker": "A"}', "[" * 100_000, "[" * 100_000 + "]" * 100_000, "Just a sentence."),
    ],
)
def test_what_is_no_dialogue_is_one_turn_without_a_speaker(text):
    assert parse_dialogue(text) == (Turn("", text),)


def test_half_a_character_in_json_is_shown_as_a_sign():
    (turn,) = parse_dialogue('["\\ud83d"]')

    assert turn.text == "\ufffd"
    turn.text.encode()


# --- HTML -----------------------------------------------------------------------


def test_paragraphs_of_html_are_turns_with_entities_decoded():
    assert parse_dialogue(HTML) == (
        Turn("Person 1", "Is it open?", "a"),
        Turn("Person 2", "Till six & on Sundays 😀.", "b"),
    )


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<a href='javascript:alert(1)'>x</a>",
        "<svg/onload=alert(1)>",
        "<style>*{}</style>",
        "<!-- c -->",
        "<textarea>",
        "{{ 7*7 }}",
        "<script>never closed",
        "<iframe srcdoc='<b>x'>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
    ],
)
def test_markup_that_is_not_a_dialogues_own_is_shown_as_text(hostile):
    page = render(f"<p>A: one {hostile} two</p><p>B: three</p>")

    assert set(re.findall(r"</?([a-z]+)", page)) == {"ol", "li", "b", "span"}
    words = html.unescape(page)
    assert html.unescape(hostile) in words
    assert "three" in words
    assert [turn.side for turn in parse_dialogue(f"<p>A: {hostile}</p><p>B: x</p>")] == ["a", "b"]


def test_attributes_of_a_dialogues_own_marks_are_dropped():
    page = render('<p onclick="alert(1)" style="color:red">A: hi <b onmouseover=x>you</b></p>')

    assert "alert" not in page
    assert "onmouseover" not in page
    assert "hi you" in page


@pytest.mark.parametrize("text", ["<b>hi</b>", "A: <p>hi</p>", "<p>hi", "hi</p>", "<script></p>"])
def test_text_that_is_not_wrapped_in_paragraphs_keeps_its_markup(text):
    assert strip_markup(text) == text


@pytest.mark.parametrize("piece", ["<", "<!--", "<a ", "<a b='", "<![x", "<![CDATA[", "</", "&#"])
def test_broken_markup_is_shown_and_never_fails(piece):
    for count in (1, 7, 4_000):
        text = f"<p>{piece * count}</p>"
        assert parse_dialogue(text)
        assert plain_output(text).text


def test_very_long_html_is_shown_as_it_stands():
    text = f"<p>{'long ' * 5_000}</p>"

    assert parse_dialogue(text) == (Turn("", text),)


@given(st.text(alphabet=st.sampled_from("AB:\n <>/p!-[]\"'{}&;#0ע\u202e😀"), max_size=60))
def test_any_text_is_read_without_failing(text):
    for tried in (text, f"<p>{text}</p>", f"[{text}]", f'["{text}"]'):
        assert parse_dialogue(tried)
        assert plain_output(tried, ["A"]) is not None


# --- languages ------------------------------------------------------------------


def test_right_to_left_text_and_emoji_stay_intact():
    family = "👩‍👩‍👧‍👦"
    text = f"\u200fאבי: שלום {family}\n\u200fנועה: \u202bמה שלומך?\u202c e\u0301"

    assert texts(text) == [
        ("\u200fאבי", f"שלום {family}"),
        ("\u200fנועה", "\u202bמה שלומך?\u202c e\u0301"),
    ]


def test_page_names_each_speaker_in_words_and_lets_each_text_find_its_direction():
    page = render("A: Is it open?\nB: <i>Yes</i>")

    assert '<li class="a"><b dir="auto">A</b> <span class="text" lang="en" dir="auto">' in page
    assert '<li class="b"><b dir="auto">B</b>' in page
    assert "&lt;i&gt;Yes&lt;/i&gt;" in page


# --- outputs that are a next line -----------------------------------------------


def test_next_line_is_shown_without_markup_and_with_its_speaker():
    line = '<p><b><font color="#1b9e77">Person 2: It&#39;s great.</font></b></p>'

    assert plain_output(line, ["Person 1", "Person 2"]) == Turn("Person 2", "It's great.")


@pytest.mark.parametrize("text", ["Listen: he is gone.", "A: yes", "plain", "x\n\n y ", "<b>x</b>"])
def test_word_before_a_colon_stays_text_unless_somebody_has_that_name(text):
    assert plain_output(text, ["Person 1", ""]) == Turn("", text)


class Stub:
    """As much of a protocol as a page of an item needs."""

    criteria = ()
    aids = ()
    has_ignore = False
    page_note = ""
    layout = Layout(outputs="one", questions="beside")
    columns = (
        InputColumn(name="said", label="Said", kind="dialogue"),
        InputColumn(name="note", label="Note", kind="text"),
    )

    def __init__(self, output_kind: str) -> None:
        outputs = Outputs(kind=output_kind, least=1, most=1)
        self.item = ItemParts(inputs=list(self.columns), outputs=outputs)

    def bind(self, inputs, outputs):
        return self.criteria

    def item_context(self, options, inputs):
        return {}


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("dialogue", ("Person 2", "No.")), ("text", ("", "<p><b>Person 2: No.</b></p>"))],
)
def test_kind_of_output_decides_whether_markup_is_dropped(kind, shown):
    view = view_item(
        Stub(kind),
        inputs={"said": HTML, "note": "A: not a dialogue"},
        texts=["<p><b>Person 2: No.</b></p>"],
        options={},
    )

    (output,) = view.outputs
    assert (output.speaker, output.text) == shown
    assert [len(one.turns) for one in view.inputs] == [2, 0]
    assert view.inputs[0].value == HTML


def test_outputs_are_text_unless_a_protocol_says_otherwise():
    assert get_protocol("magnitude").item.outputs.kind == "text"
    assert InputView("mr", "MR", "text", "A: x", ()).turns == ()


# --- real files -----------------------------------------------------------------


def test_every_cell_of_the_real_example_is_read_whole():
    file = published_file("dialogues_in_html.csv")
    with file.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))

    for row in rows:
        turns = parse_dialogue(row["prompt"])
        last = plain_output(row["machine_completion"], [turn.speaker for turn in turns])
        assert [turn.side for turn in turns] == ["a", "b", "a", "b", "a"]
        assert {turn.speaker for turn in turns} == {"Person 1", "Person 2"}
        assert last.speaker == "Person 2"
        shown = " ".join(f"{turn.speaker}: {turn.text}" for turn in (*turns, last))
        assert shown == " ".join(
            html.unescape(
                re.sub(r"<[^>]*>", "", f"{row['prompt']} {row['machine_completion']}")
            ).split()
        )


def test_no_turn_of_the_real_comparisons_is_lost_or_added():
    file = published_file("marco_pairwise/batch_long.csv")
    with file.open(encoding="utf-8", newline="") as source:
        dialogues = {row["item"]: row["dialogue"] for row in csv.DictReader(source)}

    read = {item: parse_dialogue(text) for item, text in dialogues.items()}

    assert len(read) == 1_484
    for item, turns in read.items():
        assert "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns) == dialogues[item]
        assert [turn.speaker for turn in turns] == ["user", "system"] * (len(turns) // 2) + ["user"]
        assert [turn.side for turn in turns] == ["a", "b"] * (len(turns) // 2) + ["a"]
    assert sum(map(len, read.values())) == 12_292  # lines of the file's cells


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("Translate to French: good evening", ""),
        ("Write a poem:\nThe sea.", ""),
        ("Person 1: Hello?", "Person 1"),
        ("user: is it open ?", "user"),
        ("Travel agent: Hello.\nGuest: Hi.", "Travel agent"),
    ],
)
def test_request_with_a_colon_alone_names_no_speaker(text: str, speaker: str) -> None:
    first = parse_dialogue(text)[0]

    assert first.speaker == speaker
    assert speaker or first.text == text
