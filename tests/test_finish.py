"""The end of a set: the code, the link that carries it, and leaving."""

import pytest

from evalsite.participants.models import ItemSet
from evalsite.studies.models import Study
from tests.tabs import make_live, open_tab

pytestmark = pytest.mark.django_db


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


@pytest.mark.parametrize(("keep", "words"), [("delete", "have been deleted"), ("keep", "stay in")])
def test_who_withdraws_hears_what_became_of_the_answers_and_keeps_the_code(keep, words):
    tab, _ = finished_page()

    page = tab.client.post(f"{tab.home}withdraw/", {"keep": keep}, follow=True)

    assert words in page.content.decode()
    assert ItemSet.objects.get().code in page.content.decode()
