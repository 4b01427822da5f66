"""The sheet: all items of a set on one page, each of which is answered and saved by itself."""

import json
import re
from datetime import timedelta

import pytest

from evalsite.handout.models import Annotation, Draft
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import ItemSet
from tests.support.annotators import read_fields
from tests.support.sheet_pages import NAMES, Sheet, answer, given, make_sheet
from tests.support.tabs import snapshot

pytestmark = pytest.mark.django_db


# --- what it shows ------------------------------------------------------------------------


def test_all_items_of_a_set_are_on_one_page_under_the_menu():
    sheet = Sheet()

    assert sheet.page.request["PATH_INFO"] == sheet.address
    assert re.findall(r'<h2 id="q\d-title" tabindex="-1">([^<]+)', sheet.html) == [
        "Question 1", "Question 2", "Question 3", "Question 4",
    ]  # fmt: skip
    links = re.findall(r'<li class="word"><a href="#([^"]+)">([^<]+)', sheet.html)
    assert [label for _, label in links] == ["Instructions", "Specific Definitions"]
    for anchor, _ in links:
        assert sheet.html.count(f'id="{anchor}"') == 1
    places = re.findall(
        r'name="go" value="(\d)" formnovalidate form="work"><span>(Question \d)', sheet.html
    )
    assert places == [(str(number), f"Question {number}") for number in (1, 2, 3, 4)]


def test_worst_and_best_and_the_instructions_are_there_once_and_the_points_at_each_question():
    sheet = Sheet()

    assert sheet.html.count('id="reserved"') == 1
    assert sheet.html.count("Specific Definitions</h2>") == 1
    for place in (1, 2, 3, 4):
        part = sheet.part_of(place)
        assert part.count("this had nothing to do with the conversation whatsoever") == 1
        assert part.count("The degree to which an output could have been produced by a human.") == 1
        assert part.count("Response has at least a mild relevance") == 1


def test_no_id_and_no_name_occurs_in_two_parts():
    ids = re.findall(r' id="([^"]+)"', Sheet().html)

    assert len(ids) == len(set(ids))


def test_each_address_of_an_item_leads_to_its_part():
    sheet = Sheet().follow(answer(2, 3, 3, 3))

    response = sheet.client.get(f"{sheet.home}sets/1/items/3/?was=saved")

    assert response.status_code == 302
    assert response.headers["Location"] == f"{sheet.address}?was=saved#q3"


def test_sheet_without_an_answer_opens_at_its_top():
    sheet = Sheet()

    response = sheet.client.get(f"{sheet.home}sets/1/items/1/")

    assert response.headers["Location"] == sheet.address


def test_opening_the_page_changes_nothing():
    sheet = Sheet().follow(answer(1, 3, 3, 3))
    before = snapshot()

    sheet.open()

    assert snapshot() == before


def test_study_with_one_item_per_page_has_no_sheet():
    study = make_sheet(options={"screen": "one"})
    sheet = Sheet(study)

    assert sheet.page.context["place"] == 1
    assert sheet.client.get(sheet.address).status_code == 404
    assert sheet.client.post(f"{sheet.address}draft/").status_code == 404
    assert sheet.client.post(sheet.address).status_code == 404


def count_queries(items: int, django_assert_max_num_queries) -> int:
    sheet = Sheet(make_sheet(items))
    sheet.keep(answer(1, 2, 3, 4))
    sheet.keep(answer(2, 2))
    sheet.open()
    with django_assert_max_num_queries(14) as asked:
        sheet.open()
    assert sheet.html.count('<article class="part') == items
    return len(asked)


@pytest.mark.slow
def test_sheet_of_eleven_asks_as_many_queries_as_one_of_two(django_assert_max_num_queries):
    counts = {count_queries(items, django_assert_max_num_queries) for items in (2, 11)}

    assert len(counts) == 1


@pytest.mark.slow
def test_saving_one_answer_of_eleven_asks_as_many_queries_as_one_of_three(
    django_assert_max_num_queries,
):
    counts = set()
    for items in (3, 11):
        sheet = Sheet(make_sheet(items))
        sheet.keep(answer(1, 2, 3, 4))
        sheet.open()
        with django_assert_max_num_queries(24) as asked:
            assert sheet.keep(answer(2, 2, 3, 4)).status_code == 200
        counts.add(len(asked))

    assert len(counts) == 1


# --- saving without scripts ---------------------------------------------------------------


def test_one_press_saves_every_whole_answer_and_leads_to_the_next_question(promises):
    sheet = Sheet()

    response = sheet.save(answer(1, 1, 2, 3), answer(2, 5, 4, 3))

    assert response.headers["Location"] == f"{sheet.address}?was=saved#q3"
    assert given() == {1: [1, 2, 3], 2: [5, 4, 3]}
    assert Annotation.objects.counted().count() == 2
    sheet.open()
    assert sheet.done == [1, 2]
    assert "2 of 4 answered" in sheet.html


def test_after_the_last_question_comes_the_first_that_is_missing_and_then_the_review():
    sheet = Sheet()

    assert sheet.save(answer(4, 3, 3, 3)).headers["Location"].endswith("#q1")
    sheet.open()
    last = sheet.save(answer(1, 3, 3, 3), answer(2, 3, 3, 3), answer(3, 3, 3, 3))

    assert last.headers["Location"] == f"{sheet.home}sets/1/review/?was=saved"


def test_set_is_finished_from_the_review(promises):
    sheet = Sheet()
    sheet.follow(*(answer(place, 3, 3, 3) for place in (1, 2, 3, 4)))
    assert "Finish</button>" in sheet.html

    sheet.client.post(f"{sheet.home}sets/1/review/")

    assert ItemSet.objects.get().finished_at is not None
    assert sheet.open().page.redirect_chain[-1][0].endswith("/finish/")


def test_incomplete_answer_is_refused_at_its_question_and_whole_ones_are_saved(promises):
    sheet = Sheet()

    page = sheet.save(answer(1, 1, 2, 3), answer(3, 4))

    assert page.status_code == 422
    assert given() == {1: [1, 2, 3]}
    sheet.show(page)
    assert sheet.errors == ["q3-information_content-1", "q3-human_likeness-1"]
    assert 'class="problem"' in sheet.part_of(3)
    assert 'class="problem"' not in sheet.part_of(1)
    assert sheet.fields["q3-appropriateness"] == "4"
    assert sheet.done == [1]
    assert '<progress class="bar" value="1" max="4" aria-label="1 of 4 done">' in sheet.html
    # the rest can be added at once
    assert sheet.save(answer(3, 4, 4, 4)).headers["Location"].endswith("#q4")
    assert given() == {1: [1, 2, 3], 3: [4, 4, 4]}


@pytest.mark.one_case
@pytest.mark.parametrize("wrong", ["0", "6", "3.0", "３", "<b>", "a" * 6000])
def test_what_is_no_point_is_refused(wrong):
    sheet = Sheet()

    page = sheet.save(answer(2, 1, 1, wrong))

    assert page.status_code == 422
    assert not Annotation.objects.exists()
    assert sheet.show(page).errors == ["q2-human_likeness-1"]


def test_answer_sent_twice_with_different_values_is_refused():
    sheet = Sheet()
    data = sheet.fields | {"go": "next"} | answer(1, 1, 1)

    page = sheet.client.post(sheet.address, data | {"q1-human_likeness": ["1", "5"]})

    assert page.status_code == 422
    assert not Annotation.objects.exists()


def test_pressing_save_with_nothing_new_goes_to_the_next_missing_question():
    sheet = Sheet()

    response = sheet.save()

    assert response.headers["Location"] == f"{sheet.address}?was=already#q1"
    assert not Annotation.objects.exists()


def test_jump_saves_whole_answers_and_keeps_parts_of_others_as_drafts(promises):
    sheet = Sheet()

    response = sheet.save(answer(1, 1, 2, 3), answer(3, 4), go="2")

    assert response.headers["Location"] == f"{sheet.address}?was=saved#q2"
    assert given() == {1: [1, 2, 3]}
    assert sheet.open().fields["q3-appropriateness"] == "4"


def test_only_missing_question_says_what_is_missing_when_save_is_pressed_there():
    sheet = Sheet()
    sheet.follow(*(answer(place, 3, 3, 3) for place in (1, 2, 4)))
    sheet.open()

    page = sheet.save(at=3)

    assert page.status_code == 422
    assert sheet.show(page).errors[0] == "q3-appropriateness-1"


def test_same_post_twice_is_stored_once(promises):
    sheet = Sheet()

    sheet.save(answer(1, 1, 2, 3))
    again = sheet.save(answer(1, 1, 2, 3))

    assert "was=already" in again.headers["Location"]
    assert Annotation.objects.get().revisions.count() == 0


def test_answers_of_a_press_share_its_time():
    sheet = Sheet()

    with standing_at(now() + timedelta(seconds=60)):
        sheet.save(answer(1, 1, 2, 3), answer(2, 1, 2, 3))

    taken = [one.submitted_at - one.started_at for one in Annotation.objects.all()]
    assert [29 < one.total_seconds() < 32 for one in taken] == [True, True]


# --- saving with scripts ------------------------------------------------------------------


def test_whole_answer_is_saved_in_the_background(promises):
    sheet = Sheet()

    said = sheet.keep(answer(2, 4, 2, 5))

    assert said.status_code == 200
    assert given() == {2: [4, 2, 5]}
    assert said.json()["answered"] == [2]
    assert said.json()["progress"]["words"] == "1 of 4 answered"
    assert json.loads(said.json()["parts"]["2"]["was"]) == {
        name: score for name, score in zip(NAMES, "425", strict=True)
    }


def test_what_a_page_says_it_showed_may_be_nested_as_deep_as_it_likes():
    sheet = Sheet()

    response = sheet.keep(answer(2, 4, 2, 5) | {"q2-was": "[" * 100_000})

    assert response.status_code == 200
    assert given() == {2: [4, 2, 5]}


def test_post_that_names_places_of_no_set_is_not_read_to_its_end(django_assert_max_num_queries):
    sheet = Sheet()
    state = read_fields(sheet.html)["q1-state"]
    places = [1, *range(5, 505)]
    posted = {f"q{place}-{name}": value for place in places
              for name, value in (("state", state), ("sent", "yes"))}  # fmt: skip

    with django_assert_max_num_queries(20):
        response = sheet.client.post(f"{sheet.address}draft/", posted)

    assert response.status_code == 404


def test_part_of_an_answer_is_kept_as_a_draft_and_comes_back():
    sheet = Sheet()

    said = sheet.keep(answer(3, 4))

    assert not Annotation.objects.exists()
    assert Draft.objects.get().values == {"appropriateness": "4"}
    assert said.json()["answered"] == []
    sheet.open()
    assert sheet.fields["q3-appropriateness"] == "4"
    # and is no error while other questions are saved
    assert sheet.save(answer(1, 3, 3, 3)).status_code == 302


def test_time_of_an_answer_begins_when_the_one_before_it_was_saved():
    sheet = Sheet()

    with standing_at(now() + timedelta(seconds=30)):
        sheet.keep(answer(1, 1, 1, 1))
    with standing_at(now() + timedelta(seconds=50)):
        sheet.keep(answer(3, 1, 1, 1))

    first, second = Annotation.objects.order_by("place")
    assert round((first.submitted_at - first.started_at).total_seconds()) in (30, 31)
    assert second.started_at == first.submitted_at


def test_change_from_the_same_page_is_a_change_and_from_another_tab_is_told(promises):
    sheet = Sheet()
    other = sheet.twin()
    state = sheet.keep(answer(1, 1, 1, 1)).json()["parts"]["1"]["state"]

    changed = sheet.keep(answer(1, 2, 1, 1), {"q1-state": state}).json()
    replaced = other.keep(answer(1, 5, 5, 5)).json()

    assert changed["status"] == ""
    assert replaced["status"].startswith("Saved. This replaces the answer from your other tab")
    assert given() == {1: [5, 5, 5]}
    assert Annotation.objects.get().revisions.count() == 2


def test_saving_another_question_in_an_old_tab_leaves_answers_of_the_new_one_alone(promises):
    old = Sheet()
    old.twin().keep(answer(1, 1, 1, 1))

    old.follow(answer(2, 2, 2, 2))

    assert given() == {1: [1, 1, 1], 2: [2, 2, 2]}
    assert not Draft.objects.exists()


def test_button_tells_a_script_where_to_go_on_without_a_new_page():
    sheet = Sheet()

    said = sheet.client.post(
        sheet.address,
        {**sheet.fields, **answer(2, 1, 1, 1)},
        headers={"accept": "application/json"},
    ).json()

    assert said["next"] == f"{sheet.address}?was=saved#q3"
    assert said["answered"] == [2]
