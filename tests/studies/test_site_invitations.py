"""Invitations to the site: by administrators, to an account without a study."""

import re
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from evalsite.core.jobs.models import OutgoingMail
from evalsite.studies.models import Invitation, Membership, Study, TeamRole
from tests.site.test_staff_pages import sign_in
from tests.support.factories import make_study, make_user

pytestmark = pytest.mark.django_db

PAGE, PASSWORD = "/admin/invitations/", "four unrelated words work"


@pytest.fixture
def admin() -> Client:
    return sign_in(make_user("root", is_superuser=True))


@pytest.fixture
def mail_on(settings):
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "eval@example.org"


def invite(admin: Client, label: str = "Priya") -> str:
    """Create an invitation through the page; return the path of its link."""
    admin.post(PAGE, {"key": str(uuid4()), "label": label})
    return re.search(r'value="http://testserver(/invitation/[^"]+)"', admin.get(PAGE).text)[1]


def create(link: str, name: str) -> tuple[Client, int]:
    client = Client()
    said = {"do": "create", "first_name": "Priya Nair", "email": "priya@example.org"}
    passwords = {"password1": PASSWORD, "password2": PASSWORD}
    return client, client.post(link, {**said, **passwords, "username": name}).status_code


def test_invited_person_gets_an_account_and_creates_a_study_without_other_rights(admin):
    link = invite(admin)

    client, status = create(link, "priya")
    page = client.get("/admin/studies/new/")

    user = User.objects.get(username="priya")
    assert (status, page.status_code) == (302, 200)
    assert (user.is_staff, user.is_superuser, user.get_full_name()) == (True, False, "Priya Nair")
    assert [group.name for group in user.groups.all()] == ["Researchers"]
    assert not Membership.objects.exists()


def test_link_works_once(admin):
    link = invite(admin)
    client, _ = create(link, "priya")

    _, status = create(link, "second")

    assert status == 410
    assert client.get(link).url == "/admin/"
    assert Client().get(link).status_code == 410
    assert not User.objects.filter(username="second").exists()


def test_withdrawn_link_opens_nothing(admin):
    link = invite(admin)

    admin.post(PAGE, {"withdraw": str(Invitation.objects.get().pk)})
    admin.post(PAGE, {"withdraw": "nonsense"})

    assert Client().get(link).status_code == 410


@pytest.mark.both_databases
def test_form_sent_twice_is_one_invitation_and_one_mail(admin, mail_on):
    said = {"key": str(uuid4()), "label": "priya@example.org"}

    for _ in range(2):
        admin.post(PAGE, said)

    invitation = Invitation.objects.get()
    mail = OutgoingMail.objects.get()
    assert mail.recipient == "priya@example.org"
    assert f"http://testserver/invitation/{invitation.token}/" in mail.body
    assert mail.useful_until == invitation.expires_at


def test_researchers_invite_nobody_to_the_site():
    client = sign_in(make_user("jane"))

    given = [client.get(PAGE).status_code, client.post(PAGE, {"key": str(uuid4())}).status_code]

    assert given == [403, 403]
    assert not Invitation.objects.exists()


def test_whoever_has_an_account_leaves_the_link_to_the_one_it_is_for(admin):
    link = invite(admin)
    client = sign_in(make_user("jane"))

    page = client.get(link)
    client.post(link, {"do": "accept"})

    assert "You have an account already" in page.text


def test_team_invites_by_mail_where_it_is_set_up(mail_on):
    study: Study = make_study(items=0, title="Next <line>")
    owner = sign_in(User.objects.get(username="jane"))
    address = f"/admin/studies/{study.pk}/team/invite/"

    for label in ("priya@example.org", "Amira"):
        owner.post(address, {"key": str(uuid4()), "label": label, "role": TeamRole.EDITOR.value})

    mail = OutgoingMail.objects.get()
    assert mail.recipient == "priya@example.org"
    assert "“Next <line>” as editor" in mail.body


@pytest.mark.both_databases
@pytest.mark.parametrize("has_study", [True, False])
def test_database_refuses_a_role_without_a_study_and_a_study_without_a_role(admin, has_study):
    invite(admin)
    wrong = {"study": make_study(items=0)} if has_study else {"role": "owner"}

    with pytest.raises(IntegrityError), transaction.atomic():
        Invitation.objects.update(**wrong)
