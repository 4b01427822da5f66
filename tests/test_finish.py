"""The end of a set: the code, the link that carries it, and leaving."""

import pytest

from evalsite.participants.models import ItemSet
from evalsite.studies.models import Study
from tests.tabs import BOXES, SCORES, make_live, open_tab

pytestmark = pytest.mark.django_db

ENTERED = dict(zip(BOXES, SCORES, strict=True))


def finished_page(**fields):
    tab = open_tab(make_live(items=1))
    Study.objects.update(**fields)
    tab.finish()
    return tab, tab.client.get(tab.home, follow=True)


def test_the_completion_link_carries_the_code():
    _, page = finished_page(completion_url="https://example.org/done?cc={code}")

    code = ItemSet.objects.get().code
    assert page.context["completion_url"] == f"https://example.org/done?cc={code}"
    assert "hands the code over for you" in page.content.decode()


def test_a_link_without_the_code_does_not_promise_to_hand_it_over():
    _, page = finished_page(completion_url="https://example.org/done")

    assert "hands the code over for you" not in page.content.decode()
    assert ItemSet.objects.get().code in page.content.decode()


def finish_second_set(tab) -> None:
    tab.start().post(ENTERED, to=tab.address_of(1, 2))
    tab.client.post(f"{tab.home}sets/2/review/")


def test_codes_of_earlier_sets_stay_on_the_last_page():
    tab = open_tab(make_live(items=2, set_size=1))
    tab.finish()
    first = ItemSet.objects.get().code
    assert "earlier sets" not in tab.client.get(tab.home, follow=True).content.decode()

    finish_second_set(tab)

    page = tab.client.get(tab.home, follow=True)
    assert page.context["code"] == ItemSet.objects.get(number=2).code != first
    assert "Codes of your earlier sets" in page.content.decode()
    assert f'Set 1: <b class="mr">{first}</b>' in page.content.decode()


def test_code_of_the_study_stands_once_however_many_sets_are_finished():
    tab = open_tab(make_live(items=2, set_size=1, completion_code="SAME-4-ALL"))
    tab.finish()
    finish_second_set(tab)

    page = tab.client.get(tab.home, follow=True).content.decode()

    assert page.count("SAME-4-ALL") == 1
    assert "earlier sets" not in page


@pytest.mark.parametrize(("keep", "words"), [("delete", "have been deleted"), ("keep", "stay in")])
def test_who_withdraws_hears_what_became_of_the_answers_and_keeps_the_code(keep, words):
    tab, _ = finished_page()

    page = tab.client.post(f"{tab.home}withdraw/", {"keep": keep}, follow=True)

    assert words in page.content.decode()
    assert ItemSet.objects.get().code in page.content.decode()
