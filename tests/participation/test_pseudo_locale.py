"""Every sentence of participants' pages can be translated, and every page can be turned round."""

from urllib.parse import urlencode, urljoin

import pytest
from django.test import Client

from evalsite.data.demo import import_example
from evalsite.instruments.installed import get_protocol, installed_protocols
from evalsite.studies.models import Study
from evalsite.studies.versions import shown_content
from tests.support.annotators import Annotator, Browser, Page
from tests.support.batches import keep_first
from tests.support.factories import launch, make_study, make_user
from tests.support.pseudo import LONGER, RIGHT_TO_LEFT, known_text, speaking, untranslated

pytestmark = pytest.mark.django_db


class Keeping(Browser):
    """A browser that keeps every page it was shown."""

    def __init__(self) -> None:
        self.client = Client()
        self.pages: dict[str, Page] = {}

    def _ask(self, address: str, method: str, data: dict[str, str] | None = None) -> Page:
        response = self.client.generic(
            method, address, urlencode(data or {}), "application/x-www-form-urlencoded"
        )
        if response.status_code == 302:
            return self.get(urljoin(address, response.headers["Location"]))
        assert response.status_code == 200, f"{method} {address}: {response.status_code}"
        page = Page(address, response.text)
        self.pages[page.name] = page
        return page


def walk(study: Study) -> dict[str, Page]:
    browser = Keeping()
    annotator = Annotator(browser, seed="1")
    browser.get(f"/join/{study.pk}/")
    home = annotator.join(str(study.pk))
    browser.get(f"{home}stop/")
    browser.get(f"{home}withdraw/")
    annotator.work(browser.get(home))
    return browser.pages


# each protocol, and each of its layouts
LAYOUTS = [
    (key, screen)
    for key in sorted(installed_protocols())
    for screen in get_protocol(key).layout.screens
]


def make(key: str, language: str, screen: str) -> Study:
    options = dict(get_protocol(key).default_options)
    options |= {"screen": screen} if "screen" in options else {}
    study = make_study(protocol=key, items=0, set_size=3, k=1, language=language, options=options)
    import_example(study, by=make_user())
    keep_first(study, 3)
    return launch(study)


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize(("key", "screen"), LAYOUTS)
def test_every_sentence_of_every_page_can_be_translated(key, screen):
    with speaking(LONGER):
        study = make(key, LONGER, screen)
        names = (study.config.item.name, study.config.item.output_name)
        known = known_text(
            study.config.to_data(), [study.config.item.name, study.config.item.names],
            [f"{name} {n}" for name in names for n in range(1, 12)],
            # as a document prints the scores of its example
            [f"{c.label}? ({n})" for c in study.config.criteria for n in (70, 90, 100)],
            shown_content(study), study.options,
            list(study.items.values_list("inputs", flat=True)),
            list(study.items.values_list("outputs__text", flat=True)),
        )  # fmt: skip
        pages = walk(study)

    left = {name: untranslated(page.html, known) for name, page in pages.items()}

    item_page = "set-sheet" if screen == "sheet" else "rating-page"
    assert {item_page, "set-review", "participant-finish"} <= pages.keys()
    assert {name: texts for name, texts in left.items() if texts} == {}


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize(("key", "screen"), [("pairwise", "one"), ("dialogue", "sheet")])
def test_pages_of_a_study_from_right_to_left_say_so(key, screen):
    with speaking(RIGHT_TO_LEFT):
        pages = walk(make(key, RIGHT_TO_LEFT, screen))

    assert {
        name for name, page in pages.items() if '<html lang="he" dir="rtl">' not in page.html
    } == set()
