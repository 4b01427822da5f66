"""Lists of a scale in the builder: lines of a box, and rows that buttons change."""

import pytest

from tests.builder.test_builder import begin, list_faults, post

pytestmark = pytest.mark.django_db
POINTS = "criteria-0-scale-points"
OPTIONS = "criteria-0-scale-options"


def read_scale(instrument):
    instrument.refresh_from_db()
    return instrument.draft["criteria"][0]["scale"]


def test_points_are_lines_whose_notes_stay_with_their_words(staff):
    instrument = begin(staff)
    post(staff, instrument, **{"do": "draft", f"{POINTS}-1-notes": "one\n\ntwo"})
    noted = read_scale(instrument)["points"]

    post(staff, instrument, **{
        "do": "draft", f"{POINTS}-box": "Awful\nVery bad\nBad\nFair\nGood\nVery good",
    })  # fmt: skip
    longer = read_scale(instrument)["points"]
    post(staff, instrument, **{"do": "draft", f"{POINTS}-box": "0 Awful\n2 Not good\n4\n6 Good"})
    points = read_scale(instrument)["points"]
    post(staff, instrument, **{"do": "draft", "layout-outputs": "pair"})
    post(staff, instrument, **{"do": "draft", "criteria-0-kind": "preference"})
    post(staff, instrument, **{"do": "draft", f"{POINTS}-box": "A\na\nsame\nb\nB"})

    assert noted[1] == {"value": 2, "label": "Bad", "notes": ["one", "two"]}
    assert [point["value"] for point in longer] == [1, 2, 3, 4, 5, 6]
    assert longer[2] == {"value": 3, "label": "Bad", "notes": ["one", "two"]}
    assert [(point["value"], point["label"]) for point in points] == [
        (0, "Awful"), (2, "Not good"), (4, ""), (6, "Good"),
    ]  # fmt: skip
    values = [point["value"] for point in read_scale(instrument)["points"]]
    assert values == [-2, -1, 0, 1, 2]


@pytest.mark.torture
def test_graded_preference_with_reasons_is_built_by_hand(staff):
    instrument = begin(staff)
    reasons = "criteria-0-scale-tags"
    post(staff, instrument, **{"do": "draft", "layout-outputs": "pair"})
    post(staff, instrument, **{"do": "draft", "criteria-0-kind": "preference"})
    post(staff, instrument, **{
        "do": "draft", f"{POINTS}-box": "-2 Much\n-1 A bit\n1 A bit\n2 Much",
        f"{reasons}-options-box": "Correct\nToo long", "criteria-0-scale-both_bad": "Both are bad",
        f"{reasons}-most": "2",
    })  # fmt: skip

    faulty = post(staff, instrument, **{"do": "save", f"{reasons}-label": ""})
    page = post(staff, instrument, **{
        "do": "save", f"{reasons}-label": "Why?", f"{reasons}-options-1-side": "bad",
    })  # fmt: skip

    assert list_faults(faulty) == [
        ("id_criteria-0-scale-tags-label",
         "Question 1 (Quality), reasons to tick, words above the reasons", "must not be empty"),
    ]  # fmt: skip
    instrument.refresh_from_db()
    assert instrument.newest is not None, page.context["faults"]
    content = instrument.newest.content
    scale = content["criteria"][0]["scale"]
    assert [point["value"] for point in scale["points"]] == [-2, -1, 1, 2]
    assert scale["both_bad"] == "Both are bad"
    assert content["criteria"][0]["question"] == "Which one is better?"
    assert content["instructions"].startswith("Read both texts")
    assert scale["tags"] == {
        "label": "Why?", "about": "each output", "most": 2, "options": [
            {"key": "correct", "label": "Correct"},
            {"key": "too_long", "label": "Too long", "side": "bad"},
        ],
    }  # fmt: skip
    assert "Too long" in str(page.context["preview"])
    post(staff, instrument, **{"do": "draft", f"{reasons}-options-box": ""})
    assert "tags" not in read_scale(instrument)


def test_options_may_be_for_themselves_or_have_a_box_for_words(staff):
    instrument = begin(staff)
    post(staff, instrument, **{"do": "draft", "criteria-0-kind": "choices"})
    post(staff, instrument, **{"do": "draft", f"{OPTIONS}-box": "Too long\nNone\nAnother"})

    page = post(staff, instrument, **{
        "do": "save", f"{OPTIONS}-1-exclusive": "on", f"{OPTIONS}-2-other": "on",
        f"{OPTIONS}-2-key": "other_reason",
    })  # fmt: skip

    instrument.refresh_from_db()
    assert instrument.newest is not None, page.context["faults"]
    assert instrument.newest.content["criteria"][0]["scale"]["options"] == [
        {"key": "too_long", "label": "Too long"},
        {"key": "none", "label": "None", "exclusive": True},
        {"key": "other_reason", "label": "Another", "other": True},
    ]


def test_key_of_an_option_follows_its_words_until_a_version_has_it(staff):
    instrument = begin(staff)
    post(staff, instrument, **{"do": "draft", "criteria-0-kind": "choice"})
    post(staff, instrument, **{"do": "save", f"{OPTIONS}-box": "Too long\nFine"})

    post(staff, instrument, **{"do": "draft", f"{OPTIONS}-box": "Far too long\nFine\nToo short"})

    assert [option["key"] for option in read_scale(instrument)["options"]] == [
        "too_long", "fine", "too_short",
    ]  # fmt: skip


def test_marks_of_a_slider_are_added_moved_and_removed_by_buttons(staff):
    instrument = begin(staff)
    marks = "criteria-0-scale-marks"
    post(staff, instrument, **{"do": "draft", "criteria-0-kind": "slider"})
    for _ in range(2):
        post(staff, instrument, do=f"add:{marks}")

    moved = post(staff, instrument, **{"do": f"up:{marks}-1", f"{marks}-1-label": "Middle"})
    labels = [mark["label"] for mark in read_scale(instrument)["marks"]]
    removed = post(staff, instrument, do=f"remove:{marks}-1")
    post(staff, instrument, do=f"remove:{marks}-0")
    post(staff, instrument, do="undo")

    assert labels == ["Middle", "Mark 1"]
    assert [page.status_code for page in (moved, removed)] == [200, 200]
    assert [mark["label"] for mark in read_scale(instrument)["marks"]] == ["Middle"]
    post(staff, instrument, do=f"remove:{marks}-0")
    assert "marks" not in read_scale(instrument)


def test_statements_of_each_output_come_from_a_column_that_follows_its_name(staff):
    instrument = begin(staff)
    post(staff, instrument, **{"do": "add:item-output_columns", "criteria-0-kind": "checklist"})
    post(staff, instrument, **{"do": "add:practice", "item-output_columns-0-label": "Sentences"})
    column = {"do": "draft", "criteria-0-scale-from_column": "sentences"}
    post(staff, instrument, **column)

    page = post(staff, instrument, **{
        "do": "save", "practice-0-in-0": "Rain.", "practice-0-out-0": "It rains. It snows.",
        "practice-0-in-1": "It rains.\nIt snows.", "practice-0-answer-0": "1 0",
        "practice-0-why": "No word of snow.",
    })  # fmt: skip

    instrument.refresh_from_db()
    assert instrument.newest is not None, page.context["faults"]
    content = instrument.newest.content
    assert [column["name"] for column in content["item"]["inputs"]] == ["source"]
    assert content["item"]["output_columns"] == [
        {"name": "sentences", "label": "Sentences", "kind": "statements"}
    ]
    assert "statements" not in content["criteria"][0]["scale"]
    assert content["practice"][0]["columns"] == {"sentences": [["It rains.", "It snows."]]}
    post(staff, instrument, **{"do": "draft", "criteria-0-scale-from_column": ""})
    assert [statement["key"] for statement in read_scale(instrument)["statements"]] == [
        "it_answers_the_question"
    ]
