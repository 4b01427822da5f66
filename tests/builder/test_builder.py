"""The builder: every draft is kept, faults are named in place, only right ones are versions."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.instruments.checks import check_instrument
from evalsite.instruments.scales.post_edit import PostEdit
from evalsite.studies.instruments import import_instrument
from evalsite.studies.models import Instrument, InstrumentMember, Study
from tests.support.factories import make_user
from tests.support.forms import read_form
from tests.support.instruments import GALLERY, make_built_study, read_gallery

pytestmark = pytest.mark.django_db


def begin(staff: Client, title: str = "Chat replies") -> Instrument:
    staff.post(reverse("admin:instrument-new"), {"title": title, "output_name": "Reply"})
    return Instrument.objects.get()


def post(staff: Client, instrument: Instrument, **said: Any) -> Any:
    """The builder's form, as it was shown, with these changes; its answer after redirects."""
    address = reverse("admin:instrument", args=[instrument.pk])
    shown = read_form(staff.get(address).text, "builder")
    return staff.post(address, shown | said, follow=True)


def list_faults(page: Any) -> list[tuple[str, str, str]]:
    return [(f["anchor"], f["where"], f["message"]) for f in page.context["faults"]]


def test_form_that_nobody_changed_changes_nothing(staff, jane):
    for content in read_gallery():
        version, _ = import_instrument(data=content, by=jane)

        post(staff, version.instrument, do="draft")

        version.instrument.refresh_from_db()
        assert version.instrument.draft == {}


def test_instrument_is_built_by_hand_saved_as_a_version_and_used(staff, jane):
    instrument = begin(staff)
    post(staff, instrument, **{
        "do": "add:criteria", "criteria-0-label": "Helpfulness",
        "criteria-0-question": "Does the reply do what was asked?",
        "criteria-0-scale-points-2-notes": "half of it",
        "criteria-0-scale-points-box": "Very bad\n2\nFair\nCompletely",
    })  # fmt: skip
    post(staff, instrument, **{
        "do": "add:practice", "criteria-1-label": "True", "criteria-1-kind": "decision",
    })  # fmt: skip
    post(staff, instrument, do="add:comprehension")
    post(staff, instrument, **{
        "do": "save", "criteria-1-key": "is_true", "criteria-1-question": "Is it true?",
        "criteria-1-scale-yes": "True",
        "practice-0-in-0": "What is 2 + 2?", "practice-0-out-0": "4",
        "practice-0-answer-0": "3..4", "practice-0-answer-1": "true",
        "practice-0-why": "It is right.", "comprehension-0-question": "What do you rate?",
        "comprehension-0-choices": "The reply\nThe message", "comprehension-0-right": "The reply",
        "comprehension-0-why": "Only the reply is rated.",
    })  # fmt: skip
    instrument.refresh_from_db()
    content = instrument.newest.content
    fields = {"title": "Spring", "instrument": f"version:{instrument.newest.pk.hex}"}
    staff.post(reverse("admin:new-from"), fields)

    helpful, true = content["criteria"]
    assert content["item"]["output_name"] == "Reply"
    assert helpful["key"] == "helpfulness"
    assert helpful["scale"]["points"] == [
        {"value": 1, "label": "Very bad"}, {"value": 2, "label": ""},
        {"value": 3, "label": "Fair", "notes": ["half of it"]},
        {"value": 4, "label": "Completely"},
    ]  # fmt: skip
    assert true["scale"] == {"kind": "decision", "yes": "True", "no": "No"}
    assert content["practice"][0]["gold"] == {"helpfulness": ["3..4"], "is_true": [1]}
    assert content["comprehension"][0]["right"] == "The reply"
    assert instrument.draft == {}
    config = Study.objects.get().config
    assert [criterion.key for criterion in config.criteria] == ["helpfulness", "is_true"]


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("fields", "anchor", "code"),
    [
        ({"item-outputs-least": "two"}, "id_item-outputs-least", "type"),
        ({"criteria-0-scale-points-box": "Bad"}, "id_criteria-0-scale-points-box", "length"),
        ({"criteria-0-key": "participant"}, "id_criteria-0-key", "reserved_column"),
        ({"criteria-0-label": ""}, "id_criteria-0-label", "empty_text"),
        ({"item-inputs-0-name": "system"}, "id_item-inputs-0-name", "reserved_column"),
        ({"practice-0-out-0": "4"}, "id_practice-0-in-0", "missing_key"),
        ({"title": ""}, "id_title", "empty_text"),
        ({"language": "English"}, "id_language", "bad_language"),
    ],
)
def test_fault_stands_at_its_field_and_in_the_list_and_the_draft_is_kept(
    staff, fields, anchor, code
):
    instrument = begin(staff)
    if "practice-0-out-0" in fields:
        post(staff, instrument, do="add:practice")

    page = post(staff, instrument, do="save", **fields)

    assert page.status_code == 422
    faults = page.context["faults"]
    assert (anchor, code) in {(fault["anchor"], fault["code"]) for fault in faults}, faults
    assert f'href="#{anchor}"' in page.text
    assert f'id="{anchor}"' in page.text
    assert f'id="{anchor}_error"' in page.text
    instrument.refresh_from_db()
    assert instrument.newest is None
    assert instrument.draft != {}
    again = staff.get(reverse("admin:instrument", args=[instrument.pk])).text
    for name, text in fields.items():
        assert read_form(again, "builder")[name] == text


def test_what_cannot_be_asked_yet_is_listed_and_may_still_be_saved(staff, jane, monkeypatch):
    monkeypatch.setattr(PostEdit, "has_page", False)
    content = json.loads((GALLERY / "post_edit.json").read_bytes())
    instrument = import_instrument(data=content, by=jane)[0].instrument

    page = post(staff, instrument, do="save", title="Errors of ours")

    assert page.status_code == 200
    assert page.context["faults"] == []
    assert {fault["code"] for fault in page.context["later"]} == {"not_yet"}
    assert f'href="#{page.context["later"][0]["anchor"]}"' in page.text
    instrument.refresh_from_db()
    assert instrument.newest.number == 2


def test_fault_of_the_second_of_two_equal_columns_names_the_second(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add:criteria")

    page = post(
        staff, instrument,
        **{"do": "save", "criteria-1-label": "Second", "criteria-1-key": "quality"},
    )  # fmt: skip

    assert list_faults(page) == [
        ("id_criteria-1", "Question 2 (Second)",
         "has the same column in files as another question"),
    ]  # fmt: skip


def test_fault_of_a_name_in_files_says_which_field_it_is_and_suggests_another_name(staff):
    instrument = begin(staff)
    post(staff, instrument, **{"do": "draft", "criteria-0-kind": "choice"})

    page = post(staff, instrument, **{
        "do": "save", "item-inputs-0-name": "The source", "criteria-0-key": "My quality",
        "criteria-0-scale-options-0-key": "1st Option",
    })  # fmt: skip

    rule = "must be lower-case letters, digits and _, starting with a letter, at most 40 characters"
    assert list_faults(page) == [
        ("id_item-inputs-0-name", "Inputs and outputs, input 1, column in uploads",
         f"{rule}, such as the_source"),
        ("id_criteria-0-key", "Question 1 (Quality), column in files",
         f"{rule}, such as my_quality"),
        ("id_criteria-0-scale-options-0-key", "Question 1 (Quality), option 1, name in files",
         rule),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "action",
    ["remove:{}", "remove:criteria-{}", "add:criteria-{}-scale-marks", "remove:criteria-²"],
)
def test_button_that_names_no_row_is_refused(staff, action):
    page = post(staff, begin(staff), do=action.format("9" * 5000))

    assert page.status_code == 400


@pytest.mark.parametrize("text", ["[" * 50_000, "[" * 20_000 + "]" * 20_000])
def test_conversation_that_is_nested_too_deep_stays_text_with_a_fault(staff, jane, text):
    content = next(c for c in read_gallery() if c["key"] == "conversation_turns")
    instrument = import_instrument(data=content, by=jane)[0].instrument

    page = post(staff, instrument, **{"do": "draft", "practice-0-out-0": text})

    instrument.refresh_from_db()
    assert instrument.draft["practice"][0]["outputs"] == [text]
    assert "no_turns" in {fault["code"] for fault in page.context["faults"]}


def test_what_no_database_stores_is_left_out_of_every_form(staff):
    staff.post(
        reverse("admin:instrument-new"), {"title": "Chat\x00 replies", "output_name": "R\x00"}
    )
    instrument = Instrument.objects.get()
    post(staff, instrument, **{"do": "draft", "criteria-0-question": "How\x00 good?"})
    address = reverse("admin:instrument-language", args=[instrument.pk])
    page = staff.get(address, {"tag": "de"})
    revision = str(page.context["instrument"].revision)
    staff.post(address, {"tag": "de", "revision": revision, "text-0": "Antwo\x00rten"})

    instrument.refresh_from_db()
    assert instrument.title == "Chat replies"
    assert "translations" in instrument.draft
    assert "\\u0000" not in json.dumps(instrument.draft)


def test_condition_on_a_question_that_is_removed_stays_until_somebody_decides(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add:criteria")
    condition = {"criterion": "quality", "test": "at_most", "answers": "2"}
    post(staff, instrument, do="draft",
         **{f"criteria-1-ask_if-{name}": text for name, text in condition.items()})  # fmt: skip

    post(staff, instrument, do="remove:criteria-0")
    page = post(staff, instrument, do="save")

    assert page.status_code == 422
    assert "quality (no longer an earlier question)" in page.text
    assert "id_criteria-0-ask_if" in {fault["anchor"] for fault in page.context["faults"]}
    instrument.refresh_from_db()
    assert instrument.draft["criteria"][0]["ask_if"]["criterion"] == "quality"


def test_questions_about_people_say_which_answers_allow_taking_part(staff):
    instrument = begin(staff)
    at = "eligibility-questions"
    for _ in range(3):
        post(staff, instrument, do=f"add:{at}")
    post(staff, instrument, **{
        "do": "draft", "eligibility-rule": "Adults who speak German.",
        "eligibility-refusal": "Thank you for your time.", f"{at}-0-label": "First language",
        f"{at}-0-choices-box": "German\nAnother language", f"{at}-1-label": "Age",
        f"{at}-1-kind": "number", f"{at}-2-label": "Work",
        f"{at}-2-choices-box": "Teacher\nTranslator\nNeither",
    })  # fmt: skip

    page = post(staff, instrument, **{
        "do": "save", f"{at}-0-accept-rule": "only", f"{at}-0-accept-answers": "German",
        f"{at}-0-choices-0-value": "de", f"{at}-1-accept-rule": "range",
        f"{at}-1-accept-least": "18", f"{at}-2-accept-rule": "none_of",
        f"{at}-2-accept-answers": "Translator\nTeacher",
    })  # fmt: skip
    instrument.refresh_from_db()
    assert instrument.newest is not None, page.context["faults"]
    first = instrument.newest.content["eligibility"]
    post(
        staff, instrument, **{"do": "save", f"{at}-0-key": "spoken", f"{at}-0-choices-0-value": "g"}
    )
    instrument.refresh_from_db()
    renamed = instrument.newest.content["eligibility"]
    for number in (2, 1, 0):
        post(staff, instrument, do=f"remove:{at}-{number}")
    instrument.refresh_from_db()

    assert first["accept"] == {
        "first_language": ["de"], "age": {"least": 18},
        "work": {"none_of": ["translator", "teacher"]},
    }  # fmt: skip
    assert renamed["accept"]["spoken"] == ["g"]
    assert renamed["questions"][0]["choices"][0] == {"value": "g", "label": "German"}
    assert "eligibility" not in instrument.draft


def test_comment_is_asked_where_its_own_question_has_these_answers(staff):
    instrument = begin(staff)
    post(staff, instrument, **{
        "do": "draft", "criteria-0-comment-ask": "required",
        "criteria-0-comment-if-criterion": "quality", "criteria-0-comment-if-answers": "Bad\n1",
    })  # fmt: skip
    instrument.refresh_from_db()
    comment = instrument.draft["criteria"][0]["comment"]

    post(staff, instrument, **{"do": "draft", "criteria-0-comment-ask": ""})

    assert comment == {"ask": "required", "if": {"criterion": "quality", "is": [2, 1]}}
    instrument.refresh_from_db()
    assert "comment" not in instrument.draft["criteria"][0]


def test_questions_are_moved_duplicated_and_removed(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add:criteria")
    post(staff, instrument, **{"do": "up:criteria-1", "criteria-1-label": "Tone"})
    post(staff, instrument, do="copy:criteria-0")
    removed = post(staff, instrument, do="remove:criteria-2")
    post(staff, instrument, do="undo")
    instrument.refresh_from_db()
    before = [one["key"] for one in instrument.draft["criteria"]]
    post(staff, instrument, do="remove:criteria-2")
    post(staff, instrument, do="add:item-inputs")

    instrument.refresh_from_db()
    assert "Removed “Quality”." in removed.text
    assert before == ["tone", "tone_2", "quality"]
    assert [one["key"] for one in instrument.draft["criteria"]] == ["tone", "tone_2"]
    assert [one["name"] for one in instrument.draft["item"]["inputs"]] == ["source", "input_2"]


def test_question_that_comes_back_has_its_edits_and_its_answers_in_examples_again(staff):
    instrument = begin(staff)
    for name in ("criteria", "examples", "practice"):
        post(staff, instrument, do=f"add:{name}")
    post(staff, instrument, **{
        "do": "draft", "criteria-1-label": "Tone",
        **{f"{part}-0-{field}": text for part in ("examples", "practice")
           for field, text in (("in-0", "Hello?"), ("out-0", "Hi."), ("why", "It is short."),
                               ("answer-0", "4"))},
    })  # fmt: skip
    answers = {"examples-0-answer-1": "2", "practice-0-answer-1": "1..2"}
    post(staff, instrument, do="draft", **answers)

    post(staff, instrument,
         **{"do": "remove:criteria-1", "criteria-1-question": "How friendly is it?"})  # fmt: skip

    without = read_form(staff.get(reverse("admin:instrument", args=[instrument.pk])).text,
                        "builder")  # fmt: skip
    post(staff, instrument, do="undo")
    post(staff, instrument, do="save")

    instrument.refresh_from_db()
    content = instrument.newest.content
    assert not answers.keys() & without.keys()
    assert content["criteria"][1]["question"] == "How friendly is it?"
    assert content["examples"][0]["ratings"] == {"quality": [4], "tone": [2]}
    assert content["practice"][0]["gold"] == {"quality": ["4"], "tone": ["1..2"]}


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("kind", "text", "rating"),
    [
        ("likert", "Fair", [3]),
        ("decision", "yes", [1]),
        ("choice", "second option", ["second_option"]),
        ("choices", "first_option second_option", [["first_option", "second_option"]]),
        ("choices", "-", [[]]),
        ("checklist", "1", [[1]]),
        ("text", "Good, but long.", ["Good, but long."]),
        ("number", "0", [0]),
    ],
)
def test_worked_example_is_rated_on_any_kind_of_question(staff, kind, text, rating):
    instrument = begin(staff)
    post(staff, instrument, **{"do": "add:examples", "criteria-0-kind": kind})
    example = {"in-0": "Hello?", "out-0": "Hi.", "answer-0": text, "why": "It is short."}

    page = post(staff, instrument, do="save", **{f"examples-0-{at}": example[at] for at in example})

    instrument.refresh_from_db()
    assert page.context["faults"] == []
    assert instrument.newest.content["examples"][0]["ratings"] == {"quality": rating}


@pytest.mark.one_case
@pytest.mark.parametrize("title", ["A", "!!!", "7", "品質"])
def test_instrument_of_any_name_can_be_saved(staff, title):
    instrument = begin(staff, title)

    post(staff, instrument, do="save")

    instrument.refresh_from_db()
    assert instrument.newest.number == 1


def test_words_with_markup_are_text_on_every_page(staff):
    hostile = "<script>alert(1)</script>{{ 7|add:7 }}"
    instrument = begin(staff, hostile)

    post(staff, instrument, **{
        "do": "save", "criteria-0-label": hostile, "criteria-0-question": hostile,
        "criteria-0-definition": hostile, "criteria-0-scale-points-0-notes": hostile,
        "criteria-0-scale-points-box": f"{hostile}\n{hostile}",
        "instructions": hostile,
        "item-inputs-0-label": hostile,
    })  # fmt: skip

    instrument.refresh_from_db()
    name = instrument.newest.pk.hex
    addresses = [
        reverse("admin:instruments"), reverse("admin:instrument", args=[instrument.pk]),
        reverse("admin:new-all"), reverse("admin:instrument-try", args=["version", name, 1]),
        reverse("admin:instrument-instructions", args=["version", name]),
        reverse("admin:instrument-questions", args=[instrument.pk]),
        f"{reverse('admin:instrument-language', args=[instrument.pk])}?tag=de",
    ]  # fmt: skip
    for address in addresses:
        page = staff.get(address)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        words = re.sub('type="hidden"[^>]*', "", page.text)
        assert "14" not in words or "{{ 7|add:7 }}" in words


def test_two_people_who_edit_lose_nothing(staff, jane):
    instrument = begin(staff)
    address = reverse("admin:instrument", args=[instrument.pk])
    tom = make_user("tom")
    InstrumentMember.objects.create(instrument=instrument, user=tom, role="editor")
    other = Client()
    other.force_login(tom)
    hers, his = (read_form(one.get(address).text, "builder") for one in (staff, other))

    staff.post(address, hers | {"do": "draft", "criteria-0-label": "Hers"})
    conflict = other.post(address, his | {"do": "draft", "criteria-0-label": "His"})
    again = other.post(
        address, read_form(conflict.text, "builder") | {"do": "draft", "criteria-0-label": "His"}
    )

    assert conflict.status_code == again.status_code == 409
    assert "jane changed this draft after this page was opened" in conflict.text
    assert 'value="His"' in conflict.text
    instrument.refresh_from_db()
    assert instrument.draft["criteria"][0]["label"] == "Hers"


def test_row_that_a_conflict_kept_is_not_offered_again(staff, jane):
    instrument = begin(staff)
    address = reverse("admin:instrument", args=[instrument.pk])
    opened = read_form(staff.get(address).text, "builder")
    staff.post(address, opened | {"do": "draft", "criteria-0-label": "Tone"})

    conflict = staff.post(address, opened | {"do": "remove:criteria-0"})
    page = staff.get(address)

    assert conflict.status_code == 409
    assert page.context["removed"] is None


def test_row_whose_list_is_gone_cannot_come_back(staff):
    instrument = begin(staff)
    post(staff, instrument, **{"do": "draft", "criteria-0-kind": "slider"})
    post(staff, instrument, do="add:criteria-0-scale-marks")
    post(staff, instrument, do="remove:criteria-0-scale-marks-0")
    post(staff, instrument, **{"do": "draft", "criteria-0-kind": "text"})

    page = post(staff, instrument, do="undo", title="Another title")

    assert page.status_code == 200
    assert page.context["removed"] is None
    instrument.refresh_from_db()
    assert instrument.draft["title"] == "Another title"


def test_form_that_is_sent_twice_is_kept_once_and_one_from_before_says_who_changed_it(staff):
    instrument = begin(staff)
    address = reverse("admin:instrument", args=[instrument.pk])
    opened = read_form(staff.get(address).text, "builder")

    answers = [staff.post(address, opened | {"do": "save"}, follow=True) for _ in range(2)]
    post(staff, instrument, **{"do": "draft", "criteria-0-label": "Later"})
    before = staff.post(address, opened | {"do": "draft", "criteria-0-label": "Earlier"})

    assert [answer.status_code for answer in answers] == [200, 200]
    assert "Saved as version 1." in answers[1].text
    assert instrument.versions.count() == 1
    assert before.status_code == 409
    assert "You changed this draft after this page was opened" in before.text


def test_question_of_another_instrument_is_found_added_and_says_when_it_differs(staff):
    instrument = begin(staff)
    address = reverse("admin:instrument-questions", args=[instrument.pk])

    found = staff.get(address, {"q": "adequacy"})
    staff.post(address, {"question": "gallery:adequacy_fluency:adequacy"})
    same = staff.get(reverse("admin:instrument", args=[instrument.pk])).text
    changed = post(
        staff, instrument, **{"do": "draft", "criteria-1-question": "Something else?"}
    ).text

    assert "gallery:adequacy_fluency:adequacy" in {one.value for one in found.context["questions"]}
    assert "From “Translation: adequacy and fluency”, version 1, unchanged" in same
    assert "Differs from “Translation: adequacy and fluency”, version 1" in changed


def test_copy_of_a_protocol_says_what_it_is_based_on_and_calls_no_function(staff):
    for key in ("magnitude", "pairwise", "rrgen", "dialogue", "fluency"):
        address = f"{reverse('admin:instrument-new')}?of=protocol:{key}"
        staff.post(address, {"title": f"My {key}"})
        instrument = Instrument.objects.get(title=f"My {key}")

        page = post(staff, instrument, do="save")

        instrument.refresh_from_db()
        assert instrument.newest is not None, page.context["faults"]
        content = instrument.newest.content
        assert content["based_on"]["key"] == key
        assert "hooks" not in content
        assert content["key"] != key


def test_texts_are_translated_and_the_page_counts_what_is_missing(staff):
    instrument = begin(staff)
    address = reverse("admin:instrument-language", args=[instrument.pk])
    shown = staff.get(address, {"tag": "de"})
    number = next(one["number"] for one in shown.context["texts"] if one["address"] == "title")

    staff.post(
        address, {"tag": "de", "revision": instrument.revision, f"text-{number}": "Antworten"}
    )

    instrument.refresh_from_db()
    assert instrument.draft["translations"] == {"de": {"title": "Antworten"}}
    page = staff.get(reverse("admin:instrument", args=[instrument.pk])).text
    assert f"1 of {len(shown.context['texts'])} translated" in page


def test_viewers_look_and_copy_and_only_owners_share_and_delete(staff, jane):
    study = make_built_study(read_gallery()[0], by=jane)
    instrument = study.instrument.instrument
    other = Client()
    other.force_login(make_user("tom"))
    page = reverse("admin:instrument", args=[instrument.pk])

    assert other.get(page).status_code == 404
    staff.post(reverse("admin:instrument-share", args=[instrument.pk]), {"visible": "yes"})
    assert other.get(page).status_code == 200
    assert other.post(page, {"do": "draft"}).status_code == 403
    for name in ("instrument-share", "instrument-delete", "instrument-questions"):
        assert other.post(reverse(f"admin:{name}", args=[instrument.pk])).status_code == 403
    staff.post(
        reverse("admin:instrument-share", args=[instrument.pk]), {"user": "tom", "role": "editor"}
    )
    assert other.post(page, read_form(other.get(page).text, "builder")).status_code == 302
    used = staff.post(reverse("admin:instrument-delete", args=[instrument.pk]), follow=True)
    assert "Studies use this instrument" in used.text
    assert "Used in 1 study" in used.text
    asked = staff.get(reverse("admin:instrument-delete", args=[instrument.pk])).text
    assert "it can’t be deleted" in asked
    assert "Delete it" not in asked


def test_question_about_each_turn_is_built_by_hand(staff, jane):
    instrument = begin(staff)
    spoken = '[{"role": "user", "content": "Is it open?"}, {"role": "bot", "content": "Yes."}]'

    post(staff, instrument, do="add:practice")
    post(staff, instrument, **{
        "do": "draft", "item-outputs-kind": "conversation", "criteria-0-label": "This turn",
        "criteria-0-question": "How good is it?",
    })  # fmt: skip
    post(staff, instrument, **{"do": "draft", "criteria-0-per": "turn"})
    post(staff, instrument, **{
        "do": "draft", "criteria-0-turns-roles": "bot\nassistant", "practice-0-out-0": spoken,
        "practice-0-in-0": "A question", "practice-0-answer-0": "4..5",
        "practice-0-why": "It answers.",
    })  # fmt: skip

    instrument.refresh_from_db()
    question = instrument.draft["criteria"][0]
    assert question["per"] == "turn"
    assert question["turns"] == {"roles": ["bot", "assistant"]}
    (practice,) = instrument.draft["practice"]
    assert practice["outputs"] == [json.loads(spoken)]
    assert practice["gold"] == {"this_turn": [["4..5"]]}
    assert not [one for one in check_instrument(instrument.draft) if "turn" in one.place]


@pytest.mark.torture
def test_column_follows_its_name_until_a_version_has_it_and_what_refers_to_it_follows_too(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add:criteria")
    post(staff, instrument, do="add:practice")
    post(staff, instrument, **{
        "do": "draft", "practice-0-out-0": "4", "practice-0-why": "So.", "practice-0-in-0": "?",
        "practice-0-answer-0": "2", "criteria-1-ask_if-criterion": "quality",
        "criteria-1-ask_if-test": "at_least",
    })  # fmt: skip
    language = reverse("admin:instrument-language", args=[instrument.pk])
    texts = staff.get(language, {"tag": "de"}).context["texts"]
    number = next(text["number"] for text in texts if text["address"] == "criteria.quality.label")
    instrument.refresh_from_db()
    staff.post(language, {"tag": "de", "revision": instrument.revision, f"text-{number}": "Güte"})

    post(staff, instrument, **{
        "do": "draft", "criteria-1-ask_if-answers": "2", "criteria-0-label": "Tone",
        "criteria-1-label": "Tone",
    })  # fmt: skip
    instrument.refresh_from_db()
    draft = instrument.draft
    post(staff, instrument, **{"do": "save", "practice-0-answer-1": "3"})
    post(staff, instrument, **{"do": "draft", "criteria-0-label": "Sound"})

    first, second = draft["criteria"]
    assert [first["key"], second["key"]] == ["tone", "tone_2"]
    assert second["ask_if"] == {"criterion": "tone", "at_least": 2}
    assert draft["practice"][0]["gold"] == {"tone": ["2"]}
    assert draft["translations"] == {"de": {"criteria.tone.label": "Güte"}}
    instrument.refresh_from_db()
    assert instrument.newest is not None
    assert instrument.draft["criteria"][0]["key"] == "tone"


@pytest.mark.torture
def test_condition_on_several_answers_says_of_which(staff):
    instrument = begin(staff)
    post(staff, instrument, **{
        "do": "add:criteria", "layout-outputs": "several", "layout-questions": "below",
    })  # fmt: skip
    post(staff, instrument, **{
        "do": "draft", "criteria-1-kind": "text", "criteria-1-ask_if-criterion": "quality",
    })  # fmt: skip
    post(staff, instrument, **{
        "do": "draft", "criteria-1-per": "item", "criteria-1-ask_if-answers": "Bad",
    })  # fmt: skip
    instrument.refresh_from_db()
    of_itself = instrument.draft["criteria"][1]["ask_if"]

    page = post(staff, instrument, **{
        "do": "save", "criteria-1-ask_if-outputs": "every",
        "criteria-1-ask_if-answers": "Very bad\n2",
    })  # fmt: skip

    assert of_itself == {"criterion": "quality", "is": [2], "outputs": "any"}
    instrument.refresh_from_db()
    assert instrument.newest is not None, page.context["faults"]
    asked = instrument.newest.content["criteria"][1]["ask_if"]
    assert asked == {"criterion": "quality", "is": [1, 2], "outputs": "every"}


def test_condition_on_marks_and_on_a_correction_is_chosen_by_words_and_shown_again(staff, jane):
    content = json.loads((GALLERY / "mqm.json").read_bytes())
    corrected = json.loads((GALLERY / "post_edit.json").read_bytes())["criteria"][0]
    why = {
        "key": "reason", "label": "Reason", "per": "output", "question": "Why?",
        "scale": {"kind": "text"}, "required": False,
    }  # fmt: skip
    content |= {"key": "asked", "practice": [], "translations": {}}
    content["criteria"] = [content["criteria"][0], corrected, why, why | {"key": "how"}]
    instrument = import_instrument(data=content, by=jane)[0].instrument
    first, second = ({f"criteria-{n}-ask_if-{name}": text for name, text in fields.items()}
                     for n, fields in ((2, {"criterion": "errors", "test": "has",
                                            "answers": "Major\nmistranslation"}),
                                       (3, {"criterion": corrected["key"],
                                            "test": "unchanged"})))  # fmt: skip

    page = post(staff, instrument, **{"do": "save"}, **first, **second)

    instrument.refresh_from_db()
    assert list_faults(page) == []
    asked = [question.get("ask_if") for question in instrument.newest.content["criteria"][2:]]
    kinds = {"severity": "major", "category": "mistranslation"}
    assert asked == [
        {"criterion": "errors", "has": kinds},
        {"criterion": corrected["key"], "changed": False},
    ]
    shown = read_form(staff.get(reverse("admin:instrument", args=[instrument.pk])).text, "builder")
    assert shown["criteria-2-ask_if-answers"].splitlines() == ["Major", "Mistranslation"]
    assert shown["criteria-3-ask_if-test"] == "unchanged"

    page = post(staff, instrument, **{"do": "save", "criteria-2-ask_if-answers": "Huge"})
    assert [place for place, *_ in list_faults(page)] == ["id_criteria-2-ask_if"]


def test_which_values_are_better_is_kept_until_answers_have_no_order(staff, jane):
    (content,) = (data for data in read_gallery() if data["key"] == "da_sqm")
    content["criteria"][0]["better"] = "lower"
    instrument = import_instrument(data=content | {"key": "turned"}, by=jane)[0].instrument
    kept = []

    for kind in ("slider", "number", "choice"):
        post(staff, instrument, do="draft", **{"criteria-0-kind": kind})
        instrument.refresh_from_db()
        draft = instrument.draft or instrument.newest.content
        kept.append(draft["criteria"][0].get("better"))

    assert kept == ["lower", "lower", None]


def test_a_question_that_becomes_a_text_needs_no_answer(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add:criteria")
    instrument.refresh_from_db()
    first, added = instrument.draft["criteria"]

    needed = []
    for kind in ("text", "likert"):
        post(staff, instrument, **{"criteria-1-kind": kind})
        instrument.refresh_from_db()
        needed.append(instrument.draft["criteria"][1].get("required", True))

    assert added["scale"] == first["scale"]
    assert needed == [False, True]
