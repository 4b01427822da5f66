"""Items: how far people's answers are apart, and one item as people saw it, with their answers."""

import re
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.decisions.exclusions import exclude
from evalsite.decisions.models import Note
from evalsite.handout.models import Annotation
from evalsite.instruments.scales import read_scale
from evalsite.results.items.answers import find_furthest
from evalsite.results.items.records import list_records
from evalsite.results.items.spread import Spread, find_limit, measure_records, read_counted
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.results.test_answer_words import (
    HOSTILE,
    OPTIONS,
    REPLIES,
    TALK,
    answer,
    make_row,
    make_study_of,
    prefer,
)
from tests.site.test_staff_pages import member, url
from tests.support.experts import invite
from tests.support.factories import launch, make_study, make_user
from tests.support.instruments import make_built_study, read_instrument
from tests.support.planned import SCORES, add_person, make_planned_study

pytestmark = pytest.mark.django_db


def rate(study: Study, item: Item, *values: float, system: int = 0) -> list[Annotation]:
    """One answer by a person each, with the same value on every criterion, to one output."""
    output = item.outputs.get(position=system)
    return [
        answer(
            study,
            item,
            *((criterion.key, make_row(output.pk, value)) for criterion in study.config.criteria),
            order=(0, 1, 2),
        )
        for value in values
    ]


def measure(study: Study, *, is_everyone: bool = False) -> list[Spread]:
    systems = list(study.systems.order_by("name").values_list("pk", flat=True))
    ratings = read_counted(study, is_everyone=is_everyone)
    return measure_records(list_records(study), study.config.criteria[0], ratings, systems)


def address(study: Study, item: Item) -> str:
    return reverse("admin:results-item", args=[study.pk, item.pk])


def read_main(response: Any) -> str:
    # hidden fields hold random letters, which may spell a name
    return re.sub('type="hidden"[^>]*', "", response.text.partition("<main")[2])


# --- how far apart --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "limit"),
    [
        ({"kind": "likert", "points": [{"value": n, "label": ""} for n in range(1, 6)]},
         ("points", 3, 4)),
        ({"kind": "likert", "points": [{"value": n, "label": ""} for n in range(1, 8)]},
         ("points", 4, 6)),
        ({"kind": "slider", "minimum": 0, "maximum": 100, "low": "a", "high": "b"},
         ("points", 25, 100)),
        ({"kind": "preference", "points": [{"value": n, "label": str(n)} for n in range(-2, 3)]},
         ("steps", 3, 4)),
        ({"kind": "preference", "points": [{"value": n, "label": str(n)} for n in (-2, -1, 1, 2)]},
         ("steps", 3, 4)),
        ({"kind": "decision", "yes": "Yes", "no": "No"}, ("share", 0.5, 1)),
        ({"kind": "choice", "options": OPTIONS}, ("share", 0.5, 1)),
    ],
)  # fmt: skip
def test_what_is_far_apart_depends_on_the_scale(scale, limit):
    if scale["kind"] == "likert":
        ends = scale["points"][0], scale["points"][-1]
        for end in ends:
            end["label"] = "End"

    assert find_limit(read_scale(scale)) == limit


@pytest.mark.parametrize(
    ("protocol", "values", "apart", "is_wide"),
    [
        # five points: 3 apart; magnitudes: four times
        ("dialogue", (1, 4), 3, True),
        ("dialogue", (2, 4), 2, False),
        ("dialogue", (3, 3), 0, False),
        ("magnitude", (25, 100), 4, True),
        ("magnitude", (26, 100), 100 / 26, False),
    ],
)
def test_answers_to_one_output_are_as_far_apart_as_the_extremes(protocol, values, apart, is_wide):
    study = make_study(items=1, protocol=protocol)
    item = study.items.main().get()
    rate(study, item, *values)
    # nobody else rated this output: answers to two outputs aren't apart
    rate(study, item, 1, system=1)

    (spread,) = measure(study)

    assert spread.apart == pytest.approx(apart)
    assert spread.is_wide == is_wide
    assert spread.answers == 3


def test_marks_of_magnitudes_lie_between_the_answers_given(staff_client):
    study = make_study(items=2, protocol="magnitude")
    low, high = study.items.main().order_by("key")
    rate(study, low, 20)
    rate(study, high, 120)

    page = staff_client.get(url("results-items", study))

    # the question allows up to 999,999: all answers would have one shade
    assert [(mark.shade, mark.words) for mark in page.context["key"]] == [
        ("p5", "120"), ("p1", "20"),
    ]  # fmt: skip
    shades = [{square.shade for square in row["squares"]} for row in page.context["items"]]
    assert sorted(shades, key=str) == [{"p1"}, {"p5"}]


def test_one_answer_is_apart_from_nothing():
    study = make_study(items=1, protocol="dialogue")
    rate(study, study.items.main().get(), 5)

    (spread,) = measure(study)

    assert (spread.apart, spread.is_wide) == (None, False)


@pytest.mark.parametrize(
    ("grades", "apart", "is_wide", "difference"),
    [
        # below 0: the first is better; None: both good
        ((-2, 1), 3, True, 0),
        ((-2, -1), 1, False, 2),
        ((-2, None), 2, False, 1),
        ((2, 2, 1, 1, -2), 4, True, -3),
        ((None, None), 0, False, 0),
    ],
)
def test_steps_of_a_preference_count_both_good_as_the_middle(grades, apart, is_wide, difference):
    study, item = make_study_of("arena_preference", *REPLIES, prompt="Where?")
    for grade in grades:
        number = 0 if grade is None else 1 if grade < 0 else 2
        both = {"both": "good"} if grade is None else {}
        answer(study, item, prefer(item, number, abs(grade or 0), **both))

    (spread,) = measure(study)

    assert (spread.apart, spread.is_wide, spread.difference) == (apart, is_wide, difference)


def test_without_an_order_answers_are_apart_without_a_majority():
    content = read_instrument("quality") | {"practice": []}
    content["criteria"] = [
        {"key": "topic", "label": "Topic", "per": "output", "question": "Which?",
         "scale": {"kind": "choice", "options": [{"key": key, "label": key} for key in "abc"]}}
    ]  # fmt: skip
    study = make_built_study(content, is_practice_on=False)
    batch = Batch.objects.create(study=study, file_name="a.csv", sha256="0" * 64, rows=2)
    system = System.objects.create(study=study, name="v1")
    items = []
    for number, values in enumerate(((1, 1, 2), (1, 2, 3, 3), (1, 1, 2, 2))):
        item = Item.objects.create(
            study=study, batch=batch, **item_keys(study, key=f"i{number}", group=f"g{number}")
        )
        output = Output.objects.create(study=study, item=item, system=system, position=0, text="A")
        items.append((item, output, values))
    launch(study)
    for item, output, values in items:
        for value in values:
            detail = {"option": "abc"[value - 1]}
            row = make_row(output.pk, value, detail=detail)
            answer(study, item, ("topic", row), order=(0,))

    spreads = measure(study)

    assert [round(spread.apart, 3) for spread in spreads] == [0.333, 0.5, 0.5]
    assert [spread.is_wide for spread in spreads] == [False, True, True]
    assert [spread.difference for spread in spreads] == [None, None, None]


def test_a_difference_is_between_the_highest_and_the_lowest_mean_of_a_system():
    study = make_study(items=1, protocol="dialogue")
    item = study.items.main().get()
    for system, values in enumerate(((1, 2), (5, 4), (3,))):
        rate(study, item, *values, system=system)

    (spread,) = measure(study)

    assert spread.difference == pytest.approx(4.5 - 1.5)


def test_excluded_answers_count_with_everyone_included_only():
    study = make_study(items=1, protocol="dialogue")
    wild, _ = rate(study, study.items.main().get(), 5, 1)
    exclude(study=study, annotations=[wild], reason="A slip", by=make_user())

    (spread,) = measure(study)
    (everyone,) = measure(study, is_everyone=True)

    assert (spread.answers, spread.apart) == (1, None)
    assert (everyone.answers, everyone.apart) == (2, 4)


@pytest.mark.parametrize(
    ("values", "furthest"),
    [
        ((2, 2, 1, 1, -2), 4),
        ((1, 1, 5), 2),
        # two are as far; everyone agrees; two people only
        ((1, 1, 5, 5), None),
        ((3, 3, 3), None),
        ((1, 5), None),
        (("a", "a", "b"), 2),
        (("a", "b", "c"), None),
    ],
)
def test_one_answer_is_marked_if_it_alone_is_furthest_from_the_others(values, furthest):
    assert find_furthest(list(enumerate(values))) == furthest


def test_outputs_that_are_rated_alone_are_one_item(staff_client):
    study = make_built_study(read_instrument("quality"), is_practice_on=False)
    batch = Batch.objects.create(study=study, file_name="a.csv", sha256="0" * 64, rows=4)
    for number in (1, 2):
        for name in ("v1", "v2"):
            system = System.objects.get_or_create(study=study, name=name)[0]
            keys = item_keys(study, key=f"{number}-{name}", group=f"talk {number}")
            item = Item.objects.create(study=study, batch=batch, **keys)
            Output.objects.create(study=study, item=item, system=system, position=0, text="A")
    withdrawn = study.items.main().order_by("pk")[0]
    Item.objects.filter(pk=withdrawn.pk).update(kind="withdrawn")

    records = list_records(study)

    assert [(record.number, record.name, len(record.items)) for record in records] == [
        (1, "talk 1", 1), (2, "talk 2", 2),
    ]  # fmt: skip
    page = staff_client.get(url("results-items", study))
    entries = [entry for group in page.context["frame"].groups for entry in group.entries]
    assert [entry.note for entry in entries if entry.label == "Items"] == ["2"]
    assert page.context["total"] == 2


# --- the list -------------------------------------------------------------------------------------


@pytest.fixture
def study() -> Study:
    """Three items: with answers 1, 4 and 3 points apart, the last two by different systems."""
    study = make_study(items=3, protocol="dialogue")
    for item, values in zip(
        study.items.main().order_by("key"), ((2, 3), (1, 5), (1, 4)), strict=True
    ):
        rate(study, item, *values)
    return study


def read_titles(page: Any) -> list[str]:
    return [row["title"] for row in page.context["items"]]


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("order", "keys"),
    [
        ("", ["002", "003", "001"]),
        ("-apart", ["001", "003", "002"]),
        ("item", ["001", "002", "003"]),
        ("-item", ["003", "002", "001"]),
        ("comments", ["003", "001", "002"]),
        ("answers", ["001", "002", "003"]),
        ("difference", ["001", "002", "003"]),
        ("nonsense", ["002", "003", "001"]),
    ],
)
def test_any_column_sorts(study, staff_client, order, keys):
    last = study.items.main().order_by("key").last()
    Annotation.objects.filter(item=last).update(note="Odd")

    page = staff_client.get(f"{url('results-items', study)}?order={order}")

    assert read_titles(page) == [f"item-{key}" for key in keys]
    assert (page.context["wide"], page.context["total"]) == (2, 3)


def test_a_column_that_sorts_leads_to_its_other_order(study, staff_client):
    page = staff_client.get(f"{url('results-items', study)}?order=apart")

    heads = {head["name"]: (head["order"], head["sort"]) for head in page.context["heads"]}
    assert heads["apart"] == ("-apart", "descending")
    assert heads["item"] == ("item", "")
    assert 'aria-sort="descending"' in page.text


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("q=Place+3", ["003"]),
        ("answers=comments", ["002"]),
        ("answers=notes", ["001"]),
        ("answers=held", ["003"]),
        ("q=nothing+like+it", []),
        (f"q={'a' * 300}", ["002", "003", "001"]),
    ],
)
def test_items_can_be_filtered(study, staff_client, query, keys):
    first, second, third = study.items.main().order_by("key")
    Note.objects.create(study=study, item=first, text="Look", author=make_user())
    Annotation.objects.filter(item=second).update(note="Odd")
    Item.objects.filter(pk=third.pk).update(held_at="2026-11-29T10:00Z")

    page = staff_client.get(f"{url('results-items', study)}?{query}")

    assert read_titles(page) == [f"item-{key}" for key in keys]


def test_items_are_measured_on_the_primary_question_unless_another_is_chosen(study, staff_client):
    first = study.config.criteria[0].key
    last = study.config.criteria[-1].key
    assert first != last

    page = staff_client.get(f"{url('results-items', study)}?question={last}")

    assert page.context["choice"].criterion.key == last
    assert staff_client.get(url("results-items", study)).context["choice"].criterion.key == first


def test_answers_are_marks_with_words_for_those_who_cannot_see_them(study, staff_client):
    page = staff_client.get(url("results-items", study))

    widest = page.context["items"][0]
    assert [square.shade for square in widest["squares"]] == ["p5", "p1"]
    assert widest["words"].startswith("baseline: 1 × 5")
    assert f'aria-label="{widest["words"].split(";")[0]}' in page.text.replace("&quot;", '"')


def test_an_item_without_answers_has_none_that_are_apart(staff_client):
    study = make_study(items=2, protocol="dialogue")

    page = staff_client.get(url("results-items", study))

    assert (page.context["has_answers"], page.context["wide"]) == (False, 0)
    assert [row["apart"] for row in page.context["items"]] == ["–", "–"]
    assert staff_client.get(address(study, study.items.main()[0])).status_code == 200


def test_a_study_without_items_has_a_page_of_them(staff_client):
    page = staff_client.get(url("results-items", make_study(items=0)))

    assert (page.status_code, page.context["items"]) == (200, [])


def test_forty_systems_fit_into_a_row(staff_client):
    study = make_study(items=1, protocol="dialogue")
    item = study.items.main().get()
    for number in range(40):
        system = System.objects.create(study=study, name=f"system {number:02}")
        output = Output.objects.create(
            study=study, item=item, system=system, position=number + 3, text="A"
        )
        answer(study, item, (study.config.criteria[0].key, make_row(output.pk, 3)), order=range(43))

    page = staff_client.get(url("results-items", study))
    shown = staff_client.get(address(study, item))

    assert len(page.context["items"][0]["squares"]) == 40
    assert len(shown.context["outputs"]) == 43


# --- one item ---------------------------------------------------------------------------------


def test_previous_and_next_keep_order_and_filter(study, staff_client):
    first, second, third = study.items.main().order_by("key")

    page = staff_client.get(f"{address(study, third)}?order=apart&q=Place")
    last = staff_client.get(f"{address(study, first)}?order=apart&q=Place")

    context = page.context
    assert (context["place"], context["total"]) == (2, 3)
    assert (context["previous"], context["next"]) == (second.pk, first.pk)
    assert f"{address(study, first)}?q=Place&amp;order=apart" in page.text
    assert last.context["next"] is None


def test_an_item_that_the_filter_leaves_out_is_shown_without_a_place(study, staff_client):
    first = study.items.main().order_by("key")[0]

    page = staff_client.get(f"{address(study, first)}?q=Place+3")

    assert (page.status_code, page.context["place"]) == (200, None)


def test_an_item_of_another_study_is_not_found(study, staff_client):
    other = make_study(items=1, title="Another")

    page = staff_client.get(address(study, other.items.main().get()))

    assert page.status_code == 404


def test_an_item_is_shown_as_people_saw_it_with_everybodys_answer(staff_client):
    study, item = make_study_of("arena_preference", *REPLIES, prompt="**Where** is my parcel?")
    first, second = (str(output.pk) for output in item.outputs.order_by("position"))
    comment = ("preference", make_row(None, None, part="comment", text=HOSTILE))
    reasons = {first: ["incorrect"], second: ["useful"]}
    answer(study, item, prefer(item, 2, 2, reasons=reasons), comment, order=(1, 0))
    answer(study, item, prefer(item, 2, 2))
    answer(study, item, prefer(item, 1, 2), note="Both are long")

    page = staff_client.get(address(study, item))

    main = read_main(page)
    assert "<strong>Ship</strong>" in main
    assert "```" not in main
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in main
    assert HOSTILE not in main
    assert "Both are long" in main
    rows = list(page.context["rows"])
    furthest = [row for row in rows if any(named.is_furthest for named in row["answers"])]
    assert [row["answers"][0].words for row in furthest] == ["v1 is much better"]
    (reasoned,) = [row for row in rows if row["reasons"]]
    # the system that is preferred more often comes first, as in the report
    assert reasoned["reasons"] == [("v2", "Useful"), ("v1", "Incorrect")]
    assert reasoned["first"] == "v2"
    assert reasoned["answers"][0].words == "v2 is much better"
    assert page.context["votes"] == {
        "total": 3, "leader": "v2", "leading": 2, "other": "v1", "against": 1, "is_far": True,
    }  # fmt: skip
    assert [(output["name"], output["first"], output["seen"]) for output in page.context["outputs"]
            ] == [("v2", 1, 3), ("v1", 2, 3)]  # fmt: skip


def test_conversations_are_drawn_and_answers_have_words(staff_client):
    study, item = make_study_of("conversation_turns", TALK, goal="A parcel")
    output = item.outputs.get().pk
    for value in (1, 5):
        answer(study, item, ("overall", make_row(output, value)), order=(0,))

    page = staff_client.get(f"{address(study, item)}?question=overall")

    assert '<ol class="dialogue">' in page.text
    assert "&quot;role&quot;" not in page.text
    words = {row["answers"][0].words for row in page.context["rows"]}
    assert words == {"1 (Bad)", "5 (Excellent)"}


def test_long_and_right_to_left_texts_are_whole(staff_client):
    study, item = make_study_of("arena_preference", *REPLIES, prompt="Where?")
    text = "\N{RIGHT-TO-LEFT OVERRIDE}مرحبا " + "word " * 4_000
    comment = ("preference", make_row(None, None, part="comment", text=text))
    answer(study, item, prefer(item, 2, 2), comment)

    page = staff_client.get(address(study, item)).text

    assert page.count("word ") >= 4_000
    assert 'dir="auto"' in page


def test_skips_reports_and_answers_that_do_not_count_say_so(staff_client, study):
    item = study.items.main().order_by("key")[0]
    skipped, surplus = rate(study, item, 3, 3)
    for annotation, fields in (
        (skipped, {"status": "skipped", "outcome": "skipped", "note": "Too long"}),
        (surplus, {"status": "surplus"}),
    ):
        Annotation.objects.filter(pk=annotation.pk).update(slot=None, **fields)

    page = staff_client.get(address(study, item))

    rows = {row["annotation"].pk: row for row in page.context["rows"]}
    assert rows[skipped.pk]["outcome"] == "Skipped"
    assert ("", "Too long") in rows[skipped.pk]["written"]
    assert not rows[surplus.pk]["is_counted"]
    assert "not counted" in page.text


def test_excluded_people_are_shown_and_marked_with_everyone_included(study, staff_client):
    item = study.items.main().order_by("key")[0]
    annotation = item.annotations.first()
    exclude(study=study, participants=[annotation.participant], reason="Too fast", by=make_user())

    without = staff_client.get(address(study, item))
    everyone = staff_client.get(f"{address(study, item)}?people=everyone")

    assert len(without.context["rows"]) == 1
    marks = [row["is_excluded"] for row in everyone.context["rows"]]
    assert sorted(marks) == [False, True]


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [({"active_ms": 8_200}, 8), ({}, 30), ({"origin": "imported"}, None)],
)
def test_an_answer_shows_its_active_time_or_else_the_whole(staff_client, study, fields, seconds):
    item = study.items.main().order_by("key")[0]
    given = item.annotations.first()
    times = {"active_ms": None, "submitted_at": given.started_at + timedelta(seconds=30)}
    item.annotations.update(**times | fields)

    page = staff_client.get(address(study, item))

    assert {row["seconds"] for row in page.context["rows"]} == {seconds}


def test_invited_people_have_names_for_those_who_may_see_them():
    study = make_study(items=2, protocol="magnitude", k=5)
    expert = invite(study, "Ana Costa")[0]
    item = study.items.main()[0]
    given = rate(study, item, 100)[0]
    Annotation.objects.filter(pk=given.pk).update(participant=expert.link.participant, note="Odd")
    owner = Client()
    owner.force_login(make_user(), backend="django.contrib.auth.backends.ModelBackend")
    pseudonym = expert.link.participant.pseudonym

    for page in (address(study, item), url("results-comments", study)):
        seen = owner.get(page).text
        hidden = member(study, "viewer").get(page).text
        assert "Ana Costa" in seen
        assert pseudonym in seen
        assert "Ana Costa" not in hidden
        assert pseudonym in hidden


# --- notes of the team ------------------------------------------------------------------------


def test_notes_have_author_and_time_and_viewers_only_read_them(staff_client, study):
    item = study.items.main().order_by("key")[0]
    note = reverse("admin:item-note", args=[study.pk, item.pk])

    for _ in range(2):
        sent = staff_client.post(f"{note}?order=item", {"text": "The points don’t separate them."})
    empty = staff_client.post(note, {"text": " "}, follow=True).text
    viewer = member(study, "viewer")
    page = viewer.get(address(study, item)).text

    assert Note.objects.get().author.username == "jane"
    assert sent.url == f"{address(study, item)}?order=item#notes"
    assert "Enter a note." in empty
    assert "<b>jane:</b>" in page
    assert "Add a note" not in page
    assert viewer.post(note, {"text": "Mine"}).status_code == 403


# --- hidden results ---------------------------------------------------------------------------


def test_hidden_systems_have_numbers_by_item_and_reader_and_no_difference(staff_client):
    study = make_planned_study(items=8)
    for _ in range(2):
        add_person(study)
    Annotation.objects.update(note="Odd")

    page = staff_client.get(f"{url('results-items', study)}?order=difference")
    numbers = []
    for item in study.items.main():
        shown = staff_client.get(address(study, item))
        for name in SCORES:
            assert not re.search(rf"\b{name}\b", read_main(shown))
        texts = {output["view"].text: output["name"] for output in shown.context["outputs"]}
        stored = item.outputs.order_by("position").values_list("text", flat=True)
        numbers.append(tuple(texts[text] for text in stored))
    other = Client()
    other.force_login(make_user("kim", is_superuser=True),
                      backend="django.contrib.auth.backends.ModelBackend")  # fmt: skip
    view = other.get(address(study, study.items.main()[0]))
    comments = staff_client.get(url("results-comments", study))

    assert page.context["choice"].order == "apart"
    assert page.context["choice"].systems == []
    assert "Difference" not in read_main(page)
    # the same output is another number on another item
    assert len(set(numbers)) > 1
    assert view.status_code == 200
    for name in SCORES:
        assert not re.search(rf"\b{name}\b", read_main(page) + read_main(comments))
    assert comments.context["reasons"] is None
    assert {name for names in numbers for name in names} == {"Output 1", "Output 2", "Output 3"}


def test_pages_of_hidden_results_lead_to_the_first_output_of_an_item(staff_client):
    study = make_built_study(read_instrument("quality"), is_practice_on=False, hides_results=True)
    batch = Batch.objects.create(study=study, file_name="a.csv", sha256="0" * 64, rows=4)
    for name in ("v1", "v2"):
        system = System.objects.create(study=study, name=name)
        keys = item_keys(study, key=f"1-{name}", group="talk 1")
        item = Item.objects.create(study=study, batch=batch, **keys)
        Output.objects.create(study=study, item=item, system=system, position=0, text=f"By {name}")
    launch(study)
    first, second = study.items.main().order_by("pk")
    answer(study, second, order=(0,), note="The second")
    answer(study, first, order=(0,), note="The first")

    page = staff_client.get(f"{url('results-comments', study)}?order=item")

    # in the order of time, as the order of the file is that of systems
    comments = page.context["comments"]
    assert [comment["text"] for comment in comments] == ["The second", "The first"]
    assert {comment["record"] for comment in comments} == {first.pk}
    assert {comment["name"] for comment in comments} == {"Output 1", "Output 2"}


# --- cost -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["results-items", "results-comments", "results-item"])
def test_as_many_queries_for_200_rows_as_for_2(staff_client, name):
    study = make_study(items=2, protocol="dialogue")
    item = study.items.main()[0]
    page = address(study, item) if name == "results-item" else url(name, study)

    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert staff_client.get(page).status_code == 200
        return len(queries)

    rate(study, item, 1, 5)
    Annotation.objects.update(note="Odd", outcome="ignored", reason="other")
    count()  # what is kept for later requests
    few = count()
    rate(study, item, *([1, 5] * 99))
    Annotation.objects.update(note="Odd", outcome="ignored", reason="other")

    assert count() == few


@pytest.mark.slow
def test_pages_import_no_numbers_of_the_analysis():
    code = (
        "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'; "
        "django.setup(); import sys; "
        "import evalsite.results.items.views, evalsite.results.comments.views; "
        "print({'numpy', 'pandas'} & set(sys.modules))"
    )

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.stdout.strip() == "set()", run.stderr
