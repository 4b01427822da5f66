"""Links and addresses of invited people: which pages show them to whom, and what is logged."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from evalsite.admin import collect_study_views
from evalsite.core.audit.models import AuditEntry
from evalsite.fieldwork.invitations import Named, Terms, invite_people
from evalsite.people.joins import use_personal_link
from evalsite.people.models import PersonalLink
from evalsite.people.recruiting import renew_personal_link
from evalsite.studies.members import invite_colleague
from evalsite.studies.models import Study, TeamRole
from tests.site.test_roles import PARAMETER, client_of, find_parts
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

LOGGED = "links viewed"
EXPERT, NAMELESS, COLLEAGUE = "ana@example.org", "ben@example.org", "eve@example.org"
# pages that hold links
HOLDERS = {("get", "study-invite"), ("post", "study-invite"), ("post", "invited-links")}


@pytest.fixture
def study() -> Study:
    """A study with links that are used and not, and with people invited by an address."""
    study = launch(make_study(items=2, k=4))
    answer_item(make_annotator(study), study.items.main()[0])
    people = [Named("Ana Ruiz", EXPERT), Named(NAMELESS, NAMELESS)]
    invite_people(
        study=study,
        people=people,
        terms=Terms(),
        site_address="https://eval.example.org/",
        by=make_user(),
    )
    use_personal_link(PersonalLink.objects.order_by("number")[0])
    invite_colleague(
        study=study, key=uuid4(), role=TeamRole.VIEWER, label=COLLEAGUE, by=make_user()
    )
    return study


def read_pages(client: Client, study: Study) -> dict[tuple[str, str], tuple[str, int]]:
    """What each page of the study answers by each method, and how often that was logged."""
    parts: dict[str, Any] = find_parts(study) | {"number": 1}
    parts["person_id"] = study.experts.get(email=NAMELESS).pk
    answers = {}
    for page in collect_study_views():
        captured = [parts[name] for name in PARAMETER.findall(page.path)]
        address = reverse(f"admin:{page.name}", args=[study.pk, *captured])
        for method in ("get", "post"):
            with transaction.atomic():
                before = AuditEntry.objects.filter(action=LOGGED).count()
                response = getattr(client, method)(address)
                body = response.getvalue() if response.streaming else response.content
                looks = AuditEntry.objects.filter(action=LOGGED).count() - before
                transaction.set_rollback(True)
            text = body.decode(errors="replace") + str(response.headers)
            answers[method, page.name] = (text, looks)
    return answers


def find_holders(pages: dict[tuple[str, str], tuple[str, int]], *words: str) -> set[Any]:
    return {name for name, (text, _) in pages.items() if any(word in text for word in words)}


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["editor-with-identities", "owner", "editor", "viewer"])
def test_links_and_addresses_are_shown_to_those_who_may_see_them_and_each_look_is_logged(
    study, kind
):
    tokens = [link.token for link in PersonalLink.objects.all()]

    pages = read_pages(client_of(kind, study), study)

    # links: to people who may see identities
    holders = HOLDERS if kind in ("editor-with-identities", "owner") else set()
    assert all(tokens)
    assert find_holders(pages, *tokens) == holders
    # the page shows them for good; each file is logged
    files = {("post", "invited-links")} & holders
    assert {name for name, (_, looks) in pages.items() if looks} == files
    assert {looks for _, looks in pages.values()} <= {0, 1}
    # addresses: to owners only
    holders = find_holders(pages, EXPERT, NAMELESS, COLLEAGUE)
    if kind != "owner":
        assert holders == set()
    else:
        assert {
            ("get", "study-team"),
            ("post", "invited-links"),
            ("get", "study-invite"),
        } <= holders


@pytest.mark.parametrize(("kind", "is_shown"), [("owner", True), ("editor-with-identities", False)])
def test_launch_shows_owners_only_the_address_of_whoever_has_no_name(kind, is_shown):
    study = make_study(items=2)
    people = [Named("Ana Ruiz", EXPERT), Named(NAMELESS, NAMELESS)]
    invite_people(
        study=study,
        people=people,
        terms=Terms(),
        site_address="https://eval.example.org/",
        by=make_user(),
    )

    page = client_of(kind, study).get(reverse("admin:study-launch", args=[study.pk])).text

    assert "Ana Ruiz" in page
    assert (NAMELESS in page) == is_shown


def test_an_editor_refused_the_links_is_told_so(study):
    client = client_of("editor", study)
    sent = {"renew": f"{study.experts.first().pk}-1"}

    codes = {
        client.post(reverse(f"admin:{name}", args=[study.pk]), sent).status_code
        for name in ("invited-act", "invited-links")
    }

    assert codes == {403}
    assert {*PersonalLink.objects.values_list("generation", flat=True)} == {1}


def test_an_editor_without_identities_invites_by_e_mail(study, settings):
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "eval@example.org"
    client = client_of("editor", study)
    form = {"names": "Chen Li <chen@example.org>", "rates": "all", "do": "add"}

    response = client.post(reverse("admin:study-invite", args=[study.pk]), form)

    assert response.status_code == 302
    expert = study.experts.get(email="chen@example.org")
    assert expert.mails.count() == 1
    page = client.get(reverse("admin:study-invite", args=[study.pk]))
    assert expert.link.token not in page.text


@pytest.mark.parametrize("number", [1, 2], ids=["used", "unused"])
def test_a_new_link_ends_the_old_one(study, number):
    link = PersonalLink.objects.get(number=number)
    old = link.token

    renew_personal_link(link=link, generation=1, by=make_user())

    link.refresh_from_db()
    assert Client().get(f"/p/{old}/").status_code == 404
    assert Client().get(f"/p/{link.token}/").status_code in (200, 302)
