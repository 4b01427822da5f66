"""Highlights on the server: what is read, refused, merged, stored, changed and exported."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from evalsite.annotation.highlights import (
    MISFIT,
    MOST,
    TOO_MANY,
    MarksField,
    Span,
    merge_spans,
    read_marks,
    write_marks,
    write_passages,
)
from evalsite.annotation.leaving import withdraw
from evalsite.annotation.models import Annotation, Draft, Highlight, Revision
from evalsite.annotation.simulation import simulate_crowd
from evalsite.studies.models import Item
from tests.factories import make_annotator
from tests.marking import ANSWERS, CONFIG, HEBREW, SIGNS, TEXT, make_marking_study, marked_in
from tests.tabs import Tab, open_tab, what_became

FIELD = MarksField("highlights", "passages", 1)
MOST_QUERIES = 14


def read_list(text: str, *entries: object) -> tuple[list[str], str]:
    """The quotes of what a script posted as JSON, and what is said of the rest."""
    return quotes(text, {"highlights": json.dumps(entries)})


def read_lines(text: str, *lines: str, standing: str = "") -> tuple[list[str], str]:
    return quotes(text, {"highlights": standing, "passages": "\r\n".join(lines)})


def quotes(text: str, data: dict[str, str]) -> tuple[list[str], str]:
    reading = read_marks(data, FIELD, text)
    return [text[span.start : span.end] for span in reading.spans], reading.error


# --- what fits ------------------------------------------------------------------------------


def test_none_is_no_fault():
    assert read_list(TEXT) == ([], "")
    assert quotes(TEXT, {}) == ([], "")
    assert read_lines(TEXT, "", "  ") == ([], "")


def test_start_end_and_quote_are_read_when_they_agree():
    assert read_list(TEXT, [0, 4, "Dear"], [31, 41, "kind words"]) == (["Dear", "kind words"], "")


@pytest.mark.parametrize(
    "text", [SIGNS, HEBREW, "e\u0301 é \u1112\u1161\u11ab 한", "\U0001f468\u200d\U0001f33e"]
)
def test_bad_25_offsets_count_code_points_and_nothing_is_normalised(text):
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            assert read_list(text, [start, end, text[start:end]]) == ([text[start:end]], "")


def test_bad_25_26_a_quote_in_another_normal_form_does_not_fit():
    assert read_list("cafe\u0301", [0, 4, "café"]) == ([], MISFIT)
    assert read_list("café", [0, 4, "cafe\u0301"]) == ([], MISFIT)


@pytest.mark.parametrize(
    "entry",
    [
        [-1, 3, "Dea"],
        [-4, -1, TEXT[-4:-1]],
        [-90, 4, "Dear"],
        [0, 1_000, TEXT],
        [84, 90, "t."],
        [4, 0, "Dear"],
        [2, 2, ""],
        [0.0, 4.0, "Dear"],
        [0, 4.5, "Dear"],
        ["0", "4", "Dear"],
        [False, 4, "Dear"],
        [0, True, "D"],
        [0, 4, "dear"],
        [0, 4, "Dear "],
        [0, 4],
        [0, 4, "Dear", 1],
        [0, 4, None],
        [None, None, None],
        {"start": 0, "end": 4, "quote": "Dear"},
        [[0, 4, "Dear"]],
        [10**400, 10**400 + 1, "D"],
        [0, 4, "De\x00r"],
        [0, 4, "\ud800"],
        "Dear",
        0,
        None,
    ],
    ids=repr,
)
def test_bad_48_what_does_not_fit_is_refused_and_the_others_are_kept(entry):
    assert read_list(TEXT, [5, 10, "guest"], entry) == (["guest"], MISFIT)


@pytest.mark.parametrize(
    "posted",
    ["{", "nonsense", "{}", "1", "null", "NaN", "[NaN]", '"Dear"', "\x00", "[" * 100_000,
     '{"a":' * 50_000, "[[0, " + "9" * 5_000 + ', "Dear"]]', "[[0,4,\"De\x00r\"]]", "\ufeff[]"],
    ids=lambda posted: posted[:12],
)  # fmt: skip
def test_bad_48_what_is_no_list_of_highlights_is_refused(posted):
    assert quotes(TEXT, {"highlights": posted}) == ([], MISFIT)


def test_bad_48_more_than_the_most_are_refused():
    text = "a " * 5_000
    entries = [[at, at + 1, "a"] for at in range(0, 10_000, 2)]

    assert read_list(text, *entries[:MOST]) == (["a"] * MOST, "")
    assert read_list(text, *entries[: MOST + 1]) == (["a"] * MOST, TOO_MANY)
    assert read_list(text, *entries, *entries) == (["a"] * MOST, TOO_MANY)
    assert read_lines(text, *["a"] * 10_000) == (["a"] * MOST, TOO_MANY)


@pytest.mark.parametrize(
    ("spans", "merged"),
    [
        ([(0, 4), (2, 6)], [(0, 6)]),
        ([(0, 4), (4, 6)], [(0, 6)]),
        ([(0, 9), (2, 6)], [(0, 9)]),
        ([(5, 6), (0, 4)], [(0, 4), (5, 6)]),
        ([(0, 4), (0, 4)], [(0, 4)]),
        ([(0, 4), (6, 9), (3, 7)], [(0, 9)]),
    ],
)
def test_bad_48_overlapping_or_touching_highlights_become_one(spans, merged):
    found = merge_spans(Span(*span) for span in spans)

    assert [(span.start, span.end) for span in found] == merged


TEXTS = st.text(st.sampled_from("ab \n\r\t🙂\u0301\u200dא"), min_size=1, max_size=40)
PAIRS = st.lists(st.tuples(st.integers(-3, 43), st.integers(-3, 43)), max_size=8)


@given(TEXTS, PAIRS)
def test_marks_are_in_order_apart_and_cover_what_was_marked(text, pairs):
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    posted = [[start, end, shown[max(start, 0) : max(end, 0)]] for start, end in pairs]
    fitting = [pair for pair in pairs if 0 <= pair[0] < pair[1] <= len(shown)]

    reading = read_marks({"highlights": json.dumps(posted)}, FIELD, text)

    assert bool(reading.error) == (len(fitting) < len(pairs))
    for one, other in zip(reading.spans, reading.spans[1:], strict=False):
        assert one.end < other.start
    assert "".join(text[span.start : span.end] for span in reading.spans).replace(
        "\r\n", "\n"
    ).replace("\r", "\n") == "".join(
        sign
        for at, sign in enumerate(shown)
        if any(start <= at < end for start, end in fitting)
    )  # fmt: skip


@given(TEXTS, PAIRS)
def test_what_a_page_is_given_reads_back_as_the_same(text, pairs):
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    posted = [[start, end, shown[start:end]] for start, end in pairs if 0 <= start < end]
    first = read_marks({"highlights": json.dumps(posted)}, FIELD, text).spans

    again = read_marks({"highlights": write_marks(first, text)}, FIELD, text)

    assert (again.spans, again.error) == (first, "")


# --- line breaks, and passages without scripts ------------------------------------------------


def test_places_are_those_of_the_stored_text_whatever_its_line_breaks():
    text = "One\r\ntwo\rthree\nfour"

    found = read_marks({"highlights": json.dumps([[4, 13, "two\nthree"]])}, FIELD, text)

    assert found.spans == (Span(5, 14),)
    assert text[5:14] == "two\rthree"
    assert write_marks(found.spans, text) == '[[4,13,"two\\nthree"]]'
    assert read_list(text, [5, 14, "two\rthree"]) == ([], MISFIT)


def test_each_line_is_found_at_its_first_free_occurrence():
    assert read_lines("yes, yes, yes", "yes", "yes") == (["yes", "yes"], "")
    reading = read_marks({"passages": "yes\nyes"}, FIELD, "yes, yes, yes")
    assert reading.spans == (Span(0, 3), Span(5, 8))
    # once more than it stands there says nothing new
    assert read_lines("yes", "yes", "yes") == (["yes"], "")


def test_white_space_of_a_copied_line_need_not_agree():
    assert read_lines("kind\u00a0words\nabout us", " kind words  about ") == (
        ["kind\u00a0words\nabout"],
        "",
    )


def test_a_line_that_is_not_in_the_text_is_named():
    marked, error = read_lines(TEXT, "kind words", "Kind words", "staff")

    assert marked == ["kind words", "staff"]
    assert (
        error == "“Kind words” doesn't stand in the text. Copy each passage exactly, one per line."
    )
    assert "…" in read_lines(TEXT, "x" * 500)[1]
    assert "\x00" not in read_lines(TEXT, "a\x00b")[1]
    assert "(.*)" in read_lines(TEXT, "(.*)")[1]


def test_a_line_keeps_the_place_that_was_marked_before():
    text = "yes, no, yes"
    standing = write_marks([Span(9, 12)], text)

    kept = read_marks({"highlights": standing, "passages": "yes"}, FIELD, text)
    gone = read_marks({"highlights": standing, "passages": ""}, FIELD, text)

    assert kept.spans == (Span(9, 12),)
    assert gone.spans == ()
    assert write_passages(kept.spans, text) == "yes"


# --- through the page -----------------------------------------------------------------------


@pytest.fixture
def study(db):
    return make_marking_study(TEXT, SIGNS.replace(" and", "\r\nand"), HEBREW)


@pytest.fixture
def tab(study) -> Tab:
    return open_tab(study)


def text_of(tab: Tab) -> str:
    return tab.item.outputs.get().text


def save(tab: Tab, *passages: str, **changes: str):
    """What the server answers to an answer with these passages marked."""
    address = tab.address_of(tab.page.context["place"])
    return tab.client.post(address, fill_in(tab, *passages) | changes)


def fill_in(tab: Tab, *passages: str) -> dict[str, str]:
    """The form with every question answered and these passages marked, as a script posts it."""
    shown = text_of(tab).replace("\r\n", "\n")
    entries = [[shown.index(one), shown.index(one) + len(one), one] for one in passages]
    marks = {"highlights": json.dumps(entries)}
    return {"state": tab.fields["state"], "go": "next", **marks, **ANSWERS}


def words_of(tab: Tab, first: int = 0, last: int = 1) -> str:
    return " ".join(text_of(tab).split()[first : last + 1])


def test_highlights_are_stored_with_the_answer(tab):
    first, second = words_of(tab, 0, 0), words_of(tab, 2, 3)

    assert what_became(save(tab, second, first)) == "saved"

    annotation = Annotation.objects.get()
    assert marked_in(annotation) == [first, second]
    assert {one.study_id for one in Highlight.objects.all()} == {annotation.study_id}


def test_an_answer_without_highlights_is_whole(tab):
    assert what_became(save(tab)) == "saved"
    assert not Highlight.objects.exists()


def test_the_same_highlights_again_change_nothing(tab):
    word = words_of(tab, 0, 0)
    save(tab, word)

    assert what_became(save(tab, word)) == "already"
    assert not Revision.objects.exists()


def test_other_highlights_are_a_change_and_the_earlier_ones_are_kept(tab):
    first, second = words_of(tab, 0, 0), words_of(tab, 2, 2)
    output = tab.item.outputs.get()
    save(tab, first)

    assert what_became(save(tab, second)) == "changed"
    assert what_became(save(tab)) == "changed"

    assert not Highlight.objects.exists()
    states = [one.state["highlights"] for one in Revision.objects.all()]
    start = output.text.index(second)
    assert states == [
        [[output.pk, 0, len(first), first]],
        [[output.pk, start, start + len(second), second]],
    ]


def test_an_answered_page_shows_its_highlights_again(tab):
    passage = words_of(tab)
    save(tab, passage)

    tab.open(1)

    marks = tab.page.context["item"].outputs[0].marks
    assert [one.text for one in marks.segments if one.is_marked] == [passage]
    assert marks.passages == passage
    assert json.loads(tab.fields["highlights"]) == [[0, len(passage), passage]]
    assert f"<mark>{passage}</mark>" in tab.page.content.decode()


def test_bad_48_a_misfit_is_refused_and_all_else_stays(tab):
    word = words_of(tab, 0, 0)
    entries = json.dumps([[0, len(word), word], [0, 10_000, word]])

    response = save(tab, highlights=entries, fluency="4")
    html = response.content.decode()

    assert response.status_code == 422
    assert not Annotation.objects.exists()
    assert html.count(MISFIT.replace("'", "&#x27;")) == 2
    assert f"<mark>{word}</mark>" in html
    assert all(question.value for question in response.context["item"].questions)
    # what is left is right, so that saving again is enough
    tab.show(response)
    again = tab.client.post(tab.address_of(1), {**tab.fields, **ANSWERS, "go": "next"})
    assert what_became(again) == "saved"
    assert marked_in(Annotation.objects.get()) == [word]


@pytest.mark.parametrize("name", ["highlights", "passages"])
def test_bad_45_highlights_sent_twice_with_different_values_are_refused(tab, name):
    twice = {"highlights": ["[]"], name: ["[]", "[[]]"]}
    data = {"state": tab.fields["state"], "go": "next", **ANSWERS, **twice}

    response = tab.client.post(tab.address_of(1), data)

    assert response.status_code == 422
    assert response.content.decode().count("was sent twice") == 2


def test_lines_without_scripts_are_stored_and_a_wrong_one_stays_in_the_box(tab):
    words = words_of(tab, 0, 0)

    refused = save(tab, passages=f"{words}\r\nnowhere")
    box = refused.context["item"].outputs[0].marks.passages
    assert refused.status_code == 422
    assert box.splitlines() == [words, "nowhere"]

    assert what_became(save(tab, passages=words)) == "saved"
    assert marked_in(Annotation.objects.get()) == [words]


def test_a_draft_keeps_the_highlights(tab):
    word = words_of(tab, 0, 0)
    posted = json.dumps([[0, len(word), word]])
    data = {"state": tab.fields["state"], "highlights": posted, **ANSWERS}

    tab.client.post(f"{tab.home}draft/", data)
    tab.open(1)

    assert Draft.objects.get().values["highlights"] == posted
    assert f"<mark>{word}</mark>" in tab.page.content.decode()


def test_highlights_that_were_entered_but_not_sent_are_saved_as_the_set_is_finished(tab):
    for place in (1, 2, 3):
        tab.open(place)
        save(tab)
    tab.open(1)
    tab.client.post(f"{tab.home}draft/", fill_in(tab, words_of(tab, 0, 0)))

    tab.client.post(f"{tab.home}sets/1/review/")

    assert tab.me.item_sets.get().finished_at
    assert [one.quote for one in Highlight.objects.all()] == [words_of(tab, 0, 0)]


def test_finishing_a_set_leaves_highlights_as_they_were(tab):
    for place in (1, 2, 3):
        tab.open(place)
        data = fill_in(tab, words_of(tab, 0, 0))
        tab.client.post(tab.address_of(place), data)
        tab.client.post(f"{tab.home}draft/", data)

    tab.client.post(f"{tab.home}sets/1/review/")

    assert tab.me.item_sets.get().finished_at
    assert Highlight.objects.count() == 3
    assert not Revision.objects.exists()


def test_going_back_keeps_the_highlights(tab):
    save(tab)
    tab.open(2)
    word = words_of(tab, 0, 0)
    save(tab, word, go="back")

    tab.open(2)

    assert f"<mark>{word}</mark>" in tab.page.content.decode()


def test_a_draft_that_does_not_fit_is_no_error(tab):
    data = {"state": tab.fields["state"], "highlights": "[" * 10_000}

    assert tab.client.post(f"{tab.home}draft/", data).status_code == 200
    assert tab.open(1).page.status_code == 200


def test_answers_that_are_deleted_leave_no_passage(tab):
    word = words_of(tab, 0, 0)
    save(tab, word)

    withdraw(participant=tab.me, is_kept=False)

    assert not Highlight.objects.exists()


def test_practice_offers_nothing_to_mark_and_takes_nothing(study):
    me = make_annotator(study, practised_at=None)
    tab = Tab(me)
    page = tab.client.get(f"{tab.home}practice/1/")
    html = page.content.decode()
    assert 'name="highlights"' not in html
    assert "highlight.js" not in html

    state = page.context["state"]
    data = {"state": state, "go": "next", **ANSWERS, "highlights": '[[0,1,"x"]]'}
    tab.client.post(f"{tab.home}practice/1/", data)

    assert Annotation.objects.filter(item__kind=Item.Kind.PRACTICE).exists()
    assert not Highlight.objects.exists()


def test_saving_with_highlights_stays_within_the_queries_of_a_save(tab):
    word = words_of(tab, 0, 0)
    save(tab, word)
    tab.open(2)
    data = fill_in(tab, words_of(tab, 0, 0))

    with CaptureQueriesContext(connection) as queries:
        response = tab.client.post(tab.address_of(2), data, follow=True)

    asked = [
        query["sql"]
        for query in queries
        if not query["sql"].startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))
    ]
    assert response.status_code == 200
    assert Highlight.objects.count() == 2
    assert len(asked) <= MOST_QUERIES, "\n".join(asked)


def test_the_box_for_passages_has_its_words_and_its_hint(tab):
    html = tab.page.content.decode()

    assert "Copy passages here, one per line" in html
    assert CONFIG.highlight_hint in html
    assert "into the text, to mark passages of it" in html


def test_simulated_visitors_mark_passages_through_the_page(study):
    study.is_demo = True
    study.save()

    for _ in simulate_crowd(study, participants=3, seed="marks"):
        pass

    assert any(marked_in(annotation) for annotation in Annotation.objects.all())
