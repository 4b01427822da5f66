"""Invitations: one link, used once, by a post, and nothing told to whoever finds it too late."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from time_machine import travel

from evalsite.core.accounts.models import CacheEntry
from evalsite.core.audit.models import AuditEntry
from evalsite.core.log_safety import hide_tokens
from evalsite.lib.clock import now
from evalsite.studies.members import (
    accept_invitation,
    invite_colleague,
    renew_invitation,
    revoke_invitation,
)
from evalsite.studies.models import Invitation, Study, TeamRole
from tests.site.test_staff_pages import sign_in
from tests.studies.test_team import add_member, owner_of, url
from tests.support.factories import make_study, make_user

pytestmark = pytest.mark.django_db

PASSWORD = "four unrelated words work"
TITLE = "A title for the team only"


@pytest.fixture
def study() -> Study:
    return make_study(items=0, title=TITLE)


@pytest.fixture
def owner(study: Study) -> Client:
    return sign_in(User.objects.get(username="jane"))


def invite(study: Study, role: TeamRole = TeamRole.EDITOR, **fields) -> Invitation:
    by = User.objects.get(username="jane")
    return invite_colleague(study=study, key=uuid4(), role=role, by=by, **fields)


def path(invitation: Invitation) -> str:
    return reverse("invitation", args=[invitation.token])


def account(name: str = "ann", **fields: str) -> dict[str, str]:
    return {
        "do": "create",
        "username": name,
        "password1": PASSWORD,
        "password2": PASSWORD,
        **fields,
    }


def age(invitation: Invitation) -> None:
    Invitation.objects.filter(pk=invitation.pk).update(expires_at=now() - timedelta(seconds=1))


def close(invitation: Invitation, how: str) -> None:
    if how == "accepted":
        accept_invitation(invitation=invitation, token=invitation.token, by=make_user("first"))
    elif how == "revoked":
        revoke_invitation(invitation=invitation, by=User.objects.get(username="jane"))
    else:
        age(invitation)


# --- inviting -----------------------------------------------------------------------


@pytest.mark.parametrize("role", TeamRole)
def test_owner_invites_to_each_role_and_can_copy_the_link_again(study, owner, role):
    said = {"key": uuid4(), "role": role.value, "label": "Priya <priya@example.org>"}

    response = owner.post(url("team-invite", study), said)

    assert response.status_code == 302
    invitation = Invitation.objects.get()
    assert (invitation.team_role, invitation.label) == (role, said["label"])
    pages = [owner.get(url("study-team", study)).content.decode() for _ in range(2)]
    assert all(path(invitation) in page for page in pages)
    entry = AuditEntry.objects.get(action="member invited")
    assert entry.detail == {"invitation": str(said["key"]), "role": role.value}


@pytest.mark.both_databases
def test_form_sent_twice_is_one_invitation(study, owner):
    said = {"key": uuid4(), "role": "viewer", "label": ""}

    for _ in range(2):
        assert owner.post(url("team-invite", study), said).status_code == 302

    assert Invitation.objects.count() == 1
    assert AuditEntry.objects.filter(action="member invited").count() == 1


def test_key_of_another_studys_invitation_is_refused(study, owner):
    theirs = make_study(items=0, title="Another", by=make_user("zoe"))
    given = invite_colleague(
        study=theirs, key=uuid4(), role=TeamRole.OWNER, by=make_user("zoe"), label="secret"
    )

    response = owner.post(
        url("team-invite", study), {"key": given.pk, "role": "viewer"}, follow=True
    )

    assert study.invitations.count() == 0
    assert "secret" not in response.content.decode()


@pytest.mark.parametrize("said", [{}, {"role": "emperor"}, {"role": "viewer", "key": "x"}])
def test_malformed_invitation_is_refused(study, owner, said):
    assert owner.post(url("team-invite", study), said).status_code == 422
    assert Invitation.objects.count() == 0


@pytest.mark.parametrize(
    "role", [TeamRole.VIEWER, TeamRole.EDITOR, TeamRole.EDITOR_WITH_IDENTITIES]
)
def test_members_who_are_no_owners_see_no_link_and_invite_nobody(study, role):
    invitation = invite(study, label="Priya")
    client = sign_in(add_member(study, role).user)

    html = client.get(url("study-team", study)).content.decode()

    assert "Priya" in html
    assert invitation.token not in html
    for name in ("team-invitation", "invitation-renew", "invitation-revoke"):
        assert client.post(url(name, study, invitation.pk)).status_code == 403
    assert client.get(url("team-invitation", study, invitation.pk)).status_code == 403
    assert client.post(url("team-invite", study), {"role": "owner"}).status_code == 403
    assert Invitation.objects.get().state == "open"


def test_only_the_hash_of_a_long_token_is_stored(study):
    invitation = invite(study)

    assert len(invitation.token) == 32  # of 64 signs: 192 bits
    stored = [str(value) for value in Invitation.objects.values_list().get()]
    assert not any(invitation.token in value for value in stored)
    assert invitation.token_hash in stored
    assert invite(study).token != invitation.token


def test_link_is_not_shown_once_the_secret_key_has_changed(study, settings):
    invitation = invite(study)
    old = invitation.token

    settings.SECRET_KEY = "another " * 10

    assert Invitation.objects.get().token == ""
    # whoever has the link already can still use it
    assert Client().get(reverse("invitation", args=[old])).status_code == 200


# --- ending a link ------------------------------------------------------------------


def test_new_link_ends_the_old_one(study, owner):
    invitation = invite(study)
    old = path(invitation)
    for _ in range(2):  # the second is the same click again
        owner.post(url("invitation-renew", study, invitation.pk), {"generation": 1})

    renewed = Invitation.objects.get()
    assert renewed.generation == 2
    assert Client().get(old).status_code == 404
    assert Client().get(path(renewed)).status_code == 200


def test_new_link_of_an_expired_invitation_works_again(study, owner):
    invitation = invite(study)
    age(invitation)

    owner.post(url("invitation-renew", study, invitation.pk), {"generation": 1})

    assert Client().get(path(Invitation.objects.get())).status_code == 200


@pytest.mark.parametrize("how", ["accepted", "revoked"])
def test_link_that_ended_for_good_is_not_renewed(study, how):
    invitation = invite(study)
    close(invitation, how)

    with pytest.raises(ValidationError) as error:
        renew_invitation(invitation=invitation, generation=1, by=owner_of(study).user)

    assert error.value.code == f"invitation_{how}"


def test_invitation_works_for_fourteen_days(study):
    invitation = invite(study)

    with travel(now() + timedelta(days=13, hours=23), tick=False):
        assert Client().get(path(invitation)).status_code == 200
    with travel(now() + timedelta(days=14, seconds=1), tick=False):
        assert Client().get(path(invitation)).status_code == 410


@pytest.mark.parametrize("how", ["accepted", "revoked", "expired"])
def test_closed_link_tells_strangers_nothing_and_makes_no_account(study, how):
    invitation = invite(study, label="Priya")
    close(invitation, how)

    given = [Client().get(path(invitation)), Client().post(path(invitation), account())]

    assert [one.status_code for one in given] == [410, 410]
    for response in given:
        html = response.content.decode()
        assert not any(word in html for word in (TITLE, "jane", "Priya", str(study.pk)))
        assert reverse("admin:index") in html
    assert not User.objects.filter(username="ann").exists()


@pytest.mark.parametrize("token", ["x", "a" * 32, "\x00", "%", "é" * 40, "x" * 5000])
def test_unknown_link_is_not_found(study, token):
    response = Client().get(reverse("invitation", args=[token]))

    assert response.status_code == 404
    assert TITLE not in response.content.decode()


@pytest.mark.parametrize("state", ["open", "accepted", "revoked", "expired", "unknown"])
def test_page_is_kept_by_nobody_and_its_address_told_to_nobody(study, state):
    invitation = invite(study)
    address = path(invitation)
    if state == "unknown":
        invitation.delete()
    elif state != "open":
        close(invitation, state)

    response = Client().get(address)

    assert response["Cache-Control"] == "no-store"
    # an open page has forms: browsers would post them without an origin under no-referrer
    assert response["Referrer-Policy"] == ("strict-origin" if state == "open" else "no-referrer")


def test_no_log_and_no_count_of_failed_sign_ins_holds_a_token(study):
    invitation = invite(study)

    Client().post(
        reverse("account_login"),
        {"login": "ann", "password": "wrong", "next": path(invitation)},
    )

    assert invitation.token not in hide_tokens(f'"GET {path(invitation)} HTTP/1.1" 200')
    assert CacheEntry.objects.exists()
    assert invitation.token not in str(list(CacheEntry.objects.values()))


# --- the database -------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "fields",
    [
        {"role": "emperor"},
        {"role": "owner", "has_identities": True},
        {"accepted_at": now(), "revoked_at": now()},
    ],
)
def test_database_refuses_what_no_invitation_can_be(study, fields):
    invitation = invite(study)

    with pytest.raises(IntegrityError), transaction.atomic():
        Invitation.objects.filter(pk=invitation.pk).update(**fields)
