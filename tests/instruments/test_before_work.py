"""What a participant has to read before the first rating: pages and words, within a budget."""

import re
from collections import Counter

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.data.demo import make_demo_study
from evalsite.instruments.installed import installed_protocols
from tests.instruments.test_contract import Reader
from tests.support.documents import strip_tags
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db

MOST_PAGES = 7
MOST_PAGES_OF_A_PAIR = 10
MOST_WORDS = 1300
# each of the four practice items repeats both definitions
MOST_WORDS_OF_A_PAIR = 1400
# what is there for scripts and screen readers, or repeats what a page shows anyway
_UNSEEN = re.compile(
    r'<dialog.*?</dialog>|<(\w+)[^>]* class="vh"[^>]*>.*?</\1>|<(\w+)[^>]* hidden[ >].*?</\2>',
    re.DOTALL,
)


def count_words(page: str) -> Counter[str]:
    main = page[page.index("<main") : page.index("</main>")]
    return Counter(strip_tags(_UNSEEN.sub(" ", main), between=" ").split())


@pytest.mark.one_case
@pytest.mark.parametrize("key", sorted(installed_protocols()))
def test_little_is_to_be_read_before_the_first_rating(key):
    config = installed_protocols()[key]
    study = make_demo_study(config, by=make_user())
    landing = Client().get(reverse("study-join", args=[study.pk])).content.decode()
    reader = Reader(study)

    reader.take_part(is_pilot=False)

    read: dict[str, Counter[str]] = {"": count_words(landing)}
    for address, page in reader.pages[:-1]:
        # feedback comes on the page of its item: only what is new there is to be read
        read[address] = read.get(address, Counter()) | count_words(page)
    words = sum(found.total() for found in read.values())
    is_pair = config.layout.is_pair
    assert len(read) <= (MOST_PAGES_OF_A_PAIR if is_pair else MOST_PAGES)
    assert words <= (MOST_WORDS_OF_A_PAIR if is_pair else MOST_WORDS), {
        page: n.total() for page, n in read.items()
    }
