"""Accepting an invitation: by a button, with an account or a new one, and never to a lower role."""

from functools import partial

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.studies.members import accept_invitation, renew_invitation
from evalsite.studies.models import Invitation, Membership, Study, TeamRole
from tests.site.test_staff_pages import sign_in
from tests.studies.test_invitations import PASSWORD, account, invite, path
from tests.studies.test_team import add_member, attempt, owner_of, roles, url
from tests.support.factories import make_study, make_user
from tests.support.races import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(items=0)


@pytest.fixture
def owner(study: Study) -> Client:
    return sign_in(User.objects.get(username="jane"))


def test_reading_the_page_changes_nothing(study):
    invitation = invite(study)

    for client in (Client(), sign_in(make_user("ann"))):
        for method in (client.get, client.head):
            assert method(path(invitation)).status_code == 200

    assert Invitation.objects.get().state == "open"
    assert roles(study) == {"jane": "owner"}


@pytest.mark.parametrize("role", TeamRole)
def test_whoever_is_signed_in_accepts_with_their_account(study, role):
    invitation = invite(study, role)
    client = sign_in(make_user("ann"))

    response = client.post(path(invitation), {"do": "accept"})

    assert response.url == url("study-setup", study)
    assert roles(study) == {"jane": "owner", "ann": role.value}
    accepted = Invitation.objects.get()
    assert (accepted.state, accepted.accepted_by.username) == ("accepted", "ann")
    entry = AuditEntry.objects.get(action="invitation accepted")
    assert (entry.actor_name, entry.study_id) == ("ann", study.pk)


def test_whoever_has_no_account_makes_one_that_may_sign_in_and_no_more(study):
    invitation = invite(study, TeamRole.OWNER)
    client = Client()

    response = client.post(
        path(invitation), account(is_superuser="on", is_staff="on", email="Ann@example.org")
    )

    assert response.url == url("study-setup", study)
    assert client.get(response.url, follow=True).status_code == 200
    ann = User.objects.get(username="ann")
    assert (ann.is_staff, ann.is_superuser, ann.is_active, ann.email) == (
        True,
        False,
        True,
        "ann@example.org",
    )
    assert not ann.user_permissions.exists()
    assert ann.check_password(PASSWORD)
    assert roles(study)["ann"] == "owner"


@pytest.mark.one_case
@pytest.mark.parametrize(
    "said",
    [
        account(password2="different words here"),
        account(password1="short", password2="short"),
        account(password1="password1234", password2="password1234"),
        account("jane"),
        account("JANE"),
        account(""),
        account("a\0b"),
        {"do": "accept"},
        {},
    ],
)
def test_bad_account_is_refused_and_the_link_still_works(study, said):
    invitation = invite(study)

    response = Client().post(path(invitation), said)

    assert response.status_code == 422
    assert User.objects.count() == 1
    assert Invitation.objects.get().state == "open"


def test_existing_account_signs_in_and_comes_back_to_accept(study):
    invitation = invite(study)
    ann = make_user("ann")
    ann.set_password(PASSWORD)
    ann.save()
    client = Client()

    response = client.post(
        reverse("account_login"),
        {"login": "ann", "password": PASSWORD, "next": path(invitation)},
    )

    assert response.url == path(invitation)
    assert "Accept as ann" in client.get(response.url).content.decode()


def test_account_that_is_no_staff_does_not_accept_by_being_signed_in(study):
    invitation = invite(study)
    client = sign_in(make_user("ann", is_staff=False))

    assert client.post(path(invitation), {"do": "accept"}).status_code == 422
    assert roles(study) == {"jane": "owner"}


def test_form_for_a_new_account_makes_none_for_whoever_is_signed_in(study):
    invitation = invite(study)
    client = sign_in(make_user("ann"))

    assert client.post(path(invitation), account("ben")).status_code == 422
    assert not User.objects.filter(username="ben").exists()
    assert roles(study) == {"jane": "owner"}


def test_posts_need_the_token_of_the_form(study):
    invitation = invite(study)
    client = Client(enforce_csrf_checks=True)

    assert client.post(path(invitation), account()).status_code == 403
    assert User.objects.count() == 1


def test_accepting_twice_changes_nothing(study):
    invitation = invite(study)
    client = sign_in(make_user("ann"))

    given = [client.post(path(invitation), {"do": "accept"}).url for _ in range(2)]

    assert given == [url("study-setup", study)] * 2
    assert AuditEntry.objects.filter(action="invitation accepted").count() == 1


def test_link_works_once(study):
    invitation = invite(study)
    sign_in(make_user("ann")).post(path(invitation), {"do": "accept"})

    second = sign_in(make_user("ben")).post(path(invitation), {"do": "accept"})

    assert second.status_code == 410
    assert roles(study) == {"jane": "owner", "ann": "editor"}


@pytest.mark.parametrize("own", ["Ann@example.org", "ben@example.org"])
def test_page_says_whom_the_invitation_is_for_if_the_account_has_another_address(study, own):
    invitation = invite(study, label="ann@example.org")

    page = sign_in(make_user("someone", email=own)).get(path(invitation))

    assert ("ann@example.org" in page.text) == (own == "ben@example.org")


@pytest.mark.parametrize("held", TeamRole)
@pytest.mark.parametrize("offered", TeamRole)
def test_accepting_never_lowers_a_role(study, held, offered):
    member = add_member(study, held, "ann")
    invitation = invite(study, offered)

    response = sign_in(member.user).post(path(invitation), {"do": "accept"})

    assert response.status_code == 302
    assert roles(study)["ann"] == max(held, offered, key=lambda role: role.rank).value
    # where it gave nothing, it still waits for the colleague it is meant for
    assert (Invitation.objects.get().state == "open") == (held.rank >= offered.rank)


def test_removed_member_does_not_come_back_by_the_link_they_used(study, owner):
    invitation = invite(study)
    client = sign_in(make_user("ann"))
    client.post(path(invitation), {"do": "accept"})
    owner.post(url("member-remove", study, Membership.objects.get(user__username="ann").pk))

    response = client.post(path(invitation), {"do": "accept"})

    assert response.status_code == 410
    assert roles(study) == {"jane": "owner"}


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_link_accepted_by_two_at_once_lets_one_in():
    study = make_study(items=0)
    invitation = invite(study)
    people = [make_user("ann"), make_user("ben")]

    done = at_once([
        partial(attempt, partial(
            accept_invitation, invitation=invitation, token=invitation.token, by=person
        ))
        for person in people
    ])  # fmt: skip

    assert sorted(done) == ["done", "invitation_accepted"]
    assert len(roles(study)) == 2


def test_link_renewed_while_its_page_is_open_accepts_nobody(study):
    invitation = invite(study)
    token = invitation.token
    renew_invitation(invitation=invitation, generation=1, by=owner_of(study).user)

    with pytest.raises(Invitation.DoesNotExist):
        accept_invitation(invitation=invitation, token=token, by=make_user("ann"))

    assert roles(study) == {"jane": "owner"}
