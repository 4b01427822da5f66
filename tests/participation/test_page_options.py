"""What an instrument says of its page: how inputs are shown, and in which order outputs are."""

import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from evalsite.builder.trying import render_preview
from evalsite.core.jobs.services import run_job
from evalsite.data.fsck import find_breaches
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments import checks
from evalsite.studies.models import Study
from tests.support.answering import RatingPage
from tests.support.batches import import_rows
from tests.support.bundles import check, pack
from tests.support.exports import export, read
from tests.support.factories import launch, make_user, open_to_everyone
from tests.support.instruments import GALLERY, make_built_study
from tests.support.sheet_pages import Sheet

pytestmark = pytest.mark.django_db


def read_instrument(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GALLERY / f"{name}.json").read_bytes())
    return content


def rate(content: dict[str, Any], rows: list[dict[str, str]], **fields: Any) -> Study:
    study = make_built_study(content, is_demo=True, **fields)
    import_rows(study, rows)
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    open_to_everyone(study)
    list(simulate_crowd(study, participants=4, seed="page"))
    return study


def test_inputs_are_whole_whatever_their_display_says_or_not_shown():
    content = read_instrument("da_sqm")
    content["item"]["inputs"][1]["display"] = "folded"
    content["item"]["inputs"] += [
        {"name": "report", "label": "Report", "kind": "text", "display": "scroll"},
        {"name": "secret", "label": "Secret", "kind": "text", "shown": False},
    ]
    content["practice"] = []

    page = render_preview(checks.read_instrument(content))

    assert page.count('data-read="input"') == 3
    assert "<details" not in page
    assert "Secret" not in page
    content["layout"]["inputs"] = "none"
    assert "Report" not in render_preview(checks.read_instrument(content))


@pytest.mark.slow
def test_outputs_in_the_given_order_are_shown_to_everyone_as_in_the_file():
    content = read_instrument("summeval")
    content["item"]["outputs"] |= {"least": 3, "most": 3}
    content["layout"] |= {"outputs": "several", "order": "given"}
    del content["practice"]
    rows = [
        {"item": f"i{n}", "document": f"Text {n}", "system": name, "output": f"{name} {n}"}
        for n in range(6)
        for name in ("gamma", "alpha", "beta")
    ]

    rate(content, rows, k=2, set_size=3, is_practice_on=False)

    orders = list(Annotation.objects.counted().values_list("order_shown", flat=True))
    assert len(orders) == 12
    assert all(order == [0, 1, 2] for order in orders)


@pytest.mark.torture
@pytest.mark.slow
def test_passages_of_a_document_come_in_the_order_of_the_file_where_that_is_given():
    rows = [
        {"item": f"{doc}{n}", "group": doc, "source": f"{doc} {n}", "system": name,
         "output": f"{name} {doc} {n}"}
        for doc in ("b", "a", "c")
        for n in range(3)
        for name in ("one", "two")
    ]  # fmt: skip

    study = rate(read_instrument("da_sqm"), rows, k=2, set_size=6, groups="together")

    items = [one.key for one in study.items.main().order_by("pk")]
    by_set: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in read(export(study)):
        if row["kind"] == "main":
            own = by_set.setdefault((row["participant"], row["group"]), [])
            own.append((int(row["place_in_set"]), items.index(row["item"])))
    assert len(by_set) >= 6
    for own in by_set.values():
        assert [place for _, place in sorted(own)] == sorted(place for _, place in own)


@pytest.mark.torture
@pytest.mark.slow
def test_statements_of_each_output_come_from_its_row_and_items_of_one_input_stay_a_group():
    content = read_instrument("factual_checklist")
    rows = [
        {"item": f"i{n}", "document": f"Report {n}", "system": name, "output": f"{name} {n}",
         "sentences": "\n".join(f"{name} says {line}." for line in range(lines))}
        for n in range(3)
        for name, lines in (("one", 1), ("two", 3))
    ]  # fmt: skip

    study = rate(content, rows, k=1, set_size=2)

    assert study.items.main().values("group").distinct().count() == 3
    counts = {}
    for rating in Rating.objects.filter(study=study, criterion="supported"):
        if rating.annotation.item.kind == "main":
            system = rating.output.system.name
            counts[system] = max(counts.get(system, 0), int(rating.part))
    assert counts == {"one": 1, "two": 3}


# --- options with words of one's own, and in an order of each person ------------------------


def with_options(kind: str, **more: Any) -> dict[str, Any]:
    """An instrument with one question of options; what is wrong is asked after “other”."""
    content = read_instrument("summeval")
    options = [{"key": key, "label": key.title()} for key in "abcdefgh"]
    options.append({"key": "other", "label": "Something else", "other": True})
    test = "is" if kind == "choice" else "includes"
    content["criteria"] = [
        {"key": "fault", "label": "Why", "per": "output", "question": "Why?",
         "scale": {"kind": kind, "options": options, **more}},
        {"key": "sure", "label": "Sure", "per": "output", "question": "Are you sure?",
         "ask_if": {"criterion": "fault", test: ["other"]},
         "scale": {"kind": "decision", "yes": "Yes", "no": "No"}},
    ]  # fmt: skip
    del content["practice"]
    return content


def open_page(content: dict[str, Any]) -> RatingPage:
    """A study of two items of one output, and the rating page of somebody."""
    study = make_built_study(content, is_practice_on=False, k=2, set_size=2)
    rows = [
        {"item": f"i{n}", "document": f"Text {n}", "system": "one", "output": f"Summary {n}"}
        for n in range(2)
    ]
    import_rows(study, rows)
    return RatingPage(launch(study))


def test_comment_that_is_missing_on_a_sheet_is_named_with_a_link_to_its_box():
    content = with_options("choice")
    content["criteria"][0]["comment"] = {"ask": "required", "label": "Say why"}
    content["layout"]["screen"] = "sheet"
    study = make_built_study(content, is_practice_on=False, k=1, set_size=2)
    import_rows(study, [{"item": "a", "document": "A text", "system": "one", "output": "Short"}])
    sheet = Sheet(launch(study))

    page = sheet.save({"q1-fault": "b"})

    assert page.status_code == 422
    assert sheet.show(page).errors == ["q1-fault.comment"]
    assert 'id="q1-fault.comment"' in sheet.part_of(1)


WORDS = "  Too\t“late” <b> & 2 "


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sent", "ticked"),
    [
        ("choice", {"fault": "other"}, [("", 9, "Too “late” <b> & 2")]),
        ("choices", {"fault.a": "1", "fault.other": "1"},
         [("a", 1, ""), ("other", 1, "Too “late” <b> & 2")]),
        # words at an option that was not chosen say nothing
        ("choices", {"fault.a": "1"}, [("a", 1, "")]),
    ],
)  # fmt: skip
def test_words_of_ones_own_are_stored_with_their_option_exported_and_shown_again(
    kind, sent, ticked
):
    page = open_page(with_options(kind))

    page.post(sent | {"fault.other-text": WORDS, "sure": "1"})

    rows = Rating.objects.filter(criterion="fault", value__gt=0).order_by("pk")
    assert [(row.part, row.value, row.text) for row in rows] == ticked
    is_other = "fault.other" in sent or sent.get("fault") == "other"
    assert Rating.objects.filter(criterion="sure").exists() == is_other
    study = page.me.study
    assert find_breaches(study) == []
    exported = [row for row in read(export(study)) if row["criterion"] == "fault"]
    assert [row["text"] for row in exported if row["value"] != "0"] == [one[2] for one in ticked]
    if is_other:
        again = page.client.get(page.address).text
        assert 'value="Too “late” &lt;b&gt; &amp; 2"' in again


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.usefixtures("checks_here")
@pytest.mark.parametrize("has_free_text", [True, False])
def test_bundle_with_words_of_ones_own_is_sound_with_and_without_them(has_free_text):
    page = open_page(with_options("choices"))
    page.post({"fault.a": "1", "fault.other": "1", "fault.other-text": WORDS, "sure": "1"})

    report = check(pack(page.me.study, has_free_text=has_free_text))

    assert report.faults == []


@pytest.mark.parametrize("kind", ["choice", "choices"])
def test_each_person_meets_shuffled_options_in_an_order_of_their_own_on_every_item(kind):
    page = open_page(with_options(kind, shuffle=True))

    orders = []
    for person in (page, RatingPage(page.me.study)):
        first = person.questions[0].scale.shown_options
        person.post({"fault": "c"} if kind == "choice" else {"fault.c": "1"})
        person.show(person.client.get(f"{person.home}sets/1/items/2/"))
        assert person.questions[0].scale.shown_options == first
        orders.append([one.key for one in first])

    assert orders[0] != orders[1]
    assert [order[-1] for order in orders] == ["other", "other"]
    assert sorted(orders[0]) == sorted(orders[1])
    values = Rating.objects.filter(criterion="fault", value__gt=0).values_list("value", "part")
    # the place in the instrument, wherever it was on the page
    assert set(values) == {(3, "")} if kind == "choice" else {(1, "c")}


def test_scales_of_five_points_are_all_lists_where_one_of_them_has_to_be():
    content = read_instrument("adequacy_fluency")
    content["practice"] = []
    long_page = render_preview(checks.read_instrument(content))
    for criterion in content["criteria"]:
        criterion["scale"] = {
            "kind": "likert",
            "points": [{"value": value, "label": "Good"} for value in range(1, 6)],
        }
    short_page = render_preview(checks.read_instrument(content))

    assert (long_page.count('class="scale"'), long_page.count("row n5")) == (2, 0)
    assert (short_page.count('class="scale"'), short_page.count("row n5")) == (0, 2)


def test_a_missing_graded_preference_is_asked_for_in_the_words_of_its_question():
    config = checks.read_instrument(read_instrument("arena_preference"))
    criterion = next(one for one in config.criteria if one.key == "preference")

    with pytest.raises(ValidationError) as refused:
        criterion.scale.make_field(criterion, "Reply").clean("")

    assert refused.value.messages == ["Choose an answer to “Which reply is better?”"]
