"""The review of a set: what was answered to each item, in words, and what may still be changed."""

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Rating
from evalsite.participation.answer_table import shorten
from evalsite.studies.models import Item, Output
from tests.support.batches import import_rows
from tests.support.factories import launch, make_annotator, mint_link
from tests.support.ignoring import GROUP, ITEM, Reader, make_reviews, open_reader
from tests.support.instruments import make_built_study, read_instrument
from tests.support.tabs import SCORES, make_live, open_tab

pytestmark = pytest.mark.django_db


def read_table(reader):
    return reader.client.get(f"{reader.home}sets/1/review/").context["table"]


def report_place(reader: Reader, place: int) -> None:
    reader.open(place)
    data = {"state": reader.page.context["state"], "reason": "missing"}
    response = reader.client.post(f"{reader.address_of(place)}report/", data)
    assert response.status_code == 302


def test_each_criterion_has_a_cell_in_the_words_of_its_scale():
    reader = open_reader()
    reader.rate(1, decision="0")

    table = read_table(reader)

    assert table.text_label == "RESPONSE"
    assert table.rows[0].text == reader.item_at(1).outputs.get().text
    assert [cell.name for cell in table.rows[0].cells] == list(table.criteria)
    assert [cell.value for cell in table.rows[0].cells] == ["4", "6", "2", "7", "REJECT"]


def test_scores_of_several_outputs_share_a_cell_in_the_order_shown():
    tab = open_tab()
    tab.save()

    table = read_table(tab)

    assert table.text_label == "Meaning representation"
    assert [cell.value for cell in table.rows[0].cells] == [" · ".join(SCORES)]


def test_items_that_share_an_input_are_known_by_their_outputs():
    study = make_live(items=3)
    Item.objects.filter(study=study).update(inputs={"mr": "name[Blue Spice]"})
    tab = open_tab(study)

    table = read_table(tab)

    assert table.text_label == study.config.item.output_name
    first = Output.objects.filter(item__in=study.items.main(), position=0)
    assert {row.text for row in table.rows} == {output.text for output in first}


def test_ignored_reported_and_open_items_say_so_and_can_be_changed():
    reader = open_reader()
    reader.ignore(1, GROUP)
    report_place(reader, 4)
    reader.rate(5)

    page = reader.client.get(f"{reader.home}sets/1/review/")

    rows = page.context["table"].rows
    assert [bool(row.cells) for row in rows] == [False, False, False, False, True, False]
    assert [row.is_reported for row in rows] == [False, False, False, True, False, False]
    assert [row.is_missing for row in rows] == [False, False, False, False, False, True]
    assert all(row.state for row in rows if not row.cells)
    for place in range(1, 7):
        assert f'href="{reader.address_of(place)}"' in page.text
    assert page.context["table"].outcomes == {"rated": 1, "ignored": 3, "reported": 1, "skipped": 0}
    assert 'value="finish"' not in page.text


def test_reported_item_can_be_rated_after_all():
    reader = open_reader()
    report_place(reader, 1)

    reader.rate(1)

    assert Annotation.objects.get().outcome == Annotation.Outcome.RATED
    assert read_table(reader).rows[0].cells


def test_half_of_an_answer_to_a_reported_item_does_not_keep_a_set_from_being_finished():
    reader = open_reader(reviews=1)
    for place in (1, 2):
        reader.rate(place)
    report_place(reader, 3)
    reader.open(3)
    entered = {"state": reader.page.context["state"], "relevance": "4"}
    assert reader.client.post(reader.page.context["draft_url"], entered).status_code == 200

    finished = reader.finish()

    assert finished.context["code"]
    assert Annotation.objects.filter(outcome="reported").count() == 1


@pytest.mark.slow
def test_review_takes_as_many_queries_for_2_items_as_for_12(django_assert_num_queries):
    def open_review(reviews: int):
        reader = open_reader(reviews=reviews, responses=2, set_size=12)
        for place in range(1, 2 * reviews + 1):
            reader.ignore(place, ITEM) if place % 2 else reader.rate(place)
        return reader

    few, many = open_review(1), open_review(6)
    many.client.get(f"{many.home}sets/1/review/")  # what all studies share is kept from here on
    few.client.get(f"{few.home}sets/1/review/")
    with CaptureQueriesContext(connection) as queries:
        few.client.get(f"{few.home}sets/1/review/")

    with django_assert_num_queries(len(queries)):
        many.client.get(f"{many.home}sets/1/review/")


def test_texts_of_systems_are_shown_as_text():
    study = make_reviews(reviews=1, responses=1)
    Output.objects.filter(item__in=study.items.main()).update(text="<script>alert(1)</script>")

    reader = Reader(make_annotator(study)).start()
    page = reader.client.get(f"{reader.home}sets/1/review/")

    assert "&lt;script&gt;" in page.text


@pytest.mark.parametrize("page", ["report", "ignore"])
def test_item_is_in_view_where_it_is_reported_or_ignored(page):
    reader = open_reader()

    html = reader.client.get(f"{reader.address_of(1)}{page}/").text

    item = reader.item_at(1)
    assert item.inputs["review"] in html
    assert item.outputs.get().text in html


def test_every_utterance_is_in_view_where_an_item_is_reported():
    tab = open_tab()

    html = tab.client.get(f"{tab.address_of(1)}report/").text

    for output in tab.item.outputs.all():
        assert output.text in html


@pytest.mark.parametrize("method", ["get", "post"])
def test_set_whose_places_all_went_to_others_has_no_review_and_earns_no_code(method):
    reader = open_reader()
    item_set = reader.me.item_sets.get()
    item_set.lost_ids = item_set.item_ids
    item_set.save()

    page = getattr(reader.client, method)(f"{reader.home}sets/1/review/")

    assert page.status_code == 200
    assert [template.name for template in page.templates][:1] == ["participation/continue.html"]
    item_set.refresh_from_db()
    assert (item_set.finished_at, item_set.code) == (None, "")


def test_keyboard_reaches_finish_without_passing_every_change_link():
    tab = open_tab()
    page = {}
    for place in range(1, len(tab.me.item_sets.get().item_ids) + 1):
        page["open"] = tab.client.get(f"{tab.home}sets/1/review/").text
        tab.open(place)
        tab.save()

    page["complete"] = tab.client.get(f"{tab.home}sets/1/review/").text

    skip, finish = 'class="skip" href="#finish"', 'value="finish" id="finish"'
    assert "#finish" not in page["open"]
    assert 0 < page["complete"].index(skip) < page["complete"].index("Change<span")
    assert page["complete"].index("Change<span") < page["complete"].index(finish)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("word " * 16 + "longer and longer", ("word " * 16).strip() + "…"),
        ("x" * 100, "x" * 80 + "…"),
        ("x" * 80, "x" * 80),
    ],
)
def test_text_in_the_table_is_cut_at_a_whole_word(text, shown):
    assert shorten(text) == shown


@pytest.mark.parametrize(
    ("key", "row"),
    [
        ("helpsteer2_preference", {"prompt": "chat", "output": "Yes."}),
        ("conversation_turns", {"output": "chat"}),
    ],
)
def test_conversation_is_known_by_what_was_said_not_by_its_data(key, row):
    turns = [{"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "Yes."}]
    turns = turns[:1] if "prompt" in row else turns
    row = {name: json.dumps(turns) if cell == "chat" else cell for name, cell in row.items()}
    study = make_built_study(read_instrument(key), k=1, set_size=1, is_practice_on=False)
    systems = ("a", "b") if "prompt" in row else ("a",)
    import_rows(study, [{"item": "1", "system": system, **row} for system in systems])
    me = make_annotator(launch(study))
    claim_set(me)

    page = Client().get(f"{mint_link(me)}sets/1/review/").text

    assert "Is it open?" in page
    assert "role&quot;" not in page


def test_a_criterion_without_an_answer_leaves_no_name_in_the_review():
    reader = open_reader()
    reader.rate(1, decision="0")
    Rating.objects.filter(criterion="fluency").delete()

    page = reader.client.get(f"{reader.home}sets/1/review/").text

    assert 'data-name="FLUENCY"' not in page
    assert 'data-name="DOMAIN ACCURACY"' in page
