"""The builder: every draft is kept, faults are named in place, only right ones are versions."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.instruments.checks import check_instrument
from evalsite.studies.instruments import import_instrument
from evalsite.studies.models import Instrument, InstrumentMember, Study
from tests.support.factories import make_user
from tests.support.forms import read_form
from tests.support.instruments import make_built_study, read_gallery

pytestmark = pytest.mark.django_db


def begin(staff: Client, title: str = "Chat replies") -> Instrument:
    staff.post(reverse("admin:instrument-new"), {"title": title, "output_name": "Reply"})
    return Instrument.objects.get()


def post(staff: Client, instrument: Instrument, **said: Any) -> Any:
    """The builder's form, as it was shown, with these changes; its answer after redirects."""
    address = reverse("admin:instrument", args=[instrument.pk])
    shown = read_form(staff.get(address).text, "builder")
    return staff.post(address, shown | said, follow=True)


def test_form_that_nobody_changed_changes_nothing(staff, jane):
    for content in read_gallery():
        version, _ = import_instrument(data=content, by=jane)

        post(staff, version.instrument, do="draft")

        version.instrument.refresh_from_db()
        assert version.instrument.draft == {}


def test_instrument_is_built_by_hand_saved_as_a_version_and_used(staff, jane):
    instrument = begin(staff)
    post(staff, instrument, **{
        "do": "add", "q-0-label": "Helpfulness", "q-0-key": "helpfulness",
        "q-0-question": "Does the reply do what was asked?",
        "q-0-p-points-1-label": "", "q-0-p-points-2-notes": "half of it",
        "q-0-p-points-3-label": "Completely", "q-0-p-points-count": "4",
    })  # fmt: skip
    post(staff, instrument, **{"do": "draft", "q-1-label": "True", "q-1-kind": "decision"})
    post(staff, instrument, **{
        "do": "save", "q-1-key": "is_true", "q-1-question": "Is it true?", "q-1-p-yes": "True",
        "practice-0-in-source": "What is 2 + 2?", "practice-0-out-0": "4",
        "practice-0-answer-helpfulness": "3..4", "practice-0-answer-true": "true",
        "practice-0-why": "It is right.",
        "check-0-question": "What do you rate?", "check-0-choices": "*The reply\nThe message",
        "check-0-why": "Only the reply is rated.",
    })  # fmt: skip
    instrument.refresh_from_db()
    content = instrument.newest.content
    given = {"title": "Spring", "instrument": f"version:{instrument.newest.pk.hex}"}
    staff.post(reverse("admin:study-new"), given)

    helpful, true = content["criteria"]
    assert content["item"]["output_name"] == "Reply"
    assert helpful["scale"]["points"] == [
        {"value": 1, "label": "Very bad"}, {"value": 2, "label": ""},
        {"value": 3, "label": "Fair", "notes": ["half of it"]},
        {"value": 4, "label": "Completely"},
    ]  # fmt: skip
    assert true["scale"] == {"kind": "decision", "yes": "True", "no": "No"}
    assert content["practice"][0]["gold"] == {"helpfulness": ["3..4"], "is_true": [1]}
    assert content["comprehension"][0]["right"] == "The reply"
    assert instrument.draft == {}
    assert [one.key for one in Study.objects.get().config.criteria] == ["helpfulness", "is_true"]


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("said", "anchor", "words"),
    [
        ({"q-0-p-points-0-value": "one"}, "q-0", "must be a number"),
        ({"q-0-p-points-count": "1"}, "q-0", "must have at least 2 entries"),
        ({"q-0-key": "participant"}, "q-0", "is a name that the site uses itself"),
        ({"q-0-label": ""}, "q-0", "must not be empty"),
        ({"in-0-name": "system"}, "page", "is a column that every batch has"),
        ({"practice-0-out-0": "4"}, "practice", "is required"),
        ({"title": ""}, "about", "must not be empty"),
        ({"language": "English"}, "languages", "must be a language tag"),
    ],
)
def test_fault_names_its_question_and_its_reason_and_the_draft_is_kept(staff, said, anchor, words):
    instrument = begin(staff)

    page = post(staff, instrument, do="save", **said)

    assert page.status_code == 422
    faults = page.context["faults"]
    assert (anchor, True) in {(one.anchor, words in one.message) for one in faults}, faults
    assert f'href="#{anchor}"' in page.text
    assert f'id="{anchor}"' in page.text
    instrument.refresh_from_db()
    assert instrument.newest is None
    assert instrument.draft != {}
    for name, text in said.items():
        assert read_form(staff.get(reverse("admin:instrument", args=[instrument.pk])).text,
                         "builder")[name] == text  # fmt: skip


def test_fault_of_the_second_of_two_equal_columns_names_the_second(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add")

    page = post(staff, instrument, **{"do": "save", "q-1-label": "Second", "q-1-key": "quality"})

    assert [(one.anchor, one.where, one.message) for one in page.context["faults"]] == [
        ("q-1", "Question 2 (Second)", "has the same column in exports as another question"),
    ]


def test_fault_of_a_name_in_files_says_which_field_it_is_and_suggests_another_name(staff):
    instrument = begin(staff)
    post(staff, instrument, **{"do": "draft", "q-0-kind": "choice"})

    page = post(staff, instrument, **{
        "do": "save", "in-0-name": "The source", "q-0-key": "My quality",
        "q-0-p-options-0-key": "1st Option",
    })  # fmt: skip

    rule = "must be lower-case letters, digits and _, starting with a letter, at most 40 characters"
    assert [(one.where, one.message) for one in page.context["faults"]] == [
        ("Page, input 1 column", f"{rule}, such as the_source"),
        ("Question 1 (Quality), column", f"{rule}, such as my_quality"),
        ("Question 1 (Quality), option 1 key", rule),
    ]


def test_condition_on_a_question_that_is_removed_stays_until_somebody_decides(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add")
    post(staff, instrument, **{"do": "draft", "q-1-if": "quality"})
    post(staff, instrument, **{"do": "draft", "q-1-test": "at_most", "q-1-what": "2"})

    post(staff, instrument, do="remove:0")
    page = post(staff, instrument, do="save")

    assert page.status_code == 422
    assert "quality (no longer an earlier question)" in page.text
    assert "q-0" in {one.anchor for one in page.context["faults"]}
    instrument.refresh_from_db()
    assert instrument.draft["criteria"][0]["ask_if"]["criterion"] == "quality"


def test_questions_are_moved_duplicated_and_removed(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add")
    post(staff, instrument, **{"do": "up:1", "q-1-label": "Tone", "q-1-key": "tone"})
    post(staff, instrument, do="copy:0")
    removed = post(staff, instrument, do="remove:2")
    post(staff, instrument, do="undo")
    instrument.refresh_from_db()
    before = [one["key"] for one in instrument.draft["criteria"]]
    post(staff, instrument, do="remove:2")
    post(staff, instrument, do="add-input")

    instrument.refresh_from_db()
    assert "Removed “Quality”." in removed.text
    assert before == ["tone", "tone_2", "quality"]
    assert [one["key"] for one in instrument.draft["criteria"]] == ["tone", "tone_2"]
    assert [one["name"] for one in instrument.draft["item"]["inputs"]] == ["source", "input"]


def test_question_that_comes_back_has_its_edits_and_its_answers_in_examples_again(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add")
    post(staff, instrument, **{
        "do": "draft", "q-1-label": "Tone",
        **{f"{part}-0-{field}": text for part in ("examples", "practice")
           for field, text in (("in-source", "Hello?"), ("out-0", "Hi."), ("why", "It is short."),
                               ("answer-quality", "4"))},
    })  # fmt: skip
    answers = {"examples-0-answer-tone": "2", "practice-0-answer-tone": "1..2"}
    post(staff, instrument, do="draft", **answers)

    post(staff, instrument, **{"do": "remove:1", "q-1-question": "How friendly is it?"})
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
    ("kind", "said", "rating"),
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
def test_worked_example_is_rated_on_any_kind_of_question(staff, kind, said, rating):
    instrument = begin(staff)
    post(staff, instrument, **{"do": "draft", "q-0-kind": kind})
    example = {"in-source": "Hello?", "out-0": "Hi.", "answer-quality": said, "why": "It is short."}

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
        "do": "save", "q-0-label": hostile, "q-0-question": hostile, "q-0-definition": hostile,
        "q-0-p-points-0-label": hostile, "q-0-p-points-0-notes": hostile,
        "instructions": hostile,
        "in-0-label": hostile,
    })  # fmt: skip

    instrument.refresh_from_db()
    name = instrument.newest.pk.hex
    addresses = [
        reverse("admin:instruments"), reverse("admin:instrument", args=[instrument.pk]),
        reverse("admin:study-new"), reverse("admin:instrument-try", args=["version", name, 1]),
        reverse("admin:instrument-instructions", args=["version", name]),
        reverse("admin:instrument-questions", args=[instrument.pk]),
        f"{reverse('admin:instrument-language', args=[instrument.pk])}?tag=de",
    ]  # fmt: skip
    for address in addresses:
        page = staff.get(address)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "14" not in page.text or "{{ 7|add:7 }}" in page.text


def test_two_people_who_edit_lose_nothing(staff, jane):
    instrument = begin(staff)
    address = reverse("admin:instrument", args=[instrument.pk])
    tom = make_user("tom")
    InstrumentMember.objects.create(instrument=instrument, user=tom, role="editor")
    other = Client()
    other.force_login(tom)
    hers, his = (read_form(one.get(address).text, "builder") for one in (staff, other))

    staff.post(address, hers | {"do": "draft", "q-0-label": "Hers"})
    conflict = other.post(address, his | {"do": "draft", "q-0-label": "His"})
    again = other.post(
        address, read_form(conflict.text, "builder") | {"do": "draft", "q-0-label": "His"}
    )

    assert conflict.status_code == again.status_code == 409
    assert "jane changed this draft after this page was opened" in conflict.text
    assert 'value="His"' in conflict.text
    instrument.refresh_from_db()
    assert instrument.draft["criteria"][0]["label"] == "Hers"


def test_form_that_is_sent_twice_is_kept_once_and_one_from_before_says_who_changed_it(staff):
    instrument = begin(staff)
    address = reverse("admin:instrument", args=[instrument.pk])
    opened = read_form(staff.get(address).text, "builder")

    answers = [staff.post(address, opened | {"do": "save"}, follow=True) for _ in range(2)]
    post(staff, instrument, **{"do": "draft", "q-0-label": "Later"})
    before = staff.post(address, opened | {"do": "draft", "q-0-label": "Earlier"})

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
    changed = post(staff, instrument, **{"do": "draft", "q-1-question": "Something else?"}).text

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

    post(staff, instrument, **{
        "do": "add", "out-kind": "conversation", "outputs": "one", "q-0-label": "This turn",
        "q-0-key": "this_turn", "q-0-question": "How good is it?",
    })  # fmt: skip
    post(staff, instrument, **{"do": "draft", "q-0-per": "turn"})
    half_way = staff.get(reverse("admin:instrument", args=[instrument.pk])).text
    post(staff, instrument, **{
        "do": "draft", "q-0-roles": "bot, assistant", "practice-0-out-0": spoken,
        "practice-0-in-source": "A question", "practice-0-answer-this_turn": "4..5",
        "practice-0-why": "It answers.",
    })  # fmt: skip

    instrument.refresh_from_db()
    question = instrument.draft["criteria"][0]
    assert "Which of them" in half_way
    assert question["per"] == "turn"
    assert question["turns"] == {"roles": ["bot", "assistant"]}
    (practice,) = instrument.draft["practice"]
    assert practice["outputs"] == [json.loads(spoken)]
    assert practice["gold"] == {"this_turn": [["4..5"]]}
    assert not [one for one in check_instrument(instrument.draft) if "turn" in one.place]


@pytest.mark.torture
def test_column_follows_its_name_until_a_version_has_it_and_what_refers_to_it_follows_too(staff):
    instrument = begin(staff)
    post(staff, instrument, **{
        "do": "add", "practice-0-out-0": "4", "practice-0-why": "So.", "practice-0-in-source": "?",
        "practice-0-answer-quality": "2",
    })  # fmt: skip
    post(staff, instrument, **{"do": "draft", "q-1-if": "quality", "q-1-test": "at_least"})
    language = reverse("admin:instrument-language", args=[instrument.pk])
    texts = staff.get(language, {"tag": "de"}).context["texts"]
    number = next(one["number"] for one in texts if one["address"] == "criteria.quality.label")
    instrument.refresh_from_db()
    staff.post(language, {"tag": "de", "revision": instrument.revision, f"text-{number}": "Güte"})

    post(staff, instrument, **{
        "do": "draft", "q-1-what": "2", "q-0-label": "Tone", "q-1-label": "Tone",
    })  # fmt: skip
    instrument.refresh_from_db()
    draft = instrument.draft
    post(staff, instrument, **{"do": "save", "practice-0-answer-tone_2": "3"})
    post(staff, instrument, **{"do": "draft", "q-0-label": "Sound"})

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
    post(staff, instrument, do="add", outputs="several", questions="below")
    post(staff, instrument, **{"do": "draft", "q-1-kind": "text", "q-1-if": "quality"})
    post(staff, instrument, **{"do": "draft", "q-1-per": "item", "q-1-tick-2": "on"})
    shown = staff.get(reverse("admin:instrument", args=[instrument.pk])).text
    instrument.refresh_from_db()
    of_itself = instrument.draft["criteria"][1]["ask_if"]

    page = post(staff, instrument, **{"do": "save", "q-1-which": "every", "q-1-tick-1": "on"})

    assert of_itself == {"criterion": "quality", "is": [2], "outputs": "any"}
    assert "For every output" in shown
    instrument.refresh_from_db()
    assert instrument.newest is not None, page.context["faults"]
    asked = instrument.newest.content["criteria"][1]["ask_if"]
    assert asked == {"criterion": "quality", "is": [1, 2], "outputs": "every"}


def test_which_values_are_better_is_kept_until_answers_have_no_order(staff, jane):
    (content,) = (data for data in read_gallery() if data["key"] == "da_sqm")
    content["criteria"][0]["better"] = "lower"
    instrument = import_instrument(data=content | {"key": "turned"}, by=jane)[0].instrument
    kept = []

    for kind in ("slider", "number", "choice"):
        post(staff, instrument, do="draft", **{"q-0-kind": kind})
        instrument.refresh_from_db()
        draft = instrument.draft or instrument.newest.content
        kept.append(draft["criteria"][0].get("better"))

    assert kept == ["lower", "lower", None]


def test_a_comment_box_needs_no_answer_whether_it_is_added_or_becomes_one(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add:text")
    post(staff, instrument, do="add")
    instrument.refresh_from_db()
    first, added, other = instrument.draft["criteria"]

    needed = []
    for kind in ("text", "likert"):
        post(staff, instrument, **{"q-2-kind": kind})
        instrument.refresh_from_db()
        needed.append(instrument.draft["criteria"][2].get("required", True))

    assert (added["label"], added["required"]) == ("Comment", False)
    assert other["scale"] == first["scale"]
    assert needed == [False, True]
