"""Lists of a scale in the builder: points, options and reasons, with buttons that change them."""

import pytest

from tests.building.test_builder import begin, post

pytestmark = pytest.mark.django_db


def test_points_are_added_moved_and_removed_in_a_table(staff):
    instrument = begin(staff)
    table = "q-0-p-points"

    post(staff, instrument, **{"do": f"row-add:{table}", f"{table}-1-notes": "one\n\ntwo"})
    post(staff, instrument, **{"do": f"row-up:{table}:1", f"{table}-5-label": "Beyond"})
    post(staff, instrument, do=f"row-remove:{table}:2")
    post(staff, instrument, do=f"row-ends:{table}")
    instrument.refresh_from_db()
    points = instrument.draft["criteria"][0]["scale"]["points"]
    post(staff, instrument, do="draft", outputs="pair")
    post(staff, instrument, **{"do": "draft", "q-0-kind": "preference"})
    post(staff, instrument, do=f"row-add:{table}")

    assert points == [
        {"value": 1, "label": "Bad", "notes": ["one", "two"]}, {"value": 2, "label": ""},
        {"value": 4, "label": ""}, {"value": 5, "label": ""}, {"value": 6, "label": "Beyond"},
    ]  # fmt: skip
    instrument.refresh_from_db()
    sides = instrument.draft["criteria"][0]["scale"]["points"]
    assert [one["value"] for one in sides] == [-2, -1, 0, 1, 2]


@pytest.mark.torture
def test_graded_preference_with_reasons_is_built_by_hand(staff):
    instrument = begin(staff)
    points, reasons = "q-0-p-points", "q-0-p-tags-options"
    post(staff, instrument, do="draft", outputs="pair")
    post(staff, instrument, **{"do": "draft", "q-0-kind": "preference"})
    post(staff, instrument, do=f"row-add:{points}")
    post(staff, instrument, do=f"row-remove:{points}:2")
    post(staff, instrument, do=f"row-add:{reasons}")
    post(staff, instrument, do=f"row-add:{reasons}")

    post(staff, instrument, **{
        "do": f"row-up:{reasons}:2", "q-0-p-both_bad": "Both are bad", "q-0-p-tags-most": "2",
        f"{reasons}-0-label": "Correct", f"{reasons}-0-key": "", f"{reasons}-2-label": "Too long",
        f"{reasons}-2-key": "too_long", f"{reasons}-2-side": "bad",
    })  # fmt: skip
    post(staff, instrument, do=f"row-remove:{reasons}:2")
    faulty = post(staff, instrument, **{"do": "save", f"{reasons}-1-label": ""})
    page = post(staff, instrument, **{"do": "save", f"{reasons}-1-label": "Far too long"})

    found = [(one.anchor, one.where, one.message) for one in faulty.context["faults"]]
    assert found == [("q-0", "Question 1 (Quality), reason 2 label", "must not be empty")]
    instrument.refresh_from_db()
    assert instrument.newest is not None, page.context["faults"]
    scale = instrument.newest.content["criteria"][0]["scale"]
    assert [one["value"] for one in scale["points"]] == [-2, -1, 1, 2]
    assert scale["both_bad"] == "Both are bad"
    assert instrument.newest.content["criteria"][0]["question"] == "Which one is better?"
    assert instrument.newest.content["instructions"].startswith("Read both texts")
    assert scale["tags"] == {
        "label": "Why?", "about": "each output", "most": 2, "options": [
            {"key": "correct", "label": "Correct"},
            {"key": "too_long", "label": "Far too long", "side": "bad"},
        ],
    }  # fmt: skip
    assert "Far too long" in str(page.context["preview"])
    for _ in range(2):
        post(staff, instrument, do=f"row-remove:{reasons}:0")
    instrument.refresh_from_db()
    assert "tags" not in instrument.draft["criteria"][0]["scale"]


def test_options_may_be_for_themselves_or_have_a_box_for_words(staff):
    instrument = begin(staff)
    table = "q-0-p-options"
    post(staff, instrument, **{"do": "draft", "q-0-kind": "choices"})

    post(staff, instrument, do=f"row-add:{table}")
    page = post(staff, instrument, **{
        "do": "save", f"{table}-0-label": "Too long", f"{table}-0-key": "",
        f"{table}-1-exclusive": "on", f"{table}-2-other": "on",
    })  # fmt: skip

    instrument.refresh_from_db()
    assert instrument.newest is not None, page.context["faults"]
    assert instrument.newest.content["criteria"][0]["scale"]["options"] == [
        {"key": "too_long", "label": "Too long"},
        {"key": "second_option", "label": "Second option", "exclusive": True},
        {"key": "option_3", "label": "Option 3", "other": True},
    ]


def test_statements_of_each_output_come_from_a_column_that_follows_its_name(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add-input")
    post(staff, instrument, **{
        "do": "draft", "in-1-label": "Sentences", "in-1-kind": "statements",
        "q-0-kind": "checklist",
    })  # fmt: skip
    shown = post(staff, instrument, **{"do": "draft", "q-0-p-from_column": "sentences"})

    page = post(staff, instrument, **{
        # a page that was open before the column was chosen still has the list
        "q-0-p-statements": "It answers the question",
        "do": "save", "practice-0-in-source": "Rain.", "practice-0-out-0": "It rains. It snows.",
        "practice-0-in-sentences": "It rains.\nIt snows.", "practice-0-answer-quality": "1 0",
        "practice-0-why": "No word of snow.",
    })  # fmt: skip

    instrument.refresh_from_db()
    assert "One a line." in shown.text
    assert instrument.newest is not None, page.context["faults"]
    content = instrument.newest.content
    assert [one["name"] for one in content["item"]["inputs"]] == ["source"]
    assert content["item"]["output_columns"] == [
        {"name": "sentences", "label": "Sentences", "kind": "statements"}
    ]
    assert "statements" not in content["criteria"][0]["scale"]
    assert content["practice"][0]["columns"] == {"sentences": [["It rains.", "It snows."]]}
    post(staff, instrument, **{"do": "draft", "in-1-of": "input"})
    instrument.refresh_from_db()
    assert [one["name"] for one in instrument.draft["item"]["inputs"]] == ["source", "sentences"]
