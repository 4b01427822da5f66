"""Marked passages: what is read of an entry, stored as rows, and read back."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.checks import InvalidInstrument, read_instrument
from evalsite.instruments.scales import spans
from evalsite.instruments.scales.spans import Spans
from evalsite.instruments.schema import Condition
from evalsite.lib.passages import is_split, make_even
from tests.support.instruments import GALLERY

SOURCE = "The lift is out of order until Friday."
TEXT = "Der Aufzug ist ist bis Freitag außer Betrieb."
ABOUT = AnswerRow(1, 7, "errors")
QUESTION = SimpleNamespace(label="Errors", question="Mark the errors.", required=True)


def read_gallery(key: str) -> Spans:
    data = json.loads((GALLERY / f"{key}.json").read_bytes())
    criteria = read_instrument(data).criteria
    return next(each.scale for each in criteria if isinstance(each.scale, Spans))


def bind(scale: Spans, text: str = TEXT, source: str = SOURCE) -> Spans:
    return scale.for_item({"source": source}).for_output(text)


MQM, ESA = bind(read_gallery("mqm")), bind(read_gallery("esa"))
PLAIN = bind(Spans(kind="spans"))


def clean(scale: Spans, *entries: Any) -> Any:
    field = scale.make_field(QUESTION, "Translation")
    return field.clean(json.dumps(entries))


def refuse(scale: Spans, *entries: Any) -> str:
    with pytest.raises(ValidationError) as refused:
        clean(scale, *entries)
    return str(refused.value.code)


def mark(quote: str, **parts: Any) -> dict[str, Any]:
    start = (SOURCE if parts.get("in") == "source" else TEXT).index(quote)
    return {"start": start, "end": start + len(quote), "quote": quote, **parts}


MINOR = {"severity": "minor"}


def test_each_mark_is_a_row_and_the_score_adds_their_weights():
    answer = clean(
        MQM,
        mark("until Friday", **{"in": "source"}, category="omission", severity="major", note="all"),
        mark("Freitag", category="spelling", severity="minor"),
        mark("Betrieb.", category="punctuation", severity="minor"),
    )

    rows = MQM.make_rows(answer, ABOUT, [7])

    assert [row[3:] for row in rows] == [
        (0, "spelling", None, "Freitag", {"severity": "minor"}, 23, 30),
        (0, "punctuation", None, "Betrieb.", {"severity": "minor"}, 37, 45),
        (0, "omission@source", None, "until Friday", {"severity": "major", "note": "all"}, 25, 37),
        (0, "", 6.1, "", None, None, None),
    ]
    assert sum(MQM.weigh_row(row) for row in rows[:3]) == pytest.approx(6.1)
    assert MQM.read_rows(rows, [7]) == answer


def test_nothing_wrong_is_a_row_with_a_score_of_0():
    rows = ESA.make_rows(clean(ESA, "none"), ABOUT, [7])

    assert [(row.part, row.value, row.start) for row in rows] == [("none", 1, None), ("", 0, None)]
    assert ESA.write_entry(ESA.read_rows(rows, [7]), [0]) == '["none"]'


def test_a_whole_category_covers_the_text_and_stands_alone():
    whole = mark("Freitag", category="non_translation")

    (row, score) = MQM.make_rows(clean(MQM, whole), ABOUT, [7])

    assert (row.start, row.end, row.text, row.detail) == (0, 45, TEXT, {"severity": "major"})
    assert score.value == 25
    beside = mark("Aufzug", category="spelling", **MINOR)
    assert refuse(MQM, whole, beside) == "whole_beside_marks"


def test_something_missing_is_stored_after_the_words_before_it_or_at_the_end():
    answer = clean(ESA, {"missing": True, "quote": "Aufzug", **MINOR}, {"missing": True, **MINOR})

    rows = ESA.make_rows(answer, ABOUT, [7])

    assert [(row.part, row.start, row.end, row.text) for row in rows[:2]] == [
        ("omission", 10, 10, ""), ("omission", 45, 45, ""),
    ]  # fmt: skip
    assert ESA.read_rows(rows, [7]) == answer
    assert clean(ESA, *json.loads(ESA.write_entry(answer, [0]))) == answer


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"start": 4, "end": 4, "quote": "", **MINOR}, "empty"),
        ({"start": 10, "end": 4, "quote": "", **MINOR}, "reversed"),
        ({"start": 4, "end": 99, "quote": "Aufzug", **MINOR}, "outside"),
        ({"start": -1, "end": 3, "quote": "Der", **MINOR}, "outside"),
        ({"start": 5, "end": 10, "quote": "Aufzug", **MINOR}, "misfit"),
        ({"start": True, "end": 3, "quote": "er", **MINOR}, "no_place"),
        ({"start": "4", "end": 10, "quote": "Aufzug", **MINOR}, "no_place"),
        ({"quote": "Fahrstuhl", **MINOR}, "not_in_text"),
        ({"quote": "ist", **MINOR}, "which"),
        ({"quote": "ist", "nth": "3", **MINOR}, "which"),
        ({"quote": "Aufzug", "nth": "2", **MINOR}, "which"),
        ({"quote": "", **MINOR}, "empty"),
        (mark("Aufzug"), "no_severity"),
        (mark("Aufzug", severity="worst"), "no_severity"),
        ({**mark("Aufzug", **MINOR), "in": "elsewhere"}, "unknown_text"),
        ({**mark("Aufzug", **MINOR), "in": "source"}, "unknown_text"),
    ],
)
def test_a_mark_that_is_no_passage_of_its_text_is_refused(entry, code):
    assert refuse(ESA, entry) == code


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (mark("Aufzug", **MINOR), "no_category"),
        (mark("Aufzug", category="taste", **MINOR), "no_category"),
        (mark("Aufzug", category="non_translation", **MINOR), "wrong_severity"),
        (mark("Aufzug", category="omission", **MINOR), "wrong_text"),
        (mark("Aufzug", category="spelling", note="x" * 1001, **MINOR), "long_note"),
        ({"missing": True, "category": "omission", **MINOR}, "empty"),
    ],
)
def test_a_mark_of_a_kind_that_the_question_lacks_is_refused(entry, code):
    assert refuse(MQM, entry) == code


def test_marks_that_contradict_each_other_are_refused():
    aufzug = mark("Aufzug", category="spelling", **MINOR)
    again = {**aufzug, "severity": "major"}

    assert refuse(MQM, aufzug, again) == "twice"
    assert refuse(MQM, aufzug, "none") == "none_beside_marks"
    assert refuse(MQM) == "required"
    assert refuse(MQM, *[mark(word, category="other", **MINOR) for word in TEXT.split()]) == (
        "too_many"
    )


def test_marks_may_overlap_and_be_alike_in_two_categories():
    entries = [
        mark("Aufzug", category="spelling", **MINOR), mark("Aufzug", category="grammar", **MINOR),
        mark("Der Aufzug ist", category="grammar", **MINOR),
    ]  # fmt: skip

    assert len(clean(MQM, *entries).marks) == 3


@pytest.mark.parametrize("entry", ["{", "7", '"none"', "[[1]]", "[]]]", "[" * 999])
def test_an_entry_that_no_page_posts_is_refused(entry):
    with pytest.raises(ValidationError) as refused:
        ESA.make_field(QUESTION, "Translation").clean(entry)

    assert refused.value.code == "invalid"


def test_half_a_character_is_neither_stored_nor_repeated():
    with pytest.raises(ValidationError) as refused:
        clean(ESA, {"quote": "\ud83d\x00", "severity": "minor\ud83d"})

    refused.value.message.encode()
    assert refuse(bind(ESA, "e\u0301a"), {"start": 0, "end": 1, "quote": "e", **MINOR}) == "split"


def test_without_scripts_rows_add_marks_and_ticks_remove_them():
    kept = ESA.write_entry(clean(ESA, mark("Der", **MINOR), mark("Aufzug", **MINOR)), [0])
    posted = {
        "errors": kept, "errors.remove-1": "yes", "errors.quote-1": "ist", "errors.nth-1": "2",
        "errors.severity-1": "major", "errors.quote-2": "", "errors.in-2": "output",
    }  # fmt: skip

    answer = ESA.make_field(QUESTION, "Translation").clean(ESA.read_entry(posted, "errors"))

    assert [(each.quote, each.start, each.severity) for each in answer.marks] == [
        ("Aufzug", 4, "minor"), ("ist", 15, "major"),
    ]  # fmt: skip
    assert ESA.read_entry({"errors": kept, "errors.none": "yes"}, "errors").endswith(',"none"]')
    assert ESA.read_entry({"errors": "", "errors.quote-1": ""}, "errors") == ""


def test_a_row_needs_no_text_where_its_category_is_marked_in_only_one():
    row = {"quote": "lift", "in": "output", "category": "omission", **MINOR}

    (marked,) = clean(MQM, row).marks

    assert (marked.column, marked.start) == ("source", 4)


def test_a_row_that_does_not_fit_is_shown_again():
    view = ESA.view_entry(json.dumps([{"quote": "Fahrstuhl", "severity": "major"}, "none"]))

    assert view.rows[0] == {"quote": "Fahrstuhl", "severity": "major"}
    assert (view.marks, view.kept, view.is_none) == ([], "", True)


def test_a_page_prepares_its_text_once_however_many_passages_are_posted(monkeypatch):
    prepared: list[str] = []
    monkeypatch.setattr(spans, "make_even", lambda text: prepared.append(text) or make_even(text))
    scale = bind(ESA, "The lift is out of order. " * 20)
    posted = [{"quote": "lift", "nth": str(number % 20 + 1)} for number in range(5_000)]

    view = scale.view_entry(json.dumps(posted + [{"quote": "Fahrstuhl"}] * 5_000))
    unfit = scale.view_entry(json.dumps([{"quote": "Fahrstuhl"}] * 5_000))

    assert len(prepared) == 1
    assert len(view.marks) + len(view.rows) < 3_100
    assert len(unfit.rows) == 50


WORDS = "a😀é\u0301 אב\r\n👩‍👧\n\t語"


@given(text=st.text(WORDS, min_size=1, max_size=40), data=st.data())
def test_places_count_code_points_of_the_stored_text(text, data):
    scale = bind(ESA, text)
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    start = data.draw(st.integers(0, len(shown) - 1))
    end = data.draw(st.integers(start + 1, len(shown)))
    entry = {"start": start, "end": end, "quote": shown[start:end], **MINOR}
    if is_split(shown, start) or is_split(shown, end):
        assert refuse(scale, entry) == "split"
        return
    answer = clean(scale, entry)

    (row, _score) = scale.make_rows(answer, ABOUT, [7])
    assert text[row.start : row.end] == row.text
    assert row.text.replace("\r\n", "\n").replace("\r", "\n") == shown[start:end]
    assert clean(scale, *json.loads(scale.write_entry(answer, [0]))) == answer


def test_a_column_marks_passages_beforehand():
    cell = '[{"quote": "Aufzug", "severity": "minor"}]'
    scale = read_gallery("esa").for_item({"source": SOURCE, "suggested_spans": cell})

    (marked,) = scale.for_output(TEXT).view_entry(scale.start_entry).marks

    assert (marked.mark.start, marked.mark.end, marked.severity) == (4, 10, "Minor")
    assert (
        read_gallery("esa").for_item({"source": SOURCE, "suggested_spans": "?"}).start_entry == ""
    )


@pytest.mark.parametrize(
    ("gold", "marks", "met"),
    [
        ('[{"quote": "Aufzug"}]', [mark("Der Aufzug", **MINOR)], [True]),
        ('[{"quote": "Aufzug", "severity": "major"}]', [mark("Aufzug", **MINOR)], [True]),
        ('[{"quote": "Aufzug"}, {"quote": "Freitag"}]', [mark("Aufzug", **MINOR)], [True, False]),
        ("[]", [mark("Aufzug", **MINOR)], [False]),
        ("[]", ["none"], [True]),
        ("[null]", ["none"], []),
        ('[{"quote": "ist", "nth": 2}]', [{"quote": "ist", "nth": 1, **MINOR}], [False]),
    ],
)
def test_gold_is_met_where_each_quote_is_touched(gold, marks, met):
    right = ESA.parse_gold(gold, ["system"])

    judged = ESA.judge(right, [clean(ESA, *marks)], None, ["Translation"])

    assert [is_met for is_met, _words in judged] == met
    assert ESA.count_asked(gold, 1, None) == len(met)


@pytest.mark.parametrize("gold", ["Aufzug", "{}", '[{"quote": 1}]', "[[], []]", '[{"a": "b"}]'])
def test_gold_that_is_no_list_of_passages_is_refused(gold):
    with pytest.raises(ValidationError):
        ESA.parse_gold(gold, ["system"])


def test_right_values_meet_their_gold():
    gold = '[{"quote": "Aufzug", "category": "spelling"}]'
    right = MQM.parse_gold(gold, ["system"])
    (value,) = MQM.right_values(right, 1, None)

    answer = clean(MQM, *json.loads(MQM.write_entry(value, [0])))

    assert all(is_met for is_met, _words in MQM.judge(right, [answer], None, ["Translation"]))


def test_a_researchers_marks_become_gold_that_they_meet():
    marks = [
        {"quote": "ist", "nth": 2, **MINOR},
        mark("Aufzug", **MINOR),
        {"missing": True, **MINOR},
    ]
    answer = clean(ESA, *marks)

    gold = ESA.write_gold([answer])

    assert json.loads(gold) == [[
        {"quote": "Aufzug", "severity": "minor"},
        {"quote": "ist", "nth": 2, "severity": "minor"},
    ]]  # fmt: skip
    right = ESA.parse_gold(gold, ["system"])
    assert all(is_met for is_met, _words in ESA.judge(right, [answer], None, ["Translation"]))


def test_a_weight_is_of_category_and_severity_then_of_the_category_then_of_the_severity():
    weights = [MQM.weigh("punctuation", "minor"), MQM.weigh("punctuation", "major"),
               MQM.weigh("source_error", "major"), MQM.weigh("", "neutral")]  # fmt: skip

    assert weights == [0.1, 5, 0, 0]


def list_faults(change: Any, key: str = "mqm") -> set[tuple[str, str]]:
    data = json.loads((GALLERY / f"{key}.json").read_bytes())
    change(data)
    try:
        read_instrument(data)
    except InvalidInstrument as refused:
        return {(fault.code, fault.place) for fault in refused.faults}
    return set()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda data: data["item"]["outputs"].update(kind="table"),
         ("not_supported", "criteria.errors.scale")),
        (lambda data: data["item"]["inputs"][0].update(kind="table"),
         ("wrong_column", "criteria.errors.scale.mark_in")),
        (lambda data: data["item"]["inputs"][0].update(shown=False),
         ("wrong_column", "criteria.errors.scale.mark_in")),
        (lambda data: data["layout"].update(screen="sheet"), ("not_supported", "layout.screen")),
        (lambda data: data.update(x_highlight="Mark what you like."),
         ("not_supported", "x_highlight")),
        (lambda data: data["criteria"][0]["scale"]["severities"][0].update(weight=10**9),
         ("out_of_range", "criteria.errors.scale.weights")),
        (lambda data: data["criteria"][0]["scale"].update(most=3_001),
         ("out_of_range", "criteria.errors.scale.most")),
    ],
)  # fmt: skip
def test_passages_are_marked_only_where_a_page_can_show_them(change, fault):
    assert fault in list_faults(change)


def test_a_page_marks_code_and_markdown():
    assert list_faults(lambda data: data["item"]["outputs"].update(kind="markdown")) == set()
    assert list_faults(lambda data: data["item"]["outputs"].update(kind="code")) == set()


def test_a_condition_names_what_is_marked_in_words():
    words = Condition.model_validate({"criterion": "errors", "has": {"severity": "major"}})
    question = SimpleNamespace(label="Errors", scale=MQM)

    assert words.describe({"errors": question}) == "you marked “Major” in “Errors”"
    any_mark = Condition.model_validate({"criterion": "errors", "has": {}})
    assert any_mark.describe({"errors": question}) == "you marked something in “Errors”"
