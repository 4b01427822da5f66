"""Every address of the site outside studies, for eight kinds of people, by GET and by POST.

The tables are the contract: an address that none of them names fails the first test. Pages of a
study are in `test_roles.py`.
"""

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from evalsite.admin import collect_study_views
from evalsite.builder.addresses import PAGES
from evalsite.studies.members import invite_colleague
from evalsite.studies.models import Membership, Study, TeamRole
from evalsite.studies.roles import ROLE_TABLE
from tests.site.test_roles import IDENTITIES, OWN, client_of, expect
from tests.support.factories import launch, make_annotator, make_study, make_user

pytestmark = pytest.mark.django_db

KINDS = (
    "anonymous",
    "participant",
    "stranger",
    *(role.value for role in TeamRole),
    "administrator",
)
RESEARCHERS = KINDS[2:]
STOCK = re.compile(
    r"^admin/\w+/\w+/(<path:object_id>/|<id>/|add/)?(history/|delete/|change/|password/)?$"
)

# pages for everyone: the token, or nothing, is the identity
OPEN = {
    "", "account/login/", "account/password/forgotten/", "account/password/forgotten/sent/",
    "account/sso/<provider_id>/login/", "account/sso/cancelled/",
    "account/sso/<provider_id>/login/callback/", "account/sso/error/",
    "account/sso/sign-up/", "account/password/new/done/", "account/password/new/x-y/",
    "account/email/<token>/", "account/first/<token>/", "admin/login/", "admin/logout/",
    "invitation/<token>/",
    "join/<uuid:study_id>/",
    "join/<uuid:study_id>/<int:number>/", "pilot/<token>/",
}  # fmt: skip
# pages for whoever is signed in as a researcher
SIGNED_IN = {
    "account/", "account/sessions/", "account/confirm/", "account/confirm/code/",
    "account/password/", "account/password/set/", "account/two-factor/",
    "account/two-factor/off/", "account/two-factor/codes/", "account/two-factor/codes/new/",
    "account/two-factor/codes/file/", "admin/",
    "admin/jsi18n/", "admin/autocomplete/", "admin/help/", "admin/help/search/",
    "admin/help/<slug:name>/",
}  # fmt: skip
# redirects that say nothing, and the second step of signing in, which leads to the first
REDIRECTS = {
    "account/two-factor/state/",
    "account/sso/connections/",
    "account/login/code/",
    "admin/password_change/",
    "admin/password_change/done/",
}
ADMINISTRATORS = {"admin/records/", "admin/schedule/", "admin/sign-ins/", "admin/invitations/"}
# Django's own, which our pages don't link to
UNLINKED = {"admin/r/<path:content_type_id>/<path:object_id>/", "admin/<app_label>/", "admin/<url>"}


def list_routes() -> Iterator[str]:
    """Return every address of the URL conf, with what it captures in angle brackets."""

    def walk(patterns, before: str) -> Iterator[str]:
        for pattern in patterns:
            route = before + tidy(str(pattern.pattern))
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, route)
            elif isinstance(pattern, URLPattern):
                yield route

    yield from walk(get_resolver().url_patterns, "")


def tidy(route: str) -> str:
    if "uidb36" in route:
        return "password/new/x-y/"
    if "app_label" in route:
        return "<app_label>/"
    return "<url>" if route == "(?P<url>.*)$" else route.removeprefix("^").removesuffix("$")


def is_of_an_instrument(route: str) -> bool:
    return route.removeprefix("admin/") in {address for address, _, _ in PAGES}


def is_of_a_study(route: str) -> bool:
    under = "admin/studies/<uuid:study_id>/"
    paths = {page.path for page in collect_study_views()}
    return route.startswith(under) and route.removeprefix(under) in paths


def test_every_address_is_in_one_table():
    routes = set(list_routes())
    tables = [OPEN, SIGNED_IN, REDIRECTS, ADMINISTRATORS, UNLINKED]
    named = set().union(*tables)

    left = {
        route
        for route in routes - named
        if not (
            is_of_a_study(route)
            or is_of_an_instrument(route)
            or STOCK.match(route)
            or route.startswith("p/<token>/")
        )
    }

    assert left == set()
    assert named - routes == set()
    assert sum(map(len, tables)) == len(named)


@pytest.fixture
def study() -> Study:
    return launch(make_study(items=2))


def client_for(kind: str, study: Study) -> Client:
    return Client() if kind == "participant" else client_of(kind, study)


def open_both(client: Client, route: str) -> dict[str, int]:
    address = "/" + re.sub(r"<\w+(:\w+)?>", "no-such-thing", route)
    return {method: getattr(client, method)(address).status_code for method in ("get", "post")}


@pytest.mark.parametrize("kind", KINDS)
def test_site_pages_answer_each_kind_of_person_as_the_tables_say(study, kind):
    client = client_for(kind, study)
    wrong = {}

    for route in SIGNED_IN | ADMINISTRATORS:
        for method in ("get", "post"):
            response = getattr(client, method)(f"/{route}")
            asks = response.status_code == 302 and "/login/" in response["Location"]
            may = kind == "administrator" or (kind in RESEARCHERS and route in SIGNED_IN)
            if kind in RESEARCHERS and not may:
                good = response.status_code == 403
            else:
                # 403: a search for rows that only administrators see; 404: no codes yet
                good = (not asks and response.status_code != 500) if may else asks
            if not good:
                wrong[method, route] = response.status_code

    assert wrong == {}


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[-2::-1])
def test_stock_pages_of_records_are_for_administrators(study, kind):
    client = client_for(kind, study)
    refused = {302} if kind in KINDS[:2] else {403, 404}

    given = {
        route: open_both(client, route)
        for route in set(list_routes())
        if STOCK.match(route)
        and not is_of_an_instrument(route)
        and route not in SIGNED_IN | ADMINISTRATORS | REDIRECTS
        and not route.endswith("<path:object_id>/")  # leads to the page of changes, whatever it is
    }

    assert len(given) > 40
    assert {key: one for key, one in given.items() if not set(one.values()) <= refused} == {}


@pytest.mark.one_case
@pytest.mark.parametrize("kind", KINDS[::-1])
def test_page_of_a_participant_is_nobodys_without_the_token(study, kind):
    client = client_for(kind, study)
    make_annotator(study)

    given = {
        route: open_both(client, re.sub("<int:\\w+>", "1", route))
        for route in set(list_routes())
        if route.startswith("p/<token>/")
    }

    assert len(given) > 20
    # 405: the address takes only posts, or only reads, whatever the token
    assert {key: one for key, one in given.items() if not set(one.values()) <= {404, 405}} == {}


@pytest.mark.parametrize("role", list(TeamRole))
def test_table_of_roles_says_what_the_pages_do(role):
    said = {page: row.least for row in ROLE_TABLE for page in row.pages}
    kept = {page: least for page, least in said.items() if page not in OWN}

    promised = {page: expect(role.value, *page) for page in kept}

    assert promised == {
        page: "allowed" if role.rank >= least.rank else "refused" for page, least in kept.items()
    }
    assert {("post", "pay-decide")} <= IDENTITIES


def test_team_page_and_invitation_show_the_table(study):
    owner = client_of("owner", study)
    user = Membership.objects.get(study=study, user__username="owner-person").user
    invitation = invite_colleague(study=study, key=uuid4(), role=TeamRole.EDITOR, by=user)

    team = owner.get(f"/admin/studies/{study.pk}/team/").text
    page = Client().get(f"/invitation/{invitation.token}/").text

    for row in ROLE_TABLE:
        assert row.label in team
    assert "run the study" in page
    assert make_user("other").pk
