"""A page that asks for an order, or for the best and the worst: sent, refused, kept, read back."""

from typing import Any

import pytest

from evalsite.data.fsck import find_breaches
from evalsite.handout.models import Annotation, Draft, Rating
from evalsite.studies.models import Study
from tests.support.answering import Entered, RatingPage
from tests.support.batches import import_rows
from tests.support.factories import launch
from tests.support.instruments import make_built_study, read_instrument


def make_live(key: str, outputs: int = 4, **fields: Any) -> Study:
    content = read_instrument(key)
    study = make_built_study(content, is_practice_on=False, set_size=4, k=2, **fields)
    name = content["item"]["inputs"][0]["name"]
    import_rows(
        study,
        [
            {"item": f"q{number}", name: f"Question {number}?", "system": system,
             "output": f"Answer {number} of {system}."}
            for number in range(1, 5) for system in "abcdefghij"[:outputs]
        ],
    )  # fmt: skip
    return launch(study)


@pytest.fixture
def ranking(db: None) -> RatingPage:
    return RatingPage(make_live("ranking"))


@pytest.fixture
def ends(db: None) -> RatingPage:
    return RatingPage(make_live("best_worst_four"))


def answer(page: RatingPage, places: str, name: str = "rank") -> dict[str, str]:
    usable = {f"usable-{number}": "1" for number in range(1, 5)} if name == "rank" else {}
    return usable | {
        f"{name}.{number}": place for number, place in enumerate(places.split(), 1) if place != "-"
    }


def test_each_text_is_in_the_list_once_and_nowhere_else(ranking):
    for system in "abcd":
        assert ranking.html.count(f"Answer 1 of {system}.") <= 1
    shown = ranking.response.context["item"].outputs
    assert all(ranking.html.count(output.text) == 1 for output in shown)
    assert ranking.html.count('data-read="output"') == 4


def test_order_sent_without_scripts_is_stored_by_output(ranking):
    saved = ranking.post(answer(ranking, "2 1 4 3"))

    assert saved.status_code == 302
    annotation = Annotation.objects.get(outcome="rated")
    rows = {row.output.position: row.value for row in annotation.ratings.filter(criterion="rank")}
    assert [rows[position] for position in annotation.order_shown] == [2, 1, 4, 3]
    assert find_breaches(annotation.study) == []


def test_sent_twice_it_is_stored_once(ranking):
    sent = answer(ranking, "2 1 4 3")

    ranking.post(sent)
    again = ranking.post(sent)

    assert again.status_code == 302
    assert Rating.objects.filter(criterion="rank").count() == 4


@pytest.mark.parametrize(
    ("places", "fault"),
    [
        ("1 2 3 -", "Give each output a place for “Rank”: 1 is still missing"),
        ("1 2 4 -", "No output has place 3 for “Rank”. Number the places without gaps"),
        ("1 2 3 9", "Give each output a place for “Rank”: that was not one of the answers"),
    ],
)
def test_order_with_a_hole_is_refused_and_stays_in_the_boxes(ranking, places, fault):
    refused = ranking.post(answer(ranking, places))

    assert refused.status_code == 422
    assert ranking.show(refused).errors == {"rank": fault}
    assert not Annotation.objects.filter(outcome="rated").exists()
    kept = [place for place in places.split() if place in "1234"]
    for number, place in enumerate(kept, start=1):
        box = ranking.html.partition(f'name="rank.{number}"')[2].partition("</select>")[0]
        assert f'<option value="{place}" selected>' in box


def test_place_sent_twice_with_different_values_is_refused(ranking):
    sent = {**answer(ranking, "2 1 4 3"), "rank.1": ["2", "3"]}

    assert ranking.show(ranking.post(sent)).errors.keys() == {"rank"}


def test_draft_of_an_order_is_kept_and_comes_back(ranking):
    draft = ranking.response.context["draft_url"]

    ranking.post({**answer(ranking, "2 - 1 -"), "go": ""}, to=draft)

    assert Draft.objects.get().values["rank"] == "2 - 1 -"
    ranking.show(ranking.client.get(ranking.address))
    order = [row.number for row in ranking.questions[0].rows]
    assert order == [3, 1, 2, 4]


def test_ties_are_one_place_however_they_are_numbered(ranking):
    ranking.post(answer(ranking, "1 1 3 4"))

    values = Rating.objects.filter(criterion="rank").values_list("value", flat=True)
    assert sorted(values) == [1, 1, 2, 3]


def test_ten_outputs_are_put_in_order(db):
    content = read_instrument("ranking")
    content["item"]["outputs"]["most"] = 10
    content["criteria"] = content["criteria"][:1]
    study = make_built_study(content, is_practice_on=False, set_size=4, k=2)
    import_rows(
        study,
        [{"item": "q1", "source": "Question?", "system": system, "output": f"Answer of {system}."}
         for system in "abcdefghij"],
    )  # fmt: skip
    page = RatingPage(launch(study))

    page.post({f"rank.{number}": str(11 - number) for number in range(1, 11)})

    assert Rating.objects.filter(criterion="rank").count() == 10


def test_best_and_worst_sent_without_scripts_are_stored_by_output(ends):
    saved = ends.post({"overall.best": "3", "overall.worst": "1", "overall.comment": "It rhymes."})

    assert saved.status_code == 302
    annotation = Annotation.objects.get(outcome="rated")
    rows = annotation.ratings.filter(part="").values_list("output__position", "value")
    shown = annotation.order_shown
    assert set(rows) == {(shown[2], 1), (shown[0], -1)}
    assert find_breaches(annotation.study) == []


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ({"overall.best": "2", "overall.worst": "2"},
         "Text 2 can’t be both “Best” and “Worst”. Choose two different ones"),
        ({"overall.best": "2"},
         "Choose “Best” and “Worst” for “Overall”: “Worst” is still missing"),
        ({"overall.best": "2", "overall.worst": "5"},
         "Choose “Best” and “Worst” for “Overall”: that was not one of the answers"),
    ],
)  # fmt: skip
def test_best_equal_to_worst_is_refused_and_stays_chosen(ends, sent, fault):
    refused = ends.post(sent)

    assert refused.status_code == 422
    assert ends.show(refused).errors == {"overall": fault}
    assert Entered(ends.html).values["overall.best"] == "2"
    assert not Annotation.objects.filter(outcome="rated").exists()


def test_changed_order_replaces_the_rows_of_the_first(ranking):
    ranking.post(answer(ranking, "2 1 4 3"))
    ranking.show(ranking.client.get(ranking.address))

    ranking.post(answer(ranking, "1 1 1 1"))

    values = Rating.objects.filter(criterion="rank").values_list("value", flat=True)
    assert list(values) == [1, 1, 1, 1]
    assert Annotation.objects.filter(outcome="rated").count() == 1


def test_database_check_finds_an_order_that_no_page_takes(ranking):
    ranking.post(answer(ranking, "2 1 4 3"))
    row = Rating.objects.filter(criterion="rank", value=4).get()
    Rating.objects.filter(pk=row.pk).update(value=7)

    wrong = [breach.check.wrong for breach in find_breaches(row.annotation.study)]

    assert wrong == ["Answers put outputs in no order that a page takes"]


def test_database_check_finds_a_best_output_without_a_worst_one(ends):
    ends.post({"overall.best": "3", "overall.worst": "1"})
    row = Rating.objects.get(value=-1)
    study = row.annotation.study
    row.delete()

    wrong = [breach.check.wrong for breach in find_breaches(study)]

    assert "Answers put outputs in no order that a page takes" in wrong
