"""An answer that is opened again: what stands in its boxes, and where a change goes."""

import pytest

from evalsite.handout.models import Rating, Revision
from evalsite.studies.models import Output
from tests.support.tabs import make_live, open_tab, what_became

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


def texts_and_scores() -> dict[str, int]:
    texts = dict(Output.objects.values_list("pk", "text"))
    return {texts[rating.output_id]: rating.value for rating in Rating.objects.all()}


@pytest.mark.one_case
@pytest.mark.parametrize("seed", ["a", "b", "c", "d"])  # several orders on the page
def test_a_changed_score_goes_to_the_text_that_stood_above_its_box(seed):
    tab = open_tab(make_live(items=1, seed=seed))
    shown = [output.text for output in tab.page.context["item"].outputs]
    tab.save(("10", "20", "30"))

    became = what_became(tab.open().save(("10", "20", "40")))

    assert became == "changed"
    assert texts_and_scores() == dict(zip(shown, (10, 20, 40), strict=True))
    assert Revision.objects.count() == 1


def test_a_change_that_was_not_sent_yet_comes_back_with_the_page():
    tab = open_tab()
    tab.save(("10", "20", "30"))
    draft = {**tab.open().fields, "informativeness-2": "25"}

    tab.client.post(f"{tab.home}draft/", draft)

    assert tab.open().entered == ("10", "25", "30")
    assert sorted(Rating.objects.values_list("value", flat=True)) == [10, 20, 30]


def test_an_answer_saved_after_a_draft_shows_the_answer():
    tab = open_tab()
    tab.client.post(f"{tab.home}draft/", {**tab.fields, "informativeness-1": "99"})
    tab.save(("10", "20", "30"))

    assert tab.open().entered == ("10", "20", "30")


def test_answer_that_replaces_one_from_another_tab_says_so_on_the_next_page():
    first = open_tab()
    second = first.duplicate()
    first.save(("10", "20", "30"))

    became = second.save(("10", "20", "40"))

    assert what_became(became) == "replaced"
    assert "from your other tab" in second.client.get(became.headers["Location"]).text
    assert Revision.objects.count() == 1
    assert sorted(Rating.objects.values_list("value", flat=True)) == [10, 20, 40]


def test_same_answer_from_two_tabs_replaces_nothing():
    first = open_tab()
    second = first.duplicate()
    first.save(("10", "20", "30"))

    assert what_became(second.save(("10", "20", "30"))) == "already"
    assert not Revision.objects.exists()
