"""Columns that are renamed in the builder: nothing that was written for them is lost."""

import pytest
from django.urls import reverse

from evalsite.studies.instruments import import_instrument
from tests.builder.test_builder import begin, post
from tests.support.forms import read_form
from tests.support.instruments import read_gallery, read_instrument

pytestmark = pytest.mark.django_db


def begin_with_two_inputs(staff):
    instrument = begin(staff)
    for name in ("item-inputs", "practice", "examples"):
        post(staff, instrument, do=f"add:{name}")
    return instrument


def test_renaming_an_input_loses_no_text_of_examples_and_practice(staff):
    instrument = begin_with_two_inputs(staff)
    texts = {
        "practice-0-in-0": "A question", "practice-0-in-1": "A hint",
        "practice-0-out-0": "4", "examples-0-in-0": "Another", "examples-0-in-1": "A clue",
        "examples-0-out-0": "5", "item-inputs-1-name": "hint", "item-inputs-0-name": "question",
    }  # fmt: skip

    # everything in one go, as somebody does who saves at the end
    post(staff, instrument, do="draft", **texts)
    instrument.refresh_from_db()
    first = instrument.draft
    post(staff, instrument, **{
        "do": "draft", "item-inputs-1-label": "The clue", "item-inputs-1-name": "clue",
    })  # fmt: skip
    instrument.refresh_from_db()

    assert first["practice"][0]["inputs"] == {"question": "A question", "hint": "A hint"}
    assert first["examples"][0]["inputs"] == {"question": "Another", "hint": "A clue"}
    assert instrument.draft["practice"][0]["inputs"] == {"question": "A question", "clue": "A hint"}
    assert instrument.draft["examples"][0]["inputs"] == {"question": "Another", "clue": "A clue"}


def test_inputs_that_swap_their_columns_keep_their_own_texts(staff):
    instrument = begin_with_two_inputs(staff)
    post(staff, instrument, **{
        "do": "draft", "practice-0-in-0": "A question", "practice-0-in-1": "A hint",
        "item-inputs-0-name": "input_2", "item-inputs-1-name": "source",
    })  # fmt: skip

    instrument.refresh_from_db()
    assert instrument.draft["practice"][0]["inputs"] == {
        "input_2": "A question",
        "source": "A hint",
    }


@pytest.mark.torture
def test_an_input_that_takes_the_name_of_another_and_gives_it_back_loses_no_text(staff):
    instrument = begin_with_two_inputs(staff)
    post(staff, instrument, **{
        "do": "draft", "practice-0-in-0": "A question", "practice-0-in-1": "A hint",
        "item-inputs-1-name": "source",
    })  # fmt: skip
    refused = post(staff, instrument, do="save")
    post(staff, instrument, **{"do": "draft", "item-inputs-1-name": "hint"})

    assert refused.status_code == 422
    instrument.refresh_from_db()
    assert instrument.draft["practice"][0]["inputs"] == {"source": "A question", "hint": "A hint"}


def test_an_input_that_is_removed_comes_back_with_its_texts(staff):
    instrument = begin_with_two_inputs(staff)
    post(staff, instrument, **{
        "do": "draft", "practice-0-in-0": "A question", "practice-0-in-1": "A hint",
    })  # fmt: skip
    post(staff, instrument, do="remove:item-inputs-1")
    post(staff, instrument, do="draft", context="nothing")
    instrument.refresh_from_db()
    without = instrument.draft

    post(staff, instrument, do="undo")

    instrument.refresh_from_db()
    assert without["item"]["inputs"] == []
    assert without["practice"][0]["inputs"] == {}
    assert instrument.draft["practice"][0]["inputs"] == {"source": "A question"}
    assert [row["name"] for row in instrument.draft["item"]["inputs"]] == ["source"]


@pytest.mark.torture
def test_a_column_renamed_on_a_page_that_was_only_looked_at_loses_nothing(staff, jane):
    """Without scripts, the page with what participants will see comes before it is kept."""
    content = next(item for item in read_gallery() if item["key"] == "adequacy_fluency")
    version, _ = import_instrument(data=content, by=jane)
    address = reverse("admin:instrument", args=[version.instrument.pk])
    shown = read_form(staff.get(address).text, "builder")
    old = shown["item-inputs-0-was"]

    looked = staff.post(address, shown | {"do": "preview", "item-inputs-0-name": "renamed"})
    staff.post(address, read_form(looked.text, "builder") | {"do": "draft"})

    version.instrument.refresh_from_db()
    draft = version.instrument.draft
    before, after = content["item"]["inputs"][0], draft["item"]["inputs"][0]
    assert after == before | {"name": "renamed"}
    for part in ("practice", "examples"):
        texts = [example["inputs"][old] for example in content.get(part, [])]
        assert [example["inputs"]["renamed"] for example in draft.get(part, [])] == texts
    assert content["practice"]


def test_questions_and_translations_follow_a_column_that_is_renamed(staff, jane):
    content = next(
        instrument
        for instrument in read_gallery()
        if any("from_column" in question["scale"] for question in instrument["criteria"])
    )
    version, _ = import_instrument(data=content, by=jane)
    instrument = version.instrument
    [column] = content["item"]["output_columns"]
    shown = read_form(staff.get(reverse("admin:instrument", args=[instrument.pk])).text, "builder")
    at = next(name for name, text in shown.items() if text == column["name"] and "-was" in name)
    language = reverse("admin:instrument-language", args=[instrument.pk])
    texts = staff.get(language, {"tag": "de"}).context["texts"]
    address = f"item.output_columns.{column['name']}.label"
    number = next(text["number"] for text in texts if text["address"] == address)
    instrument.refresh_from_db()
    staff.post(language, {"tag": "de", "revision": instrument.revision, f"text-{number}": "Wort"})

    post(staff, instrument, **{"do": "draft", at.replace("-was", "-name"): "claims"})

    instrument.refresh_from_db()
    draft = instrument.draft
    named = {question["scale"].get("from_column") for question in draft["criteria"]} - {None}
    assert named == {"claims"}
    assert draft["translations"] == {"de": {"item.output_columns.claims.label": "Wort"}}
    for part in ("practice", "examples"):
        for before, after in zip(content.get(part, []), draft.get(part, []), strict=True):
            assert [*after.get("columns", {})] == ["claims"][: len(before.get("columns", {}))]
            assert [*after.get("columns", {}).values()] == [*before.get("columns", {}).values()]


def test_an_answer_that_is_renamed_is_renamed_in_examples_conditions_and_translations(staff, jane):
    instrument = begin(staff)
    options, condition = "criteria-0-scale-options", "criteria-1-ask_if"
    for name in ("criteria", "practice", "examples"):
        post(staff, instrument, do=f"add:{name}")
    post(staff, instrument, **{"do": "draft", "criteria-0-kind": "choice"})
    post(staff, instrument, **{
        "do": "draft", f"{condition}-criterion": "quality", f"{condition}-answers": "First option",
        **{f"{part}-0-{field}": text for part in ("examples", "practice")
           for field, text in (("in-0", "Hello?"), ("out-0", "Hi."), ("why", "It is short."),
                               ("answer-0", "First option"))},
    })  # fmt: skip
    language = reverse("admin:instrument-language", args=[instrument.pk])
    texts = staff.get(language, {"tag": "de"}).context["texts"]
    address = "criteria.quality.scale.options.first_option.label"
    number = next(text["number"] for text in texts if text["address"] == address)
    instrument.refresh_from_db()
    staff.post(language, {"tag": "de", "revision": instrument.revision, f"text-{number}": "Erste"})

    post(staff, instrument, **{
        "do": "draft", f"{options}-0-key": "second_option", f"{options}-1-key": "first_option",
    })  # fmt: skip
    instrument.refresh_from_db()
    swapped = instrument.draft
    page = post(staff, instrument, **{"do": "save", f"{options}-box": "Good\nBad"})

    assert swapped["criteria"][1]["ask_if"] == {"criterion": "quality", "is": ["second_option"]}
    assert swapped["practice"][0]["gold"] == {"quality": ["second_option"]}
    assert swapped["examples"][0]["ratings"] == {"quality": ["second_option"]}
    address = "criteria.quality.scale.options.second_option.label"
    assert swapped["translations"] == {"de": {address: "Erste"}}
    instrument.refresh_from_db()
    assert instrument.newest is not None, page.context["faults"]
    content = instrument.newest.content
    assert content["practice"][0]["gold"] == {"quality": ["second_option"]}


def test_values_of_points_that_move_take_ratings_and_conditions_with_them(staff):
    instrument = begin(staff)
    for name in ("criteria", "examples"):
        post(staff, instrument, do=f"add:{name}")
    post(staff, instrument, **{
        "do": "draft", "criteria-1-ask_if-criterion": "quality",
        "criteria-1-ask_if-answers": "Fair", "examples-0-in-0": "Hello?", "examples-0-out-0": "Hi.",
        "examples-0-why": "It is short.", "examples-0-answer-0": "Good",
    })  # fmt: skip

    page = post(staff, instrument, **{
        "do": "save",
        "criteria-0-scale-points-box": "Awful\nVery bad\nBad\nFair\nGood\nVery good",
    })  # fmt: skip

    instrument.refresh_from_db()
    assert instrument.newest is not None, page.context["faults"]
    content = instrument.newest.content
    assert content["criteria"][1]["ask_if"] == {"criterion": "quality", "is": [4]}
    assert content["examples"][0]["ratings"] == {"quality": [5]}


def begin_with_marks(jane):
    content = read_instrument("da_sqm")
    for part in ("practice", "examples", "comprehension"):
        content.pop(part, None)
    score = {
        "key": "score", "label": "Score", "question": "How good?", "per": "output",
        "scale": {
            "kind": "slider", "minimum": 0, "maximum": 100,
            "marks": [{"value": 50, "label": "Fair"}],
        },
    }  # fmt: skip
    reason = {
        "key": "reason", "label": "Reason", "question": "Why?", "per": "output",
        "scale": {"kind": "text"}, "ask_if": {"criterion": "score", "at_most": 50},
    }  # fmt: skip
    return import_instrument(data=content | {"criteria": [score, reason]}, by=jane)[0].instrument


@pytest.mark.parametrize("value", ["60", "sixty", ""])
def test_mark_that_moves_changes_no_condition(staff, jane, value):
    instrument = begin_with_marks(jane)

    page = post(staff, instrument, **{"do": "draft", "criteria-0-scale-marks-0-value": value})

    assert page.status_code == 200
    instrument.refresh_from_db()
    assert instrument.draft["criteria"][1]["ask_if"] == {"criterion": "score", "at_most": 50}


def begin_with_translations(jane):
    content = read_instrument("helpsteer2_preference")
    preference = {
        "kind": "preference",
        "points": [{"value": -1, "label": "A"}, {"value": 1, "label": "B"}],
        "tags": {
            "label": "Why?", "about": "comparison",
            "options": [{"key": "long", "label": "Long"}, {"key": "brief", "label": "Brief"}],
        },
    }  # fmt: skip
    halves = {
        "kind": "likert",
        "points": [{"value": value, "label": f"Point {value}"} for value in (1, 1.5, 2)],
    }
    questions = {"per": "item", "scale": preference}, {"per": "output", "scale": halves}
    content["criteria"] = [
        {"key": key, "label": key.title(), "question": "Which one?"} | question
        for key, question in zip(("winner", "quality"), questions, strict=True)
    ]
    content["eligibility"] = {
        "questions": [{"key": "country", "label": "Country", "choices": [
            {"value": "de", "label": "Germany"}, {"value": "²", "label": "Two of them"},
        ]}],
        "rule": "", "refusal": "", "accept": {"country": ["de"]},
    }  # fmt: skip
    content["ignore"] = {"reasons": [{"key": "broken", "label": "Broken"}]}
    for part in ("practice", "examples", "comprehension"):
        content.pop(part, None)
    content["translations"] = {"de": dict.fromkeys(
        (
            "criteria.winner.scale.tags.options.long.label",
            "criteria.quality.scale.points.1.label",
            "criteria.quality.scale.points.1.5.label",
            "eligibility.questions.country.label",
            "eligibility.questions.country.choices.de.label",
            "eligibility.questions.country.choices.².label",
            "ignore.reasons.broken.label",
        ),
        "Wort",
    )}  # fmt: skip
    return import_instrument(data=content, by=jane)[0].instrument


def test_translations_follow_every_key_that_is_renamed(staff, jane):
    instrument = begin_with_translations(jane)

    page = post(staff, instrument, **{
        "do": "draft", "criteria-0-key": "better", "criteria-0-scale-tags-options-0-key": "wordy",
        "criteria-1-scale-points-box": "0 Point 1\n1.5 Point 1.5\n2 Point 2",
        "eligibility-questions-0-key": "land", "ignore-reasons-0-key": "damaged",
    })  # fmt: skip

    assert page.context["faults"] == []
    instrument.refresh_from_db()
    assert sorted(instrument.draft["translations"]["de"]) == [
        "criteria.better.scale.tags.options.wordy.label",
        "criteria.quality.scale.points.0.label",
        "criteria.quality.scale.points.1.5.label",
        "eligibility.questions.land.choices.de.label",
        "eligibility.questions.land.choices.².label",
        "eligibility.questions.land.label",
        "ignore.reasons.damaged.label",
    ]


def test_translation_of_an_answer_that_is_gone_is_a_fault_whatever_its_name(staff, jane):
    instrument = begin_with_translations(jane)

    page = post(staff, instrument, **{
        "do": "draft", "eligibility-questions-0-choices-box": "Germany",
    })  # fmt: skip

    assert [fault["code"] for fault in page.context["faults"]] == ["unknown_address"]


def test_passages_under_their_old_name_are_kept_under_one(staff, jane):
    content = read_instrument("da_sqm")
    (name, text), *_ = content["practice"][0]["inputs"].items()
    content["practice"][0]["marked"] = {name: [text[:3]]}
    content["x_highlight"] = "Mark what is wrong."
    instrument = import_instrument(data=content, by=jane)[0].instrument
    content["practice"][0]["x_marked"] = content["practice"][0].pop("marked")
    instrument.draft = content | {"title": "An older draft"}
    instrument.save()

    page = post(staff, instrument, do="draft", title="A newer one")
    edited = post(staff, instrument, **{"do": "draft", "practice-0-marked-0": text[:2]})

    assert page.context["faults"] == edited.context["faults"] == []
    instrument.refresh_from_db()
    assert instrument.draft["practice"][0]["marked"] == {name: [text[:2]]}
