"""The documentation is part of the site: complete, linked, searchable, and readable anywhere."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from evalsite import help_pages
from evalsite.help_pages import GUIDES, SUBJECTS, list_documents
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn
from tests.support.factories import launch, make_study, make_user

pytestmark = pytest.mark.django_db

NAMES = list(list_documents())
# what only people who change the code need
FOR_DEVELOPERS = {
    "architecture", "words", "new-protocol", "new-kind", "new-panel", "new-analysis",
}  # fmt: skip


def open_chapter(client: Client, name: str) -> str:
    return client.get(reverse("admin:help-chapter", args=[name])).text


def search(client: Client, query: str) -> list[dict]:
    return client.get(reverse("admin:help-search"), {"q": query}).context["rows"]


@pytest.fixture
def documents(monkeypatch, tmp_path):
    """Help consists of these documents."""
    caches = (help_pages._read_text, help_pages._read, help_pages._list_passages)

    @contextmanager
    def replace(texts: dict[str, str]) -> Iterator[None]:
        (tmp_path / "docs").mkdir()
        for name, text in texts.items():
            (tmp_path / "docs" / f"{name}.md").write_text(text, encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.setattr(settings, "BASE_DIR", tmp_path)
            patch.setattr(help_pages, "list_documents", lambda: dict.fromkeys(texts, "Subject"))
            for cached in caches:
                cached.cache_clear()
            try:
                yield
            finally:
                for cached in caches:
                    cached.cache_clear()

    return replace


def test_every_document_is_a_page_of_help():
    assert {path.stem for path in (settings.BASE_DIR / "docs").glob("*.md")} == set(NAMES)
    assert {
        name for name, subject in list_documents().items() if subject == "Change the software"
    } == FOR_DEVELOPERS


def test_help_is_linked_from_every_page_and_leads_to_each_document(staff_client: Client):
    assert f'href="{reverse("admin:help")}"' in staff_client.get(reverse("admin:index")).text

    page = staff_client.get(reverse("admin:help")).text

    for name in NAMES:
        assert f'href="{reverse("admin:help-chapter", args=[name])}' in page


def test_links_lead_to_a_heading_that_is_there(staff_client: Client):
    pages = {
        address: staff_client.get(address).text
        for address in (
            reverse("admin:help"),
            *(reverse("admin:help-chapter", args=[name]) for name in NAMES),
        )
    }
    links = 0
    for address, page in pages.items():
        body = page[page.index("<main") : page.index("</main>")]
        assert re.findall(r'href="(?!/|#|https?://)[^"]*"|href="[^"]*\.md', body) == [], address
        for path, anchor in re.findall(r'href="(/admin/help/[^"#]*|)(?:#([^"]*))?"', body):
            if path != reverse("admin:help-search"):
                links += 1
                assert (f'id="{anchor}"' if anchor else "") in pages[path or address], (
                    path,
                    anchor,
                )
    assert links > 5


def test_what_is_no_chapter_is_not_found(staff_client: Client):
    address = reverse("admin:help-chapter", args=["nothing"])

    assert staff_client.get(address).status_code == 404


# --- guides ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GUIDES)
def test_guide_leads_to_the_pages_of_the_newest_draft_that_one_may_change(
    staff_client: Client, researcher: User, name: str
):
    launch(make_study(title="Live", by=researcher))
    make_study(title="Seen only", by=make_user("another")).memberships.create(
        user=researcher, role="viewer"
    )
    page = open_chapter(staff_client, name)
    assert "/admin/studies/" not in re.sub(r'href="/admin/studies/new/"', "", page)
    assert "page:" not in page

    make_study(title="Older", by=researcher)
    draft = make_study(title="Newest <draft>", by=researcher)
    page = open_chapter(staff_client, name)

    addresses = set(re.findall(r'href="(/admin/studies/(?!new/)[^"]*)"', page))
    assert len(addresses) >= 2
    assert all(str(draft.pk) in address for address in addresses)
    assert {staff_client.get(address, follow=True).status_code for address in addresses} == {200}
    assert "Newest &lt;draft&gt;" in page


@pytest.mark.parametrize("name", GUIDES)
def test_pictures_of_a_guide_are_there_and_say_what_they_show(staff_client: Client, name: str):
    pictures = re.findall(
        r'<img src="/static/([^"]+)" alt="([^"]+)">', open_chapter(staff_client, name)
    )

    assert len(pictures) >= 3
    for path, words in pictures:
        assert words
        assert finders.find(path), path


def test_pictures_of_guides_are_small():
    pictures = list((settings.BASE_DIR / "docs" / "images").glob("guide-*"))

    assert sum(picture.stat().st_size for picture in pictures) < 600_000


# --- search ---------------------------------------------------------------------------------


def test_search_finds_pages_that_have_all_words_and_links_to_the_part(staff_client: Client):
    rows = search(staff_client, "csv")

    assert len(rows) > 1
    assert all(row["points"] > 0 for row in rows)
    hits = [text.casefold() for row in rows for text, is_hit in row["excerpt"] if is_hit]
    assert hits
    assert set(hits) == {"csv"}
    for row in rows:
        path, _, anchor = row["url"].partition("#")
        assert (f'id="{anchor}"' if anchor else "") in staff_client.get(path).text


@pytest.mark.parametrize(
    ("query", "hits"),
    [("gadget", {"gadget", "gadgets"}), ("gad", {"gad"}), ("gadgets", {"gadgets"})],
)
def test_beginnings_of_words_are_found_only_if_no_page_has_the_words(
    staff_client: Client, documents, query: str, hits: set[str]
):
    with documents({"ci": "# A page\n\nA gadget, gadgets and gadgetry.\n"}):
        rows = search(staff_client, query)

    assert {text for row in rows for text, is_hit in row["excerpt"] if is_hit} == hits


def test_heading_counts_three_and_text_one(staff_client: Client, documents):
    texts = {
        "ci": "# A page\n\n## Gadget\n\nNothing.\n",
        "agents": "# Another\n\nA gadget. *Gad*gets.\n\nA gadget.\n\n## More\n\nNothing.\n",
    }
    with documents(texts):
        rows = search(staff_client, "gadget")
        both = search(staff_client, "gadget more")

    assert [(row["title"], row["points"]) for row in rows] == [("A page", 3), ("Another", 2)]
    assert [row["title"] for row in both] == ["Another"]


@pytest.mark.parametrize(
    ("query", "heading"),
    [
        ("", "What are you looking for?"),
        ("   ", "What are you looking for?"),
        ("zebrafish", "No page has “zebrafish”"),
        ("kappa zebrafish", "No page has “kappa zebrafish”"),
        ("<script>alert(1)</script>", "No page has “&lt;script&gt;alert(1)&lt;/script&gt;”"),
        ("***", "No page has “***”"),
        ("(", "No page has “(”"),
        ("x" * 5000, "No page has “" + "x" * 200 + "”"),
        ("the " * 60, "pages about “the the"),
    ],
)
def test_search_of_anything_is_answered(staff_client: Client, query: str, heading: str):
    response = staff_client.get(reverse("admin:help-search"), {"q": query})

    assert response.status_code == 200
    assert heading in response.text
    assert "<script>alert" not in response.text


def test_excerpt_of_a_document_is_text(staff_client: Client):
    page = staff_client.get(reverse("admin:help-search"), {"q": "script"}).text

    assert "<mark>script" in page or "<mark>Script" in page
    assert page.count("<script") == staff_client.get(reverse("admin:help")).text.count("<script")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_subjects_name_no_document_twice_without_a_part(subject: str):
    assert len(set(SUBJECTS[subject].values())) == len(SUBJECTS[subject])


@pytest.mark.torture
@pytest.mark.django_db(transaction=True)
def test_pages_of_help_are_accessible_and_fit_a_phone(page, live_server, researcher: User):
    sign_in(page, live_server, researcher)
    watch = Watch(page)
    make_study(title="Draft", by=researcher)
    addresses = [
        reverse("admin:help"),
        f"{reverse('admin:help-search')}?q=excel",
        f"{reverse('admin:help-search')}?q=zebrafish",
        *(reverse("admin:help-chapter", args=[name]) for name in NAMES),
    ]

    faults = {}
    for address in addresses:
        page.goto(f"{live_server}{address}")
        faults[address] = find_faults_in_turn(page)

    assert {address: texts for address, texts in faults.items() if texts} == {}
    assert watch.found == []
